-------------------------- MODULE FrontQueueTrace --------------------------
(* Traces of lockfree/front_queue.hpp: threads 1 and 2 push, thread 3 takes. *)
EXTENDS FrontQueue, Trace

MostPushes == 12

CallOf(p) ==
    \/ /\ Calls(p, "push")
       /\ \/ (Load(p) \/ Link(p)) /\ GoesOnAlone(p)
          \/ Push(p) /\ sent'[p] = Argument(p) /\ Result(p) = (seen[p] = None) /\ Returns(p)
Take(t) ==
    /\ Calls(t, "take_all")
    /\ \/ TakeAll /\ Below(top) = Result(t) /\ GoesOnAlone(t)
       \/ TurnOver /\ Result(t) # << >> /\ Returns(t)
       \/ tpc = "take" /\ top = None /\ Result(t) = << >> /\ Returns(t) /\ UNCHANGED vars

TraceInit == Init /\ InitTrace
TraceNext == (\E p \in Producers : CallOf(p)) \/ Take(3)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
