%% W11, see ../w11/saturated.hpp: processes that compute, and a process that sleeps.
%%
%% Erlang interrupts a process after 4,000 reductions. A call is one reduction; a longer operation
%% is several. A step that lasted until a time of the clock would include the time of the processes
%% that ran meanwhile. So a step is a number of readings of the clock that takes the wanted time
%% without interruptions. The program first measures a reading, while all schedulers read the clock.
%%
%% Timers are set in whole milliseconds. `receive after` rounds the time from now up twice, to
%% milliseconds and to the next tick of a millisecond; a timer with an absolute time is rounded
%% once. The sleeper has such a timer, for the first millisecond that is not before the deadline.
%% Its lateness counts from the deadline.
%%
%% A process begins in the run queue of the scheduler that spawned it, and Erlang balances the
%% queues rarely. So most of the busy processes would share one queue for a second. The sleeper
%% begins when the queues are even.
-module(saturated).
-export([measure/1]).

-define(NS_OF_MS, 1_000_000).
-define(READINGS, 100).     % in a sample; few of them are interrupted
-define(SAMPLES, 2000).
-define(LOOK_EVERY_MS, 10).
-define(LOOKS_MAX, 500).

measure(#{"--case" := Name, "--workers" := Workers} = Asked) when Name =:= "saturated"; Name =:= "slices" ->
    #{"--chains" := Tasks, "--work_ns" := WorkNs, "--count" := Count, "--span_ms" := SpanMs} = Asked,
    Readings = max(1, round(WorkNs / reading_ns(Workers))),
    Steps = counters:new(1, [write_concurrency]),
    Ending = atomics:new(1, []),
    Began = erlang:monotonic_time(nanosecond),
    Busy = start(Tasks, fun() -> compute(Readings, Name, Steps, Ending) end),
    wait_for_even_lines(Workers, ?LOOKS_MAX),
    BeganCpuMs = cpu_ms(),
    Sleeper = start(1, fun() -> sleep_often(Count, SpanMs * ?NS_OF_MS, rand:seed_s(exsss, 1), []) end),
    [Late] = results(Sleeper),
    atomics:put(Ending, 1, 1),
    results(Busy),
    WorkersNs = (erlang:monotonic_time(nanosecond) - Began) * Workers,
    WorkedNs = counters:get(Steps, 1) * WorkNs,
    report(Late, [{"busy", 100 * WorkedNs / WorkersNs, "%"}], (cpu_ms() - BeganCpuMs) / 1000);
measure(_) ->
    not_offered.

%% Spawns the processes, each of which calls the function once.
start(Count, Function) ->
    Caller = self(),
    [spawn_link(fun() -> Caller ! {self(), Function()} end) || _ <- lists:seq(1, Count)].

results(Processes) ->
    [receive {Process, Result} -> Result end || Process <- Processes].

%% --- what keeps the schedulers busy --------------------------------------------------------------

read_clock(0) -> ok;
read_clock(Times) ->
    _ = erlang:monotonic_time(),
    read_clock(Times - 1).

%% The median time of one reading.
reading_ns(Workers) ->
    Sample = fun(_) ->
        Began = erlang:monotonic_time(nanosecond),
        read_clock(?READINGS),
        erlang:monotonic_time(nanosecond) - Began
    end,
    Found = results(start(Workers, fun() -> lists:map(Sample, lists:seq(1, ?SAMPLES)) end)),
    percentile(lists:sort(lists:append(Found)), 0.5) / ?READINGS.

compute(Readings, Name, Steps, Ending) ->
    read_clock(Readings),
    counters:add(Steps, 1, 1),
    case atomics:get(Ending, 1) of
        1 -> ok;
        0 when Name =:= "slices" ->
            compute(Readings, Name, Steps, Ending);
        0 ->
            erlang:yield(),
            compute(Readings, Name, Steps, Ending)
    end.

%% While this process looks, it runs, so one more computing process waits.
wait_for_even_lines(_, 0) -> ok;
wait_for_even_lines(Workers, Looks) ->
    timer:sleep(?LOOK_EVERY_MS),
    Lines = lists:sublist(erlang:statistics(run_queue_lengths), Workers),
    case lists:max(Lines) - lists:min(Lines) =< 1 of
        true -> ok;
        false -> wait_for_even_lines(Workers, Looks - 1)
    end.

%% --- the sleeper ---------------------------------------------------------------------------------

%% For each sleep the lateness in ns: after the deadline, and after the millisecond of the timer.
sleep_often(0, _, _, Late) -> Late;
sleep_often(Count, SpanNs, Random, Late) ->
    {DelayNs, NextRandom} = rand:uniform_s(SpanNs, Random),
    Deadline = erlang:monotonic_time(nanosecond) + DelayNs,
    Ms = milliseconds_not_before(Deadline),
    Timer = erlang:start_timer(Ms, self(), wake_up, [{abs, true}]),
    receive {timeout, Timer, wake_up} -> ok end,
    Now = erlang:monotonic_time(nanosecond),
    sleep_often(Count - 1, SpanNs, NextRandom, [{Now - Deadline, Now - Ms * ?NS_OF_MS} | Late]).

%% The clock begins below 0, where `div` rounds up.
milliseconds_not_before(Ns) ->
    Ms = Ns div ?NS_OF_MS,
    if
        Ms * ?NS_OF_MS < Ns -> Ms + 1;
        true -> Ms
    end.

%% --- what is found -------------------------------------------------------------------------------

%% CPU time of all threads of this process, user and system.
cpu_ms() ->
    {Ms, _} = erlang:statistics(runtime),
    Ms.

%% The least of the sorted values that is not below the share of them. 1: the greatest.
percentile(Sorted, Share) ->
    Rank = trunc(Share * length(Sorted)),
    lists:nth(min(Rank + 1, length(Sorted)), Sorted).

report(Late, Beside, CpuSeconds) ->
    {OfDeadlines, OfTimers} = lists:unzip(Late),
    [Least | _] = Sorted = lists:sort(OfDeadlines),
    Us = fun(Values, Share) -> percentile(Values, Share) / 1000 end,
    case Least < 0 of
        true -> {failed, "a timer was early"};
        false ->
            {ok, #{value => Us(Sorted, 0.99), unit => "us", cpu_seconds => CpuSeconds, items => length(Late),
                   beside => [{"p50", Us(Sorted, 0.5), "us"}, {"max", Us(Sorted, 1), "us"},
                              {"p99 from its ms", Us(lists:sort(OfTimers), 0.99), "us"} | Beside]}}
    end.
