"""Samples by name: by their ids, or by their framework's names."""

from collections.abc import Sequence

import pyarrow as pa

from rolloupe.index import OpenRun, Piece, Snapshot
from rolloupe.model import SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import ATTEMPT_ORDER
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import PLACE
from rolloupe.query.records import SampleItem
from rolloupe.query.sample.load import current_ids
from rolloupe.query.samples.rows import items_of, list_rows

BATCH = 2000
"""Number of samples to look up at a time."""

MANY = 50_000
"""Maximum number if each takes little."""

BY_KEY = f"""
SELECT {", ".join(PLACE)} FROM rows
SEMI JOIN asked ON split = own_split AND step = own_step AND grp = own_group AND idx = own_index
"""
JOINED = "rows JOIN asked ON split = own_split AND step = own_step AND grp = own_group AND idx = own_index"
RESPONSES = f"SELECT nth, arg_max(response_preview, row({ATTEMPT_ORDER})) FROM {JOINED} GROUP BY nth"
ONLY_RESPONSES = f"SELECT nth, response_preview FROM {JOINED}"
"""Where no two samples share a key."""
BY_UID = f"SELECT {', '.join(PLACE)} FROM rows WHERE uid IN (SELECT own_uid FROM asked) AND uid <> ''"


def named(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, SampleItem]:
    """Items of these samples, by the given ids; ids that the run lacks are left out."""
    items = _named(run, keys)
    current = current_ids(run, [key for key in keys if key not in items])
    renamed = _named(run, list(current.values())) if current else {}
    return items | {former: renamed[key] for former, key in current.items() if key in renamed}


def _named(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, SampleItem]:
    named: dict[SampleKey, SampleItem] = {}
    for first in range(0, len(keys), BATCH):
        batch = _with_known_steps(keys[first : first + BATCH])
        snapshot = run.snapshot()
        pieces = _pieces(snapshot, batch)
        if pieces:
            items = _items(run, snapshot, Question(pieces, BY_KEY, tables={"asked": _table(batch)}))
            wanted = set(batch)
            named |= {item.key: item for item in items if item.key in wanted}
    return named


def responses(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, tuple[SampleKey, str]]:
    """The beginnings of the responses of many samples, with their keys; keys that the run lacks are left out."""
    beginnings: dict[SampleKey, tuple[SampleKey, str]] = {}
    last_attempts = _with_known_steps([key for key in keys if not key.attempt])
    for first in range(0, len(last_attempts), MANY):
        batch = last_attempts[first : first + MANY]
        snapshot = run.snapshot()
        pieces = _pieces(snapshot, batch)
        if pieces:
            steps = {(key.split, key.step) for key in batch}
            are_alone = not snapshot.duplicates and all(len(snapshot.pieces.get(step, ())) < 2 for step in steps)
            asked = _table(batch).append_column("nth", pa.array(range(len(batch)), pa.int64()))
            question = Question(pieces, ONLY_RESPONSES if are_alone else RESPONSES, tables={"asked": asked})
            nths, texts = (column.to_pylist() for column in database.table(run, question).columns)
            beginnings |= {(key := batch[nth]): (key, text) for nth, text in zip(nths, texts, strict=True)}
    earlier = named(run, [key for key in keys if key.attempt])
    return beginnings | {key: (item.key, item.response) for key, item in earlier.items()}


def by_uid(run: OpenRun, uids: Sequence[str]) -> dict[str, SampleItem]:
    """The samples with these names of their framework, anywhere in the run; the last of several."""
    names = [uid for uid in dict.fromkeys(uids) if uid]
    snapshot = run.snapshot()
    pieces = snapshot.holding()
    if not names or not pieces:
        return {}
    question = Question(pieces, BY_UID, tables={"asked": pa.table({"own_uid": names})})
    return {item.uid: item for item in _items(run, snapshot, question)}


def _with_known_steps(keys: Sequence[SampleKey]) -> list[SampleKey]:
    """The keys whose steps a column of the index can hold."""
    return [key for key in keys if -(2**63) <= key.step < 2**63]


def _pieces(snapshot: Snapshot, keys: Sequence[SampleKey]) -> list[Piece]:
    """The pieces with the steps of some keys, each once."""
    steps = {(key.split, key.step) for key in keys}
    return list({id(piece): piece for step in steps for piece in snapshot.pieces.get(step, ())}.values())


def _table(keys: Sequence[SampleKey]) -> pa.Table:
    """Keys as a table that statements call `asked`."""
    names = ("own_split", "own_step", "own_group", "own_index")
    return pa.table(dict(zip(names, map(list, zip(*(key.shared for key in keys), strict=True)), strict=True)))


def _items(run: OpenRun, snapshot: Snapshot, question: Question) -> list[SampleItem]:
    return items_of(list_rows(run, snapshot, database.places(run, question), columns=()))
