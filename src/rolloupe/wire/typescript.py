"""The TypeScript types of the page, generated from the records of `wire`, `SampleItem`, and the table of columns.

python -m rolloupe.wire.typescript                     print them
python -m rolloupe.wire.typescript --write FILE        write them to FILE
python -m rolloupe.wire.typescript --check FILE        exit with 1 if FILE differs
"""

import ast
import inspect
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from msgspec import Struct
from msgspec import inspect as types

from rolloupe import wire
from rolloupe.columns import COLUMNS
from rolloupe.query import records
from rolloupe.query.records import SampleItem

HEAD = """// Generated from src/rolloupe/wire: `python -m rolloupe.wire.typescript`. Do not edit.
"""

NUMBER = frozenset([types.FloatType, types.IntType, types.StrType, types.NoneType])
"""What `wire.Number` is made of: an alias leaves no other trace in an annotation."""

WORDS: dict[type[types.Type], str] = {
    types.FloatType: "number",
    types.IntType: "number",
    types.StrType: "string",
    types.BoolType: "boolean",
    types.NoneType: "null",
    types.AnyType: "unknown",
}


def generate() -> str:
    """Return all types, as the text of one module."""
    docs = documented()
    parts = [HEAD, f"{comment(docs['Number'])}export type WireNumber = number | string | null;\n"]
    for name, struct in structs():
        parts.append(f"{comment(docs[name])}export interface {name} {{\n{''.join(fields(struct, docs))}}}\n")
    return "\n".join([*parts, column_table()])


def column_table() -> str:
    """Return the columns with a label."""
    columns = [
        {"name": one.name, "label": one.label, "short": one.short, "unit": one.unit} for one in COLUMNS if one.label
    ]
    lines = [f"  {json.dumps(one, ensure_ascii=False)}," for one in columns]
    doc = comment("The columns that every sample has: see src/rolloupe/columns.py.")
    return "\n".join([f"{doc}export const COLUMNS = [", *lines, "] as const;\n"])


def structs() -> list[tuple[str, types.StructType]]:
    """Return all records, in the order in which `wire` and its modules name them."""
    views = [member for part in wire.PARTS for member in vars(part).values() if _is_record_of(part, member)]
    found = [types.type_info(one) for one in (SampleItem, *views)]
    return [(one.cls.__name__, one) for one in found if isinstance(one, types.StructType)]


def _is_record_of(part: ModuleType, member: object) -> bool:
    return isinstance(member, type) and issubclass(member, Struct) and member.__module__ == part.__name__


def fields(struct: types.StructType, docs: dict[str, str]) -> Iterator[str]:
    """The lines of an interface's fields."""
    for field in struct.fields:
        doc = docs.get(f"{struct.cls.__name__}.{field.name}", "")
        mark = "?" if struct.cls.__struct_config__.omit_defaults and not field.required else ""
        kind = "WireNumber" if struct.cls is SampleItem and _is_optional_number(field.type) else word(field.type)
        yield f"{comment(doc, '  ')}  {field.encode_name}{mark}: {kind};\n"


def _is_optional_number(kind: types.Type) -> bool:
    if not isinstance(kind, types.UnionType):
        return False
    members = {*map(type, kind.types)}
    return members in ({types.FloatType, types.NoneType}, {types.IntType, types.NoneType})


def word(kind: types.Type) -> str:
    """Return a type in TypeScript. Raises `TypeError` for one that JSON cannot represent."""
    if isinstance(kind, types.StructType):
        return kind.cls.__name__
    if isinstance(kind, types.ListType):
        item = word(kind.item_type)
        return f"({item})[]" if "|" in item else f"{item}[]"
    if isinstance(kind, types.TupleType):
        return f"[{', '.join(map(word, kind.item_types))}]"
    if isinstance(kind, types.DictType):
        return f"Record<string, {word(kind.value_type)}>"
    if isinstance(kind, types.UnionType):
        members = [type(member) for member in kind.types]
        return "WireNumber" if frozenset(members) == NUMBER else " | ".join(dict.fromkeys(map(word, kind.types)))
    if isinstance(kind, types.LiteralType):
        return " | ".join(f'"{value}"' for value in kind.values)
    if type(kind) not in WORDS:
        raise TypeError(f"{kind} has no word in TypeScript")
    return WORDS[type(kind)]


def documented() -> dict[str, str]:
    """Return the docstrings of `wire` by name: of records, of fields (`Record.field`), of aliases."""
    docs: dict[str, str] = {}
    for part in (records, *wire.PARTS):
        module = ast.parse(inspect.getsource(part))
        for node in module.body:
            if isinstance(node, ast.ClassDef):
                docs[node.name] = ast.get_docstring(node) or ""
                docs.update({f"{node.name}.{name}": doc for name, doc in _following(node.body)})
        docs.update(_following(module.body))
    return docs


def _following(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield annotated names that a docstring directly follows."""
    for before, after in itertools.pairwise(body):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            yield before.target.id, inspect.cleandoc(after.value.value)


def comment(doc: str, indent: str = "") -> str:
    """Return a documentation comment, or an empty text."""
    lines = doc.replace("*/", "* /").splitlines()
    if not lines:
        return ""
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines) + f"{indent} */\n"


def main(arguments: list[str]) -> int:
    """Print, write or check the types."""
    if not arguments:
        sys.stdout.write(generate())
        return 0
    if len(arguments) != 2 or arguments[0] not in ("--write", "--check"):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    file = Path(arguments[1])
    if arguments[0] == "--write":
        file.write_text(generate(), encoding="utf-8")
    elif not file.is_file() or file.read_text(encoding="utf-8") != generate():
        sys.stderr.write(f"{file} differs from wire. Next: python -m rolloupe.wire.typescript --write {file}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
