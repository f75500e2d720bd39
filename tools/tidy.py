#!/usr/bin/env python3
"""Runs clang-tidy, with the checks of .clang-tidy, on the C++ files that have changed.

    tools/tidy.py [--limit SECONDS] [--all | FILE ...]

A file has changed if it differs from the upstream branch, or, without such a branch, from the
commit before the last one. A file that git does not track has changed, too. For a changed header it
is the source file of the same name, if there is one. What cannot be looked at within the limit is
named: the result is then of the rest. The commands of the compiler are those of the preset release.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import tree

BUILD = tree.REPOSITORY / "build" / "release" / "compile_commands.json"
PROGRAMS = ("clang-tidy-19", "clang-tidy-16", "clang-tidy")
# Flags of GCC that clang does not know; and clang 16 has the concepts that std::expected wants, but
# says an older number.
FOR_CLANG = ("--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-U__cpp_concepts",
             "--extra-arg=-D__cpp_concepts=202002L")


def git(*arguments):
    done = subprocess.run(["git", "-C", str(tree.REPOSITORY), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.split("\n") if done.returncode == 0 else []


def changed_files():
    """Paths relative to the repository, the newest change first."""
    base = next((each for each in ("@{upstream}", "HEAD~1") if git("rev-parse", "--verify", "--quiet", each)), "HEAD")
    names = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    paths = [tree.REPOSITORY / name for name in names if name.endswith((".cpp", ".hpp"))]
    return sorted((path for path in paths if path.is_file()), key=lambda path: -path.stat().st_mtime)


def one_by_one(entry):
    """The entries of the files that the compiler takes at once in a unity build; of another entry,
    itself."""
    path = pathlib.Path(entry["directory"], entry["file"])
    if path.parent.name != "Unity" or not path.is_file():
        return [entry]
    files = re.findall(r'^#include "(.*)"$', path.read_text(encoding="utf-8"), re.MULTILINE)
    return [{**entry, "file": each, "command": entry["command"].replace(entry["file"], each)} for each in files]


def one_command_each(commands):
    """{file: entry}: of several commands for a file that of the library, not of a test that
    compiles it again."""
    found = {}
    for entry in (each for several in commands for each in one_by_one(several)):
        path = str(pathlib.Path(entry["directory"], entry["file"]).resolve())
        is_again = "-DFAIRLEAD_ATOMIC_HEADER" in entry["command"] or "-DFAIRLEAD_TRACE_HEADER" in entry["command"]
        if path not in found or not is_again:
            found[path] = {**entry, "file": path, "command": for_clang(entry["command"])}
    return found


def for_clang(command):
    """The command without ccache, and without the header that GCC has compiled in advance. Clang 16
    knows C++23 by another name."""
    words, result = shlex.split(command), []
    while words:
        word = words.pop(0)
        if word == "-include" and words and "cmake_pch" in words[0]:
            words.pop(0)
        elif word != "-Winvalid-pch" and not (not result and word.endswith("ccache")):
            result.append("-std=c++2b" if word == "-std=c++23" else word)
    return shlex.join(result)


def sources(paths, known):
    """The files that clang-tidy can check, in this order, each once."""
    found = []
    for path in paths:
        candidates = [path] if path.suffix == ".cpp" else [
            pathlib.Path(each) for each in known if pathlib.Path(each).stem in (path.stem, f"{path.stem}_test")]
        found += [each for each in candidates if str(each) in known and each not in found]
    return found


def run(program, folder, path, left):
    """What clang-tidy says of a file: its messages, "" if there are none, None if the time is
    over."""
    if left <= 0:
        return None
    try:
        done = subprocess.run([program, "--quiet", "-p", folder, *FOR_CLANG, str(path)],
                              capture_output=True, text=True, check=False, timeout=left)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return ""
    return done.stdout.strip() or done.stderr.strip() or f"{path}: clang-tidy failed"


def check(program, commands, paths, limit, jobs):
    """(messages, files that were not looked at)"""
    end = time.monotonic() + limit
    known = one_command_each(commands)
    todo = sources(paths, known)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "compile_commands.json").write_text(json.dumps(list(known.values())), encoding="utf-8")
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            said = list(pool.map(lambda path: run(program, folder, path, end - time.monotonic()), todo))
    return ([each for each in said if each], [path for path, each in zip(todo, said) if each is None])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=40, help="seconds")
    parser.add_argument("--all", action="store_true", help="all source files instead of the changed ones")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    program = next((each for each in PROGRAMS if shutil.which(each)), None)
    if program is None or not BUILD.is_file():
        print(f"tidy: needs {PROGRAMS[1]} and the preset release", file=sys.stderr)
        return 2
    commands = json.loads(BUILD.read_text(encoding="utf-8"))
    paths = [path.resolve() for path in options.files] or changed_files()
    if options.all:
        paths = [pathlib.Path(each) for each in one_command_each(commands)]
    messages, left = check(program, commands, paths, options.limit, options.jobs)
    print("\n".join(messages), end="\n" if messages else "")
    for path in left:
        print(f"tidy: no time for {path}", file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
