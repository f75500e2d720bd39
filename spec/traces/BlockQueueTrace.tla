-------------------------- MODULE BlockQueueTrace --------------------------
(* Traces of lockfree/block_queue.hpp: thread 1 pushes, threads 2 and 3 claim up to two items. *)
EXTENDS BlockQueue, Trace

MostItems == 24
MostBlocks == 14

\* The first of the blocks that it may take: they do not differ.
Append1 == LET from == IF spare # {} THEN spare ELSE fresh IN AppendBlock(CHOOSE b \in from : TRUE)
PushCall ==
    /\ Calls(1, "push")
    /\ \/ (WriteSlot \/ Append1) /\ ContinuesAlone(1)
       \/ Publish /\ IF pushed' = Argument(1) THEN Returns(1) ELSE Continues(1)
\* What a claim reads, in the order of the slots.
Got(c) == [i \in 1..Cardinality(Open(c)) |->
             claimed'[(CHOOSE k \in Open(c) : \A l \in Open(c) : k <= l) + i - 1].item]
ClaimCall(c) ==
    /\ Calls(c, "claim")
    /\ \/ (LoadRead(c) \/ MoveOn(c)) /\ ContinuesAlone(c)
       \/ LoadWritten(c) /\ IF pc'[c] = "claim" THEN ContinuesAlone(c) ELSE Result(c) = << >> /\ Returns(c)
       \/ Claim(c) /\ pc'[c] = "slots" /\ want[c] = Len(Result(c)) /\ ContinuesAlone(c)
       \/ ReadSlots(c) /\ Got(c) = Result(c) /\ Returns(c)

TraceInit == Init /\ InitTrace
TraceNext == \E t \in Recorded : MayGo(t) /\ IF t \in Consumers THEN ClaimCall(t) ELSE PushCall
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
