----------------------------- MODULE JoinPorts -----------------------------
(* Joins: one message of each of several ports, all or nothing. detail/message/joining.hpp.

   A join locks its ports in the order of their numbers. If each has a message, it takes one of each; else it takes none, unlocks,
   and watches the first port that is empty, and waits for the end of the other one. A message that comes to stay in a port ends all
   watches there. A watch begins under the mutex, and only in an empty port. A port that is closed and empty ends the joins that
   watch it or wait for its end. A message whose deadline has passed (Late) is dropped when it would be taken, and takes none of the
   other port with it. With Others, receivers take messages, too.

   What is to hold
     AllOrNothing  between two sections each join has as many messages of one port as of the other
     Conserved     each message is in its port, or was taken, once; only late ones are dropped, and no join takes one
     InOrder       a port gives its messages in order
     NoPairLeft    in the end a port is empty                                                         (liveness)
     Ended         a join ends when one of its ports is closed and empty                              (liveness)
     Progress      a join that holds mutexes releases them                                            (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Joins, Messages, Late, Others, Bug  \* Late: message n of port p is 10 * p + n

Ports == {1, 2}

VARIABLES queue,   \* the messages of each port
          sent,    \* how many were sent to each port
          got,     \* what each join took of each port
          dropped, \* the late messages that joins dropped, of each port
          gone,    \* how many other receivers took of each port
          lock,    \* which join has the mutex of each port, or 0
          closed,  \* the ports that are closed
          watch,   \* the joins that watch each port
          ends,    \* the joins that wait for the end of each port alone
          pc, at   \* where each join is; the port that it will watch
vars == <<queue, sent, got, dropped, gone, lock, closed, watch, ends, pc, at>>

\* Bug 1: every other join locks in the order that it names its ports.
First(j) == IF Bug = 1 /\ j % 2 = 0 THEN 2 ELSE 1
Other(p) == 3 - p

Init == /\ queue = [p \in Ports |-> <<>>] /\ sent = [p \in Ports |-> 0]
        /\ got = [j \in Joins |-> [p \in Ports |-> <<>>]] /\ dropped = [p \in Ports |-> {}] /\ gone = [p \in Ports |-> 0]
        /\ lock = [p \in Ports |-> 0] /\ closed = {} /\ watch = [p \in Ports |-> {}] /\ ends = [p \in Ports |-> {}]
        /\ pc = [j \in Joins |-> "first"] /\ at = [j \in Joins |-> 0]

Go(j, to) == pc' = [pc EXCEPT ![j] = to]

\* Joins that are told leave all FIFOs, and are at `to`.
Tell(told, to) == /\ pc' = [j \in Joins |-> IF j \in told THEN to ELSE pc[j]]
                  /\ watch' = [p \in Ports |-> watch[p] \ told] /\ ends' = [p \in Ports |-> ends[p] \ told]

\* One section of a sender. Bug 2: the watches of one port are not told.
Send(p) == /\ sent[p] < Messages /\ lock[p] = 0
           /\ sent' = [sent EXCEPT ![p] = @ + 1] /\ queue' = [queue EXCEPT ![p] = Append(@, sent[p] + 1)]
           /\ Tell(IF Bug = 2 /\ p = 2 THEN {} ELSE watch[p], "first")
           /\ UNCHANGED <<got, dropped, gone, lock, closed, at>>

\* All messages of the port were sent.
Close(p) == /\ sent[p] = Messages /\ p \notin closed /\ lock[p] = 0 /\ closed' = closed \cup {p}
            /\ Tell(IF queue[p] = <<>> THEN watch[p] \cup ends[p] ELSE {}, "end")
            /\ UNCHANGED <<queue, sent, got, dropped, gone, lock, at>>

\* Another receiver. Bug 8: does not tell that the last message was taken.
Receive(p) == /\ Others /\ queue[p] # <<>> /\ lock[p] = 0
              /\ queue' = [queue EXCEPT ![p] = Tail(@)] /\ gone' = [gone EXCEPT ![p] = @ + 1]
              /\ Tell(IF p \in closed /\ Len(queue[p]) = 1 /\ Bug # 8 THEN ends[p] ELSE {}, "end")
              /\ UNCHANGED <<sent, got, dropped, lock, closed, at>>

LockFirst(j) == /\ pc[j] = "first" /\ lock[First(j)] = 0 /\ lock' = [lock EXCEPT ![First(j)] = j] /\ Go(j, "second")
                /\ UNCHANGED <<queue, sent, got, dropped, gone, closed, watch, ends, at>>
LockSecond(j) == LET p == Other(First(j))
                 IN /\ pc[j] = "second" /\ lock[p] = 0 /\ lock' = [lock EXCEPT ![p] = j] /\ Go(j, "look")
                    /\ UNCHANGED <<queue, sent, got, dropped, gone, closed, watch, ends, at>>

\* Bug 6: takes the newest.
Chosen(q) == IF Bug = 6 THEN q[Len(q)] ELSE Head(q)
Left(q) == IF Bug = 6 THEN SubSeq(q, 1, Len(q) - 1) ELSE Tail(q)
TakeOf(j, ports) == /\ got' = [got EXCEPT ![j] = [p \in Ports |-> IF p \in ports THEN Append(@[p], Chosen(queue[p])) ELSE @[p]]]
                    /\ queue' = [p \in Ports |-> IF p \in ports /\ ~(Bug = 4 /\ p = 2) THEN Left(queue[p]) ELSE queue[p]]
Free(j) == lock' = [p \in Ports |-> IF lock[p] = j THEN 0 ELSE lock[p]]

IsLate(p) == queue[p] # <<>> /\ 10 * p + Head(queue[p]) \in Late
DropOf(ports) == /\ dropped' = [p \in Ports |-> IF p \in ports THEN dropped[p] \cup {Head(queue[p])} ELSE dropped[p]]
                 /\ queue' = [p \in Ports |-> IF p \in ports THEN Tail(queue[p]) ELSE queue[p]]

\* Bug 3: takes what there is. Bug 4: leaves a message that it took. Bug 9: drops what would have been taken with a late one.
\* Bug 10: hands a late message on. Bug 11: waits after a drop, for the end alone.
\* A join that waits for an end watches an empty port: so none waits here while both ports have a message.
Look(j) == /\ pc[j] = "look" /\ Free(j)
           /\ LET full == {p \in Ports : queue[p] # <<>>}
                  late == {p \in Ports : IsLate(p) /\ Bug # 10}
              IN IF full # Ports
                   THEN /\ IF Bug = 3 THEN TakeOf(j, full) ELSE UNCHANGED <<got, queue>>
                        /\ at' = [at EXCEPT ![j] = CHOOSE p \in Ports \ full : \A q \in Ports \ full : p <= q]
                        /\ Go(j, "watch") /\ UNCHANGED dropped
                 ELSE IF late = {}
                   THEN TakeOf(j, Ports) /\ Go(j, "first") /\ UNCHANGED <<dropped, at>>
                   ELSE /\ DropOf(IF Bug = 9 THEN Ports ELSE late) /\ UNCHANGED got
                        /\ IF Bug = 11 THEN Go(j, "await") /\ at' = [at EXCEPT ![j] = 1] ELSE Go(j, "first") /\ UNCHANGED at
           /\ UNCHANGED <<sent, gone, closed, watch, ends>>

\* Bug 5: begins the watch though a message has come meanwhile. Bug 7: does not wait for the end of the other port.
Drained(p) == p \in closed /\ queue[p] = <<>>
Watch(j) == /\ pc[j] = "watch" /\ lock[at[j]] = 0
            /\ IF queue[at[j]] # <<>> /\ Bug # 5
                 THEN Go(j, "first") /\ UNCHANGED watch
               ELSE IF Drained(at[j])
                 THEN Go(j, "end") /\ UNCHANGED watch
                 ELSE watch' = [watch EXCEPT ![at[j]] = @ \cup {j}] /\ Go(j, IF Bug = 7 THEN "waits" ELSE "await")
            /\ UNCHANGED <<queue, sent, got, dropped, gone, lock, closed, ends, at>>
Await(j) == LET p == Other(at[j])
            IN /\ pc[j] = "await" /\ lock[p] = 0
               /\ IF Drained(p) THEN Tell({j}, "end")
                  ELSE ends' = [ends EXCEPT ![p] = @ \cup {j}] /\ Go(j, "waits") /\ UNCHANGED watch
               /\ UNCHANGED <<queue, sent, got, dropped, gone, lock, closed, at>>

Step(j) == LockFirst(j) \/ LockSecond(j) \/ Look(j) \/ Watch(j) \/ Await(j)
Next == (\E p \in Ports : Send(p) \/ Close(p) \/ Receive(p)) \/ (\E j \in Joins : Step(j))
Fair == /\ \A p \in Ports : SF_vars(Send(p))
        /\ \A j \in Joins : SF_vars(LockFirst(j)) /\ SF_vars(LockSecond(j)) /\ WF_vars(Look(j)) /\ SF_vars(Watch(j))
                          /\ SF_vars(Await(j))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------
Taken(p) == UNION {{got[j][p][i] : i \in 1..Len(got[j][p])} : j \in Joins}
Count(p) == LET RECURSIVE Sum(_)
                Sum(s) == IF s = {} THEN 0 ELSE LET j == CHOOSE j \in s : TRUE IN Len(got[j][p]) + Sum(s \ {j})
            IN Sum(Joins)
AllOrNothing == \A j \in Joins : Len(got[j][1]) = Len(got[j][2])
Conserved == \A p \in Ports : /\ Count(p) + gone[p] + Len(queue[p]) + Cardinality(dropped[p]) = sent[p]
                              /\ Cardinality(Taken(p)) = Count(p)
                              /\ \A m \in dropped[p] : 10 * p + m \in Late
                              /\ \A m \in Taken(p) : 10 * p + m \notin Late
InOrder == \A j \in Joins : \A p \in Ports : \A a, b \in 1..Len(got[j][p]) : a < b => got[j][p][a] < got[j][p][b]
NoPairLeft == <>[](\E p \in Ports : sent[p] = Messages /\ queue[p] = <<>>)
Ended == \A p \in Ports : \A j \in Joins : Drained(p) ~> pc[j] = "end"
Progress == \A j \in Joins : pc[j] = "second" ~> pc[j] # "second"
=============================================================================
