"""All rules, and what they find in a run."""

from collections.abc import Collection
from typing import NamedTuple

from msgspec.structs import replace

from rolloupe.insight.curves import Alarm, NotChecked, Rule, RunCurves, UncheckedRule
from rolloupe.insight.rules import shares, spikes, trends
from rolloupe.query import listing_once

_NAMED = [value for module in (shares, spikes, trends) for value in vars(module).values()]
RULES = {rule.name: rule for rule in sorted(value for value in _NAMED if isinstance(value, Rule))}
"""By name."""


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
    """The rules for which the run, or one of its evaluations, has too little data."""
    checked: list[str]
    """The others, by name."""


def check(source: RunCurves, without: Collection[str] = ()) -> CheckedCurves:
    """Have all rules but some look at the curves of a run."""
    raised: list[Raised] = []
    unchecked: dict[str, str] = {}
    asked = [rule for rule in RULES.values() if rule.name not in without]
    with listing_once():  # each curve asks which files hold the trainer's metrics
        for rule in asked:
            try:
                for alarm in rule.look(source):  # one by one: alarms that a rule raised before it lacked data stay
                    is_sortable = not alarm.sort or source.curve("sample", alarm.sort, "mean") is not None
                    raised.append(Raised(rule, alarm if is_sortable else replace(alarm, sort="")))
            except NotChecked as reason:
                unchecked[rule.name] = str(reason)
    return CheckedCurves(
        sorted(raised, key=lambda one: (one.rule.severity != "error", one.alarm.first_step, one.rule.name)),
        [UncheckedRule(rule=name, reason=reason) for name, reason in unchecked.items()],
        [rule.name for rule in asked if rule.name not in unchecked],
    )
