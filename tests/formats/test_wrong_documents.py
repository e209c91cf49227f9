"""Documents whose values have wrong types: each is read, or is a problem that is not a defect of ours."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import by_name
from rolloupe.formats.testing import WRONG
from rolloupe.model import Problem, RunInfo, RunPart, SampleRow
from tests.formats.support import items, load
from tests.formats.test_harbor import ATIF
from tests.formats.test_inspect import HEADER, SAMPLE
from tests.thoroughness import amount

DATA = Path(__file__).parents[1] / "data"
GROUPS = DATA / "art/older/lines/trajectories/train"
TOKENS = {"prompt_token_ids": [1, 2], "completion_token_ids": [3], "logprobs": [-0.5]}


def atif() -> Any:
    document = json.loads(ATIF.read_text())
    document["steps"][1]["metrics"] |= TOKENS
    return document | {"continued_trajectory_ref": "next.json"}


DOCUMENTS = {
    ("inspect", "log.json"): HEADER | {"samples": [SAMPLE]},
    ("inspect", "events.json"): json.loads((DATA / "inspect/inspect-ai-eval.json").read_text()),
    ("harbor", "trajectory.json"): atif(),
    ("art", "1.jsonl"): json.loads(
        (DATA / "art/older/lines/trajectories/train/0003.jsonl").read_text().splitlines()[0]
    ),
}


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*place, key)
        yield from places(inner, (*place, key))


def with_value(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    found = copy.deepcopy(document)
    inner = found
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = copy.deepcopy(value)
    return found


@pytest.mark.parametrize(("format_and_name", "document"), DOCUMENTS.items(), ids=lambda one: "-".join(one)[:20])
def test_values_of_wrong_types_are_no_defect(tmp_path: Path, format_and_name: tuple[str, str], document: Any) -> None:
    name, file = format_and_name
    path = tmp_path / file
    run = RunInfo(name="x", root=str(path), format=name, reason="", parts=(RunPart(str(path)),))
    reader = by_name(name)
    chosen = random.Random(0).choices([*places(document)], k=amount(40, 2000))
    for number, place in enumerate(chosen):
        path.write_text(json.dumps(with_value(document, place, WRONG[number % len(WRONG)])))
        (source,) = reader.sources(run)
        for item in items(run):
            assert not (isinstance(item, Problem) and "defect" in item.reason), (place, item)
            if isinstance(item, SampleRow):
                assert load(reader, run, source, item).key == item.key
        reader.metrics(run), reader.config(run), reader.ending(run)
