"""How many final answers the response gives: boxes, `<answer>`, `####`, "final answer"."""

from rolloupe.derive.base import DerivedMetric
from rolloupe.derive.matcher import Matcher

_MATCHER = Matcher(
    r"\\boxed\b",
    r"<answer>",
    r"^####|\n####",
    r"\bfinal answer\b",
)

METRIC = DerivedMetric(
    "answers", 1, "Final answers", unit="answers", of_batch=_MATCHER.of_batch,
    behaviour="giving several final answers", pattern=_MATCHER.expression,
)  # fmt: skip
