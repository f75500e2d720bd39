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

    def test_a_test_that_the_program_does_not_have_is_an_error(self):
        self.write("empty", "#!/bin/sh\necho '[==========] Running 0 tests from 0 test suites.'\n")
        (self.root / "empty").chmod(0o755)
        with self.assertRaisesRegex(planted.PlantedError, "has no such test"):
            planted.run(self.root / "empty", "Drain.Waits")


MUTANT = {"name": "m", "test": "Drain.Waits", "file": "src/sched/role.cpp", "good": "a == b", "bad": "true"}


class Mutants(TemporaryTree):
    def write_mutants(self, text="a == b", test="Drain.Waits", names=("m",)):
        self.write("src/sched/role.cpp", text)
        self.write("tests/sched/drain_test.cpp", "TEST(Drain, Waits) {}")
        mutants = "".join(f'[[mutant]]\nname = "{name}"\nfile = "src/sched/role.cpp"\ngood = "a == b"\nbad = "true"\n'
                          f'test = "{test}"\n' for name in names)
        self.write("tests/planted/some.toml", mutants)

    def test_those_of_the_repository_have_their_place(self):
        self.assertEqual(planted.check(tree.REPOSITORY), [])

    def test_a_mutant_that_fits_passes(self):
        self.write_mutants()
        self.assertEqual(planted.check(self.root), [])

    def test_code_that_has_changed_is_found(self):
        for text, count in (("a != b", 0), ("a == b; a == b", 2)):
            with self.subTest(text):
                self.write_mutants(text)
                self.assertEqual(planted.check(self.root),
                                 [f"tests/planted/some.toml: m: its text stands in src/sched/role.cpp {count} times"])

    def test_a_test_that_is_gone_is_found(self):
        self.write_mutants(test="Drain.IsGone")
        self.assertEqual(planted.check(self.root), ["tests/planted/some.toml: m: there is no test Drain.IsGone"])

    def test_a_file_that_the_compiler_must_refuse_is_a_test(self):
        self.write_mutants(test="refused_wet")
        self.assertEqual(planted.check(self.root), ["tests/planted/some.toml: m: there is no test refused_wet"])
        self.write("tests/refused/wet.cpp", "// complaint: it is wet\n")
        self.assertEqual(planted.check(self.root), [])

    def test_what_the_compiler_does_not_refuse_has_failed(self):
        self.write("src/sched/role.cpp", "static_assert(a == b);")
        mutant = {**MUTANT, "test": "refused_wet"}
        for complaint, wanted in (("notype", "passed"), ("no such complaint", "failed")):
            source = self.root / "tests/refused/wet.cpp"
            self.write("tests/refused/wet.cpp", f"// complaint: {complaint}\nnotype x;\n")
            with mock.patch.object(planted, "WORK", self.root / "work"):
                self.assertEqual(planted.compile_refused(self.root, mutant, source)[0], wanted)

    def test_a_test_that_fails_without_its_mutant_kills_nothing(self):
        self.write_mutants()
        (self.root / "program").write_text("#!/bin/sh\nexit 1\n")
        (self.root / "program").chmod(0o755)
        with mock.patch.object(planted, "build", lambda root, bug, with_mistake: self.root / "program"):
            self.assertEqual(planted.ends_without(self.root, MUTANT, {}), "failed")

    def test_what_does_not_compile_is_not_killed(self):
        self.assertEqual(planted.judge([MUTANT], {"m": "no build"})[1], 0)

    def test_a_name_that_stands_there_twice_is_found(self):
        self.write_mutants(names=("m", "m"))
        self.assertIn("two bugs have this name", planted.check(self.root)[0])

    def test_a_mutant_that_lives_is_an_error_unless_it_is_listed(self):
        self.assertEqual(planted.judge([MUTANT], {"m": "failed"}), ([], 1))
        self.assertEqual(planted.judge([MUTANT], {"m": "passed"}), (["m: Drain.Waits passed with it"], 0))
        listed = {**MUTANT, "survives": "equivalent"}
        self.assertEqual(planted.judge([listed], {"m": "passed"}), ([], 0))
        self.assertEqual(planted.judge([listed], {"m": "failed"}),
                         (["m: is listed as a survivor, and Drain.Waits finds it"], 1))

    def test_a_test_that_does_not_end_is_none_that_fails_unless_it_hangs(self):
        self.assertEqual(planted.judge([MUTANT], {"m": "hung"}), (["m: Drain.Waits hung with it"], 0))
        self.assertEqual(planted.judge([{**MUTANT, "hangs": True}], {"m": "hung"}), ([], 1))

    def test_the_test_of_a_mutant_that_need_not_show_is_tried_again(self):
        self.write("program", f"#!/bin/sh\necho >> {self.root}/runs; [ $(wc -l < {self.root}/runs) -lt 3 ]\n")
        for runs, wanted in ((2, "passed"), (3, "failed")):
            (self.root / "program").chmod(0o755)
            (self.root / "runs").unlink(missing_ok=True)
            copy = self.root / f"copy-{runs}"
            copy.write_text((self.root / "program").read_text())
            copy.chmod(0o755)
            with mock.patch.object(planted, "build", lambda root, bug, made=copy: made):
                self.assertEqual(planted.kill(self.root, {**MUTANT, "runs": runs})[0], wanted)


if __name__ == "__main__":
    unittest.main()
