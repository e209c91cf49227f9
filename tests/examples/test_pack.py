"""A packed run holds what it held before."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from backports import zstd

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


def said(path: Path) -> list[dict[str, list[float]]]:
    """What lines say of token series: first those of samples, then those of annotations."""
    files = [path / folder / "rank0.jsonl.zst" for folder in ("samples", "annotations")]
    lines = [json.loads(line) for file in files for line in zstd.decompress(file.read_bytes()).splitlines()]
    return [line["series"]["facts"] for line in lines if "series" in line]


def test_of_each_number_so_many_bits_are_kept_and_what_lines_say_of_them_is_true(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    before = held(tmp_path / "run")
    pack(tmp_path / "run", 16)
    after = held(tmp_path / "run")
    assert [sample.key for sample in after] == [sample.key for sample in before]
    sums: dict[str, list[float]] = {"logprobs": [], "entropy": []}
    for old, new in zip(before, after, strict=True):
        for theirs, ours in zip(old.series, new.series, strict=True):
            values = np.asarray(ours.values, np.float32)
            assert not (values.view(np.uint32) & 0xFF).any()
            assert np.allclose(values, theirs.values, rtol=2**-16, atol=0)
            assert list(ours.values) != list(theirs.values)
            sums[ours.name].append(float(values.sum(dtype=float)))
    for name, expected in sums.items():
        found = [facts[name] for facts in said(tmp_path / "run") if name in facts]
        assert [count for count, *_ in found] == [2] * 15
        assert sorted(total for _, total, *_ in found) == pytest.approx(sorted(expected), rel=1e-6)
