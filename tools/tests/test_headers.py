import unittest

from temporary_tree import TemporaryTree
import headers


class Headers(TemporaryTree):
    def find(self, text):
        self.write("include/fairlead/base/a.hpp", text)
        return headers.check(self.root, "g++", 1)

    def test_a_header_that_stands_alone(self):
        self.assertEqual(self.find("#pragma once\n#include <string>\nstruct a { std::string b; };\n"),
                         [])

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
