"""Annotations of samples that are read whole: the index knows the places of their lines."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from rolloupe import text, tokens
from rolloupe.errors import SourceChanged
from rolloupe.formats.token_texts import add_strings
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Sample, SampleKey, Source, Texts
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question

PLACES = """
SELECT uid, file, byte_start, byte_length FROM rows WHERE {} ORDER BY source, byte_start, nth
"""
OF_ONE, OF_SOME = PLACES.format("uid = ?"), PLACES.format("uid IN (SELECT uid FROM asked)")


def places(run: OpenRun, uids: Collection[str]) -> Mapping[str, Sequence[Locator]]:
    """The places of annotations of some samples, by uid, oldest first; empty if the format does not need them."""
    locators: dict[str, list[Locator]] = defaultdict(list)
    pieces, names = run.snapshot().annotations, sorted({*uids} - {""})
    if pieces and names and run.format.annotates_by_place:
        one = Question(pieces, OF_ONE, names)
        question = one if len(names) == 1 else Question(pieces, OF_SOME, tables={"asked": pa.table({"uid": names})})
        for uid, file, start, length in database.ask(run, question):
            locators[uid].append(Locator(source=file, start=start, length=length))
    return locators


def noted(run: OpenRun, uids: pa.ChunkedArray) -> pa.Table | None:
    """The places of annotations of many samples: `uid`, `file`, `byte_start`, `byte_length`, oldest first.

    None without annotations, or if the format does not need them.
    """
    pieces = run.snapshot().annotations
    if not pieces or not run.format.annotates_by_place:
        return None
    return database.table(run, Question(pieces, OF_SOME, tables={"asked": pa.table({"uid": uids})}))


def source_of(run: OpenRun, key: SampleKey, locator: Locator) -> Source:
    """The source that holds the sample of a key. Raises `SourceChanged` if it is gone."""
    source = run.source(locator.source)
    if source is None:
        raise SourceChanged(f"{locator.source} is gone: the sample {key} was in it when it was indexed")
    return source


def load(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Sample:
    """Read the whole sample of a key; `noted` are the places of its annotations.

    Raises `SourceChanged` if its file is gone or holds another sample there by now, and whatever `Format.load` raises.
    """
    sample = run.format.load_annotated(run.info, source_of(run, key, locator), locator, noted)
    _check(sample.row.key, key, locator)
    sample.key = key
    tokens.cut_tokens(sample)
    add_strings(run.info, sample)
    return sample


def load_texts(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Texts:
    """Read all texts of a sample. Raises as `load`."""
    texts = run.format.load_texts(run.info, source_of(run, key, locator), locator)
    if texts is None:
        return texts_of(load(run, key, locator, noted))
    _check(texts.key, key, locator)
    return texts


def texts_of(sample: Sample) -> Texts:
    """The texts of a loaded sample."""
    return Texts(
        key=sample.row.key,
        prompt=sample.prompt_text or sample.row.prompt,
        response=sample.row.response,
        label=sample.label,
        reference="".join(map(text.verbatim, sample.ref_turns)),
    )


def _check(stored: SampleKey, key: SampleKey, locator: Locator) -> None:
    if stored.shared != key.shared:
        at = f"{locator.source} no longer holds {key} at byte {locator.start}"
        raise SourceChanged(f"{at}: it was written again since; ask for the list again")
