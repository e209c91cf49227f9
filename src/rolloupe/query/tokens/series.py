"""All token series of a sample."""

from rolloupe import tokens
from rolloupe.model import Sample
from rolloupe.tokens import SampleSeries


def series_of(sample: Sample, total: int) -> list[SampleSeries]:
    """Return the recorded series of a sample, then derived ones, then differences: see `tokens.completed`."""
    recorded = {one.name: tokens.values_between(one, 0, total) for one in sample.series}
    by_framework = [one.name for one in sample.series if not one.is_derived]
    return tokens.completed(recorded, by_framework, sample.row.advantage, group_advantage=sample.group_advantage)
