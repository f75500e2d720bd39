------------------------------- MODULE Flight -------------------------------
(* Calls of one key that all who ask meanwhile share. sync/flight, wait/flights: what is under a single_flight.

   Under the mutex of the table a user joins the flight that is in the table, or begins one. A user waits for the end, or gives up,
   and leaves. The last user that leaves before the end takes the flight out of the table, and asks it to stop. The task of the flight
   ends it: it takes it out of the table, and all its waits out of the FIFO; these are told after the mutex.

   What is to hold
     InTable   a flight that has users and no result is in the table, and no other one is
     Joinable  a user never joins a flight that was asked to stop
     InVain    a flight is asked to stop only when its last user has left without the result
     EndsOnce  a wait is told once, and not when it has given up
     SeesIt    a wait that is told comes after the end
     Stopped   a flight whose users have left without the result was asked to stop
     Ends      a wait ends, if the flight does         (liveness) *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Users, Flights, Quits, Bug

VARIABLES table, lock,                    \* the flight in the table, or 0; what has the mutex, or 0
          users, line, ended, stopped,    \* of each flight
          begun,                          \* how many flights have begun
          pc, of, quits, chain, twice, joinedLate  \* of: the flight of a user; chain: what a flight has to tell
vars == <<table, lock, users, line, ended, stopped, begun, pc, of, quits, chain, twice, joinedLate>>

All == 1..Flights
Init == /\ table = 0 /\ lock = 0 /\ users = [f \in All |-> 0] /\ line = [f \in All |-> <<>>] /\ ended = [f \in All |-> FALSE]
        /\ stopped = [f \in All |-> FALSE] /\ begun = 0 /\ pc = [t \in Users |-> "out"] /\ of = [t \in Users |-> 0]
        /\ quits = Quits /\ chain = [f \in All |-> <<>>] /\ twice = FALSE /\ joinedLate = FALSE

Go(t, to) == pc' = [pc EXCEPT ![t] = to]
Flying(f) == f <= begun /\ ~ended[f]

\* Bug 1: begins a flight though one is in the table.
Join(t) == /\ pc[t] = "out" /\ lock = 0
           /\ LET begins == table = 0 \/ Bug = 1
                  f == IF begins THEN begun + 1 ELSE table IN
              /\ f <= Flights /\ begun' = (IF begins THEN f ELSE begun) /\ table' = f
              /\ users' = [users EXCEPT ![f] = @ + 1] /\ of' = [of EXCEPT ![t] = f]
              /\ joinedLate' = (joinedLate \/ stopped[f])
           /\ Go(t, "joined") /\ UNCHANGED <<lock, line, ended, stopped, quits, chain, twice>>

\* The mutex of the table again. Bug 2: does not look whether it has ended.
Enter(t) == /\ pc[t] = "joined" /\ lock = 0 /\ LET f == of[t] IN
               IF ended[f] /\ Bug # 2 THEN Go(t, "has") /\ UNCHANGED line
                                      ELSE line' = [line EXCEPT ![f] = Append(@, t)] /\ Go(t, "waits")
            /\ UNCHANGED <<table, lock, users, ended, stopped, begun, of, quits, chain, twice, joinedLate>>

\* A stop or a deadline. Bug 3: also though it was told, or is about to be.
InLine(t) == of[t] # 0 /\ \E i \in 1..Len(line[of[t]]) : line[of[t]][i] = t
Withdraw(t) == /\ pc[t] = "waits" /\ lock = 0 /\ quits > 0 /\ (InLine(t) \/ Bug = 3) /\ quits' = quits - 1
               /\ line' = [line EXCEPT ![of[t]] = SelectSeq(@, LAMBDA u : u # t)] /\ Go(t, "has")
               /\ UNCHANGED <<table, lock, users, ended, stopped, begun, of, chain, twice, joinedLate>>

\* Bug 4: each user that leaves stops the flight. Bug 5: it stays in the table. Bug 6: also when it has ended. Bug 7: none stops it.
Leave(t) == /\ pc[t] = "has" /\ lock = 0 /\ LET f == of[t] IN
               /\ users' = [users EXCEPT ![f] = @ - 1] /\ of' = [of EXCEPT ![t] = 0]
               /\ IF (users[f] = 1 \/ Bug = 4) /\ (~ended[f] \/ Bug = 6) /\ Bug # 7
                    THEN /\ Go(t, "stops") /\ chain' = chain
                         /\ table' = (IF table = f /\ Bug # 5 THEN 0 ELSE table)
                         /\ stopped' = [stopped EXCEPT ![f] = TRUE]
                    ELSE Go(t, "out") /\ UNCHANGED <<chain, table, stopped>>
            /\ UNCHANGED <<lock, line, ended, begun, quits, twice, joinedLate>>
\* request_stop, without the mutex.
Stop(t) == pc[t] = "stops" /\ Go(t, "out") /\ UNCHANGED <<table, lock, users, line, ended, stopped, begun, of, quits, chain, twice, joinedLate>>

\* The task of a flight: its result, a failure, or the end of its scheduler. Bug 8: another flight may be in the table, which it takes
\* out. Bug 9: it stays in the table. Bug 10: the waits are told, and the end is published after that.
End(f) == /\ Flying(f) /\ lock = 0 /\ chain[f] = <<>> /\ lock' = (IF Bug = 10 THEN 0 ELSE f)
          /\ ended' = [ended EXCEPT ![f] = (Bug # 10 \/ line[f] = <<>>)]
          /\ table' = (IF Bug # 9 /\ (table = f \/ Bug = 8) THEN 0 ELSE table)
          /\ chain' = [chain EXCEPT ![f] = line[f]] /\ line' = [line EXCEPT ![f] = <<>>]
          /\ UNCHANGED <<users, stopped, begun, pc, of, quits, twice, joinedLate>>
Unlock(f) == /\ lock = f /\ lock' = 0
             /\ UNCHANGED <<table, users, line, ended, stopped, begun, pc, of, quits, chain, twice, joinedLate>>
\* Without the mutex. Bug 11: only the first one.
Tell(f) == /\ chain[f] # <<>> /\ lock # f /\ LET w == Head(chain[f]) IN
              /\ twice' = (twice \/ pc[w] # "waits" \/ of[w] # f) /\ Go(w, "has")
              /\ chain' = [chain EXCEPT ![f] = IF Bug = 11 THEN <<>> ELSE Tail(@)]
           /\ UNCHANGED <<table, lock, users, line, ended, stopped, begun, of, quits, joinedLate>>

Using(t) == Enter(t) \/ Leave(t) \/ Stop(t)
Flies(f) == End(f) \/ Unlock(f) \/ Tell(f)
Next == \/ \E t \in Users : Join(t) \/ Using(t) \/ Withdraw(t)
        \/ \E f \in All : Flies(f)
Fair == (\A t \in Users : SF_vars(Using(t))) /\ \A f \in All : SF_vars(End(f)) /\ WF_vars(Unlock(f)) /\ WF_vars(Tell(f))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------------
InTable == \A f \in All : (f <= begun /\ users[f] > 0 /\ ~ended[f] /\ chain[f] = <<>>) <=> (table = f)
Joinable == ~joinedLate
InVain == [][\A f \in All : stopped'[f] # stopped[f] => users'[f] = 0 /\ ~ended[f]]_vars
Stopped == \A f \in All : f <= begun /\ users[f] = 0 /\ ~ended[f] => stopped[f]
EndsOnce == ~twice
SeesIt == \A f \in All : chain[f] # <<>> => ended[f]
Ends == \A t \in Users : pc[t] = "waits" ~> pc[t] # "waits"
=============================================================================
