import json
import unittest

from temporary_tree import TemporaryTree
import historical

SCENARIOS = 'std::vector<bug> wake_ups() { return {{"tokio_1", "Tokio, PR #1"}}; }\n'
ELSEWHERE = """
[[bug]]
where = "Others, issue #2"
mistake = "A limit of 1 does nothing"
layer = "unit tests"
shown_by = ["Defects.SizeOne", "Parking bug 2"]
"""
PLANTED = {"Defects.SizeOne": {"failed": 5, "hung": 0, "passed": 0, "seconds": 0.02},
           "Parking bug 2": {"states": 1234, "property": "Taken"}}


def test(name, time="0s", **properties):
    return {"name": name, "result": "COMPLETED", "time": time, **properties}


def results(time="0s", executions="12", **found):
    tests = [test("IsFound/tokio_1", time, where="Tokio, PR #1", mistake="Looks too early", fix="a fence",
                  found_as="a data race", executions=executions, **found),
             test("IsFoundByOrderAlone/tokio_1", order_alone="no"),
             test("IsFoundByChance/tokio_1", at_random="> 10000", by_priorities="7"),
             test("FixPasses/tokio_1", executions="34", preemptions="3")]
    return {"testsuites": [{"name": "Historical/Bug", "testsuite": tests}]}


class Historical(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("tests/historical/wake_ups.cpp", SCENARIOS)
        self.write("tests/historical/elsewhere.toml", ELSEWHERE)
        self.write("tests/historical/planted.json", json.dumps(PLANTED))
        self.write("tests/sched/defects_test.cpp", "TEST(Defects,\n     SizeOne) {\n}\n")
        self.write("spec/Parking.tla", r"Go == Bug # 2 \* bug 2: does not look" + "\n")
        (self.root / "docs/internals").mkdir(parents=True)
        self.check(results(), write=True)

    def check(self, recorded, write=False):
        self.write("results.json", json.dumps(recorded))
        return historical.check(self.root, self.root / "results.json", write)

    def page(self):
        return (self.root / historical.PAGE).read_text(encoding="utf-8")

    def test_the_page_has_what_was_recorded(self):
        page = self.page()
        self.assertIn("| `tokio_1` | Tokio, PR #1 | Looks too early | `a data race` | a fence "
                      "| needed | 12 | > 10000 | 7 | 34, ≤ 3 preemptions | < 1 ms |", page)
        self.assertIn("## Wake ups\n\n[wake_ups.cpp](../../tests/historical/wake_ups.cpp)", page)
        self.assertIn("| Others, issue #2 | A limit of 1 does nothing | unit tests "
                      "| `Defects.SizeOne`, `Parking bug 2` |", page)
        self.assertIn("1 bugs here, of which 1 need weak memory; 1 shown elsewhere", page)

    def test_a_page_that_is_up_to_date(self):
        self.assertEqual(self.check(results()), [])

    def test_times_are_not_compared(self):
        self.assertEqual(self.check(results(time="2.5s")), [])
        self.assertIn("| < 1 ms |", self.page())

    def test_executions_are_compared(self):
        self.assert_finds(self.check(results(executions="13")), "docs/internals/historical.md", "--write")
        self.assertEqual(self.check(results(executions="13"), write=True), [])
        self.assertIn("| 13 |", self.page())

    def test_a_missing_page(self):
        (self.root / historical.PAGE).unlink()
        self.assert_finds(self.check(results()), "docs/internals/historical.md", "--write")

    def test_an_edited_page(self):
        self.write("docs/internals/historical.md", self.page().replace("Looks too early", "Looks late"))
        self.assert_finds(self.check(results()), "docs/internals/historical.md", "--write")

    def test_times_are_classes(self):
        for text, wanted in (("0s", "< 1 ms"), ("0.001s", "< 10 ms"), ("0.099s", "< 100 ms"),
                             ("0.5s", "< 1 s"), ("3s", "> 1 s")):
            with self.subTest(text):
                self.assertEqual(historical.time_class(text), wanted)

    def test_a_failed_test(self):
        self.assertIn("has failed", self.check(results(failures=[{}]))[0])

    def test_a_test_that_was_filtered_out(self):
        recorded = results()
        del recorded["testsuites"][0]["testsuite"][2]
        self.assertIn("needs all of its tests", self.check(recorded)[0])

    def test_a_bug_without_a_scenario(self):
        self.write("tests/historical/wake_ups.cpp")
        self.assertIn("no file has tokio_1", self.check(results())[0])

    def test_each_bug_elsewhere_has_a_figure(self):
        self.assertIn("| `Defects.SizeOne`, `Parking bug 2` | < 100 ms; 1,234 states |", self.page())
        self.write("tests/historical/planted.json", json.dumps({"Parking bug 2": PLANTED["Parking bug 2"]}))
        self.assert_finds(self.check(results()), "tests/historical/planted.json", "Defects.SizeOne")

    def test_a_test_that_passes_with_its_bug_shows_nothing(self):
        passes = {"failed": 0, "hung": 0, "passed": 5, "seconds": 0.02}
        self.write("tests/historical/planted.json", json.dumps({**PLANTED, "Defects.SizeOne": passes}))
        self.check(results(), write=True)
        self.assert_finds(self.check(results()), "tests/historical/planted.json", "Defects.SizeOne passes with its bug")

    def test_how_a_planted_bug_ends(self):
        for failed, hung, passed, wanted in ((5, 0, 0, "< 10 ms"), (0, 5, 0, "hangs"), (0, 0, 5, "passes"),
                                             (2, 1, 2, "2 of 5 fail, 1 of 5 hang, 2 of 5 pass")):
            with self.subTest(wanted):
                found = {"failed": failed, "hung": hung, "passed": passed, "seconds": 0.002}
                self.assertEqual(historical.how_fast(found), wanted)
        self.assertEqual(historical.how_fast({"executions": 1}), "1 execution")

    def test_tests_and_seeded_bugs_elsewhere_exist(self):
        self.write("tests/sched/defects_test.cpp", "TEST(Defects, SizeOneMore) {\n}\n")
        self.assert_finds(self.check(results()), "tests/historical/elsewhere.toml", "Defects.SizeOne")
        self.setUp()
        for text in (r"\* bug 21: another", "no comment"):
            with self.subTest(text):
                self.write("spec/Parking.tla", text)
                self.assert_finds(self.check(results()), "tests/historical/elsewhere.toml",
                                  "Parking bug 2")


if __name__ == "__main__":
    unittest.main()
