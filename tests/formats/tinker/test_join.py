"""Conversations of the step's log are shown with a sample where they are certain to be its own, and only there."""

import functools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats.reading import logtree
from rolloupe.formats.tinker.format import Tinker
from rolloupe.formats.tinker.turns import CONTENT
from rolloupe.model import Location, LogNode, Sample, Turn
from tests.formats.reading.test_logtree import node
from tests.formats.support import only_run, samples
from tests.thoroughness import amount

FLAT = Path(__file__).parents[2] / "data/tinker/flat_run"
NAME = "eval_test_iteration_000000"

reader = Tinker()


def trajectory(index: int, reward: float, *, group: int = 0, ac_len: int = 9, **more: Any) -> dict[str, Any]:
    metrics = {"format": 1.0, "correct": float(reward > 0)}
    step = {"step_idx": 0, "ob_len": 20, "ac_len": ac_len, "reward": reward, "episode_done": True, "metrics": metrics}
    record = {"split": "train", "iteration": 0, "group_idx": group, "traj_idx": index, "total_reward": reward}
    return record | {"steps": [{**step, "logs": {}}]} | more


def section(title: str, *children: Any, **attrs: str) -> dict[str, Any]:
    return node("section", node("h3", title), node("div", *children, _class="lt-section-body"), **attrs)


def talk(*messages: tuple[str, str]) -> dict[str, Any]:
    said = [{"role": role, "content": content} for role, content in messages]
    return node("div") | {"data": {"type": "conversation", "messages": said}}


def table(caption: str, **rows: object) -> list[dict[str, Any]]:
    body = [node("tr", node("td", key), node("td", str(value))) for key, value in rows.items()]
    return [node("div", caption, _class="lt-table-caption"), node("table", node("tbody", *body))]


def triple(response: str, reward: float, prompt: str = "What is 2 + 2?", **facts: object) -> list[dict[str, Any]]:
    rows = {"format_valid": True, "correct": reward > 0, **facts, "reward": f"{reward:.3f}"}
    return [
        section("Prompt", talk(("user", prompt))),
        section("Policy Response", talk(("assistant", response))),
        section("Reward", *table("Reward components", **rows)),
    ]


def details(*records: dict[str, Any]) -> dict[str, Any]:
    found = []
    for number, record in enumerate(records):
        turns = [
            section(
                f"Turn {n}",
                *table("Step stats", ob_len=s["ob_len"], ac_len=s["ac_len"], step_reward=f"{s['reward']:.3f}"),
            )
            for n, s in enumerate(record["steps"], 1)
        ]
        found.append(section(f"Trajectory {number} Episode", section("Episode Details", *turns)))
    return section("Trajectory Details", *found)


def group(records: list[dict[str, Any]], *parts: Any) -> dict[str, Any]:
    return section("Group Rollout", *parts, details(*records))


def loaded(folder: Path, records: list[dict[str, Any]], *sections: Any) -> list[Sample]:
    """The samples of a run with these trajectories and this log."""
    base = folder / "train_iteration_000000"
    Path(f"{base}_rollout_summaries.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    root = {"tag": "body", "attrs": {}, "children": sections}
    Path(f"{base}_logtree.json").write_text(json.dumps({"title": "RL Iteration 0", "root": root}))
    return samples(only_run(folder))


def said(sample: Sample) -> list[tuple[str, str]]:
    return [(turn.role, "".join(part.text for part in turn.parts)) for turn in sample.turns]


def loose(folder: Path) -> list[str]:
    """Titles of conversations that belong to no sample for certain."""
    return [found.title for found in reader.conversations(only_run(folder), "train", 0)]


def child_of(node: LogNode, place: int) -> LogNode:
    return node.children[place]


def test_a_response_of_its_own_reward_is_the_trajectory_s(tmp_path: Path) -> None:
    both = [trajectory(0, 1.0), trajectory(1, 0.0)]
    right, wrong = loaded(tmp_path, both, group(both, *triple("It is 5", 0.0), *triple("It is 4", 1.0)))
    assert said(right) == [("user", "What is 2 + 2?"), ("assistant", "It is 4")]
    assert said(wrong) == [("user", "What is 2 + 2?"), ("assistant", "It is 5")]
    assert [turn.origin for turn in right.turns] == ["prompt", "response"]
    assert (right.turns[1].tokens, right.turns[1].reward, right.turns[1].metrics["correct"]) == (9, 1.0, 1.0)
    assert (right.prompt_text, right.response_text) == ("What is 2 + 2?", "It is 4")
    assert right.notes == [
        "the conversation is from the report: reward, format and correct are those of this trajectory alone"
    ]
    root = logtree.read_tree(Location(str(next(tmp_path.rglob("*_logtree.json"))), str(tmp_path)))
    for sample in (right, wrong):  # the note leads to its trajectory in the report
        places = [int(place) for place in sample.report_at.split(".")]
        section = functools.reduce(child_of, places[:-2], root)
        titles = [part.title for part in section.children]
        answer = section.children[places[-2] + 1].children[0]
        assert titles[places[-2]] == "Prompt" and answer.turns[0].parts == sample.turns[1].parts
    assert loose(tmp_path) == []


def test_responses_that_could_be_either_s_are_nobody_s(tmp_path: Path) -> None:
    both = [trajectory(0, 1.0), trajectory(1, 1.0)]
    for sample in loaded(tmp_path, both, group(both, *triple("It is 4", 1.0), *triple("4", 1.0))):
        assert said(sample) == [("user", "What is 2 + 2?"), ("assistant", "")]
        assert sample.notes == ["the prompt is from the report: the group has one prompt"]
    assert loose(tmp_path) == ["Group Rollout 1 / Policy Response"] * 2


def test_responses_of_one_text_are_everybody_s(tmp_path: Path) -> None:
    both = [trajectory(0, 1.0), trajectory(1, 1.0)]
    found = loaded(tmp_path, both, group(both, *triple("It is 4", 1.0), *triple("It is 4", 1.0)))
    assert [said(sample)[1] for sample in found] == [("assistant", "It is 4")] * 2


@pytest.mark.parametrize("length", [0, 5000])
def test_a_length_that_contradicts_ties_nothing(tmp_path: Path, length: int) -> None:
    both = [trajectory(0, 1.0, ac_len=length), trajectory(1, 0.0)]
    first, second = loaded(tmp_path, both, group(both, *triple("It is 4", 1.0), *triple("It is 5", 0.0)))
    assert said(first)[1] == ("assistant", "")
    assert said(second)[1] == ("assistant", "It is 5")


def test_groups_whose_numbers_are_equal_are_not_told_apart(tmp_path: Path) -> None:
    records = [trajectory(0, 1.0), trajectory(0, 1.0, group=1)]
    sections = [group(records[:1], *triple("a", 1.0)), group(records[1:], *triple("b", 1.0))]
    for sample in loaded(tmp_path, records, *sections):
        assert said(sample) == [("assistant", "")]
        assert "logged no text" in sample.notes[0]
    assert len(loose(tmp_path)) == 4
    assert {title.split(" / ")[0] for title in loose(tmp_path)} == {"Group Rollout 1", "Group Rollout 2"}


def test_a_group_that_was_removed_leaves_the_others_where_they_belong(tmp_path: Path) -> None:
    kept, gone = trajectory(0, 1.0, ac_len=12), trajectory(0, 1.0, ac_len=13)
    (found,) = loaded(tmp_path, [kept], group([gone], *triple("gone", 1.0)), group([kept], *triple("kept", 1.0)))
    assert said(found)[1] == ("assistant", "kept")
    assert loose(tmp_path) == ["Group Rollout 1 / Prompt", "Group Rollout 1 / Policy Response"]


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: parts[:3],  # one rollout is not logged
        lambda parts: [parts[0], parts[3], *parts[1:3], *parts[4:]],  # interleaved
        lambda parts: [section("Notes", talk(("user", "?"))), *parts],
    ],
)
def test_other_orders_tie_nothing(tmp_path: Path, change: Any) -> None:
    both = [trajectory(0, 1.0), trajectory(1, 0.0)]
    parts = change([*triple("It is 5", 0.0), *triple("It is 4", 1.0)])
    for sample in loaded(tmp_path, both, group(both, *parts)):
        assert said(sample) == [("assistant", "")]


def test_attributes_name_group_and_trajectory(tmp_path: Path) -> None:
    both = [trajectory(0, 1.0), trajectory(1, 1.0)]
    parts = [section("Rollout", talk(("user", "q"), ("assistant", str(n))), data_traj_idx=str(n)) for n in (1, 0)]
    found = loaded(tmp_path, both, section("Any", *parts, data_group="0"))
    assert [said(sample)[1][1] for sample in found] == ["0", "1"]
    assert loose(tmp_path) == []


def test_of_attributes_the_inner_ones_count_and_another_group_forgets_the_trajectory(tmp_path: Path) -> None:
    records = [trajectory(0, 1.0), trajectory(0, 1.0, group=1)]
    ours = section("Inner", talk(("user", "q"), ("assistant", "ours")), data_group="1", data_traj_idx="0")
    whose = section("Inner", talk(("user", "q"), ("assistant", "whose?")), data_group="1")
    first, second = loaded(tmp_path, records, section("Outer", ours, whose, data_group="0", data_traj_idx="0"))
    assert (said(first), said(second)[1]) == ([("assistant", "")], ("assistant", "ours"))
    assert loose(tmp_path) == ["Outer 1 / Inner"]


def test_a_conversation_that_stands_aside_is_nobody_s_transcript(tmp_path: Path) -> None:
    judge = talk(("user", "Is it right?"), ("assistant", "no")) | {"attrs": {"data-aside": "aside"}}
    own = talk(("user", "q"), ("assistant", "yes"))
    (found,) = loaded(tmp_path, [trajectory(0, 1.0)], section("R", own, judge, data_group="0", data_trajectory="0"))
    assert said(found) == [("user", "q"), ("assistant", "yes")]
    assert loose(tmp_path) == ["R 1"]


HAS_PROMPT: dict[str, Any] = {
    "conversation": [{"role": "user", "content": "its own"}, {"role": "assistant", "content": "yes"}]
}
MORE_STEPS: dict[str, Any] = {"steps": trajectory(0, 0.0)["steps"] * 2}


@pytest.mark.parametrize("own", [HAS_PROMPT, MORE_STEPS])
def test_what_is_tied_and_not_shown_is_listed_with_what_is_nobody_s(tmp_path: Path, own: dict[str, Any]) -> None:
    """One sample has its own prompt; of the other, more was sampled than logged."""
    records = [trajectory(0, 1.0, **own), trajectory(1, 1.0)]
    parts = [section("R", talk(("user", "q"), ("assistant", str(n))), data_trajectory=str(n)) for n in (0, 1)]
    first, second = loaded(tmp_path, records, section("G", *parts, data_group="0"))
    assert ("assistant", "0") not in said(first) and ("assistant", "1") in said(second)
    assert loose(tmp_path) == ["G 1 / R"]
    every = reader.all_conversations(only_run(tmp_path), "train", 0)
    assert [(one.sample, one.title) for one in every] == [("", "G 1 / R"), ("train/0/0/1", "group 0, trajectory 1")]


def test_triples_of_samples_with_prompts_of_their_own_are_nobody_s(tmp_path: Path) -> None:
    both = [trajectory(0, 1.0, **HAS_PROMPT), trajectory(1, 0.0)]
    parts = [*triple("It is 4", 1.0), *triple("It is 5", 0.0)]
    first, second = loaded(tmp_path, both, group(both, *parts))
    assert (said(first)[1], said(second)[1]) == (("assistant", "yes"), ("assistant", "It is 5"))
    assert loose(tmp_path) == ["Group Rollout 1 / Prompt", "Group Rollout 1 / Policy Response"]
    loaded(tmp_path, [one | HAS_PROMPT for one in both], group(both, *parts))
    assert len(loose(tmp_path)) == 4


def test_what_a_sample_has_of_its_own_is_not_listed_again(tmp_path: Path) -> None:
    part = section("R", talk(("user", "its own"), ("assistant", "yes")), data_group="0", data_trajectory="0")
    loaded(tmp_path, [trajectory(0, 1.0, **HAS_PROMPT)], part)
    assert loose(tmp_path) == []


def test_a_second_conversation_of_a_trajectory_is_listed(tmp_path: Path) -> None:
    one = trajectory(0, 1.0)
    named = section("R", talk(("user", "q"), ("assistant", "its own")), data_group="0", data_trajectory="0")
    (found,) = loaded(tmp_path, [one], named, group([one], *triple("another", 1.0)))
    assert said(found) == [("user", "q"), ("assistant", "its own")]
    assert loose(tmp_path) == ["Group Rollout 2 / Prompt", "Group Rollout 2 / Policy Response"]


def test_what_was_logged_of_a_whole_conversation_ties_it() -> None:
    run = only_run(FLAT)
    found = {(s.key.group, s.key.index): s for s in samples(run) if (s.key.split, s.key.step) == ("eval/test", 0)}
    noted = {key for key, sample in found.items() if "from the report" in "".join(sample.notes)}
    assert noted == {(group, index) for group in "0123" for index in "01"}
    tools = found["1", "0"]
    assert [turn.role for turn in tools.turns] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [turn.tokens is not None for turn in tools.turns if turn.role == "assistant"] == [True] * 3
    assert sum(turn.tokens or 0 for turn in tools.turns) == tools.row.response_tokens
    assert reader.conversations(run, "eval/test", 0) == []
    logged = reader.all_conversations(run, "eval/test", 0)
    by_id = {str(sample.key): sample for sample in found.values()}
    assert {one.sample for one in logged} == {f"eval/test/0/{group}/{index}" for group, index in noted}
    for one in logged:
        assert [turn.role for turn in one.turns] == [turn.role for turn in by_id[one.sample].turns]


def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts from now on how often turns are compared."""
    times, same = [0], Turn.__eq__

    def counted(turn: Turn, other: object) -> bool:
        times[0] += 1
        return same(turn, other)

    monkeypatch.setattr(Turn, "__eq__", counted)
    return times


LARGE = amount(80, 200)


@pytest.mark.parametrize("answers", [1, LARGE])
def test_large_groups_of_triples_take_few_comparisons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    """Of one answer, and of answers with rewards of their own."""
    rewards = [1.0 + n % answers for n in range(LARGE)]
    records = [trajectory(n, reward) for n, reward in enumerate(rewards)]
    parts = [part for reward in rewards for part in triple(f"It is {reward}.", reward)]
    times = compared(monkeypatch)
    found = loaded(tmp_path, records, group(records, *parts))
    assert [said(one)[-1][1] for one in found] == [f"It is {reward}." for reward in rewards]
    assert loose(tmp_path) == []
    assert 0 < times[0] < 10 * LARGE


@pytest.mark.parametrize("answers", [1, LARGE])
def test_large_groups_of_conversations_take_few_comparisons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    records = [trajectory(n, 1.0) for n in range(LARGE)]
    for n, record in enumerate(records):
        record["steps"][0]["logs"] = {CONTENT: f"It is {n % answers}."}
    talks = [section("Rollout", talk(("user", "?"), ("assistant", f"It is {n % answers}."))) for n in range(LARGE)]
    times = compared(monkeypatch)
    loaded(tmp_path, records, group(records, *talks))
    assert loose(tmp_path) == []
    assert times[0] < 10 * LARGE


def test_a_page_alone_ties_nothing(tmp_path: Path) -> None:
    for suffix in ("_rollout_summaries.jsonl", ".html"):
        shutil.copyfile(FLAT / (NAME + suffix), tmp_path / (NAME + suffix))
    run = only_run(tmp_path)
    assert not any("from the report" in note for sample in samples(run) for note in sample.notes)
    assert len(reader.conversations(run, "eval/test", 0)) == 12


def test_a_half_written_log_costs_nothing_and_says_so(tmp_path: Path) -> None:
    (before,) = loaded(tmp_path, [trajectory(0, 1.0)], group([trajectory(0, 1.0)], *triple("x", 1.0)))
    path = tmp_path / "train_iteration_000000_logtree.json"
    path.write_bytes(path.read_bytes()[:-40])
    run = only_run(tmp_path)
    (after,) = samples(run)
    assert (said(before)[1], said(after)) == (("assistant", "x"), [("assistant", "")])
    root = reader.logtree(run, "train", 0)
    assert root is not None
    assert "could not be read: not JSON" in root.children[0].text
    assert reader.conversations(run, "train", 0) == []


def test_a_log_that_is_a_link_out_of_the_root_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    loaded(folder, [trajectory(0, 1.0)], group([trajectory(0, 1.0)], *triple("secret", 1.0)))
    path = folder / "train_iteration_000000_logtree.json"
    path.rename(tmp_path / "outside.json")
    path.symlink_to(tmp_path / "outside.json")
    run = only_run(folder)
    assert "secret" not in repr(samples(run))
    assert reader.logtrees(run) == []
