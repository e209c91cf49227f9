"""The sentences of a brief, and those about rewards: a grader that broke, the whole run, environments, correctness."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import groupby
from math import sqrt
from statistics import median
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.insight.curves import CHANGE, CurveName, Windows, counted, scale_of, step_noise, windows_of
from rolloupe.insight.lint.rule import LintData, Mask, Places, alike, extremes
from rolloupe.query.evals.grader import bare
from rolloupe.query.records import StepSummary
from rolloupe.query.samples.pages import PROMPT
from rolloupe.tokens import Floats

SentenceKind = Literal["reward", "held_out", "paid_for", "answers", "data", "curves"]


class Rank(IntEnum):
    """The order of sentences. Of one rank, those that `brief` lists first come first."""

    CAUSE = 0
    """What happened to the answers, the prompts or the grader that explains the reward."""
    FALL = 1
    """Of the reward, since its best step or within one."""
    ERROR = 2
    """Samples or curves that are wrong, an evaluation that fell, a reward that jumped."""
    SUSPECT = 3
    UNVERIFIED = 4
    """What nobody can verify, what spread unpaid, and samples that need a look."""
    HINT = 5
    """In the curves, if nothing is paid for and nothing spread."""
    CHANGE = 6
    """Of the reward, or none; an evaluation that rose."""
    STEADY = 7
    """Evaluations without a change."""
    REST = 8


class Evidence(Struct, frozen=True, kw_only=True):
    """Where a sentence can be seen: a page, and what it shows there."""

    page: Literal["rollouts", "metrics", "evals", "findings"]
    split: str = ""
    where: str = ""
    """A filter of samples."""
    sort: str = ""
    descending: bool = False
    discarded: bool = False
    """True if the samples were discarded."""
    curve: CurveName | None = None
    finding: str = ""
    """The phrase or the behaviour of a finding, or a rule that samples break."""
    samples: list[str] = []
    """The ids of some samples, the clearest first."""


class BriefSentence(Struct, frozen=True, kw_only=True):
    """One sentence, and what shows it."""

    text: str
    kind: SentenceKind
    steps: tuple[int, int] | None = None
    """The first and the last of the steps that it is about; None for all of a run."""
    evidence: Evidence


class Ranked(NamedTuple):
    """A sentence and its place among others."""

    rank: Rank
    sentence: BriefSentence
    way: int = 0
    """1 if it says that something rose, -1 if it fell, else 0."""


def figure(value: float) -> str:
    """Return a number in three digits."""
    return f"{value:.3g}".replace("-", "−")


def percent(value: float) -> str:
    """Return a share in whole percent."""
    return f"{value:.0%}"


def change_of(before: float, after: float, shown: Callable[[float], str] = figure) -> str:
    """Return two numbers with an arrow between them."""
    return f"{shown(before)} → {shown(after)}"


T = TypeVar("T")
AROUND = 3
"""How many steps before a jump or a stretch, and after it, are averaged."""
JUMP, SUDDEN = 6, 0.7
"""The least jump, in standard errors of the difference of two steps, and as a share of the change around it."""
LASTING = 0.95
"""The least share of the steps on their own side of the middle of a jump."""
LONG, CHANCE = 0.05, 3
"""The least share of the steps, at the end, that have one reward; and how many more steps in a row must have it for
each single step that has.
"""
DEEP, MOST_DIPPED, DIP, NEAR = 0.5, 0.35, 4, 8
"""A dip is below this share of the rewards before and after it, has at most this share of the steps, and is so many
standard errors deep, of all steps or of so many before and after it.
"""
PART, LEAST_STEPS = 0.05, 10
"""The least share of the samples, and steps, of an environment that has a sentence of its own."""
VALUES, MOST_CODES, COLUMNS = 20, 1000, 16
"""The most values of a column that may explain a change of the reward, with those that share a beginning counted once
and on their own; and the most such columns."""
OF_PROMPTS, LEFT, LUCK = 0.99, 1 / 3, 0.5
"""The least share of prompts with one value; the most of a change that is left within a value; the least variance of
groups with one value, as a share of luck's: other values follow from the answers.
"""
FEWEST, MOST_UNPAID = 8, 0.8
"""The least groups of a value that never earns anything, and the most of the others that do not either."""
RARE, RISE, LESS = 0.1, 0.2, 0.5
"""The most samples that fail early, how much their share rises, and by how many standard deviations they earn less."""


def reward_sentences(split: str, steps: Sequence[StepSummary]) -> Iterator[Ranked]:
    """Yield in which steps the grader was broken or the reward dipped, and what the mean reward did in the others."""
    known = [step for step in steps if step.reward.mean is not None and np.isfinite(step.reward.mean)]
    evidence = Evidence(page="metrics", split=split, curve=CurveName("sample", "reward"))
    if broken := _broken(known):
        first, last = known[broken[0]].step, known[broken[-1]].step
        is_last = broken.stop == len(known)
        when = f"Since step {first}" if is_last else f"In steps {first} to {last}"
        before, value = (figure(known[place].reward.mean or 0.0) for place in (broken[0] - 1, broken[0]))
        text = f"{when} every reward is {value}; the mean of the step before is {before}."
        yield Ranked(Rank.CAUSE, BriefSentence(text=text, kind="data", steps=(first, last), evidence=evidence))
        known = [] if is_last else _without(known, broken)
    if dip := _dip(means := _means_of(known)):
        first, last = known[dip[0]].step, known[dip[-1]].step
        low, before, after = (figure(_mean(means[part])) for part in (dip, *_beside(dip)))
        text = f"In steps {first} to {last} the reward dipped to {low}, from {before} before and to {after} after."
        yield Ranked(Rank.CAUSE, BriefSentence(text=text, kind="reward", steps=(first, last), evidence=evidence), -1)
        known = _without(known, dip)
    if known:
        yield _overall(known, evidence)


def _means_of(known: Sequence[StepSummary]) -> Floats:
    return np.array([step.reward.mean for step in known], float)


def _without(known: Sequence[StepSummary], places: range) -> list[StepSummary]:
    return [*known[: places.start], *known[places.stop :]]


def _mean(values: Floats) -> float:
    """Return a mean whose sum may be too large for a number."""
    scale = scale_of(values)
    return float((values / scale).mean()) * scale


def _beside(stretch: range) -> tuple[slice, slice]:
    """Return the places of `AROUND` steps before a stretch, and after it."""
    return slice(max(0, stretch.start - AROUND), stretch.start), slice(stretch.stop, stretch.stop + AROUND)


def _stretches(values: Iterable[T]) -> Iterator[tuple[T, range]]:
    """Yield each value that stands once or several times in a row, and its places."""
    start = 0
    for value, several in groupby(values):
        stretch = range(start, start + sum(1 for _ in several))
        yield value, stretch
        start = stretch.stop


def _dip(means: Floats) -> range:
    """Return the places of the longest stretch of two steps or more with rewards far below those around it."""
    found = range(0)
    if len(means) < 2 * AROUND or not (means >= 0).all():
        return found
    means = means / scale_of(means)
    is_low = means < DEEP * float(np.median(means))
    for low, stretch in _stretches(is_low.tolist()):
        if not low or not 2 <= len(stretch) <= MOST_DIPPED * len(means) or len(stretch) <= len(found):
            continue
        before, after = (means[part] for part in _beside(stretch))
        if min(len(before), len(after)) < AROUND:
            continue
        least = min(float(before.mean()), float(after.mean()))
        others, near = np.delete(means, stretch), max(0, stretch.start - NEAR)
        noise = max(map(step_noise, (others, others[near : stretch.start + NEAR]))) * sqrt(
            1 / len(stretch) + 1 / AROUND
        )
        if float(means[stretch].max()) < DEEP * least and least - float(means[stretch].mean()) > DIP * noise:
            found = stretch
    return found


def _overall(known: Sequence[StepSummary], evidence: Evidence) -> Ranked:
    """Return what the mean reward did: that it jumped or dropped, fell since its best, rose, or shows no change."""
    numbers, means = [step.step for step in known], _means_of(known)
    counts = np.array([step.reward.count for step in known], float)
    spreads = np.array([step.reward.std or 0.0 for step in known])
    scale = scale_of(spreads)
    spreads[spreads == 0] = scale * sqrt(np.average((spreads / scale) ** 2, weights=counts))
    windows = windows_of(numbers, means, counts, spreads)
    (early, late), best = windows.ends, windows.best
    peak, first, last = numbers[int(means.argmax())], numbers[0], numbers[-1]
    rank, way = Rank.CHANGE, windows.change
    if len(known) == 1:
        samples, rewards = known[0].samples, known[0].reward.count
        text = f"The mean reward of the {counted(samples)} of step {first} is {figure(early)}."
        if rewards < samples:
            text = (
                f"The mean reward of step {first} is {figure(early)}: {rewards:,} of its {counted(samples)} have one."
            )
    elif jump := _jump(windows, means):
        first, (earlier, later) = numbers[jump], _around(means, jump)
        rank, way, word = (Rank.ERROR, 1, "jumped") if later > earlier else (Rank.FALL, -1, "dropped")
        text = f"The reward {word} from {figure(earlier)} to {figure(later)} at step {first} (means of {AROUND} steps)."
    elif windows.has_fallen:
        share = f", {(late - best) / best:+.0%}".replace("-", "−") if best > 0 and late >= 0 else ""
        begin = windows.best_place
        peak = numbers[begin + int(means[begin : begin + windows.width].argmax())]
        half = windows.halfway(best, late)
        change = f"{change_of(best, late)}{windows.over}{share}, half of it by {half}"
        text = f"The reward was best at step {peak} and has fallen since: {change}."
        rank, way, first = Rank.FALL, -1, windows.best_step
    elif windows.change:
        rank, word = (Rank.CHANGE, "rose") if way > 0 else (Rank.ERROR, "fell")
        best_at = f"; it was best at step {peak}" if way > 0 else ""
        text = f"The reward {word} from {figure(early)} to {figure(late)}{windows.over}{best_at}."
    else:
        doubt = f"±{windows.by_chance:.2g} by chance{windows.over}" if windows.is_noisy else "always the same"
        perhaps = {0: "shows no clear change", 1: "may have risen", -1: "may have fallen"}[windows.perhaps]
        text = f"The reward {perhaps} over {len(known)} steps: {change_of(early, late)}, {doubt}."
    return Ranked(rank, BriefSentence(text=text, kind="reward", steps=(first, last), evidence=evidence), way)


def part_sentences(data: LintData, split: str, parts: Sequence[str]) -> Iterator[Ranked]:
    """Yield the environment in which the reward fell, if it did in no other; and that correctness fell alone.

    `parts` names the metric of correctness that `data` has, or else the parts of the reward.
    """
    counts = _counts(data, split)
    judged = {
        env: windows
        for env, own in _environments(data, data.split == split)
        if (windows := _by_step(data.step, data.reward, counts & own))
    }
    fallen = [env for env, windows in judged.items() if windows.has_fallen]
    if len(fallen) == 1 and len(judged) > 1:
        (env,) = fallen
        others = f"{len(judged) - 1} other {'environment' if len(judged) == 2 else 'environments'}"
        text = f"In the environment {env} the reward {_fallen(judged[env])}; in {others} there is no clear fall."
        evidence = Evidence(page="rollouts", split=split, where=f"env = {query.quoted(env)}", sort="reward")
        steps = _late_steps(judged[env])
        yield Ranked(Rank.CAUSE, BriefSentence(text=text, kind="reward", steps=steps, evidence=evidence), -1)
    whole = _by_step(data.step, data.reward, counts) if parts else None
    for name in parts:
        if whole and (part := _by_step(data.step, data.arrays.numbers(name), counts)):
            yield from _apart(whole, part, split, name)


def columns_of_few_values(run: OpenRun, split: str) -> list[str]:
    """Return the environment, the tags, and the metrics with a small range."""
    tags, metrics = (
        [one for one in query.catalogue(run, split).columns if one.source == kind] for kind in ("tag", "metric")
    )
    small = [one for one in metrics if 0 < float(one.high or 0) - float(one.low or 0) < VALUES]
    return ["env", *(one.name for one in (*tags, *small))][:COLUMNS]


def explained(data: LintData, split: str, names: Sequence[str], plain: Ranked) -> list[Ranked]:
    """Return a sentence about a change of the reward with the other prompts that explain it, or beside one about a
    value that comes with a fall or a dip, and earns clearly less than the others of the same steps.
    """
    if not plain.way or plain.sentence.steps is None:
        return [plain]
    own = np.flatnonzero(_counts(data, split))
    step = data.step[own]
    steps = np.unique(step)
    if len(steps) < LEAST_STEPS:
        return [plain]
    early, late = step < steps[len(steps) // 5], step >= steps[-(len(steps) // 5)]
    if is_dip := plain.rank == Rank.CAUSE:  # no other change has this rank before it is explained
        late = (step >= plain.sentence.steps[0]) & (step <= plain.sentence.steps[1])
        early = ~late
    change = _Change(data, own, early, late)
    for name in names:
        values, kind = _kinds(data, own, name)
        what = "environment" if name == "env" else f"`{name}`"
        if not 1 < len(values) <= VALUES:
            continue
        if np.equal(*extremes(change.prompts, kind)).mean() >= OF_PROMPTS:
            if not is_dip and (shift := change.shift(values, kind, what)):
                text = f"{plain.sentence.text.partition(';')[0].rstrip('.')} because the prompts changed: {shift}"
                return [Ranked(Rank.CAUSE, replace(plain.sentence, text=text), plain.way)]
        elif plain.way < 0 and (failure := change.failure(values, kind)):
            value, shares = failure
            evidence = Evidence(page="rollouts", split=split, where=_where(name, value), sort="reward")
            text = f"{what} {value.removesuffix(':')}{shares}{' in these steps' * is_dip}."
            sentence = Ranked(Rank.CAUSE, BriefSentence(text=text, kind="reward", evidence=evidence), -1)
            return [plain, sentence] if is_dip else [sentence, plain]
    return [plain]


def unpaid_values(data: LintData, split: str, names: Sequence[str]) -> Iterator[Ranked]:
    """Yield the value of a column of prompts whose samples all have the lowest reward, if most others have more."""
    own = np.flatnonzero(_counts(data, split))
    prompts, groups = alike(data.hashes(PROMPT)[own]), data.grouping.numbers[own]
    if not len(own) or len(np.unique(prompts)) * 2 > len(own):
        return
    lowest = data.reward[own].min()
    is_worst = data.reward[own] == lowest
    for name in names:
        values, kind = _kinds(data, own, name)
        if not 1 < len(values) <= VALUES or np.equal(*extremes(prompts, kind)).mean() < OF_PROMPTS:
            continue
        for number, value in enumerate(values):
            has = kind == number
            others, is_text = float(is_worst[~has].mean()), isinstance(value, str)  # a number tells of the answer
            is_common = has.sum() >= PART * len(own) and len(np.unique(groups[has])) >= FEWEST
            if not is_text or not is_common or not is_worst[has].all() or others > MOST_UNPAID:
                continue
            shown = value.removesuffix(":")
            of = f"of the environment {shown}" if name == "env" else f"with `{name}` {shown}"
            text = f"All {int(has.sum()):,} samples {of} have the lowest reward, {figure(float(lowest))}"
            evidence = Evidence(page="rollouts", split=split, where=_where(name, value), sort="reward")
            text = f"{text}; of the others {percent(others)} have it."
            yield Ranked(Rank.ERROR, BriefSentence(text=text, kind="data", evidence=evidence))
            return


def _counts(data: LintData, split: str) -> Mask:
    """Return which samples the mean rewards of a split are about."""
    counts: Mask = (data.split == split) & np.isfinite(data.reward) & (data.arrays.words("discarded") == "")
    return counts


def _where(name: str, value: str) -> str:
    """Return the filter for a value that `_kinds` names: a text, or its beginning up to a colon."""
    return f"{query.quoted(name)} {'contains' if value.endswith(':') else '='} {query.quoted(value)}"


def _kinds(data: LintData, own: Places, name: str) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the values of a column, of texts the beginning up to a colon, and which of them each sample has."""
    codes, first, kind = np.unique(data.codes(name)[own], return_index=True, return_inverse=True)
    if len(codes) > MOST_CODES:
        return [], kind
    values = [data.arrays.table[name][place].as_py() for place in own[first].tolist()]
    short = [value[: value.find(":", 1) + 1] or value if isinstance(value, str) else value for value in values]
    kinds = list(dict.fromkeys(short))
    return kinds, np.array([kinds.index(value) for value in short])[kind]


class _Change:
    """A change of the reward from some samples to others: beside a dip and within it, or in the first and the last
    fifth of the steps. Arrays have the shape (N,).
    """

    def __init__(self, data: LintData, own: Places, early: Mask, late: Mask) -> None:
        self._early, self._late = early, late
        self._step, self._scale = data.step[own], scale_of(data.reward[own])
        self._reward, self._groups = data.reward[own] / self._scale, data.grouping.numbers[own]
        self._change = float(self._reward[late].mean() - self._reward[early].mean())
        self.prompts = alike(data.hashes(PROMPT)[own])

    def shift(self, values: Sequence[Any], kind: NDArray[np.int64], what: str) -> str:
        """Return how the shares of the kinds of prompts changed, if within a kind the reward did not; else nothing."""
        _, starts, group, sizes = np.unique(self._groups, return_index=True, return_inverse=True, return_counts=True)
        means = np.bincount(group, self._reward) / sizes
        luck = np.bincount(group, (self._reward - means[group]) ** 2) / sizes / np.maximum(sizes - 1, 1)
        of_ends = starts[(self._early | self._late)[starts]]
        gap, error, largest, variance = gap_within(means[group[of_ends]], kind[of_ends], self._late[of_ends])
        is_even = largest < CHANGE and variance > LUCK * luck.mean() > 0
        if not is_even or abs(gap) + 2 * error >= LEFT * abs(self._change):
            return ""
        before, after = self._shares(kind)
        most = int((after - before).argmax())
        value = "no value" if values[most] is None else values[most]
        shown = f"{value:g}" if isinstance(value, float) else value.removesuffix(":")
        left = f"{self._scale * gap:+.2g} ±{self._scale * 2 * error:.2g}".replace("-", "−")
        return (
            f"{what} {shown} makes up {before[most]:.0%} → {after[most]:.0%} of them, and within one {what} "
            f"the reward shows no clear change, {left}."
        )

    def failure(self, values: Sequence[Any], kind: NDArray[np.int64]) -> tuple[str, str] | None:
        """Return the commonest of the values that came with the fall, and the words about their shares."""
        before, after = self._shares(kind)
        low = float(self._reward.mean() - LESS * self._reward.std())
        failing = (before <= RARE) & (np.bincount(kind, self._reward) / np.bincount(kind) < low)
        rise, has = float((after - before)[failing].sum()), failing[kind]
        gap, error, *_ = gap_within(self._reward, self._step, has)
        named = [number for number in np.flatnonzero(failing).tolist() if isinstance(values[number], str)]
        if not named or rise < RISE or gap >= -CHANGE * error or -gap * rise <= LESS * abs(self._change):
            return None
        shares = f"{has[self._early].mean():.0%} → {has[self._late].mean():.0%} of samples"
        others, earned = " and the like" * int(failing.sum() > 1), figure(self._scale * float(self._reward[has].mean()))
        return values[max(named, key=lambda number: float(after[number]))], (
            f"{others} in {shares}, which earn {earned}"
        )

    def _shares(self, kind: NDArray[np.int64]) -> tuple[Floats, Floats]:
        before, after = (
            np.bincount(kind[part], minlength=kind.max() + 1) / part.sum() for part in (self._early, self._late)
        )
        return before, after


def gap_within(values: Floats, cells: NDArray[Any], is_second: Mask) -> tuple[float, float, float, float]:
    """Return how far some values are above the others of their cell, and the standard error; the largest difference in
    a cell, in standard errors; and the variance within cells. The error is huge if no cell has both kinds.
    """
    place, second = np.unique(cells, return_inverse=True)[1], is_second.astype(int)
    counts, sums = np.zeros((2, 2, place.max() + 1))
    np.add.at(counts, (second, place), 1)
    np.add.at(sums, (second, place), values)
    means, weights = sums / np.maximum(counts, 1), counts.prod(axis=0) / counts.sum(axis=0)
    left = values - means[second, place]
    variance, total = float(left @ left) / len(values), max(float(weights.sum()), 1e-300)
    gaps = means[1] - means[0]
    largest = float(np.abs(gaps * np.sqrt(weights / max(variance, 1e-300))).max())
    return float(weights @ gaps) / total, sqrt(variance / total), largest, variance


def _environments(data: LintData, own: Mask) -> Iterator[tuple[str, Mask]]:
    """Yield the environments with at least `PART` of some samples, and which samples they have."""
    codes = data.codes("env")
    sizes = np.bincount(codes[own])
    for code in np.flatnonzero(sizes >= PART * max(1, own.sum())).tolist():
        has = codes == code
        if env := str(data.env[int(has.argmax())]):
            yield env, has


def _apart(whole: Windows, correct: Windows, split: str, metric: str) -> Iterator[Ranked]:
    """Yield that correctness fell and the reward did not, or that the reward rose and correctness did not."""
    name, evidence = bare(metric), Evidence(page="metrics", split=split, curve=CurveName("sample", metric))
    has_fallen = correct.has_fallen or correct.change < 0
    if has_fallen and not whole.has_fallen and min(whole.change, whole.perhaps) >= 0:
        text = f"`{name}` {_fallen(correct)}, while the reward {'rose' if whole.change > 0 else 'did not fall'}."
        steps = _late_steps(correct)
        yield Ranked(Rank.FALL, BriefSentence(text=text, kind="reward", steps=steps, evidence=evidence), -1)
    elif whole.change > 0 and not correct.change and correct.ends[1] - correct.ends[0] < correct.error:
        text = f"The reward rose, `{name}` did not: {change_of(*correct.ends)}{correct.over}."
        yield Ranked(Rank.UNVERIFIED, BriefSentence(text=text, kind="reward", evidence=evidence))


def _by_step(steps: Floats, values: Floats, of: Mask) -> Windows | None:
    """Return the windows of some samples; None for fewer than `LEAST_STEPS` steps."""
    of = of & np.isfinite(values)
    numbers, place = np.unique(steps[of], return_inverse=True)
    if len(numbers) < LEAST_STEPS:
        return None
    scale, counts = scale_of(values[of]), np.bincount(place)
    scaled = values[of] / scale
    means = np.bincount(place, scaled) / counts
    deviations = np.sqrt(np.bincount(place, (scaled - means[place]) ** 2) / counts)
    return windows_of(numbers.astype(int).tolist(), means * scale, counts.astype(float), deviations * scale)


def _fallen(windows: Windows) -> str:
    best, late = windows.best, windows.ends[1]
    return f"fell from {figure(best)} to {figure(late)}{windows.over}, half of it by {windows.halfway(best, late)}"


def _late_steps(windows: Windows) -> tuple[int, int]:
    return windows.best_step, windows.steps[-1]


def _broken(known: Sequence[StepSummary]) -> range:
    """Return the places of the steps in which all rewards are one number, as no policy does it; empty for none.

    The means before, and after, must differ by `CHANGE` standard errors, and by `SUDDEN` times what is usual or more.
    Where groups are few and have no spread, single steps have one reward by chance, and so may some in a row.
    """
    stretches = list(_stretches(_only(step) for step in known))
    single = sum(value is not None and len(stretch) == 1 for value, stretch in stretches)
    found = range(0)
    for value, stretch in stretches:
        is_last = stretch.stop == len(known)
        is_long = len(stretch) >= (max(3, LONG * len(known)) if is_last else 2) + CHANCE * single
        if value is not None and is_long and len(stretch) > len(found) and _is_sudden(known, stretch, value):
            found = stretch
    return found


def _only(step: StepSummary) -> float | None:
    """Return the only reward of a step; None if it has several, or none."""
    return step.reward.min if step.reward.min == step.reward.max else None


def _is_sudden(known: Sequence[StepSummary], stretch: range, value: float) -> bool:
    """Return whether the mean reward of the steps beside some, `AROUND` on each side, is far from their one reward."""
    before, after = (known[part] for part in _beside(stretch))
    if _is_between(known, stretch, value):
        return True
    usual = median([_distance([step], value) for step in _without(known, stretch)] or [0.0])
    count = _count(known[stretch.start : stretch.stop])
    for beside in (before, after) if after else (before,):
        spread, near = max((step.reward.std or 0.0 for step in beside), default=0.0), _count(beside)
        error = spread * sqrt(1 / count + 1 / near) if near else 0.0
        if not error or _distance(beside, value) < max(CHANGE * error, SUDDEN * usual):
            return False
    return True


def _count(steps: Sequence[StepSummary]) -> int:
    return sum(step.reward.count for step in steps)


def _is_between(known: Sequence[StepSummary], stretch: range, value: float) -> bool:
    """Return whether rewards were as spread as ever before 64 or more were one that is neither best nor worst."""
    before, _ = (known[part] for part in _beside(stretch))
    low, high = (end(getattr(step.reward, name) for step in known) for end, name in ((min, "min"), (max, "max")))
    usual = median(spreads) if (spreads := [step.reward.std or 0.0 for step in known if _only(step) is None]) else 0.0
    is_sudden = len(before) == AROUND and all((step.reward.std or 0.0) > usual / 2 for step in before)
    return is_sudden and low < value < high and _count(known[stretch.start : stretch.stop]) >= 64


def _distance(steps: Sequence[StepSummary], value: float) -> float:
    return abs(sum((step.reward.mean or 0.0) - value for step in steps) / len(steps))


def _around(means: Floats, place: int) -> tuple[float, float]:
    before, after = _beside(range(place, place))
    return _mean(means[before]), _mean(means[after])


def _jump(windows: Windows, means: Floats) -> int:
    """Return the place of the step at which a curve jumps, and stays; 0 for none."""
    if len(means) < 2 * AROUND:
        return 0
    scale = scale_of(means)
    means, noise = means / scale, windows.noise / scale
    jumps = np.diff(means)[AROUND - 1 : len(means) - AROUND]
    place = AROUND + int(np.abs(jumps).argmax())
    jump, (before, after) = float(jumps[place - AROUND]), _around(means, place)
    sides = np.sign(means - (before + after) / 2) * np.where(np.arange(len(means)) < place, -1, 1)
    is_large = abs(jump) > JUMP * noise * sqrt(2) and abs(jump) >= SUDDEN * abs(after - before)
    is_lasting = min((sides[part] == np.sign(jump)).mean() for part in (slice(place), slice(place, None))) >= LASTING
    return place if is_large and is_lasting else 0
