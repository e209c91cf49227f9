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
    changed_s: float | None
    """Seconds since a source last changed, None where unknown."""
    reward_range: tuple[float, float] | None
    """The lowest and the highest reward there can be, where a person or the run says so."""


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
    """A group of the step. `first` is the place of its first sample in the list sorted by index."""

    group: str
    prompt: str
    """Start of the prompt (its last user turn where a chat template is recognised)."""
    samples: int
    first: int
    reward_mean: Number
    reward_std: Number
    env: str
    discarded: str
    """Why samples of it were not trained on, the most frequent reason; empty where all were."""


class GroupsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/groups?split=&step=&trained=`."""

    run: str
    split: str
    step: int
    version: str
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


class SamplesReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/samples?split=&step=&trained=&sort=&descending=&offset=&limit=&around=`.

    Sorted by `index` the samples of a group stand together, groups in order of their first sample. With `around=ID`
    the page is the one that holds this sample.
    """

    run: str
    split: str
    step: int
    version: str
    total: int
    offset: int
    stamp: int
    """That of the step: see `StepsReply.stamps`."""
    samples: list[SampleItem]


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
    label: str
    reference: Reference | None
    extra: Any
    """Fields without a place of their own, as JSON; non-finite numbers encoded as in `number`."""
    series: list[SeriesInfo]
    notes: list[str]
    source: SourceInfo


class RawReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/raw?id=`: the source record, verbatim (invalid UTF-8 replaced)."""

    id: str
    source: SourceInfo
    text: str
    size_bytes: int
    shown_bytes: int
    """At most 4 MiB are sent unless `whole=1`; `shown_bytes < size_bytes` says that more exists."""


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


class LoginRequest(Struct, kw_only=True):
    """`POST /api/login`: exchanges the token for the session cookie."""

    token: str


class LoginReply(Struct, kw_only=True):
    """Answer of `POST /api/login`."""

    ok: bool


class ErrorReply(Struct, kw_only=True):
    """Every answer with a status of 400 and above: what failed, and what to do next."""

    error: str
    next: str


class Event(Struct, kw_only=True):
    """A message of `GET /api/events` (server-sent events, `data:` is this as JSON).

    `kind`: `run` (something changed: `run` holds the run as in the list), `runs` (a run appeared or went: ask again)
    or `hello` (the stream is open).
    """

    kind: str
    run: RunItem | None = None


REPLIES = (
    RunsReply,
    StepsReply,
    GroupsReply,
    DiscardsReply,
    SamplesReply,
    SampleReply,
    RawReply,
    ProblemsReply,
    AboutReply,
    ReportReply,
    CacheStats,
    LoginRequest,
    LoginReply,
    ErrorReply,
    Event,
)
