"""The band above the samples: what is worth knowing of the run. A key opens the evidence of each sentence."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rolloupe.model import SampleKey
from rolloupe.questions import QUESTIONS, BriefQuery
from rolloupe.state import findings_aside
from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, Line, cut, ends, safe
from rolloupe.tui.run.session import ListPlace, RunState
from rolloupe.tui.screens.evals import EvalsScreen
from rolloupe.tui.screens.findings import FindingsScreen
from rolloupe.tui.screens.metrics import MetricsScreen
from rolloupe.tui.widgets.lines import LineBar

if TYPE_CHECKING:
    from rolloupe.insight.brief import Brief
    from rolloupe.insight.reward_sentences import BriefSentence
    from rolloupe.tui.screens.rollouts import Rollouts

FIRST_KEY = 7
"""The key of the first sentence; those of the next ones follow."""
LINES, TALL = 3, 30
"""Sentences below each other in a window of at least `TALL` lines; in a lower one, the first has a line."""
KIND_WIDTH = 9
"""Sentences below each other begin at the same place."""
AFTER_S = 0.5
"""The list and the sample come first."""
AGAIN_S = 20.0
"""The least time between two requests for a run that grows."""


class BriefBand(LineBar):
    """The sentences, in as many lines before they are known as with them: nothing below moves."""

    def __init__(self, screen: "Rollouts") -> None:
        super().__init__("brief", self._lines, clicked=lambda _x, y: self.open(y))
        self._rollouts = screen
        self.brief: Brief | None = None
        """None until it is known."""
        self._asked = ("", "")
        """The run of the last request, and its version then."""
        self._asked_s = 0.0
        self._is_due = False

    def look(self, state: RunState) -> None:
        """Ask for the brief of the run once all of it is indexed, and again when it has grown."""
        run = self._rollouts.live.session.run
        is_same = self._asked[0] == run.id
        if not is_same and self.brief is not None:
            self.brief = None
            self.changed()
        if state.phase != "ready" or not state.splits or self._asked == (run.id, run.version) or self._is_due:
            return
        self._is_due = True
        rest_s = self._asked_s + AGAIN_S - time.monotonic() if is_same else AFTER_S
        self._rollouts.set_timer(max(AFTER_S, rest_s), self._ask)

    def _ask(self) -> None:
        self._is_due = False
        run = self._rollouts.live.session.run
        self._asked, self._asked_s = (run.id, run.version), time.monotonic()

        def answer() -> "Brief":
            state = self._rollouts.bookmarks.state()
            aside = {} if state is None else findings_aside(state, run)
            brief: Brief = QUESTIONS["brief"].answer(run, BriefQuery())
            return replace(brief, sentences=[one for one in brief.sentences if one.evidence.finding not in aside])

        self._rollouts.ask("brief", answer, self._take, is_slow=True)

    def _take(self, brief: "Brief") -> None:
        self.brief = brief
        self.changed()

    def _lines(self, width: int) -> Sequence[Line]:
        sentences = self.brief.sentences if self.brief else []
        if self.app.size.height < TALL:
            further = [piece for nth, one in list(enumerate(sentences))[1:] for piece in _head(nth, one)]
            return [ends(_line(0, sentences[0]), further, width) if sentences else self._note()]
        lines = [cut(_line(nth, sentence), width) for nth, sentence in enumerate(sentences)] or [self._note()]
        return [*lines, *([[]] * (LINES - len(lines)))]

    def _note(self) -> Line:
        live = self._rollouts.live
        if live.opened is None or live.state is None or not live.state.splits:
            return []
        return [(" Nothing stands out in this run." if self.brief else " Reading the run …", DIM)]

    def open(self, number: int) -> None:
        """Open the evidence of a sentence."""
        screen, brief = self._rollouts, self.brief
        if brief is None or number >= len(brief.sentences):
            screen.tell("The brief has no such sentence." if brief else "The brief is not known yet.")
            return
        sentence, nav = brief.sentences[number], screen.nav
        evidence = sentence.evidence
        split = evidence.split or brief.split
        if evidence.page == "findings":
            screen.app.push_screen(FindingsScreen(screen, split, evidence.finding), nav.go_to)
        elif evidence.page == "evals":
            screen.app.push_screen(EvalsScreen(screen, split), nav.go_to)
        elif evidence.page == "metrics":
            step = sentence.steps[0] if sentence.steps and sentence.kind == "curves" else None
            screen.app.push_screen(MetricsScreen(screen, evidence.curve, step), nav.go_to_point)
        elif evidence.samples:
            nav.go_to(SampleKey.parse(evidence.samples[0]))
        else:
            step = sentence.steps[1] if sentence.steps else nav.place.step
            place = ListPlace(
                split=split, step=step, where=evidence.where, sort=evidence.sort or "index",
                descending=evidence.descending, is_discarded=evidence.discarded,
            )  # fmt: skip
            nav.go(place, 0)


def _head(number: int, sentence: "BriefSentence", width: int = 0) -> Line:
    return [(f" {FIRST_KEY + number}", ACCENT), (f" {sentence.kind.replace('_', ' '):{width}} ", DIM)]


def _line(number: int, sentence: "BriefSentence") -> Line:
    return [*_head(number, sentence, KIND_WIDTH), safe(sentence.text, PLAIN)]
