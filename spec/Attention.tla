----------------------------- MODULE Attention -----------------------------
(* The hint that makes workers look, between two steps of a line of others, at what groups have: posts, and wishes.
   sched/role: call_attention, update_attention [GR2].

   A worker with a line runs that alone, but while there is attention it looks at the fronts between two steps. The line
   does not end here, which is the worst case. Who pushes to a front, or puts a group into the list of those that were
   noticed, looks afterwards whether there is attention, and calls it if not. A round takes what it sees; when time does
   not matter to it any more it ends attention, and then looks at the fronts once more.

   What is to hold
     OneHolder   one has the role
     Hinted      to what was pushed there is attention, or somebody is about to see it
     Taken       what was pushed is taken                                              (liveness)
     Calm        at last there is no attention                                         (liveness) *)
EXTENDS Integers

CONSTANTS Pushers, Workers, Pushes, Times, Bug

VARIABLES front, attention,     \* how much is there; the hint
          held,                 \* the role
          left, times,          \* pushes of each to come; how often time still matters to a round
          pc
vars == <<front, attention, held, left, times, pc>>

Init == /\ front = 0 /\ attention = TRUE /\ held = FALSE /\ left = [p \in Pushers |-> Pushes] /\ times = Times
        /\ pc = [t \in Pushers \cup Workers |-> "step"]

Go(t, to) == pc' = [pc EXCEPT ![t] = to]

\* --- who pushes. Bug 1: looks first ---------------------------------------------------------------------------
Push(p) == /\ pc[p] = (IF Bug = 1 THEN "push" ELSE "step") /\ left[p] > 0
           /\ front' = front + 1 /\ left' = [left EXCEPT ![p] = @ - 1]
           /\ Go(p, IF Bug = 1 THEN "step" ELSE "look") /\ UNCHANGED <<attention, held, times>>
LookForAttention(p) == /\ pc[p] = (IF Bug = 1 THEN "step" ELSE "look") /\ (Bug = 1 => left[p] > 0)
                       /\ Go(p, IF ~attention THEN "call" ELSE IF Bug = 1 THEN "push" ELSE "step")
                       /\ UNCHANGED <<front, attention, held, left, times>>
Call(p) == /\ pc[p] = "call" /\ Go(p, IF Bug = 1 THEN "push" ELSE "step")
           /\ attention' = (Bug # 2 \/ attention)                                    \* bug 2: does not
           /\ UNCHANGED <<front, held, left, times>>

\* --- a worker between two steps ---------------------------------------------------------------------------------
Begin(w) == /\ pc[w] = "step" /\ attention /\ (~held \/ Bug = 3)                    \* bug 3: though another has it
            /\ held' = TRUE /\ Go(w, "take") /\ UNCHANGED <<front, attention, left, times>>
Take(w) == /\ pc[w] = "take" /\ front' = 0 /\ Go(w, "update") /\ UNCHANGED <<attention, held, left, times>>
\* Bug 4: does not look once more. Bug 5: looks before it ends attention. Bug 6: time always matters.
Update(w) == /\ pc[w] = "update"
             /\ \/ /\ times > 0 \/ Bug = 6
                   /\ times' = (IF Bug = 6 THEN times ELSE times - 1) /\ attention' = TRUE /\ Go(w, "release")
                \/ /\ Bug # 6 /\ UNCHANGED times
                   /\ attention' = (Bug = 5 /\ attention)
                   /\ Go(w, IF Bug = 4 THEN "release" ELSE "once more")
             /\ UNCHANGED <<front, held, left>>
LookOnceMore(w) == /\ pc[w] = "once more"
                   /\ Go(w, IF front > 0 THEN "keep" ELSE IF Bug = 5 THEN "end late" ELSE "release")
                   /\ UNCHANGED <<front, attention, held, left, times>>
Keep(w) == /\ pc[w] = "keep" /\ attention' = TRUE /\ Go(w, "release") /\ UNCHANGED <<front, held, left, times>>
EndLate(w) == /\ pc[w] = "end late" /\ attention' = FALSE /\ Go(w, "release")
              /\ UNCHANGED <<front, held, left, times>>
Release(w) == /\ pc[w] = "release" /\ held' = FALSE /\ Go(w, "step")
              /\ UNCHANGED <<front, attention, left, times>>

Round(w) == Take(w) \/ Update(w) \/ LookOnceMore(w) \/ Keep(w) \/ EndLate(w) \/ Release(w)
Pushing(p) == LookForAttention(p) \/ Call(p)
Next == (\E p \in Pushers : Push(p) \/ Pushing(p)) \/ (\E w \in Workers : Begin(w) \/ Round(w))
\* The role is free at any time again: another worker may be faster each time.
Fair == /\ \A p \in Pushers : WF_vars(Pushing(p))
        /\ \A w \in Workers : WF_vars(Round(w))
        /\ WF_vars(\E w \in Workers : Begin(w))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties -----------------------------------------------------------------------------------------------
InRound(w) == pc[w] # "step"
OneHolder == \A v, w \in Workers : InRound(v) /\ InRound(w) => v = w
Hinted == front > 0 => \/ attention
                       \/ \E w \in Workers : pc[w] \in {"take", "once more", "keep"}
                       \/ \E p \in Pushers : pc[p] \in {"look", "call"}
Taken == front > 0 ~> front = 0
Calm == <>[]~attention
=============================================================================
