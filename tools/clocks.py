#!/usr/bin/env python3
"""Checks that code reads the time only from fl::clock, which a simulation can replace.

The library, the service and the examples must not name another clock, except in the files below,
each with a reason. tests/ and bench/ are free: they measure real time.
"""

import re
import sys

import tree

CHECKED_FOLDERS = ("include", "src", "apps", "examples")
ALLOWED = {
    "src/base/time.cpp": "the clock itself",
    "src/http/date.cpp": "the field Date has the time of the day, and an option replaces it",
}

OTHER_CLOCKS = re.compile(
    r"\b(?:steady|system|high_resolution|utc|tai|gps|file)_clock\b"
    r"|\b(?:clock_gettime|gettimeofday|timespec_get|ftime)\b"
    r"|\bstd::(?:time|clock)\s*\(|(?<![\w>.:])::time\s*\(|(?<![\w>.:])time\s*\(\s*(?:nullptr|NULL|0)\s*\)")


def check(root):
    messages = []
    unused = {path for path in ALLOWED if (root / path).is_file()}
    for path in tree.code_files(root, CHECKED_FOLDERS):
        code = tree.read_code(root, path)
        for number, line in enumerate(code.splitlines(), start=1):
            other = OTHER_CLOCKS.search(line)
            if other and str(path) in ALLOWED:
                unused.discard(str(path))
            elif other:
                messages.append(f"{path}:{number}: {other.group().strip()}: take the time from "
                                "fl::clock, or list the file in tools/clocks.py with a reason")
    messages += [f"{path}:1: names no clock: tools/clocks.py need not list it"
                 for path in sorted(unused)]
    return messages


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
