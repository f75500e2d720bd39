#!/usr/bin/env python3
"""The demo: the save-game service on three schedulers, under the same load.

Starts the service on loopback with each scheduler in turn, drives it with savegames-load, and
measures the resources that the service used. Prints one table, and writes summary.json and a plot
into build/demo/, or the folder of --output. All else is in temporary folders (TMPDIR).

    ./do demo [--quick] [--tenants | --cluster] [--output FOLDER]

With --tenants it runs demo_tenants.py instead, with --cluster demo_cluster.py.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

import demo_cluster
import demo_service
import demo_tenants
from demo_service import (ROOT, DemoError, Service, copy_database, drive, find_programs,
                          shown_path)

SCHEDULERS = ("fairlead", "updater", "trivial")

# The gain over the updater that the first prototype reported.
RPS_RATIO_WANTED = 10
LATENCY_RATIO_WANTED = 5


@dataclasses.dataclass(frozen=True)
class Plan:
    """The settings of a run, the same for each scheduler."""
    measure_s: float
    warm_up_s: float
    connections: int = 32
    workers: int = 4                # as in the first prototype
    store_latency: str = "5ms,0.3"  # databases over a network
    players: int = 2000
    # All players are nearly equally frequent. The updater locks a player for half a second; a queue
    # for the lock of one frequent player would turn slow requests into errors.
    skew: float = 0.3
    mix: str = "10:60:29:1"         # put:get:update:delete
    size_median: int = 8000
    seed: int = 1

    def service_options(self, scheduler):
        return ["--scheduler", scheduler, "--workers", str(self.workers)]

    def load_options(self):
        return ["--connections", str(self.connections), "--players", str(self.players),
                "--skew", str(self.skew), "--mix", self.mix, "--seed", str(self.seed),
                "--size-median", str(self.size_median), "--workers", "1"]


FULL = Plan(measure_s=14, warm_up_s=2)
QUICK = Plan(measure_s=3, warm_up_s=0.5)


@dataclasses.dataclass(frozen=True)
class Usage:
    """The resources that a process has used so far."""
    cpu_s: float
    wakeups: int

    def __sub__(self, earlier):
        return Usage(self.cpu_s - earlier.cpu_s, self.wakeups - earlier.wakeups)


# --- figures from the kernel ----------------------------------------------------------------------

def parse_cpu_seconds(stat, ticks_per_second):
    """User and system time, from the text of /proc/PID/stat."""
    # The name stands in parentheses, and may have spaces and parentheses.
    fields = stat[stat.rindex(")") + 1:].split()
    return (int(fields[11]) + int(fields[12])) / ticks_per_second


def parse_voluntary_switches(status):
    """How often a thread went to sleep, from the text of /proc/PID/task/TID/status."""
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "voluntary_ctxt_switches":
            return int(value)
    raise ValueError("the status of the thread has no line voluntary_ctxt_switches")


def usage_of(pid):
    """Sums up the threads that live. The service starts and ends no thread while it serves."""
    process = pathlib.Path("/proc") / str(pid)
    cpu_s = parse_cpu_seconds((process / "stat").read_text(), os.sysconf("SC_CLK_TCK"))
    wakeups = 0
    for thread in (process / "task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            wakeups += parse_voluntary_switches((thread / "status").read_text())
    return Usage(cpu_s, wakeups)


# --- the service and the load ---------------------------------------------------------------------

def prepare(programs, folder, plan):
    """Makes a database with a save for each player. Every scheduler begins with a copy of it."""
    database, ledger = folder / "base.db", folder / "base.ledger"
    with Service(programs["savegames"], database, "fairlead",
                 *plan.service_options("fairlead")) as service:
        drive(programs["savegames-load"], service.url, *plan.load_options(), "--preload",
              "--requests", 0, "--ledger", ledger)
    return database, ledger


def measure(programs, scheduler, base, folder, plan):
    """Starts the service with one scheduler, warms it up, and measures it."""
    database, ledger = copy_database(base, folder, scheduler)
    load = programs["savegames-load"]
    with Service(programs["savegames"], database, scheduler, *plan.service_options(scheduler),
                 "--store-latency", plan.store_latency) as service:
        options = [*plan.load_options(), "--ledger", ledger]
        drive(load, service.url, *options, "--duration", plan.warm_up_s)
        before = usage_of(service.process.pid)
        report = drive(load, service.url, *options, "--duration", plan.measure_s,
                       json_path=folder / f"{scheduler}.json")
        used = usage_of(service.process.pid) - before
    return summarize(report, used)


# --- the results ----------------------------------------------------------------------------------

def summarize(report, used):
    """The entry of one scheduler in the summary."""
    requests = max(report["requests"], 1)
    return {
        "rps": round(report["rps"], 1),
        "p50_ms": round(report["latency_ms"]["p50"], 3),
        "p99_ms": round(report["latency_ms"]["p99"], 3),
        "errors": report["errors"],
        "cpu_s_per_1000": round(used.cpu_s / requests * 1000, 4),
        "wakeups_per_request": round(used.wakeups / requests, 3),
        "requests": report["requests"],
        "errors_by_kind": report["errors_by_kind"],
    }


COLUMNS = (
    ("requests/s", "rps", "{:.0f}"),
    ("p50 ms", "p50_ms", "{:.1f}"),
    ("p99 ms", "p99_ms", "{:.1f}"),
    ("CPU s/1000 req", "cpu_s_per_1000", "{:.3f}"),
    ("wake-ups/req", "wakeups_per_request", "{:.2f}"),
)


def ratio_text(value, reference):
    """`value` in units of `reference`: "x0.05", "x1.2", "x31"."""
    if reference == 0:
        return ""
    ratio = value / reference
    digits = 0 if ratio >= 10 else 1 if ratio >= 1 else 2
    return f"x{ratio:.{digits}f}"


def table(results):
    """One row for each scheduler. Behind each value stands its ratio to Fairlead's value."""
    rows = [["scheduler", *(title for title, _, _ in COLUMNS), "errors"]]
    for name, result in results.items():
        row = [name]
        for _, key, form in COLUMNS:
            value = form.format(result[key])
            if name != "fairlead":
                value += f" {ratio_text(result[key], results['fairlead'][key]):>6}"
            else:
                value += " " * 7
            row.append(value)
        rows.append([*row, str(result["errors"])])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    # The title of a column stands above the values, not above the ratios.
    rows[0][1:-1] = [title + " " * 7 for title in rows[0][1:-1]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
                     for row in rows)


def verdict(results):
    """Two lists of sentences: what the run has shown, and what went wrong."""
    shown, problems = [], []
    for name, result in results.items():
        if result["errors"]:
            kinds = ", ".join(f"{count} {kind}" for kind, count in
                              sorted(result["errors_by_kind"].items()))
            problems.append(f"{name}: {result['errors']} errors ({kinds})")
        if not result["requests"]:
            log = shown_path(demo_service.OUTPUT / f"{name}.log")
            problems.append(f"{name}: no request succeeded; see {log}")
    if problems:
        return shown, problems
    fairlead, updater = results["fairlead"], results["updater"]
    rps = fairlead["rps"] / updater["rps"]
    latency = updater["p50_ms"] / fairlead["p50_ms"]
    sentence = (f"Fairlead serves {rps:.1f} times the updater's requests/s; "
                f"its median latency is 1/{latency:.1f} of the updater's.")
    if rps >= RPS_RATIO_WANTED or latency >= LATENCY_RATIO_WANTED:
        shown.append(sentence)
    else:
        problems.append(f"{sentence} Wanted: {RPS_RATIO_WANTED} times, or "
                        f"1/{LATENCY_RATIO_WANTED} of the latency.")
    return shown, problems


# A dark and a light tone for each scheduler.
TONES = {"fairlead": ("#0b6e4f", "#8fd0b5"), "updater": ("#9a3412", "#f0b48f"),
         "trivial": ("#374151", "#b6bcc8")}


def bar_text(value):
    """Three digits, but at least all before the point: "0.402", "31.9", "2095"."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def plot(results, path):
    """Draws the results. False if matplotlib is not installed."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return False
    matplotlib.rcParams.update({"font.size": 9, "axes.spines.top": False,
                                "axes.spines.right": False, "svg.hashsalt": "savegames"})
    panels = (("requests per second", (("rps", 0),)),
              ("latency in ms: median light, p99 dark", (("p50_ms", 1), ("p99_ms", 0))),
              ("CPU seconds per 1,000 requests", (("cpu_s_per_1000", 0),)),
              ("wake-ups per request", (("wakeups_per_request", 0),)))
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6))
    for axis, (title, series) in zip(axes.flat, panels):
        width = 0.7 / len(series)
        for number, (key, tone) in enumerate(series):
            offset = (number - (len(series) - 1) / 2) * width
            bars = axis.bar([i + offset for i in range(len(results))],
                            [result[key] for result in results.values()], width,
                            color=[TONES[name][tone] for name in results])
            axis.bar_label(bars, padding=2,
                           labels=[bar_text(result[key]) for result in results.values()])
        axis.set_xticks(range(len(results)), list(results))
        axis.set_title(title, loc="left")
        axis.margins(y=0.15)
    figure.suptitle("The save-game service on three schedulers, the same load", x=0.01, ha="left")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


def curl_help(program):
    """Commands that start the service by hand and talk to it."""
    base = "http://127.0.0.1:8080"
    save = f"{base}/games/chess/saves/anna"
    return f"""Talk to it yourself:
  {program} --db saves.db &
  curl -X PUT --data '{{"level": 1, "gold": 50}}' {save}
  curl {save}
  curl -X POST --data '{{"level": 2}}' {save}/update
  curl -X DELETE {save}
  curl {base}/stats"""


# --- the program ----------------------------------------------------------------------------------

def run(plan, build):
    programs = find_programs(build)
    demo_service.OUTPUT.mkdir(parents=True, exist_ok=True)
    print(f"The save-game service, {plan.workers} workers, {plan.connections} connections, a store "
          f"{plan.store_latency.split(',')[0]} away;\nput:get:update:delete {plan.mix}, "
          f"{plan.players} players, {plan.measure_s:g} s for each scheduler.\n", flush=True)
    results = {}
    with tempfile.TemporaryDirectory(prefix="fairlead-demo-") as temporary:
        folder = pathlib.Path(temporary)
        base = prepare(programs, folder, plan)
        for scheduler in SCHEDULERS:
            begin = time.monotonic()
            results[scheduler] = measure(programs, scheduler, base, folder, plan)
            print(f"measured {scheduler} in {time.monotonic() - begin:.0f} s", flush=True)

    print("\n" + table(results) + "\n")
    (demo_service.OUTPUT / "summary.json").write_text(json.dumps(results, indent=2) + "\n")
    written = [demo_service.OUTPUT / "summary.json"]
    if plot(results, demo_service.OUTPUT / "savegames.svg"):
        written.append(demo_service.OUTPUT / "savegames.svg")
    else:
        print("No plot: the Python module matplotlib is missing; install python3-matplotlib.")
    shown, problems = verdict(results)
    print(*shown, sep="\n", end="\n\n" if shown else "")
    print(curl_help(shown_path(programs["savegames"])))
    print("\nWritten: " + ", ".join(str(shown_path(path)) for path in written))
    if problems:
        raise DemoError("\n".join(problems))


def main():
    parser = argparse.ArgumentParser(prog="./do demo", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the time")
    parser.add_argument("--tenants", action="store_true",
                        help="measure how a noisy game disturbs a quiet one")
    parser.add_argument("--cluster", action="store_true",
                        help="measure one and three services on Redis and PostgreSQL")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release",
                        help="the build folder (default: build/release)")
    parser.add_argument("--output", type=pathlib.Path, default=demo_service.OUTPUT,
                        help="the folder of the results and of what services say (default: "
                             "build/demo)")
    options = parser.parse_args()
    demo_service.OUTPUT = options.output.resolve()
    # At SIGTERM the demo also stops its service.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if options.tenants:
            demo_tenants.run(demo_tenants.QUICK if options.quick else demo_tenants.FULL,
                             options.build)
        elif options.cluster:
            demo_cluster.run(demo_cluster.QUICK if options.quick else demo_cluster.FULL,
                             options.build)
        else:
            run(QUICK if options.quick else FULL, options.build)
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
