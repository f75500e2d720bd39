%% The benchmarks of Erlang's runtime: one program for all workloads, which takes part where
%% launch.sh is linked as <workload>/erlang. It has the options and the output of the programs in
%% C++, see ../README.md.
-module(rivals).
-export([start/0]).

-define(NOT_OFFERED, 3).
-define(USAGE_ERROR, 64).

start() ->
    [Workload | Arguments] = init:get_plain_arguments(),
    %% The options, see ../support/options.hpp.
    Asked = parse(Arguments, #{"--case" => "", "--workers" => 1, "--count" => 1_000_000, "--chains" => 1,
                               "--work_ns" => 0, "--span_ms" => 20}),
    Name = maps:get("--case", Asked),
    case measure(Workload, Asked) of
        {ok, Found} ->
            print(Workload, Name, Found),
            halt(0);
        not_offered ->
            stop("erlang does not offer ~s", [Name], ?NOT_OFFERED);
        {failed, Why} ->
            stop("~s: ~s", [Name, Why], 1)
    end.

measure("w11", Asked) -> saturated:measure(Asked);
measure(_, _) -> stop("to be called as <workload>/erlang", [], ?USAGE_ERROR).

parse([], #{"--case" := ""}) -> stop("--case NAME is needed", [], ?USAGE_ERROR);
parse([], Asked) -> Asked;
parse(["--case", Name | Others], Asked) -> parse(Others, Asked#{"--case" := Name});
parse([Option, Text | Others], Asked) when is_map_key(Option, Asked) ->
    case string:to_integer(Text) of
        {Number, ""} when is_integer(Number), Number >= 0 -> parse(Others, Asked#{Option := Number});
        _ -> stop("~s needs a number", [Option], ?USAGE_ERROR)
    end;
parse([Option], Asked) when is_map_key(Option, Asked) -> stop("~s needs a value", [Option], ?USAGE_ERROR);
parse([Option | _], _) -> stop("unknown option ~s", [Option], ?USAGE_ERROR).

stop(Format, Values, Status) ->
    io:format(standard_error, Format ++ "~n", Values),
    halt(Status).

print(Workload, Name, #{value := Value, unit := Unit, cpu_seconds := Seconds, items := Items, beside := Beside}) ->
    More = [io_lib:format("\"~s\": [~.4f, \"~s\"]", [What, float(Number), Its]) || {What, Number, Its} <- Beside],
    io:format("{\"workload\": \"~s\", \"case\": \"~s\", \"runtime\": \"erlang\", \"value\": ~.4f, \"unit\": \"~s\", "
              "\"cpu_seconds\": ~.6f, \"items\": ~b, \"beside\": {~s}, \"peak_rss_bytes\": ~b}~n",
              [string:uppercase(Workload), Name, float(Value), Unit, float(Seconds), Items, lists:join(", ", More),
               peak_rss_bytes()]).

peak_rss_bytes() ->
    {ok, Status} = file:read_file("/proc/self/status"),
    {match, [KiB]} = re:run(Status, "VmHWM:\\s+(\\d+)", [{capture, all_but_first, list}]),
    1024 * list_to_integer(KiB).
