-------------------------- MODULE FrontQueueTrace --------------------------
(* Traces of lockfree/front_queue.hpp: threads 1 and 2 push, thread 3 takes. *)
EXTENDS FrontQueue, Trace

MostPushes == 12

PushCall(p) ==
    /\ Calls(p, "push")
    /\ \/ (Load(p) \/ Link(p)) /\ GoesOnAlone(p)
       \/ Push(p) /\ sent'[p] = Argument(p) /\ Result(p) = (seen[p] = None) /\ Returns(p)
TakeCall(t) ==
    /\ Calls(t, "take_all")
    /\ \/ TakeAll /\ Below(top) = Result(t) /\ GoesOnAlone(t)
       \/ TurnOver /\ Result(t) # << >> /\ Returns(t)
       \/ tpc = "take" /\ top = None /\ Result(t) = << >> /\ Returns(t) /\ UNCHANGED vars

TraceInit == Init /\ InitTrace
TraceNext == \E t \in Recorded : MayGo(t) /\ IF t \in Producers THEN PushCall(t) ELSE TakeCall(t)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
