"""Derived sample metrics: numbers and tags that follow from a sample's texts, turns and token series.

Each is a pure function, in a module of its own below `metrics/`, which is found by itself. Its column is called
`derived.NAME`, apart from what a trainer wrote.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from rolloupe.derive import metrics
from rolloupe.derive.base import BatchValues, DerivedMetric, SampleBatch, SampleView, Value
from rolloupe.derive.metrics import behaviours as behaviours_folder
from rolloupe.derive.metrics.ends_with_eos import END_MARKERS
from rolloupe.errors import words_of
from rolloupe.model import SampleRow

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

PREFIX = "derived."  # the beginning of the names of their columns

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


def values_of_sample(row: SampleRow) -> dict[str, float | str]:
    """Compute the metrics of texts for one sample; leaves out those of siblings, and those that raise."""
    wanted = [metric for metric in text_metrics().values() if metric.of_siblings is None]
    values = values_of_batch(SampleBatch([row]), wanted, {})
    known = {name: value for name, (value,) in values.items() if value is not None and value == value}
    return {name: value if isinstance(value, str) else float(value) for name, value in known.items()}


def values_of_batch(
    batch: SampleBatch, wanted: Iterable[DerivedMetric], failures: dict[str, str]
) -> dict[str, BatchValues]:
    """Compute some metrics of a batch: arrays with NaN for None, lists of tags; those that raise go to `failures`."""
    values = {}
    for metric in wanted:
        if metric.name not in failures:
            try:
                values[metric.name] = _values(metric, batch)
            except Exception as error:  # must not cost the other metrics
                failures[metric.name] = words_of(error)
    return values


def _values(metric: DerivedMetric, batch: SampleBatch) -> BatchValues:
    of_sample = metric.of_sample or (lambda _: None)
    if metric.of_batch is None:
        return _listed(metric, list(map(of_sample, batch.views)))
    values: Any = _listed(metric, metric.of_batch(batch))
    for number in batch.apart if metric.reads_turns else ():
        value = of_sample(batch.views[number])
        values[number] = math.nan if value is None and metric.kind == "number" else value
    result: BatchValues = values
    return result


def values_of_siblings(metric: DerivedMetric, rows: Sequence[SampleRow], *, is_cut: tuple[bool, bool]) -> BatchValues:
    """Compute a metric of siblings; `is_cut` says whether groups may go on before and behind the rows."""
    assert metric.of_siblings is not None
    groups: dict[tuple[str, int, str, int], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[row.split, row.step, row.group, row.launch].append(number)
    values: list[Value] = [None] * len(rows)
    for numbers in groups.values():
        if (is_cut[0] and numbers[0] == 0) or (is_cut[1] and numbers[-1] == len(rows) - 1):
            continue
        of_group = metric.of_siblings([SampleView(rows[number]) for number in numbers])
        for number, value in zip(numbers, of_group, strict=True):
            values[number] = value
    return _listed(metric, values)


def _listed(metric: DerivedMetric, values: BatchValues) -> BatchValues:
    """The values of a metric as an array of floats, or as a list where they are texts."""
    return list(values) if metric.kind == "tag" else np.asarray(values, np.float64)


PAGE = """\
# Derived metrics

This page is generated from the code: `make pages` writes it.

Rolloupe computes these values from the texts and the token series of every sample, in the background, while it indexes
a run. Filter, sort and chart by their names: on the page (`derived.think_chars > 2000`), on the command line (`rolloupe
query RUN --sort derived.repeated_4grams --desc`) and in Python. Each sample shows its own values, except those of token
series. You may leave out `derived.` (`max_kl > 1`) unless a sample metric or a tag of the run has the same name, which
then wins. A sample has no value until its text, or its tokens, are indexed; the answer says how many samples still have
none.

| name | label | value |
|---|---|---|
"""


def describe() -> str:
    """Return the page of the documentation that lists the derived metrics, in Markdown: `make pages` writes it."""
    return PAGE + "".join(
        f"| `{PREFIX}{name}` | {metric.label} | {summary_of(name)} |\n" for name, metric in sorted(METRICS.items())
    )


def summary_of(name: str) -> str:
    """Say what a derived metric is, in the words of its module."""
    return " ".join(_SUMMARIES[name].split())
