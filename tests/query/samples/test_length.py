"""Sorting by length: tokens where they are counted, characters where they are not, a metric where one is called so."""

import json
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe import SampleQuery
from tests.index.support import row


def write(folder: Path, **more: Any) -> Path:
    """Three samples, the second of which is the longest in characters and the shortest in tokens."""
    path = folder / "rollout_result/train/0.jsonl"
    path.parent.mkdir(parents=True)
    rows = [
        row(0, n, response="x" * chars, response_length=tokens)
        for n, chars, tokens in ((0, 5, 7), (1, 9, 2), (2, 1, 4))
    ]
    for n, one in enumerate(rows):
        one.update({name: values[n] for name, values in more.items()})
    path.write_text("".join(json.dumps({k: v for k, v in one.items() if v is not ...}) + "\n" for one in rows))
    return folder


@pytest.mark.parametrize(
    ("more", "order"),
    [
        ({}, ["1", "2", "0"]),
        ({"response_length": [...] * 3}, ["2", "0", "1"]),
        ({"length": [2.0, 3.0, 1.0]}, ["2", "0", "1"]),
    ],
)
def test_length_stands_for_a_column(tmp_path: Path, more: dict[str, Any], order: list[str]) -> None:
    with rolloupe.open(write(tmp_path / "run", **more), index_dir=tmp_path / "index") as runs:
        assert [item.key.index for item in runs.samples(sort="length")] == order
        assert [item.key.index for item in runs.samples(SampleQuery(splits=("train",), sort="length"))] == order
        assert runs.samples(sort="length", descending=True).arrow()["index"].to_pylist() == order[::-1]
