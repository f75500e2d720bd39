----------------------------- MODULE JoinTrace -----------------------------
(* Traces of coro/spawn.hpp: thread 1 ends a spawned task, thread 2 has its handle; and of coro/child_group.hpp: threads
   3, 4 and 5 are children, thread 6 waits for them. *)
EXTENDS Join, Trace

EndCall(t) ==
    \/ Calls(t, "write") /\ WriteResult /\ Returns(t)
    \/ /\ Calls(t, "end")
       /\ \/ OnEnd /\ IF ender' = "report" THEN Result(t) = "frees" /\ Continues(t)
                      ELSE Result(t) = (IF ender' = "tell" THEN "tells" ELSE "leaves") /\ Returns(t)
          \/ Report /\ Returns(t)
    \/ Calls(t, "tell") /\ Tell /\ Returns(t)
HandleCall(t) ==
    \/ Calls(t, "ended") /\ AskEnded /\ Result(t) = (word = "ended") /\ Returns(t)
    \/ /\ Calls(t, "join")
       \* It need not have asked before.
       /\ \/ AskEnded /\ IF word = "ended" THEN ~Result(t) /\ Returns(t) ELSE Continues(t)
          \/ WriteJoiner /\ ContinuesAlone(t)
          \/ Join /\ Result(t) = (word' = "joins") /\ Returns(t)
    \/ Calls(t, "told") /\ Told /\ Returns(t)
    \/ /\ Calls(t, "withdraw")
       /\ \/ Withdraw /\ Result(t) = (handle' = "withdrawn")
          \/ handle = "waits" /\ told > 0 /\ ~Result(t) /\ UNCHANGED vars
       /\ Returns(t)
    \/ Calls(t, "take") /\ Take /\ Result(t) = result /\ Returns(t)
    \/ Calls(t, "detach") /\ Detach /\ Result(t) = (IF frees' = frees THEN "leaves" ELSE "frees") /\ Returns(t)
ChildCall(c) ==
    \/ Calls(c, "asked") /\ Result(c) = (\E d \in Children : c \in stop[d]) /\ UNCHANGED vars /\ Returns(c)
    \/ /\ Calls(c, "child_ended")
       /\ \/ (IF Argument(c) THEN Fail(c) ELSE EndWell(c)) /\ ContinuesAlone(c)
          \/ (StopOthers(c) \/ ChildEnded(c) \/ Wake(c)) /\ IF child'[c] = "left" THEN Returns(c) ELSE Continues(c)
ParentCall(t) == Calls(t, "goes_on") /\ GoOn /\ Returns(t)

TraceInit == Init /\ InitTrace
TraceNext == \E t \in Recorded : MayGo(t) /\ IF t \in Children THEN ChildCall(t)
                                             ELSE EndCall(t) \/ HandleCall(t) \/ ParentCall(t)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, recorded>>
=============================================================================
