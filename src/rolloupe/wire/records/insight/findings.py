"""What the reward pays for, with the samples that show it."""

from msgspec import Struct, field


class PrevalenceView(Struct, kw_only=True):
    """How common a feature is over the steps, in at most 40 bins; the lists are as long as each other."""

    steps: list[int]
    """The first step of each bin."""
    shares: list[float]
    """The share of the samples that have it."""
    means: list[float]
    """The mean number of uses, or the mean value of the behaviour."""
    effects: list[float | None]
    """What it earns over siblings; null where siblings do not differ in it."""


class ReadingView(Struct, kw_only=True):
    """The samples to read, by id; empty for none."""

    pairs: list[tuple[str, str]]
    """Siblings: the first has more of it (less if it is punished) and the better reward, but is no more correct."""
    earliest: str
    counterexample: str
    """It has more of it than its siblings (less if it is punished), and yet a worse reward."""


class FindingItem(Struct, kw_only=True):
    """Something that the reward pays for (or, of the class `drift`, that rises though it does not)."""

    text: str
    """One sentence."""
    kind: str = field(name="class")
    """`suspect`, `unverified`, `earned`, `watch` or `drift`."""
    phrase: str
    """The words in lower case, `#` for a number, a blank between two; empty for a behaviour."""
    behaviour: str
    """The derived metric; empty for a phrase."""
    title: str
    """The phrase in quotation marks, or the behaviour in a few words."""
    pattern: str
    """A regular expression for RE2 and JavaScript that finds it, whatever its case; empty for most behaviours."""
    where: str
    """A filter that lists the samples; empty for a phrase, which a search finds."""
    effect: float
    z: float
    correctness: float | None
    """The effect on correctness; null where the run does not say what is correct."""
    first: float
    """The share of the samples that have it in the first third of the steps."""
    last: float
    rise: float
    prevalence: PrevalenceView
    samples: ReadingView


class FindingsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/findings?split=&step_min=&step_max=&env=&correct=`: those that matter most first."""

    run: str
    findings: list[FindingItem]
    meanings: dict[str, str]
    """What each class means, in a few words."""
    split: str
    env: str | None
    step_min: int | None
    step_max: int | None
    samples: int
    """The number of samples in these steps."""
    scanned: int
    pending: int
    """How many of them the index has not reached: ask again when the run has changed."""
    read: int
    groups: int
    """The number of groups whose rewards differ."""
    tested: int
    """The number of features tested."""
    expected: float
    """How many of these chance alone would report."""
    least_z: float
    largest_z: float
    correct: str
    """The metric that counts as correctness; empty without one."""
    metrics: list[str]
    """The sample metrics that a person may name as correctness."""
    smallest: float | None
    """The smallest effect that a phrase in a tenth of the samples could have shown."""
    note: str
    """What was looked at, in a sentence or two."""
