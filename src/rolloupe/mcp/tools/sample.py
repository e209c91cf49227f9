"""`sample`: one sample, turn by turn."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from rolloupe.errors import NotFound
from rolloupe.mcp.answer import Page, bounds_of, start_of
from rolloupe.mcp.tools.base import RunArguments, Tool, run_of
from rolloupe.text import call_text, legible_parts

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.model import Sample

PIECE = 400
"""How many characters of a whole turn are in one row: so many fit, whatever they are."""


class SampleArguments(RunArguments, frozen=True, kw_only=True):
    """Which sample, and how much of it."""

    id: Annotated[str, Meta(description="The id of the sample, such as train/12/3/0; other tools name it.")]
    turn: Annotated[int | None, Meta(description="Read this turn whole, in pieces; they are counted from 0.")] = None
    series: Annotated[
        str, Meta(description="Read this token series instead, as means of at most 40 ranges of tokens.")
    ] = ""


def sample(runs: "Runs", asked: SampleArguments) -> Page:
    """Return a sample: its facts and turns, or the whole text of one turn. Raises `NotFound`."""
    run, start = run_of(runs, asked), start_of(asked.cursor)
    found: Sample = run.sample(asked.id)
    facts = {"id": asked.id, "turns": len(found.turns)}
    if asked.series:
        return Page(facts | {"tokens": _series(run, asked)})
    if asked.turn is not None:
        return Page(facts | {"turn": asked.turn}, _pieces(found, asked.turn, start), "pieces", start)
    facts |= _facts(found) | {"siblings": [str(key) for key in run.group_of(asked.id) if key != found.key]}
    facts["token_series"] = [one.name for one in found.series]
    return Page(facts, list(_parts(found))[start:], "parts", start)


def _facts(found: "Sample") -> dict[str, Any]:
    row = found.row
    facts = {
        "reward": row.reward, "advantage": row.advantage, "status": row.status, "discarded": row.discarded,
        "env": row.env, "response_tokens": row.response_tokens, "label": found.label,
        "metrics": row.metrics, "tags": row.tags, "notes": found.notes,
    }  # fmt: skip
    return {name: value for name, value in facts.items() if value not in (None, "", {}, [])}


def _parts(found: "Sample") -> Iterator[dict[str, Any]]:
    for place, turn in enumerate(found.turns):
        for part in turn.parts:
            row = {"turn": place, "role": turn.role, "kind": part.kind, "characters": len(part.text)}
            yield (
                row
                | ({} if part.closed else {"never_closed": True})
                | {"text": call_text(part.call) if part.call else part.text}
            )


def _pieces(found: "Sample", place: int, start: int) -> Iterator[dict[str, Any]]:
    """Yield the whole text of a turn in pieces. Raises `NotFound`."""
    if not 0 <= place < len(found.turns):
        raise NotFound(f"no turn {place}: the sample has {len(found.turns)}, counted from 0")
    text = "".join(shown for _, shown in legible_parts(found.turns[place].parts))
    for begin in range(start * PIECE, len(text), PIECE):
        yield {"from": begin, "text": text[begin : begin + PIECE]}


def _series(run: "Run", asked: SampleArguments) -> dict[str, Any]:
    """The means of a token series over ranges of tokens, of the finite values; None for a range without any."""
    series = run.tokens(asked.id).series
    if asked.series not in series:
        raise NotFound(f"no token series {asked.series!r} in this sample; there are: {', '.join(series) or 'none'}")
    values = [float(value) for value in series[asked.series]]
    bounds = bounds_of(len(values))
    finite = [[value for value in values[low:high] if math.isfinite(value)] for low, high in bounds]
    means = [math.fsum(some) / len(some) if some else None for some in finite]
    return {"series": asked.series, "count": len(values), "from": [low for low, _ in bounds], "means": means}


SAMPLE = Tool(
    "sample",
    "One sample: reward, metrics, siblings, and its turns part by part, long texts cut in the middle. With `turn`, the "
    "whole text of that turn. With `series`, that token series instead.",
    SampleArguments,
    sample,
)
