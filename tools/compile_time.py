#!/usr/bin/env python3
"""Measures the time to compile a file with all of Fairlead, and one with all of Asio.

    ./do bench --compile-time [--runs N]

Processor time of the compiler, user and system, with -O0 and no precompiled header; the runs
alternate.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
# Asio of Boost 1.74 forgets this header.
FILES = {"fairlead/fairlead.hpp": "#include <fairlead/fairlead.hpp>\n",
         "boost/asio.hpp": "#include <utility>\n#include <boost/asio.hpp>\n"}


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


def line(header, seconds):
    return (f"{header:24} median {statistics.median(seconds):.2f} s   min {min(seconds):.2f} s   "
            f"max {max(seconds):.2f} s   of {len(seconds)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    for header, seconds in measure(options.compiler, FILES, options.runs).items():
        print(line(header, seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
