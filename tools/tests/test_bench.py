import contextlib
import io
import json
import pathlib
import re
import stat
import sys
import tempfile
import unittest
from unittest import mock

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

import bench
import counts
from harness import compare, machine, plan, record, report, rows

CASE = plan.make_case("W1", "callback P=1 W=2", "callback", ("trivial",), 1,
                      workers=2, producers=1, count=1000)


def sample(value, **others):
    values = {"unit": "ns", "cpu_seconds": 0.5, "peak_rss_bytes": 2**21, "items": 1000} | others
    return rows.Sample(value, **values)


def result_of(case=CASE, **values):
    result = rows.Result(case)
    for runtime, found in values.items():
        result.samples[runtime] = [sample(value) for value in found]
    return result


class Statistics(unittest.TestCase):
    def test_spread(self):
        self.assertEqual(rows.spread([10]), 0)
        self.assertAlmostEqual(rows.spread([9, 10, 12]), 0.3)
        self.assertEqual(rows.spread([0, 0]), 0)

    def test_noisy_is_more_than_15_percent(self):
        self.assertFalse(result_of(fairlead=[93, 100, 107]).is_noisy())
        self.assertTrue(result_of(fairlead=[100, 100], trivial=[90, 100, 110]).is_noisy())

    def test_a_difference_is_as_steady_as_what_it_was_taken_from(self):
        result = rows.Result(CASE, {"fairlead": [sample(1, total=100), sample(5, total=104)]})
        self.assertFalse(result.is_noisy())

    def test_the_counted_queue_is_not_measured(self):
        case = plan.make_case("Q1", "front P=1", "front", (plan.COUNTED,), 1)
        result = result_of(case, fairlead=[10], fairlead_counted=[10, 100])
        self.assertEqual(result.measured(), ["fairlead"])
        self.assertFalse(result.is_noisy())

    def test_ratio_is_the_rival_over_ours(self):
        result = result_of(fairlead=[10, 20, 30], trivial=[40, 50, 90])
        self.assertEqual(result.ratio("trivial"), 2.5)
        self.assertIsNone(result.ratio("asio"))

    def test_rows(self):
        found = rows.rows_of(result_of(fairlead=[10, 30, 20]))
        self.assertEqual(found[0], {"workload": "W1", "case": "callback P=1 W=2",
                                    "runtime": "fairlead", "median": 20, "min": 10, "max": 30,
                                    "unit": "ns", "runs": 3})
        beside = {row["case"]: row["median"] for row in found[1:]}
        self.assertEqual(beside, {"callback P=1 W=2, cpu": 500, "callback P=1 W=2, memory": 2})

    def test_values_beside_have_rows_of_their_own(self):
        case = plan.make_case("W9", "single W=1", "single", (), 1)
        result = rows.Result(case, {"fairlead": [sample(1, beside={"p99": (value, "us")})
                                                 for value in (5, 9, 7)]})
        self.assertEqual([(row["case"], row["median"], row["unit"])
                          for row in rows.rows_of(result)],
                         [("single W=1", 1, "ns"), ("single W=1, p99", 7, "us")])
        self.assertIn("p99 7.00 us", report.text_table([result]))

    def test_contention_is_a_row_of_ours(self):
        case = plan.make_case("Q1", "front P=1", "front", (plan.COUNTED,), 1)
        result = rows.Result(case, {plan.COUNTED: [sample(1, contended=5)]})
        self.assertEqual([(row["case"], row["runtime"], row["median"])
                          for row in rows.rows_of(result)],
                         [("front P=1, contended", "fairlead", 5)])


class Protocol(unittest.TestCase):
    line = ('{"workload": "W1", "case": "callback", "runtime": "trivial", "value": 12.5, '
            '"unit": "ns", "cpu_seconds": 0.25, "items": 1000, "peak_rss_bytes": 4096}')

    def test_the_last_line_counts(self):
        found = rows.parse_sample("a warning\n" + self.line + "\n", CASE)
        self.assertEqual(found, rows.Sample(12.5, "ns", 0.25, 4096, 1000))

    def test_values_beside(self):
        line = self.line.replace('"items"', '"beside": {"p99": [1.5, "us"]}, "items"')
        self.assertEqual(rows.parse_sample(line, CASE).beside, {"p99": (1.5, "us")})
        bad = line.replace('[1.5, "us"]', '1.5')
        with self.assertRaises(rows.ProtocolError):
            rows.parse_sample(bad, CASE)

    def test_a_profile(self):
        line = self.line.replace('"items"', '"profile": {"along": "weight", "what": "%", "points": [[1, 99], [2, 100.5]]}, '
                                 '"items"')
        self.assertEqual(rows.parse_sample(line, CASE).profile, rows.Profile("weight", "%", ((1, 99), (2, 100.5))))
        with self.assertRaises(rows.ProtocolError):
            rows.parse_sample(line.replace("[1, 99]", "1"), CASE)

    def test_anything_else_is_refused(self):
        for output in ("", "no JSON", "{}", "[]", "3", "null", self.line.replace("value", "val"),
                       self.line.replace("W1", "W2"), self.line.replace("callback", "one_shot")):
            with self.subTest(output), self.assertRaises(rows.ProtocolError):
                rows.parse_sample(output, CASE)

    def test_command(self):
        self.assertEqual(CASE.command(pathlib.Path("b"), "trivial"),
                         ["b/w1/trivial", "--case", "callback", "--workers", "2",
                          "--producers", "1", "--count", "1000"])


class Quiet:
    def step(self, *_):
        pass


class Running(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "w1").mkdir()

    def program(self, runtime, body):
        path = self.folder / "w1" / runtime
        path.write_text("#!/bin/sh\n" + body, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def measure(self, runs=2, warm_up=1):
        return bench.measure(CASE, self.command, runs, warm_up, Quiet())

    def command(self, case, runtime):
        return case.command(self.folder, runtime)

    def test_a_missing_rival_is_a_missing_row(self):
        self.program("fairlead", f"echo '{Protocol.line}'")
        result = self.measure()
        self.assertEqual(result.values("fairlead"), [12.5, 12.5])
        self.assertIn("not built", result.failures["trivial"])
        self.assertEqual({row["runtime"] for row in rows.rows_of(result)}, {"fairlead"})
        self.assertIn("package is missing", report.text_table([result]))

    def test_a_crash_is_a_missing_row_too(self):
        self.program("fairlead", f"echo '{Protocol.line}'")
        self.program("trivial", "kill -SEGV $$")
        self.assertIn("failed with -11", self.measure().failures["trivial"])

    def test_a_hang_is_a_missing_row_too(self):
        self.program("fairlead", "exec sleep 60")
        result = bench.measure(CASE, self.command, 1, 0, Quiet(), limit_s=0.1)
        self.assertEqual(result.failures["fairlead"], "did not end within 0.1 s")

    def test_what_it_said_is_shown(self):
        self.program("fairlead", "echo an item was lost >&2; exit 1")
        self.assertEqual(self.measure().failures["fairlead"],
                         "failed with 1: an item was lost")

    def test_a_failure_in_a_later_run_voids_the_earlier_ones(self):
        self.program("fairlead", f"echo '{Protocol.line}'")
        self.program("trivial", f"rm $0; echo '{Protocol.line}'")
        self.assertNotIn("trivial", self.measure(runs=3, warm_up=0).samples)

    def test_runtimes_take_turns(self):
        for runtime in ("fairlead", "trivial"):
            self.program(runtime, f"echo {runtime} >>{self.folder}/log; echo '{Protocol.line}'")
        self.measure(runs=2, warm_up=0)
        self.assertEqual((self.folder / "log").read_text().split(),
                         ["fairlead", "trivial"] * 2)

    def test_main_writes_rows(self):
        (self.folder / "bench").symlink_to(self.folder)
        self.program("fairlead", f"echo '{Protocol.line}'")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = bench.main(["W1", "--quick", "--cases", "callback P=1 W=1$", "--only",
                                 "fairlead", "--build", str(self.folder),
                                 "--output", str(self.folder / "out")])
        self.assertEqual(status, 0)
        found = json.loads((self.folder / "out" / "W1.json").read_text())
        self.assertEqual(set(found[0]), {"workload", "case", "runtime", "median", "min", "max",
                                         "unit", "runs"})
        self.assertEqual(found[0]["runs"], 3)

    def report(self, *arguments):
        """What main says on stderr; the report goes to results/."""
        if not (self.folder / "bench").exists():
            (self.folder / "bench").symlink_to(self.folder)
        with (contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said,
              mock.patch.object(machine, "slug", lambda: "box")):
            bench.main(["W1", "--quick", "--report", "--only", "fairlead,trivial", "--build", str(self.folder),
                        "--output", str(self.folder / "out"), "--results", str(self.folder / "results"),
                        *arguments])
        return said.getvalue()

    def test_main_writes_a_report_in_parts(self):
        for runtime in ("fairlead", "trivial"):
            self.program(runtime, f"echo '{Protocol.line}'")
        with mock.patch.object(machine, "commit", lambda _: "old1"):
            said = self.report("--cases", "callback P=[15] W=1$")
        self.assertNotIn("is missing", said)
        with mock.patch.object(machine, "commit", lambda _: "new1"):
            self.report("--cases", "callback P=1 W=1$")
        kept = record.read(self.folder / "results" / "box.json")
        self.assertEqual([(result.case.label, result.run.machine["commit"], len(result.values("trivial")))
                          for result in kept.results["W1"]],
                         [("callback P=1 W=1", "new1", 3), ("callback P=5 W=1", "old1", 3)])
        page = (self.folder / "results" / "box.md").read_text()
        self.assertIn("`./do bench W1 --quick --cases 'callback P=1 W=1$' --only fairlead,trivial`, at commit new1",
                      page)
        self.assertNotIn(str(self.folder), page)
        self.assertIn("callback P=5 W=1", (self.folder / "results" / "box" / "w1.svg").read_text())

    def test_a_page_whose_json_is_missing_is_not_kept_and_said(self):
        self.program("fairlead", f"echo '{Protocol.line}'")
        (self.folder / "results").mkdir()
        (self.folder / "results" / "box.md").write_text("old")
        said = self.report("--cases", "callback P=1 W=1$")
        self.assertIn("box.json is missing, so what box.md had is not kept", said)
        self.assertIn("## W1", (self.folder / "results" / "box.md").read_text())

    def test_a_noisy_case_of_a_report_is_repeated_though_it_is_quick(self):
        line = Protocol.line.replace("12.5", "'$(wc -l <%s/log)'" % self.folder)
        self.program("fairlead", f"echo >>{self.folder}/log; echo '{line}'")
        self.report("--cases", "callback P=1 W=1$")
        [result] = record.read(self.folder / "results" / "box.json").results["W1"]
        self.assertEqual((result.repeats, result.values("fairlead")), (2, [7, 8, 9]))


class Repeating(unittest.TestCase):
    def repeat(self, results, repeated, seconds_left=100, owed=0):
        asked = []

        def again(case):
            asked.append(case.label)
            return repeated.pop(0)

        bench.repeat_noisy(results, again, lambda: seconds_left, owed)
        return asked

    def test_the_calmer_repetition_counts(self):
        results = [result_of(fairlead=[50, 100])]
        self.repeat(results, [result_of(fairlead=[40, 100]), result_of(fairlead=[90, 100])])
        self.assertEqual(results[0].values("fairlead"), [90, 100])

    def test_it_is_counted_whichever_repetition_counts(self):
        for repeated, count in (([60, 100], [50, 100]), 2), (([90, 100],), 1), (([40, 100], [99, 100]), 2):
            results = [result_of(fairlead=[50, 100])]
            self.repeat(results, [result_of(fairlead=values) for values in repeated])
            self.assertEqual(results[0].repeats, count)

    def test_who_is_missing_each_time_does_not_matter_but_who_fails_now_does(self):
        for before, after, values in (({"tbb"}, {"tbb"}, [90, 100]), ({"tbb", "asio"}, {"tbb"}, [90, 100]),
                                      ({"tbb"}, {"tbb", "asio"}, [50, 100])):
            noisy, repeated = result_of(fairlead=[50, 100]), result_of(fairlead=[90, 100])
            noisy.failures, repeated.failures = dict.fromkeys(before, "no"), dict.fromkeys(after, "no")
            results = [noisy]
            self.repeat(results, [repeated, repeated])
            self.assertEqual(results[0].values("fairlead"), values)

    def test_each_number_of_repeats_has_a_name(self):
        self.assertEqual(len(report.TIMES), bench.REPEATS_MAX + 1)

    def test_a_round_that_is_owed_takes_its_time(self):
        noisy = result_of(fairlead=[50, 100])
        noisy.seconds = 101
        again = result_of(fairlead=[50, 100])
        self.assertEqual(len(self.repeat([noisy], [again], owed=1)), 1)

    def test_calm_cases_and_those_without_time_are_left(self):
        self.assertEqual(self.repeat([result_of(fairlead=[100, 101])], []), [])
        noisy = result_of(fairlead=[50, 100])
        noisy.seconds = 101
        self.assertEqual(self.repeat([noisy], []), [])


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.isatty = lambda: terminal


class Progressing(unittest.TestCase):
    def steps(self, terminal, *times, total=4):
        clock = iter((0, *times))
        progress = bench.Progress(total, Stream(terminal), lambda: next(clock))
        for _ in times:
            progress.step(1, "W1 x")
        return progress

    def test_a_bar_on_a_terminal(self):
        said = self.steps(True, 0, 10).stream.getvalue()
        self.assertIn(f"[{'#' * 7}{' ' * 23}]   30 s left  W1 x", said)
        self.assertNotIn("\n", said)

    def test_a_line_a_minute_elsewhere(self):
        said = self.steps(False, 0, 59, 60, 119).stream.getvalue()
        self.assertEqual(said, "  0 %       begins  W1 x\n 50 %    60 s left  W1 x\n")

    def test_a_repetition_takes_longer(self):
        progress = self.steps(True, 0, 10)
        progress.expect(4)
        progress.clock = lambda: 20
        progress.step(1, "W1 x")
        self.assertIn("]   60 s left  W1 x", progress.stream.getvalue())

    def expected(self, seconds, *options):
        """How much was expected at each measurement of a noisy case that takes so long."""
        seen = []

        def measured(case, command_of, runs, warm_up, progress, limit_s):
            seen.append(progress.total)
            result = result_of(case, fairlead=[50, 100])
            result.seconds = seconds
            return result

        asked = bench.parse_arguments(["W1", "--runs", "2", *options])
        with (mock.patch.object(bench, "measure", measured), contextlib.redirect_stderr(io.StringIO())):
            bench.run_all([CASE], asked, None)
        return seen

    def test_what_is_expected_includes_the_repetitions(self):
        self.assertEqual(self.expected(1), [6, 12, 18])     # two runtimes, two runs and a warm-up
        self.assertEqual(self.expected(1, "--quick"), [4])

    def test_a_report_owes_one_repetition(self):
        self.assertEqual(self.expected(bench.TIME_LIMIT_S + 1), [6])
        self.assertEqual(self.expected(bench.TIME_LIMIT_S + 1, "--report"), [6, 12])
        self.assertEqual(self.expected(1, "--report", "--compare", "a", "b", "--quick"), [4])


class Completeness(unittest.TestCase):
    def test_a_workload_is_complete_if_all_of_it_was_asked_for_and_measured(self):
        other = plan.make_case("W2", "x", "x", (), 1)
        more = plan.make_case("W2", "y", "x", (), 1)
        results = [result_of(fairlead=[1]), result_of(other, fairlead=[1])]
        self.assertEqual(bench.complete(results, [CASE, other], False), {"W1", "W2"})
        self.assertEqual(bench.complete(results, [CASE, other, more], False), {"W1"})
        self.assertEqual(bench.complete(results, [CASE, other], True), set())

    def test_a_choice_limits(self):
        for option, limits in (("--cases=x", True), ("--only=tbb", True), ("--threads=1", True),
                               ("--quick", False), ("--runs=7", False)):
            self.assertEqual(bench.parse_arguments([option]).limited, limits, option)

    def test_what_was_asked_for_is_told_without_places(self):
        options = bench.parse_arguments(["W7", "--quick", "--threads", "1,2", "--cases", "a b", "--report",
                                         "--build", "/b", "--output", "/o", "--results", "/r"])
        self.assertEqual(options.said, "--quick --cases 'a b' --threads 1,2")


class Counted(unittest.TestCase):
    def counted(self, perf, program=pathlib.Path(__file__)):
        with mock.patch.object(counts, "perf", perf):
            return bench.counted("c0", program)

    def test_posts_forks_switches_and_timers_are_there_as_the_bounds_have_them(self):
        found = self.counted(lambda *_: None)
        self.assertEqual({path["section"] for path in found["paths"]}, set(bench.COUNTED))
        self.assertEqual(found["commit"], "c0")
        _, bounds = counts.read_bounds((bench.REPOSITORY / counts.BOUNDS).read_text())
        for path in found["paths"]:
            [bound] = [each for each in bounds if (each.section, each.name) == (path["section"], path["name"])]
            self.assertEqual(list(path["costs"].values()), list(bound.costs.values()))

    def test_cycles_where_they_can_be_had(self):
        found = self.counted(lambda program, name: [100, 250.06])
        cycles = {path["section"]: path["costs"].get("cycles") for path in found["paths"]}
        self.assertEqual(cycles, dict.fromkeys(bench.COUNTED, 250.1) | {"handovers": None})
        self.assertIn("by `perf stat`", found["cycles"])

    def test_nobody_asks_twice_for_cycles_that_cannot_be_had(self):
        asked = []
        found = self.counted(lambda program, name: asked.append(name))
        self.assertEqual(len(asked), 1)
        self.assertIn("missing", found["cycles"])
        self.counted(lambda program, name: asked.append(name), pathlib.Path("none"))
        self.assertEqual(len(asked), 1)


class Plan(unittest.TestCase):
    def test_labels_are_unique_and_ours_comes_first(self):
        for size in (plan.Size(), plan.Size((1, 2), quick=True), plan.Size(full=True)):
            cases = plan.cases(plan.WORKLOADS, size)
            labels = [(case.workload, case.label) for case in cases]
            self.assertEqual(len(labels), len(set(labels)))
            self.assertTrue(all(case.runtimes[0] == plan.OURS for case in cases))
            self.assertTrue(all(number > 0 for case in cases for option, number in case.arguments
                                if option == "count"))

    def test_full_has_the_sizes_of_the_definitions(self):
        for case in plan.cases(["W1", "W2"], plan.Size(full=True)):
            count = dict(case.arguments)["count"]
            self.assertEqual(count, 100_000 if "timed" in case.label else 1_000_000)

    def test_fork_join_has_the_problems_of_the_definitions(self):
        labels = {case.label for case in plan.cases(["W5"], plan.Size((1,), full=True))}
        self.assertEqual(labels, {"fib 39 W=1", "skynet 1000000 W=1", "nqueens 14 W=1",
                                  "matmul 2048 W=1"})

    def test_guests_take_part_in_few_cases_and_with_full_in_all_that_they_have(self):
        def runtimes(workload, name, size):
            return [set(case.runtimes) for case in plan.cases([workload], size)
                    if case.program_case == name]

        for case, guests in plan.GUESTS.items():
            workload, name = case.split()
            with self.subTest(case):
                few, every = (runtimes(workload, name, plan.Size(full=full)) for full in (False, True))
                self.assertTrue(any(each.issuperset(guests) for each in few))
                self.assertTrue(all(each.issuperset(guests) for each in every))
        self.assertFalse(all("go" in each for each in runtimes("W2", "one_shot", plan.Size())))

    def test_each_runtime_of_a_case_is_built(self):
        bench_folder = TOOLS.parent / "bench"
        foreign = dict(re.findall(r"fairlead_foreign_bench\((\w+) \S+ ([^)]*)\)",
                                  (bench_folder / "CMakeLists.txt").read_text()))
        for case in plan.cases(plan.WORKLOADS, plan.Size(full=True)):
            for runtime in case.runtimes:
                folder = case.workload.lower()
                with self.subTest(f"{folder}/{runtime}"):
                    self.assertTrue(folder in foreign.get(runtime, "").split() or
                                    (bench_folder / folder / f"{runtime}.cpp").exists())

    def test_each_handshake_has_its_rivals(self):
        for case in plan.cases(["W18"], plan.Size((1, 2))):
            workers = dict(case.arguments)["workers"]
            self.assertEqual(case.runtimes[1:], ("openssl", "nginx") if workers == 1 else ("nginx",))

    def test_each_request_has_its_rivals_and_a_whole_number_of_rounds(self):
        for size in (plan.Size(), plan.Size((1, 2), quick=True)):
            found = plan.cases(["W19"], size)
            self.assertEqual({case.program_case for case in found}, set(plan.DATABASES))
            for case in found:
                options = dict(case.arguments)
                self.assertEqual(case.runtimes[1:], plan.DATABASES[case.program_case])
                at_once = options["connections"] * options.get("in_flight", 1)
                self.assertEqual(options["count"] % at_once, 0, case.label)  # those of pgbench

    def test_each_page_has_its_cases(self):
        found = plan.cases(["W21"], plan.Size((1, 2)))
        self.assertEqual({case.program_case for case in found}, {"plaintext", "json"})
        for case in found:
            options = dict(case.arguments)
            self.assertEqual(options.get("in_flight", 1), 16 if case.program_case == "plaintext" else 1)
            self.assertGreaterEqual(options["count"], 100 * options["connections"], case.label)
        self.assertEqual({(dict(case.arguments)["connections"], dict(case.arguments)["workers"]) for case in found},
                         {(64, 1), (64, 2), (256, 1), (256, 2)})

    def test_a_rival_of_channels_has_the_channel_of_the_case(self):
        rivals = {(case.program_case, dict(case.arguments).get("consumers", 1)): set(case.runtimes[1:])
                  for case in plan.cases(["W8"], plan.Size((1,)))}
        every = {"locked", "asio", "tbb", "go", "tokio"}
        self.assertEqual(rivals["bounded", 1], every)
        self.assertEqual(rivals["ping_pong", 1], every)
        self.assertEqual(rivals["bounded", 10], every - {"tokio"})
        self.assertEqual(rivals["unbounded", 1], every - {"go"})
        self.assertEqual(rivals["batched", 1], {"tokio"})
        self.assertEqual(rivals["batched", 10], set())

    def test_each_wait_has_its_cases_and_rivals(self):
        for size in (plan.Size((1, 2)), plan.Size((1, 2), quick=True), plan.Size(full=True)):
            found = plan.cases(["W22"], size)
            self.assertEqual({case.program_case for case in found}, set(plan.WAITING))
            for case in found:
                self.assertEqual(case.runtimes[1:], plan.WAITING[case.program_case])
                self.assertGreaterEqual(dict(case.arguments)["count"],
                                        10 * dict(case.arguments).get("chains", 1), case.label)

    def test_selection(self):
        options = bench.parse_arguments(["w1", "--cases", "P=2 W=1$", "--only", "trivial,asio"])
        cases = bench.planned_cases(options)
        self.assertEqual([case.label for case in cases],
                         ["callback P=2 W=1", "one_shot P=2 W=1", "coroutine P=2 W=1"])
        self.assertTrue(all(case.runtimes == ("trivial",) for case in cases))


class Comparing(unittest.TestCase):
    steady = [100, 101, 102, 103, 104]

    def result(self, before, after):
        case, = compare.between([CASE], ("a1", "b2"))
        return result_of(case, a1=before, b2=after)

    def test_what_moved_beyond_the_noise(self):
        for after, expected in ((range(105, 110), "slower"), (range(95, 100), "faster"),
                                (self.steady, ""), ((100, 101, 102, 103, 900), "")):
            with self.subTest(after):
                self.assertEqual(compare.verdict(self.steady, list(after)), expected)

    def test_a_few_runs_prove_nothing_and_the_sides_mirror(self):
        self.assertEqual(compare.verdict([100] * 3, [200] * 3), "")
        self.assertEqual(compare.significance([1, 2], [3, 4]), -compare.significance([3, 4], [1, 2]))

    def test_table_and_summary(self):
        results = [self.result(self.steady, [110] * 5), self.result(self.steady, self.steady)]
        self.assertRegex(compare.table(results, ("a1", "b2")),
                         r"W1 callback P=1 W=2 +102 +110 +\+7.8 %  slower")
        self.assertEqual(compare.summary(results),
                         ["slower: W1 callback P=1 W=2 +7.8 %",
                          "1 of 2 moved; by chance it is one in a hundred"])

    def test_a_failure_is_told(self):
        result = self.result([100], [100])
        result.failures["b2"] = "failed with 1"
        self.assertIn("b2: failed with 1", compare.table([result], ("a1", "b2")))

    def test_what_one_of_them_lacks_is_not_built(self):
        options = bench.parse_arguments(["W7", "Q1", "--compare", "a", "b"])
        trees = {"a": ("a1", pathlib.Path("a")), "b": ("b2", pathlib.Path("b"))}
        for has, built in ((lambda tree, name: name == "Q1" or tree.name == "b", [["Q1"], ["Q1"]]),
                           (lambda tree, name: tree.name == "b", [])):
            asked = []
            with (mock.patch.object(compare, "checkout", lambda _, name: trees[name]),
                  mock.patch.object(compare, "has", has),
                  mock.patch.object(compare, "build",
                                    lambda tree, names: asked.append(list(names)) or tree),
                  mock.patch.object(bench, "run_all", lambda cases, *_: []),
                  contextlib.redirect_stdout(io.StringIO()),
                  contextlib.redirect_stderr(io.StringIO())):
                bench.compare_commits(bench.planned_cases(options), options)
            self.assertEqual(asked, built)

    def test_the_programs_are_ours(self):
        counted = plan.make_case("Q1", "x", "x", ("mutex",), 1)
        rivals_only = plan.dataclasses.replace(counted, runtimes=("mutex",))
        self.assertEqual([case.runtimes for case in compare.between([counted, rivals_only], "ab")],
                         [("a", "b")])


class Machine(unittest.TestCase):
    def test_busy_ticks(self):
        self.assertEqual(machine.parse_busy_ticks("cpu  1 2 4 800 900 8 16 32 0 0\ncpu0 ..."), 63)

    def test_process_ticks(self):
        fields = "S 1 2 3 4 5 6 7 8 9 10 40 2 0"
        self.assertEqual(machine.parse_process_ticks(f"7 (a (b) c) {fields}"), ("a (b) c", 42))

    def test_busy_processes(self):
        second = machine.TICKS_PER_SECOND
        before = {"1": ("idle", 5), "2": ("busy", 0)}
        after = {"1": ("idle", 5), "2": ("busy", second), "3": ("new", 50 * second)}
        self.assertEqual(machine.busy_processes(before, after, 2), [("busy", 0.5)])

    def test_a_commit_is_changed_by_what_is_measured_only(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)

            def git(*arguments):
                machine.output_of("git", "-C", name, "-c", "user.name=a", "-c", "user.email=a", *arguments)

            files = [folder / path for path in ("README.md", "tests/x.cpp", "bench/plan.py", "bench/results/box.json",
                                                "bench/x.cpp", "src/x.cpp", "CMakeLists.txt")]
            measured = files[4:]
            for file in files:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("old")
            git("init", "--quiet")
            git("add", ".")
            git("commit", "--quiet", "--message", "x")
            for file in files:
                with self.subTest(file):
                    before = machine.commit(folder)
                    self.assertRegex(before, "^[0-9a-f]{12}$")
                    file.write_text("new")
                    self.assertEqual(machine.commit(folder), before + (" with changes" if file in measured else ""))
                    git("commit", "--quiet", "--all", "--message", "y")
                    (self.assertNotEqual if file in measured else self.assertEqual)(machine.commit(folder), before)

    def test_the_crates_have_versions(self):
        for version in machine.crate_versions(TOOLS.parent, "tokio", "hyper", "rayon"):
            self.assertRegex(version, r"^\d+\.\d+\.\d+$")

    def test_the_modules_have_versions(self):
        for version in machine.module_versions(TOOLS.parent, "jackc/pgx", "redis/go-redis"):
            self.assertRegex(version, r"^\d+\.\d+\.\d+$")

    def test_slug_is_a_file_name(self):
        self.assertRegex(machine.slug(), r"^[a-z0-9-]+$")


class Reports(unittest.TestCase):
    def test_a_faster_rival_is_named(self):
        table = report.text_table([result_of(fairlead=[100], trivial=[50])])
        self.assertIn("faster than ours", table)
        self.assertIn("0.50", table)

    def test_marks(self):
        result = result_of(fairlead=[50, 100])
        result.foreign_share = 0.2
        self.assertEqual(report.marks(result), ["spread up to 67 %, not repeated", "others used 20 %"])

    def test_summary(self):
        self.assertEqual(report.summary([result_of(fairlead=[100], trivial=[250])]),
                         ["trivial: ours is first in 1 of 1; median ratio 2.50, lowest 2.50 (callback P=1 W=2)"])


if __name__ == "__main__":
    unittest.main()
