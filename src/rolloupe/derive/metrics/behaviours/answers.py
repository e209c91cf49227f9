"""How many final answers the response gives: boxes, `<answer>`, `####`, "final answer"."""

from rolloupe.derive.base import phrase_metric

METRIC = phrase_metric(
    "answers", 3, "Final answers",
    r"\\boxed\b",
    r"<answer>",
    r"^####|\n####",
    r"\bfinal answer\b",
    unit="answers", behaviour="marking final answers",
)  # fmt: skip
