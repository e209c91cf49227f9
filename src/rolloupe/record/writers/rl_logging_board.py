"""RLLoggingBoard's files: `{root}/{run}/rank_{r}.jsonl`, one line for each sample, with token strings and series.

Source: HarderThenHarder/RLLoggingBoard, the table of fields in its README. Lines hold NaN and infinities as Python
writes them: the board skips a line that it cannot read, while a null would break its arithmetic.
"""

import re
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from rolloupe.model import Sample, TokenSeries
from rolloupe.record.failures import Guard
from rolloupe.record.lines import encoded, listed
from rolloupe.record.plain import has, member, whole_number
from rolloupe.record.writers import Left, Writer
from rolloupe.storage.atomic import append

KEYS = (
    "prompt", "response", "reward", "step", "response_tokens", "logprobs", "ref_logprobs", "values", "token_rewards",
    "ref_response", "ref_reward", "ground_truth", "valid_reward", "ref_valid_reward",
)  # fmt: skip
"""The keys of a line, in order."""

NEEDED = ("prompt", "response", "reward", "step")
ARRAYS = ("logprobs", "ref_logprobs", "values", "token_rewards")
OF_METRICS = ("valid_reward", "ref_valid_reward")

FOREIGN = frozenset(
    "rollout_id sample_index group group_id group_index uid example_id advantage messages micro_sequence_idx".split()
)
"""Keys by which Rolloupe recognises other layouts; the board ignores them."""

RANK = "rank_0.jsonl"
MAX_STEP = 2**53
PAD = "<PAD>"
MAX_PADDED = 10**6
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")


def save_rollout_jsonl(
    path: str | PathLike[str],
    step: int,
    samples: Iterable[Any],
    *,
    rank: int = 0,
    decimals: int | None = None,
    strict: bool = False,
) -> None:
    """Append the samples of a step to `{path}/rank_{rank}.jsonl`, in one write.

    Args:
        path: the run's folder; or the file itself, if it ends in `.jsonl`.
        step: the step.
        samples: dicts, or objects with attributes, with the names of `KEYS`. `prompt`, `response` and `reward` are
            required; the board shows tokens only with `token_rewards`. Arrays and tensors are accepted. Other keys
            of a dict follow these.
        rank: the rank of this process, if several ranks each write their own samples.
        decimals: round the numbers of arrays to this many places; arrays make up most of such a file.
        strict: raise errors. By default they are logged: a sample without a required key is left out, and so is an
            array that is not as long as the tokens.
    """

    def save() -> None:
        place, whole_step = Path(path), whole_number(step)
        target = place if place.suffix == ".jsonl" else place / f"rank_{rank}.jsonl"
        append(target, b"".join(_lines(samples, whole_step, decimals, strict=strict)))

    Guard(f"RLLoggingBoard's file of step {step}", strict=strict).call(save, None)


def _lines(samples: Iterable[Any], step: int, decimals: int | None, *, strict: bool) -> Iterator[bytes]:
    """Yield the lines of the samples that the board can show, without arrays of a wrong length."""
    from rolloupe.tokens import unpadded_length

    guard = Guard(f"RLLoggingBoard's file of step {step}", strict=strict)
    for place, sample in enumerate(samples):
        try:
            record = record_of(sample, step, decimals)
            pieces = record.get("response_tokens")
            sizes = (len(pieces), unpadded_length(pieces, PAD)) if isinstance(pieces, (list, tuple)) else ()
            for key in ARRAYS:
                values = record.get(key)
                if sizes and isinstance(values, (list, tuple)) and len(values) not in sizes:
                    wrong = ValueError(f"{key} has {len(values)}, response_tokens {sizes[0]}")
                    guard.left_out(f"sample {place}, {key}", wrong)
                    del record[key]
            yield encoded(record, nan=True)
        except Exception as error:
            guard.left_out(f"sample {place}", error)
    guard.tell_total()


def record_of(sample: Any, step: int, decimals: int | None = None) -> dict[str, Any]:
    """Return the line of a sample. Raises `ValueError` or `TypeError` if the board could not show it."""
    missing = [key for key in NEEDED if key != "step" and not has(sample, key)]
    if missing:
        raise ValueError(f"the sample has no {', '.join(missing)}")
    record: dict[str, Any] = {}
    for key in KEYS:
        value = step if key == "step" else listed(member(sample, key))
        if key in ARRAYS and decimals is not None and isinstance(value, (list, tuple)):
            value = [round(number, decimals) if isinstance(number, float) else number for number in value]
        if value is not None or key in NEEDED:
            record[key] = value
    if not isinstance(record["reward"], (dict, int | float | None)):
        raise TypeError(f"reward: expected a number, got {type(record['reward']).__name__}")
    further = sample if isinstance(sample, dict) else {}
    return record | {str(key): value for key, value in further.items() if key not in KEYS}


class RLLoggingBoardWriter(Writer):
    """Writes samples of any format: a run's folder, or one folder for training and one for each evaluation.

    With an evaluation `eval/NAME`, training goes to `train_NAME/` and the evaluation to `eval_NAME/`, and readers join
    them to one run. The layout ties only one evaluation to a run; every other evaluation becomes a separate run.
    """

    name: ClassVar[str] = "rl_logging_board"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folders: dict[str, str] = {}
        self._has_train = False
        self._joined: str | None = None

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        from rolloupe.formats.rl_logging_board import RLLoggingBoard
        from rolloupe.record.writers.comparison import Tally, extended, own_status, read_back, response_of

        tally = Tally()
        reader = RLLoggingBoard()
        target = self._path / self._folder(split) / RANK
        read_as = split if split == self._joined else "train"
        for sample in samples:
            if abs(step) > MAX_STEP:
                tally.found["samples of steps that are too large"] += 1
                continue
            self._has_train = self._has_train or split == "train"
            record, row = _of_model(sample, step), sample.row
            copy = read_back(reader, record, RANK, read_as, step, nan=True)
            record = extended(record, sample, copy, {*KEYS, *FOREIGN})
            if row.status_raw:
                record.setdefault("status", own_status(row) or row.status)
            if row.advantage is not None:
                record.setdefault("advantage", row.advantage)
            append(target, encoded(record, nan=True))
            copy = read_back(reader, record, RANK, read_as, step, nan=True)
            names = {name: series.name for name, series in _arrays(sample).items()}
            tally.compare(sample, copy, names, response_of(sample).start)
        return tally.found

    def _folder(self, split: str) -> str:
        if split == "train":
            return ""
        if split not in self._folders:
            name = split.removeprefix("eval/")
            fits = _NAME.fullmatch(name) is not None and split.startswith("eval/")
            if fits and self._has_train and self._joined is None:
                self._joined = split
            folder = f"eval_{name if fits else len(self._folders)}"
            folders = set(self._folders.values())
            self._folders[split] = folder if folder not in folders else f"{folder}_{len(folders)}"
        return self._folders[split]

    def close(self) -> None:
        """Move training to a folder next to those of evaluations, if there are any."""
        train = self._path / RANK
        if self._folders and train.exists():
            name = self._folders[self._joined].removeprefix("eval_") if self._joined else ""
            folder = self._path / (f"train_{name}" if name else "train")
            folder.mkdir(exist_ok=True)
            train.replace(folder / RANK)


def _of_model(sample: Sample, step: int) -> dict[str, Any]:
    from rolloupe.record.writers.texts import prompt_of, reference_of, response_of

    row = sample.row
    padded = row.metrics.get("response_tokens_len", 0.0)
    padding = int(padded) - len(sample.token_strings) if 0 < padded < MAX_PADDED else 0
    record: dict[str, Any] = {
        "prompt": prompt_of(sample, messages=False), "response": response_of(sample), "reward": row.reward,
        "step": step, "response_tokens": [*sample.token_strings, *[PAD] * padding] or None,
        "ref_response": reference_of(sample), "ref_reward": sample.ref_reward, "ground_truth": sample.label or None,
        **{name: row.metrics[name] for name in OF_METRICS if name in row.metrics},
        **{series.name: series.values for series in _arrays(sample).values()},
    }  # fmt: skip
    return {key: record[key] for key in KEYS if record.get(key) is not None or key in NEEDED}


def _arrays(sample: Sample) -> dict[str, TokenSeries]:
    """Return the layout's token series, by their names in the sample: one value for each token of the response.

    Tokens that were not sampled keep their positions, with NaN as their values.
    """
    from rolloupe.record.writers.comparison import response_of, spread

    by_name = {series.name: series for series in sample.series if series.values}
    names = {name: name for name in ARRAYS}
    if "logprobs" not in by_name:
        names = {"trainer_logprobs": "logprobs"} | names
    extent = response_of(sample)
    arrays = {}
    for name, known_as in names.items():
        if name in by_name and len(values := spread(by_name[name], len(extent), extent.start)):
            arrays[name] = TokenSeries(name=known_as, values=values.tolist(), offset=extent.start)
    return arrays
