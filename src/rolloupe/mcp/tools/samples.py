"""Tools that read a run: `summary` of its contents, `query` for its samples, `sample` for one sample, turn by turn."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from rolloupe.api.arguments import sample_query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.mcp.answer import Page, bounds_of, start_of
from rolloupe.mcp.tools.base import RunArguments, run_of, tool
from rolloupe.questions import QUESTIONS, FirstStep, LastStep, UsualSplit
from rolloupe.text import call_text, legible_parts

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.model import Sample
    from rolloupe.query import SampleItem

MOST_ROWS = 100
"""More samples than fit in one answer."""

MOST_COLUMNS = 20


class QueryArguments(RunArguments, frozen=True, kw_only=True):
    """Which samples, in which order, with which columns."""

    split: UsualSplit = ""
    step_min: FirstStep = None
    step_max: LastStep = None
    where: Annotated[
        str,
        Meta(
            description="Conditions, such as: reward > 1 and (status = truncated or correct = 0). Names are reward, "
            "advantage, status, turns, response_tokens, env, discarded, sample metrics, tags and derived metrics."
        ),
    ] = ""
    text: Annotated[str, Meta(description="Only samples that contain this text; newest step first, unsorted.")] = ""
    regex: Annotated[bool, Meta(description="The text is a regular expression in the syntax of RE2.")] = False
    sort: Annotated[str, Meta(description="A column to sort by. Default: the order of the run.")] = "index"
    descending: Annotated[bool, Meta(description="From large to small.")] = False
    columns: Annotated[
        tuple[str, ...], Meta(description="Sample metrics and tags to add to each sample; summary names them.")
    ] = ()


@tool
def query(runs: "Runs", asked: QueryArguments) -> Page:
    """Lists samples of a part of the run, those that were discarded included: those that meet conditions, sorted, or
    those that contain a text, with the places. `total` counts all that meet the conditions.
    """
    needs_texts = bool(asked.text) or "derived." in asked.where + asked.sort
    run, start = run_of(runs, asked, texts=needs_texts), start_of(asked.cursor)
    if asked.text and (asked.sort != "index" or asked.descending):
        raise BadQuery("samples with a text come newest first: give text or sort, not both")
    if len(asked.columns) > MOST_COLUMNS:
        raise BadQuery(f"{len(asked.columns)} columns are too many: ask for at most {MOST_COLUMNS}")
    known = {name for names in run.value_names() for name in names}
    if unknown := [name for name in asked.columns if name not in known]:
        raise BadQuery(f"no sample metric or tag {unknown[0]!r}; there are: {', '.join(sorted(known)[:40])}")
    return _search(run, asked, start) if asked.text else _list(run, asked, start)


def _list(run: "Run", asked: QueryArguments, start: int) -> Page:
    wanted = sample_query(
        split=asked.split or None, steps=(asked.step_min, asked.step_max), where=asked.where,
        sort=asked.sort, descending=asked.descending, offset=start, limit=MOST_ROWS,
    )  # fmt: skip
    total = run.total(wanted)
    facts: dict[str, Any] = {"total": total}
    if not total and (why := run.why_none(wanted)):
        facts["why_none"] = why
    return Page(facts, (_row(item, asked) for item in run.samples(wanted)), "samples", start)


def _row(item: "SampleItem", asked: QueryArguments) -> dict[str, Any]:
    row = {
        "id": item.id, "reward": item.reward, "advantage": item.advantage, "status": item.status,
        "discarded": item.discarded or None, "response_tokens": item.response_tokens,
    }  # fmt: skip
    row = {name: value for name, value in row.items() if value is not None}
    values = item.metrics | item.tags
    derived = {f"derived.{name}": value for name, value in item.derived.items()}
    return row | {name: values.get(name) for name in asked.columns} | derived


def _search(run: "Run", asked: QueryArguments, start: int) -> Page:
    hits = run.search(
        asked.text, regex=asked.regex, split=asked.split or None, steps=(asked.step_min, asked.step_max),
        where=asked.where,
    )  # fmt: skip

    def rows() -> Iterator[dict[str, Any]]:
        for hit in islice(hits, start, None):
            snippets = [{"role": snippet.role, "text": "".join(snippet.pieces)} for snippet in hit.snippets]
            yield _row(hit.sample, asked) | {"snippets": snippets}

    return Page({"order": "newest step first"}, rows(), "samples", start)


NEXT = {
    "findings": "what the reward pays for, and whether correctness follows",
    "finding_samples": "the samples that show one finding",
    "lint": "what is wrong with the samples, certain rules first",
    "query": "samples that meet a condition, or contain a text",
    "sample": "one sample whole, turn by turn; its token series on request",
    "compare_rewards": "which of two runs, or of two recipes with several seeds, earns the higher reward",
    "compare_steps": "what changed between two windows of steps; curves on request",
    "gradient": "which samples the gradient came from, and how much of it other parts of the reward made",
}
NEXT |= {name: question.about for name, question in QUESTIONS.items() if question.has_tool and name not in NEXT}
"""What each other tool is for."""

NAMES = 10
"""How many names are in one row."""


@tool
def summary(runs: "Runs", asked: RunArguments) -> Page:
    """Start here: the runs, or of one run its splits, steps, samples, rewards and the names of its metrics; and what
    the other tools answer.
    """
    start = start_of(asked.cursor)
    if not asked.run and len(runs) > 1:
        listed = [
            {"id": run.id, "format": run.format, "splits": [split.name for split in run.splits()]}
            for run in islice(runs, start, None)
        ]
        return Page({"tools": NEXT, "next": "name one of the runs"}, listed, "runs", start)
    run = run_of(runs, asked)
    facts = {
        "tools": NEXT, "id": run.id, "name": run.name, "format": run.format,
        "unreadable_records": run.problem_count(), "parts_not_indexed": len(run.failures()),
    }  # fmt: skip
    return Page(facts, islice(_contents(run), start, None), "contents", start)


def _contents(run: "Run") -> Iterator[dict[str, Any]]:
    """Yield the splits, then the names to ask for."""
    for split in run.splits():
        names = ("steps", "first_step", "last_step", "groups", "samples", "discarded")
        rewards = {f"reward_{name}": getattr(split.reward, name) for name in ("mean", "min", "max")}
        counts = {name: getattr(split, name) for name in names}
        yield {"split": split.name, **counts, **rewards, "without_reward": split.reward.excluded}
    metrics, tags = run.value_names()
    for kind, known in (("sample_metrics", metrics), ("tags", tags), ("trainer_metrics", run.metric_names())):
        for start in range(0, len(known), NAMES):
            yield {kind: known[start : start + NAMES]}


PIECE = 400
"""The characters of a whole turn in one row: this many fit even if all are escaped."""


class SampleArguments(RunArguments, frozen=True, kw_only=True):
    """Which sample, and how much of it."""

    id: Annotated[str, Meta(description="The id of the sample, such as train/12/3/0; other tools name it.")]
    turn: Annotated[int | None, Meta(description="Read this turn whole, in pieces; they are counted from 0.")] = None
    series: Annotated[
        str, Meta(description="Read this token series instead, as means of at most 40 ranges of tokens.")
    ] = ""


@tool
def sample(runs: "Runs", asked: SampleArguments) -> Page:
    """One sample: reward, metrics, siblings, and its turns part by part, long texts cut in the middle. With `turn`,
    the whole text of that turn. With `series`, that token series instead.
    """
    run, start = run_of(runs, asked), start_of(asked.cursor)
    found: Sample = run.sample(asked.id)
    facts: dict[str, Any] = {"id": asked.id, "turns": len(found.turns)}
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
            if not part.closed:
                row["never_closed"] = True
            yield row | {"text": call_text(part.call) if part.call else part.text}


def _pieces(found: "Sample", place: int, start: int) -> Iterator[dict[str, Any]]:
    """Yield the whole text of a turn in pieces. Raises `NotFound`."""
    if not 0 <= place < len(found.turns):
        raise NotFound(f"no turn {place}: the sample has {len(found.turns)}, counted from 0")
    text = "".join(shown for _, shown in legible_parts(found.turns[place].parts))
    for begin in range(start * PIECE, len(text), PIECE):
        yield {"from": begin, "text": text[begin : begin + PIECE]}


def _series(run: "Run", asked: SampleArguments) -> dict[str, Any]:
    """Return the means of a token series over ranges of tokens; None for a range without finite values."""
    series = run.tokens(asked.id).series
    if asked.series not in series:
        raise NotFound(f"no token series {asked.series!r} in this sample; there are: {', '.join(series) or 'none'}")
    values = [float(value) for value in series[asked.series]]
    bounds = bounds_of(len(values))
    finite = [[value for value in values[low:high] if math.isfinite(value)] for low, high in bounds]
    means = [math.fsum(some) / len(some) if some else None for some in finite]
    return {"series": asked.series, "count": len(values), "from": [low for low, _ in bounds], "means": means}
