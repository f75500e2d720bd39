----------------------------- MODULE JoinPorts -----------------------------
(* Joins: one message of each of several ports, all or nothing. detail/message/joining.hpp.

   A join locks its ports in the order of their numbers. If each has a message, it takes one of each; else it takes none, unlocks,
   and watches the first port that is empty. A message that comes to stay in a port ends all watches there. A watch begins under
   the mutex, and only in an empty port.

   What is to hold
     AllOrNothing  between two sections each join has as many messages of one port as of the other
     Conserved     each message is in its port, or was taken, once
     InOrder       a port gives its messages in order
     NoPairLeft    at rest, with all messages sent, no join waits that could take                     (liveness)
     Progress      a join that holds mutexes releases them                                            (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Joins, Messages, Bug

Ports == {1, 2}

VARIABLES queue,  \* the messages of each port
          sent,   \* how many were sent to each port
          got,    \* what each join took of each port
          lock,   \* which join has the mutex of each port, or 0
          watch,  \* the joins that watch each port
          pc, at  \* where each join is; the next port that it locks, or watches
vars == <<queue, sent, got, lock, watch, pc, at>>

\* Bug 1: every other join locks in the order that it names its ports.
First(j) == IF Bug = 1 /\ j % 2 = 0 THEN 2 ELSE 1
Other(p) == 3 - p

Init == /\ queue = [p \in Ports |-> <<>>] /\ sent = [p \in Ports |-> 0]
        /\ got = [j \in Joins |-> [p \in Ports |-> <<>>]]
        /\ lock = [p \in Ports |-> 0] /\ watch = [p \in Ports |-> {}]
        /\ pc = [j \in Joins |-> "first"] /\ at = [j \in Joins |-> 0]

Go(j, to) == pc' = [pc EXCEPT ![j] = to]

\* One section of a sender. Bug 2: the watches of one port are not told.
Send(p) == /\ sent[p] < Messages /\ lock[p] = 0
           /\ sent' = [sent EXCEPT ![p] = @ + 1] /\ queue' = [queue EXCEPT ![p] = Append(@, sent[p] + 1)]
           /\ LET told == IF Bug = 2 /\ p = 2 THEN {} ELSE watch[p]
              IN /\ pc' = [j \in Joins |-> IF j \in told THEN "first" ELSE pc[j]]
                 /\ watch' = [watch EXCEPT ![p] = @ \ told]
           /\ UNCHANGED <<got, lock, at>>

LockFirst(j) == /\ pc[j] = "first" /\ lock[First(j)] = 0 /\ lock' = [lock EXCEPT ![First(j)] = j] /\ Go(j, "second")
                /\ UNCHANGED <<queue, sent, got, watch, at>>
LockSecond(j) == LET p == Other(First(j))
                 IN /\ pc[j] = "second" /\ lock[p] = 0 /\ lock' = [lock EXCEPT ![p] = j] /\ Go(j, "look")
                    /\ UNCHANGED <<queue, sent, got, watch, at>>

\* Bug 6: takes the newest.
Chosen(q) == IF Bug = 6 THEN q[Len(q)] ELSE Head(q)
Left(q) == IF Bug = 6 THEN SubSeq(q, 1, Len(q) - 1) ELSE Tail(q)
TakeOf(j, ports) == /\ got' = [got EXCEPT ![j] = [p \in Ports |-> IF p \in ports THEN Append(@[p], Chosen(queue[p])) ELSE @[p]]]
                    /\ queue' = [p \in Ports |-> IF p \in ports /\ ~(Bug = 4 /\ p = 2) THEN Left(queue[p]) ELSE queue[p]]
Free(j) == lock' = [p \in Ports |-> IF lock[p] = j THEN 0 ELSE lock[p]]

\* Bug 3: takes what there is. Bug 4: leaves a message that it took.
Look(j) == /\ pc[j] = "look" /\ Free(j)
           /\ LET full == {p \in Ports : queue[p] # <<>>}
              IN IF full = Ports
                   THEN TakeOf(j, Ports) /\ Go(j, "first") /\ UNCHANGED at
                   ELSE /\ IF Bug = 3 THEN TakeOf(j, full) ELSE UNCHANGED <<got, queue>>
                        /\ at' = [at EXCEPT ![j] = CHOOSE p \in Ports \ full : \A q \in Ports \ full : p <= q]
                        /\ Go(j, "watch")
           /\ UNCHANGED <<sent, watch>>

\* Bug 5: begins the watch though a message has come meanwhile.
Watch(j) == /\ pc[j] = "watch" /\ lock[at[j]] = 0
            /\ IF queue[at[j]] # <<>> /\ Bug # 5
                 THEN Go(j, "first") /\ UNCHANGED watch
                 ELSE watch' = [watch EXCEPT ![at[j]] = @ \cup {j}] /\ Go(j, "waits")
            /\ UNCHANGED <<queue, sent, got, lock, at>>

Step(j) == LockFirst(j) \/ LockSecond(j) \/ Look(j) \/ Watch(j)
Next == (\E p \in Ports : Send(p)) \/ (\E j \in Joins : Step(j))
Fair == /\ \A p \in Ports : SF_vars(Send(p))
        /\ \A j \in Joins : SF_vars(LockFirst(j)) /\ SF_vars(LockSecond(j)) /\ WF_vars(Look(j)) /\ SF_vars(Watch(j))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------
Taken(p) == UNION {{got[j][p][i] : i \in 1..Len(got[j][p])} : j \in Joins}
Count(p) == LET RECURSIVE Sum(_)
                Sum(s) == IF s = {} THEN 0 ELSE LET j == CHOOSE j \in s : TRUE IN Len(got[j][p]) + Sum(s \ {j})
            IN Sum(Joins)
AllOrNothing == \A j \in Joins : Len(got[j][1]) = Len(got[j][2])
Conserved == \A p \in Ports : Count(p) + Len(queue[p]) = sent[p] /\ Cardinality(Taken(p)) = Count(p)
InOrder == \A j \in Joins : \A p \in Ports : \A a, b \in 1..Len(got[j][p]) : a < b => got[j][p][a] < got[j][p][b]
NoPairLeft == <>[](Count(1) = Messages /\ Count(2) = Messages)
Progress == \A j \in Joins : pc[j] = "second" ~> pc[j] # "second"
=============================================================================
