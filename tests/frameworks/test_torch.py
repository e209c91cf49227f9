"""A plain PyTorch loop: every kind of tensor, and every kind of process."""

import math
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rolloupe.record import Recorder, RecorderWarning
from tests.frameworks.support import ROOT, blocks, needs, opened, run_ranks, series

torch = needs("torch")


def recorder(path: Path, **more: Any) -> Recorder:
    return Recorder(path, **dict[str, Any](code=None, strict=True) | more)


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    (code,) = blocks("PyTorch")
    told: dict[str, Any] = {}
    exec(code, told)
    run = opened(tmp_path / "runs/torch")
    assert [(step.step, step.samples) for step in run.steps()] == [(0, 8), (1, 8), (2, 8)]
    sample = run.sample("train/2/1/3")
    found = series(sample)
    assert sample.row.advantage == pytest.approx(float(told["advantages"][7]))
    assert found["trainer_logprobs"] == told["logprobs"].tolist()
    assert found["entropy"] == told["entropy"].tolist()
    assert found["logprobs"] == torch.cat(told["sampled"]).tolist()
    assert sample.token_ids == told["samples"][-1][1].tolist()
    assert {"optim/kl_sample_train_v1", "optim/entropy", "loss"} <= set(run.metric_names())


VALUES = [-0.5, 0.0, -1.25, 3.0, -0.0078125]


def _inferred() -> Any:
    with torch.inference_mode():
        return torch.tensor(VALUES)


TENSORS: dict[str, Callable[[], Any]] = {
    "float32": lambda: torch.tensor(VALUES),
    "float64": lambda: torch.tensor(VALUES, dtype=torch.float64),
    "float16": lambda: torch.tensor(VALUES, dtype=torch.float16),
    "bfloat16": lambda: torch.tensor(VALUES, dtype=torch.bfloat16),
    "with a gradient": lambda: torch.tensor(VALUES, requires_grad=True),
    "of a graph": lambda: torch.tensor(VALUES, requires_grad=True).mul(1),
    "bfloat16 of a graph": lambda: torch.tensor(VALUES, dtype=torch.bfloat16, requires_grad=True) * 1,
    "a parameter": lambda: torch.nn.Parameter(torch.tensor(VALUES)),
    "strided": lambda: torch.tensor([VALUES, VALUES]).T.contiguous()[:, 0],
    "expanded": lambda: torch.tensor(VALUES).expand(1, 5),
    "a column": lambda: torch.tensor(VALUES).unsqueeze(1),
    "a view of a batch": lambda: torch.tensor([[9.0] * 7, [9.0, *VALUES, 9.0]])[1, 1:6],
    "flipped twice": lambda: torch.tensor(VALUES).flip(0).flip(0),
    "shared": lambda: torch.tensor(VALUES).share_memory_(),
    "a list of scalars": lambda: list(torch.tensor(VALUES)),
    "of inference": _inferred,
}


@pytest.mark.parametrize("kind", TENSORS)
def test_tensors_of_every_kind_are_recorded(tmp_path: Path, kind: str) -> None:
    with recorder(tmp_path / "run") as record:
        uid = record.sample(
            step=0, group=0, response="x", token_ids=torch.arange(5), series={"logprobs": TENSORS[kind]()}
        )
        record.annotate(uid, series={"trainer_logprobs": TENSORS[kind]()})
    sample = opened(tmp_path / "run").sample("train/0/0/0")
    assert series(sample) == {"logprobs": VALUES, "trainer_logprobs": VALUES}
    assert sample.token_ids == [0, 1, 2, 3, 4]


def test_masks_counts_and_scalars_are_recorded(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", reward_range=(0, 1)) as record:
        record.sample(
            step=torch.tensor(3), group=0, response="x", reward=torch.tensor(0.5, requires_grad=True),
            advantage=torch.tensor([[-0.25]], dtype=torch.bfloat16), metrics={"nan": torch.tensor(math.nan)},
            token_ids=torch.arange(3, dtype=torch.uint8), series={"loss_mask": torch.tensor([True, False, True])},
        )  # fmt: skip
        record.metrics(torch.tensor(3), {"loss": torch.tensor(2.0, requires_grad=True) * 2})
        record.step_end(torch.tensor(3))
    run = opened(tmp_path / "run")
    row = run.sample("train/3/0/0").row
    assert (row.reward, row.advantage, math.isnan(row.metrics["nan"])) == (0.5, -0.25, True)
    assert series(run.sample("train/3/0/0"))["loss_mask"] == [1.0, 0.0, 1.0]
    assert [point.value for point in run.metrics("loss")] == [4.0]


def test_a_tensor_is_copied_before_the_call_returns(tmp_path: Path) -> None:
    buffers = {
        "a": torch.empty(64), "b": torch.empty(64, dtype=torch.float64), "c": torch.empty(64, dtype=torch.bfloat16),
    }  # fmt: skip
    ids = torch.empty(64, dtype=torch.int64)
    with recorder(tmp_path / "run") as record:
        for index in range(50):
            ids.fill_(index)
            for held in buffers.values():
                held.fill_(index)
            record.sample(step=0, group=0, index=index, response="x", token_ids=ids, series=buffers)
        for held in (ids, *buffers.values()):
            held.fill_(99)
    run = opened(tmp_path / "run")
    for index in range(50):
        sample = run.sample(f"train/0/0/{index}")
        assert sample.token_ids == [index] * 64
        assert series(sample) == dict.fromkeys("abc", [float(index)] * 64)


def test_a_tensor_without_values_costs_itself_alone(tmp_path: Path) -> None:
    record = recorder(tmp_path / "run", strict=False)
    with pytest.warns(RecorderWarning, match="nothing"):
        record.sample(step=0, group=0, response="x", series={"nothing": torch.empty(4, device="meta"), "a": [1.0]})
    with pytest.warns(RecorderWarning, match="square"):
        record.sample(step=0, group=0, response="y", series={"square": torch.ones(2, 2), "a": [1.0]})
    record.close()
    run = opened(tmp_path / "run", told="of step 0 was left out")
    assert [series(run.sample(f"train/0/0/{index}")) for index in (0, 1)] == [{"a": [1.0]}] * 2


# Processes


class Recording:
    """A data set whose workers record what they read."""

    def __init__(self, record: Recorder | None, path: Path) -> None:
        self.record = record
        self.path = path

    def __len__(self) -> int:
        return 24

    def __getitem__(self, at: int) -> Any:
        if self.record is None:
            self.record = recorder(self.path, producer=f"worker{torch.utils.data.get_worker_info().id}")
        self.record.sample(step=at // 8, group=at, index=0, response=f"read {at}", series={"a": torch.full((9,), at)})
        return torch.tensor(at)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader_record(tmp_path: Path, method: str) -> None:
    path = tmp_path / "run"
    with recorder(path) as record:
        record.sample(step=9, group=0, index=0, response="before")
        data = Recording(record if method == "fork" else None, path)
        loader = torch.utils.data.DataLoader(
            data, batch_size=4, num_workers=2, multiprocessing_context=multiprocessing.get_context(method)
        )
        assert sorted(int(at) for batch in loader for at in batch) == list(range(24))
        record.sample(step=9, group=1, index=0, response="after")
    run = opened(path)
    assert {step.step: step.samples for step in run.steps()} == {0: 8, 1: 8, 2: 8, 9: 2}
    for at in range(24):
        assert series(run.sample(f"train/{at // 8}/{at}/0")) == {"a": [float(at)] * 9}
    assert len(list((path / "samples").glob("*.jsonl"))) == 3


RANK = """
import sys, torch, torch.distributed as dist
from rolloupe.record import Recorder
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
with Recorder(sys.argv[1], code=None, strict=True, reward_range=(0, 1), config={"world": world}) as record:
    for step in range(3):
        mean = torch.tensor(float(rank))
        series = {"logprobs": torch.full((5,), -float(rank))}
        uids = [
            record.sample(step=step, group=group, index=2 * rank + n, response="x", reward=float(rank), series=series)
            for group in range(2) for n in range(2)
        ]
        dist.all_reduce(mean)
        for uid in uids:
            record.annotate(uid, advantage=torch.tensor(rank - mean / world))
        if rank == 0:
            record.metrics(step, {"mean": mean / world})
        record.step_end(step)
        dist.barrier()
dist.destroy_process_group()
"""


def test_ranks_record_one_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_ranks(["-c", RANK, str(path)])
    run = opened(path)
    assert [(step.step, step.samples, step.reward.mean) for step in run.steps()] == [(n, 8, 0.5) for n in range(3)]
    assert {(one.key.group, one.key.index): one.advantage for one in run.samples(step=1)} == {
        (str(group), str(index)): (-0.5 if index < 2 else 0.5) for group in range(2) for index in range(4)
    }
    assert [point.value for point in run.metrics("mean")] == [0.5] * 3
    assert sorted(place.name for place in (path / "samples").iterdir()) == ["rank0.jsonl", "rank1.jsonl"]
    assert series(run.sample("train/2/1/3")) == {"logprobs": [-1.0] * 5}


# The example


TINY = """
import dataclasses, sys
from pathlib import Path
from settings import PRESETS
from train import Training
settings = dataclasses.replace(
    PRESETS["default"], steps=3, drill_steps=2, sft_steps=98, drill_batch=4, sft_batch=4, width=32, layers=1, heads=2,
    prompts=3, samples=4, longest_response=24, eval_every=2, eval_problems=2, eval_samples=2, checkpoint_every=2,
)
training = Training(Path(sys.argv[1]), settings)
first = training.resume()
if first is None:
    training.begin()
    training.save(first := 0)
training.run(first)
training.recording.recorder.close()
"""


def test_the_example_trains_and_is_resumed(tmp_path: Path) -> None:
    told = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "examples/tiny_grpo"), str(ROOT / "src")])}
    for _ in range(2):
        command = [sys.executable, "-c", TINY, str(tmp_path / "run")]
        done = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    run = opened(tmp_path / "run")
    steps = {step.step: step.samples for step in run.steps()}
    assert steps[0] == steps[1] == steps[2] == 12
    assert {"train", "eval/held_out", "eval/longer"} <= {split.name for split in run.splits()}
    assert len(run.checkpoints) >= 2
    assert any("trainer_logprobs" in series(sample) for step in range(3) for sample in run.whole(step))
