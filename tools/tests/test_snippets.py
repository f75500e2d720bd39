import unittest

from temporary_tree import TemporaryTree
import snippets

SOURCE = """#include <x>
int main() {
    // [greet]
    if (a) {
        // [inner]
        b();
        // [/inner]
    }
    // [/greet]
}
"""
GREET = "if (a) {\n    b();\n}\n"


def page(code, comment="<!-- snippet: examples/01_hello/main.cpp#greet -->", language="cpp"):
    return f"# Title\n\n{comment}\n```{language}\n{code}```\n\nText.\n"


class Snippets(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("examples/01_hello/main.cpp", SOURCE)

    def find(self, text, path="README.md"):
        self.write(path, text)
        return snippets.check(self.root)

    def test_an_equal_snippet(self):
        self.assertEqual(self.find(page(GREET)), [])

    def test_a_whole_file_with_its_markers_left_out(self):
        self.write("examples/02/main.cpp", "int a;\n// [r]\nint b;\n// [/r]\n")
        self.assertEqual(
            self.find(page("int a;\nint b;\n", "<!-- snippet: examples/02/main.cpp -->")), [])

    def test_a_region_of_cmake(self):
        self.write("tests/package/CMakeLists.txt", "a()\n# [find]\nif(b)\n  c()\nendif()\n# [/find]\n")
        comment = "<!-- snippet: tests/package/CMakeLists.txt#find -->"
        self.assertEqual(self.find(page("if(b)\n  c()\nendif()\n", comment, "cmake")), [])
        self.assert_finds(self.find(page("c()\n", comment, "cmake")), "README.md:4", "differs")

    def test_a_different_snippet(self):
        for code in ("if (a) {\n}\n", GREET + "c();\n", "    " + GREET):
            with self.subTest(code):
                self.assert_finds(self.find(page(code)), "README.md:4", "differs")

    def test_cpp_without_a_source(self):
        self.assert_finds(self.find(page(GREET, "Look:"), "docs/a/b.md"), "docs/a/b.md:4",
                          "without")
        self.assertEqual(self.find(page("ls\n", "Look:", "sh"), "docs/a/b.md"), [])

    def test_a_source_without_a_fence(self):
        comment = "<!-- snippet: examples/01_hello/main.cpp#greet -->"
        for rest in ("", "\nText.\n", "Text.\n", f"\n```text\n{GREET}```\n"):
            with self.subTest(rest):
                self.assert_finds(self.find(f"# Title\n\n{comment}\n{rest}"), "README.md:3",
                                  "no fence follows")

    def test_a_source_inside_a_fence_is_text(self):
        comment = "<!-- snippet: examples/01_hello/main.cpp#greet -->"
        self.assertEqual(self.find(f"```text\n{comment}\n```\n"), [])

    def test_decisions_may_show_what_was_rejected(self):
        self.assertEqual(self.find(page(GREET, "Not this:"), "docs/adr/0001.md"), [])

    def test_a_source_that_is_not_there(self):
        for source, text in (("examples/none.cpp#greet", "no such file"),
                             ("examples/01_hello/main.cpp#none", "needs one"),
                             ("src/sched/a.cpp", "snippets come from"),
                             ("examples/../src/a.cpp", "snippets come from")):
            with self.subTest(source):
                self.assert_finds(self.find(page(GREET, f"<!-- snippet: {source} -->")),
                                  "README.md:3", text)

    def test_write_brings_a_page_up_to_date_and_changes_nothing_else(self):
        self.write("README.md", page("old();\n"))
        self.assertEqual([str(page) for page in snippets.write(self.root)], ["README.md"])
        self.assertEqual((self.root / "README.md").read_text(), page(GREET))
        self.assertEqual(snippets.check(self.root), [])

    def test_an_indented_fence(self):
        comment = "  <!-- snippet: examples/01_hello/main.cpp#inner -->"
        self.assertEqual(self.find(f"- item\n\n{comment}\n  ```cpp\n  b();\n  ```\n"), [])


if __name__ == "__main__":
    unittest.main()
