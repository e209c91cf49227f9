"""ms-swift: a line holds the columns of a log, and a sample is a place in them."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.formats import discover
from rolloupe.model import Problem
from tests.formats.support import items, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "ms_swift" / "run"


@pytest.mark.parametrize("place", [DATA, DATA / "completions.jsonl", DATA.parent])
def test_a_sample_is_a_place_in_the_lists_of_a_line(place: Path) -> None:
    run = only_run(place)
    assert (run.format, run.name) == ("ms_swift", "run")
    found = rows(run)
    assert [row.reward for row in found] == [1.5, 0.5, 1.0, None, 1.0, 0.0]
    assert Counter((row.step, row.group) for row in found).most_common()[0][1] == 2
    assert [row.step for row in found] == [1, 1, 1, 1, 2, 2]
    assert found[0].metrics == {"reward.MathAccuracy": 1.0, "reward.Format": 0.5, "entropy": 0.2}
    assert found[0].advantage == 0.7
    assert [row.part for row in found] == ["0", "1", "2", "3", "0", "1"]
    loaded = samples(run)
    assert [one.response_text for one in loaded] == ["The answer is 4.", "The answer is 5.", "7", "seven", "10", "11"]
    assert loaded[0].label == "4"
    assert loaded[1].extra["rollout_infos"] == {"num_turns": 2}


def test_a_list_names_the_groups_of_its_line() -> None:
    found = rows(only_run(DATA, group_by="MathAccuracy"))
    assert [row.group for row in found if row.step == 2] == ["1", "0"]


def test_lists_of_unequal_length_and_values_of_wrong_types_cost_nothing(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"step": ["1", "1"], "prompt": ["a"], "completion": ["x", "y"], "r": [1.0], "advantages": [1.0, 2.0]},
        {"step": 3, "prompt": ["a"], "completion": ["x"], "r": "no", "advantages": None},
        {"step": [], "prompt": [], "completion": []},
        {"step": ["1"], "prompt": "a", "completion": ["x"]},
    ]
    path = tmp_path / "completions.jsonl"
    write(path, *lines)
    found = items(only_run(tmp_path))
    assert len([one for one in found if not isinstance(one, Problem)]) == 3
    assert len([one for one in found if isinstance(one, Problem)]) == 1
    (tmp_path / "gz").mkdir()
    (tmp_path / "gz" / "completions.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert len(items(only_run(tmp_path / "gz"))) == 4


def test_a_line_in_the_making_is_a_problem_for_now_and_the_samples_open(tmp_path: Path, demo_index: Path) -> None:
    data = (DATA / "completions.jsonl").read_text()
    (tmp_path / "completions.jsonl").write_text(data[:-40])
    found = items(only_run(tmp_path))
    assert isinstance(found[-1], Problem) and found[-1].transient and len(found) == 5
    with rolloupe.open(DATA, index_dir=demo_index) as runs:
        assert [one.response for one in runs[0].samples() if one.step == 2] == ["10", "11"]
    assert [run.format for run in discover([DATA]).runs] == ["ms_swift"]
    assert json.loads(data.splitlines()[0])["step"][0] == "1"


def test_lines_of_megatron_and_of_ray(tmp_path: Path) -> None:
    columns = {"gen_step": [7], "prompt": ["a"], "completion": ["x"], "Acc": [1.0], "advantages": [0.5]}
    write(tmp_path / "a" / "completions.jsonl", columns)
    row = {"gen_step": 3, "prompt": "a", "completion": "x", "reward": 1.5}
    write(
        tmp_path / "b" / "completions.jsonl",
        row,
        row | {"completion": "y", "reward": float("nan")},
        row | {"gen_step": "no"},
    )
    (megatron,) = samples(only_run(tmp_path / "a"))
    assert (megatron.key.step, megatron.row.reward, megatron.row.advantage) == (7, 1.0, 0.5)
    assert "gen_step" not in megatron.extra
    first, second = samples(only_run(tmp_path / "b"))
    assert [(one.key.step, one.row.part, one.notes, one.extra) for one in (first, second)] == [(3, "", [], {})] * 2
    assert first.row.reward == 1.5 and first.row.metrics == {} and first.key.group == second.key.group
    (problem,) = [one for one in items(only_run(tmp_path / "b")) if isinstance(one, Problem)]
    assert "is not an integer" in problem.reason
