"""The benchmarks of Erlang: how they are started, and what they print."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
SOURCES = TOOLS.parent / "bench" / "erlang"
sys.path.insert(0, str(TOOLS))

import bench
from harness import plan, rows

SHORT = ("--work_ns", "50000", "--span_ms", "2", "--count", "20")


class Linked(unittest.TestCase):
    """The script, linked as the build links it, and called from elsewhere."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.modules = self.root / "erlang"
        self.modules.mkdir()
        shutil.copy(SOURCES / "launch.sh", self.modules / "fairlead_rivals")
        self.link("w11")

    def link(self, workload):
        (self.root / workload).mkdir()
        (self.root / workload / "erlang").symlink_to(self.modules / "fairlead_rivals")

    def start(self, *arguments, workload="w11", path=os.environ["PATH"]):
        return subprocess.run([f"{workload}/erlang", *arguments], cwd=self.root, env={**os.environ, "PATH": path},
                              capture_output=True, text=True, timeout=60)


class Starting(Linked):
    def asked(self, *arguments):
        """What the script asks of `erl`."""
        (self.root / "bin").mkdir(exist_ok=True)
        fake = self.root / "bin" / "erl"
        fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
        fake.chmod(0o755)
        said = self.start(*arguments, path=f"{fake.parent}:{os.environ['PATH']}").stdout.splitlines()
        return said[1], said[said.index("-pa") + 1], said[said.index("-extra") + 1:]

    def test_as_many_schedulers_as_workers(self):
        self.assertEqual(self.asked("--case", "slices", "--workers", "3", "--chains", "5")[0], "3:3")
        self.assertEqual(self.asked("--case", "slices")[0], "1:1")

    def test_what_is_no_number_is_left_to_the_program(self):
        self.assertEqual(self.asked("--workers", "3x")[0], "1:1")

    def test_the_folders_tell_the_workload_and_the_modules(self):
        _, modules, rest = self.asked("--case", "slices", "--workers", "3")
        self.assertEqual(pathlib.Path(modules), self.modules.resolve())
        self.assertEqual(rest, ["w11", "--case", "slices", "--workers", "3"])


@unittest.skipUnless(shutil.which("erl") and shutil.which("erlc"), "there is no Erlang")
class Running(Linked):
    def setUp(self):
        super().setUp()
        subprocess.run(["erlc", "-Wall", "-Werror", "-o", self.modules, *SOURCES.glob("*.erl")], check=True)

    def test_prints_a_sample_of_each_case(self):
        for name in ("saturated", "slices"):
            with self.subTest(name):
                case = plan.make_case("W11", name, name, ("erlang",), 1)
                done = self.start("--case", name, "--chains", "4", *SHORT)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                sample = rows.parse_sample(done.stdout, case)
                self.assertEqual((sample.unit, sample.items), ("us", 20))
                self.assertEqual(set(sample.beside), {"p50", "max", "p99 from its ms", "busy"})
                late = {name: value for name, (value, _) in sample.beside.items()}
                self.assertLessEqual(0, late["p50"])
                self.assertLessEqual(late["p50"], sample.value)
                self.assertLessEqual(sample.value, late["max"])
                # What is left without the rounding, up to 1 ms.
                self.assertLessEqual(late["p99 from its ms"], sample.value)
                self.assertLessEqual(sample.value - 1000, late["p99 from its ms"])
                self.assertGreater(late["busy"], 0)
                self.assertGreater(sample.peak_rss_bytes, 2**20)

    def test_says_what_it_does_not_offer(self):
        done = self.start("--case", "wake", *SHORT)
        self.assertEqual((done.returncode, done.stderr), (bench.NOT_OFFERED, "erlang does not offer wake\n"))

    def test_refuses_what_it_does_not_know(self):
        for arguments, why in ((("--case", "slices", "--count", "ten"), "--count needs a number"),
                               (("--case", "slices", "--workers", "3x"), "--workers needs a number"),
                               (("--case", "slices", "--count"), "--count needs a value"),
                               (("--colour", "red"), "unknown option --colour"),
                               (("--count", "10"), "--case NAME is needed")):
            with self.subTest(why):
                done = self.start(*arguments)
                self.assertEqual((done.returncode, done.stderr, done.stdout), (64, why + "\n", ""))

    def test_has_to_be_called_of_a_workload(self):
        self.link("w99")
        done = self.start("--case", "slices", workload="w99")
        self.assertEqual((done.returncode, done.stderr), (64, "to be called as <workload>/erlang\n"))


if __name__ == "__main__":
    unittest.main()
