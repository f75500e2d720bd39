"""The plan of the benchmarks: the cases of each workload, their sizes, and their runtimes.

Sizes are chosen so that W1, W2 and Q1 together, with five repetitions, take less than twenty
minutes on two processors, and the other workloads about as long. `full` takes the sizes of the
definitions instead, and every rival in every case.
"""

import dataclasses

OURS = "fairlead"
# The same queues with atomics that count failed exchanges; its times mean nothing.
COUNTED = "fairlead_counted"
STEALING = "fairlead_stealing"
# What no runtime can go below: they have no tasks, or no library.
FLOORS = ("serial", "bare", "futex", "pipes", "epoll", "libpq")
RUNTIMES = {
    "W1": ("trivial", "moodycamel", "asio", "tbb"),
    "W2": ("trivial", "moodycamel", "asio", "tbb", "tbb_spawn", "fairlead_stealing"),
    "W3": ("trivial", "moodycamel", "asio", "tbb"),
    "W4": ("trivial", "moodycamel", "asio", "tbb", "tbb_spawn", "fairlead_stealing"),
    "W5": ("tbb", "openmp", "rayon", "fairlead_coroutines", "serial"),
    "W6": ("tbb", "openmp", "rayon", "serial"),
    "W7": ("trivial", "moodycamel", "asio", "tbb", "tbb_spawn", "pipes"),
    "W8": ("locked", "asio", "tbb", "go"),
    "W9": ("asio",),
    "W10": ("asio", "bare"),
    "W11": ("trivial", "asio"),
    "W12": ("futex", "trivial", "updater", "moodycamel", "asio", "tbb"),
    "W13": ("asio", "epoll"),
    "W15": ("fairlead_ungrouped", "asio"),
    "W17": ("fairlead_threads", "threads", "libuv"),
    "W18": ("openssl", "nginx"),
    "W20": ("epoll",),
    "W21": ("nginx", "beast", "go", "hyper"),
}
# Guests: rivals that are slow, have few workloads, or are in other languages. They take part in a
# few cases of each workload, with --full in all. The names of the cases are those of the programs.
GUESTS = {
    "W1 one_shot": ("go", "tokio", "rayon", "qt"),
    "W1 coroutine": ("go", "tokio"),
    "W2 one_shot": ("go", "tokio", "qt"),
    "W2 timed": ("qt",),
    "W3 empty": ("go", "tokio", "rayon", "qt"),
    "W4 one_shot": ("go", "tokio", "rayon"),
    "W7 coroutine": ("go", "tokio"),
    "W7 channel": ("go", "tokio"),
    "W9 callback": ("go", "libuv"),
    "W9 coroutine": ("go", "tokio"),
    "W9 single": ("go", "tokio", "libuv"),
    "W9 cancel": ("go", "tokio", "libuv"),
    "W10 parked": ("go", "tokio"),
    "W10 asleep": ("go", "tokio"),
    "W11 saturated": ("go", "tokio", "erlang"),
    "W11 slices": ("go", "erlang"),
    "W12 wake": ("go", "tokio", "libuv", "std_async"),
    "W12 idle": ("go", "tokio", "libuv"),
    "W13 echo": ("go", "tokio", "libuv"),
    "W15 noisy": ("go",),
    "W16 calls": ("go",),
    "W16 in_place": ("go",),
    "W16 rescue": ("go",),
}
# The rivals of each case of W22: no rival has all that waits.
WAITING = {
    "mutex": ("threads", "tokio", "go"),
    "mutex_yield": ("threads", "tokio", "go"),
    "select": ("tokio", "go"),
    "select_ready": ("tokio", "go"),
    "future": ("tokio", "std_future"),
    "spawn": ("tokio", "go", "asio"),
}
PRODUCERS = (1, 2, 5, 10)
MILLION = 1_000_000


@dataclasses.dataclass(frozen=True)
class Case:
    workload: str
    label: str          # names the case in rows and tables
    program_case: str   # the name of the case in the programs
    arguments: tuple    # of (option, number)
    runtimes: tuple     # ours first
    weight: int         # about how long it takes, for the progress bar

    def command(self, folder, runtime):
        command = [str(folder / self.workload.lower() / runtime), "--case", self.program_case]
        for option, number in self.arguments:
            command += ["--" + option, str(number)]
        return command


@dataclasses.dataclass(frozen=True)
class Size:
    threads: tuple = (1, 2, 5, 10)
    quick: bool = False
    full: bool = False

    def scaled(self, count):
        return count // 5 if self.quick else count

    def producers(self):
        return (1, 5) if self.quick else PRODUCERS

    def everybody(self, workers, producers=1):
        """Whether the slower rivals take part too, or only `trivial`."""
        return self.full or (workers <= 2 and producers in (1, 10))

    def guests(self, workload, program_case, representative=True):
        """The guests of a case: none, unless the case is representative or the run is full."""
        return GUESTS.get(f"{workload} {program_case}", ()) if self.full or representative else ()


def make_case(workload, label, program_case, runtimes, weight, **arguments):
    return Case(workload, label, program_case, tuple(arguments.items()), (OURS, *runtimes), weight)


def w1(size):
    for name in ("callback", "one_shot", "coroutine"):
        for producers in size.producers():
            for workers in size.threads:
                count = size.scaled(MILLION)
                if name != "callback" and not size.full:
                    count = min(count, size.scaled(2 * MILLION) // producers)
                rivals = RUNTIMES["W1"]
                if not size.everybody(workers, producers):
                    rivals = rivals[:1]
                rivals += size.guests("W1", name, workers <= 2 and producers == 1)
                yield make_case("W1", f"{name} P={producers} W={workers}", name, rivals,
                                count * producers * (3 if name == "coroutine" else 1),
                                workers=workers, producers=producers, count=count)


def w2(size):
    chains_of = {"callback": (1, 2, 3, 4, 6, 8, 16, 32), "one_shot": (1, 4, 32)}
    for name, all_chains in chains_of.items():
        for chains in all_chains if not size.quick else (1, 3, 8):
            for workers in size.threads:
                # A hop of a million takes as long in one chain as in many.
                hops = MILLION if size.full else size.scaled(MILLION) // chains
                rivals = RUNTIMES["W2"] if size.everybody(workers) else RUNTIMES["W2"][:1]
                rivals += size.guests("W2", name, workers <= 2 and chains in (3, 4))
                yield make_case("W2", f"{name} C={chains} W={workers}", name, rivals,
                                hops * chains, workers=workers, chains=chains, count=hops)
    yield from w2_timed(size)


def w2_timed(size):
    for work_ns, text in ((100_000, "0.1 ms"), (1_000_000, "1 ms")):
        # All chains together: 0.3 s of work; the definition has 100,000 hops a chain.
        total = 100_000 if size.full else size.scaled(300_000_000) // work_ns
        for chains in (1, 3, 8) if not size.quick else (3,):
            for workers in size.threads:
                if workers > 2 and not size.full:
                    continue
                rivals = RUNTIMES["W2"] + size.guests("W2", "timed", chains == 3)
                yield make_case("W2", f"timed {text} C={chains} W={workers}", "timed",
                                rivals, total * work_ns // 100,
                                workers=workers, chains=chains, work_ns=work_ns,
                                count=total if size.full else max(1, total // chains))


def w3(size):
    for workers in size.threads:
        rivals = RUNTIMES["W3"] if size.everybody(workers) else RUNTIMES["W3"][:1]
        for count in (10**4, 10**5, 10**6, 10**7):
            if count <= size.scaled(5 * MILLION) or size.full:
                guests = size.guests("W3", "empty", workers <= 2 and count == 10**(5 if size.quick else 6))
                yield make_case("W3", f"empty N={count} W={workers}", "empty", rivals + guests,
                                max(MILLION, count), workers=workers, count=count)
        if workers <= 2 or size.full:
            count, work_ns = size.scaled(10_000), 20_000
            yield make_case("W3", f"timed 20 us N={count} W={workers}", "timed", RUNTIMES["W3"],
                            count * work_ns // 100, workers=workers, count=count, work_ns=work_ns)


def w4(size):
    for name in ("callback", "one_shot"):
        for workers in size.threads:
            count = 500 if size.quick else 1000  # parents, and children of each
            rivals = RUNTIMES["W4"] if size.everybody(workers) else RUNTIMES["W4"][:1]
            rivals += size.guests("W4", name, workers <= 2)
            yield make_case("W4", f"{name} W={workers}", name, rivals, count * count,
                            workers=workers, count=count)
    for workers in size.threads:
        count = 500 if size.quick else 1000  # ports, parents, and children of each
        twins = ("fairlead_stealing", "fairlead_grouped", "fairlead_grouped_stealing")
        yield make_case("W4", f"ports W={workers}", "ports", twins, count * count, workers=workers, count=count)


# The sizes of each problem of W5: with --quick, by default, and by the definition.
FORK_JOIN_SIZES = {"fib": (25, 32, 39), "skynet": (10**4, 10**6, 10**6), "nqueens": (9, 12, 14),
                   "matmul": (512, 1024, 2048)}


def w5(size):
    for name, sizes in FORK_JOIN_SIZES.items():
        count = sizes[2 if size.full else 0 if size.quick else 1]
        for workers in size.threads:
            rivals = RUNTIMES["W5"] if workers == 1 else RUNTIMES["W5"][:-1]  # without serial
            yield make_case("W5", f"{name} {count} W={workers}", name, rivals, MILLION,
                            workers=workers, count=count)


def w6(size):
    for name, count in (("tiny", 10 * MILLION), ("skewed", MILLION)):
        for workers in size.threads:
            rivals = RUNTIMES["W6"] if workers == 1 else RUNTIMES["W6"][:-1]  # without serial
            yield make_case("W6", f"{name} W={workers}", name, rivals, MILLION, workers=workers,
                            count=size.scaled(count))


def w7(size):
    for name in ("callback", "coroutine", "channel"):
        for workers in size.threads:
            rivals = RUNTIMES["W7"] if name != "channel" else RUNTIMES["W7"][-1:]  # pipes
            if not size.everybody(workers):
                rivals = rivals[:1] if name != "channel" else ()
            rivals += size.guests("W7", name, workers <= 2)
            count = size.scaled(500_000)
            yield make_case("W7", f"{name} W={workers}", name, rivals, 2 * count, workers=workers,
                            count=count)


def w8(size):
    for workers in size.threads:
        if workers > 2 and not size.full:
            continue
        count = size.scaled(MILLION)
        for name in ("bounded", "unbounded", "batched"):
            for producers, consumers in ((1, 1), (10, 1), (1, 10), (10, 10)):
                yield make_case("W8", f"{name} {producers}:{consumers} W={workers}", name,
                                channels_of(name, consumers), count, workers=workers,
                                producers=producers, consumers=consumers, count=count)
        count = size.scaled(MILLION // 5)
        yield make_case("W8", f"ping_pong W={workers}", "ping_pong", channels_of("ping_pong", 1),
                        5 * count, workers=workers, count=count)


def channels_of(name, consumers):
    """The rivals of W8 that have such a channel."""
    without = {"unbounded": {"go"}, "batched": set(RUNTIMES["W8"])}.get(name, set())
    tokio = ("tokio",) if consumers == 1 else ()
    return tuple(rival for rival in RUNTIMES["W8"] if rival not in without) + tokio


def w9(size):
    sleepers = (100_000, MILLION) if not size.quick else (20_000,)
    for workers in size.threads:
        if workers > 2 and not size.full:
            continue
        for name in ("callback", "coroutine"):
            for count in sleepers:
                rivals = RUNTIMES["W9"] + size.guests("W9", name, workers == 1 and count == sleepers[0])
                yield make_case("W9", f"{name} N={count} W={workers}", name, rivals,
                                10 * MILLION + 40 * count, workers=workers, count=count)
        count = 50 if size.quick else 300
        yield make_case("W9", f"single W={workers}", "single",
                        RUNTIMES["W9"] + size.guests("W9", "single", workers == 1), 100_000 * count,
                        workers=workers, count=count)
        yield make_case("W9", f"cancel W={workers}", "cancel",
                        RUNTIMES["W9"] + size.guests("W9", "cancel", workers == 1), 10 * MILLION,
                        workers=workers, count=size.scaled(MILLION))


def w10(size):
    for name in ("parked", "asleep"):
        for count in (100_000, MILLION) if not size.quick else (100_000,):
            rivals = RUNTIMES["W10"] if name == "parked" else RUNTIMES["W10"][:1]
            rivals += size.guests("W10", name, count == 100_000)
            yield make_case("W10", f"{name} N={count}", name, rivals, 10 * count, workers=1,
                            count=count)


# W11: the length of the steps of the busy tasks, and the number of sleeps.
SATURATIONS = ((50_000, "50 us", 200), (1_000_000, "1 ms", 200), (10_000_000, "10 ms", 50))


def w11(size):
    for work_ns, text, count in SATURATIONS:
        for workers in size.threads:
            if workers > 2 and not size.full:
                continue
            yield make_case("W11", f"steps of {text} W={workers}", "saturated",
                            RUNTIMES["W11"] + size.guests("W11", "saturated"), 100_000 * count,
                            workers=workers, chains=4 * workers, work_ns=work_ns,
                            span_ms=1000 if size.full else 10,
                            count=300 if size.full else size.scaled(count))
    for workers in size.threads:
        if workers > 2 and not size.full:
            continue
        yield make_case("W11", f"slices W={workers}", "slices",
                        size.guests("W11", "slices"), 100_000 * 200,
                        workers=workers, chains=4 * workers, work_ns=100_000,
                        span_ms=1000 if size.full else 10,
                        count=300 if size.full else size.scaled(200))


def w12(size):
    for workers in size.threads:
        if workers > 2 and not size.full:
            continue
        wakes = 500 if size.quick else 1_000
        yield make_case("W12", f"wake W={workers}", "wake",
                        RUNTIMES["W12"] + size.guests("W12", "wake", workers == 1), 10_000 * wakes,
                        workers=workers, count=wakes)
        for_ms = 10_000 if size.full else 1_000
        yield make_case("W12", f"idle {for_ms // 1000} s W={workers}", "idle",
                        RUNTIMES["W12"] + size.guests("W12", "idle", workers == 1), 10_000 * for_ms,
                        workers=workers, count=for_ms)


# W13: the label, the number of messages in about a second on two busy processors, and the options.
ECHOES = (
    ("C=1", 30_000, {"connections": 1}),
    ("C=2", 30_000, {"connections": 2}),
    ("C=20", 100_000, {"connections": 20}),
    ("C=100", 100_000, {"connections": 100}),
    ("C=1000", 100_000, {"connections": 1000}),
    ("C=20, 5 in flight", 200_000, {"connections": 20, "in_flight": 5}),
    ("C=2, 100 KB", 8_000, {"connections": 2, "size": 100_000}),
    ("C=100 of 10,000", 60_000, {"connections": 100, "idle": 9_900}),
)


def w13(size):
    for name, messages, more in ECHOES:
        for workers in size.threads:
            if workers > 2 and not size.full:
                continue
            rivals = RUNTIMES["W13"] + size.guests("W13", "echo", name in ("C=1", "C=100"))
            yield make_case("W13", f"{name} W={workers}", "echo", rivals, 5 * MILLION,
                            workers=workers, count=size.scaled(messages), **more)


# W17: the label, the case, the number of reads or messages in about a second, and the options.
FILES = (
    ("disk D=1", "disk", 10_000, {"chains": 1}),
    ("disk D=8", "disk", 40_000, {"chains": 8}),
    ("disk D=32", "disk", 40_000, {"chains": 32}),
    ("memory D=1", "memory", 400_000, {"chains": 1}),
    ("memory D=32", "memory", 400_000, {"chains": 32}),
    ("beside C=20, D=32", "beside", 60_000, {"chains": 32, "connections": 20}),
)


def w17(size):
    for name, case, count, more in FILES:
        runtimes = RUNTIMES["W17"] if case != "beside" else RUNTIMES["W17"][:1]
        yield make_case("W17", name, case, runtimes, 5 * MILLION, workers=1, count=size.scaled(count), **more)


# W18: the label, the case, the number of connections in about a second, and the options.
HANDSHAKES = (
    ("bulk 16 MiB", "bulk", 40, {"connections": 1, "size": 1 << 24}),
    ("full C=10", "full", 1_500, {"connections": 10}),
    ("resumed C=10", "resumed", 1_500, {"connections": 10}),
)


def w18(size):
    for name, case, connections, more in HANDSHAKES:
        for workers in size.threads:
            if workers > 2 and not size.full:
                continue
            rivals = RUNTIMES["W18"] if workers == 1 else RUNTIMES["W18"][1:]  # without openssl
            yield make_case("W18", f"{name} W={workers}", case, rivals, 5 * MILLION, workers=workers,
                            count=size.scaled(connections), **more)


# The rivals of each case of W19.
DATABASES = {"select": ("libpq", "pgbench", "pgx"), "get": ("redis_benchmark", "go_redis")}
# W19: the label, the case, the number of requests in about a second, and the options.
REQUESTS = (
    ("select C=1", "select", 8_000, {"connections": 1}),
    ("select C=1, 16 in flight", "select", 40_000, {"connections": 1, "in_flight": 16}),
    ("select C=4", "select", 16_000, {"connections": 4}),
    ("select C=4, 16 in flight", "select", 48_000, {"connections": 4, "in_flight": 16}),
    ("get C=1", "get", 15_000, {"connections": 1}),
    ("get C=1, 16 in flight", "get", 120_000, {"connections": 1, "in_flight": 16}),
    ("get C=20", "get", 60_000, {"connections": 20}),
)


def w19(size):
    for name, case, requests, more in REQUESTS:
        yield make_case("W19", name, case, DATABASES[case], 10 * MILLION, workers=1, size=1024,
                        count=size.scaled(requests), **more)


# W20: the label, the case, the number of datagrams in about a second, and the options.
DATAGRAMS = (
    ("echo C=1", "echo", 30_000, {"connections": 1}),
    ("echo C=20", "echo", 60_000, {"connections": 20}),
    ("batch C=20, 4 in flight", "batch", 100_000, {"connections": 20, "in_flight": 4}),
    ("segments C=4, 40 in flight", "segments", 1_000_000, {"connections": 4, "in_flight": 40}),
)


def w20(size):
    for name, case, datagrams, more in DATAGRAMS:
        yield make_case("W20", name, case, RUNTIMES["W20"], 5 * MILLION, workers=1, size=1200,
                        count=size.scaled(datagrams), **more)


# W21: the case, the number of answers in about a second, and the options.
PAGES = (
    ("plaintext", 200_000, {"in_flight": 16}),
    ("json", 100_000, {}),
)


def w21(size):
    for name, answers, more in PAGES:
        for connections in (64, 256):
            for workers in size.threads:
                if workers > 2 and not size.full:
                    continue
                yield make_case("W21", f"{name} C={connections} W={workers}", name, RUNTIMES["W21"], 5 * MILLION,
                                workers=workers, connections=connections, count=size.scaled(answers), **more)


TENANTS = 64


def w15(size):
    for workers in size.threads:
        if workers > 2 and not size.full:
            continue
        span_ms = 500 if size.quick else 2_000
        requests = 100 if size.quick else 250
        yield make_case("W15", f"shares W={workers}", "shares", (), MILLION, workers=workers, chains=TENANTS,
                        span_ms=span_ms)
        yield make_case("W15", f"lag W={workers}", "lag", (), MILLION, workers=workers, chains=TENANTS,
                        work_ns=50_000, span_ms=span_ms)
        yield make_case("W15", f"noisy W={workers}", "noisy", RUNTIMES["W15"] + size.guests("W15", "noisy"),
                        5_000 * requests, workers=workers, chains=1_000, work_ns=100_000, count=requests)
        for name, count, chains in (("posts", MILLION, 1), ("hops", MILLION // 4, 4)):
            yield make_case("W15", f"{name} W={workers}", name, RUNTIMES["W15"][:1], MILLION, workers=workers,
                            chains=chains, count=size.scaled(count))
        for groups in (64, 10_000):
            yield make_case("W15", f"hops G={groups} W={workers}", "hops_apart", RUNTIMES["W15"][:1], MILLION,
                            workers=workers, chains=groups, count=size.scaled(2 * MILLION) // groups)


def w16(size):
    for workers in size.threads:
        if workers > 2 and not size.full:
            continue
        for name in ("calls", "in_place"):
            yield make_case("W16", f"{name} W={workers}", name, size.guests("W16", name), MILLION, workers=workers,
                            chains=4 * workers, work_ns=20_000, span_ms=50, count=1_000)
    yield make_case("W16", "rescue W=1", "rescue", size.guests("W16", "rescue"), MILLION, workers=1, chains=4,
                    work_ns=20_000, span_ms=50, count=20 if size.quick else 100)


# W22: the cases, for each number of tasks, channels or continuations, and the counts.
WAITS = (
    ("mutex", "T", (2, 10, 100), MILLION),
    ("mutex_yield", "T", (2, 10, 100), MILLION // 10),
    ("select", "K", (2, 8), MILLION // 5),
    ("select_ready", "K", (2, 8), MILLION),
    ("future", "D", (1, 10, 100, 1000), MILLION),
)


def w22(size):
    for workers in size.threads:
        if workers > 2 and not size.full:
            continue
        for name, letter, numbers, all_of in WAITS:
            for number in numbers:
                count = size.scaled(all_of)
                yield make_case("W22", f"{name} {letter}={number} W={workers}", name, WAITING[name], count,
                                workers=workers, chains=number, count=count)
        count = size.scaled(MILLION // 2)
        yield make_case("W22", f"spawn W={workers}", "spawn", WAITING["spawn"], 2 * count, workers=workers,
                        count=count)


def q1(size):
    count = size.scaled(MILLION)
    for producers in size.producers():
        yield make_case("Q1", f"front P={producers}", "front",
                        (COUNTED, "mutex", "vyukov", "moodycamel", "boost"), count * producers,
                        producers=producers, count=count)
    for claim in (1, 128):
        for workers in size.threads:
            yield make_case("Q1", f"block W={workers} claim={claim}", "block",
                            (COUNTED, "mutex", "moodycamel"), 4 * count,
                            workers=workers, claim=claim, count=4 * count)
    for thieves in (0, 1, 2, 5):
        yield make_case("Q1", f"steal thieves={thieves}", "steal", (COUNTED, "mutex"), 4 * count,
                        workers=thieves, count=4 * count)
    yield make_case("Q1", "deadlines sleepers", "sleepers",
                    ("ordered_map", "priority_queue", "wheel"), 4 * count, count=count)
    yield make_case("Q1", "deadlines cancel", "cancel", ("ordered_map", "wheel"), 2 * count,
                    count=count)


WORKLOADS = {"W1": w1, "W2": w2, "W3": w3, "W4": w4, "W5": w5, "W6": w6, "W7": w7, "W8": w8, "W9": w9,
             "W10": w10, "W11": w11, "W12": w12, "W13": w13, "W15": w15, "W16": w16, "W17": w17,
             "W18": w18, "W19": w19, "W20": w20, "W21": w21, "W22": w22, "Q1": q1}

TITLES = {"W1": "posts from outside", "W2": "hops", "W3": "a million tasks", "W4": "posts of tasks",
          "W5": "fork and join", "W6": "loops", "W7": "ping-pong", "W8": "channels", "W9": "timers",
          "W10": "memory", "W11": "saturation", "W12": "wake-up", "W13": "TCP echo", "W15": "shares",
          "W16": "blocking calls", "W17": "files", "W18": "TLS", "W19": "databases", "W20": "UDP",
          "W21": "HTTP", "W22": "waiting", "Q1": "queues"}

# The meaning of the numbers of a workload, printed above its table.
CAPTIONS = {
    "W1": "ns per task, from the first post to the end of the last task; "
          "P producers outside, W workers",
    "W2": "ns per hop of the slowest of C chains, on W workers; "
          "timed: ns of overhead per hop of a chain, total - ideal",
    "W3": "ns per task, from the first post by the one producer to the end of the last of N tasks, on "
          "W workers; timed: ns of overhead per task, total - ideal",
    "W4": "ns per task, of those that are posted from outside and those that they post, on W workers",
    "W5": "ms for the whole problem, on W workers",
    "W6": "ns per index of a loop, on W workers",
    "W7": "ns from one task to the other, on W workers",
    "W8": "ns for each element that passes a channel, of P senders and C receivers (P:C), on W workers; "
          "ping_pong: ns for each hop of a token by channels of one place",
    "W9": "us from the deadline to the callback or coroutine, p99 of N timers, on W workers; cancel: "
          "ns for each timer that is set and cancelled",
    "W10": "bytes of memory for each of N sleeping coroutines, on one worker",
    "W11": "us from the deadline to the next step of a task that sleeps, p99, while four tasks for each of W "
           "workers compute; steps: the length of their steps, between which they yield",
    "W12": "wake: us from a post to the start of its task, p50, W idle workers; idle: context switches "
           "of the workers",
    "W13": "ns for each message that comes back over one of C connections, of 64 bytes or as the row says, from W "
           "workers; CPU and memory are the server's",
    "W15": "on W workers; shares: the largest error of the shares of 64 groups with weights of 1 to 64 that are always "
           "busy, in %; lag: the time that such groups are owed when their only task, which sleeps between its steps, "
           "begins, p99, in slices of 1 ms; noisy: us from a request of 100 us to its end, p99, beside a tenant "
           "of the same weight with 1,000 tasks that are always ready; posts, hops: ns for each, of one producer, and of four "
           "chains, or of G chains, each in a group of its own; a hop of G chains is as long as G steps",
    "W16": "on W workers; calls, in_place: ns for a step of 20 us of other tasks, beside 1,000 calls of 50 ms each; rescue: us "
           "from the start of a step that blocks without a declaration to the next step of another task, p99",
    "W17": "one worker; disk: ns for each read of 4 KiB past the page cache, D at once; memory: from the page cache; beside: "
           "ns for each message of W13 over C connections, beside D such reads at once of the disk",
    "W18": "ns of CPU time of a TLS server with W workers; bulk: for each KiB that it sends in bodies of 16 MiB; full, resumed: "
           "for each connection with such a handshake, of which C are open at once, and an answer of 64 bytes",
    "W19": "ns for each request to a database, of a row or value of 1 KiB, on C connections; CPU is that of the program that "
           "asks",
    "W20": "ns for each datagram of 1,200 bytes that comes back by UDP to one of C sockets, from one worker; CPU and memory "
           "are the server's",
    "W21": "ns for each answer of an HTTP server to one of C connections, from W workers; plaintext: 16 requests at once "
           "on each; CPU and memory are the server's",
    "W22": "on W workers; mutex, mutex_yield: ns for each lock, of T tasks; select: ns for an element that is awaited "
           "by a select of K channels, and its answer; select_ready: ns for an element that is sent and taken by such a "
           "select; future: ns for each of D continuations of a promise; spawn: ns for a task that another one starts and "
           "waits for",
    "Q1": "ns per item",
}

# Advantages of the rivals, and differences of the runs from the definitions.
REMARKS = (
    "moodycamel keeps order per producer only, and allocates: an advantage with several producers or "
    "workers.",
    "tbb_spawn is last in, first out on the thread that posts: not fair, an advantage.",
    "priority_queue cannot cancel, so it keeps no places up to date: an advantage.",
    "wheel keeps no order within 1,024 ns.",
    "A callback task of the rivals is 16 bytes, a link and a function; Fairlead's is 96, with its "
    "state, deadline and owner: an advantage in time and memory.",
    "asio and tbb have no intrusive tasks: their callback tasks are closures with an address.",
    "serial makes no tasks, and divides no loop: it is the floor of one worker. fairlead, openmp, tbb and rayon run a "
    "child of each node of W5 on its parent's stack, and their joins block. fairlead_coroutines has a coroutine for each "
    "node, which may wait and lets other tasks have their turn: the ratio is the cost of that.",
    "Fairlead's tasks of W7 sleep until they are signalled. The rivals post one another, and no other "
    "thread may post them: an advantage. pipes are two threads, whatever W is.",
    "With asio a timer of W9 and a sleeping coroutine of W10 have a steady_timer each; parked coroutines "
    "wait for a timer that never expires. bare is a frame from malloc that no runtime manages: the floor.",
    "trivial has no timers. For its sleeper of W11 a thread beside the workers sleeps and posts each step: an "
    "advantage.",
    "The runtimes in C++ and Tokio do not interrupt the steps of W11: a sleeper waits for the end of a step, and for "
    "its turn. busy is the share of the workers' time that the steps had, in real time. Time that other programs "
    "took lowers it, too.",
    "go has goroutines for closures and for coroutines. The producer of W1 and W12 is a goroutine, too, and shares the "
    "W workers. A closure begins where it was posted, and no worker need be woken: an advantage in W12. Go interrupts "
    "steps of 10 ms: an advantage in W11 where steps are long. Its switches in W12 include those of the goroutine "
    "that waits for the end.",
    "tokio has spawned futures for closures and for coroutines, and timers by the millisecond. Its coroutines of W7 "
    "notify each other. Its case cancel runs in one task, without a task for each timer: an advantage.",
    "erlang interrupts a process after 4,000 reductions, in W11 some 0.2 ms: an advantage where steps are longer. So a "
    "step is a number of readings of the clock that takes the wanted time without interruptions, measured before. Its "
    "timers are set in whole milliseconds: the first one not before the deadline, up to 1 ms after it. The lateness "
    "includes that; the value from its ms does not. Its sleeper begins when the run queues of its schedulers are even, "
    "which may take seconds: an advantage.",
    "go's calls of W16 block in the same way in all cases: every 0.02 to 10 ms its monitor looks for goroutines that "
    "are long in a system call, and gives their slots to other goroutines.",
    "libuv is one thread, whatever W is, with timers by the millisecond; other threads give it closures by a mutex and "
    "uv_async_send. std_async makes a thread for each task.",
    "rayon runs what a worker posts last in, first out: not fair, an advantage in W4. Its blocks of W5 and bodies of "
    "W6 are compiled by LLVM.",
    "updater looks for tasks once in a millisecond.",
    "futex is one thread with room for one task, whatever W is: the floor.",
    "The client of W13 is a process of one thread, whatever the server is; it competes with it for the "
    "processors. epoll is a bare loop for each worker, with connections of its own: the floor of the kernel.",
    "The client of W18 has as much to compute as the server, so the server's CPU time counts, and the time on the clock is "
    "beside it. All servers use the OpenSSL of the system. openssl is `openssl s_server`, which serves one connection after "
    "the other, with calls that block: an advantage. nginx reads its body from a file.",
    "libpq of W19 is a bare loop in pipeline mode, for one task: the floor. pgbench and redis_benchmark are the tools of the "
    "databases. They, pgx and go_redis send the next requests of a pipeline when all answers to the last ones have come, "
    "and those of pgbench and pgx are one transaction: an advantage. redis_benchmark does not look at the values.",
    "The client of W21 is the same for all, too, and so are the bodies: no program makes JSON. nginx answers from its "
    "configuration, without code of a program: an advantage. It, beast and go send each answer with a call of its own, "
    "fairlead and hyper those to requests that came together with one: an advantage in plaintext.",
    "locked of W8 is a deque under Fairlead's own mutex of tasks, with a condition for each end; each operation is a "
    "coroutine.",
    "tbb of W8 and threads of W22 are threads of the system, one for each sender, receiver or task, whatever W is: an "
    "advantage with one worker. threads has std::mutex, which hands nothing over: a thread that unlocks it mostly has it "
    "again, an advantage. So has go until a goroutine has waited for 1 ms.",
    "asio of W8 has, with one worker, a channel without a lock: an advantage. Its channels and tbb's queue drop what "
    "they hold or cannot be closed, so each receiver ends at an element of its own.",
    "tokio's channels have one receiver. Its sends to a channel without a bound do not yield: with one worker all is "
    "sent before the receiver begins. Its continuations of W22 are boxed futures that the last one polls, and those of "
    "std_future deferred calls within each other on the stack, which no other thread runs: an advantage.",
    "posts and hops of W15 are the callbacks of W1 and W2, in one group, or in G, so the scheduler gives turns. "
    "fairlead_ungrouped has them in the default group, as in W1 and W2: the ratio is the cost of fairness. "
    "fairlead_ungrouped and asio have both tenants of noisy in one queue, so a request waits for a thousand steps. go "
    "does not interrupt such short steps, but runs a goroutine that wakes up, and the goroutines that it starts, before "
    "ready ones: its requests overtake all other goroutines, whichever tenant sends them.",
    "Steps of W15 are measured in real time: a step that the kernel interrupts is charged in full. interrupted is the "
    "share of the time that interruptions and other programs took. They cause small errors of shares, lags and tails.",
    "W5 and W6 count a worker that is the caller in openmp and tbb; the callers of Fairlead and rayon sleep.",
    "openmp divides the tiny loop of W6 statically, and the skewed one dynamically, 1,024 at once.",
    "A tenth of the work runs once in each process before the clock starts; of W5, a smaller "
    "problem.",
    "Every runtime has exactly W workers (TBB is given a limit of W + 1, because it counts the "
    "caller), beside the P threads that post.",
    "Without --full: one-shots and coroutines are 2,000,000 in total where several producers post; "
    "chains share 1,000,000 hops; timed chains share 0.3 s of work; the problems of W5 are smaller; the "
    "sleeper of W11 sleeps up to 10 ms, 200 times (50, where steps take 10 ms), instead of 1,000 ms, 300 times; go, "
    "tokio, erlang, rayon, qt, libuv and std_async take part in a few cases of each workload.",
)


def cases(workloads, size, matches=lambda text: True):
    """The cases of the workloads whose "W1 label" `matches`."""
    return [case for name in workloads for case in WORKLOADS[name](size)
            if matches(f"{case.workload} {case.label}")]
