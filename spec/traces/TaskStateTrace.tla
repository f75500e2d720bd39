-------------------------- MODULE TaskStateTrace ---------------------------
(* Traces of sched/task_state.hpp: thread 1 is the role and the worker; the others are one waker or signaller
   after the other, which the argument names. *)
EXTENDS TaskState, Trace

MostRests == 12
WakersOfTraces == 1..Len(SelectSeq(Traces[1][2] \o Traces[1][3], LAMBDA call : call[3] # "push"))
Pushes(s) == pc'[s] = "push"
WakerCall(t) ==
    LET s == Argument(t) IN
    \/ Calls(t, "wake") /\ Wake(s) /\ Result(t) = Pushes(s) /\ Returns(t)
    \/ Calls(t, "complete") /\ Complete(s) /\ Result(t) = Pushes(s) /\ Returns(t)
    \/ Calls(t, "request_stop") /\ RequestStop(s) /\ Result(t) = Pushes(s) /\ Returns(t)
    \/ Calls(t, "signal") /\ Signal(s) /\ Result(t) = Pushes(s) /\ Returns(t)
    \/ Calls(t, "push") /\ Push(s) /\ Returns(t)
RoleCall ==
    \/ Calls(1, "park") /\ Park(Argument(1)) /\ Result(1) = (place' = "asleep") /\ Returns(1)
    \/ Calls(1, "unpark") /\ Unpark /\ Result(1) = (place' = "ready") /\ Returns(1)
    \/ Calls(1, "take") /\ Result(1) = TRUE /\ TakeFromFront /\ Returns(1)
    \/ Calls(1, "take") /\ Result(1) = FALSE /\ front = 0 /\ Returns(1) /\ UNCHANGED vars
    \/ Calls(1, "begin_run") /\ BeginRun /\ Returns(1)
    \/ Calls(1, "take_bits") /\ Returns(1) /\ CASE Result(1) = 0 -> Rest
                                               [] Result(1) = 1 -> TakeSignal
                                               [] Result(1) = 2 -> TakeCompleted

TraceInit == Init /\ InitTrace
TraceNext == \E t \in Recorded : MayGo(t) /\ IF t = 1 THEN RoleCall ELSE WakerCall(t)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
