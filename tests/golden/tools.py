"""What an agent is answered: every tool, of every run; and what it is told of the tools."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rolloupe.api import Runs
from rolloupe.mcp.serve import answer
from rolloupe.mcp.tools import TOOLS
from tests.agent.support import FRAME
from tests.golden.frozen import LARGEST, LIKE_ANOTHER, Answers, plain


def questions(runs: Runs) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of a tool, and what it is asked."""
    yield "summary", {}
    for run in runs:
        if run.id == LIKE_ANOTHER:
            continue
        scope = {"run": run.id}
        for name in ("summary", "brief", "findings", "lint", "compare_steps", "gradient", "agreement"):
            yield name, scope
        yield "compare_rewards", {"runs": [run.id for run in (run, *runs)][:2]}
        yield "findings", {**scope, "cursor": "1"}
        yield "finding_samples", {**scope, "finding": 1}
        if run.id == LARGEST:
            continue
        yield "query", scope
        yield "query", {**scope, "where": "reward > 0.5", "sort": "reward", "descending": True}
        yield "query", {**scope, "text": "the"}
        yield "query", {**scope, "where": "reward >"}
        for sample in run.samples(limit=1):
            yield "sample", {**scope, "id": sample.id}
            yield "prompt", {**scope, "id": sample.id}
            yield "sample", {**scope, "id": sample.id, "turn": 0}
            yield "sample", {**scope, "id": sample.id, "series": ["logprobs"]}


def answers_of(runs: Runs, folder: Path) -> Answers:
    """Ask every tool."""
    answers: Answers = {
        f"about {name}": json.loads(json.dumps([tool.about, msgspec.json.schema(tool.arguments)]))
        for name, tool in TOOLS.items()
    }
    asked_tools = set[str]()
    for name, asked in questions(runs):
        result = answer(runs, name, asked)
        (content,) = result.content
        frame = FRAME.fullmatch(getattr(content, "text", ""))
        assert frame is not None
        answers[f"{name} {json.dumps(asked)}"] = [bool(result.is_error), plain(json.loads(frame[2]), folder), frame[3]]
        asked_tools.add(name)
    assert asked_tools == {*TOOLS}
    return answers
