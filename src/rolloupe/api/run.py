"""One run and the questions to ask of it: each method calls one function of `rolloupe.query`."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, overload

from msgspec import structs

from rolloupe.api.arguments import Where, key_of, sample_query
from rolloupe.api.lazy import LazyModule
from rolloupe.api.results import NotebookSample, RawRecord, Rows, Samples, WorstTokenRows, shown
from rolloupe.errors import BadQuery, NotFound
from rolloupe.model import Checkpoint, LoggedTranscript, LogNode, MetricRow, Problem, Sample, SampleKey, Texts
from rolloupe.questions import QUESTIONS, FindingQuery, GradientQuery, LintQuery, PartQuery, Query
from rolloupe.storage import address_of, own_place

if TYPE_CHECKING:
    import pyarrow as pa

    from rolloupe import query as queries
    from rolloupe.api import sample_lists
    from rolloupe.api.bookmarks import Bookmark
    from rolloupe.api.checks import RunCheck
    from rolloupe.api.notebook import NotebookCurve
    from rolloupe.api.search import Hits
    from rolloupe.export.report import WrittenReport
    from rolloupe.index import OpenRun
    from rolloupe.insight.findings import RunFindings
    from rolloupe.insight.gradient import RunGradient
    from rolloupe.insight.lint import RunLint
    from rolloupe.insight.parts import RunParts
    from rolloupe.insight.rescore import Rescored
    from rolloupe.insight.rescore.records import NamedGrader
    from rolloupe.query import (
        CurveEntry,
        CurveQuery,
        CurvesByPosition,
        CurveSource,
        Discards,
        Distribution,
        EvalSummary,
        Grid,
        GroupedUpdate,
        GroupSummary,
        Judge,
        MaskedBySteps,
        MetricPoint,
        Reader,
        Recurrence,
        SampleQuery,
        SeriesPoint,
        SplitSummary,
        StepSeries,
        StepSummary,
        TokenPage,
        TokenStatsBySteps,
        WordChanges,
        WordsOfSteps,
    )
    from rolloupe.query import search as text_search
    from rolloupe.query.search import RolePlace
    from rolloupe.state import FindingAside
else:
    queries = LazyModule("rolloupe.query")
    text_search = LazyModule("rolloupe.query.search")
    sample_lists = LazyModule("rolloupe.api.sample_lists")


class Run:
    """One run.

    Answers are complete: each waits until the run's numbers are indexed, unless you opened it with `wait=False`. Those
    about the trainer's metrics come from its files, and wait for no index.
    """

    def __init__(self, opened: "Callable[[], OpenRun]", *, wait: bool, state_dir: Path | None = None) -> None:
        self._opened = opened
        self._state_dir = state_dir
        self._wait = wait
        self._reading: Reader | None = None

    @property
    def id(self) -> str:
        """The run's name in addresses and on the command line."""
        return self._opened().id

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self._opened().info.name

    @property
    def path(self) -> str:
        """Path of the run."""
        return address_of(self._opened().info.root)

    @property
    def format(self) -> str:
        """The name of the format that Rolloupe reads it as."""
        return self._opened().info.format

    @property
    def reason(self) -> str:
        """Why Rolloupe reads it as that format."""
        return self._opened().info.reason

    def wait(self, timeout_s: float | None = None, *, texts: bool = False) -> bool:
        """Wait until the numbers of all samples are indexed, or their texts as well; False if time ran out."""
        run = self._opened()
        return run.wait_all(timeout_s) if texts else run.wait(timeout_s)

    def changed_s(self) -> float | None:
        """Return how many seconds ago a file with samples last changed; None without such a file."""
        return self._opened().changed_s()

    def indexed_bytes(self) -> tuple[int, int]:
        """Return how many bytes of the run's files are indexed, and their total size."""
        progress = self._opened().progress()
        return progress.done_bytes, progress.total_bytes

    @property
    def is_shard(self) -> bool:
        """True while other shards of the run are not indexed: see `rolloupe index --shard`."""
        return self._opened().is_shard

    @property
    def unsent(self) -> str:
        """Why the store that the index is shared in lacks what was indexed here; empty if all is there."""
        return self._opened().unsent

    # Splits, steps and groups

    def splits(self) -> "Rows[SplitSummary]":
        """List the splits: name, steps, groups, samples, reward; `train` first, the others by name."""
        return Rows(queries.splits(self._ready()))

    def steps(self, split: str | None = None) -> "Rows[StepSummary]":
        """List the steps of one split, ascending: of `train` by default, or of the first split if there is no `train`.

        The steps of `eval` cover all evaluations; samples of the same step count together.
        """
        run = self._ready()
        if split is None and not queries.splits(run, quick=True):
            return Rows()
        return Rows(queries.steps(run, split or self._first_split()))

    def groups(self, step: int, split: str | None = None) -> "Rows[GroupSummary]":
        """List the groups of a step, in order. The split is `train` by default, as for `steps`."""
        from rolloupe.api.notebook import NotebookGroup

        groups = queries.groups(self._ready(), split or self._first_split(), step)
        return Rows(map(NotebookGroup._make, groups))

    def discards(self, split: str | None = None) -> "Rows[Discards]":
        """Count discarded samples by step and reason: `samples`, `groups`, `unfinished`.

        `samples(SampleQuery(trained=False))` lists the samples themselves.
        """
        return Rows(queries.discards(self._ready(), split))

    def columns(self) -> list[str]:
        """Return the names to sort, filter and plot by: `reward`, lengths, every sample metric."""
        return queries.columns(self._ready())

    def value_names(self) -> tuple[list[str], list[str]]:
        """Return the names of the sample metrics, and the names of the tags."""
        return queries.value_names(self._ready())

    # Curves and token series

    def curve(self, curve: "CurveQuery | str", *, points: int | None = None) -> "NotebookCurve":
        """Return one curve; see `curves`."""
        return self.curves([curve], points=points)[0]

    def curves(
        self, curves: "Sequence[CurveQuery | str] | CurveQuery | str", *, points: int | None = None
    ) -> "list[NotebookCurve]":
        """Return several curves: numbers of samples, trainer metrics, evaluations, shares or token series, by step.

        Args:
            curves: for each a `rolloupe.query.CurveQuery`, such as `CurveQuery(kind="trainer", name="optim/loss")`, or
                a name. A name is that of a sample metric (the mean of each step), else of a metric of the trainer, else
                of a token series, or one that `rolloupe metrics --curves` lists, such as `share/discarded`.
            points: the most points to return for a curve; a longer one keeps its extremes and gaps. Default: all.

        A curve has `steps`, `values`, `spread`, `smooth` (NumPy arrays of equal length) and `points`, the number of all
        its points; `query` says what a name stood for. `.arrow()`, `.pandas()` and `.polars()` return a table. With
        `x=CurveQuery(kind="elapsed")`, or any other curve, it also has `x`, the value of that curve at each step;
        `without_x` counts the steps that lack one. With `options=CurveOptions(where="env = math")` only samples that
        match the filter count; with `CurveOptions(band="p5-p95")` it has `low` and `high`.
        Raises `BadQuery` for an unknown name, with the nearest names.
        """
        from rolloupe.api.notebook import NotebookCurve

        asked = [curves] if isinstance(curves, str | queries.CurveQuery) else curves
        found = [self._curve_of(one) for one in asked]
        run = self._ready_for_curves(found)
        return [NotebookCurve._make(one) for one in queries.curves(run, found, most=points)]

    def _curve_of(self, curve: "CurveQuery | str") -> "CurveQuery":
        return queries.named_curve(self._ready(), curve) if isinstance(curve, str) else curve

    def catalogue(self, split: str = "") -> "Rows[CurveEntry]":
        """Return the curves that the run has: `query` (for `curves()`), `title`, `section`, `unit`, `about`.

        Those of samples, groups and tokens are of one split, by default the first.
        """
        return Rows(queries.curve_catalogue(self._ready(), split))

    def distribution(
        self, sample_metric: str, split: str = "", *, where: str = "", columns: int | None = None
    ) -> "Distribution":
        """Return how a sample metric of the trained samples is distributed at each step of a split.

        The result has `edges` (bin `i` holds the values from `edges[i]` up to, not including, `edges[i + 1]`),
        `first_steps`, `last_steps` and `counts`, a NumPy array by step and bin. `columns` is the most steps to return;
        neighbours are added together if there are more. Only samples that match the filter `where` count. Raises
        `BadQuery` for an unknown name.
        """
        run = self._ready_for([sample_metric], [where])
        return queries.distribution(run, sample_metric, split, where=where, most=columns)

    def check(self, without: Iterable[str] = ()) -> "RunCheck":
        """Return what looks wrong in the run's curves, each with a `rule` (`name`, `severity`, `words`) and an `alarm`.

        An alarm has `title`, `text`, `first_step`, `last_step`, and with `split`, `where` and `sort` the samples that
        show it. `unchecked` has the rules that the run has too little for (`rule`, `reason`), `checked` the names of
        the others. `without` names rules to leave out, beside those that are switched off (`rules_off`);
        `rolloupe.insight.RULES` has them all.
        """
        from rolloupe.api.checks import RunCheck
        from rolloupe.insight import RunCurves, check

        return RunCheck(check(RunCurves(self._ready(derived=True)), {*without, *self.rules_off()}))

    def ask(self, question: Query | str, **asked: Any) -> Any:
        """Return the answer to a question that `rolloupe.questions` declares, once enough of the run is indexed.

        The question is its record, or its name with fields of the record. Raises `BadQuery` for what is no question or
        has a wrong field, and what the question raises.
        """
        names = {one.query: one.name for one in QUESTIONS.values()}
        declared = QUESTIONS.get(question if isinstance(question, str) else names.get(type(question), ""))
        if declared is None:
            raise BadQuery(f"{question!r} is no question; there are: {', '.join(QUESTIONS)}")
        values = asked if isinstance(question, str) else structs.asdict(question)
        return declared.answer(self._ready(derived=declared.needs == "derived"), declared.asked(values))

    def findings(
        self,
        *,
        split: str | None = None,
        steps: tuple[int | None, int | None] | None = None,
        env: str | None = None,
        correct: str = "",
    ) -> "RunFindings":
        """Return what the reward pays for: `findings`, those that matter most first, and what was looked at.

        Each has `text` (a sentence), `kind` (suspect, unverified, earned, watch, drift), `phrase` or `behaviour`,
        `effect` (reward over siblings), `z`, `prevalence` by step, and `samples` to read. `note` says what was scanned;
        `pending` counts samples that the index has not reached. `steps` are the first and the last, inclusive.
        `correct` names the sample metric that says whether an answer is correct, if its name does not. RunFindings are
        evidence, not verdicts. Raises `NotFound` for an unknown split, `BadQuery` for an unknown metric.
        """
        low, high = steps or (None, None)
        asked = FindingQuery(split=split or "", step_min=low, step_max=high, env=env, correct=correct)
        found: RunFindings = self.ask(asked)
        return found

    def lint(self, *, split: str | None = None, steps: tuple[int | None, int | None] | None = None) -> "RunLint":
        """Return what is wrong with the samples: `broken`, certain rules first, and `unchecked` rules with reasons.

        Each broken rule has `rule`, `is_certain`, `text` (a sentence), `count` and `samples` (ids of some). `read`
        samples were read whole, spread evenly over the steps, for the rules that need their arrays or texts.
        `is_broken` is true if a certain rule is broken. `rolloupe.insight.lint.LINT_RULES` has all rules. Raises
        `NotFound` for an unknown split.
        """
        low, high = steps or (None, None)
        found: RunLint = self.ask(LintQuery(split=split or "", step_min=low, step_max=high))
        return found

    def gradient(
        self,
        *,
        steps: tuple[int | None, int | None] | None = None,
        env: str | None = None,
        correct: str = "",
    ) -> "RunGradient":
        """Return where the gradient came from: a sample pulls by the square of its advantage.

        `by_env`, `by_length`, `by_outcome` and `shaping` (groups all right or all wrong, whose rewards differ by other
        parts) have `samples`, `groups`, `where`, and the shares `on_rewards`, `on_std`, `recorded`. `dead` groups have
        equal rewards; `by_step` counts them; `effective` is the number of groups of equal weight that would be as many.
        `prompts` counts those never or always right, solved and lost. The arguments are those of `findings`. Raises
        `NotFound` without trained samples, `BadQuery` for an unknown metric.
        """
        low, high = steps or (None, None)
        found: RunGradient = self.ask(GradientQuery(step_min=low, step_max=high, env=env, correct=correct))
        if found.note:
            raise NotFound(found.note)
        return found

    def parts(
        self,
        *,
        split: str | None = None,
        steps: tuple[int | None, int | None] | None = None,
        env: str | None = None,
    ) -> "RunParts":
        """Return what each part of the reward pays for: `parts`, those best explained first, and a `note`.

        Each has `name`, `text` (a formula), `terms` (`words`, `weight`, `phrase` or `behaviour`), and `r2`, the share
        of its variance among siblings that the formula explains, in groups where it was not chosen; None if it varies
        in too few. The arguments are those of `findings`. Raises `NotFound` for an unknown split.
        """
        low, high = steps or (None, None)
        found: RunParts = self.ask(PartQuery(split=split or "", step_min=low, step_max=high, env=env))
        return found

    def findings_aside(self) -> "dict[str, FindingAside]":
        """Return the findings that a person set aside as no hack, by phrase or behaviour: `why`, `who`, `since`."""
        from rolloupe.state import State, findings_aside

        if not State.is_there(self._state_dir):
            return {}
        with contextlib.closing(State(self._state_dir)) as state:
            return findings_aside(state, self._opened())

    def set_finding_aside(self, name: str, *, why: str | None, who: str = "") -> None:
        """Set the finding of this phrase or behaviour aside as no hack, or take it back if `why` is None.

        The page and later calls remember it. Raises `NotWritable` if nothing can be kept.
        """
        from rolloupe.state import FindingAside, State, set_finding_aside

        aside = None if why is None else FindingAside(why, who, int(time.time() * 1000))
        with contextlib.closing(State(self._state_dir)) as state:
            set_finding_aside(state, self._opened(), name, aside)

    def rules_off(self) -> dict[str, str]:
        """Return the rules that a person switched off for this run, each with the reason."""
        from rolloupe.state import State, rules_off

        if not State.is_there(self._state_dir):
            return {}
        with contextlib.closing(State(self._state_dir)) as state:
            return rules_off(state, self._opened())

    def switch_rule(self, rule: str, *, off: str | None) -> None:
        """Switch a rule of `check` off for this run, for the reason `off`, or on again for None.

        The page and later calls remember it. Raises `BadQuery` for an unknown rule or without a reason, `NotWritable`
        if nothing can be kept.
        """
        from rolloupe.insight import RULES
        from rolloupe.state import State, switch_rule

        if rule not in RULES:
            raise BadQuery(f"no rule {rule!r}; there are: {', '.join(RULES)}")
        if off is not None and not off.strip():
            raise BadQuery(f"say why {rule!r} is switched off; the reason is kept with it")
        with contextlib.closing(State(self._state_dir)) as state:
            switch_rule(state, self._opened(), rule, off)

    def rescore(
        self,
        grader: "NamedGrader",
        *,
        split: str | None = None,
        steps: int | tuple[int | None, int | None] | None = None,
        jobs: int = 2,
        timeout_s: float = 2.0,
        memory_bytes: int = 10**9,
        save: str = "",
        python: str = "",
        advanced: "Callable[[int, int], None]" = lambda _done, _total: None,
    ) -> "Rescored":
        """Score the samples of a split again, by default of `train`, with a grader of your own.

        `grader` is `grader.py:fn`, or a function at the top of a file. It runs in `jobs` child processes, with limits
        against accidents: they are no sandbox, and the grader is run as you. What fails is counted, and never ends the
        rest. The scores become the sample metric `rescored.NAME`, where NAME is `save`, by default the name of the
        function; they lie in the state folder, never in the run. `steps` is one step, or the first and the last,
        inclusive. `advanced` gets the number of graded samples, and of all. Ends early where the grader has no result
        in time on 50 samples in a row: `samples` is less than `total` then.

        Returns `samples`, `total`, `failures` by kind, `failed` (the first of them), `column`, and `change`, which
        compares the scores with the rewards of the run. Raises `BadQuery` for a grader that cannot be loaded,
        `NotFound` for an unknown split, `NotWritable` if nothing can be kept.
        """
        from rolloupe.api.rescore import rescore
        from rolloupe.insight.rescore import GraderLimits, RescorePlan, grader_file

        first, last = steps if isinstance(steps, tuple) else (steps, steps)
        query = queries.SampleQuery(splits=(split or self._first_split(),), step_min=first, step_max=last)
        limits = GraderLimits(timeout_s, memory_bytes)
        plan = RescorePlan(grader_file(grader, save, python), query, limits, jobs, advanced)
        return rescore(self._ready(), plan, self._state_dir)

    def forget_scores(self, name: str) -> bool:
        """Remove the scores that `rescore` saved under a name; False without any."""
        from rolloupe.state import forget_scores

        return forget_scores(self._state_dir, self._opened(), name)

    def series(self, sample_metric: str, split: str | None = None) -> "Rows[SeriesPoint]":
        """Return a sample metric by step, for one split or all: mean, deviation, extremes. `columns()` has the names.

        If no sample metric has the name, the result is the token series of that name, one point for each step's tokens.
        """
        run = self._ready_for([sample_metric])
        return Rows(queries.series(run, sample_metric, split))

    def token_series(self, step: int, split: str | None = None) -> "list[StepSeries]":
        """Return the token series of a step, over its trained samples: `name`, `stats`, `lowest`, `highest`.

        `lowest` and `highest` are the most extreme tokens, at most one from each sample: `key`, `token` (its index in
        the sample's series), `value`. In `prime_rl_traces` and `generic` runs, this reads all samples of the step.
        Raises `NotFound` for a step without samples.
        """
        return queries.token_series(self._ready(), split or self._first_split(), step)

    # Many samples

    def samples(
        self,
        query: "SampleQuery | None" = None,
        *,
        split: str | None = None,
        step: int | None = None,
        steps: tuple[int | None, int | None] | None = None,
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
        return sample_lists.samples(run, query, narrowed)

    def total(self, query: "SampleQuery") -> int:
        """Return how many samples a query matches, without its limit and offset."""
        from msgspec.structs import replace

        run = self._ready_with_derived(query)
        return queries.samples(run, replace(query, offset=0, limit=0)).total

    def why_none(self, query: "SampleQuery") -> list[str]:
        """Return what the samples lack of what a filter names, a sentence each: why a query may match none."""
        return queries.why_none(self._ready_with_derived(query), query)

    def why_few(self, query: "SampleQuery") -> list[str]:
        """Return the same where only some samples have what a filter names: tokens, or derived metrics."""
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
        steps: tuple[int | None, int | None] | None = None,
        group: str | None = None,
        where: "Where" = (),
        limit: int | None = None,
    ) -> "Hits":
        """Iterate over the samples whose prompts or responses contain a text, as they are found, newest step first.

        A hit has `sample`, `snippets` (`pieces` alternate between context and hit) and `more`. `.progress` shows how
        far the search has come; its `found` counts all hits. After the last hit, `.transcripts` holds the logged
        conversations that contain the text but appear in no sample: `split`, `step`, `title`, `snippets`, `more`, and
        `at`, as in `conversations`. A search narrowed by `group` or `where` has none.

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
        return sample_lists.search(self._ready_with_derived(narrowed), wanted, narrowed, limit)

    # One sample

    def sample(self, id: str | SampleKey) -> NotebookSample:
        """Read one whole sample from its file: turns, token series, every field; `tokens` is a table of its tokens.

        Several samples of one step in turn need only one look-up of the step.

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

    def tokens(self, id: str | SampleKey, start: int = 0, count: int | None = None) -> "TokenPage":
        """Read the tokens of one sample, or `count` of them from `start` on, as NumPy arrays.

        A page has `total`, `start`, `stop`, `ids`, `strings`, `series` by name, their `origins`, and `spans`: for each
        token its turn, its part and its characters in the part (in UTF-16 units), -1 if the record does not say.
        `sample(ID).tokens` is the same as a table.

        Raises the errors of `sample`, and `BadQuery` for a range outside the tokens.
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
        """Return what a step does to the tokens of its samples under a rule, as far as they hold logprobs.

        `whole`, `by_sample`, `by_group`, `by_role`, `by_string` and `by_position` hold sums of absolute coefficients:
        `up`, `down`, and what is `lost` to the rule; `shares(whole)` of each are their shares of the update, of which
        all three together are 1. Reads all samples of the step, or of one group of it. What is not given is as in the
        run's configuration. A KL penalty of the loss is in the sums only as far as `kl_weight` says. Raises `BadQuery`
        for an unknown rule or threshold, and without a rule, and `NotFound` for a step or a group without samples.

        Args:
            step: the step.
            rule: the run's by default, else `recorded` (the flags that the trainer recorded), `reinforce`,
                `importance_sampling`, `ppo`, `dapo`, `gspo`, `cispo`, `icepop`, `icepop_ant`, `dppo` or `ipo`.
            split: `train` by default.
            group: one group.
            kl_weight: the weight of a k3 penalty in the loss.
            weights: `token_mean`, or `sequence_mean`, which counts every sample alike.
            against: another rule, with the run's thresholds if it is the run's own, else the usual ones, and with the
                same KL penalty. `differing` then has, by sample, how many tokens the two treat differently.
            thresholds: `low`, `high`, `dual` or `threshold`, as the rule has them; else the run's, or the usual ones.
        """
        run = self._ready()
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
        steps: tuple[int | None, int | None] | None = None,
        group: str | None = None,
        where: "Where" = (),
    ) -> "WorstTokenRows":
        """Return the tokens with the greatest values of a series in the run, or in a part of it, the worst first.

        `tokens` have `value`, `key`, `token` (their place in the sample), `token_string` and `token_id`; `coverage`
        says how many samples were looked at; `.arrow()` and `.pandas()` give a table. Waits until the index has them.
        Discarded samples count only in a group or under conditions. Raises `BadQuery` for a series that no sample has.

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
        run = self._ready(derived=True)
        found = queries.worst_tokens(run, wanted, series, highest=highest, one_a_sample=one_a_sample, limit=limit)
        if not found.tokens:
            queries.in_known_series(run, series, BadQuery)
        return WorstTokenRows(*found)

    def token_stats(
        self,
        series: str,
        *,
        percentiles: Sequence[float] = (1, 5, 25, 50, 75, 95, 99),
        split: str | None = None,
        step: int | None = None,
        steps: tuple[int | None, int | None] | None = None,
        group: str | None = None,
        where: "Where" = (),
    ) -> "TokenStatsBySteps":
        """Return the statistics of a token series, recorded or derived, step by step.

        `steps` have `split`, `step`, `tokens`, `mean` (over tokens), `sample_mean` (over samples), `min`, `max` and
        `percentiles`, at most 0.8 % from the true ones; `coverage` says how many samples they are of. Waits until the
        index has them. `group` and `where` narrow the samples, which are then read; without them, samples that were
        discarded do not count. Raises `BadQuery` for a series that no sample has.
        """
        wanted = sample_query(split=split, step=step, steps=steps, group=group, where=where)
        run = self._ready(derived=True)
        found = queries.token_stats(run, wanted, series, percentiles)
        if not found.steps:
            queries.in_known_series(run, series, BadQuery)
        return found

    def token_positions(
        self,
        series: str,
        *,
        split: str | None = None,
        step: int | None = None,
        steps: tuple[int | None, int | None] | None = None,
    ) -> "CurvesByPosition":
        """Return the mean of a token series by position in the response, step by step.

        `curves` have `split`, `step`, and for each bucket of positions its `first`, its number of `tokens`, and
        `means`. A position is how many trained tokens of the sample come before. Samples that were discarded do not
        count. Raises `BadQuery` for a series that no sample has.
        """
        wanted = sample_query(split=split, step=step, steps=steps)
        run = self._ready(derived=True)
        found = queries.position_curves(run, wanted, series)
        if not found.curves:
            queries.in_known_series(run, series, BadQuery)
        return found

    def masked_shares(
        self,
        *,
        split: str | None = None,
        step: int | None = None,
        steps: tuple[int | None, int | None] | None = None,
    ) -> "MaskedBySteps":
        """Return which share of the trained tokens each rule takes out of the loss, step by step.

        `shares` have `split`, `step`, `rule`, `tokens`, `masked`, of which `high` and `low`, and `update_lost`, the
        share of the update. The run's own rule has the run's thresholds, others
        have their usual ones, as `thresholds` says; `recorded` is what the trainer recorded.
        """
        wanted = sample_query(split=split, step=step, steps=steps)
        return queries.masked_shares(self._ready(derived=True), wanted)

    def words(
        self,
        *,
        by: str = "kl",
        limit: int = 50,
        split: str | None = None,
        step: int | None = None,
        steps: tuple[int | None, int | None] | None = None,
    ) -> "WordsOfSteps":
        """Return the words of the vocabulary with most KL, or the most frequent ones (`by="tokens"`).

        `words` have `word` (the token string), `tokens`, `kl` (the sum over the `with_kl` tokens that have one),
        `probability` (the sum over the `rated` tokens that have one), and `is_exact`. Only trained tokens count, of
        samples that were not discarded.
        """
        wanted = sample_query(split=split, step=step, steps=steps)
        return queries.words_of_steps(self._ready(derived=True), wanted, by=by, limit=limit)

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

        `gained` and `lost` have `before`, `after` (as in `words`) and `change`. Only words of which the index knows
        every token are compared; `unknown` counts the others.

        Args:
            before: one step.
            after: the other step.
            split: `train` by default.
            by: `probability`, the mean at sampling over the tokens of a word; or `share`, how many of all trained
                tokens they are.
            min_tokens: compare words that are at least so often a token, at each of the steps; for shares at one.
            limit: how many words to list on either side.

        Raises `NotFound` for a step without samples, and `BadQuery` for one step twice.
        """
        run = self._ready(derived=True)
        return queries.word_changes(
            run, split or self._first_split(), before, after, by=by, min_tokens=min_tokens, limit=limit
        )

    def report(
        self,
        target: str | Path | BinaryIO,
        query: "SampleQuery",
        *,
        title: str = "",
        worst: int | None = None,
        by: str = "max_kl",
        tokens: bool = True,
        rules: Sequence[str] = (),
        findings: bool = False,
        advanced: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> "WrittenReport":
        """Write samples with their tokens to one file of HTML, which opens from a disk and asks nobody for anything.

        Returns `files`, `samples`, `tokens` and `size_bytes`. Raises `BadQuery` for an unknown measure or rule,
        or samples that do not fit into one file.

        Args:
            target: the file; or an existing folder, which large reports need: they are written in parts; or an open
                binary file, which gets the beginning at once, and is whole even where this raises.
            query: the samples, in its order.
            title: the heading. Default: the name of the run.
            worst: only this many, the worst by a measure first.
            by: `max_kl`, `mask_disagreement`, or a name of `columns()`; of the reward the lowest are the worst.
            tokens: include the tokens with all their series, and the update under the run's own rule.
            rules: further rules of updates, as for `update`. Each weighs as much as a series.
            findings: begin with what the reward pays for, and the rules that samples break, over all steps.
            advanced: is called with the numbers of samples read, and to be read.
        """
        from rolloupe.api import reports
        from rolloupe.export.report import ReportedInsight, ReportedTokens, insight_of

        run = self._ready_with_derived(query)
        if worst is not None:
            run = self._ready_for(reports.columns_of(by))

        def insight() -> ReportedInsight | None:
            if not findings:
                return None
            aside = {name: verdict.why for name, verdict in self.findings_aside().items()}
            return insight_of(self._ready(derived=True), query.splits, aside)

        place = own_place(target) if isinstance(target, str | Path) else target
        return reports.write(
            run, self._reader(), place, query, title=title, worst=worst, by=by,
            tokens=ReportedTokens(tokens, tuple(rules)), advanced=advanced, insight=insight,
        )  # fmt: skip

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
        return text_search.marked(self._ready(), key_of(id), wanted)[0]

    def raw(self, id: str | SampleKey) -> RawRecord:
        """Return the record of a sample as its file holds it. Raises the errors of `sample`."""
        run = self._ready()
        locator, data = queries.raw(run, key_of(id))
        source = run.source(locator.source)
        path = source.path if source else locator.source
        return RawRecord(path, locator.start, locator.start + locator.length, data)

    def group_of(self, id: str | SampleKey) -> list[SampleKey]:
        """Return the samples of a sample's group, in order, itself included."""
        return queries.neighbours(self._ready(), key_of(id))

    def same_prompt(self, id: str | SampleKey) -> "Rows[Recurrence]":
        """Return where else the run answers the prompt of a sample, at this step and all others.

        Each split and step has an entry: `key` of the first sample, `groups`, `samples`, `discarded`, `reward`,
        `response_tokens`. Discarded samples count as well. Prompts must match exactly; samples without a prompt match
        by the name of their group.
        """
        run = self._ready()
        return Rows(queries.recurring(run, queries.prompt_hash_of(run, key_of(id))))

    def whole(self, step: int, split: str | None = None) -> Iterator[Sample]:
        """Read the samples of a step whole, one by one: all samples that the step's means count.

        Each sample's `row` includes its annotations. Raises `SourceChanged` if a file is rewritten meanwhile.
        """
        return queries.whole(self._ready(), split or self._first_split(), step)

    # Evaluations

    def evals(self, metric: str = "", threshold: float | None = None, ks: "Sequence[int]" = ()) -> "list[EvalSummary]":
        """Return every evaluation by step: `score`, `correct` (the share of correct answers), `pass_at`, `pass_all`.

        An answer is correct if the metric reaches the threshold, by default those of `judges()`. `pass_at` (pass@k) and
        `pass_all` (pass^k) are unbiased estimates, averaged over the prompts with at least k answers.
        """
        return queries.evals(self._ready(), metric, threshold, ks)

    def judges(self) -> "list[Judge]":
        """Return which metric grades each evaluation: `split`, `metric`, `bar` with `value` and `reason`, `metrics`.

        The metric is one whose name means correctness (`correct`, `solved`, `success`, `accuracy`, `acc`), if the run
        declares its range or it only has the values 0 and 1; otherwise the reward. The bar is the best value that the
        run declares, or 1.
        """
        return queries.judges(self._ready())

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
    ) -> "Grid":
        """Return a page of the prompts of a split, with the number of answers and of correct ones at each step.

        `only` is `solved`, `lost`, `mixed`, `never`, `always` or `unbeaten`; `sort` is `index`, `last`, `change` or
        `share`. `train` has the prompts that recur at several steps. Verdicts compare the steps from `step_min` to
        `step_max`: between 80 and 90, `only="lost"` lists the prompts lost since step 80.
        """
        return queries.grid(
            self._ready(), split, metric, threshold, only=only, sort=sort, step_min=step_min, step_max=step_max,
            offset=offset, limit=limit,
        )  # fmt: skip

    # Trainer files

    def metrics(self, name: str) -> "Rows[MetricPoint]":
        """Return one of the trainer's metrics by step: `step`, `value`. `metric_names()` has the names.

        If only rows without a step have the metric, the result is empty; use `metric_rows()`.
        """
        return Rows(queries.metrics(self._opened(), name))

    def metric_names(self) -> list[str]:
        """Return the names of the trainer's metrics."""
        return queries.metric_names(self._opened())

    def metrics_table(self) -> "pa.Table":
        """Return the trainer's metrics as an Arrow table: `step`, `time_s`, and a column for each metric by its name.

        A row for each step; rows without a step come last. What a step lacks is null. `.to_pandas()` and
        `polars.from_arrow` take it.
        """
        return queries.metric_arrow(self._opened())

    def curve_sources(self) -> "Rows[CurveSource]":
        """Return the files of trackers that curves of the run come from: `kind`, `path`, `run` (its name there).

        `names` are the metrics that each adds, `step_name` the metric that holds the step (empty: the tracker's own
        count), `note` what was left out and why, and `is_named` is true for what `open(metrics=...)` named.
        """
        return Rows(queries.curve_sources(self._opened()))

    def metric_rows(self) -> list[MetricRow]:
        """Return all of the trainer's metrics: one row for each step, rows without a step last."""
        return queries.metric_rows(self._opened())

    @property
    def config(self) -> dict[str, Any]:
        """Return the run's configuration as its trainer wrote it; empty if the run has no configuration."""
        return queries.config(self._ready())

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Return the checkpoints, in order: `name`, `step`, `paths`, `extra`."""
        return queries.checkpoints(self._ready())

    def code_diff(self) -> str:
        """Return how the run's code differed from its repository; empty if the run did not record it."""
        return queries.code_diff(self._ready())

    def logtree(self, step: int, split: str | None = None) -> LogNode:
        """Return the trainer's log of a step, as an outline of plain text. Raises `NotFound` without one."""
        return queries.logtree(self._ready(), split or self._first_split(), step)

    def logtrees(self) -> list[tuple[str, int]]:
        """Return the splits and steps for which `logtree` has an outline."""
        return queries.logtrees(self._ready())

    def report_files(self, step: int, split: str | None = None) -> dict[str, bytes]:
        """Return the trainer's log of a step as its files hold it: `tree` (JSON) and `page` (HTML), if present."""
        return queries.report_files(self._ready(), split or self._first_split(), step)

    @overload
    def conversations(self, step: int, split: str | None = None) -> list[LoggedTranscript]: ...
    @overload
    def conversations(self, step: None = None, split: str | None = None) -> Iterator[LoggedTranscript]: ...
    def conversations(
        self, step: int | None = None, split: str | None = None
    ) -> list[LoggedTranscript] | Iterator[LoggedTranscript]:
        """Return logged conversations: `split`, `step`, `title` (of the enclosing sections), `turns`.

        With a step, the result is the conversations that certainly belong to no single sample, so that no sample shows
        them; `at` is the path to each in `logtree`, as child numbers such as `0.3.1`. Without a step, the result is all
        conversations of all steps (or of a split), one outline after another; if a conversation belongs to a sample,
        `sample` is its id.
        """
        if step is None:
            return queries.all_conversations(self._ready(), split)
        return queries.conversations(self._ready(), split or self._first_split(), step)

    # Annotations by a person, and problems in the data

    def bookmarks(self) -> "Rows[Bookmark]":
        """Return the samples that a person bookmarked or annotated in the page, newest last."""
        from rolloupe.api.bookmarks import bookmarks

        return Rows(bookmarks(self._ready(), self._state_dir))

    def problems(self) -> list[Problem]:
        """Return the records that could not be read, and annotations without a sample: file, byte range, reason."""
        return queries.problems(self._ready())

    def problem_count(self) -> int:
        """Return the number of problems, including those that `problems` does not list."""
        return queries.problem_count(self._ready())

    def launch_doubts(self) -> list[str]:
        """Return what looks as if the run was resumed over its own files, where only a person can tell."""
        return self._ready().launch_doubts()

    def group_doubts(self) -> list[str]:
        """Return what looks as if other keys made the groups of the run, with the option that makes them."""
        return queries.group_doubts(self._ready())

    def reward_doubts(self) -> list[str]:
        """Return what looks as if rewards were none: text in their place, or a counter that a field map names."""
        return queries.reward_doubts(self._ready())

    def read(self, file: str, start: int, stop: int) -> bytes:
        """Read bytes `start` to `stop` of one of the run's files, for example the range of a `Problem`.

        Raises `NotFound` if the run has no such file, `SourceChanged` if it can no longer be read.
        """
        return queries.read(self._ready(), file, start, stop - start)

    def failures(self, *, texts: bool = False) -> list[Problem]:
        """Return the parts of files that could not be indexed, for example on a full disk: answers lack their samples.

        With `texts`, also return parts whose texts or derived metrics could not be written: searches without texts are
        slower, and samples without derived metrics lack these values.
        """
        return self._ready().failures(texts=texts)

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.id)}</b> {escape(self.format)} {escape(self.path)}</p>{self.splits()._repr_html_()}"

    def __repr__(self) -> str:
        return f"<Run {self.id!r} ({self.format}) at {self.path!r}>"

    def _ready(self, *, derived: bool = False) -> "OpenRun":
        """Return the run once it is indexed as far as `wait` demands, with `derived` metrics if needed."""
        run = self._opened()
        if self._wait:
            wait = run.wait_all if derived else run.wait
            wait()
        return run

    def _ready_for(self, names: Iterable[str], filters: Iterable[str] = ()) -> "OpenRun":
        """Return the run as `_ready` does, with derived metrics and tokens if these names or filters need any."""
        for where in filters:
            if where.strip():
                self._ready_with_derived(sample_query(where=where))
        run = self._ready()
        return self._ready(derived=any(queries.is_derived(run, one) or queries.needs_tokens(run, one) for one in names))

    def _ready_for_curves(self, curves: "Sequence[CurveQuery]") -> "OpenRun":
        """Return the run as `_ready` does, with what curves and their filters need."""
        asked = [*curves, *(one.x for one in curves if one.x is not None)]
        names = (one.name for one in asked if one.kind in ("sample", "cumulative", "token"))
        return self._ready_for(names, (one.options.where for one in asked))

    def _ready_with_derived(self, query: "SampleQuery") -> "OpenRun":
        """Return the run as `_ready` does, with derived metrics and tokens if the query names any."""
        run = self._ready()
        return self._ready(derived=queries.needs_whole_index(query, *queries.value_names(run)))

    def _reader(self) -> "Reader":
        opened = self._ready()
        if self._reading is None:
            self._reading = queries.Reader(opened)
        return self._reading

    def _first_split(self) -> str:
        return next((summary.name for summary in queries.splits(self._ready(), quick=True)), "train")
