"""Looks for what the reward pays for in a window of a run; what was found is kept until the run changes."""

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from rolloupe import query
from rolloupe.derive import METRICS, PREFIX, behaviours
from rolloupe.features import Floats
from rolloupe.index import OpenRun, Snapshot
from rolloupe.index.features import features_of
from rolloupe.insight.findings.candidates import SHOWN_DIGITS, Candidates, candidates, smallest_effect
from rolloupe.insight.findings.cards import SamplesToRead, SeenFinding, cards, to_read
from rolloupe.insight.findings.correctness import correctness_of, metrics_of
from rolloupe.insight.findings.matrix import FeatureMatrix, evidence_of, feature_matrix
from rolloupe.insight.findings.phrase import ALIKE, Wording, phrases_in, speaking, wording_of
from rolloupe.insight.findings.records import CLASSES, Finding, FindingClass, RunFindings
from rolloupe.insight.findings.selection import PREFERENCE, Evidence, choose
from rolloupe.insight.findings.trend import Trend, class_of, follows, prevalence_of, trend_of
from rolloupe.insight.findings.words import also_of, note_of, sentence_of
from rolloupe.insight.one_look import one_at_a_time
from rolloupe.query import FeatureWindow, text_rewards
from rolloupe.questions import FindingQuery, PartQuery
from rolloupe.storage import atomic

VERSION = 10
"""Raise it when the same samples lead to other findings."""

FOLDER = "findings"
MOST_FILES = 64


def stamp_of(snapshot: Snapshot, window: FeatureWindow, asked: object) -> str:
    """Identify what findings depend on: the question, the samples, and the files of their features."""
    digest = hashlib.blake2b(repr((VERSION, sorted(behaviours()), window, asked)).encode(), digest_size=12)
    for piece in snapshot.holding((window.split,), window.step_min, window.step_max):
        state = None if piece.path is None else _state_of(features_of(piece.path))
        digest.update(repr((piece.source, piece.start, piece.stop, piece.fingerprint, state)).encode())
    steps = ((key, stats.stamp, stats.launch) for key, stats in snapshot.steps.items() if key[0] == window.split)
    digest.update(repr(sorted(steps)).encode())
    return digest.hexdigest()


def _state_of(path: Path) -> tuple[int, int] | None:
    """Size and time of a file; None without one."""
    with contextlib.suppress(OSError):
        state = path.stat()
        return state.st_size, state.st_mtime_ns
    return None


def known(run: OpenRun, stamp: str) -> RunFindings | None:
    """The findings with this stamp, if they were kept."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.msgpack.decode(_path(run, stamp).read_bytes(), type=RunFindings)
    return None


def keep(run: OpenRun, stamp: str, found: RunFindings) -> None:
    """Keep findings, and drop the oldest ones if there are many.

    Without room nothing is kept, nor for steps that are too large to write.
    """
    with contextlib.suppress(OSError, OverflowError):
        atomic.write(_path(run, stamp), msgspec.msgpack.encode(found))
        files = sorted(_path(run, stamp).parent.glob("*.findings"), key=lambda path: path.stat().st_mtime)
        for path in files[:-MOST_FILES]:
            path.unlink(missing_ok=True)


def _path(run: OpenRun, stamp: str) -> Path:
    return run.catalog.folder / FOLDER / f"{stamp}.findings"


MAX_DRIFT = 3
NEARLY_SAME = 0.9
"""Phrases so correlated among siblings are one: any of them may name it."""

TYPICAL_SHARE = 0.1
"""The share of the samples with a feature for which the smallest effect is given."""


WHOLE_RUN = FindingQuery()


def findings(run: OpenRun, asked: FindingQuery = WHOLE_RUN, *, phrases_only: bool = False) -> RunFindings:
    """Look for what the reward pays for.

    Raises `NotFound` for an unknown split, `BadQuery` for an unknown metric.
    """
    scope = _scope_of(run, asked, phrases_only=phrases_only)
    found = known(run, scope.stamp)
    if found is None:
        found = _search(run, scope)
        keep(run, scope.stamp, found)
    discarded = query.discarded_among(run, scope.window.split, asked.step_min, asked.step_max)
    return replace(found, note=" ".join(filter(None, (found.note, discarded))))


def version_of(run: OpenRun, asked: FindingQuery | PartQuery = WHOLE_RUN) -> str:
    """Return a string that changes with the findings, and with the formulas of parts. Raises as `findings`."""
    return _scope_of(run, asked).stamp


class _Scope(NamedTuple):
    """What a question is about, in a run at one moment."""

    snapshot: Snapshot
    window: FeatureWindow
    metrics: Sequence[str]
    correct: str
    stamp: str
    phrases_only: bool


def _scope_of(run: OpenRun, asked: FindingQuery | PartQuery, *, phrases_only: bool = False) -> _Scope:
    snapshot = run.snapshot()
    split = asked.split or next((one.name for one in query.splits(run, quick=True)), "train")
    window = FeatureWindow(split, asked.step_min, asked.step_max, asked.env)
    metrics = metrics_of(snapshot, split)
    correct = correctness_of(run, metrics, asked.correct if isinstance(asked, FindingQuery) else "")
    stamp = stamp_of(snapshot, window, (correct, phrases_only))
    return _Scope(snapshot, window, metrics, correct, stamp, phrases_only)


@one_at_a_time
def _search(run: OpenRun, scope: _Scope) -> RunFindings:
    snapshot, window, metrics, correct, _, phrases_only = scope
    pieces = query.feature_pieces(snapshot, window)
    features, facts = query.feature_sums(run, window, pieces)
    chosen = candidates(features, facts)
    sample = query.annotated_advantages(run, snapshot, query.sample_words(run, window, pieces))
    if phrases_only:
        sample = sample._replace(behaviours={})
    matrix = feature_matrix(sample, chosen)
    evidence = evidence_of(matrix, features, facts.advantage_squares, is_whole=pieces.is_whole)
    values = query.sample_metric(run, snapshot, sample, correct) if correct and sample.size else None
    look = _Look(run, matrix, evidence, chosen, values)
    found = look.findings() if facts.groups else []
    smallest = smallest_effect(facts, chosen.z, TYPICAL_SHARE) if facts.groups >= query.LEAST_GROUPS else None
    return RunFindings(
        findings=found, split=window.split, env=window.env, step_min=window.step_min, step_max=window.step_max,
        samples=pieces.samples, scanned=facts.samples, pending=pieces.pending, read=sample.size, groups=facts.groups,
        tested=chosen.tested, expected=chosen.expected, least_z=chosen.z, largest_z=chosen.best,
        correct=correct, metrics=list(metrics),
        smallest=smallest,
        note=note_of(
            found, facts, pieces, chosen.tested, chosen.expected, smallest, TYPICAL_SHARE,
            is_alone=sample.is_alone, is_text=bool(text_rewards(run)),
        ),
    )  # fmt: skip


class _Paid(NamedTuple):
    """A feature that goes with the reward."""

    number: int
    sign: float
    trend: Trend
    kind: FindingClass
    correctness: float | None
    also: Sequence[int] = ()
    """Others on the same card."""


class _Look:
    """The features of a window, and what they show."""

    def __init__(
        self, run: OpenRun, matrix: FeatureMatrix, evidence: Evidence, chosen: Candidates, correct: Floats | None
    ) -> None:
        self._run, self._matrix, self._evidence, self._candidates = run, matrix, evidence, chosen
        of = matrix.of
        self._correct = None if correct is None else of.grouping.centred(correct)
        self._wordings: dict[int, Wording] = {}
        """Of the features that the reward pays for."""

    def findings(self) -> list[Finding]:
        """What the reward pays for, and what rises unpaid."""
        if not self._matrix.of.size:
            return []
        numbers = [number for number in choose(self._evidence, self._candidates.z) if self._is_told(number)]
        self._wordings = dict(map(self._worded, numbers))
        paid = [self._paid(number) for number in self._wordings]
        found = [*self._cards(paid), *self._drift(list(self._wordings))]
        reads = [to_read(self._matrix, one.number, one.sign, self._correct) for one in found]
        names = self._ids(reads)
        return [self._finding(one, read, names) for one, read in zip(found, reads, strict=True)]

    def _cards(self, paid: Sequence[_Paid]) -> list[_Paid]:
        """What the reward pays for, what matters most first, and what is one thing to a person once."""
        z = np.round(self._evidence.z, SHOWN_DIGITS)
        ordered = sorted(paid, key=lambda one: (CLASSES.index(one.kind), -abs(z[one.number])))
        numbers = [one.number for one in ordered]
        has = (self._matrix.x[:, numbers] > 0).astype(np.float64)
        seen = [SeenFinding(one.kind, one.sign, self._wordings[one.number].phrase) for one in ordered]
        together = cards(seen, has, self._matrix.of.grouping)
        return [ordered[first]._replace(also=[numbers[one] for one in others]) for first, *others in together]

    def _is_told(self, number: int) -> bool:
        """True for what the reward pays for by itself; of what it punishes, for behaviours alone."""
        z = float(self._evidence.z[number])
        return z >= self._candidates.z or (bool(self._matrix.name(number)) and -z >= self._candidates.z)

    def _paid(self, number: int) -> _Paid:
        sign = float(np.sign(self._evidence.s[number])) or 1.0
        trend = trend_of(self._matrix.column(number), self._matrix.of.step)
        effect, does = None, None
        if self._correct is not None:
            effect, does = follows(self._uses(number), self._matrix.of.rewards, self._correct)
        return _Paid(number, sign, trend, class_of(sign, trend, does), effect)

    def _drift(self, paid: Sequence[int]) -> list[_Paid]:
        """Behaviours that rise though the reward does not pay for them."""
        first = len(self._matrix.hashes)
        z = np.abs(self._evidence.z)
        unpaid = [one for one in range(first, len(z)) if one not in paid and z[one] < self._candidates.z]
        trends = [(one, trend_of(self._matrix.column(one), self._matrix.of.step)) for one in unpaid]
        rising = sorted((pair for pair in trends if pair[1].is_rising(1.0)), key=lambda pair: -pair[1].size)
        return [_Paid(one, 1.0, trend, "drift", None) for one, trend in rising[:MAX_DRIFT]]

    def _ids(self, reads: Sequence[SamplesToRead]) -> dict[int, str]:
        numbers = sorted({number for read in reads for number in read.numbers()})
        return dict(zip(numbers, query.ids_of(self._run, self._run.snapshot(), self._matrix.of, numbers), strict=True))

    def _finding(self, one: _Paid, read: SamplesToRead, names: dict[int, str]) -> Finding:
        matrix, of = self._matrix, self._matrix.of
        behaviour = matrix.name(one.number)
        x, centred = matrix.column(one.number), self._uses(one.number)
        own = float(centred @ centred)
        effect = float(centred @ of.rewards) / own if own else 0.0
        wording, title = self._wordings.get(one.number, Wording()), self._title(one.number)
        also = [self._title(number) for number in one.also]
        return Finding(
            text=sentence_of(one.kind, title, behaviour, effect, one.trend) + also_of(also), also=also,
            kind=one.kind, phrase=wording.phrase,
            pattern=METRICS[behaviour].pattern if behaviour else wording.pattern,
            behaviour=f"{PREFIX}{behaviour}" if behaviour else "", title=title,
            where=_where(behaviour, x, one.trend), effect=effect,
            z=round(float(self._evidence.z[one.number]), SHOWN_DIGITS), correctness=one.correctness,
            first=one.trend.first, last=one.trend.last, rise=one.trend.t,
            prevalence=prevalence_of(x, centred, of.rewards, of.step), samples=read.named(names.__getitem__),
        )  # fmt: skip

    def _title(self, number: int) -> str:
        behaviour = self._matrix.name(number)
        return METRICS[behaviour].behaviour if behaviour else f"“{self._wordings[number].phrase}”"

    def _uses(self, number: int) -> Floats:
        """A feature less the mean of each group, in uses: of a share, one use is what the samples that have it have."""
        behaviour, x, centred = self._matrix.name(number), self._matrix.column(number), self._matrix.gaps(number)
        is_share = bool(behaviour) and not METRICS[behaviour].unit
        return centred / float(x[x > 0].mean()) if is_share and (x > 0).any() else centred

    def _worded(self, number: int) -> tuple[int, Wording]:
        """A feature with its wording; of phrases that are nearly the same, the one that speaks most."""
        if self._matrix.name(number):
            return number, Wording()
        matrix, of, count = self._matrix, self._candidates, len(self._matrix.hashes)
        correlations, z = self._evidence.correlations(number)[:count], self._evidence.z[:count]
        alike = np.flatnonzero(correlations > ALIKE)
        twins = np.bincount(of.stands, minlength=count)[alike]
        has = matrix.x[:, number] > 0
        covered = has * (1 + (matrix.x[:, alike] > 0) @ twins)
        best_covered = np.flatnonzero(covered == covered.max())
        first = int(best_covered[np.argmin(matrix.of.step[best_covered])])  # in whichever order the index has files
        text = query.response_of(self._run, matrix.of, first)
        words = phrases_in(text, matrix.hashes[alike])
        close = (correlations > NEARLY_SAME) & (z * PREFERENCE >= z[number])
        same = [one for one in alike.tolist() if close[one] and int(matrix.hashes[one]) in words]
        best = max(same, key=lambda one: (speaking(words[int(matrix.hashes[one])]), z[one]), default=number)
        return best, wording_of(text, of.twins[np.isin(of.stands, alike)], int(matrix.hashes[best]))


def _where(behaviour: str, x: Floats, trend: Trend) -> str:
    """A filter for the samples that have a behaviour; if nearly all have it, for those with much of it."""
    if not behaviour:
        return ""
    much = 2 ** float(np.median(x)) - 1 if trend.is_common else 0.0
    return f"{PREFIX}{behaviour} > {much:.6g}"
