------------------------------ MODULE Broadcast ------------------------------
(* Each value to all subscriptions, in order, under one mutex. detail/channel/broadcast_state.

   Values are numbered from 0. The ring has the last Cap of them. A subscription is a cursor: the number that it is given next. A send
   overwrites the oldest value, and gives the new one to all that wait. A cursor before the oldest value has lagged: by Lag "skip" it
   goes on with the oldest, and counts what it has skipped; by "close" it is closed. By "wait" a sender waits while the oldest value is
   unread; a receive, and the end of a subscription, admit the first sender. Each action but Tell is one critical section; waits that
   it ends are told after it.

   What is to hold
     Counted       what a subscription was given and what it has skipped are all values from its beginning to its cursor, once
     UnreadIsTrue  a place knows how many subscriptions have not passed it
     WaitersAtEnd  a subscription waits only behind the newest value, and in an open broadcast
     NoneLost      by "wait" no cursor is before the oldest value, and nothing is skipped
     SendersMeanFull  a sender waits only while the oldest value is unread
     Refused       nothing waits once it is closed
     NoneTooEarly  no subscription ends as closed before it was given all, but one that has fallen behind
     InTurn        the senders that wait are served in their order, before any other
     CloseIsFinal  nothing is sent after the close
     Ends          every wait ends when it is closed at last            (liveness)
     Arrives       a subscription that goes on is given all, or counts  (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Senders, Subs, Cap, Sends, Lag, Replays, Leaves, Quits, Bug

VARIABLES end, unread, sq, rq, closed,   \* the broadcast; unread of the last Cap values, by number % Cap
          open, cur, skipped, given, from, \* subscriptions: cursor, count of skipped, of given ones, and where they began
          behind,                        \* that have fallen behind
          left, leaves, quits,
          res, pc, chain
vars == <<end, unread, sq, rq, closed, open, cur, skipped, given, from, behind, left, leaves, quits, res, pc, chain>>

Closer == 0
All == Senders \cup Subs \cup {Closer}

Init == /\ end = 0 /\ unread = [i \in 0..(Cap - 1) |-> 0] /\ sq = <<>> /\ rq = <<>> /\ closed = FALSE
        /\ open = [s \in Subs |-> FALSE] /\ cur = [s \in Subs |-> 0] /\ skipped = [s \in Subs |-> 0]
        /\ given = [s \in Subs |-> 0] /\ from = [s \in Subs |-> 0] /\ behind = [s \in Subs |-> FALSE]
        /\ left = [t \in Senders |-> Sends] /\ leaves = Leaves /\ quits = Quits
        /\ res = [t \in All |-> "none"] /\ pc = [t \in All |-> "out"] /\ chain = [t \in All |-> <<>>]

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
In(q, t) == \E i \in 1..Len(q) : q[i] = t
Without(q, t) == SelectSeq(q, LAMBDA u : u # t)
OldestOf(e) == IF e < Cap THEN 0 ELSE e - Cap
Max(a, b) == IF a > b THEN a ELSE b
Live == Cardinality({s \in Subs : open[s]})
\* Bug 1: room though the oldest value is unread.
Room(e, u) == Lag # "wait" \/ e < Cap \/ u[e % Cap] = 0 \/ Bug = 1

\* What is in the broadcast in a critical section: end, unread, senders, subscriptions that wait, cursors, counts of what was given, the
\* waits that have ended, and how many subscriptions there are.
Now(u, r, c, g, n) == [e |-> end, u |-> u, q |-> sq, r |-> r, c |-> c, g |-> g, h |-> <<>>, n |-> n]
\* A value is published: all that wait are given it. Bug 2: only the first one is. Bug 3: what is given still counts as unread.
Published(x) ==
    LET w == IF Bug = 2 /\ x.r # <<>> THEN <<Head(x.r)>> ELSE x.r
        unreadBy == x.n - (IF Bug = 3 THEN 0 ELSE Len(w)) IN
    [x EXCEPT !.e = @ + 1, !.u[x.e % Cap] = unreadBy, !.r = SelectSeq(x.r, LAMBDA t : ~In(w, t)),
              !.c = [s \in Subs |-> IF In(w, s) THEN x.c[s] + 1 ELSE x.c[s]],
              !.g = [s \in Subs |-> IF In(w, s) THEN x.g[s] + 1 ELSE x.g[s]],
              !.h = @ \o w]
\* Bug 4: senders wait on. Bug 5: the last one goes first.
RECURSIVE Admitted(_)
Admitted(x) == IF x.q = <<>> \/ ~Room(x.e, x.u) \/ Bug = 4 THEN x
               ELSE LET t == IF Bug = 5 THEN x.q[Len(x.q)] ELSE Head(x.q)
                        p == Published(x) IN
                    Admitted([p EXCEPT !.q = Without(x.q, t), !.h = Append(@, t)])
Leave(t, x) == /\ end' = x.e /\ unread' = x.u /\ sq' = x.q /\ rq' = x.r /\ cur' = x.c /\ given' = x.g
               /\ chain' = [chain EXCEPT ![t] = x.h]
               /\ res' = [u \in All |-> IF In(x.h, u) THEN "granted" ELSE res[u]]
same == <<end, unread, sq, rq, cur, given, res, chain>>

\* --- senders ---------------------------------------------------------------------------------------------------------
\* While a sender waits there is no room. Bug 6: also after the close.
Send(t) == /\ pc[t] = "out" /\ left[t] > 0 /\ left' = [left EXCEPT ![t] = @ - 1]
           /\ UNCHANGED <<closed, open, skipped, from, behind, leaves, quits>>
           /\ IF closed /\ Bug # 6 THEN Go(t, "ended") /\ UNCHANGED same
              ELSE IF Room(end, unread) THEN Leave(t, Published(Now(unread, rq, cur, given, Live))) /\ Go(t, "tells")
              ELSE sq' = Append(sq, t) /\ Go(t, "waits") /\ UNCHANGED <<end, unread, rq, cur, given, res, chain>>

\* --- subscriptions ---------------------------------------------------------------------------------------------------
\* Bug 7: what it replays does not count as unread.
Subscribe(s) == /\ pc[s] = "out" /\ ~open[s] /\ open' = [open EXCEPT ![s] = TRUE]
                /\ \E n \in 0..Replays :
                     /\ n <= end - OldestOf(end)
                     /\ cur' = [cur EXCEPT ![s] = end - n] /\ from' = [from EXCEPT ![s] = end - n]
                     /\ unread' = [i \in 0..(Cap - 1) |->
                                     IF Bug # 7 /\ \E k \in (end - n)..(end - 1) : k % Cap = i THEN unread[i] + 1 ELSE unread[i]]
                /\ skipped' = [skipped EXCEPT ![s] = 0] /\ given' = [given EXCEPT ![s] = 0] /\ behind' = [behind EXCEPT ![s] = FALSE]
                /\ Go(s, "in") /\ UNCHANGED <<end, sq, rq, closed, left, leaves, quits, res, chain>>

\* Bug 8: a cursor that has lagged does not count what it skips. Bug 9: it skips one value too many. Bug 15: what is left is not given.
Receive(s) == /\ pc[s] = "in" /\ ~behind[s] /\ UNCHANGED <<closed, open, from, left, leaves, quits>>
              /\ LET o == OldestOf(end)
                     lags == cur[s] < o
                     at == IF lags THEN o + (IF Bug = 9 /\ end - o > 1 THEN 1 ELSE 0) ELSE cur[s] IN
                 IF lags /\ Lag = "close"
                   THEN behind' = [behind EXCEPT ![s] = TRUE] /\ Go(s, "ended") /\ UNCHANGED <<same, skipped>>
                 ELSE /\ UNCHANGED behind
                      /\ skipped' = [skipped EXCEPT ![s] = @ + (IF Bug = 8 THEN 0 ELSE IF lags THEN o - cur[s] ELSE 0)]
                      /\ IF at < end /\ ~(Bug = 15 /\ closed)
                           THEN /\ Leave(s, Admitted(Now([unread EXCEPT ![at % Cap] = @ - 1], rq, [cur EXCEPT ![s] = at + 1],
                                                         [given EXCEPT ![s] = @ + 1], Live)))
                                /\ Go(s, "tells")
                         ELSE IF closed THEN Go(s, "ended") /\ UNCHANGED same
                         ELSE rq' = Append(rq, s) /\ Go(s, "waits") /\ UNCHANGED <<end, unread, sq, cur, given, res, chain>>

\* The end of a subscription. Bug 10: its values stay unread. Bug 11: no sender is admitted.
Quit(s) == /\ pc[s] \in {"in", "ended"} /\ open[s] /\ quits > 0 /\ quits' = quits - 1
           /\ open' = [open EXCEPT ![s] = FALSE] /\ UNCHANGED <<closed, skipped, from, behind, left, leaves>>
           /\ LET lowest == Max(cur[s], OldestOf(end))
                  u == [i \in 0..(Cap - 1) |-> IF Bug # 10 /\ \E k \in lowest..(end - 1) : k % Cap = i THEN unread[i] - 1 ELSE unread[i]]
                  x == Now(u, rq, cur, given, Live - 1) IN
              Leave(s, IF Bug = 11 THEN x ELSE Admitted(x))
           /\ Go(s, "tells")

\* --- ends of waits -----------------------------------------------------------------------------------------------------
\* A stop or a deadline. Bug 12: a subscription leaves though it was given a value, which is lost.
Withdraw(t) == /\ pc[t] = "waits" /\ leaves > 0 /\ leaves' = leaves - 1
               /\ In(sq \o rq, t) \/ (Bug = 12 /\ t \in Subs)
               /\ sq' = Without(sq, t) /\ rq' = Without(rq, t) /\ Go(t, IF t \in Subs THEN "in" ELSE "out")
               /\ given' = (IF t \in Subs /\ res[t] = "granted" THEN [given EXCEPT ![t] = @ - 1] ELSE given)
               /\ UNCHANGED <<end, unread, closed, open, cur, skipped, from, behind, left, quits, res, chain>>
\* Bug 13: subscriptions wait on.
Close == /\ pc[Closer] = "out" /\ ~closed /\ closed' = TRUE /\ Go(Closer, "tells")
         /\ LET c == sq \o (IF Bug = 13 THEN <<>> ELSE rq) IN
            /\ sq' = <<>> /\ rq' = (IF Bug = 13 THEN rq ELSE <<>>) /\ chain' = [chain EXCEPT ![Closer] = c]
            /\ res' = [u \in All |-> IF In(c, u) THEN "closed" ELSE res[u]]
         /\ UNCHANGED <<end, unread, open, cur, skipped, given, from, behind, left, leaves, quits>>

After(t) == IF res[t] = "closed" THEN "ended" ELSE IF t \in Subs THEN "in" ELSE "out"
\* Without the mutex. Bug 14: tells only the first one.
Tell(t) == /\ pc[t] = "tells" /\ UNCHANGED <<end, unread, sq, rq, closed, open, cur, skipped, given, from, behind, left, leaves, quits>>
           /\ IF chain[t] = <<>>
                THEN Go(t, IF t \in Subs /\ open[t] THEN "in" ELSE "out") /\ UNCHANGED <<chain, res>>
                ELSE LET u == Head(chain[t]) IN
                     /\ chain' = [chain EXCEPT ![t] = IF Bug = 14 THEN <<>> ELSE Tail(@)]
                     /\ pc' = (IF pc[u] = "waits" THEN [pc EXCEPT ![u] = After(u)] ELSE pc)
                     /\ res' = [res EXCEPT ![u] = "none"]

Next == \/ \E t \in Senders : Send(t)
        \/ \E s \in Subs : Subscribe(s) \/ Receive(s) \/ Quit(s)
        \/ \E t \in All \ {Closer} : Withdraw(t)
        \/ Close \/ \E t \in All : Tell(t)
Fair == /\ \A t \in All : WF_vars(Tell(t))
        /\ \A s \in Subs : WF_vars(Receive(s))
        /\ WF_vars(Close)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ------------------------------------------------------------------------------------------------------------
Counted == \A s \in Subs : open[s] => given[s] + skipped[s] = cur[s] - from[s]
UnreadIsTrue == \A k \in OldestOf(end)..(end - 1) : unread[k % Cap] = Cardinality({s \in Subs : open[s] /\ cur[s] <= k})
WaitersAtEnd == \A i \in 1..Len(rq) : cur[rq[i]] = end
NoneLost == Lag = "wait" => \A s \in Subs : open[s] => cur[s] >= OldestOf(end) /\ skipped[s] = 0
SendersMeanFull == sq # <<>> => end >= Cap /\ unread[end % Cap] > 0
Refused == closed => sq = <<>> /\ rq = <<>>
NoneTooEarly == \A s \in Subs : open[s] /\ (pc[s] = "ended" \/ res[s] = "closed") => behind[s] \/ (closed /\ cur[s] = end)
InTurn == [][sq # <<>> /\ end' > end => ~In(sq', Head(sq))]_vars
CloseIsFinal == [][closed => end' = end]_vars
Ends == \A t \in All : pc[t] = "waits" ~> pc[t] # "waits"
Arrives == \A s \in Subs : open[s] ~> (~open[s] \/ behind[s] \/ pc[s] = "ended")
=============================================================================
