"""All rules, and what they find in a run."""

from collections.abc import Collection
from importlib import import_module
from pkgutil import iter_modules
from typing import NamedTuple

from rolloupe.insight import rules
from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.curves import HasCurves
from rolloupe.query import listing_once

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (import_module(f"{rules.__name__}.{module.name}").RULE for module in iter_modules(rules.__path__))
}
"""By name; a module of `rules/` each."""


class Raised(NamedTuple):
    """An alarm, and the rule that raised it."""

    rule: Rule
    alarm: Alarm


def check(source: HasCurves, without: Collection[str] = ()) -> list[Raised]:
    """Return the alarms of all rules but some, errors first, then by the step where they begin."""
    looked = [rule for rule in RULES.values() if rule.name not in without]
    with listing_once():  # each curve asks which files hold the trainer's metrics
        found = [Raised(rule, _sortable(source, alarm)) for rule in looked for alarm in rule.look(source)]
    return sorted(found, key=lambda one: (one.rule.severity != "error", one.alarm.first_step, one.rule.name))


def _sortable(source: HasCurves, alarm: Alarm) -> Alarm:
    """Return an alarm that sorts by nothing where no sample has the number."""
    has = not alarm.sort or source.curve("sample", alarm.sort, "mean") is not None
    return alarm if has else alarm._replace(sort="")
