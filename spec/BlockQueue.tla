---------------------------- MODULE BlockQueue ----------------------------
(* The ready queue: lockfree/block_queue.hpp. A locked list of lock-free blocks; one producer, several
   consumers, each attached to the block from which it claims. Blocks are used again.

   Each step is one access of shared memory, or what is done under the mutex.

   What is to hold
     ClaimedOnce    each item is claimed by one
     InOrder        items are claimed in the order of the pushes
     Right          who claims a slot reads the item that was pushed there
     NotShared      a block that is kept for reuse is off the list and nobody is attached to it
     HasSuccessor   a published full block has a successor
     Emptied        what is pushed is claimed                                             (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Consumers, Items, Size, Blocks, Bug

None == 0
VARIABLES read, written, slots,   \* of each block
          next, attached, listed, \* guarded by the mutex
          head, tail, spare, fresh, \* the list, the blocks kept for reuse, those never used
          ppc, filled, pushed,    \* of the producer: where it is, the block that it fills, how many it has pushed
          pc, at, seen, want,     \* of each consumer: where it is, its block, the read and the number it has seen
          claimed                 \* in the order of the claims: by whom, which slot, the item, 0 before it is read
vars == <<read, written, slots, next, attached, listed, head, tail, spare, fresh,
          ppc, filled, pushed, pc, at, seen, want, claimed>>

B == 1..Blocks
Init == /\ read = [b \in B |-> 0] /\ written = [b \in B |-> 0]
        /\ slots = [b \in B |-> [i \in 0..(Size - 1) |-> 0]]
        /\ next = [b \in B |-> None] /\ listed = [b \in B |-> b = 1]
        /\ attached = [b \in B |-> IF b = 1 THEN Cardinality(Consumers) ELSE 0]
        /\ head = 1 /\ tail = 1 /\ spare = {} /\ fresh = B \ {1}
        /\ ppc = "idle" /\ filled = 1 /\ pushed = 0
        /\ pc = [c \in Consumers |-> "read"] /\ at = [c \in Consumers |-> 1]
        /\ seen = [c \in Consumers |-> 0] /\ want = [c \in Consumers |-> 0]
        /\ claimed = << >>
list == <<next, attached, listed, head, spare>>
consumer == <<pc, at, seen, want, claimed>>

\* --- block_queue::push, one item at a time ------------------------------------------------------------------
WriteSlot == /\ ppc = "idle" /\ pushed < Items
             /\ IF Bug = 2 THEN UNCHANGED slots                                     \* bug 2: written after it is published
                ELSE slots' = [slots EXCEPT ![tail][written[tail]] = pushed + 1]
             /\ filled' = tail
             /\ ppc' = IF written[tail] + 1 = Size /\ Bug # 3 THEN "append" ELSE "publish"
             /\ UNCHANGED <<read, written, list, tail, fresh, pushed, consumer>>
\* block_queue::append_block: takes a spare block or a new one, resets it, and links it.
AppendBlock(b) == /\ ppc \in {"append", "late append"}
                  /\ b \in spare \/ (spare = {} /\ b \in fresh)
                  /\ spare' = spare \ {b} /\ fresh' = fresh \ {b}
                  /\ read' = IF Bug = 5 THEN read ELSE [read EXCEPT ![b] = 0]           \* bug 5: not reset
                  /\ written' = IF Bug = 5 THEN written ELSE [written EXCEPT ![b] = 0]
                  /\ next' = [next EXCEPT ![tail] = b, ![b] = None]
                  /\ listed' = [listed EXCEPT ![b] = TRUE]
                  /\ tail' = b
                  /\ ppc' = IF ppc = "append" THEN "publish" ELSE "idle"
                  /\ UNCHANGED <<slots, attached, head, filled, pushed, consumer>>
\* Without memory for a successor the block does not become full: the last item stays with the producer.
Refused == /\ ppc = "append" /\ spare = {} /\ fresh = {}
           /\ ppc' = IF Bug = 7 THEN "publish" ELSE "idle"                              \* bug 7: published all the same
           /\ UNCHANGED <<read, written, slots, list, tail, fresh, filled, pushed, consumer>>
Publish == /\ ppc = "publish"
           /\ written' = [written EXCEPT ![filled] = @ + 1] /\ pushed' = pushed + 1
           /\ ppc' = CASE Bug = 2 -> "write"
                       [] Bug = 3 /\ written[filled] + 1 = Size -> "late append"    \* bug 3: the successor comes after
                       [] OTHER -> "idle"
           /\ UNCHANGED <<read, slots, list, tail, fresh, filled, consumer>>
LateWrite == /\ ppc = "write" /\ ppc' = "idle"
             /\ slots' = [slots EXCEPT ![filled][written[filled] - 1] = pushed]
             /\ UNCHANGED <<read, written, list, tail, fresh, filled, pushed, consumer>>
Producer == WriteSlot \/ (\E b \in B : AppendBlock(b)) \/ Refused \/ Publish \/ LateWrite

\* --- consumer::claim, up to two items -------------------------------------------------------------------------
others == <<slots, next, tail, fresh, ppc, filled, pushed>>
LoadRead(c) == /\ pc[c] = "read"
               /\ seen' = [seen EXCEPT ![c] = read[at[c]]]
               /\ pc' = [pc EXCEPT ![c] = IF read[at[c]] = Size THEN "move" ELSE "written"]
               /\ UNCHANGED <<read, written, list, others, at, want, claimed>>
LoadWritten(c) == /\ pc[c] = "written"
                  /\ LET there == written[at[c]] - seen[c] IN
                     IF there <= 0 THEN pc' = [pc EXCEPT ![c] = "read"] /\ UNCHANGED want
                     ELSE /\ want' = [want EXCEPT ![c] = IF there > 1 THEN 2 ELSE 1]
                          /\ pc' = [pc EXCEPT ![c] = "claim"]
                  /\ UNCHANGED <<read, written, list, others, at, seen, claimed>>
\* The compare-exchange, and the slots, which nobody writes while the consumer is attached: read at the claim,
\* or later for the items of a wrong block to show.
Claim(c) == /\ pc[c] = "claim"
            /\ IF read[at[c]] = seen[c] \/ (Bug = 4 /\ read[at[c]] < seen[c] + want[c])  \* bug 4: a store
               THEN /\ read' = [read EXCEPT ![at[c]] = seen[c] + want[c]]
                    /\ pc' = [pc EXCEPT ![c] = "slots"]
                    /\ claimed' = claimed \o [i \in 1..want[c] |-> [by |-> c, slot |-> seen[c] + i - 1, item |-> 0]]
               ELSE pc' = [pc EXCEPT ![c] = "read"] /\ UNCHANGED <<read, claimed>>
            /\ UNCHANGED <<written, list, others, at, seen, want>>
\* What it has claimed and not read yet.
Open(c) == {k \in DOMAIN claimed : claimed[k].by = c /\ claimed[k].item = 0}
ReadSlots(c) == /\ pc[c] = "slots"
                /\ claimed' = [k \in DOMAIN claimed |->
                     IF k \in Open(c) THEN [claimed[k] EXCEPT !.item = slots[at[c]][claimed[k].slot]] ELSE claimed[k]]
                /\ pc' = [pc EXCEPT ![c] = "read"]
                /\ UNCHANGED <<read, written, list, others, at, seen, want>>

\* move_on, under the mutex: first_open, then detach.
RECURSIVE FirstOpen(_)
FirstOpen(b) == IF next[b] # None /\ (read[b] = Size \/ Bug = 6) THEN FirstOpen(next[b]) ELSE b \* bug 6: skips open blocks
RECURSIVE PathTo(_, _)
PathTo(b, end) == IF b = end THEN {} ELSE {b} \cup PathTo(next[b], end)
MoveOn(c) == /\ pc[c] = "move"
             /\ LET open == FirstOpen(head)
                    dropped == PathTo(head, open)
                    after == [attached EXCEPT ![open] = @ + 1]
                    left == IF at[c] = open THEN [after EXCEPT ![open] = @ - 1]
                                            ELSE [after EXCEPT ![at[c]] = @ - 1]
                    unlisted == [b \in B |-> listed[b] /\ b \notin dropped]
                IN /\ head' = open
                   /\ listed' = unlisted
                   /\ attached' = left
                   /\ spare' = spare \cup {b \in dropped \cup {at[c]} :
                                ~unlisted[b] /\ (left[b] = 0 \/ (Bug = 1 /\ b = at[c]))} \* bug 1: others are still there
                   /\ at' = [at EXCEPT ![c] = open]
             /\ pc' = [pc EXCEPT ![c] = "read"]
             /\ UNCHANGED <<read, written, others, seen, want, claimed>>
Consumer(c) == LoadRead(c) \/ LoadWritten(c) \/ Claim(c) \/ ReadSlots(c) \/ MoveOn(c)

Next == Producer \/ \E c \in Consumers : Consumer(c)
Fair == WF_vars(Producer) /\ \A c \in Consumers : WF_vars(Consumer(c))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------
Known == {k \in DOMAIN claimed : k \notin Open(claimed[k].by) \/ pc[claimed[k].by] # "slots"}
ClaimedOnce == \A j, k \in Known : j # k => claimed[j].item # claimed[k].item
Right == \A k \in Known : claimed[k].item \in 1..Items
InOrder == \A j, k \in Known : j < k => claimed[j].item < claimed[k].item
NotShared == \A b \in spare : ~listed[b] /\ attached[b] = 0
HasSuccessor == \A b \in B : listed[b] /\ written[b] = Size => next[b] # None
Emptied == <>(Len(claimed) = Items)
=============================================================================
