"""The common model as it crosses to the browser: records of `model` and `query` turned into those of `wire`."""

import msgspec

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Part, Sample, SampleKey, ToolCall, Turn
from rolloupe.query import GroupSummary, SampleItem
from rolloupe.server import wire
from rolloupe.server.replies import is_finite, plain
from rolloupe.server.wire import number

LIVE_S = 120.0
"""A run whose files changed within this time is taken to be going on: steps of large models take minutes."""

MAX_GROUP_IDS = 1000


def run_item(run: OpenRun) -> wire.RunItem:
    """A run in the list."""
    version, progress, changed_s = run.version, run.progress(), run.changed_s()
    return wire.RunItem(
        id=run.id,
        name=run.info.name,
        format=run.info.format,
        reason=run.info.reason,
        path=run.info.root,
        splits=split_items(run),
        problems=query.problem_count(run),
        progress=wire.Progress(done_bytes=progress.done_bytes, total_bytes=progress.total_bytes, phase=progress.phase),
        version=version,
        live=changed_s is not None and changed_s < LIVE_S,
        changed_s=changed_s,
        reward_range=run.info.reading.reward_range or run.info.reward_range,
    )


def split_items(run: OpenRun) -> list[wire.SplitItem]:
    """The splits as far as they are indexed."""
    return [
        wire.SplitItem(
            name=split.name,
            steps=split.steps,
            samples=split.samples,
            first_step=split.first_step,
            last_step=split.last_step,
            reward_min=number(split.reward.min),
            reward_max=number(split.reward.max),
        )
        for split in query.splits(run, count_groups=False)
    ]


def group_item(group: GroupSummary) -> wire.GroupItem:
    """A group in the list of its step."""
    return wire.GroupItem(
        group=group.group,
        prompt=group.prompt,
        samples=group.samples,
        first=group.first,
        reward_mean=number(group.reward.mean),
        reward_std=number(group.reward.std),
        env=group.env,
        discarded=group.discarded,
    )


def sample_item(item: SampleItem) -> wire.SampleItem:
    """A sample in a list."""
    return wire.SampleItem(
        id=str(item.key),
        step=item.key.step,
        group=item.key.group,
        index=item.key.index,
        reward=number(item.reward),
        advantage=number(item.advantage),
        status=item.status,
        turns=item.turns,
        response_tokens=number(item.response_tokens),
        response_chars=item.response_chars,
        preview=item.response,
        prompt=item.prompt,
        discarded=item.discarded,
    )


def sample_reply(run_id: str, sample: Sample, members: list[SampleKey]) -> wire.SampleReply:
    """A sample, whole; `members` are the samples of its group, in order."""
    row, key = sample.row, sample.key
    place = members.index(key) if key in members else 0
    start = max(0, min(place - MAX_GROUP_IDS // 2, len(members) - MAX_GROUP_IDS))
    return wire.SampleReply(
        id=str(key),
        run=run_id,
        split=key.split,
        step=key.step,
        group=key.group,
        index=key.index,
        uid=row.uid,
        reward=number(row.reward),
        advantage=number(row.advantage),
        status=row.status,
        status_raw=row.status_raw,
        env=row.env,
        discarded=row.discarded,
        turn_count=row.turns,
        prompt_tokens=number(row.prompt_tokens),
        response_tokens=number(row.response_tokens),
        total_tokens=number(row.total_tokens),
        position=place + 1,
        group_size=max(1, len(members)),
        group_ids=[str(member) for member in members[start : start + MAX_GROUP_IDS]] or [str(key)],
        facts=facts(sample),
        turns=[turn_view(turn) for turn in sample.turns],
        label=sample.label,
        reference=reference(sample),
        extra=plain(sample.extra),
        series=[wire.SeriesInfo(name=s.name, length=len(s.values), offset=s.offset) for s in sample.series],
        notes=sample.notes,
        source=source_info(sample.locator),
    )


def facts(sample: Sample) -> list[wire.Fact]:
    """Every sample metric and tag, labelled."""
    metrics = [wire.Fact(name=n, kind="metric", value=number(v)) for n, v in sample.row.metrics.items()]
    return metrics + [wire.Fact(name=n, kind="tag", value=v) for n, v in sample.row.tags.items()]


def reference(sample: Sample) -> wire.Reference | None:
    """The reference model's response, where there is one. The gap needs two finite rewards."""
    if not sample.ref_turns and sample.ref_reward is None:
        return None
    own, other = sample.row.reward, sample.ref_reward
    gap = own - other if own is not None and other is not None and is_finite(own) and is_finite(other) else None
    return wire.Reference(turns=[turn_view(turn) for turn in sample.ref_turns], reward=number(other), gap=number(gap))


def turn_view(turn: Turn) -> wire.TurnView:
    """A message of the transcript."""
    return wire.TurnView(
        role=turn.role,
        origin=turn.origin,
        name=turn.name,
        tool_call_id=turn.tool_call_id,
        tokens=number(turn.tokens),
        chars=sum(len(part.text if part.raw is None else part.raw) for part in turn.parts),
        reward=number(turn.reward),
        stop_reason=turn.stop_reason,
        metrics={name: number(value) for name, value in turn.metrics.items()},
        parts=[part_view(part) for part in turn.parts],
    )


def part_view(part: Part) -> wire.PartView:
    """A piece of a turn."""
    call = call_view(part.call) if part.call else None
    return wire.PartView(kind=part.kind, text=part.text, raw=part.raw, call=call, closed=part.closed)


def call_view(call: ToolCall) -> wire.CallView:
    """A tool call."""
    return wire.CallView(name=call.name, arguments=pretty(call.arguments), id=call.id, error=call.error)


def pretty(arguments: str) -> str:
    """JSON laid out for reading, its numbers and escapes untouched; what is no JSON stays as it is."""
    try:
        return msgspec.json.format(arguments, indent=2)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return arguments


def source_info(locator: Locator) -> wire.SourceInfo:
    """Where a record stands."""
    return wire.SourceInfo(
        file=locator.source, start=locator.start, stop=locator.start + locator.length, part=locator.part
    )
