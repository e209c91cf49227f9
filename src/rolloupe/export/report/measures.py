"""By which measure samples are the worst."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import count

import numpy as np

from rolloupe import tokens
from rolloupe.export.report.document import ReportedSample
from rolloupe.query import TokenPage, token_page


def mask_disagreement(page: TokenPage) -> float | None:
    """Return the share of the trained tokens on which two rules disagree.

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
    return float(np.count_nonzero(flags[0] != flags[1])) / int(np.count_nonzero(trained))


MEASURES: dict[str, Callable[[TokenPage], float | None]] = {"mask_disagreement": mask_disagreement}
"""Measures that need the tokens; any column of the run is one as well."""


def worst_of(samples: Iterable[ReportedSample], measure: str, most: int) -> list[ReportedSample]:
    """Return the samples with the greatest values of a measure, the worst first. Holds at most `most` of them."""
    worst = heapq.nlargest(most, _measured(samples, measure), key=lambda one: one[:2])
    return [sample for _, _, sample in worst]


def _measured(samples: Iterable[ReportedSample], measure: str) -> Iterator[tuple[float, int, ReportedSample]]:
    numbers = count(0, -1)
    for one in samples:
        value = MEASURES[measure](token_page(one.sample, loss=one.loss))
        if value is not None:
            yield value, next(numbers), one
