"""Tests of what ./do bench --report keeps and makes: the record, the pages, the plots, and the
check of them."""

import pathlib
import re
import sys
import unittest
from xml.etree import ElementTree

from temporary_tree import TemporaryTree

import results as check
from harness import overview, plan, plot, record, report, rows

SVG = "{http://www.w3.org/2000/svg}"


def run(commit="new1", options="", **more):
    return rows.Run(options, 3, {"processor": "one", "commit": commit} | more)


def result_of(label="callback P=1 W=1", workload="W1", unit="ns", of=None, **values):
    case = plan.Case(workload, label, "callback", (("workers", 1),), tuple(values), 1)
    samples = {runtime: [rows.Sample(value, unit, 0.5, 2**20, 1000) for value in found]
               for runtime, found in values.items()}
    return rows.Result(case, samples, run=of)


def record_of(*results, of=None):
    made = record.Record()
    made.add(results, of or run(), set())
    return made


def labels(made, workload="W1"):
    return [result.case.label for result in made.results[workload]]


class Ratios(unittest.TestCase):
    def test_a_ratio_goes_from_turn_to_turn(self):
        result = result_of(fairlead=[10, 20, 40], trivial=[30, 20, 20])
        self.assertEqual(result.ratios("trivial"), [3, 1, 0.5])
        self.assertEqual(report.by_turn(result, "trivial"), "0.50 to 3.00")
        self.assertIn("| 1.00 | 0.50 to 3.00 |", report.page("x", record_of_repeated(result)))

    def test_there_is_none_to_nothing(self):
        for ours, theirs in (([0, 1], [1, 1]), ([], [1]), ([1, 1], [1])):
            self.assertEqual(report.by_turn(result_of(fairlead=ours, trivial=theirs), "trivial"), "")

    def test_first_is_told_where_there_is_no_ratio(self):
        idle = result_of("idle", fairlead=[0], trivial=[400])
        self.assertEqual(report.standing([idle]), {"trivial": ("1 of 1", "", "")})
        self.assertEqual(report.summary([idle]), ["trivial: ours is first in 1 of 1"])

    def test_standing(self):
        found = [result_of("a", fairlead=[10], trivial=[25]), result_of("b", fairlead=[10], trivial=[5]),
                 result_of("c", fairlead=[10], trivial=[10], asio=[20])]
        self.assertEqual(report.standing(found), {"trivial": ("2 of 3", "1.00", "0.50 (b)"),
                                                  "asio": ("1 of 1", "2.00", "2.00 (c)")})


def record_of_repeated(*results):
    for result in results:
        result.repeats = 2
    return record_of(*results)


def result_with_profiles(label, *values):
    """Of ours, with a profile for each turn: its values at 1, 2, ..."""
    result = result_of(label, "W15", "%", fairlead=[5] * len(values))
    result.samples["fairlead"] = [
        plan.dataclasses.replace(sample, beside={"mean": (0.5, "%")},
                                 profile=rows.Profile("weight", "its share", tuple(enumerate(found, start=1))))
        for sample, found in zip(result.samples["fairlead"], values)]
    return result


class Records(unittest.TestCase):
    def test_json_has_profiles(self):
        made = record_of(result_with_profiles("shares W=1", (99, 101.5), (98, 102)))
        self.assertEqual(record.parse(record.text(made)), made)

    def test_json_has_every_sample(self):
        case = plan.Case("W9", "single W=2", "single", (("workers", 2), ("count", 300)),
                         ("fairlead", "asio", "tbb"), 7)
        samples = [rows.Sample(value, "us", 0.25, 4096, 300, 5, 900.5, {"p50": (value / 2, "ns")})
                   for value in (1.25, 3, 2)]
        result = rows.Result(case, {"fairlead": samples, "asio": samples[:1]}, {"tbb": "not built"}, 0.125, 2.5, 1)
        made = record_of(result)
        self.assertEqual(record.parse(record.text(made)), made)
        self.assertEqual(made.results["W9"][0].run, run())

    def test_a_case_is_a_line_of_the_file(self):
        text = record.text(record_of(result_of(fairlead=[1, 2], trivial=[3, 4]), result_of("x", fairlead=[1])))
        lines = [line for line in text.splitlines() if '"case": ' in line]
        self.assertEqual(len(lines), 2)
        self.assertIn('"trivial": {"unit": "ns", "value": [3, 4], "cpu_seconds": [0.5, 0.5], ', lines[0])

    def test_a_missing_file_is_an_empty_record(self):
        self.assertEqual(record.read(pathlib.Path("none.json")), record.Record())

    def test_a_part_takes_the_place_of_its_cases_only(self):
        made = record_of(result_of("a", fairlead=[1]), result_of("b", fairlead=[1]),
                         result_of("c", "W2", fairlead=[1]), of=run("old1"))
        made.add([result_of("b", fairlead=[2])], run(), set())
        self.assertEqual([(result.case.label, result.values("fairlead"), result.run.machine["commit"])
                          for result in made.results["W1"] + made.results["W2"]],
                         [("a", [1], "old1"), ("b", [2], "new1"), ("c", [1], "old1")])

    def test_a_complete_workload_leaves_nothing_of_the_former(self):
        made = record_of(result_of("a", fairlead=[1]), result_of("c", "W2", fairlead=[1]), of=run("old1"))
        made.add([result_of("b", fairlead=[2])], run(), {"W1"})
        self.assertEqual((labels(made), labels(made, "W2")), (["b"], ["c"]))

    def test_runs_that_nothing_is_of_are_forgotten_and_the_newest_is_the_last(self):
        made = record_of(result_of("a", fairlead=[1]), of=run("old1"))
        made.add([result_of("a", "W2", fairlead=[1])], run("old2"), set())
        made.add([result_of("a", fairlead=[1])], run("new1"), set())
        self.assertEqual([each.machine["commit"] for each in made.runs], ["old2", "new1"])
        made.add([result_of("b", fairlead=[1])], run("old2"), set())
        self.assertEqual([each.machine["commit"] for each in made.runs], ["new1", "old2"])

    def test_order(self):
        made = record_of(result_of("b P=10", "Q1", fairlead=[1]), result_of("b P=2", "Q1", fairlead=[1]),
                         result_of("a", "Q1", fairlead=[1]), result_of("x", "W10", fairlead=[1]),
                         result_of("x", "W2", fairlead=[1]))
        self.assertEqual(list(made.results), ["W2", "W10", "Q1"])
        self.assertEqual(labels(made, "Q1"), ["a", "b P=2", "b P=10"])


class Page(unittest.TestCase):
    def test_the_summary_comes_first(self):
        page = report.page("box", record_of(result_of(fairlead=[100], trivial=[250], asio=[50])))
        self.assertLess(page.index("## Summary"), page.index("## Where"))
        self.assertIn("| [W1](#w1) | trivial | 1 of 1 | 2.50 | 2.50 (callback P=1 W=1) | new1 |\n"
                      "| [W1](#w1) | asio | 0 of 1 | 0.50 | 0.50 (callback P=1 W=1) | new1 |\n", page)
        self.assertIn("| callback P=1 W=1 | fairlead | 100 | 100 | 100 |", page)
        self.assertIn("- processor: one\n- commit: new1\n- in 0 of 1 cases other programs", page)
        self.assertIn("- `./do bench W1`, at commit new1; cases: 1, runs of each: 3\n", page)
        self.assertIn("(box/w1.svg)", page)
        self.assertIn("(box.json)", page)
        self.assertNotIn("earlier", page)
        self.assertNotIn("Not published", page)

    def test_what_is_of_an_earlier_commit_is_marked(self):
        made = record_of(result_of("a", fairlead=[1], trivial=[2]), result_of("b", fairlead=[1]),
                         result_of("c", "W2", fairlead=[1], trivial=[2]), of=run("old1", kernel="5.0"))
        made.add([result_of("b", fairlead=[1], trivial=[2])], run(options="--cases b", kernel="6.1"), set())
        page = report.page("box", made)
        self.assertIn("| [W1](#w1) | trivial | 2 of 2 | 2.00 | 2.00 (a) | **earlier: old1**, new1 |\n"
                      "| [W2](#w2) | trivial | 1 of 1 | 2.00 | 2.00 (c) | **earlier: old1** |\n", page)
        self.assertIn("- `./do bench W1 --cases b`, at commit new1; cases: 1, runs of each: 3\n"
                      "- `./do bench W1`, at **earlier: old1**; kernel: 5.0; cases: 1, runs of each: 3\n", page)
        self.assertNotIn("cases: 0", page)
        self.assertRegex(page, r"\| a \| fairlead \|.*\| \*\*earlier: old1\*\* \|\n")
        self.assertRegex(page, r"\| b \| fairlead \|.*\|  \|\n")
        # The head of the section marks all its cases, so the row has no mark.
        self.assertRegex(page, r"\| c \| fairlead \|.*\|  \|\n")

    def test_parts_at_one_commit_are_not_marked(self):
        made = record_of(result_of("a", fairlead=[1]), of=run(options="--threads 1"))
        made.add([result_of("c", "W2", fairlead=[1])], run(), set())
        self.assertNotIn("earlier", report.page("box", made))

    def test_a_noisy_case_is_published_only_if_it_was_repeated(self):
        calm = result_of("calm", fairlead=[10], trivial=[20])
        noisy = result_of("noisy", fairlead=[50, 100], trivial=[1, 1])
        page = report.page("box", record_of(calm, noisy))
        self.assertIn("| trivial | 1 of 1 |", page)
        self.assertIn("not repeated: noisy (67 %).", page)
        self.assertNotIn("| noisy |", page)
        self.assertNotIn("noisy", report.files("box", record_of(calm, noisy))["box/w1.svg"])
        self.assertNotIn("box/w1.svg", report.files("box", record_of(noisy)))
        for repeats, said in ((1, "once"), (2, "twice")):
            noisy.repeats = repeats
            page = report.page("box", record_of(calm, noisy))
            self.assertIn("| trivial | 1 of 2 |", page)
            self.assertIn(f"spread up to 67 %, repeated {said}", page)

    def test_figures_of_a_workload_and_of_some_of_its_cases(self):
        made = record_of_repeated(result_of("callback W=1", fairlead=[10], trivial=[25]),
                                  result_of("one_shot W=1", unit="us", fairlead=[20], asio=[30]),
                                  result_with_profiles("shares W=1", (99, 101), (98, 102)))
        self.assertIn("| case | fairlead | trivial | asio |\n| --- | ---: | ---: | ---: |\n"
                      "| callback W=1, ns | 10.0 | 25.0 |  |\n| one_shot W=1, us | 20.0 |  | 30.0 |\n",
                      report.figures_of("box", made, "W1"))
        self.assertIn("| case | runtime | median | of the runs | mean |\n| --- | --- | ---: | ---: | ---: |\n"
                      "| shares W=1 | fairlead | 5.00 % | 5.00 to 5.00 | 0.50 % |\n",
                      report.figures_of("box", made, "W15", "shares"))
        self.assertIn("](../../bench/results/box/w15.svg)", report.figures_of("box", made, "W15", "plot"))
        self.assertIn("Not measured yet", report.figures_of("box", made, "W2"))

    def test_a_busy_machine_is_told(self):
        result = result_of(fairlead=[1])
        result.foreign_share = 0.2
        page = report.page("box", record_of(result, result_of("b", fairlead=[1])))
        self.assertIn("- in 1 of 2 cases other programs used more than 10 % of the processors\n", page)
        self.assertIn("others used 20 %", page)

    def test_counted_costs(self):
        made = record_of(result_of(fairlead=[1]))
        self.assertNotIn("Counted", report.page("box", made))
        made.counted = {"build": "GCC 12", "commit": "c0", "cycles": "No cycles.", "paths": [
            {"section": "posts", "name": "post", "costs": {"RMW": 2.01, "loads": 0.0, "instructions": 2583.7}},
            {"section": "handovers", "name": "wake", "costs": {"cache lines": 8.2}}]}
        page = report.page("box", made)
        self.assertIn("of GCC 12, at commit c0: ", page)
        self.assertIn("No cycles.", page)
        self.assertIn("| posts | RMW | loads | instructions |\n| --- | ---: | ---: | ---: |\n"
                      "| post | 2.01 |  | 2583.7 |\n\n"
                      "| handovers | cache lines |\n| --- | ---: |\n| wake | 8.2 |\n", page)

    def test_figures_for_another_page(self):
        text = report.figures("box", record_of(result_of("a", fairlead=[1], trivial=[2]),
                                               result_of("a", "W2", fairlead=[2], trivial=[1])))
        self.assertIn("on one, at commit new1;", text)
        self.assertIn("| trivial | 1 of 2 | 1.25 | 0.50 (W2 a) |\n", text)

    def test_figures_of_two_machines_name_both(self):
        made = record_of(result_of("a", fairlead=[1], trivial=[2]), of=run("old1", processor="two"))
        made.add([result_of("b", "W2", fairlead=[1], trivial=[2])], run(), set())
        self.assertIn("on two and on one, at commit old1, new1;", report.figures("box", made))
        self.assertIn("on two, at commit old1: ", report.figures_of("box", made, "W1"))

    def test_who_is_first_in_each_case(self):
        text = report.firsts("box", record_of(
            result_of("a", fairlead=[1], trivial=[2]),
            result_of("b", fairlead=[2], trivial=[1], asio=[3]),
            result_of("c", fairlead=[4], trivial=[3], asio=[2]),
            result_of("d", fairlead=[4], serial=[1], fairlead_stealing=[2], asio=[4]),
            result_of("e", fairlead=[4], fairlead_stealing=[2], asio=[1]),
            result_of("a", "W4", fairlead=[1], asio=[2]),
            result_of("a", "W5", fairlead=[2], serial=[1])))
        self.assertIn("| [W1](../../bench/results/box.md#w1) | 2 of 5 | 1 of 2 | "
                      "trivial: b (0.50); asio: e (0.25), c (0.50) |\n", text)
        self.assertIn("| [W4](../../bench/results/box.md#w4) | 1 of 1 |  |  |\n", text)
        self.assertNotIn("W5", text)


def luminance(colour):
    """Of sRGB, as WCAG 2 has it."""
    channels = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
                        for channel in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class Overview(unittest.TestCase):
    def drawn(self, **workloads):
        return ElementTree.fromstring(overview.overview(workloads))

    def marks(self, image):
        """{title: (x, colour)}"""
        return {mark.find(SVG + "title").text:
                (float(re.match(r"translate\(([\d.]+)", mark.get("transform"))[1]), mark.get("fill"))
                for mark in image.iter(SVG + "path") if mark.find(SVG + "title") is not None}

    def test_a_mark_is_where_the_ratio_to_the_fastest_rival_is(self):
        image = self.drawn(W1=[result_of("callback P=1", fairlead=[10], trivial=[50], moodycamel=[20]),
                               result_of("callback P=2", fairlead=[20], trivial=[10])])
        ticks = {text.text: float(text.get("x")) for text in image.iter(SVG + "text")}
        self.assertEqual(self.marks(image), {
            "W1 callback P=1, fairlead: 2.00 beside moodycamel": (ticks["2"], plot.OURS),
            "W1 callback P=2, fairlead: 0.50 beside trivial": (ticks["0.5"], plot.RIVALS[0])})
        self.assertIn("1 of 2", ticks)

    def test_stealing_has_a_mark_of_its_own_and_does_not_count(self):
        image = self.drawn(W4=[result_of("callback P=1", fairlead=[20], trivial=[10], fairlead_stealing=[5])])
        marks = self.marks(image)
        self.assertEqual(set(marks), {"W4 callback P=1, fairlead: 0.50 beside trivial",
                                      "W4 callback P=1, fairlead_stealing: 2.00 beside trivial"})
        self.assertEqual({colour for _, colour in marks.values()}, {plot.OURS, plot.RIVALS[0]})
        self.assertIn("0 of 1", {text.text for text in image.iter(SVG + "text")})

    def test_floors_are_no_rivals_and_without_rivals_there_is_no_plot(self):
        self.assertIsNone(overview.overview({"W5": [result_of("fib", fairlead=[2], serial=[1])]}))
        self.assertIsNone(overview.overview({}))

    def test_each_workload_has_a_title(self):
        self.assertEqual(list(plan.TITLES), list(plan.WORKLOADS))


class Plot(unittest.TestCase):
    def drawn(self, *results):
        return ElementTree.fromstring(plot.plot("W1", results))

    def marks(self, image):
        """{title: (x, y, colour)} of the medians."""
        found = {}
        for mark in image.iter(SVG + "path"):
            title = mark.find(SVG + "title")
            if title is not None:
                x, y = re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)", mark.get("transform")).groups()
                found[title.text] = float(x), float(y), mark.get("fill")
        return found

    def ticks(self, image):
        """{value: x} of the labels of axes."""
        return {float(text.text.replace(",", "")): float(text.get("x")) for text in image.iter(SVG + "text")
                if text.get("text-anchor") == "middle" and "≤" not in text.text}

    def test_marks_are_where_the_axis_says(self):
        image = self.drawn(result_of(fairlead=[10, 11, 10], trivial=[100, 90, 100]))
        ticks, marks = self.ticks(image), self.marks(image)
        self.assertEqual(list(ticks), [10, 20, 50, 100])
        self.assertEqual((ticks[10], ticks[100]), (plot.LABELS, plot.WIDTH - 3 * plot.MARGIN))
        x, y, colour = marks["callback P=1 W=1, fairlead: 10 ns, 10 to 11"]
        self.assertEqual((x, colour), (ticks[10], plot.OURS))
        their_x, their_y, their_colour = marks["callback P=1 W=1, trivial: 100 ns, 90 to 100"]
        self.assertEqual((their_x, their_y, their_colour), (ticks[100], y + plot.LANE, plot.RIVALS[0]))
        # log10(5)
        self.assertAlmostEqual(ticks[50] - ticks[10], (ticks[100] - ticks[10]) * 0.69897, delta=0.1)

    def test_a_line_goes_from_the_least_to_the_greatest(self):
        repeated = result_of(fairlead=[50, 20, 100])
        repeated.repeats = 1
        image = self.drawn(repeated)
        ticks = self.ticks(image)
        [line] = [path.get("d") for path in image.iter(SVG + "path") if path.get("stroke") == plot.OURS]
        self.assertRegex(line, rf"^M{ticks[20]} [\d.]+L{ticks[100]} [\d.]+$")

    def test_a_case_is_below_the_one_before_and_beside_its_name(self):
        image = self.drawn(*(result_of(f"callback P={count}", fairlead=[1], trivial=[2]) for count in (1, 2)))
        heights = [y for _, y, _ in self.marks(image).values()]
        self.assertEqual(heights, sorted(set(heights)))
        names = [float(text.get("y")) for text in image.iter(SVG + "text") if text.get("text-anchor") == "end"]
        self.assertEqual(names, [(heights[0] + heights[1]) / 2 + 4, (heights[2] + heights[3]) / 2 + 4])
        self.assertGreater(float(image.get("height")), max(heights) + plot.LANE)

    def test_panels_have_axes_of_their_own(self):
        image = self.drawn(result_of("wake W=1", unit="us", fairlead=[1]),
                           result_of("wake W=2", unit="us", fairlead=[2]),
                           result_of("idle W=1", unit="switches", fairlead=[1000]))
        heads = [text.text for text in image.iter(SVG + "text") if text.get("font-weight")]
        self.assertEqual(heads, ["wake, us", "idle, switches"])
        self.assertEqual(list(self.ticks(image)), [1, 2, 1000, 2000])

    def test_what_is_not_above_zero_has_a_place(self):
        image = self.drawn(result_of("idle W=1", fairlead=[0], trivial=[200], asio=[-3]))
        marks, ticks = self.marks(image), self.ticks(image)
        at_zero = {x for title, (x, _, _) in marks.items() if "trivial" not in title}
        self.assertEqual(at_zero, {plot.LABELS})
        self.assertEqual(ticks[200], plot.LABELS + plot.ZERO)
        self.assertIn("≤ 0", [text.text for text in image.iter(SVG + "text")])

    def test_profiles_are_below_and_grow_upwards(self):
        image = ElementTree.fromstring(plot.plot("W15", [
            plan.dataclasses.replace(result_with_profiles(f"shares W={workers}", (100, 200), (100, 180)), repeats=1)
            for workers in (1, 2)]))
        marks = self.marks(image)
        first, second = marks["shares W=1, weight 1: 100, 100 to 100"], marks["shares W=1, weight 2: 190, 180 to 200"]
        self.assertLess(first[0], second[0])
        self.assertGreater(first[1], second[1])
        self.assertGreater(first[1], marks["shares W=2, fairlead: 5 %, 5 to 5"][1])
        other = marks["shares W=2, weight 1: 100, 100 to 100"]
        self.assertEqual(other[1], first[1])
        self.assertGreater(other[0], second[0])

    def test_steps_of_an_axis(self):
        steps = plot.Axis.steps_around
        self.assertEqual(steps(3, 30, (1, 2, 5)), [2, 5, 10, 20, 50])
        self.assertEqual(steps(10, 10, (1, 2, 5)), [10, 20])
        self.assertEqual(steps(0.05, 0.06, (1, 2, 5)), [0.05, 0.1])
        self.assertEqual(plot.Axis([3, 30_000], 0, 100).steps, [1, 10, 100, 1000, 10_000, 100_000])

    def test_the_same_results_give_the_same_text(self):
        results = [result_of(fairlead=[10, 11], trivial=[90, 91])]
        self.assertEqual(plot.plot("W1", results), plot.plot("W1", list(results)))
        self.assertIsNone(plot.plot("W1", []))

    def test_names_cannot_break_it(self):
        image = self.drawn(result_of('a <b> & "c"', fairlead=[1]))
        self.assertIn('<b> & "c"', [text.text for text in image.iter(SVG + "text")])

    def test_it_can_be_read_on_any_page(self):
        image = self.drawn(result_of(fairlead=[1], trivial=[2]))
        paper = image.find(SVG + "rect")
        self.assertEqual([paper.get(side) for side in ("width", "height")], [image.get("width"), image.get("height")])
        self.assertGreater(contrast(image.get("fill"), paper.get("fill")), 7)
        self.assertEqual({text.get("fill") for text in image.iter(SVG + "text")}, {None})

    def test_ours_is_darker_than_every_rival_and_no_two_are_alike(self):
        rivals = [f"rival{index}" for index in range(20)]
        styles = plot.styles_of([result_of(fairlead=[1], **dict.fromkeys(rivals, [1]))])
        self.assertEqual(list(styles), ["fairlead", *rivals])
        self.assertEqual(len(set(styles.values())), 21)
        for colour in plot.RIVALS:
            self.assertGreater(luminance(colour), 4 * luminance(plot.OURS))
            self.assertGreater(contrast(colour, plot.PAPER), 2)

    def test_the_names_of_all_cases_have_room(self):
        for size in (plan.Size(), plan.Size((1, 2), quick=True), plan.Size(full=True)):
            for case in plan.cases(plan.WORKLOADS, size):
                name = plot.group_of(case.label)[1]
                self.assertLess(6.5 * len(name), plot.LABELS - 2 * plot.MARGIN, name)

    def test_a_legend_has_lines(self):
        rivals = {f"a_rival_of_a_long_name_{index}": [1] for index in range(8)}
        image = self.drawn(result_of(fairlead=[1], **rivals))
        names = [text for text in image.iter(SVG + "text") if "rival" in text.text]
        self.assertEqual(len(names), 8)
        places = [(float(name.get("y")), float(name.get("x"))) for name in names]
        self.assertGreater(len({y for y, _ in places}), 1)
        for name, (y, x), (next_y, next_x) in zip(names, places, places[1:] + [(0, plot.WIDTH)]):
            end = x + 6.5 * len(name.text)
            self.assertLess(end, next_x if next_y == y else plot.WIDTH)


class Check(TemporaryTree):
    PAGE = ("# Box\n<!-- figures: bench box -->\nold\n<!-- /figures -->\nText\n"
            "<!-- figures: counts -->\nkept\n<!-- /figures -->\n")

    def setUp(self):
        super().setUp()
        made = record_of(result_of(fairlead=[10], trivial=[25]))
        self.write("bench/results/box.json", record.text(made))
        self.write("docs/internals/performance.md", self.PAGE)
        check.write(self.root / check.FOLDER, check.pages_of(self.root))

    def test_what_was_written_is_right(self):
        self.assertEqual(list(check.check(self.root)), [])
        self.assertIn("| trivial | 1 of 1 | 2.50 |", (self.root / "docs/internals/performance.md").read_text())
        self.assertTrue((self.root / "docs/internals/performance.md").read_text().endswith(self.PAGE[self.PAGE.index("<!-- /fig"):]))

    def test_a_number_typed_by_hand_is_found(self):
        for path in ("docs/internals/performance.md", "bench/results/box.md", "bench/results/box/w1.svg"):
            with self.subTest(path):
                old = (self.root / path).read_text()
                self.write(path, re.sub(r"\b25\b|\b2\.50\b", "26", old))
                self.assert_finds(list(check.check(self.root)), path, "differs from the JSON")
                self.write(path, old)

    def test_figures_of_a_workload_on_another_page(self):
        self.write("docs/manual/fairness.md", "<!-- figures: bench box W1 -->\n<!-- /figures -->\n")
        self.assert_finds(list(check.check(self.root)), "docs/manual/fairness.md", "differs from the JSON")
        check.write(self.root / check.FOLDER, check.pages_of(self.root))
        self.assertIn("| callback P=1 W=1, ns | 10.0 | 25.0 |", (self.root / "docs/manual/fairness.md").read_text())
        self.assertEqual(list(check.check(self.root)), [])

    def test_a_missing_plot_is_found(self):
        (self.root / "bench/results/box/w1.svg").unlink()
        self.assert_finds(list(check.check(self.root)), "bench/results/box/w1.svg", "is missing")

    def test_a_page_without_json_is_left_and_has_no_figures(self):
        (self.root / "bench/results/box.json").unlink()
        self.assert_finds(list(check.check(self.root)), "docs/internals/performance.md", "differs from the JSON")
        check.write(self.root / check.FOLDER, check.pages_of(self.root))
        self.assertIn("<!-- figures: bench box -->\n<!-- /figures -->\n", (self.root / "docs/internals/performance.md").read_text())
        self.assertEqual(list(check.check(self.root)), [])


if __name__ == "__main__":
    unittest.main()
