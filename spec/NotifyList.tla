----------------------------- MODULE NotifyList -----------------------------
(* Waits for a notification, which then wait for a lock. sync/notify_list, wait/condition_wait: what is under a condition.

   A thread that has the lock and finds the predicate false enters the FIFO of the condition, and unlocks then. A notification takes
   waits out of that FIFO, under the mutex of the condition, and lets each enter the line of the lock, or gives it the lock. What was
   given the lock at once is told after the mutex. A wait that gives up leaves the FIFO, and locks by itself; when it was notified it
   keeps its place in the line. Line has the lock itself: here an unlock hands it to the first thread in line, in one step.

   What is to hold
     OnePlace   a wait is in one FIFO at most, and not told yet while it is in one
     Alone      one thread at most goes on with the lock
     InOrder    notified waits lock in the order in which they began
     Untouched  no thread touches the condition after it was destroyed
     NotMissed  all waits end after a change that is notified to all, or to each                 (liveness)
     Locks      a thread in the line has the lock at last                                        (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Waiters, ToAll, Quits, Bug  \* whether the change notifies all at once; how often a wait gives up

VARIABLES cond, mutex, alive,      \* the FIFO of the condition; what has its mutex, or -1; whether it is there
          line, holder,            \* the line of the lock; what has it, or -1
          ready,                   \* the predicate
          pc, quits, left, granted,  \* left: notifications to come; granted: to be told
          next, number             \* the order of the waits
vars == <<cond, mutex, alive, line, holder, ready, pc, quits, left, granted, next, number>>

Changer == 0
All == Waiters \cup {Changer}
Init == /\ cond = <<>> /\ mutex = -1 /\ alive = TRUE /\ line = <<>> /\ holder = -1 /\ ready = FALSE
        /\ pc = [t \in All |-> "out"] /\ quits = Quits /\ left = (IF ToAll THEN 1 ELSE Cardinality(Waiters)) /\ granted = <<>>
        /\ next = 0 /\ number = [t \in All |-> 0]

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
In(l, t) == \E i \in 1..Len(l) : l[i] = t

\* --- the lock, as Line has it ------------------------------------------------------------------------------------
Lock(t) == /\ pc[t] = "out" /\ UNCHANGED <<cond, mutex, alive, ready, quits, left, granted, next, number>>
           /\ IF holder = -1 THEN holder' = t /\ Go(t, "has") /\ UNCHANGED line
                             ELSE line' = Append(line, t) /\ Go(t, "in line") /\ UNCHANGED holder
\* Hands the lock on, and tells what has it then; `t` goes on at `to`.
HandOn(t, to) == IF line = <<>> THEN holder' = -1 /\ Go(t, to) /\ UNCHANGED line
                 ELSE /\ holder' = Head(line) /\ line' = Tail(line) /\ pc' = [pc EXCEPT ![t] = to, ![Head(line)] = "has"]

\* --- a wait ------------------------------------------------------------------------------------------------------
\* Bug 1: unlocks, and enters the FIFO after that.
Enter(w) == /\ pc[w] = "has" /\ ~ready /\ mutex = -1 /\ alive /\ UNCHANGED <<alive, ready, quits, left, granted>>
            /\ IF Bug = 1 THEN HandOn(w, "enters") /\ UNCHANGED <<cond, mutex, next, number>>
               ELSE /\ mutex' = w /\ cond' = Append(cond, w) /\ Go(w, "unlocks") /\ UNCHANGED <<line, holder>>
                    /\ next' = next + 1 /\ number' = [number EXCEPT ![w] = next + 1]
EnterLate(w) == /\ pc[w] = "enters" /\ mutex = -1 /\ cond' = Append(cond, w) /\ Go(w, "waits")
                /\ UNCHANGED <<mutex, alive, line, holder, ready, quits, left, granted, next, number>>
\* The mutex, and then the lock.
UnlockMutex(w) == /\ pc[w] = "unlocks" /\ mutex = w /\ mutex' = -1 /\ Go(w, "unlocks both")
                  /\ UNCHANGED <<cond, alive, line, holder, ready, quits, left, granted, next, number>>
Wait(w) == /\ pc[w] = "unlocks both" /\ HandOn(w, "waits")
           /\ UNCHANGED <<cond, mutex, alive, ready, quits, left, granted, next, number>>
\* The predicate holds: it ends with the lock, and unlocks. Bug 11: and hands the lock to none.
End(w) == /\ w # Changer /\ pc[w] = "has" /\ ready
          /\ IF Bug = 11 THEN holder' = -1 /\ Go(w, "done") /\ UNCHANGED line ELSE HandOn(w, "done")
          /\ UNCHANGED <<cond, mutex, alive, ready, quits, left, granted, next, number>>

\* A stop or a deadline. Bug 2: it stays in the FIFO. Bug 3: locks by itself though it was notified. Bug 4: goes on without the lock.
\* Bug 8: waits on, in no FIFO.
Leave(w) == /\ alive /\ mutex = -1 /\ pc[w] = "waits" /\ quits > 0 /\ (In(cond, w) \/ (Bug = 3 /\ In(line, w)))
            /\ quits' = quits - 1 /\ mutex' = w
            /\ cond' = (IF Bug = 2 THEN cond ELSE SelectSeq(cond, LAMBDA u : u # w)) /\ Go(w, "leaves")
            /\ UNCHANGED <<alive, line, holder, ready, left, granted, next, number>>
Left(w) == /\ pc[w] = "leaves" /\ mutex = w /\ mutex' = -1 /\ Go(w, IF Bug = 4 THEN "has" ELSE IF Bug = 8 THEN "waits" ELSE "out")
           /\ UNCHANGED <<cond, alive, line, holder, ready, quits, left, granted, next, number>>

\* --- the change, and the notification ----------------------------------------------------------------------------
Change == /\ pc[Changer] = "has" /\ ~ready /\ ready' = TRUE /\ HandOn(Changer, "notifies")
          /\ UNCHANGED <<cond, mutex, alive, quits, left, granted, next, number>>
\* Bug 5: gives the lock to a wait though a thread has it. Bug 6: only the newest wait. Bug 7: notifies one though all are meant.
Count == IF ToAll /\ Bug # 7 THEN Len(cond) ELSE IF cond = <<>> THEN 0 ELSE 1
Moved == IF Bug = 6 /\ cond # <<>> THEN <<cond[Len(cond)]>> ELSE SubSeq(cond, 1, Count)
Notify == /\ alive /\ pc[Changer] = "notifies" /\ left > 0 /\ left' = left - 1 /\ mutex = -1 /\ mutex' = Changer
          /\ cond' = SelectSeq(cond, LAMBDA u : ~In(Moved, u))
          /\ IF Moved # <<>> /\ (holder = -1 \/ Bug = 5)
               THEN /\ holder' = Head(Moved) /\ line' = line \o Tail(Moved) /\ granted' = <<Head(Moved)>>
               ELSE line' = line \o Moved /\ UNCHANGED <<holder, granted>>
          /\ Go(Changer, "unlocks") /\ UNCHANGED <<alive, ready, quits, next, number>>
Unlock == /\ pc[Changer] = "unlocks" /\ mutex' = -1 /\ Go(Changer, "tells")
          /\ UNCHANGED <<cond, alive, line, holder, ready, quits, left, granted, next, number>>
\* Without the mutex. Bug 9: it does not.
Tell == /\ pc[Changer] = "tells"
        /\ LET told == [pc EXCEPT ![Changer] = IF left > 0 THEN "notifies" ELSE "done"] IN
           pc' = IF granted = <<>> \/ Bug = 9 THEN told ELSE [told EXCEPT ![Head(granted)] = "has"]
        /\ granted' = <<>> /\ UNCHANGED <<cond, mutex, alive, line, holder, ready, quits, left, next, number>>

\* The last wait to end destroys the condition. The destructor locks the mutex. Bug 10: it does not.
Destroy(w) == /\ alive /\ w # Changer /\ pc[w] = "done" /\ left = 0 /\ (mutex = -1 \/ Bug = 10)
              /\ \A u \in Waiters \ {w} : pc[u] \in {"done", "gone"}
              /\ alive' = FALSE /\ Go(w, "gone")
              /\ UNCHANGED <<cond, mutex, line, holder, ready, quits, left, granted, next, number>>

Steps(w) == Lock(w) \/ Enter(w) \/ EnterLate(w) \/ UnlockMutex(w) \/ Wait(w) \/ End(w) \/ Left(w)
Changes == Lock(Changer) \/ Change \/ Notify \/ Unlock \/ Tell
Next == (\E w \in Waiters : Steps(w) \/ Leave(w) \/ Destroy(w)) \/ Changes
Fair == (\A w \in Waiters : SF_vars(Steps(w))) /\ SF_vars(Changes)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------
OnePlace == /\ \A w \in Waiters : ~(In(cond, w) /\ In(line, w))
            /\ \A w \in Waiters : In(cond, w) => pc[w] \in {"unlocks", "unlocks both", "waits"}
            /\ \A i \in 1..Len(line) : pc[line[i]] \in {"unlocks", "unlocks both", "waits", "in line"}
Alone == \A t \in All : pc[t] = "has" => holder = t
InOrder == \A i, k \in 1..Len(line) : i < k /\ number[line[i]] # 0 /\ number[line[k]] # 0 /\ pc[line[i]] = "waits" /\ pc[line[k]] = "waits"
             => number[line[i]] < number[line[k]]
Untouched == ~alive => mutex = -1 /\ \A w \in Waiters : pc[w] \notin {"waits", "unlocks", "leaves"}
NotMissed == \A w \in Waiters : pc[w] = "waits" ~> pc[w] # "waits"
Locks == \A t \in All : pc[t] = "in line" ~> pc[t] # "in line"
=============================================================================
