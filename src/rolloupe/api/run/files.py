"""The curves of a run; its other files, such as configuration and reports; and the records that could not be read."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from rolloupe.api.results import Rows
from rolloupe.api.run.base import OpenedRun, queries
from rolloupe.model import Checkpoint, LoggedTranscript, LogNode, MetricRow, Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from rolloupe.api.lists import NotebookCurve
    from rolloupe.query import CurveEntry, CurveQuery, CurveSource, Distribution, MetricPoint


class RunFiles(OpenedRun):
    """The curves of a run, its other files, and the records that could not be read."""

    @property
    def config(self) -> dict[str, Any]:
        """Return the run's configuration as its trainer wrote it; empty if the run has no configuration."""
        run = self.indexed()
        return run.format.config(run.info)

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Return the checkpoints, in order: `name`, `step`, `paths`, `extra`."""
        run = self.indexed()
        return run.format.checkpoints(run.info)

    def code_diff(self) -> str:
        """Return how the run's code differed from its repository; empty if the run did not record it."""
        run = self.indexed()
        return run.format.code_diff(run.info)

    def logtree(self, step: int, split: str | None = None) -> LogNode:
        """Return the trainer's log of a step, as an outline of plain text. Raises `NotFound` without one."""
        return queries.logtree(self.indexed(), split or self._first_split(), step)

    def logtrees(self) -> list[tuple[str, int]]:
        """Return the splits and steps for which `logtree` has an outline."""
        run = self.indexed()
        return run.format.logtrees(run.info)

    def report_files(self, step: int, split: str | None = None) -> dict[str, bytes]:
        """Return the trainer's log of a step as its files hold it: `tree` (JSON) and `page` (HTML), if present."""
        run = self.indexed()
        return run.format.report_files(run.info, split or self._first_split(), step)

    @overload
    def conversations(self, step: int, split: str | None = None) -> list[LoggedTranscript]: ...

    @overload
    def conversations(self, step: None = None, split: str | None = None) -> Iterator[LoggedTranscript]: ...

    def conversations(
        self, step: int | None = None, split: str | None = None
    ) -> list[LoggedTranscript] | Iterator[LoggedTranscript]:
        """Return logged conversations: `split`, `step`, `title` (of the enclosing sections), `turns`.

        With a step, the result is the conversations that certainly belong to no single sample, so that no sample shows
        them; `at` is the path to each in `logtree`, as child numbers such as `0.3.1`. Without a step, the result is all
        conversations of all steps (or of a split), one outline after another; if a conversation belongs to a sample,
        `sample` is its id.
        """
        run = self.indexed()
        if step is None:
            return queries.all_conversations(run, split)
        return run.format.conversations(run.info, split or self._first_split(), step)

    def problems(self) -> list[Problem]:
        """Return the records that could not be read, and annotations without a sample: file, byte range, reason."""
        return queries.problems(self.indexed())

    def problem_count(self) -> int:
        """Return the number of problems, including those that `problems` does not list."""
        return queries.problem_count(self.indexed())

    def launch_doubts(self) -> list[str]:
        """Return signs that the run was resumed over its own files, which only a person can judge."""
        return self.indexed().launch_doubts()

    def group_doubts(self) -> list[str]:
        """Return signs that different keys make the groups of the run, with the option for these keys."""
        return queries.group_doubts(self.indexed())

    def reward_doubts(self) -> list[str]:
        """Return signs that the rewards are not rewards: text in their place, or a counter that a field map names."""
        return queries.reward_doubts(self.indexed())

    def read(self, file: str, start: int, stop: int) -> bytes:
        """Read bytes `start` to `stop` of one of the run's files, for example the range of a `Problem`.

        Raises `NotFound` if the run has no such file, `SourceChanged` if it can no longer be read.
        """
        return queries.read(self.indexed(), file, start, stop - start)

    def failures(self, *, texts: bool = False) -> list[Problem]:
        """Return the parts of files that could not be indexed, for example on a full disk: answers lack their samples.

        With `texts`, also return parts whose texts or derived metrics could not be written: searches without texts are
        slower, and samples without derived metrics lack these values.
        """
        return self.indexed().failures(texts=texts)

    def curve(self, curve: "CurveQuery | str", *, points: int | None = None) -> "NotebookCurve":
        """Return one curve; see `curves`."""
        return self.curves([curve], points=points)[0]

    def curves(
        self, curves: "Sequence[CurveQuery | str] | CurveQuery | str", *, points: int | None = None
    ) -> "list[NotebookCurve]":
        """Return several curves: numbers of samples, trainer metrics, evaluations, shares or token series, by step.

        Args:
            curves: for each a `rolloupe.query.CurveQuery`, such as `CurveQuery(kind="trainer", name="optim/loss")`, or
                a name. A name is that of a sample metric (the mean of each step), else of a metric of the trainer, else
                of a token series, or one that `rolloupe metrics --curves` lists, such as `share/discarded`.
            points: the most points to return for a curve; a longer one keeps its extremes and gaps. Default: all.

        A curve has `steps`, `values`, `spread`, `smooth` (NumPy arrays of equal length) and `points`, the number of all
        its points; `query` says what a name stood for. `.arrow()`, `.pandas()` and `.polars()` return a table. With
        `x=CurveQuery(kind="elapsed")`, or any other curve, it also has `x`, the value of that curve at each step;
        `without_x` counts the steps that lack one. With `options=CurveOptions(where="env = math")` only samples that
        match the filter count; with `CurveOptions(band="p5-p95")` it has `low` and `high`.
        Raises `BadQuery` for an unknown name, with the nearest names.
        """
        from rolloupe.api.lists import NotebookCurve

        asked = [curves] if isinstance(curves, str | queries.CurveQuery) else curves
        found = [self._curve_of(one) for one in asked]
        run = self._ready_for_curves(found)
        return [NotebookCurve._make(one) for one in queries.curves(run, found, most=points)]

    def _curve_of(self, curve: "CurveQuery | str") -> "CurveQuery":
        return queries.named_curve(self.indexed(), curve) if isinstance(curve, str) else curve

    def catalogue(self, split: str = "") -> "Rows[CurveEntry]":
        """Return the curves that the run has: `query` (for `curves()`), `title`, `section`, `unit`, `about`.

        Those of samples, groups and tokens are of one split, by default the first.
        """
        return Rows(queries.curve_catalogue(self.indexed(), split))

    def distribution(
        self, sample_metric: str, split: str = "", *, where: str = "", columns: int | None = None
    ) -> "Distribution":
        """Return how a sample metric of the trained samples is distributed at each step of a split.

        The result has `edges` (bin `i` holds the values from `edges[i]` up to, not including, `edges[i + 1]`),
        `first_steps`, `last_steps` and `counts`, a NumPy array by step and bin. `columns` is the most steps to return;
        neighbours are added together if there are more. Only samples that match the filter `where` count. Raises
        `BadQuery` for an unknown name.
        """
        run = self._ready_for([sample_metric], [where])
        return queries.distribution(run, sample_metric, split, where=where, shown=queries.Range(columns))

    def metrics(self, name: str) -> "Rows[MetricPoint]":
        """Return one of the trainer's metrics by step: `step`, `value`. `metric_names()` has the names.

        If only rows without a step have the metric, the result is empty; use `metric_rows()`.
        """
        return Rows(queries.metrics(self._opened(), name))

    def metric_names(self) -> list[str]:
        """Return the names of the trainer's metrics."""
        return queries.metric_names(self._opened())

    def metrics_table(self) -> "pa.Table":
        """Return the trainer's metrics as an Arrow table: `step`, `time_s`, and a column for each metric by its name.

        A row for each step; rows without a step come last. What a step lacks is null. `.to_pandas()` and
        `polars.from_arrow` take it.
        """
        return queries.metric_arrow(self._opened())

    def curve_sources(self) -> "Rows[CurveSource]":
        """Return the files of trackers that curves of the run come from: `kind`, `path`, `run` (its name there).

        `names` are the metrics that each adds, `step_name` the metric that holds the step (empty: the tracker's own
        count), `note` what was left out and why, and `is_named` is true for the files that `open(metrics=...)` named.
        """
        return Rows(queries.curve_sources(self._opened()))

    def metric_rows(self) -> list[MetricRow]:
        """Return all of the trainer's metrics: one row for each step, rows without a step last."""
        return queries.metric_rows(self._opened())
