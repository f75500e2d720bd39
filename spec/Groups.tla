------------------------------- MODULE Groups -------------------------------
(* Groups with a limit to how many of their steps run at once, which may be paused: how the role learns that one may go
   on. sched/{turns,group_state}, core::notice.

   The role holds a group back when as many of its steps run as may, and leaves it alone from then on. It says so first,
   and looks at the number once more; who ends a step counts it first, and looks whether somebody waits for that [GR1].
   Whoever changes something that the next turn depends on marks the group, puts it into a list if it was not marked,
   and asks for a round. A round takes marks back before it looks at what they are about.
   A turn gives a worker one task to run next, and some for its run, which others may steal. What has not begun when it
   is over is taken back, and so is all by a stop; then there is room, though no step has ended.
   Who sleeps and is woken is not looked at: Parking is about that. Nor whose turn it is: tests show that.

   What is to hold
     NeverMore   no more steps of a group run than may
     Listed      a group is in the list once
     Served      what is queued runs, unless its group is paused, or as many of its steps as may never end  (liveness)
     Quiet       at last there are no more rounds                                                           (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Workers, Long, Users, Groups, Tasks, Most, Raises, Pauses, Stops, Bug

None == "none"
HandMax == 1                        \* of a turn, beside the first
VARIABLES arriving, queued,         \* of each group: tasks before a round, and in its queue
          hand, pc, of,             \* of each worker: its run, by group; what it, or a user, does, and of which group
          begun, ended,             \* of each group: dealt, and not taken back; and of these, how many have ended a step
          competes, is_held,        \* it may be next; the role leaves it alone
          held_back,                \* it waits for a step to end
          most, paused, left,       \* what users wish, and how often they still may change it
          mark, list, taken,        \* those that were noticed: marked; in the list; in the hands of the role
          wanted, backlog, role     \* somebody wants a round; the last has left something; its holder
tasks == <<arriving, queued, hand>>
numbers == <<begun, ended>>
waits == <<is_held, held_back>>
wishes == <<most, paused, left>>
noticed == <<mark, list, taken>>
rounds == <<wanted, backlog, role>>
vars == <<tasks, pc, of, numbers, competes, waits, wishes, noticed, rounds>>

All(value) == [g \in Groups |-> value]
Init == /\ arriving = All(Tasks) /\ queued = All(0) /\ hand = [w \in Workers |-> All(0)]
        /\ pc = [t \in Workers \cup Users |-> "look"] /\ of = [t \in Workers \cup Users |-> None]
        /\ begun = All(0) /\ ended = All(0) /\ competes = All(FALSE) /\ is_held = All(FALSE) /\ held_back = All(FALSE)
        /\ most = All(Most) /\ paused = All(FALSE)
        /\ left = [raises |-> Raises, pauses |-> Pauses, stops |-> Stops]
        /\ mark = All(FALSE) /\ list = All(0) /\ taken = All(0) /\ wanted = FALSE /\ backlog = FALSE /\ role = None

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
Of(t, g) == of' = [of EXCEPT ![t] = g]
Set(f, g, value) == [f EXCEPT ![g] = value]
Add(f, g, more) == [f EXCEPT ![g] = @ + more]
Room(g) == most[g] - (begun[g] - ended[g])
Smaller(a, b) == IF a < b THEN a ELSE b
InHand(w) == {g \in Groups : hand[w][g] > 0}
Compete == {g \in Groups : competes[g]}

\* --- a round ------------------------------------------------------------------------------------------------
\* Whose turn is over, or who has nothing to run.
Start(w) == /\ pc[w] = "look" /\ role = None
            /\ role' = w /\ wanted' = (Bug = 7 /\ wanted) /\ Go(w, "admits")       \* bug 7: takes the wish at its end
            /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, noticed, backlog>>
Begin(w) == (wanted \/ backlog \/ InHand(w) # {} \/ \E g \in Groups : arriving[g] > 0) /\ Start(w)
Admit(w) == /\ pc[w] = "admits" /\ \E g \in Groups :
                 /\ arriving[g] > 0 /\ queued' = Add(queued, g, arriving[g]) /\ arriving' = Set(arriving, g, 0)
                 /\ competes' = Set(competes, g, competes[g] \/ ~(is_held[g] \/ paused[g]))
            /\ UNCHANGED <<hand, pc, of, numbers, waits, wishes, noticed, rounds>>
TakeNoticed(w) == /\ pc[w] = "admits" /\ \A g \in Groups : arriving[g] = 0
                  /\ taken' = list /\ list' = All(0) /\ Go(w, "noticed")
                  /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, mark, rounds>>
\* One after the other. Bug 3: takes the mark back when it has looked.
TakeMark(w) == /\ pc[w] = "noticed" /\ \E g \in Groups :
                    /\ taken[g] > 0 /\ taken' = Add(taken, g, -1) /\ Of(w, g)
                    /\ mark' = IF Bug = 3 THEN mark ELSE Set(mark, g, FALSE)
               /\ Go(w, "wishes") /\ UNCHANGED <<tasks, numbers, competes, waits, wishes, list, rounds>>
LookAtWishes(w) == /\ pc[w] = "wishes" /\ Go(w, IF Bug = 3 THEN "takes late" ELSE "noticed")
                   /\ is_held' = Set(is_held, of[w], FALSE)
                   /\ competes' = Set(competes, of[w], competes[of[w]] \/ (queued[of[w]] > 0 /\ ~paused[of[w]]))
                   /\ UNCHANGED <<tasks, of, numbers, held_back, wishes, noticed, rounds>>
TakeLate(w) == /\ pc[w] = "takes late" /\ mark' = Set(mark, of[w], FALSE) /\ Go(w, "noticed")
               /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, list, taken, rounds>>
EndTurn(w) == /\ pc[w] = "noticed" /\ \A g \in Groups : taken[g] = 0
              /\ queued' = [g \in Groups |-> queued[g] + hand[w][g]] /\ hand' = [hand EXCEPT ![w] = All(0)]
              /\ begun' = IF Bug = 10 THEN begun ELSE [g \in Groups |-> begun[g] - hand[w][g]]  \* bug 10: stay counted
              /\ is_held' = [g \in Groups |-> is_held[g] /\ (hand[w][g] = 0 \/ Bug = 8)]        \* bug 8: stays held
              /\ competes' = [g \in Groups |-> competes[g] \/ (hand[w][g] > 0 /\ ~is_held'[g] /\ ~paused[g])]
              /\ Go(w, "next") /\ UNCHANGED <<arriving, of, ended, held_back, wishes, noticed, rounds>>
Rest(w) == /\ pc[w] = "next" /\ \E g \in Compete : queued[g] = 0 /\ competes' = Set(competes, g, FALSE)
           /\ UNCHANGED <<tasks, pc, of, numbers, waits, wishes, noticed, rounds>>
LeaveAlone(w) == /\ pc[w] = "next" /\ \E g \in Compete : paused[g] /\ competes' = Set(competes, g, Bug = 9)
                 /\ IF Bug = 9 THEN Go(w, "ends") /\ Of(w, None) ELSE UNCHANGED <<pc, of>>     \* bug 9: it may be next
                 /\ UNCHANGED <<tasks, numbers, waits, wishes, noticed, rounds>>
Deal(w) == /\ pc[w] = "next" /\ \E g \in Compete :
                /\ queued[g] > 0 /\ ~paused[g] /\ (Room(g) > 0 \/ Bug = 4)         \* bug 4: does not look
                /\ \E count \in 1..Smaller(Smaller(queued[g], HandMax + 1), IF Bug = 4 THEN 1 ELSE Room(g)) :
                     /\ queued' = Add(queued, g, -count) /\ begun' = Add(begun, g, count)
                     /\ hand' = [hand EXCEPT ![w][g] = count - 1]
                /\ competes' = Set(competes, g, queued'[g] > 0)
                /\ Of(w, g) /\ Go(w, "ends")
           /\ UNCHANGED <<arriving, ended, waits, wishes, noticed, rounds>>
NoRoom(w) == /\ pc[w] = "next" /\ \E g \in Compete : queued[g] > 0 /\ ~paused[g] /\ Room(g) <= 0 /\ Of(w, g)
             /\ Bug # 4 /\ Go(w, "holds back")
             /\ UNCHANGED <<tasks, numbers, competes, waits, wishes, noticed, rounds>>
HoldBack(w) == /\ pc[w] = "holds back" /\ held_back' = Set(held_back, of[w], TRUE)
               /\ IF Bug = 1                                                        \* bug 1: does not look once more
                  THEN Go(w, "next") /\ is_held' = Set(is_held, of[w], TRUE) /\ competes' = Set(competes, of[w], FALSE)
                  ELSE Go(w, "once more") /\ UNCHANGED <<is_held, competes>>
               /\ UNCHANGED <<tasks, of, numbers, wishes, noticed, rounds>>
LookOnceMore(w) == /\ pc[w] = "once more"
                   /\ IF Room(of[w]) > 0
                      THEN Go(w, "retracts") /\ UNCHANGED <<is_held, competes>>
                      ELSE /\ Go(w, "next") /\ is_held' = Set(is_held, of[w], TRUE)
                           /\ competes' = Set(competes, of[w], FALSE)
                   /\ UNCHANGED <<tasks, of, numbers, held_back, wishes, noticed, rounds>>
\* Who has ended a step may be about to say so: then that is waited for. Bug 5: always.
Retract(w) == /\ pc[w] = "retracts" /\ Go(w, "next") /\ held_back' = Set(held_back, of[w], FALSE)
              /\ is_held' = Set(is_held, of[w], ~held_back[of[w]] \/ Bug = 5)
              /\ competes' = Set(competes, of[w], ~is_held'[of[w]])
              /\ UNCHANGED <<tasks, of, numbers, wishes, noticed, rounds>>
NobodyIsNext(w) == /\ pc[w] = "next" /\ Compete = {} /\ Of(w, None) /\ Go(w, "ends")
             /\ UNCHANGED <<tasks, numbers, competes, waits, wishes, noticed, rounds>>
End(w) == /\ pc[w] = "ends" /\ Go(w, "releases")
          /\ backlog' = (Compete # {} \/ \E g \in Groups : list[g] > 0)
          /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, noticed, wanted, role>>
Release(w) == /\ pc[w] = "releases" /\ role' = None /\ Go(w, IF of[w] = None THEN "look" ELSE "dealt")
              /\ wanted' = (Bug # 7 /\ wanted)
              /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, noticed, backlog>>

\* --- steps ------------------------------------------------------------------------------------------------------
BeginStep(w) == /\ pc[w] = "dealt" /\ Go(w, "step")
                /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, noticed, rounds>>
FromRun(w, v) == /\ pc[w] = "look" /\ \E g \in InHand(v) : hand' = [hand EXCEPT ![v][g] = @ - 1] /\ Of(w, g)
                 /\ Go(w, "step") /\ UNCHANGED <<arriving, queued, numbers, competes, waits, wishes, noticed, rounds>>
EndStep(w) == /\ pc[w] = "step" /\ ended' = Add(ended, of[w], 1) /\ Go(w, "ended")
              /\ UNCHANGED <<tasks, of, begun, competes, waits, wishes, noticed, rounds>>
LookForWaiting(w) == /\ pc[w] = "ended" /\ Go(w, IF held_back[of[w]] /\ Bug # 2 THEN "tells" ELSE "look")  \* bug 2: does not
                     /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, noticed, rounds>>
\* Of several who have seen that, one.
Tell(w) == /\ pc[w] = "tells" /\ held_back' = Set(held_back, of[w], FALSE)
           /\ Go(w, IF held_back[of[w]] THEN "notices" ELSE "look")
           /\ UNCHANGED <<tasks, of, numbers, competes, is_held, wishes, noticed, rounds>>

\* --- core::notice: a worker or a user ----------------------------------------------------------------------------
Mark(t) == /\ pc[t] = "notices" /\ mark' = Set(mark, of[t], TRUE)
           /\ Go(t, IF mark[of[t]] /\ Bug # 6 THEN "look" ELSE "pushes")            \* bug 6: does not look
           /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, list, taken, rounds>>
Push(t) == /\ pc[t] = "pushes" /\ list' = Add(list, of[t], 1) /\ Go(t, IF Bug = 12 THEN "look" ELSE "wants")
           /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, mark, taken, rounds>>
Want(t) == /\ pc[t] = "wants" /\ wanted' = TRUE /\ Go(t, "look")                    \* bug 12: does not
           /\ UNCHANGED <<tasks, of, numbers, competes, waits, wishes, noticed, backlog, role>>

\* --- users: group::pause, resume, set_max_concurrency; scheduler::stop --------------------------------------------
Pause(u, g) == /\ pc[u] = "look" /\ ~paused[g] /\ left.pauses > 0
               /\ paused' = Set(paused, g, TRUE) /\ left' = [left EXCEPT !.pauses = @ - 1]
               /\ UNCHANGED <<tasks, pc, of, numbers, competes, waits, most, noticed, rounds>>
Resume(u, g) == /\ pc[u] = "look" /\ paused[g] /\ paused' = Set(paused, g, FALSE)
                /\ Of(u, g) /\ Go(u, IF Bug = 11 THEN "look" ELSE "notices")        \* bug 11: tells nobody
                /\ UNCHANGED <<tasks, numbers, competes, waits, most, left, noticed, rounds>>
Raise(u, g) == /\ pc[u] = "look" /\ left.raises > 0
               /\ most' = Add(most, g, 1) /\ left' = [left EXCEPT !.raises = @ - 1] /\ Of(u, g) /\ Go(u, "notices")
               /\ UNCHANGED <<tasks, numbers, competes, waits, paused, noticed, rounds>>
\* It gives up on steps that do not end, takes back what was dealt, and a start goes on with it. What a worker is to run
\* next is taken back only if that has ended before.
Stop == /\ role = None /\ left.stops > 0 /\ left' = [left EXCEPT !.stops = @ - 1]
        /\ \E away \in SUBSET {w \in Workers : pc[w] = "dealt"} :
             LET back == [g \in Groups |-> Cardinality({w \in away : of[w] = g})
                                           + Cardinality({w \in Workers : hand[w][g] > 0})] IN
             /\ pc' = [t \in Workers \cup Users |-> IF t \in away THEN "look" ELSE pc[t]]
             /\ arriving' = [g \in Groups |-> arriving[g] + queued[g] + back[g]] /\ queued' = All(0)
             /\ begun' = IF Bug = 10 THEN begun ELSE [g \in Groups |-> begun[g] - back[g]]
             /\ is_held' = [g \in Groups |-> is_held[g] /\ (back[g] = 0 \/ Bug = 8)]
        /\ hand' = [w \in Workers |-> All(0)]
        /\ UNCHANGED <<of, ended, competes, held_back, most, paused, noticed, rounds>>

Round(w) == \/ Begin(w) \/ Admit(w) \/ TakeNoticed(w) \/ TakeMark(w) \/ LookAtWishes(w) \/ TakeLate(w) \/ EndTurn(w)
            \/ Rest(w) \/ LeaveAlone(w) \/ Deal(w) \/ NoRoom(w) \/ HoldBack(w) \/ LookOnceMore(w) \/ Retract(w)
            \/ NobodyIsNext(w) \/ End(w) \/ Release(w)
Notice(t) == Mark(t) \/ Push(t) \/ Want(t)
Working(w) == \/ Round(w) \/ BeginStep(w) \/ (\E v \in Workers : FromRun(w, v)) \/ LookForWaiting(w) \/ Tell(w)
              \/ Notice(w)
Using(u) == \E g \in Groups : Pause(u, g) \/ Resume(u, g) \/ Raise(u, g)
Next == \/ \E w \in Workers : Working(w) \/ EndStep(w)
        \/ \E u \in Users : Using(u) \/ Notice(u)
        \/ Stop
Fair == /\ \A w \in Workers : WF_vars(Working(w)) /\ (w \in Long \/ WF_vars(EndStep(w)))
        /\ \A u \in Users : WF_vars(Notice(u))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ------------------------------------------------------------------------------------------------------
NeverMore == \A g \in Groups : Cardinality({w \in Workers : pc[w] = "step" /\ of[w] = g}) <= most[g]
Listed == \A g \in Groups : list[g] + taken[g] <= 1
Waiting(g) == arriving[g] + queued[g] > 0 \/ \E w \in Workers : hand[w][g] > 0 \/ (pc[w] = "dealt" /\ of[w] = g)
Served == \A g \in Groups : (Waiting(g) /\ most[g] > Cardinality(Long)) ~> (~Waiting(g) \/ paused[g])
Quiet == <>[](role = None)
=============================================================================
