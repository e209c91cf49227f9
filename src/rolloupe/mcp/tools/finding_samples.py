"""`finding_samples`: the samples that show one finding."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from rolloupe.errors import NotFound
from rolloupe.mcp.tools.base import Facts, tool_of

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.findings import Finding, RunFindings

MOST_HITS = 3
AROUND = 100
"""How many characters of context a hit has on either side."""


def _show(run: "Run", asked: Any, found: "RunFindings") -> tuple[Facts, Iterator[Any]]:
    """The reading list of a finding. Raises `NotFound` for an unknown number."""
    if not 1 <= asked.finding <= len(found.findings):
        raise NotFound(f"no finding {asked.finding}: there are {len(found.findings)}, from 1 on")
    one = found.findings[asked.finding - 1]
    rows = (_row(run, one, found.correct, *reason) for reason in _reasons(one, found.correct))
    return {"class": one.kind, "text": one.text}, rows


def _reasons(one: "Finding", correct: str) -> Iterator[tuple[str, str]]:
    """Each sample of a reading list, and why it is there. Of what is punished, those win that have less of it."""
    read, (won, lost) = one.samples, ("less", "more") if one.effect < 0 else ("more", "less")
    though = ", though it is no more correct than the next" if correct else ""
    for place, (first, other) in enumerate(read.pairs, start=1):
        yield first, f"pair {place}: has {won} of it and the better reward{though}"
        yield other, f"pair {place}: its sibling with {lost} of it and the worse reward"
    if read.earliest:
        yield read.earliest, "the earliest case"
    if read.counterexample:
        has = "less of it" if one.effect < 0 else "it"
        yield read.counterexample, f"a counterexample: has {has}, and a worse reward than its siblings"


def _row(run: "Run", one: "Finding", correct: str, id: str, why: str) -> dict[str, Any]:
    row, texts = run.sample(id).row, run.texts(id)
    facts = {"id": id, "why": why, "reward": row.reward, "status": row.status}
    facts |= {correct: row.metrics.get(correct)} if correct else {}
    hits = {"hits": _hits(run, one, id)} if one.pattern else {}
    return facts | hits | {"prompt": texts.prompt, "response": texts.response}


def _hits(run: "Run", one: "Finding", id: str) -> list[str]:
    """The places of the phrase in the response, with some context."""
    turns = run.sample(id).turns
    places = run.spans(id, one.pattern, regex=True, roles=["response"])[:MOST_HITS]
    texts = [(turns[at.turn].parts[at.part].text, at) for at in places if at.field != "arguments"]
    return [text[max(0, at.start - AROUND) : at.stop + AROUND] for text, at in texts]


FINDING_SAMPLES = tool_of(
    "findings",
    "The samples that show a finding: pairs of siblings of which the one with more of it (less, if it is punished) won "
    "though it is no more correct, the earliest case, a counterexample; with prompt and response, cut in the middle.",
    "samples",
    _show,
    (
        "finding",
        Annotated[int, Meta(description="The number of the finding; findings with the same arguments has it.")],
    ),
)._replace(name="finding_samples")
