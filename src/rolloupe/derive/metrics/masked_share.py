"""Which share of the tokens the trainer recorded as taken out of the loss."""

from rolloupe.derive.base import DerivedMetric
from rolloupe.derive.token_values import mean, of_series

METRIC = DerivedMetric("masked_share", 1, "Share of tokens taken out", of_tokens=of_series(("is_masked",), mean))
