"""What a careful colleague would say of a run in three sentences, the most important first, each with its evidence.

A change is reported only if it stands out of the noise.
"""

from collections.abc import Iterator, Sequence
from math import sqrt
from operator import attrgetter, itemgetter
from statistics import NormalDist

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.insight import reward_sentences as rewards
from rolloupe.insight.check import Raised, check
from rolloupe.insight.curves import RunCurves, counted, scale_of, windows_of
from rolloupe.insight.findings import Finding, findings
from rolloupe.insight.findings.phrase import says_something
from rolloupe.insight.findings.trend import MIN_T, NEARLY_ALL, correctness_of, metrics_of
from rolloupe.insight.lint.rule import BrokenRule, LintData, RunLint
from rolloupe.insight.lint.search import EVERYTHING, broken_rules
from rolloupe.insight.reward_components.fit import parts_of
from rolloupe.insight.reward_sentences import BriefSentence, Evidence, Rank, Ranked, change_of, figure, percent
from rolloupe.query.engine.names import EVALS, is_asked
from rolloupe.query.evals.scores import EvalSummary, evals_answer, graded_deviation, paired_change
from rolloupe.questions import BriefQuery, EvalQuery, FindingQuery
from rolloupe.text.visible import named

MOST = 3
"""Sentences of a brief."""
GAIN = 0.1
"""The least that a finding raised the mean reward by if a brief mentions it, in standard deviations of rewards."""
PLAIN_RISE = 0.4
"""How much the share of a letter, or of a word that all texts have, rises if a brief mentions it."""
VERDICTS = {"suspect": "correctness does not rise with it", "unverified": "the samples do not record correctness"}
"""The classes of findings that a brief mentions, the worse one first, and what each says of correctness."""
CAUSES = (
    "tool_errors", "truncated_rise", "cut_at_limit", "empty_answers", "refusals", "gave_up", "repeated_text",
    "other_script", "other_language", "other_turns",
)  # fmt: skip
"""Rules about curves that say why a reward falls, the plainest first: they come before it."""
BEFORE = {"tamper_words", "special_cases", "eval_down"}
"""Rules about curves that come before what is paid for."""
DIVERGED = {"entropy_explosion", "kl_explosion"}
"""Rules about curves that a sentence about a fall mentions: they come with it."""
ALIKE = {"one_text", "one_prompt", "trained_evals"}
"""Rules about samples that come first of all: such a run learns, or measures, nothing else."""
STATED, EMPTY = "stated_labels", "empty_labels"
UNPAID, PAID_WRONG, UNPAID_SHARE = "unpaid_labels", "paid_wrong", 0.1
LABELS = {"disputed_labels", STATED, EMPTY, UNPAID, PAID_WRONG}
"""Rules about labels that a brief mentions though they need a look; `UNPAID` is first of all at such a share."""
TRIFLE, MANY = "other_reward", 0.005
"""Certain, but not worth a sentence if it concerns fewer of the samples: a judge that is a model is seldom exact."""
LOOKS = {"same_texts", "policy_lag", "few_prompts"}
"""Rules about samples that a brief mentions though they need a look, if they concern `SHARE` of the samples."""
SHARE, MOST_PARTS = 0.05, 8
EVAL_WINDOWS, FALLS_BY_CHANCE = 5, 1e-4
"""How many windows an evaluation has beside each other, and how often chance may make it seem to have fallen since its
best one.
"""
OWN = {"reward_collapse"}
"""Rules about curves that the sentences about the reward replace."""


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


def brief(run: OpenRun, asked: BriefQuery) -> Brief:
    """Return what is worth saying of a run. Raises `NotFound` for an unknown split."""
    found = findings(run, FindingQuery(split=asked.split))
    split = found.split
    steps = query.steps(run, split) if query.splits(run, quick=True) else []
    held_out = list(_held_out(run))
    correctness = correctness_of(run, metrics_of(run.snapshot(), split), "")
    # The sentence about an evaluation says the same.
    reward = [] if held_out and is_asked(split, EVALS) else list(rewards.reward_sentences(split, steps))
    names = rewards.columns_of_few_values(run, split) if reward else []
    judged = [correctness] if correctness else parts_of(run, metrics_of(run.snapshot(), split))[:MOST_PARTS]
    data = LintData(run, EVERYTHING, [*judged, *names])
    rewarded = data.reward[(data.split == split) & np.isfinite(data.reward)]
    scale = scale_of(rewarded)
    least = GAIN * scale * float((rewarded / scale).std()) if len(rewarded) else 0.0
    paid = list(_paid_for(split, found.findings, least))
    spread = list(_spread(split, found.findings))
    if names:
        reward = [sentence for one in reward for sentence in rewards.explained(data, split, names, one)]
    subjects = {_subject(one.sentence.evidence.finding) for one in paid}
    if stands_still := any(one.sentence.kind == "data" for one in reward):  # one number leaves no spread
        subjects.add("without")
    raised = check(RunCurves(run), OWN).raised
    diverged = [one for one in raised if one.rule.name in DIVERGED] if reward and reward[-1].rank == Rank.FALL else []
    if diverged:
        title, text = diverged[0].alarm.title, reward[-1].sentence.text.rstrip(".")
        text = f"{text}; {title[:1].lower()}{title[1:]}, {diverged[0].alarm.text}."
        reward[-1] = reward[-1]._replace(sentence=replace(reward[-1].sentence, text=text))
    parts = [*rewards.unpaid_values(data, split, names), *rewards.part_sentences(data, split, judged)]
    others = [*parts, *_data(data, stands_still=stands_still), *_diverging(data, reward, held_out, found.findings)]
    raised = [
        one
        for one in raised
        if one not in diverged  # nor about an evaluation with samples, which has a sentence of its own
        and all(curve.kind != "eval" and _subject(curve.name) not in subjects for curve in one.alarm.curves)
    ]
    has_fallen = any(one.way < 0 for one in others)
    curves = _curves(raised, is_first=not (paid or spread), has_fallen=has_fallen)
    ranked = sorted([*others, *paid, *curves, *spread], key=attrgetter("rank"))
    return Brief(
        sentences=_chosen(ranked), split=split, samples=sum(step.samples for step in steps),
        pending=found.pending,
    )  # fmt: skip


def _chosen(ranked: Sequence[Ranked]) -> list[BriefSentence]:
    """Return the first sentences, one about each subject; what a reward fell by has a place among them."""
    chosen: list[Ranked] = []
    subjects = set[str]()
    for one in ranked:
        evidence = one.sentence.evidence
        curve = evidence.curve.name if evidence.curve and one.sentence.kind == "curves" else ""
        subject = _subject(evidence.finding or curve)
        if not subject or subject not in subjects:
            subjects.add(subject)
            chosen.append(one)
    fall = next((one for one in chosen[MOST:] if one.rank == Rank.FALL), None)
    shown = chosen[:MOST] if fall is None else [*chosen[: MOST - 1], fall]
    return [one.sentence for one in shown]


FEW_PROMPTS, OFTEN = 500, 10
"""The most prompts of a training, and at how many steps each has to stand, that a brief mentions beside a fall."""


def _diverging(data: LintData, reward: list[Ranked], held_out: list[Ranked], found: Sequence[Finding]) -> list[Ranked]:
    """Return both sentences; where an evaluation fell, it also says that the reward rose, what spread among the answers
    and is paid for, and that prompts are few.
    """
    if not held_out or held_out[0].way >= 0:
        return [*reward, *held_out]
    fell = held_out[0]
    text = fell.sentence.text.rstrip(".")
    if reward and reward[-1].way > 0:
        *reward, rose = reward
        rise = rose.sentence.text.partition(";")[0].rstrip(".")
        text = f"{text}, while {rise[:1].lower()}{rise[1:]}"
        spread = [one for one in found if one.last - one.first >= FEW and one.effect > 0 and says_something(one.phrase)]
        if spread:
            most = max(spread, key=lambda one: one.last - one.first)
            text = f"{text}; meanwhile {_shares(most)}: {_paid(most)}"
    count, seen = data.prompts(data.is_train)
    if 0 < count <= FEW_PROMPTS and seen >= OFTEN * count:
        text = f"{text}; it trains on {counted(count, 'prompt')}, each at {seen / count:.0f} steps"
    return [*reward, fell._replace(sentence=replace(fell.sentence, text=f"{text}."))]


PAIRED_PROMPTS, PAIRED_CHANGE, PAIRED_POINTS = 30, 3.3, 0.05
"""The least of what a comparison of prompts with themselves reports: how many, standard errors, share of answers."""


def _held_out(run: OpenRun) -> Iterator[Ranked]:
    """Yield what went wrong in an evaluation, or else what changed in the first, or that nothing did in any."""
    changes = [found for summary in evals_answer(run, EvalQuery()).evals if (found := _evaluation(run, summary))]
    if not changes:
        return
    first, *others = sorted((change for _, change in changes), key=attrgetter("rank"))
    shown = () if first.way < 0 else others[: MOST - 1]  # more follows about one that fell
    texts = [one.sentence.text.rstrip(".") for one in (first, *shown)]
    text = f"{'; '.join(texts)}."
    if first.rank == Rank.STEADY:
        text = f"No clear change over {max(count for count, _ in changes)} evaluations: {', '.join(texts)}."
    yield first._replace(sentence=replace(first.sentence, text=text))


def _evaluation(run: OpenRun, summary: EvalSummary) -> tuple[int, Ranked] | None:
    """Return how many times an evaluation was made, and what it did; None for fewer than two."""
    known = [step for step in summary.steps if step.pass_at[:1] != [None] and step.samples > step.without]
    before = max(0, sum(step.step < 0 for step in known) - 1)  # training starts at the last of these
    if len(known := known[before:]) < 2:
        return None
    counts = np.array([step.samples - step.without for step in known], float)
    deviation = None if summary.falls else graded_deviation(run, summary.split)
    is_score = deviation is not None
    values = np.array([step.score if is_score else step.pass_at[0] for step in known], float)
    unit, shown = ("", figure) if is_score else (" correct", percent)
    if deviation is None:
        pooled = (float((values * counts).sum()) + 1) / (float(counts.sum()) + 2)  # none right leaves doubt too
        deviation = sqrt(pooled * (1 - pooled))
    windows = windows_of([step.step for step in known], values, counts, np.full(len(known), deviation), EVAL_WINDOWS)
    (early, late), begin, change = windows.ends, known[0].step, windows.change
    paired, over = paired_change(run, summary.split, by_score=is_score), windows.over.replace("steps", "evaluations")
    least = max(PAIRED_CHANGE * paired.error, PAIRED_POINTS * (2 * deviation if is_score else 1.0))
    compared = ""
    is_clear = not before and paired.prompts >= PAIRED_PROMPTS and abs(paired.mean) > least
    if not change and is_clear and paired.mean * (late - early) > 0:
        change, compared = int(np.sign(paired.mean)), f", compared on the same {paired.prompts} prompts"
    rare = -NormalDist().inv_cdf(FALLS_BY_CHANCE / len(known))
    if windows.best - late > rare * windows.error:
        rank, change, begin = Rank.ERROR, -1, windows.best_step
        fall = change_of(windows.best, late, shown)
        text = f"was best at step {begin} and has fallen since: {fall}{unit}{over}."
    elif change:
        rank, word = (Rank.CHANGE, "rose") if change > 0 else (Rank.ERROR, "fell")
        text = f"{word} from {shown(early)} to {shown(late)}{unit}{over}{compared}."
    else:
        doubt = f"{windows.by_chance:.2g}" if is_score else f"{100 * windows.by_chance:.0f}"
        rank, text = Rank.STEADY, f"{change_of(early, late, shown)} (±{doubt})"
    sentence = BriefSentence(
        text=f"{named(summary.split.removeprefix('eval/'))} {text}", kind="held_out", steps=(begin, known[-1].step),
        evidence=Evidence(page="evals", split=summary.split),
    )  # fmt: skip
    return len(known), Ranked(rank, sentence, change)


def _paid_for(split: str, found: Sequence[Finding], least: float) -> Iterator[Ranked]:
    """Yield the suspect finding that raised the reward most, and by `least`, or else such a one that nobody can verify.

    What costs reward and fades raises it too, but as it should.
    """
    kinds = [*VERDICTS]
    paid = [one for one in found if one.kind in kinds and one.effect > 0 and _spreads(one) and _gain(one) >= least]
    suspects = [one for one in paid if says_something(one.phrase)]
    suspects = suspects or [one for one in paid if one.last - one.first >= PLAIN_RISE]
    for finding in sorted(suspects, key=lambda one: (kinds.index(one.kind), -_gain(one)))[:1]:
        rank = Rank.SUSPECT if finding.kind == "suspect" else Rank.UNVERIFIED
        verdict = VERDICTS[finding.kind]
        if min(finding.first, finding.last) >= NEARLY_ALL:  # its shares say nothing, unlike its amounts
            text = f"{finding.text.partition('; ')[0]}; {verdict}."
        else:
            shares = f"{finding.first:.0%} → {finding.last:.0%} of answers"
            text = f"Within groups the reward pays {finding.effect:+.2g} for {finding.title}, in {shares}; {verdict}."
        yield Ranked(rank, BriefSentence(text=text, kind="paid_for", evidence=_evidence(split, finding)))


def _gain(finding: Finding) -> float:
    """Return by how much a finding raised the mean reward: its effect times the change of its share, or of its amount
    in doublings.
    """
    if min(finding.first, finding.last) < NEARLY_ALL:
        return finding.effect * (finding.last - finding.first)
    means = finding.prevalence.means
    third = max(1, len(means) // 3)
    early, late = (float(np.mean(part)) for part in (means[:third], means[-third:]))
    return finding.effect * float(np.log2(late / early)) if early > 0 and late > 0 else 0.0


def _spreads(finding: Finding) -> bool:
    """Return whether a finding is more than a wording that many answers have from the start and some more later."""
    is_unverified_phrase = finding.kind == "unverified" and not finding.behaviour and finding.first < NEARLY_ALL
    return not is_unverified_phrase or finding.last >= min(2 * finding.first, finding.first + FEW)


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
        yield Ranked(Rank.UNVERIFIED, BriefSentence(text=text, kind="answers", evidence=_evidence(split, finding)))


def _evidence(split: str, finding: Finding) -> Evidence:
    return Evidence(page="findings", split=split, finding=finding.name, samples=finding.samples.ids())


def _shares(finding: Finding) -> str:
    title = finding.title[:1].upper() + finding.title[1:]
    return f"{title} in {finding.first:.0%} → {finding.last:.0%} of answers"


def _paid(finding: Finding) -> str:
    return f"{finding.effect:+.2g} reward".replace("-", "−")


def _data(data: LintData, *, stands_still: bool) -> Iterator[Ranked]:
    """Yield the worst about samples; of a grader that stood still, nothing about labels, which would say the same."""
    found = broken_rules(data)
    common = {one.rule for one in found.broken if one.count >= SHARE * found.samples}
    shown = [one for one in found.broken if one.is_certain or one.rule in LABELS | ALIKE | (LOOKS & common)]
    shown = [one for one in shown if one.rule not in LABELS or not stands_still]
    shown = [one for one in shown if one.rule != TRIFLE or one.count > MANY * found.samples]
    for rank, broken in sorted(((_rank_of(one, found), one) for one in shown), key=itemgetter(0))[:1]:
        evidence, text = Evidence(page="findings", finding=broken.rule, samples=broken.samples), broken.text
        if broken.rule == UNPAID and (paid := next((one for one in found.broken if one.rule == PAID_WRONG), None)):
            text = f"Rewards may belong to other samples. {broken.text} {paid.text}"
        yield Ranked(rank, BriefSentence(text=text, kind="data", evidence=evidence))


def _rank_of(broken: BrokenRule, found: RunLint) -> Rank:
    if broken.rule in ALIKE or (broken.rule == UNPAID and broken.count >= UNPAID_SHARE * found.read):
        return Rank.CAUSE
    if broken.rule == TRIFLE:
        return Rank.REST
    return Rank.ERROR if broken.is_certain or broken.rule in (STATED, EMPTY) else Rank.UNVERIFIED


def _curves(raised: Sequence[Raised], *, is_first: bool, has_fallen: bool) -> Iterator[Ranked]:
    """Yield two causes, two errors in the curves and the first hint.

    `is_first` if nothing else comes before a hint; `has_fallen` if there is a fall that the causes may explain.
    """
    names = {one.rule.name for one in raised}
    raised = [one for one in raised if one.rule.name != "cut_at_limit" or "truncated_rise" not in names]
    causes = sorted((one for one in raised if one.rule.name in CAUSES), key=lambda one: CAUSES.index(one.rule.name))
    errors = [one for one in raised if (one.rule.severity == "error" or one.rule.name in BEFORE) and one not in causes]
    hints = [one for one in raised if one not in causes and one not in errors]
    cause = Rank.CAUSE if has_fallen else Rank.UNVERIFIED
    hint = Rank.HINT if is_first else Rank.REST
    errors = sorted(errors, key=lambda one: one.rule.name == "eval_down")[:2]
    ranked = ((cause, causes[:2]), (Rank.ERROR, errors), (hint, hints[:1]))
    for rank, alarm in ((rank, one.alarm) for rank, several in ranked for one in several):
        evidence = Evidence(
            page="metrics" if alarm.curves else "rollouts", split=alarm.split, where=alarm.where, sort=alarm.sort,
            descending=alarm.descending, discarded=alarm.discarded, curve=next(iter(alarm.curves), None),
        )  # fmt: skip
        text, steps = f"{alarm.title}: {alarm.text}.", (alarm.first_step, alarm.last_step)
        yield Ranked(rank, BriefSentence(text=text, kind="curves", steps=steps, evidence=evidence))


def _subject(name: str) -> str:
    """Return what a derived metric or a curve is about: repeated sentences and repeated 4-grams say the same."""
    return name.partition("_")[0]
