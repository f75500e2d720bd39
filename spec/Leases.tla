------------------------------- MODULE Leases -------------------------------
(* The lease of a turn: sched/{lease,group_state,turns}, charging::begin_in_lease, end_in_lease, end_lease.

   A group has no limit, so a worker that has its turn counts steps for itself, and what they post to the group it runs
   without a round. It tells the group when the lease ends: first how many steps have begun that no turn had dealt, then
   how many have ended, then that the lease has. Meanwhile a user sets a limit. From then on no task goes around the role,
   and the role deals none while a lease is open, as it does not know how many steps run; it says that it holds the group
   back, and looks once more, and who ends a lease or a step looks whether somebody waits for that [GR1].
   Other workers steal what was dealt or went around the role. A step may last for ever; then its slot is passed on, and the
   group is told of all but that step.

   What is to hold
     Within     what the role deals is within the limit, with all that runs or is in hand
     Counted    the role never takes more steps for ended than have begun
     Served     every task runs                                                                       (liveness) *)
EXTENDS Integers, FiniteSets, Sequences

CONSTANTS Workers, Long, Tasks, Posts, Limit, Bug

None == "none"
VARIABLES queued, hand, posted,      \* tasks in the queue of the group; of each worker: its run, and what its steps posted
          pc, left,                  \* of each worker; how many posts steps still make
          lease,                     \* of each worker: whether it is open, and what it has counted
          begun, ended,              \* steps, as the group knows them
          leases, over,              \* begun by the role; ended
          limit,                     \* 0: none
          held_back, is_held, noticed,
          role, seen, within         \* its holder; what that has read; Within so far
tasks == <<queued, hand, posted, left>>
numbers == <<begun, ended, leases, over>>
waits == <<held_back, is_held, noticed>>
vars == <<tasks, pc, lease, numbers, limit, waits, role, seen, within>>

Closed == [open |-> FALSE, begun |-> 0, ended |-> 0]
Init == /\ queued = Tasks /\ hand = [w \in Workers |-> 0] /\ posted = [w \in Workers |-> 0] /\ left = Posts
        /\ pc = [w \in Workers |-> "look"] /\ lease = [w \in Workers |-> Closed]
        /\ begun = 0 /\ ended = 0 /\ leases = 0 /\ over = 0 /\ limit = 0
        /\ held_back = FALSE /\ is_held = FALSE /\ noticed = FALSE
        /\ role = None /\ seen = [over |-> 0, ended |-> 0, begun |-> 0] /\ within = TRUE

Go(w, to) == pc' = [pc EXCEPT ![w] = to]
Away == {"away begun", "away ended", "away over", "away told", "away"}
Running == Cardinality({w \in Workers : pc[w] \in Away \cup {"step"}})
RECURSIVE Sum(_, _)
Sum(f, s) == IF s = {} THEN 0 ELSE LET w == CHOOSE w \in s : TRUE IN f[w] + Sum(f, s \ {w})
InHand == Sum(hand, Workers)

\* --- steps ------------------------------------------------------------------------------------------------------
\* Of its own run, or of another's. A step that was stolen counts for no lease of the thief: it has none.
Begin(w) == /\ pc[w] = "look" /\ hand[w] > 0 /\ hand' = [hand EXCEPT ![w] = @ - 1] /\ Go(w, "step")
            /\ UNCHANGED <<queued, posted, left, lease, numbers, limit, waits, role, seen, within>>
Steal(w, v) == /\ pc[w] = "look" /\ w # v /\ hand[w] = 0 /\ posted[w] = 0 /\ ~lease[w].open /\ hand[v] > 0
               /\ hand' = [hand EXCEPT ![v] = @ - 1] /\ Go(w, "step")
               /\ UNCHANGED <<queued, posted, left, lease, numbers, limit, waits, role, seen, within>>
Post(w) == /\ pc[w] = "step" /\ left > 0 /\ left' = left - 1
           /\ IF lease[w].open THEN posted' = [posted EXCEPT ![w] = @ + 1] /\ UNCHANGED <<queued, noticed>>
                               ELSE queued' = queued + 1 /\ noticed' = TRUE /\ UNCHANGED posted
           /\ UNCHANGED <<hand, pc, lease, numbers, limit, held_back, is_held, role, seen, within>>
End(w) == /\ pc[w] = "step"
          /\ IF lease[w].open THEN /\ lease' = [lease EXCEPT ![w].ended = @ + 1] /\ Go(w, "look") /\ UNCHANGED ended
                              ELSE /\ ended' = ended + 1 /\ Go(w, "told") /\ UNCHANGED lease
          /\ UNCHANGED <<tasks, begun, leases, over, limit, waits, role, seen, within>>
\* own_posts::take_leased. Bug 1: it does not look at the limit.
TakePosted(w) == /\ pc[w] = "look" /\ hand[w] = 0 /\ posted[w] > 0 /\ lease[w].open /\ (limit = 0 \/ Bug = 1)
                 /\ hand' = [hand EXCEPT ![w] = posted[w]] /\ posted' = [posted EXCEPT ![w] = 0]
                 /\ lease' = [lease EXCEPT ![w].begun = @ + posted[w]]
                 /\ within' = (within /\ limit = 0)
                 /\ UNCHANGED <<queued, left, pc, numbers, limit, waits, role, seen>>

\* --- the end of a lease -------------------------------------------------------------------------------------------
\* When nothing is left, or before a round.
Close(w) == /\ pc[w] = "look" /\ lease[w].open /\ hand[w] = 0 /\ (posted[w] = 0 \/ limit # 0)
            /\ Go(w, IF Bug = 3 THEN "over" ELSE "begun")                   \* bug 3: the other way round
            /\ UNCHANGED <<tasks, lease, numbers, limit, waits, role, seen, within>>
\* handover::pass_on. The worker is not at its slot until its step has ended; another goes on there. Bug 8: it tells nobody.
Pass(w) == /\ pc[w] = "step" /\ lease[w].open /\ Bug # 8 /\ Go(w, "away begun")
           /\ UNCHANGED <<tasks, lease, numbers, limit, waits, role, seen, within>>
IsAway(w) == pc[w] \in Away
Next_(w, to) == Go(w, IF IsAway(w) THEN "away " \o to ELSE to)
EndAway(w) == /\ pc[w] = "away" /\ ended' = ended + 1 /\ Go(w, "told")
              /\ UNCHANGED <<tasks, lease, begun, leases, over, limit, waits, role, seen, within>>
TellBegun(w) == /\ pc[w] \in {"begun", "away begun"} /\ begun' = IF Bug = 2 THEN begun ELSE begun + lease[w].begun   \* bug 2: does not
                /\ Next_(w, IF Bug = 3 THEN "told" ELSE "ended")
                /\ lease' = IF Bug = 3 THEN [lease EXCEPT ![w] = Closed] ELSE lease
                /\ UNCHANGED <<tasks, ended, leases, over, limit, waits, role, seen, within>>
TellEnded(w) == /\ pc[w] \in {"ended", "away ended"} /\ ended' = ended + lease[w].ended /\ Next_(w, IF Bug = 3 THEN "begun" ELSE "over")
                /\ UNCHANGED <<tasks, lease, begun, leases, over, limit, waits, role, seen, within>>
TellOver(w) == /\ pc[w] \in {"over", "away over"} /\ over' = over + 1 /\ Next_(w, IF Bug = 3 THEN "ended" ELSE "told")
               /\ lease' = IF Bug = 3 THEN lease ELSE [lease EXCEPT ![w] = Closed]
               /\ UNCHANGED <<tasks, begun, ended, leases, limit, waits, role, seen, within>>
\* group_state::take_held_back, and core::notice. Bug 4: it does not look.
Look(w) == /\ pc[w] \in {"told", "away told"} /\ Go(w, IF IsAway(w) THEN "away" ELSE "look")
           /\ IF held_back /\ Bug # 4 THEN held_back' = FALSE /\ noticed' = TRUE ELSE UNCHANGED <<held_back, noticed>>
           /\ UNCHANGED <<tasks, lease, numbers, limit, is_held, role, seen, within>>

\* --- a round: group_state::room, hold_back; turns::deal -----------------------------------------------------------
Acquire(w) == /\ pc[w] = "look" /\ role = None /\ hand[w] = 0 /\ ~lease[w].open
              /\ ((queued > 0 /\ (~is_held \/ noticed)) \/ Sum(posted, Workers) > 0) /\ role' = w /\ Go(w, "begins")
              /\ queued' = queued + Sum(posted, Workers) /\ posted' = [v \in Workers |-> 0]
              /\ IF noticed THEN noticed' = FALSE /\ is_held' = FALSE ELSE UNCHANGED <<noticed, is_held>>
              /\ UNCHANGED <<hand, left, lease, numbers, limit, held_back, seen, within>>
ReadBegun(w) == /\ pc[w] = "begins" /\ seen' = [seen EXCEPT !.begun = begun] /\ Go(w, "round")
                /\ UNCHANGED <<tasks, lease, numbers, limit, waits, role, within>>
ReadLeases(w) == /\ pc[w] \in {"round", "once more"} /\ seen' = [seen EXCEPT !.over = over]
                 /\ Go(w, IF pc[w] = "round" THEN "leases" ELSE "leases again")
                 /\ UNCHANGED <<tasks, lease, numbers, limit, waits, role, within>>
ReadEnded(w) == /\ pc[w] \in {"leases", "leases again"} /\ seen' = [seen EXCEPT !.ended = ended]
                /\ Go(w, IF pc[w] = "leases" THEN "numbers" ELSE "numbers again")
                /\ UNCHANGED <<tasks, lease, numbers, limit, waits, role, within>>
\* Bug 5: it does not look at leases. Bug 7: it has read first how many have begun.
Begun == IF Bug = 7 THEN seen.begun ELSE begun
Room == IF limit = 0 THEN queued
        ELSE IF seen.over # leases /\ Bug # 5 THEN 0 ELSE limit - (Begun - seen.ended)
Out(w) == role' = None /\ Go(w, "look")
Deal(w) == /\ pc[w] = "numbers" /\ (queued = 0 \/ Room > 0) /\ Out(w)
           /\ \E count \in 0..queued :
                /\ count <= Room /\ (queued > 0 => count > 0)
                /\ queued' = queued - count /\ hand' = [hand EXCEPT ![w] = count] /\ begun' = begun + count
                /\ within' = (within /\ (limit = 0 \/ Running + InHand + count <= limit))
                /\ IF limit = 0 /\ count > 0 THEN leases' = leases + 1 /\ lease' = [lease EXCEPT ![w].open = TRUE]
                                             ELSE UNCHANGED <<leases, lease>>
           /\ UNCHANGED <<posted, left, ended, over, limit, waits, seen>>
HoldBack(w) == /\ pc[w] = "numbers" /\ queued > 0 /\ Room <= 0 /\ held_back' = TRUE
               /\ IF Bug = 6 THEN is_held' = TRUE /\ Out(w)                          \* bug 6: does not look once more
                             ELSE Go(w, "once more") /\ UNCHANGED <<is_held, role>>
               /\ UNCHANGED <<tasks, lease, numbers, limit, noticed, seen, within>>
Held(w) == /\ pc[w] = "numbers again" /\ Room <= 0 /\ is_held' = TRUE /\ Out(w)
           /\ UNCHANGED <<tasks, lease, numbers, limit, held_back, noticed, seen, within>>
\* Who has ended something may be about to say so: then that is waited for.
Retract(w) == /\ pc[w] = "numbers again" /\ Room > 0 /\ held_back' = FALSE /\ is_held' = ~held_back /\ Out(w)
              /\ UNCHANGED <<tasks, lease, numbers, limit, noticed, seen, within>>

\* --- a user -------------------------------------------------------------------------------------------------------
SetLimit == /\ limit = 0 /\ limit' = Limit /\ noticed' = TRUE
            /\ UNCHANGED <<tasks, pc, lease, numbers, held_back, is_held, role, seen, within>>

Working(w) == \/ Begin(w) \/ (\E v \in Workers : Steal(w, v)) \/ TakePosted(w) \/ Pass(w)
              \/ Close(w) \/ TellBegun(w) \/ TellEnded(w) \/ TellOver(w) \/ Look(w)
              \/ Acquire(w) \/ ReadBegun(w) \/ ReadLeases(w) \/ ReadEnded(w) \/ Deal(w) \/ HoldBack(w) \/ Held(w) \/ Retract(w)
Ending(w) == End(w) \/ EndAway(w)
Next == SetLimit \/ \E w \in Workers : Working(w) \/ Ending(w) \/ Post(w)
Spec == Init /\ [][Next]_vars /\ \A w \in Workers : WF_vars(Working(w)) /\ (w \in Long \/ WF_vars(Ending(w)))

\* --- properties ---------------------------------------------------------------------------------------------------
Within == within
Counted == \A w \in Workers : pc[w] = "numbers" /\ limit # 0 /\ seen.over = leases => Begun >= seen.ended
Waiting == queued + InHand + Sum(posted, Workers)
Served == <>[](Waiting = 0)
=============================================================================
