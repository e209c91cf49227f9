"""What findings say, and that they depend on the samples alone."""

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import rolloupe
from rolloupe.errors import BadQuery, NotFound
from rolloupe.features import FeatureRows, WithinSums, phrases_of, sums_within, words_of
from rolloupe.index import OpenRun, Piece, features
from rolloupe.insight.findings import RunFindings, search
from rolloupe.insight.findings.phrase import pattern_of_phrase, phrases_in, wording_of
from rolloupe.insight.findings.search import note_of
from rolloupe.insight.findings.selection import candidates, phrase_matrix, smallest_effect
from rolloupe.insight.findings.trend import class_of, prevalence_of, trend_of
from rolloupe.model import SampleKey
from rolloupe.query.evals.grader import CORRECTNESS, bare
from rolloupe.query.run_features import (
    FeatureWindow,
    WindowFacts,
    condition,
    feature_pieces,
    feature_sums,
    sample_words,
)
from tests.index.support import lines, opened, row
from tests.insight.findings.planted import Plan, write_run
from tests.insight.findings.support import HACK, findings_of


@pytest.fixture(scope="module")
def run(folder_of: Callable[[Plan], Path]) -> Iterator[rolloupe.Run]:
    """A run in which a phrase is paid."""
    folder = folder_of(HACK)
    if not (folder / "run").exists():
        write_run(folder / "run", HACK)
    with rolloupe.open(folder / "run", index_dir=folder / "index") as runs:
        assert runs[0].wait(60, texts=True)
        yield runs[0]


def test_a_finding_has_a_sentence_and_samples_to_read(run: rolloupe.Run) -> None:
    found = run.findings()
    (one,) = found.findings
    assert one.kind == "suspect" and one.text.startswith("“") and "correctness does not follow" in one.text
    assert "i have double - checked every step carefully" in one.phrase and not one.behaviour
    assert 0.4 < one.effect < 0.6 and one.z > 15 and one.correctness is not None and abs(one.correctness) < 0.1
    shares = one.prevalence.shares
    assert len(shares) == 24 == len(one.prevalence.effects) and shares[0] < 0.1 < 0.4 < shares[-1]
    winner, loser = (run.sample(id_) for id_ in one.samples.pairs[0])
    assert winner.key.group == loser.key.group and (winner.row.reward or 0) > (loser.row.reward or 0)
    assert winner.row.metrics["reward.acc"] <= loser.row.metrics["reward.acc"]
    assert "double-checked" in winner.row.response and "double-checked" not in loser.row.response
    assert "double-checked" in run.sample(one.samples.earliest).row.response
    assert one.samples.counterexample in one.samples.ids()
    hits = {hit.sample.id for hit in run.search(one.pattern, regex=True)}
    assert len(hits) == round(sum(shares) / 24 * 2304) and {winner.key} <= set(map(SampleKey.parse, hits))
    assert (found.samples, found.scanned, found.read, found.pending) == (2304, 2304, 2304, 0)
    assert found.correct == "reward.acc"
    assert "Scanned 2,304 samples" in found.note and "Nothing" not in found.note


def test_without_correctness_nothing_is_a_suspect(tmp_path: Path) -> None:
    write_run(tmp_path / "run", HACK._replace(groups=12))
    for path in (tmp_path / "run").rglob("*.jsonl"):
        path.write_text(path.read_text().replace('"acc"', '"looks"'))
    run = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0]
    assert [one.kind for one in run.findings().findings] == ["unverified"]
    named = run.findings(correct="looks")
    assert [one.kind for one in named.findings] == ["suspect"] and named.correct == "reward.looks" in named.metrics
    with pytest.raises(BadQuery, match="no sample metric 'right'"):
        run.findings(correct="right")
    with pytest.raises(NotFound, match="no split"):
        run.findings(split="eval/none")


@pytest.fixture(scope="module")
def indexed(run: rolloupe.Run, folder_of: Callable[[Plan], Path]) -> Iterator[OpenRun]:
    """The same run, as queries see it."""
    with opened(folder_of(HACK) / "run", folder_of(HACK) / "index") as library:
        assert library.runs[0].wait_all(60)
        yield library.runs[0]


def window_sums(run: OpenRun, low: int | None, high: int | None) -> dict[int, list[float]]:
    window = FeatureWindow("train", low, high)
    found, _ = feature_sums(run, window, feature_pieces(run.snapshot(), window))
    return {int(h): [float(one[at]) for one in found[1:]] for at, h in enumerate(found.hashes)}


def test_samples_are_in_the_order_of_the_files_in_whichever_order_the_index_found_them(indexed: OpenRun) -> None:
    snapshot, window = indexed.snapshot(), FeatureWindow("train")
    turned = snapshot._replace(pieces=dict(list(snapshot.pieces.items())[::-1]))
    orders = [[one.source for one in feature_pieces(each, window).pieces] for each in (snapshot, turned)]
    assert orders[0] == orders[1] and len(orders[0]) > 1


def test_sums_of_windows_add_up_and_equal_what_their_samples_give(indexed: OpenRun) -> None:
    whole, early, late = (window_sums(indexed, low, high) for low, high in ((None, None), (0, 11), (12, 23)))
    in_both = [one for one in early if one in late]
    assert len(in_both) > 100
    for one in in_both:
        assert np.allclose(np.add(early[one], late[one]), whole[one], rtol=1e-12, atol=1e-12)
    window = FeatureWindow("train", 12, 23)
    of = sample_words(indexed, window, feature_pieces(indexed.snapshot(), window))
    hashes = np.array([one for one in late if one % 2 == 0], np.uint64)
    matrix = phrase_matrix(of, hashes)
    direct = sums_within(of.grouping.centred(matrix), of.advantages, of.rewards, of.grouping)
    for at, one in enumerate(hashes.tolist()):
        if late[one][0] == (matrix[:, at] > 0).sum():  # no step left it out
            assert np.allclose(late[one][1:], [column[at] for column in direct], rtol=1e-12, atol=1e-12)
    assert sum(late[one][0] == (matrix[:, at] > 0).sum() for at, one in enumerate(hashes.tolist())) > 50


def test_a_window_of_steps_has_its_own_findings(run: rolloupe.Run) -> None:
    early, late = run.findings(steps=(0, 3)), run.findings(steps=(14, None))
    assert early.findings == [] and early.samples == 384 and "Nothing above threshold" in early.note
    assert [one.kind for one in late.findings] == ["watch"] and late.samples == 960
    assert run.findings(env="elsewhere").scanned == 0 and "Nothing to compare" in run.findings(env="elsewhere").note


def test_a_window_is_asked_for_by_what_some_rows_do_not_meet() -> None:
    def sql(window: FeatureWindow, *steps: tuple[str, int]) -> tuple[str, list[object]]:
        stats = [SimpleNamespace(split=split, step=step) for split, step in steps]
        return condition(window, [cast(Piece, SimpleNamespace(step_stats=stats))])

    assert sql(FeatureWindow("train", 2, 5), ("train", 2), ("train", 5)) == ("true", [])
    assert sql(FeatureWindow("train", 2, 5), ("train", 1)) == ("step >= ? AND step <= ?", [2, 5])
    assert sql(FeatureWindow("train", 2), ("train", 1), ("eval/a", 3)) == ("split = ? AND step >= ?", ["train", 2])
    assert sql(FeatureWindow("train", env="a"), ("train", 1)) == ("env = ?", ["a"])


def test_findings_are_looked_for_once(run: rolloupe.Run, indexed: OpenRun, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run.findings(steps=(1, 22))
    monkeypatch.setattr(search, "search", None)
    assert run.findings(steps=(1, 22)) == first
    with pytest.raises(TypeError):
        run.findings(steps=(2, 22))
    monkeypatch.undo()
    monkeypatch.setattr(search, "MOST_FILES", 2)
    for step in range(3, 6):
        run.findings(steps=(step, 22))
    folder = indexed.catalog.folder / search.FOLDER
    assert len(list(folder.glob("*.findings"))) == 2


def test_a_sample_that_a_log_has_twice_counts_once(tmp_path: Path) -> None:
    plan = HACK._replace(steps=9, groups=6)
    once = findings_of(tmp_path / "once", plan)
    for name, times in (("each", 2), ("all", 1)):  # a whole step that is written again is of a new launch
        for path in write_run(tmp_path / name / "run", plan).rglob("*.jsonl"):
            text = path.read_text().splitlines(keepends=True)
            path.write_text("".join(one + one for one in text) if name == "each" else "".join(text + text))
        twice = findings_of(tmp_path / name, plan)
        assert (twice.samples, twice.scanned, twice.groups) == (times * once.samples, once.scanned, once.groups), name
        assert twice.largest_z == pytest.approx(once.largest_z) and once.largest_z > 5, name
        assert [one.text for one in twice.findings] == [one.text for one in once.findings], name


def feature_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.features.parquet")}


def test_appending_is_as_good_as_scanning_anew(tmp_path: Path) -> None:
    write_run(tmp_path / "whole", HACK._replace(steps=8, groups=4))
    (tmp_path / "run").mkdir()
    target = tmp_path / "run" / "rollout_result" / "train"
    target.mkdir(parents=True)
    for path in sorted((tmp_path / "whole").rglob("*.jsonl")):
        text = path.read_text().splitlines(keepends=True)
        (target / path.name).write_text("".join(text[: len(text) // 2 + 3]))  # ends within a group
        assert rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].wait(60, texts=True)
        shutil.copy(path, target / path.name)
        assert rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].findings().pending == 0
    grown = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].findings()
    anew = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "other").runs[0].findings()
    made, expected = feature_files(tmp_path / "index"), feature_files(tmp_path / "other")
    assert grown == anew and expected and {name: made[name] for name in expected} == expected


def test_of_a_large_run_whole_groups_are_scanned_evenly_over_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "SCANNED_CHARS", 600_000)
    monkeypatch.setattr(features, "KEPT_SAMPLES", 400)
    found = findings_of(tmp_path, HACK)
    assert found.samples == 2304 and 500 < found.scanned < 1000 and 200 < found.read < 500
    assert f"Scanned {found.scanned:,} of 2,304 samples" in found.note
    assert "double - checked" in found.findings[0].phrase


def test_a_run_without_rewards_or_siblings_says_so(tmp_path: Path) -> None:
    def note(name: str, rows: list[dict[str, object]]) -> str:
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.jsonl").write_bytes(lines(rows))
        opened = rolloupe.open(tmp_path / name, index_dir=tmp_path / f"{name}-index", format="relax")
        return opened.runs[0].findings().note

    assert "no sample with a reward" in note("none", [row(0, n, reward=None) for n in range(8)])
    assert "alone in its group" in note("alone", [row(0, n, group_index=n) for n in range(8)])
    assert "no two siblings" in note("same", [row(0, n, reward=1.0) for n in range(8)])


def test_what_rises_is_not_called_unpaid_where_nothing_can_be_compared(tmp_path: Path) -> None:
    for step in range(12):
        rows = [row(step, n, group_index=n, response="a b " * (20 + 9 * step + n % 3)) for n in range(16)]
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / f"run/{step}.jsonl").write_bytes(lines(rows))
    found = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index", format="relax").runs[0].findings()
    assert "alone in its group" in found.note and found.findings == []


def test_findings_without_samples_are_none(run: rolloupe.Run) -> None:
    found: RunFindings = run.findings(steps=(500, 600))
    assert found.findings == [] and found.samples == 0 and found.smallest is None
    assert run.findings(steps=(0, 10**40)).samples == 2304


def test_a_run_whose_siblings_do_not_differ_has_no_smallest_effect() -> None:
    facts = WindowFacts(samples=8, groups=1)
    assert smallest_effect(facts, 5.0) is None
    run = RunFindings(
        findings=[], split="train", env=None, step_min=None, step_max=None, samples=8, scanned=8, pending=0, read=8,
        groups=1, tested=3, expected=0.0, least_z=5.0, largest_z=0.0, correct="", metrics=[], smallest=None, note="",
    )  # fmt: skip
    assert "inf" not in note_of(run, is_alone=False, is_text=False)


def test_the_largest_z_is_that_of_phrases_and_behaviours() -> None:
    ones = np.ones(2)
    sums = WithinSums(ones, np.array([2.0, 9.0]), ones, ones, ones)
    features = FeatureRows(np.array([4, 5], np.uint64), np.array([8, 8]), *sums)
    assert candidates(features, WindowFacts(8, 1, 7.0, 1.0, 1.0)).best == 9


@pytest.mark.parametrize(
    "name", ["reward.acc", "rewards/accuracy_reward", "reward_correct", "correctness_reward_func", "em"]
)
def test_names_of_correctness_are_known_as_parts_of_a_reward(name: str) -> None:
    assert bare(name) in CORRECTNESS and bare("reward_format") not in CORRECTNESS


def test_the_class_follows_the_trend_and_correctness() -> None:
    steps = np.repeat(np.arange(30), 4)
    rising, flat = steps / 30, np.tile([0.0, 1.0], 60)
    assert trend_of(rising, steps).is_rising(1) and not trend_of(rising, steps).is_rising(-1)
    assert trend_of(-rising, steps).is_rising(-1) and not trend_of(flat, steps).is_rising(1)
    assert not trend_of(np.array([0.0, 1.0]), np.array([0, 1])).is_rising(1)
    up, level = trend_of(rising, steps), trend_of(flat, steps)
    cases = [(up, False, "suspect"), (up, None, "unverified"), (up, True, "earned"), (level, False, "watch")]
    assert [class_of(1, trend, follows) for trend, follows, _ in cases] == [kind for *_, kind in cases]


def test_prevalence_has_at_most_40_bins_and_no_effect_where_nothing_varies() -> None:
    steps = np.repeat(np.arange(100), 2)
    x = np.tile([0.0, 1.0], 100)
    centred = np.where(steps < 50, 0, x - 0.5)
    found = prevalence_of(x, centred, x - 0.5, steps)
    assert len(found.steps) == 40 and found.steps[0] == 0 and found.shares == [0.5] * 40
    assert found.effects[0] is None and found.effects[-1] == 1 and found.means == [0.5] * 40


def test_the_wording_is_the_longest_run_of_words_that_phrases_cover() -> None:
    hashes = np.array([hash_of(one) for one in ("we have 12", "have 7 of", "of them", "no")], np.uint64)
    text = "No, but We have 99 of them now."
    first = int(hashes[0])
    assert phrases_in(text, hashes) == dict(
        zip(hashes.tolist(), ("we have #", "have # of", "of them", "no"), strict=True)
    )
    wording = wording_of(text, hashes, first)
    assert wording.phrase == "we have # of them" and marks(wording.pattern, text) == ["We have 99 of them"]
    assert wording_of(text, hashes, int(hashes[3])).phrase == "no", "the passage has what is counted"
    gapped = wording_of("We have 4 very many more of them, not of them as of them.", hashes, first)
    assert gapped.phrase == "we have # … of them", "nothing is said twice"
    assert marks(gapped.pattern, "Now we have 4 kinds of them; we have 12, and of a them.") == [
        "we have 4 kinds of them", "we have 12"
    ]  # fmt: skip
    last = int(hashes[2])
    assert wording_of("of them not so many more of them", hashes, last).phrase == "of them", "four words lie between"
    assert not wording_of("nothing of that", hashes, first).phrase and not wording_of("", hashes, first).pattern
    marked = pattern_of_phrase("</answer> ... \\boxed { # } 你 好")
    assert re.fullmatch(marked, "</answer>.....\\boxed{12}你好")


def test_a_wording_needs_no_stops_at_its_ends_and_has_what_is_counted_within_forty_words() -> None:
    text = " ".join(f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)) + " end."
    words = text.rstrip(".").split()
    every = np.array([hash_of(f"{a} {b}") for a, b in pairwise(words)] + [hash_of("end .")], np.uint64)
    assert wording_of(text, every, hash_of("wab wac")).phrase == " ".join(words[:40])
    assert wording_of(text, every, hash_of("wch end")).phrase == " ".join(words[-40:])
    assert wording_of(text, every, hash_of("end .")).phrase == " ".join([*words[-39:], "."])


def marks(pattern: str, text: str) -> list[str]:
    return [match[0] for match in re.finditer(f"(?i){pattern}", text)]


def hash_of(text: str) -> int:
    data = np.frombuffer(text.encode(), np.uint8)
    words = words_of(data, np.array([0, len(data)])).hashes
    phrases = phrases_of(words, np.zeros(len(words), np.int64))
    return next(int(found[0]) for length, found, _ in phrases if length == len(words))


def _written(folder: Path, responses: Callable[[int, int], tuple[str, float]], steps: int, groups: int) -> RunFindings:
    """Write groups of four and look for findings; the reward is the correctness, too."""
    rows = [
        row(step, 4 * group + number, group=group, response=text, reward={"score": paid, "acc": paid})
        for step in range(steps)
        for group in range(groups)
        for number in range(4)
        for text, paid in [responses(step * groups + group, number)]
    ]
    path = folder / "run" / "rollout_result" / "train" / "0.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(lines(rows))
    with rolloupe.open(folder / "run", index_dir=folder / "index") as runs:
        return runs[0].findings()


def test_the_effects_of_a_share_have_one_unit(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)

    def response(_: int, number: int) -> tuple[str, float]:
        first, last = (0x4E00, 0x9F00) if number % 2 else (ord("a"), ord("z"))
        return f"some words {''.join(map(chr, rng.integers(first, last, 9)))}", float(number % 2)

    found = _written(tmp_path, response, steps=4, groups=10)
    (one,) = (one for one in found.findings if one.behaviour == "derived.non_latin")
    assert one.kind == "earned" and one.effect == pytest.approx(1, abs=0.05)
    assert one.correctness == pytest.approx(one.effect)
    assert list(one.prevalence.effects) == pytest.approx([one.effect] * 4, abs=0.05)


def test_a_window_without_samples_says_so(run: rolloupe.Run) -> None:
    found = run.findings(steps=(1000, 2000))
    assert found.note == "Nothing to compare: there is no sample in these steps." and not found.findings


@pytest.mark.parametrize(("groups", "words"), [(1, "1 group only"), (19, "19 groups only")])
def test_too_few_groups_have_no_smallest_effect(tmp_path: Path, groups: int, words: str) -> None:
    found = _written(tmp_path, lambda at, number: (f"words {'abcd'[at % 4]}", number % 2), steps=1, groups=groups)
    assert found.smallest is None and not found.findings and found.groups == groups
    assert found.note == f"Nothing to compare: the rewards differ in {words}, and a phrase must vary in 20."
