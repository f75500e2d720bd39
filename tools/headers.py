#!/usr/bin/env python3
"""Checks that each public header compiles alone, and twice in one file, without a warning.

Also checks that a compiler with wrong options (C++17, C++20, no exceptions) first prints one
sentence that says what the library needs.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import tree

FLAGS = ["-std=c++2b", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
TOO_LITTLE = {
    "-std=c++17": "Fairlead needs C++23",
    "-std=c++20": "Fairlead needs C++23",
    "-std=c++2b -fno-exceptions": "Fairlead needs exceptions",
}


def compile_header(root, header, compiler, flags):
    """What the compiler says of two includes of one header; "" if it succeeds."""
    name = header.relative_to("include")
    source = f"#include <{name}>\n" * 2
    command = [*compiler.split(), *flags, "-fsyntax-only", f"-I{root / 'include'}", "-x", "c++", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return done.stderr.strip() or "the compiler failed" if done.returncode else ""


def does_not_say(said, sentence):
    """Why these messages differ from that sentence and the end of the compilation; "" if they do
    not."""
    errors = [line for line in said.splitlines() if "error:" in line]
    if not errors or sentence not in errors[0]:
        return f"the first error is not '{sentence}'"
    return f"{len(errors) - 2} errors after '{sentence}'" if len(errors) > 2 else ""


def complaint_about(root, header, compiler):
    """The first error of a header; "" if it has none."""
    if complaint := compile_header(root, header, compiler, FLAGS):
        return f"{header}:1: does not compile alone:\n{complaint}"
    for flags, sentence in TOO_LITTLE.items():
        said = compile_header(root, header, compiler, flags.split())
        if complaint := does_not_say(said, sentence):
            return f"{header}:1: with {flags}: {complaint}"
    return ""


def check(root, compiler, jobs):
    headers = [path for path in tree.code_files(root, ("include",)) if path.suffix == ".hpp"]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        complaints = pool.map(lambda header: complaint_about(root, header, compiler), headers)
        return [complaint for complaint in complaints if complaint]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=tree.REPOSITORY,
                        help="the repository to check (default: this one)")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    messages = check(options.root, options.compiler, options.jobs)
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
