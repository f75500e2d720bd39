"""What the checks share: which files there are, which module one belongs to, and its bare code."""

import argparse
import pathlib
import re

CODE_FOLDERS = ("include", "src", "tests", "examples", "apps", "bench")
REPOSITORY = pathlib.Path(__file__).resolve().parent.parent


def code_files(root, folders=CODE_FOLDERS):
    """Every .hpp and .cpp below the folders, as sorted paths relative to root."""
    found = []
    for folder in folders:
        for path in (root / folder).rglob("*.[ch]pp"):
            found.append(path.relative_to(root))
    return sorted(found)


def module_of(path):
    """The module of a file: src/<module>/..., include/fairlead/<module>/..., or the same below
    fairlead/detail/.

    None for a file of another folder; "" for a file above the modules, such as fairlead.hpp.
    """
    parts = path.parts
    if parts[0] == "src":
        below = parts[1:]
    elif parts[:2] == ("include", "fairlead"):
        below = parts[3:] if parts[2] == "detail" else parts[2:]
    else:
        return None
    return below[0] if len(below) > 1 else ""


# One alternative for each thing that may hide what looks like code. A quote between digits is a
# digit separator, so a character literal must not follow a word character.
_NOT_CODE = re.compile(
    r'''(?P<comment>//[^\n]*|/\*.*?\*/)'''
    r'''|(?P<raw>R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")'''
    r'''|(?P<string>"(?:\\.|[^"\\\n])*")'''
    r'''|(?P<char>(?<!\w)(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')''',
    re.DOTALL)


def bare_code(text, keep_strings=False):
    """The text without comments and, unless kept, the contents of its literals. Lines stay
    lines."""
    def blank(match):
        if match.group("comment") is not None:
            return " " + "\n" * match.group().count("\n")
        if keep_strings:
            return match.group()
        return '""' + "\n" * match.group().count("\n")
    return _NOT_CODE.sub(blank, text)


def read_code(root, path, keep_strings=False):
    return bare_code((root / path).read_text(encoding="utf-8"), keep_strings)


_TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)


def tests(root):
    """Where each test stands: {"Suite.Test": path relative to root}."""
    return {f"{suite}.{test}": path for path in code_files(root, ("tests", "apps"))
            for suite, test in _TEST.findall((root / path).read_text(encoding="utf-8"))}


def write_figures(page, name, text):
    """Replaces what stands between <!-- figures: name --> and <!-- /figures --> in the page."""
    old = page.read_text(encoding="utf-8")
    begin, end = f"<!-- figures: {name} -->\n", "<!-- /figures -->"
    first = old.index(begin) + len(begin)
    page.write_text(old[:first] + text + old[old.index(end, first):], encoding="utf-8")


def rows_of_figures(page, name):
    """The rows of the table between these marks, without its head and its sum."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"<!-- figures: {name} -->\n(.*?)<!-- /figures -->", text, re.DOTALL)
    lines = found[1].splitlines() if found else []
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
    return [row for row in rows if row[0] != "all"]


def table(heads, rows):
    """A table of Markdown; a head that ends with a colon is of a column of numbers."""
    lines = [heads, ["---:" if head.endswith(":") else "---" for head in heads], *rows]
    lines[0] = [head.removesuffix(":") for head in heads]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def main_for_check(description, check, arguments=None):
    """Runs check(root), prints its messages, and returns the exit status: 1 if there are any."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=REPOSITORY,
                        help="the repository to check (default: this one)")
    messages = check(parser.parse_args(arguments).root)
    for message in messages:
        print(message)
    return 1 if messages else 0
