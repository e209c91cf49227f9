"""The mean KL to the reference over the tokens: as the framework recorded it, else k3."""

from rolloupe.derive.base import KL, DerivedMetric, mean, of_series

METRIC = DerivedMetric("mean_kl", 1, "Mean token KL", unit="nats", of_tokens=of_series(KL, mean))
