"""SwanLab: tables of samples in runs of both layouts, finished or not."""

import json
import shutil
from pathlib import Path

import pytest

from rolloupe.formats import by_name, discover
from tests.formats.support import only_run, rows, samples
from tests.formats.trackers.support import means

DATA = Path(__file__).parents[2] / "data/swanlab"


@pytest.mark.parametrize("version", ["v0.7_offline", "v0.7_local", "v0.10_offline", "v0.10_local"])
def test_tables_of_verl(version: str) -> None:
    run = only_run(DATA / version)
    assert (run.format, run.name) == ("swanlab", "grpo-verl")
    assert means(rows(run)) == {
        ("eval/generations", 1): (8, 2, 0.375), ("eval/generations", 2): (8, 2, 0.642857),
        ("eval/generations", 3): (8, 2, 0.928571),
    }  # fmt: skip
    assert [turn.role for turn in samples(run)[0].turns] == ["user", "assistant"]
    assert by_name("swanlab").config(run) == {"FRAMEWORK": "verl", "lr": 1e-6, "rollout": {"n": 4}}


def test_a_run_that_goes_on_has_tables_before_its_log(tmp_path: Path) -> None:
    (whole,) = (DATA / "v0.10_offline").iterdir()
    place = shutil.copytree(whole, tmp_path / whole.name)
    next(place.glob("*.swanlab")).write_bytes(b"")
    run = only_run(tmp_path)
    assert (run.name, {row.split for row in rows(run)}, len(rows(run))) == ("yhkw23nb", {"eval/generations"}, 24)
    (place / "media/3").mkdir()
    for table in (place / "media/echarts").iterdir():
        (place / "media/3" / table.name).symlink_to(table)
    assert len(rows(only_run(tmp_path))) == 24


def test_a_chart_among_tables_without_keys_says_nothing_about_them(tmp_path: Path) -> None:
    (whole,) = (DATA / "v0.10_offline").iterdir()
    place = shutil.copytree(whole, tmp_path / whole.name)
    next(place.glob("*.swanlab")).write_bytes(b"")
    other = {"_swanLab": "table", "colDefs": [], "rowData": [{"label": "cat", "count": 1}]}
    for name, document in (("0-0123456789ab.json", {"series": []}), ("0-0123456789ac.json", other)):
        (place / "media/echarts" / name).write_text(json.dumps(document), encoding="utf-8")
    assert len(rows(only_run(tmp_path))) == 24


def test_tables_of_ms_swift_and_charts(tmp_path: Path) -> None:
    folder = tmp_path / "run-20261122_020915-a/media/1"
    folder.mkdir(parents=True)
    chart = {"xAxis": [{"data": [1, 2]}], "series": []}
    (folder / "echarts-step1-0123456789abcdef.json").write_text(json.dumps(chart), encoding="utf-8")
    assert discover([tmp_path]).runs == []
    row = {"step": "2", "prompt": "p", "completion": "c", "accuracy": 1.0, "advantages": 0.5}
    table = {"_swanLab": "table", "colDefs": [], "rowData": [row]}
    (tmp_path / "run-20261122_020915-a/media/2").mkdir()
    path = tmp_path / "run-20261122_020915-a/media/2/echarts-step9-0123456789abcdef.json"
    path.write_text(json.dumps(table), encoding="utf-8")
    (found,) = rows(only_run(tmp_path))
    assert (found.step, found.reward, found.advantage, found.split) == (2, 1.0, 0.5, "train")
