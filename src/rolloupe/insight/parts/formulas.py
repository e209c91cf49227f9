"""The formulas of the parts of a reward, and their words."""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from rolloupe import query
from rolloupe.derive import METRICS, PREFIX
from rolloupe.features import BLOCK_SAMPLES, Floats, Grouping, divided, feature_rows
from rolloupe.index import OpenRun
from rolloupe.insight.findings.candidates import least_z
from rolloupe.insight.findings.matrix import phrase_matrix
from rolloupe.insight.findings.phrase import pattern_of_phrase, phrases_in
from rolloupe.insight.parts.fit import Features, Mask, Term, fit_of
from rolloupe.insight.parts.records import PartTerm, RewardPart
from rolloupe.insight.parts.samples import REWARD, PartValues, reward_of, values_of
from rolloupe.query import FeaturePieces, Hashes, SampleWords

REST = "the rest of the reward"
"""What the parts that a run records leave of its reward."""

CANCELS = "what its parts pay for cancels out, or does not count, and nothing is learned from it"
PAYS_NOTHING = "it pays for nothing"


def term_words(form: str, *, phrase: str = "", behaviour: str = "") -> str:
    """A feature in a form of `fit.FORMS`, as a formula has it: a phrase, or the label of a behaviour."""
    what = behaviour[:1].lower() + behaviour[1:] or f"“{phrase}”"
    if form == "has":
        return f"has {what}"
    count = what if behaviour else f"uses of {what}"
    if form == "uses":
        return count
    return f"log2(1 + {count})" if form == "log" else f"min({count}, {form})"


def formula_of(name: str, terms: Sequence[PartTerm], r2: float) -> str:
    """A formula with its R²."""
    summands = [f"{abs(one.weight):.2g}·{_bracketed(one.words)}" for one in terms]
    signs = ["-" if one.weight < 0 else "+" for one in terms]
    first = ("-" if terms[0].weight < 0 else "") + summands[0]
    rest = "".join(f" {sign} {one}" for sign, one in zip(signs[1:], summands[1:], strict=True))
    return f"{name} = {first}{rest}; R² {r2:.2f}"


def _bracketed(words: str) -> str:
    return words if words.endswith(")") else f"({words})"


def unexplained(name: str, r2: float) -> str:
    """Says that no formula explains a part."""
    return f"{name}: no phrase and no behaviour explains it (R² {r2:.2f})"


def sum_of(weights: dict[str, float]) -> str:
    """Says of which parts the reward is made."""
    summands = [name if abs(abs(one) - 1) < 5e-3 else f"{abs(one):.2g}·{name}" for name, one in weights.items()]
    signs = [" - " if one < 0 else " + " for one in weights.values()]
    return "reward =" + "".join(sign + one for sign, one in zip(signs, summands, strict=True)).removeprefix(" +")


def unvaried(name: str, values: Floats, groups: int, partial: int, grouping: Grouping) -> str:
    """Says why there is no formula for a part, which `partial` of the groups have for some siblings only."""
    if not len(values):
        return f"{name}: no sample here has it"
    if grouping.sizes.max() == 1:
        return f"{name}: each sample is alone in its group, without siblings"
    if values.min() == values.max():
        return f"{name} is always {values[0]:.4g}" if name != REWARD else f"{name} never differs among siblings"
    if partial:
        known = f"differs among those of {groups:,}" if groups else "differs in no other"
        return f"{name} is recorded for only some siblings of {counted(partial)}, and {known}: too few for a formula"
    if not groups:
        return f"{name} differs between groups, but never among siblings"
    return f"{name} differs among the siblings of {counted(groups)} only, too few for a formula"


def counted(groups: int) -> str:
    """`1 group`, `2 groups`."""
    return f"{groups:,} group{'s' * (groups != 1)}"


class Known(Protocol):
    """What is known of the parts."""

    names: list[str]
    copies: list[str]
    whole: str
    has_rest: bool
    is_level: bool


def note_of(known: Known, of: SampleWords, pieces: FeaturePieces, discarded: str, *, is_fitted: bool) -> str:
    """What was looked at, in a sentence or two; `discarded` says that not all of it was trained on."""
    if not pieces.samples:
        return "There is no sample in these steps."
    if not of.size:
        pending = pieces.pending
        waits = f": {pending:,} wait for the index" if pending else ""
        return f"No sample with a reward is indexed{waits}."
    count = len(known.names) - len(known.copies)
    if not known.names:
        own = "The run records the reward as one number without parts."
    elif len(known.names) == 1 and not known.has_rest:
        own = f"The reward has one part only, {known.names[0]}."
    else:
        makes = f"; among siblings, {known.whole}" if known.whole else ""
        parts = [name for name in known.names if name not in known.copies]
        own = f"The reward has one part, {parts[0]}." if count == 1 else f"The reward has {count} parts{makes}."
        own += f" No metric records {REST}." if known.has_rest else ""
        own += "".join(f" {name} is the reward as a whole." for name in known.copies)
    if known.is_level:
        own += f" Siblings always have the same reward: {CANCELS if is_fitted else PAYS_NOTHING}."
    if not is_fitted:
        return own
    return (
        f"{own} Fitted to the differences among siblings of {of.size:,} samples; R² is measured in other groups than "
        f"those that the terms were chosen in. {discarded}"
    ).rstrip()


MOST_PHRASES = 60
"""The most phrases to try for a part."""

MIN_GROUPS = 20
"""A part that varies in fewer groups of a half is not fitted."""

MIN_R2 = 0.05
"""A formula that explains less is not worth a line."""

EXACT = 0.999
"""Parts that explain this share of the reward's variance make the reward."""

TINY_WEIGHT = 1e-3


class PartFormulas:
    """The parts of the reward of some samples: `names` are the metrics that may be parts."""

    def __init__(self, run: OpenRun, of: SampleWords, names: Sequence[str]) -> None:
        self._run, self._of = run, of
        self.whole = ""
        """Such as `reward = correct + format`; empty if the parts do not make the reward."""
        every = [values_of(run, of, name) for name in names] if of.size else []
        self.is_level = bool(of.grouping.sizes.max(initial=0) > 1) and not of.rewards.any()
        """True if siblings always have the same reward."""
        self._rewards = query.sample_rewards(run, run.snapshot(), of) if self.is_level else of.rewards
        self._every = self._summands(every) or every or ([reward_of(of)] if of.size else [])
        self.names = [one.name for one in every if any(one is other for other in self._every)]
        self.copies = [one.name for one in self._every if one.name != REWARD and self._is_whole(one)]
        """The names that are the reward as a whole."""
        rest = None if self.whole else self._rest(every)
        self.has_rest = rest is not None
        self._every += [rest] if rest else []

    def _is_whole(self, part: PartValues) -> bool:
        if self.is_level:
            return bool(np.allclose(part.values, self._rewards))
        return bool(part.centred.any()) and bool(np.allclose(part.centred, self._rewards))

    def _summands(self, every: Sequence[PartValues]) -> list[PartValues]:
        """The parts that make the reward, and those that never vary; none if they do not make it."""
        others = [one for one in every if not self._is_whole(one)]
        varied = _varied(others)
        if len(varied) < 2 or not self._of.rewards.any():
            return []
        weights, missed, rank = self._weighed(varied)
        if rank < len(varied) or self._is_much(missed):
            return []
        known = {one.name: weight for one, weight in zip(varied, weights.tolist(), strict=True)}
        known = {name: weight for name, weight in known.items() if abs(weight) >= TINY_WEIGHT}
        self.whole = sum_of(known)
        return [one for one in others if one.name in known or not any(one is other for other in varied)]

    def _weighed(self, varied: Sequence[PartValues]) -> tuple[Floats, Floats, int]:
        """The weights of parts in the reward, what they leave of it, and how many of them are independent."""
        x = np.stack([one.centred for one in varied], axis=1)
        found, _, rank, _ = np.linalg.lstsq(x, self._of.rewards, rcond=1e-9)
        weights = found.astype(np.float64)
        return weights, self._of.rewards - x @ weights, int(rank)

    def _is_much(self, missed: Floats) -> bool:
        return bool(missed @ missed > (1 - EXACT) * (self._of.rewards @ self._of.rewards))

    def _rest(self, every: Sequence[PartValues]) -> PartValues | None:
        """What recorded parts leave of the reward, if it is much."""
        varied = _varied([one for one in every if not self._is_whole(one)])
        if not varied:
            return None
        missed = self._weighed(varied)[1]
        return reward_of(self._of)._replace(name=REST, values=missed, centred=missed) if self._is_much(missed) else None

    def parts(self) -> list[RewardPart]:
        """Each part with its formula, those best explained first; then those that have none."""
        fitted = [one for one in self._every if self._is_enough(one)]
        found = [self._fit(one) for one in fitted]
        rest = [self._unvaried(one) for one in self._every if not any(one is other for other in fitted)]
        return sorted(found, key=lambda one: -(one.r2 or 0)) + rest

    def _is_enough(self, part: PartValues) -> bool:
        varies = part.groups(self._of.grouping)
        return bool(min(varies[::2].sum(), varies[1::2].sum()) >= MIN_GROUPS)

    @cached_property
    def _chosen(self) -> Mask:
        """True for the samples of every second group."""
        chosen: Mask = (np.arange(len(self._of.grouping)) % 2 == 0)[self._of.grouping.numbers]
        return chosen

    @cached_property
    def _behaviours(self) -> dict[str, Floats]:
        """The behaviours that some sample has, by their values."""
        values = {name: np.nan_to_num(2**x - 1) for name, x in self._of.behaviours.items()}
        return {name: one for name, one in values.items() if one.any()}

    @cached_property
    def _phrases(self) -> tuple[Hashes, int]:
        """The phrases that go with a part in the half that terms are chosen on, and how many features were tested."""
        of = self._of
        own = self._chosen & (np.cumsum(self._chosen) <= BLOCK_SAMPLES)
        number, words = np.cumsum(own) - 1, own[of.samples]
        grouping = Grouping(of.grouping.numbers[own])
        some = [one.centred[own] for one in self._every if self._is_enough(one)]
        found, tested = [of.words[:0]], 0
        for pair in (some[at : at + 2] for at in range(0, len(some), 2)):
            rows = feature_rows(of.words[words], number[of.samples[words]], pair[0], pair[-1], grouping)
            tested = max(tested, len(rows.hashes))
            ranks = (np.argsort(-divided(sums**2, rows.d), kind="stable") for sums in (rows.s, rows.r))
            found += [rows.hashes[rank[:MOST_PHRASES]] for rank in ranks]
        return np.unique(np.concatenate(found)), tested + len(self._behaviours)

    @cached_property
    def _counts(self) -> Floats:
        """How often each sample has each phrase, shape (C, N)."""
        counts: Floats = 2 ** phrase_matrix(self._of, self._phrases[0]).T - 1
        return counts

    @cached_property
    def _features(self) -> Features:
        return Features([*self._counts, *self._behaviours.values()], self._chosen, self._of.grouping)

    def _fit(self, part: PartValues) -> RewardPart:
        hashes, tested = self._phrases
        phrases: dict[int, str] = {}

        def shortest(alike: Sequence[int]) -> int:
            named = [number for number in alike if number >= len(hashes)]
            if named:
                return named[0]
            phrases.update(self._worded(alike))
            return min(alike, key=lambda one: (not _speaks(phrases[one]), len(phrases[one].split()), phrases[one]))

        fit = fit_of(self._features, part, least_z(tested), shortest)
        spread, groups = part.spread(self._of.grouping), int(part.groups(self._of.grouping).sum())
        if not fit.terms or fit.r2 < MIN_R2:
            text = unexplained(part.name, fit.r2)
            return RewardPart(name=part.name, text=text, r2=fit.r2, spread=spread, groups=groups)
        phrases |= self._worded([one.feature for one in fit.terms if one.feature < len(hashes)])
        pairs = zip(fit.terms, fit.weights.tolist(), strict=True)
        terms = [self._term(one, weight, phrases.get(one.feature, "")) for one, weight in pairs]
        text = formula_of(part.name, terms, fit.r2)
        return RewardPart(name=part.name, text=text, terms=terms, r2=fit.r2, spread=spread, groups=groups)

    def _term(self, term: Term, weight: float, phrase: str) -> PartTerm:
        behind = term.feature - len(self._phrases[0])
        if behind < 0:
            words = term_words(term.form.name, phrase=phrase)
            pattern = pattern_of_phrase(phrase)
            return PartTerm(words=words, weight=weight, share=term.share, phrase=phrase, pattern=pattern)
        name = list(self._behaviours)[behind]
        words = term_words(term.form.name, behaviour=METRICS[name].label)
        column = f"{PREFIX}{name}"
        return PartTerm(words=words, weight=weight, share=term.share, behaviour=column, where=f"{column} > 0")

    def _worded(self, some: Sequence[int]) -> dict[int, str]:
        """The phrases at some places, in the words of samples that have them."""
        found: dict[int, str] = {}
        left = list(some)
        while left:
            sample = int(np.argmax((self._counts[left] > 0).sum(axis=0)))
            text = query.response_of(self._run, self._of, sample)
            words = phrases_in(text, self._phrases[0][left])
            here = {one: words[own] for one in left if (own := int(self._phrases[0][one])) in words}
            found |= here or dict.fromkeys(left, "")
            left = [one for one in left if one not in found]
        return found

    def _unvaried(self, part: PartValues) -> RewardPart:
        """A part that has no formula, and why."""
        groups = int(part.groups(self._of.grouping).sum())
        has = np.isfinite(part.values)
        partial = int((self._of.grouping.sums((has & ~part.known).astype(np.float64)) > 0).sum())
        text = unvaried(part.name, part.values[has], groups, partial, self._of.grouping)
        return RewardPart(name=part.name, text=text, spread=part.spread(self._of.grouping), groups=groups)


def _varied(some: Sequence[PartValues]) -> list[PartValues]:
    """The parts that every sample has, and that differ among siblings."""
    return [one for one in some if one.known.all() and one.centred.any()]


def _speaks(phrase: str) -> bool:
    """True for a phrase with a letter or a digit."""
    return any(one.isalnum() for one in phrase)
