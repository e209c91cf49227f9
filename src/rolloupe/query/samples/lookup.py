"""Samples by name: by their ids, or by their framework's names."""

from collections.abc import Sequence

import pyarrow as pa

from rolloupe.index import OpenRun, Snapshot
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
    found = _named(run, keys)
    current = current_ids(run, [key for key in keys if key not in found])
    items = _named(run, list(current.values())) if current else {}
    return found | {former: items[key] for former, key in current.items() if key in items}


def _named(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, SampleItem]:
    found: dict[SampleKey, SampleItem] = {}
    for first in range(0, len(keys), BATCH):
        batch = [key for key in keys[first : first + BATCH] if -(2**63) <= key.step < 2**63]
        snapshot = run.snapshot()
        steps = {(key.split, key.step) for key in batch}
        pieces = list({id(piece): piece for step in steps for piece in snapshot.pieces.get(step, ())}.values())
        if not pieces:
            continue
        names = ("own_split", "own_step", "own_group", "own_index")
        key_table = pa.table({name: [key.shared[n] for key in batch] for n, name in enumerate(names)})
        wanted = set(batch)
        items = _items(run, snapshot, Question(pieces, BY_KEY, tables={"asked": key_table}))
        found |= {item.key: item for item in items if item.key in wanted}
    return found


def responses(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, tuple[SampleKey, str]]:
    """The beginnings of the responses of many samples, with their keys; keys that the run lacks are left out."""
    found: dict[SampleKey, tuple[SampleKey, str]] = {}
    current = [key for key in keys if not key.attempt and -(2**63) <= key.step < 2**63]
    for first in range(0, len(current), MANY):
        batch = current[first : first + MANY]
        if (question := _question(run, batch)) is not None:
            nths, texts = (column.to_pylist() for column in database.table(run, question).columns)
            found |= {(key := batch[nth]): (key, response) for nth, response in zip(nths, texts, strict=True)}
    earlier = named(run, [key for key in keys if key.attempt])
    return found | {key: (item.key, item.response) for key, item in earlier.items()}


def _question(run: OpenRun, batch: Sequence[SampleKey]) -> Question | None:
    """The query for the responses of a batch; None if the run has none of their steps."""
    snapshot = run.snapshot()
    steps = {(key.split, key.step) for key in batch}
    of_steps = [snapshot.pieces.get(step, ()) for step in steps]
    pieces = list({id(piece): piece for of_step in of_steps for piece in of_step}.values())
    if not pieces:
        return None
    are_alone = not snapshot.duplicates and all(len(of_step) < 2 for of_step in of_steps)
    key_columns = {
        "own_split": [key.split for key in batch], "own_step": [key.step for key in batch],
        "own_group": [key.group for key in batch], "own_index": [key.index for key in batch], "nth": range(len(batch)),
    }  # fmt: skip
    sql = ONLY_RESPONSES if are_alone else RESPONSES
    return Question(pieces, sql, tables={"asked": pa.table(key_columns)})


def by_uid(run: OpenRun, uids: Sequence[str]) -> dict[str, SampleItem]:
    """The samples with these names of their framework, anywhere in the run; the last of several."""
    names = [uid for uid in dict.fromkeys(uids) if uid]
    snapshot = run.snapshot()
    pieces = snapshot.holding()
    if not names or not pieces:
        return {}
    question = Question(pieces, BY_UID, tables={"asked": pa.table({"own_uid": names})})
    return {item.uid: item for item in _items(run, snapshot, question)}


def _items(run: OpenRun, snapshot: Snapshot, question: Question) -> list[SampleItem]:
    return items_of(list_rows(run, snapshot, database.places(run, question), columns=()))
