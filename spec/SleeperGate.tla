---------------------------- MODULE SleeperGate ----------------------------
(* Tasks that sleep without the role, and a stop that looks at them: sched/slot/sleeper_gate, sleeper_table,
   seat::put_to_sleep, take_woken [SL1].

   A worker that puts a task to sleep fills a place, looks at the gate, and parks the task. A worker that wakes the task
   clears the place, and looks at the gate. The stop closes the gate, lets all pass a barrier, and looks at the places, one
   after the other. What finds the gate closed goes to the role, which goes on when the stop has looked.

   A table frees a chunk that it does not need: it unlinks the chunk, and looks at the gate.

   What a worker stores is seen by others when it leaves its buffer, in order. An exchange empties the buffer of its
   worker, the heavy barrier those of all.

   What is to hold
     Alive   the stop touches no task that is gone, and no chunk that is free
     Once    a task is in one place
     Told    when the stop has looked, no task sleeps
     Ends    after a stop each task ends                                                   (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Workers, Tasks,
          Sleeps,   \* how often a task sleeps at most
          Bug

None == "none"
VARIABLES places, linked, buffer,   \* what all see: the tasks that are in places, whether the chunk is linked; stores on their way
          free,                     \* the chunk is free
          gate,                     \* whether it is open
          word,                     \* of each task: a set of "waiting", "woken"
          at,                       \* of each task: "ready", "step", "asleep", "woken", "role", "gone"
          sleeps,                   \* of each task: how often it has slept
          pc, mine,                 \* of each worker; the task of its step, or that it has woken
          stop, left, seen,         \* where the stop is; what it has not looked at; the task that it has found
          wrong
vars == <<places, linked, buffer, free, gate, word, at, sleeps, pc, mine, stop, left, seen, wrong>>
chunk == <<linked, free>>
stopper == <<stop, left, seen>>

Owner == CHOOSE w \in Workers : TRUE   \* of the chunk
Init == /\ places = {} /\ linked = TRUE /\ buffer = [w \in Workers |-> << >>] /\ free = FALSE
        /\ gate = TRUE
        /\ word = [t \in Tasks |-> {}] /\ at = [t \in Tasks |-> "ready"] /\ sleeps = [t \in Tasks |-> 0]
        /\ pc = [w \in Workers |-> "loop"] /\ mine = [w \in Workers |-> None]
        /\ stop = "none" /\ left = Tasks \cup {"chunk"} /\ seen = None /\ wrong = FALSE

Go(w, to) == pc' = [pc EXCEPT ![w] = to]
Move(t, to) == at' = [at EXCEPT ![t] = to]

\* --- stores ------------------------------------------------------------------------------------------------------
Applied(s, store) == CASE store[1] = "fill" -> [s EXCEPT !.places = @ \cup {store[2]}]
                       [] store[1] = "clear" -> [s EXCEPT !.places = @ \ {store[2]}]
                       [] store[1] = "unlink" -> [s EXCEPT !.linked = FALSE]
                       [] store[1] = "link" -> [s EXCEPT !.linked = TRUE]
RECURSIVE After(_, _)
After(s, stores) == IF stores = << >> THEN s ELSE After(Applied(s, Head(stores)), Tail(stores))
Memory == [places |-> places, linked |-> linked]
Becomes(s) == places' = s.places /\ linked' = s.linked
Store(w, what, t) == buffer' = [buffer EXCEPT ![w] = Append(@, <<what, t>>)] /\ UNCHANGED <<places, linked>>
Drain(w) == /\ buffer[w] # << >> /\ Becomes(Applied(Memory, Head(buffer[w])))
            /\ buffer' = [buffer EXCEPT ![w] = Tail(@)]
            /\ UNCHANGED <<free, gate, word, at, sleeps, pc, mine, stopper, wrong>>
\* An exchange by this worker.
Exchange(w) == Becomes(After(Memory, buffer[w])) /\ buffer' = [buffer EXCEPT ![w] = << >>]

\* --- a step: it ends, or its task goes to sleep, or it wakes another task -------------------------------------------
Begin(w, t) == /\ pc[w] = "loop" /\ at[t] = "ready" /\ Move(t, "step") /\ Go(w, "step") /\ mine' = [mine EXCEPT ![w] = t]
               /\ word' = [word EXCEPT ![t] = @ \ {"woken"}]
               /\ UNCHANGED <<places, buffer, chunk, gate, sleeps, stopper, wrong>>
End(w) == /\ pc[w] = "step" /\ Move(mine[w], "gone") /\ Go(w, "loop") /\ mine' = [mine EXCEPT ![w] = None]
          /\ UNCHANGED <<places, buffer, chunk, gate, word, sleeps, stopper, wrong>>
\* seat::put_to_sleep.
Fill(w) == /\ pc[w] = "step" /\ sleeps[mine[w]] < Sleeps /\ sleeps' = [sleeps EXCEPT ![mine[w]] = @ + 1]
           /\ Store(w, "fill", mine[w]) /\ Go(w, "filled")
           /\ UNCHANGED <<free, gate, word, at, mine, stopper, wrong>>
LookFilled(w) == /\ pc[w] = "filled"
                 /\ IF gate \/ Bug = 4                                                 \* bug 4: does not look
                    THEN Go(w, "park") /\ UNCHANGED <<places, linked, buffer>>
                    ELSE Store(w, "clear", mine[w]) /\ Go(w, "to role")
                 /\ UNCHANGED <<free, gate, word, at, sleeps, mine, stopper, wrong>>
Park(w) == /\ pc[w] = "park" /\ Exchange(w)
           /\ IF "woken" \in word[mine[w]]
              THEN Go(w, "clear") /\ UNCHANGED <<word, at, mine>>
              ELSE /\ word' = [word EXCEPT ![mine[w]] = @ \cup {"waiting"}] /\ Move(mine[w], "asleep")
                   /\ Go(w, "loop") /\ mine' = [mine EXCEPT ![w] = None]
           /\ UNCHANGED <<free, gate, sleeps, stopper, wrong>>
\* Of a task that is not gone: its waker knows that.
Wake(w, t) == /\ pc[w] = "step" /\ t # mine[w] /\ at[t] # "gone" /\ Exchange(w)
              /\ IF "waiting" \in word[t]
                 THEN /\ word' = [word EXCEPT ![t] = IF Bug = 9 THEN @ ELSE @ \ {"waiting"}] \* bug 9: two wake it
                      \* Its own task is posted again, which makes its step no longer than that.
                      /\ at' = [at EXCEPT ![t] = "woken", ![mine[w]] = "ready"] /\ mine' = [mine EXCEPT ![w] = t]
                      /\ Go(w, IF Bug = 2 THEN "look first" ELSE "clear")
                 ELSE /\ "woken" \notin word[t] /\ word' = [word EXCEPT ![t] = @ \cup {"woken"}]
                      /\ UNCHANGED <<at, mine, pc>>
              /\ UNCHANGED <<free, gate, sleeps, stopper, wrong>>
\* seat::take_woken, and put_to_sleep if the task was woken before it slept.
Clear(w) == /\ pc[w] \in {"clear", "clear now"} /\ Store(w, "clear", mine[w])
            /\ Go(w, IF pc[w] = "clear" THEN "cleared" ELSE "to ready")
            /\ UNCHANGED <<free, gate, word, at, sleeps, mine, stopper, wrong>>
LookCleared(w) == /\ pc[w] = "cleared"
                  /\ Go(w, IF gate \/ (Bug = 3 /\ at[mine[w]] = "woken") \/ (Bug = 6 /\ at[mine[w]] = "step")
                           THEN "to ready" ELSE "to role")                             \* bugs 3, 6: does not look
                  /\ UNCHANGED <<places, buffer, chunk, gate, word, at, sleeps, mine, stopper, wrong>>
\* Bug 2: looks before it clears.
LookFirst(w) == /\ pc[w] = "look first" /\ Go(w, IF gate THEN "clear now" ELSE "clear")
                /\ UNCHANGED <<places, buffer, chunk, gate, word, at, sleeps, mine, stopper, wrong>>
Post(w) == /\ pc[w] \in {"to ready", "to role"} /\ Go(w, "loop") /\ mine' = [mine EXCEPT ![w] = None] /\ Exchange(w)
           /\ Move(mine[w], IF pc[w] = "to ready" THEN "ready" ELSE "role")
           /\ UNCHANGED <<free, gate, word, sleeps, stopper, wrong>>

\* --- sleeper_table::free_empty_after ------------------------------------------------------------------------------------
Unlink(w) == /\ w = Owner /\ pc[w] = "loop" /\ linked /\ ~free /\ buffer[w] = << >> /\ Store(w, "unlink", None) /\ Go(w, "unlinked")
             /\ UNCHANGED <<free, gate, word, at, sleeps, mine, stopper, wrong>>
Free(w) == /\ pc[w] = "unlinked" /\ Go(w, "loop")
           /\ IF gate \/ Bug = 7                                                        \* bug 7: does not look
              THEN free' = TRUE /\ UNCHANGED <<places, linked, buffer>>
              ELSE Store(w, "link", None) /\ UNCHANGED free
           /\ UNCHANGED <<gate, word, at, sleeps, mine, stopper, wrong>>

\* --- the stop, with the role -----------------------------------------------------------------------------------------------
world == <<at, sleeps, pc, mine>>
Close == /\ stop = "none" /\ stop' = "barrier" /\ gate' = (Bug = 5)                      \* bug 5: after the barrier
         /\ UNCHANGED <<places, buffer, chunk, word, world, left, seen, wrong>>
RECURSIVE AfterAll(_, _)
AfterAll(s, workers) == IF workers = {} THEN s
                        ELSE LET w == CHOOSE w \in workers : TRUE IN AfterAll(After(s, buffer[w]), workers \ {w})
Barrier == /\ stop = "barrier" /\ stop' = (IF Bug = 5 THEN "close" ELSE "look") /\ UNCHANGED gate
           /\ IF Bug = 1 THEN UNCHANGED <<places, linked, buffer>>                      \* bug 1: no barrier
              ELSE Becomes(AfterAll(Memory, Workers)) /\ buffer' = [w \in Workers |-> << >>]
           /\ UNCHANGED <<free, word, world, left, seen, wrong>>
CloseLate == /\ stop = "close" /\ stop' = "look" /\ gate' = FALSE
             /\ UNCHANGED <<places, buffer, chunk, word, world, left, seen, wrong>>
\* It reads a place or the link, and then touches what it has found there.
Find(what) == /\ stop = "look" /\ seen = None /\ what \in left
              /\ IF IF what = "chunk" THEN linked ELSE what \in places
                 THEN seen' = what /\ UNCHANGED left ELSE left' = left \ {what} /\ UNCHANGED seen
              /\ UNCHANGED <<places, buffer, chunk, gate, word, world, stop, wrong>>
Touch == /\ seen # None /\ seen' = None /\ left' = left \ {seen}
         /\ wrong' = (wrong \/ IF seen = "chunk" THEN free ELSE at[seen] = "gone")
         /\ IF seen = "chunk" THEN UNCHANGED <<word, at, places>>
            ELSE IF "waiting" \in word[seen]
            THEN /\ word' = [word EXCEPT ![seen] = @ \ {"waiting"}] /\ Move(seen, "role") /\ places' = places \ {seen}
            ELSE word' = [word EXCEPT ![seen] = @ \cup {"woken"}] /\ UNCHANGED <<at, places>>
         /\ UNCHANGED <<buffer, chunk, gate, sleeps, pc, mine, stop>>
Looked == /\ stop = "look" /\ left = {} /\ stop' = "done"
          /\ UNCHANGED <<places, buffer, chunk, gate, word, world, left, seen, wrong>>
\* A task that would sleep has been told, and runs. Bug 8: while the stop looks. Bug 10: not at all.
Admit(t) == /\ at[t] = "role" /\ stop \in (IF Bug = 10 THEN {} ELSE {"none", "done"}) \cup (IF Bug = 8 THEN {"look"} ELSE {}) /\ Move(t, "ready")
            /\ UNCHANGED <<places, buffer, chunk, gate, word, sleeps, pc, mine, stopper, wrong>>

Working(w) == \/ \E t \in Tasks : Begin(w, t)
              \/ LookFilled(w) \/ Park(w) \/ Clear(w) \/ LookCleared(w) \/ LookFirst(w) \/ Post(w) \/ Free(w)
Looking == Barrier \/ CloseLate \/ Touch \/ Looked \/ \E what \in Tasks \cup {"chunk"} : Find(what)
Next == \/ \E w \in Workers : Working(w) \/ Drain(w) \/ End(w) \/ Fill(w) \/ Unlink(w) \/ \E t \in Tasks : Wake(w, t)
        \/ Close \/ Looking \/ \E t \in Tasks : Admit(t)
Fair == /\ \A w \in Workers : WF_vars(Working(w)) /\ WF_vars(End(w) \/ Fill(w)) /\ WF_vars(Drain(w))
        /\ WF_vars(Looking) /\ \A t \in Tasks : WF_vars(Admit(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties -----------------------------------------------------------------------------------------------------------------
Alive == ~wrong
Once == \A t \in Tasks : /\ ("waiting" \in word[t]) = (at[t] = "asleep")
                         /\ at[t] \in {"step", "woken"} => Cardinality({w \in Workers : mine[w] = t}) = 1
Told == stop = "done" => \A t \in Tasks : at[t] # "asleep"
Ends == (stop # "none") ~> \A t \in Tasks : at[t] = "gone"
============================================================================
