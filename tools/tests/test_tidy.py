import json
import pathlib
import shutil
import unittest

from temporary_tree import TemporaryTree
import tidy
import tree


class Commands(unittest.TestCase):
    def entry(self, command, file="/a/x.cpp"):
        return {"directory": "/a", "file": file, "command": command}

    def test_no_launcher_and_no_header_of_gcc(self):
        self.assertEqual(tidy.for_clang("/usr/bin/ccache c++ -O2 -Winvalid-pch -include /b/cmake_pch.hxx -c x.cpp"),
                         "c++ -O2 -c x.cpp")
        self.assertEqual(tidy.for_clang("c++ -include config.h -c x.cpp"), "c++ -include config.h -c x.cpp")

    def test_a_name_of_the_standard_that_clang_16_knows(self):
        self.assertEqual(tidy.for_clang("c++ -std=c++23 -c x.cpp"), "c++ -std=c++2b -c x.cpp")

    def test_the_command_of_the_library_comes_first(self):
        for commands in (["c++ -DFAIRLEAD_ATOMIC_HEADER=a -c x.cpp", "c++ -O2 -c x.cpp"],
                         ["c++ -O2 -c x.cpp", "c++ -DFAIRLEAD_TRACE_HEADER=a -c x.cpp"]):
            found = tidy.one_command_each([self.entry(each) for each in commands])
            self.assertEqual([each["command"] for each in found.values()], ["c++ -O2 -c x.cpp"])

    def test_a_header_stands_for_its_source_and_its_test(self):
        known = {"/s/role.cpp": 1, "/t/role_test.cpp": 1, "/t/other_test.cpp": 1}
        found = tidy.sources([pathlib.Path("/i/role.hpp"), pathlib.Path("/t/role_test.cpp")], known)
        self.assertEqual([str(each) for each in found], ["/s/role.cpp", "/t/role_test.cpp"])


class United(TemporaryTree):
    def test_each_file_has_the_command_of_its_unit(self):
        self.write("Unity/unity_0.cxx", '/* generated */\n\n#include "/t/a_test.cpp"\n\n#include "/t/b_test.cpp"\n')
        unit = str(self.root / "Unity/unity_0.cxx")
        found = tidy.one_command_each([{"directory": "/b", "file": unit, "command": f"c++ -I/t -c {unit}"}])
        self.assertEqual({file: each["command"] for file, each in found.items()},
                         {"/t/a_test.cpp": "c++ -I/t -c /t/a_test.cpp", "/t/b_test.cpp": "c++ -I/t -c /t/b_test.cpp"})


@unittest.skipUnless(any(shutil.which(each) for each in tidy.PROGRAMS), "clang-tidy is not installed")
class Runs(TemporaryTree):
    PROGRAM = next((each for each in tidy.PROGRAMS if shutil.which(each)), None)

    def check(self, text, limit=60):
        self.write("a.cpp", text)
        shutil.copy(tree.REPOSITORY / ".clang-tidy", self.root)
        path = (self.root / "a.cpp").resolve()
        commands = [{"directory": str(self.root), "file": str(path), "command": f"c++ -std=c++2b -c {path}"}]
        return tidy.check(self.PROGRAM, json.loads(json.dumps(commands)), [path], limit, 1)

    def test_a_defect_is_found(self):
        messages, left = self.check("#include <string>\n#include <utility>\nvoid f(std::string);\n"
                                    "auto g(std::string s) { f(std::move(s)); return s.size(); }\n")
        self.assertIn("bugprone-use-after-move", messages[0])
        self.assertEqual(left, [])

    def test_right_code_is_not(self):
        self.assertEqual(self.check("int f(int a) { return a + 1; }\n"), ([], []))

    def test_what_there_is_no_time_for_is_named(self):
        messages, left = self.check("int f(int a) { return a + 1; }\n", limit=0)
        self.assertEqual((messages, [each.name for each in left]), ([], ["a.cpp"]))


if __name__ == "__main__":
    unittest.main()
