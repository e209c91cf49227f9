"""1 where the response ends with an end-of-sequence marker, 0 where it was cut off without one.

Most trainers drop the marker when they decode, so a completed response without one has no value.
"""

from rolloupe.derive.base import DerivedMetric, of_rows
from rolloupe.model import SampleRow

END_MARKERS = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|end_of_text|>", "<|end|>", "<|return|>",
    "<|call|>", "<end_of_turn>", "<eos>", "</s>", "<｜end▁of▁sentence｜>", "<|end_of_role|>", "<|observation|>",
)  # fmt: skip
_TAIL_CHARS = 64  # more than the longest marker, and white space behind it


def _of_row(row: SampleRow) -> float | None:
    tail = row.response[-_TAIL_CHARS:].rstrip()
    if tail[-1:] == ">" and tail.endswith(END_MARKERS):
        return 1.0
    return 0.0 if row.status == "truncated" else None


METRIC = DerivedMetric("ends_with_eos", 1, "Ends with EOS", of_batch=of_rows(_of_row))
