---------------------------- MODULE TaskState -----------------------------
(* The state word of a task: sched/task_state.hpp. Wakers of several kinds, the role that puts the task to
   sleep and takes it out at its deadline, the worker that runs it, and the task, which may free itself
   once it has its signal. Each change of the word is one step.

   What is to hold
     OnePlace       the task is in one place: with the role, asleep, on its way through the front, ready,
                    running, or with its user
     OneDuty        of all who end a sleep, one has the duty to push
     SignalOnce     a signal is received once
     DeafSleeps     a signal alone does not end a deaf sleep
     NotTouched     nobody touches the task after it is freed
     FirstReason    the reason of a stop is that of the first request
     Runs           a wakeup is followed by a run                                           (liveness)
     Delivered      a signal is received                                                    (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Wakers,      \* threads that wake, complete or stop the task, once each
          Signallers,  \* threads that signal it, once each; one: the task frees itself after the signal
          Rests,       \* how often the task goes to sleep before it waits only for its signal
          Bug

VARIABLES word,        \* the bits that are set
          place,       \* where the task is
          front,       \* how often it is in the front
          pc,          \* of each waker
          got,         \* signals received
          rests, freed, touched,
          owed,        \* a wake has come since the last run began
          why,         \* the reason in the word: the thread that gave it, or Shutdown
          first        \* of the first request: what the reason should be
vars == <<word, place, front, pc, got, rests, freed, touched, owed, why, first>>
reasons == <<why, first>>
Shutdown == 0          \* what the worker gives

Threads == Wakers \cup Signallers
Init == /\ word = {} /\ place = "role" /\ front = 0
        /\ pc = [t \in Threads |-> "act"] /\ got = 0 /\ rests = 0
        /\ freed = FALSE /\ touched = FALSE /\ owed = FALSE
        /\ why = {} /\ first = {}

Events(deaf) == IF deaf THEN {"woken", "completed"} ELSE {"woken", "completed", "signalled"}
Sleep == {"waiting", "deaf"}

\* --- wakers: task_state::wake, complete, request_stop, signal ------------------------------------------
\* Who ends the sleep has the duty. A wake that ends one leaves no bit.
Duty(w) == "waiting" \in w
Woken(w, bits, awake) == IF Duty(w) THEN IF Bug = 1 THEN w \cup bits           \* bug 1: every waker pushes
                                         ELSE (w \ Sleep) \cup bits
                         ELSE w \cup bits \cup awake
After(t, duty) == pc' = [pc EXCEPT ![t] = IF duty THEN "push" ELSE "done"]

Notify(t, bits, awake) == /\ pc[t] = "act" /\ t \in Wakers
                          /\ touched' = (touched \/ freed)
                          /\ word' = Woken(word, bits, awake) /\ After(t, Duty(word))
                          /\ owed' = (owed \/ awake # {})
                          /\ UNCHANGED <<place, front, got, rests, freed>>
Wake(t) == Notify(t, {}, {"woken"}) /\ UNCHANGED reasons
Complete(t) == Notify(t, {"completed"}, {}) /\ UNCHANGED reasons
Reason(t) == /\ why' = IF "stopping" \in word /\ Bug # 8 THEN why ELSE {t}       \* bug 8: the last one counts
             /\ first' = IF "stopping" \in word THEN first ELSE {t}
RequestStop(t) == Notify(t, {"stopping"}, {"woken"}) /\ Reason(t)

SignalDuty(w) == Duty(w) /\ ("deaf" \notin w \/ Bug = 6)                       \* bug 6: deaf tasks hear it
Signal(t) == /\ pc[t] = "act" /\ t \in Signallers
             /\ touched' = (touched \/ freed)
             /\ word' = (IF SignalDuty(word) THEN word \ {"waiting"} ELSE word) \cup {"signalled"}
             /\ IF Bug = 5 THEN pc' = [pc EXCEPT ![t] = "look"]                \* bug 5: a second look decides
                           ELSE After(t, SignalDuty(word))
             /\ UNCHANGED <<place, front, got, rests, freed, owed, why, first>>
LookAgain(t) == /\ pc[t] = "look" /\ touched' = (touched \/ freed)
                /\ After(t, "waiting" \notin word)
                /\ UNCHANGED <<word, place, front, got, rests, freed, owed, why, first>>
Push(t) == /\ pc[t] = "push" /\ touched' = (touched \/ freed)
           /\ front' = front + 1 /\ pc' = [pc EXCEPT ![t] = "done"]
           /\ UNCHANGED <<word, place, got, rests, freed, owed, why, first>>

\* --- the role: park, unpark, what comes through the front -----------------------------------------------
\* While the task still rests it may be deaf; then it waits for its signal.
Park(deaf) == /\ place = "role" /\ (deaf => rests < Rests)
              /\ IF word \cap Events(deaf) = {} \/ Bug = 2                      \* bug 2: sleeps over a wake-up
                 THEN /\ word' = word \cup {"waiting"} \cup (IF deaf THEN {"deaf"} ELSE {})
                      /\ place' = "asleep"
                 ELSE place' = "ready" /\ UNCHANGED word
              /\ UNCHANGED <<front, pc, got, rests, freed, touched, owed, why, first>>
\* A deadline: only tasks that rest have one.
Unpark == /\ place = "asleep" /\ rests < Rests
          /\ IF "waiting" \in word \/ Bug = 3                                  \* bug 3: takes it from its waker
             THEN word' = word \ Sleep /\ place' = "ready"
             ELSE place' = "transit" /\ UNCHANGED word
          /\ UNCHANGED <<front, pc, got, rests, freed, touched, owed, why, first>>
TakeFromFront == /\ front > 0 /\ place \in {"asleep", "transit"}
                 /\ front' = front - 1 /\ place' = "ready"
                 /\ UNCHANGED <<word, pc, got, rests, freed, touched, owed, why, first>>

\* --- the worker and the task -----------------------------------------------------------------------------
BeginRun == /\ place = "ready" /\ place' = "running"
            /\ word' = word \ ({"woken"} \cup (IF Bug = 4 THEN {"signalled"} ELSE {})) \* bug 4: uses up signals
            /\ owed' = FALSE
            /\ UNCHANGED <<front, pc, got, rests, freed, touched, why, first>>
\* The scheduler stops: the worker tells the task, which is awake. At most once.
MarkStopping == /\ place = "running" /\ Shutdown \notin why
                /\ word' = word \cup {"stopping"}
                /\ why' = IF "stopping" \notin word THEN {Shutdown}
                          ELSE IF Bug = 9 THEN why \cup {Shutdown} ELSE why       \* bug 9: both are in the word
                /\ first' = IF "stopping" \in word THEN first ELSE {Shutdown}
                /\ UNCHANGED <<place, front, pc, got, rests, freed, touched, owed>>
TakeSignal == /\ place = "running" /\ "signalled" \in word
              /\ word' = (IF Bug = 7 THEN word ELSE word \ {"signalled"})      \* bug 7: leaves it
              /\ got' = got + 1
              /\ UNCHANGED <<place, front, pc, rests, freed, touched, owed, why, first>>
TakeCompleted == /\ place = "running" /\ "completed" \in word
                 /\ word' = word \ {"completed"}
                 /\ UNCHANGED <<place, front, pc, got, rests, freed, touched, owed, why, first>>
\* The step ends: the task sleeps again, or it has what it waited for.
Rest == /\ place = "running" /\ word \cap {"signalled", "completed"} = {}
        /\ got < Cardinality(Signallers)
        /\ place' = "role" /\ rests' = IF rests < Rests THEN rests + 1 ELSE rests
        /\ UNCHANGED <<word, front, pc, got, freed, touched, owed, why, first>>
Finish == /\ place = "running" /\ word \cap {"signalled", "completed"} = {}
          /\ got = Cardinality(Signallers)
          /\ place' = "user"
          /\ freed' = (Wakers = {} /\ Cardinality(Signallers) = 1)
          /\ UNCHANGED <<word, front, pc, got, rests, touched, owed, why, first>>

Thread(t) == Wake(t) \/ Complete(t) \/ RequestStop(t) \/ Signal(t) \/ LookAgain(t) \/ Push(t)
Role == Park(FALSE) \/ Park(TRUE) \/ TakeFromFront
Worker == BeginRun \/ TakeSignal \/ TakeCompleted \/ Rest \/ Finish
Done == place = "user" /\ UNCHANGED vars
Next == (\E t \in Threads : Thread(t)) \/ Role \/ Unpark \/ Worker \/ MarkStopping \/ Done
Fair == /\ WF_vars(Role) /\ WF_vars(Unpark) /\ WF_vars(Worker)
        /\ \A t \in Threads : WF_vars(Thread(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------
Pushing == Cardinality({t \in Threads : pc[t] = "push"})
\* Two signallers can be one signal: signals do not count.
OnePlace == front + Pushing > 0 => place \in {"asleep", "transit"}
OneDuty == front + Pushing <= 1
SignalOnce == got <= Cardinality({t \in Signallers : pc[t] # "act"})
DeafSleeps == place = "asleep" /\ "deaf" \in word => front + Pushing = 0
NotTouched == ~touched
FirstReason == why = first
Runs == (owed /\ place # "user") ~> (~owed \/ place = "user")
Delivered == \A t \in Signallers :
               (pc[t] # "act" /\ Cardinality(Signallers) = 1) ~> (got > 0)
=============================================================================
