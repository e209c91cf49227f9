"""Evaluations of a run, and how each problem fared."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rolloupe.api.runs_base import Asked

if TYPE_CHECKING:
    from rolloupe.query import EvalSummary, Grid, Judge


class OfEvals(Asked):
    """What a run answers of its evaluations."""

    def evals(self, metric: str = "", threshold: float | None = None, ks: "Sequence[int]" = ()) -> "list[EvalSummary]":
        """Every evaluation by step: `score`, `right` (the share of right answers), `pass_at` and `pass_all` (pass^k).

        An answer is right where the metric reaches the threshold: those of `judges()`, unless they are named. Both
        estimators are unbiased, and means over the problems with at least k answers.
        """
        from rolloupe import query

        return query.evals(self._ready(), metric, threshold, ks)

    def judges(self) -> "list[Judge]":
        """By what each evaluation tells right answers: `split`, `metric`, `bar` with `value` and `reason`, `metrics`.

        The metric is one that is named for right answers (`correct`, `solved`, `success`, `accuracy`, `acc`), where
        the run declares its range or it holds nothing but 0 and 1; else the reward. The bar is the best value that
        the run declares, else 1.
        """
        from rolloupe import query

        return query.judges(self._ready())

    def problems_by_step(
        self,
        split: str,
        metric: str = "",
        threshold: float | None = None,
        *,
        only: str = "",
        sort: str = "index",
        step_min: int | None = None,
        step_max: int | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> "Grid":
        """A page of the problems of a split: how many answers, and right ones, at each step, and what became of each.

        `only` is `solved`, `lost`, `mixed`, `never`, `always` or `unbeaten`; `sort` is `index`, `last`, `change` or
        `share`. Of `train` there are those prompts that came at several steps. What became of a problem is told of
        the steps from `step_min` to `step_max`: between 80 and 90, `only="lost"` are those lost since step 80.
        """
        from rolloupe import query

        return query.grid(
            self._ready(), split, metric, threshold, only=only, sort=sort, step_min=step_min, step_max=step_max,
            offset=offset, limit=limit,
        )  # fmt: skip
