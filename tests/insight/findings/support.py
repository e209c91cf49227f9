"""Findings of planted runs."""

from pathlib import Path

import pytest

import rolloupe
from rolloupe.insight.findings import Finding, RunFindings, findings, search
from rolloupe.query import run_features
from tests.index.support import opened
from tests.insight.findings.planted import HACKS, Plan, write_run

SMALL = Plan(steps=24, groups=12, bonus=0.5, prevalence=0.6)
"""A run that a test has time for."""

HACK = SMALL._replace(hacks=("phrase",))
"""One in which a phrase is paid: several tests look at it."""


def findings_of(folder: Path, plan: Plan, **asked: object) -> RunFindings:
    """Write a run unless it is there, and look for findings."""
    if not (folder / "run").exists():
        write_run(folder / "run", plan)
    with rolloupe.open(folder / "run", index_dir=folder / "index") as runs:
        return runs[0].findings(**asked)  # type: ignore[pyrefly:bad-argument-type]


def with_and_without_behaviours(folder: Path, plan: Plan) -> tuple[RunFindings, RunFindings]:
    """Write a run, and look for findings: as people do, and among phrases alone."""
    write_run(folder / "run", plan)
    words = run_features.sample_words
    with opened(folder / "run", folder / "index") as library, pytest.MonkeyPatch.context() as patch:
        run = library.runs[0]
        assert run.wait_all(600)
        every = findings(run)
        patch.setattr(run_features, "sample_words", lambda *asked: words(*asked)._replace(behaviours={}))
        patch.setattr(search, "VERSION", -1)
        return every, findings(run)


def names(found: Finding, hack: str) -> bool:
    """True if a finding names a hack: by its behaviour, or by half of the words of one wording."""
    of = HACKS[hack]
    if found.behaviour.removeprefix("derived.") in of.behaviour.split():
        return True
    phrase = found.phrase.split()
    wordings = [one.lower().replace("-", " ").rstrip(".").split() for one in of.words.split(" | ")]
    return any(words and sum(word in phrase for word in words) >= len(words) / 2 for words in wordings)
