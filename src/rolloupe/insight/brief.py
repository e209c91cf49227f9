"""What a careful colleague would say of a run in three sentences, the most important first, each with its evidence.

A change is reported only if it stands out of the noise.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from itertools import groupby
from math import sqrt
from operator import itemgetter
from statistics import median
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.insight.check import check
from rolloupe.insight.curves import CurveName, RunCurves, counted, scale_of, step_noise
from rolloupe.insight.findings import Finding, findings, trend
from rolloupe.insight.findings.trend import MIN_T, NEARLY_ALL
from rolloupe.insight.lint import lint
from rolloupe.insight.lint.rule import BrokenRule, RunLint
from rolloupe.insight.windows import BEST, CHANGE, Windows, windows_of
from rolloupe.query.engine.names import EVALS, is_asked
from rolloupe.query.evals.scores import EvalSummary, PairedChange, evals_answer, graded_deviation, paired_change
from rolloupe.query.records import SampleQuery, StepSummary
from rolloupe.questions import BriefQuery, EvalQuery, FindingQuery, LintQuery
from rolloupe.tokens import Floats

SentenceKind = Literal["reward", "held_out", "paid_for", "answers", "data", "curves"]

MOST = 3
"""Sentences of a brief."""
VERDICTS = {"suspect": "correctness does not follow", "unverified": "the run does not record correctness"}
"""The classes of findings that a brief mentions, the worse one first, and what each says of correctness."""
CAUSES = (
    "truncated_rise", "empty_answers", "refusals", "gave_up", "repeated_text", "other_script", "entropy_explosion",
)  # fmt: skip
"""Rules about curves that say why a reward falls, the plainest first: they come before it."""
ALIKE = {"one_text", "one_prompt"}
"""Rules about samples that come first of all: such a run learns nothing else."""
STATED = "stated_labels"
LABELS = {"disputed_labels", STATED, "unpaid_labels"}
"""Rules about labels that a brief mentions though they need a look."""
TRIFLE, MANY = "other_reward", 0.005
"""Certain, but not worth a sentence if it concerns fewer of the samples: a judge that is a model is seldom exact."""
LOOKS = {"same_texts", "policy_lag"}
"""Rules about samples that a brief mentions though they need a look, if they concern `SHARE` of the samples."""
SHARE = 0.05
OWN = {"reward_collapse", "eval_down"}
"""Rules about curves that the sentences about the reward and about evaluations replace."""


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


Ranked = tuple[Rank, BriefSentence]


def brief(run: OpenRun, asked: BriefQuery) -> Brief:
    """Return what is worth saying of a run. Raises `NotFound` for an unknown split."""
    found = findings(run, FindingQuery(split=asked.split))
    split = found.split
    steps = query.steps(run, split) if query.splits(run, quick=True) else []
    paid, spread = list(_paid_for(split, found.findings)), list(_spread(split, found.findings))
    held_out = list(_held_out(run))
    reward = [] if held_out and is_asked(split, EVALS) else list(_reward(split, steps))  # it would say the same twice
    parts = list(_parts(run, split)) if steps else []
    subjects = {_subject(sentence.evidence.finding) for _, sentence in paid}
    if any(sentence.kind == "data" for _, sentence in reward):  # one number leaves no spread
        subjects.add("without")
    others = [*parts, *_data(run), *_diverging(reward, held_out)]
    has_fallen = any(rank == Rank.FALL or " fell " in one.text or " fallen " in one.text for rank, one in others)
    curves = _curves(run, subjects, is_first=not (paid or spread), has_fallen=has_fallen)
    ranked = sorted([*others, *curves, *paid, *spread], key=itemgetter(0))
    return Brief(
        sentences=_chosen(ranked), split=split, samples=sum(step.samples for step in steps),
        pending=found.pending,
    )  # fmt: skip


def _chosen(ranked: Sequence[Ranked]) -> list[BriefSentence]:
    """Return the first sentences, one about each subject; what a reward fell by has a place among them."""
    chosen: list[Ranked] = []
    subjects = set[str]()
    for rank, sentence in ranked:
        curve = sentence.evidence.curve
        subject = _subject(sentence.evidence.finding or (curve.name if curve and sentence.kind == "curves" else ""))
        if subject and subject in subjects:
            continue
        subjects.add(subject)
        chosen.append((rank, sentence))
    fall = next((one for one in chosen[MOST:] if one[0] == Rank.FALL), None)
    shown = chosen[:MOST] if fall is None else [*chosen[: MOST - 1], fall]
    return [sentence for _, sentence in shown]


def _diverging(reward: list[Ranked], held_out: list[Ranked]) -> list[Ranked]:
    """Return both sentences, or one if the reward rose while an evaluation fell."""
    if not (reward and held_out):
        return [*reward, *held_out]
    (_, first), (rank, second) = reward[-1], held_out[0]
    if rank != Rank.ERROR or not first.text.startswith(RISES):
        return [*reward, *held_out]
    rise = first.text.partition(";")[0].rstrip(".")
    text = f"{second.text.rstrip('.')}, while {rise[:1].lower()}{rise[1:]}."
    return [*reward[:-1], (rank, replace(second, text=text))]


ROSE, JUMPED = "The reward rose", "The reward jumped"
RISES = (ROSE, JUMPED)


def _reward(split: str, steps: Sequence[StepSummary]) -> Iterator[Ranked]:
    """Yield in which steps the grader was broken, and what the mean reward did in the others."""
    known = [step for step in steps if step.reward.mean is not None and np.isfinite(step.reward.mean)]
    evidence = Evidence(page="metrics", split=split, curve=CurveName("sample", "reward"))
    if broken := _broken(known):
        first, last = known[broken[0]].step, known[broken[-1]].step
        is_last = broken[-1] == len(known) - 1
        when = f"Since step {first}" if is_last else f"In steps {first} to {last}"
        before, value = (_figure(known[place].reward.mean or 0.0) for place in (broken[0] - 1, broken[0]))
        text = f"{when} every reward is {value}; the mean of the step before is {before}."
        yield Rank.CAUSE, BriefSentence(text=text, kind="data", steps=(first, last), evidence=evidence)
        known = [] if is_last else [step for place, step in enumerate(known) if place not in broken]
    means = np.array([step.reward.mean for step in known], float)
    scale = scale_of(means)
    if dip := _dip(means / scale):
        first, last = known[dip[0]].step, known[dip[-1]].step
        low, before, after = (_figure(float((means[part] / scale).mean()) * scale) for part in (dip, *_beside(dip)))
        text = f"In steps {first} to {last} the reward dipped to {low}, from {before} before and to {after} after."
        yield Rank.CAUSE, BriefSentence(text=text, kind="reward", steps=(first, last), evidence=evidence)
        known = [step for place, step in enumerate(known) if place not in dip]
    if known:
        yield _change_of(known, evidence)


DEEP, MOST_DIPPED, DIP = 0.5, 0.2, 4
"""A dip is below this share of the rewards before and after it, has at most this share of the steps, and is so many
standard errors deep.
"""


def _dip(means: Floats) -> range:
    """Return the places of the longest stretch of two steps or more with rewards far below those around it."""
    found = range(0)
    if len(means) < 2 * AROUND or not (means >= 0).all():
        return found
    is_low = means < DEEP * float(np.median(means))
    for low, of in groupby(range(len(means)), lambda place: bool(is_low[place])):
        places = [*of]
        stretch = range(places[0], places[-1] + 1)
        if not low or not 2 <= len(stretch) <= MOST_DIPPED * len(means) or len(stretch) <= len(found):
            continue
        before, after = (means[part] for part in _beside(stretch))
        if len(before) < AROUND or len(after) < AROUND:
            continue
        least = min(float(before.mean()), float(after.mean()))
        noise = step_noise(np.delete(means, stretch)) * sqrt(1 / len(stretch) + 1 / AROUND)
        if float(means[stretch].max()) < DEEP * least and least - float(means[stretch].mean()) > DIP * noise:
            found = stretch
    return found


def _beside(stretch: range) -> tuple[slice, slice]:
    """Return the places of `AROUND` steps before a stretch, and after it."""
    return slice(max(0, stretch.start - AROUND), stretch.start), slice(stretch.stop, stretch.stop + AROUND)


def _change_of(known: Sequence[StepSummary], evidence: Evidence) -> Ranked:
    """Return what the mean reward did: that it jumped or dropped, fell since its best, rose, or shows no change."""
    numbers = [step.step for step in known]
    means, counts = (np.array([getattr(step.reward, name) for step in known], float) for name in ("mean", "count"))
    spreads = np.array([step.reward.std or 0.0 for step in known])
    windows = windows_of(numbers, means, counts, spreads)
    (early, late), best = windows.ends, windows.best
    peak, first, last = numbers[int(means.argmax())], numbers[0], numbers[-1]
    rank: Rank = Rank.CHANGE
    if len(known) == 1:
        text = f"The mean reward of the {counted(known[0].samples)} of step {first} is {_figure(early)}."
    elif jump := _jump(windows, means):
        first, (earlier, later) = numbers[jump], _around(means, jump)
        rank, word = (Rank.ERROR, JUMPED) if later > earlier else (Rank.FALL, "The reward dropped")
        text = f"{word} from {_figure(earlier)} to {_figure(later)} at step {first} (means of {AROUND} steps)."
    elif windows.has_fallen:
        share = f", {(late - best) / best:+.0%}".replace("-", "−") if best > 0 and late >= 0 else ""
        begin = windows.best_place
        peak = numbers[begin + int(means[begin : begin + windows.width].argmax())]
        half = windows.halfway(best, late)
        change = f"{_change(best, late)}{windows.over}{share}, half of it by step {half}"
        text = f"The reward was best at step {peak} and has fallen since: {change}."
        rank, first = Rank.FALL, windows.best_step
    elif windows.change:
        rank, word = (Rank.CHANGE, ROSE) if windows.change > 0 else (Rank.ERROR, "The reward fell")
        text = f"{word} from {_figure(early)} to {_figure(late)}{windows.over}; it was best at step {peak}."
    else:
        doubt = f"±{windows.half_width:.2g}{windows.over}" if windows.is_noisy else "always the same"
        what = f"shows no clear change over {len(known)} steps"
        if windows.may_have_changed:
            what = f"may have {'risen' if late > early else 'fallen'} over {len(known)} steps"
        text = f"The reward {what}: {_change(early, late)}, {doubt}."
    return rank, BriefSentence(text=text, kind="reward", steps=(first, last), evidence=evidence)


CHANCE = 3
"""How many more steps in a row must have one reward for each single step that has."""
PART, LEAST_STEPS = 0.05, 10
"""The least share of the samples, and steps, of an environment that has a sentence of its own."""


def _parts(run: OpenRun, split: str) -> Iterator[Ranked]:
    """Yield the environment in which the reward fell, if it did in no other; and that correctness fell alone."""
    correctness = trend.correctness_of(run, trend.metrics_of(run.snapshot(), split), "")
    if not correctness and not query.has_column(run, "env"):
        return
    names = ["step", "reward", "env", "discarded", *([correctness] if correctness else [])]
    arrays = query.sample_arrays(run, SampleQuery(splits=(split,)), names)
    steps, rewards = arrays.numbers("step"), arrays.numbers("reward")
    counts = np.isfinite(rewards) & (arrays.words("discarded") == "")
    envs, place, sizes = np.unique(arrays.words("env").astype(str), return_inverse=True, return_counts=True)
    judged = {
        env: windows
        for number, env in enumerate(envs.tolist())
        if env and sizes[number] >= PART * len(steps)
        if (windows := _by_step(steps, rewards, counts & (place == number)))
    }
    fallen = [env for env, windows in judged.items() if windows.has_fallen]
    if len(fallen) == 1 and len(judged) > 1:
        others = f"{len(judged) - 1} other {'environment' if len(judged) == 2 else 'environments'}"
        windows = judged[fallen[0]]
        text = f"In the environment {fallen[0]} the reward {_fallen(windows)}; in {others} there is no clear fall."
        evidence = Evidence(page="rollouts", split=split, where=f"env = {query.quoted(fallen[0])}", sort="reward")
        yield Rank.CAUSE, BriefSentence(text=text, kind="reward", steps=_late_steps(windows), evidence=evidence)
    if not correctness:
        return
    whole, correct = (_by_step(steps, values, counts) for values in (rewards, arrays.numbers(correctness)))
    if correct and correct.has_fallen and whole and not whole.has_fallen and not whole.may_have_fallen:
        did = "rose" if whole.change > 0 else "did not fall"
        text = f"`{trend.bare(correctness)}` {_fallen(correct)}, while the reward {did}."
        evidence = Evidence(page="metrics", split=split, curve=CurveName("sample", correctness))
        yield Rank.FALL, BriefSentence(text=text, kind="reward", steps=_late_steps(correct), evidence=evidence)
    elif correct and whole and whole.change > 0 and not correct.change and not correct.may_have_changed:
        text = f"The reward rose, `{trend.bare(correctness)}` did not: {_change(*correct.ends)}{correct.over}."
        evidence = Evidence(page="metrics", split=split, curve=CurveName("sample", correctness))
        yield Rank.UNVERIFIED, BriefSentence(text=text, kind="reward", evidence=evidence)


def _by_step(steps: Floats, values: Floats, of: NDArray[np.bool_]) -> Windows | None:
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
    return (
        f"fell from {_figure(best)} to {_figure(late)}{windows.over}, half of it by step {windows.halfway(best, late)}"
    )


def _late_steps(windows: Windows) -> tuple[int, int]:
    return windows.best_step, windows.steps[-1]


def _broken(known: Sequence[StepSummary]) -> range:
    """Return the places of the steps in which all rewards are one number, as no policy does it; empty for none.

    The means before, and after, must differ by `CHANGE` standard errors, and by `SUDDEN` times what is usual or more.
    Where groups are few and have no spread, single steps have one reward by chance, and so may some in a row.
    """
    stretches = [
        (value, range((places := [*of_value])[0], places[-1] + 1))
        for value, of_value in groupby(range(len(known)), lambda place: _only(known[place]))
    ]
    single = sum(value is not None and len(stretch) == 1 for value, stretch in stretches)
    found = range(0)
    for value, stretch in stretches:
        is_last = stretch.stop == len(known)
        is_long = len(stretch) >= (max(3, SHARE * len(known)) if is_last else 2) + CHANCE * single
        if value is not None and is_long and len(stretch) > len(found) and _is_sudden(known, stretch, value):
            found = stretch
    return found


def _only(step: StepSummary) -> float | None:
    """Return the only reward of a step; None if it has several, or none."""
    return step.reward.min if step.reward.min == step.reward.max else None


def _is_sudden(known: Sequence[StepSummary], stretch: range, value: float) -> bool:
    """Return whether the mean reward of the steps beside some, `AROUND` on each side, is far from their one reward."""
    before, after = known[max(0, stretch.start - AROUND) : stretch.start], known[stretch.stop :][:AROUND]
    usual = median([_distance([step], value) for step in (*known[: stretch.start], *known[stretch.stop :])] or [0.0])
    count = sum(step.reward.count for step in known[stretch.start : stretch.stop])
    for beside in (before, after) if after else (before,):
        error = max((step.reward.std or 0.0 for step in beside), default=0.0) / sqrt(count)
        if not error or _distance(beside, value) < max(CHANGE * error, SUDDEN * usual):
            return False
    return True


def _distance(steps: Sequence[StepSummary], value: float) -> float:
    return abs(sum((step.reward.mean or 0.0) - value for step in steps) / len(steps))


AROUND = 3
"""How many steps before a jump, and after it, are averaged."""
JUMP, SUDDEN = 6, 0.7
"""The least jump, in standard errors of the difference of two steps, and as a share of the change around it."""
LASTING = 0.95
"""The least share of the steps on their own side of the middle of a jump."""


def _around(means: Floats, place: int) -> tuple[float, float]:
    scale = scale_of(means)
    early, late = (means[part] / scale for part in (slice(place - AROUND, place), slice(place, place + AROUND)))
    return float(early.mean()) * scale, float(late.mean()) * scale


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


PAIRED_PROMPTS, PAIRED_CHANGE, PAIRED_POINTS = 30, 3.7, 0.05
"""The least of what a comparison of prompts with themselves reports: how many, standard errors, share of answers."""


class EvaluationChange(NamedTuple):
    """What one evaluation did."""

    name: str
    text: str
    split: str
    evaluations: int
    steps: tuple[int, int]


def _held_out(run: OpenRun) -> Iterator[Ranked]:
    """Yield what went wrong in an evaluation, or else what changed in the first, or that nothing did in any."""
    ranked = [found for summary in evals_answer(run, EvalQuery()).evals if (found := _evaluation(run, summary))]
    if not ranked:
        return
    rank, first = min(ranked, key=itemgetter(0))
    text = f"{first.name} {first.text}"
    if rank == Rank.STEADY:
        shown = ", ".join(f"{change.name} {change.text}" for _, change in ranked[:MOST])
        count = max(change.evaluations for _, change in ranked)
        text = f"No clear change over {count} evaluations: {shown}."
    evidence = Evidence(page="evals", split=first.split)
    yield rank, BriefSentence(text=text, kind="held_out", steps=first.steps, evidence=evidence)


def _evaluation(run: OpenRun, summary: EvalSummary) -> tuple[Rank, EvaluationChange] | None:
    known = [step for step in summary.steps if step.pass_at[:1] != [None] and step.samples > step.without]
    if len(known) < 2:
        return None
    counts = np.array([step.samples - step.without for step in known], float)
    deviation = None if summary.falls else graded_deviation(run, summary.split)
    is_score = deviation is not None
    values = np.array([step.score if is_score else step.pass_at[0] for step in known], float)
    unit, shown = ("", _figure) if is_score else (" correct", _share)
    if deviation is None:
        pooled = float((values * counts).sum() / counts.sum())
        deviation = sqrt(max(pooled * (1 - pooled), 0.0))
    windows = windows_of([step.step for step in known], values, counts, np.full(len(known), deviation))
    (early, late), begin, change = windows.ends, known[0].step, windows.change
    paired, over = paired_change(run, summary.split, by_score=is_score), windows.over
    if not change and _is_clear(paired, 2 * deviation if is_score else 1.0) and paired.mean * (late - early) > 0:
        change, over = int(np.sign(paired.mean)), f"{over}, compared on the same {paired.prompts} prompts"
    if windows.best - late > BEST * windows.error:
        rank, begin = Rank.ERROR, windows.best_step
        text = (
            f"was best at step {begin} and has fallen since: {_change(windows.best, late, shown)}{unit}{windows.over}."
        )
    elif change:
        rank, word = (Rank.CHANGE, "rose") if change > 0 else (Rank.ERROR, "fell")
        text = f"{word} from {shown(early)} to {shown(late)}{unit}{over}."
    else:
        doubt = f"{windows.half_width:.2g}" if is_score else f"{100 * windows.half_width:.0f}"
        rank, text = Rank.STEADY, f"{_change(early, late, shown)} (±{doubt})"
    name = summary.split.removeprefix("eval/")
    return rank, EvaluationChange(name, text, summary.split, len(known), (begin, known[-1].step))


def _is_clear(paired: PairedChange, scale: float) -> bool:
    is_large = paired.prompts >= PAIRED_PROMPTS and abs(paired.mean) >= PAIRED_POINTS * scale
    return is_large and abs(paired.mean) > PAIRED_CHANGE * paired.error


def _paid_for(split: str, found: Sequence[Finding]) -> Iterator[Ranked]:
    """Yield the first finding that is suspect, or else the first that nobody can verify."""
    kinds = [*VERDICTS]
    suspects = sorted((finding for finding in found if finding.kind in kinds), key=lambda one: kinds.index(one.kind))
    for finding in suspects[:1]:
        rank = Rank.SUSPECT if finding.kind == "suspect" else Rank.UNVERIFIED
        verdict = VERDICTS[finding.kind]
        if min(finding.first, finding.last) >= NEARLY_ALL:  # its shares say nothing, unlike its amounts
            text = f"{finding.text.partition('; ')[0]}; {verdict}."
        else:
            text = f"{_shares(finding)}: {_paid(finding)}; {verdict}."
        yield rank, BriefSentence(text=text, kind="paid_for", evidence=_evidence(split, finding))


FEW, MOST_ANSWERS = 0.2, 0.5
"""The shares of the answers that a behaviour spreads from and to if a brief mentions it, though it is not paid for."""


def _spread(split: str, found: Sequence[Finding]) -> Iterator[Ranked]:
    """Yield the behaviour that spread most, to over half of the answers, without being paid for."""
    unpaid = (finding for finding in found if finding.behaviour and (finding.kind == "drift" or finding.effect < 0))
    rises = [one for one in unpaid if one.first <= FEW and one.last > MOST_ANSWERS and one.rise >= MIN_T]
    for finding in sorted(rises, key=lambda one: one.first - one.last)[:1]:
        is_drift = finding.kind == "drift"
        paid = ", which the reward does not clearly pay for" if is_drift else f": {_paid(finding)}"
        text = f"{_shares(finding)}{paid}."
        yield Rank.UNVERIFIED, BriefSentence(text=text, kind="answers", evidence=_evidence(split, finding))


def _evidence(split: str, finding: Finding) -> Evidence:
    return Evidence(page="findings", split=split, finding=finding.name, samples=finding.samples.ids())


def _shares(finding: Finding) -> str:
    title = finding.title[:1].upper() + finding.title[1:]
    return f"{title} in {finding.first:.0%} → {finding.last:.0%} of answers"


def _paid(finding: Finding) -> str:
    return f"{finding.effect:+.2g} reward within the group".replace("-", "−")


def _data(run: OpenRun) -> Iterator[Ranked]:
    found = lint(run, LintQuery())
    shown = [one for one in found.broken if one.is_certain or one.rule in LABELS | ALIKE or _is_common(one, found)]
    ranked = [(_rank_of(one), one) for one in shown if one.rule != TRIFLE or one.count > MANY * found.samples]
    for rank, broken in sorted(ranked, key=itemgetter(0))[:1]:
        evidence = Evidence(page="findings", finding=broken.rule, samples=broken.samples)
        yield rank, BriefSentence(text=broken.text, kind="data", evidence=evidence)


def _rank_of(broken: BrokenRule) -> Rank:
    if broken.rule in ALIKE:
        return Rank.CAUSE
    if broken.rule == TRIFLE:
        return Rank.REST
    return Rank.ERROR if broken.is_certain or broken.rule == STATED else Rank.UNVERIFIED


def _is_common(broken: BrokenRule, found: RunLint) -> bool:
    return broken.rule in LOOKS and broken.count >= SHARE * found.samples


def _curves(run: OpenRun, subjects: set[str], *, is_first: bool, has_fallen: bool) -> Iterator[Ranked]:
    """Yield two causes, the first error in the curves and the first hint.

    `subjects` has the subjects that other sentences are about; `is_first` if nothing else comes before a hint;
    `has_fallen` if there is a fall that the causes may explain.
    """
    raised = check(RunCurves(run), OWN).raised
    new = [one for one in raised if not any(_subject(curve.name) in subjects for curve in one.alarm.curves)]
    causes = sorted((one for one in new if one.rule.name in CAUSES), key=lambda one: CAUSES.index(one.rule.name))
    errors = [one for one in new if one.rule.severity == "error" and one not in causes]
    hints = [one for one in new if one not in causes and one not in errors]
    for rule, alarm in [*causes[:2], *errors[:1], *hints[:1]]:
        evidence = Evidence(
            page="metrics" if alarm.curves else "rollouts", split=alarm.split, where=alarm.where, sort=alarm.sort,
            descending=alarm.descending, discarded=alarm.discarded, curve=next(iter(alarm.curves), None),
        )  # fmt: skip
        text, steps = f"{alarm.title}: {alarm.text}.", (alarm.first_step, alarm.last_step)
        hint = Rank.HINT if is_first else Rank.REST
        cause = Rank.CAUSE if has_fallen else Rank.SUSPECT
        rank = cause if rule.name in CAUSES else Rank.ERROR if rule.severity == "error" else hint
        yield rank, BriefSentence(text=text, kind="curves", steps=steps, evidence=evidence)


def _subject(name: str) -> str:
    """Return what a derived metric or a curve is about: repeated sentences and repeated 4-grams say the same."""
    return name.partition("_")[0]


def _figure(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _share(value: float) -> str:
    return f"{value:.0%}"


def _change(before: float, after: float, shown: Callable[[float], str] = _figure) -> str:
    return f"{shown(before)} → {shown(after)}"
