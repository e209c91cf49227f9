"""The layout of the Tinker cookbook: a log for training loops, and a writer for samples of other layouts."""

from rolloupe.record.writers.tinker.log import Log
from rolloupe.record.writers.tinker.records import serialize_rollout_summaries
from rolloupe.record.writers.tinker.writer import TinkerWriter

__all__ = ["Log", "TinkerWriter", "serialize_rollout_summaries"]
