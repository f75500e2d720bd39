"""A repository in a temporary folder, to plant violations in."""

import pathlib
import shutil
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))


class TemporaryTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tools").mkdir()
        shutil.copy(TOOLS / "layers.toml", self.root / "tools")

    def write(self, path, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_finds(self, messages, place, text):
        """Exactly one message, at `place` ("file:line"), that contains `text`."""
        self.assertEqual(len(messages), 1, messages)
        self.assertTrue(messages[0].startswith(place + ": "), messages[0])
        self.assertIn(text, messages[0])
