"""Figures of the house, counted: `python -m tools.house_figures [--list]`."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "rolloupe"
MOST_LINES = 3
"""Lines of a function that are not its docstring: shorter ones that are named once are looked at."""


def modules() -> dict[Path, ast.Module]:
    """Return the modules of the package, parsed."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCES.rglob("*.py"))}


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
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


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
    lists = {"twins in wire": twins(parsed), "tiny private functions": tiny_private_functions(parsed), "wide": wide}
    print(f"{lines:,} lines in {len(parsed)} modules; p99 of functions: {lengths[len(lengths) * 99 // 100]} lines")
    for name, counted in lists.items():
        print(f"{len(counted)} {name}", *(counted if "--list" in arguments else ()), sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
