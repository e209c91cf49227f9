"""Converts a row of a TRL batch to a sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SERIES = {
    "sampling_per_token_logps": "logprobs", "old_per_token_logps": "old_logprobs",
    "ref_per_token_logps": "ref_logprobs", "importance_sampling_ratio": "importance_ratio",
    "advantages": "advantages",
}  # fmt: skip
"""The batch columns with one number for each token, by the recorder's names."""

READ = ("prompt_ids", "prompt_mask", "completion_mask", "tool_mask", *SERIES)
"""The batch columns to read; others, such as images, may be large."""

GIVEN = ("inputs", "prompts", "completions", "completion_ids_list")
"""The arguments that a trainer passes to its reward functions, in this order."""

MASKED = "masked_truncated"
"""Why a completion was discarded if `mask_truncated_completions` masked it."""


@dataclass
class Batch:
    """A generated and scored batch, one row for each completion. Rewards cover all processes, shape (N, functions)."""

    inputs: Sequence[Mapping[str, Any]]
    prompts: Sequence[Any]
    completions: Sequence[Any]
    completion_ids_list: Sequence[Sequence[int]]
    rewards: Any
    columns: Mapping[str, Sequence[object]]
    """The columns that reward functions logged with `log_extra`."""


class Pieces:
    """Decodes token ids to texts, each id once."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._known: dict[int, str] = {}

    def __call__(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each token."""
        for one in set(ids) - self._known.keys():
            self._known[one] = self._text(one)
        return [self._known[one] for one in ids]

    def _text(self, one: int) -> str:
        tokenizer = tokenizer_of(self._trainer)
        text, raw = str(tokenizer.decode([one])), str(tokenizer.convert_ids_to_tokens(one))
        spaced = raw.startswith("\u2581") and not text.startswith(" ")  # SentencePiece drops a leading space
        return f" {text}" if spaced else text


def tokenizer_of(trainer: Any) -> Any:
    """Return the trainer's tokenizer; a processor for images holds it inside."""
    return getattr(trainer.processing_class, "tokenizer", trainer.processing_class)


def host(tensor: Any) -> NDArray[Any]:
    """Return a tensor as a NumPy array; types less precise than float32 become float32."""
    tensor = tensor.detach()
    return np.asarray((tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy())


def sample_of(
    batch: Batch, arrays: Mapping[str, NDArray[Any]], row: int, trainer: Any, label: str, pieces: Pieces | None
) -> dict[str, Any]:
    """Return the arguments of `Recorder.sample` for one row, except its place and its reward."""
    inputs, ids = batch.inputs[row], [int(one) for one in batch.completion_ids_list[row]]
    prompt = arrays["prompt_ids"][row][arrays["prompt_mask"][row] != 0]
    mask = arrays["completion_mask"][row][: len(ids)]
    if "tool_mask" in arrays:
        mask = mask * arrays["tool_mask"][row][: len(ids)]
    series = {"loss_mask": mask != 0}
    numbers: dict[str, object] = {}
    texts: dict[str, object] = {}
    for name, known_as in SERIES.items():
        if name in arrays and arrays[name].ndim == 2:
            if arrays[name].shape[1] == 1:  # one value for the whole sequence
                numbers[known_as] = arrays[name][row, 0]
            else:
                series[known_as] = arrays[name][row, : len(ids)]
    for name, values in batch.columns.items():
        if row < len(values) and values[row] is not None:
            (texts if isinstance(values[row], str) else numbers)[name] = values[row]
    advantages = arrays["advantages"]
    is_cut = not ids or ids[-1] not in _ends(trainer)
    return {
        "prompt": batch.prompts[row], "response": batch.completions[row], "label": inputs.get(label) if label else None,
        "advantage": advantages[row] if advantages.ndim == 1 else numbers.pop("advantages", None),
        "status": "truncated" if is_cut else "completed", "discarded": MASKED if is_cut and not mask.any() else "",
        "token_ids": np.concatenate([prompt, np.asarray(ids, dtype=prompt.dtype)]), "prompt_tokens": len(prompt),
        "tokens": pieces(ids) if pieces else None, "series": series, "metrics": numbers, "tags": texts,
        "extra": {key: value for key, value in inputs.items() if key not in {"prompt", "completion", label}} or None,
    }  # fmt: skip


def _ends(trainer: Any) -> set[int]:
    """The tokens that end a complete completion, by TRL's rule."""
    tokenizer = tokenizer_of(trainer)
    ids = [*(getattr(trainer, "eos_token_ids", None) or [tokenizer.eos_token_id]), tokenizer.pad_token_id]
    return {int(one) for one in ids if one is not None}
