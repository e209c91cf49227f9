"""The sums of what rules of masks take out: also of numbers whose sum no float holds."""

import numpy as np
import pytest

from rolloupe.index.token_stats.files import masked_sums
from rolloupe.tokens import SampleTokens, TokenBatch
from tests.thoroughness import each


@each("large", [1e308, np.inf])
def test_a_coefficient_that_no_sum_can_hold_is_in_none(large: float) -> None:
    series = {
        "logprobs": np.log([0.1, 0.1, 0.9, 0.5]),
        "trainer_logprobs": np.log([0.9, 0.1, 0.1, 0.5]),
        "advantages": np.array([large, large, -1.0, 3.0]),
    }
    sums = masked_sums(TokenBatch([0], [SampleTokens(4, series)], [None]), None)["dppo"]
    assert (sums.tokens, sums.masked) == (4, 2) and sums.lost == pytest.approx(1 / 9)
    assert sums.update == pytest.approx(1 / 9 + 3)
