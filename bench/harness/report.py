"""Tables: for the terminal, and for bench/results/."""

import statistics

from harness import machine, plan


def number(value):
    """Three digits that matter."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def marks(result):
    found = []
    if result.is_noisy():
        found.append(f"spread up to {100 * result.worst_spread():.0f} %")
    if result.foreign_share > machine.BUSY_SHARE:
        found.append(f"others used {100 * result.foreign_share:.0f} %")
    return found


def contention(result, runtime):
    """How often threads met, of a queue that was counted. Ours is counted in a twin of its own."""
    counted = plan.COUNTED if runtime == plan.OURS else runtime
    found = [1000 * sample.contended / sample.items
             for sample in result.samples.get(counted, ()) if sample.contended is not None]
    return [f"{number(statistics.median(found))} contended per 1,000"] if found else []


def beside(result, runtime):
    """The medians of what was measured besides the value."""
    samples = result.samples[runtime]
    return [f"{name} {number(statistics.median(each.beside[name][0] for each in samples))} {unit}"
            for name, (_, unit) in samples[0].beside.items()]


def resources(result, runtime):
    """CPU seconds per million items, and MiB at the peak."""
    samples = result.samples[runtime]
    return (number(statistics.median(1e6 * each.cpu_seconds / each.items for each in samples)),
            number(statistics.median(each.peak_rss_bytes / 2**20 for each in samples)))


def lines_of(result):
    """The columns of HEAD for each runtime, as texts."""
    lines = []
    for runtime in result.case.runtimes:
        if runtime == plan.COUNTED and runtime not in result.failures:
            continue
        values = result.values(runtime)
        if runtime in result.failures or not values:
            lines.append(("", runtime, "-", "", "", "", "", "",
                          result.failures.get(runtime, "not run")))
            continue
        ratio = None if runtime == plan.OURS else result.ratio(runtime)
        remarks = marks(result) if runtime == plan.OURS else []
        if ratio is not None and ratio < 1:
            remarks.append("faster than ours")
        remarks += beside(result, runtime) + contention(result, runtime)
        lines.append(("", runtime, number(statistics.median(values)), number(min(values)),
                      number(max(values)), "" if ratio is None else f"{ratio:.2f}",
                      *resources(result, runtime), ", ".join(remarks)))
    if lines:
        lines[0] = (result.case.label, *lines[0][1:])
    return lines


HEAD = ("case", "runtime", "median", "min", "max", "ratio", "CPU s/M", "MiB", "")


def aligned(lines, to_the_left):
    """The lines as a text, with the columns `to_the_left` where they begin, the others to the right."""
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


def markdown_table(results):
    lines = ["| " + " | ".join(HEAD) + " |", "|---|---|" + "---:|" * (len(HEAD) - 3) + "---|"]
    lines += ["| " + " | ".join(line) + " |" for result in results for line in lines_of(result)]
    return "\n".join(lines)


def summary(results):
    """One line for each rival, and one for each case that it wins by more than it loses."""
    rivals = {}
    for result in results:
        for runtime in result.measured():
            ratio = result.ratio(runtime)
            if runtime != plan.OURS and ratio is not None:
                rivals.setdefault(runtime, []).append((ratio, result.case.label))
    lines = []
    for runtime, found in rivals.items():
        won = sum(ratio >= 1 for ratio, _ in found)
        worst, case = min(found)
        lines.append(f"{runtime}: ours is first in {won} of {len(found)}; "
                     f"median ratio {statistics.median(r for r, _ in found):.2f}, "
                     f"lowest {worst:.2f} ({case})")
    return lines


def counted(counts):
    """What ./do counts has found: a table for each section, whose paths have the same costs."""
    parts = [f"## Counted\n\nFor one operation, by `./do counts`, of {counts['build']}; see docs/performance.md.\n"]
    for section in dict.fromkeys(path["section"] for path in counts["paths"]):
        own = [path for path in counts["paths"] if path["section"] == section]
        heads = list(own[0]["costs"])
        lines = [f"| {section} | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
        lines += [f"| {path['name']} | {' | '.join(map(str, path['costs'].values()))} |" for path in own]
        parts.append("\n".join(lines) + "\n")
    return parts


def page(results, description, runs, counts=None):
    """The whole result file."""
    parts = ["# Benchmark results\n\nGenerated by `./do bench --report`; not edited. Ratios are "
             "the rival's median over Fairlead's: above 1, Fairlead is faster.\n"]
    parts.append("\n".join(f"- {what}: {value}" for what, value in description) +
                 f"\n- {runs} runs each, interleaved\n")
    parts.append("Where a rival has an advantage, and what to know:\n\n" +
                 "\n".join(f"- {remark}" for remark in plan.REMARKS) + "\n")
    for workload in dict.fromkeys(result.case.workload for result in results):
        own = [result for result in results if result.case.workload == workload]
        parts.append(f"## {workload}\n\n{plan.CAPTIONS[workload]}\n\n" +
                     "\n".join(f"- {line}" for line in summary(own)) +
                     f"\n\n{markdown_table(own)}\n")
    return "\n".join(parts + (counted(counts) if counts else []))
