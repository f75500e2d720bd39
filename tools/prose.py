#!/usr/bin/env python3
"""Checks that the English of comments and pages is plain: no banned word, no long line.

- In comments, docstrings and pages no word of `BANNED` stands in place of a noun.
  `comments.SYNTAXES` lists the languages.
- Lines of comments have at most 100 columns. Pages have long tables and links, so they are free.

Code is not prose: fences, spans in backticks and the targets of links are left out.
Every file that git tracks is checked, except for `EXCEPTED` and for `NO_TEXT`.
"""

import pathlib
import re
import subprocess
import sys

import comments
import tree

COLUMNS = 100

# Files and folders that are not plain yet. Remove an entry after its comments are rewritten.
EXCEPTED = (
    "bench/results",
    "spec",
)

# Files without sentences of this project: pictures, results, versions of other packages, a license,
# and inputs of tests.
NO_TEXT = re.compile(r"\.(?:svg|json|lock|dict)$|(?:^|/)(?:LICENSE|go\.sum)$|^tests/fuzz/corpus/")

# In place of a noun; the wording that replaces each names the thread, the task or the worker.
BANNED = re.compile(
    r"\b(?:who|whom|whoever|whomever|somebody|someone|nobody|no one|everybody|others|one that|"
    r"likewise|as above)\b", re.IGNORECASE)

_HIDDEN = re.compile(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->")
_FENCE = re.compile(r"\s*(`{3,})")
_GENERATED = {"build", "target", "__pycache__"}


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
    """Yields (line, banned word); a word may stand at the end of one line and the start of the
    next."""
    lines = [(number, _HIDDEN.sub(" ", text).strip()) for number, text in sentences]
    for at, (number, text) in enumerate(lines):
        follows = at + 1 < len(lines) and lines[at + 1][0] == number + 1
        joined = text + " " + lines[at + 1][1] if follows else text
        for match in BANNED.finditer(joined):
            if match.start() < len(text):
                yield number, match.group()


def check_file(root, path):
    text = (root / path).read_text(encoding="utf-8")
    if path.suffix == ".md":
        sentences = prose(text)
    elif language := comments.language_of(path):
        sentences = list(comments.comments(language, text))
        lines = text.splitlines()
        for number in dict.fromkeys(number for number, _ in sentences):
            if len(lines[number - 1]) > COLUMNS:
                yield f"{path}:{number}: {len(lines[number - 1])} columns; the limit of comments is {COLUMNS}"
    else:
        yield f"{path}:1: tools/comments.py does not know how comments look in this kind of file"
        return
    for number, word in found_in(sentences):
        yield f"{path}:{number}: name the thing instead of \"{word}\""


def tracked(root):
    """The files that git tracks, relative to root. Without a repository, as in an archive, all
    files but build/."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        paths = [pathlib.Path(name) for name in listed.stdout.split("\0") if name]
        return sorted(path for path in paths if (root / path).is_file())
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(path for path in paths if not _GENERATED.intersection(path.parts))


def check(root, excepted=EXCEPTED):
    for entry in excepted:
        if not (root / entry).exists():
            raise FileNotFoundError(entry)
    messages = []
    for path in tracked(root):
        is_excepted = any(path.is_relative_to(entry) for entry in excepted)
        if not is_excepted and not NO_TEXT.search(path.as_posix()):
            messages += check_file(root, path)
    return messages


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
