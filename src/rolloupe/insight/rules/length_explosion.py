"""Responses grow several times as long, and the reward does not grow with them."""

from collections.abc import Iterator

from rolloupe.insight.alarm import Alarm, NotChecked, Rule, enough
from rolloupe.insight.curves import HasCurves, first_curve

ALWAYS, WITHOUT_REWARD, LEAST = 4.0, 2.0, 20
UNITS = {"response_tokens": "tokens", "response_chars": "characters"}


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare the last fifth of the lengths with the first, and so the rewards."""
    found = first_curve(source, [("sample", name, "mean") for name in UNITS])
    if found is None:
        raise NotChecked("the run has no lengths of responses")
    which, lengths = found[0], enough(found[1], LEAST, "lengths of responses")
    if lengths.early() <= 0:
        raise NotChecked("the first responses have a length of 0")
    rewards = source.curve("sample", "reward", "mean")
    times = lengths.late() / lengths.early()
    is_paid = rewards is None or not len(rewards := rewards.finite()) or rewards.late() > rewards.early()
    if times > (ALWAYS if is_paid else WITHOUT_REWARD):
        gain = "" if is_paid else ", and the reward is not higher"
        yield Alarm(
            f"Responses are {times:.2g} times as long",
            f"{lengths.late():,.0f} {UNITS[which.name]} in the last fifth of the steps, "
            f"{lengths.early():,.0f} in the first{gain}",
            *lengths.late_steps(), where=f"{which.name} > {WITHOUT_REWARD * lengths.early():.0f}", sort=which.name,
            curves=(which,),
        )  # fmt: skip


RULES = (Rule(
    "length_explosion", "Length explosion",
    f"the median length of the last fifth of {LEAST} steps or more is {ALWAYS:g} times that of the first, or "
    f"{WITHOUT_REWARD:g} times and the reward is not higher",
    look,
),)  # fmt: skip
