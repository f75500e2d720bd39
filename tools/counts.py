#!/usr/bin/env python3
"""Counts what an operation of each hot path costs.

The costs are instructions, atomic accesses, readings of the clock, and cache lines.

bench/counts/ runs each path with two sizes; the difference, divided by the operations, is the cost.
Callgrind counts the instructions of one program. A second program, compiled with atomics that
count, counts the accesses. Lackey traces the hand-overs of two threads, and this tool counts the
cache lines that go between them. Nothing depends on the time or on the machine's load.
bench/counts/bounds.toml has what each may cost.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

import tree

BOUNDS = pathlib.Path("bench/counts/bounds.toml")
PAGE = pathlib.Path("docs/internals/performance.md")
MARKS = 3               # in each path: after the warm-up, after one size, after two sizes
DEARER = 1.02           # above this multiple of the bound the check fails
CHEAPER = 0.95          # below this multiple the check says that the bound can be lower

# What the second program counts: in its order, and in the order of the tables.
COUNTED = ("clock", "loads", "stores", "seq_cst", "rmw")
COSTS = ("instructions", "rmw", "seq_cst", "stores", "loads", "clock")
HANDOVERS = "handovers"  # the section whose paths move cache lines between two threads
BY_BUILD = ("instructions", "lines")    # costs that differ from compiler to compiler
DIGITS = {"instructions": 1, "lines": 1}  # after the point; other columns have 2

# What a processor may have beyond the first of x86-64, and the string functions of the C library
# look for.
NEWER = ("AVX2", "AVX_Fast_Unaligned_Load", "AVX512F", "AVX512VL", "ERMS", "FSRM", "SSSE3", "Fast_Unaligned_Copy",
         "Fast_Copy_Backward")

HEADER = """\
# What each hot path may cost, for one operation. `./do counts --write` writes this file. The test
# `counts` fails when a cost is more than 2 % above its bound. docs/internals/performance.md
# explains the rows.
#
# The bounds of instructions and lines apply to this build only, the other bounds to every build.
"""


@dataclasses.dataclass
class Path:
    section: str
    name: str
    costs: dict


class Failed(Exception):
    pass


# --- counting -------------------------------------------------------------------------------------


def run(command, **options):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout
    except FileNotFoundError as error:
        raise Failed(f"{error.filename} is missing; ./do counts installs and builds what it needs") from error
    except subprocess.CalledProcessError as error:
        raise Failed(f"{command[0]} failed with {error.returncode}: {error.stderr.strip()}") from error


def environment():
    """The environment of the programs. With it nothing depends on the machine: all symbols are
    bound at the start, and the C library does not choose its string functions by the processor."""
    return os.environ | {"LC_ALL": "C", "LD_BIND_NOW": "1",
                         "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={','.join(f'-{each}' for each in NEWER)}"}


def count_instructions(program, folder):
    """The output of the program, and the instructions between each two marks."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    said = run(["valgrind", "-q", "--tool=callgrind", "--dump-before=at_mark",
                f"--callgrind-out-file={folder / 'profile'}", program], env=environment())
    return json.loads(said), [total(path) for path in parts_in_order(folder)]


def parts_in_order(folder):
    return sorted(folder.glob("profile.*"), key=lambda path: int(path.suffix[1:]))


def total(part):
    found = re.search(r"^totals: (\d+)$", part.read_text(), re.MULTILINE)
    if not found:
        raise Failed(f"{part} has no totals: callgrind has changed its format")
    return int(found[1])


def costs_of(said, instructions, counted):
    """The paths with their costs, from what the two programs said and the instructions between the
    marks."""
    if [each["name"] for each in said["paths"]] != [each["name"] for each in counted["paths"]]:
        raise Failed("the two programs do not have the same paths: build both")
    if len(instructions) < MARKS * len(said["paths"]):
        raise Failed(f"{len(instructions)} parts of {MARKS * len(said['paths'])}: callgrind did not see the marks")
    operations = said["operations"]
    found = []
    for index, path in enumerate(counted["paths"]):
        _, one, two = instructions[MARKS * index:MARKS * (index + 1)]
        costs = {"instructions": (two - one) / operations}
        warm, one, two = path["marks"]
        for cost, *at in zip(COUNTED, warm, one, two):
            costs[cost] = ((at[2] - at[1]) - (at[1] - at[0])) / operations
        found.append(Path(path["section"], path["name"],
                          {cost: round(costs[cost], DIGITS.get(cost, 2)) + 0.0 for cost in COSTS}))
    return found


class Lines:
    """The cache lines of two threads: which of them has a copy. A transfer is an access that needs
    the other: a read of what only it has, or a write to what it has, too."""

    SIZE = 64

    def __init__(self, said):
        # Which thread runs: 0, or the bit of the thread.
        self.signs = {said["nobody"]: 0, said["first"]: 1, said["second"]: 2}
        self.mark = said["mark"]
        self.stacks = said["stacks"]
        self.at_work, self.transfers = 0, 0
        self.holders = {}
        self.marks = []

    def access(self, kind, address, size):
        """`kind` is a letter of lackey: L for a read, S for a write, M for both."""
        if address in self.signs:
            self.at_work = self.signs[address]
        elif address == self.mark:
            self.marks.append(self.transfers)
        elif self.at_work and not any(begin <= address < end for begin, end in self.stacks):
            for line in range(address // self.SIZE, (address + size - 1) // self.SIZE + 1):
                self.touch(line, kind != "L")

    def touch(self, line, writes):
        had = self.holders.get(line, 0)
        if (had & ~self.at_work) and (writes or not had & self.at_work):
            self.transfers += 1
        self.holders[line] = self.at_work if writes else had | self.at_work


def count_transfers(program):
    """The paths that two threads share, with the cache lines that go between them for each
    operation."""
    command = ["valgrind", "-q", "--tool=lackey", "--trace-mem=yes", program, "--handovers"]
    with tempfile.TemporaryFile("w+") as answer, \
            subprocess.Popen(command, stdout=answer, stderr=subprocess.PIPE, env=environment()) as traced:
        lines = None
        for line in traced.stderr:
            if not line.startswith(b" "):  # an instruction
                continue
            if lines is None:
                # It answers before it comes to the first path; until then there is nothing to
                # follow.
                if os.fstat(answer.fileno()).st_size == 0:
                    continue
                answer.seek(0)
                said = json.loads(answer.read())
                lines = Lines(said)
            kind, address, size = line[1:2], *line[3:].split(b",")
            lines.access(kind.decode(), int(address, 16), int(size))
        if traced.wait() != 0:
            raise Failed(f"{program} --handovers failed with {traced.returncode}")
    return handovers(said, lines.marks)


def handovers(said, marks):
    if len(marks) != MARKS * len(said["paths"]):
        raise Failed(f"{len(marks)} marks of {MARKS * len(said['paths'])}: lackey did not see them")
    found = []
    for index, path in enumerate(said["paths"]):
        warm, one, two = marks[MARKS * index:MARKS * (index + 1)]
        lines = ((two - one) - (one - warm)) / path["operations"]
        found.append(Path(HANDOVERS, path["name"], {"lines": round(lines, DIGITS["lines"])}))
    return found


def measure(build, output):
    """The name of the build, and its paths."""
    programs = build / "bench" / "counts"
    said, instructions = count_instructions(programs / "paths", output / "counts")
    counted = json.loads(run([programs / "atomics"], env=environment()))
    return said["build"], costs_of(said, instructions, counted) + count_transfers(programs / "paths")


# --- the bounds -----------------------------------------------------------------------------------


def costs_in(section):
    return ("lines",) if section == HANDOVERS else COSTS


def read_bounds(text):
    """The build, and the paths with their bounds."""
    bounds = tomllib.loads(text)
    return bounds.pop("build"), [Path(section, name, dict(zip(costs_in(section), costs, strict=True)))
                                 for section, paths in bounds.items() for name, costs in paths.items()]


def format_cost(cost, value):
    return f"{value:.{DIGITS.get(cost, 2)}f}"


def bounds_text(build, paths):
    lines = [HEADER + f'build = "{build}"']
    width = max(len(path.name) for path in paths) + 2
    for section in dict.fromkeys(path.section for path in paths):
        lines += ["", f"[{section}]  # {', '.join(costs_in(section))}"]
        for path in (path for path in paths if path.section == section):
            costs = ", ".join(format_cost(cost, value).rjust(7 if cost == "instructions" else 6)
                              for cost, value in path.costs.items())
            name = f'"{path.name}"'
            lines.append(f"{name.ljust(width)} = [{costs}]")
    return "\n".join(lines) + "\n"


def compare(paths, bounds, without=()):
    """Messages: (errors, bounds that can be lower). The costs in `without` are not compared."""
    wrong, loose = [], []
    bound_of = {path.name: path.costs for path in bounds}
    for path in paths:
        if path.name not in bound_of:
            wrong.append(f"{path.name}: has no bound")
            continue
        for cost in (cost for cost in path.costs if cost not in without):
            value, bound = path.costs[cost], bound_of[path.name][cost]
            half_a_digit = 0.5 * 10 ** -DIGITS.get(cost, 2)
            said = f"{path.name}: {format_cost(cost, value)} {cost}, the bound is {format_cost(cost, bound)}"
            if value > DEARER * bound + half_a_digit:
                wrong.append(said)
            elif value < CHEAPER * bound - half_a_digit:
                loose.append(f"{said}: the bound can be lower")
    measured = {path.name for path in paths}
    wrong += [f"{name}: has a bound, and is not measured" for name in bound_of if name not in measured]
    return wrong, loose


# --- the page, and the terminal -------------------------------------------------------------------

HEADS = {"instructions": "instructions", "rmw": "RMW", "seq_cst": "seq_cst stores", "stores": "other stores",
         "loads": "loads", "clock": "clock", "lines": "cache lines"}


def cells(path):
    return [path.name, *(format_cost(cost, value) if value else "" for cost, value in path.costs.items())]


def page_table(paths, section):
    heads = ["", *(f"{HEADS[cost]}:" for cost in costs_in(section))]
    return "\n" + tree.table(heads, [cells(path) for path in paths if path.section == section]) + "\n"


def check_page(text, bounds):
    for section in dict.fromkeys(path.section for path in bounds):
        if f"<!-- figures: counts {section} -->\n{page_table(bounds, section)}<!-- /figures -->" not in text:
            yield f"{PAGE}: the table of {section} is not that of {BOUNDS}; run ./do counts --write"


def write(root, build, paths):
    (root / BOUNDS).write_text(bounds_text(build, paths))
    for section in dict.fromkeys(path.section for path in paths):
        tree.write_figures(root / PAGE, f"counts {section}", page_table(paths, section))


def text_table(paths):
    """The table for the terminal and for the report of the benchmarks."""
    texts = []
    for section in dict.fromkeys(path.section for path in paths):
        lines = [[section, *(HEADS[cost] for cost in costs_in(section))]]
        lines += [cells(path) for path in paths if path.section == section]
        widths = [max(map(len, column)) for column in zip(*lines)]
        texts += ["  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in
                                                         zip(line[1:], widths[1:]))]).rstrip() for line in lines] + [""]
    return "\n".join(texts)


# --- the processor's own counters -----------------------------------------------------------------

EVENTS = ("instructions:u", "cycles:u")
OPERATIONS_OF_A_RUN = 5     # times its size: the warm-up of two, then one, then two
SIZES = (1 << 18, 1 << 20)


def counters(text):
    """The events that `perf stat -x,` has counted."""
    found = {}
    for line in text.splitlines():
        value, _, event, *_ = [*line.split(","), "", ""]
        if event in EVENTS and value.isdigit():
            found[event] = int(value)
    return found


def perf(program, name):
    """Instructions and cycles for one operation; None where perf or the processor's counters cannot
    be had."""
    seen = []
    for size in SIZES:
        try:
            done = subprocess.run(["perf", "stat", "-x,", "-e", ",".join(EVENTS), program, "--only", name,
                                   "--size", str(size)], capture_output=True, text=True)
        except FileNotFoundError:
            return None
        seen.append(counters(done.stderr))
        if set(seen[-1]) != set(EVENTS):
            return None
        if done.returncode != 0:
            raise Failed(f"{program} --only {name!r} failed with {done.returncode}: {done.stderr.strip()}")
    operations = OPERATIONS_OF_A_RUN * (SIZES[1] - SIZES[0])
    return [(seen[1][event] - seen[0][event]) / operations for event in EVENTS]


def print_counters(program):
    names = [path["name"] for path in json.loads(run([program, "--size", "256"]))["paths"]]
    for name in names:
        found = perf(program, name)
        if found is None:
            print("counts: perf cannot have the processor's counters here, as in most virtual machines",
                  file=sys.stderr)
            return 1
        print(f"{found[0]:8.1f} instructions {found[1]:8.1f} cycles  {name}")
    return 0


def own_instructions(part):
    """For each function of a part of the profile the instructions of its own, without what it
    calls."""
    name_of, found, function, is_call = {}, collections.Counter(), "", False
    for line in part.splitlines():
        named = re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line)
        if named:
            name_of.setdefault(named[1], named[2])
            if line.startswith("fn"):
                function = name_of[named[1]]
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[+*\d-]", line):
            if not is_call:
                found[function] += int(line.split()[1])
            is_call = False
    return found


def print_profile(name, said, folder):
    """The functions in which the largest part of a path spends the instructions of an operation."""
    names = [path["name"] for path in said["paths"]]
    if name not in names:
        raise Failed(f"there is no path {name!r}; ./do counts lists them")
    part = parts_in_order(folder)[MARKS * names.index(name) + MARKS - 1]
    for function, count in own_instructions(part.read_text()).most_common():
        each = count / (2 * said["operations"])
        if each >= 0.1:
            print(f"{each:8.1f}  {shortened(function)}")


def shortened(function):
    """Shortens the name of a coroutine's body, which repeats the name and the type."""
    return re.sub(r"\(([\w:]|\(anonymous namespace\)|<.*>)+\(.*Frame\*\)", " (the coroutine)", function)[:100]


# --- the command ----------------------------------------------------------------------------------


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="./do counts", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help=f"compare with {BOUNDS} and {PAGE}")
    parser.add_argument("--write", action="store_true", help="write both, and say which bounds are now higher")
    parser.add_argument("--profile", metavar="PATH", help="the functions in which a path spends its instructions")
    parser.add_argument("--perf", action="store_true", help="instructions and cycles by perf stat, where it can count")
    parser.add_argument("--build", type=pathlib.Path, default=tree.REPOSITORY / "build" / "release")
    parser.add_argument("--output", type=pathlib.Path, default=tree.REPOSITORY / "build" / "bench")
    options = parser.parse_args(arguments)
    try:
        return command(options)
    except Failed as failure:
        print(f"counts: {failure}", file=sys.stderr)
        return 1


def command(options):
    program = options.build / "bench" / "counts" / "paths"
    if options.perf:
        return print_counters(program)
    if options.profile:
        said, _ = count_instructions(program, options.output / "counts")
        print_profile(options.profile, said, options.output / "counts")
        return 0
    build, paths = measure(options.build, options.output)
    (options.output / "counts.json").write_text(
        json.dumps({"build": build, "paths": [dataclasses.asdict(path) for path in paths]}, indent=1) + "\n")
    bounds_file = tree.REPOSITORY / BOUNDS
    bounds_build, bounds = read_bounds(bounds_file.read_text()) if bounds_file.is_file() else (build, [])
    wrong, loose = compare(paths, bounds, () if build == bounds_build else BY_BUILD)
    if options.write:
        if wrong:
            print("dearer than before, or new:", *wrong, sep="\n  ")
        write(tree.REPOSITORY, build, paths)
        return 0
    if not options.check:
        print(text_table(paths))
        return 0
    if build != bounds_build:
        print(f"instructions and lines not compared: they are of {build}, the bounds of {bounds_build}")
    wrong += check_page((tree.REPOSITORY / PAGE).read_text(encoding="utf-8"), bounds)
    for message in [*wrong, *loose]:
        print(message)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
