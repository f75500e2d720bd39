-------------------------------- MODULE Line --------------------------------
(* Permits, and the FIFO of the waits for them. sync/line [LN1] [LN2].

   One word has how many permits are taken, whether waits are in the FIFO, and whether the line is closed. Without waits a thread
   takes and returns permits by one exchange of the word. While the word says that there are waits, the word changes only under the
   mutex [LN1]. A waiter needs Needs(w) free permits, and its grant takes Takes(w) of them: a mutex {1, 1}, a semaphore {n, n}, an
   event {1, 0}, a latch {n, 0}. Grants are told after the mutex was unlocked; the first thread told may destroy the line.

   What is to hold
     Counted     as many permits are taken as the threads have
     Bounded     never more than may be
     Served      a first waiter for which enough is free does not stay in the FIFO
     FlagIsTrue  the word says that there are waits exactly while there are
     Refused     nothing waits in a closed line
     Untouched   no thread touches the line after it was destroyed
     Told        a wait that was granted, or ended by a close, is told                (liveness)
     Granted     a wait ends if permits return                                       (liveness)
     NoneOvertakes  a permit is not taken past a wait, and waits are granted in order *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Waiters, Tries, Holders, \* threads that wait; that try; that have a permit at first, and return it
          Many, Watchers,          \* waiters that need all permits, not one; whose grant takes none
          Asks, Bound, Raises, Closes, Bug

VARIABLES taken, flag, closed, bound,  \* the word, and the bound
          line, lock, alive,           \* the FIFO; what has the mutex, or -1; whether the line is there
          raises, closes, asks, pc,
          has,                         \* permits of each thread
          chain                        \* what each thread has still to tell
vars == <<taken, flag, closed, bound, line, lock, alive, raises, closes, asks, pc, has, chain>>

Owner == 0                             \* raises the bound, and closes
Users == Waiters \cup Tries \cup Holders
All == Users \cup {Owner}
Needs(w) == IF w \in Many THEN Bound + Raises ELSE 1
Takes(w) == IF w \in Watchers THEN 0 ELSE Needs(w)

Init == /\ taken = Cardinality(Holders) /\ flag = FALSE /\ closed = FALSE /\ bound = Bound
        /\ line = <<>> /\ lock = -1 /\ alive = TRUE /\ raises = Raises /\ closes = Closes
        /\ asks = [t \in Users |-> IF t \in Holders THEN 0 ELSE Asks]
        /\ pc = [t \in All |-> IF t \in Holders THEN "has" ELSE "out"]
        /\ has = [t \in All |-> IF t \in Holders THEN 1 ELSE 0]
        /\ chain = [t \in All |-> <<>>]

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
Free(n) == taken + n <= bound
word == <<taken, flag, closed, bound>>
rest == <<raises, closes>>

\* --- without the mutex ---------------------------------------------------------------------------------------------
\* Bug 1: takes a permit past a wait. Bug 2: takes one that is not free.
Try(t) == /\ alive /\ pc[t] = "out" /\ asks[t] > 0 /\ asks' = [asks EXCEPT ![t] = @ - 1]
          /\ IF ~closed /\ (Free(1) \/ Bug = 2) /\ (~flag \/ Bug = 1)
               THEN taken' = taken + 1 /\ has' = [has EXCEPT ![t] = 1] /\ Go(t, "has")
               ELSE UNCHANGED <<taken, has>> /\ Go(t, "out")
          /\ UNCHANGED <<flag, closed, bound, line, lock, alive, rest, chain>>

Enter(w) == /\ alive /\ pc[w] = "out" /\ asks[w] > 0 /\ ~closed /\ ~flag /\ Free(Needs(w))
            /\ asks' = [asks EXCEPT ![w] = @ - 1] /\ Go(w, "has")
            /\ taken' = taken + Takes(w) /\ has' = [has EXCEPT ![w] = Takes(w)]
            /\ UNCHANGED <<flag, closed, bound, line, lock, alive, rest, chain>>

\* A thread that has a permit, or had the grant of none, returns it. Bug 3: before it has the mutex.
GiveBack(t) == /\ alive /\ pc[t] = "has"
               /\ IF flag /\ has[t] > 0
                    THEN /\ Go(t, "return")
                         /\ IF Bug = 3 THEN taken' = taken - has[t] /\ has' = [has EXCEPT ![t] = 0]
                                       ELSE UNCHANGED <<taken, has>>
                    ELSE /\ taken' = taken - has[t] /\ has' = [has EXCEPT ![t] = 0] /\ Go(t, "out")
               /\ UNCHANGED <<flag, closed, bound, line, lock, alive, rest, asks, chain>>

\* --- under the mutex -----------------------------------------------------------------------------------------------
\* How many of the FIFO `l` are granted when `n` permits are taken. Bug 4: one only.
RECURSIVE Grants(_, _)
Grants(l, n) == IF l = <<>> \/ n + Needs(Head(l)) > bound' THEN 0
                ELSE IF Bug = 4 THEN 1 ELSE 1 + Grants(Tail(l), n + Takes(Head(l)))
RECURSIVE Sum(_, _)
Sum(l, k) == IF k = 0 THEN 0 ELSE Takes(l[k]) + Sum(l, k - 1)
First(l, k) == SubSeq(l, 1, k)
Behind(l, k) == SubSeq(l, k + 1, Len(l))

\* The rest of a critical section of `t`: grants to the first ones of `l`, of which `n` permits are taken. `more`: has[t].
\* Bug 5: ends the flag though waits are left.
Hand(t, l, n, more) ==
    LET k == Grants(l, n) IN
    /\ line' = Behind(l, k) /\ taken' = n + Sum(l, k)
    /\ flag' = (line' # <<>> /\ Bug # 5)
    /\ has' = [u \in All |-> IF u = t THEN more ELSE IF \E i \in 1..k : l[i] = u THEN Takes(u) ELSE has[u]]
    /\ chain' = [chain EXCEPT ![t] = First(l, k)]

\* Bug 6: looks whether a permit is free, and says that it waits after that.
Ask(w) == /\ alive /\ pc[w] = "out" /\ asks[w] > 0 /\ lock = -1 /\ asks' = [asks EXCEPT ![w] = @ - 1]
          /\ lock' = w /\ Go(w, "ask") /\ UNCHANGED <<word, line, alive, rest, has, chain>>
Enlist(w) == /\ pc[w] = "ask" /\ UNCHANGED <<closed, bound, alive, rest, asks, chain>>
             /\ IF closed THEN Go(w, "out") /\ lock' = -1 /\ UNCHANGED <<taken, flag, line, has>>
                ELSE IF ~flag /\ Free(Needs(w))
                  THEN /\ taken' = taken + Takes(w) /\ has' = [has EXCEPT ![w] = Takes(w)] /\ Go(w, "has")
                       /\ lock' = -1 /\ UNCHANGED <<flag, line>>
                ELSE IF Bug = 6 THEN Go(w, "say") /\ UNCHANGED <<taken, flag, line, lock, has>>
                ELSE /\ flag' = TRUE /\ line' = Append(line, w) /\ lock' = -1 /\ Go(w, "waits")
                     /\ UNCHANGED <<taken, has>>
SayLate(w) == /\ pc[w] = "say" /\ flag' = TRUE /\ line' = Append(line, w) /\ lock' = -1 /\ Go(w, "waits")
              /\ UNCHANGED <<taken, closed, bound, alive, rest, asks, has, chain>>

InLine(w) == \E i \in 1..Len(line) : line[i] = w
\* A stop or a deadline. Bug 7: does not look at the next one. Bug 8: though it was granted. Bug 9: `flag` stays.
Withdraw(w) == /\ alive /\ pc[w] = "waits" /\ lock = -1 /\ lock' = w /\ (InLine(w) \/ (Bug = 8 /\ has[w] > 0)) /\ UNCHANGED bound
               /\ LET l == SelectSeq(line, LAMBDA u : u # w) IN
                  IF Bug = 7 THEN /\ line' = l /\ flag' = (l # <<>>) /\ UNCHANGED <<taken, has, chain>>
                  ELSE IF Bug = 9 THEN line' = l /\ UNCHANGED <<taken, flag, has, chain>>
                  ELSE Hand(w, l, taken, 0)
               /\ Go(w, "unlock") /\ UNCHANGED <<closed, alive, rest, asks>>

Return(t) == /\ pc[t] = "return" /\ lock = -1 /\ lock' = t /\ UNCHANGED bound
             /\ Hand(t, line, taken - has[t], 0)
             /\ Go(t, "unlock") /\ UNCHANGED <<closed, alive, rest, asks>>

Raise == /\ alive /\ pc[Owner] = "out" /\ raises > 0 /\ raises' = raises - 1 /\ lock = -1 /\ lock' = Owner
         /\ bound' = bound + 1
         /\ Hand(Owner, line, taken, 0)
         /\ Go(Owner, "unlock") /\ UNCHANGED <<closed, alive, closes, asks>>

\* Bug 10: only the first wait ends.
Close == /\ alive /\ pc[Owner] = "out" /\ closes > 0 /\ closes' = closes - 1 /\ lock = -1 /\ lock' = Owner
         /\ closed' = TRUE
         /\ LET k == IF Bug = 10 /\ line # <<>> THEN 1 ELSE Len(line) IN
            /\ chain' = [chain EXCEPT ![Owner] = First(line, k)] /\ line' = Behind(line, k) /\ flag' = (line' # <<>>)
         /\ Go(Owner, "unlock") /\ UNCHANGED <<taken, bound, alive, raises, asks, has>>

Unlock(t) == /\ pc[t] = "unlock" /\ lock' = -1 /\ Go(t, "tells")
             /\ UNCHANGED <<word, line, alive, rest, asks, has, chain>>

\* Without the mutex. Bug 11: touches the line once more when it has told all. Bug 12: tells only the first one.
Tell(t) == /\ pc[t] = "tells"
           /\ IF chain[t] = <<>> THEN /\ Go(t, IF Bug = 11 THEN "look" ELSE "out") /\ UNCHANGED chain
              ELSE /\ chain' = [chain EXCEPT ![t] = IF Bug = 12 THEN <<>> ELSE Tail(@)]
                   /\ LET w == Head(chain[t]) IN Go(w, IF closed /\ has[w] = 0 /\ Takes(w) > 0 THEN "out" ELSE "has")
           /\ UNCHANGED <<word, line, lock, alive, rest, asks, has>>
Look(t) == /\ pc[t] = "look" /\ Go(t, "out")
           /\ UNCHANGED <<word, line, lock, alive, rest, asks, has, chain>>

\* A waiter that was granted when all permits were free, or has all, destroys the line, if no other thread has a permit, waits, or
\* will ask again. The destructor locks the mutex: a thread that has returned the last permit may be about to unlock it.
\* Bug 13: it does not.
Destroy(w) == /\ alive /\ pc[w] = "has" /\ Needs(w) = bound /\ raises = 0 /\ closes = 0 /\ (lock = -1 \/ Bug = 13)
              /\ \A u \in Users \ {w} : asks[u] = 0 /\ has[u] = 0 /\ pc[u] \notin {"ask", "say", "waits", "has"}
              /\ alive' = FALSE /\ Go(w, "gone")
              /\ UNCHANGED <<word, line, lock, rest, asks, has, chain>>

Ending(t) == Unlock(t) \/ Tell(t) \/ Look(t)
Giving(t) == GiveBack(t) \/ Return(t) \/ Ending(t)
Waiting(w) == Enlist(w) \/ SayLate(w)
Next == \/ \E t \in Tries : Try(t)
        \/ \E t \in Users : Giving(t)
        \/ \E w \in Waiters : Enter(w) \/ Ask(w) \/ Waiting(w) \/ Withdraw(w) \/ Destroy(w)
        \/ Raise \/ Close \/ Ending(Owner)
Fair == /\ \A t \in Users : WF_vars(GiveBack(t)) /\ SF_vars(Return(t)) /\ WF_vars(Ending(t))
        /\ \A w \in Waiters : WF_vars(Waiting(w))
        /\ WF_vars(Ending(Owner)) /\ SF_vars(Raise)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------
RECURSIVE Total(_)
Total(S) == IF S = {} THEN 0 ELSE LET t == CHOOSE u \in S : TRUE IN has[t] + Total(S \ {t})
Counted == taken = Total(All)
Bounded == taken <= bound
Served == line # <<>> => ~Free(Needs(Head(line)))
FlagIsTrue == flag = (line # <<>>)
Refused == closed => line = <<>>
Untouched == ~alive => lock = -1 /\ \A t \in All : pc[t] \notin {"ask", "say", "return", "unlock", "look", "waits"}
Told == \A w \in Waiters : (pc[w] = "waits" /\ ~InLine(w)) ~> pc[w] # "waits"
Granted == \A w \in Waiters : pc[w] = "waits" ~> pc[w] # "waits"
NoneOvertakes == [][/\ line # <<>> => \A t \in Tries : ~(pc[t] = "out" /\ pc'[t] = "has")
                    /\ \A i \in 2..Len(line) : (has'[line[i]] > has[line[i]]) => ~\E k \in 1..Len(line') : line'[k] = line[i - 1]]_vars
=============================================================================
