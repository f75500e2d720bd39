import unittest

from temporary_tree import TemporaryTree
import walks

PAGE = """# The scheduler

## Walk: a post

1. `src/sched/a.cpp`: `post`, `enqueue`
2. `src/sched/b.hpp`: `push`

## Other

1. `nothing.cpp`: `here`
"""
BOUNDS = """[walks]
"a post" = { files = 2, lines = 8 }
[classes]
others = { functions = 2, files = 1, friends = 0 }
"""
SOURCE = "void post() {}\nvoid enqueue() { box.push(1); }\n"
HEADER = "class box {\n    void push(int);\n};\n"


class Walks(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("src/sched/README.md", PAGE)
        self.write("tools/walks.toml", BOUNDS)
        self.write("src/sched/a.cpp", SOURCE)
        self.write("src/sched/b.hpp", HEADER)

    def messages(self):
        return walks.check(self.root)

    def test_a_walk_within_its_bounds_is_right(self):
        self.assertEqual(self.messages(), [])

    def test_a_function_must_be_in_its_file(self):
        self.write("src/sched/a.cpp", SOURCE.replace("enqueue", "other"))
        self.assertEqual(self.messages(), ["src/sched/README.md:5: src/sched/a.cpp has no enqueue"])

    def test_a_comment_is_no_function(self):
        self.write("src/sched/a.cpp", "void post() {}\n// enqueue()\n")
        self.assertEqual(self.messages(), ["src/sched/README.md:5: src/sched/a.cpp has no enqueue"])

    def test_a_file_must_be_there(self):
        self.write("src/sched/README.md", PAGE.replace("b.hpp", "c.hpp"))
        self.assertEqual(self.messages(), ["src/sched/README.md:6: there is no src/sched/c.hpp"])

    def test_a_step_has_a_form(self):
        self.write("src/sched/README.md", PAGE.replace("1. `src/sched/a.cpp`: ", "1. see "))
        self.assertIn("names a file and functions", self.messages()[0])

    def test_a_walk_needs_a_bound(self):
        self.write("src/sched/README.md", PAGE.replace("Walk: a post", "Walk: a read"))
        self.assertEqual(len(self.messages()), 2)

    def test_a_walk_may_not_grow(self):
        self.write("tools/walks.toml", BOUNDS.replace("files = 2, lines = 8", "files = 1, lines = 4"))
        self.assertEqual(self.messages(), ['the walk "a post": 2 files; the bound is 1',
                                           'the walk "a post": 5 lines; the bound is 4'])

    def test_a_class_is_in_one_file(self):
        self.write("src/sched/a.cpp", SOURCE + "void box::push(int) {}\n")
        self.write("src/sched/c.cpp", "int box::pop() { return 1; }\n")
        self.assertIn("src/sched: the class box: 2 files; the bound is 1", self.messages())

    def test_a_class_has_so_many_functions(self):
        self.write("src/sched/c.cpp", "void box::a() {}\nvoid box::b() {}\nint box::c(\n    int) {}\n"
                   "void f() {\n    box::d();\n    if (box::e()) {\n    }\n}\n")
        self.assertEqual(self.messages(), ["src/sched: the class box: 3 functions; the bound is 2"])

    def test_a_class_has_so_many_friends(self):
        self.write("src/sched/b.hpp", HEADER.replace("};", "    friend class other;\n};"))
        self.assertEqual(self.messages(), ["src/sched: the class box: 1 friends; the bound is 0"])

    def test_a_row_needs_a_class(self):
        self.write("tools/walks.toml", BOUNDS + "gone = { functions = 1, files = 1, friends = 0 }\n")
        self.assertEqual(self.messages(), ["tools/walks.toml: there is no class gone in src/sched"])


if __name__ == "__main__":
    unittest.main()
