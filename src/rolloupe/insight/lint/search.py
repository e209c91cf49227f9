"""Checks all rules: in the columns of a run, and in some samples, which are read whole."""

import numpy as np

from rolloupe.index import OpenRun
from rolloupe.insight.curves import NotChecked, UncheckedRule, counted
from rolloupe.insight.lint import rules, sample_rules
from rolloupe.insight.lint.rule import (
    Breach,
    BrokenRule,
    LintData,
    LintRule,
    Places,
    RunLint,
    SampleRule,
    WholeSample,
    evenly,
)
from rolloupe.query.samples.pages import whole_samples
from rolloupe.questions import LintQuery

LINT_RULES: dict[str, LintRule | SampleRule] = {
    rule.name: rule
    for module in (rules, sample_rules)
    for rule in vars(module).values()
    if isinstance(rule, LintRule | SampleRule)
}
"""By name."""

MOST_IDS = 5

MOST_READ = 256
BEFORE = 10
"""A sentence says since when a rule is broken if so many break it, and as many more should have done so before."""
MOST_BYTES = 2**25
"""How many bytes the records of the samples that are read whole have in the files."""

EVERYTHING = LintQuery()


def lint(run: OpenRun, asked: LintQuery = EVERYTHING) -> RunLint:
    """Check the samples of a run. Raises `NotFound` for an unknown split."""
    return broken_rules(LintData(run, asked))


def broken_rules(data: LintData) -> RunLint:
    """Check some samples."""
    run, reading = data.run, _Reading(data)
    broken: list[BrokenRule] = []
    unchecked: list[UncheckedRule] = []
    for name, rule in LINT_RULES.items():
        try:
            breach = rule.look(data) if isinstance(rule, LintRule) else reading.breach(rule)
        except NotChecked as reason:
            unchecked.append(UncheckedRule(rule=name, reason=str(reason)))
            continue
        if breach is not None:
            ids = [*breach.ids] or data.arrays.ids(run, breach.places[:MOST_IDS].tolist())
            broken.append(
                BrokenRule(
                    rule=name, words=rule.words, is_certain=rule.is_certain, text=breach.text, count=breach.total,
                    samples=ids[:MOST_IDS],
                )
            )  # fmt: skip
    return RunLint(
        broken=sorted(broken, key=lambda rule: not rule.is_certain),
        unchecked=unchecked,
        checked=[name for name in LINT_RULES if name not in {rule.rule for rule in unchecked}],
        samples=len(data),
        discarded=int((data.arrays.words("discarded") != "").sum()),
        read=reading.samples,
    )


class _Reading:
    """The rules about whole samples, checked on some of them, one after the other."""

    def __init__(self, data: LintData) -> None:
        self.samples, self._data = 0, data
        of_samples = [rule for rule in LINT_RULES.values() if isinstance(rule, SampleRule)]
        self._checked: dict[str, list[tuple[int, bool | str]]] = {rule.name: [] for rule in of_samples}
        """The place of each sample that had what a rule needs, and whether the sample breaks it."""
        finite = data.reward[np.isfinite(data.reward)]
        lowest, highest = finite.min(initial=np.inf), finite.max(initial=-np.inf)
        differ = lowest < highest
        for place, sample in whole_samples(data.run, data.arrays, places_to_read(data).tolist(), MOST_BYTES):
            is_worst, is_best = (bool(differ and data.reward[place] == end) for end in (lowest, highest))
            whole = WholeSample(sample, is_trained=bool(data.trained[place]), is_worst=is_worst, is_best=is_best)
            self.samples += 1
            for rule in of_samples:
                is_broken = rule.breaks(whole)
                if is_broken is not None:
                    self._checked[rule.name].append((place, is_broken))

    def breach(self, rule: SampleRule) -> Breach | None:
        """Return the samples that break a rule. Raises `NotChecked`."""
        checked = self._checked[rule.name]
        if not checked:
            raise NotChecked(f"no sample that lint read has {rule.lacks}")
        places = sorted(place for place, is_broken in checked if is_broken)
        if len(places) < max(rule.least, rule.least_share * len(checked)):
            return None
        before, since = self._before(checked)
        shown = [is_broken for _, is_broken in checked if isinstance(is_broken, str)]
        like = f", such as {shown[0]}" if 2 * len(shown) > len(places) else ""
        text = f"{rule.text}: {len(places):,} of {counted(len(checked) - before, rule.noun)} read{since}{like}."
        return Breach(text, len(places), np.array(places, np.intp))

    def _before(self, checked: list[tuple[int, bool | str]]) -> tuple[int, str]:
        """Return how many samples come before the first that breaks a rule, and words about it; 0 if by chance."""
        steps = [int(self._data.step[place]) for place, _ in checked]
        broken = [step for step, (_, is_broken) in zip(steps, checked, strict=True) if is_broken]
        first = min(broken)
        before = sum(step < first for step in steps)
        share = len(broken) / (len(checked) - before)
        is_clear = min(before * share, len(broken)) >= BEFORE
        return (before, f" since step {first}, none of {before} before") if is_clear else (0, "")


def places_to_read(data: LintData) -> Places:
    """Return some samples of every part of the run, and as many of those with token series, which may be few."""
    split = np.unique(data.split.astype(str), return_inverse=True)[1]
    order = np.lexsort((data.step, split))
    with_tokens = order[data.has_tokens[order]]
    chosen = evenly(with_tokens, MOST_READ // 2)
    return np.union1d(evenly(order, MOST_READ - len(chosen)), chosen)
