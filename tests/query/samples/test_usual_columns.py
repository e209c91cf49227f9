"""The columns of a list whose reader chose none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.query.run import columns
from tests.index.support import lines, opened, row
from tests.query.sample.test_annotations import append, episode, note

STEPS = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    """Steps whose samples vary in length and in two of the three parts of the reward."""
    folder = tmp_path_factory.mktemp("run")
    train = folder / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    for step in range(STEPS):
        parts = [
            {"score": i % 4, "format": i % 2, "acc": i % 3, "accuracy_bonus": 1, "bench": "math"} for i in range(8)
        ]
        rows = [row(step, i, reward=part, response_length=10 + i, kl=i) for i, part in enumerate(parts)]
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    with opened(folder / "run", folder / "index") as library:
        yield library.runs[0]


def test_reward_length_and_the_parts_that_vary_come_without_a_choice(run: OpenRun) -> None:
    found = query.usual_columns(run, "train")
    assert found[:2] == ["reward", "response_tokens"]
    assert sorted(found[2:]) == ["reward.acc", "reward.format"]  # neither its whole, nor what never varies, nor text
    assert query.usual_columns(run, "eval/none") == ["reward"]


def test_so_many_parts_and_no_more(run: OpenRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_PARTS", 1)
    assert len(query.usual_columns(run, "train")) == 3


def test_names_say_what_a_part_is() -> None:
    parts = ["reward.format", "acc", "pass_rate", "score/style"]
    others = ["reward", "env/score", "ref_reward", "valid_reward", "kl"]
    assert [name for name in [*parts, *others] if columns.is_part(name)] == parts


def test_an_advantage_of_the_files_is_one_of_them(tmp_path: Path) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    rows = [row(0, i, advantage=i / 2 - 1) for i in range(4)]
    (train / "0.jsonl").write_bytes(lines(rows))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        found = query.usual_columns(library.runs[0], "train")
    assert found[:2] == ["reward", "advantage"]


def test_an_advantage_may_be_told_later(tmp_path: Path) -> None:
    append(tmp_path / "run", "stream/00000", episode("a"), episode("b"))
    append(tmp_path / "run", "annotations/orch/00000", note("a", advantage=0.5))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert query.usual_columns(library.runs[0], "train")[:2] == ["reward", "advantage"]


@pytest.mark.parametrize("is_reopened", [False, True])
def test_the_newest_steps_decide_however_the_run_was_opened(tmp_path: Path, *, is_reopened: bool) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    for step in range(3 * columns.LOOKED_AT):
        late = step >= 3 * columns.LOOKED_AT - 2
        rows = [row(step, i, reward={"score": i, "format": i if late else 1}) for i in range(4)]
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    found: list[str] = []
    for _ in range(1 + is_reopened):
        with opened(tmp_path / "run", tmp_path / "index") as library:
            found = query.usual_columns(library.runs[0], "train")
    assert "reward.format" in found
