"""What annotations say of samples that are read whole: the index knows where their lines stand."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import cast

import pyarrow as pa

from rolloupe import text
from rolloupe.errors import SourceChanged
from rolloupe.formats.base import LoadsTexts, TakesPlaces
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Sample, SampleKey, Source, Texts
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question

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
        for uid, file, start, length in database.ask(run, question):
            found[uid].append(Locator(source=file, start=start, length=length))
    return found


def noted(run: OpenRun, uids: pa.ChunkedArray) -> pa.Table | None:
    """Where the annotations of many samples stand: `uid`, `file`, `byte_start`, `byte_length`, oldest first.

    None where there are none, or the format does not ask for it.
    """
    pieces = run.snapshot().annotations
    if not pieces or not isinstance(run.format, TakesPlaces):
        return None
    return database.table(run, Question(pieces, OF_SOME, tables={"asked": pa.table({"uid": uids})}))


def source_of(run: OpenRun, key: SampleKey, locator: Locator) -> Source:
    """The source in which the sample of a key lies. Raises `SourceChanged` where it is gone."""
    source = run.source(locator.source)
    if source is None:
        raise SourceChanged(f"{locator.source} is gone: the sample {key} was in it when it was indexed")
    return source


@cache
def _loads_texts(kind: type) -> bool:
    """True for a format that `load_texts` can ask; to ask a protocol takes long, as below."""
    return hasattr(kind, "load_texts")


@cache
def _takes_places(kind: type) -> bool:
    """True for a format that `load` can tell the places; to ask a protocol takes as long as to read a line."""
    return hasattr(kind, "load_with")


def load(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Sample:
    """Read the sample of a key, whole; its annotations stand at `noted`.

    Raises `SourceChanged` where its file is gone or another sample stands there by now, and as `Format.load`.
    """
    source = source_of(run, key, locator)
    if _takes_places(type(run.format)) and isinstance(run.format, TakesPlaces):
        found = run.format.load_with(run.info, source, locator, noted)
    else:
        found = run.format.load(run.info, source, locator)
    _check(found.row.key, key, locator)
    found.key = key
    return found


def load_texts(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Texts:
    """Read the texts of a sample, whole. Raises as `load`."""
    found = None
    if _loads_texts(type(run.format)):
        found = cast("LoadsTexts", run.format).load_texts(run.info, source_of(run, key, locator), locator)
    if found is None:
        return texts_of(load(run, key, locator, noted))
    _check(found.key, key, locator)
    return found


def texts_of(sample: Sample) -> Texts:
    """The texts of a sample that was read."""
    return Texts(
        key=sample.row.key,
        prompt=sample.row.prompt,
        response=sample.row.response,
        label=sample.label,
        reference="".join(map(text.verbatim, sample.ref_turns)),
    )


def _check(found: SampleKey, key: SampleKey, locator: Locator) -> None:
    if found.shared != key.shared:
        at = f"{locator.source} no longer holds {key} at byte {locator.start}"
        raise SourceChanged(f"{at}: it was written again since; ask for the list again")
