------------------------------ MODULE Meeting ------------------------------
(* The arrivals of a phase, and the waits for its end. sync/meeting, wait/phases: what is under a barrier.

   Under one mutex an arrival that is not the last one enters the FIFO, and a wait that gives up leaves it, and has not arrived then.
   The last arrival, or the leave that makes the arrivals enough, takes all waits out of the FIFO; after the mutex it runs the
   completion, and then it tells the waits. The first one told may destroy the barrier.

   What is to hold
     Counted     in the FIFO are fewer waits than there are parties
     Together    a phase ends when each party has arrived in it, or has left for good
     Completed   what goes on after a phase comes after its completion, which runs once
     EndsOnce    a wait is told once, and not when it has given up
     Untouched   no thread touches the barrier after it was destroyed
     Ends        a wait that is in no FIFO any more is told, and a phase in which all arrive ends   (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Parties, Phases, Quits, Leavers, Bug  \* how often a wait gives up; parties that leave after one phase

VARIABLES line, parties, lock, alive,  \* the FIFO; how many parties; what has the mutex, or 0; whether the barrier is there
          pc, quits, came,             \* came: how many phases a party has arrived in
          went, completed, chain,      \* how many it went on from; how many completions have run; what a thread has to tell
          twice                        \* whether a wait was told that did not wait
vars == <<line, parties, lock, alive, pc, quits, came, went, completed, chain, twice>>

Init == /\ line = <<>> /\ parties = Cardinality(Parties) /\ lock = 0 /\ alive = TRUE /\ quits = Quits
        /\ pc = [t \in Parties |-> "out"] /\ came = [t \in Parties |-> 0] /\ went = [t \in Parties |-> 0]
        /\ completed = 0 /\ chain = [t \in Parties |-> <<>>] /\ twice = FALSE

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
More(t) == came[t] < (IF t \in Leavers THEN 1 ELSE Phases)
Ready(t) == alive /\ lock = 0 /\ pc[t] = "out"

\* The waits of a phase that has ended belong to `t`, which has the mutex. Bug 1: one of them stays.
EndPhase(t) == LET n == IF Bug = 1 /\ line # <<>> THEN Len(line) - 1 ELSE Len(line) IN
               chain' = [chain EXCEPT ![t] = SubSeq(line, 1, n)] /\ line' = SubSeq(line, n + 1, Len(line))

\* Bug 2: one party too few.
Last == Len(line) + 1 >= parties - (IF Bug = 2 THEN 1 ELSE 0)
Arrive(t) == /\ Ready(t) /\ More(t) /\ came' = [came EXCEPT ![t] = @ + 1]
             /\ lock' = t /\ UNCHANGED <<parties, alive, quits, went, completed, twice>>
             /\ IF Last THEN EndPhase(t) /\ Go(t, "ends")
                        ELSE line' = Append(line, t) /\ Go(t, "enlisted") /\ UNCHANGED chain
\* A try arrives only as the last one.
TryArrive(t) == /\ Ready(t) /\ More(t) /\ Last /\ came' = [came EXCEPT ![t] = @ + 1]
                /\ lock' = t /\ EndPhase(t) /\ Go(t, "ends")
                /\ UNCHANGED <<parties, alive, quits, went, completed, twice>>

\* A stop or a deadline. Bug 3: the arrival still counts. Bug 4: also though the phase has ended.
InLine(t) == \E i \in 1..Len(line) : line[i] = t
Withdraw(t) == /\ alive /\ lock = 0 /\ pc[t] = "waits" /\ quits > 0 /\ (InLine(t) \/ Bug = 4)
               /\ quits' = quits - 1 /\ lock' = t /\ Go(t, "withdrawn")
               /\ came' = [came EXCEPT ![t] = IF InLine(t) THEN @ - 1 ELSE @]
               /\ line' = SelectSeq(line, LAMBDA u : u # t)
               /\ parties' = IF Bug = 3 THEN parties - 1 ELSE parties
               /\ UNCHANGED <<alive, went, completed, chain, twice>>

\* There is one party fewer. Bug 5: which does not end the phase.
Leave(t) == /\ Ready(t) /\ t \in Leavers /\ came[t] = 1 /\ came' = [came EXCEPT ![t] = 2] /\ parties' = parties - 1 /\ lock' = t
            /\ IF Len(line) = parties' /\ line # <<>> /\ Bug # 5
                 THEN EndPhase(t) /\ Go(t, "ends")
                 ELSE UNCHANGED <<line, chain>> /\ Go(t, "leaving")
            /\ UNCHANGED <<alive, quits, went, completed, twice>>

\* Unlocks. What ends a phase runs the completion, then. Bug 6: it tells first.
After == [enlisted |-> "waits", withdrawn |-> "out", leaving |-> "out", ends |-> IF Bug = 6 THEN "tells" ELSE "completes"]
Unlock(t) == /\ pc[t] \in DOMAIN After /\ lock = t /\ lock' = 0 /\ Go(t, After[pc[t]])
             /\ UNCHANGED <<line, parties, alive, quits, came, went, completed, chain, twice>>
Complete(t) == /\ pc[t] = "completes" /\ completed' = completed + 1 /\ Go(t, IF Bug = 6 THEN "out" ELSE "tells")
               /\ UNCHANGED <<line, parties, lock, alive, quits, came, went, chain, twice>>

\* Without the mutex. Bug 7: only the first one. Bug 8: looks at the barrier after that.
Tell(t) == /\ pc[t] = "tells" /\ UNCHANGED <<line, parties, lock, alive, quits, came, completed>>
           /\ IF chain[t] = <<>>
                THEN /\ Go(t, IF Bug = 6 THEN "completes" ELSE IF Bug = 8 THEN "looks" ELSE "out")
                     /\ went' = [went EXCEPT ![t] = came[t]] /\ UNCHANGED <<chain, twice>>
                ELSE LET w == Head(chain[t]) IN
                     /\ chain' = [chain EXCEPT ![t] = IF Bug = 7 THEN <<>> ELSE Tail(@)]
                     /\ twice' = (twice \/ pc[w] # "waits") /\ Go(w, "out") /\ went' = [went EXCEPT ![w] = came[w]]
Look(t) == /\ pc[t] = "looks" /\ Go(t, "out") /\ UNCHANGED <<line, parties, lock, alive, quits, came, went, completed, chain, twice>>

\* A party that went on from the last phase destroys the barrier, when no other one will use it.
Destroy(t) == /\ alive /\ pc[t] = "out" /\ ~More(t) /\ t \notin Leavers
              /\ \A u \in Parties \ {t} : ~More(u) /\ pc[u] # "waits" /\ ~InLine(u) /\ (u \in Leavers => came[u] = 2)
              /\ alive' = FALSE /\ Go(t, "gone")
              /\ UNCHANGED <<line, parties, lock, quits, came, went, completed, chain, twice>>

Ending(t) == Unlock(t) \/ Complete(t) \/ Tell(t) \/ Look(t)
Next == \E t \in Parties : Arrive(t) \/ TryArrive(t) \/ Withdraw(t) \/ Leave(t) \/ Ending(t) \/ Destroy(t)
Fair == \A t \in Parties : SF_vars(Arrive(t)) /\ SF_vars(Leave(t)) /\ WF_vars(Ending(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------
Counted == line # <<>> => Len(line) < parties
Together == \A t, u \in Parties : u \notin Leavers \/ More(u) => came[u] >= went[t]
Completed == \A t \in Parties : went[t] <= completed
EndsOnce == ~twice
Untouched == ~alive => lock = 0 /\ \A t \in Parties : pc[t] \notin {"enlisted", "withdrawn", "leaving", "ends", "completes", "looks"}
Ends == \A t \in Parties : pc[t] = "waits" ~> pc[t] # "waits"
=============================================================================
