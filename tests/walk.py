"""The files that a reward passes from the index to the page, counted: `python -m tests.walk`.

Counted are the modules of the package whose functions hold the row, as a `SampleItem`, as what a database returned, or
as a part of a record or a list, while one page of a list is answered; and the modules of the browser app that name the
type of the row.
"""

import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pyarrow as pa
from msgspec import Struct

from rolloupe.query import SampleItem
from tests.server.support import get, opened, relax_run, run_path, served

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "rolloupe"
PAGE = ROOT / "web" / "src"
DEPTH = 4
"""Levels of records and lists within a value that are searched for a row."""


PLAIN = (str, bytes, bytearray, int, float, complex, type(None), type, FunctionType, ModuleType)
"""What contains nothing."""


def holds_row(values: Iterable[Any], depth: int = DEPTH) -> bool:
    """Return whether one of some values is a row of the list, or contains one; looks at each value once."""
    seen: set[int] = set()
    level = [*values]
    while level and depth >= 0:
        depth -= 1
        below: list[Any] = []
        for value in level:
            if isinstance(value, SampleItem):
                return True
            if isinstance(value, PLAIN) or id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, pa.Table | pa.RecordBatch):
                if "reward" in value.schema.names:
                    return True
            else:
                below += parts_of(value)
        level = below
    return False


def parts_of(value: Any) -> Iterator[Any]:
    """Yield what a record contains, and the first items of a collection."""
    if isinstance(value, Struct):
        yield from (getattr(value, name, None) for name in value.__struct_fields__)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from (getattr(value, field.name, None) for field in fields(value))
    elif isinstance(value, (list, tuple)):
        yield from value[:3]
    elif isinstance(value, dict):
        yield from list(value.values())[:20]


def files_of_request(folder: Path) -> list[str]:
    """Return the modules of the package that hold a row while a page of a list is answered, sorted. Writes a run."""
    files: set[str] = set()

    def left(frame: FrameType, event: str, returned: Any) -> None:
        name = frame.f_code.co_filename
        if event != "return" or name in files or not name.startswith(str(SOURCES)):
            return
        if holds_row((returned, *frame.f_locals.values())):
            files.add(name)

    with opened(relax_run(folder), folder / "index") as library:
        threading.setprofile(left)  # before the threads start that answer
        app = served(library)
        address = f"{run_path(app)}/samples?split=train&step=2"
        files.clear()
        sys.setprofile(left)
        try:
            answer = get(app, address)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    assert answer.json["samples"]
    return sorted(str(Path(name).relative_to(SOURCES)) for name in files)


def files_of_page() -> list[str]:
    """Return the modules of the browser app that name the type of the row, sorted."""
    modules = [path for end in ("*.ts", "*.tsx") for path in PAGE.rglob(end)]
    own = [path for path in modules if ".test." not in path.name and path.parent.name != "testing"]
    return sorted(str(path.relative_to(PAGE)) for path in own if "SampleItem" in path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        of_request = files_of_request(Path(scratch))
    counted = [f"src/rolloupe/{file}" for file in of_request] + [f"web/src/{file}" for file in files_of_page()]
    print("\n".join([*counted, f"{len(counted)} files"]))
