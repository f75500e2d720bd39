"""Tests of tools/planted.py."""

import tomllib
import unittest
from unittest import mock

from temporary_tree import TemporaryTree
import planted
import tree

BUG = {"test": "Drain.Waits", "file": "src/sched/role.cpp", "good": "return a == b;", "bad": "return true;"}


class Planted(TemporaryTree):
    def test_the_mistake_takes_the_place_of_what_is_right(self):
        self.assertEqual(planted.plant("{ return a == b; }", BUG), "{ return true; }")

    def test_code_that_has_changed_is_found(self):
        for text in ("{ return b == a; }", "{ return a == b; return a == b; }"):
            with self.subTest(text), self.assertRaises(planted.PlantedError):
                planted.plant(text, BUG)

    def test_each_mistake_has_its_place(self):
        tests = tree.tests(tree.REPOSITORY)
        for bug in tomllib.loads((tree.REPOSITORY / planted.ELSEWHERE).read_text(encoding="utf-8"))["bug"]:
            for each in bug.get("planted", []):
                with self.subTest(each["test"]):
                    self.assertIn(each["test"], bug["shown_by"])
                    planted.plant((tree.REPOSITORY / each["file"]).read_text(encoding="utf-8"), each)
                    self.assertIn(each["test"], tests)

    def program(self, script):
        self.write("program", f"#!/bin/sh\n{script}\n")
        (self.root / "program").chmod(0o755)
        self.enterContext(mock.patch.object(planted, "build", lambda root, bug: self.root / "program"))

    def test_a_test_that_passes_with_its_bug_is_an_error(self):
        self.program("exit 0")
        with self.assertRaisesRegex(planted.PlantedError, "Drain.Waits: passes with its bug, 5 times of 5"):
            planted.measure_test(self.root, BUG)

    def test_a_test_by_chance_need_not_fail_each_time(self):
        self.program(f"echo >> {self.root}/runs; [ $(wc -l < {self.root}/runs) -lt 5 ]")
        found = planted.measure_test(self.root, BUG)
        self.assertEqual((found["failed"], found["hung"], found["passed"]), (1, 0, 4))

    def test_how_a_test_ends(self):
        for command, wanted in (("true", "passed"), ("false", "failed")):
            self.assertEqual(planted.run(command, "Drain.Waits")[0], wanted)


if __name__ == "__main__":
    unittest.main()
