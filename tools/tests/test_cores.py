"""Tests of tools/cores.py."""

import unittest

import temporary_tree  # noqa: F401  finds the tools

import cores

MACHINE = {"name": "some", "shape": [2, 4, 8], "near": [23, "here"], "far": [107, "there"]}
FOUND = {"begun": 5, "ran": 5, "tasks": 4, "window": 1000, "p50": 40, "p99": 1500, "max": 250_000, "rounds": 2,
         "wakeups": 1, "stolen": 0, "changes": 9, "near": 6, "far": 2, "remote": 0, "stepping": 0.5,
         "sleeping": 0.25, "searching": 0.125, "parts": {"idle": {"changes": 4, "fetches": 1, "waited": 0.1}}}


class Cases(unittest.TestCase):
    def test_costs_and_the_shape_become_arguments(self):
        self.assertEqual(cores.settings(MACHINE), ["near=23", "far=107", "of_l3=2", "of_socket=4", "of_machine=8"])

    def test_no_case_has_more_workers_than_its_machine(self):
        self.assertEqual(cores.fitting({"some": MACHINE}, "some"), [1, 2, 4, 8])

    def test_each_task_has_turns_before_and_in_the_window(self):
        case = cores.Case("some", "chains", "fair", 1_000_000, 2)
        self.assertIn("warm=48000000", case.arguments())
        self.assertIn("window=96000000", case.arguments())


class Page(unittest.TestCase):
    def test_times_have_a_unit_and_two_digits(self):
        self.assertEqual([cores.ns(value) for value in (40, 1500, 250_000, 3_000_000)],
                         ["40 ns", "1.5 us", "250 us", "3 ms"])

    def test_a_row_divides_by_the_tasks_and_by_the_window(self):
        case = cores.Case("some", "chains", "fair", 200, 4)
        self.assertEqual(cores.cells(case, FOUND), ["200 ns", 4, "4", "50 %", "40 ns", "1.5 us", "250 us", "2e+03", "2.0",
                                                    "0.5", "25 %", "12 %"])

    def test_busy_time_leaves_out_sleep_and_counts_the_thread_that_posts(self):
        self.assertEqual(cores.busy(cores.Case("some", "chains", "fair", 200, 4), FOUND), 750)
        self.assertEqual(cores.busy(cores.Case("some", "posts", "fair", 200, 4), FOUND), 1000)


class Facts(unittest.TestCase):
    CASE = cores.Case("some", "chains", "fair", 200, 4)

    def test_all_tasks_must_have_run(self):
        self.assertEqual(list(cores.facts_of(self.CASE, FOUND)), [])
        self.assertEqual(len(list(cores.facts_of(self.CASE, FOUND | {"ran": 4}))), 1)

    def test_a_wake_up_changes_the_word_of_idle(self):
        self.assertEqual(len(list(cores.facts_of(self.CASE, FOUND | {"wakeups": 10}))), 1)

    def test_one_worker_has_all_lines(self):
        case = cores.Case("some", "chains", "fair", 200, 1)
        self.assertEqual(len(list(cores.facts_of(case, FOUND | {"near": 200}))), 1)


if __name__ == "__main__":
    unittest.main()
