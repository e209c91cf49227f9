"""What a run holds beside its samples: what the trainer wrote, what a person marked, what could not be read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

from rolloupe.api.results import Rows
from rolloupe.api.runs_base import Asked
from rolloupe.model import Checkpoint, LoggedTranscript, LogNode, MetricRow, Problem

if TYPE_CHECKING:
    from rolloupe.api.bookmarks import Bookmark
    from rolloupe.query import MetricPoint


class OfTheRest(Asked):
    """What a run answers of all that is no sample."""

    def metrics(self, name: str) -> "Rows[MetricPoint]":
        """One of the trainer's metrics by step: `step`, `value`. `metric_names()` has the names.

        Nothing of one that only rows without a step have: `metric_rows()` has those.
        """
        from rolloupe import query

        return Rows(query.metrics(self._ready(), name))

    def metric_names(self) -> list[str]:
        """The names of the trainer's metrics."""
        from rolloupe import query

        return query.metric_names(self._ready())

    def metric_rows(self) -> list[MetricRow]:
        """All of the trainer's metrics: a row a step, rows without a step last."""
        from rolloupe import query

        return query.metric_rows(self._ready())

    @property
    def config(self) -> dict[str, Any]:
        """The run's configuration, as its trainer wrote it; empty where there is none."""
        from rolloupe import query

        return query.config(self._ready())

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The checkpoints, in order: `name`, `step`, `paths`, `extra`."""
        from rolloupe import query

        return query.checkpoints(self._ready())

    def code_diff(self) -> str:
        """What the code of the run differed by from its repository; empty where nothing says so."""
        from rolloupe import query

        return query.code_diff(self._ready())

    def logtree(self, step: int, split: str | None = None) -> LogNode:
        """What the trainer logged for a step, as an outline of plain text. Raises `NotFound` where there is nothing."""
        from rolloupe import query

        return query.logtree(self._ready(), split or self._first_split(), step)

    def logtrees(self) -> list[tuple[str, int]]:
        """The splits and steps for which a trainer logged an outline, which `logtree` returns."""
        from rolloupe import query

        return query.logtrees(self._ready())

    def report_files(self, step: int, split: str | None = None) -> dict[str, bytes]:
        """What the trainer logged for a step as its files hold it: `tree` (JSON) and `page` (HTML), as far as there."""
        from rolloupe import query

        return query.report_files(self._ready(), split or self._first_split(), step)

    @overload
    def conversations(self, step: int, split: str | None = None) -> list[LoggedTranscript]: ...
    @overload
    def conversations(self, step: None = None, split: str | None = None) -> Iterator[LoggedTranscript]: ...
    def conversations(
        self, step: int | None = None, split: str | None = None
    ) -> list[LoggedTranscript] | Iterator[LoggedTranscript]:
        """The conversations that were logged: `split`, `step`, `title` (the sections it stands in), `turns`.

        Of a step those that cannot be tied to one sample for certain: nothing else shows them. `at` are the numbers
        of the children that lead to it in `logtree`, as `0.3.1`. Without a step all of
        all steps, or of those of a split, one outline after another as they are asked for; of those that are tied,
        `sample` is the id.
        """
        from rolloupe import query

        if step is None:
            return query.all_conversations(self._ready(), split)
        return query.conversations(self._ready(), split or self._first_split(), step)

    def bookmarks(self) -> "Rows[Bookmark]":
        """The samples that a person set a bookmark on or wrote a note about, in the page, the newest last."""
        from rolloupe.api.bookmarks import bookmarks

        return Rows(bookmarks(self._ready(), self._state_dir))

    def problems(self) -> list[Problem]:
        """The records that could not be read, and annotations of no sample: file, byte range, reason."""
        from rolloupe import query

        return query.problems(self._ready())

    def problem_count(self) -> int:
        """How many there are, those beyond what is listed included."""
        from rolloupe import query

        return query.problem_count(self._ready())

    def failures(self, *, texts: bool = False) -> list[Problem]:
        """The parts of files that could not be indexed at all, as on a full disk: answers lack what they hold.

        With `texts` also those whose texts could not be written: answers are complete without them, but slower.
        """
        return self._ready().failures(texts=texts)
