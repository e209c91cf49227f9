"""The most informative columns of a group: the default columns of a list."""

import re
from collections.abc import Iterable, Mapping
from heapq import nlargest
from itertools import islice

from rolloupe.index import OpenRun
from rolloupe.index.segments.step_stats import Moments
from rolloupe.query.engine.names import qualified
from rolloupe.query.splits import is_asked

MOST_PARTS = 4
"""Maximum number of parts of the reward."""

LOOKED_AT = 16
"""Number of the newest steps that decide whether a number varies: a list of one step must not cost the whole run."""

_PART = re.compile("reward|score|correct|acc|pass", re.IGNORECASE)
_WHOLE = frozenset(["reward", "score", "total", "total_reward", "final_reward"])
"""The last part of names under which trainers log the reward itself."""
_OTHERS = ("ref_", "valid_")
"""Prefixes of the names of other rewards than the sample's."""


def usual_columns(run: OpenRun, split: str) -> list[str]:
    """Reward, advantage, length and the parts of the reward, as far as they vary; the most telling first.

    The same for all steps of a snapshot, so that a person sees the same columns at each step.
    """
    snapshot = run.snapshot()
    newest = nlargest(LOOKED_AT, (key for key in snapshot.steps if is_asked(key[0], split)), key=lambda key: key[1])
    looked_at = [snapshot.steps[key] for key in newest]
    fixed = [stats.columns for stats in looked_at]
    found = ["reward"]
    # no sum includes annotations of the advantage
    if snapshot.annotations or _varies(fixed, "advantage"):
        found.append("advantage")
    lengths = (name for name in ("response_tokens", "response_chars") if _varies(fixed, name))
    found += islice(lengths, 1)
    metrics = [stats.metrics for stats in looked_at]
    parts = (qualified(name, "metric") for name in snapshot.metrics if _is_part(name) and _varies(metrics, name))
    return [*found, *islice(parts, MOST_PARTS)]


def _is_part(name: str) -> bool:
    """True for the name of a part of the reward, but not of the whole reward."""
    if _PART.search(name) is None or name.startswith(_OTHERS):
        return False
    return re.split(r"[./]", name)[-1] not in _WHOLE


def _varies(step_moments: Iterable[Mapping[str, Moments]], name: str) -> bool:
    """True if more than one finite value occurred."""
    seen = [moments for one in step_moments if (moments := one.get(name)) is not None and moments.count]
    return bool(seen) and min(one.min for one in seen) < max(one.max for one in seen)
