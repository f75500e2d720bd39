----------------------------- MODULE OnceState -----------------------------
(* Something is made once. sync/once_state [ON1]: what is under an initialiser.

   A thread that finds it ready goes on without the mutex. Under the mutex a thread takes the right to make it, if no thread has the
   right, or waits: for that right, or only for the end. What has the right makes it, and ends all waits; or gives up, and the right
   goes to the oldest wait that would begin. Waits are told after the mutex; what goes on may destroy the state, whose destructor
   locks the mutex.

   What is to hold
     OneMakes    one thread at most has the right
     MadeOnce    it is made once
     SeesIt      a thread that is told that it is ready comes after that
     RightIsHad  a wait for the right waits only while a thread has it
     EndsOnce    a wait is told once, and not when it has given up
     Untouched   no thread touches the state after it was destroyed
     Ends        a wait ends, if threads that have failed, or given up, ask again      (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Makers, Watchers, Failures, Quits, Bug  \* how often a thread gives up making it, and a wait gives up

VARIABLES state, beginning, watching, lock, alive,  \* the FIFOs; what has the mutex, or 0
          pc, failures, quits, made,                \* made: how often
          chain, twice                              \* what a thread has to tell; whether a wait was told that did not wait
vars == <<state, beginning, watching, lock, alive, pc, failures, quits, made, chain, twice>>

All == Makers \cup Watchers
Init == /\ state = "empty" /\ beginning = <<>> /\ watching = <<>> /\ lock = 0 /\ alive = TRUE
        /\ pc = [t \in All |-> "out"] /\ failures = Failures /\ quits = Quits /\ made = 0
        /\ chain = [t \in All |-> <<>>] /\ twice = FALSE

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
rest == <<failures, quits, made, twice>>

\* Without the mutex.
FindReady(t) == /\ alive /\ pc[t] = "out" /\ state = "ready" /\ Go(t, "sees")
                /\ UNCHANGED <<state, beginning, watching, lock, alive, chain, rest>>

\* Bug 1: does not look again under the mutex whether it is ready. Bug 2: takes the right though a thread has it.
Enter(t) == /\ alive /\ pc[t] = "out" /\ lock = 0 /\ lock' = t /\ UNCHANGED <<alive, chain, rest>>
            /\ IF state = "ready" /\ Bug # 1
                 THEN Go(t, "unlock to see") /\ UNCHANGED <<state, beginning, watching>>
               ELSE IF t \in Makers /\ (state = "empty" \/ (Bug = 2 /\ state = "running"))
                 THEN state' = "running" /\ Go(t, "unlock to make") /\ UNCHANGED <<beginning, watching>>
               ELSE /\ Go(t, "unlock to wait") /\ UNCHANGED state
                    /\ IF t \in Makers THEN beginning' = Append(beginning, t) /\ UNCHANGED watching
                                       ELSE watching' = Append(watching, t) /\ UNCHANGED beginning

\* What has the right. Bug 3: says that it is ready before it was made. Bug 4: what only watches is not told.
Make(t) == /\ pc[t] = "makes" /\ made' = made + 1 /\ Go(t, IF Bug = 3 THEN "sees" ELSE "made")
           /\ UNCHANGED <<state, beginning, watching, lock, alive, chain, failures, quits, twice>>
SetReady(t) == /\ pc[t] = (IF Bug = 3 THEN "makes" ELSE "made") /\ lock = 0 /\ state # "ready" /\ lock' = t /\ state' = "ready"
               /\ chain' = [chain EXCEPT ![t] = IF Bug = 4 THEN beginning ELSE beginning \o watching]
               /\ beginning' = <<>> /\ watching' = IF Bug = 4 THEN watching ELSE <<>>
               /\ Go(t, "unlock to tell") /\ UNCHANGED <<alive, rest>>
\* Bug 5: the right goes to no wait. Bug 6: it goes to a wait, and all may take it.
GiveUp(t) == /\ pc[t] = "makes" /\ failures > 0 /\ failures' = failures - 1 /\ lock = 0 /\ lock' = t
             /\ IF beginning = <<>> \/ Bug = 5
                  THEN state' = "empty" /\ UNCHANGED <<beginning, chain>>
                  ELSE /\ chain' = [chain EXCEPT ![t] = <<Head(beginning)>>] /\ beginning' = Tail(beginning)
                       /\ IF Bug = 6 THEN state' = "empty" ELSE UNCHANGED state
             /\ Go(t, "unlock to tell") /\ UNCHANGED <<watching, alive, quits, made, twice>>

\* A stop or a deadline. Bug 7: also though it has ended.
InLine(t) == (\E i \in 1..Len(beginning) : beginning[i] = t) \/ \E i \in 1..Len(watching) : watching[i] = t
Withdraw(t) == /\ alive /\ lock = 0 /\ pc[t] = "waits" /\ quits > 0 /\ (InLine(t) \/ Bug = 7)
               /\ quits' = quits - 1 /\ lock' = t /\ Go(t, "unlock to go")
               /\ beginning' = SelectSeq(beginning, LAMBDA u : u # t) /\ watching' = SelectSeq(watching, LAMBDA u : u # t)
               /\ UNCHANGED <<state, alive, failures, made, chain, twice>>

After == [x \in {"unlock to see", "unlock to make", "unlock to wait", "unlock to tell", "unlock to go"} |->
            CASE x = "unlock to see" -> "sees" [] x = "unlock to make" -> "makes" [] x = "unlock to wait" -> "waits"
              [] x = "unlock to tell" -> "tells" [] x = "unlock to go" -> "out"]
Unlock(t) == /\ pc[t] \in DOMAIN After /\ lock = t /\ lock' = 0 /\ Go(t, After[pc[t]])
             /\ UNCHANGED <<state, beginning, watching, alive, chain, rest>>

\* Without the mutex. A wait that is told has the right, unless it is ready. Bug 8: only the first one. Bug 9: looks at the state
\* after that. Bug 11: a wait has the right though it is ready.
Tell(t) == /\ pc[t] = "tells" /\ UNCHANGED <<state, beginning, watching, lock, alive, failures, quits, made>>
           /\ IF chain[t] = <<>>
                THEN /\ Go(t, IF Bug = 9 THEN "looks" ELSE IF Bug = 3 /\ made = 0 THEN "makes"
                              ELSE IF state = "ready" THEN "sees" ELSE "out")
                     /\ UNCHANGED <<chain, twice>>
                ELSE LET w == Head(chain[t]) IN
                     /\ chain' = [chain EXCEPT ![t] = IF Bug = 8 THEN <<>> ELSE Tail(@)]
                     /\ twice' = (twice \/ pc[w] # "waits")
                     /\ Go(w, IF (state = "ready" /\ Bug # 11) \/ w \in Watchers THEN "sees" ELSE "makes")
Look(t) == pc[t] = "looks" /\ Go(t, "out") /\ UNCHANGED <<state, beginning, watching, lock, alive, chain, rest>>

\* A thread that sees it destroys it when no other thread will use it. The destructor locks the mutex. Bug 10: it does not.
Destroy(t) == /\ alive /\ pc[t] = "sees" /\ (lock = 0 \/ Bug = 10)
              /\ \A u \in All \ {t} : pc[u] \in {"sees", "gone", "tells", "looks", "unlock to tell"}
              /\ alive' = FALSE /\ Go(t, "gone") /\ UNCHANGED <<state, beginning, watching, lock, chain, rest>>

Making(t) == Make(t) \/ SetReady(t)
Next == \E t \in All : FindReady(t) \/ Enter(t) \/ Making(t) \/ GiveUp(t) \/ Withdraw(t) \/ Unlock(t) \/ Tell(t) \/ Look(t) \/ Destroy(t)
Fair == \A t \in All : WF_vars(FindReady(t) \/ Enter(t)) /\ SF_vars(Making(t)) /\ WF_vars(Unlock(t)) /\ WF_vars(Tell(t)) /\ WF_vars(Look(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------
Has(t) == pc[t] \in {"unlock to make", "makes", "made"} \/ \E u \in All : \E i \in 1..Len(chain[u]) : chain[u][i] = t /\ state # "ready" /\ t \in Makers
OneMakes == Cardinality({t \in All : Has(t)}) <= 1
MadeOnce == made <= 1
SeesIt == \A t \in All : pc[t] = "sees" => made > 0
RightIsHad == beginning # <<>> => state = "running"
EndsOnce == ~twice
Untouched == ~alive => lock = 0 /\ \A t \in All : pc[t] \notin DOMAIN After \cup {"looks", "waits"}
Ends == \A t \in All : pc[t] = "waits" ~> pc[t] # "waits"
=============================================================================
