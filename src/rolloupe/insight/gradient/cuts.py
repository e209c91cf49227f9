"""Ways to cut the samples: by environment, by length, by outcome. Each part comes with a filter that lists it.

One part alone is no cut.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rolloupe.insight.gradient.pulls import Mask, Pulls
from rolloupe.insight.gradient.records import GradientShare
from rolloupe.query.filter.parser import quoted

MOST = 40
"""Of more environments, the largest are listed."""


def by_env(pulls: Pulls) -> list[GradientShare]:
    """The environments, the largest first."""
    envs = pulls.words("env")
    names, counts = np.unique(envs[pulls.trained].astype(str), return_counts=True)
    largest = names[np.argsort(-counts, kind="stable")][:MOST].tolist()
    if len(names) == 1:
        return []
    return [pulls.share(one, envs == one, f"env = {quoted(one)}" if one else "env is null") for one in largest]


def by_length(pulls: Pulls) -> list[GradientShare]:
    """Quarters of the responses, the shortest first: by tokens, or by characters where no tokens are counted."""
    column, unit = "response_tokens", "tokens"
    lengths = pulls.numbers(column)
    if not np.isfinite(lengths[pulls.trained]).any():
        column, unit = "response_chars", "characters"
        lengths = pulls.numbers(column)
    known = lengths[np.isfinite(lengths) & pulls.trained]
    if not len(known):
        return []
    inner = np.floor(np.quantile(known, [0.25, 0.5, 0.75])).astype(np.int64).tolist()
    bounds = sorted({int(known.min()) - 1, *inner, int(known.max())})
    if len(bounds) < 3:
        return []
    return [
        pulls.share(
            f"{low + 1:,} to {high:,} {unit}", (lengths > low) & (lengths <= high),
            f"{column} > {low} and {column} <= {high}",
        )
        for low, high in pairwise(bounds)
    ]  # fmt: skip


class Correctness(NamedTuple):
    """Which samples are right, as far as a metric says so: masks of shape (N,)."""

    is_known: Mask
    is_right: Mask
    where: str
    """A filter that lists the right ones."""
    where_wrong: str


def by_outcome(pulls: Pulls, correct: Correctness | None) -> list[GradientShare]:
    """Truncated samples, and of the others the right and the wrong ones as far as the run says so."""
    is_cut = pulls.words("status") == "truncated"
    parts = [("truncated", is_cut, "status = truncated")]
    rest = "status != truncated"
    if correct is None:
        parts.append(("not truncated", ~is_cut, rest))
    else:
        is_wrong, where, wrong = correct.is_known & ~correct.is_right, correct.where, correct.where_wrong
        parts += [
            ("right", ~is_cut & correct.is_right, f"{rest} and {where}"),
            ("not right", ~is_cut & is_wrong, f"{rest} and {wrong}"),
            ("unknown", ~is_cut & ~correct.is_known, f"{rest} and not ({where} or {wrong})"),
        ]
    found = [one for part in parts if (one := pulls.share(*part)).samples]
    return found if len(found) > 1 else []
