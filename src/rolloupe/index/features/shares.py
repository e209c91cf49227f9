"""How much of a run is looked at for findings: all of a small one; of a large one whole groups, evenly over steps."""

import hashlib
import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from rolloupe.index.segments.step_stats import UNIT, StepStats

SCANNED_CHARS = 2**28
"""The most text to scan: one to two minutes of one core."""

KEPT_SAMPLES, KEPT_CHARS = 2**15, 2**25
"""The most samples whose words to keep, and the most text of them."""


class ScanShare(Struct, frozen=True):
    """The shares of the groups of each step, as powers of a half."""

    scanned: int = 0
    kept: int = 0


def share_of(step_stats: Iterable[StepStats]) -> ScanShare:
    """The share of a run with these steps. It only shrinks as a run grows."""
    samples = chars = 0.0
    for stats in step_stats:
        moments = stats.columns.get("response_chars")
        rows = stats.rows + stats.superseded
        samples += rows
        chars += moments.total / moments.count * UNIT * rows if moments is not None and moments.count else 0.0
    scanned = _halvings(chars / SCANNED_CHARS)
    return ScanShare(scanned, max(scanned, _halvings(chars / KEPT_CHARS), _halvings(samples / KEPT_SAMPLES)))


def _halvings(times: float) -> int:
    return max(0, math.ceil(math.log2(times))) if times > 1 else 0


def order_of(groups: Sequence[str], of: str) -> tuple[list[int], float]:
    """The numbers of groups in the order in which they are taken, and what to add to a share of them.

    The order is random, and the same whoever asks. The addend, from 0 to 1, has as many groups taken over many steps as
    the share says, though each step has a whole number of them.
    """
    ranks = [hashlib.blake2b(f"{of}/{one}".encode("utf-8", "replace"), digest_size=8).digest() for one in groups]
    digest = hashlib.blake2b(of.encode("utf-8", "replace"), digest_size=4).digest()
    return sorted(range(len(groups)), key=lambda number: ranks[number]), int.from_bytes(digest) / 2**32


def count_of(halvings: int, total: int, addend: float) -> int:
    """The number of groups to take of a step."""
    return total if not halvings else int(total / 2**halvings + addend)
