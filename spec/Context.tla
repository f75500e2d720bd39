------------------------------ MODULE Context ------------------------------
(* The deadline that a task inherits: coro/root.hpp, detail/coro/context_node.hpp, context/with_deadline.hpp.

   A task enters nested with_deadline bodies and shields, and waits for something that is granted. The root has one
   word: the innermost node, and whether its deadline is hidden. A node has the effective deadline of the list, and
   its limit: the node that has set that deadline. `open` is the truth of the program text, from the outside in: a
   number is a with_deadline, 0 a shield.

   Three enders meet at a wait: the grant, the deadline of the wait itself, the inherited one. Membership in the list
   of the object decides. So what was granted arrives. A wait may stay, as that for children: it is told both deadlines,
   and ends by the grant.

   What is to hold
     Exact        the word says what the program text says
     Conserved    what was granted is taken, or still there
     NotEarly     no wait ends before the deadline that it names has passed
     TakesNothing a wait that begins overdue takes nothing
     Blamed       the with_deadline that gives `expired` is that whose deadline ended the body; of equal ones, the outer
     Ends         a wait with a deadline around it ends                                     (liveness)
     Told         a wait that stays is told its own deadline, also after the inherited one  (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Nodes, Max, Waits, Bug

VARIABLES own, now,                \* the deadline of each with_deadline; the time
          ctx, hide, open,         \* the list, the innermost last; whether the word hides its deadline; the truth
          task, due, mine,         \* where the task is; until when its root sleeps; the deadline of the wait itself
          stays, told,             \* whether the wait does; whether it was told its own deadline
          listed, granted, free,   \* the object: whether the wait is in its list; was granted; what is free
          outcome, begun,          \* how the last wait has ended; how many have begun
          failed, culprit,         \* the limit that an overdue_error names; the node that it should name
          released, taken,         \* counts
          wrong                    \* what a property says must not happen
context == <<ctx, hide, open>>
wait == <<task, due, mine, stays, told, outcome, begun>>
object == <<listed, granted, free, released, taken>>
error == <<failed, culprit>>
vars == <<own, now, context, wait, object, error, wrong>>

Never == Max + 2
Min(a, b) == IF a < b THEN a ELSE b
Top == ctx[Len(ctx)]

Init == /\ own \in [1..Nodes -> 1..Max] /\ now = 0
        /\ ctx = <<>> /\ hide = FALSE /\ open = <<>>
        /\ task = "runs" /\ due = Never /\ mine = Never /\ stays = FALSE /\ told = FALSE
        /\ listed = FALSE /\ granted = FALSE /\ free = 0
        /\ outcome = "none" /\ begun = 0 /\ failed = 0 /\ culprit = 0
        /\ released = 0 /\ taken = 0 /\ wrong = {}

\* --- the truth ---------------------------------------------------------------------------------------------
\* The with_deadlines that no shield hides.
Shields == {i \in 1..Len(open) : open[i] = 0}
Unhidden == {i \in 1..Len(open) : open[i] # 0 /\ \A s \in Shields : s < i}
Ideal == IF Unhidden = {} THEN Never
         ELSE CHOOSE t \in 1..Max : /\ \E i \in Unhidden : own[open[i]] = t
                                    /\ \A i \in Unhidden : own[open[i]] >= t
IdealLimit == IF Unhidden = {} THEN 0
              ELSE open[CHOOSE i \in Unhidden : /\ own[open[i]] = Ideal
                                                /\ \A j \in Unhidden : own[open[j]] = Ideal => i <= j]

\* --- context_word::deadline, limit ---------------------------------------------------------------------------
Deadline == IF ctx = <<>> \/ hide THEN Never ELSE Top.eff
Limit == IF ctx = <<>> \/ hide THEN 0 ELSE Top.limit
Overdue == Deadline <= now

Entered == {open[i] : i \in 1..Len(open)} \ {0}
NextNode == Cardinality(Entered) + 1
Runs == task = "runs" /\ failed = 0

\* with_deadline. Bug 1: its own deadline alone counts. Bug 2: of two equal ones the inner counts. Bug 3: a shield
\* around it hides it.
Enter == /\ Runs /\ NextNode <= Nodes
         /\ LET n == NextNode IN
            /\ ctx' = Append(ctx, [node |-> n,
                                   eff |-> IF Bug = 1 THEN own[n] ELSE Min(own[n], Deadline),
                                   limit |-> IF own[n] < Deadline \/ (Bug = 2 /\ own[n] = Deadline) \/ Bug = 1
                                             THEN n ELSE Limit,
                                   hid |-> hide])
            /\ open' = Append(open, n)
         /\ hide' = (Bug = 3 /\ hide)
         /\ outcome' = "none"
         /\ UNCHANGED <<own, now, task, due, mine, stays, told, begun, object, error, wrong>>
\* The body ends, or an error leaves it. Bug 4: the shield around it is gone. Bug 5: it takes each error for its own.
Leave == /\ task = "runs" /\ ctx # <<>> /\ open # <<>> /\ open[Len(open)] = Top.node
         /\ ctx' = SubSeq(ctx, 1, Len(ctx) - 1) /\ open' = SubSeq(open, 1, Len(open) - 1)
         /\ hide' = (Top.hid /\ Bug # 4)
         /\ LET ends == failed # 0 /\ (failed = Top.node \/ Bug = 5) IN
            /\ failed' = IF ends THEN 0 ELSE failed
            /\ culprit' = IF ends THEN 0 ELSE culprit
            /\ wrong' = IF ends /\ culprit # Top.node THEN wrong \cup {"blamed"} ELSE wrong
         /\ outcome' = "none"
         /\ UNCHANGED <<own, now, task, due, mine, stays, told, begun, object>>
Shield == /\ Runs /\ ctx # <<>> /\ ~hide /\ hide' = TRUE /\ open' = Append(open, 0) /\ outcome' = "none"
          /\ UNCHANGED <<own, now, ctx, task, due, mine, stays, told, begun, object, error, wrong>>
Unshield == /\ task = "runs" /\ open # <<>> /\ open[Len(open)] = 0
            /\ hide' = FALSE /\ open' = SubSeq(open, 1, Len(open) - 1) /\ outcome' = "none"
            /\ UNCHANGED <<own, now, ctx, task, due, mine, stays, told, begun, object, error, wrong>>

\* --- a wait: task_wait::await_suspend, root::wait_at -----------------------------------------------------------
\* Bug 6: does not look whether it is overdue. Bug 7: sleeps until its own deadline alone.
Begin(o, s) ==
            /\ Runs /\ begun < Waits /\ begun' = begun + 1 /\ mine' = o /\ stays' = s /\ told' = FALSE
            /\ IF Overdue /\ Bug # 6
               THEN outcome' = "overdue" /\ UNCHANGED <<task, due, object, wrong>>
               ELSE IF free > 0
               THEN /\ free' = free - 1 /\ taken' = taken + 1 /\ outcome' = "grant"
                    /\ wrong' = IF Ideal <= now THEN wrong \cup {"taken late"} ELSE wrong
                    /\ UNCHANGED <<task, due, listed, granted, released>>
               ELSE /\ listed' = TRUE /\ task' = "waits" /\ outcome' = "none"
                    /\ due' = IF Bug = 7 THEN o ELSE Min(o, Deadline)
                    /\ UNCHANGED <<granted, free, released, taken, wrong>>
            /\ UNCHANGED <<own, now, context, error>>
Grant == /\ released < Waits /\ released' = released + 1
         /\ IF listed THEN listed' = FALSE /\ granted' = TRUE /\ UNCHANGED free
            ELSE free' = free + 1 /\ UNCHANGED <<listed, granted>>
         /\ UNCHANGED <<own, now, context, wait, error, taken, wrong>>
\* root::interrupt_awaited. A grant that was faster is on its way: it is waited for. Bug 8: goes all the same. Bug 9:
\* says overdue whichever deadline has passed. Bug 10: forgets the deadline of a wait that stays.
Interrupt == /\ task = "waits" /\ due <= now
             /\ IF stays /\ listed
                THEN /\ IF Overdue /\ due <= Deadline
                        THEN /\ due' = IF Bug = 10 THEN Never ELSE IF mine > Deadline THEN mine ELSE Deadline + 1
                             /\ UNCHANGED told
                        ELSE told' = TRUE /\ due' = Never
                     /\ UNCHANGED <<listed, granted, task, outcome>>
                ELSE IF listed \/ Bug = 8
                THEN /\ listed' = FALSE /\ task' = "runs" /\ due' = Never /\ granted' = FALSE
                     /\ outcome' = IF Overdue \/ Bug = 9 THEN "overdue" ELSE "expired"
                     /\ UNCHANGED told
                ELSE due' = Never /\ UNCHANGED <<listed, granted, task, outcome, told>>
             /\ UNCHANGED <<own, now, context, mine, stays, begun, free, released, taken, error, wrong>>
Tell == /\ task = "waits" /\ granted /\ granted' = FALSE /\ task' = "runs" /\ due' = Never
        /\ taken' = taken + 1 /\ outcome' = "grant"
        /\ UNCHANGED <<own, now, context, mine, stays, told, begun, listed, free, released, error, wrong>>
\* root::throw_ended. The error names the limit.
Throw == /\ Runs /\ outcome = "overdue" /\ failed' = Limit /\ culprit' = IdealLimit /\ outcome' = "none"
         /\ UNCHANGED <<own, now, context, task, due, mine, stays, told, begun, object, wrong>>
Tick == now <= Max /\ now' = now + 1 /\ UNCHANGED <<own, context, wait, object, error, wrong>>

Next == \/ Enter \/ Leave \/ Shield \/ Unshield \/ Grant \/ Interrupt \/ Tell \/ Throw \/ Tick
        \/ \E o \in (1..Max) \cup {Never} : Begin(o, FALSE)
        \/ \E o \in 1..Max : Begin(o, TRUE)
Fair == WF_vars(Tick) /\ WF_vars(Interrupt) /\ WF_vars(Tell)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------
Exact == Deadline = Ideal
Conserved == taken + free + (IF granted THEN 1 ELSE 0) = released
NotEarly == /\ outcome = "overdue" => Ideal <= now
            /\ outcome = "expired" => mine <= now
TakesNothing == "taken late" \notin wrong
Blamed == "blamed" \notin wrong
Ends == (task = "waits" /\ ~stays /\ Ideal # Never) ~> (task = "runs")
Told == (task = "waits" /\ stays) ~> (told \/ task = "runs")
=============================================================================
