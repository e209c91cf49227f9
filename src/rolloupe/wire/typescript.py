"""The page's TypeScript: types of the records of `wire`, of questions and their answers; functions that ask them.

python -m rolloupe.wire.typescript                     print both files
python -m rolloupe.wire.typescript --write FOLDER      write types.gen.ts and routes.gen.ts to FOLDER
python -m rolloupe.wire.typescript --check FOLDER      exit with 1 if one of them differs
"""

import ast
import inspect
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec import inspect as types
from msgspec import structs as structs_of

from rolloupe.columns import COLUMNS
from rolloupe.query import ConfigTable, Progress, records
from rolloupe.query.records import SampleItem
from rolloupe.questions import QUESTIONS
from rolloupe.wire import encoding, runs, samples, session

HEAD = """// Generated from src/rolloupe: `python -m rolloupe.wire.typescript`. Do not edit.
"""

ROUTES = """import { get } from "./client";
import type { %s } from "./types.gen";

/** What a question leaves out, or leaves empty, has its default. */
export type Asked<T> = { [field in keyof T]: Exclude<T[field], null> | string };
"""

PARTS = (runs, samples, session)
"""The modules of records, in the order of the page's types."""

WHOLE = (SampleItem, ConfigTable, Progress)
"""Records of queries that are answers of routes as they are."""

NUMBER = frozenset([types.FloatType, types.IntType, types.StrType, types.NoneType])
"""What `Number` is made of: an alias leaves no other trace in an annotation."""

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


def routes() -> str:
    """Return the functions that ask the declared questions, as the text of one module."""
    names = sorted({kind.__name__ for one in QUESTIONS.values() for kind in (one.query, one.record)})
    parts = [HEAD, ROUTES % ", ".join(names)]
    for one in QUESTIONS.values():
        asked, answer = f"Asked<{one.query.__name__}>", f"Promise<{one.record.__name__}>"
        about, name = comment(one.about), "".join(map(str.capitalize, re.split("[-/]", one.name)))
        default = "" if any(field.required for field in structs_of.fields(one.query)) else " = {}"
        path = json.dumps(one.name.split("/"))[1:-1]
        parts.append(
            f"{about}export const ask{name} = (run: string, asked: {asked}{default}): {answer} =>\n"
            f'  get(["runs", run, {path}], asked);\n'
        )
    return "\n".join(parts)


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
    views = [
        member
        for part in PARTS
        for member in vars(part).values()
        if isinstance(member, type) and issubclass(member, Struct) and member.__module__ == part.__name__
    ]
    declared = [kind for one in QUESTIONS.values() for kind in _records_in(one.query, one.record)]
    found = [types.type_info(one) for one in dict.fromkeys((*_records_in(*WHOLE, *views), *declared))]
    named = [(one.cls.__name__, one) for one in found if isinstance(one, types.StructType)]
    twice = [name for name, count in Counter(name for name, _ in named).items() if count > 1]
    if twice:
        raise TypeError(f"several records are called {', '.join(twice)}, and the page has one name for each")
    return named


def _records_in(*kinds: type) -> list[type]:
    """Return records, and those that their fields are made of."""
    records: dict[type, None] = {}
    for kind in types.multi_type_info(kinds):
        _collect(kind, records)
    return list(records)


def _collect(kind: types.Type, records: dict[type, None]) -> None:
    if isinstance(kind, types.StructType):
        if kind.cls in records:
            return
        records[kind.cls] = None
    members = getattr(kind, "types", ()) or getattr(kind, "item_types", ())
    inner = (getattr(kind, name, None) for name in ("item_type", "value_type", "type"))
    fields = (field.type for field in kind.fields) if isinstance(kind, types.StructType) else ()
    for part in (*members, *inner, *fields):
        if isinstance(part, types.Type):
            _collect(part, records)


def fields(struct: types.StructType, docs: dict[str, str]) -> Iterator[str]:
    """The lines of an interface's fields; the server adds to each answer the run and the version that it is about."""
    if any(struct.cls is one.record for one in QUESTIONS.values()):
        yield "  run: string;\n  version: string;\n"
    is_asked = any(struct.cls is one.query for one in QUESTIONS.values())
    for field in struct.fields:
        names = (f"{kind.__name__}.{field.name}" for kind in struct.cls.__mro__)
        described = field.type.extra_json_schema or {} if isinstance(field.type, types.Metadata) else {}
        doc = next((docs[name] for name in names if name in docs), "") or str(described.get("description", ""))
        may_lack = is_asked or struct.cls.__struct_config__.omit_defaults
        mark = "?" if may_lack and not field.required else ""
        members = {*map(type, field.type.types)} if isinstance(field.type, types.UnionType) else set()
        is_number = types.NoneType in members and members <= {types.FloatType, types.IntType, types.NoneType}
        kind = "WireNumber" if struct.cls is SampleItem and is_number else word(field.type)
        kind = f"{kind} | undefined" if is_asked and mark else kind
        yield f"{comment(doc, '  ')}  {field.encode_name}{mark}: {kind};\n"


def word(kind: types.Type) -> str:
    """Return a type in TypeScript. Raises `TypeError` for one that JSON cannot represent."""
    if isinstance(kind, types.Metadata):
        return "WireNumber" if _is_real(kind) else word(kind.type)
    if isinstance(kind, types.StructType):
        return kind.cls.__name__
    if isinstance(kind, types.ListType | types.VarTupleType):
        item = word(kind.item_type)
        return f"({item})[]" if "|" in item else f"{item}[]"
    if isinstance(kind, types.TupleType):
        return f"[{', '.join(map(word, kind.item_types))}]"
    if isinstance(kind, types.DictType):
        return f"Record<string, {word(kind.value_type)}>"
    if isinstance(kind, types.UnionType):
        if frozenset(map(type, kind.types)) == NUMBER or any(map(_is_real, kind.types)):
            return "WireNumber"
        return " | ".join(dict.fromkeys(map(word, kind.types)))
    if isinstance(kind, types.LiteralType):
        return " | ".join(f'"{value}"' for value in kind.values)
    if type(kind) not in WORDS:
        raise TypeError(f"{kind} has no word in TypeScript")
    return WORDS[type(kind)]


def _is_real(kind: types.Type) -> bool:
    return isinstance(kind, types.Metadata) and (kind.extra or {}).get("wire") == "number"


def documented() -> dict[str, str]:
    """Return the docstrings of `wire` by name: of records, of fields (`Record.field`), of aliases."""
    docs: dict[str, str] = {}
    modules = {sys.modules[cls.cls.__module__] for _, cls in structs()}
    for part in (records, encoding, *PARTS, *sorted(modules, key=lambda module: module.__name__)):
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
    """Print, write or check both files."""
    files = {"types.gen.ts": generate(), "routes.gen.ts": routes()}
    if not arguments:
        sys.stdout.write("\n".join(files.values()))
        return 0
    if len(arguments) != 2 or arguments[0] not in ("--write", "--check"):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    folder, different = Path(arguments[1]), False
    for name, text in files.items():
        file = folder / name
        if arguments[0] == "--write":
            file.write_text(text, encoding="utf-8")
        elif not file.is_file() or file.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"{file} differs. Next: python -m rolloupe.wire.typescript --write {folder}\n")
            different = True
    return int(different)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
