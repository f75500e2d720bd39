-------------------------- MODULE DestructionTrace --------------------------
(* Traces of the destructor of a scheduler without workers, from the hooks of sched/task/trace.hpp: one thread runs it, the
   others wake the tasks and end the operations.

   The recorder keeps the memory of all tasks, so that a sleeper may also be woken after it was given back. Nobody
   sleeps, so that a push wakes nobody. *)
EXTENDS Destruction, Sequences, Trace

Said(t, i) == Argument(t)[i]
Set(tasks) == {tasks[i] : i \in DOMAIN tasks}

\* --- threads that end sleeps ---------------------------------------------------------------------------------
WakeCall(t) ==
    /\ LET k == Argument(t) IN
       \/ Calls(t, "wake") /\ k \in Sleepers /\ Wake(k) /\ Result(t) = (pc'[k] = "push")
       \/ Calls(t, "wake") /\ k \in Sleepers /\ given[k] > 0 /\ Result(t) = FALSE /\ UNCHANGED vars
       \/ Calls(t, "complete") /\ k \in Waiting /\ Wake(k) /\ Result(t) = (pc'[k] = "push")
    /\ Returns(t)
PushCall(t) == Calls(t, "push") /\ Said(t, 2) = (front = {}) /\ Push(Said(t, 1)) /\ Returns(t)
\* Whose push it was makes no difference.
AnnounceCall(t) == /\ Calls(t, "announce") /\ Said(t, 1) = FALSE /\ Returns(t)
                   /\ \E k \in Tasks : Announce(k) /\ pc'[k] = "left"

\* --- the destructor --------------------------------------------------------------------------------------------
TakeCall(t) == /\ Calls(t, "take") /\ at = "take" /\ Set(Said(t, 1)) = front /\ Returns(t)
               /\ IF front = {} THEN UNCHANGED vars ELSE TakeFront
\* It looks at who is brought once more in each turn.
UnparkCall(t) == /\ Calls(t, "unpark") /\ Returns(t)
                 /\ LET k == Said(t, 1) IN
                    \/ place[k] = "asleep" /\ Unpark /\ place'[k] = IF Said(t, 2) THEN "held" ELSE "transit"
                    \/ place[k] = "transit" /\ ~Said(t, 2) /\ UNCHANGED vars
GiveBackCall(t) == LET k == Said(t, 1) IN
                   \/ Calls(t, "give_back") /\ Abandon /\ given'[k] > given[k] /\ Returns(t)
                   \/ Calls(t, "defer") /\ k \in left /\ Abandon /\ place'[k] = "deferred" /\ Returns(t)
AwaitCall(t) == Calls(t, "all_left") /\ Await /\ Returns(t)
\* From one part to the next.
Turns(t) == /\ \/ Calls(t, "take") /\ Abandoned
               \/ (Calls(t, "give_back") \/ Calls(t, "defer")) /\ Taken /\ at' = "abandon"
               \/ Calls(t, "all_left") /\ (Abandoned \/ (Taken /\ at' = "await"))
            /\ Continues(t)

TraceInit == Init /\ InitTrace
TraceNext == /\ \E t \in Recorded : /\ MayGo(t)
                                    /\ \/ WakeCall(t) \/ PushCall(t) \/ AnnounceCall(t)
                                       \/ TakeCall(t) \/ UnparkCall(t) \/ GiveBackCall(t) \/ AwaitCall(t) \/ Turns(t)
             /\ ~touched'
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
