---------------------------- MODULE ParkingTrace ----------------------------
(* Traces of sched/sleep/idle.hpp: threads 1 and 2 post, threads 3, 4 and 5 are workers.

   Where Parking is plainer than the code, this module says what the code does: sleeps have time-outs; wake_all. What
   a worker saw before it decided to sleep is not in the trace: it may decide either way, and wake another at any
   time. *)
EXTENDS Parking, Trace

VARIABLE owes   \* of each thread: it has chosen the sleeper in the driver, and is still to wake it

MostPosts == 100

\* --- who wakes ----------------------------------------------------------------------------------------------
Chose(t) == /\ owes' = [owes EXCEPT ![t] = telling' # telling]
            /\ IF owes'[t] THEN Continues(t) ELSE Returns(t)
WakesDriver(t) == owes[t] /\ owes' = [owes EXCEPT ![t] = FALSE] /\ Tell /\ Returns(t)
PushCall(p) == Calls(p, "push") /\ Push(p) /\ Result(p) = (queue = 0) /\ UNCHANGED owes /\ Returns(p)
AnnounceCall(p) ==
    /\ Calls(p, "announce")
    /\ \/ Announce(p) /\ UNCHANGED owes /\ IF ppc'[p] = "wake" THEN Continues(p) ELSE Returns(p)
       \/ Wake(p) /\ Chose(p)
WakeOneCall(w) == /\ Calls(w, "wake_one") /\ ~owes[w] /\ WakeSleeper /\ Chose(w)
                  /\ UNCHANGED <<queue, role, occupied, pc, hand, search, ppc, posted>>
\* One after the other, those who parked first.
WakeAllCall(w) ==
    /\ Calls(w, "wake_all") /\ ~owes[w]
    /\ \/ /\ \E v \in parked : parked' = parked \ {v} /\ told' = [told EXCEPT ![v] = TRUE]
          /\ searching' = searching + 1 /\ UNCHANGED <<driver, telling, owes>> /\ Continues(w)
       \/ /\ parked = {} /\ driver' = None /\ UNCHANGED <<parked, told>>
          /\ telling' = (IF driver = None THEN telling ELSE telling + 1)
          /\ searching' = searching + telling' - telling /\ Chose(w)
    /\ UNCHANGED <<queue, role, occupied, pc, hand, search, ppc, posted>>

\* --- a worker -------------------------------------------------------------------------------------------------
Turn(w, to) == /\ Go(w, to)
               /\ UNCHANGED <<queue, role, parked, searching, driver, occupied, signals, hand, search, ppc, posted, owes>>
\* It goes on to where its next call is made.
Decides(w) ==
    /\ ContinuesAlone(w)
    /\ \/ pc[w] = "after" /\ Turn(w, "found")
       \/ pc[w] = "last" /\ Turn(w, "run")
       \/ (Found(w) \/ Run(w)) /\ UNCHANGED owes
       \/ pc[w] = "nothing" /\ Calls(w, "prepare_park") /\ Turn(w, "park")   \* it may not even try the driver
       \/ pc[w] = "look" /\ Calls(w, "end_search") /\ Turn(w, "end")
       \/ pc[w] = "recheck" /\ Turn(w, IF Calls(w, "park_until") THEN "sleep" ELSE "cancel")
       \/ pc[w] = "recheckd" /\ Turn(w, IF Calls(w, "wait") THEN "sleepd" ELSE "leave")
\* Nothing: there was nothing, or another had the role.
RoundCall(w) ==
    /\ Calls(w, "round")
    /\ \/ Result(w) = 0 /\ pc[w] = "look" /\ Turn(w, Nothing(w)) /\ Returns(w)
       \/ /\ Result(w) # 0 /\ UNCHANGED owes
          /\ \/ ((Look(w) /\ queue > 0) \/ TryAcquire(w)) /\ ContinuesAlone(w)
             \/ Round(w) /\ queue = Result(w) /\ ContinuesAlone(w)
             \/ Release(w) /\ Returns(w)
SearchCall(w) ==
    /\ \/ Calls(w, "begin_search") /\ BeginSearch(w)
       \/ Calls(w, "end_search") /\ EndSearch(w) /\ Result(w) = (searching = 1)
    /\ UNCHANGED owes /\ Returns(w)
PrepareParkCall(w) == Calls(w, "prepare_park") /\ PreparePark(w) /\ UNCHANGED owes /\ Returns(w)
ParkCall(w) ==
    \/ Calls(w, "park_until") /\ Result(w) /\ Awake(w) /\ UNCHANGED owes /\ Returns(w)
    \/ Calls(w, "park_until") /\ ~Result(w) /\ pc[w] = "sleep" /\ Turn(w, "cancel") /\ Returns(w)
    \/ /\ Calls(w, "cancel_park") /\ UNCHANGED owes
       /\ \/ CancelPark(w) /\ IF pc'[w] = "sleep" THEN Continues(w) ELSE Returns(w)
          \/ Awake(w) /\ Returns(w)
DriverCall(w) ==
    \/ /\ Calls(w, "enter_driver")
       /\ \/ Result(w) /\ EnterDriver(w)
          \/ ~Result(w) /\ pc[w] = "nothing" /\ occupied # None /\ UNCHANGED vars
       /\ UNCHANGED owes /\ Returns(w)
    \/ /\ Calls(w, "wait") /\ Returns(w)
       /\ \/ AwakeInDriver(w) /\ UNCHANGED owes
          \/ Argument(w) /\ pc[w] = "sleepd" /\ Turn(w, "leave")   \* its deadline has come
    \/ Calls(w, "leave_driver") /\ LeaveDriver(w) /\ UNCHANGED owes /\ Returns(w)

\* --- who looks at the word ----------------------------------------------------------------------------------
Asks(t, question, answer) == Calls(t, question) /\ Result(t) = answer /\ UNCHANGED <<vars, owes>> /\ Returns(t)
Question(t) == \/ Asks(t, "seems_asleep", SomebodyToWake)
               \/ Asks(t, "driver_taken", occupied # None)
               \/ Asks(t, "all_asleep", Cardinality(parked \cup ({driver} \ {None})) = Cardinality(Workers))

PosterCall(p) == PushCall(p) \/ AnnounceCall(p)
WorkerCall(w) == \/ WakeOneCall(w) \/ WakeAllCall(w) \/ RoundCall(w) \/ SearchCall(w)
                 \/ PrepareParkCall(w) \/ ParkCall(w) \/ DriverCall(w) \/ Decides(w)

TraceInit == Init /\ InitTrace /\ owes = [t \in Posters \cup Workers |-> FALSE]
TraceNext == \E t \in Recorded :
    MayGo(t) /\ (WakesDriver(t) \/ Question(t) \/ IF t \in Posters THEN PosterCall(t) ELSE WorkerCall(t))
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, owes, recorded>>
=============================================================================
