------------------------------- MODULE Permits -------------------------------
(* Permits in the queue of a group with a bound. sched/permits [PL1].

   One word has how many are taken, and whether somebody waits in the line. A poster that tries takes one if one is free
   and nobody waits. One that waits sets `line` in the exchange that finds none free, under the mutex, and goes to the end of
   the line. Who gives one back and finds `line` then hands what is free to the first of the line, under the mutex. Who waits may
   go away; the bound may be raised.

   What is to hold
     Counted     as many are taken as somebody has
     Bounded     never more than may be
     Served      while somebody waits and a permit is free, somebody is about to hand it out
     LineEnds    the word says that somebody waits only while somebody does, or is about to
     Granted     who waits gets one, or goes                                              (liveness) *)
EXTENDS Integers, Sequences

CONSTANTS Waiters, Tries, Asks, Most, Raises, Bug

VARIABLES taken, flag, most,    \* the word, and the bound
          line, lock,           \* who waits; who has the mutex, or 0
          raises, asks, pc
vars == <<taken, flag, most, line, lock, raises, asks, pc>>

Raiser == 0
Posters == Waiters \cup Tries
All == Posters \cup {Raiser}

Init == /\ taken = 0 /\ flag = FALSE /\ most = Most /\ line = <<>> /\ lock = -1 /\ raises = Raises
        /\ asks = [p \in Posters |-> Asks] /\ pc = [t \in All |-> "out"]

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
In(t) == \E i \in 1..Len(line) : line[i] = t
Without(t) == SelectSeq(line, LAMBDA u : u # t)
Lock(t) == lock = -1 /\ lock' = t
Unlock == lock' = -1

\* --- who tries. Bug 1: though somebody waits. Bug 7: though none is free -------------------------------------------
Try(t) == /\ pc[t] = "out" /\ asks[t] > 0 /\ asks' = [asks EXCEPT ![t] = @ - 1]
          /\ IF (taken < most \/ Bug = 7) /\ (~flag \/ Bug = 1)
               THEN taken' = taken + 1 /\ Go(t, "has")
               ELSE UNCHANGED taken /\ Go(t, "out")
          /\ UNCHANGED <<flag, most, line, lock, raises>>

\* --- who waits. Bug 2: looks, and says that it waits after that -------------------------------------------------------
Ask(w) == /\ pc[w] = "out" /\ asks[w] > 0 /\ asks' = [asks EXCEPT ![w] = @ - 1] /\ Lock(w) /\ Go(w, "ask")
          /\ UNCHANGED <<taken, flag, most, line, raises>>
Enlist(w) == /\ pc[w] = "ask"
             /\ IF ~flag /\ taken < most
                  THEN taken' = taken + 1 /\ Unlock /\ Go(w, "has") /\ UNCHANGED <<flag, line>>
                  ELSE /\ UNCHANGED taken
                       /\ IF Bug = 2 THEN Go(w, "say") /\ UNCHANGED <<flag, line, lock>>
                                     ELSE flag' = TRUE /\ line' = Append(line, w) /\ Unlock /\ Go(w, "waits")
             /\ UNCHANGED <<most, raises, asks>>
SayLate(w) == /\ pc[w] = "say" /\ flag' = TRUE /\ line' = Append(line, w) /\ Unlock /\ Go(w, "waits")
              /\ UNCHANGED <<taken, most, raises, asks>>
\* It goes without one, if it was not faster. Bug 3: `line` stays. Bug 8: gives one back.
Withdraw(w) == /\ pc[w] = "waits" /\ In(w) /\ lock = -1
               /\ line' = Without(w) /\ flag' = (IF line' = <<>> /\ Bug # 3 THEN FALSE ELSE flag)
               /\ taken' = (IF Bug = 8 THEN taken - 1 ELSE taken) /\ Go(w, "out") /\ UNCHANGED <<most, lock, raises, asks>>

\* --- who gives one back, and hands out. Bug 4: looks for a line first ---------------------------------------------------
LookFirst(t) == /\ Bug = 4 /\ pc[t] = "has" /\ Go(t, IF flag THEN "give and hand out" ELSE "give")
                /\ UNCHANGED <<taken, flag, most, line, lock, raises, asks>>
GiveBack(t) == /\ pc[t] \in (IF Bug = 4 THEN {"give", "give and hand out"} ELSE {"has"})
               /\ taken' = taken - 1
               /\ Go(t, IF (IF Bug = 4 THEN pc[t] = "give and hand out" ELSE flag) THEN "hand out" ELSE "out")
               /\ UNCHANGED <<flag, most, line, lock, raises, asks>>
Raise(t) == /\ t = Raiser /\ pc[t] = "out" /\ raises > 0 /\ lock = -1 /\ raises' = raises - 1 /\ most' = most + 2
            /\ Go(t, "hand out") /\ UNCHANGED <<taken, flag, line, lock, asks>>
HandOut(t) == /\ pc[t] = "hand out" /\ Lock(t) /\ Go(t, "hands")
              /\ UNCHANGED <<taken, flag, most, line, raises, asks>>
\* Bug 5: one only, though more may have become free.
Grant(t) == /\ pc[t] \in {"hands", "hands last"} /\ line # <<>> /\ taken < most /\ ~(Bug = 5 /\ pc[t] = "hands last")
            /\ taken' = taken + 1 /\ line' = Tail(line)
            /\ pc' = [pc EXCEPT ![t] = "hands last", ![Head(line)] = "has"]
            /\ UNCHANGED <<flag, most, lock, raises, asks>>
\* Bug 6: says that nobody waits, whoever does.
End(t) == /\ pc[t] \in {"hands", "hands last"}
          /\ line = <<>> \/ taken >= most \/ (Bug = 5 /\ pc[t] = "hands last")
          /\ flag' = (IF line = <<>> \/ Bug = 6 THEN FALSE ELSE flag) /\ Unlock /\ Go(t, "out")
          /\ UNCHANGED <<taken, most, line, raises, asks>>

Handing(t) == HandOut(t) \/ Grant(t) \/ End(t)
Giving(t) == LookFirst(t) \/ GiveBack(t) \/ Handing(t)
Waiting(w) == Enlist(w) \/ SayLate(w)
Next == \/ \E t \in Tries : Try(t) \/ Giving(t)
        \/ \E w \in Waiters : Ask(w) \/ Waiting(w) \/ Withdraw(w) \/ Giving(w)
        \/ Raise(Raiser) \/ Handing(Raiser)
Fair == /\ \A t \in Posters : WF_vars(Giving(t)) /\ SF_vars(HandOut(t))
        /\ \A w \in Waiters : WF_vars(Waiting(w))
        /\ WF_vars(Handing(Raiser)) /\ SF_vars(HandOut(Raiser))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties -----------------------------------------------------------------------------------------------
Has(t) == pc[t] \in {"has", "give", "give and hand out"}
Hands(t) == pc[t] \in {"hand out", "hands", "hands last"}
Count(S) == LET RECURSIVE Sum(_) Sum(T) == IF T = {} THEN 0 ELSE LET t == CHOOSE u \in T : TRUE IN 1 + Sum(T \ {t})
            IN Sum(S)
Counted == taken = Count({t \in Posters : Has(t)})
Bounded == taken <= most
Served == line # <<>> /\ taken < most => \E t \in All : Hands(t)
LineEnds == flag => line # <<>> \/ \E t \in All : Hands(t)
Granted == \A w \in Waiters : pc[w] = "waits" ~> pc[w] # "waits"
NoneOvertakes == [][line # <<>> => \A t \in Tries : ~(pc[t] = "out" /\ pc'[t] = "has")]_vars
=============================================================================
