"""The samples of a run: steps, groups, lists, searches, single samples, evaluations."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rolloupe.api.arguments import Steps, Where, key_of, sample_query
from rolloupe.api.results import NotebookSample, RawRecord, Rows, Samples, shown
from rolloupe.api.run.base import OpenedRun, lists, queries, text_search
from rolloupe.model import Sample, SampleKey, Texts
from rolloupe.questions import GridQuery

if TYPE_CHECKING:
    from rolloupe.api.lists import Hits
    from rolloupe.query import (
        Discards,
        EvalSummary,
        GroupSummary,
        Judge,
        PromptGrid,
        Recurrence,
        SampleQuery,
        SeriesPoint,
        SplitSummary,
        StepSummary,
    )
    from rolloupe.query.search import RolePlace


class RunSamples(OpenedRun):
    """The samples of a run: steps, groups, lists, searches, single samples, evaluations."""

    def splits(self) -> "Rows[SplitSummary]":
        """List the splits: name, steps, groups, samples, reward; `train` first, the others by name."""
        return Rows(queries.splits(self.indexed()))

    def steps(self, split: str | None = None) -> "Rows[StepSummary]":
        """List the steps of one split, ascending: of `train` by default, or of the first split if there is no `train`.

        The steps of `eval` cover all evaluations; samples of the same step count together.
        """
        run = self.indexed()
        if split is None and not queries.splits(run, quick=True):
            return Rows()
        return Rows(queries.steps(run, split or self._first_split()))

    def groups(self, step: int, split: str | None = None) -> "Rows[GroupSummary]":
        """List the groups of a step, in order. The split is `train` by default, as for `steps`."""
        from rolloupe.api.lists import NotebookGroup

        groups = queries.groups(self.indexed(), split or self._first_split(), step)
        return Rows(map(NotebookGroup._make, groups))

    def discards(self, split: str | None = None) -> "Rows[Discards]":
        """Count discarded samples by step and reason: `samples`, `groups`, `unfinished`.

        `samples(SampleQuery(trained=False))` lists the samples themselves.
        """
        return Rows(queries.discards(self.indexed(), split))

    def columns(self) -> list[str]:
        """Return the names to sort, filter and plot by: `reward`, lengths, every sample metric."""
        return queries.columns(self.indexed())

    def value_names(self) -> tuple[list[str], list[str]]:
        """Return the names of the sample metrics, and the names of the tags."""
        return queries.value_names(self.indexed())

    def series(self, sample_metric: str, split: str | None = None) -> "Rows[SeriesPoint]":
        """Return a sample metric by step, for one split or all: mean, deviation, extremes. `columns()` has the names.

        If no sample metric has the name, the result is the token series of that name, one point for each step's tokens.
        """
        return Rows(queries.series(self._ready_for([sample_metric]), sample_metric, split))

    def samples(
        self,
        query: "SampleQuery | None" = None,
        *,
        split: str | None = None,
        step: int | None = None,
        steps: Steps | None = None,
        group: str | None = None,
        trained: bool | None = None,
        where: "Where" = (),
        sort: str = "index",
        descending: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Samples:
        """Iterate over the samples of a query, fetched as you go: all samples of the run unless you narrow them.

        Args:
            query: the whole query as a record; then leave out the other arguments.
            split: one split, or `eval` for every `eval/...`. Default: every split.
            step: one step.
            steps: first and last step, both included; None leaves that end open.
            group: one group.
            trained: True for trained samples only, False for discarded ones only. Default: both.
            where: a filter, such as `"reward < 0.1 and (status = truncated or turns > 3)"`, or a list of `Condition`
                and other records of `rolloupe.query`, all of which must hold. `token "Wait"` holds for samples of which
                a trained token is `Wait`, with or without a blank before it.
            sort: `index`, `length`, or a name of `columns()`. Missing values come last in either order. If the sort or
                the filter uses a derived metric, or the filter a token, the result waits until all samples have it.
            descending: sort from large to small.
            offset: skip this many samples.
            limit: return at most this many.

        Raises `BadQuery` if a condition cannot be read or a column does not exist.
        """
        narrowed = sample_query(
            split=split, step=step, steps=steps, group=group, trained=trained, where=where,
            sort=sort, descending=descending, offset=offset, limit=limit,
        )  # fmt: skip
        run = self._ready_with_derived(query or narrowed)
        return lists.samples(run, query, narrowed)

    def total(self, query: "SampleQuery") -> int:
        """Return how many samples a query matches, without its limit and offset."""
        from msgspec.structs import replace

        run = self._ready_with_derived(query)
        return queries.samples(run, replace(query, offset=0, limit=0)).total

    def why_none(self, query: "SampleQuery") -> list[str]:
        """Return why a query may match no sample, a sentence for each name in its filter that samples lack."""
        return queries.why_none(self._ready_with_derived(query), query)

    def why_few(self, query: "SampleQuery") -> list[str]:
        """Return the same for names that only some samples lack, such as tokens or derived metrics."""
        return queries.why_few(self._ready_with_derived(query), query)

    def search(
        self,
        text: str,
        *,
        regex: bool = False,
        case: bool = False,
        word: bool = False,
        roles: Sequence[str] = (),
        split: str | None = None,
        step: int | None = None,
        steps: Steps | None = None,
        group: str | None = None,
        where: "Where" = (),
        limit: int | None = None,
    ) -> "Hits":
        """Iterate over the samples whose prompts or responses contain a text, as they are found, newest step first.

        `.progress` shows how far the search has come; its `found` counts all hits. After the last hit, `.transcripts`
        holds the logged conversations that contain the text but appear in no sample, unless `group` or `where` narrow
        the search.

        Args:
            text: the text to find.
            regex: read `text` as a regular expression in RE2's syntax.
            case: match case.
            word: match whole words only.
            roles: any of `prompt`, `response`, `system`, `user`, `assistant`, `tool`. Default: prompts and responses.
            split: one split. Default: every split.
            step: one step.
            steps: first and last step, both included; None leaves that end open.
            group: one group.
            where: conditions on the samples to search, as for `samples`.
            limit: list at most this many hits; `.progress` counts all.

        Raises `BadQuery` for an invalid expression.
        """
        narrowed = sample_query(split=split, step=step, steps=steps, group=group, where=where)
        wanted = text_search.TextQuery(text=text, regex=regex, case=case, word=word, roles=tuple(roles))
        options = text_search.SearchOptions(limit=limit)
        return lists.Hits(text_search.Search(self._ready_with_derived(narrowed), wanted, narrowed, options))

    def sample(self, id: str | SampleKey) -> NotebookSample:
        """Read one whole sample from its file: turns, token series, every field; `tokens` is a table of its tokens.

        Raises `NotFound`, `BadQuery` for a malformed id, `SourceChanged` if the file was rewritten since indexing.
        """
        return shown(self._reader()(key_of(id)))

    def has(self, id: str | SampleKey) -> bool:
        """Return whether the run has such a sample, without reading it. Raises `BadQuery` for a malformed id."""
        key = key_of(id)
        return any(other.shared == key.shared for other in self.group_of(key))

    def texts(self, id: str | SampleKey) -> Texts:
        """Read the whole texts of one sample: prompt, response, label, reference response. Faster than `sample`.

        Raises the errors of `sample`.
        """
        return self._reader().texts(key_of(id))

    def spans(
        self,
        id: str | SampleKey,
        text: str,
        *,
        regex: bool = False,
        case: bool = False,
        word: bool = False,
        roles: Sequence[str] = (),
    ) -> "list[RolePlace]":
        """Find a text in one sample: `turn`, `part`, `field` and `start`, `stop` in code points; 5,000 places at most.

        `run.sample(ID).turns[turn].parts[part].text[start:stop]` is the match; if `field` is `arguments`, the match is
        in `rolloupe.text.readable(PART.call.arguments)`. Raises the errors of `sample` and `search`.
        """
        wanted = text_search.TextQuery(text=text, regex=regex, case=case, word=word, roles=tuple(roles))
        return text_search.marked(self.indexed(), key_of(id), wanted)[0]

    def raw(self, id: str | SampleKey) -> RawRecord:
        """Return the record of a sample as its file holds it. Raises the errors of `sample`."""
        run = self.indexed()
        locator, data = queries.raw(run, key_of(id))
        source = run.sources.get(locator.source)
        path = source.path if source else locator.source
        return RawRecord(path, locator.start, locator.start + locator.length, data)

    def group_of(self, id: str | SampleKey) -> list[SampleKey]:
        """Return the samples of a sample's group, in order, itself included."""
        return queries.neighbours(self.indexed(), key_of(id))

    def same_prompt(self, id: str | SampleKey) -> "Rows[Recurrence]":
        """Return where the run answers the prompt of a sample: an entry for each split and step.

        Discarded samples count as well. Prompts must match exactly; samples without a prompt match by the name of their
        group.
        """
        run = self.indexed()
        return Rows(queries.recurring(run, queries.prompt_hash_of(run, key_of(id))))

    def whole(self, step: int, split: str | None = None) -> Iterator[Sample]:
        """Read the samples of a step whole, one by one: all samples that the step's means count.

        Each sample's `row` includes its annotations. Raises `SourceChanged` if a file is rewritten meanwhile.
        """
        return queries.whole(self.indexed(), split or self._first_split(), step)

    def evals(self, metric: str = "", threshold: float | None = None, ks: "Sequence[int]" = ()) -> "list[EvalSummary]":
        """Return every evaluation by step: `score`, `correct` (the share of correct answers), `pass_at`, `pass_all`.

        An answer is correct if the metric reaches the threshold, by default those of `judges()`. `pass_at` (pass@k) and
        `pass_all` (pass^k) are unbiased estimates, averaged over the prompts with at least k answers.
        """
        return queries.evals(self.indexed(), metric, threshold, ks)

    def judges(self) -> "list[Judge]":
        """Return which metric grades each evaluation, and the bar that a correct answer reaches.

        The metric is one whose name means correctness (`correct`, `solved`, `success`, `accuracy`, `acc`), if the run
        declares its range or it only has the values 0 and 1; otherwise the reward. The bar is the best value that the
        run declares, or 1.
        """
        return queries.judges(self.indexed())

    def prompts_by_step(
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
    ) -> "PromptGrid":
        """Return a page of the prompts of a split, with the number of answers and of correct ones at each step.

        `only` is `solved`, `lost`, `mixed`, `never`, `always` or `unbeaten`; `sort` is `index`, `last`, `change` or
        `share`. `train` has the prompts that recur at several steps. Verdicts compare the steps from `step_min` to
        `step_max`: between 80 and 90, `only="lost"` lists the prompts lost since step 80.
        """
        asked = GridQuery(
            split=split, metric=metric, bar=threshold, only=only, sort=sort, step_min=step_min, step_max=step_max,
            offset=offset, limit=limit,
        )  # fmt: skip
        return queries.grid(self.indexed(), asked)
