"""Rules about samples: the data that they check, rules over columns and whole samples, and what lint returns."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import query, tokens
from rolloupe.derive import token_metrics
from rolloupe.features import Floats, Grouping
from rolloupe.index import Moments, OpenRun
from rolloupe.index.features import LARGEST
from rolloupe.insight.curves import UncheckedRule, counted, words_of
from rolloupe.model import Sample
from rolloupe.query import SampleQuery, text_rewards
from rolloupe.query.samples.pages import ASKED, GROUP, PROMPT, sample_arrays
from rolloupe.questions import LintQuery

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

COLUMNS = (
    "split", "step", "reward", "advantage", "status", "discarded", "env", "turns", "response_tokens", "response_chars",
    "derived.ends_with_eos", "cause",
)  # fmt: skip

RECORDED = ("sample_id", "sample_uid", "trajectory_id")
"""What records call the id of a sample, in formats that number samples by their place in the file."""

AFFINE = 1e-6
"""A correlation of advantage and reward this close to 1 differs from 1 only by rounding."""
MOST = 0.95
"""A law that this share of the groups follows is the trainer's."""
LEAST_GROUPS = 10


def alike(*keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each sample, the same for samples with the same keys; it ascends with the first key."""
    numbers = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        own = np.unique(key, return_inverse=True)[1]
        numbers = np.unique(numbers * (own.max(initial=0) + 1) + own, return_inverse=True)[1]
    return numbers


def evenly(places: Places, most: int) -> Places:
    """Return at most `most` of some places, at equal distances."""
    chosen: Places = places[np.unique(np.linspace(0, len(places) - 1, most).astype(np.intp))] if len(places) else places
    return chosen


def extremes(numbers: NDArray[np.int64], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the largest of the values with each number."""
    first = np.unique(numbers, return_index=True)[1]
    low, high = values[first], values[first]
    np.minimum.at(low, numbers, values)
    np.maximum.at(high, numbers, values)
    return low, high


class LintData:
    """The samples of a window, group by group: arrays of shape (N,)."""

    def __init__(self, run: OpenRun, asked: LintQuery, more: Sequence[str] = ()) -> None:
        """Read the columns that rules need, and more."""
        self.run, self.asked = run, asked
        splits = (asked.split,) if asked.split else ()
        scope = SampleQuery(splits=splits, step_min=asked.step_min, step_max=asked.step_max)
        ranges = [name for name, _, _ in run.info.metric_ranges if query.has_column(run, name)]
        self.policy = [name for name in (*query.LAGS, *query.POLICY_VERSIONS) if query.kind_of(run, name) == "metric"]
        self.reward_tags = text_rewards(run)
        self._tokens = [f"derived.{name}" for name in token_metrics()]
        self.recorded = [name for name in RECORDED if query.has_column(run, name)]
        columns = dict.fromkeys(
            (*COLUMNS, *ranges, *self.policy, *self.recorded, *self.reward_tags, *self._tokens, *more)
        )
        self.arrays = sample_arrays(run, scope, list(columns))
        self.ranged = ranges
        self.step = self.arrays.numbers("step")
        self.reward, self.advantage = self.arrays.numbers("reward"), self.arrays.numbers("advantage")
        self.turns, self.tokens = self.arrays.numbers("turns"), self.arrays.numbers("response_tokens")
        self.ends = self.arrays.numbers("derived.ends_with_eos")
        self.status, self.env, self.split = (self.arrays.words(name) for name in ("status", "env", "split"))
        self.cause = self.arrays.words("cause")
        self.chars = self.arrays.numbers("response_chars")
        self.has_text = self.chars > 0
        self.has_prompt = self.arrays.table[ASKED].to_numpy().astype(np.bool_)
        self.is_train = self.split == "train"
        self.trained = self.is_train & (self.arrays.words("discarded") == "")
        self.grouping = Grouping(self.hashes(GROUP))

    def __len__(self) -> int:
        return len(self.arrays)

    @property
    def has_tokens(self) -> Mask:
        """True for the samples with token series: they have a derived metric of these."""
        has: Mask = np.any([self.has_value(name) for name in self._tokens], axis=0)
        return has

    def has_value(self, name: str) -> Mask:
        """Return True for the samples with a value, finite or not."""
        values: Mask = self.arrays.table[name].is_valid().to_numpy().astype(np.bool_)
        return values

    def codes(self, name: str) -> NDArray[np.int64]:
        """Return a number for each value of a column, from 0 on, the same for equal values."""
        coded = self.arrays.table[name].combine_chunks().dictionary_encode("encode")
        codes: NDArray[np.int64] = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return codes

    def series(self) -> dict[tuple[str, int, str], Moments]:
        """Return the moments of token series by split, step and name."""
        low, high = self.asked.step_min, self.asked.step_max
        return {
            (split, step, name): moments
            for (split, step), stats in self.run.snapshot().steps.items()
            if self.asked.split in ("", split) and (low is None or step >= low) and (high is None or step <= high)
            for name, moments in stats.series.items()
        }

    @cached_property
    def groups(self) -> "GroupFacts":
        """The trained groups."""
        return GroupFacts(self)

    def prompts(self, places: Mask | Places) -> tuple[int, int]:
        """Return how many recorded prompts some samples have, and how many pairs of a prompt and a step."""
        own = np.arange(len(self))[places]
        own = own[self.has_prompt[own]]
        prompts = self.hashes(PROMPT)[own]
        return len(np.unique(prompts)), len(np.unique(alike(prompts, self.step[own].astype(np.int64))))

    def hashes(self, name: str) -> NDArray[np.int64]:
        """Return a column of hashes: `IDENTITY` of ids, `TEXT` of the ends of responses, `GROUP` of groups."""
        hashes = self.arrays.table[name].to_numpy().astype(np.uint64)
        numbers: NDArray[np.int64] = hashes.view(np.int64)
        return numbers


class GroupFacts:
    """Trained groups of `train`, and whether the trainer compares siblings: arrays of shape (G,).

    The trainer compares siblings in an environment if the advantages of nearly all its groups of three or more are a
    linear function of their rewards: then a group that breaks this law is wrong.
    """

    def __init__(self, data: LintData) -> None:
        self._grouping, self._data = data.grouping, data
        counts = data.trained & (np.abs(data.reward) < LARGEST) & (np.abs(data.advantage) < LARGEST)
        self.counts = counts
        self.sizes = self._sums(counts)
        rewards, advantages = self._gaps(data.reward), self._gaps(data.advantage)
        self.reward_squares, self.advantage_squares = self._sums(rewards**2), self._sums(advantages**2)
        with np.errstate(all="ignore"):
            both = self._sums(rewards * advantages)
            self.correlation = both / np.sqrt(self.reward_squares * self.advantage_squares)
        scale = float(np.max(np.abs(data.reward[counts]), initial=0))
        self.differ = self.reward_squares > (1e-9 * scale) ** 2 * np.maximum(self.sizes, 1)
        self.moves = self.advantage_squares > 1e-18

    @cached_property
    def follow(self) -> Mask:
        """True for groups whose environment compares siblings."""
        return self._law(np.abs(np.abs(self.correlation) - 1) < AFFINE)

    @cached_property
    def means(self) -> Floats:
        """The mean advantage of each group, as a share of the greatest advantage."""
        data = self._data
        largest = float(np.max(np.abs(data.advantage[self.counts]), initial=0)) or 1.0
        sums = self._sums(np.where(self.counts, data.advantage, 0.0))
        return sums / np.maximum(self.sizes, 1) / largest

    def centred(self, within: float) -> Mask:
        """Return True for groups whose environment centres the advantages of a group."""
        return self.follow & self._law(np.abs(self.means) <= within)

    def members(self, groups: Mask) -> Mask:
        """Return the trained samples of some groups."""
        members: Mask = groups[self._grouping.numbers] & self.counts
        return members

    def whole(self) -> Mask:
        """Return True for groups whose samples are all trained on."""
        are_whole: Mask = self.sizes == self._grouping.sizes
        return are_whole

    def _law(self, obeys: Mask) -> Mask:
        """Return True for groups of the environments in which most of the groups that can show the law obey it."""
        tells = self.differ & (self.sizes >= 3)
        of_env = self._data.env[self._grouping.starts]
        follow = np.zeros(len(self._grouping), np.bool_)
        for env in {*of_env.tolist()}:
            own = of_env == env
            if (own & tells).sum() >= LEAST_GROUPS and obeys[own & tells].mean() >= MOST:
                follow |= own
        return follow

    def _gaps(self, values: Floats) -> Floats:
        """Return values less the mean of those that count in their group; 0 for the others."""
        own = np.where(self.counts, values, 0.0)
        means = self._sums(own) / np.maximum(self.sizes, 1)
        return np.where(self.counts, own - means[self._grouping.numbers], 0.0)

    def _sums(self, values: Floats | Mask) -> Floats:
        return self._grouping.sums(values.astype(np.float64))


class BrokenRule(Struct, frozen=True, kw_only=True):
    """A rule that some samples break."""

    rule: str
    words: str
    """When it is broken, in words."""
    is_certain: bool
    """True if this is wrong without a threshold; False for what needs a look."""
    text: str
    """One sentence with the number that matters."""
    count: int
    """How many samples are known to break it: of a rule about the series of a step, those with its extreme tokens."""
    samples: list[str]
    """The ids of some of them."""


class RunLint(Struct, frozen=True, kw_only=True):
    """The rules that the samples of a run break."""

    broken: list[BrokenRule]
    """Certain ones first, then those that need a look."""
    unchecked: list[UncheckedRule]
    checked: list[str]
    """The rules that could be checked, by name."""
    samples: int
    """How many samples were looked at."""
    discarded: int = 0
    """How many of them were not trained on: rules about the update leave these out."""
    read: int = 0
    """How many of them were read whole, spread evenly over the steps, for the rules that need their arrays or texts."""

    @property
    def is_broken(self) -> bool:
        """True if a certain rule is broken."""
        return any(rule.is_certain for rule in self.broken)


NOWHERE: Places = np.array([], np.intp)


class Breach(NamedTuple):
    """The samples that break a rule."""

    text: str
    """One sentence."""
    total: int
    """How many there are."""
    places: Places = NOWHERE
    """Where they are in the data."""
    ids: Sequence[str] = ()
    """Some of them, if `places` has none."""


Look = Callable[[LintData], Breach | None]
"""Returns None if no sample breaks the rule; raises `NotChecked` if the run has too little data for it."""


class LintRule(NamedTuple):
    """Looks for one thing that is wrong with samples."""

    name: str
    words: str
    """When it is broken, in a sentence with its thresholds."""
    look: Look
    is_certain: bool


def lint_rule(*, is_certain: bool = False) -> Callable[[Look], LintRule]:
    """Make a function the rule of the same name."""
    return lambda look: LintRule(look.__name__, words_of(look), look, is_certain)


def breach(mask: Mask, text: str) -> Breach | None:
    """Return the samples of a mask, with `{n}` in the sentence for their number; None without any."""
    places = np.flatnonzero(mask)
    return Breach(text.format(n=counted(len(places))), len(places), places) if len(places) else None


class WholeSample:
    """A sample with its arrays; each of these has the shape (T,)."""

    def __init__(self, sample: Sample, *, is_trained: bool, is_worst: bool, is_best: bool = False) -> None:
        self.of, self.is_trained = sample, is_trained
        self.is_worst, self.is_best = is_worst, is_best
        """True if no sample of the run has a lower reward, or a higher one, and some have another."""

    @cached_property
    def mask(self) -> tokens.Flags | None:
        """The tokens that the recorded mask of the loss has; None without a mask."""
        series = tokens.tokens_of(self.of).series
        return tokens.counts(series[tokens.MASK]) if tokens.MASK in series else None

    @cached_property
    def trained_mask(self) -> tokens.Flags | None:
        """The mask of a trained sample, with at least one token; None for other samples."""
        return self.mask if self.is_trained and self.mask is not None and self.mask.any() else None

    @cached_property
    def token_texts(self) -> list[str]:
        """The texts of the tokens of the response, from the record or a tokenizer."""
        return query.texts_of_response(self.of)


Breaks = Callable[[WholeSample], bool | str | None]
"""Returns None for a sample that lacks what the rule needs, and how a sample breaks it where that can be shown."""


class SampleRule(NamedTuple):
    """Looks for one thing that is wrong with a sample as its file holds it."""

    name: str
    words: str
    """When it is broken, in a sentence with its thresholds."""
    breaks: Breaks
    text: str
    """A sentence without an end, about samples that break it."""
    lacks: str
    """What all samples lack if the rule cannot be checked."""
    is_certain: bool
    least_share: float
    """Broken if at least this share of the samples that can be checked break it."""
    least: int
    """Broken if at least so many break it."""
    noun: str
    """One of the samples that can be checked."""


def sample_rule(
    text: str, lacks: str, *, is_certain: bool = False, least_share: float = 0.0, least: int = 1, noun: str = "sample"
) -> Callable[[Breaks], SampleRule]:
    """Make a function the rule of the same name."""
    return lambda breaks: SampleRule(
        breaks.__name__, words_of(breaks), breaks, text, lacks, is_certain, least_share, least, noun
    )
