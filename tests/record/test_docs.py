"""docs/writers.md: every example on it runs, and what it writes is read."""

import re
import shlex
from pathlib import Path

import pytest

from rolloupe.record.writers import WRITERS
from tests.cli.support import rolloupe
from tests.formats.support import only_run, rows

PAGE = (Path(__file__).parents[2] / "docs/writers.md").read_text(encoding="utf-8")


def test_the_examples_run_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block.replace("RUN_DIR", str(tmp_path)), {})
    assert "'group': 2" in capsys.readouterr().out
    assert len(rows(only_run(tmp_path / "prime_rl"))) == 4
    assert len(rows(only_run(tmp_path / "board"))) == 1
    found = rows(only_run(tmp_path / "rollout_result"))
    assert {(row.split, row.reward) for row in found} == {("train", 1.0), ("eval/gsm8k", 1.0)}


def test_the_command_runs(demo_runs: Path, tmp_path: Path) -> None:
    (line,) = re.findall(r"```sh\n(.*?)\n```", PAGE)
    known = {"RUN_DIR": str(demo_runs / "relax"), "OUT_DIR": str(tmp_path / "out")}
    assert rolloupe(*[known.get(word, word) for word in shlex.split(line)[1:]]).code == 0


@pytest.mark.parametrize("name", list(WRITERS))
def test_every_layout_is_named_in_the_help(name: str) -> None:
    assert re.search(rf"\b{name}\b", rolloupe("convert", "--help").out)
