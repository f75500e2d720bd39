------------------------------- MODULE Join -------------------------------
(* A spawned coroutine and its handle: coro/spawn.hpp; and children that are counted: coro/child_group.hpp.

   The end and the handle meet at one word: nobody, joins, detached, ended. Each changes it once, and who comes
   second frees, or has the result: with the handle that is who takes it. Who joins may be a coroutine that is
   destroyed before, or whose wait is ended by a stop or a deadline: it withdraws, or, if the end was faster, waits
   to be told, and so does not go while the end tells it. After a stop or a deadline the handle may join again.
    A joiner may go as soon as it was told. Each access of something shared is a step; an access of
   what was freed or has gone is `touched`.

   The children live in the frame of who waits for them, which goes on, and is gone, when the last has ended.

   What is to hold
     ToldOnce     the joiner is told once at most, and not after it withdrew
     SeesResult   who has the result, or reports it, sees it whole, and who was told finds it
     NotTouched   nobody touches what was freed, or frees it again, or a joiner that has gone
     LastWakes    the parent is woken once, when all its children have ended
     Joined       who joins is told when the task has ended, or withdraws                    (liveness)
     Freed        a task that has ended is freed when its handle goes or gives its result    (liveness)
     GoesOn       the parent goes on when all its children have ended                        (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Children, Bug

VARIABLES word, result, frees, joiner,   \* the task: its word, its result, how often it was freed, who is told
          ender, handle,                 \* where the end is, and the handle's owner
          told, gone,                    \* the joiner: how often it was told; whether it has gone
          saw,                           \* whether everybody who needed the result has seen it
          running, child, woken, parent, stop,  \* the children; who waits for them; what asks them to stop
          touched
task == <<word, result, frees, joiner>>
join == <<told, gone, saw>>
group == <<running, child, woken, parent, stop>>
vars == <<task, ender, handle, join, group, touched>>

Init == /\ word = "nobody" /\ result = FALSE /\ frees = 0 /\ joiner = FALSE
        /\ ender = "run" /\ handle = "has" /\ told = 0 /\ gone = FALSE /\ saw = TRUE
        /\ running = Cardinality(Children) /\ child = [c \in Children |-> "run"] /\ woken = 0 /\ parent = "waits"
        /\ stop = [c \in Children |-> {}]
        /\ touched = FALSE

TouchesTask == touched' = (touched \/ frees > 0)
Free == frees' = frees + 1

\* --- the end: spawned::on_end, on_abandon ------------------------------------------------------------------
WriteResult == /\ ender = "run" /\ ender' = "end" /\ result' = TRUE /\ TouchesTask
               /\ UNCHANGED <<word, frees, joiner, handle, join, group>>
\* Bug 1: looks before, and then changes.
LookEarly == /\ Bug = 1 /\ ender = "end" /\ TouchesTask
             /\ ender' = CASE word = "nobody" -> "end, nobody" [] word = "joins" -> "end, joins"
                           [] OTHER -> "end, detached"
             /\ UNCHANGED <<task, handle, join, group>>
\* Bug 2: touches it once more. Bug 9: frees it though it has a handle. Bug 10: tells nobody.
OnEnd == /\ ender \in IF Bug = 1 THEN {"end, nobody", "end, joins", "end, detached"} ELSE {"end"}
         /\ word' = "ended" /\ TouchesTask
         /\ ender' = CASE ender = "end, nobody" -> "left"
                       [] word = "joins" \/ ender = "end, joins" -> IF Bug = 10 THEN "left" ELSE "tell"
                       [] word = "detached" \/ ender = "end, detached" -> "report"
                       [] OTHER -> CASE Bug = 2 -> "linger" [] Bug = 9 -> "report" [] OTHER -> "left"
         /\ UNCHANGED <<result, frees, joiner, handle, join, group>>
Linger == /\ ender = "linger" /\ ender' = "left" /\ TouchesTask /\ UNCHANGED <<task, handle, join, group>>
\* The handle is gone: nobody else sees a failure.
Report == /\ ender = "report" /\ ender' = "left" /\ TouchesTask /\ saw' = (saw /\ result)
          /\ IF Bug = 11 THEN UNCHANGED frees ELSE Free                              \* bug 11: leaks it
          /\ UNCHANGED <<word, result, joiner, handle, told, gone, group>>
\* The joiner's data is read first; the last touch is the change of its word.
Tell == /\ ender = "tell" /\ touched' = (touched \/ frees > 0 \/ gone \/ ~joiner)
        /\ told' = told + 1 /\ ender' = IF Bug = 3 THEN "told" ELSE "left"           \* bug 3: touches the task after it
        /\ UNCHANGED <<task, handle, gone, saw, group>>
AfterTell == /\ ender = "told" /\ ender' = "left" /\ TouchesTask /\ UNCHANGED <<task, handle, join, group>>
End == LookEarly \/ OnEnd \/ Linger \/ Report \/ Tell \/ AfterTell

\* --- the handle ---------------------------------------------------------------------------------------------
\* join_handle::ended, of who may then take the result at once.
AskEnded == /\ handle \in {"has", "withdrawn"} /\ handle' = (IF word = "ended" THEN "take" ELSE "join") /\ TouchesTask
            /\ UNCHANGED <<task, ender, join, group>>
\* Writes who is told, then changes the word.
WriteJoiner == /\ handle = "join" /\ joiner' = (Bug # 4) /\ handle' = "join, written" /\ TouchesTask \* bug 4: writes it late
               /\ gone' = FALSE /\ UNCHANGED <<word, result, frees, ender, told, saw, group>>    \* a new joiner
Join == /\ handle = "join, written" /\ TouchesTask
        /\ IF word = "nobody" THEN word' = "joins" /\ handle' = IF Bug = 4 THEN "write late" ELSE "waits"
                              ELSE handle' = "take" /\ UNCHANGED word
        /\ UNCHANGED <<result, frees, joiner, ender, join, group>>
WriteLate == /\ handle = "write late" /\ joiner' = TRUE /\ handle' = "waits" /\ TouchesTask
             /\ UNCHANGED <<word, result, frees, ender, join, group>>
Told == /\ handle = "waits" /\ told > 0 /\ handle' = "take" /\ UNCHANGED <<task, ender, join, group, touched>>
\* Who joins is destroyed, or a stop or a deadline ends its wait: it withdraws and goes. If it is being told it waits
\* for that.
Withdraw == /\ handle = "waits" /\ told = 0 /\ TouchesTask
            /\ IF word = "joins" THEN word' = "nobody" /\ handle' = "withdrawn" /\ gone' = TRUE
               ELSE /\ handle' = (IF Bug = 5 THEN "withdrawn" ELSE "waits") /\ gone' = (Bug = 5) \* bug 5: goes all the same
                    /\ UNCHANGED word
            /\ UNCHANGED <<result, frees, joiner, ender, told, saw, group>>
\* Has the result, and frees the task.
Take == /\ handle = "take" /\ handle' = "left" /\ TouchesTask /\ Free /\ gone' = TRUE /\ saw' = (saw /\ result)
        /\ UNCHANGED <<word, result, joiner, ender, told, group>>
Detach == /\ handle \in {"has", "withdrawn"} /\ TouchesTask
          /\ IF word = "nobody" /\ Bug # 6 THEN word' = "detached" /\ handle' = "left" /\ UNCHANGED <<frees, saw>>
             ELSE /\ handle' = "left" /\ UNCHANGED word
                  /\ Free /\ saw' = (saw /\ result)                                   \* bug 6: frees without a look
          /\ UNCHANGED <<result, joiner, ender, told, gone, group>>
Handle == AskEnded \/ WriteJoiner \/ Join \/ WriteLate \/ Told \/ Take \/ (Detach /\ handle = "withdrawn")

\* --- children: child_group::start, child_ended -------------------------------------------------------------
TouchesGroup == touched' = (touched \/ parent = "gone")
\* It fails: it asks each of the others to stop, while it counts itself as running; or it ends well.
EndWell(c) == /\ child[c] = "run" /\ child' = [child EXCEPT ![c] = "count"] /\ TouchesGroup
              /\ UNCHANGED <<task, ender, handle, join, running, woken, parent, stop>>
Fail(c) == /\ child[c] = "run" /\ TouchesGroup
           /\ child' = [child EXCEPT ![c] = IF Bug = 7 THEN "count, stop" ELSE "stop"] \* bug 7: counts first
           /\ UNCHANGED <<task, ender, handle, join, running, woken, parent, stop>>
StopOthers(c) == /\ child[c] \in {"stop", "counted, stop"} /\ TouchesGroup
                 /\ \E d \in Children \ stop[c] :
                      /\ stop' = [stop EXCEPT ![c] = @ \cup {d}]
                      /\ child' = IF stop'[c] # Children THEN child
                                  ELSE [child EXCEPT ![c] = IF @ = "stop" THEN "count" ELSE "left"]
                 /\ UNCHANGED <<task, ender, handle, join, running, woken, parent>>
ChildEnded(c) == /\ child[c] \in {"count", "count, stop"} /\ TouchesGroup
                 /\ running' = running - 1
                 \* Bug 8: looks once more. Bug 12: miscounts.
                 /\ LET last == IF Bug = 8 THEN FALSE ELSE running = IF Bug = 12 THEN 0 ELSE 1 IN
                    child' = [child EXCEPT ![c] = IF @ = "count, stop" THEN "counted, stop"
                                                  ELSE IF Bug = 8 THEN "look"
                                                  ELSE IF last THEN "wake" ELSE "left"]
                 /\ UNCHANGED <<task, ender, handle, join, woken, parent, stop>>
LookAtCount(c) == /\ child[c] = "look" /\ TouchesGroup
                  /\ child' = [child EXCEPT ![c] = IF running = 0 THEN "wake" ELSE "left"]
                  /\ UNCHANGED <<task, ender, handle, join, running, woken, parent, stop>>
\* Of the parent, which it read before it counted.
Wake(c) == /\ child[c] = "wake" /\ woken' = woken + 1 /\ child' = [child EXCEPT ![c] = "left"]
           /\ touched' = (touched \/ parent = "gone")
           /\ UNCHANGED <<task, ender, handle, join, running, parent, stop>>
GoOn == /\ parent = "waits" /\ woken > 0 /\ parent' = "gone"
        /\ UNCHANGED <<task, ender, handle, join, running, child, woken, stop, touched>>
Child(c) == StopOthers(c) \/ ChildEnded(c) \/ LookAtCount(c) \/ Wake(c)

\* Nobody need ever end, or drop its handle, or be destroyed.
Next == \/ WriteResult \/ End \/ Handle \/ Withdraw \/ Detach \/ GoOn
        \/ \E c \in Children : EndWell(c) \/ Fail(c) \/ Child(c)
Fair == WF_vars(End) /\ WF_vars(Handle) /\ WF_vars(GoOn) /\ \A c \in Children : WF_vars(Child(c))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------
ToldOnce == told <= 1 /\ (handle = "withdrawn" => told = 0)
SeesResult == saw
NotTouched == ~touched
LastWakes == woken <= 1 /\ (woken = 1 => \A c \in Children : child[c] \in {"left", "counted, stop"})
Joined == (handle = "waits" /\ result) ~> (handle # "waits")
Freed == (handle = "left" /\ result) ~> (frees = 1)
GoesOn == (\A c \in Children : child[c] # "run") ~> (parent = "gone")
============================================================================
