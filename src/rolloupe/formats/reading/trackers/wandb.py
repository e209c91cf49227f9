"""Runs of Weights & Biases as its client keeps them: `run-{id}.wandb`, also offline.

Source: `wandb/proto/wandb_internal.proto`: history (2), configuration (5) and run (17) of a `Record`, whose values are
JSON. The client writes a block of 32 KiB at a time, so a small run appears when it ends.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rolloupe.formats.reading.trackers.curves import (
    TRAINER_STEPS,
    LoggedRow,
    LoggedRun,
    LoggedTable,
    flat,
    number_of,
    parsed,
)
from rolloupe.formats.reading.trackers.framed_log import FramedLog, FramedRun
from rolloupe.protobuf import fields

MAGIC = b":W&B\xe1\xbe\x00"
HISTORY, CONFIG, RUN = 2, 5, 17
ITEM, STEP = 1, 2
"""Fields of a history."""
KEY, NESTED_KEY, VALUE = 1, 2, 16
"""Fields of an item."""
RUN_ID, RUN_CONFIG, DISPLAY_NAME = 1, 4, 8
"""Fields of a run."""
MOST_FIELDS = 1_000_000
MOST_BEFORE = 16
"""Among how many calls before a table the last with numbers is looked for."""
OF_EVAL = "eval/"


class _WandbRun(FramedRun):
    magics = (MAGIC,)
    tracker = "Weights & Biases"

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[LoggedRow] = []
        self._tables: dict[str, LoggedTable] = {}
        self._config: dict[str, Any] = {}
        self._name = ""

    def add(self, record: bytes) -> None:
        for field, value in fields(record, MOST_FIELDS):
            if field == HISTORY and isinstance(value, bytes):
                items = dict(_items(value))
                self._tables.update(_tables(items, self._rows))
                self._rows.append(_row(items))
            elif field == CONFIG and isinstance(value, bytes):
                self._config.update(_items(value))
            elif field == RUN and isinstance(value, bytes):
                more, self._name = _run(value)
                self._config.update(more)

    def logged(self) -> LoggedRun:
        config = {key: value for key, value in self._config.items() if key != "_wandb"}
        return LoggedRun(self._name, [*self._rows], config, tables=dict(self._tables))


class WandbLog(FramedLog):
    """A log of the client, which is read on where it grows."""

    kind = _WandbRun


read_wandb = _WandbRun.whole


def _tables(items: dict[str, Any], rows: Sequence[LoggedRow]) -> Iterator[tuple[str, LoggedTable]]:
    """Yield the tables that were logged in a call, by the paths of their files; `rows` are those of earlier calls."""
    for name, kind in items.items():
        key = name.removesuffix("/_type")
        path = items.get(f"{key}/path")
        if name != key and isinstance(kind, str) and kind.endswith("table-file") and isinstance(path, str):
            steps = (items.get(step) for step in (*TRAINER_STEPS, "_step"))
            step = next((step for step in steps if isinstance(step, int)), None)
            earlier = next((row for row in reversed(rows[-MOST_BEFORE:]) if row.values), None)
            follows = earlier is not None and any(one.startswith(OF_EVAL) for one in earlier.values)
            yield path, LoggedTable(key, step, follows)


def _row(items: dict[str, Any]) -> LoggedRow:
    media = tuple(key.removesuffix("_type") for key in items if key.endswith("/_type"))  # members of a table, a picture
    values: dict[str, float] = {}
    for key, value in items.items():
        is_object = isinstance(value, dict) and "_type" in value
        if not (is_object or key.startswith(("_", *media))):
            values.update(flat(value, key))
    step = items.get("_step")
    return LoggedRow(step if isinstance(step, int) else None, values, number_of(items.get("_timestamp")))


def _run(run: bytes) -> tuple[dict[str, Any], str]:
    config: dict[str, Any] = {}
    names = {RUN_ID: "", DISPLAY_NAME: ""}
    for field, value in fields(run, MOST_FIELDS):
        if field == RUN_CONFIG and isinstance(value, bytes):
            config.update(_items(value))
        elif field in names and isinstance(value, bytes):
            names[field] = value.decode("utf-8", "replace")
    return config, names[DISPLAY_NAME] or names[RUN_ID]


def _items(message: bytes) -> Iterator[tuple[str, Any]]:
    """Yield names and values; names of several parts are joined with `/`."""
    for field, item in fields(message, MOST_FIELDS):
        if field != ITEM or not isinstance(item, bytes):
            continue
        parts, value = [], b"null"
        for place, text in fields(item, MOST_FIELDS):
            if place in (KEY, NESTED_KEY) and isinstance(text, bytes) and text:
                parts.append(text.decode("utf-8", "replace"))
            elif place == VALUE and isinstance(text, bytes):
                value = text
        yield "/".join(parts), parsed(value)
