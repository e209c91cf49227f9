"""Harbor: trials of a job with their rewards, agents within agents, trajectories in several documents, tokens."""

import json
import shutil
from pathlib import Path
from typing import Any

from rolloupe.formats import by_name, discover
from rolloupe.formats.testing import FormatContract
from tests.formats.support import limit_contract, only_run, rows, samples

DATA = Path(__file__).parents[1] / "data"
ATIF = DATA / "harbor" / "harbor-atif.json"

limit_contract()


class TestDocument(FormatContract):
    format = "harbor"
    example = ATIF


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def document(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    asked = {"step_id": 1, "source": "user", "message": "q"}
    return {"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": [asked, *steps], **more}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"source": "agent", "message": text, **more}


def job(folder: Path) -> Path:
    put(folder / "config.json", {"job_name": "first", "n_attempts": 2})
    put(folder / "result.json", {"n_total_trials": 3})
    for number, reward in enumerate((1.0, 0.0)):
        put(folder / f"t__{number}" / "agent" / "trajectory.json", document(said(f"answer {number}")))
        rewards = {"reward": reward, "style": 0.5}
        result = {"task_name": "t", "source": "sets/bench", "verifier_result": {"rewards": rewards}}
        put(folder / f"t__{number}" / "result.json", result)
    failed = {"task_name": "u", "exception_info": {"exception_type": "AgentTimeoutError"}, "verifier_result": None}
    put(folder / "u__0" / "agent" / "trajectory.json", document(said("late")))
    put(folder / "u__0" / "result.json", failed)
    return folder


def test_a_document_shows_its_calls_their_results_and_the_agents_within() -> None:
    run = only_run(ATIF)
    (one,) = samples(run)
    assert (run.format, one.row.split, one.row.reward, one.row.turns) == ("harbor", "eval/harbor", None, 3)
    assert [(turn.role, turn.name) for turn in one.turns] == [
        ("user", ""), ("assistant", ""), ("tool", ""), ("assistant", ""), ("assistant", "synthetic-payment-checker"),
    ]  # fmt: skip
    (call,) = [part.call for turn in one.turns for part in turn.parts if part.call]
    assert (call.name, call.id, one.turns[2].tool_call_id) == ("read_cart", "call-cart-1", "call-cart-1")
    assert one.turns[1].parts[0].kind == "think"
    assert one.row.metrics["total_cost_usd"] == 0.0012 and one.row.response_tokens == 33
    assert one.extra["agent"]["name"] == "synthetic-checkout-agent" and one.row.uid == "checkout-parent"


def test_a_job_is_a_run_whose_groups_are_tasks(tmp_path: Path) -> None:
    run = only_run(job(tmp_path / "first"))
    assert run.root == str(tmp_path / "first") and by_name("harbor").config(run)["n_attempts"] == 2
    assert [(row.split, row.group, row.index, row.reward, row.status) for row in rows(run)] == [
        ("eval/bench", "t", "t__0", 1.0, "completed"), ("eval/bench", "t", "t__1", 0.0, "completed"),
        ("eval/harbor", "u", "u__0", None, "truncated"),
    ]  # fmt: skip
    assert rows(run)[0].metrics == {"reward.reward": 1.0, "reward.style": 0.5}
    (alone,) = rows(only_run(tmp_path / "first" / "t__0"))
    assert (alone.group, alone.reward) == ("t", 1.0)


def test_a_job_without_its_configuration_is_one_run(tmp_path: Path) -> None:
    (job(tmp_path / "job") / "config.json").unlink()
    run = only_run(tmp_path)
    assert run.name == "job" and len(rows(run)) == 3 and not by_name("harbor").config(run)


def test_a_trial_without_a_trajectory_is_a_sample_of_its_result(tmp_path: Path) -> None:
    folder = job(tmp_path / "first")
    failed = {
        "task_name": "t",
        "trial_name": "t__2",
        "source": "bench",
        "exception_info": {"exception_type": "OSError"},
    }
    put(folder / "t__2" / "result.json", failed | {"verifier_result": {"rewards": {"reward": 0.25}}})
    run = only_run(folder)
    (found,) = [one for one in samples(run) if one.row.index == "t__2"]
    assert run.reason == "3 trajectories in ATIF, the format of Harbor; 1 trial has results without one"
    assert (found.row.group, found.row.reward, found.row.status, found.row.response) == ("t", 0.25, "error", "")
    assert found.extra["exception_info"] == {"exception_type": "OSError"} and len(rows(run)) == 4
    assert [row.status for row in rows(only_run(folder / "t__2"))] == ["error"]


def test_a_step_without_a_trajectory_is_a_sample_of_its_result(tmp_path: Path) -> None:
    trial = tmp_path / "job" / "trial"
    put(tmp_path / "job" / "config.json", {"job_name": "job"})
    put(trial / "steps/build/agent/trajectory.json", document(said("one")))
    (trial / "steps/test/agent").mkdir(parents=True)
    failed = {"step_name": "test", "exception_info": {"exception_type": "AgentTimeoutError"}}
    steps = [{"step_name": "build", "verifier_result": {"rewards": {"reward": 1}}}, failed]
    put(trial / "result.json", {"task_name": "t", "trial_name": "trial", "step_results": steps})
    for folder, name in ((tmp_path / "job", "trial:{}"), (trial, "{}")):
        run = only_run(folder)
        found = samples(run)
        assert [(one.row.group, one.row.index, one.row.reward, one.row.status) for one in found] == [
            ("t:build", name.format("build"), 1.0, "completed"), ("t:test", name.format("test"), None, "truncated"),
        ]  # fmt: skip
        assert found[1].extra == {"exception_info": {"exception_type": "AgentTimeoutError"}}
        assert run.reason.endswith("1 trial has results without one")
    before = by_name("harbor").sources(run)
    put(trial / "steps/test/agent/trajectory.json", document(said("late")))
    assert [one.name for one in by_name("harbor").sources(run)] == [
        "steps/build/agent/trajectory.json", "steps/test/agent/trajectory.json"
    ]  # fmt: skip
    assert [(row.index, row.response) for row in rows(run)] == [("build", "one"), ("test", "late")]
    (trial / "steps/build/agent/trajectory.json").unlink()
    assert before[-1] not in by_name("harbor").sources(run)
    assert [(row.index, row.response) for row in rows(run)] == [("test", "late"), ("build", "")]


def test_a_reward_that_comes_later_counts(tmp_path: Path) -> None:
    run = only_run(job(tmp_path / "first"))
    before = by_name("harbor").sources(run)
    put(tmp_path / "first/t__1/result.json", {"task_name": "t", "verifier_result": {"rewards": {"score": 0.75}}})
    after = by_name("harbor").sources(run)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True]
    assert rows(run)[1].reward == 0.75


def test_steps_of_a_trial_and_trajectories_that_go_on(tmp_path: Path) -> None:
    trial = tmp_path / "trial"
    first = document(said("one"), continued_trajectory_ref="trajectory.cont-1.json")
    again = document(said("two"), continued_trajectory_ref="../../secret.json")
    again["steps"][0]["is_copied_context"] = True
    put(trial / "steps/build/agent/trajectory.json", first)
    put(trial / "steps/build/agent/trajectory.cont-1.json", again)
    put(trial / "steps/test/agent/trajectory.json", document(said("three"), continued_trajectory_ref="trajectory.json"))
    steps = [{"step_name": "test", "verifier_result": {"rewards": {"reward": 1}}}, {"step_name": "build"}]
    put(trial / "result.json", {"task_name": "t", "step_results": steps, "verifier_result": {"rewards": {"r": 0.5}}})
    put(trial / "steps/lost/agent/trajectory.json", document(said("four")))
    found = samples(only_run(trial))
    assert [(one.row.index, one.row.group, one.row.reward) for one in found] == [
        ("build", "t:build", None), ("lost", "t:lost", None), ("test", "t:test", 1.0),
    ]  # fmt: skip
    assert [(turn.role, turn.parts[0].text) for turn in found[0].turns] == [
        ("user", "q"), ("assistant", "one"), ("assistant", "two"),
    ]  # fmt: skip


def test_a_document_that_follows_counts_and_one_that_is_not_read_is_named(tmp_path: Path) -> None:
    trial = job(tmp_path / "first") / "t__0"
    put(trial / "agent/trajectory.json", document(said("one"), continued_trajectory_ref="more.json"))
    run = only_run(tmp_path / "first")
    before = by_name("harbor").sources(run)
    assert "continues in more.json" in samples(run)[0].notes[0]
    put(trial / "agent/more.json", document(said("two")))
    after = by_name("harbor").sources(run)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, True]
    assert (samples(run)[0].notes, samples(run)[0].row.turns) == ([], 2)
    put(tmp_path / "loose" / "a.json", document(said("one"), continued_trajectory_ref="a.cont-1.json"))
    put(tmp_path / "loose" / "b.json", document(said("one")))
    loose = only_run(tmp_path / "loose")
    before = by_name("harbor").sources(loose)
    put(tmp_path / "loose" / "a.cont-1.json", document(said("two")))
    assert [a == b for a, b in zip(before, by_name("harbor").sources(loose), strict=True)] == [False, True]
    assert "continues in more.json" in samples(only_run(trial / "agent/trajectory.json"))[0].notes[0]


def test_tokens_of_steps_are_one_sequence(tmp_path: Path) -> None:
    one = {"prompt_token_ids": [1, 2], "completion_token_ids": [3], "logprobs": [-0.5]}
    two = {"prompt_token_ids": [1, 2, 3, 4], "completion_token_ids": [5], "logprobs": [-1.0]}
    put(tmp_path / "a.json", document(said("a", metrics=one), said("b", metrics=two)))
    (found,) = samples(only_run(tmp_path))
    assert (found.token_ids, found.row.prompt_tokens, found.row.response_tokens) == ([1, 2, 3, 4, 5], 2, 3)
    assert {series.name for series in found.series} == {"logprobs", "loss_mask"}


def test_documents_of_several_formats_in_a_folder_are_all_read(tmp_path: Path) -> None:
    shutil.copy(ATIF, tmp_path)
    shutil.copy(DATA / "inspect" / "inspect-ai-eval.json", tmp_path)
    put(tmp_path / "package.json", {"name": "x"})
    assert sorted(run.format for run in discover([tmp_path]).runs) == ["harbor", "inspect"]
