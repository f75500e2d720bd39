#!/usr/bin/env python3
"""Lets compilers read all code of this repository, and prints what they warn of.

    tools/parse_all.py [COMPILER ...]

The default compilers are clang++-16 and clang++-19, if they are installed.
The compilers parse and generate nothing, which takes a quarter of the time of a build: the warnings
of clang are all found by then. GCC finds some only when it optimises; for these there is the preset
release, and the test package_subdirectory with -O3.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import tree

COMPILERS = ("clang++-16", "clang++-19")
WITH_ARGUMENT = {"-o", "-MF", "-MT"}
DROPPED = {"-MD", "-c"}


def parsing(command):
    """Turns a command of the build into a command that only parses, with warnings as errors."""
    words, result = shlex.split(command), []
    while words:
        word = words.pop(0)
        if word in WITH_ARGUMENT:
            words.pop(0)
        elif word not in DROPPED:
            result.append(word)
    return [*result, "-Werror", "-fsyntax-only"]


def own_files(commands, root):
    """{file: entry}, one for each source file below the root that is not generated."""
    found = {}
    for entry in commands:
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(root) and not path.is_relative_to(root / "build"):
            found.setdefault(path, entry)
    return found


def configure(root, compiler, folder):
    subprocess.run(["cmake", "-S", str(root), "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                    f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
                    "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_CXX_COMPILER_LAUNCHER=",
                    "-DFAIRLEAD_UNITY_TESTS=OFF"],
                   check=True, capture_output=True)
    return json.loads(pathlib.Path(folder, "compile_commands.json").read_text(encoding="utf-8"))


def read_all(files, jobs):
    """The output of the compiler: a text for each file with warnings or errors."""
    def read(entry):
        done = subprocess.run(parsing(entry["command"]), cwd=entry["directory"], capture_output=True, text=True,
                              check=False)
        return done.stderr.strip() or ("the compiler failed" if done.returncode else "")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [said for said in pool.map(read, files.values()) if said]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("compilers", nargs="*")
    options = parser.parse_args()
    compilers = options.compilers or [each for each in COMPILERS if shutil.which(each)]
    if not compilers:
        print(f"parse_all: none of {', '.join(COMPILERS)} is installed", file=sys.stderr)
        return 2
    failed = False
    for compiler in compilers:
        with tempfile.TemporaryDirectory() as folder:
            files = own_files(configure(tree.REPOSITORY, compiler, folder), tree.REPOSITORY)
            said = read_all(files, options.jobs)
        failed |= bool(said)
        print("\n".join(said), end="\n" if said else "")
        print(f"{compiler}: {len(files)} files, {len(said)} with warnings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
