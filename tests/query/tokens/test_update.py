"""What a step does to the tokens of samples: effects, sums, and which share each sample, role and string has."""

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import rolloupe
from rolloupe.errors import BadQuery
from rolloupe.model import Locator, Part, Sample, SampleKey, SampleRow, TokenSeries, Turn
from rolloupe.query import (
    UpdateChoice,
    UpdateMass,
    grouped_update,
    token_page,
    token_update,
    update_inputs,
    usual_update,
)
from rolloupe.query.tokens import update
from rolloupe.query.tokens.update import DOWN, MOST_STRINGS, NOTHING, TAKEN_OUT, UNKNOWN, UNTRAINED, UP
from tests.thoroughness import each

DATA = Path(__file__).parents[2] / "data"


def made(advantages: list[float], ratios: list[float], mask: list[float], strings: list[str] = []) -> Sample:  # noqa: B006
    row = SampleRow(split="train", step=0, group="g", index="0", ordinal=0, start=0, length=0)
    arrays = {
        "logprobs": [-1.0] * len(ratios), "trainer_logprobs": [-1.0 + math.log(one) for one in ratios],
        "advantages": advantages, "loss_mask": mask,
    }  # fmt: skip
    return Sample(
        key=SampleKey("train", 0, "g", "0"), row=row, locator=Locator(source="s", start=0, length=0),
        turns=[Turn(role="assistant", parts=[Part(kind="text", text="".join(strings))], origin="response")],
        token_strings=strings, series=[TokenSeries(name=n, values=array("d", v)) for n, v in arrays.items()],
    )  # fmt: skip


def test_every_token_is_pushed_up_down_or_not_at_all_and_it_says_why() -> None:
    sample = made([1, 1, -1, -1, 0, 1], [1.1, 1.25, 0.9, 0.7, 1.0, 1.0], [1, 1, 1, 1, 1, 0], list("abcdaf"))
    found = token_update(sample, UpdateChoice("ppo"))
    assert found.effects.tolist() == [UP, TAKEN_OUT, DOWN, TAKEN_OUT, NOTHING, UNTRAINED]
    np.testing.assert_allclose(found.coefficients, [1.1, 0, -0.9, 0, 0, 0])
    assert (found.whole.tokens, found.whole.taken_out, found.whole.unmoved) == (5, 2, 1)
    assert (found.whole.up, found.whole.down, found.whole.lost) == pytest.approx((1.1, 0.9, 1.25 + 0.7))
    assert found.by_role == {"assistant": found.whole}
    assert list(found.by_string) == ["b", "a", "c", "d"] and found.by_string["a"].tokens == 2
    higher = token_update(sample, UpdateChoice("dapo"))
    assert higher.effects.tolist()[1] == UP  # DAPO's upper bound of 1.28 keeps it
    assert token_update(sample, UpdateChoice("ppo", {"high": 0.3})).effects.tolist()[1] == UP


def test_the_flags_that_the_trainer_recorded_are_a_rule() -> None:
    sample = made([1, 1, -1, 1], [1.1, 9.0, 0.9, 1.0], [1, 1, 1, 0], list("abcd"))
    with pytest.raises(BadQuery, match="no recorded flags"):
        token_update(sample, UpdateChoice("recorded"))
    assert "recorded" not in token_page(sample).updates
    left_out = grouped_update(update_inputs([sample]), UpdateChoice("recorded")).left_out
    assert left_out == {"no recorded flags": 1}
    sample.series.append(TokenSeries(name="is_masked", values=array("d", [1, 0, 1, math.nan])))
    assert token_page(sample).updates[0] == "recorded" == usual_update(token_page(sample).updates)
    found = token_update(sample, UpdateChoice("recorded"))
    assert found.effects.tolist() == [TAKEN_OUT, UP, TAKEN_OUT, UNTRAINED]
    assert (found.whole.up, found.whole.down, found.whole.lost) == pytest.approx((9.0, 0.0, 1.1 + 0.9))
    together = grouped_update(update_inputs([sample]), UpdateChoice("recorded"), against=UpdateChoice("dppo"))
    assert together.whole == found.whole and together.differing == {sample.key: 3}


def test_recorded_flags_of_prime_rl_take_out_what_the_index_counts(demo_index: Path) -> None:
    with rolloupe.open(DATA / "prime_rl" / "exports" / "v6_pr3189", index_dir=demo_index) as runs:
        run = runs[0]
        (shares,) = [one for one in run.masked_shares().shares if one.rule == "recorded"]
        whole = run.update(shares.step, "recorded").whole
        assert whole.tokens == shares.tokens and whole.taken_out == pytest.approx(shares.masked * shares.tokens)
        assert whole.taken_out > 0 and whole.shares(whole).lost == pytest.approx(shares.update_lost)
        dppo = run.update(shares.step, "dppo", against="recorded")
        assert not any(dppo.differing.values()) and dppo.whole.taken_out == whole.taken_out


def test_the_shares_of_an_update_are_all_of_what_is_pushed_and_lost() -> None:
    sample = made([1, 1, -1, -1], [1.1, 1.25, 0.9, 0.7], [1, 1, 1, 1], list("abcd"))
    found = token_update(sample, UpdateChoice("ppo"))
    size = 1.1 + 1.25 + 0.9 + 0.7
    assert found.whole.shares(found.whole) == pytest.approx((1.1 / size, 0.9 / size, 1.95 / size))
    assert found.by_string["b"].shares(found.whole) == pytest.approx((0.0, 0.0, 1.25 / size))
    assert sum(sum(one.shares(found.whole)) for one in found.by_string.values()) == pytest.approx(1)
    assert UpdateMass().shares(UpdateMass()) == (0.0, 0.0, 0.0)


def test_without_an_advantage_the_effect_on_a_token_is_unknown() -> None:
    sample = made([math.nan, 1, math.nan], [1.1, 1.1, 0.1], [1, 1, 0])
    for rule in ("reinforce", "ppo"):
        found = token_update(sample, UpdateChoice(rule))
        assert found.effects.tolist() == [UNKNOWN, UP, UNTRAINED]
        assert (found.whole.tokens, found.whole.unmoved, found.whole.uncounted) == (2, 0, 1)
        assert found.whole.up == pytest.approx(1 if rule == "reinforce" else 1.1)


def test_a_penalty_pushes_without_an_advantage() -> None:
    sample = made([0.0], [1.0], [1])
    sample.series.append(TokenSeries(name="ref_logprobs", values=array("d", [-2.0])))
    assert token_update(sample, UpdateChoice("ppo")).effects.tolist() == [NOTHING]
    pushed = token_update(sample, UpdateChoice("ppo", kl_weight=0.1))
    assert pushed.effects.tolist() == [DOWN]  # more probable than the reference: pulled back
    np.testing.assert_allclose(pushed.coefficients, [-0.1 * (1 - math.exp(-1.0))])


def test_a_clipped_token_that_the_penalty_pushes_counts_as_lost_and_as_pushed() -> None:
    sample = made([1.0], [1.25], [1])
    sample.series.append(TokenSeries(name="ref_logprobs", values=array("d", [-2.0 + math.log(1.25)])))
    found = token_update(sample, UpdateChoice("ppo", kl_weight=0.1))
    assert found.effects.tolist() == [TAKEN_OUT]
    penalty = 0.1 * (1 - math.exp(-1.0))
    np.testing.assert_allclose(found.coefficients, [-penalty])
    assert (found.whole.up, found.whole.down, found.whole.lost) == pytest.approx((0.0, penalty, 1.25))


@each("large", [math.inf, 1e308])
def test_coefficients_that_no_sum_can_hold_are_counted_and_in_no_sum(large: float) -> None:
    sample = made([large, -large, 1, -1], [1.0, 1.0, 1.0, 1.0], [1] * 4)
    found = token_update(sample, UpdateChoice("ppo"))
    assert found.effects.tolist() == [UP, DOWN, UP, DOWN]
    assert (found.whole.tokens, found.whole.up, found.whole.down, found.whole.uncounted) == (4, 1.0, 1.0, 2)


def test_a_string_of_many_samples_has_its_share_however_small_it_is_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = []
    for number in range(20):
        strings = [f"{number} {one}" for one in range(60) for _ in range(2)] + ["the"]
        samples.append(made([1.0] * len(strings), [1.0] * len(strings), [1] * len(strings), strings))
    found = grouped_update(update_inputs(samples), UpdateChoice("ppo"))
    assert len(found.by_string) == MOST_STRINGS and next(iter(found.by_string)) == "the"
    assert found.by_string["the"].up == 20
    assert {one.up for at, one in found.by_position.items() if at < 64} == {20.0} and max(found.by_position) == 117
    assert len(token_update(samples[0], UpdateChoice("ppo")).by_string) == MOST_STRINGS and found.unnamed == 0
    monkeypatch.setattr(update, "MOST_NAMES", 61)  # those of the first sample, and "the"
    few = grouped_update(update_inputs(samples), UpdateChoice("ppo"))
    assert (few.by_string["the"].up, few.unnamed, few.whole) == (20, 19 * 120, found.whole)
    assert {name.split()[0] for name in few.by_string} == {"the", "0"}


def test_what_cannot_be_said_is_refused_with_a_reason() -> None:
    sample = made([1.0], [1.0], [1])
    for choice, words in (
        (UpdateChoice("dapoo"), "no rule 'dapoo'; there are: reinforce, importance_sampling, ppo"),
        (UpdateChoice("cispo", {"low": 1.0}), "CISPO has no threshold 'low'; it has: high"),
        (UpdateChoice("ppo", kl_weight=1.0), "has no ref_logprobs, which a KL penalty needs"),
    ):
        with pytest.raises(BadQuery, match=words):
            token_update(sample, choice)
    sample.series = []
    with pytest.raises(BadQuery, match="is not known: it has no logprobs"):
        token_update(sample, UpdateChoice("ppo"))
    sample.series = made([1.0], [1.0], [1]).series[:2]
    with pytest.raises(BadQuery, match="has no advantage"):
        token_update(sample, UpdateChoice("ppo"))


RULES = ("reinforce", "ppo", "gspo", "dppo")
"""Of each kind one: without a ratio, by that of a token, by that of a sequence, by the policy that sampled."""


def test_the_shares_of_a_step_are_those_of_its_samples(demo_index: Path) -> None:
    with rolloupe.open(DATA / "prime_rl/exports/v6_pr3189", index_dir=demo_index) as runs:
        (run,) = runs
        samples = [run.sample(item.key) for item in run.samples()]
        for rule in RULES:
            are_shares_of(run, rule, samples)


def are_shares_of(run: rolloupe.Run, rule: str, samples: Sequence[Sample]) -> None:
    """Fail where what a step does under a rule is not what its samples do."""
    found = run.update(1, rule)
    updates = {sample.key: token_update(sample, UpdateChoice(rule)) for sample in samples}
    assert {key: push.up for key, push in found.by_sample.items()} == pytest.approx(
        {key: np.maximum(np.nan_to_num(one.coefficients), 0).sum() for key, one in updates.items()}
    )
    for field in ("tokens", "up", "down", "taken_out", "lost", "unmoved"):
        total = sum(getattr(one.whole, field) for one in updates.values())
        assert getattr(found.whole, field) == pytest.approx(total)
        for sums in (found.by_sample, found.by_group, found.by_role, found.by_position):
            assert sum(getattr(one, field) for one in sums.values()) == pytest.approx(total)
        for position, push in found.by_position.items():
            of_samples = [one.by_position[position] for one in updates.values() if position in one.by_position]
            assert sum(getattr(one, field) for one in of_samples) == pytest.approx(getattr(push, field))
    effects = Counter(np.concatenate([one.effects for one in updates.values()]).tolist())
    assert found.whole.taken_out == effects[TAKEN_OUT]
    assert found.whole.tokens == sum(effects.values()) - effects[UNTRAINED]
    (group, *_) = found.by_group
    of_group = run.update(1, rule, group=group)
    assert of_group.whole.up == pytest.approx(found.by_group[group].up)
    alike = run.update(1, rule, weights="sequence_mean").by_sample
    for key, push in alike.items():
        assert push.up == pytest.approx(found.by_sample[key].up / max(1, push.tokens))


def test_a_step_is_read_under_the_loss_of_the_run_unless_another_is_named(short_grpo: Path, demo_index: Path) -> None:
    with rolloupe.open(short_grpo, index_dir=demo_index) as runs:
        (run,) = runs
        own = run.update(0)
        assert own == run.update(0, "dapo", low=0.2, high=0.28, kl_weight=0.01, weights="token_mean")
        assert own.whole != run.update(0, kl_weight=0.0).whole
        assert run.tokens("train/0/00/0").updates[0] == "dapo"
        with pytest.raises(BadQuery, match="weights='x' is neither token_mean nor sequence_mean"):
            run.update(0, weights="x")
    with (
        rolloupe.open(DATA / "prime_rl/exports/v6_pr3189", index_dir=demo_index) as runs,
        pytest.raises(BadQuery, match="names no rule: choose one of reinforce"),
    ):
        runs[0].update(1)


def test_discarded_samples_are_left_out_for_the_step_does_nothing_to_them() -> None:
    trained, discarded = (made([1.0], [1.0], [1]) for _ in range(2))
    discarded.row.discarded = "stale"
    found = grouped_update(update_inputs([trained, discarded]), UpdateChoice("ppo"))
    assert (found.whole.tokens, found.left_out) == (1, {"discarded": 1})


def test_samples_that_say_too_little_are_counted(demo_runs: Path, demo_index: Path) -> None:
    with rolloupe.open(demo_runs / "other_formats/relax", index_dir=demo_index) as runs:
        (run,) = runs
        (step, *_) = [one.step for one in run.steps("train")]
        found = run.update(step, "ppo", split="train")
        assert found.by_sample == {} and found.left_out == {"no logprobs": len(list(run.whole(step, "train")))}
        with pytest.raises(BadQuery, match="no rule"):
            run.update(step, "nothing", split="train")
        with pytest.raises(BadQuery, match="no threshold"):
            run.update(step, "ppo", split="train", hihg=1.0)


def test_two_rules_side_by_side_differ_in_the_tokens_that_only_one_takes_out(demo_index: Path) -> None:
    with rolloupe.open(DATA / "prime_rl/exports/v6_pr3189", index_dir=demo_index) as runs:
        (step, *_) = runs.steps()
        found = runs.update(step.step, "reinforce", against="dppo", kl_weight=0.0)
        alone = runs.update(step.step, "reinforce", kl_weight=0.0)
        assert alone.differing == {} and found.whole == alone.whole
        for key, push in found.by_sample.items():
            one, other = (token_update(runs.sample(key), UpdateChoice(rule)).effects for rule in ("reinforce", "dppo"))
            assert found.differing[key] == int((one != other).sum()) <= push.tokens
        assert sum(found.differing.values())
        with pytest.raises(BadQuery, match="grppo"):
            runs.update(step.step, "ppo", against="grppo")
