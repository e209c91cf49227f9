"""The metrics of steps, which each producer of a run writes into a file of its own."""

from collections.abc import Iterable
from typing import Any

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trainer_files import MergedMetrics, MetricLines, lines_so_far
from rolloupe.model import Location, MetricRow


class _ProducerLines(MetricLines):
    """The file of a producer: values of steps, and sums over its samples of a step."""

    def take(self, record: Record) -> None:
        """See `MetricLines`. Of several lines with sums for one step the last counts, as when a step ran again."""
        step, sums = record.get("step"), record.get("sums")
        super().take({**_named(record.get("values")), "step": step, "time": record.get("time")})
        if isinstance(sums, dict):
            self.apart.pop(fields.integer(step), None)
            self.apart[fields.integer(step)] = {"step": step, "sums": sums}


def metrics_in(locations: Iterable[Location]) -> list[MetricRow]:
    """Return the metrics of all producers, merged by step: a value of a line wins over a mean of sums."""
    found = [lines_so_far(one, _ProducerLines) for one in locations]
    merged = MergedMetrics()
    for row in _summed(row for one in found for row in one.apart):
        merged.add(row)
    for one in found:
        merged.join(one.rows)
    return merged.rows()


def _named(values: object) -> dict[str, Any]:
    """Metrics of a line, renamed where they would clash with the line's own names."""
    named = values.items() if isinstance(values, dict) else ()
    return {f"metric.{name}" if name in ("step", "time") else name: value for name, value in named}


def _summed(rows: Iterable[Record]) -> list[Record]:
    """Means over all producers, from their sums and counts; a sum with count 0 is a total."""
    totals: dict[tuple[int | None, str], list[float]] = {}
    for row in rows:
        step, sums = fields.integer(row.get("step")), row.get("sums")
        for name, pair in sums.items() if isinstance(sums, dict) else ():
            figures = [fields.number(one) for one in pair] if isinstance(pair, list) and len(pair) == 2 else [None]
            numbers = [one for one in figures if one is not None]
            if len(numbers) == 2:
                sum_and_count = totals.setdefault((step, name), [0.0, 0.0])
                sum_and_count[0] += numbers[0]
                sum_and_count[1] += numbers[1]
    means: dict[int | None, Record] = {}
    for (step, name), (total, count) in totals.items():
        means.setdefault(step, {})[name] = total / count if count else total
    return [{**_named(values), "step": step} for step, values in means.items()]
