----------------------------- MODULE Parking ------------------------------
(* Workers that sleep, and whoever has work: sched/sleep/idle.hpp, and the loop of sched/worker/worker.cpp.

   A worker that finds nothing is a searcher, looks everywhere, then counts itself as asleep and looks once
   more [ID1]. Who has work makes it visible, then looks at the same word, and wakes somebody if nobody
   searches. What was posted is taken in a round, by whoever has the role; who cannot have the role relies
   on its holder, who looks after the release [RL1]. Each change of the word is one step.

   What is to hold
     SearchersExact  the word counts the searchers, those included that were woken and do not know yet
     OneInDriver     one sleeps in the driver at most
     Taken           what is posted is taken, though one worker may be in a step for ever   (liveness)
     Quiet           when there is nothing left everybody sleeps, but for who is in a step   (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Workers, Posters, Posts,
          Long,        \* workers whose steps may never end
          Bug

None == "none"
VARIABLES queue,       \* how many items wait for a round
          role,        \* who holds it
          parked,      \* the list of those who parked
          searching,   \* the count in the word
          driver,      \* who sleeps in the driver and was not woken, or None
          occupied,    \* who is in the driver, or None
          told,        \* the signal of each worker; of the driver: None
          telling,     \* how many have chosen who sleeps in the driver, and not told it yet
          pc, hand,    \* of each worker: where it is, what it has taken
          search,      \* whether it is a searcher: it looks between two steps first, without being one
          ppc, posted  \* of each poster
signals == <<told, telling>>
vars == <<queue, role, parked, searching, driver, occupied, signals, pc, hand, search, ppc, posted>>

Init == /\ queue = 0 /\ role = None /\ parked = {} /\ searching = 0
        /\ driver = None /\ occupied = None
        /\ told = [w \in Workers \cup {None} |-> FALSE] /\ telling = 0
        /\ pc = [w \in Workers |-> "look"] /\ hand = [w \in Workers |-> 0]
        /\ search = [w \in Workers |-> FALSE]
        /\ ppc = [p \in Posters |-> "push"] /\ posted = [p \in Posters |-> 0]

Go(w, to) == pc' = [pc EXCEPT ![w] = to]
SomebodyToWake == searching = 0 /\ (parked # {} \/ driver # None)

\* idle::wake_sleeper, under the mutex: parked threads first. Changes parked, searching, driver, signals.
WakeSleeper ==
    IF ~SomebodyToWake THEN UNCHANGED <<parked, searching, driver, signals>>
    ELSE \/ \E w \in parked : /\ parked' = parked \ {w} /\ searching' = searching + 1
                              /\ told' = [told EXCEPT ![w] = TRUE] /\ UNCHANGED <<driver, telling>>
         \/ /\ parked = {} /\ driver' = None /\ searching' = searching + 1
            /\ telling' = telling + 1 /\ UNCHANGED <<parked, told>>
WakesNobody == UNCHANGED <<parked, searching, driver, signals>>
\* driver::wake, after the mutex: who was chosen may have left by itself, and another may sleep there. A
\* parked worker waits for its signal whatever happens, so that a later one would make no difference.
Tell == /\ telling > 0 /\ telling' = telling - 1 /\ told' = [told EXCEPT ![None] = TRUE]
        /\ UNCHANGED <<queue, role, parked, searching, driver, occupied, pc, hand, search, ppc, posted>>

\* --- posters: core::push, idle::announce ----------------------------------------------------------------
Peek(p) == /\ Bug = 3 /\ ppc[p] = "push" /\ posted[p] < Posts                    \* bug 3: looks at the word before
           /\ ppc' = [ppc EXCEPT ![p] = IF SomebodyToWake THEN "push and wake" ELSE "push only"]
           /\ UNCHANGED <<queue, role, parked, searching, driver, occupied, signals, pc, hand, search, posted>>
Push(p) == /\ ppc[p] \in IF Bug = 3 THEN {"push and wake", "push only"} ELSE {"push"}
           /\ posted[p] < Posts
           /\ queue' = queue + 1 /\ posted' = [posted EXCEPT ![p] = @ + 1]
           /\ ppc' = [ppc EXCEPT ![p] = IF queue = 0 /\ ppc[p] # "push only" THEN "announce" ELSE "push"]
           /\ UNCHANGED <<role, parked, searching, driver, occupied, signals, pc, hand, search>>
Announce(p) == /\ ppc[p] = "announce"
               /\ ppc' = [ppc EXCEPT ![p] = IF SomebodyToWake THEN "wake" ELSE "push"]
               /\ UNCHANGED <<queue, role, parked, searching, driver, occupied, signals, pc, hand, search, posted>>
Wake(p) == /\ ppc[p] = "wake" /\ WakeSleeper /\ ppc' = [ppc EXCEPT ![p] = "push"]
           /\ UNCHANGED <<queue, role, occupied, pc, hand, search, posted>>
Poster(p) == Peek(p) \/ Push(p) \/ Announce(p) \/ Wake(p)

\* --- a worker: begin_search, look, round ------------------------------------------------------------------
unchanged == <<occupied, search, ppc, posted>>
\* Finds nothing: looks again as a searcher, or goes to sleep.
Nothing(w) == IF search[w] THEN "nothing" ELSE "begin"
BeginSearch(w) == /\ pc[w] = "begin" /\ searching' = searching + 1 /\ search' = [search EXCEPT ![w] = TRUE]
                  /\ Go(w, "look")
                  /\ UNCHANGED <<queue, role, parked, driver, occupied, signals, hand, ppc, posted>>
Look(w) == /\ pc[w] = "look"
           /\ Go(w, IF queue > 0 THEN "try" ELSE Nothing(w))
           /\ UNCHANGED <<queue, role, parked, searching, driver, signals, hand, unchanged>>
TryAcquire(w) == /\ pc[w] = "try"
                 /\ IF role = None \/ Bug = 9                                      \* bug 9: takes it from its holder
                    THEN role' = w /\ Go(w, "round") ELSE Go(w, Nothing(w)) /\ UNCHANGED role
                 /\ UNCHANGED <<queue, parked, searching, driver, signals, hand, unchanged>>
Round(w) == /\ pc[w] = "round" /\ hand' = [hand EXCEPT ![w] = queue] /\ queue' = 0
            /\ Go(w, IF Bug = 5 THEN "after" ELSE "release")                      \* bug 5: looks before the release
            /\ UNCHANGED <<role, parked, searching, driver, signals, unchanged>>
Release(w) == /\ pc[w] = "release" /\ role' = None
              /\ Go(w, IF Bug = 5 THEN "found" ELSE "after")
              /\ UNCHANGED <<queue, parked, searching, driver, signals, hand, unchanged>>
WakeAnother(w) == /\ pc[w] = "after"
                  /\ IF queue > 0 THEN WakeSleeper ELSE WakesNobody
                  /\ Go(w, IF Bug = 5 THEN "release" ELSE "found")
                  /\ UNCHANGED <<queue, role, hand, unchanged>>
Found(w) == /\ pc[w] = "found"
            /\ Go(w, CASE hand[w] = 0 -> "look" [] search[w] -> "end" [] OTHER -> "run")
            /\ UNCHANGED <<queue, role, parked, searching, driver, signals, hand, unchanged>>
\* Leaves the search with tasks; the last searcher looks for those who relied on it.
EndSearch(w) == /\ pc[w] = "end" /\ searching' = searching - 1 /\ search' = [search EXCEPT ![w] = FALSE]
                /\ Go(w, IF searching = 1 /\ Bug # 2 THEN "last" ELSE "run")      \* bug 2: does not look
                /\ UNCHANGED <<queue, role, parked, driver, occupied, signals, hand, ppc, posted>>
LastLooks(w) == /\ pc[w] = "last"
                /\ IF queue > 0 THEN WakeSleeper ELSE WakesNobody
                /\ Go(w, "run") /\ UNCHANGED <<queue, role, hand, unchanged>>
Run(w) == /\ pc[w] = "run" /\ hand' = [hand EXCEPT ![w] = 0] /\ Go(w, "look")
          /\ UNCHANGED <<queue, role, parked, searching, driver, signals, unchanged>>

\* --- going to sleep: park -----------------------------------------------------------------------------------
\* The driver is taken, or the role, without which it cannot be entered; either may be free again in a moment.
Refused(w) == /\ pc[w] = "nothing" /\ (occupied # None \/ role # None) /\ Go(w, "park")
              /\ UNCHANGED <<queue, role, parked, searching, driver, signals, hand, unchanged>>
PreparePark(w) == /\ pc[w] = "park"
                  /\ parked' = parked \cup {w}
                  /\ searching' = IF Bug = 4 THEN searching ELSE searching - 1    \* bug 4: still counts as a searcher
                  /\ Go(w, IF Bug = 1 THEN "sleep" ELSE "recheck")                \* bug 1: does not look once more
                  /\ UNCHANGED <<queue, role, driver, signals, hand, unchanged>>
\* A round, or the driver, is for who has the role: if that is another, it looks after its release.
Recheck(w) == /\ pc[w] = "recheck"
              /\ Go(w, IF ((queue > 0 \/ occupied = None) /\ role = None) \/ Bug = 10  \* bug 10: polls
                       THEN "cancel" ELSE "sleep")
              /\ UNCHANGED <<queue, role, parked, searching, driver, signals, hand, unchanged>>
CancelPark(w) == /\ pc[w] = "cancel"
                 /\ IF w \in parked
                    THEN parked' = parked \ {w} /\ searching' = searching + 1 /\ Go(w, "look")
                    ELSE Go(w, IF Bug = 6 THEN "look" ELSE "sleep") /\ UNCHANGED <<parked, searching>> \* bug 6: leaves the signal
                 /\ UNCHANGED <<queue, role, driver, signals, hand, unchanged>>
Awake(w) == /\ pc[w] = "sleep" /\ told[w] /\ told' = [told EXCEPT ![w] = FALSE] /\ Go(w, "look")
            /\ UNCHANGED <<queue, role, parked, searching, driver, telling, hand, unchanged>>

\* --- going to sleep: in the driver, which takes the role for a moment -------------------------------------------
EnterDriver(w) == /\ pc[w] = "nothing" /\ role = None
                  /\ occupied = None \/ Bug = 8                                   \* bug 8: though somebody is there
                  /\ occupied' = w /\ driver' = w /\ searching' = searching - 1 /\ Go(w, "recheckd")
                  /\ UNCHANGED <<queue, role, parked, signals, hand, search, ppc, posted>>
RecheckDriver(w) == /\ pc[w] = "recheckd"
                    /\ Go(w, IF queue > 0 THEN "leave" ELSE "sleepd")
                    /\ UNCHANGED <<queue, role, parked, searching, driver, signals, hand, unchanged>>
AwakeInDriver(w) == /\ pc[w] = "sleepd" /\ told[None] /\ told' = [told EXCEPT ![None] = FALSE]
                    /\ Go(w, "leave")
                    /\ UNCHANGED <<queue, role, parked, searching, driver, telling, hand, unchanged>>
\* Its waker has counted it already, if it was woken.
LeaveDriver(w) == /\ pc[w] = "leave" /\ occupied' = None
                  /\ IF driver = w \/ Bug = 7                                      \* bug 7: counts itself twice
                     THEN driver' = None /\ searching' = searching + 1
                     ELSE UNCHANGED <<driver, searching>>
                  /\ Go(w, "look")
                  /\ UNCHANGED <<queue, role, parked, signals, hand, search, ppc, posted>>

Worker(w) == \/ BeginSearch(w) \/ Look(w) \/ TryAcquire(w) \/ Round(w) \/ Release(w) \/ WakeAnother(w)
             \/ Found(w) \/ EndSearch(w) \/ LastLooks(w) \/ Run(w)
             \/ Refused(w) \/ PreparePark(w) \/ Recheck(w) \/ CancelPark(w) \/ Awake(w)
             \/ EnterDriver(w) \/ RecheckDriver(w) \/ AwakeInDriver(w) \/ LeaveDriver(w)
Next == (\E p \in Posters : Poster(p)) \/ (\E w \in Workers : Worker(w)) \/ Tell
Fair == /\ \A p \in Posters : WF_vars(Announce(p) \/ Wake(p))
        /\ \A w \in Workers : WF_vars(Worker(w) /\ pc[w] # "run")
        /\ WF_vars(Tell)
        /\ \A w \in Workers \ Long : WF_vars(Run(w))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------
Looking == {"look", "try", "round", "release", "after", "found", "end", "nothing", "park"}
Searchers == {w \in Workers : pc[w] \in Looking /\ search[w]}
WokenParked == {w \in Workers : pc[w] \in {"recheck", "cancel", "sleep"} /\ w \notin parked}
WokenInDriver == {w \in Workers : pc[w] \in {"recheckd", "sleepd", "leave"} /\ driver # w}
SearchersExact == searching = Cardinality(Searchers) + Cardinality(WokenParked) + Cardinality(WokenInDriver)
OneInDriver == Cardinality({w \in Workers : pc[w] \in {"recheckd", "sleepd", "leave"}}) <= 1
RoleExclusive == Cardinality({w \in Workers : pc[w] \in {"round", "release"}}) <= 1
Taken == (queue > 0) ~> (queue = 0)
Asleep(w) == pc[w] \in {"sleep", "sleepd"}
Quiet == (\A p \in Posters : posted[p] = Posts) ~> (\A w \in Workers : Asleep(w) \/ (w \in Long /\ pc[w] = "run"))
=============================================================================
