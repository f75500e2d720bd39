"""Tests of tools/verify.py, with a stand-in for java that says what TLC would say."""

import contextlib
import io
import json
import os
import unittest
from unittest import mock

from temporary_tree import TemporaryTree

import verify

MODELS = """
[[spec]]
name = "Lamp"
constants = { Lamps = 1, Colour = 5 }
invariants = ["Dark"]
properties = ["Lit", "Warm"]
mutants = ["Dark", { finds = ["Lit", "Warm"], with = { Lamps = 3 } }]
[[spec.model]]
with = { Lamps = 2 }
distinct = 1_234
[[spec.model]]
with = { Lamps = 9 }
deep = true
properties = []
"""

HOLDS = """
echo '1,000 states generated, 70 distinct states found, 5 states left on queue.'
echo '2,345 states generated, 1,234 distinct states found, 0 states left on queue.'
echo 'The depth of the complete state graph search is 17.'
exit 0
"""
DARK = "echo 'Error: Invariant Dark is violated.'; exit 12"
LIVENESS = "echo 'Error: Temporal properties were violated.'; exit 13"


class Verify(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("spec/models.toml", MODELS)
        self.write("spec/Lamp.tla")
        self.write("build/verify/tla2tools.jar")
        path = f"{self.root}/bin{os.pathsep}{os.environ['PATH']}"
        for bug, script in {"0": HOLDS, "1": DARK, "2": LIVENESS}.items():
            self.answers(bug, script)
        for patch in (mock.patch.object(verify, "SPECS", self.root / "spec"),
                      mock.patch.object(verify, "BUILD", self.root / "build" / "verify"),
                      mock.patch.object(verify, "PAGE", self.root / "page.md"),
                      mock.patch.object(verify, "STATES_MIN", 1000),
                      mock.patch.object(verify, "MUTANTS_MIN", 2),
                      mock.patch.dict(os.environ, {"PATH": path})):
            self.enterContext(patch)
        self.write("bin/java", '#!/bin/sh\n. ../../../../answers/$(sed -n "s/CONSTANT Bug = //p" model.cfg)\n')
        (self.root / "bin/java").chmod(0o755)

    def answers(self, bug, script):
        self.write(f"answers/{bug}", script)

    def verify(self, *arguments):
        """The exit code, what is printed as the failures, and the summary."""
        errors = io.StringIO()
        with mock.patch("sys.argv", ["verify", *arguments]), \
                contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = verify.main()
        return code, errors.getvalue(), json.loads((self.root / "build/verify/summary.json").read_text())

    def config_of(self, run):
        return (self.root / "build/verify/runs" / run / "model.cfg").read_text()

    def test_all_holds_and_all_mutants_are_killed(self):
        code, errors, summary = self.verify()
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(summary["distinct_states"], 1234)
        self.assertEqual(summary["specs"][0]["models"][0]["depth"], 17)
        self.assertEqual(summary["specs"][0]["models"][0]["generated"], 2345)
        self.assertEqual([mutant["found"] for mutant in summary["specs"][0]["mutants"]], ["Dark", "Lit", "Warm"])

    def test_the_configuration_names_constants_bug_and_properties(self):
        self.verify()
        self.assertEqual(self.config_of("Lamp-2-5-0-Dark-Lit-Warm"), "SPECIFICATION Spec\nCONSTANT Lamps = 2\n"
                         "CONSTANT Colour = 5\nCONSTANT Bug = 0\nINVARIANT Dark\nPROPERTY Lit\nPROPERTY Warm\n")

    def test_a_mutant_is_checked_for_each_that_must_find_it_alone(self):
        self.verify()
        self.assertTrue(self.config_of("Lamp-1-5-1-Dark").endswith("CONSTANT Bug = 1\nINVARIANT Dark\n"))
        self.assertTrue(self.config_of("Lamp-3-5-2-Lit").endswith("CONSTANT Bug = 2\nPROPERTY Lit\n"))
        self.assertTrue(self.config_of("Lamp-3-5-2-Warm").endswith("CONSTANT Bug = 2\nPROPERTY Warm\n"))

    def test_a_property_that_no_mutant_names_fails(self):
        self.write("spec/models.toml", MODELS.replace('["Lit", "Warm"], with', '"Lit", with'))
        code, errors, _ = self.verify()
        self.assertEqual(code, 1)
        self.assertIn("Lamp: no mutant shows that Warm can fail", errors)

    def test_a_specification_with_few_mutants_fails_also_quickly(self):
        with mock.patch.object(verify, "MUTANTS_MIN", 3):
            code, errors, _ = self.verify("--quick")
        self.assertEqual(code, 1)
        self.assertIn("Lamp: 2 mutants, and 3 are wanted", errors)

    def test_a_mutant_that_survives_one_of_them_fails(self):
        self.answers("2", f"grep -q Warm model.cfg || {{ {LIVENESS}; }}{HOLDS}")
        code, errors, _ = self.verify()
        self.assertEqual(code, 1)
        self.assertIn("Lamp: bug 2 should be found by Warm, was: not found", errors)
        self.assertNotIn("by Lit", errors)

    def test_a_mutant_that_would_be_found_without_its_bug_fails(self):
        self.answers("0", f"grep -q 'Lamps = 3' model.cfg && {{ {LIVENESS}; }}{HOLDS}")
        code, errors, summary = self.verify()
        self.assertEqual(code, 1)
        self.assertIn("Lamp: Lit or Warm is violated without a bug, with the constants of a mutant; see ", errors)
        self.assertEqual([control["found"] for control in summary["specs"][0]["controls"]], [None, "Lit or Warm"])

    def test_a_control_that_a_model_has_does_not_run_again(self):
        self.write("spec/models.toml", MODELS.replace("with = { Lamps = 2 }", ""))
        controls = self.verify()[2]["specs"][0]["controls"]
        self.assertEqual([control["constants"]["Lamps"] for control in controls], [3])

    def test_constants_that_are_the_mistake_have_no_control(self):
        self.write("spec/models.toml", MODELS.replace("Lamps = 3 }", "Lamps = 3 }, by_constants = true"))
        controls = self.verify("--deep")[2]["specs"][0]["controls"]
        self.assertEqual([control["constants"]["Lamps"] for control in controls], [1])

    def test_a_long_control_runs_when_asked_for(self):
        self.write("spec/models.toml", MODELS.replace("Lamps = 3 }", "Lamps = 3 }, deep_control = true"))
        for arguments, lamps in ((["--quick"], []), ([], [1]), (["--deep"], [1, 3])):
            with self.subTest(arguments):
                controls = self.verify(*arguments)[2]["specs"][0]["controls"]
                self.assertEqual([control["constants"]["Lamps"] for control in controls], lamps)

    def test_a_violated_property_fails(self):
        for answer, what in ((DARK, "Dark"), (LIVENESS, "Lit or Warm")):
            with self.subTest(what):
                self.answers("0", answer)
                code, errors, _ = self.verify()
                self.assertEqual(code, 1)
                self.assertIn(f"Lamp: {what};", errors)

    def test_a_run_that_breaks_fails(self):
        self.answers("0", "echo 'Parsing or semantic analysis failed.'; exit 150")
        code, errors, _ = self.verify()
        self.assertEqual(code, 1)
        self.assertIn("Lamp: TLC failed (150)", errors)

    def test_deep_models_run_when_asked_for_and_without_liveness_if_so_marked(self):
        _, _, summary = self.verify("--deep")
        self.assertEqual(len(summary["specs"][0]["models"]), 2)
        self.assertNotIn("PROPERTY", self.config_of("Lamp-9-5-0-Dark"))

    def test_quick_is_the_first_model_alone(self):
        self.answers("1", HOLDS)
        self.answers("2", HOLDS)
        code, _, summary = self.verify("--quick", "--deep")
        self.assertEqual(code, 0)
        self.assertEqual([model["constants"]["Lamps"] for model in summary["specs"][0]["models"]], [2])
        self.assertNotIn("PROPERTY", self.config_of("Lamp-2-5-0-Dark"))

    def test_a_dead_specification_fails(self):
        self.answers("0", """
echo '1 states generated, 1 distinct states found, 0 states left on queue.'
echo 'The depth of the complete state graph search is 1.'
exit 0
""")
        for arguments in (["--quick"], ["--only", "Lamp"], []):
            with self.subTest(arguments):
                code, errors, _ = self.verify(*arguments)
                self.assertEqual(code, 1)
                self.assertIn("Lamp: 1 distinct states, spec/models.toml says 1,234; see ", errors)

    def test_more_states_than_named_fail(self):
        self.write("spec/models.toml", MODELS.replace("1_234", "1_233"))
        code, errors, _ = self.verify("--quick")
        self.assertEqual(code, 1)
        self.assertIn("Lamp: 1,234 distinct states, spec/models.toml says 1,233; see ", errors)

    def test_a_first_model_without_a_number_fails(self):
        self.write("spec/models.toml", MODELS.replace("distinct = 1_234", ""))
        code, errors, _ = self.verify("--quick")
        self.assertEqual(code, 1)
        self.assertIn("Lamp: the first model has no number of distinct states", errors)

    def test_too_few_states_fail_unless_less_was_asked_for(self):
        with mock.patch.object(verify, "STATES_MIN", 2000):
            code, errors, _ = self.verify()
            self.assertEqual(code, 1)
            self.assertIn("less than 2,000 distinct states", errors)
            self.assertEqual(self.verify("--only", "Lamp")[0], 0)

    def test_the_table_of_a_page(self):
        self.write("page.md", "Text\n<!-- figures: specifications -->\nold\n<!-- /figures -->\nmore\n")
        self.assertEqual(self.verify("--write")[0], 0)
        lines = (self.root / "page.md").read_text().splitlines()
        self.assertEqual([lines[0], lines[-1]], ["Text", "more"])
        self.assertNotIn("old", lines)
        self.assertRegex(lines[4], r"^\| Lamp \| `Lamps=2, Colour=5` \| 1,234 \| 17 \| [\d.]+ \| 2 of 2 \|$")
        self.assertEqual(lines[5], "| all |  | 1,234 |  |  | 2 of 2 |")

    def test_the_rows_of_other_specifications_stay(self):
        self.write("spec/models.toml", MODELS + MODELS.replace("Lamp", "Bell", 1))
        head = "| specification | constants | distinct states | depth | seconds | bugs found |\n| --- |\n"
        rows = ("| Lamp | `old` | 1 | 1 | 1 | 1 of 2 |\n|  | `older` | 1 | 1 | 1 |  |\n| Gone | `x` | 5 | 1 | 1 | 5 of 5 |\n"
                "| Bell | `y` | 1,000 | 1 | 1.0 | 3 of 3 |\n|  | `z` | 66 | 1 | 1.0 |  |\n| all |  | 6 |  |  | 6 of 7 |\n")
        self.write("page.md", f"<!-- figures: specifications -->\n{head}{rows}<!-- /figures -->\n")
        self.assertEqual(self.verify("--write", "--only", "Lamp")[0], 0)
        lines = (self.root / "page.md").read_text().splitlines()
        self.assertRegex(lines[3], r"^\| Lamp \| `Lamps=2, Colour=5` \| 1,234 \| 17 \| [\d.]+ \| 2 of 2 \|$")
        self.assertEqual(lines[4:7], ["| Bell | `y` | 1,000 | 1 | 1.0 | 3 of 3 |", "|  | `z` | 66 | 1 | 1.0 |  |",
                                      "| all |  | 2,300 |  |  | 5 of 5 |"])

    def test_a_page_is_not_written_of_less(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            self.verify("--write", "--quick")

    def test_an_unknown_specification_is_an_error(self):
        with self.assertRaises(SystemExit):
            self.verify("--only", "Lantern")


if __name__ == "__main__":
    unittest.main()
