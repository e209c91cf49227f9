"""Features in the index: sums of phrases and behaviours over any window of steps, and the words of some samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.derive import behaviours
from rolloupe.errors import SourceChanged
from rolloupe.features import FeatureRows, Floats, Grouping
from rolloupe.index import OpenRun, Piece, Snapshot, features, fingerprint, metric_column
from rolloupe.index.segments.columns import sql_type
from rolloupe.index.segments.texts import read_texts
from rolloupe.lru import Lru
from rolloupe.query.engine import database, names
from rolloupe.query.engine.relation import FILE, PLACE, AnnotationOverlay, Column, RowPlace, quote, where_current
from rolloupe.query.records import SampleQuery
from rolloupe.query.samples.pages import in_known_splits
from rolloupe.query.samples.rows import items_of, list_rows

Hashes = NDArray[np.uint64]
LEAST_GROUPS, LEAST_SAMPLES = 20, 20  # a phrase in fewer groups where it varies, or in fewer samples, shows nothing

_known: Lru[tuple[Path, object], features.FeatureFacts] = Lru(100_000)
"""The facts of files, by path and state: to read one takes longer than to look at its state."""

Places = NDArray[np.int64]

ENOUGH = 2**14
"""How many samples suffice to show which features go together. If there are more, and the index keeps only some of
them, half are read.
"""


class FeatureWindow(Struct, frozen=True):
    """The samples of a question about features: one split, some steps, one environment or all."""

    split: str = "train"
    step_min: int | None = None
    step_max: int | None = None
    env: str | None = None


class FeaturePieces(NamedTuple):
    """The pieces of a window whose features are indexed."""

    pieces: Sequence[Piece]
    facts: Sequence[features.FeatureFacts]
    samples: int  # how many samples there are in the steps of the window, with features or without, in all environments
    pending: int  # how many of them the index has not reached

    @property
    def is_whole(self) -> bool:
        """True if the words of all samples are kept."""
        return not any(facts.share.kept for facts in self.facts)


class WindowFacts(NamedTuple):
    """Facts about the scanned samples of a window."""

    samples: int = 0
    groups: int = 0  # the number of groups whose advantages vary
    freedom: float = 0.0  # the number of samples in these groups, less one a group
    advantage_squares: float = 0.0  # the sum of squares of advantages, less the mean of their group
    reward_squares: float = 0.0


def feature_pieces(snapshot: Snapshot, window: FeatureWindow) -> FeaturePieces:
    """Return the pieces of a window in the order of the files. Raises `NotFound` for a split that the run lacks."""
    query = SampleQuery(splits=(window.split,), step_min=window.step_min, step_max=window.step_max)
    in_known_splits(snapshot, query)
    in_window = snapshot.holding((window.split,), window.step_min, window.step_max)
    pieces = sorted(in_window, key=lambda piece: (piece.source, piece.start))
    known = [(piece, facts) for piece in pieces if (facts := _facts_of(piece)) is not None]
    reached = {id(piece) for piece, _ in known}
    pending = sum(names.current_rows(piece, query, snapshot) for piece in pieces if id(piece) not in reached)
    total = sum(stats.rows for key, stats in snapshot.steps.items() if names.is_within(query, *key))
    return FeaturePieces([piece for piece, _ in known], [facts for _, facts in known], total, pending)


def _facts_of(piece: Piece) -> features.FeatureFacts | None:
    if piece.path is None or piece.fingerprint is None or piece.annotates:
        return None
    path = features.features_of(piece.path)
    state = fingerprint.state_of(path)
    if state is None:
        return None
    facts = _known.get((path, state))
    if facts is None and (facts := features.feature_facts(piece.path, piece.fingerprint.contents)) is not None:
        _known.put((path, state), facts)
    return facts


def condition(window: FeatureWindow, pieces: Sequence[Piece]) -> tuple[str, list[object]]:
    """The SQL condition for the rows of some pieces in a window, and its values, without bounds that all rows meet."""
    steps = {(stats.split, stats.step) for piece in pieces for stats in piece.step_stats}
    low, high = window.step_min, window.step_max
    bounds: dict[str, object] = {}
    if any(split != window.split for split, _ in steps):
        bounds["split = ?"] = window.split
    if any((low is not None and step < low) or (high is not None and step > high) for _, step in steps):
        limits = {"step >= ?": low, "step <= ?": high}
        bounds |= {sql: value for sql, value in limits.items() if value is not None}
    if window.env is not None:
        bounds["env = ?"] = window.env.encode("utf-8", "replace").decode()
    return " AND ".join(bounds) or "true", list(bounds.values())


def feature_sums(run: OpenRun, window: FeatureWindow, of: FeaturePieces) -> tuple[FeatureRows, WindowFacts]:
    """The sums of the features of a window: of all behaviours, and of phrases in enough samples and groups.

    `fsum` adds S as Kahan does: its terms cancel, so that the order in which threads add would change digits of z that
    are shown. Raises as `database.ask`.
    """
    none = np.zeros(0)
    if not of.pieces:
        return FeatureRows(none.astype(np.uint64), none.astype(np.int64), *[none] * 5), WindowFacts()
    where, values = condition(window, of.pieces)
    sql = f"""
        SELECT feature, sum(samples)::BIGINT, sum(groups)::DOUBLE, fsum(s), sum(r), sum(v), sum(d)
        FROM (SELECT * FROM files{where_current(of.pieces)}) WHERE {where} GROUP BY feature
        HAVING feature % 2 = 1 OR feature = {features.BLOCK}
            OR (sum(groups) >= {LEAST_GROUPS} AND sum(samples) >= {LEAST_SAMPLES})
        ORDER BY feature"""
    paths = [features.features_of(piece.path) for piece in of.pieces if piece.path is not None]
    table, _ = database.of_files(run, paths, sql, values)
    rows = FeatureRows(*(column.to_numpy() for column in table.columns))
    if not len(rows.hashes) or rows.hashes[0] != features.BLOCK:
        return rows, WindowFacts()
    _, samples, groups, s, r, _, d = (column[0].item() for column in rows)
    return rows.at(np.arange(1, len(rows.hashes))), WindowFacts(samples, int(groups), d, s, r)


class SampleWords(NamedTuple):
    """Some samples, group by group, each array of shape (N,) unless it says otherwise."""

    pieces: Sequence[Piece]
    piece: Places  # the number of the piece of each sample
    row: Places
    step: Places
    grouping: Grouping
    advantages: Floats  # centred within groups
    rewards: Floats  # centred within groups
    words: Hashes  # the words of all samples, one after another, shape (W,)
    samples: Places  # the number of the sample of each word, shape (W,)
    behaviours: dict[str, Floats]  # by name, log2(1 + value); NaN for none

    @property
    def size(self) -> int:
        """The number of samples."""
        return len(self.row)

    @property
    def is_alone(self) -> bool:
        """True if every group has one sample."""
        return self.size > 0 and len(self.grouping) == self.size

    def at(self, kept: NDArray[np.bool_]) -> "SampleWords":
        """Some of the samples."""
        words = kept[self.samples]
        return SampleWords(
            self.pieces, self.piece[kept], self.row[kept], self.step[kept], Grouping(self.grouping.numbers[kept]),
            self.advantages[kept], self.rewards[kept], self.words[words], (np.cumsum(kept) - 1)[self.samples[words]],
            {name: values[kept] for name, values in self.behaviours.items()},
        )  # fmt: skip

    def place(self, number: int) -> RowPlace:
        """Where a sample lies."""
        return RowPlace(self.pieces[self.piece[number]], int(self.row[number]))


def sample_words(run: OpenRun, window: FeatureWindow, of: FeaturePieces) -> SampleWords:
    """Return the samples of a window whose words are kept. Raises as `database.ask`."""
    by_path = {features.sample_words_of(piece.path): piece for piece in of.pieces if piece.path is not None}
    table = features.SAMPLE_SCHEMA.empty_table().append_column(FILE, pa.array([], pa.int64()))
    paths: Sequence[Path] = ()
    if by_path:
        where, values = condition(window, of.pieces)
        if not of.is_whole and of.samples >> max(facts.share.kept for facts in of.facts) > ENOUGH:
            where += ' AND "group" % 2 = 0'
        sql = f"SELECT * FROM (SELECT * FROM files{where_current(of.pieces)}) WHERE {where}"
        table, paths = database.of_files(run, list(by_path), sql, values)
    piece, block, group, row, step, advantage, reward = (
        table[name].to_numpy() for name in (FILE, "block", "group", "row", "step", "advantage", "reward")
    )
    changes = [np.diff(place, prepend=-1) != 0 for place in (piece, block, group)]
    grouping = Grouping(np.cumsum(np.any(changes, axis=0)))
    words = table["words"].combine_chunks()
    counts = words.value_lengths().to_numpy().astype(np.int64)
    samples = np.repeat(np.arange(len(counts)), counts)
    habits = {name: table[features.values_column(name)].to_numpy() for name in behaviours()}
    pieces, centred = [by_path[path] for path in paths], (grouping.centred(advantage), grouping.centred(reward))
    return SampleWords(pieces, piece, row, step, grouping, *centred, words.flatten().to_numpy(), samples, habits)


def sample_metric(run: OpenRun, snapshot: Snapshot, of: SampleWords, name: str) -> Floats:
    """The values of a sample metric; NaN for none, and for those too large to add up. Raises as `database.ask`."""
    values = _column(run, snapshot, of, metric_column(name), is_annotated=name in snapshot.annotated())
    return np.where(np.abs(values) < features.LARGEST, values, np.nan)


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
    table = database.table(run, database.Question(pieces, sql, named=named, overlay=overlay, at=places))
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
    for batch in read_texts(run.info, run.sources.get(piece.source), piece, ["response"]):
        if batch.first <= row < batch.first + len(batch):
            return str(batch.columns[0][row - batch.first].as_py())
    raise SourceChanged(f"{piece.source} has fewer samples than before: retry")


def annotated_advantages(run: OpenRun, snapshot: Snapshot, of: SampleWords) -> SampleWords:
    """The samples with the advantages of annotations, in groups where each has one. Raises as `database.ask`."""
    if "advantage" not in snapshot.annotated() or not of.size:
        return of
    values = _column(run, snapshot, of, "advantage", is_annotated=True)
    centred = of.grouping.centred(np.where(np.abs(values) < features.LARGEST, values, np.nan))
    return of._replace(advantages=np.where(np.isfinite(centred), centred, of.advantages))
