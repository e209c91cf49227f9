"""Conversations of reports that no sample shows are found by a search, each once, with the place where they stand."""

import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rolloupe
from rolloupe import Run
from rolloupe.errors import NotFound
from rolloupe.formats.base import StepReport
from rolloupe.formats.reading import logtree
from rolloupe.formats.tinker import format as tinker_run
from rolloupe.formats.tinker.format import Tinker
from rolloupe.model import LogNode, RunInfo
from rolloupe.query.search import Pattern, TextQuery
from rolloupe.query.search.pattern import SearchStopped
from rolloupe.query.search.run_search import pool
from tests.cli.support import rolloupe as command
from tests.formats.reading.test_logtree import node
from tests.formats.tinker.test_join import FLAT, NAME, loaded, section, table, talk, trajectory
from tests.index.support import opened
from tests.query.samples.test_joined_texts import ROLLOUTS, TREE, joined_run
from tests.query.search.support import search
from tests.thoroughness import amount

JUDGE = talk(("user", "Is it right?"), ("assistant", "A verdict: no, it is not."))


def logged(folder: Path, steps: int = 3) -> Path:
    """Steps whose sample is joined with one conversation; that of a judge, in the same report, is nobody's."""
    folder.mkdir(parents=True)
    own = talk(("user", "q"), ("assistant", "a verdict of its own"))
    sections = section("Group", own, JUDGE | {"attrs": {"data-aside": "aside"}}, data_group="0", data_trajectory="0")
    loaded(folder, [trajectory(0, 1.0)], section("Before"), sections)
    for step in range(1, steps):
        for path in list(folder.glob("train_iteration_000000*")):
            text = path.read_text().replace('"iteration": 0', f'"iteration": {step}')
            path.with_name(path.name.replace("000000", f"{step:06d}")).write_text(text)
    return folder


def found(run: Run, text: str, **how: Any) -> list[tuple[str, int, str]]:
    hits = run.search(text, **how)
    for _ in hits:  # those of reports come behind the samples
        pass
    assert len({(one.split, one.step, one.at) for one in hits.transcripts}) == len(hits.transcripts)
    return [(one.split, one.step, one.title) for one in hits.transcripts]


def node_at(root: LogNode, at: str) -> LogNode:
    for number in at.split("."):
        root = root.children[int(number)]
    return root


def test_what_no_sample_shows_is_found_with_its_place(tmp_path: Path) -> None:
    with rolloupe.open(logged(tmp_path / "run"), index_dir=tmp_path / "index") as runs:
        run = runs[0]
        hits = run.search("verdict")
        samples = [str(hit.sample.key) for hit in hits]
        assert samples == ["train/2/0/0", "train/1/0/0", "train/0/0/0"]  # the samples' own, and not the judge's
        assert [(one.split, one.step) for one in hits.transcripts] == [("train", 2), ("train", 1), ("train", 0)]
        one = hits.transcripts[0]
        assert (one.title, one.more) == ("Group 2", False)
        assert [(s.role, s.pieces) for s in one.snippets] == [("assistant", ("A ", "verdict", ": no, it is not."))]
        assert node_at(run.logtree(2), one.at).turns[1].parts[0].text == "A verdict: no, it is not."
        assert [c.at for c in run.conversations(2)] == [one.at]
        assert (hits.progress.found, hits.progress.transcripts) == (3, 3)
        assert (hits.progress.reports, hits.progress.known_reports) == (3, 3)


def test_roles_steps_and_splits_narrow_it_and_certain_samples_have_none(tmp_path: Path) -> None:
    with rolloupe.open(logged(tmp_path / "run"), index_dir=tmp_path / "index") as runs:
        run = runs[0]
        assert len(found(run, "is it right", roles=["user"])) == len(found(run, "is it right", roles=["prompt"])) == 3
        assert found(run, "is it right", roles=["assistant"]) == found(run, "is it right", roles=["response"]) == []
        assert len(found(run, "verdict", roles=["response"])) == 3
        assert [step for _, step, _ in found(run, "verdict", steps=(1, None))] == [2, 1]
        assert len(found(run, "verdict", split="train")) == 3
        assert found(run, "verdict", group="0") == found(run, "verdict", where="reward > 0") == []
        assert found(run, "VERDICT:", case=True) == [] and len(found(run, "verdic", word=True)) == 0
        assert len(found(run, r"verdict: [a-z]+,", regex=True)) == 3


def test_a_limit_is_of_samples_and_conversations_together(tmp_path: Path) -> None:
    with opened(logged(tmp_path / "run"), tmp_path / "index") as library:
        run = library.runs[0]
        for limit, listed in ((None, 3), (0, 0), (2, 0), (4, 1), (9, 3)):
            every = list(search(run, TextQuery(text="verdict"), limit=limit))
            assert sum(len(one.transcripts) for one in every) == listed
            assert every[-1].progress.transcripts == 3 and every[-1].progress.is_over
        oldest = list(search(run, TextQuery(text="verdict"), oldest_first=True, transcripts=2, limit=0))
        assert [one.step for each in oldest for one in each.transcripts] == [0, 1]


def test_reports_of_steps_without_a_sample_are_searched(tmp_path: Path) -> None:
    folder = logged(tmp_path / "run", steps=1)
    log = folder / f"train_iteration_000000{TREE}"
    shutil.copyfile(log, folder / f"eval_math_iteration_000004{TREE}")
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        assert found(runs[0], "of its own", split="eval/math") == [("eval/math", 4, "Group 2")]
        assert len(found(runs[0], "verdict")) == 3
        with pytest.raises(NotFound):
            found(runs[0], "verdict", split="eval/none")


def test_a_page_alone_is_searched_and_of_both_one(tmp_path: Path) -> None:
    for suffix in ("_rollout_summaries.jsonl", ".html"):
        shutil.copyfile(FLAT / (NAME + suffix), tmp_path / (NAME + suffix))
    with rolloupe.open(tmp_path, index_dir=tmp_path.parent / "index") as runs:
        assert len(found(runs[0], "warehouse assistant")) == 4
    shutil.copyfile(FLAT / (NAME + TREE), tmp_path / (NAME + TREE))
    with rolloupe.open(tmp_path, index_dir=tmp_path.parent / "index") as runs:
        assert found(runs[0], "warehouse assistant") == []  # its samples show it
        assert len([*runs[0].search("warehouse assistant", roles=["prompt"])]) == 4


def test_what_is_tied_and_not_shown_is_found(tmp_path: Path) -> None:
    own = [{"role": "user", "content": "its own"}, {"role": "assistant", "content": "yes"}]
    logged_one = section("R", talk(("user", "logged"), ("assistant", "no")), data_group="0", data_trajectory="0")
    loaded(tmp_path, [trajectory(0, 1.0, conversation=own)], logged_one)
    with rolloupe.open(tmp_path, index_dir=tmp_path.parent / "index") as runs:
        assert len([*runs[0].search("its own")]) == 1
        assert found(runs[0], "logged") == [("train", 0, "R 1")]


def test_what_joined_samples_show_is_found_once(tmp_path: Path) -> None:
    with rolloupe.open(joined_run(tmp_path / "run"), index_dir=tmp_path / "index") as runs:
        for text in ("warehouse", "add tens", "ladders", "e"):
            hits = runs[0].search(text)
            assert len([*hits]) > 0
            roles = {snippet.role for hit in hits.transcripts for snippet in hit.snippets}
            assert roles.isdisjoint({"system", "user", "assistant", "tool"})  # other texts of a report, at most


def test_texts_that_are_no_conversation_are_found_with_their_place(tmp_path: Path) -> None:
    words = node("p", "The grader of pelicans was out of order.")
    pelicans = section("Notes", words, *table("Birds", pelicans="two, & one gull"))
    loaded(tmp_path, [trajectory(0, 1.0)], pelicans)
    with rolloupe.open(tmp_path, index_dir=tmp_path.parent / "index") as runs:
        run = runs[0]
        assert found(run, "PELICANS") == [("train", 0, "Notes 1"), ("train", 0, "Notes 1")]
        hits = run.search("& one gull")
        assert [*hits] == []
        (one,) = hits.transcripts
        assert ["pelicans", "two, & one gull"] in node_at(run.logtree(0), one.at).rows
        assert found(run, "pelicans", roles=["response"]) == found(run, "pelicans", roles=["user"]) == []


@pytest.mark.parametrize("content", [b'{"root": ', b"[]", b"\xff", b'{"root":' + b"[" * 100_000])
def test_a_report_that_cannot_be_read_is_noted_and_the_others_are_searched(tmp_path: Path, content: bytes) -> None:
    folder = logged(tmp_path / "run")
    (folder / f"train_iteration_000001{TREE}").write_bytes(content)
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        hits = runs[0].search("verdict")
        assert len([*hits]) == 2 and [one.step for one in hits.transcripts] == [2, 0]
        (note,) = hits.progress.notes
        assert note.startswith(f"train_iteration_000001{TREE} could not be read: not ")


def test_a_report_that_is_too_long_to_be_searched_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tinker_run, "MAX_SEARCHED_BYTES", 100)
    with rolloupe.open(logged(tmp_path / "run", 1), index_dir=tmp_path / "index") as runs:
        hits = runs[0].search("verdict")
        assert len([*hits]) == 1 and "not parsed" in hits.progress.notes[0]


def test_the_page_beside_a_tree_that_is_too_long_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for suffix in (ROLLOUTS, TREE, ".html"):
        shutil.copyfile(FLAT / (NAME + suffix), tmp_path / (NAME + suffix))
    monkeypatch.setattr(tinker_run, "MAX_SEARCHED_BYTES", 100)
    with rolloupe.open(tmp_path, index_dir=tmp_path.parent / "index") as runs:
        hits = runs[0].search("warehouse assistant", roles=["prompt"])
        assert len([*hits]) == 4 and hits.transcripts == []  # its samples show it
        assert hits.progress.notes == (f"{NAME}{TREE} could not be read: longer than 0 MiB: not parsed",)


WORDS = st.text('abks K_1\n"\\<&é\u212a\u017f\u202e😀', min_size=1, max_size=6)


@given(needle=WORDS, said=st.lists(WORDS, min_size=1, max_size=4), is_cased=st.booleans())
def test_bytes_rule_out_no_report_that_holds_the_text(needle: str, said: list[str], is_cased: bool) -> None:
    pattern = Pattern(TextQuery(text=needle, case=is_cased))
    root = {"tag": "body", "attrs": {}, "children": [talk(*(("user", text) for text in said))]}
    holds = any(next(pattern.spans(text.encode()), None) for text in said)
    for is_ascii in (True, False):
        data = json.dumps({"root": root}, ensure_ascii=is_ascii).encode()
        assert not (holds and pattern.word and logtree.lacks(data, pattern.word))
    escaped = data.replace(b"a", b"\\u0061")
    assert not (holds and pattern.word and logtree.lacks(escaped, pattern.word))


def test_reports_are_ruled_out_by_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with rolloupe.open(logged(tmp_path / "run"), index_dir=tmp_path / "index") as runs:
        runs[0].wait(texts=True)
        read: list[bytes] = []
        whole = logtree.tree_in

        def reading(data: bytes, *more: Any) -> LogNode:
            read.append(data)
            return whole(data, *more)

        monkeypatch.setattr(logtree, "tree_in", reading)
        assert found(runs[0], "nowhere to be found") == [] and not read
        assert len(found(runs[0], "verdict: no")) == 3 and read


def many(folder: Path, conversations: int) -> Path:
    """A report of so many conversations that it takes long to read."""
    folder.mkdir()
    sections = [section(f"S {n}", talk(*(("user", f"hay {n} {m}") for m in range(100)))) for n in range(conversations)]
    loaded(folder, [trajectory(0, 1.0)], *sections)
    return folder


def test_a_search_that_is_stopped_leaves_its_report_at_once(tmp_path: Path) -> None:
    count = amount(300, 1500)
    with opened(many(tmp_path / "run", count), tmp_path / "index") as library:
        stop, ended = threading.Event(), threading.Event()
        looking = search(library.runs[0], TextQuery(text=f"{count - 1} 99"), stopped=stop.is_set)
        began = time.monotonic()
        for each in looking:
            if each.progress.known_reports:
                break
        time.sleep(0.05)
        assert not next(looking).progress.is_over, "it was over before it was stopped"
        stop.set()
        assert list(looking) == []
        pool().submit(ended.set)
        assert ended.wait(0.5) and time.monotonic() - began < 30


def test_a_search_that_is_stopped_does_not_wait_for_reports_to_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders of the reports may lie on a mount that answers nothing."""
    answers, stop = threading.Event(), threading.Event()
    whole = Tinker.reports

    def hanging(form: Tinker, info: RunInfo) -> list[StepReport]:
        answers.wait(20)
        return whole(form, info)

    with opened(logged(tmp_path / "run", 1), tmp_path / "index") as library:
        monkeypatch.setattr(Tinker, "reports", hanging)
        looking = search(library.runs[0], TextQuery(text="verdict"), stopped=stop.is_set)
        try:
            began = time.monotonic()
            while not (each := next(looking)).progress.found:
                assert not each.progress.is_over
            assert not next(looking).progress.is_over
            stop.set()
            assert list(looking) == [] and time.monotonic() - began < 10
        finally:
            answers.set()


@pytest.mark.parametrize(("error", "reason"), [(OSError(5, "I/O error"), "I/O error"), (KeyError("x"), "a defect in")])
def test_reports_that_cannot_be_listed_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def failing(*_: object) -> list[StepReport]:
        raise error

    with opened(logged(tmp_path / "run", 1), tmp_path / "index") as library:
        monkeypatch.setattr(Tinker, "reports", failing)
        *_, last = search(library.runs[0], TextQuery(text="verdict"))
        assert last.progress.is_over and last.progress.found == 1
        (note,) = last.progress.notes
        assert note.startswith("the reports could not be listed: ") and reason in note


@pytest.mark.parametrize("read", [logtree.tree_in, logtree.page_in])
def test_reading_ends_when_it_is_told_to(read: Any) -> None:
    messages = [{"role": "user", "content": "x"}] * 40_000
    node = {"tag": "div", "attrs": {}, "children": [], "data": {"type": "conversation", "messages": messages}}
    tree = json.dumps({"root": {"tag": "body", "attrs": {}, "children": [node]}}).encode()
    page = b"<body>" + b"<p>x</p>" * 40_000
    asked: list[int] = []

    def check() -> None:
        asked.append(1)
        if len(asked) > 20:
            raise SearchStopped

    with pytest.raises(SearchStopped):
        read(tree if read is logtree.tree_in else page, check)


def test_the_command_line_prints_conversations_behind_the_samples(tmp_path: Path) -> None:
    folder = logged(tmp_path / "run", steps=1)
    done = command("search", folder, "verdict")
    assert done.code == 0 and done.err == "Found in 1 sample and 1 logged conversation of no sample.\n"
    assert done.out.splitlines()[-2:] == [
        "train, step 0, report at 1.1: Group 2", "    assistant: A verdict: no, it is not.",
    ]  # fmt: skip
    sample, logged_one = command("search", folder, "verdict", "--json").lines
    assert (sample["kind"], sample["id"]) == ("sample", "train/0/0/0")
    assert logged_one == {
        "kind": "transcript", "run": "run", "split": "train", "step": 0, "title": "Group 2", "at": "1.1", "more": False,
        "snippets": [{"role": "assistant", "pieces": ["A ", "verdict", ": no, it is not."]}],
    }  # fmt: skip
    assert command("search", folder, "is it right").code == 0
    few = command("search", folder, "verdict", "--limit", "1")
    assert few.err.endswith("and 1 logged conversation of no sample, 1 of them not listed: see --limit.\n")
    assert command("search", folder, "verdict", "--where", "reward < 0").code == 1
