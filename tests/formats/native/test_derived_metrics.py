"""Metrics that follow from the lines of a recorded run."""

import math

from rolloupe.formats.native.format import derived_metrics
from rolloupe.model import SeriesFacts


def facts(count: int, total: float, high: float = 0.0) -> SeriesFacts:
    return SeriesFacts(count, total, 0.0, 0.0, 0, high, 0)


def test_gaps_need_two_finite_rewards() -> None:
    assert derived_metrics(1.0, 0.25, "four", {"valid_reward": 0.5}, {}) == {
        "ref_reward": 0.25,
        "ref_response_chars": 4.0,
        "reward_gap": 0.75,
        "valid_reward_gap": 0.5,
    }
    assert derived_metrics(math.nan, 0.25, "", {}, {}) == {"ref_reward": 0.25}
    assert derived_metrics(None, None, "", {}, {}) == {}
    assert derived_metrics(None, None, "four", {"ref_response_chars": 5.0}, {}) == {}, "recorded metrics stay"


def test_a_log_ratio_needs_as_many_tokens_of_both() -> None:
    series = {"logprobs": facts(4, -2.0), "ref_logprobs": facts(4, -4.0), "kl": facts(4, 2.0, 1.5)}
    assert derived_metrics(None, None, "", {"max_kl": 9.0}, series) == {
        "sum_log_ratio": 2.0,
        "avg_log_ratio": 0.5,
        "avg_kl": 0.5,
        "sum_kl": 2.0,
    }
    assert derived_metrics(None, None, "", {}, {**series, "ref_logprobs": facts(3, -4.0)}).keys() == {
        "avg_kl",
        "sum_kl",
        "max_kl",
    }
