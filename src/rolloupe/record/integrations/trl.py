"""TRL: a mixin for `GRPOTrainer` and `RLOOTrainer` that records what they generate and train on.

    class Trainer(RecordingMixin, GRPOTrainer):
        pass

TRL's callbacks receive steps, metrics and checkpoints but no completions, so the mixin also overrides private methods.
If a version of TRL names them differently, training continues and the recorder warns.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rolloupe.record.token_series import array_of_tensor

if TYPE_CHECKING:
    from rolloupe.record.recorder import Recorder

__all__ = ["RecordingMixin"]

ROWS = "rolloupe_rows"
"""A batch column with the position at which a row was generated. TRL shuffles and splits it with the others."""


class RecordingMixin:
    """Records the rollouts of a TRL trainer; put it before the trainer among the base classes.

    Args:
        recorder: the recorder. It closes itself when the process ends.
        label: the data set column with the ground truth.
        token_texts: record the text of each token as well as its id.
    """

    def __init__(
        self, *args: Any, recorder: "Recorder", label: str = "", token_texts: bool = True, **kwargs: Any
    ) -> None:
        self.recording = _Recording(self, recorder, label, token_texts=token_texts)
        super().__init__(*args, **kwargs)
        self.add_callback(_callback(self.recording))  # type: ignore[pyrefly:missing-attribute]

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        self.recording.columns.clear()
        rewards = super()._calculate_rewards(*args, **kwargs)  # type: ignore[pyrefly:missing-attribute]
        self.recording.recorder.safely(self.recording.keep_rewards, rewards, args, kwargs)
        return rewards

    def _log_completion_extra(self, *args: Any, **kwargs: Any) -> Any:
        self.recording.recorder.safely(self.recording.keep_column, *args)
        return super()._log_completion_extra(*args, **kwargs)  # type: ignore[pyrefly:missing-attribute]

    def _generate_and_score_completions(self, *args: Any, **kwargs: Any) -> Any:
        self.recording.scored = None
        output = super()._generate_and_score_completions(*args, **kwargs)  # type: ignore[pyrefly:missing-attribute]
        self.recording.recorder.safely(self.recording.record_batch, output)
        return output

    def _compute_loss(self, *args: Any, **kwargs: Any) -> Any:
        self.recording.recorder.safely(self.recording.begin_loss, args, kwargs)
        try:
            return super()._compute_loss(*args, **kwargs)  # type: ignore[pyrefly:missing-attribute]
        finally:
            self.recording.rows = None

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        outputs = super()._get_per_token_logps_and_entropies(*args, **kwargs)  # type: ignore[pyrefly:missing-attribute]
        self.recording.recorder.safely(self.recording.record_outputs, outputs)
        return outputs

    def evaluate(self, eval_dataset: Any = None, ignore_keys: Any = None, metric_key_prefix: str = "eval") -> Any:
        """Evaluate as the trainer does; record the completions as `eval/NAME`, by the names of the data sets."""
        with self.recording.evaluating(metric_key_prefix):
            return super().evaluate(eval_dataset, ignore_keys, metric_key_prefix)  # type: ignore[pyrefly:missing-attribute]


class _Recording:
    """Records the rollouts of a trainer from the calls of its methods."""

    def __init__(self, trainer: Any, recorder: "Recorder", label: str, *, token_texts: bool) -> None:
        self.recorder = recorder
        self.scored: Batch | None = None
        """The last generated batch, until it is recorded."""
        self.columns: dict[str, Sequence[object]] = {}
        """The columns that reward functions logged for that batch with `log_extra`."""
        self.rows: Any = None
        """The rows of the loss that the trainer computes."""
        self.is_training = False
        self._trainer = trainer
        self._label = label
        self._pieces: dict[int, str] | None = {} if token_texts else None
        """The texts of decoded token ids; None if samples get no texts."""
        self._eval_split = "eval"
        self._generated: Counter[tuple[str, int]] = Counter()
        """How many rows all processes have generated, by split and step."""
        self._uids: dict[str, dict[int, tuple[str, int]]] = {}
        """Uid and number of tokens of the rows that the trainer has not yet trained on, by split."""
        self._open_steps: set[int] = set()

    def _place(self) -> tuple[str, int]:
        """Return the split and the step: the current training step from 1, as TRL counts it when it logs."""
        done = int(self._trainer.state.global_step)
        return ("train", done + 1) if self._trainer.model.training else (self._eval_split, done)

    def keep_rewards(self, rewards: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Keep the rewards and the arguments of the reward functions until the batch is complete."""
        given = {**dict(zip(GIVEN, args, strict=False)), **kwargs}
        self.scored = Batch(**given, rewards=rewards, columns=self.columns.copy())

    def keep_column(self, name: str = "", values: Sequence[object] = ()) -> None:
        """Keep a column that a reward function logs."""
        self.columns[name] = list(values)

    def begin_loss(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Note the rows of the loss that the trainer begins to compute."""
        self.rows = (kwargs.get("inputs") or args[1]).get(ROWS)

    def record_batch(self, output: dict[str, Any]) -> None:
        """Record a batch of completions. Raises what reading it raises."""
        batch, self.scored = self.scored, None
        if batch is None:
            raise LookupError("this version of TRL scores completions differently; they are not recorded")
        trainer, (split, step) = self._trainer, self._place()
        rank, world, number = trainer.accelerator.process_index, trainer.accelerator.num_processes, len(batch.prompts)
        first = self._generated[split, step] + rank * number
        self._generated[split, step] += world * number
        size = (split != "train" and getattr(trainer, "num_generations_eval", None)) or trainer.num_generations
        rewards = array_of_tensor(batch.rewards)[rank * number : (rank + 1) * number]
        weights, names = array_of_tensor(trainer.reward_weights), list(trainer.reward_func_names)
        metrics = [  # a repeated name of a reward function gets a number
            f"reward.{name}" if name not in names[:at] else f"reward.{name}.{names[:at].count(name) + 1}"
            for at, name in enumerate(names)
        ]
        arrays = {name: array_of_tensor(values) for name in READ if (values := output.get(name)) is not None}
        self._uids[split] = {}
        for row in range(number):
            sample = self._sample(batch, arrays, row)
            earned = rewards[row]
            uid = self.recorder.sample(
                step=step, split=split, group=(first + row) // size, index=(first + row) % size,
                reward=float("nan") if np.isnan(earned).all() else float(np.nansum(earned * weights)),
                **sample | {"metrics": {**dict(zip(metrics, earned, strict=True)), **sample["metrics"]}},
            )  # fmt: skip
            self._uids[split][row] = uid, len(batch.completion_ids_list[row])
        self._open_steps.add(step)
        output[ROWS] = output["completion_ids"].new_tensor(list(range(number)))

    def _sample(self, batch: "Batch", arrays: Mapping[str, NDArray[Any]], row: int) -> dict[str, Any]:
        """Return the arguments of `Recorder.sample` for a row, except its place and its reward."""
        inputs, ids = batch.inputs[row], [int(token) for token in batch.completion_ids_list[row]]
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
        # TRL's rule of the tokens that end a complete completion
        tokenizer = tokenizer_of(self._trainer)
        ends = [*(getattr(self._trainer, "eos_token_ids", None) or [tokenizer.eos_token_id]), tokenizer.pad_token_id]
        is_cut = not ids or ids[-1] not in {int(token) for token in ends if token is not None}
        own_columns = {"prompt", "completion", self._label}
        return {
            "prompt": batch.prompts[row], "response": batch.completions[row],
            "label": inputs.get(self._label) if self._label else None,
            "advantage": advantages[row] if advantages.ndim == 1 else numbers.pop("advantages", None),
            "status": "truncated" if is_cut else "completed",
            "discarded": MASKED if is_cut and not mask.any() else "",
            "token_ids": np.concatenate([prompt, np.asarray(ids, dtype=prompt.dtype)]), "prompt_tokens": len(prompt),
            "tokens": self._texts_of(ids), "series": series, "metrics": numbers, "tags": texts,
            "extra": {key: value for key, value in inputs.items() if key not in own_columns} or None,
        }  # fmt: skip

    def _texts_of(self, ids: Sequence[int]) -> list[str] | None:
        """Decode token ids to texts, each id once."""
        if self._pieces is None:
            return None
        tokenizer = tokenizer_of(self._trainer)
        for token in set(ids) - self._pieces.keys():
            text, raw = str(tokenizer.decode([token])), str(tokenizer.convert_ids_to_tokens(token))
            is_spaced = raw.startswith("\u2581") and not text.startswith(" ")  # SentencePiece drops a leading space
            self._pieces[token] = f" {text}" if is_spaced else text
        return [self._pieces[token] for token in ids]

    def record_outputs(self, outputs: Any) -> None:
        """Record the trainer's own forward pass for each row, when the trainer first trains on it."""
        if self.rows is None:
            return
        uids = self._uids.get(self._place()[0], {})
        rows = {at: uids.pop(row) for at, row in enumerate(self.rows.tolist()) if row in uids}
        named = zip(("trainer_logprobs", "entropy"), outputs[:2], strict=False)
        arrays = {name: array_of_tensor(values) for name, values in named if rows and values is not None}
        for at, (uid, length) in rows.items():
            self.recorder.annotate(uid, series={name: values[at, :length] for name, values in arrays.items()})

    def end_steps(self) -> None:
        for step in sorted(self._open_steps):
            self.recorder.step_end(step)
        self._open_steps.clear()
        self._generated.clear()

    @contextmanager
    def evaluating(self, prefix: str) -> Iterator[None]:
        """Record samples of the block as evaluations: `eval_gsm8k` as `eval/gsm8k`, `eval` as `eval/default`."""
        former, self._eval_split = self._eval_split, f"eval/{prefix.removeprefix('eval').lstrip('_') or 'default'}"
        for place in [place for place in self._generated if place[0] == self._eval_split]:
            del self._generated[place]
        try:
            yield
        finally:
            self._eval_split = former
            self._uids = {split: uids for split, uids in self._uids.items() if split == "train"}

    def record_logs(self, state: Any, logs: Mapping[str, object]) -> None:
        """Record the trainer's metrics, which cover all processes."""
        if state.is_world_process_zero:
            self.recorder.metrics(state.global_step, {k: v for k, v in logs.items() if not isinstance(v, str)})
            self._open_steps.add(int(state.global_step))

    def record_checkpoint(self, args: Any, state: Any) -> None:
        if state.is_world_process_zero:
            name = f"checkpoint-{state.global_step}"
            self.recorder.checkpoint(
                name, step=state.global_step, paths={"state": f"{args.output_dir}/{name}"},
                loop_state={"global_step": state.global_step, "epoch": state.epoch},
            )  # fmt: skip


def _callback(recording: _Recording) -> Any:
    from transformers import TrainerCallback

    class Callback(TrainerCallback):
        """Forwards the trainer's events. A step ends when the next one begins, so it includes its evaluation."""

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            recording.is_training = True

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            recording.recorder.safely(recording.end_steps)

        def on_log(self, _: Any, state: Any, __: Any, logs: Any = None, **___: Any) -> None:
            recording.recorder.safely(recording.record_logs, state, logs or {})

        def on_save(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
            recording.recorder.safely(recording.record_checkpoint, args, state)

        def on_evaluate(self, *_: Any, **__: Any) -> None:
            if not recording.is_training:
                recording.recorder.safely(recording.end_steps)

        def on_train_end(self, *_: Any, **__: Any) -> None:
            recording.is_training = False
            recording.recorder.safely(recording.end_steps)

    return Callback()


SERIES = {
    "sampling_per_token_logps": "logprobs", "old_per_token_logps": "old_logprobs",
    "ref_per_token_logps": "ref_logprobs", "importance_sampling_ratio": "importance_ratio",
    "advantages": "advantages",
}  # fmt: skip
"""The batch columns with one number for each token, by the recorder's names."""

READ = ("prompt_ids", "prompt_mask", "completion_mask", "tool_mask", *SERIES)
"""The batch columns to read: others, such as images, may be large."""

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


def tokenizer_of(trainer: Any) -> Any:
    """Return the trainer's tokenizer; a processor for images holds it inside."""
    return getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
