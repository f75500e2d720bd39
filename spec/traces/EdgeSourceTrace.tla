-------------------------- MODULE EdgeSourceTrace ---------------------------
(* Traces of what tasks that read wait for, from the hooks of sched/task/trace.hpp: threads 2 and 3 are workers, 5 and 6
   the peers of the two connections, which also wake the readers; thread 1 starts and stops.

   What peers and wakers do, and what the role does to a source, are explained by the actions of EdgeSource. Where
   that is plainer than the code and the kernel, this module says what they do: events are passed on one after the
   other, and so are tasks that have arrived; the kernel tells of what is there when it is asked, and not of what was
   read before. When it is asked, who leaves the driver, and what a reader does between its attempts, is not looked
   at. *)
EXTENDS EdgeSource, Trace

VARIABLE firing   \* of each worker: the event that it passes on to a task, or << >>

User == 1
Said(t, i) == Argument(t)[i]
Set(s) == {s[i] : i \in DOMAIN s}

\* --- peers and wakers ---------------------------------------------------------------------------------------
PeerCall(t) ==
    /\ \/ Calls(t, "send") /\ Send(Argument(t)) /\ data'[Argument(t)] /\ UNCHANGED end
       \/ Calls(t, "end") /\ Send(Argument(t)) /\ end'[Argument(t)]
       \/ /\ Calls(t, "wake") /\ Wake(Argument(t)) /\ UNCHANGED stop
          /\ Result(t) = (Argument(t) \in asleep \ woken)
       \/ Calls(t, "push") /\ Push(Said(t, 1))
       \/ Calls(t, "push") /\ t = User /\ Said(t, 1) \in front \ duty /\ UNCHANGED vars   \* the first post
       \/ Calls(t, "stop") /\ UNCHANGED vars
    /\ UNCHANGED firing /\ Returns(t)

\* --- a step of a reader -------------------------------------------------------------------------------------
StepCall(w) ==
    /\ \/ /\ Calls(w, "step") /\ pc[w] = "look" /\ Count(ready, Said(w, 1)) = 1
          /\ LET t == Said(w, 1) IN
             /\ task' = [task EXCEPT ![w] = t] /\ ready' = SelectSeq(ready, LAMBDA other : other # t)
             /\ woken' = woken \ {t} /\ asleep' = asleep \ {t} /\ Go(w, "step")
          /\ UNCHANGED <<kernel, sources, front, duty, pending, own, rounds, driver>>
       \/ /\ Calls(w, "read") /\ pc[w] = "step" /\ task[w] = Argument(w)
          /\ LET t == Argument(w) IN
             /\ Result(w) = CASE data[t] -> 1 [] end[t] -> 2 [] OTHER -> 0
             /\ data' = [data EXCEPT ![t] = FALSE] /\ Go(w, IF Result(w) = 2 THEN "close" ELSE "post")
          /\ UNCHANGED <<open, end, edge, sources, places, own, rounds, driver, task>>
       \/ (\E how \in {"keep", "push", "push_behind"} : Calls(w, how)) /\ task[w] = Said(w, 1) /\ Post(w)
       \/ Calls(w, "close") /\ task[w] = Argument(w) /\ Close(w)
    /\ UNCHANGED firing /\ Returns(w)

\* --- a round ----------------------------------------------------------------------------------------------
RoundCall(w) ==
    /\ \/ /\ Calls(w, "begin") /\ role = None /\ pc[w] = "look" /\ role' = w /\ Go(w, "admit")
          /\ UNCHANGED <<kernel, sources, places, own, asked, wanted, local, driver, task>>
       \/ /\ \E how \in {"take", "take_behind", "take_posts"} : Calls(w, how)
          /\ pc[w] = "admit" /\ Set(Said(w, 1)) \subseteq front
          /\ front' = front \ Set(Said(w, 1)) /\ pending' = pending \cup Set(Said(w, 1))
          /\ UNCHANGED <<kernel, sources, asleep, woken, ready, duty, own, rounds, driver, pc, task>>
       \/ /\ Calls(w, "release") /\ role = w /\ pending = {} /\ local = {} /\ firing[w] = << >>
          /\ pc[w] \in {"admit", "poll", "dispatch"} /\ role' = None /\ Go(w, "look")
          /\ UNCHANGED <<kernel, sources, places, own, asked, wanted, local, driver, task>>
    /\ UNCHANGED firing /\ Returns(w)
Admits(w, t) == firing[w] = << >> /\ Admit(w) /\ t \in pending \ pending'
BecomesReady(t) == Count(ready', t) > Count(ready, t)
AdmitCall(w) ==
    /\ \/ /\ Calls(w, "arm") /\ pc[w] = "admit"
          /\ LET t == Said(w, 1) IN
             /\ t \in pending \ asleep /\ Said(w, 2) = ~(came[open[t]] \/ last[open[t]])
          /\ UNCHANGED vars
       \/ Calls(w, "asleep") /\ Admits(w, Said(w, 1)) /\ Said(w, 1) \in asleep' \ asleep
       \/ Calls(w, "batch") /\ Admits(w, Said(w, 1)) /\ BecomesReady(Said(w, 1))
    /\ UNCHANGED firing /\ Returns(w)

\* --- events -----------------------------------------------------------------------------------------------
Event(r) == <<r, \E t \in Tasks : open[t] = r /\ end[t]>>
\* It tells of what is there at this moment, each connection for itself.
There(r) == \E t \in Tasks : open[t] = r /\ (data[t] \/ end[t])
Tells(r, told) == There(r) /\ Event(r) \in told /\ edge' = edge \ {r}
WaitCall(w) ==
    /\ \/ /\ Calls(w, "enter_driver") /\ occupied = None /\ occupied' = w
          /\ UNCHANGED <<kernel, collected, full, pc>> /\ Returns(w)
       \/ /\ Calls(w, "wait") /\ occupied = w /\ pc[w] = "look" /\ ~full /\ Go(w, "wait")
          /\ UNCHANGED <<kernel, driver>> /\ Returns(w)
       \/ /\ Calls(w, "collected") /\ pc[w] = "wait"
          /\ \E r \in Registrations : Tells(r, Set(Said(w, 1)) \ collected) /\ collected' = collected \cup {Event(r)}
          /\ UNCHANGED <<open, data, end, occupied, full, pc>> /\ Continues(w)
       \/ /\ Calls(w, "collected") /\ pc[w] = "wait" /\ collected = Set(Said(w, 1))
          /\ full' = Said(w, 2) /\ Go(w, "look")
          /\ UNCHANGED <<kernel, occupied, collected>> /\ Returns(w)
       \/ /\ Calls(w, "leave_driver") /\ occupied = w /\ pc[w] = "look" /\ occupied' = None
          /\ UNCHANGED <<kernel, collected, full, pc>> /\ Returns(w)
    /\ UNCHANGED <<sources, places, own, rounds, task, firing>>
PollCall(w) ==
    /\ role = w /\ firing[w] = << >>
    /\ \/ /\ Calls(w, "cleared") /\ pc[w] \in {"admit", "collected"} /\ full /\ collected = {}
          /\ full' = FALSE /\ Go(w, "poll") /\ UNCHANGED <<kernel, collected, local>> /\ Returns(w)
       \/ /\ Calls(w, "polled") /\ pc[w] \in {"admit", "poll", "dispatch"}
          /\ \/ /\ \E r \in Registrations : Tells(r, Set(Said(w, 1)) \ local) /\ local' = local \cup {Event(r)}
                /\ UNCHANGED <<open, data, end, pc>> /\ Continues(w)
             \/ local = Set(Said(w, 1)) /\ Go(w, "dispatch") /\ UNCHANGED <<kernel, local>> /\ Returns(w)
          /\ UNCHANGED <<collected, full>>
    /\ UNCHANGED <<sources, places, own, role, asked, wanted, occupied, task, firing>>
\* An event finds nobody; or a task, which becomes ready, unless its waker brings it.
Passed(event) == /\ Dispatch({event})
                 /\ UNCHANGED <<kernel, free, woken, front, duty, pending, own, role, asked, wanted, occupied, full, task>>
DispatchCall(w) ==
    \/ /\ Calls(w, "notify") /\ role = w /\ firing[w] = << >>
       /\ LET event == <<Said(w, 1), Said(w, 2)>> IN
          /\ \/ pc[w] \in {"admit", "collected"} /\ full /\ event \in collected
                /\ collected' = collected \ {event} /\ Go(w, "collected") /\ UNCHANGED local
             \/ pc[w] = "dispatch" /\ event \in local
                /\ local' = local \ {event} /\ UNCHANGED <<collected, pc>>
          /\ IF waits[event[1]] = None
             THEN Passed(event) /\ UNCHANGED firing
             ELSE /\ firing' = [firing EXCEPT ![w] = event]
                  /\ UNCHANGED <<kernel, sources, places, own, role, asked, wanted, occupied, full, task>>
       /\ Returns(w)
    \/ /\ firing[w] # << >> /\ waits[firing[w][1]] = Said(w, 1)
       /\ Passed(firing[w]) /\ firing' = [firing EXCEPT ![w] = << >>]
       /\ \/ Calls(w, "batch") /\ BecomesReady(Said(w, 1))
          \/ Calls(w, "in_transit") /\ Said(w, 1) \in asleep'
       /\ UNCHANGED <<collected, local, pc>> /\ Returns(w)

TraceInit == Init /\ InitTrace /\ firing = [w \in Workers |-> << >>]
TraceNext == \E t \in Recorded :
    /\ MayGo(t)
    /\ IF t \in Workers THEN StepCall(t) \/ RoundCall(t) \/ AdmitCall(t) \/ WaitCall(t) \/ PollCall(t) \/ DispatchCall(t)
                        ELSE PeerCall(t)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, firing, recorded>>
=============================================================================
