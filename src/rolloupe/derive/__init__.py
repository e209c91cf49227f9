"""Derived sample metrics: numbers and tags that follow from a sample's texts, turns, token series, and what the
record says of it.

Pure functions; a module in `metrics/` each, found by itself. Their columns are called `derived.NAME`, apart from what
a trainer wrote.
"""

from rolloupe.derive.base import BatchValues, DerivedMetric, Value
from rolloupe.derive.batch import SampleBatch, SampleView
from rolloupe.derive.metrics.ends_with_eos import END_MARKERS
from rolloupe.derive.registry import (
    METRICS,
    PREFIX,
    behaviours,
    describe,
    summary_of,
    text_metrics,
    token_metrics,
    values_of_batch,
    values_of_sample,
    values_of_siblings,
)

__all__ = [
    "END_MARKERS",
    "METRICS",
    "PREFIX",
    "BatchValues",
    "DerivedMetric",
    "SampleBatch",
    "SampleView",
    "Value",
    "behaviours",
    "describe",
    "summary_of",
    "text_metrics",
    "token_metrics",
    "values_of_batch",
    "values_of_sample",
    "values_of_siblings",
]
