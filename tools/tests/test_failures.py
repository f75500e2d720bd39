"""Tests of tools/failures.py."""

import unittest

import temporary_tree  # noqa: F401  finds the tools

import failures

LOG = """
Test project /somewhere
      Start  1: faults
 1/4 Test  #1: faults ............................***Failed   12.50 sec
[ RUN      ] first.passes
[       OK ] first.passes (3 ms)
[ RUN      ] second.fails
a line of the program
tests/second.cpp:12: Failure
Expected equality of these values:
[  FAILED  ] second.fails (4 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] second.fails

      Start  2: other
 2/4 Test  #2: other .............................   Passed    0.10 sec
 3/4 Test #3: races ..............................Subprocess aborted***Exception:   1.00 sec
[ RUN      ] third.races
before
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 8
 4/4 Test #4: script .............................***Timeout 900.00 sec
one
two

50% tests passed, 2 tests failed out of 4
"""


class Failures(unittest.TestCase):
    def test_each_failed_case_is_shown_with_what_it_said(self):
        self.assertEqual(failures.summary(LOG, "tsan"), [
            "tsan: faults: Failed",
            "  second.fails",
            "    tests/second.cpp:12: Failure",
            "    Expected equality of these values:",
            "tsan: races: Subprocess aborted***Exception:",
            "  third.races did not end",
            "    WARNING: ThreadSanitizer: data race (pid=1)",
            "      Write of size 8",
            "tsan: script: Timeout",
            "    one",
            "    two",
            "    ",
        ])

    def test_a_log_without_failures_says_nothing(self):
        for result in ("   Passed  ", "***Skipped  ", "***Not Run (Disabled)  "):
            log = f" 2/4 Test  #2: other ...{result} 0.10 sec\nIt said this.\n"
            self.assertEqual(failures.summary(log, "asan"), [])

    def test_an_end_behind_other_output_is_seen(self):
        log = (" 1/1 Test  #1: many ......***Failed    1.00 sec\n[ RUN      ] a.fails\n"
               "some words[  FAILED  ] a.fails (1 ms)\n[ RUN      ] a.passes\n"
               "some words[       OK ] a.passes (1 ms)\n")
        self.assertEqual(failures.summary(log, "asan"), ["asan: many: Failed", "  a.fails"])

    def test_a_report_of_a_sanitizer_fails_a_case_that_passes(self):
        log = (" 1/1 Test  #1: many ......***Failed    1.00 sec\n[ RUN      ] a.races\n"
               "WARNING: ThreadSanitizer: data race\n[       OK ] a.races (1 ms)\n")
        self.assertEqual(failures.summary(log, "tsan")[1:],
                         ["  a.races", "    WARNING: ThreadSanitizer: data race"])

    def test_a_test_has_a_limited_number_of_lines(self):
        case = "[ RUN      ] a.b\nx.cpp:1: Failure\n" + "more\n" * 50 + "[  FAILED  ] a.b (1 ms)\n"
        log = " 1/1 Test  #1: many ......***Failed    1.00 sec\n" + case * 9
        self.assertEqual(len(failures.summary(log, "asan")), 1 + 9 + failures.LINES_OF_A_TEST)


if __name__ == "__main__":
    unittest.main()
