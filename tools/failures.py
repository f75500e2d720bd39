#!/usr/bin/env python3
"""Prints for each failed test in logs of ctest which of its cases failed, and how.

./do test prints this last: the rest of its output is long.

    failures.py build/PRESET/ctest.log...
"""

import pathlib
import re
import sys

LINES_OF_A_CASE = 12
LINES_OF_A_TEST = 30

RESULT = re.compile(r"\s*\d+/\d+ Test +#\d+: (?P<name>\S+) \.*(?P<result>.*?) +[\d.]+ sec")
NEXT = re.compile(r"\s+Start +\d+: |\s*\d+/\d+ Test +#\d+: |\d+% tests passed")
BEGINS = re.compile(r"\[ RUN      \] (\S+)")
ENDS = re.compile(r"\[(       OK |  FAILED  |  SKIPPED )\] \S+.*\(\d+ ms\)")
FAILS = re.compile(r"\*\*\*(?!Skipped|Not Run \(Disabled\))")
TELLING = re.compile(r"Failure$|Sanitizer: |runtime error: |terminate called|watchdog: |assertion", re.I)


def failed_tests(log: str) -> list[tuple[str, str, list[str]]]:
    """The failed tests of a log of ctest: name, result and output of each."""
    found: list[tuple[str, str, list[str]]] = []
    output: list[str] | None = None
    for line in log.splitlines():
        result = RESULT.match(line)
        if NEXT.match(line):
            output = None
        if result and FAILS.search(result["result"]):
            output = []
            found.append((result["name"], result["result"].strip("* "), output))
        elif output is not None:
            output.append(line)
    return found


def from_what_tells(lines: list[str]) -> list[str]:
    """The lines from the first that tells of a failure, or the last ones if none does."""
    for number, line in enumerate(lines):
        if TELLING.search(line):
            return lines[number:number + LINES_OF_A_CASE]
    return lines[-LINES_OF_A_CASE:]


def failed_cases(output: list[str]) -> list[tuple[str, list[str]]]:
    """The cases of GoogleTest that failed or did not end, with what tells of it."""
    found = []
    case, said = "", []
    for line in output:
        begins = BEGINS.search(line)
        ends = ENDS.search(line)  # behind a line that a program has not ended, perhaps
        if begins:
            case, said = begins[1], []
        elif case and ends:
            if "FAILED" in ends[1] or any("Sanitizer: " in each for each in said):
                found.append((case, from_what_tells(said)))
            case = ""
        elif case:
            said.append(line)
    if case:
        found.append((f"{case} did not end", from_what_tells(said)))
    return found


def summary(log: str, preset: str) -> list[str]:
    """Of each failed test its failed cases, and behind them what the first ones said."""
    lines = []
    for name, result, output in failed_tests(log):
        cases = failed_cases(output)
        said = [line for _, of_case in cases or [("", from_what_tells(output))] for line in of_case]
        lines += [f"{preset}: {name}: {result}", *(f"  {case}" for case, _ in cases),
                  *(f"    {line}" for line in said[:LINES_OF_A_TEST])]
    return lines


def main() -> None:
    for path in map(pathlib.Path, sys.argv[1:]):
        for line in summary(path.read_text(errors="replace"), path.parent.name):
            print(line)


if __name__ == "__main__":
    main()
