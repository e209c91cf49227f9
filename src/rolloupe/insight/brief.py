"""What a careful colleague would say of a run in three sentences, each with the place that shows it.

A change is reported only if it stands out of the noise; what a person should know first comes first.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.insight.check import check
from rolloupe.insight.curves import Alarm, RunCurves, counted
from rolloupe.insight.findings import Finding, findings
from rolloupe.insight.lint import lint
from rolloupe.query.evals.scores import EvalSummary, evals_answer
from rolloupe.query.records import StepSummary
from rolloupe.questions import BriefQuery, EvalQuery, FindingQuery, LintQuery
from rolloupe.tokens import Floats

SentenceKind = Literal["reward", "held_out", "paid_for", "data", "curves"]

MOST = 3
"""Sentences of a brief."""
CHANGE = 3.5
"""A change is one if it is so many standard errors of the difference between two windows of steps."""
BEST = 4.0
"""The same for the best of many windows, which is high by chance too."""
FALL = 0.15
"""A fall from the best window is reported if it is at least this share of it, or of the deviation of the samples."""
WINDOWS = 10
"""A window has a tenth of the steps."""
VERDICTS = {"suspect": "correctness does not follow", "unverified": "the run does not say which answers are correct"}
"""What is known of the correctness of answers with a finding."""
OWN = {"reward_collapse", "eval_down"}
"""Rules about curves that the sentences about the reward and about evaluations replace."""


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
    curve: str = ""
    """The name of a curve."""
    finding: str = ""
    """The phrase or the behaviour of a finding."""
    samples: list[str] = []
    """The ids of some samples, the clearest first."""


class BriefSentence(Struct, frozen=True, kw_only=True):
    """One sentence, and what shows it."""

    text: str
    kind: SentenceKind
    steps: tuple[int, int] | None = None
    """The first and the last of the steps that it is about; None for all of a run."""
    evidence: Evidence


class Brief(Struct, frozen=True, kw_only=True):
    """What is worth saying of a run."""

    sentences: list[BriefSentence]
    """At most three, the one to know first before the others."""
    split: str
    """The split whose rewards they are about."""
    samples: int
    """How many samples it has."""
    pending: int = 0
    """How many samples the index has not reached: what is paid for may be missing."""


class Ranked(NamedTuple):
    """A sentence, and how soon it should be known: the lowest first."""

    rank: int
    sentence: BriefSentence


def brief(run: OpenRun, asked: BriefQuery) -> Brief:
    """Return what is worth saying of a run. Raises `NotFound` for an unknown split."""
    found = findings(run, FindingQuery(split=asked.split))
    split = found.split
    steps = query.steps(run, split) if query.splits(run, quick=True) else []
    paid_for = list(_paid_for(split, found.findings))
    ranked = [*_reward(split, steps), *_held_out(run), *_data(run), *_curves(run, is_first=not paid_for), *paid_for]
    ranked.sort(key=lambda one: one.rank)
    return Brief(
        sentences=[one.sentence for one in ranked[:MOST]], split=split, samples=sum(step.samples for step in steps),
        pending=found.pending,
    )  # fmt: skip


# The reward


class Windows(NamedTuple):
    """Means over windows of as many steps each, weighted by samples, and the noise of their differences."""

    steps: list[int]
    width: int
    means: Floats
    """Of the steps from each place on."""
    error: float
    """The standard error of the difference of two windows."""

    def span(self, place: int) -> tuple[int, int]:
        """The first and the last step of a window."""
        return self.steps[place], self.steps[place + self.width - 1]


def windows_of(steps: Sequence[int], values: Floats, weights: Floats, deviations: Floats) -> Windows:
    """Return the windows of a curve: a value, a number of samples and a standard deviation for each step.

    The noise of a step is what its samples leave, or what neighbouring steps differ by, whichever is more.
    """
    width = max(1, len(steps) // WINDOWS)
    sums, counts = (np.concatenate([[0.0], np.cumsum(part)]) for part in (values * weights, weights))
    means = (sums[width:] - sums[:-width]) / (counts[width:] - counts[:-width])
    of_samples = float(np.median(deviations / np.sqrt(weights)))
    of_steps = float(np.median(np.abs(np.diff(values)))) / 0.6745 / np.sqrt(2) if len(values) > 5 else 0.0
    return Windows([*map(int, steps)], width, means, max(of_samples, of_steps, 1e-12) * float(np.sqrt(2 / width)))


def _reward(split: str, steps: Sequence[StepSummary]) -> Iterator[Ranked]:
    known = [step for step in steps if step.reward.mean is not None and np.isfinite(step.reward.mean)]
    if not known:
        return
    spreads = np.array([step.reward.std or 0.0 for step in known])
    windows = windows_of(
        [step.step for step in known],
        np.array([step.reward.mean for step in known], float),
        np.array([step.reward.count for step in known], float),
        spreads,
    )
    early, late = float(windows.means[0]), float(windows.means[-1])
    place = int(windows.means.argmax())
    best, peak = float(windows.means[place]), max(known, key=lambda step: step.reward.mean or 0.0)
    evidence = Evidence(page="metrics", split=split, curve="reward")
    first, last = known[0].step, known[-1].step
    rank, steps_of = 6, (first, last)
    if len(known) == 1:
        text = f"The mean reward of the {counted(known[0].samples)} of step {first} is {_figure(early)}."
    elif best - late > BEST * windows.error and best - late > FALL * max(abs(best), float(np.median(spreads))):
        share = f", {(late - best) / best:+.0%}".replace("-", "−") if best > 0 and late >= 0 else ""
        text = f"The reward was best at step {peak.step} and has fallen since: {_change(best, late)}{share}."
        evidence = Evidence(page="rollouts", split=split, sort="reward")
        rank, steps_of = 0, (windows.span(place)[1], last)
    elif abs(late - early) > CHANGE * windows.error:
        word = "rose" if late > early else "fell"
        means = f" (means of {windows.width} steps)" if windows.width > 1 else ""
        text = f"The reward {word} from {_figure(early)} to {_figure(late)}{means}; it is best at step {peak.step}."
        rank = 6 if late > early else 1
    else:
        text = f"The reward shows no clear change over {len(known)} steps: {_change(early, late)}."
    yield Ranked(rank, BriefSentence(text=text, kind="reward", steps=steps_of, evidence=evidence))


# Evaluations


def _held_out(run: OpenRun) -> Iterator[Ranked]:
    """What went wrong in an evaluation, or what the first one did."""
    evaluations = [_evaluation(summary) for summary in evals_answer(run, EvalQuery()).evals]
    ranked = sorted((sentence for sentence in evaluations if sentence is not None), key=lambda one: one.rank)
    yield from ranked[:1]


def _evaluation(summary: EvalSummary) -> Ranked | None:
    """What an evaluation did, by the share of correct answers."""
    known = [step for step in summary.steps if step.correct is not None and step.samples > step.without]
    if len(known) < 2:
        return None
    shares = np.array([step.correct for step in known], float)
    counts = np.array([step.samples - step.without for step in known], float)
    pooled = float((shares * counts).sum() / counts.sum())
    windows = windows_of(
        [step.step for step in known], shares, counts, np.full(len(known), np.sqrt(max(pooled * (1 - pooled), 0.0)))
    )
    name = summary.split.removeprefix("eval/")
    early, late = float(windows.means[0]), float(windows.means[-1])
    place = int(windows.means.argmax())
    best = float(windows.means[place])
    first, last = known[0].step, known[-1].step
    rank, begin = 7, first
    if best - late > BEST * windows.error:
        begin = windows.span(place)[1]
        text = f"{name} was best at step {begin} and has fallen since: {_change(best, late, _share)} correct."
        rank = 1
    elif late - early > CHANGE * windows.error:
        text = f"{name} rose from {_share(early)} to {_share(late)} correct."
    else:
        text = f"{name} shows no clear change over {len(known)} evaluations: {_change(early, late, _share)}."
    evidence = Evidence(page="evals", split=summary.split)
    return Ranked(rank, BriefSentence(text=text, kind="held_out", steps=(begin, last), evidence=evidence))


# What the reward pays for, the data, the curves


def _paid_for(split: str, found: Sequence[Finding]) -> Iterator[Ranked]:
    """The first finding that is suspect, or that nobody can verify."""
    ranks = {"suspect": 2, "unverified": 3}
    suspects = sorted((finding for finding in found if finding.kind in ranks), key=lambda one: ranks[one.kind])
    for finding in suspects[:1]:
        evidence = Evidence(page="findings", split=split, finding=finding.name, samples=finding.samples.ids())
        title = finding.title[:1].upper() + finding.title[1:]
        shares = f"{100 * finding.first:.0f} → {100 * finding.last:.0f} % of answers"
        paid = "paid" if finding.effect >= 0 else "punished by"
        text = f"{title} in {shares}, {paid} {abs(finding.effect):.2g} over siblings; {VERDICTS[finding.kind]}."
        yield Ranked(ranks[finding.kind], BriefSentence(text=text, kind="paid_for", evidence=evidence))


def _data(run: OpenRun) -> Iterator[Ranked]:
    """The first of the certain rules that samples break."""
    for broken in [one for one in lint(run, LintQuery()).broken if one.is_certain][:1]:
        evidence = Evidence(page="rollouts", samples=broken.samples)
        yield Ranked(1, BriefSentence(text=broken.text, kind="data", evidence=evidence))


def _curves(run: OpenRun, *, is_first: bool) -> Iterator[Ranked]:
    """The first error in the curves, or the first hint, which comes before what is as expected if it is the first."""
    for raised in check(RunCurves(run), OWN).raised[:1]:
        alarm, is_error = raised.alarm, raised.rule.severity == "error"
        yield Ranked(1 if is_error else 4 if is_first else 8, _of_alarm(alarm))


def _of_alarm(alarm: Alarm) -> BriefSentence:
    evidence = Evidence(
        page="rollouts" if alarm.where or not alarm.curves else "metrics", split=alarm.split, where=alarm.where,
        sort=alarm.sort, descending=alarm.descending, discarded=alarm.discarded,
        curve=alarm.curves[0].name if alarm.curves else "",
    )  # fmt: skip
    text = f"{alarm.title}: {alarm.text}."
    return BriefSentence(text=text, kind="curves", steps=(alarm.first_step, alarm.last_step), evidence=evidence)


def _figure(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _change(before: float, after: float, shown: Callable[[float], str] = _figure) -> str:
    return f"{shown(before)} → {shown(after)}"
