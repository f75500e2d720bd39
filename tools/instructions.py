#!/usr/bin/env python3
"""Checks the atomic instructions of hot functions in a library for 64-bit ARM.

tools/instructions.toml has the functions.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tomllib

import tree

TABLE = pathlib.Path("tools/instructions.toml")
OBJDUMP = "aarch64-linux-gnu-objdump"
BARRIER = "dmb"
# Read-modify-writes, and the halves of one.
ATOMIC = re.compile(r"(?:ld[a]?xr|st[l]?xr|cas|swp|ldadd|ldset|ldclr|ldeor)\w*$")


def instructions(disassembly):
    """For each function how often it has each atomic instruction, and barriers."""
    counts = collections.defaultdict(collections.Counter)
    function = ""
    for line in disassembly.splitlines():
        begin = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if begin:
            function = begin[1]
            counts[function].update()
            continue
        parts = line.split("\t")
        if len(parts) > 1 and (ATOMIC.match(parts[1].strip()) or parts[1].strip() == BARRIER):
            counts[function][parts[1].strip()] += 1
    return counts


def check(counts, expected, kind):
    messages = [f"{function}: a barrier" for function, found in counts.items() if found[BARRIER]]
    for each in expected:
        name = re.compile(r"(?:^|::)" + re.escape(each["name"]) + r"\(")
        matching = [found for function, found in counts.items() if name.search(function)]
        if not matching:
            messages.append(f"{each['name']}: there is no such function")
        for found in matching:
            if dict(found) != each[kind]:
                messages.append(f"{each['name']}: has {dict(found)}, should have {each[kind]}: {each['why']}")
    return messages


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("kind", choices=("llsc", "lse"))
    asked = parser.parse_args(arguments)
    disassembly = subprocess.run([OBJDUMP, "-d", "-C", "--no-show-raw-insn", asked.library],
                                 capture_output=True, text=True, check=True).stdout
    expected = tomllib.loads((tree.REPOSITORY / TABLE).read_text())["function"]
    messages = check(instructions(disassembly), expected, asked.kind)
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
