"""Formats of other packages: the example of docs/adding-a-format.md, and entry points that are broken."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe.errors import NotRecognised
from rolloupe.formats import BUILT_IN, all_formats, by_name, discover
from rolloupe.model import Problem
from tests.forks import program
from tests.formats.packages import install, on_path, python
from tests.formats.support import items, only_run, write

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-format.md"

GREEDY = """
from rolloupe.formats.reading.jsonl import JsonlFormat
class Greedy(JsonlFormat):
    name = "greedy"
    title = "Greedy"
    def detect(self, path, *, forced=False, link_root=""):
        raise RuntimeError("greedy is confused")
    def row(self, source, record, start, length):
        raise KeyError("nothing fits")
"""


CONTRACT = """
import os, sys, pytest
from tests.formats.support import limit_contract
limit_contract()
os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[1])
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "test_quill_format.py"]))
"""
"""Runs the tests of the page."""


def blocks(language: str) -> list[str]:
    """The code of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def quill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of the page, installed, with a run of Quill in `data/run`."""
    site = tmp_path_factory.mktemp("site")
    module, test = blocks("python")
    project = tomllib.loads(blocks("toml")[0])["project"]
    entries = project["entry-points"]["rolloupe.formats"]
    install(site, project["name"], entries, {"quill_format": module, "test_quill_format": test})
    line = json.loads(blocks("json")[0])
    for step in range(3):
        rows = [line | {"group": n // 2, "try": n % 2, "answer": f"{step}-{n}", "expected": "4"} for n in range(4)]
        write(site / f"data/run/{step}.jsonl", *rows)
    return site


def test_the_example_of_the_page_is_short() -> None:
    module, test = blocks("python")
    assert len(module.splitlines()) + len(test.splitlines()) < 65


@pytest.mark.slow
def test_the_commands_read_the_example(quill: Path, tmp_path: Path) -> None:
    at = ["--index-dir", str(tmp_path)]
    listed = python(quill, "-m", "rolloupe", "ls", str(quill / "data/run"), "--json", *at)
    assert listed.returncode == 0, listed.stderr
    (run,) = json.loads(listed.stdout)
    assert (run["format"], run["splits"]["train"]["samples"], run["problems"]) == ("quill", 12, 0)
    shown = python(quill, "-m", "rolloupe", "show", str(quill / "data/run"), "train/2/1/1", *at)
    assert shown.returncode == 0 and "2-3" in shown.stdout and "2+2?" in shown.stdout
    where = ("--where", "kl > 0 and step = 1", "--json")
    filtered = python(quill, "-m", "rolloupe", "query", str(quill / "data/run"), *where, *at)
    assert [json.loads(line)["step"] for line in filtered.stdout.splitlines()] == [1] * 4
    unknown = python(quill, "-m", "rolloupe", "ls", str(quill), "--format", "nothing")
    assert "native, quill, telescope" in unknown.stderr


@pytest.mark.slow
def test_the_example_keeps_the_contract(quill: Path) -> None:
    done = program(CONTRACT, str(quill))
    written, errors = done.communicate()
    assert done.returncode == 0, written + errors
    assert re.search(rb"\b1[0-9] passed", written)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """A folder for packages, on this process's path."""
    (tmp_path / "site").mkdir()
    with on_path(tmp_path / "site") as folder:
        yield folder


def test_what_cannot_be_loaded_is_a_note_and_costs_nothing_else(site: Path, demo_runs: Path) -> None:
    broken = {
        "gone": "no_such_module:Gone",
        "plain": "json:JSONDecoder",
        "relax": "greedy:Greedy",
        "odd": "greedy:Greedy",
    }
    install(site, "broken", broken, {"greedy": GREEDY})
    found = discover([demo_runs])
    assert {run.format for run in found.runs} == {
        "generic", "native", "nemo_gym", "relax", "rl_logging_board", "trackio", "trl", "verl",
    }  # fmt: skip
    notes = {note.reason for note in found.notes if note.path == "broken 1.0"}
    assert len(notes) == 4 and all("could not be loaded" in reason for reason in notes)
    assert any("gone" in reason and "No module named 'no_such_module'" in reason for reason in notes)
    assert any("plain" in reason and "not a subclass" in reason for reason in notes)
    with pytest.raises(NotRecognised, match=r"gone of broken 1\.0 could not be loaded.*Next: update or remove"):
        by_name("gone")
    assert [one.name for one in all_formats()] == [*BUILT_IN]


def test_a_format_that_fails_leaves_the_others_their_runs(site: Path, tmp_path: Path) -> None:
    install(site, "greedy", {"greedy": "greedy:Greedy"}, {"greedy": GREEDY})
    write(tmp_path / "run/1.jsonl", {"prompt": "p", "response": "r", "score": 1})
    found = discover([tmp_path / "run"])
    assert [run.format for run in found.runs] == ["generic"]
    assert [note.reason for note in found.notes] == ["the format greedy failed here: RuntimeError: greedy is confused"]


@pytest.mark.parametrize(
    "deed",
    [
        "return 'garbage'", "return [1]", "return True", "raise SystemExit(7)", "raise Mute",
        "import rolloupe.model as m; return [m.RunInfo(name='x', format='generic', root='/', reason='', parts=())]",
    ],
)  # fmt: skip
def test_whatever_detect_does_the_others_have_their_runs(site: Path, tmp_path: Path, deed: str) -> None:
    mute = "\n\nclass Mute(Exception):\n    def __str__(self):\n        raise ValueError\n"
    module = GREEDY.replace('raise RuntimeError("greedy is confused")', deed) + mute
    assert deed in module
    install(site, "greedy", {"greedy": f"{tmp_path.name}:Greedy"}, {tmp_path.name: module})
    write(tmp_path / "run/1.jsonl", {"prompt": "p", "response": "r", "score": 1})
    found = discover([tmp_path / "run"])
    assert [run.format for run in found.runs] == ["generic"]
    (note,) = found.notes
    assert note.reason.startswith("the format greedy failed here: ")


def test_a_row_at_which_such_a_format_fails_is_a_problem_that_names_it(site: Path, tmp_path: Path) -> None:
    module = GREEDY.replace("    def detect", "    def fits(self, record):\n        return True\n    def undetect")
    install(site, "greedy", {"greedy": "greedy_too:Greedy"}, {"greedy_too": module})
    write(tmp_path / "run/1.jsonl", {"prompt": "p", "response": "r", "score": 1})
    (problem,) = items(only_run(tmp_path / "run"))
    assert isinstance(problem, Problem) and problem.reason == "the format greedy failed: KeyError: 'nothing fits'"


def test_formats_of_packages_are_asked_after_the_recorded_runs_and_before_all_others(site: Path) -> None:
    install(site, "greedy", {"greedy": "greedy:Greedy"}, {"greedy": GREEDY})
    assert [one.name for one in all_formats()] == ["native", "greedy", *list(BUILT_IN)[1:]]
