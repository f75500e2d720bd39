----------------------------- MODULE KeptPosts ----------------------------
(* Posts that a step keeps for its own worker, and who watches them: sched/{worker,idle,slot}, docs/adr/0014.

   What a step posts stays in its slot, in case the step ends soon, as long as no more than one of it is to run
   now; tasks that go to sleep do not count. Nobody is woken for it, unless nobody watches: a watcher is a sleeper that
   wakes up after a while and takes, in a round, what a step that still runs has kept. A worker may also linger: it
   watches a few times more although no post is kept now, after a step has posted. A worker that never sleeps looks now and then at those who do not get on. The word of `idle`
   changes in one step, and who looks for work sees all places in one step, as nothing relies on that before
   the worker has counted itself as asleep.

   Parking and the driver are one here: a worker that finds nothing runs a round, if the role is free, and
   sleeps. Time passes: a watch ends some day. How many steps a worker has finished matters only as a change
   since somebody looked.

   With `Stealing`, what a step posts, but for itself, goes to a deque of its worker: its owner takes it first, and
   so do thieves, unless it is kept. Then a watcher takes it, or who looks for those who do not get on. Now and then
   the owner takes something older. A deque that is full is one that has something.

   What is to hold
     Once    a task is in one place, and run once for each post, whoever takes it
     Runs    what was posted runs, though the step that posted it may not end before, or never   (liveness)
     Calm    when all that was posted has begun nobody watches any more, after a while           (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Workers,
          Tasks,      \* run once each; one waits at first, steps post the others
          Chain,      \* tasks whose steps post them again
          Later,      \* of all these: those that are posted with a deadline
          Long,       \* workers whose steps may never end
          Stealing,
          Behind,     \* whether steps may post to the shared front, behind what is there: inbox::push_behind
          Leased,     \* whether a worker may keep more than one that is to run, for the lease of its turn: outbox::keeps
          Bug

None == "none"
Lingers == 1                                   \* in the code four times 1 ms after the last post
VARIABLES posted, keeps, run, hand, current,   \* of each slot; `hand`: what its worker carries to its run
          front, behind, ready, state,         \* tasks; of each: "new", "posted", or "ran", its step having begun
          role, taken,                         \* its holder, what it has taken
          todo,                                \* the slots that it has not looked at
          searching, parked, watched, told,    \* idle
          pc, back, search,                    \* of each worker: where it is, where it goes after a round
          watching, still,                     \* whether it watches; who has not finished a step since it began
          lingers,                             \* of each worker: how often it may watch though no post is kept
          due, seen,                           \* the time to look for those that are stuck; likewise
          rescued,                             \* whether its last such look was a round, though it could have stolen
          kept, new,                           \* the post of its step: whether it is kept; which task
          local, older                         \* with Stealing: its deque; whether it may take something older
slots == <<posted, keeps, run, hand, current>>
tasks == <<front, behind, ready, state>>
rounds == <<role, taken, todo>>
idle == <<searching, parked, watched, told>>
looks == <<due, seen, rescued>>
watch == <<watching, still, lingers>>
post == <<kept, new, local, older>>
vars == <<slots, tasks, rounds, idle, pc, back, search, watch, looks, post>>

All(x) == [w \in Workers |-> x]
\* These tasks are posted already.
Begin(posts) ==
    /\ posted = All({}) /\ keeps = All(FALSE) /\ run = All({}) /\ hand = All({}) /\ current = All(None)
    /\ front = posts /\ behind = {}
    /\ ready = {} /\ state = [t \in Tasks \cup Chain |-> IF t \in front THEN "posted" ELSE "new"]
    /\ role = None /\ taken = {} /\ todo = {}
    /\ searching = 0 /\ parked = {} /\ watched = FALSE /\ told = All(FALSE)
    /\ pc = All("look") /\ back = All("look") /\ search = All(FALSE)
    /\ watching = All(FALSE) /\ still = All({}) /\ lingers = All(0) /\ due = All(FALSE) /\ seen = All({}) /\ rescued = All(FALSE)
    /\ kept = All(FALSE) /\ new = All(None) /\ local = All({}) /\ older = All(TRUE)
Init == Begin({CHOOSE t \in Tasks : TRUE} \cup Chain)

Go(w, to) == pc' = [pc EXCEPT ![w] = to]

\* --- what one sees: core::arrivals_visible, watcher_wanted, tasks_visible --------------------------------------
HasOpenPosts(v) == posted[v] # {} /\ ~keeps[v]
HasKeptPost(v) == (posted[v] # {} \/ local[v] # {}) /\ keeps[v]
HasOpenLocal(v) == local[v] # {} /\ ~keeps[v]
Arrivals(w) == front # {} \/ (behind # {} /\ Bug # 16) \/ posted[w] # {} \/ \E v \in Workers : HasOpenPosts(v)
WatcherWanted == ~watched /\ \E v \in Workers : HasKeptPost(v)
Runnable == ready # {} \/ \E v \in Workers : run[v] # {} \/ HasOpenLocal(v)
TasksVisible == Runnable \/ WatcherWanted

\* --- idle ----------------------------------------------------------------------------------------------------------
SomebodyToWake == searching = 0 /\ parked # {}
NeedsWatcher == ~watched /\ SomebodyToWake
WakeOne == IF SomebodyToWake
           THEN \E w \in parked : /\ parked' = parked \ {w} /\ searching' = searching + 1
                                  /\ told' = [told EXCEPT ![w] = TRUE] /\ UNCHANGED watched
           ELSE UNCHANGED idle

\* --- a worker looks for a task: worker::look -----------------------------------------------------------------------
\* It has one, and perhaps more for its run.
Has(w, t, more, to) == /\ current' = [current EXCEPT ![w] = t] /\ hand' = [hand EXCEPT ![w] = more]
                       /\ Go(w, IF more # {} THEN "put" ELSE to) /\ due' = [due EXCEPT ![w] = TRUE]
\* worker::take_open, deque_turns::next, thief::steal.
TakeLocal(w) == /\ pc[w] = "look"
                /\ \E v \in Workers : /\ v = w \/ (local[w] = {} /\ HasOpenLocal(v))
                                      /\ \E t \in local[v] : /\ Has(w, t, {}, IF v = w THEN "turned" ELSE "turn")
                                                             /\ local' = [local EXCEPT ![v] = @ \ {t}]
                /\ older' = [older EXCEPT ![w] = TRUE]
                /\ UNCHANGED <<posted, keeps, run, tasks, rounds, idle, back, search, watch, seen, rescued, kept, new>>
MayTakeOlder(w) == local[w] = {} \/ older[w]
TakesOlder(w) == older' = [older EXCEPT ![w] = local[w] = {}] /\ UNCHANGED <<kept, new>>
FromRun(w) == /\ pc[w] = "look" /\ MayTakeOlder(w) /\ TakesOlder(w)
              /\ \E v \in Workers : /\ v = w \/ run[w] = {}
                                    /\ \E t \in run[v] : /\ Has(w, t, {}, IF v = w THEN "turned" ELSE "turn")
                                                         /\ run' = [run EXCEPT ![v] = @ \ {t}]
              /\ UNCHANGED <<posted, keeps, tasks, rounds, idle, back, search, watch, seen, rescued, local>>
\* own_posts::take, take_due_posts. It may prefer what others have.
TakeOwn(w) == /\ pc[w] = "look" /\ local[w] = {} /\ run[w] = {} /\ ready = {} /\ front = {}
              /\ \E t \in posted[w] : Has(w, t, posted[w] \ {t}, "turn")
              /\ IF Bug = 4 THEN UNCHANGED posted ELSE posted' = [posted EXCEPT ![w] = {}] \* bug 4: read, then removed
              /\ UNCHANGED <<keeps, run, tasks, rounds, idle, back, search, watch, seen, rescued, post>>
RemoveLate(w) == /\ Bug = 4 /\ pc[w] = "turn" /\ posted[w] # {}
                 /\ posted' = [posted EXCEPT ![w] = {}] /\ Go(w, "turned")
                 /\ UNCHANGED <<keeps, run, hand, current, tasks, rounds, idle, back, search, watch, looks, post>>
Claim(w) == /\ pc[w] = "look" /\ run[w] = {} /\ MayTakeOlder(w) /\ TakesOlder(w)
            /\ \E t \in ready : Has(w, t, ready \ {t}, "turn")
            /\ ready' = {}
            /\ UNCHANGED <<posted, keeps, run, front, behind, state, rounds, idle, back, search, watch, seen, rescued, local>>
\* role::take_behind: first what is to stand last.
TakeBehind == taken' = behind /\ behind' = {}
BeginRound(w) == /\ pc[w] = "look" /\ run[w] = {} /\ MayTakeOlder(w) /\ Arrivals(w) /\ role = None
                 /\ role' = w /\ todo' = Workers /\ back' = [back EXCEPT ![w] = "look"] /\ Go(w, "take") /\ TakeBehind
                 /\ UNCHANGED <<slots, front, ready, state, idle, search, watch, looks, post>>
\* worker::take_over_stuck. Another has not got on since this one looked last, and has something. If a round was first,
\* what is to be stolen is first next time, as each round may find something. In the code that is so also if nothing
\* could be stolen then, and until something can.
Victims(w) == {v \in seen[w] : (run[v] # {} /\ Bug # 18) \/ (local[v] # {} /\ Bug # 12)} \* bug 12: not at deques, 18: at runs
LookForStuck(w) == /\ pc[w] = "look" /\ run[w] = {} /\ due[w] /\ Bug # 6                  \* bug 6: never looks
                   /\ MayTakeOlder(w) /\ seen' = [seen EXCEPT ![w] = Workers \ {w}]
                   /\ IF /\ role = None /\ (behind # {} \/ \E v \in seen[w] : posted[v] # {})
                         /\ Victims(w) = {} \/ ~rescued[w]
                      THEN /\ role' = w /\ todo' = Workers /\ back' = [back EXCEPT ![w] = "look"]
                           /\ Go(w, IF Bug = 17 THEN "take" ELSE "take all")               \* bug 17: may leave them
                           /\ rescued' = [rescued EXCEPT ![w] = Victims(w) # {}]
                           /\ due' = [due EXCEPT ![w] = FALSE] /\ TakeBehind /\ UNCHANGED <<run, hand, current, post>>
                      ELSE /\ UNCHANGED <<role, todo, taken, behind, back>> /\ rescued' = [rescued EXCEPT ![w] = FALSE]
                           /\ IF Victims(w) = {}
                              THEN due' = [due EXCEPT ![w] = FALSE] /\ UNCHANGED <<run, hand, current, pc, post>>
                              ELSE /\ TakesOlder(w)
                                   /\ \E v \in Victims(w) : \E t \in IF run[v] = {} \/ Bug = 18 THEN local[v] ELSE run[v] :
                                         /\ Has(w, t, {}, "turn")
                                         /\ run' = [run EXCEPT ![v] = @ \ {t}]
                                         /\ local' = [local EXCEPT ![v] = @ \ {t}]
                   /\ UNCHANGED <<posted, keeps, front, ready, state, idle, search, watch>>
\* core::put_into_run. In between nobody saw them.
Put(w) == /\ pc[w] = "put" /\ run' = [run EXCEPT ![w] = @ \cup hand[w]] /\ hand' = [hand EXCEPT ![w] = {}]
          /\ Go(w, IF Bug = 5 THEN "turn" ELSE "put, wake")                               \* bug 5: wakes nobody
          /\ UNCHANGED <<posted, keeps, current, tasks, rounds, idle, back, search, watch, looks, post>>
PutWake(w) == /\ pc[w] = "put, wake" /\ WakeOne /\ Go(w, "turn")
              /\ UNCHANGED <<slots, tasks, rounds, back, search, watch, looks, post>>
\* It turns to something else than what it has kept.
Turn(w) == /\ pc[w] = "turn" /\ (Bug = 4 => posted[w] = {})
           /\ IF posted[w] # {} /\ NeedsWatcher THEN WakeOne ELSE UNCHANGED idle
           /\ Go(w, "turned")
           /\ UNCHANGED <<slots, tasks, rounds, back, search, watch, looks, post>>
\* A searcher leaves the search; the last one looks for those who relied on it.
EndSearch(w) == /\ pc[w] = "turned"
                /\ IF search[w] THEN searching' = searching - 1 ELSE UNCHANGED searching
                /\ search' = [search EXCEPT ![w] = FALSE]
                /\ Go(w, IF search[w] /\ searching = 1 THEN "last" ELSE "begin step")
                /\ UNCHANGED <<slots, tasks, rounds, parked, watched, told, back, watch, looks, post>>
LastLooks(w) == /\ pc[w] = "last" /\ Go(w, "begin step")
                /\ IF Arrivals(w) \/ TasksVisible THEN WakeOne ELSE UNCHANGED idle
                /\ UNCHANGED <<slots, tasks, rounds, back, search, watch, looks, post>>
Nothing(w) == /\ pc[w] = "look" /\ local[w] = {} /\ ~Runnable /\ ~(Arrivals(w) /\ role = None)
              /\ IF search[w] THEN Go(w, "sleep") /\ UNCHANGED <<search, searching>>
                 ELSE searching' = searching + 1 /\ search' = [search EXCEPT ![w] = TRUE] /\ UNCHANGED pc
              /\ UNCHANGED <<slots, tasks, rounds, parked, watched, told, back, watch, looks, post>>

\* --- a round: role::round -----------------------------------------------------------------------------------------------
TakePosts(w) == /\ pc[w] \in {"take", "take all"} /\ UNCHANGED pc
                /\ \E v \in todo : /\ todo' = todo \ {v} /\ taken' = taken \cup posted[v]
                                   /\ posted' = [posted EXCEPT ![v] = {}]
                /\ UNCHANGED <<keeps, run, hand, current, tasks, role, idle, back, search, watch, looks, post>>
\* role::take_arrivals, outbox::keeps_post_of_step, keeps_lease. In the code a worker with tasks leaves only what is kept
\* for a lease, and a round that finds something in the front leaves nothing, for the order.
LeavePosts(w) == /\ pc[w] = "take"
                 /\ \E v \in todo \ {w} : /\ HasKeptPost(v) \/ (Bug = 14 /\ posted[v] # {})  \* bug 14: open ones, too
                                          /\ todo' = todo \ {v}
                 /\ UNCHANGED <<slots, tasks, role, taken, idle, pc, back, search, watch, looks, post>>
Deal(w) == /\ pc[w] \in {"take", "take all"} /\ todo = {} /\ ready' = ready \cup taken \cup front /\ front' = {} /\ taken' = {}
           /\ role' = None /\ Go(w, "after")
           /\ UNCHANGED <<slots, behind, state, todo, idle, back, search, watch, looks, post>>
WakeAnother(w) == /\ pc[w] = "after"
                  /\ IF Arrivals(w) \/ TasksVisible THEN WakeOne ELSE UNCHANGED idle
                  /\ Go(w, IF back[w] = "park" /\ ready # {} THEN "awake" ELSE back[w])
                  /\ UNCHANGED <<slots, tasks, rounds, back, search, watch, looks, post>>

\* --- going to sleep: sleeper::sleep, park --------------------------------------------------------------------------------
Sleep(w) == /\ pc[w] = "sleep"
            /\ \/ Go(w, IF WatcherWanted THEN "watch" ELSE "last round") /\ UNCHANGED lingers
               \/ /\ ~watched /\ lingers[w] > 0 /\ Go(w, "watch")
                  /\ lingers' = [lingers EXCEPT ![w] = IF Bug = 15 THEN @ ELSE @ - 1]       \* bug 15: for ever
            /\ UNCHANGED <<slots, tasks, rounds, idle, back, search, watching, still, looks, post>>
BeginWatch(w) == /\ pc[w] = "watch" /\ watched' = TRUE /\ Go(w, "last round")
                 /\ watching' = [watching EXCEPT ![w] = ~watched] /\ still' = [still EXCEPT ![w] = Workers]
                 /\ UNCHANGED <<slots, tasks, rounds, searching, parked, told, back, search, lingers, looks, post>>
LastRound(w) == /\ pc[w] = "last round"
                /\ IF role = None THEN /\ role' = w /\ todo' = Workers /\ Go(w, "take")
                                       /\ back' = [back EXCEPT ![w] = "park"] /\ TakeBehind
                                  ELSE Go(w, "park") /\ UNCHANGED <<role, todo, taken, behind, back>>
                /\ UNCHANGED <<slots, front, ready, state, idle, search, watch, looks, post>>
\* Nobody needs to be woken for its own post otherwise.
Park(w) == /\ pc[w] = "park" /\ keeps' = [keeps EXCEPT ![w] = FALSE] /\ Go(w, "count")
           /\ UNCHANGED <<posted, run, hand, current, tasks, rounds, idle, back, search, watch, looks, post>>
Count(w) == /\ pc[w] = "count" /\ parked' = parked \cup {w} /\ searching' = searching - 1 /\ Go(w, "recheck")
            /\ UNCHANGED <<slots, tasks, rounds, watched, told, back, search, watch, looks, post>>
Recheck(w) == /\ pc[w] = "recheck"
              /\ Go(w, IF (CASE Bug = 2 -> Runnable                                       \* bug 2: not at kept posts
                             [] Bug = 11 -> WatcherWanted \/ ready # {} \/ run # All({})   \* bug 11: not at deques
                             [] OTHER -> TasksVisible)
                          \/ (Arrivals(w) /\ role = None) THEN "cancel" ELSE "asleep")
              /\ UNCHANGED <<slots, tasks, rounds, idle, back, search, watch, looks, post>>
CancelPark(w) == /\ pc[w] = "cancel"
                 /\ IF w \in parked THEN parked' = parked \ {w} /\ searching' = searching + 1 /\ Go(w, "awake")
                                    ELSE Go(w, "asleep") /\ UNCHANGED <<parked, searching>>
                 /\ UNCHANGED <<slots, tasks, rounds, watched, told, back, search, watch, looks, post>>
Awake(w) == /\ pc[w] = "asleep" /\ told[w] /\ told' = [told EXCEPT ![w] = FALSE] /\ Go(w, "awake")
            /\ UNCHANGED <<slots, tasks, rounds, searching, parked, watched, back, search, watch, looks, post>>
\* The watch is over. Somebody may choose this sleeper at the same time.
TimeOut(w) == /\ pc[w] = "asleep" /\ watching[w] /\ ~told[w] /\ Go(w, "cancel")
              /\ Bug # 7                                                                  \* bug 7: has no clock
              /\ UNCHANGED <<slots, tasks, rounds, idle, back, search, watch, looks, post>>
EndWatch(w) == /\ pc[w] = "awake"
               /\ IF watching[w] /\ Bug # 3                                                \* bug 3: does not say so
                  THEN watched' = FALSE /\ Go(w, "rescue") ELSE Go(w, "look") /\ UNCHANGED watched
               /\ watching' = [watching EXCEPT ![w] = FALSE]
               /\ UNCHANGED <<slots, tasks, rounds, searching, parked, told, back, search, still, lingers, looks, post>>
RescuePosts(w) == /\ pc[w] = "rescue" /\ still' = [still EXCEPT ![w] = {}]
                  /\ LET stuck == {v \in still[w] : HasKeptPost(v)}
                         next == {v \in stuck : local[v] # {} /\ Bug # 10}                 \* bug 10: not from deques
                         to == IF next = {} THEN "look" ELSE "turn" IN
                     /\ IF next = {} THEN UNCHANGED <<current, local>>
                        ELSE \E v \in next : \E t \in local[v] : /\ current' = [current EXCEPT ![w] = t]
                                                                /\ local' = [local EXCEPT ![v] = @ \ {t}]
                     /\ IF stuck # {} /\ role = None
                        THEN /\ role' = w /\ todo' = Workers /\ back' = [back EXCEPT ![w] = to]
                             /\ Go(w, IF Bug = 13 THEN "take" ELSE "take all")            \* bug 13: rescues nothing
                        ELSE Go(w, to) /\ UNCHANGED <<role, todo, back>>
                  /\ UNCHANGED <<posted, keeps, run, hand, tasks, taken, idle, search, watching, lingers, looks, kept, new, older>>

\* --- a step: worker::execute, post --------------------------------------------------------------------------------------
BeginStep(w) == /\ pc[w] = "begin step" /\ state' = [state EXCEPT ![current[w]] = "ran"] /\ Go(w, "step")
                /\ UNCHANGED <<slots, front, behind, ready, rounds, idle, back, search, watch, looks, post>>
\* They differ in nothing but their names.
Unposted == {t \in Tasks : state[t] = "new" /\ \A w \in Workers : new[w] # t}
NextPost == IF Unposted = {} THEN {} ELSE {CHOOSE t \in Unposted : TRUE}
\* Whether one at most is to run now, by what the slot has; written before the push. Those that a round took from
\* beside others count still. For a lease: as many as there are, or not.
Keeps(w, t) == IF Leased THEN BOOLEAN ELSE
               LET all == Cardinality((posted[w] \cup local[w] \cup {t}) \ Later) <= 1 IN
               {all, all /\ posted[w] = {}}
BeginPost(w, t) ==
                /\ pc[w] = "step"
                /\ new' = [new EXCEPT ![w] = t]
                /\ \E k \in Keeps(w, t) : kept' = [kept EXCEPT ![w] = k] /\ keeps' = [keeps EXCEPT ![w] = k]
                /\ Go(w, IF Bug = 1 THEN "look at word" ELSE "push")                       \* bug 1: looks at the word before
                /\ UNCHANGED <<posted, run, hand, current, tasks, rounds, idle, back, search, watch, looks, local, older>>
\* What the step ends with needs no look at the word, unless the run is in between. A task that posted itself is
\* not in this step any more.
PushPost(w) == /\ pc[w] = "push"
               /\ \/ /\ Stealing => new[w] = current[w] \/ new[w] \in Later \/ local[w] # {}
                     /\ posted' = [posted EXCEPT ![w] = @ \cup {new[w]}] /\ UNCHANGED local
                  \/ /\ Stealing /\ new[w] # current[w] /\ new[w] \notin Later
                     /\ local' = [local EXCEPT ![w] = @ \cup {new[w]}] /\ UNCHANGED posted
               /\ state' = [state EXCEPT ![new[w]] = "posted"]
               /\ \/ Go(w, IF Bug = 1 THEN "step" ELSE "look at word")
                  \/ kept[w] /\ run[w] = {} /\ local[w] = {} /\ local' = local /\ Go(w, "last post")
               /\ new' = [new EXCEPT ![w] = None]
               /\ current' = [current EXCEPT ![w] = IF @ = new[w] THEN None ELSE @]
               /\ lingers' = [v \in Workers |-> IF v = w THEN lingers[v] ELSE Lingers]
               /\ UNCHANGED <<keeps, run, hand, front, behind, ready, rounds, idle, back, search, watching, still, looks, kept, older>>
\* Bug 8: for a kept post it wakes nobody. Bug 9: nor for one that goes to sleep.
LookAtWord(w) == /\ pc[w] = "look at word"
                 /\ Go(w, IF IF kept[w] THEN NeedsWatcher /\ Bug # 8 /\ (Bug = 9 => ~(posted[w] \subseteq Later)) ELSE SomebodyToWake THEN "post, wake"
                          ELSE IF Bug = 1 THEN "push" ELSE "step")
                 /\ UNCHANGED <<slots, tasks, rounds, idle, back, search, watch, looks, post>>
PostWake(w) == /\ pc[w] = "post, wake" /\ WakeOne /\ Go(w, IF Bug = 1 THEN "push" ELSE "step")
               /\ UNCHANGED <<slots, tasks, rounds, back, search, watch, looks, post>>
\* inbox::push_behind: the push that finds it empty announces. What is in front of it does not matter here.
PostBehind(w, t) ==
    /\ Behind /\ pc[w] = "step" /\ kept' = [kept EXCEPT ![w] = FALSE]
    /\ behind' = behind \cup {t} /\ state' = [state EXCEPT ![t] = "posted"]
    /\ Go(w, IF behind = {} THEN "look at word" ELSE "step")
    /\ current' = [current EXCEPT ![w] = IF @ = t THEN None ELSE @]
    /\ UNCHANGED <<posted, keeps, run, hand, front, ready, rounds, idle, back, search, watch, looks, new, local, older>>
EndStep(w) == /\ pc[w] \in {"step", "last post"} /\ current' = [current EXCEPT ![w] = None] /\ Go(w, "look")
              /\ still' = [v \in Workers |-> still[v] \ {w}] /\ seen' = [v \in Workers |-> seen[v] \ {w}]
              /\ kept' = [kept EXCEPT ![w] = FALSE]
              /\ UNCHANGED <<posted, keeps, run, hand, tasks, rounds, idle, back, search, watching, lingers, due, rescued, new, local, older>>

Working(w) == \/ TakeLocal(w) \/ FromRun(w) \/ TakeOwn(w) \/ RemoveLate(w) \/ Claim(w) \/ BeginRound(w) \/ LookForStuck(w)
              \/ Put(w) \/ PutWake(w) \/ Turn(w) \/ EndSearch(w) \/ LastLooks(w) \/ Nothing(w)
              \/ TakePosts(w) \/ LeavePosts(w) \/ Deal(w) \/ WakeAnother(w)
              \/ Sleep(w) \/ BeginWatch(w) \/ LastRound(w) \/ Park(w) \/ Count(w) \/ Recheck(w) \/ CancelPark(w)
              \/ Awake(w) \/ TimeOut(w) \/ EndWatch(w) \/ RescuePosts(w)
              \/ BeginStep(w) \/ PushPost(w) \/ LookAtWord(w) \/ PostWake(w) \/ (EndStep(w) /\ pc[w] = "last post")
Next == \E w \in Workers :
    \/ Working(w) \/ EndStep(w)
    \/ \E t \in NextPost \cup {t \in Chain : t = current[w] /\ state[t] = "ran"} : BeginPost(w, t) \/ PostBehind(w, t)
\* A worker looks for stuck slots after so many steps, or after a while. So it looks in the end, although it can always
\* take its own post instead, or rounds fill its run before it is empty, which is not modelled: worker::look_at_clock.
Fair == /\ \A w \in Workers : WF_vars(Working(w)) /\ SF_vars(LookForStuck(w))
        /\ \A w \in Workers \ Long : WF_vars(EndStep(w))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties -----------------------------------------------------------------------------------------------------------
Places(t) == Cardinality({w \in Workers : t \in posted[w]}) + Cardinality({w \in Workers : t \in local[w]})
             + Cardinality({w \in Workers : t \in run[w]})
             + Cardinality({w \in Workers : t \in hand[w]})
             + Cardinality({w \in Workers : current[w] = t /\ pc[w] \notin {"step", "push", "look at word", "post, wake", "last post"}})
             + Cardinality({s \in {front, behind, ready, taken} : t \in s})
Once == \A t \in Tasks \cup Chain : Places(t) = IF state[t] = "posted" THEN 1 ELSE 0
Runs == \A t \in Tasks \cup Chain : (state[t] = "posted") ~> (state[t] # "posted")
Calm == <>[](\A t \in Tasks \cup Chain : state[t] # "posted") => <>[](~watched)
=============================================================================
