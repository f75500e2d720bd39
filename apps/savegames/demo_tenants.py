"""Measures how a noisy game disturbs a quiet one: ./do demo --tenants

Two services run side by side. In the first each game has a group of the scheduler; in the second
all games are in one group. The quiet game sends, at fixed times, a tenth of the requests that the
service can serve. The noisy game asks for ten times its share, which is half of that. Each
repetition measures, with both services in turn, the quiet game alone and beside the noisy game.
Then short pairs measure what a request costs the processor of each service while both games send as
fast as they can. The two runs of a pair follow each other at once, so the machine changes little
between them.

The demo measures how the workers are shared, so it keeps other shared resources out. If there is
more than one processor, the services have half of the processors, and the load generators the other
half. The databases are in memory, because all programs share the disk.
"""

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

import demo_service
from demo_service import DemoError, Service, drive, find_programs, shown_path

MOVE_WANTED = 0.20  # the p99 of the quiet game may rise by at most this part
MEMORY = pathlib.Path("/dev/shm")
MODES = {"groups": "a group for each game", "one": "all games in one group"}


@dataclasses.dataclass(frozen=True)
class Plan:
    """The settings of a run, the same for both services."""
    measure_s: float
    warm_up_s: float
    repetitions: int
    cost_s: float                   # each run of a pair
    cost_pairs: int
    quiet_connections: int = 32
    noisy_connections: int = 320
    noise: float = 10               # how many times its share the noisy game asks for
    quiet_part: float = 0.1         # of the requests that the service can serve
    store_latency: str = "5ms,0.3"  # databases over a network
    players: int = 1000             # of each game
    skew: float = 0.3
    mix: str = "10:60:29:1"         # put:get:update:delete
    size_median: int = 8000
    # A step is not interrupted. With larger saves the demo would measure the longest step, not the
    # scheduler.
    size_sigma: float = 0.5

    def load_options(self, game):
        return ["--game", game, "--players", self.players, "--skew", self.skew, "--mix", self.mix,
                "--size-median", self.size_median, "--size-sigma", self.size_sigma,
                "--workers", 1]


FULL = Plan(measure_s=6, warm_up_s=1, repetitions=7, cost_s=4, cost_pairs=12)
QUICK = Plan(measure_s=2, warm_up_s=0.5, repetitions=5, cost_s=1, cost_pairs=5)


# --- processors -----------------------------------------------------------------------------------

def halves(processors):
    """The processors of the services and those of the load; the same if there is only one."""
    processors = sorted(processors)
    if len(processors) < 2:
        return set(processors), set(processors)
    half = len(processors) // 2
    return set(processors[:half]), set(processors[half:])


def workers_on(processors):
    """At least two, so that a long step on one worker leaves a worker free."""
    return max(2, len(processors))


@contextlib.contextmanager
def processors_of_children(processors):
    """Programs that are started meanwhile run on `processors`."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_seconds(process_id):
    """What all threads of the process have used."""
    fields = pathlib.Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- a measurement --------------------------------------------------------------------------------

class Tenants:
    """A service with two games, and their load."""

    def __init__(self, programs, folder, mode, plan, processors):
        self.load = programs["savegames-load"]
        self.folder, self.mode, self.plan = folder, mode, plan
        with processors_of_children(processors):
            self.service = Service(programs["savegames"], folder / f"{mode}.db", f"tenants-{mode}",
                                   "--workers", workers_on(processors),
                                   "--store-latency", plan.store_latency,
                                   *(["--no-groups"] if mode == "one" else []))

    def options(self, game, connections):
        return [*self.plan.load_options(game), "--connections", connections,
                "--ledger", self.folder / f"{self.mode}-{game}.ledger"]

    def prepare(self):
        """Stores a save for each player. Returns how many requests/s the service can serve."""
        for game in ("quiet", "noisy"):
            drive(self.load, self.service.url, *self.options(game, 32), "--preload",
                  "--requests", 0)
        return self.drive("noisy", self.plan.noisy_connections, self.plan.measure_s, 0)["rps"]

    def drive(self, game, connections, duration, rate):
        report = drive(self.load, self.service.url, *self.options(game, connections),
                       "--duration", duration, "--rate", rate,
                       json_path=self.folder / f"{self.mode}-{game}.json")
        if game == "quiet" and report["errors"]:
            raise DemoError(f"the quiet game had errors: {report['errors_by_kind']}")
        return report

    def quiet(self, capacity):
        return self.drive("quiet", self.plan.quiet_connections, self.plan.measure_s,
                          capacity * self.plan.quiet_part)

    @contextlib.contextmanager
    def noise(self, capacity):
        """The noisy game sends meanwhile. The list that this yields has its report at the end."""
        path = self.folder / f"{self.mode}-noisy.json"
        command = [self.load, "--url", self.service.url,
                   *self.options("noisy", self.plan.noisy_connections), "--duration", 3600,
                   "--rate", capacity / 2 * self.plan.noise, "--json", path]
        # A lower priority: this generator must not delay that of the quiet game.
        with subprocess.Popen(["nice", "-n", "10", *map(str, command)],
                              stdout=subprocess.DEVNULL) as process:
            reports = []
            try:
                time.sleep(self.plan.warm_up_s)
                yield reports
            finally:
                process.send_signal(signal.SIGINT)
                status = process.wait()
            if status != 0:
                raise DemoError(f"savegames-load for the noisy game ended with status {status}")
            reports.append(json.loads(path.read_text()))

    def cpu_us(self):
        """The CPU time of the service for a request, while both games send as fast as they can over
        the same number of connections: so both modes serve the same."""
        def send(game):
            return self.drive(game, self.plan.quiet_connections, self.plan.cost_s, 0)

        before = cpu_seconds(self.service.process.pid)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            reports = list(pool.map(send, ("quiet", "noisy")))
        used = cpu_seconds(self.service.process.pid) - before
        return 1e6 * used / sum(each["requests"] for each in reports)

    def measure(self, capacity):
        alone = self.quiet(capacity)
        with self.noise(capacity) as noisy:
            beside = self.quiet(capacity)
        alone_ms, beside_ms = (each["latency_ms"]["p99"] for each in (alone, beside))
        return {"alone_ms": alone_ms, "beside_ms": beside_ms, "moved": beside_ms / alone_ms - 1,
                "quiet_rps": beside["rps"], "noisy_rps": noisy[0]["rps"],
                "noisy_errors": noisy[0]["errors_by_kind"]}


# --- the results ----------------------------------------------------------------------------------

COLUMNS = (
    ("p99 ms alone", "alone_ms", "{:.1f}", 1),
    ("p99 ms beside", "beside_ms", "{:.1f}", 1),
    ("moved by %", "moved", "{:+.0f}", 100),
    ("quiet req/s", "quiet_rps", "{:.0f}", 1),
    ("noisy req/s", "noisy_rps", "{:.0f}", 1),
)


def spread_text(values, form, factor):
    """Median, minimum and maximum: "31.2 (30.1 to 33.0)"."""
    middle, least, most = (form.format(factor * value) for value in
                           (statistics.median(values), min(values), max(values)))
    return f"{middle} ({least} to {most})"


def table(samples, costs):
    """One row for each mode: medians, with minimum and maximum in parentheses."""
    rows = [["", *(title for title, *_ in COLUMNS), "CPU us a request"]]
    for mode, of_mode in samples.items():
        rows.append([MODES[mode], *(spread_text([each[key] for each in of_mode], form, factor)
                                    for _, key, form, factor in COLUMNS),
                     spread_text(costs[mode], "{:.0f}", 1)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("   ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def verdict(samples, costs):
    """Two lists of sentences: what the run has shown, and what went wrong."""
    moved = {mode: statistics.median(each["moved"] for each in of_mode)
             for mode, of_mode in samples.items()}
    sentence = (f"The noisy game moves the quiet one's p99 by {100 * moved['groups']:.0f} % with "
                f"groups, by {100 * moved['one']:.0f} % without.")
    ratios = [with_groups / without for with_groups, without in zip(costs["groups"], costs["one"])]
    cost = (f"A request costs {spread_text(ratios, '{:.2f}', 1)} times the CPU time with groups "
            f"that it costs without.")
    if moved["groups"] <= MOVE_WANTED:
        return [sentence, cost], []
    return [cost], [f"{sentence} Wanted with groups: at most {100 * MOVE_WANTED:.0f} %."]


def in_turn(number):
    """The modes in the order of a repetition. It alternates, so that other load of the machine
    affects both services."""
    return sorted(MODES, reverse=number % 2 == 1)


def run(plan, build):
    programs = find_programs(build)
    demo_service.OUTPUT.mkdir(parents=True, exist_ok=True)
    of_service, of_load = halves(os.sched_getaffinity(0))
    print(f"A quiet game beside a noisy one that wants {plan.noise:g} times its share: "
          f"{plan.quiet_connections} and {plan.noisy_connections} connections,\n"
          f"{workers_on(of_service)} workers, a store {plan.store_latency.split(',')[0]} away, "
          f"put:get:update:delete {plan.mix},\n{plan.repetitions} repetitions in turn of "
          f"{plan.measure_s:g} s each.\n", flush=True)
    samples = {mode: [] for mode in MODES}
    costs = {mode: [] for mode in MODES}
    in_memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fairlead-demo-", dir=in_memory) as temporary:
        folder = pathlib.Path(temporary)
        tenants = {mode: Tenants(programs, folder, mode, plan, of_service) for mode in MODES}
        with tenants["groups"].service, tenants["one"].service, processors_of_children(of_load):
            capacity = min(each.prepare() for each in tenants.values())
            print(f"the service can do {capacity:.0f} requests/s", flush=True)
            for number in range(plan.repetitions):
                for mode in in_turn(number):
                    samples[mode].append(tenants[mode].measure(capacity))
                print(f"repetition {number + 1} of {plan.repetitions}", flush=True)
            print(f"CPU time of a request: {plan.cost_pairs} pairs of {plan.cost_s:g} s", flush=True)
            for number in range(plan.cost_pairs):
                for mode in in_turn(number):
                    costs[mode].append(tenants[mode].cpu_us())
    print("\n" + table(samples, costs) + "\n\nMedians, with minimum and maximum in parentheses.")
    written = demo_service.OUTPUT / "tenants.json"
    written.write_text(json.dumps({"capacity_rps": capacity, "plan": dataclasses.asdict(plan),
                                   "samples": samples, "cpu_us": costs}, indent=2) + "\n")
    shown, problems = verdict(samples, costs)
    print(*shown, f"\nWritten: {shown_path(written)}", sep="\n")
    if problems:
        raise DemoError("\n".join(problems))
