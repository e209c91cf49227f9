"""The answers of a group side by side, and one prompt at other steps, over HTTP."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rolloupe.query import prompts
from tests.cli.support import rolloupe as command
from tests.server.support import Answer, lines, opened, relax_run, row, served
from tests.server.support import get as asked


@pytest.fixture
def get(tmp_path: Path) -> Iterator[Callable[[str], Answer]]:
    train = relax_run(tmp_path / "run", steps=0)
    alike = "The same beginning. " * 500
    texts = [f"{alike}First" + " more" * 10_000, f"{alike}Fifth", "", f"{alike}e\u0301", f"{alike}First\ud83d"]
    for step in range(3):
        rows = [row(step, n, group_index=step * 7, prompt="Why?", response=text, reward=[0, 1, 0, float("nan"), 0][n])
                for n, text in enumerate(texts)]  # fmt: skip
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        app = served(library)
        yield lambda target: asked(app, target)


def text_of(answer: dict[str, Any], *names: str) -> str:
    pieces: list[str] = [piece[name] for piece in answer["pieces"] for name in names]
    return "".join(pieces)


def test_answers_come_from_the_end_of_what_all_share(get: Callable[[str], Answer]) -> None:
    reply = get("/api/runs/run/members?id=train/0/0/0&chars=1000&lead=15").json
    assert (reply["against"], reply["best"], reply["total"], reply["common"]) == (
        "train/0/0/1", "train/0/0/1", 5, 10_000,
    )  # fmt: skip
    long, best, none, other, broken = reply["answers"]
    assert (long["skipped"], text_of(long, "common")) == (9985, "same beginning. "[1:])
    assert text_of(long, "shared") == "Fi" and text_of(long, "own").startswith("rst more")
    assert long["skipped"] + len(text_of(long, "common", "shared", "own")) + long["cut"] == long["chars"]
    assert (long["verdict"], long["parts_at"]) == ("parts", 10_002)
    assert [one["verdict"] for one in (best, none, other, broken)] == ["self", "none", "parts", "parts"]
    assert text_of(other, "own") == "e\u0301" and text_of(broken, "own") == "rst\ufffd"


def test_the_one_compared_with_comes_along_where_it_is_not_chosen(get: Callable[[str], Answer]) -> None:
    reply = get("/api/runs/run/members?id=train/0/0/3&only=train/0/0/3&against=train/0/0/0&lead=0&chars=10").json
    assert [one["id"] for one in reply["answers"]] == ["train/0/0/3"] and reply["reference"]["id"] == "train/0/0/0"
    assert text_of(reply["reference"], "own").startswith("First more")
    assert [piece["own"] for piece in reply["prompt"]] == ["Why?"]


def test_an_answer_is_compared_with_one_of_another_step(get: Callable[[str], Answer]) -> None:
    reply = get("/api/runs/run/members?id=train/2/14/1&only=train/2/14/1&against=train/0/0/0&lead=0&chars=10").json
    assert [one["id"] for one in reply["answers"]] == ["train/2/14/1"] and reply["reference"]["id"] == "train/0/0/0"
    assert reply["answers"][0]["verdict"] == "parts"


@pytest.mark.parametrize(("most", "is_cut"), [(3, False), (2, True)])
def test_steps_of_a_prompt_are_cut_only_where_there_are_more(
    get: Callable[[str], Answer], monkeypatch: pytest.MonkeyPatch, most: int, is_cut: bool
) -> None:
    monkeypatch.setattr(prompts, "MOST", most)
    reply = get("/api/runs/run/prompt?id=train/1/7/0").json
    assert (len(reply["steps"]), reply["is_cut"]) == (most, is_cut)


@pytest.mark.parametrize("query", ["id=train/0/0/99", "id=nothing", "id=train/0/0/0&against=train/1/7/9"])
def test_an_unknown_sample_is_not_found(get: Callable[[str], Answer], query: str) -> None:
    assert get(f"/api/runs/run/members?{query}").status == 404


def test_the_command_names_runs_without_the_prompt(get: Callable[[str], Answer], tmp_path: Path) -> None:
    prompt = get("/api/runs/run/prompt?id=train/1/7/0").json["prompt"]
    done = command("prompt", tmp_path / "run", "--prompt", "f" * 16)
    assert done.code == 1 and "answers prompt 'ffffffffffffffff'" in done.err
    (relax_run(tmp_path / "other", steps=0) / "0.jsonl").write_bytes(lines([row(0, 0, prompt="What?")]))
    several = command("prompt", tmp_path / "other", tmp_path / "run", "--prompt", prompt, "--json")
    assert [one["step"] for one in several.lines] == [0, 1, 2] and "'other'" in several.err


def test_a_prompt_is_found_at_other_steps(get: Callable[[str], Answer]) -> None:
    reply = get("/api/runs/run/prompt?id=train/1/7/0").json
    assert [(one["step"], one["ids"][0], one["samples"], one["groups"]) for one in reply["steps"]] == [
        (0, "train/0/0/0", 5, 1), (1, "train/1/7/0", 5, 1), (2, "train/2/14/0", 5, 1),
    ]  # fmt: skip
    first = reply["steps"][0]
    assert (first["best"], first["worst"], len(first["ids"])) == ("train/0/0/1", "train/0/0/0", 5)
    assert first["reward_mean"] == 0.25 and reply["text"] == "Why?" and not reply["is_cut"]
    sample = get("/api/runs/run/sample?id=train/1/7/3").json
    assert (sample["prompt_id"], sample["prompt_steps"]) == (reply["prompt"], 3)
    assert get(f"/api/runs/run/prompt?prompt={reply['prompt']}").json == reply
    assert get("/api/runs/run/prompt?prompt=0123456789abcdef").status == 404
    assert get("/api/runs/run/prompt?prompt=../../etc").status == 404
