----------------------------- MODULE FutexMutex -----------------------------
(* A mutex in one word, on the futex of the kernel. sync/futex_mutex [FM1].

   A thread that finds the word free locks it by one exchange. Another one spins, counts itself as a sleeper, makes all threads
   pass a barrier, and sleeps while the word is locked. An unlock stores `free`, and then wakes one sleeper if some are counted.
   The store may stay in the buffer of its thread until after that look: only an exchange of the thread itself, the barrier, or
   time brings it to the memory. The thread that is the last to lock it frees the memory; the others may then only name its
   address.

   What is to hold
     Exclusive    one thread at a time has it
     NotTouched   no thread touches the word after it is freed
     Locked       each thread that wants it has it at last      (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Threads, Times, Bug

VARIABLES word, buffered, sleepers, left, pc, asleep, touched
vars == <<word, buffered, sleepers, left, pc, asleep, touched>>

Init == /\ word = "free" /\ buffered = {} /\ sleepers = 0 /\ left = [t \in Threads |-> Times]
        /\ pc = [t \in Threads |-> "out"] /\ asleep = {} /\ touched = FALSE

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
Touch == touched' = (touched \/ word = "gone")

\* One exchange, from free to locked. It leaves nothing of the thread in its buffer. Bug 1: looks first, and locks after that.
TryLock(t) == /\ pc[t] = "out" /\ left[t] > 0 /\ t \notin buffered /\ Touch
              /\ IF word = "free"
                   THEN IF Bug = 1 THEN Go(t, "late") /\ UNCHANGED word ELSE word' = "locked" /\ Go(t, "has")
                   ELSE Go(t, "spin") /\ UNCHANGED word
              /\ UNCHANGED <<buffered, sleepers, left, asleep>>
LockLate(t) == pc[t] = "late" /\ word' = "locked" /\ Go(t, "has") /\ Touch /\ UNCHANGED <<buffered, sleepers, left, asleep>>
\* While it spins it may find the word free, and tries again.
Spin(t) == pc[t] = "spin" /\ word = "free" /\ Go(t, "out") /\ Touch /\ UNCHANGED <<word, buffered, sleepers, left, asleep>>
\* Bug 2: passes no barrier.
Count(t) == /\ pc[t] = "spin" /\ sleepers' = sleepers + 1 /\ Go(t, IF Bug = 2 THEN "again" ELSE "barrier")
            /\ UNCHANGED <<word, buffered, left, asleep, touched>>
Barrier(t) == /\ pc[t] = "barrier" /\ Go(t, "again") /\ buffered' = {}
              /\ word' = (IF buffered # {} THEN "free" ELSE word) /\ touched' = (touched \/ (word = "gone" /\ buffered # {}))
              /\ UNCHANGED <<sleepers, left, asleep>>
\* Bug 6: is counted no more once it has slept.
Again(t) == /\ pc[t] = "again" /\ Touch
            /\ IF word = "free" THEN word' = "locked" /\ Go(t, "has") ELSE UNCHANGED word /\ Go(t, "wait")
            /\ sleepers' = (IF word = "free" /\ (Bug # 6 \/ sleepers > 0) THEN sleepers - 1 ELSE sleepers)
            /\ UNCHANGED <<buffered, left, asleep>>
\* The kernel compares the word, and sleeps, in one step. Bug 3: it does not compare.
Sleep(t) == /\ pc[t] = "wait" /\ UNCHANGED <<word, buffered, left, touched>>
            /\ IF word = "locked" \/ Bug = 3 THEN asleep' = asleep \cup {t} /\ Go(t, "asleep")
                                              ELSE Go(t, "again") /\ UNCHANGED asleep
            /\ sleepers' = (IF Bug = 6 /\ sleepers > 0 THEN sleepers - 1 ELSE sleepers)
Spurious(t) == /\ pc[t] = "asleep" /\ Go(t, "again") /\ asleep' = asleep \ {t}
               /\ UNCHANGED <<word, buffered, sleepers, left, touched>>

\* The last one frees the memory, and its store is there before.
Unlock(t) == /\ pc[t] = "has" /\ left' = [left EXCEPT ![t] = @ - 1] /\ Touch
             /\ LET last == \A u \in Threads : left'[u] = 0 IN
                IF last THEN word' = "gone" /\ Go(t, "done") /\ UNCHANGED buffered
                        ELSE buffered' = buffered \cup {t} /\ Go(t, "look") /\ UNCHANGED word
             /\ UNCHANGED <<sleepers, asleep>>
Flush(t) == /\ t \in buffered /\ buffered' = buffered \ {t} /\ word' = (IF word = "gone" THEN word ELSE "free") /\ Touch
            /\ UNCHANGED <<sleepers, left, pc, asleep>>
\* Bug 4: wakes no thread. Bug 5: looks once more at the word, whether to wake one.
Look(t) == /\ pc[t] = "look" /\ touched' = (touched \/ (Bug = 5 /\ word = "gone"))
           /\ Go(t, IF sleepers = 0 \/ Bug = 4 THEN "out" ELSE "wake") /\ UNCHANGED <<word, buffered, sleepers, left, asleep>>
\* The kernel passes a barrier before it looks for sleepers.
Wake(t) == /\ pc[t] = "wake" /\ t \notin buffered /\ UNCHANGED <<word, buffered, sleepers, left, touched>>
           /\ IF asleep = {} THEN Go(t, "out") /\ UNCHANGED asleep
              ELSE \E u \in asleep : asleep' = asleep \ {u} /\ pc' = [pc EXCEPT ![t] = "out", ![u] = "again"]

Locks(t) == TryLock(t) \/ LockLate(t) \/ Count(t) \/ Again(t) \/ Sleep(t)
Unlocks(t) == Unlock(t) \/ Flush(t) \/ Look(t) \/ Wake(t) \/ Barrier(t)
Next == \E t \in Threads : Locks(t) \/ Spin(t) \/ Spurious(t) \/ Unlocks(t)
\* The kernel need not wake a thread for no reason.
Fair == \A t \in Threads : SF_vars(Locks(t)) /\ WF_vars(Unlocks(t))
Spec == Init /\ [][Next]_vars /\ Fair

Exclusive == Cardinality({t \in Threads : pc[t] = "has"}) <= 1
NotTouched == ~touched
Locked == \A t \in Threads : pc[t] \notin {"out", "done", "look", "wake"} ~> pc[t] = "has" \/ left[t] = 0
=============================================================================
