#!/usr/bin/env python3
"""Checks that the results of the benchmarks in the pages agree with the JSON in bench/results/.

These are the pages and plots in bench/results/, and figures in other pages.

`./do bench --report` writes them all. With --write they are made anew of the JSON, without
measuring.
"""

import argparse
import pathlib
import re
import sys

import tree

sys.path.insert(0, str(tree.REPOSITORY / "bench"))

from harness import record, report  # noqa: E402

FOLDER = pathlib.Path("bench/results")
PAGES = (pathlib.Path("docs/internals/performance.md"), pathlib.Path("docs/manual/fairness.md"))
# Of a machine: all workloads together, by rival or by which is first; or one, or a kind of its
# cases: "box", "box first", "box W15", "box W15 noisy", "box W15 plot".
FIGURES = re.compile(r"(?<=<!-- figures: bench )([\w-]+)((?: \w+){0,2})( -->\n).*?(?=<!-- /figures -->)", re.DOTALL)

OF_ALL = {"": report.figures, " first": report.firsts}


def made(folder):
    """{path: text} of all that is made of the JSON files of a folder."""
    return {folder / path: text for source in sorted(folder.glob("*.json"))
            for path, text in report.files(source.stem, record.read(source)).items()}


def with_figures(page, folder):
    """The text of the page, with the figures of each machine that it names; none if it was not
    measured."""
    def figures(match):
        machine, of, end = match.groups()
        found = record.read(folder / f"{machine}.json")
        if not found.runs:
            return machine + of + end
        if of in OF_ALL:
            return machine + of + end + OF_ALL[of](machine, found)
        return machine + of + end + report.figures_of(machine, found, *of.split())
    return FIGURES.sub(figures, page.read_text(encoding="utf-8"))


def wanted(folder, pages):
    """{path: text} of all that is made; of the pages those that there are."""
    return made(folder) | {page: with_figures(page, folder) for page in pages if page.is_file()}


def pages_of(root):
    return [root / page for page in PAGES]


def check(root):
    for path, text in wanted(root / FOLDER, pages_of(root)).items():
        if not path.is_file():
            yield f"{path.relative_to(root)}: is missing; run ./do docs --write"
        elif path.read_text(encoding="utf-8") != text:
            yield f"{path.relative_to(root)}: differs from the JSON; run ./do docs --write"


def write(folder, pages):
    for path, text in wanted(folder, pages).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=tree.REPOSITORY,
                        help="the repository to check (default: this one)")
    parser.add_argument("--write", action="store_true", help="write the pages and plots anew first")
    options = parser.parse_args()
    if options.write:
        write(options.root / FOLDER, pages_of(options.root))
    messages = list(check(options.root))
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
