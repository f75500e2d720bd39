#!/usr/bin/env python3
"""Finds coroutine code that GCC 12 compiles wrongly.

    fairlead-gcc12 [FILE or FOLDER ...]

Three forms, of which GCC 12.2 makes wrong code without a warning, with any coroutine library; later
versions and clang are right:

- condition: a co_await in the condition of if, while, for, do or switch when no enclosing block of
  the function declares a variable. The body does not run as written. The body of a lambda is in no
  danger.
- closure: a lambda that captures by copy, written in the same expression as a co_await. GCC
  destroys what it has captured twice.
- aggregate: `{.member = ...}` in the same expression as a co_await. GCC destroys the members twice.

Put the condition, the lambda or the aggregate into a variable first. The scan knows no types. What
has no destructor (a captured int) is in no danger, and the comment `gcc12: trivial` in the same or
the previous line says so. The scan cannot see an aggregate that is written without names, as in
`f(options{x})` or in `f({})`, or made by a default argument, nor a conditional expression whose
value is an object with a destructor.

Tried with GCC 12.2 at -O0 and -O2, with and without the address sanitizer:

- A temporary of a class that has a constructor is in no danger as an argument of the awaited call,
  as in `co_await f(std::string("x") + y)`: by value, by reference or as a view, if the call throws,
  and if the coroutine is destroyed while it waits. What crashes beside such a string is an
  aggregate that has a string: `{}`, or the default of a further parameter. So strings are no form.
- `if (co_await a()) b();` at the end of a coroutine is the form `condition`: it is wrong if there
  are only parameters, and right behind any variable, be it static, an alias of a type, or declared
  behind the condition.

Without arguments it scans the folders include, src, apps, examples, tests and bench. Exit status: 1
if anything was found.
"""

import pathlib
import re
import sys

SUFFIXES = {".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".h", ".ipp"}
FOLDERS = ("include", "src", "apps", "examples", "tests", "bench")
TRIVIAL_MEMBERS = {"grain", "slice"}     # of bulk_options, which has no destructor
MARK = re.compile(r"gcc12:\s*trivial")

TOKEN = re.compile(
    r'''(?P<skip>//[^\n]*|/\*.*?\*/|\#(?:[^\n\\]|\\.)*'''
    r'''|R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'''
    r'''|(?<!\w)(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')'''
    r'''|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.']*)|(?P<sign>::|->|&&|\|\||\+\+|--|[<>=!+\-*/%&|^]=|\S)''',
    re.DOTALL)

BODY = ("function", "lambda")
CONTROL = {"if", "while", "for", "switch", "catch"}
NO_TYPE = {"return", "co_return", "co_await", "co_yield", "delete", "throw", "goto", "else", "case", "new",
           "do", "try", "break", "continue", "default", "if", "while", "for", "switch", "public", "private",
           "protected", "friend", "operator", "sizeof", "not", "namespace", "class", "struct", "union", "enum"}
AFTER_PARAMETERS = {"const", "noexcept", "mutable", "override", "final", "static", "constexpr", "volatile",
                    "&", "&&", "requires"}


class Token:
    __slots__ = ("text", "line", "is_word")

    def __init__(self, text, line, is_word):
        self.text, self.line, self.is_word = text, line, is_word


def tokens_of(text):
    """Words and signs, without comments, literals and directives; a literal is the sign `""`."""
    found, line, at = [], 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if match.group("skip") is not None:
            if match.group()[0] not in "/#":
                found.append(Token('""', line, False))
            continue
        found.append(Token(match.group(), line, match.group("word") is not None))
    return found


class Block:
    """A pair of braces. kind: function, lambda, block, scope (namespace, class), braces (of a
    value)."""

    def __init__(self, kind, outer):
        self.kind, self.outer = kind, outer
        self.declares = kind == "lambda"    # GCC compiles its conditions correctly


def matching(tokens):
    """{index of an opening bracket: index of the closing one} and back, for ( [ {."""
    pairs, stack = {}, []
    closing = {")": "(", "]": "[", "}": "{"}
    for i, token in enumerate(tokens):
        if token.text in "([{" and not token.is_word:
            stack.append(i)
        elif token.text in closing and stack and tokens[stack[-1]].text == closing[token.text]:
            pairs[stack[-1]] = i
            pairs[i] = stack.pop()
    return pairs


def kind_of_brace(tokens, pairs, at, outer):
    """The kind of the braces that begin at this index."""
    before = at - 1
    if before < 0:
        return "block"
    text = tokens[before].text
    inside_function = outer is not None and outer.kind != "scope"
    if text in ("else", "do", "try"):
        return "block"
    if text in (";", "{", "}", ":") and inside_function:
        return "block"
    # Go back over the tokens between the parameters and the body.
    j = before
    while j > 0:
        word = tokens[j].text
        if word == ")" and j in pairs:
            opener = pairs[j]
            ahead = tokens[opener - 1].text if opener > 0 else ""
            if ahead in ("noexcept", "requires", "decltype", "alignas"):
                j = opener - 2
                continue
            if ahead == "constexpr" and tokens[opener - 2].text == "if":
                return "block"
            if ahead == "]" and is_lambda(tokens, pairs, pairs.get(opener - 1, 0)):
                return "lambda"
            return "block" if ahead in CONTROL else "function"
        if word == "]" and j == before and is_lambda(tokens, pairs, pairs.get(j, 0)):
            return "lambda"
        if word in AFTER_PARAMETERS:
            j -= 1
            continue
        arrow = back_over_type(tokens, j)
        if arrow is not None:
            j = arrow - 1
            continue
        break
    k = before
    while k >= 0 and tokens[k].text not in (";", "{", "}", "(", ")", "="):
        if tokens[k].text in ("namespace", "class", "struct", "union", "enum", "extern", "concept"):
            return "scope"
        k -= 1
    return "braces"


def back_over_type(tokens, at):
    """The index of the `->` before the trailing type that ends here, or None."""
    for j in range(at, max(at - 40, 0), -1):
        text = tokens[j].text
        if text == "->":
            return j
        if text in (";", "{", "}", ")", "(", "=", "return"):
            return None
    return None


def is_lambda(tokens, pairs, opener):
    """Whether the [ at this index begins a lambda: not an index, not an attribute."""
    if tokens[opener].text != "[" or opener not in pairs:
        return False
    if opener + 1 < len(tokens) and tokens[opener + 1].text == "[":
        return False
    if opener > 0:
        ahead = tokens[opener - 1]
        if ahead.text in (")", "]", '""', "[") or (ahead.is_word and ahead.text not in NO_TYPE):
            return False
    following = pairs[opener] + 1
    return following < len(tokens) and tokens[following].text in (
        "(", "{", "<", "mutable", "noexcept", "->", "constexpr", "static")


def captures_by_copy(tokens, pairs, opener):
    """Whether one of the captures of the lambda is a copy."""
    inside = tokens[opener + 1:pairs[opener]]
    depth, first = 0, True
    for index, token in enumerate(inside):
        if token.text in "([{":
            depth += 1
        elif token.text in ")]}":
            depth -= 1
        elif depth == 0 and token.text == ",":
            first = True
            continue
        if first:
            first = False
            if token.text == "&" or token.text == "this" or token.text == "...":
                continue
            return True
    return False


def after_template(words, at):
    """The index after the <...> that begins at this index, or None if it is no list of
    arguments."""
    depth = 0
    for i in range(at, min(len(words), at + 60)):
        if words[i] == "<":
            depth += 1
        elif words[i] == ">":
            depth -= 1
            if depth == 0:
                return i + 1
        elif words[i] in (";", "{", "}", "&&", "||"):
            return None
    return None


def is_name(word):
    return (word[0].isalpha() or word[0] == "_") and word not in NO_TYPE


def declares(words):
    """Whether the tokens of a statement (their texts) begin with the declaration of a variable."""
    if not words or not is_name(words[0]):
        return False
    if words[0] == "using":
        return "=" in words
    # A type is names, `::` and lists of arguments, then & and *; the variable's name follows.
    i, names = 0, 0
    while i < len(words):
        if is_name(words[i]):
            names += 1
            i += 1
            if i < len(words) and words[i] == "::":
                names -= 1
                i += 1
            elif i < len(words) and words[i] == "<":
                after = after_template(words, i)
                if after is None:
                    return False
                i = after
                if i < len(words) and words[i] == "::":
                    names -= 1
                    i += 1
        elif words[i] in ("*", "&", "&&") and names:
            i += 1
        else:
            break
    following = words[i] if i < len(words) else ";"
    if following == "[" and words[0] in ("auto", "const"):
        return True      # a structured binding
    return names >= 2 and following in ("=", "{", "(", ";", "[", ",", ":")


class Scan:
    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.pairs = matching(self.tokens)
        self.found = []          # (line, message)
        self.conditions = []     # (line, block)

    def run(self):
        self.walk(0, len(self.tokens), None)
        for line, block in self.conditions:
            if not self.is_declared(block):
                self.found.append((line, "condition: a co_await in a condition, and no enclosing block declares "
                                         "a variable: put its result into a variable first"))
        return sorted(set(self.found))

    @staticmethod
    def is_declared(block):
        while block is not None:
            if block.declares:
                return True
            if block.kind in BODY:
                return False
            block = block.outer
        return False

    def walk(self, begin, end, block):
        """Scans the statements between these indexes, which belong to `block`."""
        i = start = begin
        while i < end:
            text = self.tokens[i].text
            if text in ("(", "[") and i in self.pairs:
                if text == "(" and i > 0:
                    self.control(i, block)
                if text == "(" and self.head_of_control(i):
                    self.statement(i + 1, self.pairs[i], block)
                    start = self.pairs[i] + 1
                i = self.pairs[i] + 1
                continue
            if text == "{" and i in self.pairs:
                kind = kind_of_brace(self.tokens, self.pairs, i, block)
                if kind == "braces":
                    i = self.pairs[i] + 1
                    continue
                if kind in BODY and block is not None and block.kind != "scope":
                    i = self.pairs[i] + 1      # a lambda: `statement` looks inside
                    continue
                self.statement(start, i, block)
                inner = Block(kind, block)
                self.walk(i + 1, self.pairs[i], inner)
                i = self.pairs[i] + 1
                start = i
                continue
            if text == ";":
                self.statement(start, i, block)
                start = i + 1
            i += 1
        self.statement(start, end, block)

    def head_of_control(self, opener):
        ahead = self.tokens[opener - 1].text
        return ahead in CONTROL or (ahead == "constexpr" and self.tokens[opener - 2].text == "if")

    def control(self, opener, block):
        """Handles a condition: records a co_await in it, and a declaration in front of it."""
        if block is None or block.kind == "scope" or not self.head_of_control(opener):
            return
        inside = list(range(opener + 1, self.pairs[opener]))
        words = [self.tokens[i].text for i in inside]
        if declares(words):      # if (T x = ...; x), for (T x = ...; ...)
            block.declares = True
            return
        line = self.first_await(opener + 1, self.pairs[opener])
        if line is not None and self.tokens[opener - 1].text != "catch":
            self.conditions.append((line, block))

    def first_await(self, begin, end):
        """The line of the first co_await that is not in a lambda inside, or None."""
        i = begin
        while i < end:
            if self.tokens[i].text == "{" and i in self.pairs and \
                    kind_of_brace(self.tokens, self.pairs, i, None) in BODY:
                i = self.pairs[i]
            elif self.tokens[i].text == "co_await" and self.tokens[i - 1].text != "operator":
                return self.tokens[i].line
            i += 1
        return None

    def members(self, opener):
        """The names in {.name = ..., .name = ...}."""
        inside = range(opener + 1, self.pairs[opener])
        return {self.tokens[i + 1].text for i in inside
                if self.tokens[i].text == "." and self.tokens[i - 1].text in ("{", ",")}

    def statement(self, begin, end, block):
        """One statement, or the head of a control: what it declares, its lambdas, its
        temporaries."""
        if begin >= end:
            return
        if block is not None and declares([self.tokens[i].text for i in range(begin, end)]):
            block.declares = True
        awaits = self.first_await(begin, end) is not None and (block is None or block.kind != "scope")
        i = begin
        while i < end:
            text = self.tokens[i].text
            if text == "[" and is_lambda(self.tokens, self.pairs, i):
                if awaits and captures_by_copy(self.tokens, self.pairs, i):
                    self.found.append((self.tokens[i].line, "closure: a lambda that captures by copy in the "
                                       "expression of a co_await: put it into a variable first"))
                i = self.pairs[i]
            elif text == "{" and i in self.pairs:
                if kind_of_brace(self.tokens, self.pairs, i, None) in BODY:
                    self.walk(i + 1, self.pairs[i], Block("lambda", None))
                    i = self.pairs[i]
                elif awaits and self.members(i) - TRIVIAL_MEMBERS:
                    self.found.append((self.tokens[i].line, "aggregate: {.member = ...} in the expression of a "
                                       "co_await: put it into a variable first"))
            i += 1


def scan(text):
    """[(line, message)] of a file's text, without the places marked as trivial."""
    lines = text.splitlines()

    def marked(line):
        return any(MARK.search(lines[at]) for at in (line - 1, line - 2) if 0 <= at < len(lines))
    if "co_await" not in text:
        return []
    return [(line, message) for line, message in Scan(text).run() if not marked(line)]


def files(paths):
    for path in paths:
        if path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file())
        else:
            yield path


def main(arguments):
    if any(each in ("-h", "--help") for each in arguments):
        print(__doc__)
        return 0
    paths = [pathlib.Path(each) for each in arguments] or \
        [pathlib.Path(each) for each in FOLDERS if pathlib.Path(each).is_dir()]
    count = 0
    for path in files(paths):
        for line, message in scan(path.read_text(encoding="utf-8", errors="replace")):
            print(f"{path}:{line}: {message}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
