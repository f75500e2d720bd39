----------------------------- MODULE FutexMutex -----------------------------
(* A mutex in one word, on the futex of the kernel. sync/futex_mutex [FM1].

   A thread that finds the word free locks it by one exchange. Another one spins, and then says by an exchange that threads may
   sleep, and sleeps while the word says so. An unlock frees the word by one exchange, and wakes one sleeper if the word said that
   there may be one. The thread that is the last to lock it frees the memory; the others may then only name its address.

   What is to hold
     Exclusive    one thread at a time has it
     NotTouched   no thread touches the word after it is freed
     Locked       each thread that wants it has it at last      (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Threads, Times, Bug

VARIABLES word, left, pc, asleep, touched
vars == <<word, left, pc, asleep, touched>>

Init == /\ word = "free" /\ left = [t \in Threads |-> Times] /\ pc = [t \in Threads |-> "out"]
        /\ asleep = {} /\ touched = FALSE

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
Touch == touched' = (touched \/ word = "gone")

\* One exchange, from free to locked. Only a thread that has not slept may lock it so. Bug 1: looks first, and locks after that.
TryLock(t) == /\ pc[t] = "out" /\ left[t] > 0 /\ Touch
              /\ IF word = "free"
                   THEN IF Bug = 1 THEN Go(t, "late") /\ UNCHANGED word ELSE word' = "locked" /\ Go(t, "has")
                   ELSE Go(t, "spin") /\ UNCHANGED word
              /\ UNCHANGED <<left, asleep>>
LockLate(t) == pc[t] = "late" /\ word' = "locked" /\ Go(t, "has") /\ Touch /\ UNCHANGED <<left, asleep>>
\* While it spins it may find the word free, and tries again.
Spin(t) == pc[t] = "spin" /\ word = "free" /\ Go(t, "out") /\ Touch /\ UNCHANGED <<word, left, asleep>>
\* Bug 2: locks it as if no other thread slept.
Contend(t) == /\ pc[t] \in {"spin", "contend"} /\ Touch
              /\ word' = (IF word = "free" /\ Bug = 2 THEN "locked" ELSE "contended")
              /\ Go(t, IF word = "free" THEN "has" ELSE "wait") /\ UNCHANGED <<left, asleep>>
\* The kernel compares the word, and sleeps, in one step. Bug 3: it does not compare.
Sleep(t) == /\ pc[t] = "wait" /\ UNCHANGED <<word, left, touched>>
            /\ IF word = "contended" \/ Bug = 3 THEN asleep' = asleep \cup {t} /\ Go(t, "asleep")
                                                ELSE Go(t, "contend") /\ UNCHANGED asleep
Spurious(t) == pc[t] = "asleep" /\ Go(t, "contend") /\ asleep' = asleep \ {t} /\ UNCHANGED <<word, left, touched>>

\* Bug 4: wakes no thread. Bug 5: looks once more at the word, whether to wake one.
Unlock(t) == /\ pc[t] = "has" /\ left' = [left EXCEPT ![t] = @ - 1] /\ Touch
             /\ LET last == \A u \in Threads : left'[u] = 0 IN
                /\ word' = (IF last /\ word # "gone" THEN "gone" ELSE "free")
                /\ Go(t, CASE last -> "done" [] Bug = 4 -> "out" [] Bug = 5 -> "again" [] word = "contended" -> "wake" [] OTHER -> "out")
             /\ UNCHANGED asleep
Again(t) == /\ pc[t] = "again" /\ Touch /\ Go(t, "wake") /\ UNCHANGED <<word, left, asleep>>
Wake(t) == /\ pc[t] = "wake" /\ UNCHANGED <<word, left, touched>>
           /\ IF asleep = {} THEN Go(t, "out") /\ UNCHANGED asleep
              ELSE \E u \in asleep : asleep' = asleep \ {u} /\ pc' = [pc EXCEPT ![t] = "out", ![u] = "contend"]

Locks(t) == TryLock(t) \/ LockLate(t) \/ Contend(t) \/ Sleep(t)
Unlocks(t) == Unlock(t) \/ Again(t) \/ Wake(t)
Next == \E t \in Threads : Locks(t) \/ Spin(t) \/ Spurious(t) \/ Unlocks(t)
\* The kernel need not wake a thread for no reason.
Fair == \A t \in Threads : SF_vars(Locks(t)) /\ WF_vars(Unlocks(t))
Spec == Init /\ [][Next]_vars /\ Fair

Exclusive == Cardinality({t \in Threads : pc[t] = "has"}) <= 1
NotTouched == ~touched
Locked == \A t \in Threads : pc[t] \notin {"out", "done"} ~> pc[t] = "has" \/ left[t] = 0
=============================================================================
