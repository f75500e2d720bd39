"""Tests of tools/models.py, with a stand-in for the model tests."""

import contextlib
import io
import json
import unittest

from temporary_tree import TemporaryTree

import models

PROGRAM = """#!/bin/sh
case "$1" in --gtest_list_tests) printf 'Ring.\\n  Wraps\\nBell.\\n  Rings\\n'; exit 0 ;; esac
echo "$FAIRLEAD_MODEL_SECONDS seconds"
echo '120 executions, 4000 steps'
echo '30 executions, 500 steps'
[ "$1" != "--gtest_filter=Bell.*" ]
"""


class Models(TemporaryTree):
    def run_it(self, program):
        self.write("program", program)
        (self.root / "program").chmod(0o755)
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = models.main(["--program", str(self.root / "program"), "--seed", "7", "--times", "0.1",
                                "--output", str(self.root / "out/models.json")])
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
        self.assertIn(f"{round(0.1 * models.SECONDS_OF_OTHERS)} seconds", errors)
        self.assertEqual([suite["passed"] for suite in summary["suites"]].count(False), 1)


if __name__ == "__main__":
    unittest.main()
