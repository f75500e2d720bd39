"""Finds the comments of a file, in each language of this repository.

`SYNTAXES` has a row for each language: its comments and the literals that can contain a mark of a
comment. `language_of(path)` finds the row by the name of the file.
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Syntax:
    """Regular expressions. Each expression of comments has a group `text` or `text_N`: the comment
    without its marks."""
    comments: tuple[str, ...]
    literals: tuple[str, ...]


_DOUBLE_QUOTED = r'"(?:\\.|[^"\\\n])*"'
_SINGLE_QUOTED = r"'(?:\\.|[^'\\\n])*'"
_VERBATIM = r"'[^'\n]*'"
# A quote between digits is a digit separator, so a character literal never follows a word
# character.
_CHARACTER = r"(?<!\w)(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'"
_RAW_STRING_OF_CPP = r'R"(?P<mark>[^\s()\\]{0,16})\((?s:.*?)\)(?P=mark)"'

_SLASHES = r"//+[!<]?(?P<text>[^\n]*)"
_SLASHES_AND_STARS = r"/\*(?P<text>(?s:.*?))\*/"
_HASH = r"\#+!?(?P<text>[^\n]*)"
# In these languages a # inside a word begins no comment.
_HASH_AFTER_SPACE = r"(?:(?<=\s)|(?<![\s\S]))" + _HASH

_HASHES = Syntax((_HASH_AFTER_SPACE,), (_DOUBLE_QUOTED, _VERBATIM))

# The keys are ends of file names, and whole names.
SYNTAXES = {
    (".cpp", ".hpp"): Syntax((_SLASHES, _SLASHES_AND_STARS), (_RAW_STRING_OF_CPP, _DOUBLE_QUOTED, _CHARACTER)),
    (".rs",): Syntax((_SLASHES, _SLASHES_AND_STARS), (r'"(?:\\.|[^"\\])*"', r"'(?:\\.|[^'\\\n])'")),
    (".go", "go.mod"): Syntax((_SLASHES, _SLASHES_AND_STARS), (_DOUBLE_QUOTED, _SINGLE_QUOTED, r"`[^`]*`")),
    # A string of three quotes that begins a line is a docstring.
    (".py",): Syntax((_HASH, r'^[ \t]*[rR]?"""(?P<text>(?s:.*?))"""'),
                     (r'"""(?s:.*?)"""', r"'''(?s:.*?)'''", _DOUBLE_QUOTED, _SINGLE_QUOTED)),
    (".cmake", ".cmake.in", "CMakeLists.txt"): Syntax(
        (r"\#\[(?P<equals>=*)\[(?P<text>(?s:.*?))\](?P=equals)\]", _HASH), (r'"(?:\\.|[^"\\])*"',)),
    (".erl",): Syntax((r"%+(?P<text>[^\n]*)",), (r"\$\\?.", r'"(?:\\.|[^"\\])*"', _SINGLE_QUOTED)),
    (".tla", ".cfg"): Syntax((r"\\\*(?P<text>[^\n]*)", r"\(\*(?P<text>(?s:.*?))\*\)"), (_DOUBLE_QUOTED,)),
    (".sh", "do", "run", "Containerfile"): Syntax(
        (_HASH_AFTER_SPACE,), (_DOUBLE_QUOTED, _VERBATIM, r"\\.")),
    (".toml",): Syntax((_HASH,), (r'"""(?s:.*?)"""', r"'''(?s:.*?)'''", _DOUBLE_QUOTED, _VERBATIM)),
    (".yml", ".yaml", ".clang-format", ".clang-tidy", ".clangd"): _HASHES,
    (".pc.in", ".editorconfig", ".gitignore", ".containerignore", "Doxyfile", "website.txt"): _HASHES,
    (".json",): Syntax((), ()),
}


def _compiled(syntax):
    """One expression for all of a language. Groups of the same name get numbers."""
    named = [expression.replace("(?P<text>", f"(?P<text_{number}>")
             for number, expression in enumerate(syntax.comments)]
    return re.compile("|".join((*named, *syntax.literals)), re.MULTILINE) if named else None


_COMPILED = {ending: _compiled(syntax) for endings, syntax in SYNTAXES.items() for ending in endings}


def language_of(path):
    """The key in `SYNTAXES` of the language of a file, or None."""
    name = path.name
    return next((ending for ending in _COMPILED
                 if name == ending or ending.startswith(".") and name.endswith(ending)), None)


def comments(language, text):
    """Yields (number of the line, its part of a comment)."""
    compiled = _COMPILED[language]
    for match in compiled.finditer(text) if compiled else ():
        for name, value in match.groupdict().items():
            if name.startswith("text_") and value is not None:
                first = text.count("\n", 0, match.start(name)) + 1
                yield from enumerate(value.split("\n"), start=first)
