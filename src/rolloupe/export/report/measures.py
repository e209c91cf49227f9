"""By which measure samples are the worst."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import count

import numpy as np

from rolloupe import tokens
from rolloupe.derive.base import KL
from rolloupe.export.report.document import Measured, ReportedSample
from rolloupe.model import Sample
from rolloupe.query import TokenPage, token_page
from rolloupe.wire.encoding import number

LARGEST_OF = {"max_kl": KL, "max_mismatch_kl": ("mismatch_kl",)}
"""The series whose largest value a measure is: the first one that a sample has."""


def mask_disagreement(page: TokenPage) -> Measured | None:
    """Return the share of the trained tokens on which two rules disagree, and the first of them.

    These are the trainer's recorded flags and the first rule, or without flags the first two rules.
    """
    if not page.series:
        return None
    trained = tokens.trained(page.series)
    advantages = page.series.get(tokens.ADVANTAGES, page.series.get(tokens.GROUP_ADVANTAGES, np.zeros(page.total)))
    flags = []
    if (recorded := page.series.get("is_masked")) is not None:
        flags.append(tokens.counts(recorded) & trained)
    flags += [rule.flags_of(page.series[name], advantages, trained).masked for rule, name in page.rules]
    if len(flags) < 2 or not trained.any():
        return None
    differs = flags[0] != flags[1]
    first = int(np.argmax(differs)) if differs.any() else None
    return Measured(value=float(np.count_nonzero(differs)) / int(np.count_nonzero(trained)), token=first)


def measured_by(column: str, value: float | str | None, sample: Sample) -> Measured:
    """Return what a column says of a sample: where it is the largest value of a series, with the token that has it."""
    name = column.removeprefix("derived.").removeprefix("metric.")
    names = LARGEST_OF.get(name) or [
        one for one in (name.removeprefix("max_"), name.removesuffix("_max")) if one != name
    ]
    known = value if isinstance(value, str) else number(value)
    series = token_page(sample).series if names else {}
    found = next((one for one in names if one in series), None)
    if found is None:
        return Measured(value=known)
    values = np.where(tokens.trained(series), series[found], np.nan)
    token = None if np.isnan(values).all() else int(np.nanargmax(values))
    return Measured(value=known, series=found, token=token)


MEASURES: dict[str, Callable[[TokenPage], Measured | None]] = {"mask_disagreement": mask_disagreement}
"""Measures that need the tokens; any column of the run is one as well."""

TITLES = {"mask_disagreement": "Share of tokens on which two rules disagree"}


def worst_of(samples: Iterable[ReportedSample], measure: str, most: int) -> list[ReportedSample]:
    """Return the samples with the greatest values of a measure, the worst first. Holds at most `most` of them."""
    worst = heapq.nlargest(most, _measured(samples, measure), key=lambda one: one[:2])
    return [sample for _, _, sample in worst]


def _measured(samples: Iterable[ReportedSample], measure: str) -> Iterator[tuple[float, int, ReportedSample]]:
    numbers = count(0, -1)
    for one in samples:
        measured = MEASURES[measure](token_page(one.sample, loss=one.loss))
        if measured is not None:
            yield float(measured.value or 0), next(numbers), one._replace(measured=measured)
