--------------------------- MODULE SchedulerTrace ---------------------------
(* Traces of the whole scheduler, from the hooks of sched/task/trace.hpp: thread 1 posts and stops, the others are its
   workers, then who wakes and signals tasks.

   What tasks go through is explained by the actions of Scheduler: posts, wake-ups and duties, the deadlines of a
   round, admission, the end of all. Where Scheduler is plainer than the code, this module says what the code does:
   a step posts to a front of its worker's own, and may receive its signal before it posts; a worker takes a share
   of what it deals, claims several tasks at once, steals, and takes its own posts without a round. Who sleeps and
   is woken is not looked at; Parking is about that. *)
EXTENDS Scheduler, Trace

VARIABLES where,     \* of each task in a front: whose that is, a worker's, Shared, or BehindShared
          arrived,   \* taken from the shared front: it comes behind what the fronts of the workers have
          behind,    \* likewise: what steps posted to it, while there was something in front of it
          in_line    \* whether the round has seen others stand in line, so that who is due may stay
own == <<where, arrived, behind, in_line>>

Shared == 0
BehindShared == -1
Unread == -1   \* a time
TraceDeadlines == 0..Never
In(source) == SelectSeq(front, LAMBDA t : where[t] = source)
Without(s, tasks) == SelectSeq(s, LAMBDA t : \A i \in DOMAIN tasks : tasks[i] # t)
Rest(s, count) == SubSeq(s, count + 1, Len(s))
First(s, count) == SubSeq(s, 1, IF count < Len(s) THEN count ELSE Len(s))

\* What a step has said.
Said(t, i) == Argument(t)[i]

\* --- users ------------------------------------------------------------------------------------------------
\* Nobody sleeps here, so that a wake-up changes nothing.
AnnounceFirst(u) == Announce(u) /\ UNCHANGED own /\ ContinuesAlone(u)
UserPushes(u) ==
    /\ Calls(u, "push") /\ ~announces[u]
    /\ LET t == Said(u, 1) IN
       /\ IF mine[u] = t THEN Push(u) ELSE Post(u, t) /\ due'[t] = Result(u)
       /\ Said(u, 2) = (In(Shared) = << >>)
       /\ where' = [where EXCEPT ![t] = Shared] /\ UNCHANGED <<arrived, behind, in_line>>
    /\ Returns(u)
\* A second wake-up finds the first one; Scheduler leaves it out.
WakesAgain(u) == /\ Calls(u, "wake") /\ Idle(u) /\ "woken" \in word[Argument(u)] /\ Result(u) = FALSE
                 /\ UNCHANGED vars
UserNotifies(u) ==
    /\ \/ WakesAgain(u)
       \/ LET t == Argument(u) IN
          /\ \/ Calls(u, "wake") /\ Wake(u, t)
             \/ Calls(u, "signal") /\ Signal(u, t)
          /\ Result(u) = (mine'[u] = t)
    /\ UNCHANGED own /\ Returns(u)
\* A yes: there was a moment at which everything had ended.
HadEnded(yes) == (yes => \A t \in Tasks : ~posted[t]) /\ UNCHANGED <<vars, own>>
UserDrains(u) == Calls(u, "drain") /\ HadEnded(Result(u)) /\ Returns(u)
UserStops(u) == Calls(u, "stop") /\ Idle(u) /\ Stop /\ UNCHANGED own /\ Returns(u)

\* --- a step -------------------------------------------------------------------------------------------------
Turn(w, to) == /\ pc[w] \in {"look", "after"} \ {to} /\ Go(w, to)
               /\ UNCHANGED <<task, sent, queues, hands, rounds, sleepers, world>>
               /\ UNCHANGED own /\ ContinuesAlone(w)
WorkerBeginsStep(w) ==
    /\ Calls(w, "step")
    /\ \/ Turn(w, "look")
       \/ /\ pc[w] = "look" /\ FromRun(w, w) /\ current'[w] = Said(w, 1)
          /\ UNCHANGED <<due, place, expired, posted, sent, front, pending, batch, rounds, sleepers, world>>
          /\ UNCHANGED own /\ Returns(w)
StepReceives(w) ==
    /\ Calls(w, "receive") /\ pc[w] = "step" /\ current[w] = Argument(w)
    /\ LET t == current[w] IN
       /\ Result(w) = ("signalled" \in word[t])
       /\ word' = [word EXCEPT ![t] = @ \ {"signalled"}]
    /\ UNCHANGED <<due, place, expired, posted, steps, sent, queues, hands, rounds, pc, sleepers, world>>
    /\ UNCHANGED own /\ Returns(w)
\* It ends, or posts itself.
LeavesStep(w, t) == /\ pc[w] = "step" /\ current[w] = t /\ current' = [current EXCEPT ![w] = None]
                    /\ Go(w, "look")
                    /\ place' = [place EXCEPT ![t] = "new"] /\ expired' = [expired EXCEPT ![t] = FALSE]
                    /\ UNCHANGED <<word, steps, sent, pending, batch, ready, run, rounds, sleepers, world>>
StepEnds(w) == /\ Calls(w, "end") /\ LeavesStep(w, Argument(w))
               /\ posted' = [posted EXCEPT ![Argument(w)] = FALSE] /\ due' = [due EXCEPT ![Argument(w)] = 0]
               /\ UNCHANGED <<front, own>> /\ Returns(w)
StepPosts(w) ==
    /\ \/ Calls(w, "push") /\ Said(w, 2) = (In(Shared) = << >>)
       \/ Calls(w, "push_behind") /\ Said(w, 2) = (In(BehindShared) = << >>)
       \/ Calls(w, "keep")
    /\ LET t == Said(w, 1) IN
       /\ LeavesStep(w, t) /\ "stopping" \notin word[t]
       /\ due' = [due EXCEPT ![t] = Result(w)] /\ front' = Append(front, t) /\ UNCHANGED posted
       /\ where' = [where EXCEPT ![t] = CASE Calls(w, "push") -> Shared [] Calls(w, "push_behind") -> BehindShared
                                           [] OTHER -> w]
       /\ UNCHANGED <<arrived, behind, in_line>>
    /\ Returns(w)

\* The recorded step may have received its signal before.
StepSleeps(w) == /\ Calls(w, "asleep") /\ "signalled" \notin word[Said(w, 1)] /\ SleepsNow(w, Said(w, 1))
                 /\ UNCHANGED own /\ Returns(w)

\* --- where a worker takes tasks from -------------------------------------------------------------------
Takes(w, tasks) == run' = [run EXCEPT ![w] = @ \o tasks]
rest_of_taking == <<task, sent, pending, batch, current, rounds, pc, sleepers, world>>
WorkerClaims(w) == /\ Calls(w, "claim") /\ First(ready, Len(Said(w, 1))) = Said(w, 1)
                   /\ ready' = Rest(ready, Len(Said(w, 1))) /\ Takes(w, Said(w, 1))
                   /\ UNCHANGED <<front, own, rest_of_taking>> /\ Returns(w)
\* The first of the victim's run may be in its hands already.
WorkerSteals(w) ==
    /\ Calls(w, "steal")
    /\ LET tasks == Said(w, 1) IN
       \E v \in Workers \ {w}, skipped \in {0, 1} :
          /\ First(Rest(run[v], skipped), Len(tasks)) = tasks
          /\ run' = [run EXCEPT ![v] = Without(@, tasks), ![w] = @ \o tasks]
    /\ UNCHANGED <<front, ready, own, rest_of_taking>> /\ Returns(w)
\* What runs without the role: a post that is due, or that was notified before it could sleep.
RunsAtOnce(t) == due[t] = 0 \/ (place[t] = "new" /\ due[t] = Never /\ word[t] \cap Events # {})
WorkerTakesOwn(w) ==
    /\ \/ Calls(w, "take_own") /\ Said(w, 1) = In(w)
       \/ Calls(w, "take_one") /\ Said(w, 1) = First(In(w), 1)
    /\ \A i \in DOMAIN Said(w, 1) : RunsAtOnce(Said(w, 1)[i])
    /\ front' = Without(front, Said(w, 1)) /\ Takes(w, Said(w, 1))
    /\ UNCHANGED <<ready, own, rest_of_taking>> /\ Returns(w)

\* --- a round -------------------------------------------------------------------------------------------
\* The time, if it was read; otherwise any, as admission may read it.
RoundBegins(w) ==
    /\ Calls(w, "begin")
    /\ \/ Turn(w, "round")
       \/ pc[w] = "round" /\ Said(w, 1) \in {Unread} \cup ((now + 1)..MaxTime)
          /\ Tick /\ UNCHANGED own /\ ContinuesAlone(w)
       \/ /\ pc[w] = "round" /\ role = None /\ Begin(w) /\ Said(w, 1) \in {Unread, seen'}
          /\ in_line' = FALSE /\ UNCHANGED <<where, arrived, behind>> /\ Returns(w)
\* What its steps have posted, one after the other.
OwnBegins(w) ==
    /\ Calls(w, "begin_own")
    /\ \/ Turn(w, "look")
       \/ pc[w] = "look" /\ role = None /\ role' = w /\ Go(w, "admit")
          /\ UNCHANGED <<task, sent, queues, hands, seen, wanted, told_stop, sleepers, world, own>> /\ Returns(w)
OwnTakes(w) ==
    /\ Calls(w, "take_some") /\ pc[w] = "admit" /\ role = w /\ pending = << >> /\ Said(w, 1) = First(In(w), 1)
    /\ due[Said(w, 1)[1]] \in {0, Never} \/ place[Said(w, 1)[1]] \in {"asleep", "transit"}
    /\ pending' = Said(w, 1) /\ front' = Without(front, Said(w, 1))
    /\ UNCHANGED <<task, sent, batch, ready, hands, rounds, pc, sleepers, world, own>> /\ Returns(w)
RoundTells(w) ==
    \/ /\ Calls(w, "tell")
       /\ LET t == Said(w, 1) IN
          \/ /\ t \in Untold /\ TellOne(w) /\ "stopping" \in word'[t] /\ Said(w, 2) = (place'[t] = "none")
          \* It is about to go to sleep.
          \/ /\ \E v \in Workers : current[v] = t
             /\ Stopping /\ ~told_stop /\ Said(w, 2) = FALSE /\ Stays(w, "expire")
             /\ word' = [word EXCEPT ![t] = @ \cup {"stopping", "woken"}]
             /\ UNCHANGED <<due, place, expired, posted, steps, sent, queues, hands, rounds, sleepers, world>>
       /\ UNCHANGED own /\ Returns(w)
    \/ /\ Calls(w, "told") /\ Stopping /\ Untold = {} /\ Stays(w, "expire") /\ told_stop' = TRUE
       /\ UNCHANGED <<task, sent, queues, hands, role, seen, wanted, sleepers, world, own>> /\ Returns(w)
\* Thieves may have taken them since.
RoundLooks(w) == /\ Calls(w, "in_line") /\ Stays(w, "expire") /\ in_line' = Said(w, 1)
                 /\ UNCHANGED <<where, arrived, behind, task, sent, queues, hands, rounds, sleepers, world>> /\ Returns(w)
RoundOvertakes(w) == /\ Calls(w, "overtake") /\ in_line /\ Overtakes(w, Said(w, 1)) /\ UNCHANGED own /\ Returns(w)
RoundTakes(w) ==
    \/ /\ Calls(w, "take") /\ Stays(w, "expire") /\ Said(w, 1) = In(Shared)
       /\ arrived' = Said(w, 1) /\ front' = Without(front, Said(w, 1))
       /\ UNCHANGED <<where, behind, in_line, task, sent, pending, batch, ready, hands, rounds, sleepers, world>>
       /\ Returns(w)
    \/ /\ Calls(w, "take_behind") /\ Stays(w, "expire") /\ Said(w, 1) = In(BehindShared)
       /\ behind' = Said(w, 1) /\ front' = Without(front, Said(w, 1))
       /\ UNCHANGED <<where, arrived, in_line, task, sent, pending, batch, ready, hands, rounds, sleepers, world>>
       /\ Returns(w)
    \/ /\ Calls(w, "take_posts") /\ Stays(w, "expire")
       /\ IF Said(w, 1) = << >> THEN TRUE ELSE Said(w, 1) = In(where[Said(w, 1)[1]])
       /\ pending' = pending \o Said(w, 1) /\ front' = Without(front, Said(w, 1))
       /\ UNCHANGED <<task, sent, batch, ready, hands, rounds, sleepers, world, own>> /\ Returns(w)
    \/ /\ Calls(w, "arrived") /\ (Due = {} \/ in_line) /\ Then(w, "expire", "admit")
       /\ pending' = pending \o arrived \o behind /\ arrived' = << >> /\ behind' = << >>
       /\ UNCHANGED <<where, in_line, task, sent, front, batch, ready, hands, rounds, sleepers, world>> /\ Returns(w)
RoundAdmits(w) ==
    /\ \/ /\ Calls(w, "batch")
          /\ \/ ExpireOne(w) \/ Admit(w)
          /\ batch' = Append(batch, Said(w, 1))
       \/ Calls(w, "batch") /\ Count(batch, Said(w, 1)) = 1 /\ UNCHANGED vars   \* it was told to stop
       \/ Calls(w, "asleep") /\ Admit(w) /\ Head(pending) = Said(w, 1) /\ place'[Said(w, 1)] = "asleep"
       \/ Calls(w, "in_transit") /\ ExpireOne(w) /\ place[Said(w, 1)] = "asleep" /\ place'[Said(w, 1)] = "transit"
    /\ UNCHANGED own /\ Returns(w)
RoundDeals(w) ==
    /\ pc[w] = "admit" /\ pending = << >> /\ role = w
    /\ \/ /\ Calls(w, "deal_own")
          /\ LET kept == Len(batch) - Said(w, 1) IN Takes(w, First(batch, kept)) /\ batch' = Rest(batch, kept)
          /\ UNCHANGED ready
       \/ /\ Calls(w, "deal") /\ Said(w, 1) = Len(batch)
          /\ ready' = ready \o batch /\ batch' = << >> /\ UNCHANGED run
    /\ UNCHANGED <<task, sent, front, pending, current, rounds, pc, sleepers, world, own>> /\ Returns(w)
RoundEnds(w) ==
    /\ Calls(w, "release")
    /\ \/ /\ pc[w] = "admit" /\ pending = << >> /\ batch = << >> /\ Go(w, "release")
          /\ UNCHANGED <<task, sent, queues, hands, rounds, sleepers, world, own>> /\ ContinuesAlone(w)
       \/ pc[w] = "release" /\ role = w /\ Release(w) /\ UNCHANGED own /\ Returns(w)
AnswersDrain(w) == Calls(w, "answer") /\ HadEnded(Said(w, 1)) /\ Returns(w)

User(u) == AnnounceFirst(u) \/ UserPushes(u) \/ UserNotifies(u) \/ UserDrains(u) \/ UserStops(u)
Worker(w) == \/ WorkerBeginsStep(w) \/ StepReceives(w) \/ StepEnds(w) \/ StepPosts(w) \/ StepSleeps(w)
             \/ WorkerClaims(w) \/ WorkerSteals(w) \/ WorkerTakesOwn(w)
             \/ OwnBegins(w) \/ OwnTakes(w)
             \/ RoundBegins(w) \/ RoundTells(w) \/ RoundLooks(w) \/ RoundOvertakes(w) \/ RoundTakes(w)
             \/ RoundAdmits(w) \/ RoundDeals(w) \/ RoundEnds(w)
             \/ AnswersDrain(w)

TraceInit == Init /\ InitTrace /\ where = [t \in Tasks |-> Shared] /\ arrived = << >> /\ behind = << >>
             /\ in_line = FALSE
TraceNext == \E t \in Recorded : MayGo(t) /\ (User(t) \/ (t \in Workers /\ Worker(t)))
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, own, recorded>>
=============================================================================
