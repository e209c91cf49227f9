"""Samples among the metrics of trackio: tables, and the traces of versions before 0.26.

The table of an evaluation follows the row with its metrics; the last table of TRL is logged twice.
"""

from collections.abc import Iterator
from typing import Any

import apsw

from rolloupe.formats.completions.reward_parts import RewardFunctions
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.trackers.curves import TRAINER_STEPS, parsed
from rolloupe.formats.reading.trackers.sqlite import bounded
from rolloupe.formats.trackers.completion_tables import samples_of_table
from rolloupe.formats.trackers.conversations import sample_of_trace
from rolloupe.formats.trackers.logged_samples import LoggedSample

MARK = b'"trackio.t'
"""What a row of metrics with a table or a trace has in it."""

TABLE, TRACE = "trackio.table", "trackio.trace"
OF_EVAL = "eval/"
EVAL = "eval/eval"

Sampled = tuple[str, LoggedSample | str, Any]
"""The part of a row that is a sample, the sample or why it cannot be read, and what the row holds of it."""


def samples_in(
    metrics: bytes | None,
    step: int | None,
    split: str = "",
    functions: RewardFunctions | None = None,
    before: bytes | None = None,
) -> Iterator[Sampled]:
    """Yield the samples in a row of metrics; those of a table that the row `before` has as well are left out."""
    found, earlier = _object(metrics), _object(before)
    own = next((number for name in TRAINER_STEPS if (number := fields.integer(found.get(name))) is not None), step)
    for key, value in found.items():
        if _type(value) == TABLE and value != earlier.get(key):
            rows = value.get("_value") if isinstance(value.get("_value"), list) else []
            logged = samples_of_table(key, rows, own, split, functions)
            for n, (one, row) in enumerate(zip(logged, _spread(rows, logged), strict=True)):
                yield f"{key}.{n}", one, row
        listed = value if isinstance(value, list) else [value]
        for n, trace in enumerate(listed):
            if _type(trace) == TRACE:
                sample = sample_of_trace(key, trace.get("messages"), trace.get("metadata"), own)
                if sample is not None:
                    yield f"{key}.{n}", sample, trace


def _spread(rows: list[Any], logged: list[LoggedSample]) -> list[Any]:
    """The row of each sample: a wide one holds several."""
    each = max(1, len(logged) // max(1, len(rows)))
    return [rows[min(len(rows) - 1, n // each)] for n in range(len(logged))]


def is_of_eval(metrics: bytes | None) -> bool:
    """Tell whether a row has metrics of an evaluation."""
    return any(name.startswith(OF_EVAL) for name in _object(metrics))


def row_before(database: apsw.Connection, rows: tuple[str, bytes, int], number: int, *, marked: bool) -> bytes | None:
    """Return the metrics that a run logged before a row, of those with tables if `marked`.

    `rows` are the column of the run's id, the id, and the first row of the run.
    """
    key, one, first = rows
    fits = f"instr({bounded('metrics')}, ?)" if marked else "octet_length(metrics) > 2 OR ? IS NULL"
    before = (
        f"SELECT {bounded('metrics')} FROM metrics WHERE +{key} = CAST(? AS TEXT) AND rowid < ? AND rowid >= ? "  # noqa: S608 - names of ours
        f"AND ({fits}) ORDER BY rowid DESC LIMIT 1"
    )
    found = database.execute(before, (one, number, first, MARK)).fetchone()
    return found[0] if found else None


def _object(metrics: bytes | None) -> dict[str, Any]:
    found = parsed(metrics or b"")
    return found if isinstance(found, dict) else {}


def _type(value: object) -> object:
    return value.get("_type") if isinstance(value, dict) else None
