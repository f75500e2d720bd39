#!/usr/bin/env python3
"""Checks the size guide: a header, a source, a test file and a function each have a limit.

A function is meant to stay under about 70 lines; above 90 it is an error. Functions are found by
their braces, which is right for the code of this repository though not for all of C++.
"""

import re
import sys

import tree

HEADER_LINES = 300
SOURCE_LINES = 500
TEST_LINES = 600
FUNCTION_LINES = 90

DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
ACCESS = re.compile(r"\s*(?:(?:public|private|protected)\s*:\s*)*")
NO_PARAMETERS = re.compile(r"\b(?:alignas|decltype)\s*\((?:[^()]|\([^()]*\))*\)")
TYPE_PARAMETER = re.compile(r"\bclass\b[\s.]*\w*\s*(?=[,>=])")
TYPE_OR_NAMESPACE = re.compile(r"\b(?:namespace|class|struct|union|enum)\b")
LIST_GOES_ON = re.compile(r"\s*[,{]")


def limit_for(path):
    if path.parts[0] == "tests" or path.name.endswith("_test.cpp"):
        return TEST_LINES
    return HEADER_LINES if path.suffix == ".hpp" else SOURCE_LINES


def opens_function(head):
    """Whether the brace after this head opens a function rather than a type, a namespace, a
    list."""
    head = NO_PARAMETERS.sub("", head)
    if "(" not in head or head.rstrip().endswith("="):
        return False
    while True:
        shorter = re.sub(r"\([^()]*\)", "", head)
        if shorter == head:
            return not TYPE_OR_NAMESPACE.search(TYPE_PARAMETER.sub("", head))
        head = shorter


def functions(code):
    """Yields (first line, last line, head) of each outermost function of bare code.

    The head of a brace is the text since the last statement or block. A brace inside parentheses is
    a default argument. A block that a comma or another brace follows is no body: it belongs to a
    list of member initialisers, and the head goes on.
    """
    code = DIRECTIVE.sub(lambda match: "\n" * match.group().count("\n"), code)
    open_brackets = []      # "(", "{", and "f" for the brace of a function
    head_start = 0
    for match in re.finditer(r"[(){};]", code):
        bracket, at = match.group(), match.start()
        closed = None
        if bracket == "(":
            open_brackets.append("(")
        elif bracket == "{":
            outside = not {"f", "("} & set(open_brackets)
            is_function = outside and opens_function(code[head_start:at])
            open_brackets.append("f" if is_function else "{")
            if outside and not is_function:
                head_start = at + 1
        elif bracket in ")}" and open_brackets:
            closed = open_brackets.pop()
        if {"f", "("} & set(open_brackets) or bracket not in "};":
            continue
        if bracket == "}" and LIST_GOES_ON.match(code, at + 1):
            continue
        if closed == "f":
            start = ACCESS.match(code, head_start).end()
            yield (code.count("\n", 0, start) + 1, code.count("\n", 0, at) + 1,
                   " ".join(code[start:code.index("{", start)].split()))
        head_start = at + 1


def check(root):
    messages = []
    for path in tree.code_files(root):
        lines = len((root / path).read_text(encoding="utf-8").splitlines())
        if lines > limit_for(path):
            messages.append(f"{path}:{lines}: {lines} lines; the limit is {limit_for(path)}")
        for first, last, head in functions(tree.read_code(root, path)):
            if last - first + 1 > FUNCTION_LINES:
                messages.append(f"{path}:{first}: a function of {last - first + 1} lines; "
                                f"the limit is {FUNCTION_LINES}: {head[-60:]}")
    return messages


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
