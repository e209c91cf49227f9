"""The largest KL between sampling and trainer of a token: where the engine and the trainer disagree most."""

from rolloupe.derive.base import DerivedMetric, largest, of_series

METRIC = DerivedMetric(
    "max_mismatch_kl", 2, "Max mismatch KL", unit="nats", of_tokens=of_series(("mismatch_kl",), largest)
)
