"""`rolloupe metrics`: list the trainer's metrics by step."""

from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import click

from rolloupe.cli.options import command, with_paths, words
from rolloupe.cli.runs import only, opened
from rolloupe.cli.terminal import NOTHING, OK, complain, print_table, tell_csv, tell_json
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.model import MetricRow


@dataclass(frozen=True, kw_only=True)
class MetricOptions:
    """Which metrics to list, and in which form."""

    words: tuple[str, ...]
    as_json: bool = option(False, "Print one JSON object for each step.", flags=("--json",))
    as_csv: bool = option(False, "Print a table with a header.", flags=("--csv",))
    of_all: bool = option(False, "Also the curves of samples, groups, tokens and evaluations.", flags=("--curves",))
    across: str | None = option(None, "Put this metric, or `elapsed` seconds, beside each step.", flags=("--x",))


@command(arguments=words("PATH... [NAME...]"))
def metrics(asked: MetricOptions, place: RunPaths) -> int:
    """List the trainer's metrics, those of trackers among them.

    Without a NAME, lists each metric with its last step and value; with names, their values by step. A word that is an
    existing path is a PATH. Any other word is a NAME, or a pattern of names: * stands for any characters, ? for one,
    [ab] for one of these. Steps at which none of them was logged are left out.

    With --curves, all curves of the catalogue: also rewards, shares of groups and samples (all right, truncated,
    discarded for a reason), what is lost to clipping, lengths and evaluations, each under its name in the list; a curve
    named like a metric of the trainer is curve/NAME.

    With --x, only steps that have the metric, or a time, are listed; how many lack it is printed to standard error.

    With --json, each object has step, every metric of the step under its own name, and time_s where it is known;
    metrics with these names are left out. The rows without a step come last. Numbers that JSON lacks are the strings
    "NaN", "Infinity" and "-Infinity".

    Examples:
      rolloupe metrics RUN_DIR  # What did the trainer log? Each metric with its last value
      rolloupe metrics RUN_DIR optim/loss optim/entropy  # Two of them, by step
      rolloupe metrics RUN_DIR 'reward*' '*/kl'  # All whose names fit a pattern
      rolloupe metrics RUN_DIR --json | jq -c '[.step, .["optim/loss"]]'  # All of them, for a program
      rolloupe metrics RUN_DIR --csv > metrics.csv  # As a table
      rolloupe metrics RUN_DIR optim/loss --x elapsed  # The loss by seconds since the first point
      rolloupe metrics RUN_DIR --curves  # All curves of the run, with those of samples, groups and tokens
    """
    if asked.as_json and asked.as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    paths, names = _split(asked.words, place.paths)
    with opened(with_paths(place, [*paths, *place.paths]), reads_index=asked.of_all, texts=asked.of_all) as runs:
        run = only(runs, reads_index=asked.of_all)
        rows = _of_curves(run) if asked.of_all else run.metric_rows()
        known = dict.fromkeys(name for row in rows for name in row.values)
        names = _chosen(names, known)
        if names:
            rows = [row for row in rows if not row.values.keys().isdisjoint(names)]
        if asked.across is not None:
            rows, x = _joined(run, rows, asked.across)
            names = [x, *(name for name in names or known if name != x)]
        if not known:
            complain("The trainer logged no metrics. Next: --metrics PATH names files of a tracker.")
            return NOTHING
        if asked.as_json:
            for row in rows:
                time = {} if row.time_s is None else {"time_s": row.time_s}
                shown = (name for name in names or row.values if name in row.values and name not in ("step", "time_s"))
                tell_json({"step": row.step, **time, **{name: row.values[name] for name in shown}})
        elif asked.as_csv:
            columns = names or [*known]
            tell_csv(["step", *columns], ([row.step, *map(row.values.get, columns)] for row in rows))
        elif names:
            print_table(["step", *names], [[row.step, *map(row.values.get, names)] for row in rows])
        else:
            last = {name: row for row in rows for name in row.values}
            counts = Counter(name for row in rows for name in row.values)
            lines = [[counts[name], last[name].step, last[name].values[name], name] for name in sorted(known)]
            print_table(("points", "last step", "last value", "metric"), lines)
        return OK


def _split(words: tuple[str, ...], data_dirs: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the paths and the names: the first word is a path unless `--data-dir` gives one."""
    from rolloupe.storage import path_state

    paths: list[str] = []
    for at, word in enumerate(words):
        try:
            path_state(word)
        except (OSError, ValueError):
            if paths or data_dirs:
                return paths, list(words[at:])
        paths.append(word)
    return paths, []


def _of_curves(run: "Run") -> "list[MetricRow]":
    """Return the values of all curves of the catalogue, as rows of metrics under the names of the curves."""
    from rolloupe.model import MetricRow
    from rolloupe.query import curve_name

    by_step: dict[int, dict[str, float]] = {}
    queries = [one.query for one in run.catalogue()]
    of_trainer = {one.name for one in queries if one.kind == "trainer"}
    for query, curve in zip(queries, run.curves(queries), strict=True):
        name = curve_name(query)
        is_taken = query.kind != "trainer" and name in of_trainer
        for step, value in zip(curve.steps.tolist(), curve.values.tolist(), strict=True):
            by_step.setdefault(step, {})[f"curve/{name}" if is_taken else name] = value
    return [MetricRow(step=step, values=by_step[step]) for step in sorted(by_step)]


def _chosen(words: list[str], known: dict[str, None]) -> list[str]:
    """Return the metrics that words name: each exactly, or several by a pattern, those in the order of their names."""
    from rolloupe.query.engine.names import unknown

    chosen: dict[str, None] = {}
    for word in words:
        found = [word] if word in known else sorted(name for name in known if fnmatchcase(name, word))
        if not found:
            raise unknown("metric", word, sorted(known))
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def _joined(run: "Run", rows: "list[MetricRow]", across: str) -> "tuple[list[MetricRow], str]":
    """Return the rows with an x, which each has among its values, and the name of it there."""
    from rolloupe.model import MetricRow
    from rolloupe.query import CurveQuery

    is_time = across == "elapsed"
    (axis,) = run.curves([CurveQuery(kind="elapsed") if is_time else CurveQuery(kind="trainer", name=across)])
    name = "elapsed_s" if is_time else across
    x = dict(zip(axis.steps.tolist(), axis.values.tolist(), strict=True))
    joined = [
        MetricRow(step=row.step, values={**row.values, name: x[row.step]}, time_s=row.time_s)
        for row in rows
        if row.step is not None and row.step in x
    ]
    if len(joined) < len(rows):
        complain(f"{len(rows) - len(joined)} of {len(rows)} rows have no {name}.")
    return joined, name
