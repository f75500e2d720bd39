#!/usr/bin/env python3
"""Checks that each relative link of a page leads to a file, and to a heading if it names one.

The pages are those of README.md and its neighbours, docs/, bench/ and spec/. A heading has the name
that GitHub and the site (./do docs --site) give it.
"""

import re
import sys

import prose
import tree

FOLDERS = ("docs", "bench", "spec")

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
HEADING = re.compile(r"#{1,6}\s+(?P<title>.*?)\s*#*$")
ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:")


def pages(root):
    """Every page, as a path relative to root."""
    found = [*root.glob("*.md"), *(path for folder in FOLDERS for path in (root / folder).rglob("*.md"))]
    return sorted(path.relative_to(root) for path in found)


def slug(title):
    """The name of a heading in a link to it."""
    bare = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
    return re.sub(r"[^\w\- ]", "", bare).replace(" ", "-")


def headings(text):
    """The names of all headings; of equal ones the second has -1, and so on."""
    names = {}
    for _, line in prose.prose(text):
        heading = HEADING.match(line)
        if heading:
            name = slug(heading["title"])
            names[name] = names.get(name, -1) + 1
            if names[name]:
                names[f"{name}-{names[name]}"] = 0
    return names


def links(text):
    """Yields (line, path, heading) of each relative link; the path is empty for a link into the
    page."""
    for number, line in prose.prose(text):
        for link in LINK.finditer(CODE.sub("``", line)):
            if not ELSEWHERE.match(link["target"]):
                path, _, heading = link["target"].partition("#")
                yield number, path, heading


def target_of(root, page, path):
    """Where a link of the page leads, relative to root; None if it leaves the repository."""
    target = (root / page).parent / path if path else root / page
    try:
        return target.resolve().relative_to(root.resolve())
    except ValueError:
        return None


def problems(root):
    names = {}

    def has(page, heading):
        if page not in names:
            names[page] = headings((root / page).read_text(encoding="utf-8"))
        return heading in names[page]

    for page in pages(root):
        for number, path, heading in links((root / page).read_text(encoding="utf-8")):
            target = target_of(root, page, path)
            if target is None or not (root / target).exists():
                yield f"{page}:{number}: there is no {path}"
            elif heading and (target.suffix != ".md" or not has(target, heading)):
                yield f"{page}:{number}: {target} has no heading #{heading}"


def check(root):
    return list(problems(root))


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
