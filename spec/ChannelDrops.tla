----------------------------- MODULE ChannelDrops -----------------------------
(* What a channel does with values that find no place; batches; and its end. detail/channel/channel_flow, channel_state. Channel.tla has
   the order of single values, and withdrawals.

   A sender sends a batch of values. What finds no place waits ("wait"), stays with its sender ("refuse"), or a value is dropped: the
   oldest one, or if there is none the value itself ("drop_oldest"), or the value itself ("drop_newest"). A dropped value is taken out
   under the mutex and dropped without it; a send that goes on then begins a new critical section. A place may be reserved also where
   sends drop: then a reservation waits for a free place, and such sends pass it. A close that drops takes out each element in a critical
   section of its own; a reserved place brings nothing then. The owner destroys the channel when nothing uses it.

   What is to hold
     NoOverfill    elements and reserved places are no more than the capacity
     Conserved     each value that was taken from its sender is in the channel, with a receiver, dropped or about to be, once
     InOrder       the elements of a sender are in order
     SendersMeanFull  a sender or a reservation waits only while there is no free place
     NoneWaits     no send of values waits where sends drop or refuse, and no reservation where they refuse
     Exact         a receiver gets no more than it has room for, and at least one value
     Drained       after a close that drops there are no elements, and no element comes
     Untouched     no thread touches the channel after it was destroyed
     FullFirst     a value is dropped by the rule only while there is no place
     OldestGoes    by "drop_oldest" it is the oldest element, if there is one
     Kept          what is refused stays with its sender
     Ends          every wait ends when the channel is closed, and reserved places are used or given back   (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Senders, Receivers, Keepers, Cap, Batch, Rule, Take, Receives, Bug

VARIABLES buf, sq, rq, reserved, closed, drops, alive,
          next,           \* the number of the next value of each sender and keeper
          left, hand,     \* receives that are left; what a receiver was given
          count, dropped, \* of values that were received, and dropped
          out,            \* the value that a thread has taken out to drop it
          res, pc, chain
vars == <<buf, sq, rq, reserved, closed, drops, alive, next, left, hand, count, dropped, out, res, pc, chain>>

None == <<0, 0>>
Owner == 0
Sources == Senders \cup Keepers
All == Sources \cup Receivers \cup {Owner}
Dropping == Rule \in {"drop_oldest", "drop_newest"}

Init == /\ buf = <<>> /\ sq = <<>> /\ rq = <<>> /\ reserved = 0 /\ closed = FALSE /\ drops = FALSE /\ alive = TRUE
        /\ next = [s \in Sources |-> 1] /\ left = [r \in Receivers |-> Receives] /\ hand = [r \in Receivers |-> <<>>]
        /\ count = 0 /\ dropped = 0 /\ out = [t \in All |-> None]
        /\ res = [t \in All |-> "none"] /\ pc = [t \in All |-> "out"] /\ chain = [t \in All |-> <<>>]

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
In(q, t) == \E i \in 1..Len(q) : q[i] = t
Size(s) == IF s \in Keepers THEN 1 ELSE Batch
Now == [b |-> buf, q |-> sq, r |-> rq, k |-> reserved, n |-> next, h |-> hand, c |-> <<>>]
Room(x) == Len(x.b) + x.k < Cap
Left(x, s) == x.n[s] <= Size(s)

\* The next value of a sender goes to the first receiver that waits, which is granted if it is full or `grants`; or into the buffer.
ToBuffer(x, s) == [x EXCEPT !.b = Append(@, <<s, x.n[s]>>), !.n[s] = @ + 1]
ToReceiver(x, s, r) == [x EXCEPT !.h[r] = Append(@, <<s, x.n[s]>>), !.n[s] = @ + 1]
Granted(x, r) == [x EXCEPT !.r = Tail(@), !.c = Append(@, r)]

\* Bug 1: a receiver is given more than it has room for.
RECURSIVE Sent(_, _)
Sent(x, s) ==
    IF ~Left(x, s) THEN x
    ELSE IF x.r # <<>>
      THEN LET r == Head(x.r)
               y == ToReceiver(x, s, r) IN
           Sent(IF ~Left(y, s) \/ (Len(y.h[r]) >= Take /\ Bug # 1) THEN Granted(y, r)
                ELSE y, s)
    ELSE IF Room(x) THEN Sent(ToBuffer(x, s), s)
    ELSE x

\* Bug 2: a place that has become free admits nothing.
RECURSIVE Settled(_)
Settled(x) ==
    IF x.q = <<>> \/ Bug = 2 THEN x
    ELSE LET s == Head(x.q)
             done(y) == IF Left(y, s) THEN y ELSE [y EXCEPT !.q = Tail(@), !.c = Append(@, s)] IN
      IF s \in Senders /\ x.r # <<>> THEN Settled(done(Granted(ToReceiver(x, s, Head(x.r)), Head(x.r))))
      ELSE IF ~Room(x) THEN x
      ELSE IF s \in Keepers THEN Settled([x EXCEPT !.k = @ + 1, !.q = Tail(@), !.c = Append(@, s)])
      ELSE Settled(done(ToBuffer(x, s)))

\* The end of a critical section of `t`. Receivers end if nothing can come any more.
Leave(t, x) ==
    LET ends == closed' /\ x.b = <<>> /\ (x.k = 0 \/ drops') IN
    /\ buf' = x.b /\ sq' = x.q /\ reserved' = x.k /\ next' = x.n /\ hand' = x.h
    /\ rq' = (IF ends THEN <<>> ELSE x.r) /\ chain' = [chain EXCEPT ![t] = IF ends THEN x.c \o x.r ELSE x.c]
    /\ res' = [u \in All |-> IF In(x.c, u) THEN "granted" ELSE IF ends /\ In(x.r, u) THEN "closed" ELSE res[u]]
none == UNCHANGED <<buf, sq, rq, reserved, next, hand, chain, res>>
state == <<closed, drops, alive>>

\* --- senders ------------------------------------------------------------------------------------------------------------
\* Bug 3: drops though there is a place. Bug 4: the newest element goes. Bug 5: a send that drops waits behind reservations. Bug 6: what is
\* refused is lost. Bug 15: the new value has the place of the oldest.
Send(s) ==
    /\ s \in Senders /\ pc[s] = "out" /\ next[s] <= Batch /\ UNCHANGED <<state, left, count, dropped>>
    /\ IF closed THEN Go(s, "ended") /\ UNCHANGED out /\ none
       ELSE LET passes == sq = <<>> \/ (Dropping /\ Bug # 5)
                x == IF passes /\ Bug # 3 THEN Sent(Now, s) ELSE Now IN
            IF ~Left(x, s) THEN Leave(s, x) /\ Go(s, "tells") /\ UNCHANGED out
            ELSE IF Dropping /\ Bug # 5
              THEN LET v == <<s, x.n[s]>>
                       n == [x EXCEPT !.n[s] = @ + 1] IN
                   /\ Go(s, "tells")
                   /\ IF Rule = "drop_oldest" /\ x.b # <<>>
                        THEN LET i == IF Bug = 4 THEN Len(x.b) ELSE 1
                                 rest == SelectSeq(x.b, LAMBDA u : u # x.b[i]) IN
                             /\ out' = [out EXCEPT ![s] = x.b[i]]
                             /\ Leave(s, [n EXCEPT !.b = IF Bug = 15 THEN <<v>> \o rest ELSE Append(rest, v)])
                        ELSE out' = [out EXCEPT ![s] = v] /\ Leave(s, n)
            ELSE IF Rule = "refuse"
              THEN Leave(s, IF Bug = 6 THEN [x EXCEPT !.n[s] = @ + 1] ELSE x) /\ Go(s, "refused") /\ UNCHANGED out
            ELSE Leave(s, [x EXCEPT !.q = Append(@, s)]) /\ Go(s, "waits") /\ UNCHANGED out

\* --- reserved places ----------------------------------------------------------------------------------------------------
\* Bug 7: waits though the channel refuses.
Reserve(k) == /\ k \in Keepers /\ pc[k] = "out" /\ next[k] = 1 /\ UNCHANGED <<state, left, count, dropped, out>>
              /\ IF closed THEN Go(k, "ended") /\ none
                 ELSE IF sq = <<>> /\ Room(Now) THEN Leave(k, [Now EXCEPT !.k = @ + 1]) /\ Go(k, "has")
                 ELSE IF Rule = "refuse" /\ Bug # 7 THEN Go(k, "ended") /\ none
                 ELSE Leave(k, [Now EXCEPT !.q = Append(@, k)]) /\ Go(k, "waits")
\* Bug 8: brings its value though the channel drops. Bug 9: the place is kept.
Use(k) == /\ k \in Keepers /\ pc[k] = "has" /\ UNCHANGED <<state, left, count, dropped, out>> /\ Go(k, "tells")
          /\ LET free == [Now EXCEPT !.k = IF Bug = 9 THEN @ ELSE @ - 1] IN
             IF drops /\ Bug # 8 THEN Leave(k, Settled([free EXCEPT !.n[k] = 3]))
             ELSE IF rq # <<>> THEN Leave(k, Settled(Granted(ToReceiver(free, k, Head(rq)), Head(rq))))
             ELSE Leave(k, ToBuffer(free, k))
GiveBack(k) == /\ k \in Keepers /\ pc[k] = "has" /\ UNCHANGED <<state, left, count, dropped, out>> /\ Go(k, "tells")
               /\ Leave(k, Settled([Now EXCEPT !.k = @ - 1, !.n[k] = 3]))

\* --- receivers ----------------------------------------------------------------------------------------------------------
RECURSIVE Received(_, _)
Received(x, r) ==
    IF Len(x.h[r]) >= Take THEN x
    ELSE IF x.b # <<>> THEN Received([x EXCEPT !.h[r] = Append(@, Head(x.b)), !.b = Tail(@)], r)
    ELSE IF x.q # <<>> /\ Head(x.q) \in Senders
      THEN LET y == ToReceiver(x, Head(x.q), r) IN
           Received(IF Left(y, Head(y.q)) THEN y ELSE [y EXCEPT !.q = Tail(@), !.c = Append(@, Head(y.q))], r)
    ELSE x
Receive(r) == /\ pc[r] = "out" /\ left[r] > 0 /\ left' = [left EXCEPT ![r] = @ - 1] /\ UNCHANGED <<state, count, dropped, out>>
              /\ LET x == Received(Now, r) IN
                 IF x.h[r] # <<>> THEN Leave(r, Settled(x)) /\ Go(r, "tells")
                 ELSE IF closed /\ (reserved = 0 \/ drops) THEN Go(r, "ended") /\ none
                 ELSE Leave(r, [x EXCEPT !.r = Append(@, r)]) /\ Go(r, "waits")
Collect(r) == /\ pc[r] = "got" /\ count' = count + Len(hand[r]) /\ hand' = [hand EXCEPT ![r] = <<>>] /\ Go(r, "out")
              /\ UNCHANGED <<buf, sq, rq, reserved, state, next, left, dropped, out, res, chain>>

\* --- the end ------------------------------------------------------------------------------------------------------------
\* Bug 10: the waits of senders are not ended. Bug 11: receivers that wait are not.
Close == /\ pc[Owner] = "out" /\ ~closed /\ closed' = TRUE /\ drops' = TRUE /\ Go(Owner, "closing") /\ UNCHANGED <<alive, left, count, dropped, out>>
         /\ LET c == (IF Bug = 10 THEN <<>> ELSE sq) \o (IF buf = <<>> /\ Bug # 11 THEN rq ELSE <<>>) IN
            /\ chain' = [chain EXCEPT ![Owner] = c] /\ res' = [u \in All |-> IF In(c, u) THEN "closed" ELSE res[u]]
            /\ sq' = (IF Bug = 10 THEN sq ELSE <<>>) /\ rq' = (IF buf = <<>> /\ Bug # 11 THEN <<>> ELSE rq)
         /\ UNCHANGED <<buf, reserved, next, hand>>
\* Bug 12: only the first element is dropped. Bug 13: a value that was taken out is not dropped.
TakeOut == /\ pc[Owner] = "takes" /\ UNCHANGED <<sq, rq, reserved, state, next, left, hand, count, dropped, res, chain>>
           /\ IF buf = <<>> \/ (Bug = 12 /\ dropped > 0) THEN Go(Owner, "dropped") /\ UNCHANGED <<buf, out>>
              ELSE buf' = Tail(buf) /\ out' = [out EXCEPT ![Owner] = Head(buf)] /\ Go(Owner, "drops")
DropOne(t) == /\ out[t] # None /\ out' = [out EXCEPT ![t] = None] /\ dropped' = (IF Bug = 13 THEN dropped ELSE dropped + 1)
              /\ (t = Owner => pc[t] = "drops") /\ pc' = (IF t = Owner THEN [pc EXCEPT ![t] = "takes"] ELSE pc)
              /\ UNCHANGED <<buf, sq, rq, reserved, state, next, left, hand, count, res, chain>>
\* Bug 14: though a place is reserved, or a thread still drops a value.
Destroy == /\ pc[Owner] = "dropped" /\ alive /\ alive' = FALSE
           /\ \A t \in All \ {Owner} : pc[t] \in {"out", "ended", "refused", "got"} \/ Bug = 14
           /\ UNCHANGED <<buf, sq, rq, reserved, closed, drops, next, left, hand, count, dropped, out, res, pc, chain>>

After(t) == IF res[t] = "closed" THEN "ended" ELSE IF t \in Receivers THEN "got" ELSE IF t \in Keepers THEN "has" ELSE "out"
\* Without the mutex; then the value that was taken out is dropped, and a send that is not done goes on.
Tell(t) == /\ pc[t] \in {"tells", "closing"} /\ (chain[t] = <<>> => out[t] = None)
           /\ UNCHANGED <<buf, sq, rq, reserved, state, next, left, hand, count, dropped, out>>
           /\ IF chain[t] = <<>>
                THEN Go(t, IF t = Owner THEN "takes" ELSE IF t \in Receivers /\ hand[t] # <<>> THEN "got" ELSE "out") /\ UNCHANGED <<chain, res>>
                ELSE /\ chain' = [chain EXCEPT ![t] = Tail(@)]
                     /\ Go(Head(chain[t]), After(Head(chain[t]))) /\ res' = [res EXCEPT ![Head(chain[t])] = "none"]

Next == \/ alive /\ (\/ \E s \in Senders : Send(s)
                     \/ \E k \in Keepers : Reserve(k) \/ Use(k) \/ GiveBack(k)
                     \/ \E r \in Receivers : Receive(r)
                     \/ Close \/ TakeOut \/ Destroy)
        \/ \E r \in Receivers : Collect(r)
        \/ \E t \in All : Tell(t) \/ DropOne(t)
Fair == /\ \A t \in All : WF_vars(Tell(t)) /\ WF_vars(DropOne(t))
        /\ \A k \in Keepers : WF_vars(alive /\ (Use(k) \/ GiveBack(k)))
        /\ WF_vars(Close) /\ WF_vars(alive /\ TakeOut)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ---------------------------------------------------------------------------------------------------------
RECURSIVE Sum(_)
Sum(S) == IF S = {} THEN 0 ELSE LET s == CHOOSE u \in S : TRUE IN (IF next[s] = 3 /\ s \in Keepers THEN 0 ELSE next[s] - 1) + Sum(S \ {s})
RECURSIVE Hands(_)
Hands(S) == IF S = {} THEN 0 ELSE LET r == CHOOSE u \in S : TRUE IN Len(hand[r]) + Hands(S \ {r})
NoOverfill == Len(buf) + reserved <= Cap
Conserved == Sum(Sources) = Len(buf) + Hands(Receivers) + count + dropped + Cardinality({t \in All : out[t] # None})
InOrder == \A i, j \in 1..Len(buf) : i < j /\ buf[i][1] = buf[j][1] => buf[i][2] < buf[j][2]
SendersMeanFull == sq # <<>> => Len(buf) + reserved >= Cap
NoneWaits == \A i \in 1..Len(sq) : Rule = "wait" \/ (Dropping /\ sq[i] \in Keepers)
Exact == \A r \in Receivers : Len(hand[r]) <= Take /\ (pc[r] = "got" => hand[r] # <<>>)
Drained == pc[Owner] = "dropped" => buf = <<>> /\ rq = <<>> /\ sq = <<>>
Untouched == ~alive => \A t \in All : pc[t] \notin {"waits", "has"}
FullFirst == [][\A s \in Senders : out'[s] # None /\ out[s] = None => Len(buf') + reserved' >= Cap]_vars
OldestGoes == [][\A s \in Senders : Rule = "drop_oldest" /\ buf # <<>> /\ out'[s] # None /\ out[s] = None => out'[s] = Head(buf)]_vars
Kept == [][\A s \in Senders : pc'[s] = "refused" /\ pc[s] # "refused" =>
             next'[s] - next[s] = (Len(buf') - Len(buf)) + Cardinality({r \in Receivers : hand[r] # hand'[r]})]_vars
Ends == \A t \in All : pc[t] = "waits" ~> pc[t] # "waits"
=============================================================================
