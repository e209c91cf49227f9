"""`i`: what the reward pays for, and the data quality: the findings and the broken rules of the page, with samples.

Findings that a person set aside as no hack come last, with the reason and the name.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from textual import events
from textual.app import ComposeResult

from rolloupe import query
from rolloupe.model import Problem, SampleKey
from rolloupe.state.decisions import FindingAside, findings_aside
from rolloupe.text.visible import visible_line
from rolloupe.tui.draw.ink import ACCENT, ALARM, DIM, PLAIN, STRONG, WARN, Line, cut, safe, wrapped
from rolloupe.tui.draw.numbers import listed, signed
from rolloupe.tui.keys import FINDING_KEYS
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.screens.pickers import Choice, PickScreen
from rolloupe.tui.widgets.rows import RowList

if TYPE_CHECKING:
    from rolloupe.insight.findings import Finding, RunFindings
    from rolloupe.insight.lint import BrokenRule, RunLint
    from rolloupe.tui.screens.rollouts import Rollouts

T = TypeVar("T")

TAG = 12
INKS = {"suspect": ALARM, "unverified": WARN, "earned": ACCENT, "certain": ALARM, "look": WARN, "problem": WARN}
LOOK_S = 0.2
PROBLEMS = 50
"""Problems that are listed, at most."""
NARROW_LINES, WIDE_LINES = 5, 3


class FindingRow(NamedTuple):
    """A finding, or a rule that samples break."""

    tag: str
    text: str
    facts: str
    samples: list[tuple[str, str]]
    """Ids, and what each shows."""
    is_aside: bool = False


class FindingsScreen(BackScreen[SampleKey]):
    """The findings, then the broken rules. Returns the sample that a person chooses."""

    KEYS = FINDING_KEYS

    def __init__(self, rollouts: "Rollouts") -> None:
        super().__init__(rollouts)
        self._findings: RunFindings | None = None
        self._lint: RunLint | None = None
        self._problems: list[Problem] = []
        self._aside: dict[str, FindingAside] | None = None
        """By the names of findings; None until it is known which are set aside."""
        self._rows: list[FindingRow] = []

    def compose(self) -> ComposeResult:
        yield self.title_bar("findings-title", self._title)
        yield RowList("findings")
        yield self.foot_bar()

    def on_mount(self) -> None:
        """Ask for both, once every sample has its derived metrics."""
        self.rows.focus()
        run, split = self.session.run, self.rollouts.nav.place.split

        def findings() -> "RunFindings":
            from rolloupe.insight.findings import findings
            from rolloupe.questions import FindingQuery

            return findings(run, FindingQuery(split=split))

        def lint() -> "RunLint":
            from rolloupe.insight.lint import lint
            from rolloupe.questions import LintQuery

            return lint(run, LintQuery(split=split))

        def aside() -> dict[str, FindingAside]:
            state = self.rollouts.bookmarks.state()
            return {} if state is None else findings_aside(state, run)

        self.ask("aside", aside, self._take_aside)
        self.ask("problems", lambda: query.problems(run), self._take_problems)
        self.set_interval(LOOK_S, self._show_progress)
        self._ask_when_indexed("findings", findings, self._take_findings)
        self._ask_when_indexed("lint", lint, self._take_lint)

    def _ask_when_indexed(self, kind: str, work: Callable[[], T], then: Callable[[T | None], None]) -> None:
        """Ask once the run is indexed, unless nobody wants to know any more."""
        run, wanted = self.session.run, self.questions.wanted(kind)

        def answer() -> T | None:
            while wanted() and not run.wait_all(LOOK_S):
                pass
            return work() if wanted() else None

        self.ask(kind, answer, then, is_slow=True)

    def _show_progress(self) -> None:
        if self._findings is None and self.is_current:
            self.redraw("findings-title")

    def _take_problems(self, answer: list[Problem]) -> None:
        self._problems = answer
        self._show()

    def _take_aside(self, answer: dict[str, FindingAside]) -> None:
        self._aside = answer
        self._show()

    def failed(self, kind: str, reason: str) -> None:
        """Show all findings where nobody knows which are set aside."""
        super().failed(kind, reason)
        if kind == "aside":
            self._take_aside({})

    def _take_findings(self, answer: "RunFindings | None") -> None:
        self._findings = answer
        self._show()

    def _take_lint(self, answer: "RunLint | None") -> None:
        self._lint = answer
        self._show()

    def _show(self) -> None:
        at = self.rows.cursor
        chosen = self._rows[at] if 0 < at < len(self._rows) else None
        aside = self._aside or {}
        found = self._findings.findings if self._findings and self._aside is not None else []
        broken = self._lint.broken if self._lint else []
        self._rows = [
            *(row_of_finding(one) for one in found if one.name not in aside),
            *map(_of_rule, broken),
            *map(_of_problem, self._problems[:PROBLEMS]),
            *(_set_aside(one, aside[one.name]) for one in found if one.name in aside),
        ]
        height = NARROW_LINES if self.has_class("narrow") else WIDE_LINES
        at = self._rows.index(chosen) if chosen in self._rows else 0  # rows that come later may go before it
        self.rows.fill(len(self._rows), self._row, at, height=height)
        self.redraw("findings-title")

    def _title(self, width: int) -> list[Line]:
        split = self.rollouts.nav.place.split
        lines = [cut([(" Findings and data quality  ", STRONG), safe(split, ACCENT)], width)]
        notes = [self._findings.note if self._findings else self._progress()]
        if self._lint is not None:
            count = len(self._lint.broken)
            words = f"{len(self._lint.checked)} rules checked, {count} broken" if count else "no sample breaks a rule"
            notes.append(f"Data quality: {words}.")
        if self._problems:
            notes.append(f"{listed(PROBLEMS, len(self._problems), 'problem')} in the files.")
        if number := sum(one.is_aside for one in self._rows):
            notes.append(f"{number} set aside as no hack, at the end.")
        for note in notes:
            text = visible_line(note)
            lines += [[(f" {text[start:stop]}", DIM)] for start, stop in wrapped(text, width - 2)]
        return lines

    def _progress(self) -> str:
        """Say what is waited for."""
        at = self.session.run.progress()
        if at.phase == "scalars" and at.total_bytes:
            return f"Indexing the samples, {at.done_bytes / at.total_bytes:.0%} …"
        return "Reading …" if at.phase == "ready" else "Indexing the texts …"

    def on_resize(self, event: events.Resize) -> None:
        """Give a row more lines where they are short."""
        super().on_resize(event)
        self._show()

    def _row(self, number: int, width: int) -> list[Line]:
        one, room = self._rows[number], width - TAG - 1
        text = visible_line(one.text)
        words = [text[start:stop] for start, stop in wrapped(text, room)]
        most = self.rows.row_height - 1
        if len(words) > most:
            words = [*words[: most - 1], f"{words[most - 1][: room - 2].rstrip()} …"]
        ink, of_tag = (DIM, DIM) if one.is_aside else (PLAIN, INKS.get(one.tag, STRONG))
        tag: Line = [(f" {one.tag:{TAG - 1}}", of_tag)]
        gap: Line = [(" " * TAG, PLAIN)]
        lines: list[Line] = [[*(gap if nth else tag), (piece, ink)] for nth, piece in enumerate(words)]
        return [cut(line, width) for line in [*lines, [*gap, safe(one.facts, DIM)]]]

    @property
    def is_reading(self) -> bool:
        """True while there is no row, and some may come."""
        return not self._rows and (self._findings is None or self._lint is None)

    def choose(self, number: int) -> None:
        """Open the sample of a finding, or list them if there are several."""
        samples = self._rows[number].samples

        def leave(number: int) -> None:
            self.dismiss(SampleKey.parse(samples[number][0]))

        def chosen(number: int | None) -> None:
            if number is not None:
                self.call_later(leave, number)  # the list of samples leaves first

        if not samples:
            self.tell("No sample shows it.")
        elif len(samples) == 1:
            leave(0)
        else:
            choices = [Choice(name, [(f"{shows} ", DIM)]) for name, shows in samples]
            self.app.push_screen(PickScreen("Samples", choices), chosen)


def row_of_finding(one: "Finding") -> FindingRow:
    """Return the row of a finding, with what each of its samples shows."""
    of_correctness = "" if one.correctness is None else f", on correctness {signed(one.correctness)}"
    won, has = ("less", "less of it") if one.effect < 0 else ("more", "it")
    words_of_pair = (f"{won} of it, and the better reward", "its sibling, with the worse reward")
    shows = {name: words for pair in one.samples.pairs for name, words in zip(pair, words_of_pair, strict=True)}
    shows.setdefault(one.samples.earliest, "the first sample that has it")
    samples = [(name, shows.get(name, f"has {has}, with less reward")) for name in one.samples.ids()]
    return FindingRow(one.kind, one.text, f"{_z(one)}, effect {signed(one.effect)}{of_correctness}", samples)


def _z(one: "Finding") -> str:
    return f"z {one.z:.1f}".replace("-", "−")


def _set_aside(one: "Finding", aside: FindingAside) -> FindingRow:
    reason = f": {aside.why}" if aside.why else ""
    facts = " · ".join(filter(None, (aside.by, f"{one.kind}, {_z(one)}")))
    return row_of_finding(one)._replace(tag="not a hack", text=f"{one.title}{reason}", facts=facts, is_aside=True)


def _of_problem(one: Problem) -> FindingRow:
    where = "" if one.start is None else f", bytes {one.start:,} to {one.stop or one.start:,}"
    return FindingRow("problem", one.reason, f"{one.source}{where}", [])


def _of_rule(one: "BrokenRule") -> FindingRow:
    tag = "certain" if one.is_certain else "look"
    return FindingRow(tag, one.text, f"rule {one.rule}", [(name, "") for name in one.samples])
