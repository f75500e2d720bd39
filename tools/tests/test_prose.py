import subprocess
import unittest

from temporary_tree import TemporaryTree
import prose


class Prose(TemporaryTree):
    def setUp(self):
        super().setUp()
        (self.root / "tools/layers.toml").unlink()

    def find(self, path, text, excepted=()):
        self.write(path, text)
        return prose.check(self.root, excepted)

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

    def test_a_word_in_a_comment_of_each_language(self):
        for path, text in (
                ("a.cpp", "int a;\n/* b\nwho */\n"),
                ("a.rs", "fn a() {}\n\n/// who\n"),
                ("a.go", "package a\n\n// who\n"),
                ("go.mod", "module a\n\ngo 1.1 // who\n"),
                ("a.py", "import b\n\nc = 1  # who\n"),
                ("a.cmake", "set(a b)\n\n# who\n"),
                ("CMakeLists.txt", "set(a b)\n#[[\nwho ]]\n"),
                ("a.erl", "-module(a).\n\n%% who\n"),
                ("a.tla", "A == 1\n(* b\nwho *)\n"),
                ("a.cfg", "A = 1\n\n\\* who\n"),
                ("a.sh", "#!/bin/sh\na=b\n# who\n"),
                ("do", "#!/bin/sh\na=b\nc # who\n"),
                ("a.toml", "a = 1\n\n# who\n"),
                ("a.yml", "a: b\n\nc: d # who\n"),
                (".clangd", "a: b\n\n# who\n"),
                ("Containerfile", "FROM a\n\n# who\n")):
            with self.subTest(path):
                self.assert_finds(self.find(path, text), f"{path}:3", '"who"')
                (self.root / path).unlink()

    def test_literals_of_each_language_hold_no_comment(self):
        for path, text in (
                ("a.cpp", 'auto a = R"(\n// who\n)";\nauto b = 1\'000;\nauto c = \'"\';\nauto d = "// who";\n'),
                ("a.rs", 'let a: &\'static str = "// who";\nlet b = \'"\';\nlet c = "// who";\n'),
                ("a.go", 'a := `\n// who\n`\nb := "// who"\n'),
                ("a.py", 'a = "# who"\nb = \'# who\'\nc = f("""\n# who\n""")\n'),
                ("a.cmake", 'set(a "# who")\n'),
                ("a.erl", 'a() -> $%, "% who", \'% who\'.\n'),
                ("a.tla", 'A == "(* who"\n'),
                ("a.sh", "a='# who' b=${#others} c=\"# who\" d=$#\n"),
                ("a.toml", "a = '# who'\nb = \"# who\"\n"),
                ("a.yml", "a: '# who'\nb: b#who\n"),
                ("a.json", '{"a": "# who"}\n')):
            with self.subTest(path):
                self.assertEqual(self.find(path, text), [])

    def test_docstrings(self):
        self.assert_finds(self.find("a.py", '"""A.\n\nWho waits.\n"""\n'), "a.py:3", '"Who"')
        self.assert_finds(self.find("a.py", 'def a():\n    """Nobody waits."""\n'), "a.py:2", '"Nobody"')
        self.assert_finds(self.find("a.py", f'def a():\n    """A.\n\n    {"x" * 97}\n    """\n'),
                          "a.py:4", "101 columns")

    def test_long_comments_of_another_language(self):
        self.assert_finds(self.find("do", "\n# " + "x" * 99 + "\n"), "do:2", "101 columns")
        self.assertEqual(self.find("do", "a " + "x" * 99 + "\n"), [])

    def test_a_file_of_an_unknown_kind(self):
        self.assert_finds(self.find("src/a.pl", "# plain\n"), "src/a.pl:1", "tools/comments.py")

    def test_pictures_and_inputs_of_tests_are_no_text(self):
        self.assertEqual(self.find("docs/a.svg", "who"), [])
        self.assertEqual(self.find("tests/fuzz/corpus/a/b.md", "who"), [])
        self.assert_finds(self.find("tests/fuzz/b.md", "who"), "tests/fuzz/b.md:1", '"who"')

    def test_excepted_files_and_folders_are_free(self):
        self.write("src/b/c/d.cpp", "// who\n")
        self.assertEqual(prose.check(self.root, ("src/b",)), [])
        self.assertEqual(prose.check(self.root, ("src/b/c/d.cpp",)), [])
        self.assert_finds(self.find("src/bb.cpp", "// who\n", ("src/b",)), "src/bb.cpp:1", '"who"')

    def test_an_excepted_file_must_exist(self):
        with self.assertRaises(FileNotFoundError):
            prose.check(self.root, ("docs/gone.md",))

    def test_a_file_that_git_does_not_track_is_free(self):
        subprocess.run(["git", "init", "--quiet", self.root], check=True)
        self.write("a.md", "Nobody waits.\n")
        self.assertEqual(prose.check(self.root, ()), [])
        subprocess.run(["git", "-C", self.root, "add", "a.md"], check=True)
        self.assert_finds(prose.check(self.root, ()), "a.md:1", '"Nobody"')


if __name__ == "__main__":
    unittest.main()
