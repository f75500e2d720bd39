----------------------------- MODULE DequeTurns -----------------------------
(* Whose turn it is on a worker with policy::stealing: sched/{worker,round}, deque_turns, stuck_search, overtaking.

   A worker has tasks in many places, and each place may get new ones for ever. Another worker, the victim, is in a
   step that does not end, and posts for ever. Now and then a sleeper is late for its deadline, and overtakes. One task
   is marked, and may be anywhere: it is to run. So no place may keep another out, and no two together.

   One step here is one turn of the worker: it may look at the clock, takes a task, and runs it. The order of the looks
   is that of the code. What the code asks of the clock is chosen freely, but an interval that has begun ends some day.
   Groups, parking, and other workers that take away tasks are not modelled.

   What is to hold
     InPlace  the marked task is in one place until it runs
     Runs     it runs                                                                      (liveness) *)
EXTENDS Integers, Sequences

CONSTANTS Most,        \* tasks in all places together, at first and by posts
          Filled,      \* the places that get new tasks, of those that posts go to
          Room,        \* of the run
          Bug

Mark == "marked"
Other == "other"
None == "none"
Places == {"next", "run", "ready", "inbox", "own", "kept", "deque", "victim"}
Intervals == {"oldest", "elsewhere", "stuck"}

VARIABLES at,        \* the tasks of each place, the first to come out first, but for the newest of the deque
          turns,     \* deque_turns
          back,      \* which of stuck_search::found_by stand back
          gave,      \* how many turns in a row a look at the clock has given
          passed,    \* which intervals have passed
          late,      \* whether a sleeper may overtake
          ran        \* the marked task
vars == <<at, turns, back, gave, passed, late, ran>>

Init == /\ \E place \in Places \ {"next"}, before \in {<<>>, <<Other>>} :
              at = [p \in Places |-> IF p = place THEN Append(before, Mark) ELSE <<>>]
        /\ turns = [due |-> FALSE, even |-> FALSE, skipped |-> FALSE, hurry |-> FALSE]
        /\ back = {} /\ gave = 0 /\ passed = {} /\ late = TRUE /\ ran = FALSE

First(all, count) == SubSeq(all, 1, count)
From(all, count) == SubSeq(all, count + 1, Len(all))
Min(a, b) == IF a < b THEN a ELSE b

\* A turn of the worker while it goes on: what may change, and the task that was taken.
Now == [at |-> at, turns |-> turns, back |-> back, gave |-> 0, passed |-> passed, late |-> late, task |-> None,
        overtook |-> FALSE, looked |-> FALSE]
Has(s, place) == s.at[place] # <<>>
\* Takes the first `count` of a place: the first of them is the task, the others go to the run. Bug 9: they are lost.
Take(s, place, count) ==
    [s EXCEPT !.task = Head(s.at[place]),
              !.at = [@ EXCEPT ![place] = From(@, count),
                               !["run"] = IF place = "run" \/ Bug = 9 THEN @ ELSE @ \o SubSeq(s.at[place], 2, count)]]
TakeNewest(s) == [s EXCEPT !.task = s.at["deque"][Len(s.at["deque"])],
                           !.at["deque"] = First(@, Len(@) - 1)]

\* --- a round: role::round ----------------------------------------------------------------------------------
\* What stands behind the marked task in a queue does not matter, and may be more and more.
UpToMark(all) == LET found == {i \in 1..Len(all) : all[i] = Mark} IN IF found = {} THEN all ELSE First(all, CHOOSE i \in found : TRUE)
\* The holder gets a share of what has arrived, if nothing older waits. A sleeper that is late overtakes.
Deals(s, overtakes) ==
    LET all == s.at["kept"] \o s.at["own"] \o s.at["inbox"]
        older == Has(s, "ready") \/ (Has(s, "deque") /\ Bug # 1)                \* bug 1: as if the deque were newer
    IN {LET over == overtakes /\ s.late /\ ~Has(s, "next")
            is_next == ~over /\ share > 0 /\ ~Has(s, "next") /\ ~Has(s, "run")
            dealt == IF is_next THEN 1 ELSE 0
            kept == Min(share - dealt, Room - Len(s.at["run"]))
        IN [s EXCEPT !.late = @ /\ ~over, !.overtook = @ \/ over,
                     !.at = [@ EXCEPT !["next"] = IF over THEN <<Other>> ELSE IF is_next THEN First(all, 1) ELSE @,
                                      !["run"] = @ \o SubSeq(all, dealt + 1, dealt + kept),
                                      !["ready"] = UpToMark(@ \o From(all, dealt + kept)),
                                      !["kept"] = <<>>, !["own"] = <<>>, !["inbox"] = <<>>]]
        : share \in IF older THEN {0} ELSE 0..Len(all)}
\* With occasion::in_turn no sleeper overtakes: Deals(s, FALSE).
Rounds(s) == Deals(s, FALSE) \cup Deals(s, TRUE)
\* core::arrivals_visible. What is kept may be open.
Arrivals(s) == IF Has(s, "inbox") \/ Has(s, "own") THEN {TRUE} ELSE IF Has(s, "kept") THEN BOOLEAN ELSE {FALSE}

\* --- what the other worker keeps: worker::take_over_stuck, thief::steal_posts ---------------------------------
\* Not many while older tasks wait. Bug 2: many.
Steal(s) == LET many == (~Has(s, "run") /\ ~Has(s, "ready")) \/ Bug = 2 IN
            Take(s, "victim", Min(Len(s.at["victim"]), IF many THEN 1 + Room - Len(s.at["run"]) ELSE 1))
StealStuck(s) == IF Has(s, "victim") THEN Steal(s) ELSE s
\* By turns a round, which may find its task among what the victim keeps, and a theft. Bug 4: always the round.
TakeOverStuck(s) ==
    LET stands == Has(s, "victim") /\ "round" \in s.back
        asked == IF Has(s, "victim") THEN [s EXCEPT !.back = @ \ {"round"}] ELSE s IN
    IF ~Has(s, "kept") \/ stands THEN {StealStuck(asked)}
    ELSE {IF Has(r, "next")
          THEN LET next == Take(r, "next", 1) IN IF Bug = 4 THEN next ELSE [next EXCEPT !.back = @ \cup {"round"}]
          ELSE StealStuck(r) : r \in Rounds(asked)}
LookForStuck(s) == TakeOverStuck([s EXCEPT !.passed = @ \ {"stuck"}, !.looked = TRUE])
\* stuck_search::is_due between two tasks, worker::look_beside_others. It is time after a while, or after so many steps, but not twice in a turn. A find stands
\* back at the next such time. Bug 3: it never does.
BetweenTasks(s) ==
    UNION {IF ~due THEN {s}
           ELSE IF "between" \in s.back THEN {[s EXCEPT !.back = @ \ {"between"}, !.passed = @ \ {"stuck"}]}
           ELSE {IF l.task = None \/ Bug = 3 THEN l ELSE [l EXCEPT !.back = @ \cup {"between"}] : l \in LookForStuck(s)}
           : due \in IF s.looked THEN {FALSE} ELSE IF "stuck" \in s.passed THEN {TRUE} ELSE BOOLEAN}

\* --- worker::look_at_clock --------------------------------------------------------------------------------------
\* It gives a task, what is stuck or a sleeper that overtakes by turns, at most two turns in a row.
Clock == IF Bug = 8 THEN "between" ELSE "clock"                                 \* bug 8: as one look with BetweenTasks
BeforeRound(s, may) ==
    IF ~may \/ "stuck" \notin s.passed THEN {s}
    ELSE IF Clock \in s.back THEN {[s EXCEPT !.back = @ \ {Clock}]}
    ELSE LookForStuck(s)
Hurry(s) == IF s.overtook THEN s ELSE [s EXCEPT !.turns.hurry = TRUE, !.turns.due = TRUE]
LookAtClock(s) ==
    LET may == gave # 2 \/ Bug = 5 IN                                          \* bug 5: it may give each turn
    {s} \cup UNION {IF b.task = None
                    THEN {Hurry([r EXCEPT !.gave = IF r.overtook THEN Min(gave + 1, 2) ELSE 0])
                          : r \in IF may THEN Rounds(b) ELSE Deals(b, FALSE)}
                    ELSE {Hurry([b EXCEPT !.task = None, !.at["next"] = <<b.task>>, !.gave = Min(gave + 1, 2),
                                          !.back = @ \cup {Clock}])}
                    : b \in BeforeRound(s, may)}

\* --- worker::take_open, take_from_elsewhere ---------------------------------------------------------------------
\* A claim takes a share of what is ready.
Claims(s) == {Take(s, "ready", n) : n \in 1..Min(Len(s.at["ready"]), 1 + Room - Len(s.at["run"]))}
RoundIf(s, arrived) == IF arrived THEN Rounds(s) ELSE {s}
InTurn(s, arrived) == IF arrived THEN IF Bug = 7 THEN Rounds(s) ELSE Deals(s, FALSE) ELSE {s}       \* bug 7: one overtakes
FromRun(s) == IF Has(s, "next") THEN {Take(s, "next", 1)}
              ELSE IF Has(s, "run") THEN {Take(s, "run", 1)} ELSE Claims(s)
Elsewhere(s) ==
    UNION {IF l.task # None THEN {l}
           ELSE UNION {LET found == FromRun(r) IN IF found = {} THEN {r} ELSE found
                       : r \in UNION {InTurn(l, arrived) : arrived \in Arrivals(l)}}
           : l \in BetweenTasks(s)}
\* One turn is not of the newest, after one that is. `skipped`: the deque has grown, so it may go on once more.
OfDeque(s) ==
    IF ~s.turns.due THEN {TakeNewest([s EXCEPT !.turns.due = TRUE])}
    ELSE LET even == ~s.turns.even
             mine == [s EXCEPT !.turns.even = even, !.turns.due = FALSE] IN
         IF even /\ "oldest" \in s.passed /\ Bug # 6                              \* bug 6: the oldest has no turn
         THEN {[mine EXCEPT !.task = Head(s.at["deque"]), !.at["deque"] = Tail(@), !.passed = @ \ {"oldest"}]}
         ELSE UNION {IF early /\ ~s.turns.skipped THEN {TakeNewest([mine EXCEPT !.turns.skipped = TRUE])}
                     ELSE {IF e.task = None THEN TakeNewest(e) ELSE e
                           : e \in Elsewhere([mine EXCEPT !.turns.skipped = FALSE, !.turns.hurry = FALSE,
                                                          !.passed = @ \ {"elsewhere"}])}
                     : early \in IF s.turns.hurry \/ "elsewhere" \in s.passed THEN {FALSE} ELSE BOOLEAN}

\* --- worker::look_beside_others, look_elsewhere, search -----------------------------------------------------------
\* Its own posts, if nothing older is known to wait; in the code also only so many. Then what is ready, a round, a theft.
\* If all of that finds nothing, the worker sleeps, and takes in the end what the other keeps.
Thefts(s) == IF Has(s, "victim") THEN {Steal(s)} ELSE {}
Rest(s) == IF Has(s, "ready") THEN Claims(s)
           ELSE UNION {LET found == UNION {FromRun(r) : r \in RoundIf(s, arrived)} IN
                       IF found # {} THEN found
                       ELSE Thefts(s) \cup UNION {FromRun(r) : r \in Rounds(s)}
                       : arrived \in Arrivals(s)}
OwnOrRest(s) == Rest(s) \cup IF Has(s, "own") /\ ~Has(s, "ready") /\ ~Has(s, "inbox")
                             THEN {Take(s, "own", Len(s.at["own"]))} ELSE {}
BesideOthers(s) == UNION {IF l.task # None THEN {l} ELSE OwnOrRest(l) : l \in BetweenTasks(s)}
Look(s) == IF Has(s, "next") THEN {Take(s, "next", 1)}
           ELSE IF Has(s, "deque") THEN OfDeque(s)
           ELSE IF Has(s, "run") THEN {Take(s, "run", 1)}
           ELSE BesideOthers(s)

\* --- the turns ------------------------------------------------------------------------------------------------------
\* After a sleeper that has overtaken, none does until another task has run.
Turn == /\ ~ran
        /\ \E s \in UNION {Look(l) : l \in LookAtClock(Now)} :
              /\ at' = s.at /\ turns' = s.turns /\ back' = s.back /\ gave' = s.gave /\ passed' = s.passed
              /\ ran' = (s.task = Mark)
              /\ late' \in IF s.overtook THEN {FALSE} ELSE IF s.late THEN {TRUE} ELSE BOOLEAN
RECURSIVE Count(_)
Count(places) == IF places = {} THEN 0
                 ELSE LET p == CHOOSE p \in places : TRUE IN Len(at[p]) + Count(places \ {p})
Post == /\ ~ran /\ Count(Places) < Most
        /\ \E place \in Filled : at' = [at EXCEPT ![place] = Append(@, Other)]
        /\ UNCHANGED <<turns, back, gave, passed, late, ran>>
Pass(interval) == /\ ~ran /\ interval \notin passed /\ passed' = passed \cup {interval}
                  /\ UNCHANGED <<at, turns, back, gave, late, ran>>
Next == Turn \/ Post \/ \E interval \in Intervals : Pass(interval)
Spec == Init /\ [][Next]_vars /\ WF_vars(Turn) /\ \A interval \in Intervals : WF_vars(Pass(interval))

\* --- properties -----------------------------------------------------------------------------------------------------
All == at["next"] \o at["run"] \o at["ready"] \o at["inbox"] \o at["own"] \o at["kept"] \o at["deque"] \o at["victim"]
InPlace == ran \/ Len(SelectSeq(All, LAMBDA t : t = Mark)) = 1
Runs == <>ran
=============================================================================
