"""A run by its steps: sums, curves, and the names of what there is to draw."""

from typing import TYPE_CHECKING

from rolloupe.api.results import Rows
from rolloupe.api.runs_base import Asked

if TYPE_CHECKING:
    from rolloupe.query import Discards, GroupSummary, SeriesPoint, SplitSummary, StepSeries, StepSummary


class OfSteps(Asked):
    """What a run answers of its splits, steps and groups."""

    def splits(self) -> "Rows[SplitSummary]":
        """The splits: name, steps, groups, samples, reward; `train` first, the others by name."""
        from rolloupe import query

        return Rows(query.splits(self._ready()))

    def steps(self, split: str | None = None) -> "Rows[StepSummary]":
        """The steps of one split, ascending: unless told of `train`, or where that is missing of the first split.

        Of `eval` those of all evaluations, the samples of a step together.
        """
        from rolloupe import query

        run = self._ready()
        if split is None and not query.splits(run, quick=True):
            return Rows()
        return Rows(query.steps(run, split or self._first_split()))

    def groups(self, step: int, split: str | None = None) -> "Rows[GroupSummary]":
        """The groups of a step, in order. The split is `train` unless told, as for `steps`."""
        from rolloupe import query
        from rolloupe.api.items import ListedGroup

        found = query.groups(self._ready(), split or self._first_split(), step)
        return Rows(map(ListedGroup._make, found))

    def series(self, sample_metric: str, split: str | None = None) -> "Rows[SeriesPoint]":
        """A sample metric by step, of one split or of all: mean, deviation and extremes. `columns()` has the names.

        Where no sample metric has the name, it is that of a token series, whose points are of tokens.
        """
        from rolloupe import query

        return Rows(query.series(self._ready(), sample_metric, split))

    def token_series(self, step: int, split: str | None = None) -> "list[StepSeries]":
        """The token series of a step, over the tokens of its samples: `name`, `stats`, `lowest`, `highest`.

        `lowest` and `highest` are the most extreme tokens, one a sample: `key`, `token` (its index in the sample's
        series), `value`. Formats whose files hold no such numbers have none. Of `prime_rl_traces` and `generic` all
        samples of the step are read for it. Raises `NotFound` for a step without samples.
        """
        from rolloupe import query

        return query.token_series(self._ready(), split or self._first_split(), step)

    def discards(self, split: str | None = None) -> "Rows[Discards]":
        """What was generated and not trained on, by step and reason: `samples`, `groups`, `unfinished` of them.

        `samples(SampleQuery(trained=False))` lists the samples themselves.
        """
        from rolloupe import query

        return Rows(query.discards(self._ready(), split))

    def columns(self) -> list[str]:
        """The names to sort, filter and draw by: `reward`, lengths, every sample metric."""
        from rolloupe import query

        return query.columns(self._ready())

    def value_names(self) -> tuple[list[str], list[str]]:
        """The names of the sample metrics, and those of the tags."""
        from rolloupe import query

        return query.value_names(self._ready())
