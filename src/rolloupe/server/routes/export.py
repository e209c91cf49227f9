"""Exports samples: a query, or the bookmarks, as a file that is written while it is sent."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import NamedTuple

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe import export as tables
from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.export import report
from rolloupe.export.report import contents
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import SampleItem, SampleQuery
from rolloupe.server import params, replies
from rolloupe.server.context import context_of
from rolloupe.server.routes.state import marked_samples
from rolloupe.state import State
from rolloupe.state.decisions import findings_aside

HTML = "html"
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
    without tokens if `tokens=0`, and without findings and broken rules if `findings=0`.
    """
    context, run = context_of(request), await context_of(request).run(request)
    parameters = request.query_params
    kind, texts, of = params.word(parameters, "to"), parameters.get("texts", "start"), parameters.get("of", "samples")
    if kind not in (*tables.KINDS, HTML) or texts not in ("start", "whole") or of not in ("samples", "bookmarks"):
        raise BadQuery(
            f"to= is one of {', '.join((*tables.KINDS, HTML))}, texts= start or whole, of= samples or bookmarks"
        )
    has_notes = of == "bookmarks" or params.flag(parameters, "notes")
    has_tokens, has_findings = (
        params.flag(parameters, name) or name not in parameters for name in ("tokens", "findings")
    )
    state = await context.state(request) if has_notes or kind == HTML else None
    scope = params.sample_query(parameters)

    def begin() -> Iterator[bytes]:
        selection = selected(run, scope) if of == "samples" or state is None else bookmarks(run, state)
        if kind == HTML:
            notes = selection.notes if selection.notes is not None else notes_of(run, state if has_notes else None)
            name = run.info.name
            scope_words = f"Bookmarked samples of {name}." if of == "bookmarks" else report.scope_of(name, scope)
            about = report.Report(title=name, about=scope_words, total=selection.total, made=report.made_now())

            def insight() -> contents.ReportedInsight | None:
                """Look at the run as a whole; why findings were set aside is a person's note."""
                aside = {} if state is None else findings_aside(state, run)
                why = {name: finding.why * has_notes for name, finding in aside.items()}
                return contents.insight_of(run, scope.splits, why) if has_findings else None

            return report.report_pieces(
                about,
                reported(run, selection.items, notes),
                tokens=report.ReportedTokens(has_tokens),
                insight=insight,
            )
        names = query.value_names(run)
        columns = tables.columns_of(
            *names,
            query.derived_names(scope, *names),
            has_notes=selection.notes is not None,
            is_whole=texts == "whole",
        )
        read = query.Reader(run).texts if texts == "whole" else None
        return tables.written(kind, columns, tables.rows(run.id, selection.items, columns, read, selection.notes))

    found = await context.downloads.send(request, begin)
    headers = replies.attachment(f"{run.id}.{of}.{kind}")
    return StreamingResponse(found, media_type=tables.KINDS.get(kind, "text/html; charset=utf-8"), headers=headers)


def notes_of(run: OpenRun, state: State | None) -> dict[SampleKey, str]:
    """Return the notes on the samples of a run."""
    marked = () if state is None else marked_samples(state, run)
    return {sample.key: note for note, sample in marked if sample is not None}


def reported(
    run: OpenRun, samples: Iterable[SampleItem], notes: Mapping[SampleKey, str]
) -> Iterator[contents.ReportedSample]:
    """Read the samples of a report, each with its note."""
    read, loss = query.Reader(run), query.loss_of(run)
    for item in islice(samples, MAX_REPORTED):
        (sample,) = query.with_group_advantages(run, [read(item.key)])
        note = notes.get(item.key, "")
        yield contents.ReportedSample(run.id, sample, query.neighbours(run, item.key), loss, note)


def selected(run: OpenRun, scope: SampleQuery) -> Selection:
    """Return the samples of a query. Raises errors now, not in the middle of the file."""
    scope = query.with_length(run, scope)
    total = query.samples(run, replace(scope, limit=0)).total
    return Selection(query.every(run, scope), total if scope.limit is None else min(total, scope.limit))


def bookmarks(run: OpenRun, state: State) -> Selection:
    """Return the bookmarked samples that the run still has, with their notes."""
    notes: dict[SampleKey, str] = {}

    def samples() -> Iterator[SampleItem]:
        for note, sample in marked_samples(state, run):
            if sample is not None:
                notes[sample.key] = note
                yield sample

    found = samples()
    first = next(found, None)  # raises errors now, not in the middle of the file
    total = sum(sample is not None for _, sample in marked_samples(state, run))
    return Selection([] if first is None else chain([first], found), total, notes)
