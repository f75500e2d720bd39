------------------------------ MODULE Handover ------------------------------
(* The hand-over of a slot whose step blocks: sched/handover, slot_owner, visible_step [HO1]; and the answer to a drain
   when such a step has ended, sleeper::answer_drain.

   One slot. Its holder runs steps one after the other. A step posts, forks, blocks until all others have run, or says that it will
   block. The monitor sees a step, and takes the slot from it if it is in the same one then and not at the slot. A spare thread goes on.

   Left out: a slot that was passed on twice in a step of the same number (slot_owner::times_passed), a thread that cannot be started, stops.

   What a thread stores is seen by others when it leaves its buffer, in order; the heavy barrier empties the buffers of all.

   What is to hold
     Alone    who is at the slot holds it: the loop, a post, forks, the end of a step
     Seen     only a step that the monitor saw loses its slot to it
     Exact    a drain is not told before all steps have ended
     Told     a drain is told at last; so what a step waits for is run                              (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Threads, Tasks, Posts, Bug

None == "none"
VARIABLES holder, doubt,          \* slot_owner: the worker, and whether it is in doubt
          pc, forks, posts,       \* of each thread; whether its step has forked; how many posts are left to all
          at, buffer,             \* what others see of it: "between", "in", "at"; what they do not see yet
          number, finished,       \* of the step that each runs; steps that have ended on the slot
          ended, begun, tasks,    \* steps that have ended without one; steps begun; tasks that wait
          mutex, sight, taking,   \* the monitor: whether it has the mutex; which step it saw: <<number>>; what it does
          asleep, told,           \* the holder sleeps; the drain is told
          wrong                   \* for a property: another step than the one seen was taken
owner == <<holder, doubt>>
thread == <<pc, forks, posts, number>>
memory == <<at, buffer>>
counts == <<finished, ended, begun, tasks>>
monitor == <<mutex, sight, taking>>
vars == <<owner, thread, memory, counts, monitor, asleep, told, wrong>>

First == CHOOSE t \in Threads : TRUE
Init == /\ holder = First /\ doubt = FALSE /\ pc = [t \in Threads |-> IF t = First THEN "loop" ELSE "rest"]
        /\ forks = [t \in Threads |-> FALSE] /\ posts = Posts
        /\ at = [t \in Threads |-> "between"] /\ buffer = [t \in Threads |-> << >>]
        /\ number = [t \in Threads |-> 0] /\ finished = 0 /\ ended = 0 /\ begun = 0 /\ tasks = Tasks
        /\ mutex = FALSE /\ sight = << >> /\ taking = "look"
        /\ asleep = FALSE /\ told = FALSE /\ wrong = FALSE

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
Last(t) == IF buffer[t] = << >> THEN at[t] ELSE buffer[t][Len(buffer[t])]
Store(t, what) == IF Last(t) = what THEN UNCHANGED memory
                  ELSE buffer' = [buffer EXCEPT ![t] = Append(@, what)] /\ UNCHANGED at
Drain(t) == /\ buffer[t] # << >> /\ at' = [at EXCEPT ![t] = Head(buffer[t])]
            /\ buffer' = [buffer EXCEPT ![t] = Tail(@)]
            /\ UNCHANGED <<owner, thread, counts, monitor, asleep, told, wrong>>

\* --- the loop ------------------------------------------------------------------------------------------------------
Begin(t) == /\ pc[t] = "loop" /\ tasks > 0 /\ tasks' = tasks - 1 /\ begun' = begun + 1
            /\ number' = [number EXCEPT ![t] = finished] /\ Store(t, "in") /\ Go(t, "step")
            /\ forks' = [forks EXCEPT ![t] = FALSE]
            /\ UNCHANGED <<owner, posts, finished, ended, monitor, asleep, told, wrong>>
\* Without a task it says that it sleeps, then looks whether all is done, and sleeps.
Sleep(t) == /\ pc[t] = "loop" /\ tasks = 0 /\ ~asleep /\ asleep' = TRUE /\ Go(t, "answer")
            /\ UNCHANGED <<owner, forks, posts, number, memory, counts, monitor, told, wrong>>
\* role::drained. Bug 9: the steps that have ended elsewhere are not counted.
Answer(t) == /\ pc[t] = "answer" /\ Go(t, "asleep")
             /\ told' = (told \/ (tasks = 0 /\ finished + (IF Bug = 9 THEN 0 ELSE ended) = begun))
             /\ UNCHANGED <<owner, forks, posts, number, memory, counts, monitor, asleep, wrong>>
WakeUp(t) == /\ pc[t] = "asleep" /\ ~asleep /\ Go(t, "loop")
             /\ UNCHANGED <<owner, forks, posts, number, memory, counts, monitor, asleep, told, wrong>>

\* --- a step ----------------------------------------------------------------------------------------------------------
\* It says that it is at its slot, and looks at the owner. Bug 3: it does not look.
Say(t, next) == Store(t, "at") /\ Go(t, next)
SayPost(t) == /\ pc[t] = "step" /\ posts > 0 /\ posts' = posts - 1 /\ Say(t, "post?")
              /\ UNCHANGED <<owner, forks, number, counts, monitor, asleep, told, wrong>>
\* A step may fork and forget any number of times, but its buffer is not endless.
SayFork(t) == /\ pc[t] = "step" /\ ~forks[t] /\ Len(buffer[t]) < 3 /\ Say(t, "fork?")
              /\ UNCHANGED <<owner, forks, posts, number, counts, monitor, asleep, told, wrong>>
SayForget(t) == /\ pc[t] = "step" /\ forks[t] /\ Say(t, "forget?")
                /\ UNCHANGED <<owner, forks, posts, number, counts, monitor, asleep, told, wrong>>
Asks == [ p \in {"post?", "fork?", "forget?", "end?"} |->
            CASE p = "post?" -> "post: ask" [] p = "fork?" -> "fork: ask" [] p = "forget?" -> "forget: ask" [] OTHER -> "end: ask" ]
Has == [ p \in {"post?", "fork?", "forget?", "end?"} |->
           CASE p = "post?" -> "post" [] p = "fork?" -> "fork" [] p = "forget?" -> "forget" [] OTHER -> "end" ]
Without == [ p \in {"post: ask", "fork: ask", "forget: ask", "end: ask"} |->
               CASE p = "post: ask" -> "post away" [] p = "fork: ask" -> "step" [] p = "forget: ask" -> "step" [] OTHER -> "end away" ]
Look(t) == /\ pc[t] \in {"post?", "fork?", "forget?", "end?"}
           /\ LET ignores == (Bug = 3 /\ pc[t] = "post?") \/ (Bug = 4 /\ pc[t] = "end?") IN \* bug 4: nor at its end
              Go(t, CASE ignores \/ (holder = t /\ ~doubt) -> Has[pc[t]]
                      [] holder = t /\ doubt /\ ~ignores -> Asks[pc[t]]
                      [] OTHER -> Without[Asks[pc[t]]])
           /\ UNCHANGED <<owner, forks, posts, number, memory, counts, monitor, asleep, told, wrong>>
\* Under the mutex, what was decided. Bug 5: it takes the hint for it.
With == [ p \in {"post: ask", "fork: ask", "forget: ask", "end: ask"} |->
            CASE p = "post: ask" -> "post" [] p = "fork: ask" -> "fork" [] p = "forget: ask" -> "forget" [] OTHER -> "end" ]
Ask(t) == /\ pc[t] \in {"post: ask", "fork: ask", "forget: ask", "end: ask"} /\ (~mutex \/ Bug = 5)
          /\ Go(t, IF holder # t \/ Bug = 5 THEN Without[pc[t]] ELSE With[pc[t]])
          /\ UNCHANGED <<owner, forks, posts, number, memory, counts, monitor, asleep, told, wrong>>
\* Those who are at the slot touch it now. A post wakes who sleeps.
Post(t) == /\ pc[t] = "post" /\ tasks' = tasks + 1 /\ Store(t, IF forks[t] THEN "at" ELSE "in") /\ Go(t, "step")
           /\ UNCHANGED <<owner, forks, posts, number, finished, ended, begun, monitor, asleep, told, wrong>>
PostAway(t) == /\ pc[t] = "post away" /\ tasks' = tasks + 1 /\ asleep' = FALSE /\ Go(t, "step")
               /\ UNCHANGED <<owner, forks, posts, number, memory, finished, ended, begun, monitor, told, wrong>>
\* Others take its forks from now on, until it ends or forgets them. Bug 7: it is at the slot for a moment only.
Fork(t) == /\ pc[t] = "fork" /\ forks' = [forks EXCEPT ![t] = TRUE] /\ Go(t, "step")
           /\ IF Bug = 7 THEN Store(t, "in") ELSE UNCHANGED memory
           /\ UNCHANGED <<owner, posts, number, counts, monitor, asleep, told, wrong>>
\* seat::forget_forks: none is left.
Forget(t) == /\ pc[t] = "forget" /\ forks' = [forks EXCEPT ![t] = FALSE] /\ Store(t, "in") /\ Go(t, "step")
             /\ UNCHANGED <<owner, posts, number, counts, monitor, asleep, told, wrong>>
\* It waits for all that was posted before.
Block(t) == /\ pc[t] = "step" /\ ~forks[t] /\ Go(t, "blocked")
            /\ UNCHANGED <<owner, forks, posts, number, memory, counts, monitor, asleep, told, wrong>>
GoOn(t) == /\ pc[t] = "blocked" /\ tasks = 0 /\ Go(t, "step")
           /\ UNCHANGED <<owner, forks, posts, number, memory, counts, monitor, asleep, told, wrong>>
SayEnd(t) == /\ pc[t] = "step" /\ Store(t, "between") /\ Go(t, "end?")
             /\ UNCHANGED <<owner, forks, posts, number, counts, monitor, asleep, told, wrong>>
End(t) == /\ pc[t] = "end" /\ finished' = finished + 1 /\ forks' = [forks EXCEPT ![t] = FALSE] /\ Go(t, "loop")
          /\ UNCHANGED <<owner, posts, number, memory, ended, begun, tasks, monitor, asleep, told, wrong>>
\* Without a slot. Bug 6: it wakes nobody.
EndAway(t) == /\ pc[t] = "end away" /\ ended' = (IF Bug = 10 THEN ended ELSE ended + 1) /\ asleep' = (asleep /\ Bug = 6)
              /\ Go(t, IF holder # t THEN "rest" ELSE "gone")
              /\ UNCHANGED <<owner, forks, posts, number, memory, finished, begun, tasks, monitor, told, wrong>>

\* --- who takes the slot -----------------------------------------------------------------------------------------------
Spare == {t \in Threads : pc[t] = "rest" /\ buffer[t] = << >>}
\* handover::pass_on, under the mutex. Bug 10: the step is counted already.
PassOn(from) == \E spare \in Spare :
    /\ holder' = spare /\ doubt' = FALSE
    /\ pc' = [pc EXCEPT ![spare] = "loop"] /\ ended' = (IF Bug = 10 THEN ended + 1 ELSE ended)
\* handover::give_up_slot: it is about to block.
GiveUp(t) == /\ pc[t] = "step" /\ ~mutex /\ holder = t /\ ~forks[t] /\ PassOn(t)
             /\ UNCHANGED <<forks, posts, number, memory, finished, begun, tasks, monitor, asleep, told, wrong>>
\* monitor::look sees a step that blocks.
See == /\ taking = "look" /\ pc[holder] = "blocked" /\ at[holder] = "in" /\ sight' = <<finished>> /\ taking' = "lock"
       /\ UNCHANGED <<owner, thread, memory, counts, mutex, asleep, told, wrong>>
\* handover::relieve. Bug 1: no barrier.
Relieve == /\ taking = "lock" /\ mutex' = TRUE /\ doubt' = TRUE /\ taking' = "barrier"
           /\ UNCHANGED <<holder, thread, memory, counts, sight, asleep, told, wrong>>
Barrier == /\ taking = "barrier" /\ taking' = "decide"
           /\ IF Bug = 1 THEN UNCHANGED memory
              ELSE at' = [t \in Threads |-> Last(t)] /\ buffer' = [t \in Threads |-> << >>]
           /\ UNCHANGED <<owner, thread, counts, mutex, sight, asleep, told, wrong>>
\* Bug 2: whether it is at the slot is not looked at. Bug 8: nor whether it is the same step.
Decide == /\ taking = "decide" /\ taking' = "look" /\ mutex' = FALSE /\ sight' = << >>
          /\ LET in == at[holder] = "in" \/ (Bug = 2 /\ at[holder] = "at")
                 same == finished = sight[1] \/ Bug = 8 IN
             IF in /\ same /\ Spare # {}
             THEN /\ PassOn(holder) /\ wrong' = (wrong \/ number[holder] # sight[1])
             ELSE /\ doubt' = FALSE /\ UNCHANGED <<holder, pc, ended, wrong>>
          /\ UNCHANGED <<forks, posts, number, memory, finished, begun, tasks, asleep, told>>

Working(t) == \/ Drain(t) \/ Begin(t) \/ Sleep(t) \/ Answer(t) \/ WakeUp(t) \/ Look(t) \/ Ask(t) \/ Post(t)
              \/ PostAway(t) \/ Fork(t) \/ Forget(t) \/ GoOn(t) \/ SayEnd(t) \/ End(t) \/ EndAway(t)
Choosing(t) == SayPost(t) \/ SayFork(t) \/ SayForget(t) \/ Block(t) \/ GiveUp(t)
Monitoring == See \/ Relieve \/ Barrier \/ Decide
Next == (\E t \in Threads : Working(t) \/ Choosing(t)) \/ Monitoring \/ UNCHANGED vars
Fair == WF_vars(Monitoring) /\ \A t \in Threads : WF_vars(Working(t)) /\ WF_vars(Drain(t)) /\ SF_vars(SayEnd(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------------------------
UsesSlot(t) == pc[t] \in {"loop", "answer", "asleep", "post", "fork", "forget", "end"} \/ (pc[t] \in {"step", "blocked"} /\ forks[t])
Alone == \A t \in Threads : UsesSlot(t) => holder = t
Seen == ~wrong
Exact == told => tasks = 0 /\ begun = finished + ended
Told == <>told
=============================================================================
