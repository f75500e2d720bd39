import subprocess
import sys
import unittest

import temporary_tree  # finds the checks
import compile_time


class CompileTime(unittest.TestCase):
    def test_processor_time_is_that_of_the_command(self):
        idle = compile_time.cpu_seconds([sys.executable, "-c", "pass"])
        busy = compile_time.cpu_seconds([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"])
        self.assertGreaterEqual(busy, 0.3)
        self.assertLess(idle, busy)

    def test_a_file_that_does_not_compile_is_no_figure(self):
        with self.assertRaises(subprocess.CalledProcessError):
            compile_time.measure("g++ -w -fmax-errors=1 -fsyntax-only", {"none": "#error no such thing\n"}, 1)

    def test_each_header_has_as_many_figures(self):
        found = compile_time.measure("g++", {"a": "int a;\n", "b": "int b;\n"}, 3)
        self.assertEqual({header: len(each) for header, each in found.items()}, {"a": 3, "b": 3})
        self.assertRegex(compile_time.line("a", [1.0, 3.0, 2.0]), r"a +median 2\.00 s +min 1\.00 s +max 3\.00 s +of 3")

    def test_lines_are_those_that_the_compiler_reads(self):
        few = compile_time.lines_of("g++", "int a;\n")
        self.assertEqual(compile_time.lines_of("g++", "#include <cstddef>\nint a;\n") > few, True)

    def test_the_table_of_the_page(self):
        self.assertIn("| `<a>` | 2.00 | 1.00 | 3.00 | 3 |", compile_time.page({"a": [1.0, 3.0, 2.0]}))


if __name__ == "__main__":
    unittest.main()
