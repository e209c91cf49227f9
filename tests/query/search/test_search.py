"""A run searched for a text: every hit and none other, places, order, counts, cancelling, and runs that grow."""

import json
import random
import re
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.errors import BadPattern, BadQuery, NotFound
from rolloupe.index import Library, OpenRun
from rolloupe.index.segments.kinds import Budget
from rolloupe.index.segments.texts import text_of
from rolloupe.index.sources import PollTimes
from rolloupe.model import SampleKey
from rolloupe.query import Condition, SampleQuery
from rolloupe.query.search import (
    Found,
    Hit,
    Pattern,
    SearchProgress,
    Snippet,
    TextQuery,
    marked,
    places_in,
    worker,
)  # fmt: skip
from rolloupe.text.blocks import parts as text_parts
from tests.index.support import eventually, lines, opened, relax_run, row
from tests.query.search.support import search
from tests.thoroughness import each

LETTERS = 'abkABK_1 \n.-("\\\x00éÉ因😀\u202e\u212a'
PIECES = ["a", "b", "ab", "k", ".", "[ab]", "[^a]", "\\d", "a+", "b*a", "(?:ab|a)", "é", "因.", "a{2}", "\\.", "^", "$"]


def text(rng: random.Random) -> str:
    return "".join(rng.choices(LETTERS, k=rng.randrange(30)))


def written(folder: Path, texts: list[tuple[str, str]], a_step: int = 10) -> Path:
    """A run of these prompts and responses, ten a step, eight steps a file: more than are looked through at once."""
    train = folder / "rollout_result" / "train"
    train.mkdir(parents=True)
    for number, (prompt, response) in enumerate(texts):
        step = number // a_step
        with (train / f"{step // 8}.jsonl").open("ab") as file:
            file.write(lines([row(step, number, prompt=prompt, response=response, group_index=0)]))
    return folder


def key_of(number: int, a_step: int = 10) -> str:
    return f"train/{number // a_step}/0/{number}"


def all_of(found: Iterator[Found]) -> tuple[list[Hit], SearchProgress]:
    every = list(found)
    assert [one.progress.is_over for one in every] == [False] * (len(every) - 1) + [True]
    return [hit for one in every for hit in one.hits], every[-1].progress


def keys(run: OpenRun, query: TextQuery, samples: SampleQuery | None = None) -> set[str]:
    hits, progress = all_of(search(run, query, samples))
    found = [str(hit.sample.key) for hit in hits]
    assert len(found) == len(set(found)) == progress.found
    return set(found)


TEXTS = [(text(rng), text(rng)) for rng in [random.Random(5)] for _ in range(120)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    folder = tmp_path_factory.mktemp("corpus")
    with opened(written(folder / "run", TEXTS), folder / "index") as library:
        assert library.runs[0].wait_all(60)
        yield library.runs[0]


needles = st.text(LETTERS, min_size=1, max_size=3)


@given(needle=needles, where=st.sampled_from([(), ("prompt",), ("response",)]))
def test_a_text_is_found_where_python_finds_it(corpus: OpenRun, needle: str, where: tuple[str, ...]) -> None:
    expected = {
        key_of(number)
        for number, (prompt, response) in enumerate(TEXTS)
        if ("response" not in where and where and needle in prompt)
        or ("prompt" not in where and where and needle in response)
        or (not where and (needle in prompt or needle in response))
    }
    assert keys(corpus, TextQuery(text=needle, case=True, roles=where)) == expected


@given(needle=needles)
def test_capitals_are_the_same_unless_wished(corpus: OpenRun, needle: str) -> None:
    pattern = re.compile(re.escape(needle), re.IGNORECASE)
    expected = {key_of(n) for n, both in enumerate(TEXTS) if any(map(pattern.search, both))}
    assert keys(corpus, TextQuery(text=needle)) == expected


@given(needle=st.text("abkABK_1é因.-", min_size=1, max_size=3))
def test_a_word_does_not_stand_within_another(corpus: OpenRun, needle: str) -> None:
    pattern = re.compile(rf"(?<!\w){re.escape(needle)}(?!\w)")
    expected = {key_of(n) for n, both in enumerate(TEXTS) if any(map(pattern.search, both))}
    assert keys(corpus, TextQuery(text=needle, word=True, case=True)) == expected


@given(pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=4))
def test_a_pattern_is_found_where_python_finds_it(corpus: OpenRun, pieces: list[str]) -> None:
    given_ = "".join(pieces)
    pattern = re.compile(given_.replace("$", r"\Z"), re.ASCII)
    expected = {key_of(n) for n, both in enumerate(TEXTS) if any(map(pattern.search, both))}
    assert keys(corpus, TextQuery(text=given_, regex=True, case=True)) == expected


@given(st.sampled_from(TEXTS).map(" ".join), st.text("abk1é因😀 ", min_size=1, max_size=3), st.booleans())
def test_places_are_those_of_python(whole: str, needle: str, word: bool) -> None:
    before, after = (r"(?<!\w)", r"(?!\w)") if word else ("", "")
    expected = [match.span() for match in re.finditer(before + re.escape(needle) + after, whole)]
    encoded = whole.encode()
    spans = [
        (len(encoded[:start].decode()), len(encoded[:stop].decode()))
        for start, stop in Pattern(TextQuery(text=needle, word=word, case=True)).spans(encoded)
    ]
    assert spans == expected == list(Pattern(TextQuery(text=needle, word=word, case=True)).places(whole))


def test_a_match_over_a_tag_is_marked_in_the_parts_on_both_sides() -> None:
    parts = text_parts("<think>\nSo it is 8.\n</think>\n<answer> 8 </answer>", "assistant")
    shown = [part.text for part in parts]

    def marked(text: str) -> list[str]:
        places = places_in(Pattern(TextQuery(text=text, regex=True)), parts, shown)
        return [shown[part][start:stop] for part, start, stop in places]

    assert marked(r"is [0-9]\.\s*</think>\s*<answer>\s*[0-9]") == ["is 8.", "8"]
    assert marked(r"so|is [0-9]\.(?:\s*</think>)?") == ["So", "is 8."], "once, where a part shows some of it"
    assert marked("</think>") == [] and marked("8") == ["8", "8"]


def test_the_newest_step_comes_first_and_the_order_is_kept(corpus: OpenRun) -> None:
    hits, progress = all_of(search(corpus, TextQuery(text="a*", regex=True)))
    assert progress.found == progress.samples == progress.known_samples == len(TEXTS)
    assert progress.searched_bytes == progress.known_bytes > 0
    assert [hit.sample.key.step for hit in hits] == sorted((n // 10 for n in range(len(TEXTS))), reverse=True)
    assert [hit.sample.key.index for hit in hits[:3]] == ["110", "111", "112"]


def test_the_oldest_step_comes_first_where_that_is_asked_for(corpus: OpenRun) -> None:
    hits, progress = all_of(search(corpus, TextQuery(text="a*", regex=True), oldest_first=True))
    assert progress.found == len(TEXTS)
    assert [str(hit.sample.key) for hit in hits] == [key_of(n) for n in range(len(TEXTS))]


@pytest.mark.parametrize("roles", [(), ("assistant",)])
@pytest.mark.parametrize("a_step", [10, 1000])
def test_what_is_found_is_counted_by_step(tmp_path: Path, a_step: int, roles: tuple[str, ...]) -> None:
    with opened(written(tmp_path / "run", TEXTS, a_step), tmp_path / "index") as library:
        running = search(library.runs[0], TextQuery(text="ab", roles=roles), limit=2, by_step=True)
        counted: Counter[tuple[str, int]] = Counter()
        for _ in running:
            counted.update(running.take_steps())
        counted.update(running.take_steps())
        found = [n for n, both in enumerate(TEXTS) if any("ab" in one.lower() for one in (both[1:] if roles else both))]
        assert counted == Counter(("train", n // a_step) for n in found)
        plain = search(library.runs[0], TextQuery(text="ab"))
        all_of(plain)
        assert plain.take_steps() == {}


def test_of_more_steps_than_can_be_told_none_takes_memory(corpus: OpenRun) -> None:
    count = worker.SearchWork(corpus, Pattern(TextQuery(text="a")), lambda: False, oldest_first=False, by_step=True)
    for step in range(worker.MAX_STEPS + 100):
        count.add_steps({("train", step): 1})
    count.add_steps({("train", 5): 2})
    taken = count.take_steps()
    assert (len(taken), taken["train", 5]) == (worker.MAX_STEPS, 3)
    assert count.take_steps() == {}


def test_some_are_listed_and_all_are_counted(corpus: OpenRun) -> None:
    hits, progress = all_of(search(corpus, TextQuery(text=".", regex=True), limit=3))
    assert len(hits) == 3 < progress.found == sum(bool(a.strip("\n") or b.strip("\n")) for a, b in TEXTS)
    assert all_of(search(corpus, TextQuery(text="."), limit=0))[0] == []


def test_what_is_kept_is_looked_up_later(corpus: OpenRun) -> None:
    running = search(corpus, TextQuery(text="a*", regex=True), limit=5, reserve=20)
    rows = [row for found in running for row in found.rows]
    assert len(rows) == 20
    assert [hit.sample.key.index for hit in running.look_up(rows[:6])] == ["115", "116", "117", "118", "119", "100"]


def test_only_the_samples_of_the_query_are_searched(corpus: OpenRun) -> None:
    anything = TextQuery(text="a*", regex=True)
    assert keys(corpus, anything, SampleQuery(step_min=3, step_max=3)) == {key_of(n) for n in range(30, 40)}
    odd = SampleQuery(step_min=3, step_max=4, where=(Condition("reward", ">", 0.5),))
    assert keys(corpus, anything, odd) == {key_of(n) for n in range(30, 50) if n % 2}
    assert keys(corpus, anything, SampleQuery(group="none")) == set()
    with pytest.raises(NotFound):
        search(corpus, anything, SampleQuery(splits=("eval/none",)))
    with pytest.raises(BadQuery, match="no column"):
        search(corpus, anything, SampleQuery(where=(Condition("none", "=", 1),)))


def test_a_snippet_holds_the_hit_and_what_is_around_it(tmp_path: Path) -> None:
    long = "x" * 500
    texts = [("Sum?", f"{long} first Needle, {long} needle and needle {long} NEEDLE"), ("needle", "")]
    with opened(written(tmp_path / "run", texts), tmp_path / "index") as library:
        hits, _ = all_of(search(library.runs[0], TextQuery(text="needle")))
    one, two = hits
    assert [snippet.pieces[1::2] for snippet in one.snippets] == [("Needle",), ("needle", "needle"), ("NEEDLE",)]
    assert one.snippets[0].pieces[0].endswith("x first ") and len(one.snippets[0].pieces[0]) == 60
    assert one.snippets[1].pieces[2] == " and " and not one.more
    assert [(s.is_start, s.is_end) for s in one.snippets] == [(False, False), (False, False), (False, True)]
    assert two.snippets == (Snippet("prompt", ("", "needle", ""), True, True),)


@pytest.mark.parametrize("how", ["never written", "gone", "gone while it is searched", "damaged"])
def test_without_texts_in_the_index_the_files_are_searched(tmp_path: Path, how: str) -> None:
    run_dir = written(tmp_path / "run", TEXTS)
    with opened(run_dir, tmp_path / "index", budget_bytes=0 if how == "never written" else None) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        files = [text_of(segment.path) for segment in run.snapshot().segments]
        assert all(file.exists() for file in files) == (how != "never written")
        found = search(run, TextQuery(text="ab"))
        if how == "gone while it is searched":
            next(found)
        for file in files if how != "never written" else []:
            file.unlink()
            if how == "damaged":
                file.write_bytes(b"PAR1 and nothing PAR1")
        hits, progress = all_of(found)
        expected = {key_of(n) for n, both in enumerate(TEXTS) if any("ab" in one.lower() for one in both)}
        assert {str(hit.sample.key) for hit in hits} == expected
        assert progress.from_sources == len(TEXTS) and progress.notes == ()


@pytest.mark.parametrize("how", ["gone", "damaged", "torn", "of other rows"])
def test_texts_that_are_lost_are_written_again(tmp_path: Path, how: str) -> None:
    run_dir = written(tmp_path / "run", TEXTS)
    others = written(tmp_path / "others", [(prompt, response.replace("a", "z")) for prompt, response in TEXTS])
    with opened(others, tmp_path / "other index") as library:
        assert library.runs[0].wait_all(60)
        other = {segment.meta.stop: text_of(segment.path) for segment in library.runs[0].snapshot().segments}
    with opened(run_dir, tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        files = {text_of(segment.path): text_of(segment.path).read_bytes() for segment in run.snapshot().segments}
        stops = {text_of(segment.path): segment.meta.stop for segment in run.snapshot().segments}
        for file, whole in files.items():
            file.unlink()
            if how == "of other rows":
                shutil.copy(other[stops[file]], file)
            elif how != "gone":
                file.write_bytes(b"PAR1 and nothing PAR1" if how == "damaged" else whole[: len(whole) // 2])
        assert all_of(search(run, TextQuery(text="ab")))[1].from_sources == len(TEXTS)
        eventually(lambda: all(file.exists() and file.read_bytes() == whole for file, whole in files.items()))
        assert all_of(search(run, TextQuery(text="ab")))[1].from_sources == 0


def test_texts_for_which_there_is_no_room_are_not_tried_at_each_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = written(tmp_path / "run", TEXTS)
    with opened(run_dir, tmp_path / "index", budget_bytes=0, follow=True) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        asked, polled = [], []
        monkeypatch.setattr(Budget, "has_room", lambda *given: bool(asked.append(given)))
        monkeypatch.setattr(PollTimes, "note_poll", lambda *given: polled.append(given))
        assert all_of(search(run, TextQuery(text="ab")))[1].from_sources == len(TEXTS)
        seen = len(polled)
        eventually(lambda: len(polled) > seen + 2)
        assert not asked


def test_what_is_neither_in_the_index_nor_in_its_file_is_told(tmp_path: Path) -> None:
    run_dir = written(tmp_path / "run", TEXTS[:20])
    with opened(run_dir, tmp_path / "index", budget_bytes=0) as library:
        assert library.runs[0].wait_all(60)
        (run_dir / "rollout_result/train/0.jsonl").unlink()
        hits, progress = all_of(search(library.runs[0], TextQuery(text="a")))
    assert hits == [] and "0.jsonl is gone" in progress.notes[0]


def test_a_search_that_is_stopped_ends_and_says_so(corpus: OpenRun) -> None:
    stop = threading.Event()
    found = search(corpus, TextQuery(text="a"), stopped=stop.is_set)
    assert not next(found).progress.is_over
    stop.set()
    assert not any(one.progress.is_over for one in found)
    closed = search(corpus, TextQuery(text="a"))
    next(closed)
    closed.close()
    assert keys(corpus, TextQuery(text="a"))  # others go on


def test_what_a_run_has_grown_by_is_found(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    with Library([tmp_path / "run"], index_dir=tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        with (train / "0.jsonl").open("ab") as file:
            file.write(lines([row(0, 8, response="brand new"), row(0, 9, response="brand newer")]))
        eventually(lambda: all_of(search(run, TextQuery(text="brand new")))[1].found == 2)
        assert keys(run, TextQuery(text="new", word=True)) == {"train/0/2/8"}
        (train / "1.jsonl").write_bytes(lines([row(1, 0, response="brand newest")]))
        eventually(lambda: all_of(search(run, TextQuery(text="brand new")))[1].found == 3)


def conversation() -> dict[str, Any]:
    call = {"type": "function", "function": {"name": "look", "arguments": '{"q": "say \\"alpha\\""}'}}
    return {
        "step": 1, "reward": 1.0,
        "prompt": [{"role": "system", "content": "Be alpha."}, {"role": "user", "content": "What is beta?"}],
        "response": [
            {"role": "assistant", "content": "I look.", "reasoning_content": "gamma, perhaps", "tool_calls": [call]},
            {"role": "tool", "content": "delta"},
            {"role": "assistant", "content": "It is 😀 beta."},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("needle", "roles"),
    [
        ("alpha", {"system", "assistant"}), ("beta", {"user", "assistant"}), ("gamma", {"assistant"}),
        ("delta", {"tool"}), ('say "alpha', {"assistant"}),
    ],
)  # fmt: skip
def test_roles_are_told_apart(tmp_path: Path, needle: str, roles: set[str]) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(conversation()) + "\n")
    with opened(path, tmp_path / "index") as library:
        run = library.runs[0]
        for role in ("system", "user", "assistant", "tool"):
            hits, _ = all_of(search(run, TextQuery(text=needle, roles=(role,))))
            assert bool(hits) == (role in roles), role
            assert all(snippet.role == role for hit in hits for snippet in hit.snippets)


def test_what_a_role_said_in_a_file_that_is_gone_is_noted_and_the_search_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.jsonl").write_text(json.dumps(conversation()) + "\n")
    with opened(folder, tmp_path / "index") as library:
        run = library.runs[0]
        assert run.wait_all(60)
        (folder / "a.jsonl").unlink()
        (folder / "b.jsonl").write_text(json.dumps({**conversation(), "step": 7}) + "\n")
        hits, progress = all_of(search(run, TextQuery(text="delta", roles=("tool",))))
        assert [hit.sample.key.step for hit in hits] == [1]
        assert [Path(note.split(" ")[0]).name for note in progress.notes] == ["a.jsonl", "b.jsonl"]


def test_the_places_in_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(conversation()) + "\n")
    with opened(path, tmp_path / "index") as library:
        run = library.runs[0]
        (hit,), _ = all_of(search(run, TextQuery(text="beta")))
        found, more = marked(run, hit.sample.key, TextQuery(text="beta"))
        assert [(m.turn, m.part, m.field, m.start, m.stop) for m in found] == [
            (1, 0, "text", 8, 12), (4, 0, "text", 8, 12),
        ]  # fmt: skip
        assert not more
        spoken, _ = marked(run, hit.sample.key, TextQuery(text="ALPHA", roles=("assistant",)))
        assert [(m.turn, m.field) for m in spoken] == [(2, "arguments")]
        with pytest.raises(NotFound):
            marked(run, SampleKey("train", 1, "none", "0"), TextQuery(text="beta"))


@each(
    ("pattern", "place"),
    [
        ("a(b", 1),
        ("ab)c", 2),
        ("a**", 1),
        ("[z-a]", 1),
        ("x[ab", 1),
        ("a\\y", 1),
        ("(?=a)", 0),
        ("x{2000}", 1),
        ("a\\C", 1),
    ],
)
def test_a_pattern_that_cannot_be_read_says_where(corpus: OpenRun, pattern: str, place: int) -> None:
    for word in (False, True):
        with pytest.raises(BadPattern) as error:
            search(corpus, TextQuery(text=pattern, regex=True, word=word))
        assert error.value.place == place


@each("query", [TextQuery(text=""), TextQuery(text="a" * 10_001), TextQuery(text="a", roles=("x",))])
def test_what_cannot_be_searched_for_is_refused(corpus: OpenRun, query: TextQuery) -> None:
    with pytest.raises(BadQuery):
        search(corpus, query)


@each(
    "needle", ["(a+)+$", "(x+x+)+y", "a" * 10_000, "\x00", "\ud800", "\u202e", "\\Qa", "(?i)(?s).*", "[ab]*a[ab]{400}c"]
)
@each("regex", [False, True])
@each("word", [False, True])
def test_hostile_needles_end(corpus: OpenRun, needle: str, regex: bool, word: bool) -> None:
    _, progress = all_of(search(corpus, TextQuery(text=needle, regex=regex, word=word)))
    assert progress.is_over


def test_a_very_long_text_is_searched_and_its_hit_is_short(tmp_path: Path) -> None:
    texts = [("q", "aaaaaaaa " * 500_000 + "needle"), ("q", "\u202eneedle")]
    with opened(written(tmp_path / "run", texts), tmp_path / "index") as library:
        for pattern in ("needle", "(a+)+needle", "(a|a)*b|needle"):
            hits, _ = all_of(search(library.runs[0], TextQuery(text=pattern, regex=True)))
            assert [len(hit.snippets[0].pieces) for hit in hits] == ([1] if pattern[0] == "x" else [3] * len(hits))
            assert all(sum(map(len, hit.snippets[0].pieces)) < 1000 for hit in hits)


def test_many_searches_at_once_give_the_same(corpus: OpenRun) -> None:
    answers: list[set[str]] = []
    asked = [threading.Thread(target=lambda: answers.append(keys(corpus, TextQuery(text="a")))) for _ in range(12)]
    for one in asked:
        one.start()
    for one in asked:
        one.join()
    assert len(answers) == 12 and all(answer == answers[0] for answer in answers)
