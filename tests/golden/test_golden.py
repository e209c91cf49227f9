"""Every face answers as it did."""

from collections.abc import Iterator

import pytest

from tests.golden.faces import FACES, Place
from tests.golden.frozen import differences, recorded


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with Place(tmp_path_factory.mktemp("golden") / "runs") as found:
        yield found


@pytest.mark.parametrize("face", FACES)
def test_every_answer_is_as_it_was(face: str, place: Place) -> None:
    changed = differences(recorded(face), FACES[face](place))
    assert changed == [], f"{len(changed)} differences. If all are meant: python -m tests.golden {face}"


def test_a_difference_of_one_number_is_seen() -> None:
    answers = recorded("routes")
    changed = {**answers, (first := next(iter(answers))): [200, "application/json", {"runs": []}]}
    assert any(line.startswith(f"/{first}") for line in differences(answers, changed))


def test_a_sum_may_be_rounded_up_or_down() -> None:
    assert differences(0.605812, 0.605813) == []
    assert differences([9.99999, 1e300], [10.0, 1e300]) == []
    assert differences(0.605812, 0.605814) != []
    assert differences(0.6058123, 0.6058124) != []
    assert differences(1.0, 2.0) != []
