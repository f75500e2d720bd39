#!/usr/bin/env python3
"""Measures the time to compile a file with all of Fairlead, and one with all of Asio.

    ./do bench --compile-time [--runs N] [--write]

Processor time of the compiler, user and system, with -O0 and no precompiled header; the runs
alternate. --write puts the figures into docs/manual/installing.md.

With --check it measures nothing. It counts the lines that the compiler reads, the same on every
machine, against a bound.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

import tree

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
# Asio of Boost 1.74 forgets this header.
FILES = {"fairlead/fairlead.hpp": "#include <fairlead/fairlead.hpp>\n",
         "boost/asio.hpp": "#include <utility>\n#include <boost/asio.hpp>\n"}
PAGE = REPOSITORY / "docs" / "manual" / "installing.md"
# Of code after the preprocessor with <fairlead/fairlead.hpp>, by GCC 12. With 76,500 lines a file
# takes 0.8 to 0.9 s of processor time; 1.0 s is wanted.
LINES_MAX = 86_000


def cpu_seconds(command):
    """The processor time of a command that must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def command_for(compiler, source, result):
    return [*compiler.split(), "-std=c++2b", "-O0", f"-I{REPOSITORY / 'include'}", "-c", str(source), "-o",
            str(result)]


def measure(compiler, files, runs):
    """{header: [seconds]}, the headers in turn."""
    found = {header: [] for header in files}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            for index, (header, text) in enumerate(files.items()):
                source = pathlib.Path(folder) / f"{index}.cpp"
                if number == 0:
                    source.write_text(text, encoding="utf-8")
                found[header].append(cpu_seconds(command_for(compiler, source, source.with_suffix(".o"))))
    return found


def lines_of(compiler, text):
    """How many lines the compiler reads for a file with this text."""
    done = subprocess.run([*compiler.split(), "-std=c++2b", "-E", "-P", f"-I{REPOSITORY / 'include'}", "-x", "c++", "-"],
                          input=text, capture_output=True, text=True, check=True)
    return done.stdout.count("\n")


def page(found):
    """The figures as a table."""
    rows = [[f"`<{header}>`", f"{statistics.median(seconds):.2f}", f"{min(seconds):.2f}", f"{max(seconds):.2f}",
             len(seconds)] for header, seconds in found.items()]
    return tree.table(["a file that includes", "median, s:", "min, s:", "max, s:", "runs:"], rows)


def line(header, seconds):
    return (f"{header:24} median {statistics.median(seconds):.2f} s   min {min(seconds):.2f} s   "
            f"max {max(seconds):.2f} s   of {len(seconds)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="write the table in docs/manual/installing.md")
    parser.add_argument("--check", action="store_true", help="only count the lines that the compiler reads")
    options = parser.parse_args()
    if options.check:
        header, text = next(iter(FILES.items()))
        lines = lines_of(options.compiler, text)
        print(f"{header}: {lines:,} lines; the limit is {LINES_MAX:,}")
        return int(lines > LINES_MAX)
    found = measure(options.compiler, FILES, options.runs)
    for header, seconds in found.items():
        print(line(header, seconds))
    if options.write:
        tree.write_figures(PAGE, "compile-time", page(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
