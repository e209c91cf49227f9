"""The folder of a run: where it may be, and what stands in it beside the samples: configuration, code, ranges."""

import functools
import json
import math
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rolloupe.errors import UnreadablePath
from rolloupe.formats import discover
from rolloupe.index import Library
from rolloupe.record import Recorder, RecorderWarning
from rolloupe.wire import run_items
from rolloupe.wire.runs import MetricRange
from tests.record.support import opened, recorder


def test_a_path_where_nothing_can_be_recorded_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UnreadablePath, match="cannot record at"):
        recorder(tmp_path / "file")
    with pytest.raises(ValueError, match="on_full"):
        recorder(tmp_path / "run", on_full="wait")
    (tmp_path / "later").mkdir()
    (tmp_path / "later/rolloupe.json").write_text('{"layout": "rolloupe", "version": 2}')
    with pytest.raises(UnreadablePath, match="update Rolloupe"):
        recorder(tmp_path / "later")
    assert opened(tmp_path / "later").reason.endswith("update Rolloupe")


@pytest.mark.parametrize("nowhere", ["", None, b"run", 5])
def test_no_path_is_no_folder(nowhere: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadablePath, match="cannot record at"):
        Recorder(nowhere)
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    for number, content in enumerate(['{"layout": "other"}', "[", "[" * 100_000, "null"]):
        place = tmp_path / str(number)
        place.mkdir()
        (place / "rolloupe.json").write_text(content)
        with pytest.raises(UnreadablePath):
            recorder(place)
        assert (place / "rolloupe.json").read_text() == content


def test_a_folder_that_holds_a_run_of_another_tool_is_told_once(demo_runs: Path, tmp_path: Path) -> None:
    shutil.copytree(demo_runs / "other_formats/relax", tmp_path / "run")
    with pytest.warns(RecorderWarning, match="already holds files of relax"):
        recorder(tmp_path / "run").close()
    recorder(tmp_path / "run").close()
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/data.jsonl").write_text('{"prompt": "p", "response": "r", "reward": 1}\n')
    recorder(tmp_path / "plain").close()


@pytest.mark.parametrize("producer", ["../../esc", "a/b", "x" * 300, ".hidden", "a\0b", "\ud800"])
def test_a_producer_is_a_name_and_no_path(tmp_path: Path, producer: str) -> None:
    with recorder(tmp_path / "run", producer=producer) as record:
        record.sample(step=0)
    assert len(list(opened(tmp_path / "run").samples())) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"run", "index"}


def test_the_configuration_says_what_everything_is(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", config={
        "lr": np.float32(0.5), "fn": shutil.copy, "cls": Recorder, "part": functools.partial(max, 1, key=len),
        "lambda": lambda: None, "path": Path("/a"), "set": {1}, "nan": math.nan, 3: "three", "array": np.zeros((2, 3)),
    }):  # fmt: skip
        pass
    config = opened(tmp_path / "run").config
    assert config["fn"] == "shutil.copy"
    assert config["cls"] == "rolloupe.record.recorder.Recorder"
    assert config["part"] == {"partial": "builtins.max", "args": [1], "key": "builtins.len"}
    assert config["lambda"].endswith("<lambda>")
    assert (config["path"], config["set"], config["3"], config["lr"]) == ("/a", [1], "three", 0.5)
    assert config["array"] == [[0.0] * 3] * 2
    assert math.isnan(config["nan"])


def test_a_configuration_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.json").write_text('{"architectures": ["Model"]}')
    for attempt in range(2):
        with recorder(tmp_path / "run", config={"lr": attempt}):
            pass
    assert json.loads((tmp_path / "run/config.json").read_text()) == {"architectures": ["Model"]}
    assert opened(tmp_path / "run").config == {"lr": 1}


def test_a_configuration_may_be_known_later(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.config({"lr": 1.0})
        record.config({"lr": 2.0})
    assert opened(tmp_path / "run").config == {"lr": 2.0}
    assert json.loads((tmp_path / "run/config.1.json").read_text()) == {"lr": 1.0}
    assert discover([tmp_path / "run"]).notes == []


def test_ranks_with_configurations_of_their_own_all_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    monkeypatch.setenv("WORLD_SIZE", "3")
    started = []
    for rank in (2, 1, 0):
        monkeypatch.setenv("RANK", str(rank))
        started.append(recorder(path, config={"rank": min(rank, 1)}))
    for record, expected in zip(started, ("rank2", "rank1", ""), strict=True):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            record.step_end(0)
        assert [expected in str(one.message) for one in told] == [True] * bool(expected)
        assert not record.failures
        record.close()
    assert json.loads((path / "config.json").read_text()) == {"rank": 0}
    assert json.loads((path / "config.rank2.json").read_text()) == {"rank": 1}
    assert discover([path]).notes == []
    assert opened(path).config == {"rank": 0}


def test_the_state_of_the_code_is_kept(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    git = ["git", "-C", str(code), "-c", "user.name=n", "-c", "user.email=e@x"]
    subprocess.run([*git, "init", "-q"], check=True)
    (code / "a.py").write_text("one\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    (code / "a.py").write_text("two\n")
    (code / "new.py").write_text("")
    with recorder(tmp_path / "run", code=code):
        pass
    diff = opened(tmp_path / "run").code_diff()
    assert diff.startswith("### repo: ")
    assert "-- not staged --" in diff
    assert "-one\n+two\n" in diff
    assert "-- untracked --\nnew.py\n" in diff


@pytest.mark.parametrize("wrong", [(1, 0), 1, (0,), ("a", "b"), (0, math.nan)])
def test_a_range_is_a_lowest_and_a_highest_value(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ValueError, match="lowest, highest"):
        recorder(tmp_path / "run", reward_range=wrong)


@pytest.mark.parametrize("wrong", [{"a": 1}, {"a": (1, 1)}, {"a": (0, math.inf)}, {"a": ("x", 1)}])
def test_a_metric_has_a_worst_and_a_best_value(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ValueError, match="'a'"):
        recorder(tmp_path / "run", metric_ranges=wrong)


def test_ranges_reach_the_page(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", reward_range=(0, 2), metric_ranges={"length": (400, np.int64(0))}) as record:
        record.sample(step=0, metrics={"length": 100})
    recorder(tmp_path / "run").close()  # one that says nothing of ranges leaves them
    with Library([tmp_path / "run"], index_dir=tmp_path / "index") as library:
        item = run_items.run_item(library.runs[0])
    ranges = item.reward_range, item.metric_ranges
    assert ranges == ((0, 2), [MetricRange(name="length", worst=400, best=0)])
