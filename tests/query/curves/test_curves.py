"""Each kind of curve, against numbers that are counted one sample after another."""

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rolloupe
from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.model import MetricRow
from rolloupe.query import CurveOptions, CurveQuery, CurveSource, SampleQuery
from rolloupe.query.filter.parser import conditions
from rolloupe.query.run import trainer_files
from rolloupe.query.run.trainer_files import MetricTable
from rolloupe.record import Recorder
from tests.index.support import opened, row
from tests.query.tokens.series_of_step import series_of_step

RUN = {step: [(step + 1) / 4, 0.5, None, 2.0] for step in range(4)}
"""The rewards of each step."""

STATUSES = ["completed", "truncated", "completed", "aborted"]


def values(run: OpenRun, kind: str, name: str = "", **options: Any) -> dict[int, float]:
    """The points of a curve."""
    more = {key: options.pop(key) for key in ("source", "stat") if key in options}
    found = query.curve(run, CurveQuery(kind=kind, name=name, **more, options=CurveOptions(**options)))
    assert found.points == len(found.steps) == len(found.values)
    return dict(zip(found.steps.tolist(), found.values.tolist(), strict=True))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    folder = tmp_path_factory.mktemp("run")
    for part in ("train", "eval"):
        for step, rewards in RUN.items():
            rows = [
                row(step, i, reward=reward, status=STATUSES[i], dataset="d", score=i * step)
                for i, reward in enumerate(rewards)
            ]
            path = folder / "rollout_result" / part / f"{step}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in rows))
    with opened(folder, tmp_path_factory.mktemp("index")) as library:
        yield library.runs[0]


def test_statistics_of_a_sample_metric(run: OpenRun) -> None:
    finite = {step: [one for one in rewards if one is not None] for step, rewards in RUN.items()}
    assert values(run, "sample", "reward") == pytest.approx({s: statistics.mean(some) for s, some in finite.items()})
    assert values(run, "sample", "reward", stat="std") == pytest.approx(
        {step: statistics.pstdev(some) for step, some in finite.items()}
    )
    for stat, of in (("min", min), ("max", max), ("count", len)):
        assert values(run, "sample", "reward", stat=stat, source="train") == {s: of(some) for s, some in finite.items()}
    assert values(run, "sample", "score", source="eval") == {step: 1.5 * step for step in RUN}
    spread = query.curve(run, CurveQuery(kind="sample", name="reward", options=CurveOptions(spread=True))).spread
    assert spread is not None and spread.tolist() == list(values(run, "sample", "reward", stat="std").values())


def test_a_point_says_on_how_many_samples_it_rests_where_some_have_no_value(run: OpenRun) -> None:
    for options in (CurveOptions(), CurveOptions(band="p5-p95"), CurveOptions(skip_first=True, last_step=2)):
        found = query.curve(run, CurveQuery(kind="sample", name="reward", options=options), query.Range(5))
        assert found.with_value is not None and found.samples is not None
        assert found.with_value.tolist() == [3] * len(found.steps)
        assert found.samples.tolist() == [4] * len(found.steps)
    median = query.curve(run, CurveQuery(kind="sample", name="reward", stat="median"))
    assert median.with_value is not None and median.with_value.tolist() == [3] * len(RUN)
    whole = query.curve(run, CurveQuery(kind="sample", name="score"))
    assert whole.with_value is whole.samples is None


def test_a_token_series_rests_on_the_samples_that_recorded_it(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        for index in range(8):
            series = {"logprobs": [-0.5, -0.25]} if index < 3 else {}
            recorder.sample(step=0, group="g", index=index, prompt="?", response="!!", reward=1, series=series)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        found = query.curve(library.runs[0], CurveQuery(kind="token", name="logprobs"))
        assert found.with_value is not None and found.samples is not None
        assert (found.with_value.tolist(), found.samples.tolist()) == ([3], [8])


def test_shares_of_all_samples_of_a_step(run: OpenRun) -> None:
    assert values(run, "share", "truncated") == dict.fromkeys(RUN, 0.25)
    assert values(run, "share", "completed", stat="count", source="eval") == dict.fromkeys(RUN, 2)
    assert values(run, "share", "error") == dict.fromkeys(RUN, 0.0)
    assert values(run, "share", "discarded") == dict.fromkeys(RUN, 0.0)


def test_what_ended_samples_is_a_share_and_a_filter(tmp_path: Path) -> None:
    words = ["SandboxError", "completed", "SandboxError", "timeout", "JudgeError", "max_turns", "completed", "error"]
    with Recorder(tmp_path / "run", code=None) as recorder:
        for index, word in enumerate(words):
            recorder.sample(step=0, group="g", index=index, prompt="?", response="!", reward=0, status=word)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        shares = {name: values(run, "share", name)[0] for name in ("environment", "grader", "timeout")}
        assert shares == {"environment": 0.25, "grader": 0.125, "timeout": 0.125}
        names = [entry.query.name for entry in query.curve_catalogue(run, "train") if entry.query.kind == "share"]
        assert [name for name in names if name in shares] == [*shares]
        found = [
            item.index
            for cause in ("environment", "limit", "unknown")
            for item in query.samples(run, SampleQuery(where=conditions(f"cause = {cause}"))).samples
        ]
        assert found == ["0", "2", "5", "7"]
        assert query.sample(run, query.samples(run, SampleQuery()).samples[0].key).row.cause == "environment"


def test_evaluations_by_step(run: OpenRun) -> None:
    (one,) = query.evals(run, "reward", 0.5, (1,))
    for stat, expected in (
        ("score", [step.score for step in one.steps]),
        ("pass_at", [step.pass_at[0] for step in one.steps]),
        ("prompts", [step.prompts for step in one.steps]),
    ):
        assert list(values(run, "eval", "reward", stat=stat, threshold=0.5).values()) == expected
    assert values(run, "eval", stat="pass_all", k=5) == {}  # no prompt has five answers: no step has an estimate
    with pytest.raises(NotFound, match="no evaluation 'train'; there are: eval/d"):
        values(run, "eval", source="train")


def test_discards_by_reason_and_token_series(demo_runs: Path, tmp_path: Path, demo_index: Path) -> None:
    with opened(demo_runs / "other_formats/rl_logging_board" / "gen_train_toy", demo_index) as library:
        toy = library.runs[0]
        steps = [0, 1, 2]
        series = {step: next(s for s in series_of_step(toy, "train", step) if s.name == "kl") for step in steps}
        for stat in ("mean", "std", "max", "count"):
            expected = {step: getattr(one.stats, stat) for step, one in series.items()}
            assert values(toy, "token", "kl", stat=stat) == expected
        with pytest.raises(BadQuery, match="no token series 'kll'; did you mean 'kl'"):
            values(toy, "token", "kll")
    with Recorder(tmp_path / "own") as recorder:
        for number, reason in enumerate(["", "stale", "stale", "no spread"]):
            recorder.sample(step=3, prompt="p", response="r", reward=0.0, discarded=reason, group=f"g{number}")
    with opened(tmp_path / "own", tmp_path / "index") as library:
        (own,) = library.runs
        assert values(own, "share", "discarded") == {3: 0.75}
        assert values(own, "share", "discarded", reason="stale") == {3: 0.5}
        assert values(own, "sample", "reward", stat="count") == {3: 1}


def test_names_that_are_unknown_come_with_those_that_are_near(run: OpenRun) -> None:
    for kind, name, message in (
        ("sample", "rewrad", "no sample metric 'rewrad'; did you mean 'reward'"),
        ("sample", "status", "no sample metric 'status'"),
        ("share", "truncate", "no share 'truncate'; did you mean 'truncated'"),
        ("trainer", "loss", "no trainer metric 'loss'; there are: none"),
        ("sampel", "reward", "no kind of curve 'sampel'; did you mean 'sample'"),
    ):
        with pytest.raises(BadQuery, match=message):
            values(run, kind, name)
    with pytest.raises(BadQuery, match="no statistic 'mode' of a curve of the kind 'sample'"):
        values(run, "sample", "reward", stat="mode")


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """A cookbook's run that logged a loss with a spike, a NaN, and a number without a step."""
    folder = tmp_path / "logged"
    folder.mkdir()
    rows: list[dict[str, Any]] = [{"step": step, "loss": step / 1000, "lr": 0.1} for step in range(5000)]
    rows[1234]["loss"], rows[4000]["loss"] = 77.0, float("nan")
    (folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in [*rows, {"eta": 3.0}]))
    (folder / "config.json").write_text("{}")
    return folder


def test_trainer_metrics_are_read_once_for_each_change(
    logged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[OpenRun] = []
    original = trainer_files.with_tracker_curves

    def counted(one: OpenRun, own: Sequence[MetricRow]) -> tuple[list[MetricRow], list[CurveSource]]:
        reads.append(one)
        return original(one, own)

    monkeypatch.setattr(trainer_files, "with_tracker_curves", counted)
    with opened(logged, tmp_path / "index") as library:
        (own,) = library.runs
        before = query.trainer_version(own)
        for name in ("loss", "lr", "loss"):
            assert len(values(own, "trainer", name)) == 5000
        assert query.metric_names(own) == ["loss", "lr", "eta"] and values(own, "trainer", "eta") == {}
        assert len(reads) == 1
        with (logged / "metrics.jsonl").open("a") as file:
            file.write('{"step": 5000, "loss": -1.0}\n')
        assert query.trainer_version(own) != before
        assert values(own, "trainer", "loss")[5000] == -1.0
        assert len(reads) == 2


def test_the_columns_of_a_log_are_kept_in_the_index(
    logged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer_files, "LEAST_POINTS", 5000)
    with opened(logged, tmp_path / "index") as library:
        (own,) = library.runs
        columns = trainer_files.metric_table(own)
        (file,) = (tmp_path / "index").rglob(trainer_files.FILE)

        def kept() -> MetricTable:
            trainer_files.kept_tables.clear()
            return trainer_files.metric_table(own)

        again = kept()
        assert again.is_mapped and not columns.is_mapped and again.nbytes < columns.nbytes / 10
        assert list(again.columns) == list(columns.columns) == ["loss", "lr", "eta"]
        for (steps, found), (own_steps, own_found) in zip(
            again.columns.values(), columns.columns.values(), strict=True
        ):
            assert steps.tolist() == own_steps.tolist() and np.array_equal(found, own_found, equal_nan=True)
        whole = file.read_bytes()
        for damaged in (b"", whole[: len(whole) // 2], whole[:-200] + b"\xff" * 200, bytes(len(whole))):
            file.unlink()  # those who map the old one keep it
            file.write_bytes(damaged)
            assert not kept().is_mapped, "read from the log, and written again"
            assert kept().is_mapped
        with (logged / "metrics.jsonl").open("a") as lines:
            lines.write('{"step": 5000, "loss": -1.0}\n')
        assert not kept().is_mapped and kept().columns["loss"][1][-1] == -1.0


def test_a_long_curve_keeps_its_extremes_and_says_how_long_it_is(logged: Path, tmp_path: Path) -> None:
    with opened(logged, tmp_path / "index") as library:
        (own,) = library.runs
        loss = CurveQuery(kind="trainer", name="loss", options=CurveOptions(smooth=20))
        short, whole = query.curve(own, loss, query.Range(50)), query.curve(own, loss)
        assert (len(short.steps) <= 50, short.points, len(whole.steps)) == (True, 5000, 5000)
        assert 1234 in short.steps and 4000 in short.steps
        assert short.smooth is not None and whole.smooth is not None
        np.testing.assert_array_equal(short.smooth, whole.smooth[short.steps])
        part = query.curve(own, loss, query.Range(None, 1200, 1240))
        assert (part.steps[0], part.steps[-1], part.points) == (1200, 1240, 41)
        assert part.smooth is not None and part.smooth.tolist() == whole.smooth[1200:1241].tolist()


def test_the_python_api_answers_the_same(logged: Path, tmp_path: Path) -> None:
    with rolloupe.open(logged, index_dir=tmp_path / "index") as runs:
        first, second = runs.curves([CurveQuery(kind="trainer", name="loss"), CurveQuery(kind="trainer", name="lr")])
        assert dict(zip(first.steps.tolist(), first.values.tolist(), strict=True))[1234] == 77.0
        assert set(second.values.tolist()) == {0.1}
        assert runs.total(SampleQuery()) == 0
        with pytest.raises(BadQuery, match="at least 5 points"):
            runs.curves([CurveQuery(kind="trainer", name="loss")], points=2)
