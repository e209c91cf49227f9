"""The policy that sampled is many versions behind."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rolloupe import query
from rolloupe.features import Floats
from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown, breach

USUAL = 8.0
DECLARED = frozenset((
    "max_off_policy_steps", "max_async_level", "max_head_offpolicyness", "max_staleness", "max_staleness_steps",
    "max_steps_off_policy",
))  # fmt: skip
"""Settings of trainers that bound the lag."""
DEEPEST = 6


def look(data: LintData) -> Breach | Unknown | None:
    """Compare the lag of trained samples with what the run's configuration allows."""
    lag = _lag(data)
    if lag is None:
        return Unknown("the samples name neither the version of their policy nor its lag")
    most = max(_declared(query.config(data.run), DEEPEST), default=None)
    limit = USUAL if most is None else most
    with np.errstate(invalid="ignore"):
        found = data.trained & np.isfinite(lag) & (lag > limit)
    worst = float(np.max(lag[found], initial=0))
    why = "" if most is None else ", the most that the run's configuration allows"
    return breach(found, f"Sampled by a policy more than {limit:g} versions behind{why}: {{n}}, the worst {worst:g}.")


def _lag(data: LintData) -> Floats | None:
    """The recorded lag, or how far a version is behind the newest of its step, shape (N,); None without either."""
    for name in query.LAGS:
        if name in data.policy:
            return data.arrays.numbers(name)
    for name in query.POLICY_VERSIONS:
        if name in data.policy:
            versions = data.arrays.numbers(name)
            of_step = np.unique(data.step, return_inverse=True)[1]
            newest = np.full(of_step.max(initial=-1) + 1, -np.inf)
            known = data.trained & np.isfinite(versions)
            np.maximum.at(newest, of_step[known], versions[known])
            return newest[of_step] - versions
    return None


def _declared(config: Mapping[str, Any], deepest: int) -> list[float]:
    found = []
    for name, value in config.items():
        if isinstance(value, Mapping) and deepest:
            found += _declared(value, deepest - 1)
        elif str(name).rsplit(".", 1)[-1] in DECLARED and isinstance(value, int | float) and 0 <= value < np.inf:
            found.append(float(value))
    return found


RULE = LintRule(
    "policy_lag",
    "a trained sample comes from a policy further behind than the configuration of the run allows, or than "
    f"{USUAL:g} versions where it names no limit",
    look,
)
