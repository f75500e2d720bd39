"""Runs the committed corpus of one fuzz target, and then fuzzes it with a fresh seed.

The first part is the same each time: every input of the corpus once. If the second part fails, its
seed is printed; FAIRLEAD_TEST_SEED in the environment gives it again. FAIRLEAD_FUZZ_SECONDS says
how long both parts take together, 4 by default. An input that fails is kept below the work
folder, and the last line says how to run it again.

FAIRLEAD_FUZZ_SEED sets the seed, too, and keeps what the runs with such a seed find: each goes on
from there.
"""

import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

SECONDS = 4
INPUT_SECONDS_MAX = 20  # longer is a hang
MEMORY_MAX_MIB = 1024
ALLOCATION_MAX_MIB = 64
INPUT_SIZE_MAX = 2048
SEED_MAX = 2**31 - 1  # libFuzzer takes 32 bits, and draws one itself for 0


def options(work):
    """Those that both parts have."""
    return [f"-timeout={INPUT_SECONDS_MAX}", f"-rss_limit_mb={MEMORY_MAX_MIB}",
            f"-malloc_limit_mb={ALLOCATION_MAX_MIB}", f"-max_len={INPUT_SIZE_MAX}", "-print_funcs=0",
            f"-artifact_prefix={work / 'failed'}/"]


def run(command):
    environment = dict(os.environ)
    symbolizer = shutil.which("llvm-symbolizer-16")
    if symbolizer:
        environment["ASAN_SYMBOLIZER_PATH"] = symbolizer
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False, env=environment).returncode == 0


def replay(given):
    """Every input of the corpus, once."""
    inputs = sorted(path for path in given.corpus.iterdir() if path.is_file()) if given.corpus.is_dir() else []
    return not inputs or run([given.program, *options(given.work), *inputs])


def fuzz(given, seconds, seed):
    kept = os.environ.get("FAIRLEAD_FUZZ_SEED")
    found = given.work / ("kept" if kept else "corpus")
    if not kept:  # what an earlier run found must not decide what this one does
        shutil.rmtree(found, ignore_errors=True)
    found.mkdir(exist_ok=True)
    command = [given.program, *options(given.work), f"-seed={seed}", f"-max_total_time={seconds}",
               "-print_final_stats=1", "-len_control=20",
               "-entropic=0",  # this schedule would cost more than short runs themselves
               found]
    if given.corpus.is_dir():
        command.append(given.corpus)
    if given.dictionary:
        command.append(f"-dict={given.dictionary}")
    if run(command):
        return True
    print(f"again: FAIRLEAD_TEST_SEED={seed}")
    return False


def chosen_seed():
    given = os.environ.get("FAIRLEAD_FUZZ_SEED") or os.environ.get("FAIRLEAD_TEST_SEED")
    return int(given) if given else random.SystemRandom().randint(1, SEED_MAX)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--corpus", type=pathlib.Path, required=True, help="may be missing")
    parser.add_argument("--dictionary", type=pathlib.Path, help="words for the inputs")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="the folder for its output")
    given = parser.parse_args()
    end = time.monotonic() + int(os.environ.get("FAIRLEAD_FUZZ_SECONDS", SECONDS))

    failed = given.work / "failed"
    failed.mkdir(parents=True, exist_ok=True)
    before = set(failed.iterdir())
    passed = replay(given)
    left = round(end - time.monotonic())
    if passed:
        passed = fuzz(given, max(left, 1), chosen_seed())  # 0 would be without a limit
    for path in sorted(set(failed.iterdir()) - before):
        print(f"To run it again: {given.program} {path}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
