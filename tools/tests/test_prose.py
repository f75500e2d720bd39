import unittest

from temporary_tree import TemporaryTree
import prose


class Prose(TemporaryTree):
    def find(self, path, text, clean=None):
        self.write(path, text)
        return prose.check(self.root, clean or (path,))

    def test_each_banned_word_in_a_comment_is_found(self):
        for word in ("who", "Whoever", "somebody", "Nobody", "others", "one that", "Likewise", "as above"):
            with self.subTest(word):
                self.assert_finds(self.find("src/a/a.cpp", f"int a;\n\nint b;  // It is {word} here.\n"),
                                  "src/a/a.cpp:3", f'"{word}"')

    def test_a_word_in_each_kind_of_comment(self):
        for comment in ("// who", "/// who", "///< who", "//! who"):
            with self.subTest(comment):
                self.assert_finds(self.find("src/a/a.hpp", f"int a;  {comment}\n"), "src/a/a.hpp:1", '"who"')

    def test_code_strings_and_parts_of_words_are_no_prose(self):
        self.assertEqual(self.find("src/a/a.cpp", 'int others = 1;\nauto url = "http://who.org // who";\n'
                                   "// whole, otherwise; `who` is a name\n"), [])

    def test_two_words_on_two_lines(self):
        self.assert_finds(self.find("src/a/a.cpp", "// takes the one\n// that is first\n"),
                          "src/a/a.cpp:1", '"one that"')
        self.assertEqual(self.find("src/a/a.cpp", "// takes the one\nint a;\n// that is first\n"), [])

    def test_long_lines_with_comments(self):
        line = "// " + "x" * 97
        self.assertEqual(self.find("src/a/a.cpp", line + "\n"), [])
        self.assert_finds(self.find("src/a/a.cpp", "\n" + line + "x\n"), "src/a/a.cpp:2", "101 columns")
        self.assertEqual(self.find("src/a/a.cpp", f'auto long_string = "{"x" * 120}";\n'), [])

    def test_pages(self):
        self.assert_finds(self.find("docs/a.md", "# A\n\nNobody waits.\n"), "docs/a.md:3", '"Nobody"')
        self.assertEqual(self.find("docs/a.md", "# A\n\n```text\nwho waits\n```\n`others`, [b](who.md), "
                                   "<!-- snippet: who.cpp -->\n" + "x" * 120 + "\n"), [])

    def test_a_fence_ends_only_with_its_own_mark(self):
        self.assert_finds(self.find("docs/a.md", "````text\n```\nwho\n```\nwho\n````\nwho\n"),
                          "docs/a.md:7", '"who"')

    def test_a_folder_is_all_that_is_below_it(self):
        self.write("src/b/c/d.cpp", "// who\n")
        self.write("src/b/e.md", "plain\n")
        self.assert_finds(prose.check(self.root, ("src/b",)), "src/b/c/d.cpp:1", '"who"')

    def test_what_is_not_listed_is_free(self):
        self.write("src/b/b.cpp", "// who\n")
        self.assertEqual(self.find("src/a/a.cpp", "// plain\n"), [])

    def test_a_listed_file_must_exist(self):
        with self.assertRaises(FileNotFoundError):
            prose.check(self.root, ("docs/gone.md",))


if __name__ == "__main__":
    unittest.main()
