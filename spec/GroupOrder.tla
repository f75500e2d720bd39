----------------------------- MODULE GroupOrder ------------------------------
(* The order of the tasks of one group that goes by deadlines: sched/{deadline_order,group_queue}. Tasks with a deadline
   are in a heap, those without one in a FIFO. A turn takes some tasks. The first of them begins, and further ones, in
   order; what has not begun when the turn is over is put back, from the last to the first. The holder of the role takes
   and puts back, so a step is a whole call; tasks come between turns and during one. One worker.

   A task with a deadline may find no memory: then it is in the FIFO, as one without a deadline.
   The heap is here a sequence, in the order in which tasks came, for which the code has numbers.

   What is to hold
     Kept        a task is in one place
     Earliest    what is taken from the heap has the earliest deadline, of equal ones the first that came
     Fifo        tasks of the FIFO begin in the order in which they came
     Overtaken   while a task is the first of the FIFO at most AheadMax tasks with a deadline are taken, and begin
     Restored    what is put back would be taken next, in the same order
     Served      a task without a deadline begins, though others with one come for ever            (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Plain, Dated,   \* tasks without and with a deadline; each comes again after it has begun
          Deadlines, AheadMax, TurnMax, Misses, Bug

VARIABLES heap, fifo,     \* of <<task, deadline>>
          turn,           \* taken, not begun; and whether a task waited in the FIFO then
          ahead,          \* so many were taken from the heap while a task waited in the FIFO
          phase,          \* of the role: out, it deals, it puts back
          misses,         \* how often there is no memory yet
          came,           \* tasks of the FIFO that have not begun, in order
          over,           \* so many began while the first of these was the first
          good,           \* Earliest and Fifo so far
          back, alike     \* what the turn has put back; nothing has come, and there was memory, since the deal
queue == <<heap, fifo, ahead>>
ghosts == <<came, over, good, back, alike>>
vars == <<queue, turn, phase, misses, ghosts>>

None == 0                 \* later than every deadline
Init == /\ heap = <<>> /\ fifo = <<>> /\ turn = <<>> /\ ahead = 0 /\ phase = "out" /\ misses = Misses
        /\ came = <<>> /\ over = 0 /\ good = TRUE /\ back = <<>> /\ alike = FALSE

Without(s, i) == [k \in 1..(Len(s) - 1) |-> IF k < i THEN s[k] ELSE s[k + 1]]
Entry(taken) == <<taken[1], taken[2]>>
Has(s, t) == \E i \in 1..Len(s) : s[i][1] = t
Among(s, t) == \E i \in 1..Len(s) : s[i] = t
Drop(s, t) == SelectSeq(s, LAMBDA each : each # t)
\* The place of the first: the earliest deadline, of equal ones the front.
Best(h) == CHOOSE i \in 1..Len(h) : \A k \in 1..Len(h) : h[i][2] < h[k][2] \/ (h[i][2] = h[k][2] /\ i <= k)
Chosen(h) == IF Bug = 1 THEN CHOOSE i \in 1..Len(h) :                               \* bug 1: the last of equal ones
                               \A k \in 1..Len(h) : h[i][2] < h[k][2] \/ (h[i][2] = h[k][2] /\ i >= k)
             ELSE Best(h)
\* Whether the next is taken from the heap.
FromHeap(h, f, n) == h # <<>> /\ (f = <<>> \/ n < AheadMax \/ Bug = 2)              \* bug 2: no bound
Ahead(h, f, n) == IF FromHeap(h, f, n) /\ f # <<>> THEN (IF n < AheadMax THEN n + 1 ELSE n) ELSE 0
\* What so many calls would take.
RECURSIVE Takes(_, _, _, _)
Takes(h, f, n, count) ==
    IF count = 0 \/ (h = <<>> /\ f = <<>>) THEN <<>>
    ELSE IF FromHeap(h, f, n)
         THEN <<h[Chosen(h)]>> \o Takes(Without(h, Chosen(h)), f, Ahead(h, f, n), count - 1)
         ELSE <<Head(f)>> \o Takes(h, Tail(f), 0, count - 1)

\* The first of the FIFO may be another one now: the count begins anew.
Counted(c, n) == over' = IF c = <<>> \/ came = <<>> THEN 0 ELSE IF Head(c) # Head(came) THEN 0
                         ELSE IF n > AheadMax THEN AheadMax + 1 ELSE n

\* --- tasks come: group_queue::add ----------------------------------------------------------------------
Comes(t, deadline) ==
    /\ phase = "out" /\ ~Has(heap \o fifo \o turn, t)
    /\ \E memory \in {TRUE} \cup (IF deadline # None /\ misses > 0 THEN {FALSE} ELSE {}) :
         /\ misses' = IF memory THEN misses ELSE misses - 1
         /\ IF deadline # None /\ memory
            THEN heap' = Append(heap, <<t, deadline>>) /\ UNCHANGED <<fifo, came, over>>
            ELSE IF Bug = 3 /\ ~memory                                              \* bug 3: it is lost
            THEN UNCHANGED <<heap, fifo>> /\ came' = Append(came, t) /\ Counted(came', over)
            ELSE /\ fifo' = Append(fifo, <<t, deadline>>) /\ came' = Append(came, t)
                 /\ Counted(came', over) /\ UNCHANGED heap
    /\ alike' = FALSE
    /\ ahead' = IF Bug = 4 /\ deadline = None THEN 0 ELSE ahead                      \* bug 4: the count begins anew
    /\ UNCHANGED <<turn, phase, good, back>>

\* --- a turn: turns::deal, group_queue::take -----------------------------------------------------------------
Deal == /\ phase = "out" /\ turn = <<>> /\ heap \o fifo # <<>>
        /\ phase' = "deals" /\ alike' = TRUE /\ back' = <<>>
        /\ UNCHANGED <<queue, turn, misses, came, over, good>>
Take == /\ phase = "deals" /\ heap \o fifo # <<>> /\ Len(turn) < TurnMax
        /\ IF FromHeap(heap, fifo, ahead)
           THEN /\ turn' = Append(turn, heap[Chosen(heap)] \o <<fifo # <<>> >>)
                /\ heap' = Without(heap, Chosen(heap)) /\ UNCHANGED fifo
                /\ good' = (good /\ Chosen(heap) = Best(heap))
           ELSE turn' = Append(turn, Head(fifo) \o <<TRUE>>) /\ fifo' = Tail(fifo) /\ UNCHANGED <<heap, good>>
        /\ ahead' = Ahead(heap, fifo, ahead)
        /\ UNCHANGED <<phase, misses, came, over, back, alike>>
\* The worker runs the first one at once.
Begin == /\ turn # <<>> /\ phase \in {"deals", "out"}
         /\ LET t == Head(turn)[1]
                plain == Among(came, t) IN
            /\ came' = Drop(came, t)
            /\ good' = (good /\ (plain => Head(came) = t))
            /\ IF plain THEN over' = 0 ELSE Counted(came, over + (IF Head(turn)[3] THEN 1 ELSE 0))
         /\ turn' = Tail(turn) /\ phase' = "out"
         /\ UNCHANGED <<queue, misses, back, alike>>

\* --- the turn is over: group_queue::put_back -------------------------------------------------------------------
End == /\ phase = "out" /\ turn # <<>>
       /\ phase' = "back" /\ back' = [i \in 1..Len(turn) |-> Entry(turn[i])]
       /\ UNCHANGED <<queue, turn, misses, came, over, good, alike>>
Last == Entry(IF Bug = 5 THEN Head(turn) ELSE turn[Len(turn)])                          \* bug 5: from the first on
\* Behind those that are put back after it.
Behind(t) == SelectSeq(came, LAMBDA each : Has(turn, each)) \o <<t>>
             \o SelectSeq(came, LAMBDA each : ~Has(turn, each))
PutBack == /\ phase = "back"
           /\ \E memory \in {TRUE} \cup (IF Last[2] # None /\ misses > 0 THEN {FALSE} ELSE {}) :
                /\ misses' = IF memory THEN misses ELSE misses - 1
                /\ alike' = (alike /\ memory /\ (Last[2] # None => ~Among(came, Last[1])))
                /\ IF Last[2] # None /\ memory
                   THEN /\ heap' = (IF Bug = 6 THEN Append(heap, Last) ELSE <<Last>> \o heap) \* bug 6: to the end
                        /\ ahead' = (IF ahead # 0 THEN ahead - 1 ELSE 0)
                        /\ came' = Drop(came, Last[1]) /\ UNCHANGED fifo
                   ELSE /\ fifo' = <<Last>> \o fifo
                        /\ ahead' = (IF Bug = 7 THEN ahead ELSE AheadMax)            \* bug 7: is not owed its turn
                        /\ came' = (IF Among(came, Last[1]) THEN came ELSE Behind(Last[1]))
                        /\ UNCHANGED heap
                /\ Counted(came', over)
           /\ turn' = (IF Bug = 5 THEN Tail(turn) ELSE SubSeq(turn, 1, Len(turn) - 1))
           /\ phase' = (IF Len(turn) = 1 THEN "out" ELSE "back")
           /\ UNCHANGED <<good, back>>

Come == (\E t \in Plain : Comes(t, None)) \/ (\E t \in Dated, d \in Deadlines : Comes(t, d))
Next == Come \/ Deal \/ Take \/ Begin \/ End \/ PutBack
Fair == WF_vars(Deal) /\ WF_vars(Take) /\ WF_vars(Begin) /\ WF_vars(PutBack)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------------
Kept == /\ \A t \in Plain \cup Dated :
             Len(SelectSeq(heap \o fifo \o turn, LAMBDA each : each[1] = t)) <= 1
        /\ \A i \in 1..Len(came) : Has(fifo \o turn, came[i])
Promised == good
Overtaken == over <= AheadMax
Restored == phase = "out" /\ turn = <<>> /\ alike /\ back # <<>> => Takes(heap, fifo, ahead, Len(back)) = back
Served == \A t \in Plain : Among(came, t) ~> ~Among(came, t)
=============================================================================
