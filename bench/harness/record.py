"""The results of one machine, as JSON: every sample of every case, and the run that measured it.

The pages and plots are made of it. A run replaces the cases that it measured. The remaining cases
keep the name of their run, so that a long report can be measured in parts.
"""

import dataclasses
import json
import re

from harness import plan, rows

# Lists with an element for each turn.
MEASURED = ("value", "cpu_seconds", "peak_rss_bytes", "items", "contended", "total")
DEPTH = 4   # entries down to this depth have their own line: a case is one


@dataclasses.dataclass
class Record:
    results: dict = dataclasses.field(default_factory=dict)     # {workload: [Result]}
    captions: dict = dataclasses.field(default_factory=dict)    # {workload: meaning of its numbers}
    remarks: list = dataclasses.field(default_factory=list)
    counted: dict | None = None     # the results of ./do counts
    # The runs of the results, the newest last.
    runs: list = dataclasses.field(default_factory=list)

    def newest(self):
        return self.runs[-1]

    def add(self, results, run, complete):
        """Takes in what a run has measured. Of the workloads in `complete` it replaces all that
        there was."""
        for workload in dict.fromkeys(result.case.workload for result in results):
            found = {} if workload in complete else {
                result.case.label: result for result in self.results.get(workload, ())}
            for result in results:
                if result.case.workload == workload:
                    found[result.case.label] = dataclasses.replace(result, run=run)
            self.results[workload] = [found[label] for label in sorted(found, key=natural)]
            self.captions[workload] = plan.CAPTIONS[workload]
        order = [*plan.WORKLOADS, *self.results]
        self.results = dict(sorted(self.results.items(), key=lambda entry: order.index(entry[0])))
        self.remarks = list(plan.REMARKS)
        of_results = [result.run for found in self.results.values() for result in found]
        self.runs = [each for each in [*(old for old in self.runs if old != run), run] if each in of_results]


def natural(label):
    """Sorts P=2 before P=10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", label)]


# --- a case and its JSON --------------------------------------------------------------------------

def columns(samples):
    """The samples of one runtime: a list for each thing that was measured, whose n-th is of turn
    n."""
    found = {"unit": samples[0].unit}
    for name in MEASURED:
        values = [getattr(sample, name) for sample in samples]
        if values != [None] * len(values):
            found[name] = values
    if samples[0].beside:
        found["beside"] = {name: {"unit": unit, "value": [sample.beside[name][0] for sample in samples]}
                           for name, (_, unit) in samples[0].beside.items()}
    if samples[0].profile is not None:
        curve = samples[0].profile
        found["profile"] = {"along": curve.along, "what": curve.what, "at": [at for at, _ in curve.points],
                            "value": [[value for _, value in sample.profile.points] for sample in samples]}
    return found


def profile_of(found, turn):
    if "profile" not in found:
        return None
    curve = found["profile"]
    return rows.Profile(curve["along"], curve["what"], tuple(zip(curve["at"], curve["value"][turn])))


def samples_of(found):
    beside = found.get("beside", {})
    return [rows.Sample(unit=found["unit"], **{name: found[name][turn] for name in MEASURED if name in found},
                        beside={name: (each["value"][turn], each["unit"]) for name, each in beside.items()},
                        profile=profile_of(found, turn))
            for turn in range(len(found["value"]))]


def case_to_json(result, runs):
    case = result.case
    return {"case": case.label, "run": runs.index(result.run), "repeats": result.repeats,
            "used_by_others": round(result.foreign_share, 3), "seconds": round(result.seconds, 1),
            "program_case": case.program_case, "arguments": dict(case.arguments), "weight": case.weight,
            "runtimes": {runtime: columns(result.samples[runtime]) if result.samples.get(runtime)
                         else {"failure": result.failures.get(runtime, "not run")} for runtime in case.runtimes}}


def case_from_json(workload, found, runs):
    runtimes = found["runtimes"]
    case = plan.Case(workload, found["case"], found["program_case"], tuple(found["arguments"].items()),
                     tuple(runtimes), found["weight"])
    return rows.Result(case, {name: samples_of(each) for name, each in runtimes.items() if "failure" not in each},
                       {name: each["failure"] for name, each in runtimes.items() if "failure" in each},
                       found["used_by_others"], found["seconds"], found["repeats"], runs[found["run"]])


# --- the file -------------------------------------------------------------------------------------

def lines(value, depth=DEPTH, indent=""):
    """JSON with a line for each entry down to a depth."""
    if depth == 0 or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {lines(each, depth - 1, inner)}" for name, each in value.items()]
    else:
        parts = [lines(each, depth - 1, inner) for each in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{end}"


def text(record):
    return lines({
        "runs": [dataclasses.asdict(run) for run in record.runs],
        "remarks": record.remarks,
        "counted": record.counted,
        "workloads": {name: {"caption": record.captions[name],
                             "cases": [case_to_json(result, record.runs) for result in results]}
                      for name, results in record.results.items()}}) + "\n"


def parse(source):
    found = json.loads(source)
    runs = [rows.Run(**run) for run in found["runs"]]
    workloads = found["workloads"]
    return Record({name: [case_from_json(name, case, runs) for case in each["cases"]]
                   for name, each in workloads.items()},
                  {name: each["caption"] for name, each in workloads.items()},
                  found["remarks"], found["counted"], runs)


def read(path):
    """Reads the record of a machine; empty if there is none."""
    return parse(path.read_text(encoding="utf-8")) if path.is_file() else Record()
