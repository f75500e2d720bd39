------------------------------ MODULE Pipeline ------------------------------
(* A pipeline: stages with several workers that keep the order of the items. detail/message/stage.hpp, pipeline_state.hpp.

   The workers of a stage are a ring. Two turns go round: one to take the next item from the link in front, one to give a result to
   the link behind. Links have a bound. An item may fail in a stage (Fails), or be late there and be dropped (Late). A failure closes
   and drops all links up to its stage at once, and the link behind its stage in its turn. The receiver may end it all (Ends).

   What is to hold
     Ordered   what was received are the first items, in order, without the late ones, and none behind the first that fails
     Numbered  a worker has the item whose number it counts, among those that come to its stage
     Result    when the receiver is told the end, it has all items before the first that fails, and that one is the failure
     Told      a failure closes the source
     Bounded   a link has at most its capacity
     Finished  source and workers end, and the receiver is told                                          (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Stages, Workers, Items, Capacity, Fails, Late, Ends, Bug  \* Fails, Late: item i in stage s is 10 * s + i

S == 0 .. Stages - 1
Links == 0 .. Stages
W == 0 .. Workers - 1
Next1(w) == (w + 1) % Workers
None == Items

VARIABLES sent,        \* how many items the source has sent
          link, closed,
          take, give,  \* of each stage: the workers whose turn is set
          pc, num, val, bad,  \* of each worker: where it is, the number of its item, what it took, whether that has failed
          failed, kept,  \* the number of the item whose failure is kept, and the item
          out, ended   \* what was received; whether the receiver has ended the pipeline
vars == <<sent, link, closed, take, give, pc, num, val, bad, failed, kept, out, ended>>

Init == /\ sent = 0 /\ link = [l \in Links |-> <<>>] /\ closed = [l \in Links |-> FALSE]
        /\ take = [s \in S |-> {0}] /\ give = [s \in S |-> {0}]
        /\ pc = [s \in S |-> [w \in W |-> "take"]] /\ num = [s \in S |-> [w \in W |-> w]]
        /\ val = [s \in S |-> [w \in W |-> None]] /\ bad = [s \in S |-> [w \in W |-> FALSE]]
        /\ failed = None /\ kept = None /\ out = <<>> /\ ended = FALSE

Go(s, w, to) == pc' = [pc EXCEPT ![s][w] = to]
\* The last worker closes the link behind. Bug 6: each worker does.
Leave(s, w) == /\ Go(s, w, "ended")
               /\ LET last == \A v \in W \ {w} : pc[s][v] = "ended"
                  IN closed' = IF last \/ Bug = 6 THEN [closed EXCEPT ![s + 1] = TRUE] ELSE closed

\* Bug 8: takes without its turn.
TurnToTake(s, w) == /\ pc[s][w] = "take" /\ (w \in take[s] \/ Bug = 8)
                    /\ take' = [take EXCEPT ![s] = @ \ {w}] /\ Go(s, w, "receive")
                    /\ UNCHANGED <<sent, link, closed, give, num, val, bad, failed, kept, out, ended>>
\* Bug 2: a worker that sees the end keeps its turn.
Receive(s, w) == /\ pc[s][w] = "receive" /\ (link[s] # <<>> \/ closed[s])
                 /\ take' = IF Bug = 2 /\ link[s] = <<>> THEN take ELSE [take EXCEPT ![s] = @ \cup {Next1(w)}]
                 /\ IF link[s] # <<>>
                      THEN /\ val' = [val EXCEPT ![s][w] = Head(link[s])] /\ link' = [link EXCEPT ![s] = Tail(@)]
                           /\ Go(s, w, "call") /\ UNCHANGED closed
                      ELSE Leave(s, w) /\ UNCHANGED <<val, link>>
                 /\ UNCHANGED <<sent, give, num, bad, failed, kept, out, ended>>
\* Bug 3: closes the link behind at once. Bug 4: the first failure in time stays. Bug 5: leaves the links in front as they are.
Call(s, w) == /\ pc[s][w] = "call" /\ Go(s, w, "give")
              /\ IF 10 * s + val[s][w] \in Fails
                   THEN /\ bad' = [bad EXCEPT ![s][w] = TRUE]
                        /\ IF num[s][w] < failed /\ (Bug # 4 \/ failed = None)
                             THEN failed' = num[s][w] /\ kept' = val[s][w]
                             ELSE UNCHANGED <<failed, kept>>
                        /\ link' = [l \in Links |-> IF l <= s /\ Bug # 5 THEN <<>> ELSE link[l]]
                        /\ closed' = [l \in Links |-> closed[l] \/ (l <= s /\ Bug # 5) \/ (l = s + 1 /\ Bug = 3)]
                   ELSE UNCHANGED <<bad, failed, kept, link, closed>>
              /\ UNCHANGED <<sent, take, give, num, val, out, ended>>
\* Bug 1: gives without its turn.
TurnToGive(s, w) == /\ pc[s][w] = "give" /\ (w \in give[s] \/ Bug = 1)
                    /\ give' = [give EXCEPT ![s] = @ \ {w}] /\ Go(s, w, "send")
                    /\ UNCHANGED <<sent, link, closed, take, num, val, bad, failed, kept, out, ended>>
\* Bug 7: the turn stays with a late item. Bug 9: it stays with an item that has failed.
IsLate(s, w) == 10 * s + val[s][w] \in Late
Pass(s, w) == give' = IF (Bug = 7 /\ IsLate(s, w)) \/ (Bug = 9 /\ bad[s][w]) THEN give ELSE [give EXCEPT ![s] = @ \cup {Next1(w)}]
\* Bug 10: does not wait for a place. Bug 11: a worker that cannot give leaves.
Gives(s, w) == ~bad[s][w] /\ ~IsLate(s, w) /\ ~closed[s + 1]
Send(s, w) == /\ pc[s][w] = "send" /\ (Gives(s, w) => Len(link[s + 1]) < Capacity \/ Bug = 10)
              /\ Pass(s, w)
              /\ link' = IF Gives(s, w) THEN [link EXCEPT ![s + 1] = Append(@, val[s][w])] ELSE link
              /\ bad' = [bad EXCEPT ![s][w] = FALSE] /\ num' = [num EXCEPT ![s][w] = @ + Workers]
              /\ IF Bug = 11 /\ closed[s + 1] /\ ~IsLate(s, w)
                   THEN Leave(s, w)
                   ELSE Go(s, w, "take") /\ closed' = IF bad[s][w] THEN [closed EXCEPT ![s + 1] = TRUE] ELSE closed
              /\ UNCHANGED <<sent, take, val, failed, kept, out, ended>>

SourceSends == /\ sent < Items /\ ~closed[0] /\ Len(link[0]) < Capacity
               /\ link' = [link EXCEPT ![0] = Append(@, sent)] /\ sent' = sent + 1
               /\ UNCHANGED <<closed, take, give, pc, num, val, bad, failed, kept, out, ended>>
SourceCloses == /\ sent = Items /\ ~closed[0] /\ closed' = [closed EXCEPT ![0] = TRUE]
                /\ UNCHANGED <<sent, link, take, give, pc, num, val, bad, failed, kept, out, ended>>
Take == /\ link[Stages] # <<>> /\ out' = Append(out, Head(link[Stages])) /\ link' = [link EXCEPT ![Stages] = Tail(@)]
        /\ UNCHANGED <<sent, closed, take, give, pc, num, val, bad, failed, kept, ended>>
End == /\ Ends /\ ~ended /\ ended' = TRUE
       /\ link' = [l \in Links |-> <<>>] /\ closed' = [l \in Links |-> TRUE]
       /\ UNCHANGED <<sent, take, give, pc, num, val, bad, failed, kept, out>>

Step(s, w) == TurnToTake(s, w) \/ Receive(s, w) \/ Call(s, w) \/ TurnToGive(s, w) \/ Send(s, w)
Source == SourceSends \/ SourceCloses
Next == Source \/ Take \/ End \/ \E s \in S, w \in W : Step(s, w)
Fair == WF_vars(Source) /\ WF_vars(Take) /\ \A s \in S, w \in W : WF_vars(Step(s, w))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------
FirstBad == LET all == {i \in 0 .. Items - 1 : \E s \in S : 10 * s + i \in Fails} IN IF all = {} THEN None ELSE CHOOSE i \in all : \A j \in all : i <= j
IsDropped(i) == \E s \in S : 10 * s + i \in Late
\* How many items before i come to a stage.
Before(s, i) == Cardinality({j \in 0 .. i - 1 : \A t \in 0 .. s - 1 : 10 * t + j \notin Late})
Wanted == LET RECURSIVE From(_)
              From(i) == IF i >= FirstBad THEN <<>> ELSE (IF IsDropped(i) THEN <<>> ELSE <<i>>) \o From(i + 1)
          IN From(0)
Ordered == Len(out) <= Len(Wanted) /\ \A i \in 1 .. Len(out) : out[i] = Wanted[i]
Numbered == \A s \in S, w \in W : pc[s][w] \in {"call", "give", "send"} => num[s][w] = Before(s, val[s][w])
IsTold == closed[Stages] /\ link[Stages] = <<>>
Result == IsTold /\ ~ended => out = Wanted /\ kept = FirstBad
Told == kept # None => closed[0]
Bounded == \A l \in Links : Len(link[l]) <= Capacity
Finished == <>[](IsTold /\ closed[0] /\ \A s \in S, w \in W : pc[s][w] = "ended")
=============================================================================
