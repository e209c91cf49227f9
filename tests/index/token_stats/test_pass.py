"""The pass over tokens: what it writes, when, and that it comes back the same."""

import json
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rolloupe
from rolloupe import query
from rolloupe.errors import SourceChanged
from rolloupe.index import OpenRun
from rolloupe.index.segments import parts as grids
from rolloupe.index.token_stats import files
from rolloupe.query import SampleQuery, Stats
from rolloupe.query.filter.parser import conditions
from rolloupe.query.run_tokens.statistics import token_series_answer
from rolloupe.query.steps.moments import token_points
from rolloupe.query.tokens.page import series_of
from rolloupe.questions import TokenSeriesQuery
from rolloupe.record import Recorder
from rolloupe.tokens import token_count
from tests.forks import program
from tests.formats.prime_rl.test_traces import RUN as WORDLE
from tests.index.support import SteppedClock, contents, relax_run, settled
from tests.query.sample.test_annotations import append, note
from tests.query.tokens.series_of_step import series_of_step
from tests.server.support import get, run_path, served
from tests.thoroughness import amount

SCRIPT = """
import sys
from rolloupe.index import Library
with Library([sys.argv[1]], index_dir=sys.argv[2]) as library:
    print("started", flush=True)
    library.runs[0].wait_all()
"""


def line(step: int, index: int, tokens: int = 50, **more: Any) -> str:
    rng = np.random.default_rng(step * 1000 + index)
    logprobs, ref = (-rng.exponential(1, tokens) for _ in range(2))
    return json.dumps({
        "prompt": "p", "response": "r", "reward": 1.0, "step": step, "logprobs": logprobs.tolist(),
        "ref_logprobs": ref.tolist(), "response_tokens": [f"t{n % 7}" for n in range(tokens)], **more,
    })  # fmt: skip


def board_run(folder: Path, steps: int = 3, samples: int = 20) -> Path:
    """A run of RLLoggingBoard, whose lines hold token series."""
    folder.mkdir(parents=True, exist_ok=True)
    for step in range(steps):
        text = "\n".join(line(step, index) for index in range(samples)) + "\n"
        (folder / f"rollout_data_rank0_{step}.jsonl").write_text(text)
    return folder


def counted(run: OpenRun) -> dict[int, int]:
    """The tokens of each step."""
    return {one.step: one.tokens for one in query.token_stats(run, SampleQuery(), "logprobs").steps}


def test_a_run_without_token_series_pays_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relax_run(tmp_path / "run")
    monkeypatch.setattr(files, "rows_of", lambda path: pytest.fail("read a second time"))
    with settled(tmp_path / "run", tmp_path / "index") as library:
        assert not list((tmp_path / "index").rglob("*.tokens.parquet"))
        assert query.samples(library.runs[0], SampleQuery(sort="derived.max_kl")).pending == 0
        answer = query.worst_tokens(library.runs[0], SampleQuery(), "logprobs")
        assert (answer.tokens, answer.coverage.pending) == ([], 0)


def test_killed_and_started_again_the_files_are_the_same(tmp_path: Path) -> None:
    run = board_run(tmp_path / "run", steps=amount(8, 60))
    settled(run, tmp_path / "whole").close()
    expected = contents(tmp_path / "whole")
    assert any(name.endswith(".tokens.parquet") for name in expected)
    for attempt in range(amount(2, 10)):
        process = program(SCRIPT, str(run), str(tmp_path / "index"))
        assert process.stdout.readline() == b"started\n"
        time.sleep(0.05 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.close()
    settled(run, tmp_path / "index").close()
    assert contents(tmp_path / "index") == expected


def test_two_viewers_write_the_same_and_both_know_it(tmp_path: Path) -> None:
    run = board_run(tmp_path / "run", steps=4)
    settled(run, tmp_path / "whole").close()
    found: list[dict[int, int]] = []

    def view() -> None:
        with settled(run, tmp_path / "index") as library:
            found.append(counted(library.runs[0]))

    viewers = [threading.Thread(target=view) for _ in range(2)]
    for viewer in viewers:
        viewer.start()
    for viewer in viewers:
        viewer.join()
    assert found == [dict.fromkeys(range(4), 20 * 50)] * 2
    assert contents(tmp_path / "index") == contents(tmp_path / "whole")


def test_files_of_an_older_version_are_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = board_run(tmp_path / "run")
    settled(run, tmp_path / "index").close()
    before = {path.name for path in (tmp_path / "index").rglob("*.tokens.parquet")}
    monkeypatch.setattr(files, "VERSION", files.VERSION + 1)
    with settled(run, tmp_path / "index") as library:
        assert counted(library.runs[0]) == dict.fromkeys(range(3), 1000)
    after = {path.name for path in (tmp_path / "index").rglob(f"*.{files.VERSION}.*tokens.parquet")}
    assert len(after) == len(before) == 6 and after.isdisjoint(before)


@pytest.mark.parametrize("harm", ["gone", "torn"])
def test_a_file_that_is_harmed_is_written_again(tmp_path: Path, harm: str) -> None:
    run = board_run(tmp_path / "run")
    with settled(run, tmp_path / "index") as library:
        opened_run = library.runs[0]
        path = min((tmp_path / "index").rglob("*.tokens.parquet"))
        if harm == "gone":
            path.unlink()
        else:
            path.write_bytes(bytes(path.stat().st_size))
        answer = query.token_stats(opened_run, SampleQuery(), "logprobs")
        assert len(answer.steps) == 2 and answer.coverage.pending == 20
    path.unlink(missing_ok=True)
    with settled(run, tmp_path / "index") as library:
        assert counted(library.runs[0]) == dict.fromkeys(range(3), 1000)


def test_a_growing_file_is_followed(tmp_path: Path) -> None:
    run, clock = board_run(tmp_path / "run", steps=2), SteppedClock()
    with settled(run, tmp_path / "index", follow=True, clock=clock) as library:
        opened_run = library.runs[0]
        with (run / "rollout_data_rank0_1.jsonl").open("a") as file:
            file.write(line(1, 99) + "\n")
        with (run / "rollout_data_rank0_2.jsonl").open("w") as file:
            file.write(line(2, 0) + "\n")
        clock.until(lambda: 2 in counted(opened_run))
        clock.until(lambda: query.token_stats(opened_run, SampleQuery(), "logprobs").coverage.samples == 42)
        answer = query.token_stats(opened_run, SampleQuery(), "logprobs")
        tokens = sum(one.tokens for one in answer.steps)
        assert tokens == 50 * (answer.coverage.samples - answer.coverage.pending)
        clock.until(lambda: counted(opened_run) == {0: 1000, 1: 1050, 2: 50})


def test_over_several_parts_of_a_file_the_sums_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = board_run(tmp_path / "run", steps=1)
    with settled(run, tmp_path / "whole") as library:
        whole = query.token_stats(library.runs[0], SampleQuery(), "kl").steps
    monkeypatch.setattr(grids, "GRID_BYTES", 9_000)
    with settled(run, tmp_path / "index") as library:
        assert len(library.runs[0].snapshot().segments) > 3
        (one,) = query.token_stats(library.runs[0], SampleQuery(), "kl").steps
    assert one.percentiles == whole[0].percentiles and one.tokens == whole[0].tokens
    assert one.mean == pytest.approx(whole[0].mean, rel=1e-12)


def test_a_record_whose_tokens_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    with rolloupe.Recorder(tmp_path / "run") as recorder:
        for index in range(4):
            series = {"logprobs": -np.ones(10, np.float32), "token_ids": np.arange(10, dtype=np.int32)}
            recorder.sample(step=0, group="g", index=str(index), prompt="p", response="r", series=series)
        recorder.step_end(0)
    samples = next((tmp_path / "run" / "samples").iterdir())
    text = samples.read_text().splitlines()
    text[1] = text[1].replace('"row": 1', '"row": 9').replace('"row":1', '"row":9')
    samples.write_text("\n".join(text) + "\n")
    with settled(tmp_path / "run", tmp_path / "index") as library:
        assert counted(library.runs[0]) == {0: 30}


def test_of_a_step_that_was_recorded_again_only_the_newest_launch_counts(tmp_path: Path) -> None:
    for _ in range(2):
        with rolloupe.Recorder(tmp_path / "run") as recorder:
            series = {"logprobs": -np.ones(10, np.float32)}
            recorder.sample(step=0, group="g", index="0", prompt="p", response="r", series=series)
            recorder.step_end(0)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        stats = run.snapshot().steps["train", 0]
        assert counted(run) == {0: 10 * stats.rows}
        assert query.token_stats(run, SampleQuery(), "logprobs").coverage.samples == stats.rows


def test_annotations_that_come_later_are_read_with_their_samples_and_with_no_others(
    tmp_path: Path,
) -> None:
    rng, uids = np.random.default_rng(0), []
    recorders = [rolloupe.Recorder(tmp_path / "run", producer=name) for name in ("a", "b")]
    with recorders[0], recorders[1]:
        for number in range(6):
            recorder = recorders[number % 2]
            series = {"token_ids": np.arange(10, dtype=np.int32), "logprobs": -rng.exponential(1, 10)}
            uids.append(recorder.sample(step=0, group="g", index=str(number), prompt="p", response="r", series=series))
    clock = SteppedClock()
    with settled(tmp_path / "run", tmp_path / "index", follow=True, clock=clock) as library:
        run = library.runs[0]
        assert all(series.name != "mismatch_kl" for series in token_series_answer(run, TokenSeriesQuery()).series)
        written = {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*.tokens.parquet")}
        with rolloupe.Recorder(tmp_path / "run", producer="c") as recorder:
            for number in (0, 2, 4, 0):
                series = {"trainer_logprobs": -rng.exponential(1, 10), "loss_mask": [0, 0, *[1] * 8]}
                recorder.annotate(uids[number], advantage=number - 2.0, series=series)
            recorder.annotate("nobody", advantage=1.0)
        asked = SampleQuery(where=conditions("max_mismatch_kl > 0"))
        clock.until(lambda: query.samples(run, asked).total == 3)
        names = ("mismatch_kl", "advantages", "logprobs")
        expected: dict[str, list[float]] = {name: [] for name in names}
        for item in query.every(run, SampleQuery()):
            sample = query.sample(run, item.key)
            for one in series_of(sample, token_count(sample)):
                if one.name in expected:
                    expected[one.name] += one.values[np.isfinite(one.values)].tolist()
        for name in names:
            (found,) = query.token_stats(run, SampleQuery(), name).steps
            assert found.tokens == len(expected[name]) == {"logprobs": 54}.get(name, 24)
            assert found.mean == pytest.approx(np.mean(expected[name]))
        assert {one.rule for one in query.masked_shares(run, SampleQuery()).shares} >= {"ppo", "dppo"}
        untouched = [path for path, time_ns in written.items() if path.stat().st_mtime_ns == time_ns]
        assert len(written) == 4 and len(untouched) >= 2
    for name in ("index", "other"):  # the last turn of the first may have ended before it tidied up
        settled(tmp_path / "run", tmp_path / name).close()
    assert contents(tmp_path / "index") == contents(tmp_path / "other")


def test_samples_that_an_annotation_discards_count_no_longer_and_again_when_a_newer_one_keeps_them(
    tmp_path: Path,
) -> None:
    uids = []
    with rolloupe.Recorder(tmp_path / "run", producer="a") as recorder:
        for number in range(6):
            own: dict[str, Any] = {
                "tokens": ["a", "b", f"c{number}", "d"],
                "series": {"logprobs": [-1.0 - number] * 4, "trainer_logprobs": [-1.5] * 4},
                "discarded": "in its record" if number == 5 else None,
            }
            uids.append(recorder.sample(step=0, prompt=f"p{number}", response="abcd", advantage=1.0, **own))
        recorder.sample(step=0, prompt="p6", response="without tokens")
    whole = SampleQuery()

    def counts(run: OpenRun) -> tuple[set[str], int, int, set[int]]:
        words = query.words_of_steps(run, whole, by="tokens").words
        first = sum(one.tokens[0] for one in query.position_curves(run, whole, "logprobs").curves)
        shares = query.masked_shares(run, whole).shares
        own = {one.word for one in words if one.word.startswith("c")}
        return own, sum(counted(run).values()), first, {one.tokens for one in shares if one.rule == "ppo"}

    def of(*numbers: int) -> tuple[set[str], int, int, set[int]]:
        """What all answers about whole steps say if just these samples count, each with a string of its own."""
        total = 4 * len(numbers)
        return {f"c{number}" for number in numbers}, total, len(numbers), {total}

    def step_series(run: OpenRun) -> tuple[Stats, Stats, list[float]]:
        """The logprobs in the curve and at the step, and the extremes there."""
        (point,) = token_points(run, "logprobs")
        (found,) = [one for one in series_of_step(run, "train", 0) if one.name == "logprobs"]
        return point.stats, found.stats, [one.value for one in (*found.lowest, *found.highest)]

    def become(run: OpenRun, *numbers: int) -> bool:
        try:
            values = np.repeat([-1.0 - number for number in numbers], 4)
            curve, step, extremes = step_series(run)
            for stats in (curve, step):
                expected = (len(values), values.mean(), values.std(), values.min(), values.max())
                if (stats.count, stats.mean, stats.std, stats.min, stats.max) != pytest.approx(expected):
                    return False
            return counts(run) == of(*numbers) and {*extremes} == {*values.tolist()}
        except (SourceChanged, ValueError):  # a file is being written or read again
            return False

    clock = SteppedClock()
    with settled(tmp_path / "run", tmp_path / "index", follow=True, clock=clock) as library:
        run = library.runs[0]
        assert become(run, 0, 1, 2, 3, 4)
        with rolloupe.Recorder(tmp_path / "run", producer="b") as recorder:
            recorder.annotate(uids[1], discarded="zero advantage")
            recorder.annotate(uids[2], discarded="zero advantage")
            recorder.annotate(uids[3], metrics={"rank": 3.0})
            recorder.annotate(uids[5], discarded="")
        clock.until(lambda: become(run, 0, 3, 4, 5))
        inputs = query.update_inputs(query.with_group_advantages(run, query.whole(run, "train", 0)))
        update = query.grouped_update(inputs, query.choice_of(None, "ppo"))
        assert {*update.by_string} - {"a", "b", "d"} == of(0, 3, 4, 5)[0] and update.left_out["discarded"] == 2
        nowhere = SampleQuery(where=conditions('token "zzzz"'), trained=True)
        assert "1 of 5 samples have no tokens." in query.why_none(run, nowhere)
        with rolloupe.Recorder(tmp_path / "run", producer="c") as recorder:
            recorder.annotate(uids[2], discarded="")
            recorder.annotate(uids[0], discarded="zero advantage")
            recorder.annotate(uids[1], metrics={"rank": 1.0})
        clock.until(lambda: become(run, 2, 3, 4, 5))
    with settled(tmp_path / "run", tmp_path / "other") as library:
        assert become(library.runs[0], 2, 3, 4, 5)
    settled(tmp_path / "run", tmp_path / "index").close()  # the last turn may have ended before it tidied up
    assert contents(tmp_path / "index") == contents(tmp_path / "other")


def test_a_trace_that_an_annotation_discards_does_not_count_with_any_of_its_branches(tmp_path: Path) -> None:
    run = shutil.copytree(WORDLE, tmp_path / "run")
    append(run, "annotations/orch/00009", note("e3e70682c2094cac629f6fbed82c07cd", effective=False))
    with settled(run, tmp_path / "index") as library:
        opened_run = library.runs[0]
        trained: dict[int, int] = {}
        for sample in (one for step in (1, 2) for one in query.whole(opened_run, "train", step)):
            (found,) = (one for one in series_of(sample, token_count(sample)) if one.name == "logprobs")
            if not sample.row.discarded:
                trained[sample.key.step] = trained.get(sample.key.step, 0) + int(np.isfinite(found.values).sum())
        assert counted(opened_run) == trained
    with settled(WORDLE, tmp_path / "whole") as library:
        whole = counted(library.runs[0])
        assert whole[1] > trained[1] and whole[2] == trained[2]


def test_the_rule_of_the_run_has_its_thresholds_however_late_and_often_they_are_configured(tmp_path: Path) -> None:
    ratios = np.array([0.85, 1.05, 1.15, 1.25])

    def shares(low: float, high: float) -> None:
        with settled(tmp_path / "run", tmp_path / "index") as library:
            found = query.masked_shares(library.runs[0], SampleQuery()).shares
            (own,) = (one for one in found if one.rule == "ppo")
            assert own.thresholds == {"low": low, "high": high} and own.masked == (ratios > 1 + high).mean()
            (usual,) = (one for one in found if one.rule == "dapo")
            assert usual.thresholds == {"low": 0.2, "high": 0.28} and usual.masked == 0
            app, loss = served(library), query.loss_of(library.runs[0])
            rules = get(app, f"{run_path(app)}/token-masks?split=train").json["rules"]
            assert {one["rule"]: one["is_of_run"] for one in rules}["ppo"] is (loss is not None)

    with Recorder(tmp_path / "run", code=None) as recorder:
        series = {"logprobs": [-1.0] * 4, "trainer_logprobs": (np.log(ratios) - 1).tolist()}
        recorder.sample(step=0, prompt="p", response="abcd", tokens=[*"abcd"], advantage=1.0, series=series)
    shares(0.2, 0.2)
    for low, high in ((0.1, 0.1), (0.0, 0.0)):
        (tmp_path / "run/config.json").write_text(json.dumps({"clip_low": low, "clip_high": high}))
        shares(low, high)
