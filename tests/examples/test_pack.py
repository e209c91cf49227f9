"""A packed run holds what it held before."""

from pathlib import Path

import msgspec
import numpy as np

import rolloupe
from pack import pack
from rolloupe.model import Sample
from tests.formats.support import only_run, samples


def recorded(path: Path, steps: int = 5) -> None:
    some = np.random.default_rng(1)
    with rolloupe.Recorder(path) as recorder:
        for step in range(steps):
            uids = [
                recorder.sample(
                    step=step, group="a", index=index, prompt=f"p{step}", response=f"r{index} \N{SNOWMAN}", reward=0.5,
                    token_ids=[1, 2, 3 + index], series={"logprobs": some.normal(size=2).astype(np.float32)},
                )
                for index in range(3)
            ]  # fmt: skip
            recorder.sample(step=step, group="b", index=0, prompt="p", response="none", reward=None)
            recorder.step_end(step)
            for uid in uids:
                recorder.annotate(uid, advantage=1.0, series={"entropy": some.normal(size=2).astype(np.float32)})
            recorder.step_end(step)


def held(path: Path) -> list[Sample]:
    place = msgspec.structs.replace
    found = []
    for sample in samples(only_run(path)):
        sample.row.start = sample.row.length = sample.row.ordinal = 0
        sample.locator = place(sample.locator, source="", start=0, length=0)
        found.append(sample)
    return sorted(found, key=lambda sample: str(sample.key))


def test_a_packed_run_holds_what_it_held_before(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    before = held(tmp_path / "run")
    parts = list((tmp_path / "run").glob("tokens/*/*.parquet"))
    pack(tmp_path / "run")
    assert held(tmp_path / "run") == before
    assert len([one for one in before if one.series]) == 15
    assert len(parts) > len(list((tmp_path / "run").glob("tokens/*/*.parquet"))) == 1
    assert {path.suffix for path in (tmp_path / "run").glob("*/rank*.*")} == {".zst"}
