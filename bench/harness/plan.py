"""Which runs there are: the cases of each workload, their sizes, and who takes part.

Sizes are chosen so that W1, W2 and Q1 together, with five repetitions, take less than twenty minutes on
two processors, and the others about as long. `full` takes the sizes of the definitions instead, and every
rival in every case.
"""

import dataclasses

OURS = "fairlead"
# The same queues with atomics that count failed exchanges; its times mean nothing.
COUNTED = "fairlead_counted"
RUNTIMES = {
    "W1": ("trivial", "moodycamel", "asio", "tbb"),
    "W2": ("trivial", "moodycamel", "asio", "tbb", "tbb_spawn"),
    "W3": ("trivial", "moodycamel", "asio", "tbb"),
    "W4": ("trivial", "moodycamel", "asio", "tbb", "tbb_spawn"),
    "W5": ("tbb", "openmp", "serial"),
    "W6": ("tbb", "openmp", "serial"),
    "W7": ("trivial", "moodycamel", "asio", "tbb", "tbb_spawn", "pipes"),
    "W9": ("asio",),
    "W10": ("asio", "bare"),
    "W12": ("futex", "trivial", "updater", "moodycamel", "asio", "tbb"),
    "W13": ("asio", "epoll"),
}
PRODUCERS = (1, 2, 5, 10)
MILLION = 1_000_000


@dataclasses.dataclass(frozen=True)
class Case:
    workload: str
    label: str          # names the case in rows and tables
    program_case: str   # what the programs call it
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
                yield make_case("W2", f"timed {text} C={chains} W={workers}", "timed",
                                RUNTIMES["W2"], total * work_ns // 100,
                                workers=workers, chains=chains, work_ns=work_ns,
                                count=total if size.full else max(1, total // chains))


def w3(size):
    for workers in size.threads:
        rivals = RUNTIMES["W3"] if size.everybody(workers) else RUNTIMES["W3"][:1]
        for count in (10**4, 10**5, 10**6, 10**7):
            if count <= size.scaled(5 * MILLION) or size.full:
                yield make_case("W3", f"empty N={count} W={workers}", "empty", rivals,
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
            yield make_case("W4", f"{name} W={workers}", name, rivals, count * count,
                            workers=workers, count=count)


# Of each problem of W5: the size with --quick, otherwise, and by the definition.
FORK_JOIN_SIZES = {"fib": (25, 32, 39), "skynet": (10**4, 10**6, 10**6), "nqueens": (9, 12, 14),
                   "matmul": (512, 1024, 2048)}


def w5(size):
    for name, sizes in FORK_JOIN_SIZES.items():
        count = sizes[2 if size.full else 0 if size.quick else 1]
        for workers in size.threads:
            rivals = RUNTIMES["W5"] if workers == 1 else RUNTIMES["W5"][:-1]  # serial is
            yield make_case("W5", f"{name} {count} W={workers}", name, rivals, MILLION,
                            workers=workers, count=count)


def w6(size):
    for name, count in (("tiny", 10 * MILLION), ("skewed", MILLION)):
        for workers in size.threads:
            rivals = RUNTIMES["W6"] if workers == 1 else RUNTIMES["W6"][:-1]  # serial is
            yield make_case("W6", f"{name} W={workers}", name, rivals, MILLION, workers=workers,
                            count=size.scaled(count))


def w7(size):
    for name in ("callback", "coroutine"):
        for workers in size.threads:
            rivals = RUNTIMES["W7"]
            if not size.everybody(workers):
                rivals = rivals[:1]
            count = size.scaled(500_000)
            yield make_case("W7", f"{name} W={workers}", name, rivals, 2 * count, workers=workers,
                            count=count)


def w9(size):
    sleepers = (100_000, MILLION) if not size.quick else (20_000,)
    for workers in size.threads:
        if workers > 2 and not size.full:
            continue
        for name in ("callback", "coroutine"):
            for count in sleepers:
                yield make_case("W9", f"{name} N={count} W={workers}", name, RUNTIMES["W9"],
                                10 * MILLION + 40 * count, workers=workers, count=count)
        count = 50 if size.quick else 300
        yield make_case("W9", f"single W={workers}", "single", RUNTIMES["W9"], 100_000 * count,
                        workers=workers, count=count)
        yield make_case("W9", f"cancel W={workers}", "cancel", RUNTIMES["W9"], 10 * MILLION,
                        workers=workers, count=size.scaled(MILLION))


def w10(size):
    for name in ("parked", "asleep"):
        for count in (100_000, MILLION) if not size.quick else (100_000,):
            rivals = RUNTIMES["W10"] if name == "parked" else RUNTIMES["W10"][:1]
            yield make_case("W10", f"{name} N={count}", name, rivals, 10 * count, workers=1,
                            count=count)


def w12(size):
    for workers in size.threads:
        if workers > 2 and not size.full:
            continue
        wakes = 500 if size.quick else 1_000
        yield make_case("W12", f"wake W={workers}", "wake", RUNTIMES["W12"], 10_000 * wakes,
                        workers=workers, count=wakes)
        for_ms = 10_000 if size.full else 1_000
        yield make_case("W12", f"idle {for_ms // 1000} s W={workers}", "idle", RUNTIMES["W12"],
                        10_000 * for_ms, workers=workers, count=for_ms)


# Of W13: the label, how many messages take about a second on two busy processors, and the options.
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
            yield make_case("W13", f"{name} W={workers}", "echo", RUNTIMES["W13"], 5 * MILLION,
                            workers=workers, count=size.scaled(messages), **more)


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


WORKLOADS = {"W1": w1, "W2": w2, "W3": w3, "W4": w4, "W5": w5, "W6": w6, "W7": w7, "W9": w9,
             "W10": w10, "W12": w12, "W13": w13, "Q1": q1}

# What the numbers of a workload mean, above its table.
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
    "W9": "us from the deadline to the callback or coroutine, p99 of N timers, on W workers; cancel: "
          "ns for each timer that is set and cancelled",
    "W10": "bytes of memory for each of N sleeping coroutines, on one worker",
    "W12": "wake: us from a post to the start of its task, p50, W idle workers; idle: context switches "
           "of the workers",
    "W13": "ns for each message of 64 bytes, or as it says, that comes back over one of C connections, from W "
           "workers; CPU and memory are the server's",
    "Q1": "ns per item",
}

# Where a rival does less than Fairlead, and where the runs differ from the definitions.
REMARKS = (
    "moodycamel keeps order per producer only, and allocates: an advantage where producers or "
    "workers are several.",
    "tbb_spawn is last in, first out on the thread that posts: not fair, an advantage.",
    "priority_queue cannot cancel, so it keeps no places up to date: an advantage.",
    "wheel keeps no order within 1,024 ns.",
    "A callback task of the rivals is 16 bytes, a link and a function; Fairlead's is 96, with its "
    "state, deadline and owner: an advantage in time and memory.",
    "asio and tbb have no intrusive tasks: their callback tasks are closures with an address.",
    "serial makes no tasks, and divides no loop: it is the floor of one worker. openmp and tbb run a child of "
    "each node on its parent's stack, and their joins block.",
    "Fairlead's tasks of W7 sleep until they are signalled; the rivals post one another, and may not "
    "be posted by anybody else: an advantage. pipes are two threads, whatever W is.",
    "A timer of W9 and a sleeping coroutine of W10 are with asio a steady_timer; parked is one that "
    "never expires. bare is a frame from malloc that nobody manages: the floor.",
    "updater looks for tasks once in a millisecond.",
    "futex is one thread with room for one task, whatever W is: the floor.",
    "The client of W13 is a process of one thread, whatever the server is; it competes with it for the "
    "processors. epoll is a bare loop for each worker, with connections of its own: the floor of the kernel.",
    "W5 and W6 count a worker that is the caller in openmp and tbb; Fairlead's caller sleeps.",
    "openmp divides the tiny loop of W6 statically, and the skewed one dynamically, 1,024 at once.",
    "A tenth of the work runs once in each process before the clock starts; of W5, a smaller "
    "problem.",
    "Every runtime has exactly W workers (TBB is given a limit of W + 1, because it counts the "
    "caller), beside the P threads that post.",
    "Without --full: one-shots and coroutines are 2,000,000 in total where several producers post; "
    "chains share 1,000,000 hops; timed chains share 0.3 s of work; the problems of W5 are smaller.",
)


def cases(workloads, size, matches=lambda text: True):
    """The cases of the workloads whose "W1 label" `matches`."""
    return [case for name in workloads for case in WORKLOADS[name](size)
            if matches(f"{case.workload} {case.label}")]
