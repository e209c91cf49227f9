"""What crosses to the browser: the replies of the HTTP interface as typed records.

The TypeScript types of the page are generated from these records (`rolloupe.server.typescript`), so a field is
named once. Numbers that JSON cannot carry travel as the strings "NaN", "Infinity" and "-Infinity", and integers past
2**53 as their digits: see `number`.
"""

import math
from typing import Any, TypeAlias

from msgspec import Struct

Number: TypeAlias = float | int | str | None
"""A finite number; "NaN", "Infinity", "-Infinity"; the digits of an integer past 2**53; or null for none."""

SAFE_INTEGER = 2**53


def number(value: float | None) -> Number:
    """Encode a number so that the browser sees the very same value. Bools become 0 and 1."""
    if value is None:
        return None
    if isinstance(value, int):
        return int(value) if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


class SplitItem(Struct, kw_only=True):
    """A split of a run, with what is indexed of it so far."""

    name: str
    steps: int
    samples: int
    first_step: int | None
    last_step: int | None
    reward_min: Number
    """Of the finite rewards, as `reward_max`."""
    reward_max: Number


class Progress(Struct, kw_only=True):
    """How far the index of a run has come, in bytes of its sources."""

    done_bytes: int
    total_bytes: int
    phase: str
    """`scalars`, `text` or `ready`."""


class MetricRange(Struct, kw_only=True):
    """A sample metric whose worst and best value the run tells; the worst is the greater where less is better."""

    name: str
    worst: float
    best: float


class RunItem(Struct, kw_only=True):
    """A run in the list. `version` changes whenever anything that a query could answer changed."""

    id: str
    name: str
    format: str
    reason: str
    path: str
    splits: list[SplitItem]
    problems: int
    progress: Progress
    version: str
    live: bool
    """True while its files changed within the last minutes."""
    ending: str
    """What the run's own marker says: `ended`, `open` where there is none yet; empty where the format has no marker."""
    changed_s: float | None
    """Seconds since a source last changed, None where unknown."""
    reward_range: tuple[float, float] | None
    """The lowest and the highest reward there can be, where a person or the run says so."""
    metric_ranges: list[MetricRange]


class Note(Struct, kw_only=True):
    """A path that was looked at and not opened, and why."""

    path: str
    reason: str


class RunsReply(Struct, kw_only=True):
    """`GET /api/runs`."""

    runs: list[RunItem]
    notes: list[Note]
    program: str
    """Name and version of the server."""


class StepsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/steps?split=`: parallel columns, one entry a step, in ascending order of step."""

    run: str
    split: str
    version: str
    steps: list[int]
    samples: list[int]
    """How many were trained on; the mean reward is theirs."""
    discarded: list[int]
    """How many were not."""
    reward_mean: list[Number]
    """Mean over finite rewards."""
    reward_std: list[Number]
    reward_excluded: list[int]
    """How many samples had no finite reward and are left out of the mean."""
    states: dict[str, str]
    """Steps that are not finished, by number: `being written` or `incomplete`."""
    stamps: list[int]
    """A number for each step that is another where its samples are others."""


class GroupItem(Struct, kw_only=True):
    """A group of the list. `first` samples of the list stand before it."""

    group: str
    step: int
    prompt: str
    """Start of the prompt (its last user turn where a chat template is recognised)."""
    samples: int
    first: int
    reward_mean: Number
    reward_std: Number
    env: str
    discarded: str
    """Why samples of it were not trained on, the most frequent reason; empty where all were."""
    prefix: str
    """How the ids of its samples begin; they end with a part of `members`."""
    members: list[str]
    """Its samples in order, at most 1,000 of them."""
    means: list[Number]
    """By column of the reply, over finite values."""
    cells: list[list[Number]]
    """By column of the reply, a value for each of `members`."""


class GroupsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/groups?split=&step=&trained=&where=&sort=&descending=&column=&offset=&limit=`.

    The scope is one step, a range (`step_min=`, `step_max=`), or without both the whole split. `sort` is `index`, or a
    column whose means are compared. `column` may stand several times.
    """

    run: str
    split: str
    version: str
    total: int
    """How many groups there are."""
    samples: int
    """How many samples fulfil the filter."""
    of: int
    """How many samples the scope has, whatever the filter."""
    offset: int
    stamp: int
    """That of the step, where the scope is one: see `StepsReply.stamps`."""
    columns: list[str]
    groups: list[GroupItem]


class DiscardsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/discards?split=`: parallel columns, one entry for each step and reason, by step.

    `unfinished` of the samples were cancelled or failed: there is no answer to read.
    """

    run: str
    split: str
    version: str
    reasons: list[str]
    steps: list[int]
    samples: list[int]
    groups: list[int]
    unfinished: list[int]


class EvalStepItem(Struct, kw_only=True):
    """One step of an evaluation: the mean value, the share of right answers, and for each k pass@k and pass^k.

    `problems_at` is how many problems have at least k answers, over which the two are means.
    """

    step: int
    problems: int
    samples: int
    without: int
    """Samples without a finite value: in no other number."""
    score: Number
    right: Number
    pass_at: list[Number]
    pass_all: list[Number]
    problems_at: list[int]


class EvalItem(Struct, kw_only=True):
    """One evaluation: an answer is right where `metric` reaches `bar` (falls to it, where less is better)."""

    split: str
    metric: str
    bar: Number
    falls: bool
    reason: str
    """Where the bar comes from."""
    metrics: list[str]
    ks: list[int]
    steps: list[EvalStepItem]


class EvalsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/evals?metric=&bar=&k=`: every split that is an evaluation."""

    run: str
    version: str
    evals: list[EvalItem]


class ProblemRow(Struct, kw_only=True):
    """A row of the grid: how many answers there were at each step, -1 where it was not asked, and how many were right.

    `beat`: whether its best reward was ever above the reference model's, null where there is none.
    """

    problem: str
    prompt: str
    verdict: str
    """`solved`, `lost`, `mixed`, `never` or `always`."""
    n: list[int]
    c: list[int]
    beat: bool | None


class GridReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/grid?split=&metric=&bar=&only=&sort=&offset=&limit=`: problems by steps, a page of them."""

    run: str
    split: str
    version: str
    metric: str
    metrics: list[str]
    bar: Number
    falls: bool
    reason: str
    steps: list[int]
    total: int
    offset: int
    problems: list[ProblemRow]
    counts: dict[str, int]
    """Problems by verdict; `unbeaten` are those that never were above the reference."""
    once: int
    """Training prompts that came at one step alone, and are not in the grid."""


class AnswerItem(Struct, kw_only=True):
    """A sample of a cell."""

    id: str
    value: Number
    right: bool | None
    discarded: str
    status: str
    preview: str


class CellReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/evals/answers?split=&step=&problem=&metric=&bar=`: the samples of a cell of the grid."""

    run: str
    answers: list[AnswerItem]


class SampleItem(Struct, kw_only=True):
    """A sample in a list."""

    id: str
    step: int
    group: str
    index: str
    reward: Number
    advantage: Number
    status: str
    turns: int
    response_tokens: Number
    response_chars: int
    preview: str
    """Start of the response."""
    prompt: str
    discarded: str
    env: str
    values: list[Number]
    """By column of the reply: numbers, or texts as they are."""


class SamplesReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/samples?split=&step=&trained=&where=&group=&sort=&descending=&offset=&limit=`.

    The scope is as in `GroupsReply`. Sorted by `index` the samples of a group stand together, groups in order of their
    first sample. With `around=ID` the page is the one that holds this sample. `column` may stand several times.
    """

    run: str
    split: str
    version: str
    total: int
    """How many samples fulfil the filter."""
    of: int
    """How many the scope has, whatever the filter."""
    offset: int
    stamp: int
    """That of the step: see `StepsReply.stamps`."""
    columns: list[str]
    samples: list[SampleItem]


class ColumnItem(Struct, kw_only=True):
    """A column of samples; `low` and `high` are of the finite values seen."""

    name: str
    kind: str
    """`number` or `text`."""
    source: str
    """`fixed`, `metric` or `tag`."""
    low: Number
    high: Number
    worst: Number
    """As the run declares it, with `best`; the greater of both where less is better."""
    best: Number


class ColumnsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/columns?split=`: by what samples can be shown, sorted and filtered."""

    run: str
    split: str
    version: str
    columns: list[ColumnItem]
    group_size: int
    """How many samples a group has, at most; 0 where that is not known."""


class SuggestionItem(Struct, kw_only=True):
    """What may stand in a filter. `kind` is `column`, `operator`, `value` or `word`."""

    text: str
    kind: str
    note: str


class CompleteReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/complete?split=&step=&text=`: what may replace the end of `text`, from `start` on."""

    start: int
    found: list[SuggestionItem]


class CallView(Struct, kw_only=True):
    """A tool call: `arguments` is pretty-printed JSON where it parses."""

    name: str
    arguments: str
    id: str
    error: str


class PartView(Struct, kw_only=True):
    """A piece of a turn: `text` to read, `raw` where the verbatim text differs from it."""

    kind: str
    text: str
    raw: str | None
    call: CallView | None
    closed: bool
    image: bool
    """True where `/sample/image` gives the image that the record holds; `text` says what it is."""
    cut: int
    """So many characters more stand in the raw record."""


class TurnView(Struct, kw_only=True):
    """A message of the transcript."""

    role: str
    origin: str
    name: str
    tool_call_id: str
    tokens: Number
    chars: int
    reward: Number
    stop_reason: str
    metrics: dict[str, Number]
    logs: Any
    """What else was written about the turn: an object, as JSON."""
    parts: list[PartView]


class Fact(Struct, kw_only=True):
    """A labelled value of the sample. `kind`: `metric` (a number) or `tag` (text)."""

    name: str
    kind: str
    value: Number


class SeriesInfo(Struct, kw_only=True):
    """A token series of the sample; the values come from `/sample/series`."""

    name: str
    length: int
    offset: int


class SourceInfo(Struct, kw_only=True):
    """Where the sample stands: file (relative to the run) and byte range or place."""

    file: str
    start: int
    stop: int
    part: str


class Reference(Struct, kw_only=True):
    """The reference model's response; `gap` is reward minus its reward."""

    turns: list[TurnView]
    reward: Number
    gap: Number


class SampleReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample?id=`: one sample, whole."""

    id: str
    run: str
    split: str
    step: int
    group: str
    index: str
    uid: str
    reward: Number
    advantage: Number
    status: str
    status_raw: str
    env: str
    discarded: str
    policy_version: str
    """The version or versions of the policy that wrote the response, where the record says so."""
    lag: Number
    """By how many versions the policy was older than the one that was trained, where the record says so."""
    turn_count: int
    prompt_tokens: Number
    response_tokens: Number
    total_tokens: Number
    position: int
    """1-based place among `group_size` samples of its group."""
    group_size: int
    group_ids: list[str]
    """Ids of the group's samples in order (at most 1,000 around this one)."""
    facts: list[Fact]
    turns: list[TurnView]
    """A page of them; `/sample/turns` has the others."""
    turn_from: int
    turn_total: int
    chars: int
    """All characters of the transcript, the reference and the label."""
    label: str
    reference: Reference | None
    extra: Any
    """Fields without a place of their own, as JSON; non-finite numbers encoded as in `number`."""
    extra_images: list[str]
    """What the images among them are; `/sample/image` gives them as `extra.0`, `extra.1`, ..."""
    series: list[SeriesInfo]
    notes: list[str]
    source: SourceInfo


class TurnsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/turns?id=&from=`: a page of the turns of a long sample."""

    id: str
    turns: list[TurnView]
    turn_from: int
    turn_total: int


class MemberPiece(Struct, kw_only=True):
    """A stretch of an answer: what all answers begin with, what is also in the one compared with, and the rest."""

    turn: int
    role: str
    name: str
    kind: str
    """As of `PartView`."""
    common: str
    shared: str
    own: str


class MemberText(Struct, kw_only=True):
    """The answer of a member of a group, or the part of it around the place at which it parts."""

    id: str
    pieces: list[MemberPiece]
    chars: int
    """How long all of it is."""
    skipped: int
    """So many characters in front, which all answers share, are not sent."""
    cut: int
    """So many at the end are not sent."""
    verdict: str
    """`parts`, `ends` (where the other goes on), `same`, `alike` (as far as compared), `self`, `none`, `error`."""
    parts_at: int
    """Characters in front of the place where it parts from the one compared with; -1 where it does not."""
    error: str


class MembersReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/members?id=&against=&only=&chars=&lead=`: the answers of a sample's group, side by side.

    At most 64: those around the sample, or around it among those of `only`, which may stand several times. `chars` are
    sent of each beyond what all share, and of that the last `lead`.
    """

    id: str
    run: str
    against: str
    """The one that the others are compared with: as asked for, else the best by reward."""
    best: str
    total: int
    offset: int
    common: int
    """So many characters all answers shown begin with; those without any text aside."""
    answers: list[MemberText]
    reference: MemberText | None
    """The one compared with, where it is not one of `answers`."""
    prompt: list[MemberPiece]
    """Of the sample asked for, its beginning; `own` has the text."""
    prompt_chars: int
    label: str


class SameStep(Struct, kw_only=True):
    """The answers to a prompt at a step; `id` is the first of them."""

    split: str
    step: int
    id: str
    groups: int
    samples: int
    discarded: int
    """How many of the samples were not trained on; the mean is over all."""
    reward_mean: Number
    reward_std: Number
    response_tokens: Number
    """Mean, where they are told."""


class SameReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/same?id=` or `?problem=`: where one prompt was answered, by split and step."""

    run: str
    problem: str
    """By this the prompt is known in every run."""
    steps: list[SameStep]
    is_cut: bool
    """True where there are more steps than are told."""


class RawReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/raw?id=&start=`: a block of the source record, verbatim (invalid UTF-8 replaced)."""

    id: str
    source: SourceInfo
    text: str
    size_bytes: int
    start: int
    """The block is bytes `start` to `stop` of `size_bytes`."""
    stop: int


class TextReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/text?id=&start=`: a block of the sample as one text."""

    id: str
    text: str
    chars: int
    start: int
    """The block is characters `start` to `stop` of `chars`, counted in code points."""
    stop: int
    is_own: bool
    """True where the text stands in the record; else it was put together from messages."""
    origin: str
    """The same, as a sentence."""


class Span(Struct, kw_only=True):
    """A place in the text of a part as it is shown, in units of UTF-16.

    `at` names the part: `12.3` is part 3 of turn 12, `ref0.1` one of the reference response, `label` the golden answer.
    """

    at: str
    start: int
    stop: int


class FindReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/find?id=&text=`: where a text stands; `spans` are the first of `total` places."""

    total: int
    spans: list[Span]


class ProblemItem(Struct, kw_only=True):
    """A record that could not be read."""

    file: str
    start: int | None
    stop: int | None
    reason: str
    excerpt: str
    """The first bytes of the record, as text."""


class ProblemsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/problems?offset=&limit=`."""

    run: str
    total: int
    offset: int
    problems: list[ProblemItem]


class CheckpointItem(Struct, kw_only=True):
    """A checkpoint that a run lists, which is not to say that it can still be loaded."""

    name: str
    step: int | None
    paths: dict[str, str]
    extra: Any


class FileItem(Struct, kw_only=True):
    """A file of the run's folder."""

    name: str
    size_bytes: int
    changed_s: float
    """Seconds since the epoch."""
    what: str


class ReportSteps(Struct, kw_only=True):
    """The steps of a split that have a report."""

    split: str
    steps: list[int]


class AboutReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/about`: what the run holds beside its samples."""

    run: str
    path: str
    format: str
    reason: str
    config: Any
    """As the trainer wrote it; non-finite numbers encoded as in `number`."""
    checkpoints: list[CheckpointItem]
    code_diff: str
    files: list[FileItem]
    files_left: int
    """Files that are not listed here, as there are too many."""
    reports: list[ReportSteps]


class ReportNode(Struct, kw_only=True):
    """A piece of what was logged for a step; all of it is plain text."""

    kind: str
    """`root`, `section`, `text`, `code`, `table`, `details`, `conversation` or `exception`."""
    title: str
    text: str
    header: list[str]
    rows: list[list[str]]
    turns: list[TurnView]
    children: "list[ReportNode]"
    attrs: dict[str, str]


class ReportReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/report?split=&step=`: what the trainer logged for a step, as an outline."""

    run: str
    split: str
    step: int
    root: ReportNode


class TextSearch(Struct, kw_only=True):
    """What is looked for; `roles` of `prompt`, `response`, `system`, `user`, `assistant`, `tool`, or none for all."""

    text: str
    regex: bool = False
    case: bool = False
    """True where capitals and small letters differ."""
    word: bool = False
    roles: list[str] = []


class SearchRequest(Struct, kw_only=True):
    """`POST /api/search`: answers a `SearchEvent` a line until the search is over.

    A tab has one search at a time: a new one ends the one before. Closing the connection ends it, too.
    """

    tab: str
    """A word that the tab has made up for itself."""
    search: TextSearch
    runs: list[str] = []
    """Empty: all that are open."""
    split: str = ""
    """Empty: all."""
    step_min: int | None = None
    step_max: int | None = None
    where: str = ""


class SnippetView(Struct, kw_only=True):
    """A piece of a text: `pieces` are in turn context and hit; the first and the last are context, perhaps empty."""

    role: str
    pieces: list[str]
    is_start: bool
    """True where the text begins with it."""
    is_end: bool


class SearchHit(Struct, kw_only=True):
    """A sample in which something was found."""

    run: str
    id: str
    split: str
    step: int
    group: str
    index: str
    reward: Number
    status: str
    snippets: list[SnippetView]
    more: bool
    """True where there is more in it than the snippets show."""


class SearchEvent(Struct, kw_only=True):
    """A line of `POST /api/search`: what was found since, and how far the search has come."""

    search: str
    """Names the search, for `GET /api/search/hits`."""
    kind: str
    """`progress`, `waiting` (others are searching), `over`, `stopped` (another one took its place), or `failed`."""
    hits: list[SearchHit]
    """The first hits, as they are found; later ones are asked for."""
    found: int
    """Samples in which something was found."""
    listed: int
    """So many of them can be asked for."""
    samples: int
    known_samples: int
    searched_bytes: int
    """Of the files, as `known_bytes`, which are those that are indexed and of the steps in question."""
    known_bytes: int
    from_sources: int
    """Samples whose texts were read from the files, since the index has none of them."""
    notes: list[str]
    """What could not be searched, and why."""
    indexing: list[str]
    """Runs of which more is being indexed: what comes is not searched."""


class SearchHitsReply(Struct, kw_only=True):
    """`GET /api/search/hits?search=&offset=&limit=`."""

    search: str
    offset: int
    hits: list[SearchHit]


class SpansRequest(Struct, kw_only=True):
    """`POST /api/runs/{run}/sample/spans`."""

    id: str
    search: TextSearch


class SpansReply(Struct, kw_only=True):
    """Where in a sample it stands, in order."""

    id: str
    spans: list[Span]
    more: bool
    """True where there is more than is listed."""


class CacheStats(Struct, kw_only=True):
    """`GET /api/cache/stats`; `POST /api/cache/clear` answers the same, after clearing."""

    entries: int
    limit_entries: int
    memory_bytes: int
    limit_bytes: int
    hits: int
    misses: int
    index_bytes: int
    """Size of the index on disk, all open runs together."""
    index_dir: str


class RunMark(Struct, kw_only=True):
    """What a person says of a run. An empty name leaves it its own; `colour` is 1 to 10, 0 leaves it to the page."""

    name: str = ""
    colour: int = 0
    hidden: bool = False
    note: str = ""


class SampleMark(Struct, kw_only=True):
    """What a person says of a sample. `uid` and `excerpt` are filled in by the server, whatever was sent."""

    bookmarked: bool = False
    note: str = ""
    uid: str = ""
    excerpt: str = ""
    """How its response begins."""


class StateItem(Struct, kw_only=True):
    """One thing that a person added. Where it was removed, it holds neither mark nor setting."""

    kind: str
    """`run`, `sample` or `setting`."""
    owner: str
    """The key of the run that it is about; empty for a setting."""
    name: str
    """The id of the sample, the name of the setting; empty for a run."""
    version: int
    changed_s: float
    """Seconds since the epoch."""
    run_mark: RunMark | None = None
    sample_mark: SampleMark | None = None
    setting: Any = None


class StateOwner(Struct, kw_only=True):
    """A run that something was said of; `run` is its id here, empty where it is not open."""

    owner: str
    run: str
    name: str
    format: str
    path: str


class StateReply(Struct, kw_only=True):
    """`GET /api/state?since=`: what a person added; with `since` what has changed after that version."""

    version: int
    items: list[StateItem]
    owners: list[StateOwner]
    place: str
    """The file that it is kept in."""
    trouble: str
    """Why that file cannot be used, so that all is kept for this session alone; empty where it can."""


class StateChange(Struct, kw_only=True):
    """`POST /api/state`: answers the `StateItem` as it is now, or with 409 a `ConflictReply`.

    The run is named by its id or, where it is not open, by `owner`. With neither mark nor setting the item is removed.
    """

    kind: str
    seen: int
    """The version of the item as the person saw it, 0 for none."""
    run: str = ""
    owner: str = ""
    name: str = ""
    run_mark: RunMark | None = None
    sample_mark: SampleMark | None = None
    setting: Any = None


class ConflictReply(Struct, kw_only=True):
    """The answer to a change that another one preceded, with the item as that left it."""

    error: str
    next: str
    item: StateItem


class MarkedSample(Struct, kw_only=True):
    """A sample that a person marked. `name` is the id under which that was done."""

    name: str
    sample: SampleItem | None
    """As the run has it now, found by its id, else by its uid; null where it is there no longer."""


class MarkedReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/marked`: the samples of a run that a person marked."""

    run: str
    samples: list[MarkedSample]


class LoginRequest(Struct, kw_only=True):
    """`POST /api/login`: exchanges the token for the session cookie."""

    token: str


class LoginReply(Struct, kw_only=True):
    """Answer of `POST /api/login`."""

    ok: bool


class ErrorReply(Struct, kw_only=True, omit_defaults=True):
    """Every answer with a status of 400 and above: what failed, and what to do next."""

    error: str
    next: str
    place: int | None = None
    """Where in the text of a filter it stands that could not be understood, in characters from 0."""


class Event(Struct, kw_only=True):
    """A message of `GET /api/events` (server-sent events, `data:` is this as JSON).

    `kind`: `run` (something changed: `run` holds the run as in the list), `runs` (a run appeared or went: ask again),
    `state` (what a person added changed: ask for it) or `hello` (the stream is open).
    """

    kind: str
    run: RunItem | None = None


REPLIES = (
    RunsReply,
    StepsReply,
    GroupsReply,
    DiscardsReply,
    EvalsReply,
    GridReply,
    CellReply,
    SamplesReply,
    ColumnsReply,
    CompleteReply,
    SampleReply,
    TurnsReply,
    MembersReply,
    SameReply,
    RawReply,
    TextReply,
    FindReply,
    ProblemsReply,
    AboutReply,
    ReportReply,
    SearchRequest,
    SearchEvent,
    SearchHitsReply,
    SpansRequest,
    SpansReply,
    CacheStats,
    MarkedReply,
    StateReply,
    StateChange,
    ConflictReply,
    LoginRequest,
    LoginReply,
    ErrorReply,
    Event,
)
