"""Fuzzes with one program for a bounded time, from its committed corpus and a fixed seed.

FAIRLEAD_FUZZ_SECONDS in the environment says for how long, 8 by default. Every input of the corpus
is run first. An input that fails is kept below the work folder, and the last line says how to run
it again.

FAIRLEAD_FUZZ_SEED sets another seed, and keeps what the runs with such a seed find: each goes on
from there.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

SEED = 20261001
INPUT_SECONDS_MAX = 20  # longer is a hang
MEMORY_MAX_MIB = 1024
ALLOCATION_MAX_MIB = 64
INPUT_SIZE_MAX = 2048


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--corpus", type=pathlib.Path, required=True, help="may be missing")
    parser.add_argument("--dictionary", type=pathlib.Path, help="words for the inputs")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="the folder for its output")
    given = parser.parse_args()
    seconds = int(os.environ.get("FAIRLEAD_FUZZ_SECONDS", "8"))

    # What an earlier run found must not decide what one with the fixed seed does; the inputs that
    # failed stay.
    seed = os.environ.get("FAIRLEAD_FUZZ_SEED")
    found = given.work / ("kept" if seed else "corpus")
    if not seed:
        shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True, exist_ok=True)
    failed = given.work / "failed"
    failed.mkdir(exist_ok=True)
    before = set(failed.iterdir())

    command = [given.program, f"-seed={seed or SEED}", f"-max_total_time={seconds}", "-print_final_stats=1",
               f"-timeout={INPUT_SECONDS_MAX}", f"-rss_limit_mb={MEMORY_MAX_MIB}",
               f"-malloc_limit_mb={ALLOCATION_MAX_MIB}", f"-max_len={INPUT_SIZE_MAX}",
               "-len_control=20", "-print_funcs=0",
               "-entropic=0",  # this schedule would cost more than short runs themselves
               f"-artifact_prefix={failed}/", found]
    if given.corpus.is_dir():
        command.append(given.corpus)
    if given.dictionary:
        command.append(f"-dict={given.dictionary}")
    environment = dict(os.environ)
    symbolizer = shutil.which("llvm-symbolizer-16")
    if symbolizer:
        environment["ASAN_SYMBOLIZER_PATH"] = symbolizer
    status = subprocess.run(command, stdin=subprocess.DEVNULL, check=False,
                            env=environment).returncode
    for path in sorted(set(failed.iterdir()) - before):
        print(f"To run it again: {given.program} {path}")
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
