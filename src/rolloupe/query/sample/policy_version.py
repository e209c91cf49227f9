"""The version of the policy that wrote a sample, and its lag, if the record holds them under a known name."""

from typing import Any, NamedTuple

from rolloupe.model import Sample

POLICY_VERSIONS = (
    "policy_version", "weight_version", "weight_versions", "weights_version", "model_version", "policy_step",
)  # fmt: skip
LAGS = ("lag", "policy_lag", "version_lag", "staleness", "off_policy_steps", "async_level", "off_policyness")
_MAX = 120


class Policy(NamedTuple):
    """One version or several, as text; the lag in versions."""

    version: str
    lag: float | None


def policy(sample: Sample) -> Policy:
    """Find version and lag among metrics, tags and other fields."""
    version = next((word for name in POLICY_VERSIONS if (word := _word(_value(sample, name)))), "")
    lag = next((found for name in LAGS if (found := sample.row.metrics.get(name)) is not None), None)
    return Policy(version, lag)


def _value(sample: Sample, name: str) -> Any:
    for place in (sample.row.metrics, sample.row.tags, sample.extra):
        if name in place:
            return place[name]
    return None


def _word(value: Any) -> str:
    """Return a version as text; for several turns, the first and the last version if they differ."""
    if isinstance(value, list):
        words = [word for item in value[:10_000] if (word := _word(item) if not isinstance(item, list) else "")]
        if not words:
            return ""
        return words[0] if words[0] == words[-1] else f"{words[0]} to {words[-1]}"
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)[:_MAX] if isinstance(value, str | int) else ""
