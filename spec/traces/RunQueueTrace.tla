--------------------------- MODULE RunQueueTrace ---------------------------
(* Traces of lockfree/run_queue.hpp: thread 1 owns it, threads 2 and 3 steal. *)
EXTENDS RunQueue, Trace

MostItems == 24

PushCall ==
    /\ Calls(1, "push")
    /\ \/ (Room \/ Write) /\ ContinuesAlone(1)
       \/ Push /\ added' = Argument(1) /\ Returns(1)
PopCall ==
    /\ Calls(1, "pop")
    /\ \/ (PopLoad \/ PopRead) /\ ContinuesAlone(1)
       \/ Pop /\ head' # head /\ Result(1) = oitem /\ Returns(1)
       \/ opc = "idle" /\ head = tail /\ Result(1) = 0 /\ Returns(1) /\ UNCHANGED vars
\* A theft that finds nothing may have lost against another.
StealGoesOn(t) == IF Result(t) = << >> THEN Continues(t) ELSE ContinuesAlone(t)
StealCall(t) ==
    /\ Calls(t, "steal")
    /\ \/ (StealHead(t) \/ StealRead(t)) /\ StealGoesOn(t)
       \/ StealTail(t) /\ IF tpc'[t] = "read" THEN StealGoesOn(t) ELSE Result(t) = << >> /\ Returns(t)
       \/ Steal(t) /\ Result(t) = (IF head' = head THEN << >> ELSE tread[t]) /\ Returns(t)

TraceInit == Init /\ InitTrace
TraceNext == \E t \in Recorded : MayGo(t) /\ IF t \in Thieves THEN StealCall(t) ELSE PushCall \/ PopCall
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
