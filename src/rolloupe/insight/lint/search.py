"""All rules, and what they find in a run: in its columns, and in some samples, which are read whole."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.insight.curves import UncheckedRule, counted
from rolloupe.insight.lint import rules, run_rules, sample_rules
from rolloupe.insight.lint.data import LintData, Mask
from rolloupe.insight.lint.rule import (
    Breach,
    BrokenRule,
    LintRule,
    Places,
    RunLint,
    SampleRule,
    Unknown,
    WholeSample,
)
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
"""Of the records of samples that are read whole, as they lie in files."""

EVERYTHING = LintQuery()


def lint(run: OpenRun, asked: LintQuery = EVERYTHING) -> RunLint:
    """Check the samples of a run. Raises `NotFound` for an unknown split."""
    data = LintData(run, asked)
    verdicts: dict[str, Breach | Unknown | None] = {
        name: rule.look(data) for name, rule in LINT_RULES.items() if isinstance(rule, LintRule)
    }
    reading = _read_samples(data)
    verdicts |= reading.verdicts
    broken = []
    for name, breach in verdicts.items():
        if isinstance(breach, Breach):
            rule, ids = LINT_RULES[name], [*breach.ids] or data.arrays.ids(run, breach.places[:MOST_IDS].tolist())
            broken.append(
                BrokenRule(
                    rule=name, words=rule.words, is_certain=rule.is_certain, text=breach.text,
                    count=len(breach.places) or breach.total, samples=ids[:MOST_IDS],
                )
            )  # fmt: skip
    return RunLint(
        broken=sorted(broken, key=lambda rule: not rule.is_certain),
        unchecked=[
            UncheckedRule(rule=name, reason=verdict.reason)
            for name, verdict in verdicts.items()
            if isinstance(verdict, Unknown)
        ],
        checked=[name for name, verdict in verdicts.items() if not isinstance(verdict, Unknown)],
        samples=len(data),
        discarded=int((data.words("discarded") != "").sum()),
        read=reading.samples,
    )


class _Reading(NamedTuple):
    """What the rules found in the samples that were read, and how many these are."""

    verdicts: dict[str, Breach | Unknown | None]
    samples: int


def _read_samples(data: LintData) -> _Reading:
    """Check some samples, one after the other."""
    of_samples = {name: rule for name, rule in LINT_RULES.items() if isinstance(rule, SampleRule)}
    telling: Counter[str] = Counter()
    places: dict[str, list[int]] = {name: [] for name in of_samples}
    read = 0
    for place, sample in query.whole_samples(data.run, data.arrays, places_to_read(data).tolist(), MOST_BYTES):
        whole = WholeSample(sample, is_trained=bool(data.trained[place]))
        read += 1
        for name, rule in of_samples.items():
            is_broken = rule.breaks(whole)
            telling[name] += is_broken is not None
            if is_broken:
                places[name].append(place)
    return _Reading({n: _verdict(rule, telling[n], sorted(places[n])) for n, rule in of_samples.items()}, read)


def _verdict(rule: SampleRule, telling: int, places: list[int]) -> Breach | Unknown | None:
    if not telling:
        return Unknown(f"no sample that lint read has {rule.lacks}")
    if not places or len(places) < rule.least_share * telling:
        return None
    return Breach(np.array(places, np.intp), f"{rule.text}: {len(places):,} of {counted(telling)} read.")


def places_to_read(data: LintData) -> Places:
    """Some samples of every part of the run; of those with token series, which may be few, as many."""
    of_all = np.ones(len(data), np.bool_)
    return np.union1d(_spread(data, of_all, MOST_READ // 2), _spread(data, data.has_tokens, MOST_READ // 2))


def _spread(data: LintData, of: Mask, most: int) -> Places:
    """So many places among some samples, evenly over the steps."""
    split = np.unique(data.split.astype(str), return_inverse=True)[1]
    order = np.lexsort((data.step, split))
    some = order[of[order]]
    chosen: Places = some[np.unique(np.linspace(0, len(some) - 1, most).astype(np.intp))] if len(some) else some
    return chosen
