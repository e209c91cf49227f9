"""Attempts at a sample: samples that share a key, of which all but the last carry numbers."""

import pyarrow as pa

from rolloupe.index import OpenRun, Snapshot
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import ATTEMPT_ORDER
from rolloupe.query.engine.database import Question

KEY = ("split", "step", "grp", "idx")
ORDER = tuple(ATTEMPT_ORDER.split(", "))


def attempts_of(run: OpenRun, snapshot: Snapshot, rows: pa.Table) -> dict[int, int]:
    """Number the earlier attempts, by `nth`: of samples that share a key, all but the last.

    `rows` has `nth`, `KEY` and `ORDER`. An older launch's records are not among the rows, but count in the numbers.
    """
    keys = zip(rows["split"].to_pylist(), rows["step"].to_pylist(), strict=True)
    steps = dict(zip(rows["nth"].to_pylist(), keys, strict=True))
    pieces = {id(piece): piece for key in set(steps.values()) for piece in snapshot.pieces.get(key, ())}
    if not snapshot.duplicates and all(len(snapshot.pieces.get(key, ())) < 2 for key in set(steps.values())):
        return {}
    shown = rows.select(["nth", *KEY, *ORDER]).rename_columns(["nth", *KEY, *(f"own_{name}" for name in ORDER)])
    place = ", ".join(f"own_{name}" for name in ORDER)
    sql = f"""SELECT nth, count(*) FILTER (WHERE row({ATTEMPT_ORDER}) <= row({place})) AS n
        FROM base JOIN shown USING ({", ".join(KEY)}) GROUP BY nth HAVING n < count(*)"""
    return dict(database.ask(run, Question(list(pieces.values()), sql, tables={"shown": shown})))
