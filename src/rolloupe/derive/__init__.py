"""Derived sample metrics: numbers that follow from a sample's texts, turns and token series.

Each is a pure function in its own module below `metrics/`; every module there is a metric. Its column is
`derived.NAME`, separate from the trainer's own metrics.
"""

import math
from collections.abc import Iterable, Sequence
from importlib import import_module
from pkgutil import iter_modules

import numpy as np

from rolloupe.derive import metrics
from rolloupe.derive.base import DerivedMetric, SampleBatch, SampleView, Value
from rolloupe.derive.metrics import behaviours as behaviours_folder
from rolloupe.derive.metrics.ends_with_eos import END_MARKERS
from rolloupe.errors import words_of
from rolloupe.model import SampleRow
from rolloupe.tokens import Floats

PREFIX = "derived."  # begins the name of each metric's column

_MODULES = [
    import_module(f"{folder.__name__}.{module.name}")
    for folder in (metrics, behaviours_folder)
    for module in iter_modules(folder.__path__)
    if not module.ispkg
]

METRICS: dict[str, DerivedMetric] = {module.METRIC.name: module.METRIC for module in _MODULES}  # by name
_SUMMARIES = {module.METRIC.name: (module.__doc__ or "").partition("\n\n")[0] for module in _MODULES}


def text_metrics() -> dict[str, DerivedMetric]:
    """Return the metrics of texts, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.of_tokens is None}


def token_metrics() -> dict[str, DerivedMetric]:
    """Return the metrics of token series, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.of_tokens is not None}


def behaviours() -> dict[str, DerivedMetric]:
    """Return the metrics that are behaviours, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.behaviour}


def values_of_sample(row: SampleRow) -> dict[str, float]:
    """Compute the text metrics of one sample; leaves out metrics that raise."""
    values = values_of_batch(SampleBatch([row]), text_metrics().values(), {})
    return {name: float(value) for name, (value,) in values.items() if value == value}


def values_of_batch(batch: SampleBatch, wanted: Iterable[DerivedMetric], failures: dict[str, str]) -> dict[str, Floats]:
    """Compute some metrics of a batch, as arrays with NaN for None; `failures` gets the errors of metrics."""
    values = {}
    for metric in wanted:
        if metric.name not in failures:
            try:
                values[metric.name] = _values(metric, batch)
            except Exception as error:  # the other metrics are still computed
                failures[metric.name] = words_of(error)
    return values


def _values(metric: DerivedMetric, batch: SampleBatch) -> Floats:
    of_sample = metric.of_sample or (lambda _: None)
    if metric.of_batch is None:
        return np.array(list(map(of_sample, batch.views)), np.float64)
    values = np.asarray(metric.of_batch(batch), np.float64)
    for number in batch.apart if metric.reads_turns else ():
        value = of_sample(batch.views[number])
        values[number] = math.nan if value is None else value
    return values


def summary_of(name: str) -> str:
    """Say what a derived metric is, in the words of its module."""
    return " ".join(_SUMMARIES[name].split())
