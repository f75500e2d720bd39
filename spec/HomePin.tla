------------------------------ MODULE HomePin ------------------------------
(* A thread that waits for a task looks at the scheduler that the task was started on, which may be destroyed once
   the task has ended or has moved to another scheduler: coro/home_pin.hpp.

   The end and the move wait until the thread does not look any more. The end knows by the word of the task that a
   thread may look; the move and the thread each set a flag and then read the flag of the other.

   What is to hold
     NotTouched   the thread does not look at a scheduler that is gone
     Moves        a task that begins to move has moved                                   (liveness)
     Told         a thread that waits is told when the task has ended                    (liveness) *)
CONSTANT Bug

VARIABLES word, looks, moved,  \* shared: of the task, of the thread, of the task
          thread, task, at,    \* where the thread is, where the task is, and on which scheduler
          told, home, touched
shared == <<word, looks, moved>>
vars == <<shared, thread, task, at, told, home, touched>>

Init == /\ word = "nobody" /\ looks = FALSE /\ moved = FALSE
        /\ thread = (IF Bug = 4 THEN "ask early" ELSE "begin") /\ task = "run" /\ at = "home"
        /\ told = FALSE /\ home = "alive" /\ touched = FALSE

\* --- the thread: joining_thread::join_until ----------------------------------------------------------------
AskEarly == /\ thread = "ask early" /\ thread' = (IF moved THEN "begin, moved" ELSE "begin")  \* bug 4: asks before it says
            /\ UNCHANGED <<shared, task, at, told, home, touched>>
BeginToLook == /\ thread \in {"begin", "begin, moved"} /\ looks' = TRUE
               /\ thread' = IF thread = "begin" THEN "join" ELSE "join, moved"
               /\ UNCHANGED <<word, moved, task, at, told, home, touched>>
Join == /\ thread \in {"join", "join, moved"}
        /\ IF word = "nobody"
           THEN /\ word' = "joins"
                /\ thread' = CASE thread = "join, moved" -> "end" [] Bug = 4 -> "look" [] OTHER -> "ask"
           ELSE thread' = "end, ended" /\ UNCHANGED word
        /\ UNCHANGED <<looks, moved, task, at, told, home, touched>>
Ask == /\ thread = "ask" /\ thread' = (IF moved THEN "end" ELSE "look")
       /\ UNCHANGED <<shared, task, at, told, home, touched>>
Look == /\ thread = "look" /\ thread' = "end" /\ touched' = (touched \/ home = "gone")
        /\ UNCHANGED <<shared, task, at, told, home>>
EndToLook == /\ thread \in {"end", "end, ended"}
             /\ looks' = (Bug = 5)                                                       \* bug 5: looks for ever
             /\ thread' = IF thread = "end" THEN "waits" ELSE "left"
             /\ UNCHANGED <<word, moved, task, at, told, home, touched>>
Leave == /\ thread = "waits" /\ told /\ thread' = "left" /\ UNCHANGED <<shared, task, at, told, home, touched>>
Thread == AskEarly \/ BeginToLook \/ Join \/ Ask \/ Look \/ EndToLook \/ Leave

\* --- the task ------------------------------------------------------------------------------------------------
\* Bug 3: looks whether the thread looks before it says that it moves.
BeginToMove == /\ task = "run" /\ at = "home"
               /\ IF Bug = 3 THEN ~looks /\ UNCHANGED moved ELSE moved' = TRUE
               /\ task' = "moves" /\ UNCHANGED <<word, looks, thread, at, told, home, touched>>
Move == /\ task = "moves" /\ (~looks \/ Bug \in {2, 3})                                 \* bug 2: does not wait
        /\ moved' = TRUE /\ task' = "run" /\ at' = "elsewhere"
        /\ UNCHANGED <<word, looks, thread, told, home, touched>>
End == /\ task = "run" /\ word' = "ended" /\ task' = (IF word = "joins" THEN "tell" ELSE "over")
       /\ UNCHANGED <<looks, moved, thread, at, told, home, touched>>
Tell == /\ task = "tell" /\ (~looks \/ Bug = 1)                                         \* bug 1: does not wait
        /\ told' = TRUE /\ task' = "over" /\ UNCHANGED <<shared, thread, at, home, touched>>

\* --- the scheduler -------------------------------------------------------------------------------------------
Destroy == /\ home = "alive" /\ (at = "elsewhere" \/ task = "over") /\ home' = "gone"
           /\ UNCHANGED <<shared, thread, task, at, told, touched>>

\* Nobody need ever move the task, end it or destroy the scheduler.
Next == Thread \/ BeginToMove \/ Move \/ End \/ Tell \/ Destroy
Spec == Init /\ [][Next]_vars /\ WF_vars(Thread) /\ WF_vars(Move) /\ WF_vars(Tell)

NotTouched == ~touched
Moves == (task = "moves") ~> (at = "elsewhere")
Told == (thread = "waits" /\ task \in {"tell", "over"}) ~> (thread = "left")
=============================================================================
