"""The common model: what every framework's files are read into, and everything above `formats` sees.

Owns plain typed records; does no I/O and knows no framework. Numbers are Python floats, so NaN and the infinities
are legal values everywhere; strings may have come from hostile files. Fields may be added later; none is renamed.
"""

import re
from array import array
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote, unquote

from msgspec import Struct

Status = Literal["completed", "truncated", "aborted", "error", "pending", "unknown"]
PartKind = Literal["text", "think", "tool_call", "tool_result", "answer", "marker", "placeholder", "image", "json"]


class RunPart(Struct, frozen=True):
    """One folder or file of a run. `split` is set where the place alone decides it (`eval/poems`)."""

    path: str
    split: str | None = None


class Reading(Struct, frozen=True, kw_only=True):
    """How a person wants files to be read, where the files do not say it themselves."""

    format: str = ""
    """Read everything as this format; empty: as what it is recognised as."""
    follow_symlinks: bool = False
    """Follow links that lead out of the paths that were named."""
    fields: tuple[tuple[str, str], ...] = ()
    """Which key of a row is its prompt, its reward, ...: pairs of a role and a key."""
    reward_key: str = ""
    """The sample metric, or the part of a reward that is an object, that is taken for the reward."""
    reward_range: tuple[float, float] | None = None
    """The lowest and the highest reward there can be."""


AS_FOUND: Final = Reading()
"""As the files say it themselves."""


class RunInfo(Struct, frozen=True, kw_only=True):
    """One training or evaluation run as found on disk."""

    name: str
    root: str
    """Absolute path of the run: what identifies it, and the folder that `Source.name` is relative to."""
    format: str
    reason: str
    """Why the format was chosen, as a sentence for a person."""
    parts: tuple[RunPart, ...]
    link_root: str = ""
    """Links inside the run are followed to what lies below this folder; empty: below `root`."""
    reward_range: tuple[float, float] | None = None
    """The lowest and the highest reward there can be, where the run itself says so."""
    env_reward_ranges: tuple[tuple[str, float, float], ...] = ()
    """The same by environment, where they differ."""
    metric_ranges: tuple[tuple[str, float, float], ...] = ()
    """Sample metrics with their worst and their best value; the worst is the greater where less is better."""
    reading: Reading = AS_FOUND


class Location(NamedTuple):
    """A path, and what it must not lead out of: a folder, or the file itself. The root holds no links."""

    path: str
    root: str


class Source(Struct, frozen=True, kw_only=True):
    """A file that holds samples. `name` is its path relative to the run and identifies it in the index."""

    path: str
    name: str
    root: str = ""
    """The folder that no link on the path may lead out of; empty: no link is followed at all."""
    split: str | None = None
    step: int | None = None
    annotates: bool = False
    """True where it holds no samples but annotations of those that stand in other files."""
    depends: str = ""
    """A word for what other files decide of its rows: where it changes, the file is scanned again."""
    texts_from: str = ""
    """A word for the file that may hold texts of its samples, as that is now; empty where there is none.

    Where it changes, the file is scanned again; the numbers hold all the same, and stay until then.
    """
    texts_bytes: int = 0
    """The size of that file."""

    @property
    def location(self) -> Location:
        """Where it is opened."""
        return Location(self.path, self.root or self.path)


class Locator(Struct, frozen=True, kw_only=True):
    """Where in a source one sample lies. Its meaning belongs to the format (bytes, rows, an archive member).

    With a length of 0, `start` is the number of a row of the table `part`.
    """

    source: str
    start: int
    length: int
    part: str = ""


class Problem(Struct, frozen=True, kw_only=True):
    """Trouble in the data, as data: where (file, byte range) and why."""

    source: str
    reason: str
    start: int | None = None
    stop: int | None = None
    transient: bool = False
    """True for what the next append may heal, such as an unfinished last line."""


def _encode(part: str, safe: str = "-_.@:,=+") -> str:
    """Percent-encode one part of an id. `~` marks an attempt, so it is encoded although addresses allow it."""
    if part.isascii() and part.isalnum():  # most are numbers and words
        return part
    return quote(part, safe=safe, errors="replace").replace("~", "%7E")


_ID = re.compile(
    r"(?P<split>[^~]*)/(?P<step>0|-?[1-9][0-9]{0,99})/(?P<group>[^/~]*)/(?P<index>[^/~]*)"
    r"(?:~(?P<attempt>[1-9][0-9]{0,9}))?",
    re.DOTALL,
)


def _is_plain(text: str, step: str) -> bool:
    """True for an id of four parts in which nothing is encoded and no attempt is named: most are such."""
    return (
        "%" not in text
        and "~" not in text
        and step.isascii()
        and step.isdigit()
        and len(step) <= 100
        and (step[0] != "0" or step == "0")
    )


class SampleKey(Struct, frozen=True, order=True, gc=False):
    """The identity of a sample within a run, written `split/step/group/index`, each part percent-encoded.

    A `/` in a split stays as it is.

    `attempt` counts from 1 the samples that share the other four, in file order; 0 is the last, the current one.
    """

    split: str
    step: int
    group: str
    index: str
    attempt: int = 0

    @property
    def shared(self) -> tuple[str, int, str, str]:
        """What attempts at the same sample share: split, step, group, index."""
        return self.split, self.step, self.group, self.index

    def __str__(self) -> str:
        split = _encode(self.split, "-_.@:,=+/")  # of slashes the last three part an id
        base = f"{split}/{self.step}/{_encode(self.group)}/{_encode(self.index)}"
        return f"{base}~{self.attempt}" if self.attempt else base

    @classmethod
    def parse(cls, text: str) -> "SampleKey":
        """Read an id as `str(key)` writes it. A `/` of a split may be encoded. ValueError if it is none."""
        parts = text.split("/")
        if len(parts) == 4 and _is_plain(text, parts[1]):
            return cls(parts[0], int(parts[1]), parts[2], parts[3])
        match = _ID.fullmatch(text)
        if match is None:
            raise ValueError(f"{text[:200]!r} is not a sample id: expected split/step/group/index")
        split, step, group, index, attempt = match.groups()
        if "%" in text:
            split, group, index = unquote(split), unquote(group), unquote(index)
        return cls(split, int(step), group, index, int(attempt or 0))


class SeriesFacts(Struct, frozen=True):
    """What a scan says of one token series of a sample: moments of the finite values that count, and its extremes.

    `m2` is the sum of the squared distances from the mean; `min_at` and `max_at` are indices into the series.
    """

    count: int
    sum: float
    m2: float
    min: float
    min_at: int
    max: float
    max_at: int


class SampleRow(Struct, kw_only=True):
    """What a scan says of one sample: everything a list, a filter or a chart needs, and where the rest lies."""

    split: str
    step: int
    group: str
    index: str
    ordinal: int
    """Order within the step and source: the framework's own sample number, else the byte offset."""
    start: int
    length: int
    part: str = ""
    reward: float | None = None
    advantage: float | None = None
    status: Status = "unknown"
    status_raw: str = ""
    turns: int = 1
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    total_tokens: int | None = None
    launch: int = 0
    """Of the samples of a step those of the greatest launch are current, and those of launch 0; others are attempts."""
    env: str = ""
    """Environment or data set."""
    uid: str = ""
    """What the framework calls the sample, and annotations with it."""
    trace_id: str = ""
    """What the framework calls the trace that the sample is a branch of: an annotation of it is one of each branch."""
    discarded: str = ""
    """Why the sample was not trained on; empty where it was."""
    metrics: dict[str, float] = {}
    """Sample metrics by name."""
    tags: dict[str, str] = {}
    series: dict[str, SeriesFacts] = {}
    """Facts of the token series that `Sample.series` holds, by name, as far as a scan has them."""
    prompt: str = ""
    """The whole prompt as text (messages are joined), for search and preview."""
    response: str = ""

    @property
    def key(self) -> SampleKey:
        """The key of the sample; an earlier attempt has the same, and its own number only in the index."""
        return SampleKey(self.split, self.step, self.group, self.index)


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call of a tool. `arguments` is JSON text where it parsed, else as the model wrote it."""

    name: str
    arguments: str
    id: str = ""
    error: str = ""


class Part(Struct, frozen=True, kw_only=True):
    """A piece of a turn. Joining `raw` (else `text`) of all parts of a turn gives back its text verbatim.

    `text` is what a person reads (a think block without its tags); `closed` is False for a block that never ended.
    """

    kind: PartKind
    text: str
    raw: str | None = None
    call: ToolCall | None = None
    closed: bool = True
    media: str = ""
    """Of an image what the record holds: a `data:` address, base64, or where the image is said to be."""


class Turn(Struct, kw_only=True):
    """One message of the transcript."""

    role: str
    parts: list[Part]
    origin: Literal["prompt", "response"] = "prompt"
    name: str = ""
    tool_call_id: str = ""
    """The call that a tool's turn answers; where it answers several, their ids joined by a comma and a space."""
    tokens: int | None = None
    token_start: int | None = None
    token_stop: int | None = None
    reward: float | None = None
    stop_reason: str = ""
    metrics: dict[str, float] = {}
    logs: dict[str, Any] = {}
    facts: dict[str, str | float] = {}
    """As in `Sample.facts`."""


class TokenSeries(Struct, kw_only=True):
    """A per-token array, aligned with the sample's tokens from `offset` on. NaN marks an absent value."""

    name: str
    values: list[float]
    offset: int = 0
    stored: "array[float] | None" = None
    """All the values that the file has, as many, where some are never shown, as those outside of a loss mask are."""


class Sample(Struct, kw_only=True):
    """One sample, whole: loaded from its source on demand, never kept in the index."""

    key: SampleKey
    row: SampleRow
    locator: Locator
    turns: list[Turn]
    prompt_text: str = ""
    response_text: str = ""
    prompt_messages: list[Any] | None = None
    """The prompt as the record has it, where that is a list of chat messages."""
    response_messages: list[Any] | None = None
    label: str = ""
    """Ground truth, as text."""
    ref_turns: list[Turn] = []
    """The reference model's response."""
    ref_reward: float | None = None
    tokens: list[str] = []
    """Token strings of the response as the framework stored them, if it did."""
    token_ids: list[int] = []
    series: list[TokenSeries] = []
    extra: dict[str, Any] = {}
    """Every field of the record that has no place of its own."""
    facts: dict[str, str | float] = {}
    """What stands elsewhere in this record already, in the words of the framework: shown, and never compared."""
    notes: list[str] = []
    """What a reader must know about this sample: arrays cut, values replaced."""


class Texts(Struct, frozen=True, kw_only=True):
    """The texts of one sample, whole."""

    key: SampleKey
    prompt: str
    response: str
    label: str = ""
    """Ground truth."""
    reference: str = ""
    """The reference model's response."""


class MetricRow(Struct, kw_only=True):
    """Trainer metrics of one step; `step` is None for rows by wall clock."""

    step: int | None
    values: dict[str, float]
    time_s: float | None = None


class Checkpoint(Struct, kw_only=True):
    """A saved state of training, with whatever loop state was saved beside it."""

    name: str
    step: int | None
    paths: dict[str, str] = {}
    extra: dict[str, Any] = {}


class RunFile(Struct, frozen=True, kw_only=True):
    """A file in the folder of a run: `name` is its path below it, `what` says what it holds, where that is known."""

    name: str
    size_bytes: int
    changed_s: float
    """Seconds since the epoch."""
    what: str = ""


LogKind = Literal["root", "section", "text", "code", "table", "details", "conversation", "exception"]


class LogNode(Struct, kw_only=True):
    """A piece of what a trainer logged as an outline. All of it is plain text; nothing in it is markup."""

    kind: LogKind
    title: str = ""
    text: str = ""
    header: list[str] = []
    rows: list[list[str]] = []
    turns: "list[Turn]" = []
    children: "list[LogNode]" = []
    attrs: dict[str, str] = {}
    """What the node says of itself, such as the group and the trajectory that it belongs to."""
    tag: str = ""
    """The element that it was logged as, such as `section` or `table`; empty for bare text."""


class LoggedTranscript(Struct, kw_only=True):
    """A conversation that was logged for a step. `title` is made of those of the sections that it stands in."""

    split: str
    step: int
    title: str
    turns: list[Turn]
    sample: str = ""
    """The id of the sample that shows it, where it is that one's for certain."""
    at: str = ""
    """Where in the outline it stands, if it is no sample's: the numbers of the children that lead there, `0.3.1`."""


class Annotation(Struct, kw_only=True):
    """What is learned about a sample after it was written: joined by `uid`, and of each value the newest counts."""

    uid: str
    """The `uid` of a sample, or the `trace_id` of several."""
    start: int
    """Where its record begins; of one file what stands later is newer."""
    length: int
    advantage: float | None = None
    discarded: str | None = None
    """Why the sample was not trained on; empty where it was, None where nothing is said of that."""
    metrics: dict[str, float] = {}
    tags: dict[str, str] = {}


Scanned = SampleRow | Annotation | Problem
"""What a scan finds."""
