"""docs/writers.md and docs/recording.md: every example on them runs, and what it writes is read."""

import inspect
import re
import shlex
from pathlib import Path

import pytest

import rolloupe
from rolloupe.record import Recorder
from rolloupe.record.writers import WRITERS
from tests.cli.support import rolloupe as command
from tests.formats.support import only_run, rows

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "writers.md").read_text(encoding="utf-8")
RECORDING = (DOCS / "recording.md").read_text(encoding="utf-8")


def test_the_examples_run_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block.replace("RUN_DIR", str(tmp_path)), {})
    assert "'group': 2" in capsys.readouterr().out
    assert len(rows(only_run(tmp_path / "prime_rl"))) == 4
    assert len(rows(only_run(tmp_path / "board"))) == 1
    found = rows(only_run(tmp_path / "rollout_result"))
    assert {(row.split, row.reward) for row in found} == {("train", 1.0), ("eval/gsm8k", 1.0)}


def test_a_run_is_recorded_as_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    held: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", RECORDING, re.DOTALL):
        exec(block, held)
    first, later = (
        rolloupe.open(tmp_path / "runs" / name, index_dir=tmp_path / name).only() for name in ("recorded", "later")
    )
    assert (len(list(first.samples())), first.problems(), later.problems()) == (4, [], [])
    found = {(s.key.step, s.key.group): (s.advantage, s.discarded, s.status) for s in later.samples()}
    assert found[0, "0"] == (0.5, "", "unknown")
    assert found[0, "1"][1] == "stale"
    assert found[0, "2"][2] == "error"
    assert {step for step, _ in found} == {0, 1, 2}
    assert "the sandbox did not answer" in later.sample("train/0/2/0").notes[0]
    grouped = later.sample("train/0/3/0")
    assert [(turn.role, turn.parts[0].text) for turn in grouped.turns] == [
        ("assistant", "Let me see."), ("assistant", "It is 4."),
    ]  # fmt: skip
    assert (grouped.row.reward, grouped.row.status, grouped.row.turns) == (1.0, "completed", 2)
    assert grouped.extra["steps"][1]["logs"]["seconds"] == 3
    assert [one.name for one in later.sample("train/0/0/0").series] == ["logprobs", "trainer_logprobs"]


@pytest.mark.parametrize(
    "method", ["Recorder", "sample", "annotate", "discard", "error", "group", "checkpoint", "last_checkpoint"]
)
def test_every_argument_is_named(method: str) -> None:
    told: str = max(re.findall(rf"`{method}\((.*?)\)`", RECORDING), key=len)
    known = inspect.signature(Recorder if method == "Recorder" else getattr(Recorder, method)).parameters.values()
    names = [one.name for one in known if one.name != "self" and one.kind != one.VAR_KEYWORD]
    assert [word.split("=")[0] for word in told.split(", ") if word and word[0] != "*"] == names


def test_the_command_runs_after_the_blocks_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test_the_examples_run_in_order(tmp_path, capsys)
    (line,) = re.findall(r"```sh\n(.*?)\n```", PAGE)
    words = shlex.split(line.replace("RUN_DIR", str(tmp_path)).replace("OUT_DIR", str(tmp_path / "out")))
    assert command(*words[1:]).code == 0


def test_examples_of_different_pages_record_into_different_folders() -> None:
    pages = [DOCS.parent / "README.md", DOCS / "recording.md", DOCS / "logtree.md", DOCS / "integrations.md"]
    found = [set(re.findall(r"\b(?:Recorder|Log)\(\"(runs/[^\"]*)\"", page.read_text("utf-8"))) for page in pages]
    assert len(set().union(*found)) == sum(map(len, found))
    assert all(found[:3])


def test_what_begins_a_part_of_the_page_is_imported_there() -> None:
    for block in re.findall(r"```python\n(.*?)```", RECORDING.split("## Discard")[0], re.DOTALL):
        assert block.startswith("import rolloupe\n")


@pytest.mark.parametrize("name", list(WRITERS))
def test_every_layout_is_named_in_the_help(name: str) -> None:
    assert re.search(rf"\b{name}\b", command("convert", "--help").out)
