"""Curves that a test gives to rules, in the place of those of a run."""

from typing import Any

import numpy as np

from rolloupe.insight import Alarm, History, RunCurves
from rolloupe.query.curves.points import STATS

Key = tuple[str, str, str, str]


class Curves(RunCurves):
    """Curves by kind, name and statistic (`token entropy`, `sample reward std`, `eval math`), as values or histories.

    The share of a reason is `share discarded/stale`. A name without a statistic has the usual one of its kind. Values
    alone have steps from 0. `matching derived.refusals` counts the samples that match a filter of that metric.
    """

    def __init__(self, **values: Any) -> None:
        self.histories = {_key(name): _history(one) for name, one in values.items()}

    def curve(
        self, kind: str, name: str, stat: str = "", source: str = "", reason: str = "", where: str = ""
    ) -> History | None:
        """As rules ask for it."""
        if where:
            return self.histories.get(("matching", where.partition(" ")[0], "", ""))
        return self.histories.get((kind, f"{name}/{reason}" if reason else name, stat or STATS[kind][0], source))

    def names(self, kind: str) -> list[str]:
        """The names of the trainer's metrics, of the evaluations, or of reasons."""
        if kind == "reason":
            return [name.removeprefix("discarded/") for of, name, *_ in self.histories if of == "share" and "/" in name]
        return [source or name for of, name, _, source in self.histories if of == kind]

    def at_token(self, alarm: Alarm) -> Alarm:
        """No sample has tokens here."""
        return alarm

    def wrong(self, split: str) -> str:
        """The filter of wrong answers."""
        return "reward < 1"


def _key(text: str) -> Key:
    kind, name, *stat = text.split(" ")
    usual = stat[0] if stat else STATS.get(kind, ("",))[0]
    return (kind, "", usual, name) if kind == "eval" else (kind, name, usual, "")


def _history(values: Any) -> History:
    return values if isinstance(values, History) else History(np.arange(len(values)), np.asarray(values, float))
