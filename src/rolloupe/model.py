"""The common model: what every framework's files are read into, and everything above `formats` sees.

Owns plain typed records; does no I/O and knows no framework. Numbers are Python floats, so NaN and the infinities
are legal values everywhere; strings may have come from hostile files. Fields may be added later; none is renamed.
"""

import re
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, isnan
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, get_type_hints
from urllib.parse import quote, unquote

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

LARGEST = sys.float_info.max
"""The largest finite number."""

Real: TypeAlias = Annotated[float, Meta(extra={"wire": "number"})]
"""A number of an answer that may be NaN or infinite: a browser gets these by their names, as JSON lacks them."""

Status = Literal["completed", "truncated", "aborted", "error", "pending", "unknown"]
Cause = Literal["", "model", "environment", "grader", "timeout", "limit", "unknown"]
"""What ended a sample before its time."""
StyledRun = tuple[int, int, str]
"""A stretch of a text, and words for its style: `bold`, `dim`, `italic`, `underline`, and the name of a colour."""
PartKind = Literal["text", "think", "tool_call", "tool_result", "answer", "marker", "placeholder", "image", "json"]


class RunPart(Struct, frozen=True):
    """One folder or file of a run. `split` is set if the place alone decides it (`eval/poems`)."""

    path: str
    split: str | None = None


class Reading(Struct, frozen=True, kw_only=True):
    """How a person wants files to be read, if the files do not say."""

    format: str = ""
    """Read everything as this format; empty: recognise the format."""
    follow_symlinks: bool = False
    """Follow links that lead out of the named paths."""
    links_stay_in_run: bool = False
    """Follow no link out of a run, because not everybody may read its target."""
    fields: tuple[tuple[str, str], ...] = ()
    """Which key of a row is its prompt, its reward, ...: pairs of a role and a key."""
    group_by: str = ""
    """The key, or several with commas between, whose equal values make a group; empty: the format decides."""
    reward_key: str = ""
    """The sample metric, or the part of a reward object, that counts as the reward."""
    reward_range: tuple[float, float] | None = None
    """The lowest and the highest possible reward."""
    tokenizer: str = ""
    """The tokenizer that decodes token ids: a path, or a name in the local Hugging Face cache; empty: the run's own."""
    download_tokenizer: bool = False
    """Fetch a tokenizer that the local cache lacks."""
    metrics: tuple[str, ...] = ()
    """Files and folders with more curves of the runs, as a tracker keeps them."""
    metrics_by_name: bool = False
    """True for several runs: each of those files belongs to the run of its name, or to the run whose folder has it."""
    metrics_step: str = ""
    """The metric that holds the step in such files, or `TRACKER_STEP`; empty: what looks like the trainer's step."""


MOST_ALTERNATIVES: Final = 20
"""How many alternatives of one token a sample has at most."""

TRACKER_STEP: Final = "tracker"
"""The step as a tracker counts."""

AS_FOUND: Final = Reading()
"""Read files as they describe themselves."""


class TokenizerFile(Struct, frozen=True, kw_only=True):
    """The file of a tokenizer. `digest` is a hash of its contents: equal digests decode ids to equal texts."""

    path: str
    root: str
    """The folder that no link on the path may lead out of."""
    digest: str


class RunInfo(Struct, frozen=True, kw_only=True):
    """One training or evaluation run as found on disk."""

    name: str
    root: str
    """Absolute path of the run. It identifies the run, and `Source.name` is relative to it."""
    format: str
    reason: str
    """Why the format was chosen, as a sentence for a person."""
    parts: tuple[RunPart, ...]
    within: str = ""
    """The name of the run within its file; empty if the file or folder holds one run alone."""
    link_root: str = ""
    """Links inside the run may lead below this folder; empty: below `root`."""
    reward_range: tuple[float, float] | None = None
    """The lowest and the highest possible reward, if the run declares them."""
    env_reward_ranges: tuple[tuple[str, float, float], ...] = ()
    """The same for each environment, if they differ."""
    metric_ranges: tuple[tuple[str, float, float], ...] = ()
    """Sample metrics with their worst and their best value; if less is better, the worst is the greater."""
    reading: Reading = AS_FOUND
    tokenizer: TokenizerFile | None = None
    """The tokenizer that decodes token ids."""


class Location(NamedTuple):
    """A path, and the folder (or the file itself) that it must not lead out of. The root holds no links."""

    path: str
    root: str


class RowStream(Struct, frozen=True):
    """The rows of a database as a stream of bytes, each row with the same number of them.

    A database changes everywhere when rows are added to it, also in a file beside it: its bytes show no growth.
    """

    word: str
    """Identifies the existing rows: new rows do not change it."""
    length: int
    """The length in bytes of this stream."""
    changed_ns: int = 0
    """When the last row was written."""


class Source(Struct, frozen=True, kw_only=True):
    """A file that holds samples. `name` is its path relative to the run and identifies it in the index."""

    path: str
    name: str
    root: str = ""
    """The folder that no link on the path may lead out of; empty: no link is followed."""
    split: str | None = None
    step: int | None = None
    annotates: bool = False
    """True if it holds no samples but annotations of samples in other files."""
    scores: bool = False
    """True for annotations that are a person's own, outside the run: they name samples by their places."""
    depends: str = ""
    """A word for what other files decide about its rows: when it changes, the file is scanned again."""
    texts_from: str = ""
    """A word for the state of the file that may hold texts of its samples; empty without such a file.

    When it changes, the file is scanned again; the numbers are still right, and stay until then.
    """
    texts_bytes: int = 0
    """The size of that file."""
    stream: RowStream | None = None
    """The stream that holds the samples, in place of the bytes of the file."""
    launches: tuple[int, ...] = ()
    """The places at which launches after the first begin. The index sets it; formats leave it alone."""

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
    """True if the next append may mend it, such as an unfinished last line."""


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
_PLAIN_STEP = re.compile("0|[1-9][0-9]{0,99}")


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
        """Read an id as `str(key)` writes it. A `/` of a split may be encoded. ValueError if it is not an id."""
        parts, is_plain = text.split("/"), "%" not in text and "~" not in text
        if len(parts) == 4 and is_plain and _PLAIN_STEP.fullmatch(parts[1]):  # most are such
            return cls(parts[0], int(parts[1]), parts[2], parts[3])
        match = _ID.fullmatch(text)
        if match is None:
            raise ValueError(f"{text[:200]!r} is not a sample id: expected split/step/group/index")
        split, step, group, index, attempt = match.groups()
        if "%" in text:
            split, group, index = unquote(split), unquote(group), unquote(index)
        return cls(split, int(step), group, index, int(attempt or 0))


class SeriesFacts(Struct, frozen=True):
    """Facts of one token series of a sample, from a scan: moments of the finite values that count, and extremes.

    `m2` is the sum of the squared distances from the mean; `min_at` and `max_at` are indices into the series.
    """

    count: int
    sum: float
    m2: float
    min: float
    min_at: int
    max: float
    max_at: int


ColumnType = Literal["integer", "short", "number", "text", "word"]
"""Integers of 64 and 32 bits, a float, a text, and a text with few different values."""

ColumnGroup = Literal["identity", "outcome", "size", "context", "text", "place"]


class Column(NamedTuple):
    """What lists, filters, files and charts do with a field of `SampleRow`: the note of a column in its type."""

    group: ColumnGroup
    uses: str = ""
    """A letter for each use: f, people filter and sort by it, so that no sample metric or tag may take its name; l,
    `SampleItem` has a field of this name; e, tables and files of samples have it; c, the index keeps its moments for
    each step; a, annotations may hold a newer value in a field of this name."""
    label: str = ""
    """What the page calls it."""
    short: str = ""
    """A short label for narrow places."""
    unit: str = ""
    stored: str = ""
    """Its name in the index, if that is another: `group` and `index` are words of SQL. Set in `COLUMNS`."""
    aliases: tuple[str, ...] = ()
    """What trainers call it, unless a sample metric or a tag of the run has that name."""
    type: ColumnType | Literal[""] = ""
    """Empty: an integer, a number or a text, as its Python type says. Set in `COLUMNS`."""
    name: str = ""
    """What a person calls it: the name of the field."""

    @property
    def is_number(self) -> bool:
        """True for numbers."""
        return self.type in ("integer", "short", "number")


class SampleRow(Struct, kw_only=True):
    """A sample from a scan: everything that a list, a filter or a chart needs, and where the rest lies.

    A field with a `Column` is a column of the index, in this order; a new one needs a higher version of `NUMBERS`, too.
    """

    split: Annotated[str, Column("identity", "fle", "Split", type="word")]
    step: Annotated[int, Column("identity", "fle", "Step", aliases=("rollout_id",))]
    group: Annotated[str, Column("identity", "fle", "Group", stored="grp", aliases=("group_index",))]
    index: Annotated[str, Column("identity", "fle", "Index", stored="idx", aliases=("sample_index",))]
    uid: Annotated[str, Column("identity", "fle", "Id")] = ""
    """The framework's name for the sample, which annotations use."""
    reward: Annotated[float | None, Column("outcome", "flec", "Reward")] = None
    advantage: Annotated[float | None, Column("outcome", "fleca", "Advantage")] = None
    status: Annotated[Status, Column("outcome", "fle", "Status", type="word")] = "unknown"
    turns: Annotated[int, Column("size", "flec", "Turns")] = 1
    prompt_tokens: Annotated[
        int | None,
        Column("size", "flec", "Prompt tokens", "prompt", "tokens", aliases=("prompt_length", "prompt_token_count")),
    ] = None
    response_tokens: Annotated[
        int | None,
        Column(
            "size", "flec", "Response tokens", "tokens", "tokens",
            aliases=("length", "response_length", "response_token_count", "completion_tokens"),
        ),
    ] = None  # fmt: skip
    total_tokens: Annotated[
        int | None, Column("size", "flec", "Tokens", "in all", "tokens", aliases=("total_length", "total_token_count"))
    ] = None
    response_chars: Annotated[int, Column("size", "flec", "Characters", "characters", "characters")] = 0
    """The index sets this field."""
    env: Annotated[str, Column("context", "fle", "Environment", type="word", aliases=("dataset",))] = ""
    """Environment or data set; without one, the tag of this name, which a filter could not name otherwise."""
    discarded: Annotated[str, Column("outcome", "flea", "Discarded", type="word")] = ""
    """Why the sample was not trained on; empty if it was."""
    prompt: Annotated[str, Column("text", "le", "Prompt", stored="prompt_preview")] = ""
    """The whole prompt as text (messages are joined), for search and preview; in the index only its beginning."""
    response: Annotated[str, Column("text", "le", "Response", stored="response_preview")] = ""
    response_end: Annotated[str, Column("text", "l")] = ""
    """The end of the response if `response` holds only its beginning. The index sets this field."""
    trace_id: Annotated[str, Column("identity")] = ""
    """The framework's name for the trace that the sample is a branch of: annotations of it apply to each branch."""
    status_raw: Annotated[str, Column("outcome", type="word")] = ""
    cause: Annotated[Cause, Column("outcome", "fe", "Ended by", type="word")] = ""
    """What ended the sample before its time, if the record says so. Where the format leaves it empty, the index and the
    reader of a whole sample set it."""
    prompt_hash: Annotated[int, Column("identity")] = 0
    """A hash of the prompt, the same at every step; of the group's name for a sample without a prompt. The index sets
    this field."""
    launch: Annotated[int, Column("place", type="short")] = 0
    """Of the samples of a step, those of the greatest launch and of launch 0 are current; others are attempts."""
    ordinal: Annotated[int, Column("place")]
    """Order within the step and source: the framework's own sample number, else the byte offset."""
    start: Annotated[int, Column("place", stored="byte_start")]
    length: Annotated[int, Column("place", stored="byte_length")]
    part: Annotated[str, Column("place")] = ""
    metrics: dict[str, float] = {}
    """Sample metrics by name."""
    tags: dict[str, str] = {}
    series: dict[str, SeriesFacts] = {}
    """Facts of the token series that `Sample.series` holds, by name; those that a scan does not have are missing."""
    has_series: bool = False
    """True if the sample has token series without facts from a scan."""
    messages: list[Any] | None = None
    """The response as the record has it, if that is a list of chat messages or turns."""
    question: int = 0
    """Where the user's last message begins in `prompt`, if that was a list of messages."""
    stamp: int = 0
    """A checksum of its numbers and the ends of its texts: it differs if another sample took the place of this one. The
    index sets this field."""

    def __post_init__(self) -> None:
        self.env = self.env or self.tags.get("env", "")

    @property
    def key(self) -> SampleKey:
        """The key of the sample; an earlier attempt has the same, and its own number only in the index."""
        return SampleKey(self.split, self.step, self.group, self.index)


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call of a tool. `arguments` is JSON text if it parsed, otherwise as the model wrote it."""

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
    """For an image, what the record holds: a `data:` address, base64, or the image's address."""
    styles: tuple[StyledRun, ...] = ()
    """The styled runs of a terminal's output, in order."""


class Turn(Struct, kw_only=True):
    """One message of the transcript."""

    role: str
    parts: list[Part]
    origin: Literal["prompt", "response"] = "prompt"
    name: str = ""
    tool_call_id: str = ""
    """The call that a tool's turn answers; several ids are joined by a comma and a space."""
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
    """A per-token array, aligned with the sample's tokens from `offset` on. NaN marks an absent value.

    Readers make an array of doubles (`np.asarray(series.values)` copies nothing); a list will do as well.
    """

    name: str
    values: "array[float] | list[float]"
    offset: int = 0
    stored: "array[float] | None" = None
    """All values of the file, if some are never shown, such as those outside a loss mask."""
    is_derived: bool = False
    """True if the format computed it and the record does not hold it."""


class Sample(Struct, kw_only=True):
    """One sample, whole: loaded from its source on demand, never kept in the index."""

    key: SampleKey
    row: SampleRow
    locator: Locator
    turns: list[Turn]
    prompt_text: str = ""
    response_text: str = ""
    prompt_messages: list[Any] | None = None
    """The prompt as the record has it, if it is a list of chat messages."""
    response_messages: list[Any] | None = None
    label: str = ""
    """Ground truth, as text."""
    ref_turns: list[Turn] = []
    """The reference model's response."""
    ref_reward: float | None = None
    token_strings: list[str] = []
    """Token strings of the response as the framework stored them, if it did; where `is_decoded`, of all tokens."""
    is_decoded: bool = False
    """True if a tokenizer made the token strings of the ids, for the record holds none."""
    token_ids: list[int] = []
    partial_tokens: dict[int, bytes] = {}
    """The bytes of the ids that are a part of a character, where a tokenizer made the token strings."""
    unread_tokens: int = 0
    """How many tokens of the record are left out, because it holds more than the limit for a sample."""
    top_logprobs: list[list[tuple[str, float]]] = []
    """What the model could have sampled in the places of the last tokens: token strings, or ids, with logprobs."""
    series: list[TokenSeries] = []
    group_advantage: float | None = None
    """An advantage computed from the rewards of its group, where the record holds none; see `query.tokens`."""
    extra: dict[str, Any] = {}
    """Every field of the record without a place of its own."""
    facts: dict[str, str | float] = {}
    """Values that the sample holds elsewhere, under the framework's names: shown, and never compared."""
    notes: list[str] = []
    """What a reader must know about this sample: arrays cut, values replaced."""
    report_at: str = ""
    """Its place in the report of its step, if a note names that: the numbers of the children that lead there."""


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


Aggregation = Literal["token_mean", "sequence_mean"]
"""How a loss weighs the tokens of a step. `token_mean` weighs all tokens alike, as in a sum, a mean over all tokens, or
a mean over a fixed length (Dr. GRPO). `sequence_mean` weighs all sequences alike, however long.
"""


class RunLoss(Struct, frozen=True, kw_only=True):
    """The loss that a run was trained with, by its configuration."""

    rule: str
    """A name of `rolloupe.tokens.UPDATES`."""
    thresholds: dict[str, float] = {}
    """Finite: an infinite bound is the largest number, and one that is not a number is left out."""
    kl_weight: float = 0.0
    """The weight of a k3 penalty to the reference in the loss; 0 if it is not finite."""
    kl_setting: str = ""
    """The setting that says so."""
    left_out: dict[str, float] = {}
    """By setting, the finite weights of penalties in the loss that are computed in no other way."""
    aggregation: Aggregation | None = None
    """None if the configuration does not say."""
    read_from: str
    """The settings that say so, for a person."""

    def __post_init__(self) -> None:
        """Replace numbers that no loss can have."""
        bounds = {
            name: max(-LARGEST, min(LARGEST, bound)) for name, bound in self.thresholds.items() if not isnan(bound)
        }
        force_setattr(self, "thresholds", bounds)
        force_setattr(self, "kl_weight", self.kl_weight if isfinite(self.kl_weight) else 0.0)
        force_setattr(
            self, "left_out", {name: weight for name, weight in self.left_out.items() if weight and isfinite(weight)}
        )


class Checkpoint(Struct, kw_only=True):
    """A saved state of training, with the loop state saved beside it."""

    name: str
    step: int | None
    paths: dict[str, str] = {}
    extra: dict[str, Any] = {}


class RunFile(Struct, frozen=True, kw_only=True):
    """A file in the folder of a run: `name` is its path below it, and `what` its contents, if known."""

    name: str
    size_bytes: int
    changed_s: float
    """Seconds since the epoch."""
    what: str = ""


LogKind = Literal["root", "section", "text", "code", "table", "details", "conversation", "exception"]


class LogNode(Struct, kw_only=True):
    """A piece of a report: an outline that a trainer logged. All of it is plain text; nothing in it is markup."""

    kind: LogKind
    title: str = ""
    text: str = ""
    header: list[str] = []
    rows: list[list[str]] = []
    turns: "list[Turn]" = []
    children: "list[LogNode]" = []
    attrs: dict[str, str] = {}
    """Attributes of the node, such as its group and its trajectory."""
    tag: str = ""
    """Its element, such as `section` or `table`; empty for bare text."""


class LoggedTranscript(Struct, kw_only=True):
    """A conversation that was logged for a step. `title` joins the titles of the sections around it."""

    split: str
    step: int
    title: str
    turns: list[Turn]
    sample: str = ""
    """The id of the sample that shows it, if it certainly belongs to that sample."""
    at: str = ""
    """Its place in the outline, if it belongs to no sample: the numbers of the children that lead there, `0.3.1`."""


_TYPES: dict[object, ColumnType] = {int: "integer", int | None: "integer", float | None: "number", str: "text"}


def _columns_of_row() -> Iterator[Column]:
    """Yield a column for each field of `SampleRow` that has a `Column`, and one for the file of the row."""
    for name, hint in get_type_hints(SampleRow, include_extras=True).items():
        if name == "start":
            yield Column("place", type="word", name="source", stored="source")
        for note in getattr(hint, "__metadata__", ()):
            yield note._replace(name=name, stored=note.stored or name, type=note.type or _TYPES[hint.__origin__])


COLUMNS: Final = tuple(_columns_of_row())
"""In the order in which lists and files show them."""

KNOWN: Final = {column.name: column for column in COLUMNS if "f" in column.uses}
"""The columns that a person knows. The names of the others are free for sample metrics and tags."""

ALIASES: Final = {alias: column.name for column in COLUMNS for alias in column.aliases}

LISTED: Final = {column.name: column for column in COLUMNS if "l" in column.uses}
EXPORTED: Final = {column.name: column for column in COLUMNS if "e" in column.uses}
CHARTED: Final = tuple(column.name for column in COLUMNS if "c" in column.uses)
ANNOTATED: Final = tuple(column.name for column in COLUMNS if "a" in column.uses)

JUDGEMENT: Final = "judgement"
"""The column of a person's judgements."""

OWN_JUDGEMENT: Final = "my_judgement"
"""The same column for a run that has a `judgement` of its own."""


class Annotation(Struct, kw_only=True):
    """Facts about a sample, recorded after it was written. `uid` joins them; the newest value of each fact counts."""

    uid: str
    """The `uid` of a sample, or the `trace_id` of several."""
    start: int
    """Where its record begins; later in a file is newer."""
    length: int
    advantage: float | None = None
    discarded: str | None = None
    """Why the sample was not trained on; empty if it was, None if the record does not say."""
    metrics: dict[str, float] = {}
    tags: dict[str, str] = {}
    series: tuple[str, ...] = ()
    """The token series for which the record holds values."""


Scanned = SampleRow | Annotation | Problem
"""The results of a scan."""


class SampleColumns(Struct, kw_only=True):
    """Samples from a scan, column by column: lists of `count` values, in the order of the source."""

    count: int
    fields: Mapping[str, Sequence[Any]]
    """By field of `SampleRow`, without metrics and tags; a field that is missing has its default in every sample."""
    metrics: Mapping[str, Any]
    """Each has a value in some sample. The index joins lists to Arrow arrays, which have NaN in the place of nulls."""
    tags: Mapping[str, Sequence[str | None]]

    def rows(self) -> Iterator[SampleRow]:
        """Yield the samples as rows, without metrics and tags."""
        for values in zip(*self.fields.values(), strict=True):
            yield SampleRow(**dict(zip(self.fields, values, strict=True)))
