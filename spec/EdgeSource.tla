---------------------------- MODULE EdgeSource ----------------------------
(* What tasks that read wait for: io/{epoll_driver,tcp}, with role::sleep, expire and fire of sched/round/role.cpp,
   and sleeper::sleep_in_driver.

   The kernel tells once of what has come (an edge), with the registration that the descriptor was added with.
   Who sleeps in the driver collects edges in a buffer; the holder of the role passes on what is there, and what
   the kernel has besides. It alone touches an edge_source: `waits`, `came`, `last`. A task tries,
   posts itself if there is nothing, and is armed and put to sleep in a round, unless an edge came meanwhile.

   Who has nothing to do looks again whenever there is something, which Parking is about. A task's word is
   two bits here: asleep, and woken. One direction only, and a connection gives all it has at once. Time-outs,
   wakeups and stops may happen, but nobody owes one.

   What is to hold
     OneEnd     a sleep is ended once, whoever is at it: a task is in one place
     Waiter     an edge_source that has a waiter is one on which that task sleeps
     NotFreed   an event that was collected does not refer to a registration that was freed
     OneUser    nobody waits in the driver while what the last wait collected was not passed on
     Read       what has come and stays is read, or the connection closed                        (liveness)
     EndSeen    likewise the end of a connection                                                 (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Workers, Tasks,
          Conns,     \* how many connections a task has, one after the other
          Cuts,      \* how many of its sleeps may end in another way than by an edge
          Ends,      \* whether peers end connections
          Bug

None == "none"
VARIABLES open, data, end, edge,        \* of each task's connection: its registration, what is there; edges untold
          came, last, waits, free,      \* of each registration; those that no descriptor has
          asleep, woken, front, ready,  \* tasks
          stop, drained, conn, cuts,    \* of each task; stop: "no", "asked", "told"
          duty,                         \* tasks that their waker must push
          role, asked, wanted, pending, \* its holder: whether it must poll, what it took from the front
          local,                        \* the events that it polled
          occupied, collected, full,    \* the driver: who is in it, what it has collected
          pc, task                      \* of each worker
kernel == <<open, data, end, edge>>
sources == <<came, last, waits, free>>
places == <<asleep, woken, front, ready, duty, pending>>
own == <<stop, drained, conn, cuts>>
rounds == <<role, asked, wanted, local>>
driver == <<occupied, collected, full>>
vars == <<kernel, sources, places, own, rounds, driver, pc, task>>

Registrations == Tasks
Init == /\ open = [t \in Tasks |-> t] /\ data = [t \in Tasks |-> FALSE] /\ end = [t \in Tasks |-> FALSE] /\ edge = {}
        /\ came = [r \in Registrations |-> FALSE] /\ last = came /\ waits = [r \in Registrations |-> None] /\ free = {}
        /\ asleep = {} /\ woken = {} /\ front = Tasks /\ ready = << >> /\ duty = {} /\ pending = {}
        /\ stop = [t \in Tasks |-> "no"] /\ drained = [t \in Tasks |-> FALSE]
        /\ conn = [t \in Tasks |-> 1] /\ cuts = [t \in Tasks |-> 0]
        /\ role = None /\ asked = FALSE /\ wanted = FALSE /\ local = {}
        /\ occupied = None /\ collected = {} /\ full = FALSE
        /\ pc = [w \in Workers |-> "look"] /\ task = [w \in Workers |-> None]

Go(w, to) == pc' = [pc EXCEPT ![w] = to]

\* --- peers ------------------------------------------------------------------------------------------------
Send(t) == /\ open[t] # None /\ ~end[t]
           /\ \/ data' = [data EXCEPT ![t] = TRUE] /\ UNCHANGED end
              \/ Ends /\ end' = [end EXCEPT ![t] = TRUE] /\ UNCHANGED data
           /\ edge' = edge \cup {open[t]}
           /\ UNCHANGED <<open, sources, places, own, rounds, driver, pc, task>>

\* --- who ends a sleep in another way: wakeup, request_stop ---------------------------------------------------
Cut(t) == cuts[t] < Cuts /\ cuts' = [cuts EXCEPT ![t] = @ + 1]
Wake(t) == /\ Cut(t) /\ woken' = woken \cup {t}
           /\ stop' \in {stop, [stop EXCEPT ![t] = IF @ = "no" THEN "asked" ELSE @]}
           /\ duty' = IF t \in asleep \ woken THEN duty \cup {t} ELSE duty
           /\ UNCHANGED <<kernel, sources, asleep, front, ready, pending, drained, conn, rounds, driver, pc, task>>
Push(t) == /\ t \in duty /\ duty' = duty \ {t} /\ front' = front \cup {t}
           /\ UNCHANGED <<kernel, sources, asleep, woken, ready, pending, own, rounds, driver, pc, task>>

\* --- a worker looks -------------------------------------------------------------------------------------------
Arrivals == front # {} \/ wanted
Run(w) == /\ pc[w] = "look" /\ ready # << >>
          /\ task' = [task EXCEPT ![w] = Head(ready)] /\ ready' = Tail(ready)
          /\ woken' = woken \ {Head(ready)} /\ asleep' = asleep \ {Head(ready)} /\ Go(w, "step")
          /\ UNCHANGED <<kernel, sources, front, duty, pending, own, rounds, driver>>
\* Either for what has arrived, or on the way to sleep. The wish is taken before anything is looked at.
BeginRound(w) == /\ pc[w] = "look" /\ ready = << >> /\ role = None /\ (Arrivals \/ occupied = None)
                 /\ role' = w /\ asked' = wanted /\ wanted' = FALSE
                 /\ Go(w, "expire")
                 /\ UNCHANGED <<kernel, sources, places, own, local, driver, task>>

\* --- a round: role::round -----------------------------------------------------------------------------------------
\* The task leaves its sleep, by its deadline or by fire. If its waker was faster that one brings it.
Disarmed(t) == [r \in Registrations |-> IF waits[r] = t THEN None ELSE waits[r]]
\* One whose deadline has come.
Expire(w) == /\ pc[w] = "expire" /\ UNCHANGED pc
             /\ \E t \in asleep : /\ waits[open[t]] = t /\ Cut(t)
                                  /\ waits' = Disarmed(t)
                                  /\ IF t \notin woken THEN ready' = Append(ready, t) /\ asleep' = asleep \ {t}
                                     ELSE UNCHANGED <<ready, asleep>>
             /\ UNCHANGED <<kernel, came, last, free, woken, front, duty, pending, stop, drained, conn, rounds, driver, task>>
TakeFront(w) == /\ pc[w] = "expire" /\ Go(w, "admit") /\ pending' = front /\ front' = {}
                /\ UNCHANGED <<kernel, sources, asleep, woken, ready, duty, own, rounds, driver, task>>
\* A sleeper that was woken leaves its sleep. Another is armed, and put to sleep, unless it was woken: mostly that is
\* seen before its source is looked at.
Admit(w) ==
    /\ pc[w] = "admit" /\ UNCHANGED pc
    /\ \E t \in pending :
         LET r == open[t] IN
         /\ pending' = pending \ {t}
         /\ \/ t \in asleep /\ waits' = Disarmed(t) /\ ready' = Append(ready, t) /\ UNCHANGED <<came, last, asleep>>
            \/ t \in woken \ asleep /\ ready' = Append(ready, t) /\ UNCHANGED <<came, last, waits, asleep>>
            \/ /\ t \notin asleep
               /\ IF (came[r] \/ last[r]) /\ Bug # 8                                \* bug 8: sleeps after all
                  THEN /\ came' = [came EXCEPT ![r] = FALSE] /\ ready' = Append(ready, t) /\ UNCHANGED <<waits, asleep>>
                       /\ last' = [last EXCEPT ![r] = @ /\ came[r] /\ Bug # 10]          \* bug 10: one attempt for both
                  ELSE /\ came' = [came EXCEPT ![r] = FALSE] /\ last' = [last EXCEPT ![r] = FALSE]
                       /\ IF t \in woken
                          THEN /\ ready' = Append(ready, t) /\ UNCHANGED asleep
                               /\ waits' = IF Bug = 2 THEN [waits EXCEPT ![r] = t] ELSE waits \* bug 2: stays armed
                          ELSE asleep' = asleep \cup {t} /\ waits' = [waits EXCEPT ![r] = t] /\ UNCHANGED ready
    /\ UNCHANGED <<kernel, free, woken, front, duty, own, rounds, driver, task>>
Admitted(w) == /\ pc[w] = "admit" /\ pending = {}
               /\ \E to \in {"collected", "decide"} : Go(w, to) /\ (asked => to = "collected") \* or it is not time yet
               /\ asked' = FALSE /\ UNCHANGED <<kernel, sources, places, own, role, wanted, local, driver, task>>

\* edge_source::notify for each event. It is remembered if nobody waits. That no other may come is remembered in
\* any case: the attempt that it leads to may only have emptied the socket.
RECURSIVE InOrder(_)
InOrder(s) == IF s = {} THEN << >> ELSE LET t == CHOOSE t \in s : TRUE IN <<t>> \o InOrder(s \ {t})
Dispatch(events) ==
    LET told == {e[1] : e \in events}
        ended == {e[1] : e \in {e \in events : e[2]}}
        fired == {waits[r] : r \in told} \ {None}
        ours == IF Bug = 7 THEN fired ELSE fired \ woken IN                         \* bug 7: though its waker brings it
    /\ came' = [r \in Registrations |-> came[r] \/ (r \in told /\ waits[r] = None /\ Bug # 1)] \* bug 1: is forgotten
    /\ last' = [r \in Registrations |-> last[r] \/ (r \in ended /\ Bug # 9)]       \* bug 9: relies on another
    /\ waits' = [r \in Registrations |-> IF r \in told THEN None ELSE waits[r]]
    /\ ready' = ready \o InOrder(ours) /\ asleep' = asleep \ ours
\* What an end is worth: what has come to each at this moment.
Events == {<<r, \E t \in Tasks : open[t] = r /\ end[t]>> : r \in edge}
Collected(w) == /\ pc[w] = "collected"
                /\ IF full THEN Dispatch(collected) /\ Go(w, "clear")
                           ELSE Go(w, "poll") /\ UNCHANGED <<came, last, waits, ready, asleep>>
                /\ UNCHANGED <<kernel, free, woken, front, duty, pending, own, rounds, driver, task>>
\* What a wait has collected is all that there was then, unless its buffer is full.
Clear(w) == /\ pc[w] = "clear" /\ full' = FALSE /\ collected' = {} /\ \E to \in {"poll", "decide"} : Go(w, to)
            /\ UNCHANGED <<kernel, sources, places, own, rounds, occupied, task>>
Poll(w) == /\ pc[w] = "poll" /\ local' = Events /\ edge' = {} /\ Go(w, "dispatch")
           /\ UNCHANGED <<open, data, end, sources, places, own, role, asked, wanted, driver, task>>
Polled(w) == /\ pc[w] = "dispatch" /\ Dispatch(local) /\ local' = {} /\ Go(w, "decide")
             /\ UNCHANGED <<kernel, free, woken, front, duty, pending, own, role, asked, wanted, driver, task>>

\* --- the end of a round; sleeping in the driver: sleeper::sleep_in_driver, epoll_driver::wait -----------------------
\* Who finds nothing enters the driver. A wish that is there now may be for what the last wait collected.
Decide(w) == /\ pc[w] = "decide"
             /\ IF ready = << >> /\ occupied = None
                THEN occupied' = w /\ Go(w, IF wanted /\ Bug # 3 THEN "release, leave" ELSE "release, wait") \* bug 3: waits
                ELSE Go(w, "release") /\ UNCHANGED occupied
             /\ UNCHANGED <<kernel, sources, places, own, rounds, collected, full, task>>
Release(w) == /\ role' = None
              /\ \/ pc[w] = "release" /\ Go(w, "look")
                 \/ pc[w] = "release, leave" /\ Go(w, "leave")
                 \/ pc[w] = "release, wait" /\ Go(w, "recheck")
              /\ UNCHANGED <<kernel, sources, places, own, asked, wanted, local, driver, task>>
Recheck(w) == /\ pc[w] = "recheck" /\ Go(w, IF Arrivals \/ ready # << >> THEN "leave" ELSE "wait")
              /\ UNCHANGED <<kernel, sources, places, own, rounds, driver, task>>
Wait(w) == /\ pc[w] = "wait"
           /\ \/ edge # {} /\ collected' = Events /\ edge' = {} /\ Go(w, "store")
              \/ (Arrivals \/ ready # << >>) /\ Go(w, "want") /\ UNCHANGED <<edge, collected>> \* somebody wakes it
           /\ UNCHANGED <<open, data, end, sources, places, own, rounds, occupied, full, task>>
Store(w) == /\ pc[w] = "store" /\ full' = TRUE /\ Go(w, "want")
            /\ UNCHANGED <<kernel, sources, places, own, rounds, occupied, collected, task>>
Want(w) == /\ pc[w] = "want" /\ wanted' = TRUE /\ Go(w, "leave")
           /\ UNCHANGED <<kernel, sources, places, own, role, asked, local, driver, task>>
Leave(w) == /\ pc[w] = "leave" /\ occupied' = None /\ Go(w, "look")
            /\ UNCHANGED <<kernel, sources, places, own, rounds, collected, full, task>>

\* --- a step of a task: read_operation -----------------------------------------------------------------------------------
\* A stop is told before anything is tried; after it, or a time-out, the next read tries at once. Having read
\* less than it asked for, the next read waits without a try. At the end the task closes; it may do so before.
\* Then it posts itself.
Step(w) == /\ pc[w] = "step"
           /\ LET t == task[w]
                  waitsAgain == stop[t] = "asked" /\ drained[t] /\ Bug = 4 IN        \* bug 4: after a stop as well
              /\ stop' = [stop EXCEPT ![t] = IF @ = "asked" THEN "told" ELSE @]
              /\ IF waitsAgain THEN UNCHANGED <<data, drained>>
                 ELSE data' = [data EXCEPT ![t] = FALSE] /\ drained' = [drained EXCEPT ![t] = data[t]]
              /\ \/ /\ end[t] => data[t] \/ waitsAgain
                    /\ front' = front \cup {t} /\ task' = [task EXCEPT ![w] = None] /\ Go(w, "look")
                 \/ (end[t] \/ conn[t] < Conns) /\ Go(w, "close") /\ UNCHANGED <<front, task>>
           /\ UNCHANGED <<open, end, edge, sources, asleep, woken, ready, duty, pending, conn, cuts, rounds, driver>>
Post(w) == /\ pc[w] = "post" /\ front' = front \cup {task[w]} /\ task' = [task EXCEPT ![w] = None] /\ Go(w, "look")
           /\ UNCHANGED <<kernel, sources, asleep, woken, ready, duty, pending, own, rounds, driver>>
\* epoll_driver::remove, give_back
Close(w) == /\ pc[w] = "close"
            /\ LET t == task[w]
                   r == open[t] IN
               /\ open' = [open EXCEPT ![t] = None] /\ edge' = edge \ {r}
               /\ data' = [data EXCEPT ![t] = FALSE] /\ end' = [end EXCEPT ![t] = FALSE]
               /\ drained' = [drained EXCEPT ![t] = FALSE]
               /\ free' = IF Bug = 5 THEN free ELSE free \cup {r}                   \* bug 5: frees the memory
               /\ IF conn[t] < Conns THEN Go(w, "open") /\ UNCHANGED task
                                     ELSE Go(w, "look") /\ task' = [task EXCEPT ![w] = None]
            /\ UNCHANGED <<came, last, waits, places, stop, conn, cuts, rounds, driver>>
\* epoll_driver::add, of any that is free; or of new memory. A connect waits before it tries.
Unowned == {r \in Registrations : \A t \in Tasks : open[t] # r}
Open(w) == /\ pc[w] = "open"
           /\ LET t == task[w] IN
              /\ \E r \in IF Bug = 5 THEN Unowned ELSE free : open' = [open EXCEPT ![t] = r] /\ free' = free \ {r}
              /\ conn' = [conn EXCEPT ![t] = @ + 1]
           /\ \E to \in {"step", "post"} : Go(w, IF Bug = 6 THEN "reset" ELSE to) \* bug 6: sets it back afterwards
           /\ UNCHANGED <<data, end, edge, came, last, waits, places, stop, drained, cuts, rounds, driver, task>>
Reset(w) == /\ pc[w] = "reset" /\ came' = [came EXCEPT ![open[task[w]]] = FALSE]
            /\ Go(w, "post") /\ UNCHANGED <<kernel, last, waits, free, places, own, rounds, driver, task>>

Working(w) == \/ Run(w) \/ BeginRound(w) \/ Expire(w) \/ TakeFront(w) \/ Admit(w) \/ Admitted(w)
              \/ Collected(w) \/ Clear(w) \/ Poll(w) \/ Polled(w) \/ Decide(w) \/ Release(w)
              \/ Recheck(w) \/ Wait(w) \/ Store(w) \/ Want(w) \/ Leave(w)
              \/ Step(w) \/ Post(w) \/ Close(w) \/ Open(w) \/ Reset(w)
Next == (\E w \in Workers : Working(w)) \/ \E t \in Tasks : Send(t) \/ Wake(t) \/ Push(t)
Fair == (\A w \in Workers : WF_vars(Working(w))) /\ \A t \in Tasks : WF_vars(Push(t))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties -----------------------------------------------------------------------------------------------------------
Count(s, t) == Cardinality({i \in DOMAIN s : s[i] = t})
\* With its waker or on its way, ready, or run.
Held(t) == Cardinality({s \in {duty, front, pending} : t \in s}) + Count(ready, t)
           + Cardinality({w \in Workers : task[w] = t})
OneEnd == \A t \in Tasks : Held(t) <= 1 /\ (t \in asleep \ woken => Held(t) = 0)
Waiter == \A r \in Registrations : waits[r] # None => waits[r] \in asleep /\ open[waits[r]] = r
Freed == {r \in Unowned : r \notin free}
NotFreed == \A w \in Workers : (pc[w] = "collected" /\ full => \A e \in collected : e[1] \notin Freed)
                               /\ (pc[w] = "dispatch" => \A e \in local : e[1] \notin Freed)
OneUser == \A w \in Workers : pc[w] \in {"wait", "store"} => ~full
Read == \A t \in Tasks : data[t] ~> ~data[t]
EndSeen == \A t \in Tasks : end[t] ~> ~end[t]
=============================================================================
