#!/usr/bin/env python3
"""Makes one site of all pages and of the reference, in build/site/. A dead link is an error.

- The reference is made by Doxygen from the comments of the public headers. An entity
  without a comment is an error; --reference makes only this part.
- docs/reference/index.md names each public header.
- The pages are copied to build/site_source/ with the files that they link to, so that a link is the
  same in the repository and on the site. MkDocs makes the site of that copy.
"""

import argparse
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys

import links
import tree

BUILD = pathlib.Path("build")
SOURCE = BUILD / "site_source"
TOOLS = BUILD / "site_tools"      # a virtual environment with tools/website.txt
REFERENCE = pathlib.Path("docs/reference")
API = "api"                       # beside the page of the reference, on the site only

HEADER = re.compile(r"\]\(\.\./\.\./(?P<path>include/fairlead/[^)]+)\)")
EXCLUDED = re.compile(r"^EXCLUDE_PATTERNS\s*=((?:.*\\\n)*.*)$", re.MULTILINE)


def run(*command, **options):
    """Runs a command; its output is shown only if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(done.stdout.strip() or f"{command[0]} failed")


def public_headers(root):
    """What the Doxyfile does not exclude, as paths relative to root."""
    settings = (root / REFERENCE / "Doxyfile").read_text(encoding="utf-8")
    patterns = EXCLUDED.search(settings)[1].replace("\\", "").split()
    headers = (path.relative_to(root) for path in sorted((root / "include").rglob("*.hpp")))
    return [path for path in headers if not any(fnmatch.fnmatch(path, pattern) for pattern in patterns)]


def unnamed_headers(root):
    """What is wrong with the list of headers on the page of the reference."""
    page = REFERENCE / "index.md"
    named = {match["path"] for match in HEADER.finditer((root / page).read_text(encoding="utf-8"))}
    public = {str(path) for path in public_headers(root)}
    return ([f"{page}: does not name {path}" for path in sorted(public - named)] +
            [f"{page}: {path} is not public" for path in sorted(named - public)])


def make_reference(root, folder):
    """Doxygen's pages of the public headers, into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = (root / REFERENCE / "Doxyfile").read_text(encoding="utf-8") + f"OUTPUT_DIRECTORY = {folder}\n"
    run("doxygen", "-", input=settings, cwd=root)


def copy_pages(root, to):
    """Copies every page, and each file that one links to."""
    for page in links.pages(root):
        wanted = {page}
        for _, path, _ in links.links((root / page).read_text(encoding="utf-8")):
            target = links.target_of(root, page, path)
            if target is not None and (root / target).is_file():
                wanted.add(target)
        for path in wanted:
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, to / path)


def link_to_reference(page):
    """Links the copy of the page to the pages of Doxygen, which the repository does not have."""
    title, _, rest = page.read_text(encoding="utf-8").partition("\n")
    page.write_text(f"{title}\n\n**[All classes and functions]({API}/annotated.html)**, by "
                    f"[name]({API}/classes.html), with [all functions]({API}/functions.html).\n{rest}", encoding="utf-8")


def make_site(root):
    source = root / SOURCE
    shutil.rmtree(source, ignore_errors=True)
    copy_pages(root, source)
    make_reference(root, source / REFERENCE / API)
    link_to_reference(source / REFERENCE / "index.md")
    # Not --quiet, which silences the warnings that make a strict build fail.
    run(root / TOOLS / "bin" / "mkdocs", "build", "--strict", "--clean", cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=tree.REPOSITORY,
                        help="the repository (default: this one)")
    parser.add_argument("--reference", action="store_true", help="only check the reference")
    options = parser.parse_args()
    messages = unnamed_headers(options.root)
    for message in messages:
        print(message)
    if options.reference:
        make_reference(options.root, options.root / BUILD / "reference")
    else:
        make_site(options.root)
        print(options.root / BUILD / "site" / "index.html")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
