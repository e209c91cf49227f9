"""1 if an answer (`<answer>`, a box, `####`) comes before the first think block, else 0."""

from rolloupe.derive.base import DerivedMetric, of_texts
from rolloupe.model import SampleRow

ANSWERS = ("<answer>", "\\boxed", "####")
THOUGHTS = ("<think>", "[THINK]", "◁think▷")


def _of_text(text: str, _: SampleRow) -> float:
    first_thought = min((at for thought in THOUGHTS if (at := text.find(thought)) >= 0), default=0)
    is_early = (0 <= text.find(answer) < first_thought for answer in ANSWERS)
    return float(first_thought > 0 and any(is_early))


METRIC = DerivedMetric(
    "answer_before_think", 2, "Answer before thinking", of_batch=of_texts(_of_text),
    behaviour="an answer before the thinking",
)  # fmt: skip
