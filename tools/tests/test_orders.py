"""Tests of tools/orders.py, with a stand-in for the model tests."""

import contextlib
import io
import unittest
from unittest import mock

from temporary_tree import TemporaryTree

import orders

CODE = """\
void push() {
    tail_.store(1, sync::release);  // published
    head_.load(sync::acquire);
}
"""
SITES = """\
{root}/include/fairlead/lockfree/ring.hpp 2 5 store release void fairlead::lockfree::ring<T, Size>::push(T) [with T = int]
{root}/include/fairlead/lockfree/ring.hpp 3 5 load acquire void fairlead::lockfree::ring<T, Size>::push(T) [with T = int]
{root}/include/fairlead/lockfree/ring.hpp 3 9 load relaxed void fairlead::lockfree::ring<T, Size>::push(T) [with T = int]
{root}/tests/model/ring_test.cpp 9 5 store release void test()
"""
# Fails if the store is weaker.
PROGRAM = """#!/bin/sh
case "$1" in --gtest_list_tests) printf 'Ring.\\n  Wraps\\nLitmus.\\n  Shapes\\n'; exit 0 ;; esac
[ "$1" = "--gtest_filter=Ring.*" ] || exit 9
[ -z "$FAIRLEAD_MODEL_SITES" ] || cp "$0.sites" "$FAIRLEAD_MODEL_SITES"
case "$FAIRLEAD_MODEL_MUTATE" in *" 2 5 store release relaxed") echo '[  FAILED  ] Ring.Wraps (3 ms)'; exit 1 ;; esac
"""
REASON = """
[[stays]]
function = "ring::push"
code = "{code}"
weaker = "relaxed"
reason = "Nobody writes."
"""


class Orders(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("include/fairlead/lockfree/ring.hpp", CODE)
        self.write("program", PROGRAM)
        (self.root / "program").chmod(0o755)
        self.write("program.sites", SITES.format(root=self.root))
        self.write("docs/internals/orders.md")
        self.reasons("head_.load")

    def reasons(self, *codes):
        self.write("tests/model/orders.toml", "".join(REASON.format(code=code) for code in codes))

    def run_it(self, *arguments):
        """The exit code, and what is said of failures."""
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = orders.main(["--root", str(self.root), "--program", str(self.root / "program"), *arguments])
        return code, errors.getvalue()

    def test_an_order_is_found_by_a_test_or_has_a_reason(self):
        self.assertEqual(self.run_it(), (0, ""))

    def test_a_crash_is_not_what_a_test_finds(self):
        self.write("program", PROGRAM.replace("echo '[  FAILED  ] Ring.Wraps (3 ms)'; exit 1",
                                              "echo '[ RUN      ] Ring.Wraps'; kill -SEGV $$"))
        for reasons in (["head_.load"], ["head_.load", "tail_.store"]):
            with self.subTest(reasons):
                self.reasons(*reasons)
                code, errors = self.run_it()
                self.assertEqual(code, 1)
                self.assertIn("ring.hpp:2: ring::push: release made relaxed: no test fails, and Ring.Wraps ends with -11",
                              errors)

    def test_a_failure_counts_after_a_crash_elsewhere(self):
        self.write("program", """#!/bin/sh
case "$1" in *Bell*) kill -SEGV $$ ;; esac
echo '[  FAILED  ] Ring.Wraps (3 ms)'; exit 1
""")
        site = orders.Site("ring.hpp", 2, 5, "store", "release", "ring::push", "ring.hpp")
        mutant = orders.Mutant(site, "relaxed", "tail_.store", ["Bell", "Ring"])
        self.assertEqual(orders.Tests(self.root / "program").find(mutant).found_by, "Ring.Wraps")
        self.assertEqual(orders.judge([mutant], []), [])

    def test_a_program_that_does_not_end_is_ended(self):
        self.write("program", PROGRAM.replace("echo '[  FAILED  ] Ring.Wraps (3 ms)'; exit 1", "exec sleep 60"))
        with mock.patch.object(orders, "LIMIT_S", 0.5):
            code, errors = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("no test fails, and Ring has not ended after 0.5 s", errors)

    def test_a_survivor_without_a_reason_fails(self):
        self.reasons()
        code, errors = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("ring.hpp:3: ring::push: acquire may be relaxed for all tests", errors)

    def test_a_reason_for_what_a_test_finds_fails(self):
        self.reasons("head_.load", "tail_.store")
        code, errors = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("ring.hpp:2: ring::push: release may not be relaxed: Ring.Wraps finds it", errors)

    def test_a_reason_that_fits_nothing_fails(self):
        self.reasons("head_.load", "gone_.load")
        code, errors = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("nothing fits ring::push, gone_.load, relaxed", errors)

    def test_an_order_that_no_test_runs_fails(self):
        self.write("include/fairlead/lockfree/ring.hpp", CODE + "void pop() { tail_.load(sync::acquire); }\n")
        code, errors = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("ring.hpp:5: no model test runs it: void pop() { tail_.load(sync::acquire); }", errors)

    def test_the_page_names_the_test_and_the_reason(self):
        self.run_it("--write")
        page = (self.root / "docs/internals/orders.md").read_text()
        self.assertIn("Tests find 1 of 2", page)
        self.assertIn("| `ring::push` | `tail_.store(1, sync::release);` | release → relaxed | `Ring.Wraps` |", page)
        self.assertIn("| `ring::push` | `head_.load(sync::acquire);` | acquire → relaxed | Nobody writes. |", page)

    def test_the_rows_of_other_functions_stay(self):
        other = "| `bell::ring` | `rung_.load(sync::acquire);` | acquire → relaxed | `Bell.Rings` |"
        self.write("docs/internals/orders.md", f"# Old\n| function | code |\n|---|---|\n| `ring::push` | `old` | a | b |\n{other}\n")
        self.assertEqual(self.run_it("--only", "^ring::", "--suites", "^Ring$", "--write"), (0, ""))
        lines = (self.root / "docs/internals/orders.md").read_text().splitlines()
        self.assertIn("Tests find 2 of 3", "\n".join(lines))
        self.assertEqual([line.split("`")[3] for line in lines if line.startswith("| `")],
                         ["tail_.store(1, sync::release);", "head_.load(sync::acquire);", "rung_.load(sync::acquire);"])
        self.assertEqual(lines[-1], other)

    def test_a_path_may_be_relative_to_the_folder_of_the_build(self):
        self.write("program.sites", SITES.format(root="../.."))
        self.assertEqual(self.run_it(), (0, ""))

    def test_names_are_short(self):
        for name, short in (("bool fairlead::sync::signal::receive_until(fairlead::time_point)", "signal::receive_until"),
                            ("fairlead::sched::idle::wake_all()::<lambda(int)>", "idle::wake_all"),
                            ("T fairlead::base::take(T&) [with T = int]", "base::take")):
            self.assertEqual(orders.short_name(name), short)


if __name__ == "__main__":
    unittest.main()
