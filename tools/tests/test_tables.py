"""Tests of tools/tables.py."""

import unittest

from temporary_tree import TemporaryTree

import tables

MODELS = """
[[spec]]
name = "Lamp"
constants = { Lamps = 1, Colour = 5 }
mutants = ["Dark", { finds = "Lit" }]
[[spec.model]]
distinct = 1_234
[[spec.model]]
with = { Lamps = 2 }
[[spec.model]]
with = { Lamps = 9 }
deep = true
"""
PLANTED = """
# plant(Not there
plant(Lamp burns-on src/lamp.cpp
  "off();" "")
"""
PAGE = """
<!-- figures: specifications -->
| specification | constants | distinct states | depth | seconds | bugs found |
| --- | --- | ---: | ---: | ---: | ---: |
| Lamp | `Lamps=1, Colour=5` | 1,234 | 21 | 2.5 | 2 of 2 |
|  | `Lamps=2, Colour=5` | 70 | 31 | 18.5 |  |
| all |  | 1,304 |  |  | 2 of 2 |
<!-- /figures -->
<!-- figures: traces -->
| specification | from | traces | calls | states | explained | planted bugs: traces rejected |
| --- | --- | ---: | ---: | ---: | ---: | --- |
| Lamp | model | 617 | 8,150 | 97,535 | 617 | 45 of 96 in-a-scenario; 8 of 9 burns-on |
| Lamp | threads | 60 | 1,857 | 25,688 | 60 |  |
| all |  | 677 | 10,007 | 123,223 | 677 | 2 |
<!-- /figures -->
<!-- figures: models -->
| suite | scenarios | executions | steps | seconds |
| --- | ---: | ---: | ---: | ---: |
| `ModelLamp` | 7 | 3,974 | 297,820 | 63.0 |
| all | 7 | 3,974 | 297,820 |  |
<!-- /figures -->
"""


class Tables(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("spec/models.toml", MODELS)
        self.write("spec/traces/LampTrace.tla")
        self.write("spec/traces/Trace.tla")
        self.write("tests/traces/CMakeLists.txt", PLANTED)
        self.write("tests/model/lamp_test.cpp", "TEST(ModelLamp, Burns) {}\n")
        self.write("tests/model/litmus_test.cpp", "TEST(Litmus, StoreBuffering) {}\n")
        self.write("tests/model/checker/checker_test.cpp", "TEST(Explorer, Ends) {}\n")
        self.write("docs/internals/verification.md", PAGE)

    def finds(self, path, before, after, text):
        """What it says when `before` is `after` in the file."""
        with self.subTest(after):
            old = (self.root / path).read_text()
            self.assertEqual(old.count(before), 1)
            self.write(path, old.replace(before, after))
            self.assert_finds(tables.check(self.root), "docs/internals/verification.md", text)
            self.write(path, old)

    def test_tables_that_are_right(self):
        self.assertEqual(tables.check(self.root), [])

    def test_a_model_that_has_changed(self):
        self.finds("spec/models.toml", "Lamps = 2", "Lamps = 3", " `Lamps=3, Colour=5`")
        self.finds("spec/models.toml", "1_234", "1_235", "1235")
        self.finds("spec/models.toml", "\ndeep = true", "", "3 models, and 2 rows")
        self.finds("spec/models.toml", '"Dark", {', '"Dark", "Lit", {', "3 of 3: the row differs")

    def test_a_bug_that_was_not_found(self):
        self.finds("docs/internals/verification.md", "18.5 |  |\n| all |  | 1,304 |  |  | 2 of 2",
                   "18.5 | 1 of 2 |\n| all |  | 1,304 |  |  | 2 of 2", "the row differs")

    def test_a_row_too_many(self):
        self.finds("docs/internals/verification.md", "|  | `Lamps=2, Colour=5` | 70 | 31 | 18.5 |  |\n",
                   "|  | `Lamps=2, Colour=5` | 70 | 31 | 18.5 |  |\n| Torch | `Torches=1` | 7 | 3 | 1.5 | 1 of 1 |\n",
                   "2 models, and 3 rows")

    def test_a_specification_without_traces_in_the_table(self):
        self.write("spec/traces/TorchTrace.tla")
        self.assert_finds(tables.check(self.root), "docs/internals/verification.md", "traces: no row has the specification Torch")

    def test_traces_of_a_specification_that_is_none(self):
        self.finds("docs/internals/verification.md", "| Lamp | threads |", "| Torch | threads |", "there is no specification Torch")

    def test_a_planted_bug_that_the_table_does_not_name(self):
        self.finds("docs/internals/verification.md", "8 of 9 burns-on", "8 of 9 burns", "no row has the planted bug Lamp burns-on")

    def test_suites_of_model_tests(self):
        self.write("tests/model/torch_test.cpp", "TEST(ModelTorch, Burns) {}\n")
        self.assert_finds(tables.check(self.root), "docs/internals/verification.md", "models: no row has the suite ModelTorch")
        self.write("tests/model/torch_test.cpp")
        self.finds("tests/model/lamp_test.cpp", "TEST(ModelLamp, Burns) {}", "", "there is no suite ModelLamp")


if __name__ == "__main__":
    unittest.main()
