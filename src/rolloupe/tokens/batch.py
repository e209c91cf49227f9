"""The tokens of many samples as flat arrays, so that a pass over a run pays for tokens and not for samples."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.model import RunLoss
from rolloupe.tokens.applicable import loss_inputs, mask_rules
from rolloupe.tokens.arrays import MASKS, Floats, counts
from rolloupe.tokens.complete import MASK, SampleSeries, completed, trained
from rolloupe.tokens.loss_inputs import Flags, LossInputs
from rolloupe.tokens.sample_tokens import SampleTokens

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
        found: Sequence[SampleTokens],
        advantages: Sequence[float | None],
        loss: RunLoss | None = None,
    ) -> None:
        self._loss = loss
        names = list(found[0].series)
        firsts = np.array([_empty_beginning(one.series) for one in found], np.int64)
        lengths = np.array([one.total for one in found], np.int64) - firsts
        some = [(one.series, first) for one, first in zip(found, firsts.tolist(), strict=True)]
        flat = {name: np.concatenate([series[name][first:] for series, first in some]) for name in names}
        ends = np.cumsum(lengths)
        samples = np.repeat(np.arange(len(found)), lengths)
        places = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths - firsts, lengths)
        kept = _with_values(flat)
        if kept is not None:
            flat = {name: values.take(kept) for name, values in flat.items()}
            samples, places = samples.take(kept), places.take(kept)
        has_tokens = np.bincount(samples, minlength=len(found)) > 0
        self.rows: Numbers = np.array(rows, np.int64)[has_tokens]
        self._found = [one for one, has in zip(found, has_tokens.tolist(), strict=True) if has]
        self.samples: Numbers = (np.cumsum(has_tokens) - 1)[samples] if not has_tokens.all() else samples
        self.places: Numbers = places
        self.starts: Numbers = np.flatnonzero(np.diff(self.samples, prepend=-1))
        given = [one for one, has in zip(advantages, has_tokens.tolist(), strict=True) if has]
        advantage = None if not given or given[0] is None else np.array(given, np.float64)[self.samples]
        derived = found[0].derived
        self.all = completed(flat, [name for name in names if name not in derived], advantage, self.starts)
        self._reduced: dict[str, Reduced] = {}

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def series(self) -> Mapping[str, SampleSeries]:
        """The series with statistics, by name: all but masks."""
        shown = (one for one in self.all if one.name not in MASKS)
        return {one.name: one for one in shown}

    @cached_property
    def ids(self) -> Numbers | None:
        """The id of each token, -1 for an unknown one; None if no record holds ids."""
        if all(one.ids is None for one in self._found):
            return None
        return self._picked([_padded(one) for one in self._found])

    @cached_property
    def trained(self) -> Flags:
        """Which tokens count."""
        return trained({one.name: one.values for one in self.all if one.origin != "difference"})

    @cached_property
    def positions(self) -> Numbers:
        """How many trained tokens of its sample precede each token."""
        before: Numbers = np.cumsum(self.trained) - self.trained
        found: Numbers = before - before[self.starts][self.samples]
        return found

    @cached_property
    def loss_inputs(self) -> LossInputs | None:
        """What a loss sees of the tokens; None without logprobs or without advantages."""
        mask = [one for one in self.all if one.name == MASK]
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
        return any(one.strings for one in self._found)

    def strings(self) -> list[str | None]:
        """The string of each token."""
        return [self.string(token) for token in range(len(self))]

    def string(self, token: int) -> str | None:
        """The string of a token of the batch; None if its record holds none."""
        one = self._found[self.samples[token]]
        at = int(self.places[token]) - (one.total - len(one.strings))
        return one.strings[at] if one.strings and at >= 0 else None

    def reduced(self, name: str) -> Reduced:
        """A series, sample by sample."""
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

    def _picked(self, arrays: Sequence[Numbers]) -> Numbers:
        """The values of the tokens of the batch, from an array of each sample."""
        first = np.cumsum([0, *map(len, arrays)])[:-1]
        picked: Numbers = np.concatenate(arrays)[first[self.samples] + self.places]
        return picked


def _empty_beginning(series: Mapping[str, Floats]) -> int:
    """How many tokens before the first trained one, such as a prompt, have no value: all of them, or 0."""
    first = int(counts(series[MASK]).argmax()) if MASK in series else 0
    others = (values for name, values in series.items() if name not in MASKS)
    return first if all(np.isnan(values[:first]).all() for values in others) else 0


def _with_values(flat: Mapping[str, Floats]) -> Numbers | None:
    """The places of the tokens that are trained or have a value in some series; None if all are such."""
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


def _padded(one: SampleTokens) -> Numbers:
    ids = np.full(one.total, -1, np.int64)
    if one.ids is not None:
        ids[: len(one.ids)] = one.ids[: one.total]
    return ids
