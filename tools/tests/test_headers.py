import unittest

from temporary_tree import TemporaryTree
import headers


LANGUAGE = (headers.tree.REPOSITORY / "include/fairlead/detail/base/language.hpp").read_text()
ASKS = "#include <fairlead/detail/base/language.hpp>\n"


class Headers(TemporaryTree):
    def find(self, text):
        self.write("include/fairlead/detail/base/language.hpp", LANGUAGE)
        self.write("include/fairlead/base/a.hpp", text)
        return headers.check(self.root, "g++", 1)

    def test_a_header_that_stands_alone(self):
        self.assertEqual(self.find("#pragma once\n" + ASKS +
                                   "#include <string>\nstruct a { std::string b; };\n"), [])

    def test_a_header_that_does_not_say_what_it_needs(self):
        self.assert_finds(self.find("#pragma once\n#include <expected>\nstd::expected<int, int> a();\n"),
                          "include/fairlead/base/a.hpp:1", "with -std=c++17: the first error")

    def test_a_header_that_says_it_too_late(self):
        self.assert_finds(self.find("#pragma once\n#include <coroutine>\n" + ASKS),
                          "include/fairlead/base/a.hpp:1", "with -std=c++17: the first error")

    def test_a_header_that_goes_on_after_the_sentence(self):
        with_sentence = "#if __cplusplus <= 202002L\n#error Fairlead needs C++23\n#endif\n"
        self.assert_finds(self.find("#pragma once\n" + with_sentence + "#include <expected>\n"
                                    "std::expected<int, int> a();\nstd::expected<int, int> b();\n"),
                          "include/fairlead/base/a.hpp:1", "errors after 'Fairlead needs C++23'")

    def test_a_header_that_lacks_an_include(self):
        self.assert_finds(self.find("#pragma once\nstruct a { std::string b; };\n"),
                          "include/fairlead/base/a.hpp:1", "does not compile alone")

    def test_a_header_without_a_guard(self):
        self.assert_finds(self.find("struct a {};\n"), "include/fairlead/base/a.hpp:1",
                          "redefinition")

    def test_a_header_that_warns(self):
        self.assert_finds(self.find("#pragma once\ninline int f(int unused) { return 0; }\n"),
                          "include/fairlead/base/a.hpp:1", "unused")


if __name__ == "__main__":
    unittest.main()
