import ast
import pathlib
import unittest

from temporary_tree import TemporaryTree
import tree


class BareCode(unittest.TestCase):
    def test_comments_and_literals_are_gone_and_lines_stay(self):
        code = tree.bare_code('a; // x {\n/* {\n{ */ b("{ \\" {"); c(\'{\');\n')
        self.assertNotIn("{", code)
        self.assertEqual(code.count("\n"), 3)

    def test_a_raw_string_is_a_literal(self):
        self.assertNotIn("{", tree.bare_code('f(R"json({"a": "b)"})json");'))

    def test_a_digit_separator_is_no_literal(self):
        self.assertIn("{", tree.bare_code("int a = 1'000; { int b = 2'000; }"))

    def test_a_comment_mark_in_a_string_begins_no_comment(self):
        self.assertIn("kept", tree.bare_code('f("http://x"); kept();'))


class Files(TemporaryTree):
    def test_modules(self):
        module = lambda path: tree.module_of(pathlib.Path(path))
        self.assertEqual(module("src/sched/round.cpp"), "sched")
        self.assertEqual(module("include/fairlead/io/tcp.hpp"), "io")
        self.assertEqual(module("include/fairlead/fairlead.hpp"), "")
        self.assertIsNone(module("apps/savegames/main.cpp"))

    def test_only_code_of_the_code_folders(self):
        for path in ("src/base/a.cpp", "build/x/b.cpp", "tests/base/c.hpp", "src/base/d.txt"):
            self.write(path)
        found = [str(path) for path in tree.code_files(self.root)]
        self.assertEqual(found, ["src/base/a.cpp", "tests/base/c.hpp"])

    def test_where_a_test_is(self):
        self.write("tests/sched/drain_test.cpp", "TEST(Drain, WaitsLong) {}")
        self.write("tests/sched/role_test.cpp", "TEST_F(Drain,\n       Waits) {}")
        self.assertEqual({test: str(path) for test, path in tree.tests(self.root).items()},
                         {"Drain.WaitsLong": "tests/sched/drain_test.cpp", "Drain.Waits": "tests/sched/role_test.cpp"})


class Descriptions(unittest.TestCase):
    def test_the_first_line_of_each_tool_is_a_sentence(self):
        """The help of a tool prints this line."""
        for path in sorted((tree.REPOSITORY / "tools").glob("*.py")):
            with self.subTest(path.name):
                docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
                self.assertTrue(docstring.splitlines()[0].endswith("."), docstring)


if __name__ == "__main__":
    unittest.main()
