"""Wrong answers are longer than right ones."""

from collections.abc import Iterator

from rolloupe.insight.alarm import Alarm, NotChecked, Rule
from rolloupe.insight.curves import CurveName, HasCurves

TIMES, STEPS, SAMPLES = 1.5, 10, 50


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare the lengths of right and wrong answers over the last steps."""
    right, wrong = (source.curve("outcome", name) for name in ("length_right", "length_wrong"))
    counts = [source.curve("outcome", name) for name in ("right", "wrong")]
    if right is None or wrong is None or None in counts:
        raise NotChecked("the run has no lengths of right and wrong answers")
    means = []
    steps = sorted({*right.steps.tolist(), *wrong.steps.tolist()})[-STEPS:]
    for curve, count in zip((right, wrong), counts, strict=True):
        if count is None:
            return
        weights = dict(zip(count.steps.tolist(), count.values.tolist(), strict=True))
        recent = curve.at(curve.steps >= steps[0]).finite()
        last = [(value, weights.get(step, 0)) for step, value in zip(*recent, strict=True)]
        total = sum(weight for _, weight in last)
        if total < SAMPLES:
            kind = "right" if curve is right else "wrong"
            raise NotChecked(f"{total:,.0f} {kind} answers in the last {STEPS} steps; {SAMPLES} are needed")
        means.append(sum(value * weight for value, weight in last) / total)
    if means[1] > TIMES * means[0] > 0:
        yield Alarm(
            f"Wrong answers are {means[1] / means[0]:.2g} times as long as right ones",
            f"{means[1]:,.0f} tokens against {means[0]:,.0f}, over the last {STEPS} steps",
            steps[0], steps[-1], where=f"({source.wrong('')}) and response_tokens > {means[0]:.0f}",
            sort="response_tokens",
            curves=(CurveName("outcome", "length_right"), CurveName("outcome", "length_wrong")),
        )  # fmt: skip


RULES = (Rule(
    "wrong_longer", "Wrong answers longer than right ones",
    f"over the last {STEPS} steps, {SAMPLES} wrong answers or more have {TIMES:g} times the tokens of right ones",
    look,
),)  # fmt: skip
