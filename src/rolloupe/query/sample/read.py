"""Reads whole samples from their sources, with the annotations that the index has places of, and a person's scores."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from rolloupe import text, tokens
from rolloupe.errors import SourceChanged
from rolloupe.formats.token_texts import add_strings
from rolloupe.index import OpenRun, metric_column, tag_column
from rolloupe.model import Locator, Sample, SampleKey, Source, Texts
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import AnnotationOverlay, quote

PLACES = """
SELECT uid, file, byte_start, byte_length FROM rows WHERE {} ORDER BY source, byte_start, nth
"""
OF_ONE, OF_SOME = PLACES.format("uid = ?"), PLACES.format("uid IN (SELECT uid FROM asked)")


def annotation_places(run: OpenRun, uids: Collection[str]) -> Mapping[str, Sequence[Locator]]:
    """The places of annotations of some samples, by uid, oldest first; empty if the format does not need them."""
    locators: dict[str, list[Locator]] = defaultdict(list)
    pieces, names = run.snapshot().annotations, sorted({*uids} - {""})
    if pieces and names and run.format.annotates_by_place:
        of_one = Question(pieces, OF_ONE, names)
        of_some = Question(pieces, OF_SOME, tables={"asked": pa.table({"uid": names})})
        for uid, file, start, length in database.ask(run, of_one if len(names) == 1 else of_some):
            locators[uid].append(Locator(source=file, start=start, length=length))
    return locators


def annotation_table(run: OpenRun, uids: pa.ChunkedArray) -> pa.Table | None:
    """The same places as a table for many samples: `uid`, `file`, `byte_start`, `byte_length`, oldest first.

    None without annotations, or if the format does not need them.
    """
    pieces = run.snapshot().annotations
    if not pieces or not run.format.annotates_by_place:
        return None
    return database.table(run, Question(pieces, OF_SOME, tables={"asked": pa.table({"uid": uids})}))


def source_of(run: OpenRun, key: SampleKey, locator: Locator) -> Source:
    """The source that holds a sample. Raises `SourceChanged` if it is gone."""
    source = run.source(locator.source)
    if source is None:
        raise SourceChanged(f"{locator.source} is gone: the sample {key} was in it when it was indexed")
    return source


def read_sample(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Sample:
    """Read a whole sample; `noted` are the places of its annotations.

    Raises `SourceChanged` if its file is gone or holds another sample there by now, and whatever `Format.load` raises.
    """
    sample = run.format.load_annotated(run.info, source_of(run, key, locator), locator, noted)
    _check(sample.row.key, key, locator)
    sample.key = key
    tokens.cut_tokens(sample)
    add_strings(run.info, sample)
    return sample


def read_scored(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Sample:
    """Read a whole sample as `read_sample` does, with the scores of a person's own graders."""
    sample = read_sample(run, key, locator, noted)
    metrics, tags = _scores_of(run, key, locator)
    sample.row.metrics, sample.row.tags = sample.row.metrics | metrics, sample.row.tags | tags
    if not (sample.turns or sample.notes):
        sample.notes.append("the record has neither a prompt nor a response")
    return sample


def read_texts(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Texts:
    """Read all texts of a sample. Raises as `read_sample`."""
    texts = run.format.load_texts(run.info, source_of(run, key, locator), locator)
    if texts is None:
        return texts_of(read_sample(run, key, locator, noted))
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


def _scores_of(run: OpenRun, key: SampleKey, locator: Locator) -> tuple[dict[str, float], dict[str, str]]:
    """The metrics and the tags that scores add to the sample at a place."""
    snapshot = run.snapshot()
    metrics = list(dict.fromkeys(name for piece in snapshot.scores for name in piece.metrics))
    tags = list(dict.fromkeys(name for piece in snapshot.scores for name in piece.tags))
    columns = [*map(metric_column, metrics), *map(tag_column, tags)]
    pieces = snapshot.holding([key.split], key.step, key.step) if columns else []
    if not pieces:
        return {}, {}
    sql = f"""SELECT {", ".join(map(quote, columns))} FROM rows
        WHERE split = ? AND step = ? AND source = ? AND byte_start = ? AND part = ?"""
    values = [key.split, key.step, locator.source, locator.start, locator.part]
    overlay = AnnotationOverlay(columns=columns, scores=snapshot.scores)
    answer = database.ask(run, Question(pieces, sql, values, overlay=overlay))
    scores = answer[0] if answer else [None] * len(columns)
    numbers, words = scores[: len(metrics)], scores[len(metrics) :]
    return (
        {name: value for name, value in zip(metrics, numbers, strict=True) if value is not None},
        {name: value for name, value in zip(tags, words, strict=True) if value is not None},
    )
