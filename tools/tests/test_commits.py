"""Tests of tools/commits.py, in a repository with commits of its own."""

import subprocess
import unittest

from temporary_tree import TemporaryTree

import commits

BODY = "\n\nA reader of the log finds the reason here.\n"


class Commits(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.git("init", "--quiet")
        self.commit("A start without any rule, and with a subject that goes on for more than a line of a log has")
        self.base = self.git("rev-parse", "HEAD").strip()

    def git(self, *arguments):
        identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", "-C", self.root, *identity, *arguments],
                              check=True, capture_output=True, text=True).stdout

    def commit(self, message):
        self.git("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--message", message)

    def check(self):
        return commits.check(self.root, self.base)

    def assert_finds_in_the_last(self, text):
        self.assert_finds(self.check(), self.git("rev-parse", "--short", "HEAD").strip(), text)

    def test_what_is_before_the_base_is_not_checked(self):
        self.assertEqual(self.check(), [])

    def test_a_subject_of_72_characters_and_a_body(self):
        self.commit("x" * 72 + BODY)
        self.commit("Another" + BODY)
        self.assertEqual(self.check(), [])

    def test_a_longer_subject(self):
        self.commit("x" * 73 + BODY)
        self.assert_finds_in_the_last("the subject has 73 characters; the limit is 72")

    def test_no_body(self):
        for message in ("The lamp burns", "The lamp burns\n\n  \n"):
            with self.subTest(message):
                self.commit(message)
                self.assert_finds_in_the_last("there is no body")
                self.git("reset", "--quiet", self.base)

    def test_no_empty_line(self):
        self.commit("The lamp burns\nand why.\n\nMore.")
        self.assert_finds_in_the_last("the line after the subject is empty")

    def test_a_merge_is_not_checked(self):
        self.git("checkout", "--quiet", "-b", "side")
        self.commit("The lamp burns" + BODY)
        self.git("checkout", "--quiet", self.base)
        self.git("merge", "--quiet", "--no-ff", "--message", "Merge branch 'side'", "side")
        self.assertEqual(self.check(), [])

    def test_without_the_base_there_is_nothing_to_check(self):
        self.commit("The lamp burns")
        self.base = "0" * 40
        self.assertEqual(self.check(), [])


if __name__ == "__main__":
    unittest.main()
