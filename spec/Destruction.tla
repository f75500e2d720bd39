---------------------------- MODULE Destruction ---------------------------
(* The end of a scheduler whose workers have ended: core::abandon_all, take_all_that_is_left, task_access::may_abandon,
   await_posters in sched/runtime/core.cpp. Other threads may still end the sleeps of its tasks: who has the duty pushes
   the task, and counts the push if it found the front empty, which is its last touch of the scheduler.

   A task is given back once nobody else can push it. One that waits for an operation is put to sleep until
   that has ended, so that the operation finds it. A task that was given back may be freed at once.

   What is to hold
     GivenBackOnce  each task is given back once
     NotTouched     nobody touches a task that was given back, or the scheduler after it is gone
     Operations     who waits for an operation is given back after it has ended
     Ends           the destructor ends, when all operations have                            (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Sleepers,    \* tasks that sleep; each has a thread that may wake it, once, while it is there
          Waiting,     \* tasks that wait for an operation, which a thread ends
          Bug

VARIABLES place,       \* of each task: "asleep", "transit", "held", "deferred", "user"
          word,        \* of each task: the bits that are set
          front, left, \* the front; what the destructor has taken
          announced, waking, taken,  \* pushes that were counted, threads that wake somebody; pushes it has taken
          pc,          \* of each thread
          at, given, touched         \* the destructor; how often each task was given back
vars == <<place, word, front, left, announced, waking, taken, pc, at, given, touched>>

Tasks == Sleepers \cup Waiting
Init == /\ place = [t \in Tasks |-> "asleep"] /\ word = [t \in Tasks |-> {"waiting"}]
        /\ front = {} /\ left = {} /\ announced = 0 /\ waking = 0 /\ taken = 0
        /\ pc = [t \in Tasks |-> "act"] /\ at = "take" /\ given = [t \in Tasks |-> 0] /\ touched = FALSE

Gone == at = "gone"
Go(t, to) == pc' = [pc EXCEPT ![t] = to]
Notified(t) == "woken" \in word[t]

\* --- threads: basic_task::wakeup, complete; core::push; idle::announce ------------------------------------------
\* A waker knows that the task is there; an operation, that its task waits for it.
Wake(t) == /\ pc[t] = "act" /\ (t \in Sleepers => given[t] = 0)
           /\ touched' = (touched \/ given[t] > 0)
           /\ word' = [word EXCEPT ![t] = @ \cup {"woken"}]
           /\ Go(t, IF "waiting" \in word[t] /\ ~Notified(t) THEN "push" ELSE "left")
           /\ UNCHANGED <<place, front, left, announced, waking, taken, at, given>>
Push(t) == /\ pc[t] = "push" /\ front' = front \cup {t} /\ touched' = (touched \/ Gone \/ given[t] > 0)
           /\ Go(t, IF front = {} THEN "announce" ELSE "left")
           /\ UNCHANGED <<place, word, left, announced, waking, taken, at, given>>
\* Counts the push; and itself, if somebody seemed to sleep when it looked.
Announce(t) == /\ pc[t] = "announce" /\ touched' = (touched \/ Gone) /\ announced' = announced + 1
               /\ \E wakes \in BOOLEAN : Go(t, IF wakes THEN "wake" ELSE "left") /\ waking' = waking + (IF wakes THEN 1 ELSE 0)
               /\ UNCHANGED <<place, word, front, left, taken, at, given>>
WakeSleeper(t) == /\ pc[t] = "wake" /\ touched' = (touched \/ Gone) /\ Go(t, "leave")
                  /\ UNCHANGED <<place, word, front, left, announced, waking, taken, at, given>>
Leave(t) == /\ pc[t] = "leave" /\ touched' = (touched \/ Gone) /\ waking' = waking - 1 /\ Go(t, "left")
            /\ UNCHANGED <<place, word, front, left, announced, taken, at, given>>
Poster(t) == Push(t) \/ Announce(t) \/ WakeSleeper(t) \/ Leave(t)

\* --- the destructor: role::take_everything --------------------------------------------------------------------------
Held(ts) == place' = [t \in Tasks |-> IF t \in ts THEN "held" ELSE place[t]]
TakeFront == /\ at = "take" /\ front # {} /\ front' = {} /\ left' = left \cup front /\ Held(front)
             /\ taken' = IF Bug = 1 THEN taken + Cardinality(front) ELSE taken + 1      \* bug 1: counts tasks
             /\ UNCHANGED <<word, announced, waking, pc, at, given, touched>>
\* A sleeper, unless its waker brings it.
Unpark == /\ at = "take" /\ \E t \in Tasks :
               /\ place[t] = "asleep"
               /\ IF ~Notified(t) \/ Bug = 2                                             \* bug 2: takes it from its waker
                  THEN word' = [word EXCEPT ![t] = {}] /\ left' = left \cup {t} /\ Held({t})
                  ELSE place' = [place EXCEPT ![t] = "transit"] /\ UNCHANGED <<word, left>>
          /\ UNCHANGED <<front, announced, waking, taken, pc, at, given, touched>>
HasSleepers == \E t \in Tasks : place[t] \in IF Bug = 3 THEN {"asleep"} ELSE {"asleep", "transit"} \* bug 3: waits for none
Taken == /\ at = "take" /\ front = {} /\ ~HasSleepers
         /\ at' = IF left # {} THEN "abandon"
                  ELSE IF (\E t \in Tasks : place[t] = "deferred") /\ Bug # 4 THEN "take" \* bug 4: forgets them
                  ELSE IF Bug = 5 THEN "gone" ELSE "await"                                \* bug 5: waits for no poster
         /\ UNCHANGED <<place, word, front, left, announced, waking, taken, pc, given, touched>>
\* It waits for an operation that has not ended: it sleeps until then, if it has not ended just now.
Abandon == /\ at = "abandon" /\ left # {}
           /\ \E t \in left :
                IF t \in Waiting /\ ~Notified(t) /\ Bug # 6      \* bug 6: gives it back all the same
                THEN /\ left' = left \ {t} /\ word' = [word EXCEPT ![t] = @ \cup {"waiting"}]
                     /\ place' = [place EXCEPT ![t] = "deferred"] /\ UNCHANGED given
                ELSE /\ left' = left \ {t} /\ given' = [given EXCEPT ![t] = @ + 1]
                     /\ place' = [place EXCEPT ![t] = "user"] /\ UNCHANGED word
           /\ UNCHANGED <<front, announced, waking, taken, pc, at, touched>>
Abandoned == /\ at = "abandon" /\ left = {} /\ at' = "take"
             /\ UNCHANGED <<place, word, front, left, announced, waking, taken, pc, given, touched>>
\* core::await_posters, idle::all_left: one load of the word
Await == /\ at = "await" /\ announced = taken /\ (waking = 0 \/ Bug = 7) /\ at' = "gone"   \* bug 7: not who wakes others
         /\ UNCHANGED <<place, word, front, left, announced, waking, taken, pc, given, touched>>
Destructor == TakeFront \/ Unpark \/ Taken \/ Abandon \/ Abandoned \/ Await

Next == Destructor \/ \E t \in Tasks : Wake(t) \/ Poster(t)
Fair == WF_vars(Destructor) /\ \A t \in Tasks : WF_vars(Poster(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties -------------------------------------------------------------------------------------------------------
GivenBackOnce == (\A t \in Tasks : given[t] <= 1) /\ (at \in {"await", "gone"} => \A t \in Tasks : given[t] = 1)
NotTouched == ~touched
Operations == \A t \in Waiting : given[t] > 0 => pc[t] # "act"
Ends == (\A t \in Waiting : pc[t] # "act") ~> Gone
============================================================================
