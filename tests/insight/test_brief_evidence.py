"""What is planted is said first, and the numbers of each sentence of a brief are those of the page that it leads to."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from tests.insight.briefed import write
from tests.insight.test_brief import PLANTED
from tests.server.support import get, opened, served


class Pages:
    """What the pages of a run show."""

    def __init__(self, app: Any, run: str) -> None:
        self._app, self._run = app, run

    def ask(self, name: str) -> Any:
        """The answer to a question, or of another route of the run."""
        return get(self._app, f"{self._run}/{name}").json

    def curve(self, evidence: dict[str, Any]) -> tuple[list[int], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The steps and values of the curve, and the number of samples of each step."""
        steps = self.ask(f"steps?split={evidence['split']}")
        counts = np.array(steps["samples"]) - np.array(steps["reward_excluded"])
        return steps["steps"], np.array(steps["reward_mean"]), counts


def shown(value: float | np.floating[Any], form: str = ".3g") -> str:
    return f"{value:{form}}".replace("-", "−")


def check_reward(pages: Pages, sentence: dict[str, Any]) -> None:
    if sentence["evidence"]["curve"]["name"] != "reward":
        check_correctness(pages, sentence)
        return
    steps, means, counts = pages.curve(sentence["evidence"])
    if dip := re.search(r"steps (\d+) to (\d+) .* dipped to (\S+), from (\S+) before", sentence["text"]):
        first, last = steps.index(int(dip[1])), steps.index(int(dip[2]))
        assert dip[3] == shown(np.mean(means[first : last + 1])) and dip[4] == shown(np.mean(means[first - 3 : first]))
        return
    if jump := re.search(r"from (\S+) to (\S+) at step (\d+) \(means of (\d+) steps", sentence["text"]):
        at, width = steps.index(int(jump[3])), int(jump[4])
        assert jump[1] == shown(np.mean(means[at - width : at])) and jump[2] == shown(np.mean(means[at : at + width]))
        return
    width = int((re.search(r"means of (\d+) steps", sentence["text"]) or ["", "1"])[1])
    windows = [
        shown(np.average(means[at : at + width], weights=counts[at : at + width]))
        for at in range(len(means) - width + 1)
    ]
    before, after = re.search(r"(−?[\d.]+) (?:→|to) (−?[\d.]+\d)", sentence["text"]).groups()  # type: ignore[pyrefly:missing-attribute]
    assert after == windows[-1]
    best = int(re.search(r"best (?:at|of) step (\d+)", sentence["text"] + " best at step 0")[1])  # type: ignore[pyrefly:unsupported-operation]
    if "fallen" in sentence["text"]:
        at = windows.index(before)
        assert best in steps[at : at + width] and before == shown(max(map(float, windows)))
        assert means[steps.index(best)] == max(means[at : at + width])
    else:
        assert before == windows[0]
        assert "it was best" not in sentence["text"] or means[steps.index(best)] == max(means)


def check_environment(pages: Pages, sentence: dict[str, Any]) -> None:
    if value := re.search(r"of samples, which earn (\S+) in these steps", sentence["text"]):
        shown = pages.ask(f"samples?split=train&where={quote(sentence['evidence']['where'])}&limit=500")["samples"]
        assert shown and value[1] == f"{np.mean([sample['reward'] for sample in shown]):.3g}"
        return
    env, best, late, width = re.search(  # type: ignore[pyrefly:missing-attribute]
        r"environment (\w+) the reward fell from (\S+) to (\S+) \(means of (\d+)", sentence["text"]
    ).groups()
    assert sentence["evidence"]["where"] == f"env = {env}"
    steps = pages.ask("steps?split=train")["steps"]
    rewards: list[list[float]] = []
    for step in steps:
        shown = pages.ask(f"samples?split=train&step={step}&where=env%20%3D%20{env}&limit=500")["samples"]
        rewards.append([sample["reward"] for sample in shown])
    windows = [
        np.mean([one for of in rewards[at : at + int(width)] for one in of])
        for at in range(len(steps) - int(width) + 1)
    ]
    assert f"{max(windows):.3g}" == best and f"{windows[-1]:.3g}" == late


def check_correctness(pages: Pages, sentence: dict[str, Any]) -> None:
    assert sentence["evidence"]["curve"]["name"] == "correct"


def check_held_out(pages: Pages, sentence: dict[str, Any]) -> None:
    evaluations = {one["split"]: one["steps"] for one in pages.ask("evals")["evals"]}
    steps = evaluations[sentence["evidence"]["split"]]
    width = int((re.search(r"means of (\d+) evaluations", sentence["text"]) or ["", "1"])[1])
    scores = np.array([step["pass_at"][0] for step in steps])
    means = {f"{100 * scores[at : at + width].mean():.0f}" for at in range(len(scores) - width + 1)}
    numbers = re.findall(r"(\d+)%", sentence["text"])
    assert len(numbers) == 2 and {*numbers} <= means


def check_answers(pages: Pages, sentence: dict[str, Any]) -> None:
    finding = finding_of(pages, sentence)
    assert f"{finding['first']:.0%} → {finding['last']:.0%} of answers" in sentence["text"]


def finding_of(pages: Pages, sentence: dict[str, Any]) -> Any:
    name = sentence["evidence"]["finding"]
    (finding,) = (one for one in pages.ask("findings")["findings"] if name in (one["phrase"], one["behaviour"]))
    return finding


def check_paid_for(pages: Pages, sentence: dict[str, Any]) -> None:
    check_answers(pages, sentence)
    finding = finding_of(pages, sentence)
    assert f"Within groups the reward pays {finding['effect']:+.2g} for {finding['title']}, in " in sentence["text"]


def check_data(pages: Pages, sentence: dict[str, Any]) -> None:
    rules = {one["rule"]: one["text"] for one in pages.ask("lint")["broken"]}
    assert rules[sentence["evidence"]["finding"]] == sentence["text"]


def check_unpaid(pages: Pages, sentence: dict[str, Any]) -> None:
    shown = pages.ask(f"samples?split=train&where={quote(sentence['evidence']['where'])}&limit=500")
    count, lowest = re.search(r"All ([\d,]+) samples .* reward, (\S+);", sentence["text"]).groups()  # type: ignore[pyrefly:missing-attribute]
    assert shown["total"] == int(count.replace(",", "")) and {one["reward"] for one in shown["samples"]} == {
        float(lowest)
    }


def check_curves(pages: Pages, sentence: dict[str, Any]) -> None:
    alarms = {f"{one['title']}: {one['text']}.": one for one in pages.ask("alarms")["alarms"]}
    assert sentence["evidence"]["curve"] in alarms[sentence["text"]]["curves"]


def check_broken(pages: Pages, sentence: dict[str, Any]) -> None:
    steps, means, _ = pages.curve(sentence["evidence"])
    said = re.search(r"steps? (\d+)(?: to (\d+))? every reward is (\S+); .* is (\S+)\.", sentence["text"])
    first, last, value, before = said.groups()  # type: ignore[pyrefly:missing-attribute]
    at, end = steps.index(int(first)), steps.index(int(last or steps[-1]))
    assert {shown(mean) for mean in means[at : end + 1]} == {value} and shown(means[at - 1]) == before


CHECKS = {
    ("reward", "metrics"): check_reward,
    ("reward", "rollouts"): check_environment,
    ("held_out", "evals"): check_held_out,
    ("paid_for", "findings"): check_paid_for,
    ("answers", "findings"): check_answers,
    ("data", "findings"): check_data,
    ("data", "metrics"): check_broken,
    ("data", "rollouts"): check_unpaid,
    ("curves", "metrics"): check_curves,
}
"""The check of each kind of sentence, by the page that it leads to."""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    for name, (_, how, _) in PLANTED.items():
        write(folder / name, 3, **dict[str, Any](members=4) | how)
    return folder


def test_what_was_planted_is_said_first_with_the_numbers_of_the_page_it_leads_to(planted: Path, tmp_path: Path) -> None:
    checked, asked = set(), set()
    with opened(planted, tmp_path) as library:
        app = served(library)
        for run in library.runs:
            assert run.wait_all(60)
            pages = Pages(app, f"/api/runs/{run.id}")
            sentences = pages.ask("brief")["sentences"]
            planted_kind, _, words = PLANTED[run.id]
            assert sentences[0]["kind"] == planted_kind, sentences
            assert all(part in sentences[0]["text"] for part in words), sentences
            asked.add(run.id)
            for sentence in sentences:
                kind = sentence["kind"], sentence["evidence"]["page"]
                CHECKS[kind](pages, sentence)
                checked.add(kind)
    assert checked == {*CHECKS}
    assert asked == {*PLANTED}
