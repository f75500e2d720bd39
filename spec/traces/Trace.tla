------------------------------- MODULE Trace -------------------------------
(* What the code did, to be explained by a specification: a behaviour of it in which every call of the trace
   takes effect, with the answer that it gave, after it began and before it ended. A module <S>Trace extends
   this one and the specification S, and says which actions of S a call may take.

   A trace has for each thread its calls in their order, <<begin, end, operation, argument, result>>; begin and
   end are of one clock. TraceData, which tools/traces.py writes, has `Traces`, many of them. *)
EXTENDS Integers, Sequences, TLC, TraceData

VARIABLES trace,    \* which one
          cursor,   \* of each thread: its next call
          alone     \* the thread that must take the next step, or Nobody
recorded == <<trace, cursor, alone>>

Nobody == 0
InitTrace == /\ trace \in DOMAIN Traces /\ cursor = [t \in DOMAIN Traces[trace] |-> 1]
             /\ alone = Nobody
Recorded == DOMAIN Traces[trace]
Live(t) == cursor[t] <= Len(Traces[trace][t])
Call(t) == Traces[trace][t][cursor[t]]

\* The next call of t may take a step now: no other that has not taken effect ended before it began.
MayGo(t) == /\ alone \in {Nobody, t} /\ Live(t)
            /\ \A other \in Recorded : Live(other) => Call(other)[2] >= Call(t)[1]
Calls(t, operation) == Call(t)[3] = operation
Argument(t) == Call(t)[4]
Result(t) == Call(t)[5]

\* The call has taken effect; or it goes on, and others may go in between; or, where that makes no difference but
\* for more ways to explain the same, it goes on alone.
Returns(t) == cursor' = [cursor EXCEPT ![t] = @ + 1] /\ alone' = Nobody /\ UNCHANGED trace
Continues(t) == alone' = Nobody /\ UNCHANGED <<trace, cursor>>
ContinuesAlone(t) == alone' = t /\ UNCHANGED <<trace, cursor>>

Explained == \A t \in Recorded : ~Live(t)
\* A constraint that tells tools/traces.py which traces are explained.
ReportExplained == Explained => PrintT(<<"explained", trace>>)
\* Another, for a trace that is not: how far each way to explain it came.
Progress == PrintT(<<"came to", trace, cursor>>)
=============================================================================
