------------------------------ MODULE Signal ------------------------------
(* The one-bit event: sync/signal.hpp, on the futex of the kernel.

   Any thread sends, one receives, and may free the signal as soon as it has received the last send. A
   wake-up is not sticky: it wakes who sleeps now. Sleeps end for no reason, too, and at their deadline.

   What is to hold
     OnlySent      what is received was sent
     NotTouched    no sender touches the word after it is freed
     Received      who has sent is heard: the receiver does not sleep for ever           (liveness) *)
EXTENDS Integers, FiniteSets

CONSTANTS Senders, Bug

VARIABLES word,          \* "empty", "sleeping", "sent"
          arrived,       \* senders whose data is written
          pc,            \* of each sender
          rpc,           \* of the receiver
          asleep,        \* whether the kernel has the receiver in its queue
          claims,        \* how often the receiver believes to have received
          sends,         \* exchanges that turned the word to "sent" from something else
          freed, touched
vars == <<word, arrived, pc, rpc, asleep, claims, sends, freed, touched>>

Init == /\ word = "empty" /\ arrived = {} /\ pc = [s \in Senders |-> "write"]
        /\ rpc = "look" /\ asleep = FALSE /\ claims = 0 /\ sends = 0
        /\ freed = FALSE /\ touched = FALSE

\* --- signal::send ---------------------------------------------------------------------------------------
WriteData(s) == /\ pc[s] = "write" /\ arrived' = arrived \cup {s}
                /\ pc' = [pc EXCEPT ![s] = "send"]
                /\ UNCHANGED <<word, rpc, asleep, claims, sends, freed, touched>>
Send(s) == /\ pc[s] = "send"
           /\ touched' = (touched \/ freed)
           /\ sends' = IF word = "sent" THEN sends ELSE sends + 1
           /\ word' = "sent"
           /\ pc' = [pc EXCEPT ![s] = CASE Bug = 1 -> "done"                       \* bug 1: wakes nobody
                                        [] word = "sleeping" -> "wake"
                                        [] Bug = 5 -> "again"                      \* bug 5: looks once more
                                        [] OTHER -> "done"]
           /\ UNCHANGED <<arrived, rpc, asleep, claims, freed>>
Wake(s) == /\ pc[s] = "wake" /\ asleep' = FALSE /\ pc' = [pc EXCEPT ![s] = "done"]
           /\ rpc' = IF asleep THEN "woken" ELSE rpc
           /\ UNCHANGED <<word, arrived, claims, sends, freed, touched>>
Again(s) == /\ pc[s] = "again" /\ touched' = (touched \/ freed) /\ pc' = [pc EXCEPT ![s] = "done"]
            /\ UNCHANGED <<word, arrived, rpc, asleep, claims, sends, freed>>

\* --- signal::receive_until -------------------------------------------------------------------------------
\* The loop around it: until all have arrived. With one sender the signal is freed after its send.
Look == /\ rpc = "look"
        /\ rpc' = IF arrived = Senders /\ claims > 0 THEN "free" ELSE "try"
        /\ UNCHANGED <<word, arrived, pc, asleep, claims, sends, freed, touched>>
Free == /\ rpc = "free" /\ rpc' = "done" /\ freed' = (Cardinality(Senders) = 1)
        /\ UNCHANGED <<word, arrived, pc, asleep, claims, sends, touched>>
TryReceive == /\ rpc \in {"try", "woken"}
              /\ IF word = "sent" \/ (Bug = 6 /\ rpc = "woken")                    \* bug 6: a wake-up counts as a send
                 THEN word' = "empty" /\ claims' = claims + 1 /\ rpc' = "look"
                 ELSE rpc' = (IF rpc = "try" THEN "announce" ELSE "wait") /\ UNCHANGED <<word, claims>>
              /\ UNCHANGED <<arrived, pc, asleep, sends, freed, touched>>
Announce == /\ rpc = "announce"
            /\ IF word = "empty" \/ Bug = 2                                        \* bug 2: a store
               THEN word' = "sleeping" /\ rpc' = "wait"
               ELSE rpc' = "try" /\ UNCHANGED word
            /\ UNCHANGED <<arrived, pc, asleep, claims, sends, freed, touched>>
\* The kernel compares and queues in one step.
FutexWait == /\ rpc = "wait"
             /\ IF word = "sleeping" \/ Bug = 3                                    \* bug 3: no comparison
                THEN asleep' = TRUE /\ rpc' = "sleeps"
                ELSE rpc' = "woken" /\ UNCHANGED asleep
             /\ UNCHANGED <<word, arrived, pc, claims, sends, freed, touched>>
\* For no reason.
Spurious == /\ rpc = "sleeps" /\ asleep' = FALSE /\ rpc' = "woken"
            /\ UNCHANGED <<word, arrived, pc, claims, sends, freed, touched>>
TimeOut == /\ rpc = "sleeps" /\ asleep' = FALSE /\ rpc' = "late"
           /\ UNCHANGED <<word, arrived, pc, claims, sends, freed, touched>>
\* Takes its announcement back, unless a send was faster.
Withdraw == /\ rpc = "late"
            /\ word' = IF word = "sleeping" \/ Bug = 4 THEN "empty" ELSE word      \* bug 4: a store
            /\ rpc' = "try"
            /\ UNCHANGED <<arrived, pc, asleep, claims, sends, freed, touched>>

Sender(s) == WriteData(s) \/ Send(s) \/ Wake(s) \/ Again(s)
Receiver == Look \/ Free \/ TryReceive \/ Announce \/ FutexWait \/ Withdraw
Done == rpc = "done" /\ (\A s \in Senders : pc[s] = "done") /\ UNCHANGED vars
Next == (\E s \in Senders : Sender(s)) \/ Receiver \/ Spurious \/ TimeOut \/ Done
Fair == WF_vars(Receiver) /\ \A s \in Senders : WF_vars(Sender(s))
Spec == Init /\ [][Next]_vars /\ Fair

\* --- properties ----------------------------------------------------------------------------------------
OnlySent == claims <= sends
NotTouched == ~touched
Received == <>(rpc = "done")
=============================================================================
