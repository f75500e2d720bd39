"""Compares Fairlead's own programs of two commits, and finds changes beyond the noise."""

import dataclasses
import math
import os
import statistics
import subprocess
import sys

from harness import plan, report

SURE = 2.57   # 1 in 100 values of a standard normal distribution is farther from the middle


def significance(before, after):
    """The distance of the ranks of two samples (Mann and Whitney). Above 0 `after` is greater.

    It assumes nothing about the distribution of times, and one slow run counts as one run.
    """
    greater = sum((b > a) + (b == a) / 2 for a in before for b in after)
    pairs = len(before) * len(after)
    return (greater - pairs / 2) / math.sqrt(pairs * (len(before) + len(after) + 1) / 12)


def verdict(before, after):
    """"slower", "faster", or nothing. Every value of the benchmarks is better when it is less."""
    found = significance(before, after)
    if abs(found) < SURE:
        return ""
    return "slower" if found > 0 else "faster"


def line_of(result):
    """The columns of HEAD."""
    label = f"{result.case.workload} {result.case.label}"
    if result.failures:
        runtime, why = next(iter(result.failures.items()))
        return (label, "", "", "", f"{runtime}: {why}")
    before, after = (result.values(runtime) for runtime in result.case.runtimes)
    middle = statistics.median(before)
    change = f"{100 * (statistics.median(after) / middle - 1):+.1f} %" if middle > 0 else ""
    return (label, report.number(middle), report.number(statistics.median(after)), change,
            verdict(before, after))


def table(results, names):
    lines = [("case", *names, "change", "")] + [line_of(result) for result in results]
    return report.aligned(lines, to_the_left=(0, 4))


def summary(results):
    lines = [line_of(result) for result in results]
    moved = [line for line in lines if line[4] in ("slower", "faster")]
    found = [f"{line[4]}: {line[0]} {line[3]}" for line in moved]
    return found + [f"{len(moved)} of {len(lines)} moved; by chance it is one in a hundred"]


# --- the programs -------------------------------------------------------------------------------

def run(*command, cwd):
    """A progress whose messages go beside the table, not into it."""
    subprocess.run([str(part) for part in command], cwd=cwd, check=True, stdout=sys.stderr)


def checkout(repository, name):
    """(short name of the commit, its worktree under build/), made anew if it is not there."""
    sha = subprocess.run(["git", "rev-parse", "--short=12", name + "^{commit}"], cwd=repository,
                         capture_output=True, text=True, check=True).stdout.strip()
    folder = repository / "build" / "compare" / sha
    if not folder.is_dir():
        run("git", "worktree", "prune", cwd=repository)
        run("git", "worktree", "add", "--quiet", "--detach", folder, sha, cwd=repository)
    return sha, folder


def has(folder, workload):
    return (folder / "bench" / workload.lower() / f"{plan.OURS}.cpp").is_file()


def build(folder, workloads):
    """Builds Fairlead's program of each workload, and returns their paths."""
    run("cmake", "--preset", "release", "--log-level=WARNING", cwd=folder)
    targets = [f"bench_{name.lower()}_{plan.OURS}" for name in workloads]
    run("cmake", "--build", "--preset", "release", "--parallel", os.cpu_count() or 1,
        "--target", *targets, cwd=folder)
    return folder / "build" / "release" / "bench"


def between(cases, names):
    """The cases, with two commits in place of the runtimes."""
    return [dataclasses.replace(case, runtimes=tuple(names)) for case in cases
            if plan.OURS in case.runtimes]
