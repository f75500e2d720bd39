#!/usr/bin/env python3
"""Checks that docs/internals/historical.md says what the test of historical bugs has recorded.

Reads what `historical_test --gtest_output=json:FILE` writes, and tests/historical/elsewhere.toml,
whose tests and seeded bugs must exist, with tests/historical/planted.json, which has a figure for
each. With --write the page is brought up to date. Times are in the page and those of the first
tables are not compared.
"""

import argparse
import json
import pathlib
import re
import sys
import tomllib

import tree

PAGE = pathlib.Path("docs/internals/historical.md")
SCENARIOS = pathlib.Path("tests/historical")
ELSEWHERE = SCENARIOS / "elsewhere.toml"
PLANTED = SCENARIOS / "planted.json"

TITLE = """\
# Historical bugs

Other projects shipped these bugs, or caught them in review. Each is rebuilt here as the smallest program that
still has it. The first tables are of the [model checker](testing.md#model-tests), which must find each bug,
and must pass the same program with the fix. The code is ours, with the shape of the mistake; a comment
beside the code says what was left out.

```sh
build/release/tests/historical/historical_test --gtest_filter='*/tokio_1788'
build/release/tests/historical/historical_test --gtest_output=json:results.json
python3 tools/historical.py results.json --write     # this page
```

*Weak memory* is needed for a bug if no order of steps shows the bug as long as every load returns the newest
store. *Found as* is the message of the checker. The figures are numbers of executions:

- *systematic*: until the systematic search finds the bug. That search goes depth first, so a small number may
  be luck.
- *at random*, *by priorities*: until a search at random, and one by random priorities, find the bug; the median
  of 25 seeds.
- *all, fixed*: all executions of the fixed program within the same bounds.

Where all figures are 1, the program has one thread, or fails in nearly any order, or the checker sees that
nothing orders a use and the destruction, whichever comes first. The time is that of the systematic search, on
the machine that wrote this page.

"""
ELSEWHERE_TITLE = """\
## Shown elsewhere

Other layers show these bugs, or tests of our own code do. `Parking bug 2` is a bug that is seeded in a
[specification](../../spec/MAP.md), where TLC must find it; the other names are tests.

`python3 tools/planted.py --historical` measures the figures:

- For a specification: the states that TLC has generated, with one thread, when the first of its properties is
  violated.
- For a test that has the bug in itself: the number of executions.
- For every other test: the mistake is planted in a copy of the library, as
  [elsewhere.toml](../../tests/historical/elsewhere.toml) says, and the test runs five times. The time is the
  median, with the start of the program. A test that has not ended after 20 s hangs; its watchdog says so later.

A test by chance may pass with the bug, if the window of the bug is a few instructions wide. In that case the
specification is what finds it.
"""
TESTS = {"IsFound", "IsFoundByOrderAlone", "IsFoundByChance", "FixPasses"}  # of each bug
# The page gives the class of a time: the first limit above it.
CLASSES = ((0.001, "1 ms"), (0.01, "10 ms"), (0.1, "100 ms"), (1, "1 s"))


class HistoricalError(Exception):
    pass


def time_class(text):
    """The seconds of a time that gtest writes: "0.004s"."""
    seconds = float(text.removesuffix("s"))
    return next(("< " + name for limit, name in CLASSES if seconds < limit), "> 1 s")


def read_results(path):
    """What was recorded: a dict of bugs by name, in the order of the tests."""
    bugs = {}
    for suite in json.loads(path.read_text(encoding="utf-8"))["testsuites"]:
        for test in suite["testsuite"]:
            what, name = test["name"].split("/")
            if test.get("failures") or test["result"] != "COMPLETED":
                raise HistoricalError(f"{path}: {test['name']} has failed or was not run")
            bugs.setdefault(name, {})[what] = test
    for name, tests in bugs.items():
        if set(tests) != TESTS:
            raise HistoricalError(f"{path}: {name} needs all of its tests")
    return bugs


def file_of(root, name):
    """The file that has the scenario."""
    for path in sorted((root / SCENARIOS).glob("*.cpp")):
        if f'"{name}"' in path.read_text(encoding="utf-8"):
            return path
    raise HistoricalError(f"{SCENARIOS}: no file has {name}")


def exists(root, shown_by):
    """Whether there is such a test, or such a seeded bug."""
    seeded = re.fullmatch(r"(\w+) (bug \d+)", shown_by)
    if seeded:
        spec = root / "spec" / f"{seeded[1]}.tla"
        return spec.is_file() and f"\\* {seeded[2]}:" in spec.read_text(encoding="utf-8")
    return shown_by in tree.tests(root)


def how_fast(found):
    """A figure of tools/planted.py in words."""
    if "states" in found:
        return f"{found['states']:,} states"
    if "executions" in found:
        return f"{found['executions']} execution" + ("s" if found["executions"] != 1 else "")
    runs = sum(found[how] for how in ("failed", "hung", "passed"))
    ended = [f"{found[how]} of {runs} {word}" for how, word in
             (("failed", "fail"), ("hung", "hang"), ("passed", "pass")) if found[how] not in (0, runs)]
    if not ended:
        ended = [word for how, word in (("failed", ""), ("hung", "hangs"), ("passed", "passes")) if found[how]]
    time = time_class(f"{found['seconds']}s") if found["failed"] == runs else ""
    return ", ".join(ended + [time]).strip(", ")


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def table_of_bugs(bugs):
    lines = [row("bug", "where", "mistake", "found as", "fix",
                 "weak memory", "systematic", "at random", "by priorities", "all, fixed", "time"),
             row(*["---"] * 6, *["---:"] * 5)]
    for name, tests in bugs:
        found, chance, fixed = tests["IsFound"], tests["IsFoundByChance"], tests["FixPasses"]
        weak = "needed" if tests["IsFoundByOrderAlone"]["order_alone"] == "no" else ""
        bound = f", ≤ {fixed['preemptions']} preemptions" if "preemptions" in fixed else ""
        lines.append(row(f"`{name}`", found["where"], found["mistake"], f"`{found['found_as']}`", found["fix"],
                         weak, found["executions"], chance["at_random"], chance["by_priorities"],
                         fixed["executions"] + bound, time_class(found["time"])))
    return lines


def make_page(root, bugs, elsewhere, planted):
    weak = sum(tests["IsFoundByOrderAlone"]["order_alone"] == "no" for tests in bugs.values())
    lines = [*TITLE.splitlines(), f"{len(bugs)} bugs here, of which {weak} need weak memory; "
                                  f"{len(elsewhere)} shown elsewhere."]
    by_file = {}
    for name, tests in bugs.items():
        by_file.setdefault(file_of(root, name), []).append((name, tests))
    for path, bugs_of_file in by_file.items():
        title = path.stem.replace("_", " ").capitalize()
        lines += ["", f"## {title}", "", f"[{path.name}](../../{path.relative_to(root)})", ""]
        lines += table_of_bugs(bugs_of_file)
    lines += ["", *ELSEWHERE_TITLE.splitlines(), "",
              row("where", "mistake", "layer", "shown by", "how fast"), "|---|---|---|---|---|"]
    for bug in elsewhere:
        shown_by = ", ".join(f"`{each}`" for each in bug["shown_by"])
        missing = [each for each in bug["shown_by"] if each not in planted]
        if missing:
            raise HistoricalError(f"{PLANTED}: has no figure for {missing[0]}; run tools/planted.py --historical")
        found = "; ".join(how_fast(planted[each]) for each in bug["shown_by"])
        lines.append(row(bug["where"], bug["mistake"], bug["layer"], shown_by, found))
    return "\n".join(lines) + "\n"


def without_times(page):
    return re.sub(r"\| [<>] [\w ]+ \|$", "|", page, flags=re.MULTILINE)


def check(root, results, write=False):
    """The messages; with `write`, the page is brought up to date first."""
    try:
        bugs = read_results(results)
        elsewhere = tomllib.loads((root / ELSEWHERE).read_text(encoding="utf-8"))["bug"]
        planted = json.loads((root / PLANTED).read_text(encoding="utf-8"))
        page = make_page(root, bugs, elsewhere, planted)
    except HistoricalError as error:
        return [str(error)]
    messages = [f"{ELSEWHERE}: there is no {each}"
                for bug in elsewhere for each in bug["shown_by"] if not exists(root, each)]
    messages += [f"{PLANTED}: {each} passes with its bug each time, and shows nothing"
                 for each, found in planted.items() if found.get("passed") and not found["failed"] + found["hung"]]
    if write:
        (root / PAGE).write_text(page, encoding="utf-8")
    committed = (root / PAGE).read_text(encoding="utf-8") if (root / PAGE).is_file() else ""
    if without_times(committed) != without_times(page):
        messages.append(f"{PAGE}: differs from the record of the test; "
                        f"run tools/historical.py {results} --write")
    return messages


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("results", type=pathlib.Path, help="what the test has written")
    parser.add_argument("--root", type=pathlib.Path, default=tree.REPOSITORY,
                        help="the repository to check (default: this one)")
    parser.add_argument("--write", action="store_true", help="bring the page up to date")
    options = parser.parse_args()
    messages = check(options.root, options.results, options.write)
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
