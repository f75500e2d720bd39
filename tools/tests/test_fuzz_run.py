"""The runner of the fuzz targets, with a program in the place of one."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from temporary_tree import TOOLS

RUNNER = TOOLS.parent / "tests" / "fuzz" / "run.py"


class FuzzRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "corpus").mkdir()
        (self.folder / "corpus" / "one").write_bytes(b"1")

    def run_with(self, body, **environment):
        """Runs a shell script as the target. Gives its exit status, output and arguments."""
        program = self.folder / "target"
        program.write_text(f'#!/bin/sh\necho "$*" >> {self.folder}/calls\n{body}\n', encoding="utf-8")
        program.chmod(0o755)
        kept = {name: value for name, value in os.environ.items()
                if name not in ("FAIRLEAD_TEST_SEED", "FAIRLEAD_FUZZ_SEED", "FAIRLEAD_FUZZ_SECONDS")}
        done = subprocess.run(
            [sys.executable, "-B", RUNNER, program, "--corpus", self.folder / "corpus", "--work", self.folder / "work"],
            check=False, capture_output=True, text=True, env={**kept, **environment})
        return done.returncode, done.stdout, (self.folder / "calls").read_text(encoding="utf-8").splitlines()

    def test_the_corpus_comes_first_and_then_a_seed(self):
        status, printed, (first, second) = self.run_with("exit 0")
        self.assertEqual((status, printed), (0, ""))
        self.assertTrue(first.endswith("/corpus/one"))
        self.assertNotIn("-seed=", first)
        self.assertIn("-seed=", second)
        self.assertRegex(second, r"-max_total_time=[1-4]( |$)")

    def test_each_run_has_another_seed(self):
        seeds = set()
        for _ in range(3):
            _, _, calls = self.run_with("exit 0")
            seeds.add(calls[-1].partition("-seed=")[2].split()[0])
        self.assertGreater(len(seeds), 1)

    def test_a_failure_prints_the_seed_which_can_be_given(self):
        fails_in_fuzzing = 'case "$*" in *-seed=*) exit 77;; esac'
        status, printed, calls = self.run_with(fails_in_fuzzing, FAIRLEAD_TEST_SEED="5")
        self.assertEqual((status, printed), (1, "again: FAIRLEAD_TEST_SEED=5\n"))
        self.assertIn("-seed=5 ", calls[-1])
        status, printed, _ = self.run_with(fails_in_fuzzing)
        self.assertEqual(status, 1)
        self.assertRegex(printed, r"\Aagain: FAIRLEAD_TEST_SEED=\d+\n\Z")

    def test_a_failure_of_the_corpus_is_enough(self):
        status, _, calls = self.run_with("exit 77")
        self.assertEqual((status, len(calls)), (1, 1))

    def test_a_kept_run_goes_on_from_what_it_has(self):
        _, _, calls = self.run_with("exit 0", FAIRLEAD_FUZZ_SEED="7")
        self.assertIn("-seed=7 ", calls[-1])
        self.assertIn("/kept ", calls[-1])


if __name__ == "__main__":
    unittest.main()
