"""What a search for findings returns."""

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct, field

FindingClass = Literal["suspect", "unverified", "earned", "watch", "drift"]

MEANINGS: Mapping[str, str] = {
    "suspect": "paid and on the rise, though the answers are no more often correct",
    "unverified": "paid and on the rise, in a run that does not say which answers are correct",
    "earned": "paid, and correct answers have more of it, too",
    "watch": "paid, without a clear rise",
    "drift": "on the rise, but not clearly paid",
}
"""What each class means, in the order of a list. Every face of findings uses these words."""

CLASSES: tuple[FindingClass, ...] = get_args(FindingClass)


class Prevalence(Struct, frozen=True):
    """How common a feature is over the steps, in at most 40 bins of steps."""

    steps: list[int]
    """The first step of each bin."""
    shares: list[float]
    """The share of the samples that have the feature."""
    means: list[float]
    """Its mean: uses for each sample, or the value of the behaviour."""
    effects: list[float | None]
    """The reward over siblings for each unit; None if the feature does not vary among siblings."""


class ReadingList(Struct, frozen=True):
    """The samples that show a finding, by id; empty for none."""

    pairs: list[tuple[str, str]] = []
    """Two siblings. The first has more of the feature, or less if it is punished, and the better reward, but it is no
    more correct, if the run says what is correct."""
    earliest: str = ""
    """The first sample that has the feature."""
    counterexample: str = ""
    """A sample that has the feature, or less of it if it is punished, and a worse reward than its siblings."""

    def ids(self) -> list[str]:
        """Return all samples, each once."""
        every = [name for pair in self.pairs for name in pair]
        return list(dict.fromkeys(name for name in (*every, self.earliest, self.counterexample) if name))


class Finding(Struct, frozen=True, kw_only=True):
    """Something that the reward pays for, or that rises unpaid."""

    text: str
    """A sentence with the numbers that matter, and one with what else is on the card."""
    kind: FindingClass = field(name="class")
    phrase: str = ""
    """The words, as a sample has them in lower case; empty for a behaviour."""
    behaviour: str = ""
    """The derived metric, such as `derived.repeated_4grams`; empty for a phrase."""
    title: str = ""
    """The phrase in quotation marks, or the behaviour in a few words."""
    pattern: str = ""
    """A regular expression for RE2 and JavaScript that finds it in any case; empty for most behaviours."""
    where: str = ""
    """A filter that lists the samples with much of a behaviour; empty for a phrase, which a search finds."""
    effect: float
    """The reward over siblings without it; of a length, or of what nearly all samples have, for each doubling."""
    z: float
    correctness: float | None = None
    """The same effect on correctness; None if the run has no such metric."""
    first: float
    """The share of the samples that have it in the first third of the steps."""
    last: float
    """The share in the last third."""
    rise: float
    """The t statistic of the rise of its mean from the first third of the steps to the last."""
    prevalence: Prevalence
    samples: ReadingList
    also: list[str] = []
    """The titles of findings on the same card: nearly the same samples have them, or they say the same."""

    @property
    def name(self) -> str:
        """What identifies it from one search to the next: its behaviour or its phrase."""
        return self.behaviour or self.phrase


class RunFindings(Struct, frozen=True, kw_only=True):
    """The findings of a window of a run, and what was searched."""

    findings: list[Finding]
    """Those that matter most first."""
    meanings: dict[str, str] = field(default_factory=lambda: dict(MEANINGS))
    """What each class means, in a few words."""
    split: str
    env: str | None
    step_min: int | None
    step_max: int | None
    samples: int
    """The number of samples in the steps."""
    scanned: int
    """How many samples with a reward were scanned."""
    pending: int
    """How many samples the index has not reached."""
    read: int
    """How many samples were read again, to tell features apart."""
    groups: int
    """The number of groups whose rewards differ: only they can show anything."""
    tested: int
    """The number of features tested."""
    expected: float
    """How many of them would pass by chance."""
    least_z: float
    largest_z: float
    correct: str
    """The metric that counts as correctness; empty without one."""
    metrics: list[str]
    """The sample metrics that a person may name as correctness."""
    smallest: float | None
    """The smallest effect for each use that a phrase in a tenth of the samples could show; None if too few vary."""
    note: str
    """Says in sentences what was searched, and without findings, what could have been found."""
