------------------------------- MODULE Channel -------------------------------
(* Values from senders to receivers, in order, under one mutex. detail/channel/channel_flow, channel_state.

   A send hands its value to the first receiver that waits; else it takes a place; else it waits. A receive takes the oldest
   element, and admits the value of the first sender that waits, in the same critical section; else it waits. A place can be
   reserved for a value that comes later, also after the close. A wait can be withdrawn by a stop or a deadline, while it is in
   its FIFO. Each action but Tell is one critical section; waits that it ends are told after it.

   What is to hold
     NoOverfill    elements and reserved places are no more than the capacity
     ReceiversMeanEmpty   a receiver waits only while there is no element, and no first sender with a value
     SendersMeanFull      a sender waits only while there is no free place
     Conserved     each value that was taken from its sender is in the channel, at a receiver, or was received, once
     InOrder       a receiver never gets a value of a sender after a later one of it
     CloseIsFinal  nothing is sent after a close, but for reserved places
     NoneTooEarly  no receive ends as closed while an element may still come
     Overtakes     values are taken from senders in the order of their waits
     Ends          every wait ends when the channel is closed, and reserved places are used or given back   (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Senders, Receivers, Keepers, Cap, Sends, Receives, Leaves, Closes, Bug

VARIABLES buf, sq, rq, reserved, closed,    \* the channel: elements are <<sender, number>>
          next,                             \* the number of the next value of each sender
          left, leaves, closes,             \* receives that are left; withdrawals; closes
          hand,                             \* what a receiver was given
          got,                              \* the greatest number that was received of each sender
          count,                            \* of received elements
          res, pc, chain
vars == <<buf, sq, rq, reserved, closed, next, left, leaves, closes, hand, got, count, res, pc, chain>>

None == <<0, 0>>
Closer == 0
Sources == Senders \cup Keepers
All == Sources \cup Receivers \cup {Closer}

Init == /\ buf = <<>> /\ sq = <<>> /\ rq = <<>> /\ reserved = 0 /\ closed = FALSE
        /\ next = [s \in Sources |-> 1] /\ left = [r \in Receivers |-> Receives]
        /\ leaves = Leaves /\ closes = Closes
        /\ hand = [r \in Receivers |-> None] /\ got = [s \in Sources |-> 0] /\ count = 0
        /\ res = [t \in All |-> "none"] /\ pc = [t \in All |-> "out"] /\ chain = [t \in All |-> <<>>]

Room(b, k) == Len(b) + k < Cap \/ Bug = 1
In(q, t) == \E i \in 1..Len(q) : q[i] = t
Without(q, t) == SelectSeq(q, LAMBDA u : u # t)
Drained(b, k) == closed' /\ b = <<>> /\ k = 0

\* What is in the channel in a critical section: elements, waiting senders, waiting receivers, reserved places, numbers, hands, and
\* the waits that have ended. A free place, and a receiver that waits, admit the first sender. Bug 2: it waits on.
Now(b, q, r, k, n, h, c) == [b |-> b, q |-> q, r |-> r, k |-> k, n |-> n, h |-> h, c |-> c]
RECURSIVE Settled(_)
Settled(x) ==
    IF x.q = <<>> \/ Bug = 2 THEN x
    ELSE LET s == Head(x.q)
             v == <<s, x.n[s]>>
             admitted == [x EXCEPT !.q = Tail(@), !.c = Append(@, s)]
             taken == [admitted EXCEPT !.n[s] = @ + 1] IN
      IF s \in Keepers THEN (IF Room(x.b, x.k) THEN Settled([admitted EXCEPT !.k = @ + 1]) ELSE x)
      ELSE IF x.r # <<>> THEN Settled([taken EXCEPT !.h[Head(x.r)] = v, !.r = Tail(@), !.c = Append(@, Head(x.r))])
      ELSE IF Room(x.b, x.k) THEN Settled([taken EXCEPT !.b = Append(@, v)])
      ELSE x

\* The end of a critical section of `t`. Bug 3: the last receivers are not ended. Bug 4: they are, though places are reserved.
Leave(t, b, q, r, k, n, h, c) ==
    LET x == Settled(Now(b, q, r, k, n, h, c))
        ends == Drained(x.b, IF Bug = 4 THEN 0 ELSE x.k) /\ Bug # 3
    IN /\ buf' = x.b /\ reserved' = x.k /\ sq' = x.q /\ hand' = x.h /\ next' = x.n
       /\ rq' = (IF ends THEN <<>> ELSE x.r)
       /\ chain' = [chain EXCEPT ![t] = IF ends THEN x.c \o x.r ELSE x.c]
       /\ res' = [u \in All |-> IF In(x.c, u) THEN "granted" ELSE IF ends /\ In(x.r, u) THEN "closed" ELSE res[u]]
Go(t, to) == pc' = [pc EXCEPT ![t] = to]

\* --- senders -----------------------------------------------------------------------------------------------------
\* Bug 5: overtakes waiting senders. Bug 6: takes a place though a receiver waits. Bug 7: also after the close.
Send(s) == /\ pc[s] = "out" /\ next[s] <= Sends /\ UNCHANGED <<closed, left, leaves, closes, got, count>>
           /\ LET v == <<s, next[s]>>
                  n == [next EXCEPT ![s] = @ + 1] IN
              IF closed /\ Bug # 7
                THEN Go(s, "ended") /\ UNCHANGED <<buf, sq, rq, reserved, next, hand, res, chain>>
              ELSE IF sq # <<>> /\ Bug # 5
                THEN sq' = Append(sq, s) /\ Go(s, "waits") /\ UNCHANGED <<buf, rq, reserved, next, hand, res, chain>>
              ELSE IF rq # <<>> /\ Bug # 6
                THEN Leave(s, buf, sq, Tail(rq), reserved, n, [hand EXCEPT ![Head(rq)] = v], <<Head(rq)>>) /\ Go(s, "tells")
              ELSE IF Room(buf, reserved)
                THEN Leave(s, Append(buf, v), sq, rq, reserved, n, hand, <<>>) /\ Go(s, "tells")
              ELSE sq' = Append(sq, s) /\ Go(s, "waits") /\ UNCHANGED <<buf, rq, reserved, next, hand, res, chain>>

Reserve(k) == /\ pc[k] = "out" /\ next[k] = 1 /\ UNCHANGED <<closed, left, leaves, closes, got, count, buf, rq, next, hand, res, chain>>
              /\ IF closed THEN Go(k, "ended") /\ UNCHANGED <<sq, reserved>>
                 ELSE IF sq = <<>> /\ Room(buf, reserved) THEN reserved' = reserved + 1 /\ Go(k, "has") /\ UNCHANGED sq
                 ELSE sq' = Append(sq, k) /\ Go(k, "waits") /\ UNCHANGED reserved
\* Bug 16: the value is lost.
Use(k) == /\ pc[k] = "has" /\ UNCHANGED <<closed, left, leaves, closes, got, count>>
          /\ LET v == <<k, 1>>
                 n == [next EXCEPT ![k] = 2] IN
             IF Bug = 16 THEN Leave(k, buf, sq, rq, reserved - 1, n, hand, <<>>)
             ELSE IF rq # <<>> THEN Leave(k, buf, sq, Tail(rq), reserved - 1, n, [hand EXCEPT ![Head(rq)] = v], <<Head(rq)>>)
             ELSE Leave(k, Append(buf, v), sq, rq, reserved - 1, n, hand, <<>>)
          /\ Go(k, "tells")
\* Bug 8: the place stays reserved.
GiveBack(k) == /\ pc[k] = "has" /\ UNCHANGED <<closed, left, leaves, closes, got, count>>
               /\ Leave(k, buf, sq, rq, IF Bug = 8 THEN reserved ELSE reserved - 1, [next EXCEPT ![k] = 3], hand, <<>>)
               /\ Go(k, "tells")

\* --- receivers ----------------------------------------------------------------------------------------------------
\* With no element it takes the value of the first waiting sender, as when all places are reserved. Bug 13: it waits.
\* Bug 14: though there are elements.
Receive(r) == /\ pc[r] = "out" /\ left[r] > 0 /\ left' = [left EXCEPT ![r] = @ - 1]
              /\ UNCHANGED <<closed, leaves, closes, got, count>>
              /\ IF buf # <<>> /\ ~(Bug = 14 /\ sq # <<>> /\ Head(sq) \in Senders)
                   THEN /\ Leave(r, Tail(buf), sq, rq, reserved, next, [hand EXCEPT ![r] = Head(buf)], <<>>) /\ Go(r, "tells")
                 ELSE IF sq # <<>> /\ Head(sq) \in Senders /\ Bug # 13
                   THEN LET s == Head(sq) IN
                        /\ Leave(r, buf, Tail(sq), rq, reserved, [next EXCEPT ![s] = @ + 1], [hand EXCEPT ![r] = <<s, next[s]>>], <<s>>)
                        /\ Go(r, "tells")
                 ELSE IF closed /\ reserved = 0
                   THEN Go(r, "ended") /\ UNCHANGED <<buf, sq, rq, reserved, next, hand, res, chain>>
                 ELSE rq' = Append(rq, r) /\ Go(r, "waits") /\ UNCHANGED <<buf, sq, reserved, next, hand, res, chain>>
Take(r) == /\ pc[r] = "got" /\ count' = count + 1 /\ hand' = [hand EXCEPT ![r] = None]
           /\ got' = [got EXCEPT ![hand[r][1]] = IF hand[r][2] > @ THEN hand[r][2] ELSE @] /\ Go(r, "out")
           /\ UNCHANGED <<buf, sq, rq, reserved, closed, next, left, leaves, closes, res, chain>>

\* --- ends of waits --------------------------------------------------------------------------------------------------
\* A stop or a deadline. Bug 9: a receiver leaves though it was given an element. Bug 10: a sender leaves its value. Bug 15: does not
\* look at the next one: a reservation may have been before a value.
Withdraw(t) == /\ pc[t] = "waits" /\ leaves > 0 /\ leaves' = leaves - 1 /\ Go(t, "tells")
               /\ UNCHANGED <<closed, left, closes, got, count>>
               /\ In(sq \o rq, t) \/ (Bug = 9 /\ t \in Receivers)
               /\ LET q == Without(sq, t)
                      r == Without(rq, t)
                      h == IF t \in Receivers THEN [hand EXCEPT ![t] = None] ELSE hand
                      n == IF Bug = 10 /\ t \in Senders THEN [next EXCEPT ![t] = @ + 1] ELSE next IN
                  IF Bug = 15 THEN /\ sq' = q /\ rq' = r /\ UNCHANGED <<buf, reserved, next, hand, res, chain>>
                              ELSE Leave(t, buf, q, r, reserved, n, h, <<>>)
\* Bug 11: senders wait on.
Close == /\ closes > 0 /\ pc[Closer] = "out" /\ closes' = closes - 1 /\ closed' = TRUE /\ Go(Closer, "tells")
         /\ LET ends == Drained(buf, IF Bug = 4 THEN 0 ELSE reserved) /\ Bug # 3
                c == (IF Bug = 11 THEN <<>> ELSE sq) \o (IF ends THEN rq ELSE <<>>) IN
            /\ sq' = (IF Bug = 11 THEN sq ELSE <<>>) /\ rq' = (IF ends THEN <<>> ELSE rq)
            /\ chain' = [chain EXCEPT ![Closer] = c]
            /\ res' = [u \in All |-> IF In(c, u) THEN "closed" ELSE res[u]]
         /\ UNCHANGED <<buf, reserved, next, left, leaves, hand, got, count>>

After(t) == IF res[t] = "closed" THEN "ended" ELSE IF t \in Receivers THEN "got" ELSE IF t \in Keepers THEN "has" ELSE "out"
\* Without the mutex. Bug 12: tells only the first one.
Tell(t) == /\ pc[t] = "tells" /\ UNCHANGED <<buf, sq, rq, reserved, closed, next, left, leaves, closes, hand, got, count>>
           /\ IF chain[t] = <<>>
                THEN Go(t, IF t \in Receivers /\ hand[t] # None THEN "got" ELSE "out") /\ UNCHANGED <<chain, res>>
                ELSE /\ chain' = [chain EXCEPT ![t] = IF Bug = 12 THEN <<>> ELSE Tail(@)]
                     /\ Go(Head(chain[t]), After(Head(chain[t]))) /\ res' = [res EXCEPT ![Head(chain[t])] = "none"]

Next == \/ \E s \in Senders : Send(s)
        \/ \E k \in Keepers : Reserve(k) \/ Use(k) \/ GiveBack(k)
        \/ \E r \in Receivers : Receive(r) \/ Take(r)
        \/ \E t \in All \ {Closer} : Withdraw(t)
        \/ Close \/ \E t \in All : Tell(t)
Fair == /\ \A t \in All : WF_vars(Tell(t))
        /\ \A k \in Keepers : WF_vars(Use(k) \/ GiveBack(k))
        /\ \A r \in Receivers : WF_vars(Take(r)) /\ WF_vars(Receive(r))
        /\ WF_vars(Close)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------------
RECURSIVE Sum(_)
Sum(S) == IF S = {} THEN 0 ELSE LET s == CHOOSE u \in S : TRUE IN next[s] - 1 + Sum(S \ {s})
Held == Cardinality({r \in Receivers : hand[r] # None})
Returned == 2 * Cardinality({k \in Keepers : next[k] = 3})  \* no value came for these
NoOverfill == Len(buf) + reserved <= Cap
ReceiversMeanEmpty == rq # <<>> => buf = <<>> /\ (sq = <<>> \/ Head(sq) \in Keepers)
SendersMeanFull == sq # <<>> => Len(buf) + reserved >= Cap
Conserved == Sum(Sources) - Returned = Len(buf) + Held + count
InOrder == /\ \A i, j \in 1..Len(buf) : i < j /\ buf[i][1] = buf[j][1] => buf[i][2] < buf[j][2]
           /\ \A i \in 1..Len(buf) : got[buf[i][1]] < buf[i][2]
CloseIsFinal == [][closed => \A s \in Senders : next'[s] = next[s]]_vars
NoneTooEarly == \A r \in Receivers : (pc[r] = "ended" \/ res[r] = "closed") => closed /\ buf = <<>> /\ reserved = 0
Overtakes == [][\A s \in Senders : sq # <<>> /\ next'[s] > next[s] => In(sq, s)]_vars
Ends == \A t \in All : pc[t] = "waits" ~> pc[t] # "waits"
=============================================================================
