"""The tokens of a run: of one sample, and of many."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rolloupe.api.arguments import Steps, Where, key_of, sample_query
from rolloupe.api.run.base import OpenedRun, lists, queries
from rolloupe.errors import BadQuery
from rolloupe.model import SampleKey
from rolloupe.questions import TokenChangeQuery

if TYPE_CHECKING:
    from rolloupe.api.lists import WorstTokenRows
    from rolloupe.query import (
        CurvesByPosition,
        GroupedUpdate,
        MaskedBySteps,
        TokenPage,
        TokenStatsBySteps,
        WordChanges,
        WordsOfSteps,
    )


class RunTokens(OpenedRun):
    """The tokens of a run: of one sample, and of many."""

    def tokens(self, id: str | SampleKey, start: int = 0, count: int | None = None) -> "TokenPage":
        """Read the tokens of one sample, or `count` of them from `start` on, as NumPy arrays.

        `sample(ID).tokens` is the same as a table. Raises the errors of `sample`, and `BadQuery` for a range outside
        the tokens.
        """
        (sample,) = queries.with_group_advantages(self._opened(), [self._reader()(key_of(id))])
        return queries.token_page(sample, start, count, queries.loss_of(self._opened()))

    def update(
        self,
        step: int,
        rule: str | None = None,
        *,
        split: str | None = None,
        group: str | None = None,
        kl_weight: float | None = None,
        weights: str | None = None,
        against: str | None = None,
        **thresholds: float,
    ) -> "GroupedUpdate":
        """Return what a step does to the tokens of its samples under a rule; samples without logprobs are left out.

        `whole`, `by_sample`, `by_group`, `by_role`, `by_string` and `by_position` hold sums of absolute coefficients:
        `up`, `down`, and `lost` to the rule; `shares(whole)` divides each by their sum. Reads all samples of the step,
        or of one group. Defaults come from the run's configuration. Raises `BadQuery` for an unknown rule or threshold,
        and without a rule, and `NotFound` for a step or a group without samples.

        Args:
            step: the step.
            rule: the run's by default, else `recorded` (the flags that the trainer recorded), `reinforce`,
                `importance_sampling`, `ppo`, `dapo`, `gspo`, `cispo`, `icepop`, `icepop_ant`, `dppo` or `ipo`.
            split: `train` by default.
            group: one group.
            kl_weight: the weight of a k3 penalty in the loss.
            weights: `token_mean`, or `sequence_mean`, which counts every sample alike.
            against: another rule, with the run's thresholds or the usual ones, and the same KL penalty. `differing`
                then has, by sample, how many tokens the two treat differently.
            thresholds: `low`, `high`, `dual` or `threshold`, as the rule has them; else the run's, or the usual ones.
        """
        run = self.indexed()
        loss = queries.loss_of(run)
        choice = queries.choice_of(loss, rule, thresholds, kl_weight)
        other = None if against is None else queries.choice_of(loss, against, kl_weight=choice.kl_weight)
        aggregation = queries.aggregation_of(weights or (loss and loss.aggregation) or "token_mean")
        split = split or self._first_split()
        queries.in_known_scope(run, sample_query(split=split, step=step, group=group))
        samples = queries.whole(run, split, step, group)
        inputs = queries.update_inputs(queries.with_group_advantages(run, samples))
        return queries.grouped_update(inputs, choice, aggregation, other)

    def worst_tokens(
        self,
        series: str,
        *,
        highest: bool = True,
        one_a_sample: bool = False,
        limit: int = 20,
        split: str | None = None,
        step: int | None = None,
        steps: Steps | None = None,
        group: str | None = None,
        where: "Where" = (),
    ) -> "WorstTokenRows":
        """Return the tokens with the greatest values of a series in the run, or in a part of it, the worst first.

        `coverage` says how many samples were looked at. Waits until the index has them. Discarded samples count only in
        a group or under conditions. Raises `BadQuery` for a series that no sample has.

        Args:
            series: a recorded or derived token series, such as `kl_k3`, `mismatch_kl` or `entropy`.
            highest: False for the lowest values.
            one_a_sample: at most one token of each sample.
            limit: how many tokens, from 1 to 64.
            split: one split. Default: every split.
            step: one step.
            steps: first and last step, both included.
            group: one group; its samples are read.
            where: conditions on the samples, which are then read.
        """
        wanted = sample_query(split=split, step=step, steps=steps, group=group, where=where)
        run = self.indexed(derived=True)
        found = queries.worst_tokens(run, wanted, series, highest=highest, one_a_sample=one_a_sample, limit=limit)
        if not found.tokens:
            queries.in_known_series(run, series, BadQuery)
        return lists.WorstTokenRows(*found)

    def token_stats(
        self,
        series: str,
        *,
        percentiles: Sequence[float] = (1, 5, 25, 50, 75, 95, 99),
        split: str | None = None,
        step: int | None = None,
        steps: Steps | None = None,
        group: str | None = None,
        where: "Where" = (),
    ) -> "TokenStatsBySteps":
        """Return the statistics of a token series, recorded or derived, step by step.

        Percentiles are within 0.8% of the true ones. Waits until the index has them. `group` and `where` narrow the
        samples, which are then read; without them, discarded samples do not count. Raises `BadQuery` for a series that
        no sample has.
        """
        wanted = sample_query(split=split, step=step, steps=steps, group=group, where=where)
        run = self.indexed(derived=True)
        found = queries.token_stats(run, wanted, series, percentiles)
        if not found.steps:
            queries.in_known_series(run, series, BadQuery)
        return found

    def token_positions(
        self, series: str, *, split: str | None = None, step: int | None = None, steps: Steps | None = None
    ) -> "CurvesByPosition":
        """Return the mean of a token series by position in the response, step by step.

        A position is the number of trained tokens of the sample before the token. Discarded samples do not count.
        Raises `BadQuery` for a series that no sample has.
        """
        run = self.indexed(derived=True)
        found = queries.position_curves(run, sample_query(split=split, step=step, steps=steps), series)
        if not found.curves:
            queries.in_known_series(run, series, BadQuery)
        return found

    def masked_shares(
        self, *, split: str | None = None, step: int | None = None, steps: Steps | None = None
    ) -> "MaskedBySteps":
        """Return the share of the trained tokens, and of the update, that each rule takes out of the loss, by step.

        The run's own rule has the run's thresholds, others have their usual ones; `recorded` has the trainer's flags.
        """
        return queries.masked_shares(self.indexed(derived=True), sample_query(split=split, step=step, steps=steps))

    def words(
        self,
        *,
        by: str = "kl",
        limit: int = 50,
        split: str | None = None,
        step: int | None = None,
        steps: Steps | None = None,
    ) -> "WordsOfSteps":
        """Return the words of the vocabulary with most KL, or the most frequent ones (`by="tokens"`).

        Only trained tokens count, of samples that were not discarded.
        """
        wanted = sample_query(split=split, step=step, steps=steps)
        return queries.words_of_steps(self.indexed(derived=True), wanted, by=by, limit=limit)

    def word_changes(
        self,
        before: int,
        after: int,
        *,
        split: str | None = None,
        by: str = "probability",
        min_tokens: int = 10,
        limit: int = 20,
    ) -> "WordChanges":
        """Return which words of the vocabulary gain and lose most between two steps.

        Only words whose every token is in the index are compared; `unknown` counts the others.

        Args:
            before: one step.
            after: the other step.
            split: `train` by default.
            by: `probability`, the mean at sampling over the tokens of a word; or `share` of all trained tokens.
            min_tokens: compare words with at least this many tokens at both steps; for shares, at one of them.
            limit: how many words to list on either side.

        Raises `NotFound` for a step without samples, and `BadQuery` for one step twice.
        """
        run, split = self.indexed(derived=True), split or self._first_split()
        asked = TokenChangeQuery(split=split, before=before, after=after, by=by, min_tokens=min_tokens, limit=limit)
        return queries.word_changes(run, asked)
