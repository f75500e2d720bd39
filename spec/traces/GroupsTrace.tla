---------------------------- MODULE GroupsTrace ----------------------------
(* Traces of a group with a limit: thread 1 is a user, the others are workers without their loops. A worker runs a round
   whether one is wanted or not, and ends the step that was dealt to it. A turn is of one task here. *)
EXTENDS Groups, Sequences, Trace

RoundCall(t) ==
    /\ Calls(t, "round")
    /\ \/ pc[t] = "look" /\ role # None /\ Result(t) = -1 /\ UNCHANGED vars /\ Returns(t)
       \/ Start(t) /\ Continues(t)
       \/ Release(t) /\ Result(t) = (IF of[t] = None THEN 0 ELSE 1) /\ Returns(t)
       \/ pc[t] # "look" /\ ~(pc[t] = "releases") /\ Round(t) /\ hand' = hand /\ Continues(t)
\* What it was told of is noticed in the same call.
NoticeIn(t, answer) == \/ Mark(t) /\ IF pc'[t] = "look" THEN answer /\ Returns(t) ELSE Continues(t)
                       \/ Push(t) /\ Continues(t)
                       \/ Want(t) /\ answer /\ Returns(t)
EndCall(t) ==
    /\ Calls(t, "end")
    /\ \/ BeginStep(t) /\ Continues(t)
       \/ EndStep(t) /\ Continues(t)
       \/ (LookForWaiting(t) \/ Tell(t)) /\ IF pc'[t] = "look" THEN ~Result(t) /\ Returns(t) ELSE Continues(t)
       \/ NoticeIn(t, Result(t))
UserCall(t) == LET g == Argument(t) IN
    \/ Calls(t, "pause") /\ Pause(t, g) /\ Returns(t)
    \/ Calls(t, "resume") /\ ((Resume(t, g) /\ Continues(t)) \/ NoticeIn(t, TRUE))
    \/ Calls(t, "raise") /\ ((Raise(t, g) /\ Continues(t)) \/ NoticeIn(t, TRUE))

TraceInit == Init /\ InitTrace
TraceNext == \E t \in Recorded : MayGo(t) /\ IF t = 1 THEN UserCall(t) ELSE (RoundCall(t) \/ EndCall(t))
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
