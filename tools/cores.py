#!/usr/bin/env python3
"""Plays the scenarios of tests/cores/ on simulated machines with many processors.

The whole library runs there, compiled with atomics that cost, on a virtual clock. So the figures
depend on the code, the costs in tests/cores/machines.toml and the seed, and not on this machine.
docs/internals/many_cores.md explains the tables.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tomllib

import tree

MACHINES = pathlib.Path("tests/cores/machines.toml")
FIGURES = pathlib.Path("tests/cores/figures.json")
PAGE = pathlib.Path("docs/internals/many_cores.md")

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128)
STEPS = (50, 200, 1_000, 10_000, 1_000_000)
GROUPS = (1, 8, 64, 1_000)
MANY = 16               # tasks of a worker
LIMIT_S = 300
REAL_RUNS = 15          # of which the best counts: other programs use the processors, too

# What a case keeps of the answer of the program.
KEPT = ("tasks", "window", "p50", "p99", "max", "rounds", "wakeups", "stolen", "changes", "near", "far", "remote",
        "stepping", "sleeping", "searching", "used")


class Failed(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Case:
    machine: str
    scenario: str
    policy: str
    step: int
    workers: int
    many: float = MANY
    groups: int = 0         # of the scenario `grouped`
    seed: int = 1

    def name(self):
        of_groups = f" groups={self.groups}" if self.groups else ""
        return (f"{self.machine} {self.scenario} {self.policy} {self.step} ns W={self.workers} many={self.many:g}" +
                of_groups)

    def arguments(self):
        # Every task has some turns before the window, and some in it.
        turn = max(self.many, 1) * self.step
        warm, window = max(4_000_000, 3 * turn), max(2_000_000, 6 * turn)
        of_groups = [f"groups={self.groups}"] if self.groups else []
        return [*of_groups, f"scenario={self.scenario}", f"policy={self.policy}", f"step={self.step}",
                f"workers={self.workers}", f"many={self.many}", f"seed={self.seed}", f"warm={warm}", f"window={window}"]


def read_machines(root):
    machines = tomllib.loads((root / MACHINES).read_text(encoding="utf-8"))
    return machines.pop("sources"), machines


def settings(machine):
    """The costs of a machine as arguments of the program."""
    of_l3, of_socket, of_machine = machine["shape"]
    costs = {name: value[0] for name, value in machine.items() if name not in ("name", "shape")}
    costs |= {"of_l3": of_l3, "of_socket": of_socket, "of_machine": of_machine}
    return [f"{name}={value}" for name, value in costs.items()]


def run(program, arguments):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{program} {' '.join(arguments)}: not over after {LIMIT_S} s") from error
    except FileNotFoundError as error:
        raise Failed(f"{program} is missing; ./do cores builds it") from error
    except subprocess.CalledProcessError as error:
        raise Failed(f"{program} {' '.join(arguments)}: {error.returncode}: {error.stderr.strip()}") from error
    return json.loads(done.stdout)


def simulate(build, machines, case):
    return run(build / "tests/cores/simulated", [*case.arguments(), *settings(machines[case.machine])])


# --- the cases ------------------------------------------------------------------------------------


def fitting(machines, machine):
    return [workers for workers in WORKERS if workers <= machines[machine]["shape"][2]]


def sections(machines):
    """The tables of the page: each has a name, and its cases."""
    def cases(machine, scenario, policy, steps, many=MANY):
        return [Case(machine, scenario, policy, step, workers, many)
                for step in steps for workers in fitting(machines, machine)]
    return {
        "chains": cases("epyc", "chains", "fair", STEPS),
        "chains stealing": cases("epyc", "chains", "stealing", STEPS[1:3]),
        "chains xeon": cases("xeon", "chains", "fair", STEPS[1:3]),
        "chains sixteen": cases("sixteen", "chains", "fair", STEPS[:3]),
        "pairs sixteen": cases("sixteen", "pairs", "fair", STEPS[1:3], 4),
        "groups sixteen": [Case("sixteen", "grouped", "fair", 200, workers, MANY, groups)
                           for groups in GROUPS for workers in fitting(machines, "sixteen")],
        "groups": [Case("epyc", "grouped", "fair", 200, workers, MANY, groups)
                   for groups in GROUPS for workers in fitting(machines, "epyc")],
        "few chains": cases("epyc", "chains", "fair", (10_000,), 0.5),
        "posts": cases("epyc", "posts", "fair", (200, 1_000)),
        "bursts": cases("epyc", "bursts", "fair", (1_000,), 1),
        "pairs": cases("epyc", "pairs", "fair", (200, 1_000), 4),
    }


# --- the page -------------------------------------------------------------------------------------


def ns(value):
    """A time with two digits: in ns, us or ms."""
    for unit, size in (("ms", 1e6), ("us", 1e3)):
        if value >= size:
            return f"{value / size:.2g} {unit}" if value < 100 * size else f"{value / size:.0f} {unit}"
    return f"{value:.0f} ns"


def cells(case, found):
    tasks = max(found["tasks"], 1)
    remote = found["far"] + found["remote"]
    return [ns(case.step), case.workers, f"{1e3 * found['tasks'] / found['window']:.3g}",
            f"{100 * found['stepping']:.0f} %", ns(found["p50"]), ns(found["p99"]), ns(found["max"]),
            f"{1e6 * found['rounds'] / found['window']:.3g}", f"{(remote + found['near']) / tasks:.1f}",
            f"{remote / tasks:.1f}", f"{100 * found['sleeping']:.0f} %", f"{100 * found['searching']:.0f} %"]


HEADS = ["step:", "workers:", "tasks, M/s:", "in steps:", "late, p50:", "p99:", "max:", "rounds, k/s:",
         "lines a task:", "of another L3:", "asleep:", "searching:"]


def figures_table(cases, figures):
    rows = [cells(case, figures[case.name()]) for case in cases]
    if not cases[0].groups:
        return "\n" + tree.table(HEADS, rows) + "\n"
    return "\n" + tree.table(["groups:", *HEADS], [[case.groups, *row] for case, row in zip(cases, rows)]) + "\n"


def costs_table(sources, machines):
    names = [name for name in machines["here"] if name not in ("name", "shape")]
    rows = [["processors of an L3, a socket, all", *(", ".join(map(str, each["shape"])) for each in machines.values())]]
    rows += [[f"`{name}`", *(f"{each[name][0]:g} ({each[name][1]})" for each in machines.values())] for name in names]
    listed = "".join(f"- *{name}*: {text}.\n" for name, text in sources.items())
    return "\n" + tree.table(["ns", *(each["name"] for each in machines.values())], rows) + "\n" + listed + "\n"


# The scenarios that this machine can play, too: what is compared, and the cases.
def compared():
    for workers in (1, 2):
        for step in (50, 200, 1_000, 10_000):
            yield Case("here", "chains", "fair", step, workers)
        for step in (200, 1_000):
            yield Case("here", "pairs", "fair", step, workers, 1)
        yield Case("here", "grouped", "fair", 200, workers, groups=8)
    yield Case("here", "chains", "stealing", 200, 1)
    yield Case("here", "chains", "stealing", 200, 2)
    yield Case("here", "posts", "fair", 1_000, 1)


def busy(case, found):
    """The time of processors that a task has taken, in ns. In the real run the thread of the
    scenario is in it, too; it sleeps, but for posts."""
    if "used" in found:
        return found["used"] / found["tasks"]
    threads = (1 - found["sleeping"]) * case.workers + (case.scenario == "posts")
    return threads * found["window"] / found["tasks"]


def validation_table(figures):
    rows = []
    for case in compared():
        real, model = figures["real " + case.name()], figures[case.name()]
        one, other = busy(case, real), busy(case, model)
        scenario = case.scenario if not case.groups else f"{case.scenario}, {case.groups} groups"
        rows.append([scenario, case.policy, ns(case.step), case.workers, f"{real['used'] / real['window']:.2f}",
                     f"{one:.0f} ns", f"{other:.0f} ns", f"{other / one:.2f}", ns(real["p50"]), ns(model["p50"]),
                     f"{1e3 * real['rounds'] / real['tasks']:.1f}", f"{1e3 * model['rounds'] / model['tasks']:.1f}"])
    return "\n" + tree.table(["scenario", "policy", "step:", "workers:", "processors had:", "busy, a task, real:",
                              "model:", "model/real:", "late, p50, real:", "model:", "rounds, 1000 tasks, real:",
                              "model:"], rows) + "\n"


def tables(root):
    """The tables of the page, by their names."""
    sources, machines = read_machines(root)
    figures = json.loads((root / FIGURES).read_text(encoding="utf-8"))
    found = {name: figures_table(cases, figures) for name, cases in sections(machines).items()}
    return found | {"costs": costs_table(sources, machines), "validation": validation_table(figures)}


def check_page(root):
    text = (root / PAGE).read_text(encoding="utf-8")
    for name, table in tables(root).items():
        if f"<!-- figures: cores {name} -->\n{table}<!-- /figures -->" not in text:
            yield f"{PAGE}: the table of {name} is not that of {FIGURES} and {MACHINES}; run ./do cores --write"


def write_page(root):
    for name, table in tables(root).items():
        tree.write_figures(root / PAGE, f"cores {name}", table)


def write_figures(root, found):
    """Replaces the figures of these cases; a line for each."""
    path = root / FIGURES
    figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    figures |= {name: {key: each[key] for key in KEPT if key in each} for name, each in found.items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in sorted(figures.items()))
    path.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


# --- running --------------------------------------------------------------------------------------


def simulate_all(build, machines, cases):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda case: simulate(build, machines, case), cases)
        return {case.name(): each for case, each in zip(cases, found, strict=True)}


def best_of_real(build, case):
    """The run that had most of the processors, of which other programs have a part."""
    found = [run(build / "tests/cores/real", [each for each in case.arguments() if not each.startswith("w")] +
                 [f"workers={case.workers}", "warm=20000000", "window=100000000"]) for _ in range(REAL_RUNS)]
    return max(found, key=lambda each: each["used"] / each["window"])


def facts(build, machines):
    """What holds whatever the machine is."""
    for scenario, many, groups in (("chains", 16, 0), ("grouped", 16, 8), ("posts", 4, 0), ("bursts", 1, 0),
                                   ("pairs", 1, 0)):
        for policy in ("fair", "stealing"):
            for workers in (1, 2, 8):
                case = Case("epyc", scenario, policy, 200, workers, many, groups)
                found = simulate(build, machines, case)
                yield from facts_of(case, found)
                if workers == 2:
                    if simulate(build, machines, case) != found:
                        yield f"{case.name()}: two runs with one seed differ"
                    if simulate(build, machines, dataclasses.replace(case, seed=2)) == found:
                        yield f"{case.name()}: two seeds make no difference"


# So much of their time workers spend in steps, at least. Below it rounds collect what workers could
# run themselves; far below it most workers sleep, as all tasks pass through the role.
FLOORS = {Case("epyc", "chains", "fair", 200, 16): 0.65, Case("epyc", "chains", "fair", 1_000, 64): 0.85,
          Case("epyc", "chains", "fair", 200, 64): 0.6, Case("epyc", "chains", "fair", 200, 128): 0.02,
          Case("epyc", "pairs", "fair", 200, 16, 4): 0.55,
          Case("sixteen", "grouped", "fair", 200, 4, groups=8): 0.45,
          Case("sixteen", "grouped", "fair", 200, 8, groups=1): 0.4,
          Case("sixteen", "grouped", "fair", 200, 16, groups=64): 0.3}


def floors(build, machines):
    for case, least in FLOORS.items():
        stepping = simulate(build, machines, case)["stepping"]
        if stepping < least:
            yield f"{case.name()}: workers are in steps for {stepping:.2f} of their time; the least is {least}"


def facts_of(case, found):
    if found["ran"] != found["begun"] or found["tasks"] == 0:
        yield f"{case.name()}: {found['ran']} tasks ran of {found['begun']}, {found['tasks']} in the window"
    shares = found["stepping"] + found["sleeping"] + found["searching"]
    if not 0 < shares < 1.2:  # a step that begins in the window may end after it
        yield f"{case.name()}: the workers spend {shares} of their time"
    # A worker counts itself as asleep and as awake by read-modify-writes of the word of `idle`.
    of_idle = found["parts"].get("idle", {"changes": 0})["changes"]
    if of_idle < 2 * max(found["wakeups"] - case.workers, 0):
        yield f"{case.name()}: {found['wakeups']} wake-ups, but {of_idle} changes of the word of idle"
    if case.workers == 1 and case.scenario == "chains" and found["near"] + found["far"] + found["remote"] > 100:
        yield f"{case.name()}: lines move, although one worker has all"


def show(build, machines, machine, arguments):
    found = run(build / "tests/cores/simulated", [*settings(machines[machine]), *arguments])
    for name, value in found.items():
        if name != "parts":
            print(f"{name:12} {value}")
    print()
    parts = sorted(found["parts"].items(), key=lambda part: -part[1]["waited"])
    tasks = max(found["tasks"], 1)
    for name, each in parts:
        print(f"{name:20} {each['changes'] / tasks:8.3f} changes a task {each['fetches'] / tasks:8.3f} lines a task "
              f"{100 * each['waited']:8.2f} % of the time of a worker")
    return 0


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=tree.REPOSITORY / "build/release",
                        help="the build folder (default: build/release)")
    parser.add_argument("--check", action="store_true",
                        help="small runs whose facts hold everywhere, and whether the page is in step")
    parser.add_argument("--write", action="store_true", help="all cases, into the page")
    parser.add_argument("--validate", action="store_true", help="also the cases that run on this machine itself")
    parser.add_argument("--show", nargs="+", metavar=("MACHINE", "NAME=VALUE"),
                        help="one case: what it counts, and which lines cost most")
    options = parser.parse_args(arguments)
    root, build = tree.REPOSITORY, options.build
    _, machines = read_machines(root)
    try:
        if options.show:
            return show(build, machines, options.show[0], options.show[1:])
        if options.check:
            messages = [*facts(build, machines), *floors(build, machines), *check_page(root)]
            print("\n".join(messages), end="\n" if messages else "")
            return 1 if messages else 0
        cases = [case for each in sections(machines).values() for case in each]
        found = simulate_all(build, machines, [*cases, *compared()])
        if options.validate:
            found |= {"real " + case.name(): best_of_real(build, case) for case in compared()}
        for name, each in found.items():
            print(f"{name:50} {1e3 * each['tasks'] / each['window']:8.3g} M/s, late {ns(each['p50'])}, {ns(each['p99'])}")
        if options.write:
            write_figures(root, found)
            write_page(root)
    except Failed as failed:
        print(f"cores: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
