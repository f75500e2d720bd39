import unittest

from temporary_tree import TemporaryTree
import pages

LAMP = """
VARIABLES on, pc
Light(t) == /\\ pc[t] = "dark" /\\ on' = TRUE /\\ UNCHANGED pc
Wait == pc[1] = "dark" /\\ UNCHANGED on /\\ pc' = pc
Mistake == /\\ Bug = 1 /\\ on' = FALSE
           /\\ UNCHANGED pc
Dark == ~on
"""
MAP = """# The map

## Lamp: a lamp

| action | function | test |
|---|---|---|
| Light | `lamp::light`, `burn` | `Lamp.Burns` |
| Wait | around it | |

## Traces: of lamps

| specification | actions |
|---|---|
| Lamp | all |
"""
HEADER = """
class lamp {
    void light() noexcept {
        if (on_.load(sync::relaxed)) return;
        on_.store(true, sync::release);  // sync::acquire is elsewhere
    }
    bool burn() { return on_.compare_exchange_strong(expected, true,
                                                     sync::acq_rel); }
};
"""
ORDERS = """
| function | code | weaker | found by |
|---|---|---|---|
| `lamp::light` | `on_.store(true, sync::release);` | release → relaxed | `Lamp.Burns` |
| `lamp::burn` | `bool burn() { return on_.compare_exchange_strong(expected, true,` | acq_rel → release | why |
"""
KNOWN_BUGS = """
| where | the bug | test | found as |
|---|---|---|---|
| torch#1 | It burns on | `Lamp.Burns`, `refused_wet` | `burns-on`, `Lamp bug 2` |
"""
PLANTED = """
[[mutant]]
name = "burns-on"
file = "include/fairlead/lamp.hpp"
good = "true"
bad = "false"
test = "Lamp.Burns"
"""
MODELS = """
[[spec]]
name = "Lamp"
mutants = ["Dark", "Dark"]
"""


class Pages(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("spec/Lamp.tla", LAMP)
        self.write("include/fairlead/lamp.hpp", HEADER)
        self.write("tests/lamp_test.cpp", "TEST(Lamp, Burns) {}\nTEST_P(\n    Lamp, Dims) {}\n")
        self.write("spec/MAP.md", MAP)
        self.write("docs/internals/orders.md", ORDERS)
        self.write("docs/internals/known_bugs.md", KNOWN_BUGS)
        self.write("tests/planted/lamp.toml", PLANTED)
        self.write("tests/refused/wet.cpp", "// complaint: it is wet\n")
        self.write("spec/models.toml", MODELS)

    def finds(self, path, before, after, place, text):
        """What it says when `before` is `after` in the file."""
        with self.subTest(after):
            old = (self.root / path).read_text()
            self.assertEqual(old.count(before), 1)
            self.write(path, old.replace(before, after))
            self.assert_finds(pages.check(self.root), place, text)
            self.write(path, old)

    def test_pages_that_are_right(self):
        self.assertEqual(pages.check(self.root), [])

    def test_a_page_that_the_site_does_not_list(self):
        site = "not_in_nav: |\n  /docs/adr/0*.md\n  /docs/internals/\nvalidation:\nnav:\n  - Top:\n      - docs/a.md\n      - B: docs/b.md\n" \
               "  - docs/internals/known_bugs.md\n"
        for name in ("docs/a.md", "docs/b.md", "docs/adr/0001-lamps.md"):
            self.write(name, "Text\n")
        self.write("mkdocs.yml", site)
        self.assertEqual(pages.check(self.root), [])
        self.finds("mkdocs.yml", "      - docs/a.md\n", "", "mkdocs.yml:1", "does not list docs/a.md")
        self.finds("mkdocs.yml", "  /docs/adr/0*.md\n", "", "mkdocs.yml:1", "does not list docs/adr/0001-lamps.md")
        self.finds("mkdocs.yml", "  /docs/internals/\n", "", "mkdocs.yml:1", "does not list docs/internals/orders.md")
        self.finds("mkdocs.yml", "  - docs/internals/known_bugs.md\n", "  - docs/internals/known_bugs.md\n  - docs/c.md\n", "mkdocs.yml:10", "there is no docs/c.md")
        self.finds("mkdocs.yml", "B: docs/b.md\n", "B: docs/b.md\n      - docs/a.md\n", "mkdocs.yml:9", "lists docs/a.md twice")

    def test_a_known_bug_of_which_something_is_not_there(self):
        page, place = "docs/internals/known_bugs.md", "docs/internals/known_bugs.md:4"
        self.finds(page, "`Lamp.Burns`", "`Lamp.Burns`, `Lamp.Glows`", place, "there is no test Lamp.Glows")
        self.finds(page, "`refused_wet`", "`refused_dry`", place, "there is no test refused_dry")
        self.finds(page, "bug 2", "bug 3", place, "there is no planted or seeded bug Lamp bug 3")
        self.finds(page, "`burns-on`", "`burns-out`", place, "there is no planted or seeded bug burns-out")
        self.finds(page, "`Lamp.Burns`, ", "", place, "does not name Lamp.Burns, the test of burns-on")
        self.finds(page, "`burns-on`, ", "", place, "names no planted bug")
        self.finds(page, "`burns-on`, `Lamp bug 2`", "", place, "a row says where")

    def test_a_specification_without_a_section(self):
        self.write("spec/Torch.tla", LAMP)
        self.assert_finds(pages.check(self.root), "spec/MAP.md:1", "no section for spec/Torch.tla")

    def test_a_section_without_a_specification(self):
        self.finds("spec/MAP.md", "## Traces", "## Torch", "spec/MAP.md:10", "no spec/Torch.tla")

    def test_an_action_that_is_none(self):
        self.finds("spec/MAP.md", "| Light |", "| Light, Burn |", "spec/MAP.md:7", "does not define Burn")

    def test_an_action_that_is_not_named(self):
        self.finds("spec/MAP.md", "| Wait | around it | |\n", "", "spec/MAP.md:3", "does not name Wait")

    def test_a_function_that_is_none(self):
        self.finds("spec/MAP.md", "`burn`", "`glow`", "spec/MAP.md:7", "no lamp::glow")
        self.finds("spec/MAP.md", "`lamp::light`, `burn`", "`torch::light`", "spec/MAP.md:7", "no torch::light")

    def test_a_test_that_is_none(self):
        self.finds("spec/MAP.md", "Lamp.Burns", "Lamp.Glows", "spec/MAP.md:7", "no test Lamp.Glows")
        self.finds("docs/internals/orders.md", "Lamp.Burns", "Torch.Burns", "docs/internals/orders.md:4", "no test Torch.Burns")
        self.finds("docs/internals/orders.md", "Lamp.Burns", "Torch.*", "docs/internals/orders.md:4", "no test Torch.*")

    def test_tests_that_are_some(self):
        for name in ("Lamp.Dims", "Lamp.*", "lamp.toml"):
            with self.subTest(name):
                self.write("docs/features.md", f"Text\n`{name}`\n")
                self.assertEqual(pages.check(self.root), [])

    def test_an_order_that_is_gone(self):
        self.finds("include/fairlead/lamp.hpp", "sync::release", "sync::relaxed", "docs/internals/orders.md:4", "no header")

    def test_an_order_that_is_new(self):
        self.finds("include/fairlead/lamp.hpp", "sync::relaxed", "sync::acquire", "include/fairlead/lamp.hpp:4",
                   "has no row")


if __name__ == "__main__":
    unittest.main()
