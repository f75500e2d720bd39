"""Tests of tools/counts.py."""

import re
import subprocess
import unittest
from unittest import mock

import temporary_tree  # noqa: F401  finds the tools

import counts
import tree


def path(name="post", section="posts", **changed):
    return counts.Path(section, name, dict.fromkeys(counts.COSTS, 10.0) | changed)


class Compare(unittest.TestCase):
    def assert_wrong(self, found, *parts):
        wrong, _ = counts.compare(found, [path()])
        self.assertEqual(len(wrong), 1, wrong)
        for part in parts:
            self.assertIn(part, wrong[0])

    def test_what_its_bounds_allow_passes(self):
        self.assertEqual(counts.compare([path(instructions=10.2, loads=9.6)], [path()]), ([], []))

    def test_each_cost_that_is_dearer_is_found(self):
        for cost in counts.COSTS:
            self.assert_wrong([path(**{cost: 10.3})], "post: 10.3", cost, "the bound is 10.0")

    def test_what_costs_nothing_may_not_begin_to(self):
        wrong, _ = counts.compare([path(rmw=0.01)], [path(rmw=0.0)])
        self.assertEqual(wrong, ["post: 0.01 rmw, the bound is 0.00"])

    def test_a_cheaper_one_is_said_and_passes(self):
        wrong, loose = counts.compare([path(instructions=9.4)], [path()])
        self.assertEqual((wrong, len(loose)), ([], 1))
        self.assertIn("the bound can be lower", loose[0])

    def test_a_path_without_a_bound_and_a_bound_without_a_path_are_found(self):
        self.assert_wrong([path(), path("fork")], "fork: has no bound")
        self.assert_wrong([], "post: has a bound, and is not measured")

    def test_instructions_of_another_build_are_not_compared(self):
        dearer = [path(instructions=99.0), counts.Path(counts.HANDOVERS, "wake", {"lines": 9.0})]
        bounds = [path(), counts.Path(counts.HANDOVERS, "wake", {"lines": 8.0})]
        self.assertEqual(len(counts.compare(dearer, bounds)[0]), 2)
        self.assertEqual(counts.compare(dearer, bounds, counts.BY_BUILD), ([], []))


class Costs(unittest.TestCase):
    SAID = {"operations": 100, "paths": [{"name": "post"}]}

    @staticmethod
    def counted(name="post"):
        # clock, loads, stores, seq_cst, rmw: 1, 2, 3, 4 and 5 for each operation, and 7 of each
        # once
        marks = [[7 * done + each * operations for each in range(1, 6)]
                 for done, operations in ((1, 200), (2, 300), (3, 500))]
        return {"operations": 100, "paths": [{"section": "posts", "name": name, "marks": marks}]}

    def test_are_the_difference_of_two_sizes(self):
        [found] = counts.costs_of(self.SAID, [9999, 50 + 1500, 50 + 3000, 1], self.counted())
        self.assertEqual(found.costs, {"instructions": 15.0, "clock": 1.0, "loads": 2.0, "stores": 3.0,
                                       "seq_cst": 4.0, "rmw": 5.0})

    def test_programs_of_different_paths_and_lost_marks_are_found(self):
        with self.assertRaisesRegex(counts.Failed, "the same paths"):
            counts.costs_of(self.SAID, [1, 2, 3], self.counted("fork"))
        with self.assertRaisesRegex(counts.Failed, "did not see the marks"):
            counts.costs_of(self.SAID, [1, 2], self.counted())

    def test_a_profile_gives_each_function_its_own(self):
        part = ("fn=(1) post\n10 5\ncfn=(2) push\ncalls=3 7\n10 600\n+1 4\n\n"
                "fn=(2)\nfi=(4) queue.hpp\n7 100\n* 20\n\ntotals: 129\n")
        self.assertEqual(counts.own_instructions(part), {"post": 9, "push": 120})


class Lines(unittest.TestCase):
    def transfers(self, *accesses):
        lines = counts.Lines({"nobody": 1, "first": 2, "second": 3, "mark": 4, "stacks": [[0x9000, 0xA000]]})
        for kind, address, *size in accesses:
            lines.access(kind, address, *(size or [8]))
        return lines.transfers

    FIRST, SECOND, NOBODY = ("S", 2), ("S", 3), ("S", 1)

    def test_one_thread_needs_nobody(self):
        self.assertEqual(self.transfers(self.FIRST, ("S", 0x100), ("L", 0x100), ("M", 0x140)), 0)

    def test_a_line_goes_there_and_back(self):
        there = (self.FIRST, ("S", 0x100), self.SECOND, ("L", 0x108), ("L", 0x110))
        self.assertEqual(self.transfers(*there), 1)
        self.assertEqual(self.transfers(*there, self.FIRST, ("L", 0x100)), 1)  # both have it
        # the other thread lost its copy
        self.assertEqual(self.transfers(*there, self.FIRST, ("S", 0x100)), 2)
        self.assertEqual(self.transfers(*there, ("M", 0x100), self.FIRST, ("L", 0x100)), 3)

    def test_an_access_across_two_lines_is_one_of_each(self):
        self.assertEqual(self.transfers(self.FIRST, ("S", 0x100, 128), self.SECOND, ("L", 0x13c, 8)), 2)

    def test_stacks_and_what_is_between_turns_do_not_count(self):
        self.assertEqual(self.transfers(self.FIRST, ("S", 0x9100), ("S", 0x100), self.NOBODY, ("L", 0x100),
                                        self.SECOND, ("L", 0x9100)), 0)

    def test_are_the_difference_of_two_sizes(self):
        [found] = counts.handovers({"paths": [{"name": "post", "operations": 10}]}, [100, 100 + 3 + 40, 143 + 3 + 80])
        self.assertEqual(found.costs, {"lines": 4.0})
        with self.assertRaisesRegex(counts.Failed, "lackey"):
            counts.handovers({"paths": [{"name": "post", "operations": 10}]}, [1, 2])


class Files(unittest.TestCase):
    PATHS = [path(), path("fork", "forks", instructions=7.5), counts.Path(counts.HANDOVERS, "wake", {"lines": 8.0})]

    def test_bounds_are_read_as_they_were_written(self):
        self.assertEqual(counts.read_bounds(counts.bounds_text("GCC 12", self.PATHS)), ("GCC 12", self.PATHS))

    def test_a_page_with_other_numbers_is_found(self):
        page = "".join(f"<!-- figures: counts {each.section} -->\n{counts.page_table(self.PATHS, each.section)}"
                       "<!-- /figures -->\n" for each in self.PATHS)
        self.assertEqual(list(counts.check_page(page, self.PATHS)), [])
        [message] = counts.check_page(page.replace("7.5", "7.4"), self.PATHS)
        self.assertIn("the table of forks", message)

    def test_the_page_names_paths_that_there_are(self):
        """The page describes only paths that are measured."""
        _, bounds = counts.read_bounds((tree.REPOSITORY / counts.BOUNDS).read_text())
        page = (tree.REPOSITORY / counts.PAGE).read_text(encoding="utf-8")
        for name in re.findall(r"--(?:profile|only) [\"']([^\"']+)", page):
            self.assertIn(name, [each.name for each in bounds])

    def test_what_perf_did_not_count_is_no_number(self):
        self.assertEqual(counts.counters("1234,,instructions:u,99,100.00,,\n<not supported>,,cycles:u,0,100.00,,\n"),
                         {"instructions:u": 1234})

    def perf(self, *said, status=0, **outcome):
        """What perf() makes of what `perf stat` says of the two sizes."""
        runs = [subprocess.CompletedProcess([], status, "", f"{instructions},,instructions:u,\n{cycles},,cycles:u,\n")
                for instructions, cycles in said]
        with mock.patch.object(subprocess, "run", side_effect=runs or outcome["error"]):
            return counts.perf("paths", "post")

    def test_instructions_and_cycles_of_an_operation(self):
        operations = counts.OPERATIONS_OF_A_RUN * (counts.SIZES[1] - counts.SIZES[0])
        self.assertEqual(self.perf((5000, 7000), (5000 + 30 * operations, 7000 + 12 * operations)), [30, 12])

    def test_no_perf_and_no_counters_are_no_cycles(self):
        self.assertIsNone(self.perf(error=FileNotFoundError()))
        self.assertIsNone(self.perf(("<not supported>", "<not supported>"), status=255))
        self.assertIsNone(self.perf((1, 2), (3, "<not counted>")))

    def test_a_program_that_fails_under_perf_is_not_taken_for_a_missing_counter(self):
        with self.assertRaisesRegex(counts.Failed, "paths --only 'post' failed with 1"):
            self.perf((1, 2), (3, 4), status=1)


if __name__ == "__main__":
    unittest.main()
