------------------------------ MODULE BoundGroups ------------------------------
(* A group that is bound to a worker: who is woken for it, on which thread its steps run, and one at a time; as it is bound,
   moved and released while it has tasks. sched/{turns,group_state,handover}, idle::wake, core::wake_bound.

   A round may be run by any worker. What is for another it leaves, says so in the slot of that one, and wakes it when it has
   released the role [RL1]; who falls asleep counts itself, and looks there once more [ID1]. A slot to which a group is bound
   is not handed over; a step that blocks on another goes on without it.
   How steps that end are told to the role is Groups, whom to wake for what anybody can do Parking, how a slot is taken Handover:
   these are one step each here.

   What is to hold
     There   what was posted since the last call runs on the worker that it named, and on the thread that this had then
     Alone   and while nothing else of the group runs
     Served  what is queued runs, unless the worker has a step that never ends                              (liveness)
     Quiet   at last there are no more rounds                                                               (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Workers, Targets,          \* those that it may be bound to
          Long,                      \* those that may be kept by a step of others for ever
          Tasks, Changes, Passes, Bug

None == "none"
Nothing == -1
VARIABLES front, queue,              \* tasks, each by the number of the call before its post
          wish, number, thread_then, \* to whom it is bound, by which call, and which thread that worker had
          left,                      \* what users may still do: tasks, changes, and hand-overs
          user,                      \* what it does
          server, held, running,     \* whom the role serves it by; until a step ends; dealt and not ended
          noticed, wanted, backlog, role,
          waits,                     \* what the role has said in each slot
          pc, task, thread,          \* of each worker
          away,                      \* steps without a slot
          parked, told
posts == <<front, queue>>
wishes == <<wish, number, thread_then>>
group == <<server, held, running>>
rounds == <<noticed, wanted, backlog, role, waits>>
worker == <<pc, task, thread, away>>
sleep == <<parked, told>>
vars == <<posts, wishes, left, user, group, rounds, worker, sleep>>

All(value) == [w \in Workers |-> value]
Init == /\ front = << >> /\ queue = << >> /\ wish = None /\ number = 0 /\ thread_then = 0
        /\ left = [tasks |-> Tasks, changes |-> Changes, passes |-> Passes] /\ user = "ready"
        /\ server = None /\ held = FALSE /\ running = 0
        /\ noticed = FALSE /\ wanted = FALSE /\ backlog = FALSE /\ role = None /\ waits = All(FALSE)
        /\ pc = All("look") /\ task = All(Nothing) /\ thread = All(0) /\ away = 0
        /\ parked = {} /\ told = All(FALSE)

Go(w, to) == pc' = [pc EXCEPT ![w] = to]
Searches(w) == \/ pc[w] \in {"look", "try", "admit", "deal", "pick", "release", "park"}
               \/ pc[w] = "wake" /\ task[w] = Nothing
               \/ pc[w] \in {"recheck", "cancel", "sleep"} /\ w \notin parked
\* idle::wake_one, by who has a step now, unless somebody else searches.
WakeOne(by) == IF parked = {} \/ \E w \in Workers \ {by} : Searches(w) THEN UNCHANGED sleep
               ELSE \E w \in parked : parked' = parked \ {w} /\ told' = [told EXCEPT ![w] = TRUE]
\* core::wake_another, wake_bound: each of those for whom something waits, whoever searches. Bug 2: nobody.
WakeOthers(w, by) ==
    LET bound == IF Bug = 2 THEN {} ELSE {v \in parked : v # w /\ waits[v]} IN
    IF bound # {} THEN parked' = parked \ bound /\ told' = [v \in Workers |-> told[v] \/ v \in bound]
    ELSE IF front # << >> \/ wanted \/ backlog THEN WakeOne(by) ELSE UNCHANGED sleep

\* --- the user: group::bind, release, post --------------------------------------------------------------------
Post == /\ user = "ready" /\ left.tasks > 0 /\ left' = [left EXCEPT !.tasks = @ - 1]
        /\ front' = Append(front, number) /\ user' = (IF front = << >> THEN "wakes" ELSE "ready")
        /\ UNCHANGED <<queue, wishes, group, rounds, worker, sleep>>
\* handover::bind, under its mutex. Bug 6: a release is told to nobody.
Change(to) == /\ user = "ready" /\ left.changes > 0 /\ to # wish /\ left' = [left EXCEPT !.changes = @ - 1]
              /\ wish' = to /\ number' = number + 1 /\ thread_then' = (IF to = None THEN 0 ELSE thread[to])
              /\ user' = (IF Bug = 6 /\ to = None THEN "ready" ELSE "notices")
              /\ UNCHANGED <<posts, group, rounds, worker, sleep>>
Notice == /\ user = "notices" /\ noticed' = TRUE /\ wanted' = TRUE /\ user' = "wakes"
          /\ UNCHANGED <<posts, wishes, left, group, backlog, role, waits, worker, sleep>>
Wake == /\ user = "wakes" /\ user' = "ready" /\ WakeOne(None)
        /\ UNCHANGED <<posts, wishes, left, group, rounds, worker>>

\* --- a worker: look, and a round ---------------------------------------------------------------------------------
\* Bug 8: what is for another one, too.
Sees(w) == front # << >> \/ wanted \/ backlog \/ waits[w] \/ (Bug = 8 /\ \E v \in Workers : waits[v])
Look(w) == /\ pc[w] = "look" /\ Go(w, IF Sees(w) THEN "try" ELSE "park")
           /\ UNCHANGED <<posts, wishes, left, user, group, rounds, task, thread, away, sleep>>
\* Or it has a step of others.
Other(w) == /\ pc[w] = "look" /\ w \in Long /\ Go(w, "other") /\ WakeOthers(w, w)
            /\ UNCHANGED <<posts, wishes, left, user, group, rounds, task, thread, away>>
EndOther(w) == /\ pc[w] = "other" /\ Go(w, "look")
               /\ UNCHANGED <<posts, wishes, left, user, group, rounds, task, thread, away, sleep>>
TryAcquire(w) == /\ pc[w] = "try"
                 /\ IF role = None THEN role' = w /\ Go(w, "admit") ELSE Go(w, "park") /\ UNCHANGED role
                 /\ UNCHANGED <<posts, wishes, left, user, group, noticed, wanted, backlog, waits, task, thread, away, sleep>>
Admit(w) == /\ pc[w] = "admit" /\ queue' = queue \o front /\ front' = << >>
            /\ wanted' = FALSE /\ noticed' = FALSE /\ held' = (held /\ ~noticed) /\ Go(w, "deal")
            /\ UNCHANGED <<wishes, left, user, server, running, backlog, role, waits, task, thread, away, sleep>>
\* turns::follow. Before each pick: whoever was admitted was posted after what it sees.
Follow(w) == /\ pc[w] = "deal" /\ server' = wish /\ Go(w, "pick")
             /\ UNCHANGED <<posts, wishes, left, user, held, running, rounds, task, thread, away, sleep>>
\* turns::next_of, deal. Bug 5: whoever asks is served; bug 7: as many at once as elsewhere.
Room == wish = None \/ running = 0 \/ Bug = 7
Deal(w) == /\ pc[w] = "pick" /\ Go(w, IF Bug = 1 THEN "wake" ELSE "release")  \* bug 1: wakes before the release
           /\ LET competes == queue # << >> /\ ~held
                  mine == competes /\ (server \in {None, w} \/ Bug = 5) IN
              /\ IF mine /\ Room
                 THEN /\ queue' = Tail(queue) /\ task' = [task EXCEPT ![w] = Head(queue)] /\ running' = running + 1
                      /\ UNCHANGED held
                 ELSE held' = (held \/ mine) /\ UNCHANGED <<queue, task, running>>
              /\ LET after == queue' # << >> /\ ~held' IN
                 /\ backlog' = (after /\ server = None)
                 /\ waits' = [v \in Workers |-> after /\ server = v]
           /\ UNCHANGED <<front, wishes, left, user, server, noticed, wanted, role, thread, away, sleep>>
Next_(w) == IF task[w] # Nothing THEN "step" ELSE "look"
Release(w) == /\ pc[w] = "release" /\ role' = None /\ Go(w, IF Bug = 1 THEN Next_(w) ELSE "wake")
              /\ UNCHANGED <<posts, wishes, left, user, group, noticed, wanted, backlog, waits, task, thread, away, sleep>>
WakeAnother(w) ==
    /\ pc[w] = "wake" /\ Go(w, IF Bug = 1 THEN "release" ELSE Next_(w))
    /\ WakeOthers(w, IF task[w] = Nothing THEN None ELSE w)
    /\ UNCHANGED <<posts, wishes, left, user, group, rounds, task, thread, away>>

\* --- going to sleep ------------------------------------------------------------------------------------------------
Park(w) == /\ pc[w] = "park" /\ parked' = parked \cup {w} /\ Go(w, "recheck")
           /\ UNCHANGED <<posts, wishes, left, user, group, rounds, task, thread, away, told>>
\* Bug 3: does not look at what is for it alone.
Recheck(w) == /\ pc[w] = "recheck"
              /\ LET sees == IF Bug = 3 THEN front # << >> \/ wanted \/ backlog ELSE Sees(w) IN
                 Go(w, IF sees /\ role = None THEN "cancel" ELSE "sleep")
              /\ UNCHANGED <<posts, wishes, left, user, group, rounds, task, thread, away, sleep>>
CancelPark(w) == /\ pc[w] = "cancel" /\ parked' = parked \ {w} /\ Go(w, IF w \in parked THEN "look" ELSE "sleep")
                 /\ UNCHANGED <<posts, wishes, left, user, group, rounds, task, thread, away, told>>
Awake(w) == /\ pc[w] = "sleep" /\ told[w] /\ told' = [told EXCEPT ![w] = FALSE] /\ Go(w, "look")
            /\ UNCHANGED <<posts, wishes, left, user, group, rounds, task, thread, away, parked>>

\* --- steps ----------------------------------------------------------------------------------------------------------
\* The role is told if it waits for that.
Ended == running' = running - 1 /\ noticed' = (noticed \/ held) /\ wanted' = (wanted \/ held)
EndStep(w) == /\ pc[w] = "step" /\ Ended /\ task' = [task EXCEPT ![w] = Nothing] /\ Go(w, "look")
              /\ UNCHANGED <<posts, wishes, left, user, server, held, backlog, role, waits, thread, away, sleep>>
\* handover::pass_on: it blocks, and another thread has the slot. Bug 4: though a group is bound to it.
PassOn(w) == /\ pc[w] = "step" /\ left.passes > 0 /\ (wish # w \/ Bug = 4) /\ left' = [left EXCEPT !.passes = @ - 1]
             /\ thread' = [thread EXCEPT ![w] = @ + 1] /\ away' = away + 1 /\ task' = [task EXCEPT ![w] = Nothing] /\ Go(w, "look")
             /\ UNCHANGED <<posts, wishes, user, group, rounds, sleep>>
EndAway == /\ away > 0 /\ away' = away - 1 /\ Ended /\ WakeOne(None)
           /\ UNCHANGED <<posts, wishes, left, user, server, held, backlog, role, waits, pc, task, thread>>

Working(w) == \/ Look(w) \/ TryAcquire(w) \/ Admit(w) \/ Follow(w) \/ Deal(w) \/ Release(w) \/ WakeAnother(w)
              \/ Park(w) \/ Recheck(w) \/ CancelPark(w) \/ Awake(w) \/ EndStep(w)
Next == \/ Post \/ Notice \/ Wake \/ EndAway \/ \E to \in Targets \cup {None} : Change(to)
        \/ \E w \in Workers : Working(w) \/ Other(w) \/ EndOther(w) \/ PassOn(w)
Fair == WF_vars(Notice) /\ WF_vars(Wake) /\ WF_vars(EndAway) /\ \A w \in Workers : WF_vars(Working(w))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------------
Bound(w) == pc[w] = "step" /\ task[w] = number /\ wish # None
There == \A w \in Workers : Bound(w) => w = wish /\ thread[w] = thread_then
Alone == \A w \in Workers : Bound(w) => running = 1
Waiting == front # << >> \/ queue # << >>
Served == Waiting ~> (~Waiting \/ wish \in Long)
Quiet == <>[](role = None)
=============================================================================
