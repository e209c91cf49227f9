"""The tokens of a run over HTTP: the same numbers as the queries, and what wrong addresses get."""

import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rolloupe import query
from rolloupe.model import Sample
from rolloupe.query import SampleQuery, UpdateInputs
from rolloupe.questions import TokenChangeQuery
from tests.server.support import BEARER, ask, get, opened, run_path, served


def test_the_tokens_of_a_run_by_step_by_position_by_rule_and_by_word(demo_index: Path, demo_runs: Path) -> None:
    with opened(demo_runs / "other_formats/rl_logging_board/gen_train_toy", demo_index) as library:
        app, (run,) = served(library), library.runs
        assert run.wait_all(60)
        path = run_path(app)
        whole = {"samples": 48, "pending": 0, "unread": 0}
        listed = get(app, f"{path}/token-series?split=train").json
        assert listed["coverage"] == whole
        titles = {one["name"]: one["title"] for one in listed["series"]}
        assert titles["kl"] == "KL" and titles["value_error"] == "Value error"
        steps = get(app, f"{path}/token-steps?split=train&series=value_error").json
        expected = query.token_stats(run, SampleQuery(), "value_error", (10, 50, 90)).steps
        assert steps["steps"] == [0, 1, 2] and steps["coverage"] == whole
        for name in ("tokens", "samples", "mean", "sample_mean", "min", "max"):
            assert steps[name] == [getattr(one, name) for one in expected]
        assert steps["p90"] == [one.percentiles[90] for one in expected]
        curve = get(app, f"{path}/token-positions?split=train&series=kl&step=1").json
        (of_step,) = query.position_curves(run, SampleQuery(step_min=1, step_max=1), "kl").curves
        assert (curve["first"], curve["tokens"], curve["means"]) == (of_step.first, of_step.tokens, of_step.means)
        words = get(app, f"{path}/token-words?split=train&limit=4").json
        largest = query.words_of_steps(run, SampleQuery(), limit=4)
        assert [one.word for one in largest.words] == ["}.", "Ġ-", ".", "44"]
        assert [one["text"] for one in words["words"]] == ["}.", " -", ".", "44"]
        first = largest.words[0]
        assert (words["words"][0]["with_kl"], words["words"][0]["mean_kl"]) == (first.with_kl, first.kl / first.with_kl)
        assert words["kl"] == "kl" and words["listed"] == words["tokens"] == 1464
        changes = get(app, f"{path}/token-changes?split=train&before=0&after=2&min_tokens=3").json
        asked = TokenChangeQuery(split="train", before=0, after=2, min_tokens=3)
        first, same = changes["gained"][0], query.word_changes(run, asked)
        assert first["after"]["text"] == same.gained[0].after.word.replace("Ġ", " ")
        assert first["change"] == same.gained[0].change
        assert first["change"] == first["after"]["probability"] - first["before"]["probability"]
        assert changes["compared"] == same.compared and changes["coverage"]["samples"] == 32
        worst = get(app, f"{path}/worst-tokens?split=train&series=kl&limit=64").json["tokens"]
        assert any(" " in one["text"] for one in worst) and not any("Ġ" in one["text"] for one in worst)
        for wrong in (
            "token-steps", "token-positions?series=kl", "token-words?by=x", "token-words?limit=0",
            "token-masks?where=reward+%3E+0", "token-changes?split=train&before=0", "token-changes?before=0&after=1",
            "token-changes?split=train&before=1&after=1", "token-changes?split=train&before=0&after=1&min_tokens=0",
        ):  # fmt: skip
            assert get(app, f"{path}/{wrong}").status == 400, wrong
        for unknown in (
            "token-changes?split=train&before=0&after=9", "token-words?step=9", "token-steps?split=train&series=no",
            "token-positions?series=no&step=1", "token-positions?series=kl&step=9", "worst-tokens?series=no",
            "worst-tokens?series=kl&step=9", "worst-tokens?split=train&step=0&group=no&series=kl",
            "update?split=train&step=9&rule=ppo", "update?split=train&step=0&group=no&rule=ppo",
        ):  # fmt: skip
            assert get(app, f"{path}/{unknown}").status == 404, unknown
        for empty in ("series=group_advantages", "series=loss_mask", "series=kl&step=0&where=reward+%3E+9"):
            found = get(app, f"{path}/worst-tokens?split=train&{empty}")
            assert (found.status, found.json["tokens"]) == (200, []), empty


def test_an_update_that_nobody_waits_for_ends_and_the_next_goes_on_there(
    demo_index: Path, demo_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(demo_runs / "other_formats/rl_logging_board/gen_train_toy", demo_index) as library:
        app = served(library)
        address = f"{run_path(app)}/update?split=train&step=0&rule=ppo"
        expected = get(app, address).json
        leaves, whole, read = threading.Event(), query.whole, [0]

        def slow(*scope: Any) -> Iterator[Sample]:
            for sample in whole(*scope):
                read[0] += 1
                if read[0] > 2:
                    leaves.set()
                    time.sleep(0.05)
                yield sample

        def inputs(samples: Iterable[Sample]) -> Iterator[UpdateInputs | str]:
            looked_at.extend(some := [*samples])
            return update_inputs(some)

        looked_at: list[Sample] = []
        update_inputs = query.update_inputs
        monkeypatch.setattr(query, "update_inputs", inputs)
        monkeypatch.setattr(query, "whole", slow)
        app.context.updates.clear()
        app.context.cache.clear()
        assert ask(app, "GET", address, BEARER, leaves=leaves).status == 503
        total = expected["samples"] + sum(expected["left_out"].values())
        assert 2 < read[0] < total
        assert len(looked_at) < read[0]  # nor at the one that was read meanwhile, however large
        assert get(app, address).json == expected
        assert read[0] <= total + 1  # at most one was being read as the client left


def test_what_rules_take_out_by_step(tmp_path: Path) -> None:
    data = Path(__file__).parents[2] / "data/prime_rl/exports/v6_pr3189"
    with opened(data, tmp_path) as library:
        app, (run,) = served(library), library.runs
        assert run.wait_all(60)
        rules = get(app, f"{run_path(app)}/token-masks?split=train").json["rules"]
        assert [one["title"] for one in rules[:2]] == ["Recorded flags", "DPPO"]
        shares = {(one.rule, one.step): one for one in query.masked_shares(run, SampleQuery()).shares}
        for rule in rules:
            for at, step in enumerate(rule["steps"]):
                same = shares.pop((rule["rule"], step))
                assert (rule["masked"][at], rule["high"][at], rule["low"][at]) == (same.masked, same.high, same.low)
                assert rule["update_lost"][at] == same.update_lost
        assert not shares
