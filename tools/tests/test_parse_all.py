import pathlib
import unittest

from temporary_tree import TemporaryTree
import parse_all


class Commands(unittest.TestCase):
    def test_nothing_is_written(self):
        self.assertEqual(parse_all.parsing("c++ -O2 -Wall -MD -MT a.o -MF a.o.d -o a.o -c /r/a.cpp"),
                         ["c++", "-O2", "-Wall", "/r/a.cpp", "-Werror", "-fsyntax-only"])

    def test_each_file_once_and_no_generated_one(self):
        root = pathlib.Path("/r")
        entries = [{"directory": "/r/build/x", "file": file, "command": str(number)} for number, file in enumerate(
            ["/r/src/a.cpp", "../../src/a.cpp", "/r/build/x/planted/a.cpp", "/usr/src/gtest.cc", "/r/tests/b.cpp"])]
        found = parse_all.own_files(entries, root)
        self.assertEqual({str(path): entry["command"] for path, entry in found.items()},
                         {"/r/src/a.cpp": "0", "/r/tests/b.cpp": "4"})


class Reading(TemporaryTree):
    def read(self, text):
        self.write("a.cpp", text)
        command = f"g++ -Wall -c {self.root / 'a.cpp'}"
        return parse_all.read_all({pathlib.Path("a.cpp"): {"directory": str(self.root), "command": command}}, 1)

    def test_a_warning_is_said(self):
        self.assertIn("unused", self.read("int f() { int unused; return 1; }\n")[0])
        self.assertEqual(len(self.read("int f() { return x; }\n")), 1)

    def test_clean_code_is_not(self):
        self.assertEqual(self.read("int f() { return 1; }\n"), [])
        self.assertFalse((self.root / "a.o").exists())


if __name__ == "__main__":
    unittest.main()
