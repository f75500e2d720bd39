#!/usr/bin/env python3
"""Runs the benchmarks in bench/ and compares Fairlead with its rivals.

Each measurement runs in its own process. In a case the runtimes take turns, A B A B, so that a slow
moment of the machine affects all of them. The first turn is not counted. Cases whose spread exceeds
15 % are repeated up to twice at the end while time is left, and the calmest repetition counts: that
of the smallest spread, whichever runtime wins in it. Results go to build/bench/<workload>.json.

With --report the results also replace those of the same cases in bench/results/<machine>.json, and
the command writes the page and the plots anew. So a report can be measured in parts. The command
then repeats each noisy case at least once, however long that takes, before it publishes the case.

With --compare it compares two commits of Fairlead instead of Fairlead and its rivals.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "bench"))

import counts  # noqa: E402
import results as pages  # noqa: E402
from harness import compare, machine, plan, record, report, rows  # noqa: E402

NOT_OFFERED = 3
MEMORY_SHARE = 0.75         # of the machine's memory: the limit of one process
RUN_LIMIT_S = 30            # a process that runs longer hangs
FULL_RUN_LIMIT_S = 1200     # with --full
COMPARE_RUNS = 10
REPEATS_MAX = 2
TIME_LIMIT_S = 18 * 60      # no repeats of noisy cases beyond this
LINE_EVERY_S = 60           # of progress, where there is no terminal
# The sections of ./do counts that the report contains.
COUNTED = ("posts", "forks", "switches", "timers", counts.HANDOVERS)


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./do bench", description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD",
                        help=", ".join(plan.WORKLOADS) + "; none: all")
    parser.add_argument("--quick", action="store_true", help="fewer, smaller runs")
    parser.add_argument("--full", action="store_true",
                        help="the sizes of the definitions, every rival in every case: hours")
    parser.add_argument("--cases", metavar="REGEX", default="",
                        help="only cases that match, such as 'W1 callback P=1'")
    parser.add_argument("--runs", type=int, metavar="N", help="repetitions (5; with --quick 3)")
    parser.add_argument("--threads", metavar="LIST", help="worker counts (1,2,5,10; quick: 1,2)")
    parser.add_argument("--only", metavar="RUNTIMES", help="only these runtimes, separated by commas")
    parser.add_argument("--report", action="store_true",
                        help="also write the results into bench/results/, and keep its other cases")
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"),
                        help="two commits instead of rivals, and what moved between them "
                             "beyond the noise; 10 repetitions")
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--output", type=pathlib.Path, default=REPOSITORY / "build" / "bench")
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / pages.FOLDER, help="where --report writes")
    options = parser.parse_args(arguments)
    options.said = " ".join(
        [f"--{name}" for name in ("quick", "full") if getattr(options, name)] +
        [f"--{name} {shlex.quote(str(getattr(options, name)))}" for name in ("cases", "only", "threads", "runs")
         if getattr(options, name)])
    options.limited = bool(options.cases or options.only or options.threads)
    options.workloads = [name.upper() for name in options.workloads] or list(plan.WORKLOADS)
    for name in options.workloads:
        if name not in plan.WORKLOADS:
            parser.error(f"unknown workload {name}; there are {', '.join(plan.WORKLOADS)}")
    options.runs = options.runs or (
        COMPARE_RUNS if options.compare else 3 if options.quick else 5)
    try:
        options.matches = re.compile(options.cases).search
        threads = options.threads or ("1,2" if options.quick else "1,2,5,10")
        options.threads = tuple(int(count) for count in threads.split(","))
    except (re.error, ValueError) as error:
        parser.error(str(error))
    return options


def planned_cases(options):
    size = plan.Size(options.threads, options.quick, options.full)
    cases = plan.cases(options.workloads, size, options.matches)
    if options.only is None:
        return cases
    chosen = options.only.split(",")
    limited = []
    for case in cases:
        runtimes = tuple(name for name in case.runtimes if name in chosen)
        if runtimes:
            limited.append(plan.dataclasses.replace(case, runtimes=runtimes))
    return limited


class Progress:
    """Shows a bar with the time left; without a terminal it prints a line each minute."""

    def __init__(self, total, stream=None, clock=time.monotonic):
        self.total, self.done, self.stream = max(1, total), 0, stream or sys.stderr
        self.clock, self.begin = clock, clock()
        self.next_line = self.begin

    def expect(self, weight):
        self.total += weight

    def step(self, weight, text):
        share = min(1.0, self.done / self.total)
        now = self.clock()
        elapsed = now - self.begin
        left = f"{elapsed / share - elapsed:4.0f} s left" if share > 0.01 else ""
        if self.stream.isatty():
            bar = ("#" * int(30 * share)).ljust(30)
            self.stream.write(f"\r\033[K[{bar}] {left}  {text[:40]}")
            self.stream.flush()
        elif now >= self.next_line:
            self.next_line = now + LINE_EVERY_S
            print(f"{100 * share:3.0f} %  {left or 'begins':>11}  {text}", file=self.stream, flush=True)
        self.done += weight

    def clear(self):
        if self.stream.isatty():
            self.stream.write("\r\033[K")
            self.stream.flush()


def run_once(command, case, limit_s):
    """(Sample, None), or (None, error). The error is "" if the program does not have the case."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except FileNotFoundError:
        return None, "not built: its package is missing"
    except subprocess.TimeoutExpired:
        return None, f"did not end within {limit_s} s"
    if done.returncode == NOT_OFFERED:
        return None, "does not offer this"
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return None, f"failed with {done.returncode}" + (f": {said[-1]}" if said else "")
    try:
        return rows.parse_sample(done.stdout, case), None
    except rows.ProtocolError as error:
        return None, str(error)


def measure(case, command_of, runs, warm_up, progress, limit_s=RUN_LIMIT_S):
    """Measures a case. The runtimes take turns; command_of(case, runtime) gives the command of a
    runtime. After a failure the runtime gets no more turns in this case."""
    result = rows.Result(case)
    witness, begin = machine.Witness(time.monotonic), time.monotonic()
    for turn in range(runs + warm_up):
        for runtime in case.runtimes:
            progress.step(case.weight, f"{case.workload} {case.label} {runtime}")
            if runtime in result.failures:
                continue
            sample, failure = run_once(command_of(case, runtime), case, limit_s)
            if failure is not None:
                result.failures[runtime] = failure
                result.samples.pop(runtime, None)
            elif turn >= warm_up:
                result.samples.setdefault(runtime, []).append(sample)
    result.foreign_share = witness.foreign_share()
    result.seconds = time.monotonic() - begin
    return result


def repeat_noisy(results, again, seconds_left, owed=0):
    """Repeats noisy cases, the noisiest first; `again(case)` gives a new Result. The first `owed`
    rounds ignore the limit of time."""
    for turn in range(REPEATS_MAX):
        noisy = [index for index, result in enumerate(results) if result.is_noisy()]
        for index in sorted(noisy, key=lambda index: -results[index].worst_spread()):
            if turn >= owed and seconds_left() < results[index].seconds:
                continue
            repeated = again(results[index].case)
            repeats = results[index].repeats + 1
            # A runtime that is not installed is missing in each repetition.
            if (repeated.worst_spread() < results[index].worst_spread()
                    and repeated.failures.keys() <= results[index].failures.keys()):
                results[index] = repeated
            results[index].repeats = repeats


def write_rows(results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for workload in dict.fromkeys(result.case.workload for result in results):
        found = [row for result in results if result.case.workload == workload
                 for row in rows.rows_of(result)]
        path = folder / f"{workload}.json"
        path.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n", encoding="utf-8")
        written.append(path)
    return written


def counted(commit, program):
    """The costs that ./do counts has written, with cycles if the processor can count them."""
    build, paths = counts.read_bounds((REPOSITORY / counts.BOUNDS).read_text(encoding="utf-8"))
    found = [{"section": path.section, "name": path.name,
              "costs": {counts.HEADS[cost]: value for cost, value in path.costs.items()}}
             for path in paths if path.section in COUNTED]
    has_cycles = program.is_file()
    for path in (path for path in found if path["section"] != counts.HANDOVERS):
        measured = counts.perf(program, path["name"]) if has_cycles else None
        has_cycles = measured is not None
        if has_cycles:
            path["costs"]["cycles"] = round(measured[1], 1)
    return {"commit": commit, "build": build, "paths": found,
            "cycles": "Cycles are by `perf stat`." if has_cycles else
            "Cycles are missing: this machine does not let `perf` count them."}


def run_of(options):
    """Measures the cases that the options select."""
    info_path = options.build / "bench" / "build_info.json"
    info = json.loads(info_path.read_text()) if info_path.is_file() else {}
    return rows.Run(options.said, options.runs, dict(machine.description(REPOSITORY, info)))


def write_report(results, planned, run, costs, options):
    """Writes the results into the JSON of this machine, and writes its page anew."""
    path = options.results / f"{machine.slug()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.with_suffix(".md").is_file() and not path.is_file():
        print(f"bench: {path.name} is missing, so what {path.stem}.md had is not kept", file=sys.stderr)
    kept = record.read(path)
    kept.add(results, run, complete(results, planned, options.limited))
    kept.counted = costs
    path.write_text(record.text(kept), encoding="utf-8")
    pages.write(options.results, pages.pages_of(REPOSITORY) if options.results == REPOSITORY / pages.FOLDER else ())
    return path.with_suffix(".md")


def complete(results, planned, limited):
    """The workloads whose cases were all selected and measured."""
    measured = {result.case for result in results}
    missing = {case.workload for case in planned if case not in measured}
    return set() if limited else {case.workload for case in planned} - missing


def print_tables(results):
    for workload in dict.fromkeys(result.case.workload for result in results):
        own = [result for result in results if result.case.workload == workload]
        print(f"\n{workload}: {plan.CAPTIONS[workload]}\n"
              "ratio: the rival's median over ours; above 1, ours is faster; CPU s/M: CPU seconds "
              "per million items; MiB: memory at its peak\n")
        print(report.text_table(own))
        print("\n" + "\n".join(report.summary(own)))


def weight_of(case):
    return case.weight * len(case.runtimes)


def run_all(cases, options, command_of):
    warm_up = 0 if options.quick else 1
    turns = options.runs + warm_up
    progress = Progress(sum(weight_of(case) * turns for case in cases))
    limit_s = FULL_RUN_LIMIT_S if options.full else RUN_LIMIT_S

    def measure_now(case):
        return measure(case, command_of, options.runs, warm_up, progress, limit_s)

    def measure_again(case):
        progress.expect(weight_of(case) * turns)
        return measure_now(case)

    results, begin = [], time.monotonic()
    try:
        for case in cases:
            results.append(measure_now(case))
        if options.compare is None and (options.report or not options.quick):
            repeat_noisy(results, measure_again, lambda: TIME_LIMIT_S - (time.monotonic() - begin),
                         owed=1 if options.report else 0)
    except KeyboardInterrupt:
        print("\ninterrupted: the complete results follow", file=sys.stderr)
    progress.clear()
    return results


def compare_commits(cases, options):
    trees = dict(compare.checkout(REPOSITORY, name) for name in options.compare)
    if len(trees) == 1:
        print("bench: the two are the same commit", file=sys.stderr)
        return 1
    workloads = [name for name in options.workloads
                 if all(compare.has(tree, name) for tree in trees.values())]
    for name in set(options.workloads) - set(workloads):
        print(f"bench: not both of them have {name}", file=sys.stderr)
    chosen = compare.between([case for case in cases if case.workload in workloads], trees)
    if not chosen:
        print("bench: nothing to compare", file=sys.stderr)
        return 1
    wanted = dict.fromkeys(case.workload for case in chosen)
    folders = {sha: compare.build(tree, wanted) for sha, tree in trees.items()}
    results = run_all(chosen, options,
                      lambda case, sha: case.command(folders[sha], plan.OURS))
    print(compare.table(results, trees))
    print("\n" + "\n".join(compare.summary(results)))
    return 1 if any(result.failures for result in results) else 0


def limit_memory():
    """A program that wants more than there is fails, and the machine goes on. Children inherit
    it."""
    limit = int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def main(arguments):
    options = parse_arguments(arguments)
    limit_memory()
    cases = planned_cases(options)
    if not cases:
        print("bench: no case matches", file=sys.stderr)
        return 1
    for warning in machine.warnings(time.sleep):
        print(f"bench: the machine is busy: {warning}", file=sys.stderr)
    if options.compare is not None:
        return compare_commits(cases, options)
    folder = options.build / "bench"
    # The report is prepared before the measurement: it names the commit of the programs, and an
    # error ends the command before the long part.
    if options.report:
        run = run_of(options)
        costs = counted(run.machine["commit"], folder / "counts" / "paths")
    results = run_all(cases, options, lambda case, runtime: case.command(folder, runtime))
    print_tables(results)
    for path in write_rows(results, options.output):
        print(f"rows: {path}")
    if options.report and results:
        print(f"report: {write_report(results, cases, run, costs, options)}")
    return 1 if any(plan.OURS in result.failures for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
