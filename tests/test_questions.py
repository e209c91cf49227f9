"""A question that is declared is asked by every face: route, command, tool, Python and TypeScript."""

import json
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta, Struct
from starlette.datastructures import QueryParams
from tools import typescript

import rolloupe
from rolloupe.cli.runs import plain_command
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.mcp.answer import words_of_page
from rolloupe.mcp.tools.base import plain_tool
from rolloupe.query import samples
from rolloupe.query.records import SampleQuery
from rolloupe.questions import QUESTIONS, GradientQuery, Query, Question, StepWindow
from rolloupe.server.params import query_of
from tests.cli.support import rolloupe as command
from tests.server.support import get, opened, relax_run, run_path, served


class CountQuery(StepWindow, frozen=True, kw_only=True):
    """Which samples to count."""

    least: Annotated[float, Meta(description="Only rewards from here on.")] = 0.0
    env: Annotated[str | None, Meta(description="Only samples of this environment.")] = None


class StepCount(Struct, frozen=True):
    """How many samples a step has."""

    step: int
    samples: int


class RunCounts(Struct, frozen=True):
    """How many samples a run has."""

    steps: list[StepCount]
    total: int
    """Of all these steps."""


def counted(run: OpenRun, asked: CountQuery) -> RunCounts:
    """Count samples by step."""
    query = SampleQuery(step_min=asked.step_min, step_max=asked.step_max)
    steps = [item.step for item in samples(run, query).samples if (item.reward or 0.0) >= asked.least]
    counts = [StepCount(step, steps.count(step)) for step in sorted({*steps})]
    return RunCounts(counts, len(steps))


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Question:
    question = Question(
        name="counts", about="How many samples each step has.", query=CountQuery, place=f"{__name__}:counted",
        rows="steps",
    )  # fmt: skip
    monkeypatch.setitem(QUESTIONS, "counts", question)
    return question


def test_every_face_asks_a_declared_question(counts: Question, tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=2)
    expected = {"steps": [{"step": 1, "samples": 4}], "total": 4}
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        (run,) = runs
        assert msgspec.to_builtins(run.ask("counts", step_min=1, least=0.5)) == expected
        asked: Any = plain_tool("counts").arguments
        page = plain_tool("counts").answer(runs, asked(step_min=1, least=0.5))
        words = words_of_page(page)
        assert '"total": 4, "steps": [\n{"step": 1, "samples": 4}\n]' in words
    with opened(tmp_path / "run", tmp_path / "index") as library:
        app = served(library)
        answer = get(app, f"{run_path(app)}/counts?step_min=1&least=0.5")
        (opened_run,) = library.runs
        assert answer.json == {"run": opened_run.id, "version": opened_run.version, **expected}
        refused = get(app, f"{run_path(app)}/counts?step_min=one")
        assert refused.status == 400 and "step_min='one'" in refused.json["error"]
    done = command("counts", tmp_path / "run", "--steps", "1:", "--least", "0.5", "--index-dir", tmp_path / "index")
    assert "total 4" in done.out and plain_command("counts").name == "counts"
    lines = command("counts", tmp_path / "run", "--json", "--index-dir", tmp_path / "index").lines
    assert [line.get("samples", line.get("total")) for line in lines] == [16, 8, 8]
    assert "askCounts = (run: string, asked: Asked<CountQuery> = {}): Promise<RunCounts> =>" in typescript.routes()
    assert (
        "export interface RunCounts {\n  run: string;\n  version: string;\n  steps: StepCount[];"
        in typescript.generate()
    )


def test_what_is_no_question_is_refused(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        for asked, said in (
            (Query(), "is not a question; choose one of: brief, findings"),
            ("guesses", "is not a question"),
        ):
            with pytest.raises(BadQuery, match=said):
                runs.only().ask(asked)
        with pytest.raises(BadQuery, match=r"gradient: Expected `int` >= 0 - at `\$.bins`"):
            runs.only().ask(GradientQuery(bins=-1))


def test_no_two_questions_share_a_record() -> None:
    assert len({question.query for question in QUESTIONS.values()}) == len(QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_every_field_has_a_description_and_those_of_commands_a_default(question: Question) -> None:
    schema = msgspec.json.schema(question.query)["$defs"][question.query.__name__]
    if question.rows:
        assert question.query() == query_of(QueryParams(), question.query)
    assert [name for name, field in schema["properties"].items() if not field.get("description")] == []
    assert json.dumps(schema) and question.about.endswith(".")
