"""SkyRL: a folder a step, a file a data source, metrics beside them, and a pickle that is never loaded."""

import gzip
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe.formats import by_name, discover
from rolloupe.formats.reading import trainer_files
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trainer_files import records
from rolloupe.model import Location
from tests.formats.support import mean_reward, only_run, rows, samples

DATA = Path(__file__).parents[1] / "data" / "skyrl" / "dumped_evals"


def test_the_step_is_the_folders_and_the_split_the_files() -> None:
    run = only_run(DATA)
    found = rows(run)
    assert (run.format, run.name) == ("skyrl", "skyrl")
    assert Counter((row.split, row.step) for row in found) == {
        ("eval/openai_gsm8k", 1): 8, ("eval/openai_gsm8k", 3): 8,
    }  # fmt: skip
    assert sorted(Counter((row.step, row.group) for row in found).values()) == [4, 4, 4, 4]
    assert {(row.status, row.env, row.tags["data_source"]) for row in found} == {("completed", "gsm8k", "openai/gsm8k")}
    assert {row.index for row in found} >= {"global_step_1_evals/openai_gsm8k:0"}


def test_the_aggregated_results_are_metrics() -> None:
    metrics = by_name("skyrl").metrics(only_run(DATA))
    assert [(one.step, one.values["eval/all/avg_score"]) for one in metrics] == [(1, 0.5), (3, 0.5)]


def test_a_list_of_scores_is_summed_and_shown_as_a_series() -> None:
    last = [sample for sample in samples(only_run(DATA)) if sample.key.step == 3]
    for sample in last:
        (series,) = sample.series
        assert (series.name, sum(series.values)) == ("token_rewards", sample.row.reward)
    assert mean_reward([sample.row for sample in last]) == 0.5625
    assert last[0].label == "100"


def test_one_step_compressed_and_under_another_name(tmp_path: Path) -> None:
    data = (DATA / "global_step_3_evals" / "openai_gsm8k.jsonl").read_bytes()
    (tmp_path / "copied").mkdir()
    (tmp_path / "copied" / "openai_gsm8k.jsonl.gz").write_bytes(gzip.compress(data))
    found = rows(only_run(tmp_path / "copied"))
    assert [(row.split, row.step) for row in found] == [("eval/openai_gsm8k", 0)] * 8
    shutil.copytree(DATA / "global_step_3_evals", tmp_path / "eval_only")
    assert {row.step for row in rows(only_run(tmp_path / "eval_only"))} == {0}


def test_the_train_pickle_is_refused_by_name_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "global_step_1_training_input.pkl").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    (note,) = discover([tmp_path]).notes
    assert "a train batch of SkyRL" in note.reason and "Next: open its evaluations" in note.reason


def test_of_metrics_only_the_file_of_a_new_step_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(DATA, tmp_path / "run")
    run = only_run(tmp_path / "run")
    opened: list[str] = []

    def counted(location: Location | None) -> Iterator[Record]:
        opened.append(location.path if location else "")
        return records(location)

    monkeypatch.setattr(trainer_files, "records", counted)
    first = by_name("skyrl").metrics(run)
    assert len(opened) == 2 and by_name("skyrl").metrics(run) == first and len(opened) == 2
    (third,) = (tmp_path / "run").rglob("global_step_3_evals")
    shutil.copytree(third, third.with_name("global_step_4_evals"))
    assert [one.step for one in by_name("skyrl").metrics(run)] == [1, 3, 4] and len(opened) == 3
    (third / "aggregated_results.jsonl").write_text('{"eval/all/avg_score": 0.75}\n')
    assert [one.values.get("eval/all/avg_score") for one in by_name("skyrl").metrics(run)] == [0.5, 0.75, 0.5]
    assert len(opened) == 4 and opened[-1].startswith(str(third))
