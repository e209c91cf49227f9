"""What annotations say of samples that are read whole: the index knows where their lines stand."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from rolloupe.formats.base import TakesPlaces
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Sample, Source
from rolloupe.query import engine
from rolloupe.query.engine import Question

PLACES = """
SELECT uid, file, byte_start, byte_length FROM rows WHERE {} ORDER BY source, byte_start, nth
"""
OF_ONE, OF_SOME = PLACES.format("uid = ?"), PLACES.format("uid IN (SELECT uid FROM asked)")


def places(run: OpenRun, uids: Collection[str]) -> Mapping[str, Sequence[Locator]]:
    """Where the annotations of some samples stand, by uid, oldest first; empty where a format does not ask for it."""
    found: dict[str, list[Locator]] = defaultdict(list)
    pieces, asked = run.snapshot().annotations, sorted({*uids} - {""})
    if pieces and asked and isinstance(run.format, TakesPlaces):
        one = Question(pieces, OF_ONE, asked)
        question = one if len(asked) == 1 else Question(pieces, OF_SOME, tables={"asked": pa.table({"uid": asked})})
        for uid, file, start, length in engine.ask(run, question):
            found[uid].append(Locator(source=file, start=start, length=length))
    return found


def load(run: OpenRun, source: Source, locator: Locator, noted: Sequence[Locator]) -> Sample:
    """Read a sample; its annotations stand at `noted`. Raises as `Format.load`."""
    if isinstance(run.format, TakesPlaces):
        return run.format.load_with(run.info, source, locator, noted)
    return run.format.load(run.info, source, locator)
