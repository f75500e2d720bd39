#!/usr/bin/env python3
"""Checks every #include against the layers of tools/layers.toml.

- In include/ and src/ a module includes only what its row allows, and no third-party header but
  those that the table has for its source files; headers of the operating system are for the modules
  that the table names.
- A module with folders of its own has a row for each; its sources may see more than its headers.
- A public header is included as <fairlead/module/file.hpp>, a private one, which only src/ may
  include, as "module/file.hpp". Only include/fairlead/fairlead.hpp includes all modules.
- examples/ and apps/ see public headers only, bench/ the internal ones of fairlead/detail/, too.
  tests/ may include anything, and the tests of apps/ what is in tests/.
- Neither the table nor the files include each other in a circle.
"""

import fnmatch
import pathlib
import re
import sys
import tomllib

import tree

STANDARD = set("""
algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts
condition_variable coroutine deque exception execution expected filesystem flat_map flat_set format
forward_list fstream functional future generator initializer_list iomanip ios iosfwd iostream
istream iterator latch limits list locale map mdspan memory memory_resource mutex new numbers
numeric optional ostream print queue random ranges ratio regex scoped_allocator semaphore set
shared_mutex source_location span spanstream sstream stack stacktrace stdexcept stdfloat stop_token
streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex
typeinfo unordered_map unordered_set utility valarray variant vector version
cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef
cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype
""".split())

UMBRELLA = pathlib.Path("include/fairlead/fairlead.hpp")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def includes(root, path):
    """Yields (line, "<" or '"', name) for each #include of a file."""
    code = tree.read_code(root, path, keep_strings=True)
    for match in INCLUDE.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def table_circle(modules):
    """The modules of one circle in the table, or None."""
    names = {module: [entry for entry in row if "/" not in entry]
             for module, row in modules.items()}
    return find_circle(names)


def find_circle(graph):
    """One circle of a graph {node: [node]}, as a list that begins and ends with the same node."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for following in graph.get(node, ()):
            circle = visit(following)
            if circle:
                return circle
        done.add(path.pop())
        return None

    for node in sorted(graph):
        circle = visit(node)
        if circle:
            return circle
    return None


def reachable(rows, begin):
    """The given names, and what their rows lead to."""
    result, todo = set(), list(begin)
    while todo:
        entry = todo.pop()
        if entry not in result:
            result.add(entry)
            todo += rows.get(entry, [])
    return result


class Layers:
    """The table, with each row extended by what its entries may include."""

    def __init__(self, table):
        self.modules = table["modules"]
        self.system = table["system"]
        self.forbidden = table["forbidden"]
        self.folders = table.get("folders", {})
        self.sources_of_folders = table.get("sources_of_folders", {})
        self.third_party = table.get("third_party", {})

    def allowed(self, module):
        """Names of modules and of single headers that a module may include, with its own."""
        return reachable(self.modules, [module])

    def allowed_folders(self, module, folder, in_source):
        """Folders of the module that files of this one may include, with their own."""
        begin = [folder]
        if in_source:
            begin += self.sources_of_folders.get(module, {}).get(folder, [])
        return reachable(self.folders[module], begin)

    def may_include(self, module, target):
        """target: "module/file.hpp"."""
        allowed = self.allowed(module)
        return target.split("/")[0] in allowed or target in allowed

    def is_third_party(self, module, name):
        """Whether the source files of the module may include this header of another project."""
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.third_party.get(module, []))

    def is_system(self, name):
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.system["headers"])


def check_module_include(root, layers, path, bracket, name):
    """What is wrong with one #include of include/ or src/: a message, or None."""
    module = tree.module_of(path)
    if bracket == '"':
        if path.parts[0] == "include":
            return f'"{name}": a public header includes public headers, as <fairlead/module/file.hpp>'
        if name.startswith("fairlead/"):
            return f'"{name}": include a public header as <{name}>'
        if "/" not in name or ".." in name or not (root / "src" / name).is_file():
            return f'"{name}": include a private header as "module/file.hpp", seen from src/'
        target = name
        message = check_folder_include(layers, path, name)
        if message:
            return message
    elif name.startswith("fairlead/"):
        if not (root / "include" / name).is_file():
            return f"<{name}>: no such public header"
        target = name.removeprefix("fairlead/").removeprefix("detail/")
        if path == UMBRELLA:
            return None
        if target == UMBRELLA.name:
            return f"<{name}>: is for users; include what is needed"
    else:
        return check_foreign_include(layers, path, module, name)
    if "/" in target and not layers.may_include(module, target):
        return f"<{name}>: the module {module or 'of no name'} may not include {target.split('/')[0]}"
    return None


def folder_of(path):
    """The folder of a file of src/ below its module, or None: src/<module>/<folder>/..."""
    return path.parts[2] if path.parts[0] == "src" and len(path.parts) > 3 else None


def check_folder_include(layers, path, name):
    """What is wrong with an #include between the folders of one module: a message, or None."""
    module = tree.module_of(path)
    target = pathlib.PurePosixPath("src", name)
    if module not in layers.folders or target.parts[1] != module:
        return None
    own, other = folder_of(path), folder_of(target)
    if own not in layers.folders[module]:
        return f"the folder {own or 'of no name'} of the module {module} has no row in tools/layers.toml"
    if other in layers.allowed_folders(module, own, path.suffix == ".cpp"):
        return None
    kind = "sources" if path.suffix == ".cpp" else "headers"
    return f'"{name}": the {kind} of {module}/{own} may not include {other}'


def check_foreign_include(layers, path, module, name):
    """The same for a header of another project or of the system."""
    if name in STANDARD:
        if name in layers.forbidden.get(module, []):
            return f"<{name}>: the module {module} must not include it"
        return None
    if layers.is_system(name):
        if module in layers.system["modules"]:
            return None
        allowed = ", ".join(layers.system["modules"])
        return f"<{name}>: a header of the operating system, only for the modules {allowed}"
    if path.parts[0] == "src" and layers.is_third_party(module, name):
        return None
    return f"<{name}>: a third-party header: the module {module} includes none here"


def check_consumer_include(root, path, bracket, name):
    """What is wrong with one #include of examples/, apps/ or bench/: a message, or None."""
    if name.startswith("fairlead/"):
        if bracket == '"':
            return f'"{name}": include a public header as <{name}>'
        if name.startswith("fairlead/detail/") and path.parts[0] != "bench":
            return f"<{name}>: is internal; bench/ and tests/ alone may include it"
        return None if (root / "include" / name).is_file() else f"<{name}>: no such public header"
    folder = root / path.parent
    own = root / path.parts[0]
    while bracket == '"' and folder != root:
        found = (folder / name).resolve()
        if found.is_file() and found.is_relative_to(own.resolve()):
            return None
        folder = folder.parent
    if "tests" in path.parts and (root / "tests" / name).is_file():
        return None
    private = ((root / "src" / name).is_file() or (root / "tests" / name).is_file()
               or (root / path.parent / name).is_file())
    return f"{name}: {path.parts[0]}/ may include public headers only" if private else None


def file_graph(root):
    """{file: [file]} of the includes between the files of include/ and src/."""
    graph = {}
    for path in tree.code_files(root, ("include", "src")):
        targets = []
        for _, bracket, name in includes(root, path):
            target = pathlib.Path("include" if bracket == "<" else "src") / name
            if (root / target).is_file():
                targets.append(target)
        graph[path] = targets
    return graph


def check(root):
    table_path = root / "tools" / "layers.toml"
    layers = Layers(tomllib.loads(table_path.read_text(encoding="utf-8")))
    messages = []
    circle = table_circle(layers.modules)
    if circle:
        messages.append(f"tools/layers.toml:1: a circle of modules: {' -> '.join(circle)}")

    for module, rows in layers.folders.items():
        circle = find_circle(rows)
        if circle:
            messages.append(f"tools/layers.toml:1: a circle of folders in {module}: {' -> '.join(circle)}")

    for path in tree.code_files(root, ("include", "src")):
        module = tree.module_of(path)
        if module and module not in layers.modules:
            messages.append(f"{path}:1: the module {module} has no row in tools/layers.toml")
            continue
        for line, bracket, name in includes(root, path):
            message = check_module_include(root, layers, path, bracket, name)
            if message:
                messages.append(f"{path}:{line}: {message}")

    for path in tree.code_files(root, ("examples", "apps", "bench")):
        for line, bracket, name in includes(root, path):
            message = check_consumer_include(root, path, bracket, name)
            if message:
                messages.append(f"{path}:{line}: {message}")

    circle = find_circle(file_graph(root))
    if circle:
        messages.append(f"{circle[0]}:1: a circle of includes: {' -> '.join(map(str, circle))}")
    return messages


if __name__ == "__main__":
    sys.exit(tree.main_for_check(__doc__.splitlines()[0], check))
