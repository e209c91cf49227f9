"""All rules, and what they find in a run."""

from collections.abc import Collection
from importlib import import_module
from pkgutil import iter_modules
from typing import NamedTuple

from rolloupe.insight import rules
from rolloupe.insight.alarm import Alarm, NotChecked, Rule, UncheckedRule
from rolloupe.insight.curves import HasCurves
from rolloupe.query import listing_once

_MODULES = (import_module(f"{rules.__name__}.{module.name}") for module in iter_modules(rules.__path__))
RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in sorted((rule for module in _MODULES for rule in module.RULES), key=lambda rule: rule.name)
}
"""By name; each module of `rules/` has some."""


class Raised(NamedTuple):
    """An alarm, and the rule that raised it."""

    rule: Rule
    alarm: Alarm

    def __repr__(self) -> str:
        first, last = self.alarm.first_step, self.alarm.last_step
        steps = f"step {first}" if first == last else f"steps {first} to {last}"
        return f"<{self.rule.severity} {self.rule.name}, {steps}: {self.alarm.title}; {self.alarm.text}>"


class CheckedCurves(NamedTuple):
    """What rules found in the curves of a run."""

    raised: list[Raised]
    """Errors first, then by the step where they begin."""
    unchecked: list[UncheckedRule]
    """The rules that the run has too little for, if only in one of its evaluations."""
    checked: list[str]
    """The others, by name."""


def check(source: HasCurves, without: Collection[str] = ()) -> CheckedCurves:
    """Have all rules but some look at the curves of a run."""
    found: list[Raised] = []
    unchecked: dict[str, str] = {}
    looked = [rule for rule in RULES.values() if rule.name not in without]
    with listing_once():  # each curve asks which files hold the trainer's metrics
        for rule in looked:
            try:
                # One by one: what a rule raised before it lacked something stays.
                found.extend(Raised(rule, _sortable(source, alarm)) for alarm in rule.look(source))
            except NotChecked as reason:
                unchecked[rule.name] = str(reason)
    return CheckedCurves(
        sorted(found, key=lambda one: (one.rule.severity != "error", one.alarm.first_step, one.rule.name)),
        [UncheckedRule(rule=name, reason=reason) for name, reason in unchecked.items()],
        [rule.name for rule in looked if rule.name not in unchecked],
    )


def _sortable(source: HasCurves, alarm: Alarm) -> Alarm:
    """Return an alarm that sorts by nothing where no sample has the number."""
    has = not alarm.sort or source.curve("sample", alarm.sort, "mean") is not None
    return alarm if has else alarm._replace(sort="")
