"""Figures of the house, counted: `python -m tools.house_figures [--list]`."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from rolloupe.garbage import gc_paused

SOURCES = Path(__file__).parents[1] / "src" / "rolloupe"
TESTS = Path(__file__).parents[1] / "tests"
MOST_LINES = 3
"""Lines of a function that are not its docstring: shorter ones that are named once are looked at."""

OFFERING = {
    f"rolloupe.{name}"
    for name in (
        "api", "derive", "export", "formats", "index", "insight", "insight.findings", "insight.lint", "insight.rescore",
        "insight.reward_components", "query", "query.search", "storage", "tokenizer",
    )
}  # fmt: skip
"""The packages that offer what they import."""

STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What contains statements, such as imports, or is one."""


@cache
def modules() -> dict[Path, ast.Module]:
    """Return the modules of the package, parsed."""
    with gc_paused():  # its passes over so many objects take four times as long as all else
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCES.rglob("*.py"))}


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """Return every node of a module."""
    return list(ast.walk(tree))


def records(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the classes of a module with annotated fields, each with the names of these."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            fields = tuple(
                sorted(
                    part.target.id
                    for part in node.body
                    if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
                )
            )
            if len(fields) > 1:
                yield node.name, fields


def twins(parsed: dict[Path, ast.Module]) -> list[str]:
    """Return the records of `wire/` that have exactly the fields of another record."""
    by_fields: dict[tuple[str, ...], list[str]] = {}
    for path, tree in parsed.items():
        for name, fields in records(tree):
            by_fields.setdefault(fields, []).append(f"{path.relative_to(SOURCES)}:{name}")
    return [name for names in by_fields.values() if len(names) > 1 for name in names if name.startswith("wire/")]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions and methods of a module."""
    return (node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def tiny_private_functions(parsed: dict[Path, ast.Module]) -> list[str]:
    """Return the private functions of at most `MOST_LINES` lines that their module names once."""
    found = []
    for path, tree in parsed.items():
        text = path.read_text(encoding="utf-8")
        for function in functions(tree):
            body = function.body[1:] if ast.get_docstring(function) else function.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body and body[-1].end_lineno else 0
            is_private = function.name.startswith("_") and not function.name.startswith("__")
            if is_private and lines <= MOST_LINES and text.count(function.name) == 2:
                found.append(f"{path.relative_to(SOURCES)}:{function.name}")
    return found


def bound_twice(parsed: dict[Path, ast.Module]) -> list[str]:
    """Return the names that a module binds twice at its top: the second hides the first."""
    found = []
    for path, tree in parsed.items():
        names = Counter[str]()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names[node.name] += not node.decorator_list  # of several overloads, the last has none
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                parts = (part for target in targets for part in ast.walk(target))
                names.update(
                    part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
                )
        found += [f"{path.relative_to(SOURCES)}:{name}" for name, times in names.items() if times > 1]
    return found


def borrowed(parsed: dict[Path, ast.Module]) -> list[str]:
    """Return the names that a module takes from another that only imports them, and does not offer them."""
    modules = _by_name(parsed)
    own = {name: _own_names(tree, modules) for name, tree in modules.items()}
    found = []
    for name, tree in modules.items():
        aliases: dict[str, str] = {}
        taken: list[tuple[str, str]] = []
        for node in nodes(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                taken += [(node.module, alias.name) for alias in node.names if alias.name != "*"]
                aliases |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                aliases |= {alias.asname: alias.name for alias in node.names if alias.asname}
        others = {alias: module for alias, module in aliases.items() if module in modules and alias not in own[name]}
        for node in nodes(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in others:
                taken.append((others[node.value.id], node.attr))
        found += [
            f"{name}: {module}.{taken_name}"
            for module, taken_name in taken
            if module in modules.keys() - OFFERING
            and taken_name not in own[module]
            and f"{module}.{taken_name}" not in modules
        ]
    return found


def _own_names(tree: ast.Module, modules: dict[str, ast.Module]) -> set[str]:
    """Return the names that a module binds by itself, also as a parameter, or offers by `__all__` or a star."""
    names = {"__doc__", "__file__", "__name__", "__path__"}
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and node.module in modules:
            names |= _own_names(modules[node.module], modules)
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names |= {str(part.value) for part in ast.walk(node.value) if isinstance(part, ast.Constant)}
    return names


def _by_name(parsed: dict[Path, ast.Module]) -> dict[str, ast.Module]:
    names = {path: ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts) for path in parsed}
    return {name.removesuffix(".__init__"): parsed[path] for path, name in names.items()}


def circles(parsed: dict[Path, ast.Module]) -> list[list[str]]:
    """Return the modules that import each other, also by imports within functions; not those for types alone."""
    modules = _by_name(parsed)
    graph = {name: {*_imported(tree, modules)} - {name} for name, tree in modules.items()}
    while leaves := {name for name, others in graph.items() if not others}:
        graph = {name: others - leaves for name, others in graph.items() if name not in leaves}
    while roots := graph.keys() - {other for others in graph.values() for other in others}:
        graph = {name: others for name, others in graph.items() if name not in roots}
    return [[name, *sorted(others)] for name, others in graph.items()]


def _imported(tree: ast.Module, modules: Collection[str]) -> Iterator[str]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in {getattr(part, "id", "") for part in ast.walk(node.test)}:
            waiting += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield from (name for name in (full if full in modules else node.module,) if name in modules)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        waiting += (child for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS))


def private_names(tree: ast.Module) -> set[str]:
    """Return the private names that a module gives to functions, classes, variables and attributes."""
    names = set()
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return {name for name in names if name.startswith("_") and not name.endswith("_")}


def reads_of_private_names(test: ast.Module, private: set[str]) -> list[str]:
    """Return the private names of the package that a test imports, reads or replaces, each with its line."""
    reads = []
    private = private - private_names(test) - {"_replace", "_callbacks"}  # of named tuples, documented, and of Textual
    for node in nodes(test):
        names = list[str]()
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Call) and "setattr" in (getattr(node.func, "attr", ""), getattr(node.func, "id", "")):
            names = [str(given.value).rpartition(".")[2] for given in node.args if isinstance(given, ast.Constant)]
        reads += [f"{getattr(node, 'lineno', 0)} {name}" for name in names if name in private]
    return reads


def tests_with_private_names(parsed: dict[Path, ast.Module]) -> list[str]:
    """Return where tests reach for private names of the package."""
    private = {name for tree in parsed.values() for name in private_names(tree)}
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("*.py"))}
    with gc_paused():
        return [
            f"{path.relative_to(TESTS)}:{read}"
            for path, text in texts.items()
            if not private.isdisjoint(re.findall(r"\b_\w+", text))
            for read in reads_of_private_names(ast.parse(text), private)
        ]


def main(arguments: list[str]) -> None:
    """Print the figures; with `--list`, what they count."""
    parsed = modules()
    lengths = sorted(
        (function.end_lineno or function.lineno) - function.lineno + 1
        for tree in parsed.values()
        for function in functions(tree)
    )
    wide = [
        f"{path.relative_to(SOURCES)}:{function.name}"
        for path, tree in parsed.items()
        for function in functions(tree)
        if len([one for one in function.args.args if one.arg not in ("self", "cls")] + function.args.kwonlyargs) > 6
    ]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in parsed)
    lists = {
        "twins in wire": twins(parsed),
        "tiny private functions": tiny_private_functions(parsed),
        "wide": wide,
        "private names in tests": tests_with_private_names(parsed),
    }
    print(f"{lines:,} lines in {len(parsed)} modules; p99 of functions: {lengths[len(lengths) * 99 // 100]} lines")
    for name, counted in lists.items():
        print(f"{len(counted)} {name}", *(counted if "--list" in arguments else ()), sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
