-------------------------- MODULE FrontQueueTrace --------------------------
(* Traces of lockfree/front_queue.hpp: threads 1, 2 and 3 push, thread 4 takes.

   A push is of the nodes from the first to the last that it names: as many of FrontQueue's, of which the first has the
   answer, and nobody comes in between, as it is one exchange. *)
EXTENDS FrontQueue, Trace

MostPushes == 12

PushCall(p) ==
    /\ Calls(p, "push")
    /\ \/ (Load(p) \/ Link(p)) /\ ContinuesAlone(p)
       \/ /\ Push(p) /\ sent'[p] = Mine(p)[2]
          /\ sent'[p] = Argument(p)[1] => Result(p) = (seen[p] = None)
          /\ IF sent'[p] = Argument(p)[2] THEN Returns(p) ELSE ContinuesAlone(p)
TakeCall(t) ==
    /\ Calls(t, "take_all")
    /\ \/ TakeAll /\ Below(top) = Result(t) /\ ContinuesAlone(t)
       \/ TurnOver /\ Result(t) # << >> /\ Returns(t)
       \/ tpc = "take" /\ top = None /\ Result(t) = << >> /\ Returns(t) /\ UNCHANGED vars

TraceInit == Init /\ InitTrace
TraceNext == \E t \in Recorded : MayGo(t) /\ IF t \in Producers THEN PushCall(t) ELSE TakeCall(t)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
