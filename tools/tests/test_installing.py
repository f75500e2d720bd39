"""docs/manual/installing.md names the packages that ./do installs."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Installing(unittest.TestCase):
    def test_the_page_names_the_packages_of_do(self):
        table = re.search(r"^packages='\n(.*?)^'", (ROOT / "do").read_text(), re.DOTALL | re.MULTILINE)
        installed = {line.split()[1] for line in table.group(1).splitlines()}
        page = (ROOT / "docs/manual/installing.md").read_text().partition("\n## The library alone")[0]
        self.assertEqual(set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)), installed)


if __name__ == "__main__":
    unittest.main()
