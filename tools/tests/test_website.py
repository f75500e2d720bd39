import pathlib
import unittest
from unittest import mock

from temporary_tree import TemporaryTree
import website

DOXYFILE = """INPUT = include
EXCLUDE_PATTERNS       = */detail/* \\
                         */base/list.hpp
QUIET = YES
"""


class Website(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("docs/reference/Doxyfile", DOXYFILE)
        for header in ("fairlead.hpp", "sched/task.hpp", "detail/sched/core.hpp", "base/list.hpp"):
            self.write(f"include/fairlead/{header}")
        self.index("fairlead.hpp", "sched/task.hpp")

    def index(self, *headers):
        rows = "".join(f"| [{header}](../../include/fairlead/{header}) |\n" for header in headers)
        self.write("docs/reference/index.md", "# Reference\n\n" + rows)

    def test_what_is_public(self):
        self.assertEqual([str(path) for path in website.public_headers(self.root)],
                         ["include/fairlead/fairlead.hpp", "include/fairlead/sched/task.hpp"])
        self.assertEqual(website.unnamed_headers(self.root), [])

    def test_a_header_that_the_page_does_not_name(self):
        self.index("fairlead.hpp")
        self.assert_finds(website.unnamed_headers(self.root), "docs/reference/index.md", "sched/task.hpp")

    def test_a_header_that_is_not_public(self):
        self.index("fairlead.hpp", "sched/task.hpp", "base/list.hpp")
        self.assert_finds(website.unnamed_headers(self.root), "docs/reference/index.md", "base/list.hpp is not public")

    def test_the_copy_has_what_pages_link_to(self):
        self.write("examples/a/main.cpp", "int a;\n")
        self.write("examples/b/main.cpp", "int b;\n")
        self.write("docs/a.md", "[a](../examples/a/main.cpp), [b](../../outside.md)\n")
        website.copy_pages(self.root, self.root / "copy")
        self.assertTrue((self.root / "copy/docs/a.md").is_file())
        self.assertEqual((self.root / "copy/examples/a/main.cpp").read_text(), "int a;\n")
        self.assertFalse((self.root / "copy/examples/b").exists())

    def test_the_copy_leads_to_the_reference(self):
        page = self.root / "docs/reference/index.md"
        website.link_to_reference(page)
        self.assertTrue(page.read_text().startswith("# Reference\n\n**[All classes and functions](api/annotated.html)**"))

    def test_a_warning_fails_the_site(self):
        # A build that is quiet counts no warnings, and so would pass.
        with mock.patch.object(website, "run") as run, mock.patch.object(website, "make_reference"):
            website.make_site(self.root)
        command = run.call_args.args
        self.assertEqual(pathlib.Path(command[0]).name, "mkdocs")
        self.assertIn("--strict", command)
        self.assertNotIn("--quiet", command)


if __name__ == "__main__":
    unittest.main()
