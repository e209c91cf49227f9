"""The samples of a window whose words are kept: their words, their behaviours, and where each lies."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.derive import behaviours
from rolloupe.errors import SourceChanged
from rolloupe.features import Floats, Grouping
from rolloupe.index import OpenRun, Piece, Snapshot, metric_column
from rolloupe.index.features.blocks import LARGEST
from rolloupe.index.features.files import SAMPLE_SCHEMA, sample_words_of, values_column
from rolloupe.index.segments.columns import sql_type
from rolloupe.index.segments.text_batches import read_texts
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import FILE, PLACE, AnnotationOverlay, Column, RowPlace, quote, where_current
from rolloupe.query.run_features.feature_index import FeaturePieces, FeatureWindow, Hashes, condition
from rolloupe.query.samples.pages import items_of, list_rows

Places = NDArray[np.int64]


ENOUGH = 2**14
"""Where not all samples can be read again, so many show which features go together: of more, every second group."""


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

    @property
    def is_alone(self) -> bool:
        """True if every group has one sample."""
        return self.size > 0 and len(self.grouping) == self.size

    def place(self, number: int) -> RowPlace:
        """Where a sample lies."""
        return RowPlace(self.pieces[self.piece[number]], int(self.row[number]))


def sample_words(run: OpenRun, window: FeatureWindow, of: FeaturePieces) -> SampleWords:
    """The samples of a window, as far as their words are kept. Raises as `database.ask`."""
    table, pieces = _rows(run, window, of)
    piece = table[FILE].to_numpy()
    changes = [np.diff(one, prepend=-1) != 0 for one in (piece, table["block"].to_numpy(), table["group"].to_numpy())]
    grouping = Grouping(np.cumsum(np.any(changes, axis=0)))
    words = table["words"].combine_chunks()
    counts = words.value_lengths().to_numpy().astype(np.int64)
    return SampleWords(
        pieces,
        piece,
        table["row"].to_numpy(),
        table["step"].to_numpy(),
        grouping,
        grouping.centred(table["advantage"].to_numpy()),
        grouping.centred(table["reward"].to_numpy()),
        words.flatten().to_numpy(),
        np.repeat(np.arange(len(counts)), counts),
        {name: table[values_column(name)].to_numpy() for name in behaviours()},
    )


def _rows(run: OpenRun, window: FeatureWindow, of: FeaturePieces) -> tuple[pa.Table, Sequence[Piece]]:
    """The rows of the files of a window, group by group, with the number of the piece in `FILE`; and the pieces."""
    by_path = {sample_words_of(piece.path): piece for piece in of.pieces if piece.path is not None}
    if not by_path:
        return SAMPLE_SCHEMA.empty_table().append_column(FILE, pa.array([], pa.int64())), ()
    where, values = condition(window, of.pieces)
    if not of.is_whole and of.samples >> max(facts.share.kept for facts in of.facts) > ENOUGH:
        where += ' AND "group" % 2 = 0'
    sql = f"SELECT * FROM (SELECT * FROM files{where_current(of.pieces)}) WHERE {where}"
    table, paths = database.of_files(run, list(by_path), sql, values)
    return table, [by_path[path] for path in paths]


def sample_metric(run: OpenRun, snapshot: Snapshot, of: SampleWords, name: str) -> Floats:
    """The values of a sample metric; NaN for none, and for those too large to add up. Raises as `database.ask`."""
    values = _column(run, snapshot, of, metric_column(name), is_annotated=name in snapshot.annotated())
    return np.where(np.abs(values) < LARGEST, values, np.nan)


def sample_rewards(run: OpenRun, snapshot: Snapshot, of: SampleWords) -> Floats:
    """The rewards of some samples as they are, not centred. Raises as `database.ask`."""
    return _column(run, snapshot, of, "reward", is_annotated="reward" in snapshot.annotated())


def _column(run: OpenRun, snapshot: Snapshot, of: SampleWords, column: str, *, is_annotated: bool) -> Floats:
    """The values of a column of the index for some samples, with those of annotations if they may have any."""
    pieces = [of.pieces[number] for number in np.unique(of.piece).tolist()]
    overlay = AnnotationOverlay(snapshot.annotations, [column] if is_annotated else [], places=True)
    named = [Column(column, kind)] if (kind := sql_type(column)) else []
    sql = f"SELECT nth, {quote(column)} AS value FROM rows JOIN places USING ({', '.join(PLACE)})"
    places = [of.place(number) for number in range(of.size)]
    table = database.table(run, Question(pieces, sql, named=named, overlay=overlay, at=places))
    values = np.full(of.size, np.nan)
    values[table["nth"].to_numpy()] = table["value"].to_numpy().astype(np.float64)
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
    values = _column(run, snapshot, of, "advantage", is_annotated=True)
    centred = of.grouping.centred(np.where(np.abs(values) < LARGEST, values, np.nan))
    return of._replace(advantages=np.where(np.isfinite(centred), centred, of.advantages))
