---------------------------- MODULE Deadlines -----------------------------
(* Sleepers with deadlines, on a clock: the role's heap (sched/round/sleepers.hpp), the sleeper in the driver and
   its plan (sleep_plan::begin, hurry, put_off), wakers that cancel a deadline.

   Only the holder of the role touches the heap. A waker marks the task and brings it through the front. The
   sleeper in the driver sleeps until the deadline that was planned; a round that adds an earlier one hurries
   it. Time passes on its own.

   What is to hold
     NotEarly      a task is not run for its deadline before that
     OneEnd        each sleep ends once: by its deadline or by its waker
     InHeap        who sleeps with a deadline is in the heap, and nobody else
     Served        a deadline that has come is served                                     (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Tasks, MaxTime, Bug

None == "none"
Never == MaxTime + 1
VARIABLES now,
          state,        \* of each task: "user", "front", "asleep", "woken", "ready", "done"
          deadline, heap,
          why,          \* why it became ready: "deadline", "wake"
          ends,         \* how often its sleep has ended
          coming,       \* tasks that a waker brings through the front
          sleeper,      \* "out", "planned" (entered, not asleep yet), "asleep", "up"
          alarm,        \* when the sleeper wakes up
          hurried       \* the driver's sticky wake-up
vars == <<now, state, deadline, heap, why, ends, coming, sleeper, alarm, hurried>>

Init == /\ now = 0
        /\ state = [t \in Tasks |-> "user"] /\ deadline = [t \in Tasks |-> Never] /\ heap = {}
        /\ why = [t \in Tasks |-> None] /\ ends = [t \in Tasks |-> 0]
        /\ coming = {} /\ sleeper = "out" /\ alarm = Never /\ hurried = FALSE

Earliest(h, d) == IF h = {} THEN Never ELSE CHOOSE x \in {d[t] : t \in h} : \A t \in h : x <= d[t]
End(t, reason) == /\ state' = [state EXCEPT ![t] = "ready"] /\ why' = [why EXCEPT ![t] = reason]
                  /\ ends' = [ends EXCEPT ![t] = @ + 1]

\* --- users ------------------------------------------------------------------------------------------------
Post(t) == /\ state[t] = "user" /\ now < MaxTime
           /\ \E d \in (now + 1)..MaxTime : deadline' = [deadline EXCEPT ![t] = d]
           /\ state' = [state EXCEPT ![t] = "front"]
           /\ UNCHANGED <<coming, now, heap, why, ends, sleeper, alarm, hurried>>
\* The waker marks the sleeper; it comes through the front.
Wake(t) == /\ state[t] = "asleep" /\ state' = [state EXCEPT ![t] = "woken"]
           /\ coming' = coming \cup {t}
           /\ UNCHANGED <<now, deadline, heap, why, ends, sleeper, alarm, hurried>>

\* --- the role: each of these is a part of a round, which somebody awake runs while there is something for it;
\* the sleeper in the driver counts as awake once it is up.
Hurry(h, d) == LET first == Earliest(h, d) IN
    IF sleeper \in {"planned", "asleep"} /\ first < alarm /\ Bug # 1              \* bug 1: does not hurry it
    THEN alarm' = first /\ hurried' = (Bug # 2 /\ TRUE)                            \* bug 2: changes the plan only
    ELSE UNCHANGED <<alarm, hurried>>
Admit(t) == /\ state[t] = "front"
            /\ IF deadline[t] <= now
               THEN End(t, "deadline") /\ UNCHANGED <<heap, alarm, hurried>>
               ELSE /\ state' = [state EXCEPT ![t] = "asleep"]
                    /\ heap' = heap \cup {t} /\ Hurry(heap', deadline)
                    /\ UNCHANGED <<coming, why, ends>>
            /\ UNCHANGED <<coming, now, deadline, sleeper>>
AdmitWoken(t) == /\ t \in coming /\ coming' = coming \ {t}
                 /\ End(t, "wake")
                 /\ heap' = IF Bug = 3 THEN heap ELSE heap \ {t}                   \* bug 3: stays in the heap
                 /\ UNCHANGED <<now, deadline, sleeper, alarm, hurried>>
\* A sleeper whose waker was faster is left to come through the front.
Expire(t) == /\ t \in heap /\ (deadline[t] <= now \/ (Bug = 4 /\ deadline[t] <= now + 1)) \* bug 4: rounds the time up
             /\ sleeper # "asleep"                                                 \* somebody is up to run the round
             /\ heap' = heap \ {t}
             /\ IF state[t] = "asleep" \/ Bug = 5 THEN End(t, "deadline")          \* bug 5: takes it from its waker
                ELSE UNCHANGED <<state, why, ends>>
             /\ UNCHANGED <<coming, now, deadline, sleeper, alarm, hurried>>

\* --- the sleeper in the driver --------------------------------------------------------------------------------
\* Plans with the role held, after a round that left nothing due.
Plan == /\ sleeper = "out"
        /\ \A t \in heap : deadline[t] > now
        /\ sleeper' = "planned"
        /\ alarm' = IF Bug = 6 THEN Never ELSE Earliest(heap, deadline)            \* bug 6: forgets the deadlines
        /\ UNCHANGED <<coming, now, state, deadline, heap, why, ends, hurried>>
FallAsleep == /\ sleeper = "planned"
              /\ IF hurried THEN sleeper' = "out" /\ hurried' = FALSE ELSE sleeper' = "asleep" /\ UNCHANGED hurried
              /\ UNCHANGED <<coming, now, state, deadline, heap, why, ends, alarm>>
\* Its alarm is what it was when it fell asleep, unless it is hurried.
WakeUp == /\ sleeper = "asleep" /\ (hurried \/ (alarm <= now /\ alarm # Never /\ Bug # 2))
          /\ sleeper' = "out" /\ hurried' = FALSE
          /\ UNCHANGED <<coming, now, state, deadline, heap, why, ends, alarm>>
\* When all is asleep, a plan for a deadline that is gone is put off.
PutOff == /\ sleeper = "asleep" /\ Earliest(heap, deadline) > alarm
          /\ alarm' = Earliest(heap, deadline)
          /\ UNCHANGED <<coming, now, state, deadline, heap, why, ends, sleeper, hurried>>

Tick == /\ now < MaxTime /\ now' = now + 1
        /\ UNCHANGED <<coming, state, deadline, heap, why, ends, sleeper, alarm, hurried>>
Run(t) == /\ state[t] = "ready" /\ state' = [state EXCEPT ![t] = "done"]
          /\ UNCHANGED <<coming, now, deadline, heap, why, ends, sleeper, alarm, hurried>>

Task(t) == Admit(t) \/ AdmitWoken(t) \/ Expire(t) \/ Run(t)
Next == (\E t \in Tasks : Post(t) \/ Wake(t) \/ Task(t)) \/ Plan \/ FallAsleep \/ WakeUp \/ PutOff \/ Tick
        \/ (now = MaxTime /\ UNCHANGED vars)
Fair == /\ \A t \in Tasks : WF_vars(Task(t))
        /\ WF_vars(Plan) /\ WF_vars(FallAsleep) /\ WF_vars(WakeUp) /\ WF_vars(Tick)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------
NotEarly == \A t \in Tasks : why[t] = "deadline" => deadline[t] <= now
OneEnd == \A t \in Tasks : ends[t] <= 1
InHeap == \A t \in Tasks : /\ state[t] = "asleep" => t \in heap
                           /\ state[t] \notin {"asleep", "woken"} => t \notin heap
Served == \A t \in Tasks : (state[t] \in {"front", "asleep", "woken"}) ~> (state[t] = "done")
=============================================================================
