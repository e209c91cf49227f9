"""The common model for the browser: turns records of `model` and `query` into records of `wire`."""

from collections.abc import Sequence

from rolloupe import text, wire
from rolloupe.derive import METRICS, PREFIX, values_of_sample
from rolloupe.model import Locator, Sample, SampleKey
from rolloupe.query import Group, policy
from rolloupe.query.search import Hit, Transcript
from rolloupe.text import images
from rolloupe.wire import number
from rolloupe.wire.encoding import is_finite, plain
from rolloupe.wire.views.transcripts import chars_of, facts_view, images_of, page, turn_view, without_data

MAX_GROUP_IDS = 1000


def group_item(group: Group) -> wire.GroupItem:
    """A group in a list."""
    split, step, name = group.key
    prefix = str(SampleKey(split, step, name, ""))
    return wire.GroupItem(
        group=name,
        step=step,
        prompt=group.prompt,
        samples=group.samples,
        first=group.first,
        reward_mean=number(group.reward.mean),
        reward_std=number(group.reward.std),
        env=group.env,
        prefix=prefix,
        members=[str(key).removeprefix(prefix) for key in group.members],
        means=[number(mean) for mean in group.means],
        cells=[[cell(value) for value in values] for values in group.cells],
        discarded=group.discarded,
    )


def cell(value: float | str | None) -> wire.Number:
    """Return a value of a column, a number or text."""
    return value if isinstance(value, str) else number(value)


def search_hit(run_id: str, hit: Hit) -> wire.SearchHit:
    """Return a sample that contains the text."""
    item = hit.sample
    return wire.SearchHit(
        run=run_id,
        id=item.id,
        split=item.split,
        step=item.step,
        group=item.group,
        index=item.index,
        reward=number(item.reward),
        status=item.status,
        discarded=item.discarded,
        snippets=[*hit.snippets],
        more=hit.more,
    )


def transcript_hit(run_id: str, hit: Transcript) -> wire.TranscriptHit:
    """Return a conversation of a report that contains the text."""
    return wire.TranscriptHit(
        run=run_id,
        split=hit.split,
        step=hit.step,
        title=hit.title,
        at=hit.at,
        snippets=[*hit.snippets],
        more=hit.more,
    )


def sample_reply(run_id: str, sample: Sample, members: Sequence[SampleKey]) -> wire.SampleReply:
    """Return a whole sample; `members` are the samples of its group, in order."""
    row, key = sample.row, sample.key
    sampler = policy(sample)
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
        policy_version=sampler.version,
        lag=number(sampler.lag),
        turn_count=row.turns,
        prompt_tokens=number(row.prompt_tokens),
        response_tokens=number(row.response_tokens),
        total_tokens=number(row.total_tokens),
        position=place + 1,
        group_size=max(1, len(members)),
        group_ids=[str(member) for member in members[start : start + MAX_GROUP_IDS]] or [str(key)],
        facts=facts(sample),
        turns=[turn_view(turn) for turn in page(sample.turns, 0)],
        turn_from=0,
        turn_total=len(sample.turns),
        chars=sum(map(chars_of, sample.turns)) + sum(map(chars_of, sample.ref_turns)) + len(sample.label),
        label=sample.label,
        reference=reference(sample),
        extra=plain(without_data(sample.extra)),
        extra_images=[text.clean(images.label(media)) for media in images_of(sample.extra)],
        series=[wire.SeriesInfo(name=s.name, length=len(s.values), offset=s.offset) for s in sample.series],
        notes=sample.notes,
        source=source_info(sample.locator),
    )


def facts(sample: Sample) -> list[wire.Fact]:
    """Return every sample metric and tag, and further values of the framework, labelled."""
    metrics = [wire.Fact(name=n, kind="metric", value=number(v)) for n, v in sample.row.metrics.items()]
    tags = [wire.Fact(name=n, kind="tag", value=v) for n, v in sample.row.tags.items()]
    framework = [wire.Fact(name=n, kind="own", value=v) for n, v in facts_view(sample.facts).items()]
    derived = [
        wire.Fact(name=f"{PREFIX}{n}", kind="derived", value=cell(v), label=METRICS[n].label)
        for n, v in values_of_sample(sample.row).items()
    ]
    return [*metrics, *tags, *framework, *derived]


def reference(sample: Sample) -> wire.Reference | None:
    """Return the reference model's response, or None. The gap needs two finite rewards."""
    if not sample.ref_turns and sample.ref_reward is None:
        return None
    reward, ref = sample.row.reward, sample.ref_reward
    gap = reward - ref if reward is not None and ref is not None and is_finite(reward) and is_finite(ref) else None
    return wire.Reference(turns=[turn_view(turn) for turn in sample.ref_turns], reward=number(ref), gap=number(gap))


def source_info(locator: Locator) -> wire.SourceInfo:
    """Return where a record is."""
    return wire.SourceInfo(
        file=locator.source, start=locator.start, stop=locator.start + locator.length, part=locator.part
    )
