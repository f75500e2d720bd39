#!/usr/bin/env python3
"""Runs the model tests for about ten minutes, with a new seed.

Each random search has its share of the time.

Prints a table and writes build/verify/models.json. Fails if a test fails, whose output is printed
with the choices that lead to the failure, or if there were too few executions for the time. With
--write the table in docs/internals/verification.md is made anew. With --only it keeps the rows of
the other suites; each suite then has the time that it would have among all, and --times makes it
less.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import orders
import tree

# For the searches by chance, by each processor; the exhaustive ones take about a minute more. Half
# of the time is divided by the suites, so that a small structure has its share, and half by the
# searches: the whole scheduler has hundreds of them.
SECONDS = 540
PAGE = tree.REPOSITORY / "docs" / "internals" / "verification.md"
EXECUTIONS_MIN = 10_000_000  # in all; in proportion to --times, if less


def suites_of(program):
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True)
    suites = [line.rstrip(".\n") for line in listed.stdout.splitlines()
              if not line.startswith(" ") and line.endswith(".")]
    return [suite for suite in suites if suite not in orders.NOT_SEARCHED]


def searches_of(program, suite):
    """The number of random searches of the suite, which can run for any time."""
    done = subprocess.run([program, f"--gtest_filter={suite}.*"], capture_output=True, text=True,
                          env={**os.environ, "FAIRLEAD_MODEL_COUNT": "1"})
    if done.returncode not in (0, 1):  # a test that expects a failure fails: nothing was searched
        raise SystemExit(f"models: the searches of {suite} cannot be counted\n{done.stdout[-2000:]}")
    return done.stdout.splitlines().count("a search by chance")


def budgets(searches, seconds):
    """Of each suite, how many seconds each of its searches has, of all that there are for these
    searches."""
    with_a_share = [suite for suite, count in searches.items() if count > 0]
    each_suite = seconds / 2 / max(len(with_a_share), 1)
    each_search = seconds / 2 / max(sum(searches.values()), 1)
    return {suite: each_search + each_suite / max(count, 1) for suite, count in searches.items()}


def run(program, suite, seconds, seed):
    begin = time.monotonic()
    done = subprocess.run([program, f"--gtest_filter={suite}.*"], capture_output=True, text=True,
                          env={**os.environ, "FAIRLEAD_MODEL_SECONDS": str(seconds), "FAIRLEAD_MODEL_SEED": str(seed)})
    searched = re.findall(r"^(\d+) executions, (\d+) steps$", done.stdout, flags=re.MULTILINE)
    return {"suite": suite,
            "passed": done.returncode == 0,
            "scenarios": len(searched),
            "executions": sum(int(executions) for executions, _ in searched),
            "steps": sum(int(steps) for _, steps in searched),
            "seconds": round(time.monotonic() - begin, 1),
            "output": done.stdout}


def page(results, kept=()):
    """The table of these results, and of the rows that are kept."""
    rows = [[f"`{result['suite']}`", f"{result['scenarios']}", f"{result['executions']:,}", f"{result['steps']:,}",
             result["seconds"]] for result in results]
    rows = sorted([*rows, *kept], key=lambda row: row[0].strip("`"))
    sums = [sum(int(row[column].replace(",", "")) for row in rows) for column in (1, 2, 3)]
    rows.append(["all", *(f"{each:,}" for each in sums), ""])
    return tree.table(["suite", "scenarios:", "executions:", "steps:", "seconds:"], rows)


def kept_rows(results, suites):
    """The rows of the page of the other suites, as far as these exist."""
    wanted = {f"`{suite}`" for suite in suites} - {f"`{result['suite']}`" for result in results}
    return [row for row in tree.rows_of_figures(PAGE, "models") if row[0] in wanted]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="./do verify models", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", type=pathlib.Path, help="the model tests",
                        default=tree.REPOSITORY / "build/release/tests/model/model_test")
    parser.add_argument("--output", type=pathlib.Path, default=tree.REPOSITORY / "build/verify/models.json")
    parser.add_argument("--times", type=float, default=1, metavar="FACTOR", help="multiplies the usual time")
    parser.add_argument("--only", metavar="REGEX", default="", help="only suites that match")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    parser.add_argument("--write", action="store_true", help="write the table in docs/internals/verification.md")
    asked = parser.parse_args(arguments)

    print(f"seed {asked.seed}\n{'suite':<18} {'scenarios':>9} {'executions':>13} {'steps':>15} {'s':>7}")
    processors = os.cpu_count()
    all_suites = suites_of(asked.program)
    searches = {suite: searches_of(asked.program, suite) for suite in all_suites}
    seconds = budgets(searches, asked.times * SECONDS * processors)
    # The long ones first.
    suites = sorted((suite for suite in searches if re.search(asked.only, suite)), key=lambda suite: -searches[suite])
    with concurrent.futures.ThreadPoolExecutor(processors) as pool:
        jobs = [pool.submit(run, asked.program, suite, seconds[suite], asked.seed) for suite in suites]
        results = []
        for job in concurrent.futures.as_completed(jobs):
            result = job.result()
            results.append(result)
            print(f"{result['suite']:<18} {result['scenarios']:>9} {result['executions']:>13,} {result['steps']:>15,} "
                  f"{result['seconds']:>7}{'' if result['passed'] else '  FAILED'}", flush=True)
    total = sum(result["executions"] for result in results)
    print(f"{total:,} executions of {sum(result['scenarios'] for result in results)} scenarios")
    failed = [result for result in results if not result["passed"]]
    for result in failed:
        print(result["output"], file=sys.stderr)
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    asked.output.write_text(json.dumps(
        {"seed": asked.seed, "executions": total,
         "suites": [{key: value for key, value in result.items() if key != "output"} for result in results]},
        indent=2) + "\n")
    too_few = not asked.only and total < EXECUTIONS_MIN * min(asked.times, 1)
    if too_few:
        print(f"models: less than {EXECUTIONS_MIN:,} executions", file=sys.stderr)
    if failed or too_few:
        return 1
    if asked.write:
        tree.write_figures(PAGE, "models", page(results, kept_rows(results, all_suites)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
