#!/usr/bin/env python3
"""Checks the walks of src/sched/README.md, and the shape of the classes there.

A walk is a list of files with the functions that a reader passes. Each function must be in its
file, and a walk may pass only so many files, with only so many lines together. A class may have
only so many functions out of line, which are defined in only so many files, and only so many
friends. tools/walks.toml has the bounds.
"""

import collections
import pathlib
import re
import sys
import tomllib

import tree

README = pathlib.Path("src/sched/README.md")
BOUNDS = pathlib.Path("tools/walks.toml")
FOLDER = pathlib.Path("src/sched")

WALK = re.compile(r"^## Walk: (.+)$")
STEP = re.compile(r"^\d+\. `([^`]+)`: (.+)$")
NAME = re.compile(r"`(\w+)`")
DEFINITION = re.compile(r"^[^\s#][^\n;={}()]*\b(\w+)::(~?\w+)\(", re.MULTILINE)
CLASS = re.compile(r"^(?:class|struct)(?: alignas\([^)]*\))? (\w+)(?: final)?(?: : [^{;]+)? \{", re.MULTILINE)
FRIEND = re.compile(r"^\s*friend (?:class|struct) (\w+);", re.MULTILINE)


def walks(text):
    """The title of each walk, with its steps: (line, file, names)."""
    found, steps = {}, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            match = WALK.match(line)
            steps = found.setdefault(match.group(1), []) if match else None
        elif steps is not None and line.strip():
            match = STEP.match(line)
            steps.append((number, match and match.group(1), NAME.findall(match.group(2)) if match else line))
    return found


def check_walks(root, bounds):
    messages = []
    found = walks((root / README).read_text(encoding="utf-8"))
    for title in sorted(found.keys() ^ bounds.keys()):
        messages.append(f"{README}: the walk \"{title}\" is in only one of the page and {BOUNDS}")
    for title, steps in found.items():
        files = {}
        for number, path, names in steps:
            if path is None:
                messages.append(f"{README}:{number}: a step of a walk names a file and functions: {names}")
                continue
            if not (root / path).is_file():
                messages.append(f"{README}:{number}: there is no {path}")
                continue
            files[path] = len((root / path).read_text(encoding="utf-8").splitlines())
            code = tree.read_code(root, pathlib.Path(path))
            messages += [f"{README}:{number}: {path} has no {name}" for name in names
                         if not re.search(rf"\b{name}\(", code)]
        counts = {"files": len(files), "lines": sum(files.values())}
        messages += beyond(f"the walk \"{title}\"", counts, bounds.get(title, {}))
    return messages


def beyond(what, counts, bounds):
    return [f"{what}: {counts[name]} {name}; the bound is {bound}"
            for name, bound in bounds.items() if counts[name] > bound]


def classes(root):
    """Of each class: the functions that are defined out of line, in how many files, its friends."""
    names, friends = set(), collections.Counter()
    functions, files = collections.defaultdict(set), collections.defaultdict(set)
    paths = sorted((root / FOLDER).rglob("*.?pp"))
    codes = {path: tree.read_code(root, path.relative_to(root)) for path in paths}
    for code in codes.values():
        starts = [(match.start(), match.group(1)) for match in CLASS.finditer(code)]
        names |= {name for _, name in starts}
        for match in FRIEND.finditer(code):
            owners = [name for at, name in starts if at < match.start()]
            if owners:
                friends[owners[-1]] += 1
    for path, code in codes.items():
        for match in DEFINITION.finditer(code):
            owner, name = match.groups()
            if owner in names:
                functions[owner].add(name)
                files[owner].add(path.name)
    return {name: {"functions": len(functions[name]), "files": len(files[name]), "friends": friends[name]}
            for name in sorted(names)}


def check_classes(root, bounds):
    messages = []
    found = classes(root)
    for name in sorted(bounds.keys() - found.keys() - {"others"}):
        messages.append(f"{BOUNDS}: there is no class {name} in {FOLDER}")
    for name, counts in found.items():
        messages += beyond(f"{FOLDER}: the class {name}", counts, bounds.get(name, bounds["others"]))
    return messages


def check(root):
    bounds = tomllib.loads((root / BOUNDS).read_text(encoding="utf-8"))
    return check_walks(root, bounds["walks"]) + check_classes(root, bounds["classes"])


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
