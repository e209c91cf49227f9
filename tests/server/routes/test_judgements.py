"""Judgements of a person over HTTP: filtered, queued, compared with the reward, and written to files."""

import json
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

import pytest

import rolloupe
from rolloupe import query
from rolloupe.insight import judgements
from rolloupe.query.samples.pages import located_named
from rolloupe.server.app import App
from tests.server.support import BEARER, WRITE, Answer, ask, get, lines, opened, relax_run, run_path, served


def mark(app: App, name: str, word: str) -> Answer:
    """Judge a sample of the only run."""
    run = get(app, "/api/runs").json["runs"][0]["id"]
    change = {"kind": "sample", "run": run, "name": name, "seen": 0, "sample_mark": {"judgement": word}}
    return ask(app, "POST", "/api/state", BEARER | WRITE, json.dumps(change).encode())


def judge(app: App, words: dict[str, str]) -> None:
    """Judge samples, by their ids."""
    for name, word in words.items():
        assert mark(app, name, word).status == 200


def app_of(folder: Path, tmp_path: Path) -> App:
    return served(opened(folder, tmp_path / "index"), state_dir=str(tmp_path / "state"))


@pytest.fixture
def app(folder: Path, tmp_path: Path) -> App:
    """A run whose samples of odd numbers have the reward 1; four of them are judged, one of these wrongly."""
    relax_run(folder)
    app = app_of(folder, tmp_path)
    judge(app, {"train/0/0/0": "bad", "train/0/0/1": "good", "train/0/0/3": "bad", "train/2/1/5": "good"})
    return app


def listed(app: App, where: str, **more: str) -> list[dict[str, Any]]:
    query = "".join(f"&{name}={value}" for name, value in more.items())
    reply = get(app, f"{run_path(app)}/samples?split=train&where={quote(where)}{query}").json
    return list(reply["samples"])


def test_a_filter_and_a_column_have_the_judgements(app: App) -> None:
    assert [one["id"] for one in listed(app, "judgement = good")] == ["train/0/0/1", "train/2/1/5"]
    assert [one["id"] for one in listed(app, "judgement = bad and reward = 1")] == ["train/0/0/3"]
    assert len(listed(app, "judgement is null")) == 20
    both = listed(app, "group = 0 and step = 0", column="judgement", sort="judgement")
    assert [one["values"] for one in both] == [["bad"], ["bad"], ["good"], [None]]
    assert len(listed(app, "not judgement = bad and step = 0")) == 6
    groups = get(app, f"{run_path(app)}/groups?split=train&step=0&where=judgement%20%3D%20bad").json["groups"]
    assert [len(group["members"]) for group in groups] == [2]
    search = {"tab": "t", "search": {"text": "Answer"}, "where": "judgement = good"}
    curve = {
        "runs": [run_path(app).split("/")[-1]],
        "curves": [{"kind": "sample", "name": "reward", "options": {"where": "judgement = good"}}],
    }
    (drawn,) = ask(app, "POST", "/api/curves", BEARER | WRITE, json.dumps(curve).encode()).json["curves"]
    assert drawn["values"] == [1.0, 1.0], drawn
    events = ask(app, "POST", "/api/search", BEARER | WRITE, json.dumps(search).encode()).body.splitlines()
    assert json.loads(events[-1])["found"] == 2


def test_an_answer_is_never_older_than_the_judgements(app: App) -> None:
    assert len(listed(app, "judgement = bad")) == 2
    judge(app, {"train/1/0/0": "bad"})
    assert len(listed(app, "judgement = bad")) == 3


def test_without_judgements_the_filter_matches_nothing(folder: Path, tmp_path: Path) -> None:
    relax_run(folder)
    app = app_of(folder, tmp_path)
    assert listed(app, "judgement = good") == []
    assert get(app, f"{run_path(app)}/agreement").json["samples"] == 0


def test_a_judgement_is_good_or_bad(app: App) -> None:
    reply = mark(app, "train/0/0/2", "so-so")
    assert reply.status == 400 and "good or bad" in reply.json["error"]


def queue(app: App, **more: object) -> dict[str, Any]:
    query = "".join(f"&{name}={quote(str(value))}" for name, value in more.items())
    return dict(get(app, f"{run_path(app)}/judging-queue?split=train{query}").json)


def test_a_queue_has_the_samples_of_the_filter_that_are_not_judged(app: App) -> None:
    found = queue(app, step=0)
    assert found["samples"] == 5
    assert sorted(found["ids"]) == ["train/0/0/2", *(f"train/0/1/{n}" for n in range(4, 8))]
    assert queue(app, step=0) == found
    orders = {tuple(queue(app, step=0, seed=seed)["ids"]) for seed in range(9)}
    assert len(orders) > 3
    assert {one.rsplit("/", 1)[1] for one in queue(app, where="reward = 1 and group = 1")["ids"]} == {"5", "7"}
    assert len(queue(app, limit=3)["ids"]) == 3


def test_strata_take_low_and_high_rewards_in_turns(app: App) -> None:
    ids = queue(app, order="strata")["ids"]
    odd = [int(one.rsplit("/", 1)[1]) % 2 for one in ids]
    assert [sum(odd[n : n + 2]) for n in range(0, 18, 2)] == [1] * 9


def test_disagreement_comes_first(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder, steps=1)
    rows = [json.loads(line) for line in (train / "0.jsonl").read_text().splitlines()]
    for number, one in enumerate(rows):
        one["metrics"] = {"correct": float(number not in (2, 4))}
        one["reward"] = float(number not in (2, 6))
    (train / "0.jsonl").write_bytes(lines(rows))
    app = app_of(folder, tmp_path)
    found = queue(app, order="disagreement")
    assert found["against"] == "correct"
    assert {one.rsplit("/", 1)[1] for one in found["ids"][:2]} == {"4", "6"}


def test_without_a_second_opinion_groups_with_mixed_rewards_come_first(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder, steps=1)
    rows = [json.loads(line) for line in (train / "0.jsonl").read_text().splitlines()]
    for one in rows[:4]:
        one["reward"] = 1.0
    (train / "0.jsonl").write_bytes(lines(rows))
    app = app_of(folder, tmp_path)
    found = queue(app, order="disagreement")
    assert found["against"] == ""
    assert {one.split("/")[2] for one in found["ids"][:4]} == {"1"}


def test_agreement_counts_hits_and_misses(app: App) -> None:
    found = get(app, f"{run_path(app)}/agreement").json
    assert (found["samples"], found["agree"], found["threshold"], found["pairs"]) == (4, 3, 0.5, 2)
    cells = {(cell["judgement"], cell["reward"]): cell for cell in found["cells"]}
    assert {key: cell["samples"] for key, cell in cells.items()} == {
        ("good", "high"): 2, ("good", "low"): 0, ("bad", "high"): 1, ("bad", "low"): 1,
    }  # fmt: skip
    assert [one["id"] for one in listed(app, cells["bad", "high"]["where"])] == ["train/0/0/3"]
    assert 0.3 < found["low"] < 0.75 < found["high"] < 1
    strict = get(app, f"{run_path(app)}/agreement?threshold=2").json
    assert (strict["agree"], strict["reason"]) == (2, "as requested")
    some = get(app, f"{run_path(app)}/agreement?ids=train/0/0/3&ids=train/0/0/1").json
    assert some["agree"] == 1
    where = next(cell["where"] for cell in some["cells"] if cell["judgement"] == "good" and cell["samples"])
    assert [one["id"] for one in listed(app, where)] == ["train/0/0/1"]


def exported(app: App, to: str) -> list[dict[str, Any]]:
    reply = get(app, f"{run_path(app)}/export?to={to}&of=judgements&texts=whole")
    assert reply.status == 200
    return [json.loads(line) for line in reply.body.splitlines()]


def test_judgements_are_written_to_files(app: App) -> None:
    written = exported(app, "jsonl")
    assert [(one["id"], one["judgement"], one["reward"]) for one in written] == [
        ("train/0/0/0", "bad", 0.0), ("train/0/0/1", "good", 1.0), ("train/0/0/3", "bad", 1.0),
        ("train/2/1/5", "good", 1.0),
    ]  # fmt: skip
    table = get(app, f"{run_path(app)}/export?to=csv&of=judgements").body.decode()
    assert table.splitlines()[0].endswith("judgement") and len(table.splitlines()) == 5


def test_pairs_are_of_one_group(app: App) -> None:
    pairs = exported(app, "pairs")
    assert [(one["chosen_id"], one["rejected_id"]) for one in pairs] == [
        ("train/0/0/1", "train/0/0/0"), ("train/0/0/1", "train/0/0/3"),
    ]  # fmt: skip
    assert (pairs[0]["prompt"], pairs[0]["chosen"], pairs[0]["rejected"]) == ("Question 0?", "Answer 1", "Answer 0")


def test_pairs_and_judged_samples_are_those_of_the_query(app: App) -> None:
    for scope in ("step=2", f"where={quote('reward = 0')}"):
        reply = get(app, f"{run_path(app)}/export?to=pairs&of=judgements&{scope}")
        assert (reply.status, reply.body) == (200, b"")


def test_a_run_keeps_a_column_of_that_name(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder, steps=1)
    rows = [json.loads(line) for line in (train / "0.jsonl").read_text().splitlines()]
    for number, one in enumerate(rows):
        one["reward"] = {"score": number % 2, "judgement": "wrong" if number % 3 else "correct"}
    (train / "0.jsonl").write_bytes(lines(rows))
    app = app_of(folder, tmp_path)
    judge(app, {"train/0/0/1": "good", "train/0/0/2": "bad"})
    assert [one["id"] for one in listed(app, "my_judgement = good")] == ["train/0/0/1"]
    assert len(listed(app, "judgement = correct")) == 3 and len(listed(app, "judgement is null")) == 0
    assert len(queue(app)["ids"]) == 6
    found = get(app, f"{run_path(app)}/agreement").json
    assert (found["agree"], found["samples"], found["pairs"]) == (2, 2, 1)
    cell = next(cell for cell in found["cells"] if cell["judgement"] == "bad" and cell["samples"])
    assert [one["id"] for one in listed(app, cell["where"])] == ["train/0/0/2"]
    assert [(one["my_judgement"], one["judgement"]) for one in exported(app, "jsonl")] == [
        ("good", "wrong"), ("bad", "wrong"),
    ]  # fmt: skip
    assert len(exported(app, "pairs")) == 1


def test_judgements_are_joined_once_and_only_for_who_names_them(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    joins = mock.Mock(side_effect=located_named)
    monkeypatch.setattr(judgements, "located_named", joins)
    judge(app, {"train/1/0/1": "bad"})
    for text in ("reward < 2", "status = judgement"):
        assert get(app, f"{run_path(app)}/samples?split=train&where={quote(text)}").status == 200
    assert joins.call_count == 0
    for text in ("judgement = good", "tag.judgement = bad"):
        assert len(listed(app, text)) in (2, 3)
    assert get(app, f"{run_path(app)}/complete?split=train&text=judg").json["found"][0]["text"] == "judgement"
    assert joins.call_count == 1


def test_a_file_of_a_chart_has_the_judgements(app: App) -> None:
    run = get(app, "/api/runs").json["runs"][0]["id"]
    asked = {"runs": [run], "curves": [{"kind": "sample", "name": "reward", "options": {"where": "judgement = bad"}}]}
    reply = get(app, f"/api/curve.csv?ask={quote(json.dumps(asked))}")
    assert reply.status == 200 and reply.body.decode().splitlines()[1].startswith("0,0.5")


def test_python_has_what_was_judged_in_the_page(app: App, folder: Path, tmp_path: Path) -> None:
    with rolloupe.open(folder, index_dir=tmp_path / "index", state_dir=tmp_path / "state") as runs:
        judged = runs.samples(where="judgement is not null")
        assert [one.tags["judgement"] for one in judged] == ["bad", "good", "bad", "good"]
        assert runs.agreement().agree == 3
        curve = runs[0].curve(
            query.CurveQuery(kind="sample", name="reward", options=query.CurveOptions(where="judgement = bad"))
        )
        assert [*curve.values] == [0.5]
        assert len([*runs.preference_pairs()]) == 2
        assert runs.bookmarks() == []
    with rolloupe.open(folder, index_dir=tmp_path / "index", state_dir=tmp_path / "none") as runs:
        assert [*runs.samples(where="judgement = good")] == []
        assert not (tmp_path / "none").exists()
