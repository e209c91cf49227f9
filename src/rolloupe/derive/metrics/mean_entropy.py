"""The mean entropy over the tokens."""

from rolloupe.derive.base import DerivedMetric, mean, of_series

METRIC = DerivedMetric("mean_entropy", 1, "Mean entropy", unit="nats", of_tokens=of_series(("entropy",), mean))
