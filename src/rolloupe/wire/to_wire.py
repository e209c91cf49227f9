"""Samples for the browser: records of `model` and `query` become records of `wire`.

Long transcripts come in pages, with names for images in place of their data, and with formatted arguments. Images,
finds and highlights name a part of a sample by `at`: `12.3` is part 3 of turn 12, `ref0.1` a part of the reference
response, `label` the golden answer, `extra.2` the third image among the other fields.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rolloupe import text
from rolloupe.derive import METRICS, PREFIX, values_of_sample
from rolloupe.model import Locator, Part, Sample, SampleKey, StyledRun, Turn
from rolloupe.query import Group, policy, prompt_word
from rolloupe.query.search import Hit, utf16_length
from rolloupe.text import images
from rolloupe.wire.encoding import Number, is_finite, number, plain, record_from
from rolloupe.wire.samples import Fact, GroupItem, PartView, Reference, SampleReply, SeriesInfo, SourceInfo, TurnView
from rolloupe.wire.session import SearchHit

MAX_GROUP_IDS = 1000


def group_item(group: Group) -> GroupItem:
    """Return a group of a list."""
    split, step, name = group.key
    prefix = str(SampleKey(split, step, name, ""))
    return record_from(
        GroupItem,
        group,
        group=name,
        step=step,
        reward_mean=number(group.reward.mean),
        reward_std=number(group.reward.std),
        prefix=prefix,
        members=[str(key).removeprefix(prefix) for key in group.members],
        means=[number(mean) for mean in group.means],
        cells=[[cell(value) for value in values] for values in group.cells],
    )


def cell(value: float | str | None) -> Number:
    """Return a value that is a number or a text."""
    return value if isinstance(value, str) else number(value)


def search_hit(run_id: str, hit: Hit) -> SearchHit:
    """Return a sample that contains the text."""
    return record_from(SearchHit, hit.sample, run=run_id, snippets=[*hit.snippets], more=hit.more)


def sample_reply(
    run_id: str, sample: Sample, members: Sequence[SampleKey], prompt_steps: int | None = None
) -> SampleReply:
    """Return a whole sample; `members` are the samples of its group, in order."""
    row, key, sampler = sample.row, sample.key, policy(sample)
    place = members.index(key) if key in members else 0
    start = max(0, min(place - MAX_GROUP_IDS // 2, len(members) - MAX_GROUP_IDS))
    return record_from(
        SampleReply,
        key,
        row,
        sampler,
        sample,
        id=str(key),
        run=run_id,
        policy_version=sampler.version,
        prompt_id=prompt_word(row.prompt_hash) if row.prompt_hash else "",
        prompt_steps=prompt_steps,
        turn_count=row.turns,
        position=place + 1,
        group_size=max(1, len(members)),
        group_ids=[str(member) for member in members[start : start + MAX_GROUP_IDS]] or [str(key)],
        facts=facts(sample),
        turns=turn_views(sample.turns, 0, page_after(sample.turns, 0)),
        turn_from=0,
        turn_total=len(sample.turns),
        chars=sum(map(chars_of, [*sample.turns, *sample.ref_turns])) + len(sample.label),
        reference=reference(sample),
        extra=plain(without_data(sample.extra)),
        extra_images=[text.clean(images.label(media)) for media in images_of(sample.extra)],
        series=[record_from(SeriesInfo, series, length=len(series.values)) for series in sample.series],
        source=source_info(sample.locator),
    )


def named_facts(sample: Sample) -> Iterator[tuple[str, str, float | str | None, str]]:
    """Yield kind, name, value and label of every sample metric and tag, and of further values of the framework."""
    row = sample.row
    whole = {"label": bool(sample.label), "ref_response": bool(sample.ref_turns)}  # tags that repeat their beginnings
    tags = {name: value for name, value in row.tags.items() if not whole.get(name)}
    kinds: dict[str, Mapping[str, float | str]] = {"metric": row.metrics, "tag": tags, "own": sample.facts}
    for kind, values in kinds.items():
        yield from ((kind, name, value, "") for name, value in values.items())
    for name, derived in values_of_sample(row).items():
        yield "derived", f"{PREFIX}{name}", derived, METRICS[name].label


def facts(sample: Sample) -> list[Fact]:
    """Return the facts of a sample as records."""
    every = named_facts(sample)
    return [Fact(kind=kind, name=name, value=cell(value), label=label) for kind, name, value, label in every]


def reference(sample: Sample) -> Reference | None:
    """Return the reference model's response, if there is one. The gap needs two finite rewards."""
    reward, ref = sample.row.reward, sample.ref_reward
    if not sample.ref_turns and ref is None:
        return None
    gap = None if reward is None or ref is None else reward - ref
    turns = turn_views(sample.ref_turns)
    return Reference(turns=turns, reward=number(ref), gap=number(gap) if is_finite(gap) else None)


def source_info(locator: Locator) -> SourceInfo:
    """Return where a record is."""
    return SourceInfo(file=locator.source, start=locator.start, stop=locator.start + locator.length, part=locator.part)


PAGE_TURNS = 2000
PAGE_CHARS = 10_000_000
PART_CHARS = 8_000_000
"""Maximum size of a part, which a browser gets in one piece; the raw record has the rest."""

MAX_IMAGES = 200
"""Maximum number of images in the other fields."""

PLACE = re.compile(r"(extra|(?P<ref>ref)?(?P<turn>[0-9]{1,9}))\.(?P<place>[0-9]{1,9})")


def page_after(turns: Sequence[Turn], start: int) -> int:
    """Return the end of the page that begins at `start`."""
    return start + _page_length(turns[start : start + PAGE_TURNS])


def page_before(turns: list[Turn], stop: int) -> int:
    """Return the start of the page that ends at `stop`."""
    return stop - _page_length(turns[max(0, stop - PAGE_TURNS) : stop][::-1])


def _page_length(turns: Sequence[Turn]) -> int:
    """Return how many of the turns fit into a page: at least one."""
    sizes = itertools.accumulate(map(chars_of, turns))
    return max(sum(size <= PAGE_CHARS for size in sizes), min(1, len(turns)))


def chars_of(turn: Turn) -> int:
    """Return the length of a turn, without the data of its images."""
    return sum(len(part.text if part.raw is None or part.media else part.raw) for part in turn.parts)


def turn_views(turns: Sequence[Turn], start: int = 0, stop: int | None = None) -> list[TurnView]:
    """Return the messages of a transcript, or those from `start` to `stop`."""
    results = text.results_of(turns, start, stop)
    return [turn_view(turn, at, results) for at, turn in enumerate(turns[start:stop], start)]


def turn_view(turn: Turn, at: int, results: Mapping[text.Place, text.CallResult]) -> TurnView:
    """Return a message of the transcript."""
    return record_from(
        TurnView,
        turn,
        chars=chars_of(turn),
        metrics={name: number(value) for name, value in turn.metrics.items()},
        logs=plain(turn.logs),
        facts={name: cell(value) for name, value in turn.facts.items()},
        parts=[part_view(part, results.get((at, place))) for place, part in enumerate(turn.parts)],
    )


def part_view(part: Part, result: text.CallResult | None = None) -> PartView:
    """Return a part of a turn. The data of an image stays on the server: a browser requests it separately."""
    shown = part.text[:PART_CHARS]
    is_cut = len(shown) < len(part.text)
    return record_from(
        PartView,
        part,
        text=shown,
        raw=None if part.media or is_cut or part.raw == part.text else part.raw,
        call=part.call and replace(part.call, arguments=text.readable(part.call.arguments)),
        image=bool(part.media),
        cut=len(part.text) - len(shown),
        styles=_in_utf16(shown, part.styles),
        summary=part.call and text.summarize_call(part.call),
        result=result,
    )


def _in_utf16(shown: str, styles: Sequence[StyledRun]) -> tuple[StyledRun, ...]:
    """Return styled runs, which are in order, with places in the units of a browser."""
    if shown.isascii():
        return tuple(styles)
    place = units = 0
    found = []
    for start, stop, style in styles:
        units += utf16_length(shown[place:start])
        begin, units = units, units + utf16_length(shown[start:stop])
        place = stop
        found.append((begin, units, style))
    return tuple(found)


def shown_text(part: Part) -> str:
    """Return the searchable text of a part: the text as the page shows it."""
    return text.readable(part.call.arguments) if part.call else part.text[:PART_CHARS]


def named_texts(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield every shown text of a sample with its name, in reading order."""
    yield "label", sample.label
    for prefix, turns in (("", sample.turns), ("ref", sample.ref_turns)):
        for turn_place, turn in enumerate(turns):
            for place, part in enumerate(turn.parts):
                yield f"{prefix}{turn_place}.{place}", shown_text(part)


def media_at(sample: Sample, at: str) -> str | None:
    """Return the image with this name, as the record holds it."""
    named = PLACE.fullmatch(at)
    if named is None:
        return None
    place = int(named["place"])
    if named["turn"] is None:
        media = images_of(sample.extra)
    else:
        turns, turn = sample.ref_turns if named["ref"] else sample.turns, int(named["turn"])
        media = [part.media for part in turns[turn].parts] if turn < len(turns) else []
    return media[place] or None if place < len(media) else None


def images_of(extra: Mapping[str, Any]) -> list[str]:
    """Return the images in the other fields, in order."""
    return list(itertools.islice(_images_in(extra, 0), MAX_IMAGES))


def _images_in(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if images.is_image(value):
            yield value
        return
    members = value.values() if isinstance(value, Mapping) else value if _holds_texts(value) else ()
    if depth <= 20:
        for member in members:
            yield from _images_in(member, depth + 1)


def without_data(value: Any, depth: int = 0) -> Any:
    """Return a JSON value with a description in place of each image's data."""
    if isinstance(value, str):
        return f"({text.clean(images.label(value))})" if images.is_image(value) else value
    if depth > 200:
        return value
    if isinstance(value, Mapping):
        return {key: without_data(item, depth + 1) for key, item in value.items()}
    return [without_data(item, depth + 1) for item in value] if _holds_texts(value) else value


def _holds_texts(value: Any) -> bool:
    """True for a list that may contain texts: one that begins with 64 numbers counts as an array of numbers."""
    return isinstance(value, list) and any(isinstance(item, (str, list, dict)) for item in value[:64])
