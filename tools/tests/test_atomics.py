import unittest

from temporary_tree import TemporaryTree
import atomics


class Atomics(TemporaryTree):
    def find(self, path, *lines):
        self.write(path, "\n".join(lines) + "\n")
        messages = atomics.check(self.root)
        (self.root / path).unlink()
        return messages

    def test_the_seam_names_the_standard_ones(self):
        self.assertEqual(self.find("include/fairlead/detail/sync/atomic.hpp", "#include <atomic>",
                                   "using std::atomic; using std::memory_order_relaxed;"), [])

    def test_nobody_else_does(self):
        for line in ("#include <atomic>", "std::atomic<int> a;", "std::atomic_ref r(a);",
                     "f(std::memory_order::acquire);", "f(memory_order_relaxed);",
                     "__atomic_load_n(&a, 0);", "std::atomic_thread_fence(x);"):
            for folder in ("src/lockfree", "apps/savegames", "examples/01_hello"):
                with self.subTest(line=line, folder=folder):
                    path = f"{folder}/a.cpp"
                    self.assert_finds(self.find(path, "int b;", line), f"{path}:2", "only include")

    def test_the_seam_is_for_some_modules(self):
        for line in ("#include <fairlead/detail/sync/atomic.hpp>", "sync::atomic<int> a;",
                     "a.load(sync::acquire);"):
            with self.subTest(line):
                self.assertEqual(self.find("src/sched/a.cpp", line), [])
                for path in ("src/timer/a.cpp", "src/sim/a.cpp", "apps/savegames/a.cpp"):
                    self.assert_finds(self.find(path, line), f"{path}:1", "not for this folder")

    def test_tests_and_benchmarks_are_free(self):
        self.assertEqual(self.find("tests/sched/a_test.cpp", "std::atomic<int> a;"), [])
        self.assertEqual(self.find("bench/q1/rival.cpp", "std::atomic<int> a;"), [])

    def test_comments_do_not_count(self):
        self.assertEqual(self.find("src/timer/a.cpp", "// unlike std::atomic<int>"), [])


if __name__ == "__main__":
    unittest.main()
