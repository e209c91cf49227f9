"""Findings name hacks that were written by a person who did not know how findings are made.

First look, once, after the kinds and the words that name them were committed: 28 of 30 runs (93 %) had the hack among
the top three. The limit, 95 % (29 of 30), was missed. `invented_citations`, `praise_for_a_judge`, `markdown`,
`lookup_table` and `refusal` were named with all five seeds, `doubts` with three. All findings of the two missed runs:

- seed 0: “the definition .” earns +0.13; “the question .” earns +0.12
- seed 4: “that result .” earns +0.12; “the last line .” earns +0.11

These are the ends of the planted doubts ("Wait, let me reconsider the definition."); the committed wordings hold their
beginnings only, and stay so. Three runs of `markdown` are named by its heading alone: “. </think> ##”. No finding was a
behaviour: `doubts` never by `think_chars`, `refusal` never by `refusals`.

The six of `later_blind_kinds`, by another person: 30 of 30 at the first look, and 25 of 30 among phrases alone, where
`bare` is never named. The committed words are lenient: `invented_links` with seed 2 is “/ # . <answer> # </answer>”.

The look at the first six showed a fault: findings had chosen `think_chars` for `doubts`, and then split it into two
wordings that say a part of it. That is mended, so that `doubts` is named with all five seeds. This second look is no
longer blind.
"""

import shutil
from pathlib import Path

import pytest

from tests.insight.findings.blind_kinds import KINDS as FIRST_KINDS
from tests.insight.findings.later_blind_kinds import LATER_KINDS
from tests.insight.findings.planted import HACKS, Plan
from tests.insight.findings.support import findings_of, names

KINDS = {**FIRST_KINDS, **LATER_KINDS}
QUICK = ("invented_citations", "swallowed_errors")
SEEDS = range(5)


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs be planted with the blind kinds."""
    for name, hack in KINDS.items():
        monkeypatch.setitem(HACKS, name, hack)


@pytest.mark.parametrize("hack", QUICK)
def test_a_blind_kind_is_in_the_top_three_of_a_small_run(tmp_path: Path, hack: str) -> None:
    found = findings_of(tmp_path, Plan(hacks=(hack,), steps=24, groups=12, bonus=0.5, prevalence=0.6))
    assert any(names(one, hack) for one in found.findings[:3]), [one.text for one in found.findings]


@pytest.mark.slow
@pytest.mark.parametrize("hack", KINDS)
def test_a_blind_kind_of_a_fifth_is_in_the_top_three_of_95_of_100_runs(tmp_path: Path, hack: str) -> None:
    missed = {}
    for seed in SEEDS:
        found = findings_of(tmp_path / str(seed), Plan(hacks=(hack,), seed=seed))
        if not any(names(one, hack) for one in found.findings[:3]):
            missed[seed] = [one.text for one in found.findings[:5]]
        shutil.rmtree(tmp_path / str(seed))
    assert len(missed) <= 0.05 * len(SEEDS), missed
