"""Tests of tools/models.py, with a stand-in for the model tests."""

import contextlib
import io
import json
import os
import unittest
from unittest import mock

from temporary_tree import TemporaryTree

import models

PROGRAM = """#!/bin/sh
case "$1" in --gtest_list_tests) printf 'Ring.\\n  Wraps\\nBell.\\n  Rings\\n'; exit 0 ;; esac
[ -z "$FAIRLEAD_MODEL_COUNT" ] || { printf 'a search by chance\\na search by chance\\n'; exit 1; }
echo "$FAIRLEAD_MODEL_SECONDS seconds"
echo '120 executions, 4000 steps'
echo '30 executions, 500 steps'
[ "$1" != "--gtest_filter=Bell.*" ]
"""


class Models(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(models, "EXECUTIONS_MIN", 1000))
        self.enterContext(mock.patch.object(models, "PAGE", self.root / "page.md"))

    def run_it(self, program, *arguments):
        self.write("program", program)
        (self.root / "program").chmod(0o755)
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = models.main(["--program", str(self.root / "program"), "--seed", "7", "--times", "0.1",
                                "--output", str(self.root / "out/models.json"), *arguments])
        return code, errors.getvalue(), json.loads((self.root / "out/models.json").read_text())

    def test_executions_are_added_up(self):
        code, errors, summary = self.run_it(PROGRAM.replace("Bell.\\n  Rings\\n", ""))
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual((summary["executions"], summary["seed"]), (150, 7))
        self.assertEqual(summary["suites"][0]["scenarios"], 2)
        self.assertEqual(summary["suites"][0]["steps"], 4500)

    def test_a_failure_is_printed_and_fails(self):
        code, errors, summary = self.run_it(PROGRAM)
        self.assertEqual(code, 1)
        # Of two suites with two searches each.
        self.assertIn(f"{0.1 * models.SECONDS * os.cpu_count() / 4} seconds", errors)
        self.assertEqual([suite["passed"] for suite in summary["suites"]].count(False), 1)

    def test_what_all_searches_take_is_what_there_is(self):
        searches = {"Scheduler": 396, "Fork": 87, "Ring": 1, "Recycler": 0}
        seconds = models.budgets(searches, 960)
        self.assertAlmostEqual(sum(searches[suite] * seconds[suite] for suite in searches), 960)

    def test_each_suite_and_each_search_has_a_share(self):
        seconds = models.budgets({"Scheduler": 399, "Ring": 1}, 800)
        self.assertAlmostEqual(seconds["Ring"], 200 + 1)
        self.assertAlmostEqual(seconds["Scheduler"] * 399, 200 + 399)

    def test_a_suite_that_cannot_be_counted_is_an_error(self):
        with self.assertRaises(SystemExit) as ended:
            self.run_it(PROGRAM.replace("exit 1; }", "exit 139; }"))
        self.assertIn("the searches of Ring cannot be counted", str(ended.exception))

    def test_too_few_executions_fail(self):
        with mock.patch.object(models, "EXECUTIONS_MIN", 10_000):
            code, errors, _ = self.run_it(PROGRAM.replace("Bell.\\n  Rings\\n", ""))
        self.assertEqual(code, 1)
        self.assertIn("less than 10,000 executions", errors)

    def test_the_table_of_a_page(self):
        self.write("page.md", "<!-- figures: models -->\n<!-- /figures -->\n")
        self.assertEqual(self.run_it(PROGRAM.replace("Bell.\\n  Rings\\n", ""), "--write")[0], 0)
        lines = (self.root / "page.md").read_text().splitlines()
        self.assertRegex(lines[3], r"^\| `Ring` \| 2 \| 150 \| 4,500 \| [\d.]+ \|$")
        self.assertEqual(lines[4], "| all | 2 | 150 | 4,500 |  |")

    def test_the_rows_of_other_suites_stay(self):
        head = "| suite | scenarios | executions | steps | seconds |\n| --- | ---: | ---: | ---: | ---: |\n"
        rows = "| `Bell` | 7 | 3,000 | 10,000 | 5.0 |\n| `Gone` | 1 | 1 | 1 | 1 |\n| `Ring` | 9 | 9 | 9 | 9 |\n"
        self.write("page.md", f"<!-- figures: models -->\n{head}{rows}| all | 17 | 3 | 4 |  |\n<!-- /figures -->\n")
        self.assertEqual(self.run_it(PROGRAM, "--only", "^Ring$", "--write")[0], 0)
        lines = (self.root / "page.md").read_text().splitlines()
        self.assertEqual(lines[3], "| `Bell` | 7 | 3,000 | 10,000 | 5.0 |")
        self.assertRegex(lines[4], r"^\| `Ring` \| 2 \| 150 \| 4,500 \| [\d.]+ \|$")
        self.assertEqual(lines[5], "| all | 9 | 3,150 | 14,500 |  |")


if __name__ == "__main__":
    unittest.main()
