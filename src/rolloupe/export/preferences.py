"""Pairs of a good and a bad sample of one group, for preference training: prompt, chosen and rejected response."""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rolloupe import text
from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun
from rolloupe.insight.judgements import by_prompt, judged, judgement_of
from rolloupe.model import Texts
from rolloupe.query import Reader, SampleItem, SampleQuery, every


class PreferencePair(NamedTuple):
    """A good and a bad answer to one prompt, with whole texts."""

    prompt: str
    chosen: str
    rejected: str
    run: str
    chosen_id: str
    rejected_id: str
    chosen_reward: float | None
    rejected_reward: float | None


def preference_pairs(run: OpenRun, scope: SampleQuery) -> Iterator[PreferencePair]:
    """Yield every pair among the samples of a query, of a run with judgements, except of lost files."""
    reader = Reader(run)
    for items in by_prompt(every(run, judged(run, scope))):
        if len({judgement_of(run, item) for item in items}) < 2:
            continue
        read = [(item, texts) for item in items if (texts := _texts(reader, item)) is not None]
        good = [one for one in read if judgement_of(run, one[0]) == "good"]
        bad = [one for one in read if judgement_of(run, one[0]) == "bad"]
        for chosen, of_chosen in good:
            for rejected, of_rejected in bad:
                if of_chosen.prompt == of_rejected.prompt:
                    yield PreferencePair(
                        of_chosen.prompt, of_chosen.response, of_rejected.response, run.id,
                        chosen.id, rejected.id, chosen.reward, rejected.reward,
                    )  # fmt: skip


def _texts(reader: Reader, item: SampleItem) -> Texts | None:
    try:
        return reader.texts(item.key)
    except (NotFound, SourceChanged):
        return None


def pair_lines(pairs: Iterable[PreferencePair]) -> Iterator[bytes]:
    """Yield pairs as lines of JSON; a reward that is not a number there is null."""
    for pair in pairs:
        record = pair._asdict()
        for name in ("chosen_reward", "rejected_reward"):
            record[name] = record[name] if record[name] is not None and abs(record[name]) < float("inf") else None
        yield text.clean(json.dumps(record, ensure_ascii=False)).encode() + b"\n"
