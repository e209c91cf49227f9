"""Which sample metrics are parts of the reward."""

import re
from collections.abc import Sequence

from rolloupe.index import OpenRun
from rolloupe.insight.findings.correctness import NAMES, bare

PREFIX = "reward."
"""What formats put before the parts that a framework calls so."""

_WORDED = re.compile(r"(^|[_/.])rewards?(_func|_fn)?$|^rewards?/", re.IGNORECASE)
_WHOLE = frozenset({"raw_reward", "normalized_reward", "final_reward", "ref_reward", "total_reward", "reward"})


def parts_of(run: OpenRun, metrics: Sequence[str]) -> list[str]:
    """The sample metrics that are parts of the reward, in their order.

    Those called `reward.NAME`; without any, those that the run declares with a range, whose name ends with reward, or
    whose name says correctness.
    """
    named = [name for name in metrics if name.startswith(PREFIX)]
    declared = {name for name, _, _ in run.info.metric_ranges}
    return named or [
        name
        for name in metrics
        if name.lower() not in _WHOLE and (name in declared or _WORDED.search(name) or bare(name) in NAMES)
    ]
