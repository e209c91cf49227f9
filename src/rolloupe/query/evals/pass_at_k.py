"""Estimators over repeated answers to one prompt: `n` samples, `c` of them correct.

Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code" (pass@k); Yao et al. 2024, "tau-bench"
(pass^k). Both are unbiased for independent samples; with n < k there is no estimate.
"""

from collections.abc import Iterable
from math import comb, fsum


def pass_at(n: int, c: int, k: int) -> float | None:
    """The probability that at least one of k answers is correct: 1 - C(n-c, k) / C(n, k)."""
    return None if n < k else 1.0 - comb(n - c, k) / comb(n, k)


def pass_all(n: int, c: int, k: int) -> float | None:
    """The probability that all of k answers are correct (pass^k): C(c, k) / C(n, k)."""
    return None if n < k else comb(c, k) / comb(n, k)


def ks_of(most: int) -> tuple[int, ...]:
    """The values of k worth a column, given the largest number of answers to a prompt: 1, 2, 4, ..., all."""
    powers = [1 << bit for bit in range(most.bit_length()) if 1 << bit <= most]
    return tuple(dict.fromkeys([*powers, most] if most else []))


def mean(values: Iterable[float]) -> float | None:
    """The mean, None for an empty list."""
    numbers = list(values)
    return fsum(numbers) / len(numbers) if numbers else None
