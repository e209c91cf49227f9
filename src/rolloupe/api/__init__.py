"""The Python face: `rolloupe.open(path)` and what can be asked of the runs it finds.

Owns no question of its own: every method is one function of `rolloupe.query`. An answer is complete, because a run is
waited for until its numbers are indexed, unless it was opened with `wait=False`.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, overload

from rolloupe.api.answers import Listed, Samples, html_table, shown
from rolloupe.api.finding import Hits
from rolloupe.errors import BadQuery, NotFound
from rolloupe.model import Checkpoint, LoggedTranscript, LogNode, MetricRow, Problem, Reading, Sample, SampleKey

if TYPE_CHECKING:
    from rolloupe.api.bookmarks import Bookmark
    from rolloupe.index import Library, OpenRun
    from rolloupe.query import (
        Discards,
        EvalSummary,
        Filter,
        Grid,
        GroupSummary,
        MetricPoint,
        Recurrence,
        SampleQuery,
        SeriesPoint,
        SplitSummary,
        StepSeries,
        StepSummary,
    )
    from rolloupe.query.search import Marked

AnyPath: TypeAlias = str | PathLike[str]
Where: TypeAlias = "str | Sequence[Filter]"


class RawRecord(NamedTuple):
    """The record of a sample as it stands in its file: `data` is bytes `start` to `stop` of `path`."""

    path: str
    start: int
    stop: int
    data: bytes


def open(  # noqa: A001 - it is called as rolloupe.open
    path: AnyPath | Sequence[AnyPath],
    *,
    format: str | None = None,
    fields: Mapping[str, str] | AnyPath | None = None,
    reward_key: str = "",
    reward_range: tuple[float, float] | None = None,
    index_dir: AnyPath | None = None,
    state_dir: AnyPath | None = None,
    follow: bool = False,
    follow_symlinks: bool = False,
    wait: bool = True,
) -> "Runs":
    """Open the runs at and below a path, or several; indexing begins at once, in the background.

    Args:
        path: a folder or a file, or a list of them.
        format: read everything as this format, whatever its contents say.
        fields: for rows whose keys have unusual names: the key of each role, `{"prompt": "request.text"}`, or a TOML
            file that says so. Roles: prompt, response, messages, reward, step, group, label, env, status, ...
        reward_key: the sample metric, or the part of a reward that is an object, that is taken for the reward.
        reward_range: the lowest and the highest reward there can be, for colours.
        index_dir: where the index lies, instead of the user's cache directory.
        state_dir: where bookmarks and notes are kept, instead of the user's data directory.
        follow: keep up with files that grow; without it they are read once.
        follow_symlinks: follow links that lead out of `path`.
        wait: have each answer wait until the run is indexed; False answers from what there is so far.

    Raises `UnreadablePath` for a path that is missing, `NotRecognised` for a forced format that does not fit,
    `BadQuery` for fields that do not exist.
    """
    from rolloupe.formats import checked_fields, read_fields

    paths = [path] if isinstance(path, str | PathLike) else list(path)
    named = read_fields(Path(fields)) if isinstance(fields, str | PathLike) else checked_fields(fields or {})
    reading = Reading(
        format=format or "", follow_symlinks=follow_symlinks, fields=named,
        reward_key=reward_key, reward_range=reward_range,
    )  # fmt: skip
    return runs_at(paths, index_dir=index_dir, state_dir=state_dir, reading=reading, follow=follow, wait=wait)


def runs_at(
    paths: Sequence[AnyPath],
    *,
    index_dir: AnyPath | None,
    reading: Reading,
    state_dir: AnyPath | None = None,
    follow: bool = False,
    wait: bool = True,
    processes: int | None = None,
    budget_bytes: int | None = None,
) -> "Runs":
    """What `open` does, once it is known how to read."""
    from rolloupe.index import Library

    place = None if index_dir is None else Path(index_dir)
    library = Library(
        [Path(p) for p in paths],
        index_dir=place,
        follow=follow,
        reading=reading,
        processes=processes,
        budget_bytes=budget_bytes,
    )
    return Runs(library, wait=wait, state_dir=None if state_dir is None else Path(state_dir))


class Questions:
    """What can be asked of a run. `Run` answers for itself, `Runs` for the only run it holds."""

    _state_dir: Path | None = None

    def _ready(self) -> "OpenRun":
        """The run to ask, indexed as far as was wished."""
        raise NotImplementedError

    def splits(self) -> "Listed[SplitSummary]":
        """The splits: name, steps, groups, samples, reward; `train` first, the others by name."""
        from rolloupe import query

        return Listed(query.splits(self._ready()))

    def steps(self, split: str | None = None) -> "Listed[StepSummary]":
        """The steps of one split, ascending: unless told of `train`, or where that is missing of the first split."""
        from rolloupe import query

        if split is None and not self.splits():
            return Listed()
        return Listed(query.steps(self._ready(), split or self._first_split()))

    def groups(self, step: int, split: str | None = None) -> "Listed[GroupSummary]":
        """The groups of a step, in order. The split is `train` unless told, as for `steps`."""
        from rolloupe import query

        return Listed(query.groups(self._ready(), split or self._first_split(), step))

    def samples(
        self,
        query: "SampleQuery | None" = None,
        *,
        split: str | None = None,
        step: int | None = None,
        steps: tuple[int | None, int | None] | None = None,
        group: str | None = None,
        trained: bool | None = None,
        where: "Where" = (),
        sort: str = "index",
        descending: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Samples:
        """The samples of a query one after another, fetched as they are asked for: all of the run unless narrowed.

        Args:
            query: the whole question as a record; the other arguments are then left out.
            split: one split; every split without it.
            step: one step.
            steps: first and last step, both included; None leaves that end open.
            group: one group.
            trained: only what was trained on, or (False) only what was discarded; both without it.
            where: a filter, such as `"reward < 0.1 and (status = truncated or turns > 3)"`, or a list of `Condition`
                and others of `rolloupe.query`, all of which must be fulfilled.
            sort: `index`, or a name of `columns()`. What has no value comes last either way.
            descending: the other way round.
            offset: so many are passed over.
            limit: so many at most.

        Raises `BadQuery` where a condition cannot be read or a column does not exist.
        """
        from rolloupe import query as queries

        asked = sample_query(
            split=split, step=step, steps=steps, group=group, trained=trained, where=where,
            sort=sort, descending=descending, offset=offset, limit=limit,
        )  # fmt: skip
        if query is not None and asked != queries.SampleQuery():
            raise BadQuery("samples() takes a SampleQuery or single arguments, not both: put them into the query")
        run, wanted = self._ready(), query or asked
        return Samples(
            queries.every(run, wanted),
            lambda limit: queries.table(run, wanted if limit is None else at_most(wanted, limit)),
            lambda: within(wanted, queries.samples(run, at_most(wanted, 0)).total),
        )

    def search(
        self,
        text: str,
        *,
        regex: bool = False,
        case: bool = False,
        word: bool = False,
        roles: Sequence[str] = (),
        split: str | None = None,
        step: int | None = None,
        steps: tuple[int | None, int | None] | None = None,
        group: str | None = None,
        where: "Where" = (),
        limit: int | None = None,
    ) -> Hits:
        """The samples whose prompts or responses hold a text, newest step first, as they are found.

        A hit has `sample`, `snippets` (`pieces` are in turn context and hit) and `more`; `.progress` says how far the
        search has come, and its `found` how many there are.

        Args:
            text: what is looked for.
            regex: it is a regular expression, in RE2's syntax.
            case: capitals and small letters differ.
            word: only where it does not stand within a longer word.
            roles: of `prompt`, `response`, `system`, `user`, `assistant`, `tool`; prompts and responses without them.
            split: one split; every split without it.
            step: one step.
            steps: first and last step, both included; None leaves that end open.
            group: one group.
            where: conditions on the samples that are searched, as for `samples`.
            limit: so many are listed at most; all are counted.

        Raises `BadQuery` for an expression that cannot be read.
        """
        from rolloupe.query import search as searching

        asked = sample_query(split=split, step=step, steps=steps, group=group, where=where)
        wanted = searching.TextQuery(text=text, regex=regex, case=case, word=word, roles=tuple(roles))
        return Hits(searching.search(self._ready(), wanted, asked, limit=limit))

    def spans(
        self,
        id: str | SampleKey,
        text: str,
        *,
        regex: bool = False,
        case: bool = False,
        word: bool = False,
        roles: Sequence[str] = (),
    ) -> "list[Marked]":
        """Where a text stands in a sample: `turn`, `part`, `field` and `start`, `stop` in code points; 5,000 at most.

        `run.sample(ID).turns[turn].parts[part].text[start:stop]` is what was found; with `field` `arguments` it is of
        `.call.arguments`. Raises as `sample` and `search`.
        """
        from rolloupe.query import search as searching

        wanted = searching.TextQuery(text=text, regex=regex, case=case, word=word, roles=tuple(roles))
        return searching.marked(self._ready(), _key(id), wanted)[0]

    def total(self, query: "SampleQuery") -> int:
        """How many samples a query has, its limit and offset aside."""
        from msgspec.structs import replace

        from rolloupe import query as queries

        return queries.samples(self._ready(), replace(query, offset=0, limit=0)).total

    def sample(self, id: str | SampleKey) -> Sample:
        """One sample, whole, read from its file: turns, token series, every field.

        Raises `NotFound`, `BadQuery` for what is no id, `SourceChanged` where the file was rewritten since.
        """
        from rolloupe import query

        return shown(query.sample(self._ready(), _key(id)))

    def whole(self, step: int, split: str | None = None) -> Iterator[Sample]:
        """The samples of a step, whole, one after another; earlier attempts are left out.

        What annotations say of a sample is in its `row`. Raises `SourceChanged` where a file was rewritten meanwhile.
        """
        from rolloupe import query

        return query.whole(self._ready(), split or self._first_split(), step)

    def raw(self, id: str | SampleKey) -> RawRecord:
        """The record of a sample, as it stands in its file. Raises as `sample` does."""
        from rolloupe import query

        run = self._ready()
        locator, data = query.raw(run, _key(id))
        source = run.source(locator.source)
        path = source.path if source else locator.source
        return RawRecord(path, locator.start, locator.start + locator.length, data)

    def read(self, file: str, start: int, stop: int) -> bytes:
        """Bytes `start` to `stop` of one of the run's files, such as those that a `Problem` names.

        Raises `NotFound` where the run has no such file, `SourceChanged` where it cannot be read any more.
        """
        from rolloupe import query

        return query.read(self._ready(), file, start, stop - start)

    def group_of(self, id: str | SampleKey) -> list[SampleKey]:
        """The samples of a sample's group, in order, itself included."""
        from rolloupe import query

        return query.neighbours(self._ready(), _key(id))

    def has(self, id: str | SampleKey) -> bool:
        """Tell whether there is such a sample, without reading it. Raises `BadQuery` for what is no id."""
        key = _key(id)
        return any(other.shared == key.shared for other in self.group_of(key))

    def series(self, sample_metric: str, split: str | None = None) -> "Listed[SeriesPoint]":
        """A sample metric by step, of one split or of all: mean, deviation and extremes. `columns()` has the names.

        Where no sample metric has the name, it is that of a token series, whose points are of tokens.
        """
        from rolloupe import query

        return Listed(query.series(self._ready(), sample_metric, split))

    def discards(self, split: str | None = None) -> "Listed[Discards]":
        """What was generated and not trained on, by step and reason: `samples`, `groups`, `unfinished` of them.

        `samples(SampleQuery(trained=False))` lists the samples themselves.
        """
        from rolloupe import query

        return Listed(query.discards(self._ready(), split))

    def evals(self, metric: str = "", threshold: float | None = None, ks: "Sequence[int]" = ()) -> "list[EvalSummary]":
        """Every evaluation by step: `score`, `right` (the share of right answers), `pass_at` and `pass_all` (pass^k).

        An answer is right where the metric (the reward, unless named) reaches the threshold: the best value that the
        run declares, else 1. Both estimators are unbiased, and means over the problems with at least k answers.
        """
        from rolloupe import query

        return query.evals(self._ready(), metric, threshold, ks)

    def problems_by_step(
        self,
        split: str,
        metric: str = "",
        threshold: float | None = None,
        *,
        only: str = "",
        sort: str = "index",
        offset: int = 0,
        limit: int = 100,
    ) -> "Grid":
        """A page of the problems of a split: how many answers, and right ones, at each step, and what became of each.

        `only` is `solved`, `lost`, `mixed`, `never`, `always` or `unbeaten`; `sort` is `index`, `last`, `change` or
        `share`. Of `train` there are those prompts that came at several steps.
        """
        from rolloupe import query

        return query.grid(self._ready(), split, metric, threshold, only=only, sort=sort, offset=offset, limit=limit)

    def same_prompt(self, id: str | SampleKey) -> "Listed[Recurrence]":
        """Where the prompt of a sample was answered, at this step and all others: how answers to it changed.

        An entry for each split and step: `key` of the first sample, `groups`, `samples`, `discarded`, `reward`,
        `response_tokens`. Samples that were not trained on count, too. Prompts are the same to the letter; where there
        is none the group's name tells them apart.
        """
        from rolloupe import query

        run = self._ready()
        return Listed(query.recurring(run, query.problem_of(run, _key(id))))

    def token_series(self, step: int, split: str | None = None) -> "list[StepSeries]":
        """The token series of a step, over the tokens of its samples: `name`, `stats`, `lowest`, `highest`.

        `lowest` and `highest` are the most extreme tokens, one a sample: `key`, `token` (its index in the sample's
        series), `value`. Formats whose files hold no such numbers have none. Raises `NotFound` for a step without
        samples.
        """
        from rolloupe import query

        return query.token_series(self._ready(), split or self._first_split(), step)

    def columns(self) -> list[str]:
        """The names to sort, filter and draw by: `reward`, lengths, every sample metric."""
        from rolloupe import query

        return query.columns(self._ready())

    def value_names(self) -> tuple[list[str], list[str]]:
        """The names of the sample metrics, and those of the tags."""
        from rolloupe import query

        return query.value_names(self._ready())

    def metrics(self, name: str) -> "Listed[MetricPoint]":
        """One of the trainer's metrics by step: `step`, `value`. `metric_names()` has the names."""
        from rolloupe import query

        return Listed(query.metrics(self._ready(), name))

    def metric_names(self) -> list[str]:
        """The names of the trainer's metrics."""
        from rolloupe import query

        return query.metric_names(self._ready())

    def metric_rows(self) -> list[MetricRow]:
        """All of the trainer's metrics: a row a step, rows without a step last."""
        from rolloupe import query

        return query.metric_rows(self._ready())

    @property
    def config(self) -> dict[str, Any]:
        """The run's configuration, as its trainer wrote it; empty where there is none."""
        from rolloupe import query

        return query.config(self._ready())

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The checkpoints, in order: `name`, `step`, `paths`, `extra`."""
        from rolloupe import query

        return query.checkpoints(self._ready())

    def code_diff(self) -> str:
        """What the code of the run differed by from its repository; empty where nothing says so."""
        from rolloupe import query

        return query.code_diff(self._ready())

    def logtree(self, step: int, split: str | None = None) -> LogNode:
        """What the trainer logged for a step, as an outline of plain text. Raises `NotFound` where there is nothing."""
        from rolloupe import query

        return query.logtree(self._ready(), split or self._first_split(), step)

    def logtrees(self) -> list[tuple[str, int]]:
        """The splits and steps for which a trainer logged an outline, which `logtree` returns."""
        from rolloupe import query

        return query.logtrees(self._ready())

    def conversations(self, step: int, split: str | None = None) -> list[LoggedTranscript]:
        """The conversations that were logged for a step and cannot be tied to one sample for certain."""
        from rolloupe import query

        return query.conversations(self._ready(), split or self._first_split(), step)

    def bookmarks(self) -> "Listed[Bookmark]":
        """The samples that a person set a bookmark on or wrote a note about, in the page, the newest last."""
        from rolloupe.api.bookmarks import bookmarks

        return Listed(bookmarks(self._ready(), self._state_dir))

    def problems(self) -> list[Problem]:
        """The records that could not be read, and annotations of no sample: file, byte range, reason."""
        from rolloupe import query

        return query.problems(self._ready())

    def problem_count(self) -> int:
        """How many there are, those beyond what is listed included."""
        from rolloupe import query

        return query.problem_count(self._ready())

    def failures(self) -> list[Problem]:
        """The parts of files that could not be indexed at all, as on a full disk: answers lack what they hold."""
        return self._ready().failures()

    def _first_split(self) -> str:
        names = [summary.name for summary in self.splits()]
        return names[0] if names else "train"


class Run(Questions):
    """One run. `id` is its name in addresses and on the command line."""

    def __init__(self, opened: "OpenRun", *, wait: bool, state_dir: Path | None = None) -> None:
        self._opened = opened
        self._state_dir = state_dir
        self._wait = wait
        self.id: str = opened.id
        self.name: str = opened.info.name
        self.path: str = opened.info.root
        self.format: str = opened.info.format
        self.reason: str = opened.info.reason
        """Why it is read as that format."""

    def wait(self, timeout_s: float | None = None, *, texts: bool = False) -> bool:
        """Wait until the numbers of all samples are indexed, or all their texts, too; False where time ran out."""
        return self._opened.wait_all(timeout_s) if texts else self._opened.wait(timeout_s)

    def indexed_bytes(self) -> tuple[int, int]:
        """Bytes of the run's files that are indexed, and of those that there are."""
        progress = self._opened.progress()
        return progress.done_bytes, progress.total_bytes

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.id)}</b> {escape(self.format)} {escape(self.path)}</p>{self.splits()._repr_html_()}"

    def __repr__(self) -> str:
        return f"<Run {self.id!r} ({self.format}) at {self.path!r}>"

    def _ready(self) -> "OpenRun":
        if self._wait:
            self._opened.wait()
        return self._opened


class Runs(Questions, Sequence[Run]):
    """The runs found at some paths: a sequence, and where it is only one, that run itself.

    A context manager; leaving it ends the background work. `notes` says what was not opened, and why.
    """

    def __init__(self, library: "Library", *, wait: bool, state_dir: Path | None = None) -> None:
        self._library = library
        self._state_dir = state_dir
        self.runs: list[Run] = [Run(opened, wait=wait, state_dir=state_dir) for opened in library.runs]
        self.notes = library.notes
        self.index_dir: Path = library.index_dir

    def only(self) -> Run:
        """The only run. Raises `NotFound` where there is none, or more than one, naming them."""
        if len(self.runs) == 1:
            return self.runs[0]
        if not self.runs:
            said = "".join(f"; {note.path}: {note.reason}" for note in self.notes[:3])
            raise NotFound(f"no run is here{said}; `rolloupe doctor PATH` says more")
        names = ", ".join(run.id for run in self.runs[:20]) + (", ..." if len(self.runs) > 20 else "")
        raise NotFound(f"{len(self.runs)} runs are here: choose one with .run(ID) or .runs[N]; they are {names}")

    def run(self, id: str) -> Run:
        """The run of that id. Raises `NotFound`, naming those there are."""
        return self.runs[self._library.runs.index(self._library.run(id))]

    def index_bytes(self) -> int:
        """Size of the index on disk."""
        return self._library.index_bytes()

    def close(self) -> None:
        """End the background work; what is indexed stays."""
        self._library.close()

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> list[Run]: ...
    def __getitem__(self, place: int | slice) -> Run | list[Run]:
        return self.runs[place]

    def __len__(self) -> int:
        return len(self.runs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        rows = [{"id": run.id, "format": run.format, "path": run.path} for run in self.runs]
        return html_table(rows, len(rows))

    def __repr__(self) -> str:
        return f"<Runs {[run.id for run in self.runs]}>"

    def _ready(self) -> "OpenRun":
        return self.only()._ready()  # noqa: SLF001 - the same question, to the one run


def at_most(query: "SampleQuery", limit: int) -> "SampleQuery":
    """The query with no more than so many samples."""
    from msgspec.structs import replace

    return replace(query, limit=limit if query.limit is None else min(limit, query.limit))


def within(query: "SampleQuery", total: int) -> int:
    """How many of `total` samples lie within offset and limit."""
    left = max(0, total - query.offset)
    return left if query.limit is None else min(left, query.limit)


def sample_query(
    *,
    split: str | None = None,
    step: int | None = None,
    steps: tuple[int | None, int | None] | None = None,
    group: str | None = None,
    trained: bool | None = None,
    where: "Where" = (),
    sort: str = "index",
    descending: bool = False,
    offset: int = 0,
    limit: int | None = None,
) -> "SampleQuery":
    """The record that single arguments stand for. Raises `BadQuery` where they cannot be."""
    from rolloupe.query import SampleQuery
    from rolloupe.query.where import conditions

    if step is not None and steps is not None:
        raise BadQuery("step and steps exclude each other; leave one of them out")
    if offset < 0 or (limit is not None and limit < 0):
        raise BadQuery("offset and limit cannot be negative")
    low, high = (step, step) if steps is None else steps
    return SampleQuery(
        splits=() if split is None else (split,),
        step_min=low,
        step_max=high,
        group=group,
        trained=trained,
        where=conditions(where) if isinstance(where, str) else tuple(where),
        sort=sort,
        descending=descending,
        offset=offset,
        limit=limit,
    )


def _key(id: str | SampleKey) -> SampleKey:
    if isinstance(id, SampleKey):
        return id
    try:
        return SampleKey.parse(id)
    except ValueError as error:
        raise BadQuery(f"{error}; the list of samples has the ids") from error
