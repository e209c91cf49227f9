"""Findings of planted runs."""

from pathlib import Path

import rolloupe
from rolloupe.insight.findings import Finding, RunFindings
from tests.insight.findings.planted import HACKS, Plan, write_run


def findings_of(folder: Path, plan: Plan, **asked: object) -> RunFindings:
    """Write a run, and look for findings."""
    write_run(folder / "run", plan)
    with rolloupe.open(folder / "run", index_dir=folder / "index") as runs:
        return runs[0].findings(**asked)  # type: ignore[arg-type]


def names(found: Finding, hack: str) -> bool:
    """True if a finding names a hack: by its behaviour, or by half of its words."""
    of = HACKS[hack]
    if found.behaviour.removeprefix("derived.") in of.behaviour.split():
        return True
    words = of.words.lower().replace("-", " ").rstrip(".").split()
    return bool(words) and sum(word in found.phrase.split() for word in words) >= len(words) / 2
