----------------------------- MODULE RunQueue -----------------------------
(* The run of a slot: lockfree/run_queue.hpp. Its owner adds and takes, thieves take the older half.

   `head` and `tail` only grow; a slot of the ring is the position modulo the capacity. Each step is one
   access of shared memory.

   What is to hold
     TakenOnce    each item is taken by at most one
     Right        who takes an item gets the one at that position, not one that was written over it
     NothingLost  what is in the ring is what was added and not taken
     InOrder      the oldest is taken first
     Emptied      what is added is taken                                             (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Thieves, Items, Capacity, Bug

VARIABLES head, tail, slot,
          opc, oseen, oitem,       \* of the owner: where it is, the head it has seen, the item it has read
          added,                   \* how many items it has added
          tpc, tseen, tcount, tread, \* of each thief: the head, how many, the items it has read
          taken                    \* the item that was taken from each position before the head
vars == <<head, tail, slot, opc, oseen, oitem, added, tpc, tseen, tcount, tread, taken>>

At(position) == position % Capacity
Unread == -1 \* for a position that was taken, but not read yet
Init == /\ head = 0 /\ tail = 0 /\ slot = [i \in 0..(Capacity - 1) |-> 0]
        /\ opc = "idle" /\ oseen = 0 /\ oitem = 0 /\ added = 0
        /\ tpc = [t \in Thieves |-> "head"] /\ tseen = [t \in Thieves |-> 0]
        /\ tcount = [t \in Thieves |-> 0] /\ tread = [t \in Thieves |-> << >>]
        /\ taken = << >>
thief == <<tpc, tseen, tcount, tread>>
owner == <<opc, oseen, oitem, added>>

\* --- the owner --------------------------------------------------------------------------------------
Room == /\ opc = "idle" /\ added < Items
        /\ tail - head < Capacity \/ Bug = 3                                     \* bug 3: no look at the room
        /\ opc' = IF Bug = 4 THEN "publish" ELSE "write"
        /\ UNCHANGED <<head, tail, slot, oseen, oitem, added, thief, taken>>
Write == /\ opc = "write"
         /\ slot' = [slot EXCEPT ![At(added)] = added + 1]
         /\ opc' = IF Bug = 4 THEN "idle" ELSE "publish"
         /\ added' = IF Bug = 4 THEN added + 1 ELSE added
         /\ UNCHANGED <<head, tail, oseen, oitem, thief, taken>>
Push == /\ opc = "publish" /\ tail' = tail + 1
        /\ IF Bug = 4 THEN opc' = "write" /\ UNCHANGED added                     \* bug 4: published before it is written
                      ELSE opc' = "idle" /\ added' = added + 1
        /\ UNCHANGED <<head, slot, oseen, oitem, thief, taken>>
PopLoad == /\ opc = "idle" /\ head # tail
           /\ Bug = 6 => tail - head > 1                                         \* bug 6: leaves the last
           /\ oseen' = head /\ opc' = "read"
           /\ UNCHANGED <<head, tail, slot, oitem, added, thief, taken>>
PopRead == /\ opc = "read" /\ oitem' = slot[At(oseen)] /\ opc' = "pop"
           /\ UNCHANGED <<head, tail, slot, oseen, added, thief, taken>>
Pop == /\ opc = "pop" /\ opc' = "idle"
       /\ IF head = oseen \/ Bug = 2                                             \* bug 2: a store, as by one thread
          THEN head' = oseen + 1 /\ taken' = Append(taken, oitem)
          ELSE UNCHANGED <<head, taken>>
       /\ UNCHANGED <<tail, slot, oseen, oitem, added, thief>>

\* --- a thief -----------------------------------------------------------------------------------------
StealHead(t) == /\ tpc[t] = "head"
                /\ tseen' = [tseen EXCEPT ![t] = head] /\ tpc' = [tpc EXCEPT ![t] = "tail"]
                /\ UNCHANGED <<head, tail, slot, owner, tcount, tread, taken>>
\* Half of what it sees; nothing if its head is too old.
StealTail(t) == /\ tpc[t] = "tail"
                /\ LET there == tail - tseen[t] IN
                   IF there <= 0 \/ there > Capacity
                   THEN tpc' = [tpc EXCEPT ![t] = "head"] /\ UNCHANGED <<tcount, tread>>
                   ELSE /\ tcount' = [tcount EXCEPT ![t] = there - there \div 2]
                        /\ tread' = [tread EXCEPT ![t] = << >>]
                        /\ tpc' = [tpc EXCEPT ![t] = IF Bug = 5 THEN "steal" ELSE "read"]
                /\ UNCHANGED <<head, tail, slot, owner, tseen, taken>>
StealRead(t) == /\ tpc[t] = "read"
                /\ LET position == tseen[t] + Len(tread[t])
                       item == slot[At(position)] IN
                   /\ tread' = [tread EXCEPT ![t] = Append(@, item)]
                   /\ taken' = IF Bug = 5 THEN [taken EXCEPT ![position + 1] = item] ELSE taken
                   /\ tpc' = [tpc EXCEPT ![t] = IF Len(tread[t]) + 1 < tcount[t] THEN "read"
                                                ELSE IF Bug = 5 THEN "head" ELSE "steal"]
                /\ UNCHANGED <<head, tail, slot, owner, tseen, tcount>>
Steal(t) == /\ tpc[t] = "steal"
            /\ IF head = tseen[t] \/ (Bug = 1 /\ head <= tseen[t] + tcount[t])   \* bug 1: a store
               THEN /\ head' = tseen[t] + tcount[t]
                    /\ taken' = taken \o IF Bug = 5 THEN [i \in 1..tcount[t] |-> Unread] ELSE tread[t]
                    /\ tpc' = [tpc EXCEPT ![t] = IF Bug = 5 THEN "read" ELSE "head"] \* bug 5: read after the exchange
               ELSE /\ tpc' = [tpc EXCEPT ![t] = "head"] /\ UNCHANGED <<head, taken>>
            /\ UNCHANGED <<tail, slot, owner, tseen, tcount, tread>>

Owner == Room \/ Write \/ Push \/ PopLoad \/ PopRead \/ Pop
Thief(t) == StealHead(t) \/ StealTail(t) \/ StealRead(t) \/ Steal(t)
Next == Owner \/ \E t \in Thieves : Thief(t)
Fair == WF_vars(Owner)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------
Range(s) == {s[i] : i \in DOMAIN s}
had == SelectSeq(taken, LAMBDA item : item # Unread)
TakenOnce == Cardinality(Range(had)) = Len(had)
Right == Range(had) \subseteq 1..Items
NothingLost == /\ Range(had) \cap {slot[At(p)] : p \in head..(tail - 1)} = {}
               /\ Len(taken) = head
InOrder == \A i, j \in DOMAIN had : i < j => had[i] < had[j]
Emptied == <>(Len(taken) = Items)
=============================================================================
