"""Routes for lists: pages of samples and groups, CSV, and exports of samples."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import export as tables
from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.export import report
from rolloupe.export.report import contents
from rolloupe.index import OpenRun
from rolloupe.insight.judgements import judged, pair_lines, preference_pairs
from rolloupe.model import SampleKey
from rolloupe.query import Group, SampleItem, SampleQuery
from rolloupe.server import params, replies
from rolloupe.server.context import context_of
from rolloupe.server.routes.state import marked_samples
from rolloupe.state import State, findings_aside
from rolloupe.wire import encoding, to_wire
from rolloupe.wire.samples import GroupsReply, ListReply, SamplesReply

LIMIT = 200
MAX_LIMIT = 5000
MAX_COLUMNS = 1000


def page_query(parameters: QueryParams) -> SampleQuery:
    """Return the query for a page of samples: of one step, of a range of steps, or of a whole split."""
    params.word(parameters, "split")
    return replace(
        params.sample_query(parameters),
        offset=params.integer(parameters, "offset", 0, low=0),
        limit=params.integer(parameters, "limit", LIMIT, low=1, high=MAX_LIMIT),
    )


def columns_of(run: OpenRun, parameters: QueryParams) -> list[str]:
    """Return the columns that an address requests."""
    return query.without_aliases(run, [name for name in parameters.getlist("column") if name][:MAX_COLUMNS])


Page = query.SamplePage | query.GroupPage


async def list_reply(
    request: Request,
    kind: type[ListReply],
    make: Callable[[OpenRun, SampleQuery, SampleKey | None], tuple[Page, dict[str, Any]]],
) -> Response:
    """Reply with a page of a list: `make` returns the page, and the fields that `kind` has of its own.

    Meanwhile `progress` shows how much is done.
    """
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    scope, key = page_query(parameters), (request.scope["path"], request.url.query)
    around = query.sample_key(parameters["around"]) if parameters.get("around") else None

    def make_reply() -> ListReply:
        context.lists[key] = query.Progress()
        try:
            with query.watched(context.lists[key]):
                wanted = query.with_length(run, scope)
                page, own = make(run, wanted, around)
                discarded, reasons = query.discarded_too(run, wanted), list[str]()
                if wanted.where and not page.pending:
                    reasons = query.why_few(run, wanted) if page.total else query.why_none(run, wanted)
                return encoding.record_from(kind, page, version=version, discarded=discarded, reasons=reasons, **own)
        finally:
            context.lists.pop(key, None)

    return await context.replies.answer(request, version, make_reply)


async def progress(request: Request) -> Response:
    """`GET /api/runs/{run}/samples/progress`, and of groups: see `query.Progress`."""
    context = context_of(request)
    await context.run(request)  # a person who may not see the run learns nothing
    path = request.scope["path"].removesuffix("/progress")
    now = context.lists.get((path, request.url.query), query.Progress())
    return replies.json_response(now, headers={"cache-control": "no-store"})


async def samples(request: Request) -> Response:
    """`GET /api/runs/{run}/samples`: see `SamplesReply`."""

    def make(run: OpenRun, wanted: SampleQuery, around: SampleKey | None) -> tuple[Page, dict[str, Any]]:
        columns = columns_of(run, request.query_params)
        page = query.samples(run, wanted, around, columns)
        is_narrowed = wanted.where or wanted.group is not None
        of = query.in_scope(run, wanted) if is_narrowed else page.total
        return page, {"run": run.id, "of": of, "columns": columns}

    return await list_reply(request, SamplesReply, make)


async def groups(request: Request) -> Response:
    """`GET /api/runs/{run}/groups`: see `GroupsReply`."""
    is_usual = params.flag(request.query_params, "usual")

    def make(run: OpenRun, wanted: SampleQuery, around: SampleKey | None) -> tuple[Page, dict[str, Any]]:
        usual = query.usual_columns(run, wanted.splits[0]) if is_usual else []
        columns = list(dict.fromkeys([*columns_of(run, request.query_params), *usual]))
        present = [name for name in columns if query.has_column(run, name)]
        page = query.groups_page(run, wanted, present, around)
        of = query.in_scope(run, wanted) if wanted.where else page.samples
        groups = [to_wire.group_item(align_columns(group, present, columns)) for group in page.groups]
        return page, {"of": of, "columns": columns, "groups": groups}

    return await list_reply(request, GroupsReply, make)


def align_columns(group: Group, present: list[str], columns: list[str]) -> Group:
    """Return a group without values for columns that its run lacks: a page requests the same columns of all runs."""
    at = {name: n for n, name in enumerate(present)}
    return group._replace(
        means=[group.means[at[name]] if name in at else None for name in columns],
        cells=[group.cells[at[name]] if name in at else [None] * len(group.members) for name in columns],
    )


async def as_csv(request: Request) -> Response:
    """`GET /api/runs/{run}/samples.csv`: all samples of a list, as a download."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters = request.query_params
    scope = page_query(parameters) if parameters.get("limit") else replace(page_query(parameters), offset=0, limit=None)
    names = columns_of(run, parameters) or ["reward", "status", "response_tokens"]

    def begin() -> Iterator[bytes]:
        found = query.every(run, query.with_length(run, scope), names)
        first = next(found, None)  # an invalid filter is refused before the reply starts
        items = found if first is None else chain([first], found)
        rows = ([item.id, *_with_texts(item, names)] for item in items)
        return tables.csv_lines(["id", *names], rows)

    return await context.downloads.send(request, begin, f"{run.info.name}.csv", tables.KINDS["csv"])


def _with_texts(item: SampleItem, names: Sequence[str]) -> Iterator[object]:
    """Yield the values of a row; of the prompt and the response, the beginnings."""
    texts = {"prompt": item.prompt, "response": item.response}
    return (texts.get(name, value) for name, value in zip(names, item.values, strict=True))


HTML, PAIRS = "html", "pairs"
OF = ("samples", "bookmarks", "judgements")
MAX_REPORTED = 1000
"""Samples in a report from the page; the command line writes more."""


class Selection(NamedTuple):
    """Samples to write; `notes` if they are bookmarked ones."""

    items: Iterable[SampleItem]
    total: int
    notes: dict[SampleKey, str] | None = None


async def export(request: Request) -> Response:
    """`GET /api/runs/{run}/export?to=jsonl|csv|parquet&texts=start|whole`, for a query or with `of=bookmarks`.

    The query is as in `/samples`; split and step are optional. With `to=html` it is a report, with notes if `notes=1`,
    without tokens if `tokens=0`, and without findings and broken rules if `findings=0`. With `of=judgements`, it has
    the samples that the person judged; `to=pairs` then writes pairs for preference training.
    """
    context, parameters = context_of(request), request.query_params
    kind, texts, of = params.word(parameters, "to"), parameters.get("texts", "start"), parameters.get("of", "samples")
    run = await context.run(request, judged=of == "judgements")
    kinds = (*tables.KINDS, HTML, *([PAIRS] if of == "judgements" else []))
    if kind not in kinds or texts not in ("start", "whole") or of not in OF:
        raise BadQuery(f"to= is one of {', '.join(kinds)}, texts= start or whole, of= one of {', '.join(OF)}")
    has_notes = of == "bookmarks" or params.flag(parameters, "notes")
    has_tokens, has_findings = (
        params.flag(parameters, name) or name not in parameters for name in ("tokens", "findings")
    )
    state = await context.state(request) if has_notes or kind == HTML else None
    scope = params.sample_query(parameters)
    scope = judged(run, scope) if of == "judgements" else scope

    def insight() -> contents.ReportedInsight | None:
        """Return the findings and broken rules of the run; the reasons for setting findings aside count as notes."""
        aside = {} if state is None else findings_aside(state, run)
        why = {name: finding.why * has_notes for name, finding in aside.items()}
        return contents.insight_of(run, scope.splits, why) if has_findings else None

    def begin() -> Iterator[bytes]:
        noted = bookmarks(run, state) if has_notes and state is not None else Selection((), 0)
        if kind == PAIRS:
            return pair_lines(preference_pairs(run, scope))
        selection = noted if of == "bookmarks" else selected(run, scope)
        if kind == HTML:
            name, notes = run.info.name, noted.notes or {}
            scope_words = f"Bookmarked samples of {name}." if of == "bookmarks" else report.scope_of(name, scope)
            about = report.Report(
                title=name, about=scope_words, total=selection.total, made=report.made_now(),
                curve=contents.reward_curve(run, scope.splits),
            )  # fmt: skip
            samples = reported(run, selection.items, notes)
            return report.report_pieces(about, samples, tokens=report.ReportedTokens(has_tokens), insight=insight)
        names, is_whole = query.value_names(run), texts == "whole"
        derived, has_note = query.derived_names(scope, *names), selection.notes is not None
        columns = tables.columns_of(*names, derived, has_notes=has_note, is_whole=is_whole)
        read = query.Reader(run).texts if is_whole else None
        return tables.written(kind, columns, tables.rows(run.id, selection.items, columns, read, selection.notes))

    media_type = {**tables.KINDS, PAIRS: tables.KINDS["jsonl"]}.get(kind, "text/html; charset=utf-8")
    ending = "pairs.jsonl" if kind == PAIRS else f"{of}.{kind}"
    return await context.downloads.send(request, begin, f"{run.id}.{ending}", media_type)


def reported(
    run: OpenRun, samples: Iterable[SampleItem], notes: Mapping[SampleKey, str]
) -> Iterator[contents.ReportedSample]:
    """Read the samples of a report, each with its note."""
    read, loss = query.Reader(run), query.loss_of(run)
    for item in islice(samples, MAX_REPORTED):
        (sample,) = query.with_group_advantages(run, [read(item.key)])
        neighbours = query.neighbours(run, item.key)
        yield contents.ReportedSample(run.id, sample, neighbours, loss, notes.get(item.key, ""))


def selected(run: OpenRun, scope: SampleQuery) -> Selection:
    """Return the samples of a query. Raises errors now, not in the middle of the file."""
    scope = query.with_length(run, scope)
    total = query.samples(run, replace(scope, limit=0)).total
    return Selection(query.every(run, scope), total if scope.limit is None else min(total, scope.limit))


def bookmarks(run: OpenRun, state: State) -> Selection:
    """Return the bookmarked samples that the run still has, with their notes."""
    marked = [(note, sample) for note, sample in marked_samples(state, run) if sample is not None]
    return Selection([sample for _, sample in marked], len(marked), {sample.key: note for note, sample in marked})
