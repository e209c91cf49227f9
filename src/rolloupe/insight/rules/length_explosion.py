"""Responses grow several times as long, and the reward does not grow with them."""

from collections.abc import Iterator

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.curves import HasCurves

ALWAYS, WITHOUT_REWARD, LEAST = 4.0, 2.0, 20


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare the last fifth of the lengths with the first, and so the rewards."""
    lengths, rewards = source.curve("sample", "response_tokens", "mean"), source.curve("sample", "reward", "mean")
    if lengths is None or len(lengths := lengths.finite()) < LEAST or lengths.early() <= 0:
        return
    times = lengths.late() / lengths.early()
    is_paid = rewards is not None and len(rewards := rewards.finite()) and rewards.late() > rewards.early()
    if times > (ALWAYS if is_paid else WITHOUT_REWARD):
        gain = "" if is_paid else ", and the reward is not higher"
        yield Alarm(
            f"Responses are {times:.2g} times as long",
            f"{lengths.late():,.0f} tokens in the last fifth of the steps, {lengths.early():,.0f} in the first{gain}",
            *lengths.late_steps(), sort="response_tokens",
        )  # fmt: skip


RULE = Rule(
    "length_explosion", "Length explosion",
    f"the median length of the last fifth of {LEAST} steps or more is {ALWAYS:g} times that of the first, or "
    f"{WITHOUT_REWARD:g} times without a higher reward",
    look,
)  # fmt: skip
