"""One whole sample."""

from typing import Any

from msgspec import Struct

from rolloupe.model import ToolCall
from rolloupe.wire.records.numbers import Number


class PartView(Struct, kw_only=True):
    """A part of a turn: `text` to read, and `raw` if the verbatim text differs."""

    kind: str
    text: str
    raw: str | None
    call: ToolCall | None
    """Its arguments are formatted if they parse."""
    closed: bool
    image: bool
    """True if `/sample/image` returns an image from the record; `text` describes it."""
    cut: int
    """Number of further characters, which only the raw record holds."""


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
    """Further logs of the turn: an object, as JSON."""
    facts: dict[str, Number]
    """As `Fact` of kind `own`."""
    parts: list[PartView]


class Fact(Struct, kw_only=True):
    """A labelled value of the sample.

    `kind`: `metric` (a number), `tag` (text), `own` (the framework's own words) or `derived` (by Rolloupe from the
    texts).
    """

    name: str
    kind: str
    value: Number
    label: str = ""
    """A readable label, if it differs from the name."""


class SeriesInfo(Struct, kw_only=True):
    """A token series of the sample; `/sample/tokens` has its values."""

    name: str
    length: int
    offset: int


class SourceInfo(Struct, kw_only=True):
    """Where the sample is: file (relative to the run) and byte range or position."""

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
    """`GET /api/runs/{run}/sample?id=`: one whole sample."""

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
    """The version or versions of the policy that wrote the response, if the record has them."""
    lag: Number
    """How many versions the sampling policy was behind the trained one, if the record has it."""
    turn_count: int
    prompt_tokens: Number
    response_tokens: Number
    total_tokens: Number
    position: int
    """1-based position among the `group_size` samples of its group."""
    group_size: int
    group_ids: list[str]
    """Ids of the group's samples in order (at most 1,000 around this one)."""
    facts: list[Fact]
    turns: list[TurnView]
    """A page of the turns; `/sample/turns` has the others."""
    turn_from: int
    turn_total: int
    chars: int
    """Number of characters of the transcript, the reference and the label."""
    label: str
    reference: Reference | None
    extra: Any
    """Fields without a place of their own, as JSON; non-finite numbers encoded as in `number`."""
    extra_images: list[str]
    """Descriptions of the images in them; `/sample/image` returns them as `extra.0`, `extra.1`, ..."""
    series: list[SeriesInfo]
    notes: list[str]
    source: SourceInfo


class TurnsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/turns?id=&from=`: a page of the turns of a long sample."""

    id: str
    turns: list[TurnView]
    turn_from: int
    turn_total: int
