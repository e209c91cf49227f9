"""The tokens of a sample as arrays, and of many samples as flat arrays, which make passes cheap."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.model import RunLoss, Sample, TokenSeries
from rolloupe.tokens.arrays import MASK, MASKS, Flags, Floats, T, beside, counts, mask_of, packed, under_mask
from rolloupe.tokens.losses import LossInputs, loss_inputs, mask_rules
from rolloupe.tokens.series import SampleSeries, completed, trained

MAX_TOKENS = 2**21
"""The most tokens of one sample that are read: compression lets a file of a kilobyte claim millions."""

MAX_VALUES = 2**24
"""The most values in all recorded series of one sample: with many series, fewer tokens are read."""


def most_tokens(series: int) -> int:
    """Return how many tokens of a sample are read, given the number of its series."""
    return min(MAX_TOKENS, MAX_VALUES // max(1, series))


class SampleTokens(NamedTuple):
    """The token series of a sample that its record holds, each of shape (T,) with NaN for a token without a value."""

    total: int
    """T."""
    series: Mapping[str, Floats]
    derived: frozenset[str] = frozenset()
    """The series that the format computed."""
    ids: NDArray[np.int64] | None = None
    """The ids of the first tokens; None if the record holds none."""
    strings: Sequence[str] = ()
    """The strings of the last tokens."""
    advantage: float | None = None
    """The advantage of the sample; None means the advantage of its row."""


def hide_masked(series: Sequence[TokenSeries], masks: Sequence[str] = MASKS) -> None:
    """Blank the values of series where their mask, the first one present, is 0; `stored` keeps all values.

    A token that was not sampled, or padding, has no meaningful logprob.
    """
    mask = mask_of({known.name: np.array(known.values) for known in series if known.name in masks}, masks)
    for shown in series:
        if mask is not None and shown.name not in MASKS:
            stored = np.array(shown.values if shown.stored is None else shown.stored)
            values = under_mask(np.array(shown.values), mask)
            shown.stored, shown.values = beside(stored, values), packed(values)


def token_count(sample: Sample) -> int:
    """Return the number of tokens that the ids, the strings and the series of a sample show."""
    ends = (series.offset + len(series.values) for series in sample.series)
    return max(len(sample.token_ids), len(sample.token_strings), *ends, 0)


def cut_tokens(sample: Sample) -> None:
    """Leave out the tokens beyond the limit, with a note."""
    total, most = token_count(sample), most_tokens(len(sample.series))
    if total <= most:
        return
    sample.notes.append(f"the record holds {total:,} tokens: the first {most:,} are shown")
    sample.unread_tokens = total - most
    sample.token_ids = sample.token_ids[:most]
    sample.token_strings = _of_last(sample.token_strings, total, most)
    sample.top_logprobs = _of_last(sample.top_logprobs, total, most)
    sample.series = [series for series in sample.series if series.offset < most]
    for series in sample.series:
        series.values = series.values[: most - series.offset]
        series.stored = None if series.stored is None else series.stored[: most - series.offset]


def first_tokens(tokens: SampleTokens) -> SampleTokens:
    """Return the tokens of a sample up to the limit."""
    most = most_tokens(len(tokens.series))
    if tokens.total <= most:
        return tokens
    return tokens._replace(
        total=most,
        series={name: values[:most] for name, values in tokens.series.items()},
        ids=None if tokens.ids is None else tokens.ids[:most],
        strings=_of_last(tokens.strings, tokens.total, most),
    )


def _of_last(some: Sequence[T], total: int, most: int) -> list[T]:
    """Cut a list, whose entries are for the last of `total` tokens, to those of the first `most` tokens."""
    return [*some[: max(0, most - (total - len(some)))]]


def tokens_of(sample: Sample) -> SampleTokens:
    """Return the tokens of a whole sample."""
    total = token_count(sample)
    return SampleTokens(
        total,
        {series.name: values_of(series, total) for series in sample.series},
        frozenset(series.name for series in sample.series if series.is_derived),
        np.array(sample.token_ids, np.int64) if sample.token_ids else None,
        sample.token_strings,
        sample.row.advantage,
    )


def values_of(series: TokenSeries, total: int) -> Floats:
    """Return the values of all tokens of a sample, NaN where the series has none."""
    values = np.full(total, np.nan)
    own = np.asarray(series.values)[: max(0, total - series.offset)]
    values[series.offset : series.offset + len(own)] = own
    return values


Numbers = NDArray[np.int64]


class Reduced(NamedTuple):
    """A series of a batch, sample by sample; each array has the shape (N,), N samples.

    Counts and sums are those of the finite values.
    """

    counts: Numbers
    sums: Floats
    minima: Floats
    """Of all values, infinite ones too; NaN for a sample without a value."""
    maxima: Floats
    is_full: bool = False
    """True if every token is known to have a finite value."""

    @property
    def is_constant(self) -> bool:
        """True if all tokens have one value."""
        return bool(self.minima.min() == self.maxima.max()) and self.is_full

    @property
    def means(self) -> Floats:
        """The mean of each sample, NaN for one without a value."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.sums / self.counts


class TokenBatch:
    """The tokens of some samples that have the same series, without tokens that have no value in any of them.

    `loss` is that of the run, if it is known. `rows` numbers the samples, `places` and `samples` the tokens: the place
    of each in its sample, and its sample within the batch.
    """

    def __init__(
        self,
        rows: Sequence[int],
        samples: Sequence[SampleTokens],
        advantages: Sequence[float | None],
        loss: RunLoss | None = None,
    ) -> None:
        self._loss = loss
        names = list(samples[0].series)
        firsts = np.array([_empty_beginning(sample.series) for sample in samples], np.int64)
        lengths = np.array([sample.total for sample in samples], np.int64) - firsts
        some = [(sample.series, first) for sample, first in zip(samples, firsts.tolist(), strict=True)]
        flat = {name: np.concatenate([series[name][first:] for series, first in some]) for name in names}
        ends = np.cumsum(lengths)
        numbers = np.repeat(np.arange(len(samples)), lengths)
        places = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths - firsts, lengths)
        kept = _with_values(flat)
        if kept is not None:
            flat = {name: values.take(kept) for name, values in flat.items()}
            numbers, places = numbers.take(kept), places.take(kept)
        has_tokens = np.bincount(numbers, minlength=len(samples)) > 0
        self.rows: Numbers = np.array(rows, np.int64)[has_tokens]
        self._samples = [samples[at] for at in np.flatnonzero(has_tokens).tolist()]
        self.samples: Numbers = (np.cumsum(has_tokens) - 1)[numbers] if not has_tokens.all() else numbers
        self.places: Numbers = places
        self.starts: Numbers = np.flatnonzero(np.diff(self.samples, prepend=-1))
        given = [advantages[at] for at in np.flatnonzero(has_tokens).tolist()]
        advantage = None if not given or given[0] is None else np.array(given, np.float64)[self.samples]
        derived = samples[0].derived
        self.all = completed(flat, [name for name in names if name not in derived], advantage, self.starts)
        self._reduced: dict[str, Reduced] = {}

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def series(self) -> Mapping[str, SampleSeries]:
        """The series with statistics, by name: all but masks."""
        return {series.name: series for series in self.all if series.name not in MASKS}

    @cached_property
    def ids(self) -> Numbers | None:
        """The id of each token, -1 for an unknown one; None if no record holds ids."""
        if all(sample.ids is None for sample in self._samples):
            return None
        first = np.cumsum([0, *(sample.total for sample in self._samples)])
        padded = np.full(first[-1], -1, np.int64)
        for start, sample in zip(first[:-1].tolist(), self._samples, strict=True):
            if sample.ids is not None:
                ids = sample.ids[: sample.total]
                padded[start : start + len(ids)] = ids
        picked: Numbers = padded[first[self.samples] + self.places]
        return picked

    @cached_property
    def trained(self) -> Flags:
        """Which tokens count."""
        return trained({series.name: series.values for series in self.all if series.origin != "difference"})

    @cached_property
    def positions(self) -> Numbers:
        """How many trained tokens of its sample precede each token."""
        before: Numbers = np.cumsum(self.trained) - self.trained
        found: Numbers = before - before[self.starts][self.samples]
        return found

    @cached_property
    def loss_inputs(self) -> LossInputs | None:
        """The inputs of a loss for the tokens; None without logprobs or without advantages."""
        mask = [series for series in self.all if series.name == MASK]
        return loss_inputs([*mask, *self.series.values()])

    @cached_property
    def masked_by_run(self) -> Flags | None:
        """The tokens that the rule of the run's loss takes out; None if that is unknown."""
        inputs, series = self.loss_inputs, list(self.series.values())
        if inputs is None or self._loss is None:
            return None
        rules = mask_rules(series, self._loss)
        if not rules or rules[0][0].name != self._loss.rule:
            return None
        rule, compared = rules[0]
        return rule.flags_of(self.series[compared].values, inputs.advantages, inputs.loss_mask).masked

    @property
    def has_strings(self) -> bool:
        """True if some record holds token strings."""
        return any(sample.strings for sample in self._samples)

    def strings(self) -> list[str | None]:
        """Return the string of each token."""
        return [self.string(token) for token in range(len(self))]

    def string(self, token: int) -> str | None:
        """Return the string of a token of the batch; None if its record holds none."""
        sample = self._samples[self.samples[token]]
        at = int(self.places[token]) - (sample.total - len(sample.strings))
        return sample.strings[at] if sample.strings and at >= 0 else None

    def reduced(self, name: str) -> Reduced:
        """Return a series, sample by sample."""
        if name not in self._reduced:
            self._reduced[name] = self._reduce(self.series[name].values)
        return self._reduced[name]

    def _reduce(self, values: Floats) -> Reduced:
        with np.errstate(all="ignore"):
            sums = np.add.reduceat(values, self.starts)
            if np.isfinite(sums).all():  # every value is finite then
                counts = np.diff(self.starts, append=len(values))
                ends = (np.minimum.reduceat(values, self.starts), np.maximum.reduceat(values, self.starts))
                return Reduced(counts, sums, *ends, is_full=True)
            finite = np.isfinite(values)
            return Reduced(
                np.add.reduceat(finite, self.starts, dtype=np.int64),
                np.add.reduceat(np.where(finite, values, 0.0), self.starts),
                np.fmin.reduceat(values, self.starts),
                np.fmax.reduceat(values, self.starts),
            )


def _empty_beginning(series: Mapping[str, Floats]) -> int:
    """Return how many tokens before the first trained one, such as a prompt, have no value: all of them, or 0."""
    first = int(counts(series[MASK]).argmax()) if MASK in series else 0
    others = (values for name, values in series.items() if name not in MASKS)
    return first if all(np.isnan(values[:first]).all() for values in others) else 0


def _with_values(flat: Mapping[str, Floats]) -> Numbers | None:
    """Return the places of the tokens that are trained or have a value in some series; None if that is all tokens."""
    empty: NDArray[np.bool_] | None = ~counts(flat[MASK]) if MASK in flat else None
    if empty is not None and not empty.any():
        return None
    for name, values in flat.items():
        if name in MASKS:
            continue
        missing = np.isnan(values)
        empty = missing if empty is None else np.logical_and(empty, missing, out=empty)
        if not empty.any():
            return None
    return None if empty is None else np.flatnonzero(~empty)
