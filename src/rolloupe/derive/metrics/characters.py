"""How many characters the response has."""

from rolloupe.derive.base import DerivedMetric, of_rows

METRIC = DerivedMetric(
    "characters", 1, "Response characters", unit="characters", of_batch=of_rows(lambda row: len(row.response)),
    behaviour="length",
)  # fmt: skip
