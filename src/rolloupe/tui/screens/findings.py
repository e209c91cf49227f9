"""`i`: what the reward pays for, and the data quality: the findings and the broken rules of the page, with samples.

Findings that a person set aside as no hack come last, with the reason and the name.
"""

from collections.abc import Iterator
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from textual import events
from textual.widget import Widget

from rolloupe import query
from rolloupe.model import Problem, SampleKey
from rolloupe.questions import QUESTIONS, FindingQuery, LintQuery, Query
from rolloupe.state import FindingAside, findings_aside
from rolloupe.tui.draw.ink import ACCENT, ALARM, DIM, PLAIN, STRONG, WARN, Line, cut, folded, safe
from rolloupe.tui.draw.numbers import listed, signed
from rolloupe.tui.keys import FINDING_KEYS
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.screens.pickers import Choice, pick
from rolloupe.tui.widgets.lines import RowList

if TYPE_CHECKING:
    from rolloupe.insight.findings import Finding, RunFindings
    from rolloupe.insight.lint import RunLint
    from rolloupe.tui.screens.rollouts import Rollouts

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
    """The ids of its samples, and what each sample shows."""
    name: str = ""
    """The finding's, or the rule's."""
    is_aside: bool = False


class FindingsScreen(BackScreen[SampleKey]):
    """The findings, then the broken rules. Returns the sample that a person chooses."""

    KEYS = FINDING_KEYS

    def __init__(self, rollouts: "Rollouts", split: str = "", name: str = "") -> None:
        super().__init__(rollouts)
        self._split = split or rollouts.nav.place.split
        self._wanted = name
        """The finding, or the rule, that the cursor begins at."""
        self._findings: RunFindings | None = None
        self._lint: RunLint | None = None
        self._problems: list[Problem] = []
        self._aside: dict[str, FindingAside] | None = None
        """The findings that were set aside, by name; None until they are known."""
        self._rows: list[FindingRow] = []

    def body(self) -> Iterator[Widget]:
        yield RowList("findings", self.choose)

    def on_mount(self) -> None:
        """Ask for both, once every sample has its derived metrics."""
        run, split = self.session.run, self._split

        def aside() -> dict[str, FindingAside]:
            state = self.rollouts.bookmarks.state()
            return {} if state is None else findings_aside(state, run)

        self.ask("aside", aside, lambda answer: self._keep(_aside=answer))
        self.ask("problems", lambda: query.problems(run), lambda answer: self._keep(_problems=answer))
        self.set_interval(LOOK_S, lambda: self.redraw("title") if self._findings is None and self.is_current else None)
        for name, asked in (("findings", FindingQuery(split=split)), ("lint", LintQuery(split=split))):
            self._ask_when_indexed(name, asked)

    def _ask_when_indexed(self, name: str, asked: Query) -> None:
        """Ask a question once the run is indexed, unless nobody wants the answer any more."""
        run, wanted = self.session.run, self.questions.wanted(name)

        def answer() -> Any:
            while wanted() and not run.wait_all(LOOK_S):
                pass
            return resolve_name(QUESTIONS[name].place)(run, asked) if wanted() else None

        self.ask(name, answer, lambda found: self._keep(**{f"_{name}": found}), is_slow=True)

    def _keep(self, **answers: object) -> None:
        vars(self).update(answers)
        self._show()

    def failed(self, kind: str, reason: str) -> None:
        """Show all findings if it is unknown which were set aside."""
        super().failed(kind, reason)
        if kind == "aside":
            self._keep(_aside={})

    def _show(self) -> None:
        at = self.rows.cursor
        chosen = self._rows[at] if 0 < at < len(self._rows) else None
        aside = self._aside or {}
        findings = self._findings.findings if self._findings and self._aside is not None else []
        rows = [row_of_finding(finding, aside.get(finding.name)) for finding in findings]
        for broken in self._lint.broken if self._lint else []:
            tag, samples = "certain" if broken.is_certain else "look", [(name, "") for name in broken.samples]
            rows.append(FindingRow(tag, broken.text, f"rule {broken.rule}", samples, broken.rule))
        for problem in self._problems[:PROBLEMS]:
            where = "" if problem.start is None else f", bytes {problem.start:,} to {problem.stop or problem.start:,}"
            rows.append(FindingRow("problem", problem.reason, f"{problem.source}{where}", []))
        self._rows = sorted(rows, key=lambda row: row.is_aside)
        height = NARROW_LINES if self.has_class("narrow") else WIDE_LINES
        at = self._rows.index(chosen) if chosen in self._rows else 0  # later rows may be inserted before it
        wanted = [number for number, row in enumerate(self._rows) if row.name and row.name == self._wanted]
        if wanted:
            at, self._wanted = wanted[0], ""
        self.rows.fill(len(self._rows), self._row, at, height=height)
        self.redraw("title")

    def title_lines(self, width: int) -> list[Line]:
        lines = [cut([(" Findings and data quality  ", STRONG), safe(self._split, ACCENT)], width)]
        at = self.session.run.progress()
        is_read = at.phase == "scalars" and at.total_bytes
        share = f"Indexing the samples, {at.done_bytes / at.total_bytes:.0%} …" if is_read else "Indexing the texts …"
        notes = [self._findings.note if self._findings else "Reading …" if at.phase == "ready" else share]
        if self._lint is not None:
            count = len(self._lint.broken)
            words = f"{len(self._lint.checked)} rules checked, {count} broken" if count else "no sample breaks a rule"
            notes.append(f"Data quality: {words}.")
        if self._problems:
            notes.append(f"{listed(PROBLEMS, len(self._problems), 'problem')} in the files.")
        if number := sum(row.is_aside for row in self._rows):
            notes.append(f"{number} set aside as no hack, at the end.")
        return lines + [[(f" {text}", DIM)] for note in notes for text in folded(note, width - 2)]

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._show()

    def _row(self, number: int, width: int) -> list[Line]:
        row, room = self._rows[number], width - TAG - 1
        words = folded(row.text, room)
        most = self.rows.row_height - 1
        if len(words) > most:
            words = [*words[: most - 1], f"{words[most - 1][: room - 2].rstrip()} …"]
        ink, of_tag = (DIM, DIM) if row.is_aside else (PLAIN, INKS.get(row.tag, STRONG))
        tag: Line = [(f" {row.tag:{TAG - 1}}", of_tag)]
        gap: Line = [(" " * TAG, PLAIN)]
        lines: list[Line] = [[*(gap if nth else tag), (piece, ink)] for nth, piece in enumerate(words)]
        return [cut(line, width) for line in [*lines, [*gap, safe(row.facts, DIM)]]]

    @property
    def is_reading(self) -> bool:
        return not self._rows and (self._findings is None or self._lint is None)

    def choose(self, number: int) -> None:
        samples = self._rows[number].samples

        def leave(name: str) -> None:
            self.dismiss(SampleKey.parse(name))

        if not samples:
            self.tell("No sample shows it.")
        elif len(samples) == 1:
            leave(samples[0][0])
        else:
            choices = {name: Choice(name, [(f"{shows} ", DIM)]) for name, shows in samples}
            # The list of samples leaves first.
            pick(self.app, "Samples", choices, None, lambda name: self.call_later(leave, name))


def row_of_finding(finding: "Finding", aside: FindingAside | None = None) -> FindingRow:
    """Return the row of a finding, with what each of its samples shows, and who set it aside."""
    z, effect = f"z {finding.z:.1f}".replace("-", "−"), signed(finding.effect)
    won, has = ("less", "less of it") if finding.effect < 0 else ("more", "it")
    words_of_pair = (f"{won} of it, and the better reward", "its sibling, with the worse reward")
    shows = {name: words for pair in finding.samples.pairs for name, words in zip(pair, words_of_pair, strict=True)}
    shows.setdefault(finding.samples.earliest, "the first sample that has it")
    samples = [(name, shows.get(name, f"has {has}, with less reward")) for name in finding.samples.ids()]
    if aside is not None:
        text = f"{finding.title}{f': {aside.why}' if aside.why else ''}"
        facts = " · ".join(filter(None, (aside.by, f"{finding.kind}, {z}")))
        return FindingRow("not a hack", text, facts, samples, finding.name, is_aside=True)
    of_correctness = "" if finding.correctness is None else f", on correctness {signed(finding.correctness)}"
    return FindingRow(finding.kind, finding.text, f"{z}, effect {effect}{of_correctness}", samples, finding.name)
