#!/usr/bin/env python3
"""Measures how soon the bugs of tests/historical/elsewhere.toml are found, each planted where that file says.

A seeded bug of a specification is given to TLC, as ./do verify does. For a test, `good` becomes `bad` in a copy of
the library, and the test is run some times. Writes tests/historical/planted.json, which is what
tools/historical.py puts into the page. Fails if a bug cannot be planted, TLC does not find it, or
a test passes with it in all its runs.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib

import tree
import verify

ELSEWHERE = pathlib.Path("tests/historical/elsewhere.toml")
FOUND = pathlib.Path("tests/historical/planted.json")
MODEL_TEST = pathlib.Path("build/release/tests/model/model_test")
WORK = tree.REPOSITORY / "build" / "planted"
RUNS = 5
HANGS_AFTER_S = 20
MODULES = ("base", "os", "sync", "sched", "coro")


class PlantedError(Exception):
    pass


def plant(text, bug):
    """The file with the mistake, which must have its place there, once."""
    if text.count(bug["good"]) != 1:
        raise PlantedError(f"{bug['file']}: has changed: the bug of {bug['test']} cannot be planted")
    return text.replace(bug["good"], bug["bad"])


def build(root, bug):
    """The program with the test and the mistake."""
    copy = WORK / "tree"
    shutil.rmtree(copy, ignore_errors=True)
    for folder in ("include", "src"):
        shutil.copytree(root / folder, copy / folder)
    file = copy / bug["file"]
    file.write_text(plant(file.read_text(encoding="utf-8"), bug), encoding="utf-8")
    sources = [path for module in MODULES for path in sorted((copy / "src" / module).glob("*.cpp"))]
    compiler = ["ccache", "g++"] if shutil.which("ccache") else ["g++"]
    flags = ["-std=c++23", "-O2", "-g1", "-DNDEBUG", f"-I{copy}/include", f"-I{copy}/src", f"-I{root}/tests"]
    if "sanitizer" in bug:
        flags.append(f"-fsanitize={bug['sanitizer']}")
    objects = []
    for source in [*sources, root / tree.tests(root)[bug["test"]]]:
        objects.append(WORK / f"{source.parent.name}-{source.stem}.o")
        subprocess.run([*compiler, *flags, "-c", source, "-o", objects[-1]], check=True)
    program = WORK / "test"
    subprocess.run(["g++", *flags, *objects, "-o", program, "-lgtest_main", "-lgtest", "-pthread"], check=True)
    return program


def run(program, test):
    """How it ended, and after how many seconds."""
    begin = time.monotonic()
    try:
        done = subprocess.run([program, f"--gtest_filter={test}"], capture_output=True, text=True,
                              timeout=HANGS_AFTER_S, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    except subprocess.TimeoutExpired:
        return "hung", HANGS_AFTER_S
    return "failed" if done.returncode else "passed", time.monotonic() - begin


def measure_test(root, bug):
    program = build(root, bug)
    runs = [run(program, bug["test"]) for _ in range(RUNS)]
    found = {how: sum(each == how for each, _ in runs) for how in ("failed", "hung", "passed")}
    if found["passed"] == RUNS:
        raise PlantedError(f"{bug['test']}: passes with its bug, {RUNS} times of {RUNS}")
    return {**found, "seconds": round(statistics.median(seconds for _, seconds in runs), 3)}


def measure_checker(root, test):
    """A test whose scenario is the bug says how many executions it took."""
    done = subprocess.run([root / MODEL_TEST, f"--gtest_filter={test}"], capture_output=True, text=True, check=True)
    return {"executions": int(re.search(r"found after (\d+) executions", done.stdout)[1])}


def measure_specification(name, number):
    """States that TLC looks at until the first of the properties that must find the bug is violated."""
    spec = next(each for each in tomllib.loads((verify.SPECS / "models.toml").read_text())["spec"]
                if each["name"] == name)
    asked = argparse.Namespace(quick=False)
    results = []
    for each, finds in verify.runs_of_mutants(spec, asked):
        if each.bug == number:
            result = each.execute(verify.fetch_tlc(), 1)
            if result["found"] != finds:
                raise PlantedError(f"{name} bug {number}: not found by {finds}")
            results.append(result)
    first = min(results, key=lambda result: result["generated"])
    return {"states": first["generated"], "property": first["found"]}


def measure(root, bug, shown_by):
    seeded = re.fullmatch(r"(\w+) bug (\d+)", shown_by)
    if seeded:
        return measure_specification(seeded[1], int(seeded[2]))
    for each in bug.get("planted", []):
        if each["test"] == shown_by:
            return measure_test(root, each)
    return measure_checker(root, shown_by)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="only those with this in their name; the rest stay as they are")
    asked = parser.parse_args()
    root = tree.REPOSITORY
    WORK.mkdir(parents=True, exist_ok=True)
    found = json.loads((root / FOUND).read_text(encoding="utf-8")) if (root / FOUND).is_file() else {}
    failures = 0
    for bug in tomllib.loads((root / ELSEWHERE).read_text(encoding="utf-8"))["bug"]:
        for shown_by in bug["shown_by"]:
            if asked.only not in shown_by:
                continue
            try:
                found[shown_by] = measure(root, bug, shown_by)
                print(f"{shown_by}: {found[shown_by]}", flush=True)
                (root / FOUND).write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8")
            except PlantedError as error:
                failures += 1
                print(error, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
