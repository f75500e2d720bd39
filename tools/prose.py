#!/usr/bin/env python3
"""Checks the English of comments and pages that are already plain: no banned word, no long line.

`CLEAN` lists these files and folders. The list grows as more of them are rewritten.

- In comments of C++ and in pages no word of `BANNED` stands in place of a noun.
- Lines with a comment in C++ have at most 100 columns. Pages have long tables and links, so they are
  free.

Code is not prose: fences, spans in backticks and the targets of links are left out.
"""

import re
import sys

import tree

COLUMNS = 100

# What is plain by now: files, or folders with all the C++ and the pages below them.
CLEAN = (
    "CONTRIBUTING.md",
    "README.md",
    "apps",
    "bench/README.md",
    "bench/counts",
    "bench/q1",
    "bench/support",
    "bench/w1",
    "bench/w10",
    "bench/w11",
    "bench/w12",
    "bench/w13",
    "bench/w15",
    "bench/w16",
    "bench/w2",
    "bench/w3",
    "bench/w4",
    "bench/w5",
    "bench/w6",
    "bench/w7",
    "bench/w9",
    "docs/adr",
    "docs/cookbook",
    "docs/guide",
    "docs/internals/architecture.md",
    "docs/internals/historical.md",
    "docs/internals/index.md",
    "docs/internals/memory_order.md",
    "docs/internals/orders.md",
    "docs/internals/performance.md",
    "docs/internals/scheduler.md",
    "docs/internals/testing.md",
    "docs/internals/verification.md",
    "docs/manual",
    "docs/reference",
    "examples",
    "include/fairlead/base",
    "include/fairlead/coro",
    "include/fairlead/detail/base",
    "include/fairlead/detail/coro",
    "include/fairlead/detail/lockfree",
    "include/fairlead/detail/os",
    "include/fairlead/detail/sync",
    "include/fairlead/detail/timer",
    "include/fairlead/io",
    "include/fairlead/os",
    "include/fairlead/sched/block_in_place.hpp",
    "include/fairlead/sched/blocked_step.hpp",
    "include/fairlead/sched/callback_task.hpp",
    "include/fairlead/sched/driver.hpp",
    "include/fairlead/sched/executor.hpp",
    "include/fairlead/sched/futex_driver.hpp",
    "include/fairlead/sched/group.hpp",
    "include/fairlead/sched/options.hpp",
    "include/fairlead/sched/permit.hpp",
    "include/fairlead/sched/scheduler.hpp",
    "include/fairlead/sched/task.hpp",
    "include/fairlead/sched/task_name.hpp",
    "include/fairlead/test",
    "src/base",
    "src/coro",
    "src/io",
    "src/os",
    "src/sync",
)

# In place of a noun; the wording that replaces each names the thread, the task or the worker.
BANNED = re.compile(
    r"\b(?:who|whom|whoever|whomever|somebody|someone|nobody|no one|everybody|others|one that|"
    r"likewise|as above)\b", re.IGNORECASE)

_COMMENT = re.compile(r"(?<![:\"'\w])//+[!<]?(?P<text>.*)$")
_HIDDEN = re.compile(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->")
_FENCE = re.compile(r"\s*(`{3,})")


def comments(text):
    """Yields (line, its comment) of C++. Code is blanked first, so that a literal hides no slashes."""
    bare = re.sub(r'"(?:\\.|[^"\\\n])*"', lambda match: '"' + "_" * (len(match.group()) - 2) + '"', text)
    lines = zip(bare.splitlines(), text.splitlines(), strict=True)
    for number, (line, whole) in enumerate(lines, start=1):
        comment = _COMMENT.search(line)
        if comment:
            yield number, whole[comment.start("text"):]


def prose(text):
    """Yields (line, its text) of a page, without fences."""
    mark = None
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence and (mark is None or line.strip() == mark):
            mark = fence[1] if mark is None else None
        elif mark is None:
            yield number, line


def found_in(sentences):
    """Yields (line, banned word); a word may stand at the end of one line and the start of the next."""
    lines = [(number, _HIDDEN.sub(" ", text).strip()) for number, text in sentences]
    for at, (number, text) in enumerate(lines):
        follows = at + 1 < len(lines) and lines[at + 1][0] == number + 1
        joined = text + " " + lines[at + 1][1] if follows else text
        for match in BANNED.finditer(joined):
            if match.start() < len(text):
                yield number, match.group()


def check_file(root, path):
    text = (root / path).read_text(encoding="utf-8")
    is_code = path.suffix in (".hpp", ".cpp")
    for number, word in found_in(comments(text) if is_code else prose(text)):
        yield f"{path}:{number}: name the thing instead of \"{word}\""
    if is_code:
        for number, line in enumerate(text.splitlines(), start=1):
            if len(line) > COLUMNS and "//" in line:
                yield f"{path}:{number}: {len(line)} columns; the limit of comments is {COLUMNS}"


def files(root, clean):
    """The clean files, as paths relative to root; an entry that names nothing is an error."""
    for entry in clean:
        where = root / entry
        if where.is_file():
            yield where.relative_to(root)
        elif where.is_dir():
            yield from sorted(path.relative_to(root) for pattern in ("*.[ch]pp", "*.md")
                              for path in where.rglob(pattern))
        else:
            raise FileNotFoundError(entry)


def check(root, clean=CLEAN):
    messages = []
    for path in dict.fromkeys(files(root, clean)):
        messages += check_file(root, path)
    return messages


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
