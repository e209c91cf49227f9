"""The facts of a sample: the line of figures above it, and the rows of its table."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rolloupe.model import Sample
from rolloupe.query import policy
from rolloupe.tui.draw.ink import DIM, PLAIN, STRONG, Ink, Line, safe
from rolloupe.tui.draw.scales import Scale, words_of
from rolloupe.wire.views.items import facts

STATUS = {"completed": PLAIN, "truncated": Ink("warn"), "aborted": Ink("warn"), "error": Ink("alarm")}


class NamedValue(NamedTuple):
    """A fact with the name that a person filters by."""

    name: str
    value: float | str | None
    label: str = ""


def facts_of(sample: Sample) -> Iterator[NamedValue]:
    """Yield every fact of a sample: those that all samples have, then the run's own."""
    row, written_by = sample.row, policy(sample)
    yield NamedValue("reward", row.reward)
    yield NamedValue("advantage", row.advantage)
    yield NamedValue("status", row.status if row.status_raw in ("", row.status) else f"{row.status} ({row.status_raw})")
    yield from (
        NamedValue(name, value)
        for name, value in (
            ("prompt_tokens", row.prompt_tokens), ("response_tokens", row.response_tokens),
            ("total_tokens", row.total_tokens), ("turns", row.turns), ("env", row.env or None),
            ("discarded", row.discarded or None), ("policy_version", written_by.version or None),
            ("lag", written_by.lag), ("ref_reward", sample.ref_reward), ("uid", row.uid or None),
        )
        if value is not None
    )  # fmt: skip
    for fact in facts(sample):
        yield NamedValue(fact.name, as_value(fact.value, is_text=fact.kind == "tag"), fact.label)


def as_value(value: object, *, is_text: bool = False) -> float | str | None:
    """Return a value of the wire as a plain one; what is no text may be a number that JSON lacks."""
    if not is_text and value in ("NaN", "Infinity", "-Infinity"):
        return float(str(value))
    return value if isinstance(value, float | int | str) or value is None else str(value)


LONGEST = 32
"""Letters of a name in the line of figures."""

FIRST = ("reward", "advantage", "status", "response_tokens", "prompt_tokens", "turns", "lag", "policy_version", "env")
"""The facts that lead the line, in this order."""

LABELS = {"response_tokens": "tokens", "prompt_tokens": "prompt", "policy_version": "version"}


def figures(sample: Sample, scales: Mapping[str, Scale], is_shown: "Mapping[str, bool]") -> Iterator[Line]:
    """Yield the figures of a sample, the most telling first, each with its label.

    The reason why it was discarded has lines of its own.
    """
    values = {one.name: one for one in facts_of(sample) if one.name != "discarded"}
    names = [*(name for name in FIRST if name in values), *(name for name in values if name not in FIRST)]
    for name in names:
        if is_shown.get(name, name != "uid") and values[name].value not in (None, ""):
            yield figure(name, values[name].value, scales.get(name, Scale()))


def cut_name(name: str) -> str:
    """Return the start of a long name, so that others have room beside it."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def figure(name: str, value: float | str | None, scale: Scale) -> Line:
    """Return a label and a value, coloured if it is good or bad."""
    label = safe(f"{cut_name(LABELS.get(name, name))} ", DIM)
    if name == "status":
        label = safe("status ", DIM) if value == "unknown" else ("", PLAIN)
        return [label, safe(str(value), STATUS.get(str(value).partition(" ")[0], PLAIN))]
    if isinstance(value, str):
        return [label, safe(value[:80], STRONG)]
    return [label, (words_of(name, value, scale), scale.ink(value, STRONG)._replace(bold=True))]


def position(number: int, total: int, size: int, member: int) -> str:
    """Return where a sample stands: in its list, and in its group."""
    of_group = f" · {member + 1:,}/{size:,} in group" if size > 1 else ""
    return f"Sample {number + 1:,} of {total:,}{of_group}"
