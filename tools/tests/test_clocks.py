import unittest

from temporary_tree import TemporaryTree
import clocks


class Clocks(TemporaryTree):
    def find(self, path, *lines):
        self.write(path, "\n".join(lines) + "\n")
        messages = clocks.check(self.root)
        (self.root / path).unlink()
        return messages

    def test_other_clocks_are_found(self):
        for line in ("auto t = std::chrono::steady_clock::now();",
                     "using clock = std::chrono::system_clock;",
                     "std::chrono::high_resolution_clock::time_point t;",
                     "clock_gettime(CLOCK_MONOTONIC, &t);", "gettimeofday(&t, nullptr);",
                     "auto t = std::time(nullptr);", "auto t = ::time(&out);",
                     "auto t = time(nullptr);"):
            for folder in ("include/fairlead/sched", "src/sched", "apps/savegames", "examples/01"):
                with self.subTest(line=line, folder=folder):
                    path = f"{folder}/a.cpp"
                    self.assert_finds(self.find(path, "int b;", line), f"{path}:2", "fl::clock")

    def test_the_own_clock_and_other_words_are_not(self):
        for line in ("auto t = fl::clock::now();", "// unlike steady_clock",
                     'auto s = "system_clock";', "x.time(0); wait_time(0); a::time(0);",
                     "my_steady_clock_source c;"):
            with self.subTest(line):
                self.assertEqual(self.find("src/sched/a.cpp", line), [])

    def test_tests_and_benchmarks_measure_real_time(self):
        line = "auto t = std::chrono::steady_clock::now();"
        self.assertEqual(self.find("tests/sched/a_test.cpp", line), [])
        self.assertEqual(self.find("bench/q1/rival.cpp", line), [])

    def test_a_listed_file_may_and_must_have_one(self):
        self.assertEqual(self.find("src/base/time.cpp", "clock_gettime(1, &t);"), [])
        self.assert_finds(self.find("src/base/time.cpp", "int a;"), "src/base/time.cpp:1",
                          "need not list")


if __name__ == "__main__":
    unittest.main()
