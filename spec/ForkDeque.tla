----------------------------- MODULE ForkDeque -----------------------------
(* The forked children of a worker: lockfree/fork_deque.hpp, as sched/forks.hpp uses it. The owner adds and takes
   back the newest; thieves take the oldest of those that are open, which are [top, split).

   A position of the ring is the position modulo the capacity. Each step is one access of shared memory; what the
   owner does to hidden items is no step of its own.

   What is to hold
     TakenOnce   each item is taken by at most one
     Right       who takes an item gets the one at that position, not one that was written over it
     Newest      the owner takes the newest of those that are left
     Oldest      thieves take the oldest of those that are left
     Emptied     what is forked is taken                                            (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Thieves, Items, Capacity, OpenMin, Bug

VARIABLES top, split, slot,
          bottom, forked, opc, seen,   \* the owner's: how many it has forked, where it is, the top that it has seen
          tpc, ttop, tsplit, titem,    \* of each thief: what it has seen of top and split, the item it has read
          left,                        \* the items that are not taken, oldest first
          wrong                        \* what must not be, by name
vars == <<top, split, slot, bottom, forked, opc, seen, tpc, ttop, tsplit, titem, left, wrong>>

At(position) == position % Capacity
Range(s) == {s[i] : i \in DOMAIN s}
Without(s, item) == SelectSeq(s, LAMBDA each : each # item)
Init == /\ top = 0 /\ split = 0 /\ slot = [i \in 0..(Capacity - 1) |-> 0]
        /\ bottom = 0 /\ forked = 0 /\ opc = "idle" /\ seen = 0
        /\ tpc = [t \in Thieves |-> "top"] /\ ttop = [t \in Thieves |-> 0]
        /\ tsplit = [t \in Thieves |-> 0] /\ titem = [t \in Thieves |-> 0]
        /\ left = << >> /\ wrong = {}
thief == <<tpc, ttop, tsplit, titem>>

\* What is wrong if `item` is taken, by the owner or a thief.
Taken(item, byOwner) ==
    /\ left' = Without(left, item)
    /\ wrong' = wrong \cup
         IF item \notin Range(left) THEN {IF item \in 1..forked THEN "twice" ELSE "nothing"}
         ELSE IF byOwner /\ item # left[Len(left)] THEN {"not newest"}
         ELSE IF ~byOwner /\ item # left[1] THEN {"not oldest"} ELSE {}

\* --- the owner --------------------------------------------------------------------------------------
Push == /\ opc = "idle" /\ forked < Items
        /\ bottom - top < Capacity \/ Bug = 5                                    \* bug 5: no look at the room
        /\ slot' = IF Bug = 8 THEN slot ELSE [slot EXCEPT ![At(bottom)] = forked + 1]
        /\ split' = IF Bug = 8 THEN bottom + 1 ELSE split                        \* bug 8: opened before it is written
        /\ bottom' = bottom + 1 /\ forked' = forked + 1 /\ left' = Append(left, forked + 1)
        /\ opc' = "see"
        /\ UNCHANGED <<top, seen, thief, wrong>>
\* Of what it has opened it looks at top, and then opens more.
See == /\ opc = "see" /\ seen' = top /\ opc' = "open"
       /\ slot' = IF Bug = 8 THEN [slot EXCEPT ![At(forked - 1)] = forked] ELSE slot
       /\ UNCHANGED <<top, split, bottom, forked, thief, left, wrong>>
Open == /\ opc = "open" /\ opc' = "idle"
        /\ split' = IF split = bottom \/ split - seen >= OpenMin THEN split
                    ELSE IF seen + OpenMin < bottom THEN seen + OpenMin ELSE bottom
        /\ UNCHANGED <<top, slot, bottom, forked, seen, thief, left, wrong>>
PopHidden == /\ opc = "idle" /\ split < bottom
             /\ bottom' = bottom - 1 /\ Taken(slot[At(bottom - 1)], TRUE)
             /\ opc' = "see"
             /\ UNCHANGED <<top, split, slot, forked, seen, thief>>
PopMove == /\ opc = "idle" /\ top # split
           /\ split = bottom \/ (Bug = 9 /\ split # 0)                           \* bug 9: what is hidden comes last
           /\ split' = split - 1 /\ opc' = "look"
           /\ UNCHANGED <<top, slot, bottom, forked, seen, thief, left, wrong>>
PopLook == /\ opc = "look"
           /\ LET now == IF Bug = 1 THEN seen ELSE top IN                         \* bug 1: an older look at top
              IF now < split THEN /\ bottom' = split /\ Taken(slot[At(split)], TRUE)
                                  /\ opc' = "see"
              ELSE /\ UNCHANGED <<bottom, left, wrong>>
                   /\ opc' = IF now = split /\ Bug # 10 THEN "race" ELSE "restore" \* bug 10: leaves the last
           /\ UNCHANGED <<top, split, slot, forked, seen, thief>>
PopRace == /\ opc = "race" /\ opc' = "restore"
           /\ IF top = split \/ Bug = 2                                          \* bug 2: a store, as of one thread
              THEN top' = split + 1 /\ Taken(slot[At(split)], TRUE)
              ELSE UNCHANGED <<top, left, wrong>>
           /\ UNCHANGED <<split, slot, bottom, forked, seen, thief>>
PopRestore == /\ opc = "restore" /\ opc' = "see"
              /\ split' = split + 1
              /\ UNCHANGED <<top, slot, bottom, forked, seen, thief, left, wrong>>

\* It takes the oldest: half of the ring, or all that is open. The items are its own writes: it reads the right ones.
BatchLook == /\ opc = "idle" /\ top < split /\ seen' = top /\ opc' = "batch"
             /\ UNCHANGED <<top, split, slot, bottom, forked, thief, left, wrong>>
Batch == /\ opc = "batch" /\ opc' = "idle"
         /\ LET open == split - seen
                count == IF open < Capacity \div 2 THEN open ELSE Capacity \div 2 IN
            IF top = seen \/ Bug = 11                                             \* bug 11: a store
            THEN /\ top' = seen + count
                 /\ left' = SelectSeq(left, LAMBDA each : each \notin {slot[At(seen + i)] : i \in 0..(count - 1)})
                 /\ wrong' = wrong \cup IF \A i \in 1..count : i <= Len(left) /\ left[i] = slot[At(seen + i - 1)]
                                        THEN {} ELSE {"twice"}
            ELSE UNCHANGED <<top, left, wrong>>
         /\ UNCHANGED <<split, slot, bottom, forked, seen, thief>>

\* --- a thief ----------------------------------------------------------------------------------------
StealTop(t) == /\ tpc[t] = IF Bug = 6 THEN "split" ELSE "top"                    \* bug 6: split before top
               /\ ttop' = [ttop EXCEPT ![t] = top]
               /\ tpc' = [tpc EXCEPT ![t] = IF Bug # 6 THEN "split"
                                            ELSE IF top >= tsplit[t] THEN "top" ELSE "read"]
               /\ UNCHANGED <<top, split, slot, bottom, forked, opc, seen, tsplit, titem, left, wrong>>
Seen == IF Bug = 7 THEN bottom ELSE split                                        \* bug 7: steals hidden ones
StealSplit(t) == /\ tpc[t] = IF Bug = 6 THEN "top" ELSE "split"
                 /\ tsplit' = [tsplit EXCEPT ![t] = split]
                 /\ tpc' = [tpc EXCEPT ![t] = IF Bug = 6 THEN "split"
                                              ELSE IF ttop[t] >= Seen THEN "top" ELSE "read"]
                 /\ UNCHANGED <<top, split, slot, bottom, forked, opc, seen, ttop, titem, left, wrong>>
StealRead(t) == /\ tpc[t] = "read" /\ titem' = [titem EXCEPT ![t] = slot[At(ttop[t])]]
                /\ tpc' = [tpc EXCEPT ![t] = "steal"]
                /\ UNCHANGED <<top, split, slot, bottom, forked, opc, seen, ttop, tsplit, left, wrong>>
Steal(t) == /\ tpc[t] = "steal"
            /\ IF top = ttop[t] \/ (Bug = 3 /\ top <= ttop[t] + 1)               \* bug 3: a store
               THEN /\ top' = ttop[t] + 1
                    /\ Taken(titem[t], FALSE)
               ELSE UNCHANGED <<top, left, wrong>>
            /\ tpc' = [tpc EXCEPT ![t] = "top"]
            /\ UNCHANGED <<split, slot, bottom, forked, opc, seen, ttop, tsplit, titem>>
\* bug 4: the slot is read when it may be written again.
StealLate(t) == /\ Bug = 4 /\ tpc[t] = "read" /\ top = ttop[t] /\ top' = top + 1
                /\ tpc' = [tpc EXCEPT ![t] = "late"]
                /\ UNCHANGED <<split, slot, bottom, forked, opc, seen, ttop, tsplit, titem, left, wrong>>
ReadLate(t) == /\ tpc[t] = "late" /\ Taken(slot[At(ttop[t])], FALSE)
               /\ tpc' = [tpc EXCEPT ![t] = "top"]
               /\ UNCHANGED <<top, split, slot, bottom, forked, opc, seen, ttop, tsplit, titem>>

Owner == Push \/ See \/ Open \/ PopHidden \/ PopMove \/ PopLook \/ PopRace \/ PopRestore
         \/ BatchLook \/ Batch
Thief(t) == StealTop(t) \/ StealSplit(t) \/ StealRead(t) \/ Steal(t) \/ StealLate(t) \/ ReadLate(t)
Next == Owner \/ \E t \in Thieves : Thief(t)
\* The owner joins what it forks: it does not only add.
Fair == WF_vars(Owner) /\ \A t \in Thieves : WF_vars(Thief(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------
TakenOnce == "twice" \notin wrong
Right == "nothing" \notin wrong
Newest == "not newest" \notin wrong
Oldest == "not oldest" \notin wrong
Emptied == <>(forked = Items /\ left = << >>)
=============================================================================
