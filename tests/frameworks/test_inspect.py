"""Inspect runs an evaluation on a model that answers from a list, and its own reader says what is in the log."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rolloupe
from tests.frameworks.support import needs

TASK = """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate

answers = ["4", "It is 5.", "no", "", "6", "4", "5", "10", "8", "twelve"]
outputs = [ModelOutput.from_content("mockllm/model", one) for one in answers]
for number, one in enumerate(outputs):
    one.usage = ModelUsage(input_tokens=5, output_tokens=number, total_tokens=5 + number)
model = get_model("mockllm/model", custom_outputs=outputs)
sums = [Sample(input=f"{n} + {n}?", target=str(2 * n), id=f"q{n}", metadata={"level": n}) for n in range(2, 7)]
quiz = Task(dataset=sums, solver=generate(), scorer=[match(), includes()], epochs=2, name="quiz")
eval(quiz, model=model, log_dir="logs", display="none", max_samples=1, max_connections=1, log_format=FORMAT)
"""


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_a_log_holds_what_the_reader_of_inspect_says(kind: str, tmp_path: Path) -> None:
    logs = needs("inspect_ai.log")
    code = f"FORMAT = {kind!r}\n{TASK}"
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "INSPECT_TELEMETRY": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = (tmp_path / "logs").glob(f"*.{kind}")
    theirs = {(str(one.id), one.epoch): one for one in logs.read_eval_log(str(path)).samples}
    assert len(theirs) == 10
    right = {"C": 1.0, "I": 0.0}
    with rolloupe.open(path, index_dir=tmp_path / "index") as runs:
        run = runs.only()
        assert run.problems() == []
        items = list(run.samples(split=run.splits()[0].name))
        assert len(items) == 10
        for item in items:
            sample = run.sample(item.id)
            (own,) = [one for one in theirs.values() if one.uuid == sample.row.uid]
            scores = {name: right[score.value] for name, score in own.scores.items()}
            assert item.reward in scores.values()
            assert {f"reward.{name}": value for name, value in scores.items()}.items() <= item.metrics.items()
            assert item.metrics["metadata.level"] == own.metadata["level"] and sample.label == own.target
            (usage,) = own.model_usage.values()
            used = (item.metrics["input_tokens"], item.metrics["output_tokens"])
            assert used == (usage.input_tokens, usage.output_tokens)
            assert sample.response_text == own.output.completion
            assert [turn.role for turn in sample.turns] == [one.role for one in own.messages]
