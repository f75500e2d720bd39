---------------------------- MODULE DriverWake ----------------------------
(* The wake flag of a driver: io/epoll_driver.hpp, with idle::enter_driver, wake_sleeper and leave_driver, and
   sleeper::sleep_in_driver.

   The flag is an eventfd that epoll watches by level: whoever waits returns while it is set. Who sleeps is
   chosen under the mutex and woken after it, so the flag may be set when that worker has left by itself, for
   a deadline or an event, or is asleep again. The worker that waited clears the flag, if that is why it woke,
   before it leaves the driver and looks at everything. A poll by the holder of the role leaves it set.

   Who is not in the driver sleeps elsewhere until the driver is free: Parking is about that.

   What is to hold
     OneWaits     one waits in the driver at most
     Taken        work is taken                                                        (liveness)
     Calm         when all work is taken one sleeps in the driver, and stays there     (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Workers, Wakers,
          Works,     \* how often each waker has work
          Earlies,   \* how often a wait ends for another reason
          Bug

None == "none"
VARIABLES work,      \* whether there is work
          asleep,    \* the bit in_driver: somebody sleeps there and was not woken
          occupied,  \* who is in the driver, or None
          flag,      \* whether the eventfd can be read
          pc, seen,  \* of each worker; seen: whether its wait told of the flag
          kpc, had,  \* of each waker, and how often it had work
          earlies
vars == <<work, asleep, occupied, flag, pc, seen, kpc, had, earlies>>

Init == /\ work = FALSE /\ asleep = FALSE /\ occupied = None /\ flag = FALSE
        /\ pc = [w \in Workers |-> "look"] /\ seen = [w \in Workers |-> FALSE]
        /\ kpc = [k \in Wakers |-> "work"] /\ had = [k \in Wakers |-> 0]
        /\ earlies = 0

Go(w, to) == pc' = [pc EXCEPT ![w] = to]

\* --- who has work: core::push, idle::wake_sleeper, epoll_driver::wake --------------------------------------
wakers == <<kpc, had>>
MakeVisible(k) == /\ kpc[k] = "work" /\ had[k] < Works /\ had' = [had EXCEPT ![k] = @ + 1]
                  /\ work' = TRUE /\ kpc' = [kpc EXCEPT ![k] = "choose"]
                  /\ UNCHANGED <<asleep, occupied, flag, pc, seen, earlies>>
Choose(k) == /\ kpc[k] = "choose" /\ asleep' = FALSE
             /\ kpc' = [kpc EXCEPT ![k] = IF asleep THEN "write" ELSE "work"]
             /\ UNCHANGED <<work, occupied, flag, pc, seen, had, earlies>>
Write(k) == /\ kpc[k] = "write" /\ kpc' = [kpc EXCEPT ![k] = "work"]
            /\ flag' = (Bug # 1 \/ flag \/ \E w \in Workers : pc[w] = "wait")     \* bug 1: only who waits now
            /\ UNCHANGED <<work, asleep, occupied, pc, seen, had, earlies>>

\* --- a worker: sleeper::sleep_in_driver ---------------------------------------------------------------------
Look(w) == /\ pc[w] = "look" /\ work' = FALSE
           /\ Go(w, IF work THEN "look" ELSE "enter")
           /\ UNCHANGED <<asleep, occupied, flag, seen, wakers, earlies>>
\* With bug 2 it may enter beside one that was woken and has not left yet.
Enter(w) == /\ pc[w] = "enter" /\ (occupied = None \/ (Bug = 2 /\ ~asleep))
            /\ occupied' = w /\ asleep' = TRUE /\ Go(w, "recheck")
            /\ UNCHANGED <<work, flag, seen, wakers, earlies>>
Recheck(w) == /\ pc[w] = "recheck"
              /\ Go(w, IF work /\ Bug # 3 THEN "leave" ELSE "wait")               \* bug 3: does not look
              /\ flag' = (flag /\ Bug # 4)                                        \* bug 4: clears it before the wait
              /\ UNCHANGED <<work, asleep, occupied, seen, wakers, earlies>>

\* --- epoll_driver::wait --------------------------------------------------------------------------------------
Wait(w) == /\ pc[w] = "wait" /\ flag /\ seen' = [seen EXCEPT ![w] = TRUE]
           /\ Go(w, IF Bug = 5 THEN "leave" ELSE "clear")
           /\ UNCHANGED <<work, asleep, occupied, flag, wakers, earlies>>
\* A deadline, an event, an interruption; the flag is set or not a moment later.
WaitEarly(w) == /\ pc[w] = "wait" /\ ~flag /\ earlies < Earlies /\ earlies' = earlies + 1
                /\ seen' = [seen EXCEPT ![w] = FALSE] /\ Go(w, "leave")
                /\ UNCHANGED <<work, asleep, occupied, flag, wakers>>
Clear(w) == /\ pc[w] = "clear" /\ Go(w, IF Bug = 5 THEN "look" ELSE "leave")      \* bug 5: after it has left
            /\ flag' = (flag /\ Bug = 6)                                          \* bug 6: not at all
            /\ seen' = [seen EXCEPT ![w] = FALSE]
            /\ UNCHANGED <<work, asleep, occupied, wakers, earlies>>
\* idle::leave_driver.
Leave(w) == /\ pc[w] = "leave" /\ occupied' = None /\ asleep' = FALSE
            /\ Go(w, IF seen[w] THEN "clear" ELSE "look")
            /\ UNCHANGED <<work, flag, seen, wakers, earlies>>

\* The holder of the role, whoever it is, polls at any time.
Poll == /\ Bug = 7 /\ flag /\ flag' = FALSE                                       \* bug 7: uses up the flag
        /\ UNCHANGED <<work, asleep, occupied, pc, seen, wakers, earlies>>

Waker(k) == MakeVisible(k) \/ Choose(k) \/ Write(k)
Worker(w) == Look(w) \/ Enter(w) \/ Recheck(w) \/ Wait(w) \/ Clear(w) \/ Leave(w)
Next == (\E k \in Wakers : Waker(k)) \/ (\E w \in Workers : Worker(w) \/ WaitEarly(w)) \/ Poll
Fair == /\ \A k \in Wakers : WF_vars(Choose(k) \/ Write(k))
        /\ \A w \in Workers : WF_vars(Worker(w))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------
OneWaits == Cardinality({w \in Workers : pc[w] \in {"wait", "clear"}}) <= 1
Taken == work ~> ~work
Calm == <>[](\E w \in Workers : pc[w] = "wait" /\ ~flag)
=============================================================================
