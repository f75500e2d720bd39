#!/usr/bin/env python3
"""Checks that a sweep makes each function fail that the library calls, but for those with a reason.

Reads what `faults_test --gtest_output=json:FILE` writes, where a sweep records what it has swept,
the symbols that the libraries do not define themselves, and tools/faults.toml, which has the
reasons.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tomllib

import tree

TABLE = pathlib.Path("tools/faults.toml")
RECORDED = "swept "


def read_swept(results):
    """The functions of which a passed test has made at least one call fail."""
    return {key.removeprefix(RECORDED)
            for suite in results["testsuites"] for test in suite["testsuite"] if not test.get("failures")
            for key, calls in test.items() if key.startswith(RECORDED) and int(calls) > 0}


def read_symbols(listings):
    """The symbols that are undefined when all these outputs of nm are taken together."""
    defined, wanted = set(), set()
    for line in "\n".join(listings).splitlines():
        found = re.fullmatch(r"(?:[0-9a-f]+| *) ([A-Za-z]) (\S+)", line)
        if found:
            (wanted if found[1] in "Uvw" else defined).add(found[2])
    return wanted - defined


def check(called, swept, spared):
    reasons = re.compile("|".join(f"(?:{name})" for each in spared for name in each["names"]))
    messages = [f"{name}: the library calls it, and it is neither swept in tests/faults/ nor spared in {TABLE}"
                for name in sorted(called) if name not in swept and not reasons.fullmatch(name)]
    messages += [f"{name}: swept, and spared in {TABLE}" for name in sorted(swept) if reasons.fullmatch(name)]
    if not called:
        messages.append("the libraries call nothing: are these the right files?")
    return messages


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("results", type=pathlib.Path, help="what the test has written")
    parser.add_argument("libraries", type=pathlib.Path, nargs="+")
    asked = parser.parse_args(arguments)
    listings = [subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
                for library in asked.libraries]
    swept = read_swept(json.loads(asked.results.read_text(encoding="utf-8")))
    spared = tomllib.loads((tree.REPOSITORY / TABLE).read_text(encoding="utf-8"))["spared"]
    messages = check(read_symbols(listings), swept, spared)
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
