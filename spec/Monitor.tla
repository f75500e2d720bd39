------------------------------ MODULE Monitor ------------------------------
(* The monitor, which asks steps that are long to let others have their turn, and sleeps while all workers do.
   sched/monitor, sleeper::sleep, should_yield [MO1].

   Workers sleep and are woken, as `idle` says by its word, and run steps, some of which end only when they are asked. The
   monitor looks at each worker in turn: if it runs the same step as at the last look, that one is asked, by its number.
   When it has seen nobody run a step it says that it is asleep, looks whether all workers are, and if so sleeps until it
   is woken; otherwise it looks again after a while.

   What is to hold
     NotInVain   a step that is asked was seen at an earlier look as well
     NotAlone    while the monitor sleeps, all workers do, or one is about to wake it
     Asked       a step that does not end by itself is asked                            (liveness)
     Rests       when the workers sleep for good the monitor sleeps                       (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Workers, Steps, Bug

VARIABLES asleep, signal,        \* the monitor says that it is; it is woken
          awake,                 \* the word of idle: who is not asleep
          pc, step, left,        \* of each worker; the number of its step; how many steps are to come
          asked,                 \* of each slot: the number of the step that is asked
          seen, again,           \* the monitor: which step of each; and whether it has seen that one before
          toLook, busy, at,      \* whom it has not looked at yet; whether it has seen a step; what it does
          twice                  \* for the property: the steps that it has seen twice
monitor == <<seen, again, toLook, busy, at, twice>>
vars == <<asleep, signal, awake, pc, step, left, asked, monitor>>

None == -1
Init == /\ asleep = FALSE /\ signal = FALSE /\ awake = Workers
        /\ pc = [w \in Workers |-> "search"] /\ step = [w \in Workers |-> 0] /\ left = Steps
        /\ asked = [w \in Workers |-> None]
        /\ seen = [w \in Workers |-> None] /\ again = [w \in Workers |-> FALSE]
        /\ toLook = Workers /\ busy = FALSE /\ at = "look"
        /\ twice = [w \in Workers |-> {}]

Go(w, to) == pc' = [pc EXCEPT ![w] = to]

\* --- workers --------------------------------------------------------------------------------------------------
\* A short step ends by itself; a long one when it is asked.
BeginStep(w) == /\ pc[w] = "search" /\ left > 0 /\ left' = left - 1 /\ \E length \in {"short", "long"} : Go(w, length)
                /\ UNCHANGED <<asleep, signal, awake, step, asked, monitor>>
EndStep(w) == /\ pc[w] = "short" \/ (pc[w] = "long" /\ asked[w] = step[w])
              /\ step' = [step EXCEPT ![w] = @ + 1] /\ Go(w, "search")
              /\ UNCHANGED <<asleep, signal, awake, left, asked, monitor>>
FallAsleep(w) == /\ pc[w] = "search" /\ awake' = awake \ {w} /\ Go(w, "asleep")
                 /\ UNCHANGED <<asleep, signal, step, left, asked, monitor>>
\* By whoever has work for it. Bug 1: it notices the monitor before it counts as awake.
IsWoken(w) == /\ pc[w] = "asleep" /\ left > 0 /\ awake' = (IF Bug = 1 THEN awake ELSE awake \cup {w}) /\ Go(w, "woken")
              /\ UNCHANGED <<asleep, signal, step, left, asked, monitor>>
\* sleeper::sleep: monitor::notice_awake. Bug 2: it does not wake it.
NoticeAwake(w) == /\ pc[w] = "woken" /\ asleep' = FALSE /\ signal' = (signal \/ (asleep /\ Bug # 2))
                  /\ Go(w, IF Bug = 1 THEN "late" ELSE "search")
                  /\ UNCHANGED <<awake, step, left, asked, monitor>>
CountLate(w) == /\ pc[w] = "late" /\ awake' = awake \cup {w} /\ Go(w, "search")
                /\ UNCHANGED <<asleep, signal, step, left, asked, monitor>>

\* --- the monitor --------------------------------------------------------------------------------------------------
\* Bug 3: asks who is seen for the first time. Bug 4: asks whoever is there, not a step of a number.
Look(w) == /\ at = "look" /\ w \in toLook /\ toLook' = toLook \ {w}
           /\ LET runs == pc[w] \in {"short", "long"}
                  same == runs /\ (seen[w] = step[w] \/ Bug = 3) IN
              /\ busy' = (busy \/ runs)
              /\ seen' = [seen EXCEPT ![w] = IF runs THEN step[w] ELSE None]
              /\ again' = [again EXCEPT ![w] = same]
              /\ twice' = [twice EXCEPT ![w] = IF runs /\ seen[w] = step[w] THEN @ \cup {step[w]} ELSE @]
           /\ UNCHANGED <<asleep, signal, awake, pc, step, left, asked, at>>
Ask(w) == /\ at = "look" /\ toLook = {} /\ again[w] /\ again' = [again EXCEPT ![w] = FALSE]
          /\ asked' = [asked EXCEPT ![w] = IF Bug = 4 THEN step[w] ELSE seen[w]]
          /\ UNCHANGED <<asleep, signal, awake, pc, step, left, seen, toLook, busy, at, twice>>
\* It sleeps for a while, or, if it has seen nobody run a step, perhaps for good. Bug 5: it never does.
Pause == /\ at = "look" /\ toLook = {} /\ \A w \in Workers : ~again[w]
         /\ busy' = FALSE
         /\ IF ~busy /\ Bug # 5 THEN at' = (IF Bug = 6 THEN "all?" ELSE "say so") /\ UNCHANGED toLook
                                ELSE toLook' = Workers /\ UNCHANGED at
         /\ UNCHANGED <<asleep, signal, awake, pc, step, left, asked, seen, again, twice>>
\* Bug 6: it looks first. Bug 7: it does not look.
SayAsleep == /\ at \in {"say so", "say so late"} /\ asleep' = TRUE
             /\ at' = (IF Bug = 7 \/ at = "say so late" THEN "sleep" ELSE "all?")
             /\ UNCHANGED <<signal, awake, pc, step, left, asked, seen, again, toLook, busy, twice>>
AllAsleep == /\ at = "all?"
             /\ at' = (IF awake # {} THEN "wake" ELSE IF Bug = 6 THEN "say so late" ELSE "sleep")
             /\ UNCHANGED <<asleep, signal, awake, pc, step, left, asked, seen, again, toLook, busy, twice>>
Sleep == /\ at = "sleep" /\ signal /\ signal' = FALSE /\ at' = "wake"
         /\ UNCHANGED <<asleep, awake, pc, step, left, asked, seen, again, toLook, busy, twice>>
WakeUp == /\ at = "wake" /\ asleep' = FALSE /\ toLook' = Workers /\ at' = "look"
          /\ UNCHANGED <<signal, awake, pc, step, left, asked, seen, again, busy, twice>>

Working(w) == BeginStep(w) \/ EndStep(w) \/ FallAsleep(w) \/ NoticeAwake(w) \/ CountLate(w)
Monitoring == (\E w \in Workers : Look(w) \/ Ask(w)) \/ Pause \/ SayAsleep \/ AllAsleep \/ Sleep \/ WakeUp
Next == (\E w \in Workers : Working(w) \/ IsWoken(w)) \/ Monitoring \/ UNCHANGED vars
Fair == WF_vars(Monitoring) /\ (\A w \in Workers : WF_vars(Working(w)) /\ WF_vars(EndStep(w)))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties -----------------------------------------------------------------------------------------------------
NotInVain == \A w \in Workers : asked[w] \in twice[w] \cup {None}
NotAlone == at = "sleep" /\ ~signal => \A w \in Workers : pc[w] \in {"asleep", "woken"}
Asked == \A w \in Workers : pc[w] = "long" ~> pc[w] # "long"
Rests == <>[](\A w \in Workers : pc[w] = "asleep") => <>[](at = "sleep")
=============================================================================
