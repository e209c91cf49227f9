"""Says what each part of the reward pays for: fits it among siblings on phrases and behaviours."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from rolloupe import query
from rolloupe.derive import METRICS, PREFIX
from rolloupe.features import BLOCK_SAMPLES, Floats, divided, feature_rows
from rolloupe.index import OpenRun
from rolloupe.insight.curves import counted
from rolloupe.insight.findings.phrase import pattern_of_phrase, phrases_in
from rolloupe.insight.findings.selection import ONE_LOOK, least_z, phrase_matrix
from rolloupe.insight.findings.trend import metrics_of
from rolloupe.insight.reward_components import fit as fits
from rolloupe.insight.reward_components.fit import REWARD, Features, Mask, PartValues, Term
from rolloupe.query import run_features
from rolloupe.query.run_features import FeaturePieces, FeatureWindow, Hashes, SampleWords
from rolloupe.questions import PartQuery


class PartTerm(Struct, frozen=True, kw_only=True):
    """One summand of a formula: `weight` times `words`."""

    words: str
    """Such as `has “<answer>”` or `min(uses of “check”, 6)`."""
    weight: float
    share: float
    """The share of the part's variance that it explains beside the terms before it, in the groups it was chosen on."""
    phrase: str = ""
    """In lower case, `#` for a number; empty for a behaviour."""
    behaviour: str = ""
    """The derived metric, such as `derived.repeated_sentences`; empty for a phrase."""
    pattern: str = ""
    """A regular expression that finds the phrase, whatever its case; empty for a behaviour."""
    where: str = ""
    """A filter that lists the samples with the behaviour; empty for a phrase, which a search finds."""


class RewardPart(Struct, frozen=True, kw_only=True):
    """A part of the reward, and the features of texts that explain it among siblings."""

    name: str
    """The sample metric; `reward` for a reward without parts; `the rest of the reward` for what no part explains."""
    text: str
    """The formula with its R², or the reason why it has none."""
    terms: list[PartTerm] = []
    r2: float | None = None
    """The share of the variance among siblings that the formula explains, in groups that it was not chosen on; None
    if the part varies in too few groups, or in none."""
    spread: float = 0.0
    """The standard deviation among siblings."""
    groups: int = 0
    """The number of groups where it varies."""


class RunParts(Struct, frozen=True, kw_only=True):
    """The parts of the reward in a window of a run."""

    parts: list[RewardPart]
    """Those best explained first."""
    whole: str
    """Such as `reward = correct + format`; empty if the parts do not add up to the reward."""
    split: str
    env: str | None
    step_min: int | None
    step_max: int | None
    samples: int
    """The number of samples whose words were read."""
    pending: int
    """How many samples of the steps the index has not reached."""
    note: str
    """Says in sentences which parts the reward has, and which samples they were fitted to."""


REST = "the rest of the reward"
"""The name of what recorded parts leave of the reward."""

CANCELS = "what its parts pay for cancels out, or does not count, and nothing is learned from it"
PAYS_NOTHING = "it pays for nothing"


def term_words(form: str, *, phrase: str = "", behaviour: str = "") -> str:
    """Return the words for a phrase, or the label of a behaviour, in a form of `fit.FORMS`."""
    what = behaviour[:1].lower() + behaviour[1:] or f"“{phrase}”"
    if form == "has":
        return f"has {what}"
    count = what if behaviour else f"uses of {what}"
    if form == "uses":
        return count
    return f"log2(1 + {count})" if form == "log" else f"min({count}, {form})"


def formula_of(name: str, terms: Sequence[PartTerm], r2: float) -> str:
    """Return a formula with its R²."""
    formula = ""
    for nth, term in enumerate(terms):
        words = term.words if term.words.endswith(")") else f"({term.words})"
        sign = "-" if term.weight < 0 else "+"
        formula += (f" {sign} " if nth else sign.removeprefix("+")) + f"{abs(term.weight):.2g}·{words}"
    return f"{name} = {formula}; R² {r2:.2f}"


def sum_of(weights: dict[str, float]) -> str:
    """Return the sum of parts that makes the reward."""
    words = ""
    for name, weight in weights.items():
        summand = name if abs(abs(weight) - 1) < 5e-3 else f"{abs(weight):.2g}·{name}"
        words += f" {'-' if weight < 0 else '+'} {summand}"
    return f"reward ={words.removeprefix(' +')}"


MOST_PHRASES = 60

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
        every = [fits.values_of(run, of, name) for name in names] if of.size else []
        self._is_level = bool(of.grouping.sizes.max(initial=0) > 1) and not of.rewards.any()
        """True if siblings always have the same reward."""
        self._rewards = run_features.sample_rewards(run, run.snapshot(), of) if self._is_level else of.rewards
        self._every = self._summands(every) or every or ([fits.reward_of(of)] if of.size else [])
        self._names = [part.name for part in self._every] if every else []
        self._copies = [part.name for part in self._every if part.name != REWARD and self._is_whole(part)]
        """The names of parts that are the reward as a whole."""
        rest = self._rest(every)
        self._has_rest = rest is not None
        self._every += [rest] if rest else []

    def _is_whole(self, part: PartValues) -> bool:
        if self._is_level:
            return bool(np.allclose(part.values, self._rewards))
        return bool(part.centred.any()) and bool(np.allclose(part.centred, self._rewards))

    def _summands(self, every: Sequence[PartValues]) -> list[PartValues]:
        """Return the parts that make the reward, and those that never vary; none if they do not make it."""
        others = [part for part in every if not self._is_whole(part)]
        varied = _varied(others)
        if len(varied) < 2 or not self._of.rewards.any():
            return []
        weights, missed, rank = self._weighed(varied)
        if rank < len(varied) or self._is_much(missed):
            return []
        by_name = {part.name: weight for part, weight in zip(varied, weights.tolist(), strict=True)}
        self.whole = sum_of({name: weight for name, weight in by_name.items() if abs(weight) >= TINY_WEIGHT})
        return [part for part in others if abs(by_name.get(part.name, 1.0)) >= TINY_WEIGHT]

    def _weighed(self, varied: Sequence[PartValues]) -> tuple[Floats, Floats, int]:
        """Return the weights of parts in the reward, what they leave of it, and how many of them are independent."""
        x = np.stack([part.centred for part in varied], axis=1)
        solution, _, rank, _ = np.linalg.lstsq(x, self._of.rewards, rcond=1e-9)
        weights = solution.astype(np.float64)
        return weights, self._of.rewards - x @ weights, int(rank)

    def _is_much(self, missed: Floats) -> bool:
        return bool(missed @ missed > (1 - EXACT) * (self._of.rewards @ self._of.rewards))

    def _rest(self, every: Sequence[PartValues]) -> PartValues | None:
        """Return what recorded parts leave of the reward, if it is much."""
        varied = [] if self.whole else _varied([part for part in every if not self._is_whole(part)])
        missed = self._weighed(varied)[1] if varied else None
        if missed is None or not self._is_much(missed):
            return None
        return fits.reward_of(self._of)._replace(name=REST, values=missed, centred=missed)

    def parts(self) -> list[RewardPart]:
        """Return each part with its formula, the best explained first; then those without a formula."""
        fitted, others = [], []
        features = None
        for part in self._every:
            if self._is_enough(part):
                counts = [*self._counts, *self._behaviours.values()]
                features = features or Features(counts, self._chosen, self._of.grouping)
                fitted.append(self._fit(features, part))
            else:
                others.append(self._unvaried(part))
        return sorted(fitted, key=lambda part: -(part.r2 or 0)) + others

    def _is_enough(self, part: PartValues) -> bool:
        varies = part.groups(self._of.grouping)
        return bool(min(varies[::2].sum(), varies[1::2].sum()) >= MIN_GROUPS)

    @cached_property
    def _chosen(self) -> Mask:
        """True for the samples of every second group, on which terms are chosen."""
        chosen: Mask = (np.arange(len(self._of.grouping)) % 2 == 0)[self._of.grouping.numbers]
        return chosen

    @cached_property
    def _behaviours(self) -> dict[str, Floats]:
        """The values of the behaviours that some sample has."""
        every = {name: np.nan_to_num(2**x - 1) for name, x in self._of.behaviours.items()}
        return {name: values for name, values in every.items() if values.any()}

    @cached_property
    def _phrases(self) -> tuple[Hashes, int]:
        """The phrases that go with a part in the chosen half, and how many features were tested."""
        of = self._of
        own = self._chosen & (np.cumsum(self._chosen) <= BLOCK_SAMPLES)
        chosen = of.at(own)
        enough = [part.centred[own] for part in self._every if self._is_enough(part)]
        hashes, tested = [of.words[:0]], 0
        for pair in (enough[at : at + 2] for at in range(0, len(enough), 2)):
            rows = feature_rows(chosen.words, chosen.samples, pair[0], pair[-1], chosen.grouping)
            tested = max(tested, len(rows.hashes))
            ranks = (np.argsort(-divided(sums**2, rows.d), kind="stable") for sums in (rows.s, rows.r))
            hashes += [rows.hashes[rank[:MOST_PHRASES]] for rank in ranks]
        return np.unique(np.concatenate(hashes)), tested + len(self._behaviours)

    @cached_property
    def _counts(self) -> Floats:
        """How often each sample has each phrase, shape (C, N)."""
        counts: Floats = 2 ** phrase_matrix(self._of, self._phrases[0]).T - 1
        return counts

    def _fit(self, features: Features, part: PartValues) -> RewardPart:
        hashes, tested = self._phrases
        phrases: dict[int, str] = {}

        def rank(number: int) -> tuple[bool, int, str]:
            phrase = phrases[number]
            return not any(map(str.isalnum, phrase)), len(phrase.split()), phrase

        def shortest(alike: Sequence[int]) -> int:
            behaviours = [number for number in alike if number >= len(hashes)]
            if behaviours:
                return behaviours[0]
            phrases.update(self._worded(alike))
            return min(alike, key=rank)

        fit = fits.fit_of(features, part, least_z(tested), shortest)
        terms: list[PartTerm] = []
        text = f"{part.name}: no phrase and no behaviour explains it (R² {fit.r2:.2f})"
        if fit.terms and fit.r2 >= MIN_R2:
            phrases |= self._worded([term.feature for term in fit.terms if term.feature < len(hashes)])
            pairs = zip(fit.terms, fit.weights.tolist(), strict=True)
            terms = [self._term(term, weight, phrases.get(term.feature, "")) for term, weight in pairs]
            text = formula_of(part.name, terms, fit.r2)
        spread, groups = part.spread(self._of.grouping), int(part.groups(self._of.grouping).sum())
        return RewardPart(name=part.name, text=text, terms=terms, r2=fit.r2, spread=spread, groups=groups)

    def _term(self, term: Term, weight: float, phrase: str) -> PartTerm:
        place, share = term.feature - len(self._phrases[0]), term.share
        if place < 0:
            words, pattern = term_words(term.form.name, phrase=phrase), pattern_of_phrase(phrase)
            return PartTerm(words=words, weight=weight, share=share, phrase=phrase, pattern=pattern)
        name = list(self._behaviours)[place]
        words, column = term_words(term.form.name, behaviour=METRICS[name].label), f"{PREFIX}{name}"
        return PartTerm(words=words, weight=weight, share=share, behaviour=column, where=f"{column} > 0")

    def _worded(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the phrases with these numbers, in the words of samples that have them."""
        worded: dict[int, str] = {}
        left = list(numbers)
        while left:
            sample = int(np.argmax((self._counts[left] > 0).sum(axis=0)))
            text = run_features.response_of(self._run, self._of, sample)
            words = phrases_in(text, self._phrases[0][left])
            here = {number: words[own] for number in left if (own := int(self._phrases[0][number])) in words}
            worded |= here or dict.fromkeys(left, "")
            left = [number for number in left if number not in worded]
        return worded

    def _unvaried(self, part: PartValues) -> RewardPart:
        """Return a part without a formula, with the reason."""
        name, grouping = part.name, self._of.grouping
        groups = int(part.groups(grouping).sum())
        has = np.isfinite(part.values)
        values = part.values[has]
        partial = int((grouping.sums((has & ~part.known).astype(np.float64)) > 0).sum())
        if not len(values):
            text = f"{name}: no sample here has it"
        elif grouping.sizes.max() == 1:
            text = f"{name}: each sample is alone in its group, without siblings"
        elif values.min() == values.max():
            text = f"{name} is always {values[0]:.4g}" if name != REWARD else f"{name} never differs among siblings"
        elif partial:
            known = f"differs among those of {groups:,}" if groups else "differs in no other"
            some = f"{name} is recorded for only some siblings of {counted(partial, 'group')}"
            text = f"{some}, and {known}: too few for a formula"
        elif not groups:
            text = f"{name} differs between groups, but never among siblings"
        else:
            text = f"{name} differs among the siblings of {counted(groups, 'group')} only, too few for a formula"
        return RewardPart(name=name, text=text, spread=part.spread(grouping), groups=groups)

    def note(self, pieces: FeaturePieces, discarded: str, *, is_fitted: bool) -> str:
        """Return the note of `RunParts`; `discarded` says that not all samples were trained on."""
        if not pieces.samples:
            return "There is no sample in these steps."
        if not self._of.size:
            waits = f": {pieces.pending:,} wait for the index" if pieces.pending else ""
            return f"No sample with a reward is indexed{waits}."
        names = [name for name in self._names if name not in self._copies]
        if not self._names:
            own = "The run records the reward as one number without parts."
        elif len(self._names) == 1 and not self._has_rest:
            own = f"The reward has one part only, {self._names[0]}."
        else:
            makes = f"; among siblings, {self.whole}" if self.whole else ""
            own = f"The reward has {len(names)} parts{makes}."
            if len(names) == 1:
                own = f"The reward has one part, {names[0]}."
            own += f" No metric records {REST}." if self._has_rest else ""
            own += "".join(f" {name} is the reward as a whole." for name in self._copies)
        if self._is_level:
            own += f" Siblings always have the same reward: {CANCELS if is_fitted else PAYS_NOTHING}."
        if not is_fitted:
            return own
        return (
            f"{own} Fitted to the differences among siblings of {self._of.size:,} samples; R² is measured in other "
            f"groups than those that the terms were chosen in. {discarded}"
        ).rstrip()


def _varied(parts: Sequence[PartValues]) -> list[PartValues]:
    """Return the parts that every sample has, and that differ among siblings."""
    return [part for part in parts if part.known.all() and part.centred.any()]


WHOLE_RUN = PartQuery()


def parts(run: OpenRun, asked: PartQuery = WHOLE_RUN) -> RunParts:
    """Fit every part of the reward in a window. Raises `NotFound` for an unknown split."""
    with ONE_LOOK:
        snapshot = run.snapshot()
        split = asked.split or next((summary.name for summary in query.splits(run, quick=True)), "train")
        window = FeatureWindow(split, asked.step_min, asked.step_max, asked.env)
        pieces = run_features.feature_pieces(snapshot, window)
        of = fits.some_groups(run_features.sample_words(run, window, pieces))
        formulas = PartFormulas(run, of, fits.parts_of(run, metrics_of(snapshot, split)))
        fitted = formulas.parts()
        discarded = query.discarded_among(run, split, asked.step_min, asked.step_max)
        return RunParts(
            parts=fitted, whole=formulas.whole, split=split, env=asked.env, step_min=asked.step_min,
            step_max=asked.step_max, samples=of.size, pending=pieces.pending,
            note=formulas.note(pieces, discarded, is_fitted=any(part.r2 is not None for part in fitted)),
        )  # fmt: skip
