"""All rules, and what they find in a run."""

from rolloupe.index import OpenRun
from rolloupe.insight.alarm import UncheckedRule
from rolloupe.insight.lint import rules, run_rules, sample_rules, series_rules
from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, BrokenRule, LintRule, RunLint, Unknown
from rolloupe.insight.lint.whole import SampleRule, verdicts
from rolloupe.questions import LintQuery

LINT_RULES: dict[str, LintRule | SampleRule] = {
    rule.name: rule for module in (rules, run_rules, series_rules, sample_rules) for rule in module.RULES
}
"""By name."""

MOST_IDS = 5

EVERYTHING = LintQuery()


def lint(run: OpenRun, asked: LintQuery = EVERYTHING) -> RunLint:
    """Check the samples of a run. Raises `NotFound` for an unknown split."""
    data = LintData(run, asked)
    looked = {name: rule.look(data) for name, rule in LINT_RULES.items() if isinstance(rule, LintRule)}
    of_samples, read = verdicts(data, {n: rule for n, rule in LINT_RULES.items() if isinstance(rule, SampleRule)})
    looked |= of_samples
    broken = [_broken(data, LINT_RULES[name], one) for name, one in looked.items() if isinstance(one, Breach)]
    unchecked = [
        UncheckedRule(rule=name, reason=one.reason) for name, one in looked.items() if isinstance(one, Unknown)
    ]
    return RunLint(
        broken=sorted(broken, key=lambda one: not one.is_certain),
        unchecked=unchecked,
        checked=[name for name, one in looked.items() if not isinstance(one, Unknown)],
        samples=len(data),
        discarded=int((data.words("discarded") != "").sum()),
        read=read,
    )


def _broken(data: LintData, rule: LintRule | SampleRule, one: Breach) -> BrokenRule:
    ids = [*one.ids] or data.arrays.ids(data.run, one.places[:MOST_IDS].tolist())
    count = len(one.places) or one.total
    return BrokenRule(
        rule=rule.name, words=rule.words, is_certain=rule.is_certain, text=one.text, count=count, samples=ids[:MOST_IDS]
    )
