"""How many lines of code return a fixed value for a fixed input: `if n == 5: return 120`."""

from rolloupe.derive.base import DerivedMetric
from rolloupe.derive.matcher import Matcher

_MATCHER = Matcher(
    r"""\bif\s*\(?\s*[\w.\[\]()]+\s*===?\s*(?:-?[0-9][0-9.]*|"[^"\n\x00]*"|'[^'\n\x00]*'|\[[^\]\n\x00]*\])\s*\)?\s*[:{]?\s*return\s+(?:-?[0-9]|"|'|\[|True\b|False\b|true\b|false\b|None\b)""",
)

METRIC = DerivedMetric(
    "special_cases", 1, "Special cases in code", unit="lines", of_batch=_MATCHER.of_batch,
    behaviour="code that answers fixed inputs with fixed values", pattern=_MATCHER.expression,
)  # fmt: skip
