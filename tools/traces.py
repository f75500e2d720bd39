#!/usr/bin/env python3
"""Records traces of the code, and checks with TLC that the specifications allow each trace.

spec/traces/ connects the traces with the specifications.

Prints a table, writes build/traces/summary.json, and fails if a trace is not explained, if a
planted bug shows in too few of its traces, or if there are too few traces of the code. With --write
the table in docs/internals/verification.md is made anew.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import tree
import verify

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPECS = ROOT / "spec"
BUILD = ROOT / "build" / "traces"
PAGE = ROOT / "docs" / "internals" / "verification.md"

# For each origin of traces: the recorder, and how many traces it writes for each specification: of
# the code, of each bug planted in a scenario, and of each bug planted in the library.
ORIGINS = {"model": ("trace_recorder", 700, 100, 100),
           "threads": ("trace_recorder_on_threads", 60, 0, 150)}

# The least number of different traces of the code, when all are checked.
LEAST = 3_000
# The least number for each specification from each origin. Real threads record some traces twice.
LEAST_OF_EACH = 10
# The least share of the traces of a planted bug that must show the bug. A bug that shows rarely
# says little about the power of the check.
LEAST_FOUND = 0.1
# The least number of traces that must show a planted bug on real threads, where the load of the
# machine decides how often the bug shows.
LEAST_FOUND_COUNT = 5
CODE = "code"      # the variant that is not a planted bug


class Trace:
    """The calls of one execution, by thread."""

    def __init__(self, lines):
        self.threads = collections.defaultdict(list)
        for line in lines:
            thread, begin, end, operation, argument, result = line.split()
            self.threads[int(thread)].append((int(begin), int(end), operation, argument, result))
        self.events = len(lines)

    def calls(self):
        """For each thread, from 1, its calls."""
        return [self.threads[thread] for thread in range(1, 1 + max(self.threads))]

    def tla(self):
        return "<<" + ",".join(
            "<<" + ",".join(f'<<{begin},{end},"{operation}",{argument},{result}>>'
                            for begin, end, operation, argument, result in calls) + ">>"
            for calls in self.calls()) + ">>"


def read_traces(path):
    """The different traces in the file."""
    texts = path.read_text().split("trace\n")[1:]
    return [Trace(text.splitlines()) for text in dict.fromkeys(texts)]


class Batch:
    """All traces of a specification from one origin: TLC starts once for them."""

    def __init__(self, specification, origin):
        self.specification = specification
        self.origin = origin
        self.variants = {}  # {name: traces}
        self.folder = BUILD / origin / specification

    @property
    def size(self):
        return sum(trace.events for traces in self.variants.values() for trace in traces)

    def run(self, jar, traces, constraint):
        """What TLC says about the traces."""
        module = f"{self.specification}Trace"
        self.folder.mkdir(parents=True, exist_ok=True)
        for source in (SPECS / f"{self.specification}.tla", SPECS / "traces" / f"{module}.tla",
                       SPECS / "traces" / "Trace.tla"):
            shutil.copy(source, self.folder)
        config = (SPECS / "traces" / f"{module}.cfg").read_text()
        (self.folder / "trace.cfg").write_text(f"{config}CONSTRAINT {constraint}\n")
        data = ",\n".join(each.tla() for each in traces)
        (self.folder / "TraceData.tla").write_text(
            f"---- MODULE TraceData ----\nEXTENDS Integers\nTraces == <<\n{data}\n>>\n====\n")
        done = subprocess.run(
            # TLC unpacks its modules into the folder for temporary files, and removes them from
            # there.
            ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss64m", "-Xmx2g",
             "-Djava.io.tmpdir=.", "-cp", jar, "tlc2.TLC", "-workers", "1", "-deadlock", "-cleanup",
             "-metadir", "states", "-config", "trace.cfg", f"{module}.tla"],
            cwd=self.folder, capture_output=True, text=True)
        (self.folder / "output.txt").write_text(done.stdout + done.stderr)
        if done.returncode != 0:
            raise RuntimeError(f"TLC failed ({done.returncode}): see {self.folder / 'output.txt'}")
        return done.stdout

    def check(self, jar):
        """How many traces of each variant are explained, and what is wrong."""
        begin = time.monotonic()
        said = self.run(jar, [trace for traces in self.variants.values() for trace in traces], "ReportExplained")
        explained = {int(number) - 1 for number in re.findall(r'<<"explained", (\d+)>>', said)}
        result = {"specification": self.specification, "origin": self.origin, "traces": 0, "events": 0,
                  "explained": 0, "bugs": {}, "failures": []}
        if not self.variants.get(CODE):
            result["failures"].append("there is no trace of the code")
        first = 0
        for variant, traces in self.variants.items():
            unexplained = [trace for number, trace in enumerate(traces, first) if number not in explained]
            first += len(traces)
            if variant != CODE:
                result["bugs"][variant] = {"traces": len(traces), "rejected": len(unexplained)}
                share = LEAST_FOUND if self.origin == "model" else 0
                if len(unexplained) < max(share * len(traces), LEAST_FOUND_COUNT):
                    result["failures"].append(f"the planted bug {variant} is found in {len(unexplained)} of "
                                              f"{len(traces)} traces only")
                continue
            result["traces"] = len(traces)
            result["events"] = sum(trace.events for trace in traces)
            result["explained"] = len(traces) - len(unexplained)
            if unexplained:
                result["failures"].append(f"{len(unexplained)} traces are not explained; the first:\n"
                                          f"{self.first_unexplained(jar, unexplained[0])}")
        states = re.findall(r"([\d,]+) distinct states found", said)
        result["states"] = int(states[-1].replace(",", "")) if states else 0
        result["seconds"] = round(time.monotonic() - begin, 1)
        return result

    def first_unexplained(self, jar, trace):
        """The trace in the order of its calls' ends, with a mark at those that no explanation has
        reached."""
        said = self.run(jar, [trace], "Progress")
        cursors = [tuple(int(number) - 1 for number in found.split(","))
                   for found in re.findall(r'<<"came to", 1, <<([\d, ]*)>>>>', said)]
        longest = max(cursors, key=sum)
        lines = []
        for thread, calls in enumerate(trace.calls()):
            for number, (begin, end, operation, argument, result) in enumerate(calls):
                mark = " " if number < longest[thread] else ">" if number == longest[thread] else "."
                lines.append((end, f"  {mark} {begin:>4} {end:>4}  thread {thread + 1}  "
                                   f"{operation}({argument}) = {result}"))
        return "\n".join(line for _, line in sorted(lines)) + \
            "\n  (> the next call of a thread, which no action explains, or which another must go before)"


def record(build, only, most):
    """Runs the recorders. Returns the batches, the largest first."""
    batches = {}
    for origin, (recorder, count, in_scenarios, in_library) in ORIGINS.items():
        folder = BUILD / origin
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        recorders = build / "tests" / "traces"
        subprocess.run([recorders / recorder, folder, str(most or count), str(in_scenarios)], check=True)
        for line in (recorders / "planted.txt").read_text().splitlines():
            of, bug = line.split()
            if of == recorder:
                subprocess.run([recorders / recorder, folder, bug, str(in_library)], check=True)
        for path in sorted(folder.glob("*.trace")):
            specification, variant, _ = path.name.split(".")
            if only and specification != only:
                continue
            batch = batches.setdefault((specification, origin), Batch(specification, origin))
            batch.variants[variant] = read_traces(path)
    return sorted(batches.values(), key=lambda batch: -batch.size)


def page(results):
    rows = []
    for result in results:
        bugs = [f"{bug['rejected']} of {bug['traces']} `{name}`" for name, bug in result["bugs"].items()]
        rows.append([result["specification"], result["origin"], f"{result['traces']:,}", f"{result['events']:,}",
                     f"{result['states']:,}", f"{result['explained']:,}", "; ".join(bugs)])
    total = [f"{sum(result[key] for result in results):,}" for key in ("traces", "events", "states", "explained")]
    rows.append(["all", "", *total, sum(len(result["bugs"]) for result in results)])
    return tree.table(["specification", "from", "traces:", "calls:", "states:", "explained:",
                       "planted bugs: traces rejected"], rows)


def main():
    parser = argparse.ArgumentParser(prog="./do verify traces", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release",
                        help="where the recorders were built (default: build/release)")
    parser.add_argument("--only", metavar="SPEC", help="only this specification")
    parser.add_argument("--traces", type=int, metavar="N",
                        help="traces of the code for each specification; a quarter of that for the scheduler")
    parser.add_argument("--write", action="store_true", help="write the table in docs/internals/verification.md")
    asked = parser.parse_args()
    everything = not asked.only and asked.traces is None
    if asked.write and not everything:
        parser.error("--write needs all traces")

    jar = verify.fetch_tlc()
    batches = record(asked.build.resolve(), asked.only, asked.traces)
    if not batches:
        parser.error(f"no traces of {asked.only}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda batch: batch.check(jar), batches))
    results.sort(key=lambda result: (result["specification"], result["origin"]))

    print(f"{'specification':<14} {'origin':<8} {'traces':>6} {'events':>7} {'states':>9} {'s':>5}  "
          f"{'explained':>9}  planted bugs: traces rejected")
    for result in results:
        rejected = ", ".join(f"{name} {bug['rejected']}/{bug['traces']}" for name, bug in result["bugs"].items())
        print(f"{result['specification']:<14} {result['origin']:<8} {result['traces']:>6,} "
              f"{result['events']:>7,} {result['states']:>9,} {result['seconds']:>5}  "
              f"{result['explained']:>9,}  {rejected}")
    bugs = [bug for result in results for bug in result["bugs"].values()]
    print(f"{sum(result['explained'] for result in results):,} of "
          f"{sum(result['traces'] for result in results):,} traces explained; "
          f"{sum(bug['rejected'] > 0 for bug in bugs)} of {len(bugs)} planted bugs found")
    (BUILD / "summary.json").write_text(json.dumps(results, indent=2) + "\n")
    failures = [f"{result['specification']} ({result['origin']}): {failure}"
                for result in results for failure in result["failures"]]
    checked = sum(result["traces"] for result in results)
    if everything:
        failures += [f"{result['specification']} ({result['origin']}): {result['traces']} different traces of the code: "
                     f"fewer than {LEAST_OF_EACH}" for result in results if result["traces"] < LEAST_OF_EACH]
    if everything and checked < LEAST:
        failures.append(f"{checked:,} different traces of the code were checked: fewer than {LEAST:,}")
    for failure in failures:
        print(f"traces: {failure}", file=sys.stderr)
    if failures:
        return 1
    if asked.write:
        tree.write_figures(PAGE, "traces", page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
