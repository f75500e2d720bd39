"""Plots of a workload as SVG: the medians of each case, with lines from the least to the greatest.

A panel has the cases whose labels begin with the same word and whose unit is the same; they share
an axis, which is logarithmic. Ours is dark, the rivals are lighter. The plot brings its own paper,
so it can be read on a page of any colour. The same results give the same text.

Below the panels are the profiles, what was measured along something, such as a group's share along
its weight: of ours, for each case of one program case that has one, beside each other.
"""

import math
import statistics
from xml.sax.saxutils import escape, quoteattr

from harness import plan

# Pixels: the whole plot, its margin, and the column of the names of the cases.
WIDTH, MARGIN, LABELS = 860, 12, 170
LANE, GAP = 8, 8                        # height of a runtime in a case, and between two cases
LINE = 20                               # height of a line of text
# in front of a logarithmic axis, for values that are not above 0
ZERO = 30
LABELS_MAX = 9                          # of an axis
CURVE = 160                             # height of a profile

PAPER, INK, FAINT = "#ffffff", "#24292f", "#d8dee4"
OURS = "#0a3069"
RIVALS = ("#f0883e", "#54aeff", "#4ac26b", "#ff80c8", "#d4a72c", "#a475f9", "#39c5cf", "#8c959f")
# The shapes of the rivals, around the point 0, 0.
SHAPES = ("M-4 0L0 4L4 0L0 -4Z", "M-3 -3H3V3H-3Z", "M-4 3H4L0 -4Z", "M-4 -3H4L0 4Z")
DOT = "M-2 0A2 2 0 1 1 2 0A2 2 0 1 1 -2 0Z"
DISC = "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1 -4 0Z"


def group_of(label):
    """("one_shot", "P=1 W=2"), or ("", "C=20 W=2")."""
    first, _, rest = label.partition(" ")
    return ("", label) if "=" in first else (first, rest or first)


def number(value):
    return f"{value:,.10g}"


def at(pixels):
    return f"{pixels:.1f}"


class Axis:
    """A logarithmic axis, from the step of 1, 2, 5, 10 below the least value to the step above the
    greatest.
    What is not above 0 has a place before it."""

    def __init__(self, values, begin, end):
        above = [value for value in values if value > 0] or [1]
        self.begin, self.end = begin, end
        self.steps = self.steps_around(min(above), max(above), (1, 2, 5))
        if len(self.steps) > LABELS_MAX:
            self.steps = self.steps_around(min(above), max(above), (1,))
        self.first = begin + (ZERO if min(values) <= 0 else 0)
        self.scale = (end - self.first) / math.log(self.steps[-1] / self.steps[0])

    @staticmethod
    def steps_around(least, greatest, digits):
        # Of digits and exponents as text: 5e-2 has no rounding.
        found = [float(f"{digit}e{exponent}") for exponent in
                 range(math.floor(math.log10(least)) - 1, math.ceil(math.log10(greatest)) + 2) for digit in digits]
        begin = max(index for index, step in enumerate(found) if step <= least)
        end = min(index for index, step in enumerate(found) if step >= greatest and index > begin)
        return found[begin:end + 1]

    def place(self, value):
        return self.begin if value <= 0 else self.first + self.scale * math.log(value / self.steps[0])

    def labels(self):
        """(place, text)"""
        zero = [(self.begin, "≤ 0")] if self.first > self.begin else []
        return zero + [(self.place(step), number(step)) for step in self.steps]


class Drawing:
    def __init__(self):
        self.parts, self.y = [], MARGIN

    def text(self, x, y, text, anchor="start", more=""):
        self.parts.append(f'<text x="{at(x)}" y="{at(y)}" text-anchor="{anchor}"{more}>{escape(text)}</text>')

    def line(self, x, y, to_x, to_y, colour, width):
        self.parts.append(f'<path d="M{at(x)} {at(y)}L{at(to_x)} {at(to_y)}" stroke="{colour}" '
                          f'stroke-width="{width}"/>')

    def mark(self, x, y, style, title=""):
        colour, shape = style
        named = f"<title>{escape(title)}</title>" if title else ""
        self.parts.append(f'<path class="mark" transform="translate({at(x)} {at(y)})" d="{shape}" '
                          f'fill="{colour}">{named}</path>')

    def legend(self, styles):
        x = MARGIN
        for runtime, style in styles.items():
            width = 26 + 7.5 * len(runtime)     # wider than any letter at this size
            if x + width > WIDTH:
                x, self.y = MARGIN, self.y + LINE
            self.mark(x + 5, self.y + 8, style)
            self.text(x + 14, self.y + 12, runtime)
            x += width
        self.y += LINE + GAP

    def panel(self, name, unit, results, styles):
        values = [value for result in results for runtime in result.measured() for value in result.values(runtime)]
        axis = Axis(values, LABELS, WIDTH - 3 * MARGIN)
        self.text(MARGIN, self.y + 12, f"{name}, {unit}" if name else unit, more=' font-weight="bold"')
        for place, label in axis.labels():
            self.text(place, self.y + 12, label, "middle")
        self.y += LINE
        end = self.y + sum(LANE * len(result.measured()) + GAP for result in results)
        for place, _ in axis.labels():
            self.line(place, self.y, place, end, FAINT, 1)
        for result in results:
            self.line(MARGIN, self.y, axis.end, self.y, FAINT, 1)
            self.case(result, axis, styles)
        self.y += LINE

    def case(self, result, axis, styles):
        runtimes = result.measured()
        self.text(LABELS - 2 * MARGIN, self.y + (LANE * len(runtimes) + GAP) / 2 + 4,
                  group_of(result.case.label)[1], "end")
        for lane, runtime in enumerate(runtimes):
            values, y = result.values(runtime), self.y + GAP / 2 + LANE * (lane + 0.5)
            least, middle, greatest = min(values), statistics.median(values), max(values)
            self.line(axis.place(least), y, axis.place(greatest), y, styles[runtime][0], 2)
            self.mark(axis.place(middle), y, styles[runtime], f"{result.case.label}, {runtime}: {number(middle)} "
                      f"{result.samples[runtime][0].unit}, {number(least)} to {number(greatest)}")
        self.y += LANE * len(runtimes) + GAP

    def profiles(self, results):
        """The profiles of the cases of one kind, beside each other, with one axis."""
        curves = [curve_of(result) for result in results]
        along, what = curves[0][0].along, curves[0][0].what
        values = [value for _, points in curves for _, found in points for value in found]
        begin_y, end = self.y + LINE + GAP, self.y + LINE + GAP + CURVE
        axis = Axis(values, -end, -begin_y)     # it grows upwards
        self.text(MARGIN, self.y + 12, f"{group_of(results[0].case.label)[0]}: {what}", more=' font-weight="bold"')
        width = (WIDTH - 2 * MARGIN) / len(results)
        for index, (result, (_, points)) in enumerate(zip(results, curves)):
            begin, last = MARGIN + index * width + 60, MARGIN + (index + 1) * width - MARGIN
            for place, label in axis.labels():
                self.line(begin, -place, last, -place, FAINT, 1)
                self.text(begin - 6, -place + 4, label, "end")
            first, scale = points[0][0], (last - begin) / max(1e-9, points[-1][0] - points[0][0])
            for at_value, found in points:
                x, middle = begin + scale * (at_value - first), -axis.place(statistics.median(found))
                self.line(x, -axis.place(min(found)), x, -axis.place(max(found)), RIVALS[-1], 1)
                self.mark(x, middle, (OURS, DOT), f"{result.case.label}, {along} {number(at_value)}: "
                          f"{number(statistics.median(found))}, {number(min(found))} to {number(max(found))}")
            self.text(begin, end + 16, f"{along} {number(first)}")
            self.text(last, end + 16, number(points[-1][0]), "end")
            self.text((begin + last) / 2, end + 16, group_of(result.case.label)[1], "middle")
        self.y = end + 2 * LINE

    def finished(self, title):
        height = self.y - LINE + MARGIN
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label={quoteattr(title)} '
                f'font-family="sans-serif" font-size="12" fill="{INK}">\n'
                f'<rect width="{WIDTH}" height="{height}" rx="6" fill="{PAPER}"/>\n' + "\n".join(self.parts) +
                "\n</svg>\n")


def styles_of(results):
    """A colour and a shape for each runtime; no two have both."""
    rivals = [runtime for runtime in dict.fromkeys(runtime for result in results for runtime in result.measured())
              if runtime != plan.OURS]
    return {plan.OURS: (OURS, DISC)} | {
        runtime: (RIVALS[index % len(RIVALS)], SHAPES[(index + index // len(RIVALS)) % len(SHAPES)])
        for index, runtime in enumerate(rivals)}


def curve_of(result):
    """The profile of Fairlead, and its points in all turns: [(at, [value])]."""
    found = [sample.profile for sample in result.samples[plan.OURS]]
    return found[0], [(same[0][0], [value for _, value in same]) for same in zip(*(each.points for each in found))]


def has_curve(result):
    samples = result.samples.get(plan.OURS)
    return bool(samples) and all(sample.profile is not None for sample in samples)


def plot(workload, results):
    """The plot of the published results; None without any."""
    panels = {}
    for result in results:
        if result.measured() and result.is_published():
            unit = result.samples[result.measured()[0]][0].unit
            panels.setdefault((group_of(result.case.label)[0], unit), []).append(result)
    if not panels:
        return None
    drawing, styles = Drawing(), styles_of([result for found in panels.values() for result in found])
    drawing.legend(styles)
    for (name, unit), found in panels.items():
        drawing.panel(name, unit, found, styles)
    for found in panels.values():
        if curves := [result for result in found if has_curve(result)]:
            drawing.profiles(curves)
    return drawing.finished(f"{workload}: medians, and from the least to the greatest, of each case")
