"""Tests of tools/faults.py."""

import tomllib
import unittest

import temporary_tree  # noqa: F401  finds the tools

import faults
import tree

CORE = """
cpu.cpp.o:
0000000000000000 T _ZN8fairlead2os14available_cpusEv
                 U memcpy
                 U sched_getaffinity
"""
IO = """
tcp.cpp.o:
                 U _ZN8fairlead2os14available_cpusEv
                 U recv
"""
SPARED = [{"names": ["mem(cpy|set)"], "why": "works in memory"}]


def results(*tests):
    return {"testsuites": [{"testsuite": [{"name": "fail", **test} for test in tests]}]}


SWEPT = results({"swept recv": "4"}, {"swept sched_getaffinity": "1", "time": "0s"})


class Faults(unittest.TestCase):
    def check(self, recorded, *listings):
        return faults.check(faults.read_symbols(listings), faults.read_swept(recorded), SPARED)

    def test_what_is_swept_or_spared_passes(self):
        self.assertEqual(self.check(SWEPT, CORE, IO), [])

    def test_another_function_is_found(self):
        [message] = self.check(SWEPT, CORE, IO + "                 U sendfile\n")
        self.assertTrue(message.startswith("sendfile: the library calls it"))

    def test_a_name_is_not_spared_by_a_part_of_it(self):
        [message] = self.check(SWEPT, CORE, IO + "                 U memcpy_from_device\n")
        self.assertTrue(message.startswith("memcpy_from_device: "))

    def test_a_sweep_that_failed_or_met_no_call_does_not_count(self):
        for test in ({"swept recv": "4", "failures": [{}]}, {"swept recv": "0"}, {}):
            [message] = self.check(results(test, {"swept sched_getaffinity": "1"}), CORE, IO)
            self.assertTrue(message.startswith("recv: "))

    def test_a_reason_for_what_is_swept_is_found(self):
        [message] = self.check(results({"swept memset": "1"}, *SWEPT["testsuites"][0]["testsuite"]), CORE, IO)
        self.assertTrue(message.startswith("memset: swept, and spared"))

    def test_libraries_without_symbols_are_found(self):
        [message] = self.check(SWEPT, "")
        self.assertIn("call nothing", message)

    def test_each_row_of_the_table_has_its_reason(self):
        table = tomllib.loads((tree.REPOSITORY / faults.TABLE).read_text(encoding="utf-8"))["spared"]
        self.assertTrue(all(each["names"] and each["why"] for each in table))


if __name__ == "__main__":
    unittest.main()
