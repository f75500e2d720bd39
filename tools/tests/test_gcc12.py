import pathlib
import subprocess
import sys
import unittest

from temporary_tree import TemporaryTree
import gcc12


def kinds(code):
    return [message.split(":")[0] for _, message in gcc12.scan(code)]


class Conditions(unittest.TestCase):
    def test_each_control_is_found(self):
        for body in ("if (co_await a()) n = 5;", "if (!co_await a()) n = 5;", "while (co_await a() != 1) ++n;",
                     "do { ++n; } while (co_await a());", "for (; co_await a(); ) ++n;",
                     "switch (co_await a()) { case 1: ++n; }", "if (n && co_await a()) ++n;",
                     "call(); if (co_await a()) ++n;", "co_await a(); if (co_await a()) ++n;",
                     "while (n < 5) { ++n; if (co_await a()) continue; }",
                     "if constexpr (x) { if (co_await a()) ++n; }"):
            with self.subTest(body):
                self.assertEqual(kinds("task<> f(int& n) { " + body + " }"), ["condition"])
                self.assertEqual(kinds("struct s { auto f(int& n) const noexcept -> task<int> {\n" + body + "\n} };"),
                                 ["condition"])

    def test_a_variable_in_an_enclosing_block_makes_it_right(self):
        for before in ("int x = 1;", "const auto x = co_await a();", "std::vector<int> x;", "auto [p, q] = pair();",
                       "std::map<int, std::pair<int, int>>::iterator x;", "foo x{1};", "const foo& x = y();",
                       "static int x = 0;", "unsigned x(3);", "T* x = nullptr;", "char x[10];"):
            with self.subTest(before):
                self.assertEqual(kinds("task<> f() { " + before + " if (co_await a()) ++n; }"), [])
                self.assertEqual(kinds("task<> f() { " + before + " { if (co_await a()) ++n; } }"), [])
        self.assertEqual(kinds("task<> f() { for (int i = 0; i != 2; ++i) if (co_await a()) ++n; }"), [])
        self.assertEqual(kinds("task<> f() { if (const int x = co_await a(); x) ++n; }"), [])

    def test_what_declares_no_variable_does_not(self):
        for before in ("n = 1;", "call(x);", "std::move(x);", "a < b;", "x.y(z);", "co_await g();", "x->y = 2;",
                       "return_value();", "throw_if(n);", "foo::bar(n);", "t<int>(n);"):
            with self.subTest(before):
                self.assertEqual(kinds("task<> f() { " + before + " if (co_await a()) ++n; }"), ["condition"])

    def test_a_variable_elsewhere_does_not(self):
        self.assertEqual(kinds("int x = 1; task<> f() { if (co_await a()) ++n; }"), ["condition"])
        self.assertEqual(kinds("struct s { int x = 1; task<> f() { if (co_await a()) ++n; } };"), ["condition"])
        self.assertEqual(kinds("task<> g() { int x = 1; } task<> f() { if (co_await a()) ++n; }"), ["condition"])

    def test_parameters_are_no_variables(self):
        body = "if (co_await s.write_all(f(x))) g(); }"
        self.assertEqual(kinds("task<> f(stream s, std::string x) { " + body), ["condition"])
        self.assertEqual(kinds("task<> f(stream s, std::string x) { try { " + body + " catch (...) {} }"), ["condition"])
        self.assertEqual(kinds("task<> f(stream s) { std::string x; " + body), [])
        self.assertEqual(kinds("task<> f(stream s) { using x = int; " + body), [])

    def test_lambdas_are_right(self):
        self.assertEqual(kinds("auto f = [](int& n) -> task<> { if (co_await a()) ++n; };"), [])
        self.assertEqual(kinds("void g() { run([&] { return 1; }, []() -> task<> { while (co_await a()) {} }); }"), [])

    def test_a_co_await_in_the_body_alone_is_right(self):
        self.assertEqual(kinds("task<> f() { while (n) co_await a(); if (n) { co_await a(); } }"), [])
        self.assertEqual(kinds("task<> f() { if (n) n = co_await a(); }"), [])


class Temporaries(unittest.TestCase):
    def test_copies_in_closures_are_found(self):
        for capture in ("x", "=", "x = std::move(y)", "&, x", "&a, b", "this, x", "*this", "=, this"):
            for form in ("co_await blocking([CAPTURE] { use(x); });", "auto r = co_await blocking([CAPTURE] {});",
                         "co_return co_await f([CAPTURE](int) mutable { return 1; });",
                         "co_await [CAPTURE]() -> task<> { co_return; }();"):
                code = "task<> f() { int n = 1; " + form.replace("CAPTURE", capture) + " }"
                with self.subTest(code):
                    self.assertEqual(kinds(code), ["closure"])

    def test_references_and_variables_are_right(self):
        for form in ("co_await blocking([] { use(); });", "co_await blocking([&] { use(x); });",
                     "co_await blocking([&x, this] { use(x); });", "co_await blocking([&x = y] { use(x); });",
                     "auto l = [x] { use(x); }; co_await blocking(std::move(l));",
                     "auto h = spawn(s, [x]() -> task<> { co_await a(); }); co_await h;",
                     "co_await f(array[x], y[0]);", "[[maybe_unused]] auto r = co_await a();"):
            with self.subTest(form):
                self.assertEqual(kinds("task<> f() { int n = 1; " + form + " }"), [])

    def test_inside_a_lambda_it_is_found_too(self):
        code = "void f() { spawn(s, [&]() -> task<> {\n co_await blocking([x] { use(x); });\n }); }"
        self.assertEqual([line for line, _ in gcc12.scan(code)], [2])

    def test_a_temporary_string_is_right(self):
        self.assertEqual(kinds('task<> f() { co_await g(std::string("x") + y, "a" + z); }'), [])

    def test_aggregates(self):
        self.assertEqual(kinds('task<> f() { int n; co_await spawn(s, g(), {.name = "x", .stop = t}); }'), ["aggregate"])
        self.assertEqual(kinds("task<> f() { int n; co_await g(options{.a = 1}); }"), ["aggregate"])
        self.assertEqual(kinds("task<> f() { auto h = spawn(s, g(), {.stop = t}); co_await h; }"), [])
        self.assertEqual(kinds("task<> f() { int n; co_await for_each(v, g, {.grain = 4, .slice = 0s}); }"), [])


class Files(TemporaryTree):
    def test_a_mark_in_the_line_or_the_one_before(self):
        wrong = "co_await blocking([n] { use(n); });"
        self.assertEqual(kinds("task<> f() { int n;\n" + wrong + "  // gcc12: trivial\n}"), [])
        self.assertEqual(kinds("task<> f() { int n;\n// gcc12: trivial\n" + wrong + "\n}"), [])
        self.assertEqual(kinds("// gcc12: trivial\ntask<> f() { int n;\n\n" + wrong + "\n}"), ["closure"])

    def test_comments_and_literals_do_not_count(self):
        self.assertEqual(kinds('task<> f() { // if (co_await a())\n auto s = "if (co_await a())"; co_return; }'), [])

    def test_names_the_place_and_fails(self):
        self.write("lib/a.cpp", "task<> f(int& n) {\n    if (co_await a()) n = 5;\n}\n")
        self.write("lib/b.cpp", "int main() {}\n")
        program = pathlib.Path(gcc12.__file__)
        done = subprocess.run([sys.executable, program, self.root / "lib"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a.cpp:2: condition", done.stdout)
        (self.root / "lib/a.cpp").unlink()
        done = subprocess.run([sys.executable, program, self.root / "lib"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
