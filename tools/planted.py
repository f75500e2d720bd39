#!/usr/bin/env python3
"""Plants bugs in a copy of the library, and sees whether the tests that must find them do.

By default: the mutants of tests/planted/*.toml, each with the test that must fail. Prints how many
are killed, and fails if a mutant lives that is not listed as a survivor, with its reason, or if one
is killed that is.

With --historical: those of tests/historical/elsewhere.toml. A seeded bug of a specification is
given to TLC, as ./do verify does; a test is run some times, to measure how soon it finds the bug.
Writes tests/historical/planted.json, which is what tools/historical.py puts into the page. Fails if
TLC does not find one, or a test passes in all its runs.

With --check nothing is built: each mutant must have its place in the code, once, and its test must
exist.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib

import tree
import verify

ELSEWHERE = pathlib.Path("tests/historical/elsewhere.toml")
FOUND = pathlib.Path("tests/historical/planted.json")
MUTANTS = pathlib.Path("tests/planted")
REFUSED = pathlib.Path("tests/refused")
MODEL_TEST = pathlib.Path("build/release/tests/model/model_test")
WORK = tree.REPOSITORY / "build" / "planted"
RUNS = 5
HANGS_AFTER_S = 20
LIMIT_S = 120  # for the test of a mutant, unless the mutant is known to hang
MODULES = ("base", "os", "sync", "sched", "diagnostics", "coro", "context", "future", "wait")
# What a program of tests needs beside them: a further module for some folders, and further files of
# the tests.
NEED_IO = ("io", "tls", "dns", "http", "redis", "postgres", "faults", "stress", "conformance")
FURTHER_FILES = {"faults": ("tests/faults/faults.cpp", "tests/faults/raw_calls.cpp"), "tls": ("tests/tls/zoo.cpp",)}
MODULES_OF_FAULTS = {"postgres_test": "postgres"}  # of tests/faults: what else they need
FURTHER_LIBRARIES = {"tls": ("-lssl", "-lcrypto"), "dns": ("-lcares",), "http": (), "redis": (), "postgres": ("-lpq",)}
# The files of these modules cannot be read as one: each has names of its own.
UNITS_OF_A_FILE = ("http", "redis", "postgres")
# The model tests compile the library against the checker, as tests/model/CMakeLists.txt says.
OF_THE_CHECKER = ("src/base/assert.cpp", "src/os/cpu.cpp", "src/os/process.cpp", "tests/model/monitor.cpp",
                  "tests/model/live_count.cpp")
NOT_OF_THE_CHECKER = ("monitor.cpp", "blocked_step.cpp", "live_count.cpp")


class PlantedError(Exception):
    pass


def plant(text, bug):
    """The file with the mistake, which must have its place there, once."""
    if text.count(bug["good"]) != 1:
        raise PlantedError(f"{bug['file']}: has changed: the bug of {bug['test']} cannot be planted")
    return text.replace(bug["good"], bug["bad"])


def copy_with(root, bug):
    """A copy of the library with the mistake, or without one. Always in one place, where only what
    differs is written, so that ccache knows what did not change."""
    copy = WORK / "tree"
    wanted = {path: (root / path).read_text(encoding="utf-8") for path in tree.code_files(root, ("include", "src"))}
    if bug is not None:
        wanted[pathlib.Path(bug["file"])] = plant(wanted[pathlib.Path(bug["file"])], bug)
    for path in tree.code_files(copy, ("include", "src")):
        if path not in wanted:
            (copy / path).unlink()
    for path, text in wanted.items():
        write_if_other(copy / path, text)
    return copy


def write_if_other(file, text):
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def units_of(folder, files):
    """One unit for each module: to read the headers for each file would take most of the time."""
    units = {}
    for file in files:
        module = file.parent.name
        unit = f"{module}-{file.stem}" if module in UNITS_OF_A_FILE else module
        units.setdefault(unit, []).append(f'#include "{file}"\n')
    for unit, lines in units.items():
        write_if_other(folder / f"{unit}.cpp", "".join(lines))
    return [folder / f"{unit}.cpp" for unit in units]


def further_module(test):
    """The module that a test needs beside MODULES and those of IO, if it has the name of one."""
    return MODULES_OF_FAULTS.get(test.stem, test.parts[1]) if test.parts[1] == "faults" else test.parts[1]


def sources_of(root, copy, test):
    """The files of the library, of the tests, and of the checker, if it is a model test."""
    folder = test.parts[1]
    if folder == "model":
        files = [path for module in ("coro", "future", "sched", "sync", "wait")
                 for path in sorted((copy / "src" / module).rglob("*.cpp"))
                 if path.name not in NOT_OF_THE_CHECKER]
        files += [(copy if each.startswith("src/") else root) / each for each in OF_THE_CHECKER]
        return files, [root / test], sorted((root / "tests/model/checker").glob("*.cpp"))
    modules = (*MODULES, "io", "test") if folder in NEED_IO else MODULES
    if further_module(test) in FURTHER_LIBRARIES:
        modules = (*modules, further_module(test))
    files = [path for module in modules for path in sorted((copy / "src" / module).rglob("*.cpp"))]
    return files, [root / test, *(root / each for each in FURTHER_FILES.get(folder, ()))], []


def build(root, bug, with_mistake=True):
    """The program with the test and the mistake, in a folder of its own."""
    copy = copy_with(root, bug if with_mistake else None)
    library, tests, checker = sources_of(root, copy, tree.tests(root)[bug["test"]])
    compiler = ["ccache", "g++"] if shutil.which("ccache") else ["g++"]
    flags = ["-std=c++23", "-O1", "-g1", "-DNDEBUG", "-w", f"-I{copy}/include", f"-I{copy}/src", f"-I{root}/tests",
             "-I/usr/include/postgresql"]
    sanitizer = [f"-fsanitize={bug['sanitizer']}"] if "sanitizer" in bug else []
    if checker:
        flags.append('-DFAIRLEAD_ATOMIC_HEADER="model/checker/atomic.hpp"')
    folder = WORK / (bug.get("name", "test") if with_mistake else "without")
    folder.mkdir(parents=True, exist_ok=True)

    def compile_one(source):
        made = folder / f"{source.parent.name}-{source.stem}.o"
        instrumented = ["-fsanitize=thread"] if checker and source not in checker else sanitizer
        subprocess.run([*compiler, *flags, *instrumented, "-c", source, "-o", made], check=True,
                       env={"CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime", **os.environ})
        return made

    units = units_of(WORK / ("units_of_the_checker" if checker else "units"), library)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, [*units, *tests, *checker]))
    program = folder / "test"
    further = FURTHER_LIBRARIES.get(further_module(tree.tests(root)[bug["test"]]), ())
    subprocess.run(["g++", *sanitizer, *objects, "-o", program, "-lgtest_main", "-lgtest", *further, "-pthread"],
                   check=True)
    for each in objects:
        each.unlink()
    return program


def run(program, test, limit_s=HANGS_AFTER_S, fixed_addresses=False):
    """How the test ended, and after how many seconds. The test may have parameters."""
    command = [program, f"--gtest_filter={test}:*/{test}/*"]
    if fixed_addresses and shutil.which("setarch"):  # the sanitizers of GCC 12, see ./do
        command = ["setarch", "--addr-no-randomize", *command]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "halt_on_error=1"}
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, env=environment)
    except subprocess.TimeoutExpired:
        return "hung", limit_s
    if "[==========] Running 0 tests" in done.stdout:
        raise PlantedError(f"{test}: the program has no such test")
    return "failed" if done.returncode else "passed", time.monotonic() - begin


def measure_test(root, bug):
    program = build(root, bug)
    runs = [run(program, bug["test"], fixed_addresses="sanitizer" in bug) for _ in range(RUNS)]
    found = {how: sum(each == how for each, _ in runs) for how in ("failed", "hung", "passed")}
    if found["passed"] == RUNS:
        raise PlantedError(f"{bug['test']}: passes with its bug, {RUNS} times of {RUNS}")
    return {**found, "seconds": round(statistics.median(seconds for _, seconds in runs), 3)}


def measure_checker(root, test):
    """A test whose scenario is the bug says how many executions it took."""
    done = subprocess.run([root / MODEL_TEST, f"--gtest_filter={test}"], capture_output=True, text=True, check=True)
    return {"executions": int(re.search(r"found after (\d+) executions", done.stdout)[1])}


def measure_specification(name, number):
    """States that TLC looks at until the first of the properties that must find the bug is
    violated."""
    spec = next(each for each in tomllib.loads((verify.SPECS / "models.toml").read_text())["spec"]
                if each["name"] == name)
    asked = argparse.Namespace(quick=False)
    results = []
    for each, finds in verify.runs_of_mutants(spec, asked):
        if each.bug == number:
            result = each.execute(verify.fetch_tlc(), 1)
            if result["found"] != finds:
                raise PlantedError(f"{name} bug {number}: not found by {finds}")
            results.append(result)
    first = min(results, key=lambda result: result["generated"])
    return {"states": first["generated"], "property": first["found"]}


def measure(root, bug, shown_by):
    seeded = re.fullmatch(r"(\w+) bug (\d+)", shown_by)
    if seeded:
        return measure_specification(seeded[1], int(seeded[2]))
    for each in bug.get("planted", []):
        if each["test"] == shown_by:
            return measure_test(root, each)
    return measure_checker(root, shown_by)


def measure_historical(root, only):
    """The number of bugs that are not found."""
    found = json.loads((root / FOUND).read_text(encoding="utf-8")) if (root / FOUND).is_file() else {}
    failures = 0
    for bug in tomllib.loads((root / ELSEWHERE).read_text(encoding="utf-8"))["bug"]:
        for shown_by in bug["shown_by"]:
            if only not in shown_by:
                continue
            try:
                found[shown_by] = measure(root, bug, shown_by)
                print(f"{shown_by}: {found[shown_by]}", flush=True)
                (root / FOUND).write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8")
            except PlantedError as error:
                failures += 1
                print(error, flush=True)
    return failures


# --- mutants --------------------------------------------------------------------------------------


def mutants_of(root):
    return [{**mutant, "from": path.name} for path in sorted((root / MUTANTS).glob("*.toml"))
            for mutant in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]]


def refused_source(root, test):
    """The file that the compiler must refuse, if that is what the test is; otherwise None."""
    source = root / REFUSED / f"{test.removeprefix('refused_')}.cpp"
    return source if test.startswith("refused_") and source.is_file() else None


def check(root):
    """The messages: each mutant has its place in the code, a test, and a name of its own."""
    messages = []
    tests = tree.tests(root)
    names = [mutant["name"] for mutant in mutants_of(root)]
    for mutant in mutants_of(root):
        place = f"{MUTANTS}/{mutant['from']}: {mutant['name']}"
        if names.count(mutant["name"]) != 1:
            messages.append(f"{place}: two bugs have this name")
        if mutant["test"] not in tests and refused_source(root, mutant["test"]) is None:
            messages.append(f"{place}: there is no test {mutant['test']}")
        file = root / mutant["file"]
        count = file.read_text(encoding="utf-8").count(mutant["good"]) if file.is_file() else 0
        if count != 1:
            messages.append(f"{place}: its text stands in {mutant['file']} {count} times")
    return messages


def compile_refused(root, mutant, source, with_mistake=True):
    """How the test ended: it passes if the compiler says what the file has in its first line."""
    copy = copy_with(root, mutant if with_mistake else None)
    complaint = source.read_text(encoding="utf-8").splitlines()[0].removeprefix("// complaint: ")
    begin = time.monotonic()
    done = subprocess.run(["g++", "-std=c++23", "-fsyntax-only", f"-I{copy}/include", source],
                          capture_output=True, text=True)
    return "passed" if complaint in done.stderr else "failed", time.monotonic() - begin


def kill(root, mutant):
    """How the test ended, and after how many seconds, of the first of `runs` that did not pass."""
    source = refused_source(root, mutant["test"])
    if source is not None:
        return compile_refused(root, mutant, source)
    program = build(root, mutant)
    limit_s = mutant.get("seconds", HANGS_AFTER_S if mutant.get("hangs") else LIMIT_S)
    try:
        for _ in range(mutant.get("runs", 1)):
            how, seconds = run(program, mutant["test"], limit_s, "sanitizer" in mutant)
            if how != "passed":
                break
    finally:
        program.unlink()
    return how, seconds


def ends_without(root, mutant, programs):
    """How the test ends without the mistake: a test that fails anyway kills nothing. `programs` has
    what was built for this, by the file of the test."""
    source = refused_source(root, mutant["test"])
    if source is not None:
        return compile_refused(root, mutant, source, with_mistake=False)[0]
    key = (tree.tests(root)[mutant["test"]], mutant.get("sanitizer"))
    if key not in programs:
        program = build(root, mutant, with_mistake=False)
        programs[key] = program.rename(program.with_name(f"test-{len(programs)}"))
    return run(programs[key], mutant["test"], LIMIT_S, "sanitizer" in mutant)[0]


def is_killed(mutant, how):
    """A test that has not ended may only be slow, unless it is known to hang."""
    return how == "failed" or (how == "hung" and mutant.get("hangs", False))


def judge(mutants, ended):
    """(errors, number of killed mutants), from how each test has ended."""
    messages = []
    for mutant in mutants:
        killed = is_killed(mutant, ended[mutant["name"]])
        if not killed and "survives" not in mutant:
            messages.append(f"{mutant['name']}: {mutant['test']} {ended[mutant['name']]} with it")
        if killed and "survives" in mutant:
            messages.append(f"{mutant['name']}: is listed as a survivor, and {mutant['test']} finds it")
    return messages, sum(is_killed(mutant, ended[mutant["name"]]) for mutant in mutants)


def run_mutants(root, only):
    mutants = [mutant for mutant in mutants_of(root) if only in mutant["name"]]
    ended, programs = {}, {}
    for mutant in mutants:
        try:
            how, seconds = ends_without(root, mutant, programs), 0
            how, seconds = kill(root, mutant) if how == "passed" else (f"{how} also without", 0)
        except subprocess.CalledProcessError:
            how, seconds = "no build", 0  # the compiler has said why
        ended[mutant["name"]] = how
        print(f"{mutant['name']:<54} {how:<7} {seconds:5.1f} s  {mutant['test']}", flush=True)
    messages, killed = judge(mutants, ended)
    for message in messages:
        print(f"planted: {message}", file=sys.stderr)
    print(f"mutants of the code killed: {killed} of {len(mutants)}")
    return len(messages)


def main():
    parser = argparse.ArgumentParser(prog="./do verify planted", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="only bugs whose name contains this text")
    parser.add_argument("--historical", action="store_true", help="those of other projects; the rest stay as they are")
    parser.add_argument("--check", action="store_true", help="only check that each bug has its place in the code")
    asked = parser.parse_args()
    root = tree.REPOSITORY
    messages = check(root)
    for message in messages:
        print(message)
    if asked.check or messages:
        return 1 if messages else 0
    WORK.mkdir(parents=True, exist_ok=True)
    failures = measure_historical(root, asked.only) if asked.historical else run_mutants(root, asked.only)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
