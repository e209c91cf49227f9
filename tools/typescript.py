"""The page's TypeScript: types of the records of `wire`, of questions and their answers; functions that ask them.

python -m tools.typescript                     print both files
python -m tools.typescript --write FOLDER      write types.gen.ts and routes.gen.ts to FOLDER
python -m tools.typescript --check FOLDER      exit with 1 if one of them differs
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

from rolloupe.insight.comparison import RewardComparison
from rolloupe.model import COLUMNS
from rolloupe.query import ConfigTable, Progress
from rolloupe.query.prompts import SharedPromptsReply
from rolloupe.query.records import SampleItem
from rolloupe.query.several_runs.configs import ConfigsReply
from rolloupe.questions import QUESTIONS
from rolloupe.wire import encoding, failures, runs, samples, session

HEAD = """// Generated from src/rolloupe: `python -m tools.typescript`. Do not edit.
"""

ROUTES = """import { get } from "./client";
import type { %s } from "./types.gen";

/** What a question leaves out, or leaves empty, has its default. */
export type Asked<T> = { [field in keyof T]: Exclude<T[field], null> | string };
"""

PARTS = (runs, samples, session, failures)
"""The modules of records, in the order of the page's types."""

WHOLE = (SampleItem, ConfigsReply, ConfigTable, SharedPromptsReply, Progress, RewardComparison)
"""Records of other floors that routes return unchanged."""

NUMBER = frozenset([types.FloatType, types.IntType, types.StrType, types.NoneType])
"""The members of `Number`: in an annotation, only they show the alias."""

SHOWN = ("name", "label", "short", "unit")
"""What the page knows of a column."""

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
    names = sorted({kind.__name__ for question in QUESTIONS.values() for kind in (question.query, question.record)})
    parts = [HEAD, ROUTES % ", ".join(names)]
    for question in QUESTIONS.values():
        asked, answer = f"Asked<{question.query.__name__}>", f"Promise<{question.record.__name__}>"
        name = "".join(map(str.capitalize, re.split("[-/]", question.name)))
        default = "" if any(field.required for field in structs_of.fields(question.query)) else " = {}"
        path = json.dumps(question.name.split("/"))[1:-1]
        parts.append(
            f"{comment(question.about)}export const ask{name} = (run: string, asked: {asked}{default}): {answer} =>\n"
            f'  get(["runs", run, {path}], asked);\n'
        )
    return "\n".join(parts)


def column_table() -> str:
    """Return the columns with a label."""
    lines = [
        f"  {json.dumps({name: getattr(column, name) for name in SHOWN}, ensure_ascii=False)},"
        for column in COLUMNS
        if column.label
    ]
    doc = comment("The columns that every sample has: see src/rolloupe/model.py.")
    return "\n".join([f"{doc}export const COLUMNS = [", *lines, "] as const;\n"])


def structs() -> list[tuple[str, types.StructType]]:
    """Return all records, in the order in which `wire` and its modules name them."""
    replies = [
        member
        for part in PARTS
        for member in vars(part).values()
        if isinstance(member, type) and issubclass(member, Struct) and member.__module__ == part.__name__
    ]
    declared = [kind for question in QUESTIONS.values() for kind in (question.query, question.record)]
    infos = map(types.type_info, records_in(*WHOLE, *replies, *declared))
    named = [(info.cls.__name__, info) for info in infos if isinstance(info, types.StructType)]
    twice = [name for name, count in Counter(name for name, _ in named).items() if count > 1]
    if twice:
        raise TypeError(f"several records are called {', '.join(twice)}, and the page has one name for each")
    return named


def records_in(*kinds: type) -> list[type]:
    """Return records, each before the records in its fields."""
    records: dict[type, None] = {}
    waiting = [*types.multi_type_info(kinds)]
    while waiting:
        kind = waiting.pop(0)
        parts = [*getattr(kind, "types", ()), *getattr(kind, "item_types", ())]
        parts += [getattr(kind, name, None) for name in ("item_type", "value_type", "type")]
        if isinstance(kind, types.StructType) and kind.cls not in records:
            records[kind.cls] = None
            parts = [field.type for field in kind.fields]
        waiting[:0] = [part for part in parts if isinstance(part, types.Type)]
    return list(records)


def fields(struct: types.StructType, docs: dict[str, str]) -> Iterator[str]:
    """Yield the fields of an interface; the server adds its run and version to each answer."""
    if any(struct.cls is question.record for question in QUESTIONS.values()):
        yield "  run: string;\n  version: string;\n"
    is_asked = any(struct.cls is question.query for question in QUESTIONS.values())
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
    """Return the docstrings of records by name: of each record, of its fields (`Record.field`), of aliases."""
    docs: dict[str, str] = {}
    modules = {kind.__module__ for _, struct in structs() for kind in struct.cls.__mro__ if issubclass(kind, Struct)}
    for name in sorted({encoding.__name__, *modules} - {Struct.__module__}):
        module = ast.parse(inspect.getsource(sys.modules[name]))
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
    match arguments:
        case []:
            sys.stdout.write("\n".join(files.values()))
        case ["--write", folder]:
            for name, text in files.items():
                Path(folder, name).write_text(text, encoding="utf-8")
        case ["--check", folder]:
            places = {Path(folder, name): text for name, text in files.items()}
            different = [p for p, text in places.items() if not p.is_file() or p.read_text(encoding="utf-8") != text]
            for place in different:
                sys.stderr.write(f"{place} differs. Next: python -m tools.typescript --write {folder}\n")
            return int(bool(different))
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
