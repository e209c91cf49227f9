"""What a run shows without being asked, and what a person decides about it."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from msgspec import structs

from rolloupe import questions
from rolloupe.api.arguments import Steps, sample_query, window
from rolloupe.api.results import Rows
from rolloupe.api.run.base import OpenedRun
from rolloupe.errors import BadQuery, NotFound
from rolloupe.storage import own_place

if TYPE_CHECKING:
    from rolloupe.api.lists import RunCheck
    from rolloupe.api.marks import Bookmark
    from rolloupe.export.report import WrittenReport
    from rolloupe.index import OpenRun
    from rolloupe.insight.brief import Brief
    from rolloupe.insight.findings import RunFindings
    from rolloupe.insight.gradient import RunGradient
    from rolloupe.insight.judgements import Agreement, PreferencePair
    from rolloupe.insight.lint import RunLint
    from rolloupe.insight.rescore import Rescored
    from rolloupe.insight.rescore.process import NamedGrader
    from rolloupe.insight.reward_components import RunParts
    from rolloupe.query import SampleQuery
    from rolloupe.state import FindingAside, State

T = TypeVar("T")


class RunInsight(OpenedRun):
    """What a run shows without being asked, and what a person decides about it."""

    def check(self, without: Iterable[str] = ()) -> "RunCheck":
        """Return what looks wrong in the run's curves, each with a `rule` (`name`, `severity`, `words`) and an `alarm`.

        `split`, `where` and `sort` of an alarm list the samples that show it. `without` names rules to leave out,
        beside those that are switched off (`rules_off`); `rolloupe.insight.RULES` has all rules.
        """
        from rolloupe.api.lists import RunCheck
        from rolloupe.insight import RunCurves, check

        return RunCheck(check(RunCurves(self.indexed(derived=True)), {*without, *self.rules_off()}))

    def ask(self, question: questions.Query | str, **asked: Any) -> Any:
        """Return the answer to a question that `rolloupe.questions` declares, once enough of the run is indexed.

        The question is its record, or its name with fields of the record. Raises `BadQuery` for an unknown question or
        a wrong field, and the errors of the question.
        """
        names = {one.query: one.name for one in questions.QUESTIONS.values()}
        declared = questions.QUESTIONS.get(question if isinstance(question, str) else names.get(type(question), ""))
        if isinstance(question, questions.Query):
            asked = structs.asdict(question)
        if declared is None:
            raise BadQuery(f"{question!r} is not a question; choose one of: {', '.join(questions.QUESTIONS)}")
        run = self.indexed(derived=declared.needs == "derived")
        return declared.answer(self._judged(run) if declared.judged else run, declared.asked(asked))

    def brief(self, *, split: str | None = None) -> "Brief":
        """Return what is worth knowing of the run: at most three `sentences`, the most important first.

        Raises `NotFound` for an unknown split.
        """
        return cast("Brief", self.ask(questions.BriefQuery(split=split or "")))

    def findings(
        self, *, split: str | None = None, steps: Steps | None = None, env: str | None = None, correct: str = ""
    ) -> "RunFindings":
        """Return what the reward pays for: `findings`, those that matter most first. They are evidence, not verdicts.

        `steps` are the first and the last, inclusive. `correct` names the sample metric that says whether an answer is
        correct, if its name does not. Raises `NotFound` for an unknown split, `BadQuery` for an unknown metric.
        """
        asked = questions.FindingQuery(split=split or "", env=env, correct=correct, **window(steps))
        return cast("RunFindings", self.ask(asked))

    def lint(self, *, split: str | None = None, steps: Steps | None = None) -> "RunLint":
        """Return what is wrong with the samples: `broken`, certain rules first, and `unchecked` rules with reasons.

        `rolloupe.insight.lint.LINT_RULES` has all rules. Raises `NotFound` for an unknown split.
        """
        return cast("RunLint", self.ask(questions.LintQuery(split=split or "", **window(steps))))

    def gradient(self, *, steps: Steps | None = None, env: str | None = None, correct: str = "") -> "RunGradient":
        """Return where the gradient came from: a sample pulls by the square of its advantage.

        The arguments are those of `findings`. Raises `NotFound` without trained samples, `BadQuery` for an unknown
        metric.
        """
        found: RunGradient = self.ask(questions.GradientQuery(env=env, correct=correct, **window(steps)))
        if found.note:
            raise NotFound(found.note)
        return found

    def parts(self, *, split: str | None = None, steps: Steps | None = None, env: str | None = None) -> "RunParts":
        """Return what each part of the reward pays for: `parts`, those best explained first, and a `note`.

        The arguments are those of `findings`. Raises `NotFound` for an unknown split.
        """
        return cast("RunParts", self.ask(questions.PartQuery(split=split or "", env=env, **window(steps))))

    def findings_aside(self) -> "dict[str, FindingAside]":
        """Return the findings that a person set aside as no hack, by phrase or behaviour: `why`, `who`, `since`."""
        from rolloupe.state import findings_aside

        return self._decided(findings_aside)

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
        from rolloupe.state import rules_off

        return self._decided(rules_off)

    def _decided(self, read: "Callable[[State, OpenRun], dict[str, T]]") -> dict[str, T]:
        from rolloupe.state import State

        if not State.is_there(self._state_dir):
            return {}
        with contextlib.closing(State(self._state_dir)) as state:
            return read(state, self._opened())

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
        steps: int | Steps | None = None,
        jobs: int = 2,
        timeout_s: float = 2.0,
        memory_bytes: int = 10**9,
        save: str = "",
        python: str = "",
        advanced: "Callable[[int, int], None]" = lambda _done, _total: None,
    ) -> "Rescored":
        """Score the samples of a split again, by default of `train`, with a grader of your own.

        `grader` is `grader.py:fn`, or a function at the top of a file. It runs with your rights, in `jobs` child
        processes whose limits guard against accidents alone. Failures are counted, and do not end the rest. The scores
        become the sample metric `rescored.NAME`, where NAME is `save`, by default the name of the function; they lie in
        the state folder, never in the run. `steps` is one step, or the first and the last, inclusive. `advanced` gets
        the numbers of graded samples and of all. Ends early if the grader exceeds its time on 50 samples in a row.

        Raises `BadQuery` for a grader that cannot be loaded, `NotFound` for an unknown split, `NotWritable` if nothing
        can be kept.
        """
        from rolloupe.api.marks import rescore
        from rolloupe.insight.rescore import GraderLimits, RescorePlan, grader_file

        query = sample_query(
            split=split or self._first_split(), steps=steps if isinstance(steps, tuple) else (steps, steps)
        )
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
        """Write samples with their tokens to one file of HTML, which opens from a disk and needs no network.

        Raises `BadQuery` for an unknown measure or rule, or samples that do not fit into one file.

        Args:
            target: the file; or an existing folder, for large reports, which are written in parts; or an open binary
                file, which gets the beginning at once, and is whole even if this raises.
            query: the samples, in its order.
            title: the heading. Default: the name of the run.
            worst: only this many, the worst by a measure first.
            by: `max_kl`, `mask_disagreement`, or a name of `columns()`. The lowest rewards are the worst.
            tokens: include the tokens with all their series, and the update under the run's own rule.
            rules: further rules of updates, as for `update`. Each weighs as much as a series.
            findings: begin with what the reward pays for, and the rules that samples break, over all steps.
            advanced: gets the numbers of samples read, and to be read.
        """
        from rolloupe.api import reports
        from rolloupe.export.report import ReportedTokens
        from rolloupe.export.report.contents import ReportedInsight, insight_of

        run = self._ready_with_derived(query)
        if worst is not None:
            run = self._ready_for(reports.KL_COLUMNS if by == reports.MAX_KL else [by])

        def insight() -> ReportedInsight | None:
            if not findings:
                return None
            aside = {name: verdict.why for name, verdict in self.findings_aside().items()}
            return insight_of(self.indexed(derived=True), query.splits, aside)

        place = own_place(target) if isinstance(target, str | Path) else target
        shown = ReportedTokens(tokens, tuple(rules))
        plan = reports.ReportPlan(title, worst, by, shown, advanced, insight)
        return reports.write(run, self._reader(), place, query, plan)

    def agreement(self, *, split: str | None = None, threshold: float | None = None) -> "Agreement":
        """Return how often the reward agrees with the judgements of a person: `agree` of `samples`, and `cells`.

        A reward is high from `threshold` on. Without one, the value that best splits the rewards into two groups.
        """
        return cast("Agreement", self.ask(questions.AgreementQuery(split=split or "", threshold=threshold)))

    def preference_pairs(self, split: str | None = None) -> "Iterator[PreferencePair]":
        """Iterate over the pairs of a sample judged good and one judged bad in the same group, with whole texts.

        Each has `prompt`, `chosen` and `rejected`, and the ids and rewards of both samples.
        """
        from rolloupe.insight.judgements import preference_pairs

        return preference_pairs(self._judged(self.indexed()), sample_query(split=split))

    def bookmarks(self) -> "Rows[Bookmark]":
        """Return the samples that a person bookmarked or annotated in the page, newest last."""
        from rolloupe.api.marks import bookmarks

        return Rows(bookmarks(self.indexed(), self._state_dir))
