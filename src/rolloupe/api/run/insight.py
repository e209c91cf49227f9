"""What a run shows without being asked, and what a person decides about it."""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import structs

from rolloupe.api.results import Rows
from rolloupe.api.run.base import OpenedRun, queries
from rolloupe.errors import BadQuery, NotFound
from rolloupe.questions import QUESTIONS, BriefQuery, FindingQuery, GradientQuery, LintQuery, PartQuery, Query
from rolloupe.storage import own_place

if TYPE_CHECKING:
    from rolloupe.api.lists import RunCheck
    from rolloupe.api.marks import Bookmark
    from rolloupe.export.report import WrittenReport
    from rolloupe.insight.brief import Brief
    from rolloupe.insight.findings import RunFindings
    from rolloupe.insight.gradient import RunGradient
    from rolloupe.insight.lint import RunLint
    from rolloupe.insight.rescore import Rescored
    from rolloupe.insight.rescore.process import NamedGrader
    from rolloupe.insight.reward_components import RunParts
    from rolloupe.query import SampleQuery
    from rolloupe.state.decisions import FindingAside


class RunInsight(OpenedRun):
    """What a run shows without being asked, and what a person decides about it."""

    def check(self, without: Iterable[str] = ()) -> "RunCheck":
        """Return what looks wrong in the run's curves, each with a `rule` (`name`, `severity`, `words`) and an `alarm`.

        An alarm has `title`, `text`, `first_step`, `last_step`, and with `split`, `where` and `sort` the samples that
        show it. `unchecked` has the rules that the run has too little for (`rule`, `reason`), `checked` the names of
        the others. `without` names rules to leave out, beside those that are switched off (`rules_off`);
        `rolloupe.insight.RULES` has them all.
        """
        from rolloupe.api.lists import RunCheck
        from rolloupe.insight import RunCurves, check

        return RunCheck(check(RunCurves(self.indexed(derived=True)), {*without, *self.rules_off()}))

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
        return declared.answer(self.indexed(derived=declared.needs == "derived"), declared.asked(values))

    def brief(self, *, split: str | None = None) -> "Brief":
        """Return what is worth knowing of the run: at most three `sentences`, the one to know first before the others.

        Each has `text`, `kind` (reward, held_out, paid_for, data, curves), `steps` (the first and the last that it is
        about, or None) and `evidence` (the page that shows it, and what to choose there). Raises `NotFound` for an
        unknown split.
        """
        answer: Brief = self.ask(BriefQuery(split=split or ""))
        return answer

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
        from rolloupe.state import State
        from rolloupe.state.decisions import findings_aside

        if not State.is_there(self._state_dir):
            return {}
        with contextlib.closing(State(self._state_dir)) as state:
            return findings_aside(state, self._opened())

    def set_finding_aside(self, name: str, *, why: str | None, who: str = "") -> None:
        """Set the finding of this phrase or behaviour aside as no hack, or take it back if `why` is None.

        The page and later calls remember it. Raises `NotWritable` if nothing can be kept.
        """
        from rolloupe.state import State
        from rolloupe.state.decisions import FindingAside, set_finding_aside

        aside = None if why is None else FindingAside(why, who, int(time.time() * 1000))
        with contextlib.closing(State(self._state_dir)) as state:
            set_finding_aside(state, self._opened(), name, aside)

    def rules_off(self) -> dict[str, str]:
        """Return the rules that a person switched off for this run, each with the reason."""
        from rolloupe.state import State
        from rolloupe.state.decisions import rules_off

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
        from rolloupe.state import State
        from rolloupe.state.decisions import switch_rule

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
        from rolloupe.api.marks import rescore
        from rolloupe.insight.rescore import GraderLimits, RescorePlan, grader_file

        first, last = steps if isinstance(steps, tuple) else (steps, steps)
        query = queries.SampleQuery(splits=(split or self._first_split(),), step_min=first, step_max=last)
        limits = GraderLimits(timeout_s, memory_bytes)
        plan = RescorePlan(grader_file(grader, save, python), query, limits, jobs, advanced)
        return rescore(self.indexed(), plan, self._state_dir)

    def forget_scores(self, name: str) -> bool:
        """Remove the scores that `rescore` saved under a name; False without any."""
        from rolloupe.state.scores import forget_scores

        return forget_scores(self._state_dir, self._opened(), name)

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
        from rolloupe.export.report import ReportedTokens
        from rolloupe.export.report.contents import ReportedInsight, insight_of

        run = self._ready_with_derived(query)
        if worst is not None:
            run = self._ready_for(reports.columns_of(by))

        def insight() -> ReportedInsight | None:
            if not findings:
                return None
            aside = {name: verdict.why for name, verdict in self.findings_aside().items()}
            return insight_of(self.indexed(derived=True), query.splits, aside)

        place = own_place(target) if isinstance(target, str | Path) else target
        shown = ReportedTokens(tokens, tuple(rules))
        plan = reports.ReportPlan(title, worst, by, shown, advanced, insight)
        return reports.write(run, self._reader(), place, query, plan)

    def bookmarks(self) -> "Rows[Bookmark]":
        """Return the samples that a person bookmarked or annotated in the page, newest last."""
        from rolloupe.api.marks import bookmarks

        return Rows(bookmarks(self.indexed(), self._state_dir))
