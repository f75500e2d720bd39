#!/usr/bin/env python3
"""Checks that the pages and plots in bench/results/ are what the JSON beside them says, and the figures in README.md.

`./do bench --report` writes them all. With --write they are made anew of the JSON, without measuring.
"""

import argparse
import pathlib
import re
import sys

import tree

sys.path.insert(0, str(tree.REPOSITORY / "bench"))

from harness import record, report  # noqa: E402

FOLDER = pathlib.Path("bench/results")
PAGE = pathlib.Path("README.md")
FIGURES = re.compile(r"(?<=<!-- figures: bench )([\w-]+)( -->\n).*?(?=<!-- /figures -->)", re.DOTALL)


def made(folder):
    """{path: text} of all that is made of the JSON files of a folder."""
    return {folder / path: text for source in sorted(folder.glob("*.json"))
            for path, text in report.files(source.stem, record.read(source)).items()}


def with_figures(page, folder):
    """The text of the page, with the figures of each machine that it names; none if it was not measured."""
    def figures(match):
        found = record.read(folder / f"{match[1]}.json")
        return match[1] + match[2] + (report.figures(match[1], found) if found.runs else "")
    return FIGURES.sub(figures, page.read_text(encoding="utf-8"))


def wanted(folder, page):
    """{path: text} of all that is made; the page only if there is one."""
    return made(folder) | ({page: with_figures(page, folder)} if page and page.is_file() else {})


def check(root):
    for path, text in wanted(root / FOLDER, root / PAGE).items():
        if not path.is_file():
            yield f"{path.relative_to(root)}: is missing; run ./do docs --write"
        elif path.read_text(encoding="utf-8") != text:
            yield f"{path.relative_to(root)}: is not what the JSON says; run ./do docs --write"


def write(folder, page):
    for path, text in wanted(folder, page).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=tree.REPOSITORY,
                        help="the repository to check (default: this one)")
    parser.add_argument("--write", action="store_true", help="make them anew first")
    options = parser.parse_args()
    if options.write:
        write(options.root / FOLDER, options.root / PAGE)
    messages = list(check(options.root))
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
