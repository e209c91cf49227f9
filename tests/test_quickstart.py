"""docs/quickstart/: its commands and its Python run, over files of each framework."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

import rolloupe
from tests.cli.support import rolloupe as command_line
from tests.thoroughness import each

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs/quickstart"
DATA = ROOT / "tests/data"
DEMO = ROOT / "src/rolloupe/demo/runs"
READ = {
    "relax": ("runs/relax", DEMO / "other_formats/relax"),
    "tinker": ("logs/my-run", DATA / "tinker/sync_run"),
    "prime-rl": ("outputs/my-run", DATA / "prime_rl/exports/v4_pr2641/run_alpha"),
    "telescope": ("runs/telescope", DATA / "telescope/run_default"),
    "rl-logging-board": ("runs/board", DEMO / "other_formats/rl_logging_board/gen_train_toy"),
}
WITH_FRAMEWORKS = {"trl", "tinker-cookbook"}
UNUSUAL = '{"request": {"question": "1+1?", "completion": "2"}, "grade": 1.0}\n'


def blocks(page: str, language: str) -> list[str]:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands(page: str) -> list[list[str]]:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("rolloupe ")]


def lines_printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if line.strip()]


@pytest.mark.parametrize("page", READ)
def test_a_page_that_reads_files(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, data = READ[page]
    shutil.copytree(data, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    first, *others = commands(page)
    assert first == ["view", name] and others
    for words in others:
        done = command_line(*words)
        assert done.code == 0, done.err
        assert done.out
    (code,) = blocks(page, "python")
    exec(code, {})
    assert lines_printed(capsys)


def test_the_page_of_an_own_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("own-trainer", "python")
    exec(code, {})
    assert commands("own-trainer") == [["view", "runs/own"]]
    run = rolloupe.open("runs/own").runs[0]
    assert [(step.step, step.samples) for step in run.steps()] == [(0, 4), (1, 4), (2, 4)]


def test_the_page_of_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs/other"
    folder.mkdir(parents=True)
    (folder / "0.jsonl").write_text(UNUSUAL * 3)
    (fields,) = blocks("other-jsonl", "toml")
    (tmp_path / "fields.toml").write_text(fields)
    shown = command_line("ls", "runs/other", "--map", "fields.toml", "--json").json
    (code,) = blocks("other-jsonl", "python")
    exec(code, {})
    assert lines_printed(capsys) == ["0 3 1.0"]
    assert [run["splits"]["train"]["samples"] for run in shown] == [3]


@each("page", sorted(WITH_FRAMEWORKS))
def test_a_page_that_needs_a_framework_has_a_whole_script_behind_it(page: str) -> None:
    (code,) = blocks(page, "python")
    compile(code, page, "exec")
    whole = (ROOT / "docs/integrations.md").read_text(encoding="utf-8")
    imports = re.findall(r"^from rolloupe\S+ import \w+$", code, re.MULTILINE)
    assert imports and all(line in whole for line in imports)


def test_every_page_is_tested_and_listed() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")} - {"index"}
    assert pages == {*READ, *WITH_FRAMEWORKS, "own-trainer", "other-jsonl"}
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    assert all(f"({page}.md)" in index for page in pages)
