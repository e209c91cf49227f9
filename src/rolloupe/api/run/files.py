"""The other files of a run: configuration, checkpoints, reports; and what could not be read."""

from collections.abc import Iterator
from typing import Any, overload

from rolloupe.api.run.base import OpenedRun, queries
from rolloupe.model import Checkpoint, LoggedTranscript, LogNode, Problem


class RunFiles(OpenedRun):
    """The other files of a run: configuration, checkpoints, reports; and what could not be read."""

    @property
    def config(self) -> dict[str, Any]:
        """Return the run's configuration as its trainer wrote it; empty if the run has no configuration."""
        return queries.config(self.indexed())

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Return the checkpoints, in order: `name`, `step`, `paths`, `extra`."""
        return queries.checkpoints(self.indexed())

    def code_diff(self) -> str:
        """Return how the run's code differed from its repository; empty if the run did not record it."""
        return queries.code_diff(self.indexed())

    def logtree(self, step: int, split: str | None = None) -> LogNode:
        """Return the trainer's log of a step, as an outline of plain text. Raises `NotFound` without one."""
        return queries.logtree(self.indexed(), split or self._first_split(), step)

    def logtrees(self) -> list[tuple[str, int]]:
        """Return the splits and steps for which `logtree` has an outline."""
        return queries.logtrees(self.indexed())

    def report_files(self, step: int, split: str | None = None) -> dict[str, bytes]:
        """Return the trainer's log of a step as its files hold it: `tree` (JSON) and `page` (HTML), if present."""
        return queries.report_files(self.indexed(), split or self._first_split(), step)

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
        if step is None:
            return queries.all_conversations(self.indexed(), split)
        return queries.conversations(self.indexed(), split or self._first_split(), step)

    def problems(self) -> list[Problem]:
        """Return the records that could not be read, and annotations without a sample: file, byte range, reason."""
        return queries.problems(self.indexed())

    def problem_count(self) -> int:
        """Return the number of problems, including those that `problems` does not list."""
        return queries.problem_count(self.indexed())

    def launch_doubts(self) -> list[str]:
        """Return what looks as if the run was resumed over its own files, where only a person can tell."""
        return self.indexed().launch_doubts()

    def group_doubts(self) -> list[str]:
        """Return what looks as if other keys made the groups of the run, with the option that makes them."""
        return queries.group_doubts(self.indexed())

    def reward_doubts(self) -> list[str]:
        """Return what looks as if rewards were none: text in their place, or a counter that a field map names."""
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
