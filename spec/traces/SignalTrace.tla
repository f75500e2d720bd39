---------------------------- MODULE SignalTrace ----------------------------
(* Traces of sync/signal.hpp: thread 1 receives until all have sent; the others send for one sender after the
   other, which the argument names. *)
EXTENDS Signal, Trace

SendersOfTraces == 1..Len(SelectSeq(Traces[1][2] \o Traces[1][3], LAMBDA call : call[3] = "send"))

SendCall(t) ==
    \/ /\ Calls(t, "write") /\ WriteData(Argument(t)) /\ Returns(t)
    \/ LET s == Argument(t) IN
       /\ Calls(t, "send")
       /\ \/ Send(s) /\ IF pc'[s] = "done" THEN Returns(t) ELSE Continues(t)
          \/ Wake(s) /\ Returns(t)
ReceiveCall ==
    \/ Calls(1, "look") /\ Look /\ Result(1) = (rpc' = "free") /\ Returns(1)
    \/ /\ Calls(1, "receive")
       /\ \/ (Announce \/ FutexWait \/ Spurious \/ TimeOut) /\ Continues(1)
          \/ TryReceive /\ IF claims' = claims THEN Continues(1) ELSE Result(1) = TRUE /\ Returns(1)
          \* The time-out counts if its announcement still stood.
          \/ Withdraw /\ IF word = "sleeping" THEN Result(1) = FALSE /\ Returns(1) ELSE Continues(1)

TraceInit == Init /\ InitTrace
TraceNext == \E t \in Recorded : MayGo(t) /\ IF t = 1 THEN ReceiveCall ELSE SendCall(t)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
