---------------------------- MODULE FrontQueue ----------------------------
(* The queue through which everything enters: lockfree/front_queue.hpp.

   Producers push nodes onto a stack with one exchange; the holder of the role takes the stack as a
   whole and turns it over. Each step below is one access of shared memory. A node belongs to the queue
   from the exchange on: it may be freed before the push returns.

   What is to hold
     TakenOnce       every node that was pushed is in the stack, in the hands of the taker, or taken
     InOrder         nodes of one producer are taken in the order of its pushes
     EmptyIsExact    for each batch exactly one push answered that the queue was empty
     NotTouched      no producer touches a node after its push
     Emptied         what is pushed is taken                                              (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Producers,   \* threads that push
          Pushes,      \* how many nodes each pushes
          Bug          \* 0, or one of the seeded bugs below

None == <<0, 0>>                        \* no node
Nodes == Producers \X (1..Pushes)       \* <<producer, number>>

VARIABLES top,         \* the newest node, or None
          next,        \* the link of each node
          pc, seen,    \* of each producer: where it is, and the top that it expects
          sent,        \* of each producer: how many nodes it has pushed
          empties,     \* pushes that answered "it was empty"
          tpc, hand,   \* of the taker: where it is, and the stack that it has taken
          taken,       \* what it has taken, oldest first
          batches,     \* how many batches it has taken
          freed,       \* nodes that the taker has freed
          touched      \* whether a freed node was touched
vars == <<top, next, pc, seen, sent, empties, tpc, hand, taken, batches, freed, touched>>

Init == /\ top = None /\ next = [n \in Nodes |-> None]
        /\ pc = [p \in Producers |-> "load"] /\ seen = [p \in Producers |-> None]
        /\ sent = [p \in Producers |-> 0] /\ empties = 0
        /\ tpc = "take" /\ hand = None /\ taken = << >> /\ batches = 0
        /\ freed = {} /\ touched = FALSE

Mine(p) == <<p, sent[p] + 1>>

\* --- front_queue::push -----------------------------------------------------------------------------
Load(p) == /\ pc[p] = "load" /\ sent[p] < Pushes
           /\ seen' = [seen EXCEPT ![p] = top]
           /\ pc' = [pc EXCEPT ![p] = IF Bug = 5 THEN "exchange" ELSE "link"]
           /\ empties' = IF Bug = 1 /\ top = None THEN empties + 1 ELSE empties    \* bug 1: the first load answers
           /\ UNCHANGED <<top, next, sent, tpc, hand, taken, batches, freed, touched>>

Link(p) == /\ pc[p] = "link"
           /\ next' = [next EXCEPT ![Mine(p)] = seen[p]]
           /\ pc' = [pc EXCEPT ![p] = "exchange"]
           /\ UNCHANGED <<top, seen, sent, empties, tpc, hand, taken, batches, freed, touched>>

\* The compare-exchange; it may fail for no reason.
Push(p) == /\ pc[p] = "exchange"
           /\ \/ /\ top = seen[p] \/ Bug = 2                                       \* bug 2: a store
                 /\ top' = Mine(p)
                 /\ empties' = IF Bug # 1 /\ seen[p] = None THEN empties + 1 ELSE empties
                 /\ pc' = [pc EXCEPT ![p] = IF Bug = 5 THEN "late" ELSE "load"]
                 /\ sent' = IF Bug = 5 THEN sent ELSE [sent EXCEPT ![p] = @ + 1]
                 /\ UNCHANGED seen
              \/ /\ Bug # 2
                 /\ seen' = [seen EXCEPT ![p] = top]
                 /\ pc' = [pc EXCEPT ![p] = IF Bug = 5 THEN "exchange" ELSE "link"]
                 /\ UNCHANGED <<top, empties, sent>>
           /\ UNCHANGED <<next, tpc, hand, taken, batches, freed, touched>>

LateLink(p) == /\ pc[p] = "late"                                                   \* bug 5: linked after the exchange
               /\ next' = [next EXCEPT ![Mine(p)] = seen[p]]
               /\ touched' = (touched \/ Mine(p) \in freed)
               /\ sent' = [sent EXCEPT ![p] = @ + 1] /\ pc' = [pc EXCEPT ![p] = "load"]
               /\ UNCHANGED <<top, seen, empties, tpc, hand, taken, batches, freed>>

\* --- front_queue::take_all --------------------------------------------------------------------------
TakeAll == /\ tpc = "take" /\ top # None
           /\ hand' = top /\ batches' = batches + 1
           /\ IF Bug = 3 THEN tpc' = "clear" /\ UNCHANGED top                      \* bug 3: a load, then a store
                         ELSE tpc' = "turn" /\ top' = None
           /\ UNCHANGED <<next, pc, seen, sent, empties, taken, freed, touched>>

Clear == /\ tpc = "clear" /\ top' = None /\ tpc' = "turn"
         /\ UNCHANGED <<next, pc, seen, sent, empties, hand, taken, batches, freed, touched>>

RECURSIVE Below(_)
Below(n) == IF n = None THEN << >> ELSE Append(Below(next[n]), n)                  \* oldest first
RECURSIVE Above(_)
Above(n) == IF n = None THEN << >> ELSE <<n>> \o Above(next[n])                    \* newest first

TurnOver == /\ tpc = "turn"
            /\ LET all == CASE Bug = 4 -> Above(hand)                              \* bug 4: not turned over
                            [] Bug = 6 -> <<hand>>                                 \* bug 6: only the newest
                            [] OTHER -> Below(hand)
               IN /\ taken' = taken \o all
                  /\ freed' = freed \cup {all[i] : i \in DOMAIN all}
            /\ hand' = None /\ tpc' = "take"
            /\ UNCHANGED <<top, next, pc, seen, sent, empties, batches, touched>>

Producer(p) == Load(p) \/ Link(p) \/ Push(p) \/ LateLink(p)
Taker == TakeAll \/ Clear \/ TurnOver
Done == (\A p \in Producers : sent[p] = Pushes) /\ top = None /\ tpc = "take" /\ UNCHANGED vars
Next == (\E p \in Producers : Producer(p)) \/ Taker \/ Done
Fair == WF_vars(Taker)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ---------------------------------------------------------------------------------------
Pushed == {n \in Nodes : n[2] <= sent[n[1]]}
InStack == LET s == Below(top) IN {s[i] : i \in DOMAIN s}
InHand == LET s == Below(hand) IN IF tpc = "turn" THEN {s[i] : i \in DOMAIN s} ELSE {}
Taken == {taken[i] : i \in DOMAIN taken}

TakenOnce == /\ Cardinality(Taken) = Len(taken)
             /\ \A n \in Pushed : n \in InStack \cup InHand \cup Taken
             /\ InStack \cap Taken = {} /\ InHand \cap Taken = {}
InOrder == \A i, j \in DOMAIN taken :
             i < j /\ taken[i][1] = taken[j][1] => taken[i][2] < taken[j][2]
EmptyIsExact == (\A p \in Producers : pc[p] = "load") =>
                  empties = batches + (IF top = None \/ tpc = "clear" THEN 0 ELSE 1)
NotTouched == ~touched
Emptied == \A n \in Nodes : (n \in Pushed) ~> (n \in Taken)
=============================================================================
