"""From the samples of a case to the rows of the result file."""

import dataclasses
import json
import statistics

from harness import plan

FIELDS = ("workload", "case", "runtime", "value", "unit", "cpu_seconds", "peak_rss_bytes")
NOISY_SPREAD = 0.15


class ProtocolError(Exception):
    """A program printed something else than the agreed JSON object."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Measurements of a run over a variable: a curve of the plot."""
    along: str
    what: str       # with its unit
    points: tuple   # of (at, value)


@dataclasses.dataclass(frozen=True)
class Sample:
    value: float
    unit: str
    cpu_seconds: float
    peak_rss_bytes: int
    items: int
    contended: int | None = None
    total: float | None = None   # `value` is a small part of it; it shows how steady the run was

    beside: dict = dataclasses.field(default_factory=dict)   # {name: (value, unit)}
    profile: object = None      # a Profile, where there is one

    def steadiness(self):
        return self.value if self.total is None else self.total


def parse_sample(output, case):
    """The sample in the last line of a program's output."""
    lines = output.strip().splitlines()
    try:
        found = json.loads(lines[-1])
        missing = [field for field in FIELDS if field not in found]
    except (IndexError, ValueError, TypeError) as error:
        raise ProtocolError(f"no JSON object in {output[-80:]!r}") from error
    if not isinstance(found, dict) or missing:
        raise ProtocolError(f"fields are missing: {', '.join(missing)}")
    if (found["workload"], found["case"]) != (case.workload, case.program_case):
        raise ProtocolError(f"asked for {case.program_case}, got {found['case']}")
    try:
        beside = {name: (float(value), str(unit))
                  for name, (value, unit) in found.get("beside", {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ProtocolError(f"beside is {found['beside']!r}") from error
    return Sample(float(found["value"]), found["unit"], float(found["cpu_seconds"]),
                  int(found["peak_rss_bytes"]), int(found.get("items", 0)), found.get("contended"),
                  found.get("total"), beside, parse_profile(found.get("profile")))


def parse_profile(found):
    if found is None:
        return None
    try:
        return Profile(str(found["along"]), str(found["what"]),
                       tuple((float(at), float(value)) for at, value in found["points"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"profile is {found!r}") from error


def spread(values):
    """(max - min) / median; 0 for one value."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle > 0 else 0.0


@dataclasses.dataclass(frozen=True)
class Run:
    """A run of `./do bench --report`: its options and its machine."""
    options: str        # beside the workloads, as "--threads 1,2"
    repetitions: int
    machine: dict       # {what: value}, the commit among them


@dataclasses.dataclass
class Result:
    """The samples of one case, {runtime: [Sample]} in the order of the turns, and the failures,
    {runtime: reason}."""
    case: plan.Case
    samples: dict = dataclasses.field(default_factory=dict)
    failures: dict = dataclasses.field(default_factory=dict)
    foreign_share: float = 0.0   # of the processors, used by other processes meanwhile
    seconds: float = 0.0
    repeats: int = 0             # how often the case was measured again; this is the calmest
    run: Run | None = None       # which one it is of, if it is kept

    def values(self, runtime):
        return [sample.value for sample in self.samples.get(runtime, ())]

    def worst_spread(self):
        return max((spread([sample.steadiness() for sample in self.samples[runtime]])
                    for runtime in self.measured()), default=0.0)

    def measured(self):
        return [runtime for runtime in self.case.runtimes
                if self.samples.get(runtime) and runtime != plan.COUNTED]

    def is_noisy(self):
        return self.worst_spread() > NOISY_SPREAD

    def ratio(self, runtime):
        """The rival's median over ours; above 1, ours is faster. None: one of them is missing."""
        ours, theirs = self.values(plan.OURS), self.values(runtime)
        if not ours or not theirs or statistics.median(ours) <= 0:
            return None
        return statistics.median(theirs) / statistics.median(ours)

    def ratios(self, runtime):
        """The rival over ours in each turn, of which both were measured at about the same time. The
        ratio of the medians is never outside of them. Empty where one of them means nothing."""
        ours, theirs = self.values(plan.OURS), self.values(runtime)
        if min(ours, default=0) <= 0 or len(ours) != len(theirs):
            return []
        return [their / our for their, our in zip(theirs, ours)]

    def is_first(self, runtime):
        """Whether ours is not behind the rival."""
        return statistics.median(self.values(plan.OURS)) <= statistics.median(self.values(runtime))

    def rivals(self):
        """The runtimes beside ours that have the case, and a ratio. Floors are no runtimes, and
        variants of ours no rivals."""
        return [runtime for runtime in self.measured()
                if runtime not in plan.FLOORS and not runtime.startswith(plan.OURS) and self.ratio(runtime) is not None]

    def is_published(self):
        """A noisy case is if it was repeated, with its spread."""
        return self.repeats > 0 or not self.is_noisy()


def row(case, label, runtime, values, unit):
    return {"workload": case.workload, "case": label, "runtime": runtime,
            "median": statistics.median(values), "min": min(values), "max": max(values),
            "unit": unit, "runs": len(values)}


def rows_of(result):
    """The rows of one case: the time, and what was measured beside it."""
    case = result.case
    found = [row(case, case.label, runtime, result.values(runtime),
                 result.samples[runtime][0].unit) for runtime in result.measured()]
    for runtime in result.measured():
        samples = result.samples[runtime]
        for name, (_, unit) in samples[0].beside.items():
            found.append(row(case, f"{case.label}, {name}", runtime,
                             [sample.beside[name][0] for sample in samples], unit))
        if case.workload != "W1":
            continue
        found.append(row(case, case.label + ", cpu", runtime,
                         [sample.cpu_seconds * 1e6 / sample.items for sample in samples],
                         "CPU s per million tasks"))
        found.append(row(case, case.label + ", memory", runtime,
                         [sample.peak_rss_bytes / 2**20 for sample in samples], "MiB"))
    for runtime in case.runtimes:
        counted = [1000 * sample.contended / sample.items
                   for sample in result.samples.get(runtime, ()) if sample.contended is not None]
        if counted:
            name = plan.OURS if runtime == plan.COUNTED else runtime
            found.append(row(case, case.label + ", contended", name, counted,
                             "per thousand items"))
    return found
