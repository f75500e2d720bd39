"""Tests the computations and outputs of the demos; ./do demo runs the rest."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import demo
import demo_cluster
import demo_service
import demo_tenants


def result(**changes):
    return {"rps": 4000.0, "p50_ms": 20.0, "p99_ms": 60.0, "errors": 0, "cpu_s_per_1000": 0.3,
            "wakeups_per_request": 2.0, "requests": 40000, "errors_by_kind": {}} | changes


def results(**of_updater):
    updater = {"rps": 200.0, "p50_ms": 400.0, "p99_ms": 600.0} | of_updater
    return {"fairlead": result(), "updater": result(**updater),
            "trivial": result(rps=300.0, p50_ms=300.0)}


class Kernel(unittest.TestCase):
    def test_cpu_time_is_user_and_system_time(self):
        stat = "42 (load) S 1 42 42 0 -1 4194304 900 0 0 0 250 50 7 7 20 0 6 0 1234 5678"
        self.assertEqual(demo.parse_cpu_seconds(stat, 100), 3.0)

    def test_a_name_may_hold_anything(self):
        stat = "42 (a) b (c)) S 1 42 42 0 -1 4194304 900 0 0 0 1 1 7 7 20 0 6 0 1234 5678"
        self.assertEqual(demo.parse_cpu_seconds(stat, 100), 0.02)

    def test_only_voluntary_switches_are_wake_ups(self):
        status = ("Name:\tsavegames\nnonvoluntary_ctxt_switches:\t7\n"
                  "voluntary_ctxt_switches:\t123\n")
        self.assertEqual(demo.parse_voluntary_switches(status), 123)
        with self.assertRaises(ValueError):
            demo.parse_voluntary_switches("Name:\tsavegames\n")

    def test_usage_of_a_live_process(self):
        process = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()
        used = demo.usage_of(process.pid)
        self.assertGreaterEqual(used.cpu_s, 0)
        self.assertGreaterEqual(used.wakeups, 0)
        process.communicate(b"\n")

    def test_difference(self):
        self.assertEqual(demo.Usage(3.0, 50) - demo.Usage(1.0, 20), demo.Usage(2.0, 30))


class Summary(unittest.TestCase):
    def test_costs_are_per_request(self):
        report = {"requests": 2000, "rps": 200.04, "errors": 0, "errors_by_kind": {},
                  "latency_ms": {"p50": 1.23456, "p99": 9.87654}}
        summary = demo.summarize(report, demo.Usage(cpu_s=4.0, wakeups=6000))
        self.assertEqual(summary["rps"], 200.0)
        self.assertEqual(summary["p50_ms"], 1.235)
        self.assertEqual(summary["cpu_s_per_1000"], 2.0)
        self.assertEqual(summary["wakeups_per_request"], 3.0)

    def test_no_request_divides_by_nothing(self):
        report = {"requests": 0, "rps": 0, "errors": 3, "errors_by_kind": {"closed": 3},
                  "latency_ms": {"p50": 0, "p99": 0}}
        self.assertEqual(demo.summarize(report, demo.Usage(1.0, 5))["cpu_s_per_1000"], 1000.0)


class Table(unittest.TestCase):
    def test_ratios(self):
        self.assertEqual(demo.ratio_text(200, 4000), "x0.05")
        self.assertEqual(demo.ratio_text(24, 20), "x1.2")
        self.assertEqual(demo.ratio_text(620, 20), "x31")
        self.assertEqual(demo.ratio_text(1, 0), "")

    def test_bar_labels(self):
        self.assertEqual([demo.bar_text(value) for value in (0.4021, 31.93, 2095.4, 0)],
                         ["0.402", "31.9", "2095", "0"])

    def test_a_row_for_each_scheduler(self):
        lines = demo.table(results()).splitlines()
        self.assertEqual([line.split()[0] for line in lines],
                         ["scheduler", "fairlead", "updater", "trivial"])
        self.assertEqual(lines[2].split(),
                         ["updater", "200", "x0.05", "400.0", "x20", "600.0", "x10", "0.300", "x1.0",
                          "2.00", "x1.0", "0"])

    def test_titles_end_where_numbers_end(self):
        title, fairlead, *_ = demo.table(results()).splitlines()
        self.assertEqual(title.index("requests/s") + len("requests/s"),
                         fairlead.index("4000") + len("4000"))


class Verdict(unittest.TestCase):
    def test_enough_requests(self):
        shown, problems = demo.verdict(results(rps=399.0, p50_ms=90.0))
        self.assertEqual(problems, [])
        self.assertIn("10.0 times", shown[0])

    def test_a_fifth_of_the_latency_is_enough(self):
        self.assertEqual(demo.verdict(results(rps=500.0, p50_ms=100.0))[1], [])

    def test_neither(self):
        shown, problems = demo.verdict(results(rps=500.0, p50_ms=90.0))
        self.assertEqual(shown, [])
        self.assertIn("Wanted", problems[0])

    def test_errors(self):
        measured = results(errors=3, errors_by_kind={"status 503": 1, "contended": 2})
        problems = demo.verdict(measured)[1]
        self.assertEqual(problems, ["updater: 3 errors (2 contended, 1 status 503)"])

    def test_nothing_done(self):
        self.assertIn("no request", demo.verdict(results(requests=0, rps=0.0))[1][0])


class Services(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patch = mock.patch.object(demo_service, "OUTPUT", self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def program(self, text):
        path = self.folder / "savegames"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def start(self, text):
        return demo_service.Service(self.program(text), self.folder / "x.db", "fairlead")

    @staticmethod
    def until_told(status):
        return ("sleep 60 >/dev/null & child=$!\n"
                f"trap 'kill $child; exit {status}' TERM\n"
                "echo listening on http://127.0.0.1:1; wait")

    def test_one_that_starts_and_stops(self):
        with self.start(self.until_told(0)) as service:
            self.assertEqual(service.url, "http://127.0.0.1:1")
        self.assertEqual(service.process.returncode, 0)

    def test_one_that_does_not_start_says_why(self):
        with self.assertRaisesRegex(demo_service.DemoError, "(?s)gave no address.*no such file"):
            with self.start("echo no such file >&2; exit 1"):
                pass

    def test_one_that_ends_badly(self):
        with self.assertRaisesRegex(demo_service.DemoError, "ended with status 3"):
            with self.start(self.until_told(3)):
                pass

    def test_missing_programs(self):
        with self.assertRaisesRegex(demo_service.DemoError, "savegames is not executable"):
            demo_service.find_programs(self.folder)

    def test_a_failing_load_is_told(self):
        with self.assertRaisesRegex(demo_service.DemoError, "(?s)status 1.*4 answers were wrong"):
            demo_service.drive(self.program("echo 4 answers were wrong; exit 1"),
                               "http://127.0.0.1:1")

    def test_the_database_is_copied_with_its_log(self):
        for name in ("base.db", "base.db-wal", "base.ledger"):
            (self.folder / name).write_text(name)
        database, ledger = demo_service.copy_database(
            (self.folder / "base.db", self.folder / "base.ledger"), self.folder, "updater")
        self.assertEqual(database.read_text(), "base.db")
        self.assertEqual((self.folder / "updater.db-wal").read_text(), "base.db-wal")
        self.assertEqual(ledger.read_text(), "base.ledger")

    def test_plot(self):
        path = self.folder / "plot.svg"
        if not demo.plot(results(), path):
            self.skipTest("matplotlib is not installed")
        self.assertIn("<svg", path.read_text())


class Tenants(unittest.TestCase):
    COSTS = {"groups": [202.0, 104.0, 330.0], "one": [200.0, 100.0, 300.0]}

    @staticmethod
    def samples(groups, one):
        def measured(moved):
            return {"alone_ms": 30.0, "beside_ms": 30.0 * (1 + moved), "moved": moved,
                    "quiet_rps": 300.0, "noisy_rps": 3000.0, "noisy_errors": {}}

        return {"groups": [measured(each) for each in groups],
                "one": [measured(each) for each in one]}

    def test_processors_are_halved(self):
        self.assertEqual(demo_tenants.halves({3}), ({3}, {3}))
        self.assertEqual(demo_tenants.halves({2, 0}), ({0}, {2}))
        self.assertEqual(demo_tenants.halves({0, 1, 2}), ({0}, {1, 2}))

    def test_medians_and_spread(self):
        self.assertEqual(demo_tenants.spread_text([3, 1, 2], "{:+.1f}", 10),
                         "+20.0 (+10.0 to +30.0)")

    def test_a_row_for_each_mode(self):
        lines = demo_tenants.table(self.samples([0.1, 0.05, 0.2], [4, 3, 5]), self.COSTS).splitlines()
        self.assertEqual([re.split(" {3,}", line)[:2] for line in lines[1:]],
                         [["a group for each game", "30.0 (30.0 to 30.0)"],
                          ["all games in one group", "30.0 (30.0 to 30.0)"]])
        self.assertIn("+10 (+5 to +20)", lines[1])
        self.assertIn("+400 (+300 to +500)", lines[2])
        self.assertEqual([re.split(" {3,}", line)[-1] for line in lines],
                         ["CPU us a request", "202 (104 to 330)", "200 (100 to 300)"])

    def test_the_median_decides(self):
        shown, problems = demo_tenants.verdict(self.samples([0.1, 0.2, 0.9], [4, 4, 4]), self.COSTS)
        self.assertEqual(problems, [])
        self.assertIn("by 20 % with groups, by 400 % without", shown[0])
        shown, problems = demo_tenants.verdict(self.samples([0.1, 0.21, 0.9], [4, 4, 4]), self.COSTS)
        self.assertEqual([each for each in shown if "p99" in each], [])
        self.assertIn("at most 20 %", problems[0])

    def test_the_cost_of_groups_is_told_in_pairs(self):
        for moved in (0.1, 0.3):
            shown, _ = demo_tenants.verdict(self.samples([moved] * 3, [4, 4, 4]), self.COSTS)
            self.assertIn("costs 1.04 (1.01 to 1.10) times the CPU time", shown[-1])

    def test_the_cpu_time_of_a_process_counts_all_it_did(self):
        self.assertAlmostEqual(demo_tenants.cpu_seconds(os.getpid()), time.process_time(), delta=0.1)

    def test_a_game_that_was_refused_is_told(self):
        report = {"errors": 3, "errors_by_kind": {"status 429": 3}}
        tenants = object.__new__(demo_tenants.Tenants)
        tenants.load, tenants.folder, tenants.mode = "load", pathlib.Path("."), "one"
        tenants.plan, tenants.service = demo_tenants.QUICK, mock.Mock(url="http://127.0.0.1:1")
        with mock.patch.object(demo_tenants, "drive", return_value=report):
            with self.assertRaisesRegex(demo_service.DemoError, "status 429"):
                tenants.quiet(1000)


class Cluster(unittest.TestCase):
    @staticmethod
    def results(**of_killed):
        def measured(**changes):
            return {"rps": 2000.0, "p50_ms": 5.0, "p99_ms": 20.0, "requests": 1000, "errors": 0,
                    "errors_by_kind": {}, "lost": 0} | changes

        killed = {"errors": 4, "errors_by_kind": {"closed": 3, "contended": 1}} | of_killed
        return {"one process": measured(), "three processes": measured(rps=3000.0),
                "three, one killed": measured(**killed), "all read again": measured()}

    def test_what_a_kill_costs(self):
        shown, problems = demo_cluster.verdict(self.results())
        self.assertEqual(problems, [])
        self.assertIn("1.50 times", shown[0])
        self.assertIn("4 of 1000 requests (3 closed, 1 contended)", shown[1])
        self.assertIn("0 are lost", shown[2])

    def test_a_lost_save_is_a_problem(self):
        shown, problems = demo_cluster.verdict(self.results(lost=2))
        self.assertEqual(shown, [])
        self.assertIn("2 answers contradict", problems[0])

    def test_errors_without_a_kill_are_a_problem(self):
        results = self.results()
        results["all read again"]["errors"] = 1
        self.assertIn("all read again: 1 errors", demo_cluster.verdict(results)[1][0])

    def test_nothing_done(self):
        self.assertIn("no request", demo_cluster.verdict(self.results(requests=0))[1][0])

    def test_a_row_for_each_part(self):
        lines = demo_cluster.table(self.results()).splitlines()
        self.assertEqual(len(lines), 5)
        self.assertEqual(lines[3].split()[-3:], ["1000", "4", "0"])

    def test_a_killed_service_starts_again(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "savegames"
            program.write_text("#!/bin/sh\n" + Services.until_told(0))
            program.chmod(0o755)
            with mock.patch.object(demo_service, "OUTPUT", pathlib.Path(folder)):
                with demo_service.Service(program, ["--stores"], "x") as service:
                    service.kill()
                    service.start_again()
                self.assertEqual(service.process.returncode, 0)


class Help(unittest.TestCase):
    def test_bodies_are_json(self):
        text = demo.curl_help("build/release/apps/savegames/savegames")
        bodies = [line.split("'")[1] for line in text.splitlines() if "--data" in line]
        self.assertEqual([json.loads(body)["level"] for body in bodies], [1, 2])


if __name__ == "__main__":
    unittest.main()
