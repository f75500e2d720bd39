#!/usr/bin/env python3
"""Checks that only modules with an argument for their memory orders use atomics.

- Only the header include/fairlead/detail/sync/atomic.hpp names the standard's atomics. The model
  checker replaces this header, so it cannot check code that uses std::atomic directly.
- Only the modules below may use this header. All other modules, the examples and the applications
  use the types of these modules. tests/ and bench/ are free: they need atomics of their own.
"""

import pathlib
import re
import sys

import tree

SEAM = pathlib.Path("include/fairlead/detail/sync/atomic.hpp")
UMBRELLA = pathlib.Path("include/fairlead/fairlead.hpp")
MODULES_WITH_ATOMICS = {"os", "sync", "lockfree", "sched", "coro", "future", "io"}
CHECKED_FOLDERS = ("include", "src", "apps", "examples")

STANDARD_ATOMICS = re.compile(
    r"\bstd::(?:atomic\w*|memory_order\w*)|\bmemory_order_\w+|<\s*(?:stdatomic\.h|atomic)\s*>"
    r"|\b__(?:atomic|sync)_\w+")
SEAM_USE = re.compile(
    r"\bsync/atomic\.hpp|\batomic\s*<|\bmemory_order\b"
    r"|\bsync::(?:atomic|relaxed|acquire|release|acq_rel|seq_cst)\b")


def check(root):
    messages = []
    for path in tree.code_files(root, CHECKED_FOLDERS):
        if path == SEAM:
            continue
        may_use_seam = tree.module_of(path) in MODULES_WITH_ATOMICS or path == UMBRELLA
        code = tree.read_code(root, path, keep_strings=True)
        for number, line in enumerate(code.splitlines(), start=1):
            standard = STANDARD_ATOMICS.search(line)
            seam = None if may_use_seam else SEAM_USE.search(line)
            if standard:
                messages.append(f"{path}:{number}: {standard.group()}: only {SEAM} names it")
            elif seam:
                messages.append(f"{path}:{number}: {seam.group()}: atomics are not for this folder")
    return messages


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
