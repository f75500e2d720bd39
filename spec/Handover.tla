------------------------------ MODULE Handover ------------------------------
(* The hand-over of a slot whose step blocks: sched/handover, worker::at_slot, is_back, offers [HO1]; and the answer to a drain
   when such a step has ended, worker::answer_drain.

   One slot. Its holder runs steps one after the other. A step posts, forks, blocks until all others have run, or says that it will
   block. The monitor sees a step, and takes the slot from it if it is in the same one then and not at the slot. A spare thread goes on.

   Left out: a slot that was passed on twice in a step of the same number (slot::passed_on), a thread that cannot be started, stops.

   What a thread stores is seen by others when it leaves its buffer, in order; the heavy barrier empties the buffers of all.

   What is to hold
     Alone    who is at the slot holds it: the loop, a post, forks, the end of a step
     Seen     only a step that the monitor saw loses its slot to it
     Exact    a drain is not told before all steps have ended
     Told     a drain is told at last; so what a step waits for is run                              (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Threads, Tasks, Posts, Bug

None == "none"
VARIABLES holder,                 \* of the slot
          pc, forks, posts,       \* of each thread; whether its step has forked; how many posts are left to all
          at, buffer,             \* what others see of it: "between", "in", "at"; what they do not see yet
          relieved, lost,         \* of each thread
          number, finished,       \* of the step that each runs; steps that have ended on the slot
          ended, begun, tasks,    \* steps that have ended without one; steps begun; tasks that wait
          mutex, sight, taking,   \* the monitor: whether it has the mutex; which step it saw: <<number>>; what it does
          asleep, told,           \* the holder sleeps; the drain is told
          wrong                   \* for a property: another step than the one seen was taken
thread == <<pc, forks, posts, number>>
memory == <<at, buffer>>
counts == <<finished, ended, begun, tasks>>
monitor == <<mutex, sight, taking>>
vars == <<holder, thread, memory, relieved, lost, counts, monitor, asleep, told, wrong>>

First == CHOOSE t \in Threads : TRUE
Init == /\ holder = First /\ pc = [t \in Threads |-> IF t = First THEN "loop" ELSE "rest"]
        /\ forks = [t \in Threads |-> FALSE] /\ posts = Posts
        /\ at = [t \in Threads |-> "between"] /\ buffer = [t \in Threads |-> << >>]
        /\ relieved = [t \in Threads |-> FALSE] /\ lost = relieved
        /\ number = [t \in Threads |-> 0] /\ finished = 0 /\ ended = 0 /\ begun = 0 /\ tasks = Tasks
        /\ mutex = FALSE /\ sight = << >> /\ taking = "look"
        /\ asleep = FALSE /\ told = FALSE /\ wrong = FALSE

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
Last(t) == IF buffer[t] = << >> THEN at[t] ELSE buffer[t][Len(buffer[t])]
Store(t, what) == IF Last(t) = what THEN UNCHANGED memory
                  ELSE buffer' = [buffer EXCEPT ![t] = Append(@, what)] /\ UNCHANGED at
Drain(t) == /\ buffer[t] # << >> /\ at' = [at EXCEPT ![t] = Head(buffer[t])]
            /\ buffer' = [buffer EXCEPT ![t] = Tail(@)]
            /\ UNCHANGED <<holder, thread, relieved, lost, counts, monitor, asleep, told, wrong>>

\* --- the loop ------------------------------------------------------------------------------------------------------
Begin(t) == /\ pc[t] = "loop" /\ tasks > 0 /\ tasks' = tasks - 1 /\ begun' = begun + 1
            /\ number' = [number EXCEPT ![t] = finished] /\ Store(t, "in") /\ Go(t, "step")
            /\ forks' = [forks EXCEPT ![t] = FALSE]
            /\ UNCHANGED <<holder, posts, relieved, lost, finished, ended, monitor, asleep, told, wrong>>
\* Without a task it says that it sleeps, then looks whether all is done, and sleeps.
Sleep(t) == /\ pc[t] = "loop" /\ tasks = 0 /\ ~asleep /\ asleep' = TRUE /\ Go(t, "answer")
            /\ UNCHANGED <<holder, forks, posts, number, memory, relieved, lost, counts, monitor, told, wrong>>
\* role::drained. Bug 9: the steps that have ended elsewhere are not counted.
Answer(t) == /\ pc[t] = "answer" /\ Go(t, "asleep")
             /\ told' = (told \/ (tasks = 0 /\ finished + (IF Bug = 9 THEN 0 ELSE ended) = begun))
             /\ UNCHANGED <<holder, forks, posts, number, memory, relieved, lost, counts, monitor, asleep, wrong>>
WakeUp(t) == /\ pc[t] = "asleep" /\ ~asleep /\ Go(t, "loop")
             /\ UNCHANGED <<holder, forks, posts, number, memory, relieved, lost, counts, monitor, asleep, told, wrong>>

\* --- a step ----------------------------------------------------------------------------------------------------------
\* It says that it is at its slot, and looks whether it is relieved. Bug 3: it does not look.
Say(t, next) == Store(t, "at") /\ Go(t, next)
SayPost(t) == /\ pc[t] = "step" /\ posts > 0 /\ posts' = posts - 1 /\ Say(t, "post?")
              /\ UNCHANGED <<holder, forks, number, relieved, lost, counts, monitor, asleep, told, wrong>>
SayFork(t) == /\ pc[t] = "step" /\ ~forks[t] /\ Say(t, "fork?")
              /\ UNCHANGED <<holder, forks, posts, number, relieved, lost, counts, monitor, asleep, told, wrong>>
Asks == [ p \in {"post?", "fork?", "end?"} |->
            CASE p = "post?" -> "post: ask" [] p = "fork?" -> "fork: ask" [] OTHER -> "end: ask" ]
Has == [ p \in {"post?", "fork?", "end?"} |-> CASE p = "post?" -> "post" [] p = "fork?" -> "fork" [] OTHER -> "end" ]
Look(t) == /\ pc[t] \in {"post?", "fork?", "end?"}
           /\ LET ignores == (Bug = 3 /\ pc[t] = "post?") \/ (Bug = 4 /\ pc[t] = "end?") IN \* bug 4: nor at its end
              Go(t, IF relieved[t] /\ ~ignores THEN Asks[pc[t]] ELSE Has[pc[t]])
           /\ UNCHANGED <<holder, forks, posts, number, memory, relieved, lost, counts, monitor, asleep, told, wrong>>
\* Under the mutex, what was decided. Bug 5: it takes the hint for it.
Without == [ p \in {"post: ask", "fork: ask", "end: ask"} |->
               CASE p = "post: ask" -> "post away" [] p = "fork: ask" -> "step" [] OTHER -> "end away" ]
With == [ p \in {"post: ask", "fork: ask", "end: ask"} |->
            CASE p = "post: ask" -> "post" [] p = "fork: ask" -> "fork" [] OTHER -> "end" ]
Ask(t) == /\ pc[t] \in {"post: ask", "fork: ask", "end: ask"} /\ (~mutex \/ Bug = 5)
          /\ Go(t, IF lost[t] \/ Bug = 5 THEN Without[pc[t]] ELSE With[pc[t]])
          /\ UNCHANGED <<holder, forks, posts, number, memory, relieved, lost, counts, monitor, asleep, told, wrong>>
\* Those who are at the slot touch it now. A post wakes who sleeps.
Post(t) == /\ pc[t] = "post" /\ tasks' = tasks + 1 /\ Store(t, IF forks[t] THEN "at" ELSE "in") /\ Go(t, "step")
           /\ UNCHANGED <<holder, forks, posts, number, relieved, lost, finished, ended, begun, monitor, asleep, told, wrong>>
PostAway(t) == /\ pc[t] = "post away" /\ tasks' = tasks + 1 /\ asleep' = FALSE /\ Go(t, "step")
               /\ UNCHANGED <<holder, forks, posts, number, memory, relieved, lost, finished, ended, begun, monitor, told, wrong>>
\* Others take its forks from now on, until it ends. Bug 7: it is at the slot for a moment only.
Fork(t) == /\ pc[t] = "fork" /\ forks' = [forks EXCEPT ![t] = TRUE] /\ Go(t, "step")
           /\ IF Bug = 7 THEN Store(t, "in") ELSE UNCHANGED memory
           /\ UNCHANGED <<holder, posts, number, relieved, lost, counts, monitor, asleep, told, wrong>>
\* It waits for all that was posted before.
Block(t) == /\ pc[t] = "step" /\ ~forks[t] /\ Go(t, "blocked")
            /\ UNCHANGED <<holder, forks, posts, number, memory, relieved, lost, counts, monitor, asleep, told, wrong>>
GoOn(t) == /\ pc[t] = "blocked" /\ tasks = 0 /\ Go(t, "step")
           /\ UNCHANGED <<holder, forks, posts, number, memory, relieved, lost, counts, monitor, asleep, told, wrong>>
SayEnd(t) == /\ pc[t] = "step" /\ Store(t, "between") /\ Go(t, "end?")
             /\ UNCHANGED <<holder, forks, posts, number, relieved, lost, counts, monitor, asleep, told, wrong>>
End(t) == /\ pc[t] = "end" /\ finished' = finished + 1 /\ forks' = [forks EXCEPT ![t] = FALSE] /\ Go(t, "loop")
          /\ UNCHANGED <<holder, posts, number, memory, relieved, lost, ended, begun, tasks, monitor, asleep, told, wrong>>
\* Without a slot. Bug 6: it wakes nobody.
EndAway(t) == /\ pc[t] = "end away" /\ ended' = (IF Bug = 10 THEN ended ELSE ended + 1) /\ asleep' = (asleep /\ Bug = 6)
              /\ Go(t, IF lost[t] THEN "rest" ELSE "gone") /\ lost' = [lost EXCEPT ![t] = FALSE]
              /\ relieved' = [relieved EXCEPT ![t] = FALSE]
              /\ UNCHANGED <<holder, forks, posts, number, memory, finished, begun, tasks, monitor, told, wrong>>

\* --- who takes the slot -----------------------------------------------------------------------------------------------
Spare == {t \in Threads : pc[t] = "rest" /\ buffer[t] = << >>}
\* handover::pass_on, under the mutex. Bug 10: the step is counted already.
PassOn(from) == \E spare \in Spare :
    /\ holder' = spare /\ lost' = [lost EXCEPT ![from] = TRUE]
    /\ pc' = [pc EXCEPT ![spare] = "loop"] /\ ended' = (IF Bug = 10 THEN ended + 1 ELSE ended)
\* handover::give_up_slot: it is about to block.
GiveUp(t) == /\ pc[t] = "step" /\ ~mutex /\ ~lost[t] /\ ~forks[t] /\ PassOn(t)
             /\ relieved' = [relieved EXCEPT ![t] = TRUE]
             /\ UNCHANGED <<forks, posts, number, memory, finished, begun, tasks, monitor, asleep, told, wrong>>
\* monitor::look sees a step that blocks.
See == /\ taking = "look" /\ pc[holder] = "blocked" /\ at[holder] = "in" /\ sight' = <<finished>> /\ taking' = "lock"
       /\ UNCHANGED <<holder, thread, memory, relieved, lost, counts, mutex, asleep, told, wrong>>
\* handover::relieve. Bug 1: no barrier.
Relieve == /\ taking = "lock" /\ mutex' = TRUE /\ relieved' = [relieved EXCEPT ![holder] = TRUE] /\ taking' = "barrier"
           /\ UNCHANGED <<holder, thread, memory, lost, counts, sight, asleep, told, wrong>>
Barrier == /\ taking = "barrier" /\ taking' = "decide"
           /\ IF Bug = 1 THEN UNCHANGED memory
              ELSE at' = [t \in Threads |-> Last(t)] /\ buffer' = [t \in Threads |-> << >>]
           /\ UNCHANGED <<holder, thread, relieved, lost, counts, mutex, sight, asleep, told, wrong>>
\* Bug 2: whether it is at the slot is not looked at. Bug 8: nor whether it is the same step.
Decide == /\ taking = "decide" /\ taking' = "look" /\ mutex' = FALSE /\ sight' = << >>
          /\ LET in == at[holder] = "in" \/ (Bug = 2 /\ at[holder] = "at")
                 same == finished = sight[1] \/ Bug = 8 IN
             IF in /\ same /\ Spare # {}
             THEN /\ PassOn(holder) /\ UNCHANGED relieved /\ wrong' = (wrong \/ number[holder] # sight[1])
             ELSE /\ relieved' = [relieved EXCEPT ![holder] = FALSE] /\ UNCHANGED <<holder, lost, pc, ended, wrong>>
          /\ UNCHANGED <<forks, posts, number, memory, finished, begun, tasks, asleep, told>>

Working(t) == \/ Drain(t) \/ Begin(t) \/ Sleep(t) \/ Answer(t) \/ WakeUp(t) \/ Look(t) \/ Ask(t) \/ Post(t)
              \/ PostAway(t) \/ Fork(t) \/ GoOn(t) \/ SayEnd(t) \/ End(t) \/ EndAway(t)
Choosing(t) == SayPost(t) \/ SayFork(t) \/ Block(t) \/ GiveUp(t)
Monitoring == See \/ Relieve \/ Barrier \/ Decide
Next == (\E t \in Threads : Working(t) \/ Choosing(t)) \/ Monitoring \/ UNCHANGED vars
Fair == WF_vars(Monitoring) /\ \A t \in Threads : WF_vars(Working(t)) /\ WF_vars(Drain(t)) /\ SF_vars(SayEnd(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------------------------
UsesSlot(t) == pc[t] \in {"loop", "answer", "asleep", "post", "fork", "end"} \/ (pc[t] \in {"step", "blocked"} /\ forks[t])
Alone == \A t \in Threads : UsesSlot(t) => holder = t
Seen == ~wrong
Exact == told => tasks = 0 /\ begun = finished + ended
Told == <>told
=============================================================================
