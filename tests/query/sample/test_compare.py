"""The answers of a group beside each other, and one prompt at all steps."""

from pathlib import Path

import pytest

from rolloupe import query
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query.sample.compare import Spot
from tests.index.support import lines, opened, relax_run, row


def served(tmp_path: Path, *steps: list[dict[str, object]], name: str = "run"):  # type: ignore[pyrefly:unannotated-return]
    train = relax_run(tmp_path / name, steps=0)
    for number, rows in enumerate(steps):
        (train / f"{number}.jsonl").write_bytes(lines(rows))
    return opened(tmp_path / name, tmp_path / "index")


def answers(*texts: str, **more: object) -> list[dict[str, object]]:
    return [row(0, n, response=text, group_index=0, reward=float(n), **more) for n, text in enumerate(texts)]


def key(index: int, step: int = 0, group: str = "0") -> SampleKey:
    return SampleKey("train", step, group, str(index))


def head(found: query.Compared, number: int) -> str | None:
    """The text in front of the place where a member parts."""
    one = found.members[number]
    at = one.parts_at
    return None if at is None else "".join(p.text for p in one.pieces)[: query.chars_before(one.pieces, at)]


def test_members_are_compared_with_the_best_by_reward(tmp_path: Path) -> None:
    with served(tmp_path, answers("The sum is 4", "The sun is hot", "The sum is 5")) as library:
        found = query.compared(library.runs[0], key(0))
        assert (found.against, found.best, found.total) == (key(2), key(2), 3)
        assert [head(found, n) for n in range(3)] == ["The sum is ", "The su", None]
        reference = found.members[2].pieces
        assert query.chars_before(reference, found.common) == len("The su")
        other = query.compared(library.runs[0], key(0), against=key(1))
        assert [head(other, n) for n in range(3)] == ["The su", None, "The su"] and other.best == key(2)


def test_the_best_alone_is_compared_with_the_best_of_the_others(tmp_path: Path) -> None:
    with served(tmp_path, answers("The sum is 4", "The sun is hot", "The sum is 5")) as library:
        run = library.runs[0]
        found = query.compared(run, key(2), only=[key(2)])
        assert (found.against, found.best, [one.key for one in found.members]) == (key(1), key(2), [key(2)])
        assert query.compared(run, key(0), only=[key(0)]).against == key(2)
    with served(tmp_path, answers("Alone."), name="one") as library:
        assert query.compared(library.runs[0], key(0), only=[key(0)]).against == key(0)


def test_members_that_say_the_same_or_nothing_part_nowhere(tmp_path: Path) -> None:
    with served(tmp_path, answers("", "Yes.", "Yes.", "Yes. No")) as library:
        found = query.compared(library.runs[0], key(1), against=key(2))
        assert [head(found, n) for n in range(4)] == [None, None, None, "Yes."]
        assert not found.members[0].pieces


def test_turns_and_thoughts_part_where_their_kind_differs(tmp_path: Path) -> None:
    with served(tmp_path, answers("<think>a</think>b", "<think>ac</think>b", "plain")) as library:
        found = query.compared(library.runs[0], key(0), against=key(1))
        assert [piece.kind for piece in found.members[0].pieces] == ["think", "text"]
        assert [one.parts_at for one in found.members] == [Spot(0, 1), None, Spot(0, 0)]


def test_only_chosen_members_are_read_and_the_others_a_page_at_a_time(tmp_path: Path) -> None:
    with served(tmp_path, answers(*(f"Answer {n}" for n in range(150)))) as library:
        run = library.runs[0]
        page = query.compared(run, key(70))
        assert (page.total, page.offset, len(page.members)) == (150, 64, 64)
        assert (page.members[0].key, page.against) == (key(64), key(149))
        few = query.compared(run, key(3), only=[key(3), key(99)])
        assert [one.key for one in few.members] == [key(3), key(99)] and few.total == 2
        with pytest.raises(NotFound):
            query.compared(run, key(3), against=key(999))


def test_chosen_members_are_not_looked_for_once_for_each_sample_of_the_group(tmp_path: Path) -> None:
    class Chosen(list[SampleKey]):
        def __contains__(self, wanted: object) -> bool:
            raise AssertionError(f"all that was chosen is gone through for {wanted}")

    with served(tmp_path, answers(*(f"Answer {n}" for n in range(5)))) as library:
        found = query.compared(library.runs[0], key(3), key(0), Chosen([key(3), key(1)]))
        assert [one.key for one in found.members] == [key(1), key(3)]


def test_a_record_that_is_gone_is_told_beside_the_others(tmp_path: Path) -> None:
    with served(tmp_path, answers("one", "two", "three")) as library:
        file = tmp_path / "run" / "rollout_result" / "train" / "0.jsonl"
        held = file.read_bytes().splitlines(keepends=True)
        held[1] = b"x" * (len(held[1]) - 1) + b"\n"
        file.write_bytes(b"".join(held))
        found = query.compared(library.runs[0], key(0))
        assert [bool(one.error) for one in found.members] == [False, True, False]


def steps_of(run: OpenRun, sample: SampleKey) -> list[tuple[int, str, int, float | None]]:
    found = query.recurring(run, query.prompt_hash_of(run, sample))
    return [(one.key.step, one.key.group, one.samples, one.reward.mean) for one in found]


def test_a_prompt_is_known_at_other_steps_whatever_its_group_is_called(tmp_path: Path) -> None:
    first = [row(0, n, group_index=7, prompt="Why?", reward=0.0) for n in range(2)]
    second = [row(1, n, group_index=0, prompt="Who?", reward=0.0) for n in range(2)]
    third = [row(2, n, group_index=n, prompt="Why?", reward=float(n)) for n in range(4)]
    with served(tmp_path, first, second, third) as library:
        run = library.runs[0]
        assert steps_of(run, key(0, group="7")) == [(0, "7", 2, 0.0), (2, "0", 4, 1.5)]
        assert steps_of(run, key(1, 1)) == [(1, "0", 2, 0.0)]
        [_, last] = query.recurring(run, query.prompt_hash_of(run, key(0, group="7")))
        assert last.groups == 4
        with pytest.raises(NotFound):
            query.prompt_hash_of(run, key(0, 99))


def test_a_prompt_is_known_in_another_run(tmp_path: Path) -> None:
    with served(tmp_path, [row(0, 0, prompt="Why?")], name="a") as a:
        problem = query.prompt_hash_of(a.runs[0], key(0))
    with served(tmp_path, [row(0, 0, prompt="Who?")], [row(1, 4, prompt="Why?")], name="b") as b:
        assert [one.key for one in query.recurring(b.runs[0], problem)] == [key(4, 1, "1")]
