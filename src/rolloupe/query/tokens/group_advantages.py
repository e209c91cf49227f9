"""Advantages for samples whose record holds none, from the rewards of their groups."""

from collections.abc import Iterable, Iterator

import numpy as np

from rolloupe import tokens
from rolloupe.index import OpenRun
from rolloupe.model import Sample, SampleKey
from rolloupe.query.records import SampleQuery
from rolloupe.query.samples.pages import every


def with_group_advantages(run: OpenRun, samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield samples; those with logprobs and without an advantage have one within their group.

    The members that were trained on count: see `tokens.group_advantages`. A group of one has none, and no sample with
    the values of a critic, which advantages are made of then. One query serves all samples of a group that follow each
    other.
    """
    known: dict[SampleKey, float] = {}
    of = None
    for sample in samples:
        if _lacks_advantage(sample):
            key = sample.key
            if of != (of := (key.split, key.step, key.group)):
                known = _advantages(run, key)
            sample.group_advantage = known.get(key)
        yield sample


def _lacks_advantage(sample: Sample) -> bool:
    names = {one.name for one in sample.series}
    has_others = sample.row.advantage is not None or not names.isdisjoint((tokens.ADVANTAGES, "values", "returns"))
    return not has_others and not names.isdisjoint(tokens.POLICY)


def _advantages(run: OpenRun, key: SampleKey) -> dict[SampleKey, float]:
    group = SampleQuery(splits=(key.split,), step_min=key.step, step_max=key.step, group=key.group, trained=True)
    members = [one for one in every(run, group) if one.reward is not None]
    if len(members) < 2:
        return {}
    rewards = np.array([one.reward for one in members], dtype=np.float64)
    return dict(zip((one.key for one in members), tokens.group_advantages(rewards).tolist(), strict=True))
