import unittest

from temporary_tree import TemporaryTree
import sizes


class Functions(unittest.TestCase):
    def heads(self, code):
        return [head for _, _, head in sizes.functions(code)]

    def test_functions_are_found_where_they_are(self):
        code = "namespace a {\nint f(int x) {\n  if (x) { g(); }\n}\nstruct s {\n  void m() {\n }\n};\n}"
        self.assertEqual(list(sizes.functions(code)),
                         [(2, 4, "int f(int x)"), (6, 7, "void m()")])

    def test_types_namespaces_and_lists_are_no_functions(self):
        self.assertEqual(self.heads(
            "namespace a { enum class e : int { x, y }; struct alignas(64) s : b { int c{1}; };\n"
            "template <class T> requires(sizeof(T) > 1) struct t { T v; };\n"
            "constexpr int table[f(2)] = { 1, 2 }; alignas(64) int line{2}; }"), [])

    def test_member_initialisers_belong_to_the_head(self):
        self.assertEqual(list(sizes.functions("s(int a)\n  : a_{a}, b_{1} {\n  f();\n}\nint g;\n")),
                         [(1, 4, "s(int a) : a_")])

    def test_a_default_argument_opens_nothing(self):
        self.assertEqual(self.heads("void f(options o = {}) {\n}\nvoid g(a b = {1, 2});\n"),
                         ["void f(options o ="])

    def test_a_struct_as_a_parameter(self):
        self.assertEqual(self.heads("int f(struct stat& s) { return 0; }"),
                         ["int f(struct stat& s)"])

    def test_a_template(self):
        self.assertEqual(self.heads("template <class T, class... U> void f(T x) { }"),
                         ["template <class T, class... U> void f(T x)"])

    def test_directives_are_no_code(self):
        self.assertEqual(self.heads("#define M(x) { \\\n {\nvoid f() {}\n"), ["void f()"])


class Sizes(TemporaryTree):
    def find(self, path, text):
        self.write(path, text)
        messages = sizes.check(self.root)
        (self.root / path).unlink()
        return messages

    def test_files(self):
        for path, limit in (("include/fairlead/base/a.hpp", 300), ("src/base/a.hpp", 300),
                            ("src/base/a.cpp", 500), ("tests/base/a_test.cpp", 600)):
            with self.subTest(path):
                self.assertEqual(self.find(path, "int a;\n" * limit), [])
                self.assert_finds(self.find(path, "int a;\n" * (limit + 1)), f"{path}:{limit + 1}",
                                  f"the limit is {limit}")

    def test_a_long_function(self):
        body = lambda lines: "int a;\n\nvoid f() {\n" + "  g();\n" * (lines - 2) + "}\n"
        self.assertEqual(self.find("src/base/a.cpp", body(90)), [])
        self.assert_finds(self.find("src/base/a.cpp", body(91)), "src/base/a.cpp:3",
                          "a function of 91 lines")


if __name__ == "__main__":
    unittest.main()
