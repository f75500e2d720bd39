------------------------------ MODULE Drain -------------------------------
(* Whether everything is done: role::drained in sched/round/role.cpp. Numbers that grow, each with one writer, are
   read one after the other while steps run, post, and take what they posted without a round.

   A round is one step here, as a question and a round exclude each other: both need the role. What was
   admitted and waits to be run is `dealt`. With policy::stealing a step may count a post itself and put it into the
   deque of its worker, `local`, from which any worker takes it. A step may put a task to sleep, which counts as begun; a
   step that wakes it counts the sleep as ended, and posts the task.

   What is to hold
     Exact  a yes means that during the question there was a moment at which nothing was queued or ran
     Yes    when everything has ended for good, a question is answered with yes                (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Workers, Users,
          Posts,      \* how many posts of steps there are in all, and how many each user makes
          Bug

VARIABLES front, posted, dealt, local,   \* how many tasks wait: in the front, in the fronts of the slots, dealt, in deques
          asleep,                        \* how many sleep
          entered, direct, finished,     \* admitted; taken without a round; steps that have ended
          roused,                        \* sleeps that have ended
          pc, left, made,                \* of each worker; how many posts steps may make; what each user has made
          ask, todo, sum, begun, answer, \* the question: where it is, what it has added up, the answer
          nothing                        \* whether there was nothing at some moment of the question
sleeps == <<asleep, roused>>
vars == <<front, posted, dealt, local, sleeps, entered, direct, finished, pc, left, made, ask, todo, sum, begun, answer, nothing>>

Init == /\ front = 0 /\ posted = [w \in Workers |-> 0] /\ dealt = 0 /\ local = 0
        /\ asleep = 0 /\ roused = [w \in Workers |-> 0]
        /\ entered = 0 /\ direct = [w \in Workers |-> 0] /\ finished = [w \in Workers |-> 0]
        /\ pc = [w \in Workers |-> "idle"] /\ left = Posts /\ made = [u \in Users |-> 0]
        /\ ask = "none" /\ todo = Workers /\ sum = 0 /\ begun = 0 /\ answer = FALSE /\ nothing = FALSE

Go(w, to) == pc' = [pc EXCEPT ![w] = to]
RECURSIVE Sum(_, _)
Sum(f, s) == IF s = {} THEN 0 ELSE LET x == CHOOSE x \in s : TRUE IN f[x] + Sum(f, s \ {x})
Nothing == front = 0 /\ dealt = 0 /\ local = 0 /\ asleep = 0 /\ \A w \in Workers : posted[w] = 0 /\ pc[w] \in {"idle", "direct"}
question == <<ask, todo, sum, begun, answer>>
\* After any step but one of the question itself.
Watched == nothing' = (nothing \/ (ask # "none" /\ Nothing'))

\* --- users and workers ----------------------------------------------------------------------------------
Post(u) == /\ made[u] < Posts /\ made' = [made EXCEPT ![u] = @ + 1] /\ front' = front + 1
           /\ UNCHANGED <<posted, dealt, local, entered, direct, finished, pc, left, sleeps>>
TakeDealt(w) == /\ pc[w] = "idle" /\ dealt > 0 /\ dealt' = dealt - 1 /\ Go(w, "step")
                /\ UNCHANGED <<front, posted, local, entered, direct, finished, left, made, sleeps>>
PostOwn(w) == /\ pc[w] = (IF Bug = 1 THEN "late" ELSE "step") /\ left > 0        \* bug 1: seen after the step is counted
              /\ posted' = [posted EXCEPT ![w] = @ + 1] /\ left' = left - 1
              /\ Go(w, IF Bug = 1 THEN "idle" ELSE "step")
              /\ UNCHANGED <<front, dealt, local, entered, direct, finished, made, sleeps>>
\* outbox::push_open: counts it, and then others can see it.
CountLocal(w) == /\ pc[w] = "step" /\ left > 0 /\ left' = left - 1 /\ Go(w, "local")
                 /\ direct' = [direct EXCEPT ![w] = IF Bug = 7 THEN @ ELSE @ + 1] \* bug 7: counted by who takes it
                 /\ UNCHANGED <<front, posted, dealt, local, entered, finished, made, sleeps>>
OpenLocal(w) == /\ pc[w] = "local" /\ local' = local + 1 /\ Go(w, "step")
                /\ UNCHANGED <<front, posted, dealt, entered, direct, finished, left, made, sleeps>>
TakeLocal(w) == /\ pc[w] = "idle" /\ local > 0 /\ local' = local - 1 /\ Go(w, IF Bug = 7 THEN "count" ELSE "step")
                /\ UNCHANGED <<front, posted, dealt, entered, direct, finished, left, made, sleeps>>
\* seat::put_to_sleep: counts it, and then it sleeps.
CountSleep(w) == /\ pc[w] = "step" /\ left > 0 /\ left' = left - 1 /\ Go(w, "sleep")
                 /\ direct' = [direct EXCEPT ![w] = IF Bug = 8 THEN @ ELSE @ + 1] \* bug 8: counted by who wakes it
                 /\ UNCHANGED <<front, posted, dealt, local, entered, finished, made, sleeps>>
Sleep(w) == /\ pc[w] = "sleep" /\ asleep' = asleep + 1 /\ Go(w, "step")
            /\ UNCHANGED <<front, posted, dealt, local, entered, direct, finished, left, made, roused>>
\* seat::take_woken, and then the post.
Wake(w) == /\ pc[w] = "step" /\ asleep > 0 /\ asleep' = asleep - 1 /\ Go(w, "wakes")
           /\ roused' = [roused EXCEPT ![w] = IF Bug = 9 THEN @ ELSE @ + 1]         \* bug 9: the sleep does not end
           /\ direct' = [direct EXCEPT ![w] = IF Bug = 8 THEN @ + 1 ELSE @]
           /\ UNCHANGED <<front, posted, dealt, local, entered, finished, left, made>>
PostWoken(w) == /\ pc[w] = "wakes" /\ posted' = [posted EXCEPT ![w] = @ + 1] /\ Go(w, "step")
                /\ UNCHANGED <<front, dealt, local, entered, direct, finished, left, made, sleeps>>
Finish(w) == /\ pc[w] = "step" /\ finished' = [finished EXCEPT ![w] = @ + 1]
             /\ Go(w, IF Bug = 1 /\ left > 0 THEN "late" ELSE "idle")
             /\ UNCHANGED <<front, posted, dealt, local, entered, direct, left, made, sleeps>>
\* Takes one of its own posts without a round: counts it, then removes it, unless a round was faster.
CountDirect(w) == /\ pc[w] = "idle" /\ posted[w] > 0 /\ Go(w, "direct")
                  /\ direct' = [direct EXCEPT ![w] = IF Bug = 2 THEN @ ELSE @ + 1]  \* bug 2: counted after it
                  /\ UNCHANGED <<front, posted, dealt, local, entered, finished, left, made, sleeps>>
TakeDirect(w) == /\ pc[w] = "direct"
                 /\ IF posted[w] > 0
                    THEN /\ posted' = [posted EXCEPT ![w] = @ - 1] /\ Go(w, IF Bug = 2 THEN "count" ELSE "step")
                         /\ UNCHANGED direct
                    ELSE /\ direct' = [direct EXCEPT ![w] = IF Bug \in {2, 6} THEN @ ELSE @ - 1] \* bug 6: stays counted
                         /\ Go(w, "idle")
                         /\ UNCHANGED posted
                 /\ UNCHANGED <<front, dealt, local, entered, finished, left, made, sleeps>>
CountLate(w) == /\ pc[w] = "count" /\ direct' = [direct EXCEPT ![w] = @ + 1] /\ Go(w, "step")
                /\ UNCHANGED <<front, posted, dealt, local, entered, finished, left, made, sleeps>>
Waiting == front + Sum(posted, Workers)
Round == /\ ask = "none" /\ Waiting > 0
         /\ entered' = entered + Waiting /\ dealt' = dealt + Waiting
         /\ front' = 0 /\ posted' = [w \in Workers |-> 0]
         /\ UNCHANGED <<local, direct, finished, pc, left, made, sleeps>>
Others == /\ \/ \E u \in Users : Post(u)
             \/ \E w \in Workers : \/ TakeDealt(w) \/ PostOwn(w) \/ Finish(w) \/ CountDirect(w) \/ TakeDirect(w)
                                  \/ CountLate(w) \/ CountLocal(w) \/ OpenLocal(w) \/ TakeLocal(w)
                                  \/ CountSleep(w) \/ Sleep(w) \/ Wake(w) \/ PostWoken(w)
             \/ Round
          /\ UNCHANGED question /\ Watched

\* --- the question, in the order of role::drained -----------------------------------------------------------
\* The steps that have ended first: what ends later is not counted, and what is counted has posted before.
world == <<front, posted, dealt, local, sleeps, entered, direct, finished, pc, left, made>>
Phases == IF Bug = 3 THEN <<"front", "posted", "direct", "finished", "compare">>   \* bug 3: what has ended last
                     ELSE <<"finished", "front", "posted", "direct", "compare">>
After(at) == Phases[1 + CHOOSE i \in 1..4 : Phases[i] = at]
\* Who asks has just run a round.
Begin == /\ ask = "none" /\ Waiting = 0 /\ ask' = Phases[1] /\ todo' = Workers /\ sum' = 0 /\ begun' = 0
         /\ answer' = FALSE /\ nothing' = Nothing
\* One worker after the other, from left to right or as it comes.
NextOf(w) == IF todo = {w} THEN todo' = Workers /\ ask' = After(ask) ELSE todo' = todo \ {w} /\ UNCHANGED ask
Finished(w) == /\ ask = "finished" /\ w \in todo /\ sum' = sum + finished[w] + roused[w] /\ NextOf(w)
               /\ UNCHANGED <<begun, answer, nothing>>
\* Admission needs the role, so `entered` stands still.
Front == /\ ask = "front" /\ ask' = IF front > 0 /\ Bug # 4 THEN "none" ELSE After("front") \* bug 4: does not look
         /\ begun' = entered /\ UNCHANGED <<todo, answer, sum, nothing>>
PostedOf(w) == /\ ask = "posted" /\ w \in todo
               /\ IF posted[w] > 0 /\ Bug # 5 THEN ask' = "none" /\ UNCHANGED todo ELSE NextOf(w) \* bug 5: does not look
               /\ UNCHANGED <<sum, begun, answer, nothing>>
DirectOf(w) == /\ ask = "direct" /\ w \in todo /\ begun' = begun + direct[w] /\ NextOf(w)
               /\ UNCHANGED <<sum, answer, nothing>>
Compare == /\ ask = "compare" /\ answer' = (sum = begun) /\ ask' = "none" /\ UNCHANGED <<todo, sum, begun, nothing>>
Asks == /\ \/ Begin \/ Front \/ Compare
           \/ \E w \in Workers : Finished(w) \/ PostedOf(w) \/ DirectOf(w)
        /\ UNCHANGED world

Next == Others \/ Asks
GoesOn(w) == (TakeDealt(w) \/ Finish(w) \/ TakeDirect(w) \/ CountLate(w) \/ OpenLocal(w) \/ TakeLocal(w) \/ Sleep(w) \/ PostWoken(w)) /\ UNCHANGED question /\ Watched
Fair == /\ WF_vars(Asks) /\ WF_vars(Round /\ UNCHANGED question /\ Watched)
        /\ \A w \in Workers : WF_vars(GoesOn(w))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------------
Exact == answer => nothing
Yes == ([]<>(answer)) \/ <>[](left > 0 \/ asleep > 0 \/ \E u \in Users : made[u] < Posts)
============================================================================
