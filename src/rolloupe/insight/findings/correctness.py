"""Which sample metric says whether an answer is correct."""

from collections.abc import Sequence

from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun, Snapshot

NAMES = ("correct", "acc", "accuracy", "solved", "success", "pass")


def metrics_of(snapshot: Snapshot, split: str) -> list[str]:
    """The sample metrics of a split."""
    return list(dict.fromkeys(name for piece in snapshot.holding((split,)) for name in piece.metrics))


def correctness_of(run: OpenRun, known: Sequence[str], named: str) -> str:
    """The metric that a person names, or else one whose name says correctness; empty without one.

    Raises `BadQuery` for a metric that no sample has.
    """
    if named:
        meant = [name for name in known if name == named] or [name for name in known if bare(name) == named.lower()]
        if not meant:
            raise BadQuery(f"no sample metric {named[:80]!r}; there are: {', '.join(known[:40]) or 'none'}")
        return meant[0]
    declared = {name for name, _, _ in run.info.metric_ranges}
    possible = [name for name in known if bare(name) in NAMES]
    return min(possible, key=lambda name: (name not in declared, NAMES.index(bare(name)), name), default="")


def bare(name: str) -> str:
    """The name without what parts of a reward and questions begin with."""
    return name.lower().removeprefix("reward.").removeprefix("metric.").removeprefix("is_")
