"""Discovery: what is found below a path, and what is said of everything else."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from rolloupe.errors import NotRecognised, UnreadablePath
from rolloupe.formats import by_name, discover, discovery
from rolloupe.formats.reading import files
from rolloupe.model import Reading, RunInfo
from tests.formats.support import only_run, rows, write

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LENIENT = ("native", "tinker", "prime_rl", "prime_rl_traces", "relax", "rl_logging_board", "generic")
"""Formats that a record with a bit of each suffices for. The contract tries the others on files of their own."""

RELAX: dict[str, Any] = {"rollout_id": 0, "sample_index": 0, "prompt": "p", "response": "r", "reward": 1}
ROW: dict[str, Any] = {"prompt": "p", "response": "r", "score": 1}


def reasons(path: Path, **options: Any) -> dict[str, str]:
    """The notes of a discovery by the path below the root."""
    return {os.path.relpath(note.path, path): note.reason for note in discover([path], Reading(**options)).notes}


def test_the_demo_holds_runs_of_three_formats(demo_runs: Path) -> None:
    found = discover([demo_runs])
    assert {(run.name, run.format) for run in found.runs} >= {
        ("relax", "relax"), ("eval_poem_task", "rl_logging_board"), ("gen_train_toy", "rl_logging_board"),
        ("verl_math", "verl"),
    }  # fmt: skip
    assert all(run.reason and Path(run.root).is_absolute() for run in found.runs)


def test_a_folder_of_a_recorded_run_stands_for_the_run(demo_runs: Path) -> None:
    run = demo_runs / "tiny_grpo"
    for part in (run / "samples", run / "metrics", next((run / "samples").iterdir())):
        assert [(found.format, found.root) for found in discover([part]).runs] == [("native", str(run))]
    assert [found.root for found in discover([run, run / "samples"]).runs] == [str(run)]


def test_many_runs_below_a_root_are_all_listed_under_names_that_differ(tmp_path: Path) -> None:
    for place in ("a/seed1", "b/seed1", "b/seed2"):
        write(tmp_path / place / "rollout_result/train/0.jsonl", RELAX)
    assert [run.name for run in discover([tmp_path]).runs] == ["a-seed1", "b-seed1", "seed2"]


def test_what_lies_below_two_paths_is_found_once(tmp_path: Path) -> None:
    write(tmp_path / "run/rollout_result/train/0.jsonl", RELAX)
    assert len(discover([tmp_path, tmp_path / "run"]).runs) == 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a.pt", "never unpickles"), ("a.pkl", "never unpickles"), ("a.arrow", "columnar"), ("a.zip", "archives"),
        ("a.parquet", "no Parquet file"), ("a.db", "databases"), ("a.html", "pages"), ("a.json", "documents"),
    ],
)  # fmt: skip
def test_files_of_known_kinds_are_named_with_what_they_are(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04.")
    assert says in reasons(tmp_path)["."]
    (note,) = discover([tmp_path / name]).notes
    assert says in note.reason


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.csv"])
def test_text_in_another_encoding_is_named_with_what_to_do(tmp_path: Path, name: str, encoding: str) -> None:
    data = '{"prompt": "a", "response": "b", "score": 1}\n'.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = discover([tmp_path])
    assert not found.runs
    assert "text in UTF-16, and Rolloupe reads UTF-8. Next: convert it" in found.notes[0].reason


@pytest.mark.parametrize(("ending", "compress"), [(".gz", gzip.compress), (".zst", zstd.compress)])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_compressed_files_under_a_plain_name_are_named_with_what_to_do(
    tmp_path: Path, name: str, ending: str, compress: Callable[[bytes], bytes]
) -> None:
    (tmp_path / name).write_bytes(compress(b'{"prompt": "a", "response": "b", "score": 1}\n'))
    assert f"its name does not end in {ending}. Next: append {ending} to its name" in reasons(tmp_path)["."]


def test_equal_reasons_of_a_folder_are_said_once(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.pt").write_bytes(b"\x80\x04.")
    (note,) = discover([tmp_path]).notes
    assert note.reason.startswith("9 files (0.pt, 1.pt, 2.pt, ...): PyTorch pickles")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty so far"),
        (b"hello\n", "not JSON: Expecting value"),
        (b"[1]\n", "not a JSON object but an array"),
        (b'{"epoch": 1, "loss": 2}\n', "neither text nor score under a usual name (keys: epoch, loss)"),
        (b'{"prompt": "p", "response": "r"}\n', "no score"),
        (b'{"tokens": [1], "reward": 1}\n', "no text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "not downloaded"),
        (b'{"responses_create_params": {}, "_ng_task_index": 0}\n', "inputs of NeMo-Gym"),
        (b'{"mean/reward": 0.0, "std/reward": 0.0, "sample": {}}\n', "statistics of NeMo-Gym"),
        (b"<PLACEHOLDER ROW>\n" * 5, "placeholders of NeMo-Gym"),
        (b'{"x": "' + b"y" * 3_000_000, "neither text nor score"),
        (b"y" * 3_000_000, "no JSON object in the first MiB"),
    ],
)
def test_lines_that_no_format_reads_are_explained(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "run" / "data.jsonl"
    path.parent.mkdir()
    path.write_bytes(content)
    assert says in reasons(tmp_path)["run"]
    found = discover([path])
    assert found.runs == []
    assert says in found.notes[0].reason


@pytest.mark.parametrize(
    ("there", "read"),
    [
        (("0.jsonl", "0.jsonl.gz"), "0.jsonl"),
        (("0.jsonl", "0.jsonl.zst"), "0.jsonl"),
        (("0.jsonl.gz", "0.jsonl.zst"), "0.jsonl.zst"),
    ],
)
def test_of_a_file_that_lies_there_twice_the_other_says_that_it_is_the_same(
    there: tuple[str, str], read: str, tmp_path: Path
) -> None:
    for name in there:
        line = json.dumps(RELAX).encode() + b"\n"
        packed = {".gz": gzip.compress(line), ".zst": zstd.compress(line)}
        (tmp_path / name).write_bytes(packed.get(Path(name).suffix, line))
    run = only_run(tmp_path)
    assert [source.name for source in by_name("relax").sources(run)] == [read]
    (other,) = {*there} - {read}
    assert reasons(tmp_path) == {
        ".": f"{other}: a file of the same name, plain or as `.zst`, lies beside it: that one counts"
    }


def test_an_empty_folder_and_one_of_other_files_are_explained(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("hello")
    assert reasons(tmp_path / "empty") == {".": "an empty folder"}
    for name in "abcd":
        (tmp_path / "empty" / name).mkdir()
    assert reasons(tmp_path / "empty") == {".": "4 empty folders (a, b, c, ...)"}
    assert "nothing here that a format reads. Next: name the folder of a run" in reasons(tmp_path / "other")["."]


@pytest.mark.parametrize("format", ["", "relax"])
def test_a_path_that_is_missing_is_an_error(tmp_path: Path, format: str) -> None:
    with pytest.raises(UnreadablePath, match="does not exist"):
        discover([tmp_path / "missing"], Reading(format=format))
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UnreadablePath, match="does not exist"):
        discover([tmp_path / "broken"], Reading(format=format))


def test_what_is_neither_a_folder_nor_a_file_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(UnreadablePath, match="neither"):
        discover([tmp_path / "pipe.jsonl"])
    assert discover([tmp_path]).runs == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    shut = tmp_path / "shut"
    shut.mkdir(mode=0)
    assert "Permission denied" in reasons(tmp_path)["shut"]
    with pytest.raises(UnreadablePath, match="permissions"):
        discover([shut])


@pytest.mark.parametrize("name", ["project.db", "log.json", "0.pt", "1.jsonl", "1.parquet"])
def test_a_file_that_cannot_be_read_is_not_taken_for_one_of_no_format(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(b"x")

    def refuse(path: str, *given: Any, **named: Any) -> int:
        if str(path).endswith(name):
            raise PermissionError(13, "Permission denied")
        return opened(path, *given, **named)

    opened = os.open
    monkeypatch.setattr(os, "open", refuse)
    (note,) = discover([tmp_path]).notes
    assert note.reason == f"{name}: could not be read: Permission denied. Next: allow it to be read"


def test_a_folder_that_cannot_be_read_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "good" / "1.jsonl", ROW)
    (tmp_path / "shut").mkdir()
    listing = files.entries

    def refuse(folder: str, link_root: str) -> Any:
        if folder.endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return listing(folder, link_root)

    monkeypatch.setattr(discovery, "entries", refuse)
    assert reasons(tmp_path) == {"shut": "could not be read: Permission denied. Next: allow it to be read"}
    assert len(discover([tmp_path]).runs) == 1


def test_links_out_of_the_root_are_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "away" / "run" / "1.jsonl", ROW)
    write(tmp_path / "root" / "here" / "2.jsonl", ROW)
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "away" / "run")
    (tmp_path / "root" / "here" / "3.jsonl").symlink_to(tmp_path / "away" / "run" / "1.jsonl")
    found = discover([tmp_path / "root"])
    assert [run.name for run in found.runs] == ["here"]
    assert [row.index for row in rows(found.runs[0])] == ["2:0"]
    assert all("a link out of the root" in note.reason and "--follow-symlinks" in note.reason for note in found.notes)
    assert {Path(note.path).name for note in found.notes} == {"linked", "3.jsonl"}

    followed = discover([tmp_path / "root"], Reading(follow_symlinks=True))
    assert {run.name: len(rows(run)) for run in followed.runs} == {"here": 2, "run": 1}
    assert followed.notes == []


def test_a_split_behind_a_link_is_read_if_asked(tmp_path: Path) -> None:
    write(tmp_path / "disk" / "train" / "0.jsonl", RELAX)
    result = tmp_path / "run" / "rollout_result"
    write(result / "eval" / "0.jsonl", RELAX)
    (result / "train").symlink_to(tmp_path / "disk" / "train")
    assert {row.split for row in rows(only_run(tmp_path / "run"))} == {"eval/default"}
    followed = only_run(tmp_path / "run", follow_symlinks=True)
    assert {row.split for row in rows(followed)} == {"eval/default", "train"}


def test_a_link_within_the_root_is_the_run_it_leads_to(tmp_path: Path) -> None:
    write(tmp_path / "run_17" / "1.jsonl", ROW)
    (tmp_path / "latest").symlink_to("run_17")
    (tmp_path / "run_17" / "again").symlink_to("..")
    assert [run.name for run in discover([tmp_path]).runs] == ["run_17"]
    assert [run.name for run in discover([tmp_path / "latest"]).runs] == ["run_17"]


def test_names_with_spaces_and_letters_of_all_kinds_are_read(tmp_path: Path) -> None:
    write(tmp_path / "мой run 你好 %2F" / "a b?#.jsonl", ROW)
    run = only_run(tmp_path)
    assert run.name == "мой run 你好 %2F"
    assert rows(run)[0].index == "a b?#:0"


def test_a_name_that_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "good.jsonl", ROW)
    bad = os.path.join(os.fsencode(tmp_path), b"bad\xff.jsonl")
    try:
        shutil.copy(os.fsencode(tmp_path / "good.jsonl"), bad)
    except OSError:
        pytest.skip("this file system refuses such names")
    found = discover([tmp_path])
    assert len(rows(found.runs[0])) == 1
    assert found.notes[0].path.endswith(r"bad\xff.jsonl")
    assert "not valid UTF-8" in found.notes[0].reason
    with pytest.raises(UnreadablePath, match="UTF-8"):
        discover([Path(os.fsdecode(bad))])


def test_hidden_folders_are_passed_over_but_for_those_of_art(tmp_path: Path) -> None:
    for name in (".cache", "node_modules", ".art"):
        write(tmp_path / name / "x" / "1.jsonl", ROW)
    assert [Path(run.root).parent.name for run in discover([tmp_path]).runs] == [".art"]


def test_the_walk_is_bounded_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "1/2/3/4/5/6/7/data.jsonl", ROW)
    assert "folders down" in reasons(tmp_path)["1/2/3/4/5/6"]
    monkeypatch.setattr(discovery, "MAX_FOLDERS", 3)
    assert "more than 3 folders" in reasons(tmp_path)["."]
    monkeypatch.setattr(discovery, "MAX_NOTES", 1)
    (tmp_path / "a.pt").write_bytes(b"\x80\x04.")
    assert [note.reason[:20] for note in discover([tmp_path]).notes] == ["a.pt: PyTorch pickle", "more than 1 notes: t"]


def test_folders_of_runs_do_not_count_among_those_that_a_walk_may_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcd":
        write(tmp_path / name / "rolloupe.json", {"layout": "rolloupe", "version": 1})
        write(tmp_path / name / "samples/rank0.jsonl", ROW)
    monkeypatch.setattr(discovery, "MAX_FOLDERS", 5)
    runs, notes = discover([tmp_path])
    assert len(runs) == 4 and notes == []
    monkeypatch.setattr(discovery, "MAX_FOLDERS_OF_RUNS", 3)
    (note,) = discover([tmp_path]).notes
    assert "more than 3 folders of runs" in note.reason


@pytest.mark.parametrize("format", LENIENT)
def test_a_format_can_be_forced_on_what_it_does_not_recognise(tmp_path: Path, format: str) -> None:
    record = {
        "reward": 1, "total_reward": 1, "rewards": [1], "token_ids": [1], "loss_mask": [True],
        "response": {"odd": 1}, "traces": [{"rewards": {"r": 1}}],
    }  # fmt: skip
    write(tmp_path / "run" / "1.jsonl", record)
    assert discover([tmp_path]).runs == []
    for path in (tmp_path, tmp_path / "run" / "1.jsonl"):
        run = only_run(path, format=format)
        assert run.format == format
        assert [row.reward for row in rows(run)] == [1.0]
    (tmp_path / "run" / "1.jsonl").rename(tmp_path / "run" / "data.jsonl")
    assert len(rows(only_run(tmp_path, format=format))) == 1


@pytest.mark.parametrize("format", LENIENT)
def test_a_forced_format_that_reads_nothing_is_an_error(tmp_path: Path, format: str) -> None:
    (tmp_path / "a.pt").write_bytes(b"\x80\x04.")
    for path in (tmp_path, tmp_path / "a.pt"):
        with pytest.raises(NotRecognised, match=f"{format} reads nothing at"):
            discover([path], Reading(format=format))


def test_an_unknown_format_is_an_error_that_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(NotRecognised, match=r"native, telescope, .*, trl, ms_swift, skyrl, .*, generic"):
        discover([tmp_path], Reading(format="unheard_of"))


def test_a_run_that_was_moved_away_has_no_sources(demo_runs: Path, tmp_path: Path) -> None:
    for name in ("relax", "rl_logging_board/gen_train_toy", "verl_math"):
        shutil.copytree(demo_runs / "other_formats" / name, tmp_path / name)
    runs: list[RunInfo] = discover([tmp_path]).runs
    assert len(runs) == 3
    subprocess.run(["rm", "-r", *(str(entry) for entry in tmp_path.iterdir())], check=True)
    assert [by_name(run.format).sources(run) for run in runs] == [[], [], []]


@pytest.mark.parametrize("place", ["relax/rollout_result/train", "rl_logging_board/gen_train_toy", "verl_math"])
def test_all_of_some_files_that_are_named_are_read(place: str, demo_runs: Path, tmp_path: Path) -> None:
    (first, *_) = sorted((demo_runs / "other_formats" / place).glob("*.jsonl"))
    names = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for name in names:
        name.write_bytes(first.read_bytes())
    (run,) = discover(names).runs
    assert len({row.start for row in rows(run)}) * 2 == len(rows(run)) > 0


def test_files_that_are_runs_are_found_beside_each_other_and_beside_a_run_of_the_folder(tmp_path: Path) -> None:
    data = Path(__file__).parents[1] / "data"
    for inner in ("tviz/tviz.db", "trackio/trl_async.db", "mlflow/mlruns.db", "inspect/inspect-ai-eval.json"):
        shutil.copy(data / inner, tmp_path / Path(inner).name)
    assert {run.format for run in discover([tmp_path]).runs} == {"tviz", "trackio", "mlflow", "inspect"}
    write(tmp_path / "1.jsonl", *[{"input": "q", "output": "o", "score": 1.0, "step": 1}] * 2)
    found = discover([tmp_path])
    assert {"verl", "tviz", "inspect"} <= {run.format for run in found.runs}
    assert not any(word in note.reason for note in found.notes for word in ("damaged", "databases"))


def test_notes_of_what_was_not_looked_at_are_never_left_out(tmp_path: Path) -> None:
    for number in range(discovery.MAX_NOTES + 10):
        (tmp_path / f"{number:04}").mkdir()
        (tmp_path / f"{number:04}" / "notes.jsonl").write_bytes(b'{"colour": "red"}\n')
    late = [note for note in discover([tmp_path], within_s=0).notes if note.is_late]
    assert [note.path for note in late] == [str(tmp_path)]
    (tmp_path / "x.pt").write_bytes(b"")
    is_over = chain([False], repeat(True)).__next__
    late = [note for note in discover([tmp_path], is_over=is_over).notes if note.is_late]
    assert {note.path for note in late} == {str(tmp_path)}
    assert "a file was not looked at, from x.pt on" in late[0].reason
    assert discover([tmp_path], Reading(format="relax"), within_s=0).runs == []


def test_a_walk_lists_each_folder_once_for_all_formats(demo_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    entries_of = files.list_entries

    def counted(folder: str, *how: Any) -> list[files.FolderEntry]:
        listed.append(folder)
        return entries_of(folder, *how)

    monkeypatch.setattr(files, "list_entries", counted)
    for run in ("tiny_grpo", "other_formats/relax", "other_formats/verl_math"):
        listed.clear()
        assert discover([demo_runs / run]).runs
        assert listed and len(listed) == len(set(listed))


def test_a_view_of_a_folder_is_dropped_once_the_walk_is_done_with_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    root = str(tmp_path)
    with files.listing_once():
        assert [one.name for one in files.entries(root, root)] == ["below"] and not files.is_one_file(tmp_path)
        (tmp_path / "a.jsonl").touch()
        assert files.files(root, root) == []
        files.forget(root)
        assert [one.name for one in files.files(root, root)] == ["a.jsonl"]
    assert files.is_one_file(tmp_path / "a.jsonl")


ROW = {"prompt": "Q", "response": "A", "score": 1}


@pytest.mark.parametrize(
    ("names", "root", "splits"),
    [
        (("rollouts.jsonl", "eval/step_4.jsonl"), "", {"train", "eval/eval"}),
        (("rollouts/step_1.jsonl", "held_out/step_4.jsonl"), "rollouts", {"train", "eval/held_out"}),
        (("train/step_1.jsonl", "eval_step_4.jsonl"), "train", {"train", "eval/eval"}),
        (("log.jsonl", "eval_math/4.jsonl", "val/4.jsonl"), "", {"train", "eval/eval_math", "eval/val"}),
        (("data/log.jsonl", "data/test/4.jsonl"), "data", {"train", "eval/test"}),
    ],
)  # fmt: skip
def test_an_evaluation_around_or_beside_the_only_training_is_a_part_of_its_run(
    tmp_path: Path, names: tuple[str, ...], root: str, splits: set[str]
) -> None:
    for name in names:
        write(tmp_path / "run" / name, ROW)
    run = only_run(tmp_path)
    assert run.root == str(tmp_path / "run" / root)
    assert "evaluations in " in run.reason
    assert {row.split for row in rows(run)} == splits
    assert {row.step for row in rows(run) if row.split != "train"} == {4}


@pytest.mark.parametrize(
    "names",
    [
        ("a/log.jsonl", "b/log.jsonl", "eval/4.jsonl"), ("a/log.jsonl", "eval/4.jsonl"),
        ("train/log.jsonl", "rollouts/log.jsonl", "eval/4.jsonl"), ("train/log.jsonl", "test_run/4.jsonl"),
    ],
)  # fmt: skip
def test_an_evaluation_beside_other_runs_is_a_run_of_its_own(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        write(tmp_path / name, ROW)
    found = discover([tmp_path]).runs
    assert {run.root for run in found} == {str((tmp_path / name).parent) for name in names}
