"""Rewards that are stored as text."""

from rolloupe import query
from rolloupe.formats.reading.fields import REWARDS
from rolloupe.index import OpenRun


def text_rewards(run: OpenRun) -> list[str]:
    """The tags of a run under a usual name of a reward."""
    return [name for name in (f"tag.{one}" for one in REWARDS) if query.has_column(run, name)]
