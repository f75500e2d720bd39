import unittest

from temporary_tree import TemporaryTree
import links


class Links(TemporaryTree):
    def find(self, text, path="docs/a/page.md"):
        self.write(path, text)
        return links.check(self.root)

    def test_a_link_to_a_file_and_to_a_heading(self):
        self.write("README.md", "# Top\n\n## What it *is*, and `why()`\n")
        self.assertEqual(self.find("[a](../../README.md) and [b](../../README.md#what-it-is-and-why), [c](#below)\n\n"
                                   "# Below\n"), [])

    def test_a_dead_link(self):
        self.assert_finds(self.find("# A\n\n[b](gone.md)\n"), "docs/a/page.md:3", "there is no gone.md")
        self.assert_finds(self.find("[b](../../../gone.md)\n"), "docs/a/page.md:1", "there is no")
        self.assert_finds(self.find("![a plot](gone.svg)\n"), "docs/a/page.md:1", "there is no gone.svg")

    def test_a_dead_heading(self):
        self.write("docs/b.md", "# B\n\n```sh\n# not a heading\n```\n")
        self.assert_finds(self.find("[b](../b.md#not-a-heading)\n"), "docs/a/page.md:1", "docs/b.md has no heading")
        self.assert_finds(self.find("[b](#gone)\n"), "docs/a/page.md:1", "#gone")

    def test_a_heading_that_is_there_twice(self):
        text = "[1](#a) [2](#a-1)\n\n## A\n\n## A\n"
        self.assertEqual(self.find(text), [])
        self.assert_finds(self.find(text + "[3](#a-2)\n"), "docs/a/page.md:6", "#a-2")

    def test_what_is_no_link(self):
        self.assertEqual(self.find("`[a](b)` [c](https://example.org/x#y)\n\n```cpp\nf[a](b);\n```\n"), [])

    def test_every_folder_of_pages(self):
        for path in ("CONTRIBUTING.md", "bench/results/box.md", "spec/MAP.md"):
            with self.subTest(path):
                self.assert_finds(self.find("[a](gone)\n", path), f"{path}:1", "gone")
                (self.root / path).unlink()


if __name__ == "__main__":
    unittest.main()
