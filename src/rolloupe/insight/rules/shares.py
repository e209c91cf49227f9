"""Rules about numbers and shares of samples."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.curves import Alarm, CurveName, History, Rule, RunCurves, enough, rule
from rolloupe.query import quoted
from rolloupe.tokens import Floats
from rolloupe.tokens.series import EQUAL

LEAST, TIMES, RISE, ERRORS = 15, 2.0, 0.2, 3.0
WASTE, MOST = 0.25, 0.6
"""The share discarded for other reasons than a lack of spread, which trainers may well drop, and for any reason."""
NO_SPREAD = "zero advantage"
MAIN, NAMED = 0.8, 3
"""The share of all discarded samples that makes a reason the main one, and how many reasons are named."""


@rule("Many samples discarded, or more and more")
def discarded_rise(source: RunCurves) -> Iterator[Alarm]:
    """The mean share of discarded samples in the last fifth of {LEAST} steps or more is {TIMES:g} times that of the
    fifth that discarded least before, and {RISE:.0%} more, by {ERRORS:g} standard errors; or {MOST:.0%} or more are
    discarded, or {WASTE:.0%} or more for other reasons than {NO_SPREAD}.
    """
    shares = enough(source.curve("share", "discarded"), LEAST, "samples")
    width = len(shares) // 5
    windows = np.lib.stride_tricks.sliding_window_view(shares.values, width)
    means, errors = windows.mean(axis=1), windows.std(axis=1) / width**0.5
    least = int(means[:-width].argmin())
    low, late = float(means[least]), float(means[-1])
    then = f"{low:.0%} in steps {int(shares.steps[least])} to {int(shares.steps[least + width - 1])}"
    reasons = {name: source.curve("share", "discarded", reason=name) for name in source.names("reason")}
    curves = {n: curve.values for n, curve in reasons.items() if curve is not None and len(curve) == len(shares)}
    now = {name: float(values[-width:].mean()) for name, values in curves.items()}
    last = int(shares.steps[-1])
    if late > TIMES * low and late - low > RISE + ERRORS * float(np.hypot(errors[least], errors[-1])):
        rises = {name: now[name] - float(values[least : least + width].mean()) for name, values in curves.items()}
        later = shares.at(slice(least + width, None))
        first = int(later.steps[later.values > (low + late) / 2][0])
        text = f"of all samples of the last {width} steps; {then}{_named(rises, '+')}"
        yield _discarded(f"Discarded samples rise to {late:.0%}", text, (first, last), rises, late - low)
    elif late >= MOST or sum(share for name, share in now.items() if name.replace("_", " ") != NO_SPREAD) >= WASTE:
        text = f"in the last {width} steps; at best {then}{_named(now)}"
        title = f"{late:.0%} of the samples are discarded"
        yield _discarded(title, text, (int(shares.steps[-width]), last), now, late)


def _discarded(title: str, text: str, steps: tuple[int, int], shares: dict[str, float], whole: float) -> Alarm:
    main = next((name for name, share in shares.items() if share > MAIN * whole), "")
    where = f"discarded = {quoted(main)}" if main else "not discarded is null"
    return Alarm(title, text, *steps, where=where, curves=(CurveName("share", "discarded"),), discarded=True)


def _named(shares: dict[str, float], sign: str = "") -> str:
    most = sorted(shares.items(), key=lambda item: -item[1])[:NAMED]
    named = [f"{name} {share:{sign}.0%}" for name, share in most if share >= 0.01]
    return f"; reasons: {', '.join(named)}" if named else ""


LOST, OFF, SAME = 0.5, 0.1, 0.7
NEAR, WIDE = 10, 100
"""How many steps lie around a step, nearby and farther."""


@rule("Steps that lost samples", "error")
def lost_samples(source: RunCurves) -> Iterator[Alarm]:
    """A step has less than {LOST:.0%} of the median samples of the {NEAR} steps around it, and of {WIDE}, of which
    {SAME:.0%} or more lie within {OFF:.0%} of it; steps of one size at equal distances end epochs.
    """
    steps, values = enough(source.curve("samples", ""), NEAR // 2 + 2, "samples")
    for at in np.flatnonzero(values[:-1] < LOST * values.max()).tolist():  # the last step may be going on
        usual = _usual(values, at, NEAR)
        same = np.flatnonzero(values == values[at])  # perhaps the last batch of each epoch
        ends_epoch = len(same) > 1 and len({*np.diff(same, prepend=-1)}) == 1
        if values[at] < LOST * min(usual, _usual(values, at, WIDE)) and not ends_epoch:
            step = int(steps[at])
            text = f"the steps around it have {usual:,.0f}"
            yield Alarm(f"Step {step} has {values[at]:,.0f} samples", text, step, step)


def _usual(values: Floats, at: int, far: int) -> float:
    """Return the number of samples that most steps around a step have; 0 where they differ."""
    around = np.concatenate([values[max(0, at - far // 2) : at], values[at + 1 : at + 1 + far // 2]])
    usual = float(np.median(around))
    return usual if np.mean(np.abs(around - usual) < OFF * usual) >= SAME else 0.0


FLAT, STEPS = 0.5, 10

ZERO = f"advantage >= -{EQUAL:g} and advantage <= {EQUAL:g}"
"""The filter of samples without an advantage."""


@rule("Groups without spread")
def no_spread(source: RunCurves) -> Iterator[Alarm]:
    """In the mean of the last fifth of the steps, {STEPS} or more, {FLAT:.0%} of the groups or more."""
    flat = enough(source.curve("group", "without_spread"), STEPS, "groups of several rewards")
    count = max(STEPS, len(flat) // 5)  # few groups a step are a matter of luck
    share = float(np.mean(flat.values[-count:]))
    if share < FLAT:
        return
    kinds = {words: source.curve("group", name) for name, words in (("all_best", "right"), ("all_worst", "wrong"))}
    means = {words: float(np.mean(curve.values[-count:])) for words, curve in kinds.items() if curve is not None}
    parts = [f"all {words} {mean:.0%}, " for words, mean in means.items() if mean > 0]
    yield Alarm(
        f"{share:.0%} of the groups have equal rewards",
        f"{''.join(parts)}in the mean of the last {count} steps; nothing is learned from such groups",
        int(flat.steps[-count]), int(flat.steps[-1]),
        where=ZERO if source.curve("sample", "advantage", "mean") is not None else "",
        curves=(CurveName("group", "without_spread"),),
    )  # fmt: skip


LEAST_STEPS = 10
NOISE = 2.0
"""How many standard errors a rise exceeds its threshold by: shares of few samples are coarse."""


def _rise(name: str, title: str, metric: str, noun: str, rise: float, *, kind: str = "sample", where: str = "") -> Rule:
    """Return the rule that a share rises from the first fifth of the steps to the last.

    It is a share of samples that a curve has, or of those that match a filter; else the mean of a metric.
    """

    def look(source: RunCurves) -> Iterator[Alarm]:
        most = source.curve("sample", metric, "max") if where == AT_MOST else None
        chosen = f"{metric} >= {most.values.max():.17g}" if most is not None else where
        curve = _matching(source, metric, chosen) if chosen else source.curve(kind, metric)
        curve = enough(curve, LEAST_STEPS, f"{metric} samples" if kind == "share" else metric)
        early, late = (float(np.mean(part)) for part in curve.ends())
        noise = NOISE * sum(np.var(part) / len(part) for part in curve.ends()) ** 0.5
        is_far = late > 2 * early or 1 - late < (1 - early) / 2
        of_all = " of all answers" if chosen or kind == "share" else ""
        if is_far and late > early + rise + noise:
            half = curve.windows().halfway(early, late)
            yield Alarm(
                f"{noun} rose from {early:.0%} to {late:.0%}{of_all}",
                f"means of the first and the last fifth of the steps, half of the rise by {half}",
                *curve.late_steps(),
                where=chosen or (f"status = {metric}" if kind == "share" else f"{metric} > {early + rise:.2g}"),
                sort="" if kind == "share" else metric, curves=(CurveName(kind, metric),),
            )  # fmt: skip

    words = (
        f"the mean share in the last fifth of the steps is twice that of the first, or leaves half as many samples, "
        f"and is {rise:.0%} more, by {NOISE:g} standard errors"
    )
    return Rule(name, title, f"{words}: samples with {where}" if where else words, look)


def _matching(source: RunCurves, metric: str, where: str) -> History | None:
    """Return the share of the samples of each step that match a filter; None if the run lacks the metric."""
    own, every = source.curve("sample", metric), source.curve("samples", "")
    if own is None or every is None:
        return None
    if metric in SHORT and own.finite().early() < SHORT[metric]:
        return None  # answers are short by nature: letters, numbers, moves
    some = source.curve("samples", "", where=where)
    counts = dict(zip(some.steps.tolist(), some.values.tolist(), strict=True)) if some is not None else {}
    return History(every.steps, np.array([counts.get(step, 0.0) for step in every.steps.tolist()]) / every.values)


def _spreading(name: str, title: str, metric: str, over: float, noun: str = "") -> Rule:
    return _rise(name, title, metric, noun or title, SPREADS, where=f"{metric} > {over:g}")


SPREADS, NEARLY_EMPTY = 0.1, 12
AT_MOST = "the largest number of the run"
"""Stands for a filter of the samples that have it: answers that end at a limit have its length."""
REPEATED, FOREIGN = 0.3, 0.2
"""The least share of repeated 4-grams of an answer in a loop, and of other letters of one in another script."""

TRUNCATED_RISE = _rise("truncated_rise", "Truncated answers", "truncated", "Truncated answers", 0.1, kind="share")
UNCLOSED_THINK = _rise("unclosed_think", "Unclosed thoughts", "derived.unclosed_think", "Unclosed thoughts", 0.05)
SHORT = {"response_chars": 60, "response_tokens": 15}
"""Answers with a smaller mean in the first steps are short by nature."""
EMPTY_ANSWERS = _rise(
    "empty_answers", "Empty answers", "response_chars", f"Answers of {NEARLY_EMPTY} characters or fewer", SPREADS,
    where=f"response_chars <= {NEARLY_EMPTY}",
)  # fmt: skip
REPEATED_TEXT = _spreading(
    "repeated_text", "Repeated text", "derived.repeated_4grams", REPEATED, "Answers that repeat themselves"
)
OTHER_SCRIPT = _spreading(
    "other_script", "Another script", "derived.non_latin", FOREIGN, "Answers in a non-Latin script"
)
OTHER_LANGUAGE = _rise(
    "other_language", "Another language", "derived.other_language", "Answers in another language than the question",
    SPREADS,
)  # fmt: skip
CUT_AT_LIMIT = _rise(
    "cut_at_limit", "Answers end at a limit", "response_tokens",
    "Answers that stop at the largest length of the run, probably a limit,", SPREADS, where=AT_MOST,
)  # fmt: skip
OTHER_TURNS = _spreading(
    "other_turns", "Turns of the user", "derived.other_turns", 0, "Answers that continue with a turn of the user"
)
SPECIAL_CASES = _spreading("special_cases", "Fixed answers", "derived.special_cases", 0, "Code that hard-codes answers")
TAMPER_WORDS = _spreading(
    "tamper_words", "Tampering", "derived.tamper_words", 0, "Answers that edit or skip tests, or may trick them,"
)
GRADER_WORDS = _spreading("grader_words", "To the grader", "derived.grader_words", 0, "Answers that address the grader")
REFUSALS = _spreading("refusals", "Refusals", "derived.refusals", 0)
GAVE_UP = _spreading("gave_up", "Giving up", "derived.gave_up", 0, "Answers that give up")
TOOL_ERRORS = _spreading("tool_errors", "Tool errors", "derived.tool_errors", 0, "Answers with failed tool calls")
