"""Tests of tools/instructions.py."""

import unittest

import temporary_tree  # noqa: F401  finds the tools

import instructions

PUSH = """\
0000000000000010 <fairlead::queue<int>::push(int)>:
  10:\tldr\tx0, [x1]
  14:\tcasal\tx0, x2, [x1]
  18:\tret
"""
EXPECTED = [{"name": "queue<int>::push", "why": "one exchange", "lse": {"casal": 1}}]


class Instructions(unittest.TestCase):
    def check(self, disassembly):
        return instructions.check(instructions.instructions(disassembly), EXPECTED, "lse")

    def test_what_is_expected_passes(self):
        self.assertEqual(self.check(PUSH), [])

    def test_other_instructions_are_found(self):
        for other in ("casl", "casal\tx0, x2, [x1]\n  1c:\tcasal"):
            [message] = self.check(PUSH.replace("casal", other))
            self.assertIn("queue<int>::push: has", message)

    def test_a_barrier_is_found_anywhere(self):
        barrier = "0000000000000040 <other()>:\n  40:\tdmb\tish\n"
        self.assertEqual(self.check(PUSH + barrier), ["other(): a barrier"])

    def test_a_function_that_is_gone_is_found(self):
        self.assertEqual(self.check(PUSH.replace("push", "put")), ["queue<int>::push: there is no such function"])


if __name__ == "__main__":
    unittest.main()
