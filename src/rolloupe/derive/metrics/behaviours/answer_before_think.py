"""1 if an answer (`<answer>`, a box, `####`) comes before the first think block, else 0."""

import re

import numpy as np

from rolloupe.derive.base import DerivedMetric, Matcher, SampleBatch
from rolloupe.tokens import Floats

ANSWERS = ("<answer>", "\\boxed", "####")
THOUGHTS = ("<think>", "[THINK]", "◁think▷")
_THOUGHTS = Matcher(*map(re.escape, THOUGHTS))


def _of_batch(batch: SampleBatch) -> Floats:
    values = np.zeros(len(batch))
    for index in _THOUGHTS.samples(batch):
        values[index] = _is_early(batch.written[index])
    return values


def _is_early(text: str) -> bool:
    first_thought = min((at for thought in THOUGHTS if (at := text.find(thought)) >= 0), default=0)
    return any(text.find(answer, 0, first_thought) >= 0 for answer in ANSWERS)


METRIC = DerivedMetric(
    "answer_before_think", 2, "Answer before thinking", of_batch=_of_batch,
    behaviour="an answer before the thinking",
)  # fmt: skip
