"""Tests of tools/planted.py."""

import tomllib
import unittest

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

    def test_how_a_test_ends(self):
        for command, wanted in (("true", "passed"), ("false", "failed")):
            self.assertEqual(planted.run(command, "Drain.Waits")[0], wanted)


if __name__ == "__main__":
    unittest.main()
