"""`query`: samples that meet a condition, or contain a text."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from rolloupe.api.arguments import sample_query
from rolloupe.errors import BadQuery
from rolloupe.mcp.answer import Page, start_of
from rolloupe.mcp.tools.base import RunArguments, Tool, run_of
from rolloupe.questions import FirstStep, LastStep, UsualSplit

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
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


def query(runs: "Runs", asked: QueryArguments) -> Page:
    """List samples."""
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


QUERY = Tool(
    "query",
    "Lists samples of a part of the run, those that were discarded included: those that meet conditions, sorted, or "
    "those that contain a text, with the places. `total` counts all that meet the conditions.",
    QueryArguments,
    query,
)
