"""What differs between the configurations of runs, and where runs stand."""

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rolloupe import Recorder, query
from rolloupe.index import Library
from rolloupe.query.several_runs import configs
from tests.index.support import opened, relax_run


def recorded(folder: Path, config: dict[str, Any]) -> None:
    """A run with a configuration."""
    with Recorder(folder, config=config, code=None) as run:
        run.sample(step=0, group="0", index=0, prompt="?", response="!", reward=1.0)


def test_what_differs_comes_with_the_most_telling_keys_first(tmp_path: Path) -> None:
    for number, lr in enumerate((1e-5, 1e-6)):
        config = {"name": f"run{number}", "optim": {"lr": lr, "betas": [0.9, 0.95]}, "log": f"/logs/{number}", "n": 8}
        recorded(tmp_path / f"runs/run{number}", config | ({"extra": True} if number else {}))
    relax_run(tmp_path / "runs/plain")
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        found = query.config_differences(library.runs)
        assert found.keys[:2] == ["optim.lr", "extra"]
        assert found.telling == 2
        assert set(found.keys[2:]) == {"name", "log"}  # they name the run
        assert [item.values[:2] for item in found.runs] == [["1e-05", None], ["1e-06", "true"]]
        assert found.left == 0
        assert query.config_differences(library.runs, max_s=-1) == found, "of runs that were read before"


def test_the_configurations_of_many_runs_are_read_bit_by_bit_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        recorded(tmp_path / "runs" / name, {"lr": name})
    seconds = itertools.count()
    monkeypatch.setattr(configs, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(configs, "AGAIN_S", -1)
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        assert [query.config_differences(library.runs, max_s=1).left for _ in range(4)] == [2, 1, 0, 0]
        (tmp_path / "runs/a/config.json").write_text('{"lr": "new"}')
        assert query.config_differences(library.runs).runs[0] == configs.ConfigItem("a", ["a"])
        monkeypatch.setattr(configs, "AGAIN_S", 1)
        found = query.config_differences(library.runs)
        assert ({item.run: item.values for item in found.runs}, found.left) == (
            {"a": ["new"], "b": ["b"], "c": ["c"]},
            0,
        )


def test_runs_are_found_by_what_their_configurations_say(tmp_path: Path) -> None:
    recorded(tmp_path / "runs/a", {"optim": {"lr": 1.5e-4}, "model": "org/Small-1B", "note": "x=y"})
    recorded(tmp_path / "runs/b", {"optim": {"lr": 1e-5}, "model": "org/Large-9B", "lr_floor": 1.5e-4})
    relax_run(tmp_path / "runs/plain")
    words = ["lr=0.00015", "optim.lr=1.5E-4", "lr<0.0001", "lr>=1e-5", "model=org/small-1b", "9b", "model=small", "r=1"]
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        found = query.runs_configured(library.runs, words)
        assert found == [["a"], ["a"], ["b"], ["a", "b"], ["a"], ["b"], [], []]


def test_hostile_configurations_are_bounded(tmp_path: Path) -> None:
    deep: Any = "end"
    for _ in range(300):
        deep = {"a": deep}
    many = {f"key{n}": n for n in range(configs.MAX_VALUES + 50)}
    found = configs.flat({"deep": deep, "long": "x" * 10_000, "k" * 5000: 1, "list": list(range(10_000)), **many})
    assert len(found) == configs.MAX_VALUES
    assert max(map(len, found.values())) <= configs.MAX_CHARS
    assert max(map(len, found)) <= configs.MAX_KEY_CHARS


def test_the_newest_step_of_each_split_has_means(tmp_path: Path, short_grpo: Path) -> None:
    relax_run(tmp_path / "run")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs
        assert query.newest(run) == {"train": query.Newest(0.5, 13.5, 8.0)}
    with Library([short_grpo]) as library:  # annotations say more of it
        (run,) = library.runs
        assert run.wait(30)
        last = query.steps(run, "train")[-1]
        assert query.newest(run)["train"].reward == pytest.approx(last.reward.mean)
