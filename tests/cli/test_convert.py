"""`rolloupe convert`: what arrives, what is said, what is refused, and what is left when it breaks off."""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import rolloupe as package
from rolloupe.model import Sample
from rolloupe.record.writers.relax import RelaxWriter
from tests.cli.support import FORBIDDEN, on_terminal, rolloupe, row, write_run
from tests.formats.support import only_run, samples
from tests.formats.test_telescope import RUN as TELESCOPE

DATA = Path(__file__).parents[1] / "data"


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_run_arrives_whole(run: Path, tmp_path: Path) -> None:
    before = tree(run)
    done = rolloupe("convert", run, tmp_path / "new/deep", "--to", "relax")
    assert (done.code, done.err) == (0, "")
    told = "10 samples of 3 steps (2 of train, 1 of eval/gsm8k), as relax."
    assert done.out == f"{told}\nNothing was left out: relax holds all of it.\n"
    mine, theirs = samples(only_run(tmp_path / "new/deep")), samples(only_run(run))
    assert [(s.key, s.turns, s.row.reward) for s in mine] == [(s.key, s.turns, s.row.reward) for s in theirs]
    assert tree(run) == before
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["deep"]


def logged(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(folder).items() if name.endswith(("_logtree.json", ".html"))}


def test_reports_arrive_as_they_are_where_there_is_a_place_for_them(tmp_path: Path) -> None:
    """Those of a step without a sample as well; of the others no outline is made anew."""
    source = shutil.copytree(DATA / "tinker/flat_run", tmp_path / "run")
    done = rolloupe("convert", source, tmp_path / "out", "--to", "tinker")
    assert done.code == 0 and "outlines of the trainer" not in done.out
    before, after = logged(source), logged(tmp_path / "out")
    assert len(before) == 5 and {name: after[name] for name in before} == before
    steps = {name.partition(".")[0].removesuffix("_logtree") for name in before}
    assert not {
        name for name in after.keys() - before.keys() if name.partition(".")[0].removesuffix("_logtree") in steps
    }
    with (
        package.open(source, index_dir=tmp_path / "a") as mine,
        package.open(tmp_path / "out", index_dir=tmp_path / "b") as its,
    ):
        assert its.logtree(0, "eval/test") == mine.logtree(0, "eval/test")
        assert its.sample("eval/test/0/0/0").turns == mine.sample("eval/test/0/0/0").turns
    one = rolloupe("convert", source, tmp_path / "one", "--to", "tinker", "--split", "eval/test", "--steps", "0:0")
    assert one.code == 0 and logged(tmp_path / "one").keys() == {
        "eval_test_iteration_000000.html", "eval_test_iteration_000000_logtree.json",
    }  # fmt: skip


def test_what_is_lost_is_said(demo_runs: Path, tmp_path: Path) -> None:
    done = rolloupe(
        "convert", demo_runs / "other_formats/rl_logging_board/gen_train_toy", tmp_path / "out", "--to", "relax"
    )
    assert done.out.startswith("48 samples of 3 steps, as relax.\nWhat relax cannot hold, or holds in another form:\n")
    assert "48 samples  token series logprobs" in done.out and "48 samples  response of the reference" in done.out


def test_a_script_is_told_the_same(demo_runs: Path, tmp_path: Path) -> None:
    done = rolloupe(
        "convert",
        demo_runs / "other_formats/rl_logging_board/gen_train_toy",
        tmp_path / "out",
        "--to",
        "relax",
        "--json",
    )
    told = json.loads(done.out)
    assert (done.code, list(told)) == (0, ["run", "layout", "target", "samples", "written", "steps", "left"])
    assert (told["layout"], told["samples"], told["steps"]) == ("relax", 48, 3)
    assert told["target"] == str(tmp_path / "out")
    assert told["left"]["token series logprobs"] == 48


def test_samples_that_the_layout_cannot_hold_are_not_counted_as_written(tmp_path: Path) -> None:
    with package.Recorder(tmp_path / "run", code=None) as record:
        for index in range(5):
            ids: dict[str, Any] = {"token_ids": [1, 2], "series": {"logprobs": [-0.5]}} if index < 2 else {}
            record.sample(step=0, group="g", index=index, prompt="p", response="r", reward=1.0, **ids)
    done = rolloupe("convert", tmp_path / "run", tmp_path / "out", "--to", "prime_rl")
    assert done.out.startswith("2 of 5 samples of 1 step, as prime_rl.\n")
    told = rolloupe("convert", tmp_path / "run", tmp_path / "again", "--to", "prime_rl", "--json").json
    assert (told["samples"], told["written"], told["left"]["samples without token ids"]) == (5, 2, 3)
    assert len(samples(only_run(tmp_path / "out"))) == 2


@pytest.mark.parametrize("layout", ["native", "relax"])
def test_reports_that_are_not_carried_over_are_said(tmp_path: Path, layout: str) -> None:
    source = DATA / "tinker/flat_run"
    with package.open(source, index_dir=tmp_path / "index") as runs:
        logged = runs.only().logtrees()
    done = rolloupe("convert", source, tmp_path / "out", "--to", layout, "--json")
    assert logged
    assert json.loads(done.out)["left"]["reports of the trainer (logtree)"] == len(logged)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("--split", "train"), {("train", 0), ("train", 3)}), (("--split", "eval"), {("eval/gsm8k", 3)}),
        (("--split", "eval/gsm8k", "--split", "train", "--steps", "3"), {("train", 3), ("eval/gsm8k", 3)}),
        (("--steps", "1:"), {("train", 3), ("eval/gsm8k", 3)}), (("--steps", ":2"), {("train", 0)}),
    ],
)  # fmt: skip
def test_splits_and_steps_are_chosen(
    run: Path, tmp_path: Path, words: tuple[str, ...], keys: set[tuple[str, int]]
) -> None:
    assert rolloupe("convert", run, tmp_path / "out", "--to", "relax", *words).code == 0
    assert {(one.row.split, one.row.step) for one in samples(only_run(tmp_path / "out"))} == keys


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--to", "tiny"), 2), ((), 2), (("--to", "relax", "--split", "test"), 1),
        (("--to", "relax", "--steps", "7:9"), 1), (("--to", "relax", "--run", "x"), 1),
        (("--to", "relax", "--steps", "a"), 2), (("--to", "prime_rl"), 1),
    ],
)  # fmt: skip
def test_what_makes_no_sense_leaves_nothing(run: Path, tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    done = rolloupe("convert", run, tmp_path / "new/out", *words)
    assert (done.code, done.out) == (code, "") and done.err
    assert not (tmp_path / "new").exists()


def test_what_is_missing_or_no_run(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert rolloupe("convert", tmp_path / "none", tmp_path / "out", "--to", "relax").code == 3
    assert rolloupe("convert", tmp_path / "empty", tmp_path / "out", "--to", "relax").code == 1


def test_one_of_several_runs_is_named(demo_runs: Path, tmp_path: Path) -> None:
    source = demo_runs / "other_formats/rl_logging_board"
    done = rolloupe("convert", source, tmp_path / "out", "--to", "relax")
    assert done.code == 1 and "choose one with --run" in done.err
    assert rolloupe("convert", source, tmp_path / "out", "--to", "relax", "--run", "gen_train_toy").code == 0
    assert len(samples(only_run(tmp_path / "out"))) == 48


def test_a_folder_that_is_not_empty_is_refused_unless_forced(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "train").mkdir(parents=True)
    (out / "train/0.jsonl").write_text("old")
    (out / "notes").write_text("kept")
    done = rolloupe("convert", run, out, "--to", "relax")
    assert done.code == 3 and "--overwrite" in done.err and tree(out) == {"train/0.jsonl": b"old", "notes": b"kept"}
    assert rolloupe("convert", run, out, "--to", "relax", "--overwrite").code == 0
    assert sorted(tree(out)) == ["eval/3.jsonl", "notes", "train/0.jsonl", "train/3.jsonl"]
    assert b"old" not in (out / "train/0.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize("place", [".", "rollout_result/train", "new", "..", "rollout_result/train/0.jsonl", "link"])
def test_what_is_read_is_never_written_to(own_run: Path, place: str) -> None:
    (own_run.parent / "link").symlink_to(own_run / "rollout_result")
    (own_run / "link").symlink_to(own_run.parent / "link")
    before = tree(own_run.parent)
    done = rolloupe("convert", own_run, own_run / place, "--to", "relax", "--overwrite")
    assert done.code == 3 and done.err.startswith("Error: ")
    assert tree(own_run.parent) == before


def test_a_file_is_no_place_to_write_to(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for target in ("file", "file/deep"):
        assert rolloupe("convert", run, tmp_path / target, "--to", "relax").code == 3
    assert (tmp_path / "file").read_text() == "x"
    assert rolloupe("convert", run, "", "--to", "relax").code == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("exists", [True, False])
def test_a_conversion_that_breaks_off_leaves_nothing(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, exists: bool
) -> None:
    def broken(self: RelaxWriter, split: str, step: int, samples: Iterable[Sample]) -> Any:
        (self.path / "half").write_text("half")
        next(iter(samples))
        raise error

    monkeypatch.setattr(RelaxWriter, "write", broken)
    out = tmp_path / "a/b/out"
    if exists:
        out.mkdir(parents=True)
    done = rolloupe("convert", run, out, "--to", "relax")
    assert done.code == (3 if isinstance(error, OSError) else 130)
    assert out.exists() == exists and not list((tmp_path / "a").rglob("*part*"))
    assert (tmp_path / "a").exists() == exists


def test_hostile_text_and_numbers_arrive_and_steer_no_terminal(hostile_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "evil \x1b[31m out"
    theirs = {one.row.response for one in samples(without_damage(hostile_run, tmp_path / "copy"))}
    for layout in ("relax", "rl_logging_board"):
        done = rolloupe("convert", hostile_run, out / layout, "--to", layout)
        assert done.code == 0 and not set(FORBIDDEN) & set(done.out + done.err)
        mine = {one.row.response for one in samples(only_run(out / layout))}
        assert mine == theirs
    assert "non-finite reward" in rolloupe("convert", hostile_run, out / "again", "--to", "relax").out
    values = [json.loads(line)["reward"] for line in (out / "rl_logging_board/rank_0.jsonl").read_text().splitlines()]
    assert sorted(map(str, values)) == ["-inf", "0.0", "1.0", "None", "nan"]


def without_damage(run: Path, copy: Path) -> Any:
    """A copy of the run, without its damaged line."""
    path = Path(shutil.copytree(run, copy)) / "rollout_result/train/0.jsonl"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if line.endswith("}\n")))
    return only_run(copy)


def test_earlier_attempts_are_converted_for_they_count(tmp_path: Path) -> None:
    source = write_run(tmp_path / "run", {0: [row(0, response="first"), row(1), row(0, response="second")]})
    done = rolloupe("convert", source, tmp_path / "out", "--to", "relax")
    assert "3 samples of 1 step" in done.out and "earlier attempts" not in done.out
    found = [one.row.response for one in samples(only_run(tmp_path / "out"))]
    assert found == ["first", "second", "Answer 1"]  # those of a group stand side by side


def test_a_step_larger_than_a_page_arrives_whole(tmp_path: Path) -> None:
    source = write_run(tmp_path / "run", {0: [row(n) for n in range(1201)]})
    assert "1,201 samples of 1 step, as" in rolloupe("convert", source, tmp_path / "out", "--to", "relax").out
    found = samples(only_run(tmp_path / "out"))
    assert [one.row.index for one in found] == [str(n) for n in range(1201)]


@pytest.mark.slow
def test_a_status_arrives_though_its_word_says_nothing_elsewhere(tmp_path: Path) -> None:
    """Of Telescope's `final_answer` its own format alone knows that it is complete."""
    done = rolloupe("convert", TELESCOPE, tmp_path / "out", "--to", "native")
    assert done.code == 0
    mine, theirs = samples(only_run(tmp_path / "out")), samples(only_run(TELESCOPE))
    words = {sample.row.status_raw for sample in theirs}
    assert "final_answer" in words
    assert sorted(sample.row.status for sample in mine) == sorted(sample.row.status for sample in theirs)
    assert {sample.extra.get("status_raw", sample.row.status_raw) for sample in mine} == words


def test_what_annotations_say_arrives(tmp_path: Path) -> None:
    source = DATA / "prime_rl/traces"
    assert rolloupe("convert", source, tmp_path / "out", "--to", "relax", "--index-dir", tmp_path / "index").code == 0
    found = samples(only_run(tmp_path / "out"))
    with package.open(source, index_dir=tmp_path / "index") as runs:
        said = {item.uid: item.advantage for item in runs.samples()}
    assert {one.row.uid: one.row.advantage for one in found} == said and len(said) == 6


def test_all_that_lies_beside_samples_is_counted(tmp_path: Path) -> None:
    done = rolloupe("convert", DATA / "tinker/sync_run", tmp_path / "out", "--to", "relax")
    told = " ".join(done.out.split())
    for said in ("rows trainer metrics", "checkpoints that", "1 file configuration", "1 file differences of the code"):
        assert said in told


def test_a_compressed_source_is_one_like_any_other(own_run: Path, tmp_path: Path) -> None:
    import gzip

    for path in own_run.rglob("*.jsonl"):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert rolloupe("convert", own_run, tmp_path / "out", "--to", "relax").code == 0
    assert len(samples(only_run(tmp_path / "out"))) == 10


def test_on_a_terminal_too(run: Path, tmp_path: Path) -> None:
    code, out = on_terminal("convert", run, tmp_path / "out", "--to", "rl_logging_board")
    assert code == 0 and "10 samples of 3 steps" in out


def test_where_nothing_may_be_written(run: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    place = tmp_path / "closed"
    place.mkdir(mode=0o500)
    try:
        assert rolloupe("convert", run, place / "out", "--to", "relax").code == 3
    finally:
        shutil.rmtree(place)
