"""The table of all samples and all formats: of each run exactly one format says yes, and what is not read has a reason.

`ROLLOUPE_SAMPLES` names a folder with more samples, which the same must hold for.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from rolloupe.demo import RUNS, demo_run
from rolloupe.formats import BUILT_IN, by_name, discover
from tests.formats.support import write

DATA = Path(__file__).parents[1] / "data"
LAST = ("generic", "curves")
"""Formats that are asked only where no other says yes."""

SAMPLES = {
    "areal/rollout": "areal", "art/.art/toy-project/models/tiny": "art", "art/older/lines": "art",
    "art/older/yaml": "art", "generic/own": "generic", "generic/verl": "verl", "generic/verl_v1": "verl",
    "harbor/harbor-atif.json": "harbor", "inspect/inspect-ai-eval.json": "inspect", "miles/demo_dump_details": "miles",
    "ms_swift/run": "ms_swift", "native/small": "native", "nemo_gym/results": "nemo_gym", "nemo_rl/exp_001": "nemo_rl",
    "open_instruct/run": "open_instruct", "prime_rl/mini/v7_head": "prime_rl",
    "prime_rl/traces/run_wordle": "prime_rl_traces", "roll/run": "roll", "skyrl/dumped_evals": "skyrl",
    "slime/dump_details": "slime", "telescope/run_default": "telescope", "tinker/flat_run": "tinker",
    "tviz/tviz.db": "tviz", "verifiers": "verifiers",
}  # fmt: skip
NOT_READ = {
    "global_step_1_training_input.pkl": "SkyRL",
    "metadata.json": "verifiers",
    "generate.json": "verifiers",
    "letta.json": "Letta",
    "rlviz.ndjson": "RLViz",
    "aggregated_results.jsonl": "SkyRL",
    "toy_metadata.jsonl": "open-instruct",
    "log.eval": "Inspect",
    "placeholders.jsonl": "NeMo-Gym",
    "copies.jsonl": "PROJECT.db",
    "a.db-wal": "SQLite",
}


def others() -> list[Path]:
    """The runs in the folder that the environment names."""
    folder = os.environ.get("ROLLOUPE_SAMPLES")
    found = discover([Path(folder)]).runs if folder else []
    return sorted({Path(run.root) for run in found})


def says_yes(place: Path) -> list[str]:
    return [name for name in BUILT_IN if by_name(name).detect(place)]


@pytest.mark.parametrize(("place", "name"), SAMPLES.items())
def test_one_format_takes_each_sample(place: str, name: str) -> None:
    (run,) = discover([DATA / place]).runs
    assert run.format == name
    yes = says_yes(Path(run.root))
    assert yes[0] == name and set(yes[1:]) <= set(LAST)


@pytest.mark.parametrize("place", sorted({Path(run.root) for run in discover([RUNS]).runs}), ids=lambda one: one.name)
def test_one_format_takes_each_run_of_the_demo(place: Path) -> None:
    bundled = demo_run(str(place))
    assert bundled is not None
    assert [name for name in says_yes(place) if name not in LAST] == [bundled.format] * (bundled.format not in LAST)


@pytest.mark.skipif("ROLLOUPE_SAMPLES" not in os.environ, reason="ROLLOUPE_SAMPLES names no folder of samples")
@pytest.mark.parametrize("place", others() or [Path()], ids=str)
def test_one_format_takes_each_of_other_samples(place: Path) -> None:
    runs = {run.format for run in discover([place]).runs}
    yes = [name for name in says_yes(place) if name not in LAST]
    is_shared = all(by_name(name).takes_single_files for name in yes)
    assert (len(yes) == 1 or is_shared) and runs >= set(yes or runs & set(LAST))


@pytest.mark.skipif("ROLLOUPE_SAMPLES" not in os.environ, reason="ROLLOUPE_SAMPLES names no folder of samples")
def test_every_note_on_other_samples_says_what_it_is_or_what_to_do() -> None:
    notes = discover([Path(os.environ["ROLLOUPE_SAMPLES"])]).notes
    assert notes and all(len(note.reason) > 10 for note in notes)


@pytest.mark.parametrize(("name", "framework"), NOT_READ.items())
def test_what_is_not_read_names_the_framework(tmp_path: Path, name: str, framework: str) -> None:
    path = tmp_path / "run" / name
    documents = {
        "metadata.json": '{"env_id": "a", "model": "m", "num_examples": 1, "avg_reward": 0}',
        "generate.json": '{"metadata": {"env_id": "a"}, "outputs": [{"prompt": "q"}]}',
        "letta.json": '[\n {"role": "meta", "source": "codex", "cwd": "/x"}, {"role": "user"}]',
        "placeholders.jsonl": "<PLACEHOLDER ROW>\n",
    }
    rows: dict[str, dict[str, Any]] = {
        "rlviz.ndjson": {"record_type": "run", "id": "r", "started_at": "2026-05-24"},
        "aggregated_results.jsonl": {"eval/all/avg_score": 1.0, "eval/all/pass_at_4": 1.0},
        "copies.jsonl": {"type": "session", "harness": "trackio", "trackio": {}},
        "toy_metadata.jsonl": {"run_name": "a", "git_commit": "b", "model_name": "c", "timestamp": "d"},
    }
    write(path, rows.get(name, {}))
    if name not in rows:
        path.write_bytes(documents.get(name, "\x80\x04.").encode())
    for place in (tmp_path, path):
        found = discover([place])
        assert found.runs == [] and any(framework in note.reason for note in found.notes), found.notes


FRAMEWORKS = Path(__file__).parents[2] / "docs" / "frameworks"
WRITE_NOTHING = {"openrlhf", "agent_lightning"}
PAGES = sorted(page for page in FRAMEWORKS.glob("*.md") if page.stem not in ("index", "trackers"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_of_a_framework_says_what_to_switch_on_what_is_there_and_what_is_missing(page: Path) -> None:
    text = page.read_text()
    parts = ["Checked against ", "## Switch", "## What is missing", "rolloupe view ", "ecorder("]
    parts += [] if page.stem in WRITE_NOTHING else ["on disk", "## What you see"]
    assert [part for part in parts if part not in text.replace("On disk", "on disk")] == []
    assert f"({page.name})" in (FRAMEWORKS / "index.md").read_text()
