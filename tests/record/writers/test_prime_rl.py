"""The token export of prime-rl: the same lines as its own exporter made, from arrays of any kind."""

import contextlib
import json
import logging
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rolloupe import tokens
from rolloupe.record.writers.prime_rl import setup_token_export
from tests.forks import program
from tests.formats.support import only_run, rows, samples

DATA = Path(__file__).parents[2] / "data/prime_rl"
FILES = {
    "mini v1": (1, DATA / "mini/v1_pr2551"), "mini v2": (2, DATA / "mini/v2_pr2592"),
    "mini v4": (4, DATA / "mini/v4_pr2641"), "mini v7": (7, DATA / "mini/v7_head"),
    "v4": (4, DATA / "exports/v4_pr2641"), "v6": (7, DATA / "exports/v6_pr3189"),
}  # fmt: skip
DERIVED = (
    "mismatch_kl", "log_importance_ratio", "importance_ratio", "prob_delta", "is_masked", "is_masked_high",
    "is_masked_low",
)  # fmt: skip
HEAD = (
    "schema_version", "step", "export_step", "rank", "micro_step", "micro_sequence_idx", "export_sequence_idx",
    "run_id", "env_name", "training_mode",
)  # fmt: skip
OF_OBJECTS = {
    "id": "token_ids", "position": "position_ids", "advantage": "advantages", "reward": "rewards",
    "inference_logprob": "inference_logprobs", "trainer_logprob": "trainer_logprobs",
}  # fmt: skip


COMMON = {"inference_logprobs": "logprobs"}
"""What a series is called once it is read."""


class Tensor:
    """What is used of a torch tensor; NumPy knows no bfloat16."""

    def __init__(self, values: Any, dtype: str = "float32", *, on_cpu: bool = False) -> None:
        self.values, self.dtype, self.on_cpu = np.asarray(values), dtype, on_cpu

    def detach(self) -> "Tensor":
        return self

    def is_floating_point(self) -> bool:
        return self.dtype == "bfloat16" or self.values.dtype.kind == "f"

    def cpu(self) -> "Tensor":
        return Tensor(self.values, self.dtype, on_cpu=True)

    def float(self) -> "Tensor":
        return Tensor(self.values.astype(np.float32), on_cpu=self.on_cpu)

    def numpy(self) -> Any:
        if self.dtype == "bfloat16" or not self.on_cpu:
            raise TypeError("unsupported")
        return self.values


def written(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("rank_*.jsonl") if path.stat().st_size)


def columns(record: dict[str, Any]) -> dict[str, list[Any]]:
    """The arrays of a record of any version."""
    if "tokens" not in record:
        return {key: value for key, value in record.items() if key not in HEAD}
    names = {OF_OBJECTS.get(key, key): key for key in record["tokens"][0]}
    kept = {*OF_OBJECTS.values(), *DERIVED, "loss_mask", "entropy"}
    return {name: [one[key] for one in record["tokens"]] for name, key in names.items() if name in kept}


def packed(records: Sequence[dict[str, Any]], *, derived: bool) -> dict[str, Any]:
    """Records of one micro-batch, packed again, padding and a sequence that is not trained on between them."""
    batch: dict[str, Any] = {"env_names": [], "training_mode": records[0].get("training_mode")}
    place = 0
    for record in records:
        filler = record["micro_sequence_idx"] - place
        place = record["micro_sequence_idx"] + 1
        own = columns(record)
        size = len(own["token_ids"])
        for name, values in own.items():
            if derived or name not in DERIVED:
                fill: Any = {"token_ids": 9, "position_ids": 0, "loss_mask": False}.get(name, 0.0)
                batch.setdefault(name, []).extend([fill] * filler + values + [fill] * 2)
        batch["position_ids"][-2:] = [size, size + 1]
        batch["env_names"] += [""] * filler + [record["env_name"]] * size + [""] * 2
    return {name: values for name, values in batch.items() if not _is_null(values)}


def _is_null(values: Any) -> bool:
    return values is None or (
        isinstance(values, list)
        and all(value is None or value == 0.0 for value in values)
        and any(value is None for value in values)
    )


def export_again(source: Path, folder: Path, version: int, *, derived: bool) -> list[tuple[Path, Path]]:
    """Export what the files of a run hold; returns pairs of files."""
    pairs = []
    for path in written(source):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        run_id = records[0].get("run_id")
        batches: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for record in records:
            # what a whole batch lacks is null: sequences of different kinds come from different batches
            kind = records.index(record) if version == 7 and "mini" in str(source) else record["micro_step"]
            batches.setdefault((record["step"], kind), []).append(record)
        with setup_token_export(
            folder, rank=records[0]["rank"], version=version, run_id=run_id, strict=True
        ) as exporter:
            for (step, _), batch in batches.items():
                exporter.export(step, packed(batch, derived=derived), export_step=batch[0].get("export_step"))
        within = "/".join(path.parts[path.parts.index("token_exports") :])
        pairs.append((path, folder / (run_id or "") / within))
    return pairs


@pytest.mark.parametrize("name", [name for name in FILES if name != "mini v7"])
def test_what_the_trainer_computed_is_written_byte_for_byte(name: str, tmp_path: Path) -> None:
    version, source = FILES[name]
    for theirs, ours in export_again(source, tmp_path, version, derived=True):
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("name", list(FILES))
def test_what_is_computed_here_agrees_with_the_trainer(name: str, tmp_path: Path) -> None:
    version, source = FILES[name]
    for theirs, ours in export_again(source, tmp_path, version, derived=False):
        pairs = zip(theirs.read_text().splitlines(), ours.read_text().splitlines(), strict=True)
        for their, our in ((json.loads(a), json.loads(b)) for a, b in pairs):
            assert list(our) == list(their)
            numbers = [key for key in HEAD if not key.startswith("micro") or name != "mini v7"]
            assert {key: our.get(key) for key in numbers} == {key: their.get(key) for key in numbers}
            mine, its = columns(our), columns(their)
            for key, values in its.items():
                assert [value is None for value in mine[key]] == [value is None for value in values], key
            for key in {*its} - set(DERIVED):
                assert mine[key] == its[key], key
            ratio = np.array([value or 0.0 for value in its["importance_ratio"]])
            for key in DERIVED[:4]:
                a, b = (np.array([value or 0.0 for value in one[key]]) for one in (mine, its))
                assert (np.abs(a - b) <= 1e-6 * np.maximum(1, ratio)).all(), key
            for key in DERIVED[4:]:
                assert mine[key] == its[key]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    export_again(DATA / "exports/v4_pr2641", tmp_path, 4, derived=True)
    assert [sample.row for sample in samples(only_run(tmp_path))] == [
        sample.row for sample in samples(only_run(DATA / "exports/v4_pr2641"))
    ]


def batch(**more: Any) -> dict[str, Any]:
    """Two sequences of 3 and 2 tokens, the last trained on, and two tokens of padding."""
    return {
        "input_ids": np.array([[1, 2, 3, 4, 5, 0, 0]]), "position_ids": np.array([[0, 1, 2, 0, 1, 0, 1]]),
        "loss_mask": np.array([[False, True, True, False, True, False, False]]),
        "advantages": np.array([0.5, -0.5, 0.0]), "rewards": np.array([1.0, math.inf, 0.0]),
        "inference_logprobs": np.array([0, -1, -2, 0, -1, 0, 0], np.float32),
        "trainer_logprobs": np.array([0, -1.5, -0.5, 0, math.nan, 0, 0], np.float32),
        "entropy": np.zeros(7, np.float16), **more,
    }  # fmt: skip


def exported(folder: Path, packed_batch: Any, **options: Any) -> list[dict[str, Any]]:
    with setup_token_export(folder, strict=True, **options) as exporter:
        exporter.export(3, packed_batch)
    return [json.loads(line) for path in written(folder) for line in path.read_text().splitlines()]


def test_sequences_end_where_positions_begin_anew(tmp_path: Path) -> None:
    first, second = exported(tmp_path, batch(), env_name="toy")
    assert (first["token_ids"], second["token_ids"]) == ([1, 2, 3], [4, 5])
    assert (first["rewards"], second["rewards"]) == ([1.0] * 3, [None] * 2)
    assert first["advantages"] == [0.5] * 3 and second["trainer_logprobs"] == [0.0, None]
    assert first["is_masked_high"] == [False, False, True] and second["mismatch_kl"] == [0.0, None]
    assert first["env_name"] == "toy" and first["run_id"] is None
    assert (second["micro_sequence_idx"], second["export_sequence_idx"]) == (1, 1)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_lists_and_arrays_are_one(tmp_path: Path, dtype: str) -> None:
    made = batch()
    tensors = {name: Tensor(values, dtype if values.dtype.kind == "f" else "int64") for name, values in made.items()}
    lists = {name: values.reshape(-1).tolist() for name, values in made.items()}
    assert exported(tmp_path / "a", made) == exported(tmp_path / "b", tensors) == exported(tmp_path / "c", lists)


def test_objects_with_attributes_are_batches(tmp_path: Path) -> None:
    made = batch()
    assert exported(tmp_path / "a", type("Batch", (), made)()) == exported(tmp_path / "b", made)


@pytest.mark.parametrize(
    "padding",
    [
        {"env_names": ["e", "e", "e", "e", "e", "", ""]}, {"pad_token_id": 0},
        {"attention_mask": np.array([1, 1, 1, 1, 1, 0, 0])}, {"sequence_lengths": [3, 2, 2]},
    ],
)  # fmt: skip
def test_padding_is_trimmed_however_it_is_told(tmp_path: Path, padding: dict[str, Any]) -> None:
    options = {"pad_token_id": padding.pop("pad_token_id", None)}
    made = batch(position_ids=np.array([0, 1, 2, 0, 1, 2, 3]), advantages=None, rewards=None, **padding)
    assert [record["token_ids"] for record in exported(tmp_path, made, **options)] == [[1, 2, 3], [4, 5]]


ROWS = {
    "input_ids": [[1, 2, 3, 0], [4, 5, 0, 0], [6, 7, 8, 9]], "loss_mask": [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1]],
    "inference_logprobs": None, "trainer_logprobs": None, "entropy": None, "advantages": [0.25, 0.5, 0.75],
    "rewards": [1.0, 2.0, 3.0], "env_names": ["a", "b", "c"],
}  # fmt: skip
"""A batch of three rows with padding behind them, and one value for each."""


@pytest.mark.parametrize("options", [{}, {"pad_token_id": 0}])
@pytest.mark.parametrize(
    "positions", [[0, 1, 2, 3] * 3, [0, 1, 2, 0, 0, 1, 0, 0, 0, 1, 2, 3], [0, 1, 2, 0, 0, 1, 0, 1, 0, 1, 2, 3]]
)
def test_padding_is_no_sequence_where_there_is_a_value_for_each(
    tmp_path: Path, positions: list[int], options: dict[str, Any]
) -> None:
    made = {name: None if one is None else np.array(one) for name, one in ROWS.items()}
    found = exported(tmp_path, made | {"position_ids": np.array(positions)}, **options)
    assert [(one["rewards"][0], one["advantages"][0], one["env_name"]) for one in found] == [
        (1.0, 0.25, "a"), (2.0, 0.5, "b"), (3.0, 0.75, "c"),
    ]  # fmt: skip
    padding = 1 if positions == [0, 1, 2, 3] * 3 and not options else 0
    assert [len(one["token_ids"]) for one in found] == [3 + padding, 2 + 2 * padding, 4]


@pytest.mark.parametrize(
    ("mask", "rewards"), [([0, 1, 1, 0, 1, 0, 0], [1.0, 2.0]), ([0, 0, 0, 0, 1, 0, 0], [1.0, 2.0])]
)
def test_a_value_for_each_sequence_before_the_padding_drops_no_batch(
    tmp_path: Path, mask: list[int], rewards: list[float]
) -> None:
    found = exported(tmp_path, batch(loss_mask=np.array(mask), rewards=rewards, advantages=rewards))
    assert [one["rewards"] for one in found][-1] == [2.0, 2.0] and len(found) == 1 + mask[1]
    nothing = batch(loss_mask=np.zeros(7), rewards=rewards)
    with setup_token_export(tmp_path / "nothing", strict=True) as exporter:
        assert exporter.export(1, nothing) == 0


def test_a_sequence_without_a_trained_token_is_passed_over(tmp_path: Path) -> None:
    made = batch(loss_mask=np.array([0, 0, 0, 0, 1, 0, 0]))
    (record,) = exported(tmp_path, made)
    assert (record["token_ids"], record["micro_sequence_idx"], record["export_sequence_idx"]) == ([4, 5], 1, 0)


@pytest.mark.parametrize(
    ("version", "more"),
    [(4, {"training_mode": "sft"}), (7, {"rl_weights": np.zeros(7)}), (4, {"inference_logprobs": None})],
)
def test_without_sampled_tokens_there_are_no_ratios(tmp_path: Path, version: int, more: dict[str, Any]) -> None:
    first, _ = exported(tmp_path, batch(**more), version=version)
    assert all(value is None for key in DERIVED for value in first[key])
    assert ("rewards" in first, "rl_weights" in first) == (version == 4, version == 7)


def test_of_another_loss_there_are_no_flags(tmp_path: Path) -> None:
    first, _ = exported(tmp_path, batch(), loss_type="ipo")
    assert first["is_masked"] == [None] * 3 and first["mismatch_kl"][0] == 0.0


def test_thresholds_are_those_that_were_set(tmp_path: Path) -> None:
    first, _ = exported(tmp_path, batch(), dppo_mask_high=0.9)
    assert first["is_masked_high"] == [False] * 3


@pytest.mark.parametrize(
    "broken",
    [
        {"loss_mask": [True]}, {"input_ids": None}, {"rewards": [1.0] * 4}, {"entropy": [0.0]}, {"env_names": ["a"]},
        {"sequence_lengths": [3, 3]}, {"trainer_logprobs": ["x"] * 7},
    ],
)  # fmt: skip
def test_a_batch_that_cannot_be_written_does_not_end_training(
    tmp_path: Path, broken: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises((ValueError, TypeError)):
        exported(tmp_path / "strict", batch(**broken))
    with caplog.at_level(logging.WARNING), setup_token_export(tmp_path / "lenient") as exporter:
        assert [exporter.export(1, batch(**broken)) for _ in range(3)] == [0, 0, 0]
        assert exporter.export(1, batch()) == 2
    assert exporter.failures == 3 and len(caplog.records) == 1


def test_a_disk_that_takes_nothing_does_not_end_training(tmp_path: Path) -> None:
    (tmp_path / "token_exports").write_text("in the way")
    with setup_token_export(tmp_path) as exporter:
        assert exporter.export(1, batch()) == 0
    assert exporter.failures >= 1


def test_disabled_it_does_nothing(tmp_path: Path) -> None:
    with setup_token_export(tmp_path / "none", enabled=False) as exporter:
        assert exporter.export(1, object()) == 0
        exporter.step_end()
    assert exporter.failures == 0 and not (tmp_path / "none").exists()


def test_a_step_is_stable_once_the_next_begins(tmp_path: Path) -> None:
    exporter = setup_token_export(tmp_path, strict=True)
    stable = [tmp_path / f"token_exports/step_{step}/STABLE" for step in (1, 2)]
    exporter.export(1, batch())
    exporter.export(1, batch())
    assert not stable[0].exists()
    exporter.export(2, batch())
    assert (stable[0].exists(), stable[1].exists()) == (True, False)
    exporter.close()
    exporter.close()
    assert stable[1].exists()
    assert [row.metrics["micro_step"] for row in rows(only_run(tmp_path)) if row.step == 1] == [0, 0, 1, 1]


def test_of_several_ranks_the_last_to_end_a_step_marks_it(tmp_path: Path) -> None:
    ranks = [setup_token_export(tmp_path, rank=rank, world_size=3, strict=True) for rank in range(3)]
    folder = tmp_path / "token_exports/step_1"
    for rank in ranks[:2]:
        rank.export(1, batch())
    ranks[0].export(2, batch())
    ranks[1].close()
    assert not (folder / "STABLE").exists()
    ranks[2].step_end(1)  # it had nothing to train on
    assert sorted(path.name for path in folder.iterdir()) == ["STABLE", "rank_0.jsonl", "rank_1.jsonl"]


def test_marks_of_a_run_that_died_finish_no_step(tmp_path: Path) -> None:
    dead = setup_token_export(tmp_path, rank=1, world_size=2, strict=True)
    dead.export(1, batch())
    dead.close()
    ranks = [setup_token_export(tmp_path, rank=rank, world_size=2, strict=True) for rank in range(2)]
    stable = tmp_path / "token_exports/step_1/STABLE"
    for rank in ranks:
        assert not stable.exists()
        rank.export(1, batch())
        rank.close()
    assert stable.exists()


WORKER = """
import sys
import numpy as np
from rolloupe.record.writers.prime_rl import setup_token_export
folder, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
batch = {"input_ids": np.arange(4), "position_ids": np.arange(4), "loss_mask": np.ones(4, bool)}
with setup_token_export(folder, rank=rank, world_size=size, strict=True) as exporter:
    for step in range(40):
        exporter.export(step, batch if (step + rank) % 3 else None)
"""


def test_ranks_in_processes_of_their_own_finish_every_step(tmp_path: Path) -> None:
    size = 4
    workers = [program(WORKER, str(tmp_path), str(rank), str(size)) for rank in range(size)]
    assert [worker.wait(60) for worker in workers] == [0] * size
    for worker in workers:
        worker.close()
    folders = list((tmp_path / "token_exports").iterdir())
    assert len(folders) == 40 and all((folder / "STABLE").exists() for folder in folders)
    assert not list(tmp_path.rglob("*.ended"))
    expected = sum((step + rank) % 3 != 0 for step in range(40) for rank in range(size))
    assert len(rows(only_run(tmp_path))) == expected


def test_a_restarted_step_takes_the_place_of_the_old(tmp_path: Path) -> None:
    for _ in range(2):
        exported(tmp_path, batch())
    assert len(rows(only_run(tmp_path))) == 2
    again = setup_token_export(tmp_path, strict=True)
    again.export(3, batch())
    assert not (tmp_path / "token_exports/step_3/STABLE").exists()


def test_left_by_an_error_the_step_is_not_finished(tmp_path: Path) -> None:
    exporter = setup_token_export(tmp_path)
    with contextlib.suppress(KeyError), exporter:
        exporter.export(1, batch())
        raise KeyError
    assert not (tmp_path / "token_exports/step_1/STABLE").exists()
    assert exporter.export(1, batch()) == 0


def test_the_first_versions_append_to_one_file_a_rank(tmp_path: Path) -> None:
    with setup_token_export(tmp_path, version=2, rank=1, strict=True) as exporter:
        assert (tmp_path / "token_exports/rank_1.jsonl").read_bytes() == b""
        exporter.export(1, batch())
        exporter.export(2, batch())
    found = rows(only_run(tmp_path))
    assert [(row.step, row.index) for row in found] == [(1, "1-0"), (1, "1-1"), (2, "1-0"), (2, "1-1")]


@pytest.mark.parametrize("wrong", [{"version": 3}, {"run_id": "../up"}, {"run_id": ""}])
def test_settings_that_mean_nothing_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"version|run_id"):
        setup_token_export(tmp_path, **wrong)


sizes = st.lists(st.integers(1, 6), min_size=1, max_size=5)


@given(st.data(), sizes, st.sampled_from([1, 2, 4, 7]))
def test_whatever_numbers_a_batch_holds_they_are_read_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, lengths: list[int], version: int
) -> None:
    size = sum(lengths)
    floats = arrays.arrays(np.float32, size, elements=st.floats(width=32))
    made = {name: data.draw(floats) for name in ("inference_logprobs", "trainer_logprobs", "entropy", "advantages")}
    mask = data.draw(arrays.arrays(np.bool_, size))
    folder = tmp_path_factory.mktemp("run")
    positions = np.concatenate([np.arange(length) for length in lengths])
    batch = {**made, "token_ids": np.arange(size), "position_ids": positions, "loss_mask": mask}
    exported(folder, batch, version=version)
    found = samples(only_run(folder)) if written(folder) else []
    edges = np.cumsum([0, *lengths])
    trained = [(a, b) for a, b in pairwise(edges) if mask[a:b].any()]
    assert [sample.token_ids for sample in found] == [list(range(a, b)) for a, b in trained]
    for sample, (start, stop) in zip(found, trained, strict=True):
        series = {one.name: np.array(one.values) for one in sample.series}
        for name, values in made.items():
            mine = np.where(mask & np.isfinite(values), values, np.nan)[start:stop].astype(np.float64)
            if name in ("trainer_logprobs", "entropy"):
                mine[0] = np.nan  # garbage by design, and never shown
            assert np.array_equal(
                series.get(COMMON.get(name, name), np.full(stop - start, np.nan)), mine, equal_nan=True
            ), name


def test_the_formulas_take_any_floats() -> None:
    odd = np.array([0.0, -1.0, math.nan, math.inf, -math.inf, 800.0])
    gap = tokens.log_ratio(odd, odd[::-1])
    assert (tokens.mismatch_kl(gap)[np.isfinite(gap)] >= 0).all()
    tokens.importance_ratio(gap)
    found = tokens.DPPO.flags_of(tokens.prob_delta(odd, odd[::-1]), odd, np.ones(6, np.bool_))
    assert not (found.high & found.low).any()


def test_the_mask_at_an_advantage_of_zero_is_the_low_one() -> None:
    flags = tokens.DPPO.flags_of(np.array([-0.3, 0.3]), np.zeros(2), np.ones(2, np.bool_))
    assert [one.tolist() for one in flags] == [[True, False], [False, False], [False, False]]
    outside = tokens.DPPO.flags_of(np.array([-0.3, 0.3]), np.array([-1.0, 1.0]), np.array([True, False]))
    assert [one.tolist() for one in outside] == [[True, False], [False, False], [True, False]]


def test_a_step_that_could_not_be_written_is_never_stable(tmp_path: Path) -> None:
    with setup_token_export(tmp_path) as exporter:
        for step, broken in ((0, {"loss_mask": [True]}), (1, {}), (2, {"input_ids": None})):
            exporter.export(step, batch(**broken))
        exporter.export(2, batch())  # part of it is missing all the same
    assert [path.parent.name for path in tmp_path.rglob("STABLE")] == ["step_1"]
    assert exporter.failures == 2
