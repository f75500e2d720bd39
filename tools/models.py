#!/usr/bin/env python3
"""Runs the model tests for longer: each search that goes by chance for a while, with a seed of its own.

Prints a table and writes build/verify/models.json. Fails if a test fails, whose output is printed with the
choices that lead to the failure, or if there were too few executions for the time. With --write the table in
docs/verification.md is made anew.
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

# Of each search by chance. The whole scheduler and joins have most of them; a small structure has one.
SECONDS = {"ModelScheduler": 0.4, "ModelJoin": 0.5, "ModelParking": 3, "ModelBlockQueue": 30}
SECONDS_OF_OTHERS = 145
PAGE = tree.REPOSITORY / "docs" / "verification.md"
EXECUTIONS_MIN = 100_000_000  # in all; in proportion to --times, if less


def suites_of(program):
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True)
    suites = [line.rstrip(".\n") for line in listed.stdout.splitlines()
              if not line.startswith(" ") and line.endswith(".")]
    return [suite for suite in suites if suite not in orders.NOT_SEARCHED]


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


def page(results):
    rows = [[f"`{result['suite']}`", result["scenarios"], f"{result['executions']:,}", f"{result['steps']:,}",
             result["seconds"]] for result in sorted(results, key=lambda result: result["suite"])]
    rows.append(["all", *(f"{sum(result[key] for result in results):,}" for key in ("scenarios", "executions", "steps")),
                 ""])
    return tree.table(["suite", "scenarios:", "executions:", "steps:", "seconds:"], rows)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="./do verify models", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", type=pathlib.Path, help="the model tests",
                        default=tree.REPOSITORY / "build/release/tests/model/model_test")
    parser.add_argument("--output", type=pathlib.Path, default=tree.REPOSITORY / "build/verify/models.json")
    parser.add_argument("--times", type=float, default=1, metavar="FACTOR", help="as long as usual, times this")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    parser.add_argument("--write", action="store_true", help="write the table in docs/verification.md")
    asked = parser.parse_args(arguments)

    print(f"seed {asked.seed}\n{'suite':<18} {'scenarios':>9} {'executions':>13} {'steps':>15} {'s':>7}")
    # The long ones first.
    suites = sorted(suites_of(asked.program), key=lambda suite: suite not in SECONDS)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(run, asked.program, suite,
                            asked.times * SECONDS.get(suite, SECONDS_OF_OTHERS), asked.seed)
                for suite in suites]
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
    too_few = total < EXECUTIONS_MIN * min(asked.times, 1)
    if too_few:
        print(f"models: less than {EXECUTIONS_MIN:,} executions", file=sys.stderr)
    if failed or too_few:
        return 1
    if asked.write:
        tree.write_figures(PAGE, "models", page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
