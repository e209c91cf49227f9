"""Search in texts that a trainer logged and that no sample shows: report by report, in the run's files.

The index does not contain them. Their bytes rule most reports out; reading another one takes some milliseconds.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from rolloupe import text
from rolloupe.errors import UnreadablePath, defect
from rolloupe.formats.base import StepReport, TranscriptQuery
from rolloupe.index import OpenRun
from rolloupe.model import Turn
from rolloupe.query.engine.names import is_asked
from rolloupe.query.records import SampleQuery
from rolloupe.query.search.pattern import Pattern
from rolloupe.query.search.roles import Snippet, snippets_in
from rolloupe.query.search.worker import SearchStopped


class Transcript(NamedTuple):
    """A logged text with a match that no sample shows; `at` is its place in the step's report."""

    split: str
    step: int
    title: str
    at: str
    snippets: tuple[Snippet, ...]
    more: bool
    """True if it has more matches than snippets."""


class Reports:
    """The reports to search: those of the query's splits and steps, none if it asks for certain samples."""

    def __init__(self, run: OpenRun, pattern: Pattern, query: SampleQuery, *, oldest_first: bool) -> None:
        self._run = run
        self._pattern = pattern
        self._query = query
        self._way = 1 if oldest_first else -1

    def due(self) -> list[StepReport]:
        """List them in search order."""
        query = self._query
        if query.where or query.group is not None or query.trained is not None:
            return []
        low, high, splits = query.step_min, query.step_max, query.splits
        due = [
            report
            for report in self._run.format.reports(self._run.info)
            if (low is None or report.step >= low) and (high is None or report.step <= high)
            if not splits or any(is_asked(report.split, split) for split in splits)
        ]
        return sorted(due, key=lambda report: (self._way * report.step, report.split != "train", report.split))

    def listed(self, note: Callable[[str], None]) -> list[StepReport]:
        """List them as `due` does; a failure is noted and leaves none."""
        try:
            return self.due()
        except OSError as error:
            note(f"the reports could not be listed: {error.strerror or error}")
        except Exception as error:  # a defect of ours must not cost the hits in samples
            note(f"the reports could not be listed: {defect(error)}")
        return []

    def look(self, report: StepReport, go_on: Callable[[], bool], note: Callable[[str], None]) -> list[Transcript]:
        """Search one report; return nothing once `go_on` returns False. Notes unreadable logs."""

        def check() -> None:
            if not go_on():
                raise SearchStopped

        def holds(turns: Sequence[Turn]) -> bool:
            check()
            return bool(snippets_in(self._pattern, answered(turns), check)[0])

        hits = []
        try:
            for transcript in report.search(TranscriptQuery(self._pattern.word, holds, check)):
                snippets, more = snippets_in(self._pattern, answered(transcript.turns), check)
                place = transcript.split, transcript.step, transcript.title, transcript.at
                hits.append(Transcript(*place, tuple(snippets), more))
        except UnreadablePath as error:
            note(str(error))
            return []
        except SearchStopped:
            return []
        return hits


def answered(turns: Sequence[Turn]) -> Iterator[Turn]:
    """The turns of a conversation without a sample: its response begins at the first assistant turn."""
    first = text.first_answer(turns)
    return chain(turns[:first], (replace(turn, origin="response") for turn in turns[first:]))
