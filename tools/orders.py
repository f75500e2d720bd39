#!/usr/bin/env python3
"""Weakens each memory order by one notch and sees whether a model test fails.

The orders are those of the public headers, of the lock of the role, and of the line.

A weaker order that no test notices must stand in tests/model/orders.toml with the reason why the
written one stays. Neither more nor less may stand there, and each order must be run by some test.
With --write the table in docs/internals/orders.md is made anew. With --only the rows of the other
functions stay, and --suites says which suites may find anything: to run all takes minutes.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field

import tree

REASONS = pathlib.Path("tests/model/orders.toml")
PAGE = pathlib.Path("docs/internals/orders.md")
# The lock-free structures, the signal, the state of a task, and joins; and of src/ the lock of the
# role, the owner of a slot, and the line.
CHECKED = ("include/", "src/sched/round/role_lock.hpp", "src/sched/slot/slot_owner.hpp",
           "src/sched/slot/visible_step.hpp", "src/sync/line.cpp")
LIMIT_S = 900  # for a suite with a weaker order; with the right orders the slowest takes a minute
# These suites test the checker and another check, not the library.
NOT_SEARCHED = ("Checker", "Litmus", "Oracle", "InterleavingsCheck")

# For each kind of access: an order, and the orders that are one notch weaker.
WEAKER = {
    "load": {"seq_cst": ["acquire"], "acquire": ["relaxed"]},
    "store": {"seq_cst": ["release"], "release": ["relaxed"]},
    "change": {"seq_cst": ["acq_rel"], "acq_rel": ["acquire", "release"],
               "acquire": ["relaxed"], "release": ["relaxed"]},
    "failed_change": {"seq_cst": ["acquire"], "acquire": ["relaxed"]},
}

ORDER = re.compile(r"[:( ](acquire|release|acq_rel|seq_cst)[,)]")  # as an argument

FUNCTION = re.compile(r"\| `([^`]+)` \|")  # of a row of the page
FOUND = re.compile(r"\| `\w+\.\w+` \|$")  # a row that names a test

HEAD = """# Each memory order, and what a weaker one breaks

Made by `./do verify orders --write`. The table has each order of the public headers, of the lock of the role,
of the owner of a slot and of the line that is not relaxed and that the model tests run. The command makes the order one notch weaker, and names the first model test that fails.
Tests find {killed} of {total}; for the rest the table has the reason why the order stays. See
[memory_order.md](memory_order.md) for the argument, and [verification.md](verification.md) for what the model
tests cannot see: an order that no test needs may still be necessary there.

| function | code | weaker | found by, or why it stays |
|---|---|---|---|
"""


@dataclass(frozen=True, order=True)
class Site:
    """A memory order as it stands in the code."""
    file: str
    line: int
    column: int
    access: str
    written: str
    function: str = field(compare=False)
    compiled_as: str = field(compare=False)  # the file, as the model tests name it

    def code(self, root):
        return (root / self.file).read_text().splitlines()[self.line - 1].strip()


@dataclass
class Mutant:
    site: Site
    weaker: str
    code: str
    suites: list
    found_by: str = ""
    # How a suite ended that neither passed nor named a test. Used if no test finds the mutant.
    broke: str = ""

    def matches(self, reason):
        return (reason["function"] == self.site.function and reason["weaker"] == self.weaker
                and reason["code"] in self.code)


def short_name(function):
    """`front_queue::push` for what the compiler calls the function."""
    function = function.split(" [with")[0]
    while (shorter := re.sub(r"<[^<>]*>", "", function)) != function:
        function = shorter
    return "::".join(function.split("(")[0].split(" ")[-1].strip(":").split("::")[-2:])


def parse_sites(text, root):
    sites = set()
    for line in text.splitlines():
        path, number, column, access, written, function = line.split(" ", maxsplit=5)
        # A cache of the compiler may make the path relative to the folder of the build.
        file = os.path.relpath(path, root) if os.path.isabs(path) else re.sub(r"^(\.\./)+", "", path)
        if file.startswith(CHECKED):
            sites.add(Site(file, int(number), int(column), access, written, short_name(function), path))
    return sites


class Tests:
    """The program of the model tests."""

    def __init__(self, program):
        self.program = program

    def suites(self):
        listed = subprocess.run([self.program, "--gtest_list_tests"], capture_output=True, text=True, check=True)
        names = [line.rstrip(".") for line in listed.stdout.splitlines() if line.endswith(".") and line[0] != " "]
        return [name for name in names if name not in NOT_SEARCHED]

    def run(self, suite, **environment):
        return subprocess.run([self.program, f"--gtest_filter={suite}.*", "--gtest_fail_fast"], timeout=LIMIT_S,
                              env={**os.environ, **environment}, capture_output=True, text=True)

    def sites_of(self, suite, root):
        """The memory orders that its tests use, and how long they take."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "sites"
            begin = time.monotonic()
            done = self.run(suite, FAIRLEAD_MODEL_SITES=str(path))
            if done.returncode != 0:
                raise SystemExit(f"orders: {suite} fails as it is\n{done.stdout[-2000:]}")
            return parse_sites(path.read_text(), root), time.monotonic() - begin

    def find(self, mutant):
        """Sets the first test that notices: one whose expectation fails. A crash says nothing of
        what is wrong."""
        site = mutant.site
        change = f"{site.compiled_as} {site.line} {site.column} {site.access} {site.written} {mutant.weaker}"
        for suite in mutant.suites:
            try:
                done = self.run(suite, FAIRLEAD_MODEL_MUTATE=change)
            except subprocess.TimeoutExpired:
                mutant.broke = mutant.broke or f"{suite} has not ended after {LIMIT_S} s"
                continue
            failed = re.search(r"\[  FAILED  \] ([\w.]+)", done.stdout)
            if done.returncode == 1 and failed:
                mutant.found_by = failed.group(1)
                return mutant
            if done.returncode != 0:
                running = re.findall(r"\[ RUN      \] ([\w.]+)", done.stdout)
                mutant.broke = mutant.broke or f"{running[-1] if running else suite} ends with {done.returncode}"
        return mutant


def uses_of(tests, root, wanted):
    """Each site, with how long each suite that uses it takes, and the suite."""
    used = {}
    for suite in (each for each in tests.suites() if re.search(wanted, each)):
        sites, seconds = tests.sites_of(suite, root)
        for site in sites:
            used.setdefault(site, []).append((seconds, suite))
    return used


def mutants_of(used, root):
    """All mutants, each with the suites that can notice it, the quick suites first."""
    return [Mutant(site, weaker, site.code(root), [suite for _, suite in sorted(suites)])
            for site, suites in sorted(used.items())
            for weaker in WEAKER[site.access].get(site.written, [])]


def checked_files(root):
    """The files whose orders are made weaker, relative to root."""
    return sorted({path for path in tree.code_files(root, ("include", "src"))
                   if str(path).startswith(CHECKED)})


def never_run(sites, root, files):
    """Where an order of these files stands that no model test runs. Its access begins there, or a
    line before."""
    run = {(site.file, site.line) for site in sites}
    for path in files:
        for number, line in enumerate((root / path).read_text().splitlines(), start=1):
            if ORDER.search(line.split("//")[0]) and not run & {(str(path), number), (str(path), number - 1)}:
                yield f"{path}:{number}: no model test runs it: {line.strip()}"


def judge(mutants, reasons):
    """The errors: survivors without a reason, and reasons without a survivor."""
    messages = []
    for mutant in mutants:
        excused = any(mutant.matches(reason) for reason in reasons)
        place = f"{mutant.site.file}:{mutant.site.line}: {mutant.site.function}: {mutant.site.written}"
        if mutant.broke and not mutant.found_by:
            messages.append(f"{place} made {mutant.weaker}: no test fails, and {mutant.broke}: {mutant.code}")
        elif not mutant.found_by and not excused:
            messages.append(f"{place} may be {mutant.weaker} for all tests, and {REASONS} says nothing of it: "
                            f"{mutant.code}")
        if mutant.found_by and excused:
            messages.append(f"{place} may not be {mutant.weaker}: {mutant.found_by} finds it; "
                            f"{REASONS} says otherwise")
    messages += [f"{REASONS}: nothing fits {reason['function']}, {reason['code']}, {reason['weaker']}"
                 for reason in reasons if not any(mutant.matches(reason) for mutant in mutants)]
    return messages


def rows(mutants, reasons):
    lines = []
    for mutant in mutants:
        why = [reason["reason"] for reason in reasons if mutant.matches(reason)]
        result = f"`{mutant.found_by}`" if mutant.found_by else " ".join(why)
        code = re.sub(r"\s*//.*", "", mutant.code).replace("|", r"\|")
        lines.append(f"| `{mutant.site.function}` | `{code}` | {mutant.site.written} → {mutant.weaker} | {result} |")
    return lines


def page(lines):
    killed = sum(1 for line in lines if FOUND.search(line))
    return HEAD.format(killed=killed, total=len(lines)) + "\n".join(lines) + "\n"


def merged(old, fresh, only):
    """The rows of the page with those of the functions that match replaced. They stand where the
    first of them stood, or at the end."""
    lines = [line for line in old.splitlines() if FUNCTION.match(line)]
    place = next((i for i, line in enumerate(lines) if re.search(only, FUNCTION.match(line)[1])), len(lines))
    lines = [line for line in lines if not re.search(only, FUNCTION.match(line)[1])]
    return [*lines[:place], *fresh, *lines[place:]]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="./do verify orders", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", type=pathlib.Path, default=tree.REPOSITORY, help=argparse.SUPPRESS)
    parser.add_argument("--program", type=pathlib.Path, help="the model tests",
                        default=tree.REPOSITORY / "build/release/tests/model/model_test")
    parser.add_argument("--only", metavar="REGEX", default="", help="only functions that match")
    parser.add_argument("--suites", metavar="REGEX", default="", help="only suites that match; needs --only")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE}")
    asked = parser.parse_args(arguments)
    if asked.suites and not asked.only:
        parser.error("--suites needs --only")

    reasons = tomllib.loads((asked.root / REASONS).read_text()).get("stays", [])
    tests = Tests(asked.program)
    used = uses_of(tests, asked.root, asked.suites)
    mutants = [each for each in mutants_of(used, asked.root) if re.search(asked.only, each.site.function)]
    if asked.only:
        reasons = [reason for reason in reasons if re.search(asked.only, reason["function"])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant in pool.map(tests.find, mutants):
            print(f"{mutant.site.function:<34} {mutant.site.access:<13} {mutant.site.written:>7} -> {mutant.weaker:<7} "
                  f" {mutant.found_by or mutant.broke or 'not found'}", flush=True)
    files = sorted({each.site.file for each in mutants}) if asked.only else checked_files(asked.root)
    messages = judge(mutants, reasons) + list(never_run(used, asked.root, files))
    for message in messages:
        print(message, file=sys.stderr)
    print(f"{sum(1 for mutant in mutants if mutant.found_by)} of {len(mutants)} weaker orders are found by a test, "
          f"{len(reasons)} have a reason")
    if asked.write:
        fresh = rows(mutants, reasons)
        old = (asked.root / PAGE).read_text() if asked.only else ""
        (asked.root / PAGE).write_text(page(merged(old, fresh, asked.only)))
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
