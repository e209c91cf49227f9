"""The samples of a window whose words are kept: their words, their behaviours, and where each lies."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rolloupe.derive import behaviours
from rolloupe.errors import SourceChanged
from rolloupe.features import Floats, Grouping
from rolloupe.index import OpenRun, Piece, Snapshot, metric_column
from rolloupe.index.features.blocks import LARGEST
from rolloupe.index.features.files import sample_words_of, values_column
from rolloupe.index.segments.text_batches import read_texts
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import PLACE, AnnotationOverlay, RowPlace
from rolloupe.query.run_features.feature_index import FeaturePieces, FeatureWindow, Hashes
from rolloupe.query.samples.pages import items_of, list_rows

Places = NDArray[np.int64]


class SampleWords(NamedTuple):
    """Some samples, group by group, each array of shape (N,) unless it says otherwise."""

    pieces: Sequence[Piece]
    piece: Places
    """The number of the piece of each sample."""
    row: Places
    step: Places
    grouping: Grouping
    advantages: Floats
    """Centred within groups."""
    rewards: Floats
    """Centred within groups."""
    words: Hashes
    """The words of all samples, one after another, shape (W,)."""
    samples: Places
    """The number of the sample of each word, shape (W,)."""
    behaviours: dict[str, Floats]
    """By name, log2(1 + value); NaN for none."""

    @property
    def size(self) -> int:
        """The number of samples."""
        return len(self.row)

    def place(self, number: int) -> RowPlace:
        """Where a sample lies."""
        return RowPlace(self.pieces[self.piece[number]], int(self.row[number]))


def sample_words(window: FeatureWindow, of: FeaturePieces) -> SampleWords:
    """The samples of a window, as far as their words are kept."""
    tables = list(_tables(window, of))
    number, group = 0, 0
    groups, pieces = [], []
    for number, table in tables:
        own = table["block"].to_numpy().astype(np.int64) * 2**32 + table["group"].to_numpy()
        _, own = np.unique(own, return_inverse=True)
        groups.append(own + group)
        group += int(own.max(initial=-1)) + 1
        pieces.append(np.full(len(table), number))
    grouping = Grouping(_joined(groups, np.int64))
    names = [name for name in behaviours() if all(values_column(name) in table.column_names for _, table in tables)]

    def column(name: str, kind: type = np.float64) -> Any:
        return _joined([table[name].to_numpy() for _, table in tables], kind)

    words = [table["words"].combine_chunks() for _, table in tables]
    counts = _joined([pc.list_value_length(one).to_numpy() for one in words], np.int64)
    return SampleWords(
        of.pieces,
        _joined(pieces, np.int64),
        column("row", np.int64),
        column("step", np.int64),
        grouping,
        grouping.centred(column("advantage")),
        grouping.centred(column("reward")),
        _joined([one.flatten().to_numpy() for one in words], np.uint64),
        np.repeat(np.arange(len(counts)), counts),
        {name: column(values_column(name)) for name in names},
    )


def _joined(parts: Sequence[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind, copy=False)


def _tables(window: FeatureWindow, of: FeaturePieces) -> Iterator[tuple[int, pa.Table]]:
    """Yield the number of each piece with samples of the window, and its rows."""
    for number, piece in enumerate(of.pieces):
        if piece.path is None:
            continue
        with contextlib.suppress(OSError, pa.ArrowException):  # deleted or damaged since: written again
            table = pq.read_table(sample_words_of(piece.path), filters=_filter(window, piece), use_threads=False)
            if len(table):
                yield number, table


def _filter(window: FeatureWindow, piece: Piece) -> pc.Expression:
    kept = pc.field("split") == window.split
    if window.step_min is not None:
        kept &= pc.field("step") >= window.step_min
    if window.step_max is not None:
        kept &= pc.field("step") <= window.step_max
    if window.env is not None:
        kept &= pc.field("env") == window.env
    for split, step, launch in piece.superseded:
        if split == window.split:
            kept &= ~((pc.field("step") == step) & (pc.field("launch") > 0) & (pc.field("launch") < launch))
    return kept


def sample_metric(of: SampleWords, name: str) -> Floats:
    """The values of a sample metric, NaN for none."""
    values = np.full(of.size, np.nan)
    for number, piece in enumerate(of.pieces):
        own = np.flatnonzero(of.piece == number)
        if not len(own) or name not in piece.metrics or piece.path is None:
            continue
        with contextlib.suppress(OSError, pa.ArrowException):
            column = pq.read_table(piece.path, columns=[metric_column(name)], use_threads=False)[0]
            values[own] = column.to_numpy().astype(np.float64)[of.row[own]]
    return values


def ids_of(run: OpenRun, snapshot: Snapshot, of: SampleWords, numbers: Sequence[int]) -> list[str]:
    """The ids of samples. Raises as `database.ask`."""
    items = items_of(list_rows(run, snapshot, [of.place(number) for number in numbers], columns=["step"]))
    return [str(item.key) for item in items]


def response_of(run: OpenRun, of: SampleWords, number: int) -> str:
    """The response of a sample. Raises `SourceChanged` if neither the index nor the source has it any more."""
    piece, row = of.place(number)
    for batch in read_texts(run.info, run.source(piece.source), piece, ["response"]):
        if batch.first <= row < batch.first + len(batch):
            return str(batch.columns[0][row - batch.first].as_py())
    raise SourceChanged(f"{piece.source} has fewer samples than before: retry")


def annotated_advantages(run: OpenRun, snapshot: Snapshot, of: SampleWords) -> SampleWords:
    """The samples with the advantages of annotations, in groups where each has one. Raises as `database.ask`."""
    if "advantage" not in snapshot.annotated() or not of.size:
        return of
    pieces = [piece for number, piece in enumerate(of.pieces) if (of.piece == number).any()]
    overlay = AnnotationOverlay(snapshot.annotations, ["advantage"], places=True)
    sql = f"SELECT nth, advantage FROM rows JOIN places USING ({', '.join(PLACE)})"
    places = [of.place(number) for number in range(of.size)]
    table = database.table(run, Question(pieces, sql, overlay=overlay, at=places))
    values = np.full(of.size, np.nan)
    values[table["nth"].to_numpy()] = table["advantage"].to_numpy().astype(np.float64)
    centred = of.grouping.centred(np.where(np.abs(values) < LARGEST, values, np.nan))
    return of._replace(advantages=np.where(np.isfinite(centred), centred, of.advantages))
