"""Token series of a step: what the index says of them is what the samples, read whole, hold."""

import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import rolloupe
from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.formats import by_name
from rolloupe.index import OpenRun
from rolloupe.index.segments import parts as grids
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from tests.index.support import eventually, opened, relax_run, row_count, tails_of
from tests.query.tokens.series_of_step import MAX_TOKENS, series_of_step

DATA = Path(__file__).parents[2] / "data/prime_rl"


def held(run: OpenRun, split: str, step: int) -> dict[str, dict[SampleKey, list[float]]]:
    """The token series of every sample of a step, by name, those without a finite value left out."""
    found: dict[str, dict[SampleKey, list[float]]] = defaultdict(dict)
    for item in query.every(run, SampleQuery(splits=(split,), step_min=step, step_max=step)):
        for series in query.sample(run, item.key).series:
            if any(map(math.isfinite, series.values)) and series.name != "loss_mask":
                found[series.name][item.key] = list(series.values)
    return found


def agrees(run: OpenRun, split: str, step: int) -> None:
    """Hold the answer against the samples themselves."""
    samples = held(run, split, step)
    answer = {one.name: one for one in series_of_step(run, split, step)}
    assert answer.keys() == samples.keys()
    for name, one in answer.items():
        values = np.concatenate([np.array(some) for some in samples[name].values()])
        finite = values[np.isfinite(values)]
        stats = one.stats
        assert (stats.count, stats.min, stats.max, stats.excluded) == (len(finite), finite.min(), finite.max(), 0)
        assert stats.mean == pytest.approx(finite.mean(), rel=1e-9, abs=1e-12)
        assert stats.std == pytest.approx(finite.std(), rel=1e-6, abs=1e-9)
        lows = sorted(min(filter(math.isfinite, some)) for some in samples[name].values())
        highs = sorted((max(filter(math.isfinite, some)) for some in samples[name].values()), reverse=True)
        assert [token.value for token in one.lowest] == lows[:MAX_TOKENS]
        assert [token.value for token in one.highest] == highs[:MAX_TOKENS]
        for token in (*one.lowest, *one.highest):
            assert samples[name][token.key][token.token] == token.value
        assert len({token.key for token in one.lowest}) == len(one.lowest)


def test_of_the_toy_run_a_step_agrees_with_its_samples(demo_runs: Path, demo_index: Path) -> None:
    with opened(demo_runs / "other_formats/rl_logging_board" / "gen_train_toy", demo_index) as library:
        run = library.runs[0]
        agrees(run, "train", 1)
        names = [one.name for one in series_of_step(run, "train", 0)]
        assert names == ["logprobs", "ref_logprobs", "values", "token_rewards", "log_ratio", "kl"]
        assert [one.stats.count for one in series_of_step(run, "train", 1)] == [492] * 6


@pytest.mark.parametrize("name", ["v1_pr2551", "v7_head"])
def test_of_prime_rl_only_tokens_under_the_mask_count(name: str, demo_index: Path) -> None:
    with opened(DATA / "mini" / name, demo_index) as library:
        run = library.runs[0]
        for split, step in run.snapshot().steps:
            agrees(run, split, step)
            found = {one.name: one.stats.count for one in series_of_step(run, split, step)}
            sampled = sum(s.response_tokens or 0 for s in query.every(run, SampleQuery(step_min=step, step_max=step)))
            assert 0 < found["trainer_logprobs"] <= sampled
            assert found["logprobs"] == sampled


@pytest.mark.parametrize(("grid", "pieces", "tails"), [(9_000, 4, 0), (2**24, 2, 1)])
def test_over_several_pieces_and_in_a_growing_file_it_is_the_same(
    grid: int, pieces: int, tails: int, demo_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grids, "GRID_BYTES", grid)
    (toy,) = (demo_runs / "other_formats/rl_logging_board" / "gen_train_toy").glob("*.jsonl")
    lines = toy.read_bytes().splitlines(keepends=True)
    file = tmp_path / "toy" / toy.name
    file.parent.mkdir()
    file.write_bytes(b"".join(lines[:40]))
    with opened(tmp_path / "toy", tmp_path / "index", follow=True, processes=1) as library:
        run = library.runs[0]
        agrees(run, "train", 2)
        with file.open("ab") as growing:
            growing.write(b"".join(lines[40:]))
        eventually(lambda: row_count(run) == len(lines) and tails_of(run) == tails)
        assert len(run.snapshot().pieces["train", 2]) >= pieces
        for step in (0, 2):
            agrees(run, "train", step)


def test_tokens_of_an_earlier_attempt_carry_its_number(tmp_path: Path) -> None:
    record = {"step": 1, "rank": 0, "micro_step": 0, "micro_sequence_idx": 0, "export_sequence_idx": 0}
    arrays = {"token_ids": [1, 2, 3], "loss_mask": [False, True, True]}
    file = tmp_path / "run/token_exports/rank_0.jsonl"
    file.parent.mkdir(parents=True)
    rows = [{**record, **arrays, "entropy": [9.0, low, 1.0]} for low in (0.25, 0.5)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (found,) = series_of_step(library.runs[0], "train", 1)
        assert [(token.key.attempt, token.token, token.value) for token in found.lowest] == [(1, 1, 0.25), (0, 1, 0.5)]
        assert found.stats.max == 1.0
        agrees(library.runs[0], "train", 1)


def test_a_curve_of_a_token_series(demo_runs: Path, demo_index: Path) -> None:
    with opened(demo_runs / "other_formats/rl_logging_board" / "gen_train_toy", demo_index) as library:
        run = library.runs[0]
        points = query.series(run, "kl")
        assert [(point.split, point.step, point.stats.count) for point in points] == [
            ("train", 0, 477), ("train", 1, 492), ("train", 2, 495),
        ]  # fmt: skip
        for point in points:
            (own,) = [one for one in series_of_step(run, "train", point.step) if one.name == "kl"]
            assert point.stats == own.stats
        assert query.series(run, "kl", "train") == points
        assert query.series(run, "kl", "eval/x") == []
        with pytest.raises(BadQuery, match="token series: logprobs"):
            query.series(run, "nothing")


def test_a_sample_metric_goes_before_a_token_series_of_its_name(tmp_path: Path) -> None:
    board = {"prompt": "p", "response": "r", "reward": 1.0, "step": 0, "logprobs": [-1.0], "ref_logprobs": [-2.0]}
    file = tmp_path / "run/rank_0.jsonl"
    file.parent.mkdir()
    file.write_text(json.dumps({**board, "log_ratio": 7.0}) + "\n")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (point,) = query.series(library.runs[0], "log_ratio")
        assert point.stats.mean == 7.0
        found = {one.name: one.stats.mean for one in series_of_step(library.runs[0], "train", 0)}
        assert found["log_ratio"] == 1.0


def test_of_trace_streams_what_annotations_add_is_among_them(demo_index: Path) -> None:
    with opened(DATA / "traces" / "run_wordle", demo_index) as library:
        run = library.runs[0]
        for split, step in run.snapshot().steps:
            agrees(run, split, step)
        (names,) = {tuple(one.name for one in series_of_step(run, "train", step)) for step in (1, 2)}
        assert names == ("logprobs", "advantages", "trainer_logprobs", "entropy", "is_masked", "mismatch_kl")


def test_of_arrays_in_plain_lines_they_are_known_from_the_samples(tmp_path: Path) -> None:
    rows = [
        {"prompt": "p", "response": "r", "reward": 1.0, "logprobs": [-1.0, None, -float(n)], "loss_mask": [0, 1, 1]}
        for n in range(40)
    ]
    (tmp_path / "run").mkdir()
    (tmp_path / "run/data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        agrees(library.runs[0], "train", 0)
        (found,) = series_of_step(library.runs[0], "train", 0)
        assert (found.name, found.stats.count, found.lowest[0].value) == ("logprobs", 40, -39.0)


def test_where_there_are_none(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert by_name(run.info.format).name == "relax"
        assert series_of_step(run, "train", 0) == []
        for split, step in (("train", 99), ("eval/x", 0)):
            with pytest.raises(NotFound):
                series_of_step(run, split, step)


def test_discarded_samples_have_no_part_in_the_series_of_a_step(tmp_path: Path) -> None:
    with rolloupe.Recorder(tmp_path / "run") as recorder:
        for index, discarded in enumerate(("", "zero_advantage")):
            values = [-3.0, -3.0] if discarded else [-1.0, -1.0]
            recorder.sample(
                step=0, group="a", index=index, prompt="2+2?", response="4 .", reward=1.0, discarded=discarded,
                series={"logprobs": values},
            )  # fmt: skip
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs
        (found,) = series_of_step(run, "train", 0)
        assert (found.stats.count, found.stats.mean, found.lowest[0].value) == (2, -1.0, -1.0)
