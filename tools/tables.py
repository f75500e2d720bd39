#!/usr/bin/env python3
"""Checks that the tables of docs/internals/verification.md name exactly what is verified now.

- Specifications: a row for each model of spec/models.toml that is not deep, with its constants, its
  number of distinct states if it stands there, and all seeded bugs found.
- Traces: the specifications of spec/traces/, and each bug that tests/traces/CMakeLists.txt plants
  in the library.
- Model tests: each suite in tests/model/.

The figures themselves are measured: ./do verify, ./do verify traces and ./do verify models write
them, with --write.
"""

import pathlib
import re
import sys
import tomllib

import orders
import tree
import verify

PAGE = pathlib.Path("docs/internals/verification.md")
MODELS = pathlib.Path("spec/models.toml")
PLANTED = pathlib.Path("tests/traces/CMakeLists.txt")


def rows_of(root, name):
    return tree.rows_of_figures(root / PAGE, name)


def rows_wanted(specs):
    """Of each row: the specification, if it is its first, the constants, the states if known, and
    the bugs found."""
    for spec in specs:
        name, bugs = spec["name"], f"{len(spec['mutants'])} of {len(spec['mutants'])}"
        for model in spec["model"]:
            if not model.get("deep", False):
                constants = verify.describe({**spec["constants"], **model.get("with", {})})
                yield name, f"`{constants}`", model.get("distinct"), bugs
                name, bugs = "", ""


def check_specifications(root):
    wanted = list(rows_wanted(tomllib.loads((root / MODELS).read_text(encoding="utf-8"))["spec"]))
    rows = rows_of(root, "specifications")
    for (name, constants, distinct, bugs), row in zip(wanted, rows):
        shown = (row[0], row[1], int(row[2].replace(",", "")) if distinct else None, row[5])
        if shown != (name, constants, distinct, bugs):
            yield f"{name} {constants} {distinct or ''} {bugs}: the row differs: {' | '.join(row)}"
            return  # the rows after this one do not match the models one by one
    if len(wanted) != len(rows):
        yield f"{len(wanted)} models, and {len(rows)} rows"


def differ(what, wanted, shown):
    yield from (f"no row has the {what} {each}" for each in sorted(wanted - shown))
    yield from (f"there is no {what} {each}" for each in sorted(shown - wanted))


def check_traces(root):
    rows = rows_of(root, "traces")
    wanted = {path.name.removesuffix("Trace.tla") for path in (root / "spec" / "traces").glob("?*Trace.tla")}
    yield from differ("specification", wanted, {row[0] for row in rows})
    planted = set(re.findall(r"^plant\((\w+ [\w-]+) ", (root / PLANTED).read_text(encoding="utf-8"),
                             re.MULTILINE))
    shown = {f"{row[0]} {bug}" for row in rows for bug in re.findall(r"\d+ of \d+ `?([\w-]+)", row[6])}
    # Scenarios have further bugs.
    yield from (f"no row has the planted bug {each}" for each in sorted(planted - shown))


def check_models(root):
    suites = {name.partition(".")[0] for name, path in tree.tests(root).items()
              if path.parent == pathlib.Path("tests/model")} - set(orders.NOT_SEARCHED)
    yield from differ("suite", suites, {row[0].strip("`") for row in rows_of(root, "models")})


def check(root):
    checks = {"specifications": (check_specifications, "./do verify"), "traces": (check_traces, "./do verify traces"),
              "models": (check_models, "./do verify models")}
    return [f"{PAGE}: {name}: {message}; {command} --write makes the table anew"
            for name, (check_table, command) in checks.items() for message in check_table(root)]


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
