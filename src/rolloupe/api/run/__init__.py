"""One run and the questions to ask of it: each method calls one function of a lower room."""

from html import escape

from rolloupe.api.run.files import RunFiles
from rolloupe.api.run.insight import RunInsight
from rolloupe.api.run.samples import RunSamples
from rolloupe.api.run.tokens import RunTokens

__all__ = ["Run"]


class Run(RunSamples, RunTokens, RunInsight, RunFiles):
    """One run.

    Answers are complete: each waits until the run's numbers are indexed, unless you opened it with `wait=False`. Those
    about the trainer's metrics come from its files, and wait for no index.
    """

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.id)}</b> {escape(self.format)} {escape(self.path)}</p>{self.splits()._repr_html_()}"
