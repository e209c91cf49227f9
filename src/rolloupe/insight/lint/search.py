"""Checks all rules: in the columns of a run, and in some samples, which are read whole."""

from collections import Counter

import numpy as np

from rolloupe.index import OpenRun
from rolloupe.insight.curves import NotChecked, UncheckedRule, counted
from rolloupe.insight.lint import rules, run_rules, sample_rules
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
    for module in (rules, run_rules, sample_rules)
    for rule in vars(module).values()
    if isinstance(rule, LintRule | SampleRule)
}
"""By name."""

MOST_IDS = 5

MOST_READ = 256
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
        self.samples = 0
        self._checked: Counter[str] = Counter()
        """How many samples had what a rule needs."""
        self._places: dict[str, list[int]] = {}
        of_samples = [rule for rule in LINT_RULES.values() if isinstance(rule, SampleRule)]
        finite = data.reward[np.isfinite(data.reward)]
        lowest = finite.min(initial=np.inf) if finite.max(initial=-np.inf) > finite.min(initial=np.inf) else -np.inf
        for place, sample in whole_samples(data.run, data.arrays, places_to_read(data).tolist(), MOST_BYTES):
            is_worst = bool(data.reward[place] == lowest)
            whole = WholeSample(sample, is_trained=bool(data.trained[place]), is_worst=is_worst)
            self.samples += 1
            for rule in of_samples:
                is_broken = rule.breaks(whole)
                self._checked[rule.name] += is_broken is not None
                if is_broken:
                    self._places.setdefault(rule.name, []).append(place)

    def breach(self, rule: SampleRule) -> Breach | None:
        """Return the samples that break a rule. Raises `NotChecked`."""
        places, checked = sorted(self._places.get(rule.name, ())), self._checked[rule.name]
        if not checked:
            raise NotChecked(f"no sample that lint read has {rule.lacks}")
        if len(places) < max(rule.least, rule.least_share * checked):
            return None
        text = f"{rule.text}: {len(places):,} of {counted(checked)} read."
        return Breach(text, len(places), np.array(places, np.intp))


def places_to_read(data: LintData) -> Places:
    """Return some samples of every part of the run, and as many of those with token series, which may be few."""
    split = np.unique(data.split.astype(str), return_inverse=True)[1]
    order = np.lexsort((data.step, split))
    with_tokens = order[data.has_tokens[order]]
    return np.union1d(evenly(order, MOST_READ // 2), evenly(with_tokens, MOST_READ // 2))
