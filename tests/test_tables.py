"""Answers as tables, and in notebooks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import rolloupe
from rolloupe import Run, SampleQuery
from rolloupe.api import results
from rolloupe.api.results import SHOWN_ROWS
from tests.index.support import lines, relax_run, row
from tests.thoroughness import each


@pytest.fixture(scope="module")
def run(demo_runs: Path) -> Iterator[Run]:
    with rolloupe.open(demo_runs / "other_formats/relax") as runs:
        yield runs[0]


def test_samples_as_arrow_are_the_samples(run: Run) -> None:
    items, table = list(run.samples()), run.samples().arrow()
    assert table["id"].to_pylist() == [str(item.key) for item in items]
    assert table["reward"].to_pylist() == [item.reward for item in items]
    assert table["response"].to_pylist() == [item.response for item in items]
    metrics = table["reward.acc"].to_pylist()
    assert metrics == [item.metrics.get("reward.acc") for item in items] and any(m is not None for m in metrics)


@each(
    "asked",
    [
        SampleQuery(sort="reward", descending=True),
        SampleQuery(splits=("train",), step_min=1, step_max=1, offset=3, limit=5),
        SampleQuery(splits=("eval",), group="none"),
        SampleQuery(limit=0),
    ],
)
def test_a_query_gives_the_same_rows_both_ways(run: Run, asked: SampleQuery) -> None:
    table = run.samples(asked).arrow()
    assert table["id"].to_pylist() == [str(item.key) for item in run.samples(asked)]
    assert {"id", "reward", "prompt"} <= set(table.column_names)


def test_data_frames(run: Run) -> None:
    samples = run.samples(split="train")
    assert samples.pandas()["reward"].mean() == pytest.approx(samples.polars()["reward"].mean())
    steps = run.steps().pandas()
    assert list(steps["reward_mean"]) == [step.reward.mean for step in run.steps()]
    assert run.splits().polars()["name"].to_list() == [split.name for split in run.splits()]
    assert run.series("reward").arrow()["stats_count"].to_pylist() == [p.stats.count for p in run.series("reward")]
    assert run.groups(0).arrow()["group"].to_pylist() == [group.group for group in run.groups(0)]


def test_a_metric_that_is_called_like_a_column_keeps_its_place(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    (train / "1.jsonl").write_bytes(lines([{**row(1, 0), "step": 7, "turns": 2.5, "id": 3}]))
    with rolloupe.open(tmp_path / "run") as runs:
        table = runs.samples(step=1).arrow()
    assert len(set(table.column_names)) == len(table.column_names)
    assert (table["metric.step"].to_pylist(), table["metric.turns"].to_pylist()) == ([7.0], [2.5])
    assert table["metric.id"].to_pylist() == [3.0]


def test_in_a_notebook_text_is_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    train = relax_run(tmp_path / "run", steps=2, samples=30)
    (train / "2.jsonl").write_bytes(lines([row(2, 0, prompt=evil, response=evil, status=evil, **{evil: 1.0})]))
    with rolloupe.open(tmp_path / "run") as runs:
        shown = [
            answer._repr_html_()
            for answer in (runs, runs[0], runs.samples(step=2), runs.groups(2), runs.steps(), runs.splits())
        ]
        item, group = next(runs.samples(step=2)), runs.groups(2)[0]
        shown += [one._repr_html_() for one in (runs.sample(item.key), item, group)]  # type: ignore[pyrefly:missing-attribute]
        assert all("<script" not in html and "<img" not in html for html in shown)
        assert sum("&lt;script&gt;" in html for html in shown) == 5
        for html, one in zip(shown[-2:], (item, group), strict=True):
            assert html.count("<tr>") == 2 and f"<th>{'id' if one is item else 'reward_mean'}</th>" in html
            assert repr(one).startswith("NotebookItem(" if one is item else "NotebookGroup(")
        long = runs.samples(steps=(0, 1))._repr_html_()
        assert long.count("<tr>") == SHOWN_ROWS + 1 and f"{60 - SHOWN_ROWS} more" in long
        few = runs.samples(step=0, limit=4)._repr_html_()
        assert "more" not in few
        assert "<th>reward</th>" in few and "<th>advantage</th>" not in few, "columns without a value are left out"


def test_a_library_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "find_spec", lambda _: None)
    relax_run(tmp_path / "run", steps=1)
    with rolloupe.open(tmp_path / "run") as runs:
        for name in ("pandas", "polars"):
            with pytest.raises(ModuleNotFoundError, match=f"pip install {name}"):
                getattr(runs.steps(), name)()
