------------------------------ MODULE Promise ------------------------------
(* A promise and its future, which meet at one word of the pair that they share: detail/future/pair_word.hpp.

   The promise may leave a call for the case that the future goes. It gives a value or a failure, or is destroyed
   before, which gives `broken`: it writes the result and settles. The future attaches a listener, may withdraw it,
   and ends with the result, or goes. A listener for good, such as a continuation, is never withdrawn: a promise that
   sees one settles without an exchange. A listener that is a branch of a select may be told though the select takes
   another branch: then the future has its result, and may attach again. The call lies in the pair, so the pair stays until the call is over. Each access
   of the pair is a step; an access of a pair that was freed, or a second free, is `touched`.

   What is to hold
     Once         the listener is told once at most, and not after it was withdrawn
     SeesResult   the listener, and a future that finds the pair settled, see the whole result
     CalledOnce   the call is made once at most, and only if the future went without the result
     NotTouched   no side touches the pair after it was freed
     Delivered    a future that waits gets the result once the promise has ended      (liveness)
     Told         if the future goes before the promise settles, the call is made     (liveness)
     Freed        when both sides have ended the pair is freed                        (liveness) *)
EXTENDS Integers

CONSTANTS Listens, Bug    \* whether the promise leaves a call

VARIABLES word,           \* a set of "settled", "attached", "gone", "listened", "called", "for good"
          result,         \* "none", "value", "failure", "broken"
          written,        \* whether the call lies in the pair
          promise, future,  \* where each side is
          told, seen, calls, frees, touched

sides == <<promise, future>>
counts == <<told, seen, calls, frees>>
vars == <<word, result, written, sides, counts, touched>>

Init == /\ word = {} /\ result = "none" /\ written = FALSE
        /\ promise = "has" /\ future = "has"
        /\ told = 0 /\ seen = TRUE /\ calls = 0 /\ frees = 0 /\ touched = FALSE

Touch == touched' = (touched \/ frees > 0)
Sees == seen' = (seen /\ result # "none")

\* --- the promise --------------------------------------------------------------------------------------------
WriteCall == /\ Listens /\ promise = "has" /\ ~written /\ Touch
             /\ written' = TRUE /\ promise' = "listen"
             /\ UNCHANGED <<word, result, future, counts>>
Listen == /\ promise = "listen" /\ Touch /\ word' = word \cup {"listened"}
          /\ promise' = IF ("gone" \in word \/ Bug = 12) /\ Bug # 6 THEN "call" ELSE "has"
          \* Bug 6: does not look. Bug 12: calls without a look.
          /\ UNCHANGED <<result, written, future, counts>>
Call == /\ promise = "call" /\ Touch /\ calls' = calls + 1 /\ word' = word \cup {"called"} /\ promise' = "has"
        /\ UNCHANGED <<result, written, future, told, seen, frees>>
\* Bug 7: it is destroyed, and gives nothing.
WriteResult == /\ promise = "has" /\ Touch
               /\ \E r \in {"value", "failure", "broken"} :
                    /\ result' = r
                    /\ promise' = IF Bug = 7 /\ r = "broken" THEN "left" ELSE "settle"
               /\ UNCHANGED <<word, written, future, counts>>
\* Bug 1: looks before, and then changes.
LookEarly == /\ Bug = 1 /\ promise = "settle" /\ Touch
             /\ promise' = IF "attached" \in word THEN "settle, attached" ELSE "settle, alone"
             /\ UNCHANGED <<word, result, written, future, counts>>
\* Whether the listener is there for good. Bug 13: does not ask whether it is for good.
Look == /\ Bug \notin {1, 11} /\ promise = "settle" /\ Touch
        /\ promise' = IF "for good" \in word \/ (Bug = 13 /\ "attached" \in word) THEN "settle, told" ELSE "change"
        /\ UNCHANGED <<word, result, written, future, counts>>
SettleTold == /\ promise = "settle, told" /\ Touch /\ word' = {"settled"} /\ promise' = "tell"
              /\ UNCHANGED <<result, written, future, counts>>
\* Bug 11: settles before it has written.
Settle == /\ promise \in CASE Bug = 1 -> {"settle, attached", "settle, alone"}
                           [] Bug = 11 -> {"has"}
                           [] OTHER -> {"change"}
          /\ Touch
          /\ word' = {"settled"}
          /\ LET attached == IF Bug = 1 THEN promise = "settle, attached" ELSE "attached" \in word
                 \* Bug 2: frees the pair though the future makes the call.
                 calling == "listened" \in word /\ "called" \notin word /\ Bug # 2
             IN promise' = CASE attached -> "tell"
                             [] "gone" \in word -> IF calling THEN "left" ELSE "free"
                             [] OTHER -> IF Bug = 3 THEN "free" ELSE "left"         \* bug 3: frees what the future has
          /\ UNCHANGED <<result, written, future, counts>>
\* The listener is read, and told; the pair is its own then.
Tell == /\ promise = "tell" /\ Touch /\ told' = told + 1 /\ promise' = "left"
        /\ UNCHANGED <<word, result, written, future, seen, calls, frees>>
Free == /\ promise = "free" /\ Touch /\ frees' = frees + 1 /\ promise' = "left"
        /\ UNCHANGED <<word, result, written, future, told, seen, calls>>
Promise == WriteResult \/ LookEarly \/ Look \/ SettleTold \/ Settle \/ Tell \/ Free \/ Listen \/ Call

\* --- the future ---------------------------------------------------------------------------------------------
Attach == /\ future \in {"has", "late"} /\ Touch /\ word' = word \cup {"attached"}
          /\ future' = IF "settled" \in word /\ Bug # 8 THEN "take" ELSE "waits"   \* bug 8: does not look
          /\ UNCHANGED <<result, written, promise, counts>>
\* The result comes before the listener does anything else: no Withdraw, Lose or Drop.
AttachForGood == /\ future = "has" /\ Touch /\ word' = word \cup {"attached", "for good"}
                 /\ future' = IF "settled" \in word THEN "take" ELSE "stays"
                 /\ UNCHANGED <<result, written, promise, counts>>
ToldOf == /\ future \in {"waits", "stays"} /\ told > 0 /\ future' = "take"
          /\ UNCHANGED <<word, result, written, promise, counts, touched>>
\* Another branch has ended the select; the listener was told all the same.
Lose == /\ future = "waits" /\ told > 0 /\ future' = "late"
        /\ UNCHANGED <<word, result, written, promise, counts, touched>>
Withdraw == /\ future = "waits" /\ told = 0 /\ Touch
            /\ IF "settled" \in word /\ Bug # 4 THEN UNCHANGED <<word, future>>     \* bug 4: goes all the same
               ELSE word' = word \ {"attached"} /\ future' = "has"
            /\ UNCHANGED <<result, written, promise, counts>>
Take == /\ future = "take" /\ Touch /\ Sees /\ frees' = frees + 1 /\ future' = "left"
        /\ UNCHANGED <<word, result, written, promise, told, calls>>
Drop == /\ future \in {"has", "late"} /\ Touch /\ word' = word \cup {"gone"}
        /\ future' = CASE "settled" \in word -> IF Bug = 9 THEN "left" ELSE "free"   \* bug 9: leaks it
                       [] "listened" \in word -> IF Bug = 10 THEN "left" ELSE "call" \* bug 10: does not call
                       [] OTHER -> "left"
        /\ UNCHANGED <<result, written, promise, counts>>
MakeCall == /\ future = "call" /\ Touch /\ calls' = calls + 1
            /\ future' = IF Bug = 5 THEN "left" ELSE "called"                        \* bug 5: does not end the call
            /\ UNCHANGED <<word, result, written, promise, told, seen, frees>>
EndCall == /\ future = "called" /\ Touch /\ word' = word \cup {"called"}
           /\ future' = IF "settled" \in word THEN "free" ELSE "left"
           /\ UNCHANGED <<result, written, promise, counts>>
FreeLast == /\ future = "free" /\ Touch /\ frees' = frees + 1 /\ future' = "left"
            /\ UNCHANGED <<word, result, written, promise, told, seen, calls>>
Future == ToldOf \/ Take \/ MakeCall \/ EndCall \/ FreeLast

\* A promise may never end; a future need not attach, or go, or withdraw.
Next == Promise \/ WriteCall \/ Future \/ Attach \/ AttachForGood \/ Withdraw \/ Lose \/ Drop
Fair == /\ WF_vars(LookEarly) /\ WF_vars(Look) /\ WF_vars(SettleTold) /\ WF_vars(Settle) /\ WF_vars(Tell) /\ WF_vars(Free) /\ WF_vars(Listen)
        /\ WF_vars(Call) /\ WF_vars(Future)
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties --------------------------------------------------------------------------------------------
Once == told <= 1 /\ (future = "has" => told = 0)
SeesResult == seen
CalledOnce == calls <= 1 /\ (calls = 1 => future \notin {"has", "waits", "stays", "late", "take"})
NotTouched == ~touched /\ frees <= 1
Delivered == \A waits \in {"waits", "stays"} : (future = waits /\ result # "none") ~> (future # waits)
Told == (future = "left" /\ frees = 0 /\ "listened" \in word /\ result = "none") ~> (calls = 1)
Freed == (future = "left" /\ promise = "left") ~> (frees = 1)
============================================================================
