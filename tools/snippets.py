#!/usr/bin/env python3
"""Checks that the C++ in README.md and docs/ is extracted from compiled, run code.

A fence is preceded by a line that names its source:

    <!-- snippet: examples/01_hello/main.cpp#region -->
    ```cpp
    ...
    ```

and must equal what stands between `// [region]` and `// [/region]` in that file, dedented; without
a #region, the whole file. In a file of CMake the marks are comments as well: `# [region]`. Every
```cpp fence needs such a line, except in docs/adr/, where code that was rejected may be shown. A
line without a fence below it is refused: a page would show no code there. With --write the fences
are brought up to date.
"""

import argparse
import pathlib
import re
import sys
import textwrap

import tree

SOURCES = ("examples", "tests")     # what the tests compile and run
COMMENT = re.compile(r"\s*<!--\s*snippet:\s*(?P<file>[^\s#]+)(?:#(?P<region>[\w-]+))?\s*-->\s*$")
FENCE = re.compile(r"(?P<indent>\s*)(?P<mark>`{3,})\s*(?P<language>[\w+-]*)")
MARKER = re.compile(r"\s*(?://|#) \[/?[\w-]+\]\s*$")


class SnippetError(Exception):
    pass


def extract(root, file, region):
    """The lines of a region of a file, dedented, without the markers of regions inside it."""
    if file.split("/")[0] not in SOURCES or ".." in file:
        raise SnippetError(f"{file}: snippets come from {' or '.join(SOURCES)}")
    try:
        lines = (root / file).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise SnippetError(f"{file}: no such file") from None
    if region:
        bare = [line.strip() for line in lines]
        sign = "#" if file.endswith(("CMakeLists.txt", ".cmake")) else "//"
        begin, end = f"{sign} [{region}]", f"{sign} [/{region}]"
        if bare.count(begin) != 1 or bare.count(end) != 1 or bare.index(begin) > bare.index(end):
            raise SnippetError(f"{file}: needs one '{begin}' and, after it, one '{end}'")
        lines = lines[bare.index(begin) + 1:bare.index(end)]
    kept = "\n".join(line for line in lines if not MARKER.match(line))
    return textwrap.dedent(kept).strip("\n").splitlines()


def update(root, text):
    """Returns (the text with each snippet as its source has it, [(line, message)])."""
    result, problems = [], []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        result.append(lines[at])
        at += 1
        if not fence:
            if COMMENT.match(lines[at - 1]) and (at == len(lines) or not FENCE.match(lines[at])):
                problems.append((at, "no fence follows this line; add an empty one, and run "
                                     "tools/snippets.py --write"))
            continue
        opened = at
        while at < len(lines) and lines[at].strip() != fence["mark"]:
            at += 1
        body = lines[opened:at]
        comment = COMMENT.match(lines[opened - 2]) if opened >= 2 else None
        if comment:
            try:
                wanted = extract(root, comment["file"], comment["region"])
                wanted = [(fence["indent"] + line).rstrip() for line in wanted]
                if wanted != body:
                    problems.append((opened, f"differs from {comment['file']}; "
                                             "run tools/snippets.py --write"))
                body = wanted
            except SnippetError as error:
                problems.append((opened - 1, str(error)))
        elif fence["language"] in ("cpp", "c++"):
            problems.append((opened, "C++ without '<!-- snippet: FILE#REGION -->' above it"))
        result += body
        if at < len(lines):
            result.append(lines[at])
            at += 1
    return "\n".join(result) + "\n", problems


def documents(root):
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [page for page in pages if page.is_file() and root / "docs" / "adr" not in page.parents]


def check(root):
    messages = []
    for page in documents(root):
        _, problems = update(root, page.read_text(encoding="utf-8"))
        messages += [f"{page.relative_to(root)}:{line}: {text}" for line, text in problems]
    return messages


def write(root):
    """Brings the pages up to date and returns those that it changed."""
    changed = []
    for page in documents(root):
        old = page.read_text(encoding="utf-8")
        new, _ = update(root, old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            changed.append(page.relative_to(root))
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=tree.REPOSITORY,
                        help="the repository to check (default: this one)")
    parser.add_argument("--write", action="store_true", help="bring the snippets up to date first")
    options = parser.parse_args()
    if options.write:
        for page in write(options.root):
            print(f"{page}: updated")
    messages = check(options.root)
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
