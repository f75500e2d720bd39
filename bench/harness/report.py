"""Tables for the terminal and for the pages of bench/results/, made of the record of a machine."""

import statistics

from harness import machine, overview, plan, plot

TIMES = ("not repeated", "repeated once", "repeated twice")


def number(value):
    """A number with three significant digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def marks(result):
    found = []
    if result.is_noisy():
        found.append(f"spread up to {100 * result.worst_spread():.0f} %, {TIMES[result.repeats]}")
    if result.foreign_share > machine.BUSY_SHARE:
        found.append(f"others used {100 * result.foreign_share:.0f} %")
    return found


def contention(result, runtime):
    """How often threads met, for a queue that counts. Ours is counted in a program of its own."""
    counted = plan.COUNTED if runtime == plan.OURS else runtime
    found = [1000 * sample.contended / sample.items
             for sample in result.samples.get(counted, ()) if sample.contended is not None]
    return [f"{number(statistics.median(found))} contended per 1,000"] if found else []


def beside(result, runtime):
    """The medians of the measurements besides the value."""
    samples = result.samples[runtime]
    return [f"{name} {number(statistics.median(each.beside[name][0] for each in samples))} {unit}"
            for name, (_, unit) in samples[0].beside.items()]


def resources(result, runtime):
    """CPU seconds per million items, and MiB at the peak."""
    samples = result.samples[runtime]
    return (number(statistics.median(1e6 * each.cpu_seconds / each.items for each in samples)),
            number(statistics.median(each.peak_rss_bytes / 2**20 for each in samples)))


def by_turn(result, runtime):
    """The range of the ratio over the turns."""
    found = result.ratios(runtime)
    return f"{min(found):.2f} to {max(found):.2f}" if found else ""


def lines_of(result):
    """The columns of HEAD for each runtime, as texts."""
    lines = []
    for runtime in result.case.runtimes:
        if runtime == plan.COUNTED and runtime not in result.failures:
            continue
        values = result.values(runtime)
        if runtime in result.failures or not values:
            lines.append(("", runtime, "-", "", "", "", "", "", "",
                          result.failures.get(runtime, "not run")))
            continue
        ratio = None if runtime == plan.OURS else result.ratio(runtime)
        remarks = marks(result) if runtime == plan.OURS else []
        if ratio is not None and ratio < 1:
            remarks.append("faster than ours")
        remarks += beside(result, runtime) + contention(result, runtime)
        lines.append(("", runtime, number(statistics.median(values)), number(min(values)),
                      number(max(values)), *(("", "") if ratio is None else (f"{ratio:.2f}", by_turn(result, runtime))),
                      *resources(result, runtime), ", ".join(remarks)))
    if lines:
        lines[0] = (result.case.label, *lines[0][1:])
    return lines


HEAD = ("case", "runtime", "median", "min", "max", "ratio", "by turn", "CPU s/M", "MiB", "")


def aligned(lines, to_the_left):
    """The lines as a text. The columns `to_the_left` are aligned left, all other columns right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    texts = []
    for line in lines:
        cells = [cell.ljust(width) if column in to_the_left else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        texts.append("  ".join(cells).rstrip())
    return "\n".join(texts)


def text_table(results):
    """For the terminal: names to the left, numbers to the right."""
    lines = [HEAD] + [line for result in results for line in lines_of(result)]
    return aligned(lines, (0, 1, len(HEAD) - 1))


def markdown(heads, lines, texts=(0,)):
    """A table of Markdown, whose columns are of numbers but for `texts`."""
    rule = ["---" if column in texts else "---:" for column in range(len(heads))]
    return "".join(f"| {' | '.join(line)} |\n" for line in [heads, rule, *lines])


def standing(results):
    """{rival: ("47 of 48", median ratio, lowest ratio and its case)}: how often ours is first
    beside each."""
    found = {}
    for result in results:
        for runtime in result.measured():
            if runtime != plan.OURS and result.values(plan.OURS):
                found.setdefault(runtime, []).append(result)
    return {rival: (f"{sum(result.is_first(rival) for result in met)} of {len(met)}", *extremes(met, rival))
            for rival, met in found.items()}


def extremes(results, rival):
    ratios = [(ratio, result.case.label) for result in results if (ratio := result.ratio(rival)) is not None]
    if not ratios:
        return ("", "")
    lowest, case = min(ratios)
    return f"{statistics.median(ratio for ratio, _ in ratios):.2f}", f"{lowest:.2f} ({case})"


def summary(results):
    """One line for each rival."""
    return [f"{rival}: ours is first in {first}" + (f"; median ratio {middle}, lowest {lowest}" if middle else "")
            for rival, (first, middle, lowest) in standing(results).items()]


# --- the page of a machine ------------------------------------------------------------------------

HOW_TO_READ = """\
A ratio is the rival's median over Fairlead's: above 1, Fairlead is faster. The runtimes of a case take turns; *by turn*
is how far the ratio goes from one turn to another. *CPU s/M* are CPU seconds per million items, *MiB* is the memory
at its peak. A case whose spread, (max - min) / median of any of its runtimes, is above 15 % is measured again, up to
twice, and the calmest is published, with its spread. In plots Fairlead is the dark disc, and left is better.
"""


def page(name, record):
    """The whole page of the machine `name`. Its plots are in the folder of this name."""
    parts = ["# Benchmark results\n\nMade by `./do bench --report` of [every sample](" + name + ".json); not edited.\n",
             "## Summary\n\n" + picture(name, record) + summary_table(record) + "\n" + HOW_TO_READ,
             "## Where\n\n" + "".join(f"- {what}: {value}\n" for what, value in record.newest().machine.items()) +
             busy(record),
             "## What to know\n\nWhere a rival has an advantage, and where the runs differ from the definitions.\n\n" +
             "".join(f"- {remark}\n" for remark in record.remarks)]
    parts += [section(name, workload, results, record) for workload, results in record.results.items()]
    return "\n".join(parts + (counted(record.counted) if record.counted else []))


def overview_of(record):
    return overview.overview({workload: published(results) for workload, results in record.results.items()})


def picture(name, record):
    """The plot of all workloads, if it has a case."""
    return f"![{overview.TITLE}]({name}/overview.svg)\n\n" if overview_of(record) else ""


def published(results):
    return [result for result in results if result.is_published()]


def summary_table(record):
    lines = []
    for workload, results in record.results.items():
        commits = dict.fromkeys(earlier(result.run, record) or result.run.machine["commit"] for result in results)
        for rival, figures in standing(published(results)).items():
            lines.append((f"[{workload}](#{workload.lower()})", rival, *figures, ", ".join(commits)))
    return markdown(("workload", "rival", "ours is first in", "median ratio", "lowest", "commit"), lines, (0, 1, 4, 5))


def earlier(run, record):
    """The mark of a run that did not measure the newest commit; empty for a run that did."""
    commit = run.machine["commit"]
    return "" if commit == record.newest().machine["commit"] else f"**earlier: {commit}**"


def busy(record):
    shares = [result.foreign_share for results in record.results.values() for result in results]
    count = sum(share > machine.BUSY_SHARE for share in shares)
    return (f"- in {count} of {len(shares)} cases other programs used more than {100 * machine.BUSY_SHARE:.0f} % of "
            "the processors\n")


def section(name, workload, results, record):
    shown = published(results)
    lines = [f"## {workload}\n\n{record.captions[workload]}.\n\n{origins(workload, results, record)}"]
    withheld = [f"{result.case.label} ({100 * result.worst_spread():.0f} %)"
                for result in results if not result.is_published()]
    if withheld:
        lines.append(f"Not published, for their spread, and because they were not repeated: {'; '.join(withheld)}.\n")
    if shown:
        several = len({result.run.machine["commit"] for result in results}) > 1
        table = markdown(HEAD, [line for result in shown for line in
                                marked(lines_of(result), earlier(result.run, record) if several else "")],
                         (0, 1, len(HEAD) - 1))
        lines.append(f"![{workload}: the medians of each case]({name}/{workload.lower()}.svg)\n\n"
                     f"<details markdown><summary>All figures of {workload}</summary>\n\n{table}\n</details>\n")
    return "\n".join(lines)


def marked(lines, mark):
    """The lines of a case, with the mark beside the first."""
    first, *others = lines
    return [(*first[:-1], ", ".join(filter(None, (mark, first[-1])))), *others]


def origins(workload, results, record):
    """The runs of a section, and their differences from the newest run."""
    text = ""
    for run in reversed(record.runs):
        count = sum(result.run == run for result in results)
        differs = [f"; {what}: {value}" for what, value in run.machine.items()
                   if what != "commit" and record.newest().machine.get(what) != value]
        if count > 0:
            command = " ".join(filter(None, ("./do bench", workload, run.options)))
            commit = earlier(run, record) or f"commit {run.machine['commit']}"
            text += f"- `{command}`, at {commit}{''.join(differs)}; cases: {count}, runs of each: {run.repetitions}\n"
    return text


def counted(found):
    """The results of ./do counts: a table for each section, whose paths have the same costs."""
    parts = [f"## Counted\n\nFor one operation, of {found['build']}, at commit {found['commit']}: instructions, "
             "accesses of atomics, and cache lines that go from one processor to the other, as `./do counts --write` "
             "has written them. [Performance](../../docs/internals/performance.md) tells what they mean. "
             f"{found['cycles']}\n"]
    for name in dict.fromkeys(path["section"] for path in found["paths"]):
        own = [path for path in found["paths"] if path["section"] == name]
        parts.append(markdown((name, *own[0]["costs"]),
                              [(path["name"], *(f"{cost:.6g}" if cost else "" for cost in path["costs"].values()))
                               for path in own]))
    return parts


def files(name, record):
    """The files beside the JSON of a machine: {path in bench/results: text}."""
    found = {f"{name}.md": page(name, record)}
    for workload, results in record.results.items():
        drawn = plot.plot(workload, results)
        if drawn is not None:
            found[f"{name}/{workload.lower()}.svg"] = drawn
    if drawn := overview_of(record):
        found[f"{name}/overview.svg"] = drawn
    return found


def where(results):
    """The processors and the commits of these results, each in the order of its first."""
    def all_of(what):
        return list(dict.fromkeys(result.run.machine[what] for result in results))
    return f"on {' and on '.join(all_of('processor'))}, at commit {', '.join(all_of('commit'))}"


def figures(name, record):
    """For another page: the comparison with each rival over all workloads."""
    everything = [result for results in record.results.values() for result in results]
    renamed = [plan.dataclasses.replace(result, case=plan.dataclasses.replace(
        result.case, label=f"{workload} {result.case.label}"))
        for workload, results in record.results.items() for result in published(results)]
    table = markdown(("rival", "ours is first in", "median ratio", "lowest"),
                     [(rival, *found) for rival, found in standing(renamed).items()], (0, 3))
    return (f"\nBy `./do bench --report` {where(everything)}; a ratio above 1 says "
            f"that ours is faster. [All cases, with their spread](../../bench/results/{name}.md).\n\n{table}\n")


def firsts(name, record):
    """For another page: of each workload, in how many cases ours is first of all runtimes, by
    default and with policy::stealing, and which is first in each other case."""
    lines = []
    for workload, results in record.results.items():
        met = [(result, rivals) for result in published(results) if (rivals := result.rivals())]
        ahead = {}
        for result, rivals in met:
            ratio, first = min((result.ratio(rival), rival) for rival in rivals)
            if ratio < 1:
                ahead.setdefault(first, []).append((ratio, result.case.label))
        others = "; ".join(f"{rival}: " + ", ".join(f"{label} ({ratio:.2f})" for ratio, label in sorted(cases))
                           for rival, cases in ahead.items())
        if met:
            count = len(met) - sum(map(len, ahead.values()))
            lines.append((f"[{workload}](../../bench/results/{name}.md#{workload.lower()})",
                          f"{count} of {len(met)}", firsts_with_stealing(met), others))
    return "\n" + markdown(("workload", "ours is first in", "with `policy::stealing`",
                            "first in each other case, with its ratio"), lines, (0, 3)) + "\n"


def firsts_with_stealing(met):
    """In how many of the cases that have it; empty: in no case it was measured."""
    own = plan.STEALING
    both = [(result.ratio(own), min(map(result.ratio, rivals))) for result, rivals in met
            if own in result.measured() and result.ratio(own) is not None]
    return f"{sum(ratio <= best for ratio, best in both)} of {len(both)}" if both else ""


def figures_of(name, record, workload, kind=None):
    """For another page: the medians of a workload, a line for each case; or, of one kind of its
    cases, a line for each runtime, with what was measured beside. The kind "plot" is the plot of
    all."""
    found = [result for result in published(record.results.get(workload, ()))
             if kind in (None, "plot", result.case.program_case, plot.group_of(result.case.label)[0])]
    if not found:
        return f"\nNot measured yet: `./do bench {workload} --report`.\n\n"
    if kind == "plot":
        return f"\n![{workload}: the medians of each case](../../bench/results/{name}/{workload.lower()}.svg)\n\n"
    return (f"\n{table_of_runtimes(found) if kind is None else table_of_values(found)}\nMedians, by `./do bench {workload} "
            f"--report` {where(found)}: "
            f"[all figures](../../bench/results/{name}.md#{workload.lower()}).\n\n")


def table_of_runtimes(results):
    runtimes = list(dict.fromkeys(runtime for result in results for runtime in result.measured()))
    return markdown(("case", *runtimes),
                    [(f"{result.case.label}, {result.samples[result.measured()[0]][0].unit}",
                      *(number(statistics.median(result.values(runtime))) if result.values(runtime) else ""
                        for runtime in runtimes)) for result in results])


def table_of_values(results):
    names = list(dict.fromkeys(name for result in results for runtime in result.measured()
                               for name in result.samples[runtime][0].beside))
    return markdown(("case", "runtime", "median", "of the runs", *names),
                    [values_of(result, runtime, names) for result in results for runtime in result.measured()], (0, 1))


def values_of(result, runtime, names):
    values, samples = result.values(runtime), result.samples[runtime]
    others = [[sample.beside[name] for sample in samples if name in sample.beside] for name in names]
    return (result.case.label, runtime, f"{number(statistics.median(values))} {samples[0].unit}",
            f"{number(min(values))} to {number(max(values))}",
            *(f"{number(statistics.median(value for value, _ in each))} {each[0][1]}" if each else "" for each in others))
