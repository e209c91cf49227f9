"""Samples: groups, lists, one sample whole, the answers of a group side by side, and tokens."""

from typing import Any, Literal

from msgspec import Struct

from rolloupe.model import Aggregation, StyledRun, ToolCall
from rolloupe.query import Alternative, SampleItem
from rolloupe.text import CallResult, CallSummary
from rolloupe.tokens.losses import Limit
from rolloupe.wire.encoding import Number


class GroupItem(Struct, kw_only=True):
    """A group of the list. `first` counts the samples of the list before it."""

    group: str
    step: int
    prompt: str
    """Start of the prompt (of its last user turn if a chat template is recognised)."""
    samples: int
    first: int
    reward_mean: Number
    reward_std: Number
    env: str
    discarded: str
    """The most frequent reason why its samples were discarded; empty if none were."""
    prefix: str
    """The common start of its samples' ids; each id ends with a part of `members`."""
    members: list[str]
    """Its samples, ordered by `sort`, at most 1,000."""
    means: list[Number]
    """By column of the reply, over finite values."""
    cells: list[list[Number]]
    """By column of the reply, a value for each of `members`."""


class ListReply(Struct, kw_only=True):
    """What a page of groups and a page of samples share.

    Both take `split=&step=&trained=&where=&sort=&descending=&column=&offset=&limit=`. The scope is one step, a range
    (`step_min=`, `step_max=`), or without either the whole split. `column` may appear several times. With `around=ID`,
    the page is the one with this sample.
    """

    version: str
    total: int
    """Number of groups, or of samples, that match the filter."""
    of: int
    """Number of samples in the scope, whatever the filter."""
    offset: int
    stamp: int
    """The stamp of the step, if the scope is one step: see `StepsReply.stamps`."""
    pending: int
    """Samples in scope still without a derived metric of the filter or order: its value counts as missing."""
    discarded: int
    """With a filter on trained samples: the discarded ones in scope that match it too."""
    reasons: list[str]
    """Why the filter matches no sample, or only some: names in it that samples lack."""
    columns: list[str]
    """The columns whose values each sample has."""


class GroupsReply(ListReply, kw_only=True):
    """`GET /api/runs/{run}/groups`.

    `sort` is `index` or a column, which orders groups by its mean and the samples of a group by its value. `usual=1`
    adds the most informative columns after the requested ones.
    """

    samples: int
    """Number of samples that match the filter."""
    groups: list[GroupItem]


class SamplesReply(ListReply, kw_only=True):
    """`GET /api/runs/{run}/samples`, also with `group=`.

    Sorted by `index`, the samples of a group are adjacent, and groups follow the order of their first sample.
    """

    run: str
    samples: list[SampleItem]


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
    """Number of further characters: only the raw record holds them."""
    styles: tuple[StyledRun, ...]
    summary: CallSummary | None
    """A call as a person reads it."""
    result: CallResult | None
    """What the result of a call says; the text is that of its turn."""


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


class TurnsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/turns?id=&from=`: a page of the turns of a long sample."""

    turns: list[TurnView]
    turn_from: int
    turn_total: int


class SampleReply(TurnsReply, kw_only=True):
    """`GET /api/runs/{run}/sample?id=`: one whole sample, with its first page of turns."""

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
    cause: str
    env: str
    discarded: str
    policy_version: str
    """The version or versions of the policy that wrote the response, if the record has them."""
    lag: Number
    """How many versions the sampling policy was behind the trained one, if the record has it."""
    prompt_id: str
    """Identifies the prompt in every run: see `PromptLife`. Empty in a report."""
    prompt_steps: int | None
    """At how many steps the prompt appears; None if that is not known yet."""
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
    report_at: str
    """Its place in the report of its step, if known."""
    source: SourceInfo


class MemberPiece(Struct, kw_only=True):
    """A stretch of an answer: `common` to all answers, then `shared` with the compared answer, then its `own` text."""

    turn: int
    role: str
    name: str
    kind: str
    common: str
    shared: str
    own: str


class MemberText(Struct, kw_only=True):
    """The answer of a member of a group, or the part of it around the place where it diverges."""

    id: str
    pieces: list[MemberPiece]
    chars: int
    skipped: int
    """Characters at the start, which all answers share, that are not sent."""
    cut: int
    """Characters at the end that are not sent."""
    verdict: str
    """`parts`, `ends` (where the other goes on), `same`, `alike` (in what was compared), `self`, `none`, `error`."""
    parts_at: int
    """Characters before the place where it diverges from the compared answer; -1 if it does not."""
    error: str


class MembersReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/members?id=&against=&only=&chars=&lead=`: the answers of a sample's group, side by side.

    The reply has the 64 answers around the sample, or around it among those of `only`, which may appear several times.
    Each has up to `chars` characters after the shared start, and the last `lead` characters of that start.
    """

    id: str
    run: str
    against: str
    """The answer that the others are compared with: the requested one, else the best by reward."""
    best: str
    total: int
    offset: int
    common: int
    """Number of characters that all shown answers begin with, except answers without text."""
    answers: list[MemberText]
    reference: MemberText | None
    """The compared answer, if it is not one of `answers`."""
    prompt: list[MemberPiece]
    """The start of the requested sample; `own` has its text."""
    prompt_chars: int
    label: str


class RawReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/raw?id=&start=`: a block of the source record, verbatim (invalid UTF-8 replaced)."""

    source: SourceInfo
    text: str
    size_bytes: int
    start: int
    """The block is bytes `start` to `stop` of `size_bytes`."""
    stop: int


class TextReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/text?id=&start=`: a block of the sample as one text."""

    text: str
    chars: int
    start: int
    """The block is characters `start` to `stop` of `chars`, counted in code points."""
    stop: int
    is_own: bool
    """True if the record holds the text; otherwise it was assembled from messages."""
    origin: str
    """The same, as a sentence."""


class Span(Struct, kw_only=True):
    """A place in the text of a part as the page shows it, in UTF-16 units.

    `at` names the part: `12.3` is part 3 of turn 12, `ref0.1` a part of the reference response, `label` the golden
    answer.
    """

    at: str
    start: int
    stop: int


class FindReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/find?id=&text=`: the places of a text; `spans` are the first of `total`."""

    total: int
    spans: list[Span]


class TokenArray(Struct, kw_only=True):
    """An array of the answer: `length` elements from byte `offset` on, counted from the end of the header.

    `kind` is `series`, `ids`, `span` (`turn`, `part`, `start`, `stop`), `text` (`bytes`, `ends`) or `update`
    (`coefficients`, `effects`).
    """

    kind: str
    name: str
    dtype: str
    """`f8`, `f4` (series and coefficients in a report), `i4`, `u4` or `u1`, little-endian."""
    offset: int
    length: int
    title: str = ""
    """What people call the series; this field and those below belong to series alone."""
    about: str = ""
    origin: Literal["recorded", "derived", "difference"] = "recorded"
    """`difference`: a recorded series minus the same series, computed."""
    scale: Literal["linear", "symmetric", "log"] = "linear"
    """How to colour the series unless the reader chooses; `symmetric` has two hues around 0."""


class RuleInfo(Struct, kw_only=True):
    """A rule about tokens."""

    name: str
    title: str
    is_of_run: bool
    """True if the run was trained with it."""


class MaskRuleInfo(RuleInfo, kw_only=True):
    """A rule that takes tokens out of the loss: those beyond one of its limits."""

    series: str
    """The series that the rule compares."""
    limits: list[Limit]


class UpdateRuleInfo(RuleInfo, kw_only=True):
    """A rule that says what a step of training does to each token."""

    about: str
    thresholds: dict[str, float]
    """By name: the run's, else the usual ones."""
    kl_weight: float
    """The weight of the KL penalty in the run's loss, whichever rule this is, else 0. It needs `ref_logprobs`."""
    kl_setting: str
    """The setting of the run that has this weight."""
    left_out: dict[str, float]
    """By setting, the weights of penalties in the run's loss that the coefficients leave out."""
    aggregation: Aggregation | None
    """How the run's loss weighs tokens, whichever rule this is; null if its configuration does not say."""
    read_from: str
    """The settings of the run that name the rule."""


class UpdatePush(Struct, kw_only=True):
    """The sums of the absolute coefficients of some trained tokens: `up`, `down`, and `lost` to the rule.

    The denominator of shares is `up + down + lost` of all tokens. `taken_out` counts the tokens that the rule takes
    out, `unmoved` those with an advantage of 0, `uncounted` those whose coefficient is unknown, infinite or above
    1e290: the sums leave them out.
    """

    name: str
    """A role, a token string, the id of a sample, a group, positions such as `8–15`; empty for an unknown role."""
    tokens: int
    up: Number
    down: Number
    taken_out: int
    lost: Number
    unmoved: int
    uncounted: int


class SampleUpdate(Struct, kw_only=True):
    """What the step does to one sample, beside the arrays `coefficients` and `effects`."""

    rule: str
    whole: UpdatePush
    by_role: list[UpdatePush]
    by_string: list[UpdatePush]
    """The token strings that push most, or the ids where the record has no strings."""
    by_position: list[UpdatePush]
    """By the number of tokens in the loss that precede a token in its sample."""


class SampleDifference(Struct, kw_only=True):
    """How many of the trained tokens of a sample two rules treat differently."""

    id: str
    differing: int
    tokens: int


class UpdateReply(SampleUpdate, kw_only=True):
    """What a step does to the samples of a group or of a step: those that push most first."""

    by_sample: list[UpdatePush]
    by_group: list[UpdatePush]
    samples: int
    effective_samples: Number
    """The effective sample size, from the ratios of the sequences; null if no sample has a ratio."""
    left_out: dict[str, int]
    """The number of samples that are left out by the reason: `discarded`, or what their records lack."""
    unnamed: int
    """How many tokens `by_string` leaves out because the samples have more different strings than are kept."""
    differing: list[SampleDifference]
    """The samples with tokens that the rule `against` treats differently, most tokens first; at most 500."""
    differing_samples: int


class TopLogprobsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/top-logprobs`: the recorded alternatives of one token, the token among them."""

    alternatives: list[Alternative]


class TokensHeader(Struct, kw_only=True):
    """Tokens `start` to `start + count` of the `total` that sample `id` has."""

    id: str
    total: int
    start: int
    count: int
    arrays: list[TokenArray]
    rules: list[MaskRuleInfo]
    """The rules of masks that can be applied to the series of the sample, the run's own first."""
    updates: list[UpdateRuleInfo]
    """The rules of updates that can be applied to them, the run's own first."""
    update: SampleUpdate | None
    """For a request that names a rule."""
    spelling: Literal["plain", "bytes", "pieces"]
    """How the strings are written: as text, with letters for bytes, or with `▁` for a blank."""
    has_alternatives: bool
    partial: dict[str, str]
    """The bytes, such as `F0 9F`, of the ids that are part of a character, where a tokenizer made the strings."""
