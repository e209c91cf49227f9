"""The largest KL to the reference of a token: as the framework recorded it, else k3."""

from rolloupe.derive.base import KL, DerivedMetric, largest, of_series

METRIC = DerivedMetric("max_kl", 2, "Max token KL", unit="nats", of_tokens=of_series(KL, largest))
