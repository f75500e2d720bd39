------------------------------- MODULE Select -------------------------------
(* A task waits for the first of several waits. coro/select_wait, sync/choice, and what ends a wait: waiter_list, channel_flow.

   A selector enters its branches one after the other, each under the mutex of its channel: a branch that can end at once claims
   the choice of the selector, and ends; otherwise it waits. What ends a wait claims first: a value goes only to a wait that was
   claimed, and a wait that cannot be claimed is dropped from its FIFO. When the choice is decided, all other branches leave, and
   only then the selector goes on. A value that has no free place on its way needs two claims, so one of both sides must be sure:
   a plain wait, which is no branch of a select.

   A branch may be a join, or the result of a future, which are one protocol: its end is told without a mutex, so a branch that
   could not leave is waited for (late). A branch may be a descriptor: it is tried after its claim, when the others have left, and may fail: then the selector begins again.

   What is to hold
     OneEnds      a selector gets or gives one value at most, by the branch that was chosen, and none if a stop has ended it
     Conserved    values that were given are with a selector, in a channel, or still to come
     Served       no value is in a channel while a selector waits there for one; no place while one waits to give one
     Untouched    when a selector goes on, none of its branches waits, and nothing is about to tell it
     Ends         a selector whose branch was chosen goes on                                            (liveness)
     Awaited      a selector goes on once a join of it has ended                                        (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Scenario, Cap, Stops, Closes, Wakes, Bug

\* The branches of each selector: <<kind, what>>. A plain selector has one branch, and no choice.
Branches ==
    CASE Scenario = 1 -> << << <<"get", 1>>, <<"get", 2>> >>, << <<"get", 2>>, <<"get", 1>> >>, << <<"give", 1>> >>, << <<"give", 2>> >> >>
      [] Scenario = 2 -> << << <<"get", 1>>, <<"give", 2>> >>, << <<"give", 1>>, <<"get", 2>> >>, << <<"give", 1>> >> >>
      [] Scenario = 3 -> << << <<"join", 1>>, <<"join", 2>>, <<"get", 1>> >>, << <<"get", 1>> >>, << <<"give", 1>> >> >>
      [] Scenario = 4 -> << << <<"read", 0>>, <<"get", 1>> >>, << <<"get", 1>> >>, << <<"give", 1>> >> >>
      [] Scenario = 5 -> << << <<"get", 1>>, <<"give", 1>> >>, << <<"hold", 1>>, <<"get", 2>> >>, << <<"give", 1>> >> >>
Plain(s) == Len(Branches[s]) = 1
Selectors == DOMAIN Branches
Channels == {1, 2}
Tasks == {1, 2}
Kind(s, i) == Branches[s][i][1]
What(s, i) == Branches[s][i][2]
Number(s, kind, c) == CHOOSE i \in DOMAIN Branches[s] : Branches[s][i] = <<kind, c>>
Holds(s, c) == \E i \in DOMAIN Branches[s] : Branches[s][i] = <<"hold", c>>  \* it waits for a place, not with a value
None == 9          \* for which a stop claims
Open == 0

VARIABLES buf, held,         \* elements and reserved places of each channel
          gets, gives,       \* the FIFOs of each channel
          closed,
          choice, at, in,    \* of each selector: what was chosen; the next branch to enter; those that wait
          pc, took,          \* took: <<values got, values given>>
          told,              \* is about to be told
          joiner, task,      \* of each task: the selector that joins it; how far it is
          late, more,        \* a selector: branches that could not leave, less those told; the count before it is added
          data, wake,        \* the socket
          stops, closes, wakes
vars == <<buf, held, gets, gives, closed, choice, at, in, pc, took, told, joiner, task, late, more, data, wake, stops, closes, wakes>>

Init == /\ buf = [c \in Channels |-> 0]
        /\ held = [c \in Channels |-> IF Scenario \in {2, 5} /\ c = 1 THEN Cap ELSE 0]
        /\ gets = [c \in Channels |-> <<>>] /\ gives = [c \in Channels |-> <<>>] /\ closed = [c \in Channels |-> FALSE]
        /\ choice = [s \in Selectors |-> Open] /\ at = [s \in Selectors |-> 1] /\ in = [s \in Selectors |-> {}]
        /\ pc = [s \in Selectors |-> "enter"] /\ took = [s \in Selectors |-> <<0, 0>>]
        /\ told = [s \in Selectors |-> FALSE]
        /\ joiner = [t \in Tasks |-> 0] /\ task = [t \in Tasks |-> "runs"]
        /\ late = [s \in Selectors |-> 0] /\ more = [s \in Selectors |-> 0] /\ data = (Scenario = 4) /\ wake = FALSE
        /\ stops = Stops /\ closes = Closes /\ wakes = Wakes

\* --- what happens under the mutex of channel c: b elements, k reserved places, the FIFOs, choices, what was taken, waits told -----
Now(c) == [b |-> buf[c], k |-> held[c], r |-> gets[c], q |-> gives[c], ch |-> choice, tk |-> took, td |-> {}]
Room(x) == x.b + x.k < Cap
\* Bug 1: what ends a wait does not claim it.
Can(x, s, i) == Plain(s) \/ x.ch[s] = Open \/ x.ch[s] = i \/ Bug = 1
Claimed(x, s, i) == IF Plain(s) THEN x ELSE [x EXCEPT !.ch[s] = i]
Sure(l) == \E j \in 1..Len(l) : Plain(l[j])
SureValue(l, c) == \E j \in 1..Len(l) : Plain(l[j]) /\ \A m \in 1..j : ~Holds(l[m], c)
\* The rest of a FIFO from the first wait on that can be claimed. Bug 2: a wait that cannot be claimed ends the search.
RECURSIVE Live(_, _, _, _)
Live(x, l, kind, c) == IF l = <<>> THEN <<>>
                       ELSE IF kind = "give" /\ Holds(Head(l), c) THEN l
                       ELSE IF Can(x, Head(l), Number(Head(l), kind, c)) THEN l
                       ELSE IF Bug = 2 THEN <<>> ELSE Live(x, Tail(l), kind, c)
HasValue(l, c) == l # <<>> /\ ~Holds(Head(l), c)
Got(x, s, c) == [Claimed(x, s, Number(s, "get", c)) EXCEPT !.tk[s][1] = @ + 1]
Gave(x, s, c) == [Claimed(x, s, Number(s, "give", c)) EXCEPT !.tk[s][2] = @ + 1]
\* A value goes to the first receiver that can be claimed, or into a free place. There is one of both. Bug 11: it is lost with a
\* receiver that cannot be claimed.
Deliver(x, c) == IF Bug = 11 /\ x.r # <<>> /\ ~Can(x, Head(x.r), Number(Head(x.r), "get", c)) THEN [x EXCEPT !.r = Tail(@)] ELSE
                 LET l == Live(x, x.r, "get", c) IN
                 IF l = <<>> THEN [x EXCEPT !.r = IF Bug = 2 THEN @ ELSE <<>>, !.b = @ + 1]
                 ELSE [Got([x EXCEPT !.r = Tail(l)], Head(l), c) EXCEPT !.td = @ \cup {Head(l)}]
\* channel_flow::hand_over, and the rest of admit_senders. Bug 3: two selects are claimed one after the other.
RECURSIVE Settled(_, _)
Settle(x, c) ==
    LET l == Live(x, x.q, "give", c) IN
    IF x.q = <<>> THEN x
    ELSE IF l = <<>> THEN (IF Room(x) \/ Sure(x.r) THEN [x EXCEPT !.q = <<>>] ELSE x)
    ELSE IF Holds(Head(l), c) THEN
      IF ~Room(x) THEN x
      ELSE LET rest == [x EXCEPT !.q = Tail(l)] IN
        IF ~Can(x, Head(l), Number(Head(l), "hold", c)) THEN Settled(rest, c)
        ELSE Settled([Claimed(rest, Head(l), Number(Head(l), "hold", c)) EXCEPT !.k = @ + 1, !.td = @ \cup {Head(l)}], c)
    ELSE LET y == [x EXCEPT !.q = l]
             gave == [Gave([y EXCEPT !.q = Tail(l)], Head(l), c) EXCEPT !.td = @ \cup {Head(l)}]
             r == Live(y, y.r, "get", c) IN
      IF Room(x) THEN Settled(Deliver(gave, c), c)
      ELSE IF x.r = <<>> THEN x
      ELSE IF Bug = 3 /\ r # <<>> /\ ~SureValue(l, c) THEN
        \* the claim of the sender may fail after that of the receiver
        LET z == Claimed([y EXCEPT !.r = Tail(r), !.td = @ \cup {Head(r)}], Head(r), Number(Head(r), "get", c)) IN
        IF Can(z, Head(l), Number(Head(l), "give", c))
          THEN [Gave([z EXCEPT !.q = Tail(l)], Head(l), c) EXCEPT !.td = @ \cup {Head(l)}, !.tk[Head(r)][1] = @ + 1] ELSE z
      ELSE IF SureValue(l, c) THEN
        IF r = <<>> THEN [x EXCEPT !.r = <<>>]
        ELSE LET z == [Got([y EXCEPT !.r = Tail(r)], Head(r), c) EXCEPT !.td = @ \cup {Head(r)}]
                 m == Live(z, z.q, "give", c) IN
             Settled([Gave([z EXCEPT !.q = Tail(m)], Head(m), c) EXCEPT !.td = @ \cup {Head(m)}], c)
      ELSE IF Sure(x.r) THEN Settled(Deliver(gave, c), c)
      ELSE x
\* With its argument as a value: TLC would work it out again at each use.
Settled(of, c) == CHOOSE y \in {Settle(x, c) : x \in {of}} : TRUE
Unlocked(of, c) == \E x \in {of} :
                  /\ buf' = [buf EXCEPT ![c] = x.b] /\ held' = [held EXCEPT ![c] = x.k]
                  /\ gets' = [gets EXCEPT ![c] = x.r] /\ gives' = [gives EXCEPT ![c] = x.q]
                  /\ choice' = x.ch /\ took' = x.tk
                  /\ told' = [s \in Selectors |-> told[s] \/ s \in x.td]

\* --- a selector enters its branches ----------------------------------------------------------------------------------------------
Enters(s, waits) ==
    LET n == IF waits THEN in[s] \cup {at[s]} ELSE in[s] IN
    /\ in' = [in EXCEPT ![s] = n] /\ at' = [at EXCEPT ![s] = @ + 1]
    /\ pc' = [pc EXCEPT ![s] = IF Plain(s) THEN (IF waits THEN "waits" ELSE "gone")
                               ELSE IF choice'[s] # Open THEN (IF choice'[s] \in n THEN "waits" ELSE "leaves")
                               ELSE IF at[s] = Len(Branches[s]) THEN "waits" ELSE "enter"]
Ready(s) == pc[s] = "enter"

\* Bug 4: a branch that can end at once does not claim its select.
EnterGet(s) ==
    LET i == at[s]
        c == What(s, i)
        x == Now(c)
        l == Live(x, x.q, "give", c)
        sure == x.b > 0 \/ SureValue(x.q, c) \/ (Plain(s) /\ HasValue(l, c))
        ends == closed[c] /\ x.b = 0 /\ x.k = 0 IN
    /\ Ready(s) /\ Kind(s, i) = "get"
    /\ IF (sure \/ ends) /\ (Can(x, s, i) \/ Bug = 4)
         THEN LET y == Claimed(x, s, i) IN
              /\ IF x.b > 0 THEN Unlocked(Settled(Got([y EXCEPT !.b = @ - 1], s, c), c), c)
                 ELSE IF sure THEN LET m == Live(y, y.q, "give", c) IN
                      Unlocked(Got([Gave([y EXCEPT !.q = Tail(m)], Head(m), c) EXCEPT !.td = @ \cup {Head(m)}], s, c), c)
                 ELSE Unlocked(y, c)
              /\ Enters(s, FALSE)
       ELSE IF sure \/ ends THEN Unlocked(x, c) /\ Enters(s, FALSE)  \* another branch has ended
       ELSE Unlocked([x EXCEPT !.r = Append(@, s), !.q = IF Plain(s) THEN l ELSE @], c) /\ Enters(s, TRUE)
    /\ UNCHANGED <<closed, joiner, task, late, more, data, wake, stops, closes, wakes>>

\* Bug 12: a select takes a place that is not free. Bug 15: a plain wait does not let a select receive.
EnterGive(s) ==
    LET i == at[s]
        c == What(s, i)
        x == Now(c)
        sure == x.q = <<>> /\ (Room(x) \/ (Bug = 12 /\ ~Plain(s)) \/ Sure(x.r) \/ (Plain(s) /\ Live(x, x.r, "get", c) # <<>>)) IN
    /\ Ready(s) /\ Kind(s, i) = "give"
    /\ IF closed[c] \/ sure
         THEN /\ IF ~(Can(x, s, i) \/ Bug = 4) THEN Unlocked(x, c)
                 ELSE IF closed[c] THEN Unlocked(Claimed(x, s, i), c)
                 ELSE Unlocked(Deliver(Gave(x, s, c), c), c)
              /\ Enters(s, FALSE)
         ELSE /\ LET y == [x EXCEPT !.q = Append(@, s)] IN Unlocked(IF Bug = 15 THEN y ELSE Settled(y, c), c)
              /\ Enters(s, TRUE)
    /\ UNCHANGED <<closed, joiner, task, late, more, data, wake, stops, closes, wakes>>

EnterHold(s) ==
    LET i == at[s]
        c == What(s, i)
        x == Now(c)
        sure == closed[c] \/ (x.q = <<>> /\ Room(x)) IN
    /\ Ready(s) /\ Kind(s, i) = "hold"
    /\ IF sure THEN Unlocked(IF ~Can(x, s, i) THEN x ELSE IF closed[c] THEN Claimed(x, s, i) ELSE [Claimed(x, s, i) EXCEPT !.k = @ + 1], c)
               ELSE Unlocked([x EXCEPT !.q = Append(@, s)], c)
    /\ Enters(s, ~sure)
    /\ UNCHANGED <<closed, joiner, task, late, more, data, wake, stops, closes, wakes>>

\* Bug 14: waits though the task has ended.
EnterJoin(s) ==
    LET t == What(s, at[s]) IN
    /\ Ready(s) /\ Kind(s, at[s]) = "join"
    /\ IF task[t] = "runs" \/ Bug = 14 THEN joiner' = [joiner EXCEPT ![t] = s] /\ UNCHANGED choice /\ Enters(s, TRUE)
       ELSE /\ choice' = [choice EXCEPT ![s] = IF @ = Open THEN at[s] ELSE @] /\ UNCHANGED joiner /\ Enters(s, FALSE)
    /\ UNCHANGED <<buf, held, gets, gives, closed, took, told, task, late, more, data, wake, stops, closes, wakes>>
EnterRead(s) == /\ Ready(s) /\ Kind(s, at[s]) = "read" /\ UNCHANGED choice /\ Enters(s, TRUE)
                /\ UNCHANGED <<buf, held, gets, gives, closed, took, told, joiner, task, late, more, data, wake, stops, closes, wakes>>

\* --- what ends it ------------------------------------------------------------------------------------------------------------------
\* A reserved place is given back.
GiveBack(c) == /\ held[c] > 0 /\ Unlocked(Settled([Now(c) EXCEPT !.k = @ - 1], c), c)
               /\ UNCHANGED <<closed, at, in, pc, joiner, task, late, more, data, wake, stops, closes, wakes>>

\* Bug 5: a close ends waits of selects that have ended by another branch.
Mine(s, c) == IF Holds(s, c) THEN "hold" ELSE "give"
Ended(l, c, gets_too) == {s \in {l[j] : j \in 1..Len(l)} : Bug = 5 \/ Can(Now(c), s, Number(s, IF gets_too THEN "get" ELSE Mine(s, c), c))}
Close(c) ==
    LET senders == Ended(gives[c], c, FALSE)
        receivers == IF buf[c] = 0 /\ held[c] = 0 THEN Ended(gets[c], c, TRUE) \ senders ELSE {}
        chosen == [s \in Selectors |-> IF Plain(s) THEN choice[s] ELSE IF s \in senders THEN Number(s, Mine(s, c), c)
                                       ELSE IF s \in receivers THEN Number(s, "get", c) ELSE choice[s]] IN
    /\ closes > 0 /\ ~closed[c] /\ closes' = closes - 1 /\ closed' = [closed EXCEPT ![c] = TRUE]
    /\ Unlocked([Now(c) EXCEPT !.q = <<>>, !.r = IF buf[c] = 0 /\ held[c] = 0 THEN <<>> ELSE @,
                               !.ch = chosen, !.td = senders \cup receivers], c)
    /\ UNCHANGED <<at, in, pc, joiner, task, late, more, data, wake, stops, wakes>>

\* A task ends, and tells what joins it, without a mutex.
End(t) == /\ task[t] = "runs" /\ task' = [task EXCEPT ![t] = IF joiner[t] = 0 THEN "ended" ELSE "tells"]
          /\ UNCHANGED <<buf, held, gets, gives, closed, choice, at, in, pc, took, told, joiner, late, more, data, wake, stops, closes, wakes>>
\* Bug 6: the last late one is told as such also if the selector does not wait for it yet.
TellJoin(t) ==
    LET s == joiner[t]
        i == Number(s, "join", t) IN
    /\ task[t] = "tells" /\ task' = [task EXCEPT ![t] = "ended"]
    /\ IF choice[s] = Open
         THEN choice' = [choice EXCEPT ![s] = i] /\ told' = [told EXCEPT ![s] = TRUE] /\ UNCHANGED late
         ELSE /\ late' = [late EXCEPT ![s] = @ - 1] /\ UNCHANGED choice
              /\ told' = [told EXCEPT ![s] = @ \/ (late[s] = 1 /\ Bug # 13) \/ Bug = 6]
    /\ UNCHANGED <<more, buf, held, gets, gives, closed, at, in, pc, took, joiner, data, wake, stops, closes, wakes>>

\* A stop, or a deadline. Bug 7: although a branch was chosen.
Stop(s) == /\ stops > 0 /\ ~Plain(s) /\ pc[s] = "waits" /\ (choice[s] = Open \/ Bug = 7)
           /\ stops' = stops - 1 /\ choice' = [choice EXCEPT ![s] = None] /\ pc' = [pc EXCEPT ![s] = "leaves"]
           /\ UNCHANGED <<buf, held, gets, gives, closed, at, in, took, told, joiner, task, late, more, data, wake, closes, wakes>>

\* --- it goes on -----------------------------------------------------------------------------------------------------------------------
Wake(s) == /\ pc[s] = "waits" /\ told[s] /\ told' = [told EXCEPT ![s] = FALSE]
           /\ pc' = [pc EXCEPT ![s] = IF Plain(s) THEN "gone" ELSE "leaves"]
           /\ UNCHANGED <<buf, held, gets, gives, closed, choice, at, in, took, joiner, task, late, more, data, wake, stops, closes, wakes>>

Without(l, s) == SelectSeq(l, LAMBDA u : u # s)
Left(s) == in[s] \ {choice[s]}
\* One branch leaves, under the mutex of its channel. Bug 8: it stays in its FIFO.
LeaveChannel(s) ==
    /\ pc[s] = "leaves" /\ \E i \in Left(s) :
        LET c == What(s, i)
            x == Now(c) IN
        /\ Kind(s, i) \in {"get", "give", "hold"} /\ in' = [in EXCEPT ![s] = @ \ {i}]
        /\ IF Bug = 8 THEN Unlocked(x, c)
           ELSE IF Kind(s, i) = "get" THEN Unlocked([x EXCEPT !.r = Without(@, s)], c)
           ELSE Unlocked(Settled([x EXCEPT !.q = Without(@, s)], c), c)
    /\ UNCHANGED <<closed, at, pc, joiner, task, late, more, data, wake, stops, closes, wakes>>
\* A join leaves, or is late. Bug 9: a late one is not waited for.
LeaveJoin(s) ==
    /\ pc[s] = "leaves" /\ \E i \in Left(s) :
        /\ Kind(s, i) = "join" /\ in' = [in EXCEPT ![s] = @ \ {i}]
        /\ IF task[What(s, i)] = "runs"
             THEN joiner' = [joiner EXCEPT ![What(s, i)] = 0] /\ UNCHANGED more
             ELSE more' = [more EXCEPT ![s] = IF Bug = 9 THEN @ ELSE @ + 1] /\ UNCHANGED joiner
    /\ UNCHANGED <<buf, held, gets, gives, closed, choice, at, pc, took, told, task, late, data, wake, stops, closes, wakes>>
LeaveRead(s) ==
    /\ pc[s] = "leaves" /\ \E i \in Left(s) : Kind(s, i) = "read" /\ in' = [in EXCEPT ![s] = @ \ {i}]
    /\ UNCHANGED <<buf, held, gets, gives, closed, choice, at, pc, took, told, joiner, task, late, more, data, wake, stops, closes, wakes>>

Chose(s) == IF choice[s] \in DOMAIN Branches[s] THEN Kind(s, choice[s]) ELSE "none"
\* All have left. A descriptor is tried now; if there is nothing, all begins again. Bug 10: it is tried though another was chosen.
GoOn(s) == /\ pc[s] = "leaves" /\ Left(s) = {} /\ UNCHANGED <<buf, held, gets, gives, closed, joiner, task, wake, stops, closes, wakes, told>>
           /\ late' = [late EXCEPT ![s] = @ + more[s]] /\ more' = [more EXCEPT ![s] = 0]
           /\ IF late'[s] # 0 THEN pc' = [pc EXCEPT ![s] = "late"] /\ UNCHANGED <<data, took, choice, at, in>>
              ELSE IF Chose(s) = "read" \/ (Bug = 10 /\ data /\ \E i \in DOMAIN Branches[s] : Kind(s, i) = "read")
                THEN IF data THEN /\ data' = FALSE /\ took' = [took EXCEPT ![s][1] = @ + 1] /\ pc' = [pc EXCEPT ![s] = "gone"]
                                  /\ in' = [in EXCEPT ![s] = {}] /\ UNCHANGED <<choice, at>>
                     ELSE /\ choice' = [choice EXCEPT ![s] = Open] /\ at' = [at EXCEPT ![s] = 1] /\ in' = [in EXCEPT ![s] = {}]
                          /\ pc' = [pc EXCEPT ![s] = "enter"] /\ UNCHANGED <<data, took>>
              ELSE pc' = [pc EXCEPT ![s] = "gone"] /\ in' = [in EXCEPT ![s] = {}] /\ UNCHANGED <<data, took, choice, at>>
LastLate(s) == /\ pc[s] = "late" /\ told[s] /\ told' = [told EXCEPT ![s] = FALSE] /\ pc' = [pc EXCEPT ![s] = "gone"]
               /\ in' = [in EXCEPT ![s] = {}]
               /\ UNCHANGED <<buf, held, gets, gives, closed, choice, at, took, joiner, task, late, more, data, wake, stops, closes, wakes>>

\* The source of a descriptor fires, perhaps without data. The selector claims, unless a branch was chosen.
Fires == /\ wakes > 0 /\ wakes' = wakes - 1 /\ wake' = TRUE
         /\ UNCHANGED <<more, buf, held, gets, gives, closed, choice, at, in, pc, took, told, joiner, task, late, data, stops, closes>>
Woken(s) == /\ pc[s] = "waits" /\ wake /\ wake' = FALSE /\ \E i \in in[s] :
               /\ Kind(s, i) = "read"
               /\ IF choice[s] = Open THEN choice' = [choice EXCEPT ![s] = i] /\ pc' = [pc EXCEPT ![s] = "leaves"]
                  ELSE UNCHANGED <<choice, pc>>
            /\ UNCHANGED <<more, buf, held, gets, gives, closed, at, in, took, told, joiner, task, late, data, stops, closes, wakes>>

Enter(s) == at[s] <= Len(Branches[s]) /\ (EnterGet(s) \/ EnterGive(s) \/ EnterHold(s) \/ EnterJoin(s) \/ EnterRead(s))
Leaves(s) == LeaveChannel(s) \/ LeaveJoin(s) \/ LeaveRead(s) \/ GoOn(s) \/ LastLate(s)
Next == \/ \E s \in Selectors : Enter(s) \/ Stop(s) \/ Wake(s) \/ Leaves(s) \/ Woken(s)
        \/ \E c \in Channels : GiveBack(c) \/ Close(c)
        \/ (Scenario = 3 /\ \E t \in Tasks : End(t) \/ TellJoin(t))
        \/ Fires
Fair == /\ \A s \in Selectors : WF_vars(Enter(s)) /\ WF_vars(Wake(s)) /\ WF_vars(Leaves(s)) /\ WF_vars(Woken(s))
        /\ \A c \in Channels : WF_vars(GiveBack(c))
        /\ (Scenario = 3 => \A t \in Tasks : WF_vars(End(t) \/ TellJoin(t)))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties -----------------------------------------------------------------------------------------------------------------------
Values(s) == took[s][1] + took[s][2]
OneEnds == \A s \in Selectors : Values(s) <= 1
                /\ (choice[s] = None => Values(s) = 0)
                /\ (choice[s] = Open /\ ~Plain(s) => Values(s) = 0)
                /\ (pc[s] = "gone" /\ ~Plain(s) => choice[s] # Open)
                /\ (Chose(s) \in {"get", "give"} /\ ~closed[What(s, choice[s])] => Values(s) = 1)
RECURSIVE Sum(_, _)
Sum(S, k) == IF S = {} THEN 0 ELSE LET s == CHOOSE u \in S : TRUE IN took[s][k] + Sum(S \ {s}, k)
Conserved == Sum(Selectors, 2) + (IF Scenario = 4 /\ ~data THEN 1 ELSE 0) = Sum(Selectors, 1) + buf[1] + buf[2]
\* A wait that can still be claimed.
Lives(s, kind, c) == Plain(s) \/ choice[s] = Open
Served == \A c \in Channels :
            /\ \A j \in 1..Len(gets[c]) : Lives(gets[c][j], "get", c) => buf[c] = 0
            /\ \A j \in 1..Len(gives[c]) : Lives(gives[c][j], "give", c) => buf[c] + held[c] >= Cap
            /\ (SureValue(gives[c], c) => \A j \in 1..Len(gets[c]) : ~Lives(gets[c][j], "get", c))
            /\ (Sure(gets[c]) /\ HasValue(gives[c], c) => ~Lives(Head(gives[c]), "give", c))
Untouched == \A s \in Selectors : pc[s] = "gone" =>
                /\ ~told[s]
                /\ \A c \in Channels : \A j \in 1..Len(gets[c]) : gets[c][j] # s
                /\ \A c \in Channels : \A j \in 1..Len(gives[c]) : gives[c][j] # s
                /\ \A t \in Tasks : ~(task[t] = "tells" /\ joiner[t] = s)
NoOverfill == \A c \in Channels : buf[c] + held[c] <= Cap
Ends == \A s \in Selectors : (~Plain(s) /\ choice[s] \notin {Open}) ~> (pc[s] = "gone" \/ choice[s] = Open)
Awaited == Scenario = 3 => <>(pc[1] = "gone")
=============================================================================
