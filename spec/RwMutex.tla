------------------------------- MODULE RwMutex -------------------------------
(* Shared and exclusive entries in fair phases, and the close. sync/phase_line [RW1] [RW2].

   One word has how many shared entries hold the line, whether an exclusive one does, whether waits are in a FIFO, and whether the
   line is closed. Without waits a thread enters and leaves by one exchange of the word. While the word says that there are waits,
   the word changes only under the mutex [RW1]. Grants are told after the mutex was unlocked; the first thread told may destroy the
   line.

   Policy: "phase" fair in phases; "arrival" one FIFO for both kinds, which is wl; "first" writers come first. With Endless the
   threads ask again for ever.

   What is to hold
     Exclusion   an exclusive entry is alone
     Counted     the word has the entries of the threads
     Served      readers wait only for a writer; nothing waits for a line without a holder
     FlagIsTrue  the word says that there are waits exactly while there are
     Refused     nothing waits in a closed line but the teardown
     Once        one teardown is granted at most
     Untouched   no thread touches the line after it was destroyed
     Ends        a wait ends if the holders leave; with Endless: nothing starves, but readers under "first"    (liveness)
     PhaseFair   the end of a writer lets in all readers that wait
     NonePasses  a reader does not enter past a writer that waits
     InOrder     under "arrival" a thread does not enter past a wait
     WritersFirst  under "first" no reader enters while a writer waits
     Kept        no writer comes between the two halves of a downgrade *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Readers, Writers, Closers, Asks, Policy, Endless, Bug

VARIABLES shared, excl, flag, closed,  \* the word
          rl, wl, cl,                  \* the FIFOs: readers, writers, the teardown
          torn, lock, alive,           \* how many teardowns were granted; what has the mutex, or -1; whether the line is there
          asks, pc,
          has,                         \* the entry of each thread: "n", "r" or "w"
          chain                        \* what each thread has still to tell
vars == <<shared, excl, flag, closed, rl, wl, cl, torn, lock, alive, asks, pc, has, chain>>
word == <<shared, excl, flag, closed>>
fifos == <<rl, wl, cl>>

Users == Readers \cup Writers
All == Users \cup Closers

Init == /\ shared = 0 /\ excl = FALSE /\ flag = FALSE /\ closed = FALSE
        /\ rl = <<>> /\ wl = <<>> /\ cl = <<>> /\ torn = 0 /\ lock = -1 /\ alive = TRUE
        /\ asks = [t \in All |-> IF t \in Closers THEN 1 ELSE Asks]
        /\ pc = [t \in All |-> "out"] /\ has = [t \in All |-> "n"] /\ chain = [t \in All |-> <<>>]

Asked(t) == asks' = IF Endless THEN asks ELSE [asks EXCEPT ![t] = @ - 1]
Go(t, to) == pc' = [pc EXCEPT ![t] = to]
Kind(t) == IF t \in Readers THEN "r" ELSE "w"
\* Bug 1: a reader does not look whether there are waits.
Admits(t) == /\ ~closed /\ ~excl /\ (~flag \/ (Bug = 1 /\ t \in Readers)) /\ (t \in Readers \/ shared = 0)
Add(t) == IF t \in Readers THEN shared' = shared + 1 /\ UNCHANGED excl ELSE excl' = TRUE /\ UNCHANGED shared
Range(s) == {s[i] : i \in 1..Len(s)}
One(s) == IF s = <<>> THEN <<>> ELSE <<Head(s)>>
Without(s, t) == SelectSeq(s, LAMBDA u : u # t)

\* --- without the mutex ---------------------------------------------------------------------------------------------
Enter(t) == /\ alive /\ pc[t] = "out" /\ asks[t] > 0 /\ Admits(t) /\ Asked(t)
            /\ Add(t) /\ has' = [has EXCEPT ![t] = Kind(t)] /\ Go(t, "in")
            /\ UNCHANGED <<flag, closed, fifos, torn, lock, alive, chain>>

Remove(t) == IF has[t] = "r" THEN shared' = shared - 1 /\ UNCHANGED excl ELSE excl' = FALSE /\ UNCHANGED shared

\* Bug 2: ends its entry before it has the mutex.
Leave(t) == /\ alive /\ pc[t] = "in" /\ Go(t, IF flag THEN "leave" ELSE "out")
            /\ IF flag /\ Bug # 2 THEN UNCHANGED <<shared, excl, has>> ELSE Remove(t) /\ has' = [has EXCEPT ![t] = "n"]
            /\ UNCHANGED <<flag, closed, fifos, torn, lock, alive, asks, chain>>

Downgrade(t) == /\ alive /\ pc[t] = "in" /\ has[t] = "w" /\ t \in Writers
                /\ IF flag THEN Go(t, "lower") /\ UNCHANGED <<shared, excl, has>>
                   ELSE /\ excl' = FALSE /\ shared' = shared + 1 /\ has' = [has EXCEPT ![t] = "r"] /\ UNCHANGED pc
                /\ UNCHANGED <<flag, closed, fifos, torn, lock, alive, asks, chain>>

\* Bug 3: though another reader is inside.
Upgrade(t) == /\ alive /\ pc[t] = "in" /\ has[t] = "r" /\ t \in Readers /\ (shared = 1 \/ Bug = 3) /\ ~flag /\ ~closed
              /\ excl' = TRUE /\ shared' = shared - 1 /\ has' = [has EXCEPT ![t] = "w"]
              /\ UNCHANGED <<flag, closed, fifos, torn, lock, alive, asks, pc, chain>>

\* The readers before the first writer of a FIFO.
Leading(w) == SubSeq(w, 1, CHOOSE n \in 0..Len(w) : /\ \A i \in 1..n : w[i] \in Readers
                                                    /\ n < Len(w) => w[n + 1] \in Writers)

\* --- under the mutex -----------------------------------------------------------------------------------------------
\* The rest of a critical section of `t`, of which `s` shared and `e` exclusive entries hold the line, and `r`, `w`, `c` wait.
\* `first`: an exclusive entry has ended. `own`: has[t]. Bug 4: a writer comes first. Bug 5: only one reader comes in.
\* Bug 14: readers pass writers under "arrival". Bug 15 is none: "first" starves readers. Bug 16: "first" is as "phase".
\* Bug 6: the flag stays. Bug 7: the teardown does not wait for readers.
Grant(t, s, e, r, w, c, first, own) ==
    LET fair  == (Policy = "phase" \/ Bug = 16) /\ first /\ ~(Bug = 4 /\ w # <<>>)
        lets  == ~e /\ r # <<>> /\ (fair \/ w = <<>>)
        run   == IF Policy # "arrival" \/ e THEN <<>>
                 ELSE IF Bug = 14 THEN SelectSeq(w, LAMBDA u : u \in Readers) ELSE Leading(w)
        in    == run \o (IF ~lets THEN <<>> ELSE IF Bug = 5 THEN One(r) ELSE r)
        rest  == SelectSeq(w, LAMBDA u : u \notin Range(run))
        s2    == s + Len(in)
        one   == IF e \/ s2 > 0 THEN <<>> ELSE One(rest)
        tear  == IF e \/ (s2 > 0 /\ Bug # 7) \/ one # <<>> THEN <<>> ELSE c
        alone == one \o tear
    IN /\ shared' = s2 /\ excl' = (e \/ alone # <<>>)
       /\ rl' = SubSeq(r, Len(in) - Len(run) + 1, Len(r)) /\ wl' = SubSeq(rest, Len(one) + 1, Len(rest)) /\ cl' = SubSeq(c, Len(tear) + 1, Len(c))
       /\ flag' = (rl' # <<>> \/ wl' # <<>> \/ cl' # <<>> \/ Bug = 6)
       /\ torn' = torn + Len(tear)
       /\ has' = [u \in All |-> IF u = t THEN own ELSE IF u \in Range(in) THEN "r" ELSE IF u \in Range(alone) THEN "w" ELSE has[u]]
       /\ chain' = [chain EXCEPT ![t] = in \o alone]

Ask(t) == /\ alive /\ pc[t] = "out" /\ asks[t] > 0 /\ lock = -1 /\ Asked(t)
          /\ lock' = t /\ Go(t, "ask") /\ UNCHANGED <<word, fifos, torn, alive, has, chain>>
Enlist(t) == /\ pc[t] = "ask" /\ lock' = -1 /\ UNCHANGED <<closed, cl, torn, alive, asks, chain>>
             /\ IF closed THEN Go(t, "out") /\ UNCHANGED <<shared, excl, flag, rl, wl, has>>
                ELSE IF Admits(t)
                  THEN Add(t) /\ has' = [has EXCEPT ![t] = Kind(t)] /\ Go(t, "in") /\ UNCHANGED <<flag, rl, wl>>
                ELSE /\ flag' = TRUE /\ Go(t, "waits") /\ UNCHANGED <<shared, excl, has>>
                     /\ IF t \in Readers /\ Policy # "arrival" THEN rl' = Append(rl, t) /\ UNCHANGED wl ELSE wl' = Append(wl, t) /\ UNCHANGED rl

\* Bug 8: does not look whether readers may come in. Bug 13: though it was granted.
InFifo(t) == t \in Range(rl) \cup Range(wl) \cup Range(cl)
Withdraw(t) == /\ alive /\ pc[t] = "waits" /\ lock = -1 /\ (InFifo(t) \/ (Bug = 13 /\ has[t] # "n")) /\ lock' = t /\ Go(t, "unlock")
               /\ IF Bug = 8
                    THEN /\ rl' = Without(rl, t) /\ wl' = Without(wl, t) /\ cl' = Without(cl, t)
                         /\ flag' = (rl' # <<>> \/ wl' # <<>> \/ cl' # <<>>) /\ UNCHANGED <<shared, excl, torn, has, chain>>
                    ELSE Grant(t, shared, excl, Without(rl, t), Without(wl, t), Without(cl, t), FALSE, "n")
               /\ UNCHANGED <<closed, alive, asks>>

\* A leave that found the flag. The last waiter may have gone meanwhile.
Return(t) == /\ pc[t] = "leave" /\ lock = -1 /\ lock' = t /\ Go(t, "unlock")
             /\ Grant(t, IF has[t] = "r" THEN shared - 1 ELSE shared, excl /\ has[t] # "w", rl, wl, cl, has[t] = "w", "n")
             /\ UNCHANGED <<closed, alive, asks>>
\* Bug 9: unlocks, and lets in what waits, before it enters as a reader.
Lower(t) == /\ pc[t] = "lower" /\ lock = -1 /\ lock' = t /\ Go(t, "unlock")
            /\ IF Bug = 9 THEN Grant(t, shared, FALSE, rl, wl, cl, rl # <<>>, "n")
                          ELSE Grant(t, shared + 1, FALSE, rl, wl, cl, TRUE, "r")
            /\ UNCHANGED <<closed, alive, asks>>

\* Bug 10: does not know of an earlier teardown. Bug 11: leaves the writers that wait.
Close(t) == /\ alive /\ pc[t] = "out" /\ asks[t] > 0 /\ asks' = [asks EXCEPT ![t] = @ - 1] /\ lock = -1
            /\ UNCHANGED <<alive, shared>>
            /\ IF (torn > 0 /\ Bug # 10) \/ cl # <<>>
                 THEN UNCHANGED <<word, fifos, torn, lock, pc, has, chain>>
                 ELSE /\ closed' = TRUE /\ lock' = t /\ Go(t, "unlock")
                      /\ rl' = <<>> /\ wl' = (IF Bug = 11 THEN wl ELSE <<>>)
                      /\ chain' = [chain EXCEPT ![t] = IF Bug = 11 THEN rl ELSE rl \o wl]
                      /\ IF excl \/ shared > 0
                           THEN cl' = <<t>> /\ flag' = TRUE /\ UNCHANGED <<excl, torn, has>>
                           ELSE /\ excl' = TRUE /\ torn' = torn + 1 /\ has' = [has EXCEPT ![t] = "w"]
                                /\ flag' = FALSE /\ UNCHANGED cl

\* A close whose wait does not begin. Bug 17: the flag stays.
Refuse(t) == /\ alive /\ pc[t] = "out" /\ asks[t] > 0 /\ asks' = [asks EXCEPT ![t] = @ - 1] /\ lock = -1
             /\ UNCHANGED <<alive, shared, excl, cl, torn, has>>
             /\ IF torn > 0 \/ cl # <<>>
                  THEN UNCHANGED <<flag, closed, rl, wl, lock, pc, chain>>
                  ELSE /\ closed' = TRUE /\ lock' = t /\ Go(t, "unlock") /\ flag' = (Bug = 17)
                       /\ rl' = <<>> /\ wl' = <<>> /\ chain' = [chain EXCEPT ![t] = rl \o wl]

\* Where a thread is when its own critical section is over.
After(t) == IF InFifo(t) THEN "waits" ELSE IF has[t] # "n" THEN "in" ELSE "out"
Unlock(t) == /\ pc[t] = "unlock" /\ lock' = -1 /\ Go(t, "tells")
             /\ UNCHANGED <<word, fifos, torn, alive, asks, has, chain>>
Tell(t) == /\ pc[t] = "tells"
           /\ IF chain[t] = <<>> THEN Go(t, After(t)) /\ UNCHANGED chain
              ELSE /\ chain' = [chain EXCEPT ![t] = Tail(@)]
                   /\ LET w == Head(chain[t]) IN
                      Go(w, IF pc[w] = "waits" THEN (IF has[w] = "n" THEN "out" ELSE "in") ELSE pc[w])
           /\ UNCHANGED <<word, fifos, torn, lock, alive, asks, has>>

\* A thread that has the line alone destroys it, if no other thread has an entry, waits, or will ask again. The destructor locks the
\* mutex. Bug 12: it does not.
Destroy(t) == /\ alive /\ pc[t] = "in" /\ has[t] = "w" /\ (lock = -1 \/ Bug = 12) /\ rl = <<>> /\ wl = <<>> /\ cl = <<>>
              /\ \A u \in All \ {t} : asks[u] = 0 /\ has[u] = "n" /\ pc[u] \notin {"ask", "waits", "in"}
              /\ alive' = FALSE /\ Go(t, "gone") /\ UNCHANGED <<word, fifos, torn, lock, asks, has, chain>>

Ending(t) == Unlock(t) \/ Tell(t)
Next == \/ \E t \in Users : Enter(t) \/ Ask(t) \/ Enlist(t) \/ Withdraw(t) \/ Downgrade(t) \/ Upgrade(t)
        \/ \E t \in Closers : Close(t) \/ Refuse(t) \/ Withdraw(t)
        \/ \E t \in All : Leave(t) \/ Return(t) \/ Lower(t) \/ Ending(t) \/ Destroy(t)
Fair == \A t \in All : /\ WF_vars(Leave(t)) /\ SF_vars(Return(t)) /\ SF_vars(Lower(t))
                       /\ WF_vars(Ending(t)) /\ WF_vars(Enlist(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------
Exclusion == excl => shared = 0
Counted == /\ shared = Cardinality({t \in All : has[t] = "r"})
           /\ Cardinality({t \in All : has[t] = "w"}) = (IF excl THEN 1 ELSE 0)
Served == /\ Policy = "arrival" => rl = <<>> /\ (wl # <<>> /\ Head(wl) \in Readers => excl)
          /\ rl # <<>> => excl \/ wl # <<>>
          /\ ~excl /\ shared = 0 => rl = <<>> /\ wl = <<>> /\ cl = <<>>
FlagIsTrue == flag = (rl # <<>> \/ wl # <<>> \/ cl # <<>>)
Refused == closed => rl = <<>> /\ wl = <<>>
Once == torn <= 1
Untouched == ~alive => lock = -1 /\ \A t \in All : pc[t] \notin {"ask", "leave", "lower", "unlock", "waits"}
Ends == \A t \in All : pc[t] = "waits" ~> pc[t] # "waits"
PhaseFair == [][Policy = "phase" => \A t \in All : has[t] = "w" /\ has'[t] # "w" => rl' = <<>>]_vars
WritersFirst == [][Policy = "first" /\ wl' # <<>> => \A t \in Readers : has[t] = "n" => has'[t] # "r"]_vars
InOrder == [][Policy = "arrival" => \A i \in 1..Len(wl) : has'[wl[i]] # "n" => \A j \in 1..i : has'[wl[j]] # "n" \/ pc'[wl[j]] # "waits"]_vars
NonePasses == [][wl # <<>> => \A t \in Readers : pc[t] \in {"out", "ask"} => has'[t] = "n"]_vars
Kept == [][\A t \in Writers : pc[t] = "lower" /\ pc'[t] # "lower" => has'[t] = "r"]_vars
=============================================================================
