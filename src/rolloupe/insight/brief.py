"""What a careful colleague would say of a run in three sentences, the most important first, each with its evidence.

A change is reported only if it stands out of the noise.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.insight.check import check
from rolloupe.insight.curves import CurveName, RunCurves, counted, noise_of_trend, scale_of, step_noise
from rolloupe.insight.findings import Finding, findings
from rolloupe.insight.lint import lint
from rolloupe.insight.lint.rule import BrokenRule, RunLint
from rolloupe.query.engine.names import EVALS, is_asked
from rolloupe.query.evals.scores import EvalSummary, evals_answer
from rolloupe.query.records import StepSummary
from rolloupe.questions import BriefQuery, EvalQuery, FindingQuery, LintQuery
from rolloupe.tokens import Floats

SentenceKind = Literal["reward", "held_out", "paid_for", "data", "curves"]

MOST = 3
"""Sentences of a brief."""
CHANGE = 4.2
"""The least change, in standard errors of the difference between two windows of steps."""
BEST = 4.8
"""The same for the best of many windows, which is high by chance too."""
FALL = 0.15
"""The least fall from the best window, as a share of it or of the deviation of the samples."""
WINDOWS = 10
"""A window has a tenth of the steps."""
VERDICTS = {"suspect": "but no {more} often correct", "unverified": "and the run does not say which are correct"}
"""The classes of findings that a brief mentions, the worse one first, and what each says of correctness."""
CAUSES = {"truncated_rise"}
"""Rules about curves that say why a reward falls: they come before it."""
LOOKS = {"same_texts", "label_in_prompt", "policy_lag"}
"""Rules about samples that a brief mentions though they need a look, if they concern `SHARE` of the samples."""
SHARE = 0.05
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


class Brief(Struct, frozen=True, kw_only=True):
    """What is worth saying of a run."""

    sentences: list[BriefSentence]
    """At most three, the most important first."""
    split: str
    """The split whose rewards they are about."""
    samples: int
    """How many samples it has."""
    pending: int = 0
    """How many samples the index has not reached: what is paid for may be missing."""


Ranked = tuple[int, BriefSentence]
"""A sentence with its rank: the lowest comes first."""


def brief(run: OpenRun, asked: BriefQuery) -> Brief:
    """Return what is worth saying of a run. Raises `NotFound` for an unknown split."""
    found = findings(run, FindingQuery(split=asked.split))
    split = found.split
    steps = query.steps(run, split) if query.splits(run, quick=True) else []
    paid_for = list(_paid_for(split, found.findings))
    held_out = list(_held_out(run))
    reward = [] if held_out and is_asked(split, EVALS) else _reward(split, steps)  # it would say the same twice
    ranked = [*reward, *held_out, *_data(run), *_curves(run, is_first=not paid_for), *paid_for]
    ranked.sort(key=itemgetter(0))
    return Brief(
        sentences=[sentence for _, sentence in ranked[:MOST]], split=split, samples=sum(step.samples for step in steps),
        pending=found.pending,
    )  # fmt: skip


class Windows(NamedTuple):
    """Means over windows of as many steps each, weighted by samples, and the noise of their differences."""

    steps: list[int]
    width: int
    trend: float
    """The mean of the last third less that of the first, in standard errors."""
    means: Floats
    """One for each step at which a window begins."""
    error: float
    """The standard error of the difference of two windows."""
    spread: float
    """The median of the standard deviations of the steps."""

    @property
    def ends(self) -> tuple[float, float]:
        """The means of the first and the last window."""
        return float(self.means[0]), float(self.means[-1])

    @property
    def change(self) -> int:
        """1 if the curve rose, -1 if it fell, 0 without a clear change: between its ends, or between its thirds."""
        early, late = self.ends
        clear = max(abs(late - early) / self.error, abs(self.trend)) > CHANGE
        return int(np.sign(late - early)) if clear and self.trend * (late - early) > 0 else 0

    @property
    def best(self) -> float:
        """The highest mean."""
        return float(self.means.max())

    @property
    def best_place(self) -> int:
        """Where in the steps the best window begins."""
        return int(self.means.argmax())

    @property
    def best_step(self) -> int:
        """The last step of the best window."""
        return self.steps[self.best_place + self.width - 1]

    @property
    def over(self) -> str:
        """Says what the means are of; empty for single steps."""
        return f" (means of {self.width} steps)" if self.width > 1 else ""


def windows_of(steps: Sequence[int], values: Floats, weights: Floats, deviations: Floats) -> Windows:
    """Return the windows of a curve: a value, a number of samples and a standard deviation for each step.

    The noise of a step is that of a mean of its samples, or that between neighbouring steps, whichever is more.
    """
    scale = scale_of(values, deviations)
    values, deviations = values / scale, deviations / scale
    width = max(1, len(steps) // WINDOWS)
    sums, counts = (np.concatenate([[0.0], np.cumsum(part)]) for part in (values * weights, weights))
    means = (sums[width:] - sums[:-width]) / (counts[width:] - counts[:-width])
    of_samples = float(np.median(deviations / np.sqrt(weights)))
    of_steps = min(step_noise(values), noise_of_trend(values)) if len(values) > 5 else 0.0
    noise, third = max(of_samples, of_steps, 1e-12), max(1, len(steps) // 3)
    early, late = sums[third] / counts[third], (sums[-1] - sums[-1 - third]) / (counts[-1] - counts[-1 - third])
    trend = float((late - early) / noise / np.sqrt(2 / third))
    error, spread = noise * float(np.sqrt(2 / width)), float(np.median(deviations))
    return Windows([*map(int, steps)], width, trend, means * scale, error * scale, spread * scale)


def _reward(split: str, steps: Sequence[StepSummary]) -> Iterator[Ranked]:
    known = [step for step in steps if step.reward.mean is not None and np.isfinite(step.reward.mean)]
    if not known:
        return
    numbers = [step.step for step in known]
    means, counts = (np.array([getattr(step.reward, name) for step in known], float) for name in ("mean", "count"))
    spreads = np.array([step.reward.std or 0.0 for step in known])
    windows = windows_of(numbers, means, counts, spreads)
    (early, late), best = windows.ends, windows.best
    peak, first, last = numbers[int(means.argmax())], numbers[0], numbers[-1]
    evidence = Evidence(page="metrics", split=split, curve=CurveName("sample", "reward"))
    rank = 6
    if len(known) == 1:
        text = f"The mean reward of the {counted(known[0].samples)} of step {first} is {_figure(early)}."
    elif best - late > BEST * windows.error and best - late > FALL * max(abs(best), windows.spread):
        share = f", {(late - best) / best:+.0%}".replace("-", "−") if best > 0 and late >= 0 else ""
        begin = windows.best_place
        peak = numbers[begin + int(means[begin : begin + windows.width].argmax())]
        change = f"{_change(best, late)}{windows.over}{share}"
        text = f"The reward was best at step {peak} and has fallen since: {change}."
        rank, first = 0, windows.best_step
    elif windows.change:
        word, rank = ("rose", 6) if windows.change > 0 else ("fell", 1)
        text = f"The reward {word} from {_figure(early)} to {_figure(late)}{windows.over}; it is best at step {peak}."
    else:
        text = f"The reward shows no clear change over {len(known)} steps: {_change(early, late)}{windows.over}."
    yield rank, BriefSentence(text=text, kind="reward", steps=(first, last), evidence=evidence)


STEADY = 7
"""The rank of evaluations that show no clear change; the first one that rises has the rank before."""


class EvaluationChange(NamedTuple):
    """What one evaluation did."""

    name: str
    text: str
    split: str
    evaluations: int
    steps: tuple[int, int]


def _held_out(run: OpenRun) -> Iterator[Ranked]:
    """Yield what went wrong in an evaluation, or else what changed in the first, or that nothing did in any."""
    ranked = [found for summary in evals_answer(run, EvalQuery()).evals if (found := _evaluation(summary))]
    if not ranked:
        return
    rank, first = min(ranked, key=itemgetter(0))
    text = f"{first.name} {first.text}"
    if rank == STEADY:
        shown = ", ".join(f"{change.name} {change.text}" for _, change in ranked[:MOST])
        count = max(change.evaluations for _, change in ranked)
        text = f"No clear change over {count} evaluations, in shares of correct answers: {shown}."
    evidence = Evidence(page="evals", split=first.split)
    yield rank, BriefSentence(text=text, kind="held_out", steps=first.steps, evidence=evidence)


def _evaluation(summary: EvalSummary) -> tuple[int, EvaluationChange] | None:
    known = [step for step in summary.steps if step.pass_at[:1] != [None] and step.samples > step.without]
    if len(known) < 2:
        return None
    shares = np.array([step.pass_at[0] for step in known], float)
    counts = np.array([step.samples - step.without for step in known], float)
    pooled = float((shares * counts).sum() / counts.sum())
    deviation = np.sqrt(max(pooled * (1 - pooled), 0.0))
    windows = windows_of([step.step for step in known], shares, counts, np.full(len(known), deviation))
    (early, late), begin = windows.ends, known[0].step
    if windows.best - late > BEST * windows.error:
        rank, begin = 1, windows.best_step
        change = _change(windows.best, late, _share)
        text = f"was best at step {begin} and has fallen since: {change} correct{windows.over}."
    elif windows.change > 0:
        rank, text = STEADY - 1, f"rose from {_share(early)} to {_share(late)} correct{windows.over}."
    else:
        rank, text = STEADY, _change(early, late, _share)
    name = summary.split.removeprefix("eval/")
    return rank, EvaluationChange(name, text, summary.split, len(known), (begin, known[-1].step))


def _paid_for(split: str, found: Sequence[Finding]) -> Iterator[Ranked]:
    """Yield the first finding that is suspect, or else the first that nobody can verify."""
    kinds = [*VERDICTS]
    suspects = sorted((finding for finding in found if finding.kind in kinds), key=lambda one: kinds.index(one.kind))
    for finding in suspects[:1]:
        evidence = Evidence(page="findings", split=split, finding=finding.name, samples=finding.samples.ids())
        title = finding.title[:1].upper() + finding.title[1:]
        rank = 2 + kinds.index(finding.kind)
        verdict = VERDICTS[finding.kind].format(more="more" if finding.effect >= 0 else "less")
        if min(finding.first, finding.last) >= NEARLY_ALL:  # its shares say nothing, unlike its amounts
            text = f"{finding.text.partition('; ')[0]}, {verdict}."
            yield rank, BriefSentence(text=text, kind="paid_for", evidence=evidence)
            return
        shares = f"{100 * finding.first:.0f} → {100 * finding.last:.0f} % of answers"
        paid = f"{finding.effect:+.2g} reward against the rest of the group".replace("-", "−")
        text = f"{title} in {shares}: {paid}, {verdict}."
        yield rank, BriefSentence(text=text, kind="paid_for", evidence=evidence)


NEARLY_ALL = 0.995


def _data(run: OpenRun) -> Iterator[Ranked]:
    found = lint(run, LintQuery())
    shown = [one for one in found.broken if one.is_certain or _is_common(one, found)]
    for broken in shown[:1]:
        evidence = Evidence(page="findings", finding=broken.rule, samples=broken.samples)
        yield 1 if broken.is_certain else 3, BriefSentence(text=broken.text, kind="data", evidence=evidence)


def _is_common(broken: BrokenRule, found: RunLint) -> bool:
    return broken.rule in LOOKS and broken.count >= SHARE * found.samples


def _curves(run: OpenRun, *, is_first: bool) -> Iterator[Ranked]:
    """Yield the first error in the curves, or else the first hint; `is_first` if nothing else comes before a hint."""
    raised = sorted(check(RunCurves(run), OWN).raised, key=lambda one: one.rule.name not in CAUSES)
    for rule, alarm in raised[:1]:
        evidence = Evidence(
            page="metrics" if alarm.curves else "rollouts", split=alarm.split, where=alarm.where, sort=alarm.sort,
            descending=alarm.descending, discarded=alarm.discarded, curve=next(iter(alarm.curves), None),
        )  # fmt: skip
        text, steps = f"{alarm.title}: {alarm.text}.", (alarm.first_step, alarm.last_step)
        rank = -1 if rule.name in CAUSES else 1 if rule.severity == "error" else 4 if is_first else 8
        yield rank, BriefSentence(text=text, kind="curves", steps=steps, evidence=evidence)


def _figure(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _change(before: float, after: float, shown: Callable[[float], str] = _figure) -> str:
    return f"{shown(before)} → {shown(after)}"
