"""How many lines of code return a fixed value for a fixed input: `if n == 5: return 120`."""

from rolloupe.derive.base import phrase_metric

METRIC = phrase_metric(
    "special_cases", 2, "Special cases in code",
    r"""\bif\s*\(?\s*[\w.\[\]()]+\s*===?\s*(?:-?[0-9][0-9.]*|"[^"\n\x00]*"|'[^'\n\x00]*'|\[[^\]\n\x00]*\])\s*\)?\s*[:{]?\s*return\s+(?:-?[0-9]|"|'|\[|True\b|False\b|true\b|false\b|None\b)""",
    unit="lines", behaviour="code that answers fixed inputs with fixed values",
)  # fmt: skip
