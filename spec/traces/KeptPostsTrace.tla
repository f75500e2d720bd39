--------------------------- MODULE KeptPostsTrace ---------------------------
(* Traces of the posts that steps keep, from the hooks of sched/task/trace.hpp: thread 1 posts from outside and stops, the
   others are the workers of a whole scheduler.

   What a step posts, the word of `idle`, and the watch are explained by the actions of KeptPosts. Where that is
   plainer than the code, this module says what the code does: a step may post to the shared front; a worker takes
   its share of a round, and steals several tasks; it may sleep in the driver, and wake others needlessly. What a
   worker sees before it sleeps is not in the trace. But it must not sleep if a step has kept a post ever since
   that worker counted itself as asleep, and nobody watches; nor end a watch without help for a step that kept a
   post all the while. *)
EXTENDS KeptPosts, Sequences, Trace

VARIABLES batch,    \* what a round has looked at, and not dealt
          owes,     \* of each thread: it has found that somebody is to be woken
          inside,   \* who sleeps in the driver
          left      \* of each worker that looks at the kept posts: whose was there all the time
own == <<batch, owes, inside>>

User == 1
Said(t, i) == Argument(t)[i]
Set(s) == {s[i] : i \in DOMAIN s}
First(s, count) == SubSeq(s, 1, count)
Rest(s, count) == SubSeq(s, count + 1, Len(s))

\* From one part of the code to the next; or to where the call is made.
Moves(w, from, to) == /\ pc[w] \in from /\ Go(w, to)
                      /\ UNCHANGED <<slots, tasks, rounds, idle, back, search, watch, looks, post, own>>
Turns(w, from, to) == Moves(w, from, to) /\ ContinuesAlone(w)

\* --- who wakes --------------------------------------------------------------------------------------------
Chooses(w) == /\ parked' = parked \ {w} /\ searching' = searching + 1 /\ told' = [told EXCEPT ![w] = TRUE]
              /\ UNCHANGED watched
\* Those who park go first. Who begins to search after the look at the word makes it needless.
WakeOneCall(t) ==
    /\ Calls(t, "wake_one") /\ owes' = [owes EXCEPT ![t] = FALSE]
    /\ CASE Said(t, 1) = "nobody" -> ~SomebodyToWake /\ UNCHANGED idle
         [] Said(t, 1) = "parked" -> \E w \in parked \ {inside} : Chooses(w)
         [] Said(t, 1) = "in_driver" -> parked = {inside} /\ Chooses(inside)
    /\ IF t = User THEN UNCHANGED pc
       ELSE \/ pc[t] = "post, wake" /\ Go(t, "step")
            \/ (owes[t] \/ pc[t] \notin {"step", "push", "look at word", "post, wake", "last post"}) /\ UNCHANGED pc
    /\ UNCHANGED <<slots, tasks, rounds, back, search, watch, looks, post, batch, inside>> /\ Returns(t)
\* One after the other, whoever searches.
WakeAllCall(t) ==
    /\ Calls(t, "wake_all") /\ \E w \in parked : (w = inside) = (Said(t, 1) = "in_driver") /\ Chooses(w)
    /\ UNCHANGED <<slots, tasks, rounds, pc, back, search, watch, looks, post, own>> /\ Returns(t)
Decides(w, needed) == /\ Said(w, 1) = needed /\ owes' = [owes EXCEPT ![w] = needed] /\ Returns(w)
                      /\ UNCHANGED <<slots, tasks, rounds, idle, back, search, watch, looks, post, batch, inside>>
DecideCall(w) ==
    /\ Calls(w, "decide")
    /\ \/ /\ LookAtWord(w) /\ Said(w, 1) = (pc'[w] = "post, wake")
          /\ UNCHANGED own /\ Returns(w)
       \/ pc[w] = "put, wake" /\ Decides(w, SomebodyToWake) /\ Go(w, "turn")
       \/ pc[w] = "turn" /\ Decides(w, NeedsWatcher) /\ Go(w, "turned")

\* --- from outside, or from a step after that -------------------------------------------------------------
FrontCall(t) ==
    /\ \/ /\ Calls(t, "push") /\ (IF t = User THEN TRUE ELSE pc[t] = "step") /\ Said(t, 2) = (front = {})
          /\ front' = front \cup {Said(t, 1)} /\ state[Said(t, 1)] = "new"
          /\ state' = [state EXCEPT ![Said(t, 1)] = "posted"] /\ UNCHANGED <<behind, own>>
       \/ /\ Calls(t, "push_behind") /\ t # User /\ pc[t] = "step" /\ Said(t, 2) = (behind = {})
          /\ behind' = behind \cup {Said(t, 1)} /\ state[Said(t, 1)] = "new"
          /\ state' = [state EXCEPT ![Said(t, 1)] = "posted"] /\ UNCHANGED <<front, own>>
       \/ /\ Calls(t, "announce") /\ Said(t, 1) = SomebodyToWake /\ owes' = [owes EXCEPT ![t] = Said(t, 1)]
          /\ UNCHANGED <<front, behind, state, batch, inside>>
    /\ UNCHANGED <<slots, ready, rounds, idle, pc, back, search, watch, looks, post>> /\ Returns(t)
UserCall ==
    /\ \/ Calls(User, "drain") /\ (Result(User) => \A t \in Tasks : state[t] # "posted")
       \/ Calls(User, "stop")
    /\ UNCHANGED <<vars, own>> /\ Returns(User)

\* --- a step -----------------------------------------------------------------------------------------------
StepCall(w) ==
    LET t == Said(w, 1) IN
    \/ /\ Calls(w, "step") /\ ~search[w] /\ ~watching[w] /\ role # w /\ t \in run[w]
       /\ pc[w] \in {"look", "last round", "turned"} \/ (pc[w] = "turn" /\ posted[w] = {})
       /\ run' = [run EXCEPT ![w] = @ \ {t}] /\ current' = [current EXCEPT ![w] = t] /\ Go(w, "begin step")
       /\ UNCHANGED <<posted, keeps, hand, tasks, rounds, idle, back, search, watch, looks, post, own>>
       /\ ContinuesAlone(w)
    \/ /\ UNCHANGED own /\ Returns(w)
       /\ \/ Calls(w, "step") /\ BeginStep(w)
          \/ Calls(w, "post") /\ state[t] = "new" /\ BeginPost(w, t) /\ Said(w, 2) = kept'[w]
          \/ Calls(w, "keep") /\ new[w] = t /\ PushPost(w)
          \/ Calls(w, "goes_on") /\ pc[w] = "step" /\ UNCHANGED vars
          \/ Calls(w, "finished") /\ EndStep(w)

\* --- where a worker takes tasks from ----------------------------------------------------------------------
TakeCall(w) ==
    /\ pc[w] \in {"look", "last round"} /\ ~watching[w]
    /\ LET some == Set(Said(w, 1)) IN
       /\ \/ /\ Calls(w, "claim") /\ some \subseteq ready /\ ready' = ready \ some
             /\ run' = [run EXCEPT ![w] = @ \cup some] /\ UNCHANGED posted
          \/ /\ Calls(w, "steal") /\ UNCHANGED <<ready, posted>>
             /\ \E v \in Workers \ {w} : /\ some \subseteq run[v]
                                         /\ run' = [run EXCEPT ![v] = @ \ some, ![w] = @ \cup some]
          \/ /\ Calls(w, "take_own") /\ some = posted[w] /\ posted' = [posted EXCEPT ![w] = {}]
             /\ run' = [run EXCEPT ![w] = @ \cup some] /\ UNCHANGED ready
       /\ Go(w, CASE Cardinality(some) > 1 -> "put, wake" [] some = {} -> "look" [] OTHER -> "turn")
    /\ UNCHANGED <<keeps, hand, current, front, behind, state, rounds, idle, back, search, watch, looks, post, own>>
    /\ Returns(w)

\* --- a round ----------------------------------------------------------------------------------------------
Deals(w, count) == /\ pc[w] = "take" /\ role = w /\ count <= Len(batch) /\ batch' = Rest(batch, count)
                   /\ UNCHANGED <<posted, keeps, hand, current, front, behind, state, rounds, idle, pc, back>>
                   /\ UNCHANGED <<search, watch, looks, post, owes, inside>> /\ Returns(w)
RoundCall(w) ==
    \/ /\ Calls(w, "begin") /\ role = None /\ pc[w] \in {"look", "last round"}
       /\ role' = w /\ todo' = Workers /\ back' = [back EXCEPT ![w] = pc[w]] /\ Go(w, "take")
       /\ UNCHANGED <<slots, tasks, taken, idle, search, watch, looks, post, own>> /\ Returns(w)
    \/ /\ Calls(w, "take") /\ pc[w] = "take" /\ Set(Said(w, 1)) = front
       /\ taken' = taken \cup front /\ front' = {}
       /\ UNCHANGED <<slots, behind, ready, state, role, todo, idle, pc, back, search, watch, looks, post, own>>
       /\ Returns(w)
    \/ /\ Calls(w, "take_behind") /\ pc[w] = "take" /\ Set(Said(w, 1)) = behind
       /\ taken' = taken \cup behind /\ behind' = {}
       /\ UNCHANGED <<slots, front, ready, state, role, todo, idle, pc, back, search, watch, looks, post, own>>
       /\ Returns(w)
    \/ /\ Calls(w, "take_posts") /\ TakePosts(w)
       /\ \E v \in todo \ todo' : posted[v] = Set(Said(w, 1))
       /\ UNCHANGED own /\ Returns(w)
    \/ /\ Calls(w, "batch") /\ pc[w] = "take" /\ Said(w, 1) \in taken
       /\ taken' = taken \ {Said(w, 1)} /\ batch' = Append(batch, Said(w, 1))
       /\ UNCHANGED <<slots, tasks, role, todo, idle, pc, back, search, watch, looks, post, owes, inside>> /\ Returns(w)
    \/ /\ Calls(w, "deal_own")
       /\ LET count == Len(batch) - Said(w, 1) IN
          run' = [run EXCEPT ![w] = @ \cup Set(First(batch, count))] /\ UNCHANGED ready /\ Deals(w, count)
    \/ /\ Calls(w, "deal") /\ Said(w, 1) = Len(batch)
       /\ ready' = ready \cup Set(batch) /\ UNCHANGED run /\ Deals(w, Len(batch))
    \/ /\ Calls(w, "release") /\ role = w /\ taken = {} /\ batch = << >>
       /\ role' = None /\ Go(w, IF pc[w] = "take" THEN back[w] ELSE pc[w])
       /\ UNCHANGED <<slots, tasks, taken, todo, idle, back, search, watch, looks, post, own>> /\ Returns(w)

\* --- searching, sleeping, watching --------------------------------------------------------------------------
SearchCall(w) ==
    /\ pc[w] \in {"look", "turn", "turned", "last round"} /\ ~watching[w]
    /\ \/ Calls(w, "begin_search") /\ ~search[w] /\ searching' = searching + 1
       \/ Calls(w, "end_search") /\ search[w] /\ Said(w, 1) = (searching = 1) /\ searching' = searching - 1
    /\ search' = [search EXCEPT ![w] = ~@]
    /\ UNCHANGED <<slots, tasks, rounds, parked, watched, told, pc, back, watch, looks, post, own>> /\ Returns(w)
WatchCall(w) ==
    \/ Calls(w, "begin_watch") /\ search[w] /\ Turns(w, {"look", "last round"}, "watch")
    \/ Calls(w, "begin_watch") /\ BeginWatch(w) /\ Said(w, 1) = watching'[w] /\ UNCHANGED own /\ Returns(w)
    \/ Calls(w, "end_watch") /\ Turns(w, {"last round"}, "awake")   \* it did not sleep
    \/ Calls(w, "end_watch") /\ watching[w] /\ EndWatch(w) /\ UNCHANGED own /\ Returns(w)
    \/ Calls(w, "rescue") /\ Moves(w, {"rescue"}, "look") /\ (Said(w, 1) \/ left[w] = {}) /\ Returns(w)
SleepCall(w) ==
    \/ Calls(w, "prepare_park") /\ Turns(w, {"look", "last round"}, "park")
    \/ Calls(w, "prepare_park") /\ Park(w) /\ UNCHANGED own /\ ContinuesAlone(w)
    \/ Calls(w, "enter_driver") /\ taken = {} /\ batch = << >> /\ Turns(w, {"take"}, "count")   \* before the release
    \/ /\ Calls(w, "prepare_park") \/ Calls(w, "enter_driver")
       /\ search[w] /\ Count(w) /\ inside' = IF Calls(w, "enter_driver") THEN w ELSE inside
       /\ UNCHANGED <<batch, owes>> /\ Returns(w)
    \/ Calls(w, "stay") /\ left[w] = {} /\ Moves(w, {"recheck"}, "asleep") /\ Returns(w)
    \* It did not sleep, or not for longer.
    \/ Calls(w, "cancel_park") /\ w \in parked /\ Turns(w, {"recheck"}, "cancel")
    \/ Calls(w, "cancel_park") /\ TimeOut(w) /\ UNCHANGED own /\ ContinuesAlone(w)
    \/ Calls(w, "cancel_park") /\ w \in parked /\ CancelPark(w) /\ UNCHANGED own /\ Returns(w)
    \/ Calls(w, "awake") /\ Turns(w, {"recheck"}, "asleep")
    \/ Calls(w, "awake") /\ Awake(w) /\ UNCHANGED own /\ Returns(w)
    \* The one in the driver may leave it whenever it likes.
    \/ Calls(w, "leave_driver") /\ ~Said(w, 1) /\ Turns(w, {"recheck", "asleep"}, "cancel")
    \/ Calls(w, "leave_driver") /\ Said(w, 1) /\ Turns(w, {"recheck"}, "asleep")
    \/ /\ Calls(w, "leave_driver") /\ inside = w /\ inside' = None
       /\ \/ ~Said(w, 1) /\ w \in parked /\ CancelPark(w)
          \/ Said(w, 1) /\ Awake(w)
       /\ UNCHANGED <<batch, owes>> /\ Returns(w)
    \* Nothing to end.
    \/ ~watching[w] /\ EndWatch(w) /\ UNCHANGED own /\ ContinuesAlone(w)

WorkerCall(w) == \/ DecideCall(w) \/ StepCall(w) \/ TakeCall(w) \/ RoundCall(w)
                 \/ SearchCall(w) \/ WatchCall(w) \/ SleepCall(w)

\* --- what was there all the time -----------------------------------------------------------------------------
GoesOn(v) == pc[v] \in {"step", "push", "look at word", "post, wake"}
Looks == {"recheck", "rescue"}
Left(w) == {v \in Workers : /\ HasKeptPost(v) /\ GoesOn(v)
                            /\ IF pc[w] = "recheck" THEN ~watched ELSE v \in still[w]}
Passes == left' = [w \in Workers |-> CASE pc'[w] \notin Looks -> {}
                                       [] pc[w] \notin Looks -> Left(w)'
                                       [] OTHER -> left[w] \cap Left(w)']

TraceInit == /\ Begin({}) /\ InitTrace /\ batch = << >> /\ owes = [t \in {User} \cup Workers |-> FALSE]
             /\ inside = None /\ left = [w \in Workers |-> {}]
TraceNext == /\ \E t \in Recorded : /\ MayGo(t)
                                    /\ \/ WakeOneCall(t)
                                       \/ ~owes[t] /\ (WakeAllCall(t) \/ FrontCall(t))
                                       \/ ~owes[t] /\ IF t = User THEN UserCall ELSE WorkerCall(t)
             /\ Passes
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, own, left, recorded>>
=============================================================================
