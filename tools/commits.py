#!/usr/bin/env python3
"""Checks the messages of the commits after BASE.

A message is a subject that a log shows whole, an empty line, and a body with the reason.

Merges are not checked: git writes their messages. Without a history back to BASE, as in an archive
or a shallow clone, there is nothing to check.
"""

import subprocess
import sys

import tree

BASE = "78d573aa0847d56dc810d1267f42962cac7c0fc8"  # the last commit before there were these rules
SUBJECT_MAX = 72


def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)


def messages_after(root, base):
    """Pairs of the short name of a commit and its message."""
    listed = git(root, "log", "--no-merges", "--format=%h%n%B%x00", f"{base}..HEAD")
    if listed.returncode != 0:
        return
    for entry in listed.stdout.split("\0"):
        name, _, message = entry.strip("\n").partition("\n")
        if name:
            yield name, message


def wrong_with(message):
    subject, *rest = message.rstrip().split("\n")
    if len(subject) > SUBJECT_MAX:
        yield f"the subject has {len(subject)} characters; the limit is {SUBJECT_MAX}: {subject}"
    if not any(line.strip() for line in rest):
        yield f"there is no body: it says why: {subject}"
    elif rest[0].strip():
        yield f"the line after the subject is empty: {subject}"


def check(root, base=BASE):
    return [f"{name}: {wrong}" for name, message in messages_after(root, base) for wrong in wrong_with(message)]


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
