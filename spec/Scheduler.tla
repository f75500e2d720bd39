----------------------------- MODULE Scheduler -----------------------------
(* The whole: tasks that are posted, sleep, are woken, signalled and stopped; workers that run rounds in
   turn, run tasks, and sleep. sched/{task_state,role,worker,scheduler}.

   The parts are plain here, as their own specifications have shown that they may be: a front is a sequence,
   the word of a task a set of bits that changes in one step, going to sleep and looking once more are two
   steps, and who has work wakes a sleeper if there is one (Parking has the rule that spares most of it).
   What a step posts goes to the front. A step of a round is what it does between two accesses that others
   can see. Values that mean nothing any more are set back, which makes the states fewer. That a signal is
   received, and once, is in TaskState.

   What is to hold
     RoleExclusive   one worker at most is in a round
     OnePlace        a task is queued, run or asleep in exactly one place, and in none when it has ended
     NeverEarly      a task that its deadline woke does not run before it
     DrainedExactly  who waits for the end of all tasks is told when they have ended, and not before
     Delivered       what is posted and due, or woken, runs, though one worker may be in a step for ever (liveness)
     StopEnds        a stop ends: all workers do, but for one that is in a step for ever               (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Workers, Users, Tasks,
          Steps,       \* how many a task has at most
          Signals,     \* how many it is sent at most
          MaxTime,
          Long,        \* workers whose steps may never end
          Stops,       \* whether somebody stops the scheduler
          Bug

None == "none"
Never == MaxTime + 1   \* a deadline
VARIABLES word, due, place, expired, posted, steps,   \* of each task
          sent,                                       \* how many signals it was sent
          front, pending, batch, ready,               \* queues of tasks
          run, current,                               \* of each worker: its run, the task in its step
          role, seen, wanted, told_stop,              \* its holder, the time that it has read; a round is wanted
          pc,                                         \* of each worker
          parked, driver, occupied, rung, wakes_at,   \* who sleeps; of the driver: its flag, its deadline
          mine, announces,                            \* of each user: the task that it must push; whether it must wake
          now, phase                                  \* the clock; the stop
task == <<word, due, place, expired, posted, steps>>
queues == <<front, pending, batch, ready>>
hands == <<run, current>>
rounds == <<role, seen, wanted, told_stop>>
sleepers == <<parked, driver, occupied, rung, wakes_at>>
users == <<mine, announces>>
vars == <<task, sent, queues, hands, rounds, pc, sleepers, users, now, phase>>

Init == /\ word = [t \in Tasks |-> {}] /\ due = [t \in Tasks |-> 0] /\ place = [t \in Tasks |-> "new"]
        /\ expired = [t \in Tasks |-> FALSE] /\ posted = [t \in Tasks |-> FALSE] /\ steps = [t \in Tasks |-> 0]
        /\ sent = [t \in Tasks |-> 0]
        /\ front = << >> /\ pending = << >> /\ batch = << >> /\ ready = << >>
        /\ run = [w \in Workers |-> << >>] /\ current = [w \in Workers |-> None]
        /\ role = None /\ seen = 0 /\ wanted = FALSE /\ told_stop = FALSE
        /\ pc = [w \in Workers |-> "look"]
        /\ parked = {} /\ driver = None /\ occupied = None /\ rung = FALSE /\ wakes_at = Never
        /\ mine = [u \in Users |-> None] /\ announces = [u \in Users |-> FALSE]
        /\ now = 0 /\ phase = "runs"

Stopping == phase # "runs"
Halting == phase \in {"halts", "ended"}
Go(w, to) == pc' = [pc EXCEPT ![w] = to]
Deadlines == {0, Never} \cup (IF now < MaxTime THEN {now + 1} ELSE {})

\* --- the word of a task: task_state ------------------------------------------------------------------------
Events == {"woken", "signalled"}
\* Whether who notifies it ends its sleep, and must push it. A wake that does leaves no bit.
Duty(t) == "waiting" \in word[t]
Notified(t, bits, awake) == IF Duty(t) THEN (word[t] \ {"waiting"}) \cup bits ELSE word[t] \cup bits \cup awake

\* --- who has work wakes a sleeper, parked ones first ----------------------------------------------------------
WakeOne == IF parked # {} THEN /\ \E w \in parked : parked' = parked \ {w}
                               /\ UNCHANGED <<driver, occupied, rung, wakes_at>>
           ELSE IF driver # None THEN /\ driver' = None /\ rung' = TRUE
                                      /\ UNCHANGED <<parked, occupied, wakes_at>>
           ELSE UNCHANGED sleepers
WakeAll == parked' = {} /\ driver' = None /\ rung' = TRUE /\ UNCHANGED <<occupied, wakes_at>>

\* --- users: scheduler::post, basic_task::wakeup, signal ----------------------------------------------------------
Idle(u) == mine[u] = None /\ ~announces[u]
elsewhere == <<batch, ready, pending, hands, rounds, pc, now, phase>>
Post(u, t) == /\ Idle(u) /\ ~posted[t] /\ steps[t] < Steps /\ ~Stopping
              /\ \E d \in Deadlines : due' = [due EXCEPT ![t] = d]
              /\ posted' = [posted EXCEPT ![t] = TRUE]
              /\ front' = Append(front, t) /\ announces' = [announces EXCEPT ![u] = front = << >>]
              /\ UNCHANGED <<word, place, expired, steps, sent, mine, sleepers, elsewhere>>
\* Of a task that is posted: the user must know that it is not gone.
Notify(u, t, bits, awake) ==
    /\ Idle(u) /\ posted[t]
    /\ word' = [word EXCEPT ![t] = IF Bug = 1 THEN @ \cup bits ELSE Notified(t, bits, awake)] \* bug 1: two wakers push it
    /\ IF Duty(t) THEN mine' = [mine EXCEPT ![u] = t] ELSE UNCHANGED mine
    /\ UNCHANGED <<due, place, expired, posted, steps, front, announces, sleepers, elsewhere>>
Wake(u, t) == "woken" \notin word[t] /\ Notify(u, t, {}, {"woken"}) /\ UNCHANGED sent
Signal(u, t) == sent[t] < Signals /\ Notify(u, t, {"signalled"}, {}) /\ sent' = [sent EXCEPT ![t] = @ + 1]
Push(u) == /\ mine[u] # None /\ front' = Append(front, mine[u]) /\ mine' = [mine EXCEPT ![u] = None]
           /\ announces' = [announces EXCEPT ![u] = front = << >>]
           /\ UNCHANGED <<task, sent, sleepers, elsewhere>>
Announce(u) == /\ announces[u] /\ WakeOne /\ announces' = [announces EXCEPT ![u] = FALSE]
               /\ UNCHANGED <<task, sent, front, mine, elsewhere>>

\* --- a worker looks for a task, and begins its step: worker::look, execute -------------------------------------------
world == <<users, now, phase>>
Arrivals == front # << >> \/ wanted
TasksVisible == ready # << >> \/ \E w \in Workers : run[w] # << >>
BeginStep(w, t) == /\ current' = [current EXCEPT ![w] = t] /\ Go(w, "step")
                   /\ word' = [word EXCEPT ![t] = (@ \ {"woken"}) \cup (IF Stopping THEN {"stopping"} ELSE {})]
                   /\ steps' = [steps EXCEPT ![t] = @ + 1]
FromRun(w, v) == run[v] # << >> /\ BeginStep(w, Head(run[v])) /\ run' = [run EXCEPT ![v] = Tail(@)] /\ UNCHANGED ready
FromReady(w) == ready # << >> /\ BeginStep(w, Head(ready)) /\ ready' = Tail(ready) /\ UNCHANGED run
Finds(w) == CASE run[w] # << >> -> FromRun(w, w)
              [] run[w] = << >> /\ ready # << >> -> FromReady(w)
              [] OTHER -> \E v \in Workers : FromRun(w, v)
Look(w) == /\ pc[w] \in {"look", "take"}
           /\ \/ /\ ~Halting /\ (run[w] # << >> \/ ready # << >> \/ ~(Arrivals /\ role = None)) /\ Finds(w)
              \/ /\ Go(w, IF Halting THEN "ended" ELSE IF Arrivals /\ role = None THEN "round" ELSE "sleep")
                 /\ Halting \/ (run[w] = << >> /\ ready = << >> /\ ((Arrivals /\ role = None) \/ ~TasksVisible))
                 /\ UNCHANGED <<word, steps, hands, ready>>
           /\ UNCHANGED <<due, place, expired, posted, sent, front, pending, batch, rounds, sleepers, world>>

InLine(w) == run[w] # << >> \/ ready # << >>
\* A sleeper that is due does not wait until there is nothing else to do. worker::look_at_clock.
LookAtClock(w) == /\ pc[w] = "look" /\ ~Halting /\ InLine(w) /\ role = None
                  /\ (\E t \in Tasks : place[t] = "asleep" /\ due[t] <= now) /\ Go(w, "round")
                  /\ UNCHANGED <<task, sent, queues, hands, rounds, sleepers, world>>

\* --- a round: role::round -----------------------------------------------------------------------------------------------
\* It begins with the role: from `look`, or on the way to sleep. What is wanted is cleared before anything is looked at.
Begin(w) == /\ pc[w] \in {"round", "sleep"}
            /\ IF role = None \/ Bug = 9                                           \* bug 9: takes it from its holder
               THEN /\ role' = w /\ seen' = now /\ wanted' = FALSE
                    /\ Go(w, IF pc[w] # "round" THEN "expire, sleep" ELSE IF InLine(w) THEN "expire, in line" ELSE "expire")
               ELSE Go(w, IF pc[w] = "round" THEN "look" ELSE "park") /\ UNCHANGED <<role, seen, wanted>>
            /\ UNCHANGED <<task, sent, queues, hands, told_stop, sleepers, world>>
\* Between rounds: what a step has posted, if it has no deadline and nothing older waits. own_posts::admit.
\* Bug 12: without the role.
BeginOwn(w) ==
    /\ pc[w] = "look" /\ ~Halting /\ run[w] = << >> /\ ready = << >> /\ pending = << >> /\ front # << >> /\ ~wanted
    /\ place[Head(front)] \in {"asleep", "transit"} \/ due[Head(front)] \in {0, Never}
    /\ role = None \/ Bug = 12
    /\ role' = w /\ pending' = <<Head(front)>> /\ front' = Tail(front) /\ Go(w, "admit")
    /\ UNCHANGED <<task, sent, batch, ready, hands, seen, wanted, told_stop, sleepers, world>>
Then(w, from, to) == /\ pc[w] \in {from, from \o ", in line", from \o ", sleep"}
                     /\ Go(w, IF pc[w] = from \o ", sleep" THEN to \o ", sleep" ELSE to)
Stays(w, at) == pc[w] \in {at, at \o ", in line", at \o ", sleep"} /\ UNCHANGED pc
Asleep == {t \in Tasks : place[t] = "asleep"}
Untold == {t \in Asleep : Stopping /\ ~told_stop /\ "stopping" \notin word[t]}
Due == {t \in Asleep : due[t] <= seen + (IF Bug = 10 THEN 1 ELSE 0)}            \* bug 10: looks ahead
\* One sleeper is asked to stop, when a stop has begun; or expires.
TellOne(w) == /\ Stays(w, "expire")
              /\ \E t \in Untold :
                   /\ word' = [word EXCEPT ![t] = Notified(t, {"stopping"}, {"woken"})]
                   /\ IF Duty(t) THEN place' = [place EXCEPT ![t] = "none"] /\ batch' = Append(batch, t)
                                 ELSE UNCHANGED <<place, batch>>
              /\ UNCHANGED <<due, expired, posted, steps, sent, front, pending, ready, hands, rounds, sleepers, world>>
ExpireOne(w) == /\ Stays(w, "expire") /\ Untold = {}
                /\ \E t \in Due :
                     IF Duty(t) \/ Bug = 2                                        \* bug 2: though its waker brings it
                     THEN /\ word' = [word EXCEPT ![t] = @ \ {"waiting"}] /\ place' = [place EXCEPT ![t] = "none"]
                          /\ expired' = [expired EXCEPT ![t] = TRUE] /\ batch' = Append(batch, t)
                     ELSE place' = [place EXCEPT ![t] = "transit"] /\ UNCHANGED <<word, expired, batch>>
                /\ UNCHANGED <<due, posted, steps, sent, front, pending, ready, hands, rounds, sleepers, world>>
\* If others stand in line it goes before them, and those that are due as well may stay for a later round.
Overtakes(w, t) == /\ Stays(w, "expire") /\ Untold = {} /\ t \in Due /\ Duty(t)
                   /\ word' = [word EXCEPT ![t] = @ \ {"waiting"}] /\ place' = [place EXCEPT ![t] = "none"]
                   /\ expired' = [expired EXCEPT ![t] = TRUE] /\ run' = [run EXCEPT ![w] = <<t>> \o @]
                   /\ UNCHANGED <<due, posted, steps, sent, queues, current, rounds, sleepers, world>>
Overtake(w) == pc[w] = "expire, in line" /\ \E t \in Tasks : Overtakes(w, t)
TakeFront(w) == /\ Untold = {} /\ Then(w, "expire", "admit")
                /\ Due = {} \/ pc[w] = "expire, in line" \/ Bug = 13        \* bug 13: with nobody in line
                /\ pending' = pending \o front /\ front' = << >> /\ told_stop' = Stopping
                /\ UNCHANGED <<task, sent, batch, ready, hands, role, seen, wanted, sleepers, world>>
\* A fresh post that is due, or a sleeper that was woken, is ready. Any other is put to sleep by an exchange,
\* unless it was notified; after a stop it is asked to end before.
Admit(w) ==
    /\ pending # << >> /\ Stays(w, "admit") /\ pending' = Tail(pending)
    /\ LET t == Head(pending)
           slept == place[t] \in {"asleep", "transit"}
           asked == IF Stopping THEN word[t] \cup {"woken", "stopping"} ELSE word[t] IN
       IF slept \/ due[t] <= seen
       THEN /\ place' = [place EXCEPT ![t] = IF Bug = 3 THEN @ ELSE "none"]       \* bug 3: stays among the sleepers
            /\ expired' = [expired EXCEPT ![t] = ~slept] /\ batch' = Append(batch, t) /\ UNCHANGED word
       ELSE /\ expired' = [expired EXCEPT ![t] = FALSE]
            /\ IF asked \cap Events # {} /\ Bug # 4                              \* bug 4: sleeps although it was woken
               THEN /\ place' = [place EXCEPT ![t] = "none"] /\ batch' = Append(batch, t)
                    /\ word' = [word EXCEPT ![t] = asked]
               ELSE /\ place' = [place EXCEPT ![t] = "asleep"] /\ UNCHANGED batch
                    /\ word' = [word EXCEPT ![t] = asked \cup {"waiting"}]
    /\ UNCHANGED <<due, posted, steps, sent, front, ready, hands, rounds, sleepers, world>>
NextDeadline == LET s == {due[t] : t \in Asleep} \cup {Never} IN CHOOSE d \in s : \A e \in s : d <= e
\* Deals the first to itself, the rest to all. If it was on the way to sleep, and there is nothing to run and
\* nobody in the driver, it goes there. Otherwise who sleeps there must not sleep beyond an earlier deadline.
Deal(w) ==
    /\ pending = << >> /\ pc[w] \in {"admit", "admit, sleep"} /\ batch' = << >>
    /\ IF batch # << >> /\ run[w] = << >>
       THEN run' = [run EXCEPT ![w] = <<Head(batch)>>] /\ ready' = ready \o Tail(batch)
       ELSE ready' = ready \o batch /\ UNCHANGED run
    /\ IF pc[w] = "admit, sleep" /\ run'[w] = << >> /\ occupied = None
       THEN /\ occupied' = w /\ driver' = w /\ wakes_at' = NextDeadline /\ Go(w, "release, driver")
            /\ UNCHANGED <<parked, rung>>
       ELSE /\ Go(w, IF pc[w] = "admit, sleep" /\ run'[w] = << >> THEN "release, park" ELSE "release")
            /\ IF occupied # None /\ NextDeadline < wakes_at /\ Bug # 5           \* bug 5: leaves it asleep
               THEN wakes_at' = NextDeadline /\ rung' = TRUE /\ UNCHANGED <<parked, driver, occupied>>
               ELSE UNCHANGED sleepers
    /\ UNCHANGED <<task, sent, front, pending, current, rounds, world>>
Release(w) == /\ \/ pc[w] = "release" /\ Go(w, "after")
                 \/ pc[w] = "release, park" /\ Go(w, "after, park")
                 \/ pc[w] = "release, driver" /\ Go(w, "after, driver")
              /\ role' = None /\ seen' = 0
              /\ UNCHANGED <<task, sent, queues, hands, wanted, told_stop, sleepers, world>>
\* After the release: another may have failed to get the role, and gone to sleep.
Answers == phase = "drains" /\ Bug # 7                                           \* bug 7: nobody answers
NobodyWaits == Asleep # {} /\ occupied = None
WakeAnother(w) ==
    /\ \/ pc[w] = "after" /\ Go(w, IF InLine(w) THEN "take" ELSE "look")
       \/ pc[w] = "after, park" /\ Go(w, "park")
       \/ pc[w] = "after, driver" /\ Go(w, IF Answers THEN "answer, driver" ELSE "recheck, driver")
       \/ pc[w] = "answered" /\ Go(w, "parked")
       \/ pc[w] = "answered, driver" /\ Go(w, "recheck, driver")
    /\ IF (NobodyWaits \/ Arrivals \/ TasksVisible) /\ Bug # 6 THEN WakeOne ELSE UNCHANGED sleepers \* bug 6: does not
    /\ UNCHANGED <<task, sent, queues, hands, rounds, world>>

\* --- sleeping: sleeper::sleep_in_driver, park ------------------------------------------------------------------------------
Leave(w) == occupied' = None /\ driver' = None /\ wakes_at' = Never /\ Go(w, "look") /\ UNCHANGED parked
RecheckDriver(w) == /\ pc[w] = "recheck, driver"
                    /\ IF Arrivals \/ TasksVisible \/ Halting THEN Leave(w) /\ UNCHANGED rung
                                                              ELSE Go(w, "in driver") /\ UNCHANGED sleepers
                    /\ UNCHANGED <<task, sent, queues, hands, rounds, world>>
WakeInDriver(w) == /\ pc[w] = "in driver" /\ (rung \/ wakes_at <= now)
                   /\ rung' = FALSE /\ wanted' = TRUE /\ Leave(w)
                   /\ UNCHANGED <<task, sent, queues, hands, role, seen, told_stop, world>>
PreparePark(w) == /\ pc[w] = "park" /\ parked' = parked \cup {w} /\ Go(w, "recheck")
                  /\ UNCHANGED <<task, sent, queues, hands, rounds, driver, occupied, rung, wakes_at, world>>
\* What only the role can do does not keep it awake while another has it.
Recheck(w) == /\ pc[w] = "recheck"
              /\ IF TasksVisible \/ Halting \/ ((Arrivals \/ occupied = None) /\ role = None)
                 THEN parked' = parked \ {w} /\ Go(w, "look")
                 ELSE Go(w, IF Answers THEN "answer" ELSE "parked") /\ UNCHANGED parked
              /\ UNCHANGED <<task, sent, queues, hands, rounds, driver, occupied, rung, wakes_at, world>>
WakeUp(w) == /\ pc[w] = "parked" /\ w \notin parked /\ Go(w, "look")
             /\ UNCHANGED <<task, sent, queues, hands, rounds, sleepers, world>>
\* Who goes to sleep answers those who wait in drain, with the role. Bug 11: does not look whether all have ended.
Answer(w) == /\ pc[w] \in {"answer", "answer, driver"} /\ role = None
             /\ Go(w, IF pc[w] = "answer" THEN "answered" ELSE "answered, driver")
             /\ phase' = IF phase = "drains" /\ (Bug = 11 \/ \A t \in Tasks : ~posted[t]) THEN "drained" ELSE phase
             /\ UNCHANGED <<task, sent, queues, hands, rounds, sleepers, users, now>>

\* --- a step -----------------------------------------------------------------------------------------------------------------------
\* It receives its signal, and ends, or posts itself again. Asked to stop it ends. Without a deadline it sleeps at once,
\* unless it was woken, or a stop has told the sleepers (SleeperGate). Bug 14: also then.
SleepsNow(w, t) == /\ pc[w] = "step" /\ current[w] = t /\ current' = [current EXCEPT ![w] = None] /\ Go(w, "look")
                   /\ (~Stopping \/ (~told_stop /\ "stopping" \notin word[t]) \/ Bug = 14) /\ "woken" \notin word[t]
                   /\ word' = [word EXCEPT ![t] = (@ \ {"signalled"}) \cup {"waiting"}]
                   /\ due' = [due EXCEPT ![t] = Never] /\ place' = [place EXCEPT ![t] = "asleep"]
                   /\ expired' = [expired EXCEPT ![t] = FALSE]
                   /\ UNCHANGED <<posted, steps, sent, queues, run, rounds, sleepers, world>>
Sleep(w) == pc[w] = "step" /\ steps[current[w]] < Steps /\ SleepsNow(w, current[w])
Step(w) ==
    /\ pc[w] = "step" /\ current' = [current EXCEPT ![w] = None]
    /\ LET t == current[w] IN
       /\ word' = [word EXCEPT ![t] = @ \ {"signalled"}]
       /\ place' = [place EXCEPT ![t] = "new"] /\ expired' = [expired EXCEPT ![t] = FALSE]
       /\ \/ /\ posted' = [posted EXCEPT ![t] = FALSE] /\ due' = [due EXCEPT ![t] = 0]
             /\ Go(w, "look") /\ UNCHANGED front
          \/ /\ steps[t] < Steps /\ "stopping" \notin word[t]
             /\ \E d \in Deadlines : due' = [due EXCEPT ![t] = d]
             /\ front' = Append(front, t) /\ Go(w, IF front = << >> THEN "announce" ELSE "look")
             /\ UNCHANGED posted
    /\ UNCHANGED <<steps, sent, pending, batch, ready, run, rounds, sleepers, world>>
AnnounceOwn(w) == /\ pc[w] = "announce" /\ WakeOne /\ Go(w, "look")
                  /\ UNCHANGED <<task, sent, queues, hands, rounds, world>>

Working(w) == \/ Look(w) \/ LookAtClock(w) \/ Begin(w) \/ BeginOwn(w)
              \/ TellOne(w) \/ ExpireOne(w) \/ Overtake(w) \/ TakeFront(w) \/ Admit(w) \/ Deal(w)
              \/ Release(w) \/ WakeAnother(w) \/ RecheckDriver(w) \/ WakeInDriver(w)
              \/ PreparePark(w) \/ Recheck(w) \/ WakeUp(w) \/ Answer(w) \/ AnnounceOwn(w)

\* --- the clock, and who stops: scheduler::stop --------------------------------------------------------------------------------------------
Tick == now < MaxTime /\ now' = now + 1 /\ UNCHANGED <<task, sent, queues, hands, rounds, pc, sleepers, users, phase>>
Stuck(w) == w \in Long /\ pc[w] = "step"
rest == <<task, sent, queues, hands, role, seen, told_stop, pc, users, now>>
Stop == /\ phase = "runs" /\ Stops /\ phase' = "stops" /\ wanted' = TRUE /\ UNCHANGED <<sleepers, rest>>
Drain == /\ phase = "stops" /\ phase' = "drains" /\ WakeAll /\ UNCHANGED <<wanted, rest>>
\* The limit of the stop matters only where a step does not end.
TimeOut == phase = "drains" /\ (\E w \in Workers : Stuck(w)) /\ phase' = "times out" /\ UNCHANGED <<sleepers, wanted, rest>>
Halt == /\ phase \in {"drained", "times out"} /\ phase' = "halts" /\ UNCHANGED <<wanted, rest>>
        /\ IF Bug = 8 THEN UNCHANGED sleepers ELSE WakeAll                        \* bug 8: wakes nobody
Ended == /\ phase = "halts" /\ (\A w \in Workers : pc[w] = "ended" \/ Stuck(w)) /\ phase' = "ended"
         /\ UNCHANGED <<sleepers, wanted, rest>>
Stopper == Drain \/ TimeOut \/ Halt \/ Ended

Next == \/ \E w \in Workers : Working(w) \/ Step(w) \/ Sleep(w)
        \/ \E u \in Users : Push(u) \/ Announce(u) \/ \E t \in Tasks : Post(u, t) \/ Wake(u, t) \/ Signal(u, t)
        \/ Tick \/ Stop \/ Stopper
Fair == /\ \A w \in Workers : WF_vars(Working(w))
        /\ \A w \in Workers \ Long : WF_vars(Step(w) \/ Sleep(w))
        /\ \A u \in Users : WF_vars(Push(u) \/ Announce(u))
        /\ WF_vars(Tick) /\ WF_vars(Stopper)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------------------------------
InRound == {w \in Workers : pc[w] \in {"expire", "expire, in line", "expire, sleep", "admit", "admit, sleep",
                                       "release", "release, park", "release, driver"}}
RoleExclusive == Cardinality(InRound) <= 1 /\ \A w \in InRound : role = w
Count(s, t) == Cardinality({i \in DOMAIN s : s[i] = t})
OnItsWay(t) == Count(front, t) + Count(pending, t) + Cardinality({u \in Users : mine[u] = t})
Queued(t) == OnItsWay(t) + Count(batch, t) + Count(ready, t)
             + Cardinality({w \in Workers : Count(run[w], t) = 1}) + Cardinality({w \in Workers : current[w] = t})
OnePlace == \A t \in Tasks :
    IF ~posted[t] THEN Queued(t) = 0 /\ place[t] = "new"
    ELSE IF place[t] = "asleep" /\ "waiting" \in word[t] THEN Queued(t) = 0 /\ word[t] \cap Events = {}
    ELSE Queued(t) = 1 /\ (place[t] \in {"asleep", "transit"} => OnItsWay(t) = 1)
Running(t) == \E w \in Workers : current[w] = t
NeverEarly == \A t \in Tasks : Running(t) /\ expired[t] => due[t] <= now
DrainedExactly == phase = "drained" => \A t \in Tasks : ~posted[t]
Gone(t) == ~posted[t] \/ Running(t)
Roused(t) == word[t] \cap Events # {} \/ (place[t] \in {"asleep", "transit"} /\ "waiting" \notin word[t])
Delivered == \A t \in Tasks : (posted[t] /\ (due[t] # Never \/ Roused(t))) ~> (Gone(t) \/ Halting)
StopEnds == (phase = "stops") ~> (phase = "ended")
============================================================================
