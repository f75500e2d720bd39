-------------------------------- MODULE Watch --------------------------------
(* One value that changes, and what waits for its changes, under one mutex. detail/channel/watch_state.

   A value has a version, which grows by one. A watcher knows the version that it has seen. It waits while there is no other; a set wakes
   all that wait. What was woken looks under the mutex again: it takes the newest value, and its version. An update reads value and
   version, makes a new value without the mutex, and sets it if the version is still the same; else it begins anew. Each action is one
   critical section but Make and Tell.

   What is to hold
     WaitersHaveSeen  a watcher waits only if it has seen the newest version, and only in an open watch
     SeenIsSeen    what a watcher has marked as seen it was given
     UpdatesCount  no update is lost
     NoneTooEarly  no watcher ends as closed before it has seen the last value
     CloseIsFinal  nothing is set after the close
     Ends          every wait ends when it is closed at last                     (liveness)
     LastIsSeen    a watcher that goes on sees the last value at last            (liveness) *)
EXTENDS Integers, Sequences

CONSTANTS Setters, Updaters, Watchers, Times, Leaves, Bug

VARIABLES value, version, closed, waiting,  \* the watch; a value is the number of updates and sets that are in it
          seen, got,                        \* the version that each watcher has marked, and the version of the value that it was given
          basis, made,                      \* of an update: the version that it has read, and the value it makes
          left, leaves, added,              \* sets and updates that are left; withdrawals; updates and sets that have succeeded
          res, pc, chain
vars == <<value, version, closed, waiting, seen, got, basis, made, left, leaves, added, res, pc, chain>>

Closer == 0
Writers == Setters \cup Updaters
All == Writers \cup Watchers \cup {Closer}

Init == /\ value = 0 /\ version = 1 /\ closed = FALSE /\ waiting = <<>>
        /\ seen = [w \in Watchers |-> 0] /\ got = [w \in Watchers |-> 0]
        /\ basis = [u \in Updaters |-> 0] /\ made = [u \in Updaters |-> 0]
        /\ left = [t \in Writers |-> Times] /\ leaves = Leaves /\ added = 0
        /\ res = [t \in All |-> "none"] /\ pc = [t \in All |-> "out"] /\ chain = [t \in All |-> <<>>]

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
In(q, t) == \E i \in 1..Len(q) : q[i] = t

\* Bug 1: wakes only the first one; the rest wait on. Bug 2: also after the close.
Publish(t, v) ==
    /\ value' = v /\ version' = version + 1
    /\ LET c == IF Bug = 1 /\ waiting # <<>> THEN <<Head(waiting)>> ELSE waiting IN
       /\ waiting' = (IF Bug = 1 /\ waiting # <<>> THEN Tail(waiting) ELSE <<>>)
       /\ chain' = [chain EXCEPT ![t] = c]
       /\ res' = [u \in All |-> IF In(c, u) THEN "granted" ELSE res[u]]
    /\ left' = [left EXCEPT ![t] = @ - 1] /\ added' = added + 1 /\ Go(t, "tells")
Set(t) == /\ t \in Setters /\ pc[t] = "out" /\ left[t] > 0 /\ UNCHANGED <<closed, seen, got, basis, made, leaves>>
          /\ IF closed /\ Bug # 2 THEN Go(t, "ended") /\ UNCHANGED <<value, version, waiting, chain, res, left, added>>
             ELSE Publish(t, value + 1)

\* A set is counted as an addition, too: so a value that has lost one is too small.
Look(t) == /\ t \in Updaters /\ pc[t] = "out" /\ left[t] > 0 /\ basis' = [basis EXCEPT ![t] = version]
           /\ made' = [made EXCEPT ![t] = value] /\ Go(t, "makes")
           /\ UNCHANGED <<value, version, closed, waiting, seen, got, left, leaves, added, res, chain>>
Make(t) == /\ pc[t] = "makes" /\ made' = [made EXCEPT ![t] = @ + 1] /\ Go(t, "made")
           /\ UNCHANGED <<value, version, closed, waiting, seen, got, basis, left, leaves, added, res, chain>>
\* Bug 3: it sets its value though the version is another.
Update(t) == /\ pc[t] = "made" /\ UNCHANGED <<closed, seen, got, basis, made, leaves>>
             /\ IF closed /\ Bug # 2 THEN Go(t, "ended") /\ UNCHANGED <<value, version, waiting, chain, res, left, added>>
                ELSE IF basis[t] # version /\ Bug # 3
                  THEN Go(t, "out") /\ UNCHANGED <<value, version, waiting, chain, res, left, added>>
                ELSE Publish(t, made[t])

\* --- watchers ------------------------------------------------------------------------------------------------------------
\* Bug 4: closed, though there is a value that it has not seen.
Changed(w) == /\ pc[w] = "out" /\ UNCHANGED <<value, version, closed, seen, got, basis, made, left, leaves, added, res, chain>>
              /\ IF Bug = 4 /\ closed THEN Go(w, "ended") /\ UNCHANGED waiting
                 ELSE IF seen[w] # version THEN Go(w, "granted") /\ UNCHANGED waiting
                 ELSE IF closed THEN Go(w, "ended") /\ UNCHANGED waiting
                 ELSE IF Bug = 5 THEN Go(w, "late") /\ UNCHANGED waiting
                 ELSE waiting' = Append(waiting, w) /\ Go(w, "waits")
\* Only with bug 5: it begins to wait in a later critical section.
EnterLate(w) == /\ pc[w] = "late" /\ waiting' = Append(waiting, w) /\ Go(w, "waits")
                /\ UNCHANGED <<value, version, closed, seen, got, basis, made, left, leaves, added, res, chain>>
\* Bug 6: takes the value first, and the version in a later critical section.
See(w) == /\ pc[w] = "granted" /\ UNCHANGED <<value, version, closed, waiting, basis, made, left, leaves, added, res, chain>>
          /\ got' = [got EXCEPT ![w] = version]
          /\ IF Bug = 6 THEN Go(w, "marks") /\ UNCHANGED seen ELSE seen' = [seen EXCEPT ![w] = version] /\ Go(w, "out")
MarkLate(w) == /\ pc[w] = "marks" /\ seen' = [seen EXCEPT ![w] = version] /\ Go(w, "out")
               /\ UNCHANGED <<value, version, closed, waiting, got, basis, made, left, leaves, added, res, chain>>
\* A stop or a deadline. Bug 7: what was new counts as seen.
Withdraw(w) == /\ pc[w] = "waits" /\ In(waiting, w) /\ leaves > 0 /\ leaves' = leaves - 1 /\ Go(w, "out")
               /\ waiting' = SelectSeq(waiting, LAMBDA u : u # w)
               /\ seen' = (IF Bug = 7 THEN [seen EXCEPT ![w] = version + 1] ELSE seen)
               /\ UNCHANGED <<value, version, closed, got, basis, made, left, added, res, chain>>

\* Bug 8: what waits is not woken.
Close == /\ pc[Closer] = "out" /\ ~closed /\ closed' = TRUE /\ Go(Closer, "tells")
         /\ waiting' = (IF Bug = 8 THEN waiting ELSE <<>>)
         /\ chain' = [chain EXCEPT ![Closer] = IF Bug = 8 THEN <<>> ELSE waiting]
         /\ res' = [u \in All |-> IF In(waiting, u) /\ Bug # 8 THEN "closed" ELSE res[u]]
         /\ UNCHANGED <<value, version, seen, got, basis, made, left, leaves, added>>

\* Without the mutex. Bug 9: tells only the first one.
Tell(t) == /\ pc[t] = "tells" /\ UNCHANGED <<value, version, closed, waiting, seen, got, basis, made, left, leaves, added>>
           /\ IF chain[t] = <<>> THEN Go(t, "out") /\ UNCHANGED <<chain, res>>
              ELSE LET u == Head(chain[t]) IN
                   /\ chain' = [chain EXCEPT ![t] = IF Bug = 9 THEN <<>> ELSE Tail(@)]
                   /\ Go(u, IF res[u] = "closed" THEN "ended" ELSE "granted") /\ res' = [res EXCEPT ![u] = "none"]

Next == \/ \E t \in Writers : Set(t) \/ Look(t)
        \/ \E t \in Updaters : Make(t) \/ Update(t)
        \/ \E w \in Watchers : Changed(w) \/ EnterLate(w) \/ See(w) \/ MarkLate(w) \/ Withdraw(w)
        \/ Close \/ \E t \in All : Tell(t)
Fair == /\ \A t \in All : WF_vars(Tell(t))
        /\ \A w \in Watchers : WF_vars(Changed(w)) /\ WF_vars(See(w)) /\ WF_vars(EnterLate(w)) /\ WF_vars(MarkLate(w))
        /\ WF_vars(Close)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ------------------------------------------------------------------------------------------------------------
WaitersHaveSeen == \A i \in 1..Len(waiting) : seen[waiting[i]] = version /\ ~closed
SeenIsSeen == \A w \in Watchers : pc[w] # "marks" => seen[w] = got[w]
UpdatesCount == value = added
NoneTooEarly == \A w \in Watchers : pc[w] = "ended" => closed /\ seen[w] = version
CloseIsFinal == [][closed => version' = version]_vars
Ends == \A w \in Watchers : pc[w] = "waits" ~> pc[w] # "waits"
LastIsSeen == \A w \in Watchers : <>[](seen[w] = version)
=============================================================================
