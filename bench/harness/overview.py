"""One plot of all workloads: in each case the time of the fastest rival over that of Fairlead.

A row is a workload, a mark is a case. The axis is logarithmic; right of 1 Fairlead is first. A ring
is the same case with policy::stealing, where it was measured.
"""

from harness import plan, plot

TITLE = "In each case of each workload the time of the fastest rival over that of Fairlead"

ROW, COUNTS = 22, 70        # height of a workload, and the column of how often ours is first
AHEAD, BEHIND = (plot.OURS, plot.DISC), (plot.RIVALS[0], plot.SHAPES[0])
RING = "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1 -4 0ZM-3 0A3 3 0 1 0 3 0A3 3 0 1 0 -3 0Z"


def marks_of(result):
    """[(ratio, style, title)] of a case."""
    ratio, rival = min((result.ratio(rival), rival) for rival in result.rivals())
    found = [(ratio, AHEAD if ratio >= 1 else BEHIND, f"{result.case.label}, {plan.OURS}: {ratio:.2f} beside {rival}")]
    if stealing := result.ratio(plan.STEALING):
        ratio /= stealing
        found.insert(0, (ratio, (plot.OURS, RING), f"{result.case.label}, {plan.STEALING}: {ratio:.2f} beside {rival}"))
    return found


def overview(workloads):
    """The plot of {workload: [published result]}; None if no case has a rival."""
    rows = [(workload, met) for workload, results in workloads.items()
            if (met := [result for result in results if result.rivals()])]
    if not rows:
        return None
    drawing = plot.Drawing()
    drawing.legend({"first": AHEAD, "a rival is first": BEHIND, "with policy::stealing": (plot.OURS, RING)})
    found = {workload: [mark for result in met for mark in marks_of(result)] for workload, met in rows}
    axis = plot.Axis([1.0, *(ratio for marks in found.values() for ratio, *_ in marks)], plot.LABELS,
                     plot.WIDTH - plot.MARGIN - COUNTS)
    drawing.text(plot.MARGIN, drawing.y + 12, "rival / Fairlead", more=' font-weight="bold"')
    for place, label in axis.labels():
        drawing.text(place, drawing.y + 12, label, "middle")
    drawing.text(plot.WIDTH - plot.MARGIN, drawing.y + 12, "first in", "end", ' font-weight="bold"')
    drawing.y += plot.LINE
    end = drawing.y + ROW * len(rows)
    for place, label in axis.labels():
        drawing.line(place, drawing.y, place, end, plot.INK if label == "1" else plot.FAINT, 1)
    for workload, met in rows:
        middle = drawing.y + ROW / 2
        drawing.line(plot.MARGIN, drawing.y, axis.end, drawing.y, plot.FAINT, 1)
        drawing.text(plot.MARGIN, middle + 4, f"{workload} {plan.TITLES[workload]}")
        for ratio, style, title in found[workload]:
            drawing.mark(axis.place(ratio), middle, style, f"{workload} {title}")
        first = sum(all(result.is_first(rival) for rival in result.rivals()) for result in met)
        drawing.text(plot.WIDTH - plot.MARGIN, middle + 4, f"{first} of {len(met)}", "end")
        drawing.y += ROW
    drawing.y += plot.LINE
    return drawing.finished(TITLE)
