"""Searches a window of a run for what the reward pays for, words the findings, and keeps them until the run changes."""

import contextlib
import hashlib
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.derive import METRICS, PREFIX, behaviours
from rolloupe.features import Floats, Grouping
from rolloupe.index import OpenRun, Snapshot
from rolloupe.index.features import features_of
from rolloupe.insight.curves import counted
from rolloupe.insight.findings import selection
from rolloupe.insight.findings import trend as trends
from rolloupe.insight.findings.phrase import ALIKE, NUMBER, RELATED, Wording, phrases_in, wording_of, words_to_read
from rolloupe.insight.findings.selection import TYPICAL_SHARE, FeatureMatrix
from rolloupe.insight.findings.trend import CLASSES, NEARLY_ALL, Finding, FindingClass, ReadingList, RunFindings, Trend
from rolloupe.query import run_features, text_rewards
from rolloupe.query.run_features import LEAST_GROUPS, FeatureWindow
from rolloupe.questions import FindingQuery, PartQuery
from rolloupe.storage import atomic

COINCIDE = 0.8
"""Two features with a higher correlation of presence among siblings are one, however often each occurs."""

LEAST_WORDS = 2
LENGTH_OF = "length of the "


class SeenFinding(NamedTuple):
    """A feature that the reward pays for (`sign` 1) or punishes (-1), or that rises unpaid."""

    kind: FindingClass
    sign: float
    phrase: str = ""
    """Empty for a behaviour."""
    number: int = 0
    """The column of the feature."""
    trend: Trend = Trend(0.0, 0.0, 0.0, 0.0)
    correctness: float | None = None
    also: Sequence[int] = ()
    """The numbers of others on the same card."""


def merge_similar(seen: Sequence[SeenFinding], has: Floats, grouping: Grouping) -> list[list[int]]:
    """Return the numbers of the findings on each card; `seen` is in order of importance, as are cards.

    `has`, of shape (N, K), is 1 if a sample has a finding, else 0. A card says whether correctness follows, so its
    findings are either all earned or all not.
    """
    gaps = grouping.centred(has)
    together = gaps.T @ gaps
    cards: list[list[int]] = []
    for number, other in enumerate(seen):
        for card in cards:
            first = seen[card[0]]
            limit = COINCIDE**2 * together[number, number] * together[card[0], card[0]]
            is_same = together[number, card[0]] > 0 and together[number, card[0]] ** 2 >= limit
            is_alike = first.sign == other.sign and (first.kind == "earned") == (other.kind == "earned")
            is_paid = "drift" not in (first.kind, other.kind)
            if is_paid and is_alike and (is_same or say_the_same(first.phrase, other.phrase)):
                card.append(number)
                break
        else:
            cards.append([number])
    return cards


def say_the_same(first: str, other: str) -> bool:
    """Return whether one phrase has all distinct words of the other, and at most twice as many words."""
    less, more = sorted(({*words_to_read(phrase)} for phrase in (first, other)), key=len)
    return len(less) >= LEAST_WORDS and 2 * len(less) >= len(more) and less <= more


MAX_PAIRS = 3


class SamplesToRead(NamedTuple):
    """Numbers of samples: see `ReadingList`."""

    pairs: Sequence[tuple[int, int]]
    earliest: int | None
    counterexample: int | None

    def numbers(self) -> set[int]:
        """Return all of them."""
        every = (*chain(*self.pairs), self.earliest, self.counterexample)
        return {number for number in every if number is not None}

    def named(self, names: Mapping[int | None, str]) -> ReadingList:
        """Return the same by id."""
        pairs = [(names[a], names[b]) for a, b in self.pairs]
        return ReadingList(pairs, names.get(self.earliest, ""), names.get(self.counterexample, ""))


def to_read(matrix: FeatureMatrix, number: int, sign: float, correct: Floats | None) -> SamplesToRead:
    """Return the samples to read for a feature; `correct` is centred within groups."""
    of = matrix.of
    x = sign * matrix.centred[:, number]
    has = np.flatnonzero(matrix.x[:, number] > 0)
    earliest = int(has[np.argmin(of.step[has])]) if len(has) else None
    lost = np.flatnonzero((x > 0) & (of.rewards < 0))
    counterexample = int(lost[np.argmin(of.rewards[lost] - 1e-3 * x[lost])]) if len(lost) else None
    return SamplesToRead(_pairs(matrix, x, correct), earliest, counterexample)


def _pairs(matrix: FeatureMatrix, x: Floats, correct: Floats | None) -> list[tuple[int, int]]:
    """Return a pair of siblings for each group, the widest apart and the latest first. The first sibling has the best
    reward with the feature. The second has the least of the feature among siblings with a worse reward that are no less
    correct.
    """
    of, rewards = matrix.of, matrix.of.rewards
    pairs = []
    for start, size in zip(of.grouping.starts.tolist(), of.grouping.sizes.tolist(), strict=True):
        own = slice(start, start + size)
        if size < 2 or not (x[own].max() > 1e-9 and rewards[own].max() > 1e-9):
            continue
        best = start + int(np.argmax(np.where(x[own] > 0, rewards[own] + 1e-3 * x[own], -np.inf)))
        is_beaten = (x[own] < x[best] - 1e-9) & (rewards[own] < rewards[best] - 1e-9)
        if correct is not None:
            is_beaten &= ~(correct[best] > correct[own] + 1e-9)
        beaten = start + np.flatnonzero(is_beaten)
        if len(beaten):
            pairs.append((best, int(beaten[np.argmin(x[beaten] - 1e-6 * rewards[beaten])])))
    gain = [min(1.0, float(x[a] - x[b])) * float(rewards[a] - rewards[b]) for a, b in pairs]
    last = of.step.max(initial=1) or 1
    rank = sorted(range(len(pairs)), key=lambda n: (-gain[n] * (0.5 + of.step[pairs[n][0]] / last), pairs[n]))
    return [pairs[n] for n in rank[:MAX_PAIRS]]


ENDINGS: dict[FindingClass, str] = {
    "suspect": "correctness does not follow",
    "unverified": "nothing in the run says whether the answers are correct",
    "earned": "correctness goes with it",
    "watch": "there is no clear rise",
    "drift": "the reward does not clearly pay for it",
}

FEW = 0.001
"""A smaller number of false findings is not written out."""

TITLE_WORDS = 8


MOST_WORDS = 16
_NEEDLESS_SPACE = re.compile(
    r" (?=[,.;:!?)\]}’])|(?<=[(\[{]) "
    r"|(?<=[^\W\d_]) (?=(?:- |['’] …?)[^\W\d_]|['’] …)|(?<=[^\W\d_] ['’-]) (?=[^\W\d_])|(?<=[^\W\d_] ['’]) (?=…)"
)
"""A space that parts a mark from its word, as in `i ' m double - checked`: words and marks of a phrase are single."""


def quoted(phrase: str) -> str:
    """Return a phrase as the title of a finding: in quotes, as people write it, and cut if it is long."""
    words = (_NEEDLESS_SPACE.sub("", phrase).lstrip(".,;:!? ") or phrase).split(" ")
    return f"“{' '.join(words[:MOST_WORDS])}{' …' if len(words) > MOST_WORDS else ''}”"


def also_of(titles: Sequence[str]) -> str:
    """Return a sentence about the other findings on a card; empty without any."""
    short = []
    for title in titles:
        words = title.split(" ")
        ending = "…”" if title.startswith("“") else "…"
        short.append(title if len(words) <= TITLE_WORDS + 1 else " ".join((*words[:TITLE_WORDS], ending)))
    return f" Also seen as {' and '.join(filter(None, (', '.join(short[:-1]), *short[-1:])))}." if short else ""


def sentence_of(kind: FindingClass, title: str, behaviour: str, effect: float, trend: Trend) -> str:
    """Return a sentence about a finding."""
    begin, common = title[:1].upper() + title[1:], _common(trend, METRICS[behaviour].unit if behaviour else "uses")
    if kind == "drift":
        return f"{begin} is on the rise, {common}; {ENDINGS[kind]}."
    gain = f"earns {effect:+.2g} over" if effect >= 0 else f"costs {-effect:.2g} against"
    begin = f"Each doubling of {title}" if is_by_doubling(behaviour, trend) else begin
    return f"{begin} {gain} siblings, {common}; {ENDINGS[kind]}."


def is_by_doubling(behaviour: str, trend: Trend) -> bool:
    """Return whether an effect is that of twice the amount: of what nearly all samples have."""
    return trend.is_common and bool(METRICS[behaviour].unit if behaviour else "uses")


def _common(trend: Trend, unit: str) -> str:
    """Return how common a feature is, early and late: in a share of the responses, or by its amount if all have it."""
    if unit and trend.is_common:
        early, late = (f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in (trend.early, trend.late))
        return f"from typically {early} {unit} early to {late} late" if early != late else f"typically {late} {unit}"
    first, last = _share(trend.first), _share(trend.last)
    return f"in {first} of the responses early, {last} late" if first != last else f"in {last} of the responses"


def _share(share: float) -> str:
    if 0 < share < 1 - NEARLY_ALL:
        return "under 1%"
    return "over 99%" if NEARLY_ALL <= share < 1 else f"{share:.0%}"


def note_of(run: RunFindings, *, is_alone: bool, is_text: bool) -> str:
    """Return the note of `RunFindings`; `is_alone` for groups of one, `is_text` if some rewards are stored as text."""
    if not run.samples:
        return "Nothing to compare: there is no sample in these steps."
    if not run.scanned:
        waits = f" {run.pending:,} samples wait for the index." if run.pending else ""
        text = " Rewards that are text, not numbers, do not count: lint lists them." if is_text else ""
        return f"Nothing to compare: no sample with a reward is indexed.{text}{waits}"
    if is_alone:
        each = "the one sample" if run.scanned == 1 else f"each of the {run.scanned:,} samples"
        return f"Nothing to compare: {each} is alone in its group, without siblings."
    if not run.groups:
        return f"Nothing to compare: no two siblings among {run.scanned:,} samples have different rewards."
    if run.smallest is None and not run.findings:
        groups = counted(run.groups, "group")
        return f"Nothing to compare: the rewards differ in {groups} only, and a phrase must vary in {LEAST_GROUPS}."
    scanned = f"{run.scanned:,} of {run.samples:,}" if run.scanned < run.samples else f"{run.scanned:,}"
    expected = f"fewer than {FEW}" if run.expected < FEW else f"{run.expected:.2g}"
    searched = (
        f"Scanned {scanned} samples; in {run.groups:,} groups the rewards differ. Tested {run.tested:,} features; "
        f"expected by chance alone: {expected}."
    )
    if run.smallest is None or any(finding.kind != "drift" for finding in run.findings):
        return searched
    return (
        f"{searched} Nothing above threshold. This run is large enough to show a phrase that {TYPICAL_SHARE:.0%} of "
        f"the samples have if each use moves the reward by {run.smallest:.2g} or more."
    )


VERSION = 14
"""Raise it when the same samples lead to other findings."""

FOLDER = "findings"
MOST_FILES = 64

MAX_DRIFT = 3
NEARLY_SAME = 0.9
"""Phrases with a higher correlation among siblings are one, and any of them may name it."""

WHOLE_RUN = FindingQuery()


class Scope(NamedTuple):
    """The subject of a question, in a run at one moment."""

    snapshot: Snapshot
    window: FeatureWindow
    metrics: Sequence[str]
    correct: str

    @property
    def stamp(self) -> str:
        """A hash of everything that findings depend on: the question, the samples, and the files of their features."""
        window, snapshot = self.window, self.snapshot
        digest = hashlib.blake2b(digest_size=12)
        digest.update(repr((VERSION, sorted(behaviours()), window, (self.correct, False))).encode())
        for piece in snapshot.holding((window.split,), window.step_min, window.step_max):
            state: tuple[int, int] | None = None
            if piece.path is not None:
                with contextlib.suppress(OSError):
                    file = features_of(piece.path).stat()
                    state = file.st_size, file.st_mtime_ns
            digest.update(repr((piece.source, piece.start, piece.stop, piece.fingerprint, state)).encode())
        steps = ((key, stats.stamp, stats.launch) for key, stats in snapshot.steps.items() if key[0] == window.split)
        digest.update(repr(sorted(steps)).encode())
        return digest.hexdigest()


def findings(run: OpenRun, asked: FindingQuery = WHOLE_RUN) -> RunFindings:
    """Search for what the reward pays for.

    Raises `NotFound` for an unknown split, `BadQuery` for an unknown metric.
    """
    scope = _scope_of(run, asked)
    file = run.catalog.folder / FOLDER / f"{scope.stamp}.findings"
    try:
        kept = msgspec.msgpack.decode(file.read_bytes(), type=RunFindings)
    except (OSError, msgspec.MsgspecError):
        with selection.ONE_LOOK:
            kept = search(run, scope)
        _keep(file, kept)
    discarded = query.discarded_among(run, scope.window.split, asked.step_min, asked.step_max)
    return replace(kept, note=" ".join(filter(None, (kept.note, discarded))))


def _keep(file: Path, answer: RunFindings) -> None:
    """Keep findings if the disk has room and they can be encoded, and drop the oldest files if there are many."""
    with contextlib.suppress(OSError, OverflowError):
        atomic.write(file, msgspec.msgpack.encode(answer))
        files = sorted(file.parent.glob("*.findings"), key=lambda path: path.stat().st_mtime)
        for path in files[:-MOST_FILES]:
            path.unlink(missing_ok=True)


def version_of(run: OpenRun, asked: FindingQuery | PartQuery = WHOLE_RUN) -> str:
    """Return a string that changes with the findings, and with the formulas of parts. Raises as `findings`."""
    return _scope_of(run, asked).stamp


def _scope_of(run: OpenRun, asked: FindingQuery | PartQuery) -> Scope:
    snapshot = run.snapshot()
    split = asked.split or next((summary.name for summary in query.splits(run, quick=True)), "train")
    window = FeatureWindow(split, asked.step_min, asked.step_max, asked.env)
    metrics = trends.metrics_of(snapshot, split)
    correct = trends.correctness_of(run, metrics, asked.correct if isinstance(asked, FindingQuery) else "")
    return Scope(snapshot, window, metrics, correct)


def search(run: OpenRun, scope: Scope) -> RunFindings:
    """Search, whether or not findings are kept."""
    snapshot, window, metrics, correct = scope
    pieces = run_features.feature_pieces(snapshot, window)
    features, facts = run_features.feature_sums(run, window, pieces)
    chosen = selection.candidates(features, facts)
    sample = run_features.annotated_advantages(run, snapshot, run_features.sample_words(run, window, pieces))
    matrix = selection.feature_matrix(sample, chosen)
    evidence = selection.evidence_of(matrix, features, facts.advantage_squares, is_whole=pieces.is_whole)
    values = run_features.sample_metric(run, snapshot, sample, correct) if correct and sample.size else None
    answer = RunFindings(
        findings=_Search(run, matrix, evidence, chosen, values).findings() if facts.groups and sample.size else [],
        split=window.split, env=window.env, step_min=window.step_min, step_max=window.step_max,
        samples=pieces.samples, scanned=facts.samples, pending=pieces.pending, read=sample.size, groups=facts.groups,
        tested=chosen.tested, expected=chosen.expected, least_z=chosen.z, largest_z=chosen.best,
        correct=correct, metrics=list(metrics),
        smallest=selection.smallest_effect(facts, chosen.z) if facts.groups >= run_features.LEAST_GROUPS else None,
        note="",
    )  # fmt: skip
    return replace(answer, note=note_of(answer, is_alone=sample.is_alone, is_text=bool(text_rewards(run))))


class _Search:
    """Turns the features of a window into findings."""

    def __init__(
        self,
        run: OpenRun,
        matrix: selection.FeatureMatrix,
        evidence: selection.Evidence,
        chosen: selection.Candidates,
        correct: Floats | None,
    ) -> None:
        self._run, self._matrix, self._evidence, self._candidates = run, matrix, evidence, chosen
        self._correct = None if correct is None else matrix.of.grouping.centred(correct)
        self._wordings: dict[int, Wording] = {}
        """The wordings of the features that the reward pays for, by number."""

    def findings(self) -> list[Finding]:
        """Return what the reward pays for, and what rises unpaid."""
        z, least = self._evidence.z, self._candidates.z
        for number in selection.choose(self._evidence, least):
            if z[number] >= least or (self._matrix.name(number) and -z[number] >= least):  # or a punished behaviour
                best, wording = self._worded(number)
                self._wordings[best] = wording
        paid = [*self._cards([self._paid(number) for number in self._wordings]), *self._drift()]
        reads = [to_read(self._matrix, feature.number, feature.sign, self._correct) for feature in paid]
        numbers = sorted({number for read in reads for number in read.numbers()})
        ids = run_features.ids_of(self._run, self._run.snapshot(), self._matrix.of, numbers)
        names: dict[int | None, str] = dict(zip(numbers, ids, strict=True))
        return [self._finding(feature, read, names) for feature, read in zip(paid, reads, strict=True)]

    def _cards(self, paid: Sequence[SeenFinding]) -> list[SeenFinding]:
        """Return the features that the reward pays for, those that matter most first, each card once."""
        z = np.round(self._evidence.z, selection.SHOWN_DIGITS)
        ordered = sorted(paid, key=lambda feature: (CLASSES.index(feature.kind), -abs(z[feature.number])))
        numbers = [feature.number for feature in ordered]
        has = (self._matrix.x[:, numbers] > 0).astype(np.float64)
        merged = merge_similar(ordered, has, self._matrix.of.grouping)
        return [ordered[first]._replace(also=[numbers[other] for other in others]) for first, *others in merged]

    def _paid(self, number: int) -> SeenFinding:
        sign = float(np.sign(self._evidence.s[number])) or 1.0
        trend = trends.trend_of(self._matrix.x[:, number], self._matrix.of.step)
        effect, does_follow = None, None
        if self._correct is not None:
            effect, does_follow = trends.follows(self._amounts(number, trend), self._matrix.of.rewards, self._correct)
        kind, phrase = trends.class_of(sign, trend, does_follow), self._wordings[number].phrase
        return SeenFinding(kind, sign, phrase, number, trend, effect)

    def _drift(self) -> list[SeenFinding]:
        z = np.abs(self._evidence.z)
        behaviours = range(len(self._matrix.hashes), len(z))
        unpaid = [number for number in behaviours if number not in self._wordings and z[number] < self._candidates.z]
        every = [(number, trends.trend_of(self._matrix.x[:, number], self._matrix.of.step)) for number in unpaid]
        rising = sorted((pair for pair in every if pair[1].is_rising(1.0)), key=lambda pair: -pair[1].size)
        return [SeenFinding("drift", 1.0, "", number, trend) for number, trend in rising[:MAX_DRIFT]]

    def _finding(self, feature: SeenFinding, read: SamplesToRead, names: Mapping[int | None, str]) -> Finding:
        matrix, of, trend = self._matrix, self._matrix.of, feature.trend
        behaviour = matrix.name(feature.number)
        x, centred = matrix.x[:, feature.number], self._amounts(feature.number, trend)
        own = float(centred @ centred)
        effect = float(centred @ of.rewards) / own if own else 0.0
        wording, title = self._wordings.get(feature.number, Wording()), self._title(feature.number)
        if behaviour and title.startswith(LENGTH_OF) and not is_by_doubling(behaviour, trend):
            title = f"{title.removeprefix(LENGTH_OF)} of any length"
        also = [self._title(number) for number in feature.also]
        much = 2 ** float(np.median(x)) - 1 if trend.is_common else 0.0  # if nearly all samples have it
        return Finding(
            text=sentence_of(feature.kind, title, behaviour, effect, trend) + also_of(also), also=also,
            kind=feature.kind, phrase=wording.phrase,
            pattern=METRICS[behaviour].pattern if behaviour else wording.pattern,
            behaviour=f"{PREFIX}{behaviour}" if behaviour else "", title=title,
            where=f"{PREFIX}{behaviour} > {much:.6g}" if behaviour else "", effect=effect,
            z=round(float(self._evidence.z[feature.number]), selection.SHOWN_DIGITS), correctness=feature.correctness,
            first=trend.first, last=trend.last, rise=trend.t,
            prevalence=trends.prevalence_of(x, centred, of.rewards, of.step), samples=read.named(names),
        )  # fmt: skip

    def _title(self, number: int) -> str:
        behaviour = self._matrix.name(number)
        if behaviour:
            return METRICS[behaviour].behaviour
        wording = self._wordings[number]
        within = f", as in {quoted(wording.written)}" if wording.written else ""
        return f"{quoted(wording.phrase)}{within}"

    def _amounts(self, number: int, trend: Trend) -> Floats:
        """Return a centred feature; its unit is the mean over the samples that have it, or one doubling."""
        behaviour, x, centred = self._matrix.name(number), self._matrix.x[:, number], self._matrix.centred[:, number]
        if is_by_doubling(behaviour, trend) or not (x > 0).any():
            return centred
        return centred / float(x[x > 0].mean())

    def _worded(self, number: int) -> tuple[int, Wording]:
        """Return a feature and its wording; of nearly equal phrases, the one with the most words that people read."""
        if self._matrix.name(number):
            return number, Wording()
        matrix, of, count = self._matrix, self._candidates, len(self._matrix.hashes)
        correlations, z = self._evidence.correlations(number)[:count], self._evidence.z[:count]
        alike = np.flatnonzero(correlations > ALIKE)
        text = self._text_with(number, alike)
        words = phrases_in(text, matrix.hashes[alike])
        close = (correlations > NEARLY_SAME) & (z * selection.PREFERENCE >= z[number])
        same = [near for near in alike.tolist() if close[near] and int(matrix.hashes[near]) in words]
        read = {near: len(words_to_read(words[int(matrix.hashes[near])])) for near in same}
        best = max(same, key=lambda near: (read[near], z[near]), default=number)
        wording = wording_of(text, of.twins[np.isin(of.stands, alike)], int(matrix.hashes[best]))
        if len(words_to_read(wording.phrase)) > LEAST_WORDS and NUMBER not in wording.phrase.split():
            return best, wording._replace(written="")
        related = np.flatnonzero((correlations > RELATED) & (z > 0))
        within = wording_of(
            self._text_with(number, related), of.twins[np.isin(of.stands, related)], int(matrix.hashes[best])
        )
        tells_more = words_to_read(within.phrase) and within.written.lower() != wording.written.lower()
        return best, wording._replace(written=within.written if tells_more else "")

    def _text_with(self, number: int, others: NDArray[np.intp]) -> str:
        """Return the response with a phrase and most of the others, the earliest of such."""
        matrix, of = self._matrix, self._candidates
        twins = np.bincount(of.stands, minlength=len(matrix.hashes))[others]
        covered = (matrix.x[:, number] > 0) * (1 + (matrix.x[:, others] > 0) @ twins)
        best_covered = np.flatnonzero(covered == covered.max())
        first = int(best_covered[np.argmin(matrix.of.step[best_covered])])  # in whichever order the index has files
        return run_features.response_of(self._run, matrix.of, first)
