#!/usr/bin/env python3
"""Checks that what the pages name exists: specifications, actions, functions, tests, memory orders.

- spec/MAP.md has a section for each specification; its tables name actions that the specification
  defines, each action of it, and functions that the code has.
- The tests that spec/MAP.md and the pages about tests in docs/ name exist.
- Each row of docs/internals/known_bugs.md names tests, and what they find: a planted bug whose test
  is among them, or a seeded bug of a specification.
- The site, mkdocs.yml, lists each page of docs/ and bench/ once, in its navigation or in
  not_in_nav, and lists no page that is not there.
- Rows of docs/internals/orders.md are of memory orders that the headers have, and each order has a
  row.
"""

import fnmatch
import re
import sys
import tomllib

import orders
import planted
import tree

MAP = "spec/MAP.md"
# In these pages each name of the form Suite.Test must be a test. In other pages it may be a member
# of a class.
OF_TESTS = (MAP, "docs/features.md", "docs/internals/historical.md", "docs/internals/memory_order.md", "docs/internals/orders.md")
SITE = "mkdocs.yml"
KNOWN_BUGS = "docs/internals/known_bugs.md"

NAMED_TEST = re.compile(r"([A-Za-z]\w*)\.(\w+|\*)")
DEFINITION = re.compile(r"^([A-Z]\w*)(?:\([^)]*\))? ==(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
NO_TESTS = {"hpp", "cpp", "py", "toml", "md", "json", "tla", "cfg", "yml", "txt"}


def named(cell):
    """The spans in backticks of a cell of a table."""
    return re.findall(r"`([^`]+)`", cell)


def sections(text):
    """The name of each section, its first line, and its rows: (line, cells)."""
    name, begin, rows = None, 0, []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("## "):
            if name:
                yield name, begin, rows
            name, begin, rows = line[3:].split(":")[0], number, []
        elif line.startswith("| ") and not re.match(r"\| (action|specification) \|", line):
            rows.append((number, [cell.strip() for cell in line.strip("|").split("|")]))
    if name:
        yield name, begin, rows


def actions_of(specification):
    """The names of all definitions, and of those that are steps of the code: not only of a seeded
    bug."""
    definitions = dict(DEFINITION.findall(specification))
    steps = {name for name, body in definitions.items()
             if re.search(r"\w+' =|\bGo\(", body) and "UNCHANGED" in body and not re.match(r"\s*/\\ Bug = ", body)}
    return set(definitions), steps


class Code:
    """The functions of the library, by the file that they stand in."""

    def __init__(self, root):
        self.files = [tree.read_code(root, path) for path in tree.code_files(root, ("include", "src"))]

    def has(self, scope, function):
        call = re.compile(rf"\b{function}\s*[(<]")
        place = re.compile(rf"\b{scope}\b")
        return any(call.search(text) and place.search(text) for text in self.files)


def check_map(root):
    path = root / MAP
    if not path.is_file():
        return
    code = Code(root)
    seen = set()
    for name, begin, rows in sections(path.read_text(encoding="utf-8")):
        specification = root / "spec" / f"{name}.tla"
        if name == "Traces":
            continue
        if not specification.is_file():
            yield f"{MAP}:{begin}: there is no spec/{name}.tla"
            continue
        seen.add(name)
        defined, steps = actions_of(specification.read_text(encoding="utf-8"))
        for number, (actions, functions, *_) in rows:
            for action in re.findall(r"\w+", actions):
                steps.discard(action)
                if action not in defined:
                    yield f"{MAP}:{number}: spec/{name}.tla does not define {action}"
            scope = ""
            for function in named(functions):
                *scopes, last = function.split("::")
                scope = scopes[-1] if scopes else scope
                if not code.has(scope, last):
                    yield f"{MAP}:{number}: the code has no {scope}::{last}"
        for action in sorted(steps):
            yield f"{MAP}:{begin}: does not name {action} of spec/{name}.tla"
    for specification in sorted((root / "spec").glob("*.tla")):
        if specification.stem not in seen:
            yield f"{MAP}:1: has no section for spec/{specification.name}"


def check_tests(root):
    tests = tree.tests(root)
    known = {*tests, *(f"{test.split('.')[0]}.*" for test in tests)}
    for page in (page for page in OF_TESTS if (root / page).is_file()):
        for number, line in enumerate((root / page).read_text(encoding="utf-8").splitlines(), start=1):
            for token in named(line):
                test = NAMED_TEST.fullmatch(token)
                if test and test[2] not in NO_TESTS and token not in known:
                    yield f"{page}:{number}: there is no test {token}"


def seeded_bugs(root):
    """"Line bug 1" and so on: those of all specifications."""
    models = root / "spec" / "models.toml"
    specs = tomllib.loads(models.read_text(encoding="utf-8"))["spec"] if models.is_file() else []
    return {f"{spec['name']} bug {number}" for spec in specs for number in range(1, len(spec["mutants"]) + 1)}


def check_known_bugs(root):
    page = root / KNOWN_BUGS
    if not page.is_file():
        return
    tests = tree.tests(root)
    tests_of_mutants = {mutant["name"]: mutant["test"] for mutant in planted.mutants_of(root)}
    seeded = seeded_bugs(root)
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("| ") or line.startswith("| where |"):
            continue
        cells = line.strip("|").split(" | ")
        by, found = named(cells[-2]), named(cells[-1])
        if len(cells) != 4 or not by or not found:
            yield f"{KNOWN_BUGS}:{number}: a row says where, the bug, its tests, and what they find"
            continue
        for each in by:
            if each not in tests and planted.refused_source(root, each) is None:
                yield f"{KNOWN_BUGS}:{number}: there is no test {each}"
        for each in found:
            if each not in seeded and each not in tests_of_mutants:
                yield f"{KNOWN_BUGS}:{number}: there is no planted or seeded bug {each}"
            if tests_of_mutants.get(each, by[0]) not in by:
                yield f"{KNOWN_BUGS}:{number}: does not name {tests_of_mutants[each]}, the test of {each}"
        if all(each in seeded for each in found):
            yield f"{KNOWN_BUGS}:{number}: names no planted bug, so nothing shows that a test finds it"


def check_orders(root):
    page = root / orders.PAGE
    if not page.is_file():
        return
    # {stripped line of a header: its places}, if an order stands in the line or in the next.
    code = {}
    for path in orders.checked_files(root):
        lines = [line.split("//")[0].strip() for line in (root / path).read_text(encoding="utf-8").splitlines()]
        for number, line in enumerate(lines, start=1):
            following = lines[number] if number < len(lines) else ""
            if orders.ORDER.search(line) or orders.ORDER.search(following):
                code.setdefault(line, (f"{path}:{number}", bool(orders.ORDER.search(line)), following))
    rows = set()
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        row = re.match(r"\| `[^`]+` \| `(?P<code>.*?)` \| \w+ → ", line)
        if not row:
            continue
        access = row["code"].replace(r"\|", "|")
        rows.add(access)
        if access not in code:
            yield f"{orders.PAGE}:{number}: no header has this access; run ./do verify orders --write"
    covered = rows | {code[row][2] for row in rows if row in code}
    for line, (place, has_order, _) in code.items():
        if has_order and line not in covered:
            yield f"{place}: {orders.PAGE} has no row for it; run ./do verify orders --write"


def check_navigation(root):
    site = root / SITE
    if not site.is_file():
        return
    left_out, places, part = [], {}, None
    for number, line in enumerate(site.read_text(encoding="utf-8").splitlines(), start=1):
        key = re.match(r"(\w+):", line)
        part = key[1] if key else part
        page = re.fullmatch(r"\s+- (?:[^:]+: )?(\S+\.md)", line)
        if part == "not_in_nav" and not key and line.strip():
            left_out.append(line.strip())
        elif part == "nav" and page:
            if page[1] in places:
                yield f"{SITE}:{number}: lists {page[1]} twice"
            if not (root / page[1]).is_file():
                yield f"{SITE}:{number}: there is no {page[1]}"
            places[page[1]] = number
    for path in sorted(path for folder in ("docs", "bench") for path in (root / folder).rglob("*.md")):
        name = path.relative_to(root).as_posix()
        # A pattern that ends with a slash is a folder, with all that is below it.
        is_left_out = any(fnmatch.fnmatchcase(f"/{name}", f"{pattern}*" if pattern.endswith("/") else pattern)
                          for pattern in left_out)
        if name not in places and not is_left_out:
            yield f"{SITE}:1: the navigation does not list {name}"


def check(root):
    return [*check_navigation(root), *check_map(root), *check_tests(root), *check_known_bugs(root), *check_orders(root)]


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
