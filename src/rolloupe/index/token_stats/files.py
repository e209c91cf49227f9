"""The statistics of the tokens of a segment, written in a pass after the texts: a row for each series and step.

The pass also computes the derived metrics of token series, and adds them to the others.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.derive import token_metrics
from rolloupe.formats import by_name
from rolloupe.index.fingerprint import size_of
from rolloupe.index.segments import derived_values, kind, parts, segment, step_stats
from rolloupe.index.token_stats import words
from rolloupe.index.token_stats.series import PositionRuns, PositionSums, SeriesTotals, no_positions
from rolloupe.index.token_stats.words import WordNumbers, WordRows, WordTotals
from rolloupe.model import Locator, Problem, RunLoss, SampleRow
from rolloupe.storage import atomic
from rolloupe.tokens import Flags, Floats, SampleTokens, TokenBatch, first_tokens


class MaskedSums(NamedTuple):
    """Sums over trained tokens."""

    thresholds: dict[str, float]
    """Those of the rule."""
    tokens: int = 0
    masked: int = 0
    high: int = 0
    """The number of tokens taken out because they moved up too far."""
    low: int = 0
    update: float = 0.0
    """The sum of `abs(g)` if no token were taken out."""
    lost: float = 0.0
    """The same sum over the tokens taken out."""

    def plus(self, other: "MaskedSums") -> "MaskedSums":
        """The sums over both, which have the same thresholds."""
        sums = (own + others for own, others in zip(self[1:], other[1:], strict=True))
        return MaskedSums._make([self.thresholds, *sums])


def loss_stamp(loss: RunLoss | None) -> str:
    """The rule of a run and its thresholds as a string; empty without a rule."""
    return "" if loss is None else f"{loss.rule} {sorted(loss.thresholds.items())}"


def masked_sums(batch: TokenBatch, loss: RunLoss | None) -> dict[str, MaskedSums]:
    """The sums of a batch for each rule whose series it has, and for the recorded flags."""
    inputs = batch.loss_inputs
    if inputs is None:
        return {}
    under = inputs.loss_mask
    sums = dict[str, MaskedSums]()
    full_sizes = dict[bool, Floats]()  # of the update if no token were taken out; rules with the same ratio share them

    def add(name: str, thresholds: dict[str, float], masked: Flags, high: Flags, low: Flags) -> None:
        rule = tokens.update_rule(name, {})
        full = full_sizes.get(rule.is_of_sequence)
        if full is None:
            sizes = np.abs(rule.full_coefficients(inputs))
            has_all = sizes.sum() <= tokens.MAX_SIZE
            full = sizes if has_all else np.where(tokens.is_summed(sizes), sizes, 0.0)
            full_sizes[rule.is_of_sequence] = full
        counts = (int(np.count_nonzero(flags)) for flags in (under, masked, high, low))
        lost = float(full[np.flatnonzero(masked)].sum())
        sums[name] = MaskedSums._make([thresholds, *counts, float(full.sum()), lost])

    with np.errstate(all="ignore"):
        for rule, compared in tokens.mask_rules(list(batch.series.values()), loss):
            flags = rule.flags_of(batch.series[compared].values, inputs.advantages, under)
            add(rule.name, rule.thresholds, *flags)
        if inputs.recorded_mask is not None:
            names = ("is_masked_high", "is_masked_low")
            none = np.zeros(len(batch), np.bool_)
            high, low = (batch.series[name].values == 1 if name in batch.series else none for name in names)
            add(tokens.RECORDED, {}, inputs.recorded_mask & under, high & under, low & under)
    return sums


unpacked_masks = msgspec.msgpack.Decoder(dict[str, MaskedSums]).decode
"""Decodes the sums of a step in a file of statistics."""


VERSION = 10
ENDING = ".tokens.parquet"

WORDS = ".words" + ENDING
"""The ending of the file with the words of a segment and the samples that have them."""

BATCH_TOKENS = 2**17
"""The number of tokens to compute together."""

KEPT = ("lowest", "highest", "lowest_of_samples", "highest_of_samples")

WHOLE_STEP = ""
"""Stands for a series in the row with the facts about all tokens of a step."""

StepOfLaunch = tuple[str, int, int]
"""Split, step and launch."""


def tokens_file_of(path: Path) -> Path:
    """The path of a segment's statistics of tokens."""
    return path.with_name(f"{path.stem}.{VERSION}{ENDING}")


def words_file_of(path: Path) -> Path:
    """The path of the words of a segment."""
    return path.with_name(f"{path.stem}.{VERSION}{WORDS}")


def _is_written(path: Path, meta: kind.SegmentMeta, annotations: int, loss: RunLoss | None, _: object) -> bool:
    if meta.annotates or not (annotations or derived_values.may_have_tokens(meta)):
        return True
    about = derived_values.read_derived(path, meta)
    if about is None or about.tokens is None or not about.has_current(token_metrics()):
        return False
    is_same = (about.tokens.version, about.tokens.annotations) == (VERSION, annotations)
    if about.tokens.size_bytes:
        is_same &= about.tokens.loss == loss_stamp(loss)
    return is_same and has_file(path, about.tokens) and has_words(path, about.tokens)


def has_file(path: Path, mark: kind.TokenMark) -> bool:
    """True if the file of statistics is there, or none was written."""
    return not mark.size_bytes or size_of(tokens_file_of(path)) == mark.size_bytes


def has_words(path: Path, mark: kind.TokenMark) -> bool:
    """True if the file of words is there, or none was written."""
    return not mark.words_bytes or size_of(words_file_of(path)) == mark.words_bytes


def _write(path: Path, records: kind.SegmentSource) -> kind.DerivedMeta:
    job, rows = records.job, rows_of(path)
    reading = _TokensOfPart(rows, job.annotations.discarded, job.loss)
    places = [Locator(source=job.source.name, start=row.start, length=row.length, part=row.part) for row in rows]
    order = sorted(range(len(rows)), key=lambda number: places[number].start)
    in_order, annotations = [places[number] for number in order], defaultdict[Locator, list[Locator]](list)
    for note in job.annotations.rows:
        annotations[places[note.row]].append(Locator(source=note.source, start=note.start, length=note.length))
    arrays = by_name(job.run.format).token_arrays(job.run, job.source, in_order, annotations)
    for number, found_tokens in kind.until(records.ended, zip(order, arrays, strict=True)):
        reading.add(number, found_tokens)
    reading.finish()
    size_bytes = words_bytes = 0
    if reading.totals:
        contents = segment.parquet_of(_table(reading.totals, reading.vocabulary))
        atomic.write(tokens_file_of(path), contents)
        size_bytes = contents.nbytes
        words_bytes = reading.word_rows.write(words_file_of(path), reading.vocabulary)
    mark = kind.TokenMark(
        version=VERSION,
        size_bytes=size_bytes,
        words_bytes=words_bytes,
        annotations=job.annotations.stamp,
        loss=loss_stamp(job.loss),
        unread=reading.unread,
    )
    return derived_values.add_values(path, records.meta, rows, reading.values, mark=mark)


def rows_of(path: Path) -> list[SampleRow]:
    """The rows of a segment, with the fields that statistics need."""
    names = ("split", "step", "launch", "discarded", "advantage", "byte_start", "byte_length", "part")
    with pq.ParquetFile(path) as file:
        columns = [column.to_pylist() for column in file.read(columns=list(names), use_threads=False).select(names)]
    return [
        SampleRow(
            split=split, step=step, group="", index="", ordinal=0, start=start, length=length, part=part, launch=launch,
            discarded=discarded, advantage=advantage,
        )
        for split, step, launch, discarded, advantage, start, length, part in zip(*columns, strict=True)
    ]  # fmt: skip


class _Waiting(NamedTuple):
    """Samples with the same series, until there are enough tokens for a batch."""

    rows: list[int]
    samples: list[SampleTokens]
    advantages: list[float | None]


class _StepTotals:
    """The statistics of the samples of a step of a launch that were not discarded."""

    def __init__(self, loss: RunLoss | None, *, has_moments: bool) -> None:
        self._loss, self._has_moments = loss, has_moments
        self.series: dict[str, SeriesTotals] = {}
        self.positions: dict[str, PositionSums] = defaultdict(no_positions)
        self.words = WordTotals()
        self.masked: dict[str, MaskedSums] = {}

    def rows(self) -> dict[str, SeriesTotals]:
        """The totals of each series, after empty ones under `WHOLE_STEP`."""
        return {WHOLE_STEP: SeriesTotals("recorded", has_moments=self._has_moments), **self.series}

    def add(self, batch: TokenBatch, words: NDArray[np.int64] | None) -> None:
        """Add the tokens of a batch, whose words have these numbers."""
        runs = PositionRuns(batch)
        for name, series in batch.series.items():
            if name not in self.series and len(self.series) < step_stats.MAX_SERIES:
                self.series[name] = SeriesTotals(series.origin, has_moments=self._has_moments)
            if name in self.series:
                self.series[name].add(batch, name)
                self.positions[name].add(runs.sums(series.values))
        self.words.add(batch, words)
        for rule, sums in masked_sums(batch, self._loss).items():
            before = self.masked.get(rule)
            self.masked[rule] = sums if before is None else before.plus(sums)


class _TokensOfPart:
    """The statistics of the samples of a segment; `annotated` says which were discarded, as in `AnnotationState`."""

    def __init__(self, rows: Sequence[SampleRow], annotated: Mapping[int, bool], loss: RunLoss | None) -> None:
        self._rows, self._loss = rows, loss
        self._discarded = [annotated.get(number, bool(row.discarded)) for number, row in enumerate(rows)]
        self._has_moments = any(self._discarded[number] != bool(rows[number].discarded) for number in annotated)
        self._waiting: dict[tuple[object, ...], _Waiting] = {}
        self._sizes: dict[tuple[object, ...], int] = defaultdict(int)
        self.vocabulary, self.word_rows = WordNumbers(), WordRows(len(rows))
        self.totals: dict[StepOfLaunch, _StepTotals] = {}
        self.values: dict[str, Floats] = {name: np.full(len(rows), np.nan) for name in token_metrics()}
        self.unread = 0

    def add(self, number: int, sample: SampleTokens | Problem) -> None:
        """Add the tokens of a row."""
        if isinstance(sample, Problem):
            self.unread += 1
            return
        if not sample.series or not sample.total:
            return
        sample = first_tokens(sample)
        row = self._rows[number]
        advantage = row.advantage if sample.advantage is None else sample.advantage
        place = self._discarded[number], row.split, row.step, row.launch
        alike = (*place, advantage is None, sample.derived, *sample.series)
        waiting = self._waiting.setdefault(alike, _Waiting([], [], []))
        waiting.rows.append(number)
        waiting.samples.append(sample)
        waiting.advantages.append(advantage)
        self._sizes[alike] += sample.total
        if self._sizes[alike] >= BATCH_TOKENS:
            self._flush(alike)

    def finish(self) -> None:
        """Take in all tokens that wait."""
        for alike in list(self._waiting):
            self._flush(alike)

    def _flush(self, alike: tuple[object, ...]) -> None:
        waiting = self._waiting.pop(alike)
        del self._sizes[alike]
        batch = TokenBatch(*waiting, self._loss)
        if not len(batch):
            return
        row = self._rows[waiting.rows[0]]
        words = self.vocabulary.numbers_of(batch)
        key = (row.split, row.step, row.launch)
        of_step = self.totals.setdefault(key, _StepTotals(self._loss, has_moments=self._has_moments))
        if not self._discarded[waiting.rows[0]]:
            of_step.add(batch, words)
        self.word_rows.add(batch, words)
        for name, metric in token_metrics().items():
            if metric.of_tokens is not None:
                values: Floats = np.asarray(self.values[name])
                values[batch.rows] = metric.of_tokens(batch)


def _table(totals: dict[StepOfLaunch, _StepTotals], vocabulary: WordNumbers) -> pa.Table:
    """A row for each series and step; before them, for each step, a row without a series."""
    rows = [(*step, name, totals_of) for step, of in totals.items() for name, totals_of in of.rows().items()]
    histograms = [totals_of.histogram().packed() for *_, totals_of in rows]
    positions = [totals[split, step, launch].positions[name].packed() for split, step, launch, name, _ in rows]
    columns = {
        "split": pa.array([split for split, *_ in rows], parts.WORD),
        "step": pa.array([step for _, step, *_ in rows], pa.int64()),
        "launch": pa.array([launch for _, _, launch, *_ in rows], pa.int32()),
        "series": pa.array([name for *_, name, _ in rows], parts.WORD),
        "origin": pa.array([totals_of.origin for *_, totals_of in rows], parts.WORD),
        **{name: pa.array([getattr(totals_of, name) for *_, totals_of in rows], pa.int64()) for name in COUNTS},
        **{name: pa.array([getattr(totals_of, name) for *_, totals_of in rows], pa.float64()) for name in SUMS},
        "buckets": pa.array([buckets for buckets, _ in histograms], pa.binary()),
        "counts": pa.array([counts for _, counts in histograms], pa.binary()),
        "position_counts": pa.array([counts for counts, _ in positions], pa.binary()),
        "position_totals": pa.array([total for _, total in positions], pa.binary()),
    }
    of_steps = [totals[split, step, launch] if name == WHOLE_STEP else None for split, step, launch, name, _ in rows]
    columns |= {
        "words": pa.array(
            [totals_of and words.packed_words(totals_of.words.kept(vocabulary)) for totals_of in of_steps], pa.binary()
        ),
        "masked": pa.array(
            [totals_of and msgspec.msgpack.encode(totals_of.masked) for totals_of in of_steps], pa.binary()
        ),
    }
    for number, name in enumerate(KEPT):
        kept = [totals_of.kept[number].packed() for *_, totals_of in rows]
        columns[name] = pa.array(kept, pa.binary())
    return pa.table(columns)


COUNTS = ("tokens", "infinite", "samples")
SUMS = ("total", "mean_total", "low", "high", "spread")

TOKENS = kind.SegmentKind("tokens", VERSION, ENDING, "tokens", _is_written, _write, [tokens_file_of, words_file_of])
