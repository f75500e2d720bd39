#!/usr/bin/env python3
"""Checks that each public header compiles alone, and twice in one file, without a warning."""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import tree

FLAGS = ["-std=c++2b", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def compile_alone(root, header, compiler):
    """The compiler's complaints about one header; "" if there are none."""
    name = header.relative_to("include")
    source = f"#include <{name}>\n" * 2
    command = [*compiler.split(), *FLAGS, f"-I{root / 'include'}", "-x", "c++", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return done.stderr.strip() or "the compiler failed" if done.returncode else ""


def check(root, compiler, jobs):
    headers = [path for path in tree.code_files(root, ("include",)) if path.suffix == ".hpp"]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        complaints = pool.map(lambda header: compile_alone(root, header, compiler), headers)
        return [f"{header}:1: does not compile alone:\n{complaint}"
                for header, complaint in zip(headers, complaints) if complaint]


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
