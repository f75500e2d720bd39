----------------------------- MODULE Trampoline -----------------------------
(* The continuations of one thread: detail/future/trampoline.hpp.

   A step gives a result, which tells continuation 1; continuation c, while it runs, tells 2c and 2c + 1. What is told
   while one runs is queued. A step runs RunMax at most and posts the rest as another step; without memory for that it
   goes on. The scheduler may be destroyed while the rest is posted: then the rest runs on the thread of the
   destructor.

   What is to hold
     RunOnce   each continuation runs once at most
     Flat      no continuation runs within another one
     InOrder   continuations run in the order in which they were told
     Bounded   a step runs no more than RunMax, unless there was no memory
     AllRun    each continuation runs                                                        (liveness) *)
EXTENDS Integers, Sequences

CONSTANTS Count, RunMax, Bug

VARIABLES queue,     \* of the thread that drains
          posted,    \* the rest, as a step; empty: none is posted
          running,   \* the stack of those that run, with what each has still to tell
          ran,       \* those that have run, in order
          order,     \* those that were told, in order
          state,     \* "idle", "step", "destructor"
          in_step,   \* how many this step has run
          refused    \* whether there was no memory in this step
vars == <<queue, posted, running, ran, order, state, in_step, refused>>

Continuations == 1..Count
Tells(c) == SelectSeq(<<2 * c, 2 * c + 1>>, LAMBDA d : d \in Continuations)

Init == /\ queue = <<1>> /\ posted = <<>> /\ running = <<>> /\ ran = <<>> /\ order = <<1>>
        /\ state = "step" /\ in_step = 0 /\ refused = FALSE

\* The head of the queue runs.
Run == /\ state \in {"step", "destructor"} /\ running = <<>> /\ queue # <<>>
       /\ state = "destructor" \/ in_step < RunMax \/ refused \/ Bug = 3        \* bug 3: no bound
       /\ running' = <<[of |-> Head(queue), tells |-> Tells(Head(queue))]>>
       /\ ran' = Append(ran, Head(queue)) /\ queue' = Tail(queue) /\ in_step' = in_step + 1
       /\ UNCHANGED <<posted, order, state, refused>>
\* What runs tells another one. Bug 1: which runs within it. Bug 4: which goes first.
Tell == /\ running # <<>> /\ LET top == running[1] IN
           /\ top.tells # <<>>
           /\ LET next == Head(top.tells)
                  rest == [top EXCEPT !.tells = Tail(@)]
              IN /\ order' = Append(order, next)
                 /\ IF Bug = 1
                    THEN /\ running' = <<[of |-> next, tells |-> Tells(next)], rest>> \o Tail(running)
                         /\ ran' = Append(ran, next) /\ UNCHANGED queue
                    ELSE /\ running' = <<rest>> \o Tail(running)
                         /\ queue' = IF Bug = 4 THEN <<next>> \o queue ELSE Append(queue, next)
                         /\ UNCHANGED ran
        /\ UNCHANGED <<posted, state, in_step, refused>>
Return == /\ running # <<>> /\ running[1].tells = <<>> /\ running' = Tail(running)
          /\ UNCHANGED <<queue, posted, ran, order, state, in_step, refused>>
\* post_rest. Bug 2: without memory the rest is lost. Bug 6: the rest stays in the queue, too.
Full == state = "step" /\ running = <<>> /\ queue # <<>> /\ in_step >= RunMax /\ ~refused
Post == /\ Full /\ posted' = queue /\ state' = "idle"
        /\ queue' = IF Bug = 6 THEN queue ELSE <<>>
        /\ UNCHANGED <<running, ran, order, in_step, refused>>
NoMemory == /\ Full /\ IF Bug = 2 THEN queue' = <<>> /\ UNCHANGED refused ELSE refused' = TRUE /\ UNCHANGED queue
            /\ UNCHANGED <<posted, running, ran, order, state, in_step>>
\* rest::run_step, rest::abandon. Bug 5: the destructor drops the rest.
Begin == /\ state = "idle" /\ posted # <<>> /\ state' = "step"
         /\ queue' = queue \o posted /\ posted' = <<>> /\ in_step' = 0 /\ refused' = FALSE
         /\ UNCHANGED <<running, ran, order>>
Abandon == /\ state = "idle" /\ posted # <<>> /\ state' = "destructor"
           /\ queue' = IF Bug = 5 THEN <<>> ELSE posted
           /\ posted' = <<>>
           /\ UNCHANGED <<running, ran, order, in_step, refused>>

Next == Run \/ Tell \/ Return \/ Post \/ NoMemory \/ Begin \/ Abandon
Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

RunOnce == \A i, j \in DOMAIN ran : i # j => ran[i] # ran[j]
Flat == Len(running) <= 1
InOrder == \A i \in DOMAIN ran : i <= Len(order) => ran[i] = order[i]
Bounded == state = "step" /\ ~refused => in_step <= RunMax
AllRun == <>(Len(ran) >= Count)
============================================================================
