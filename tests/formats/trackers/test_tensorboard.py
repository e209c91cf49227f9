"""TensorBoard: samples that OpenRLHF and verl log as texts, in files that grow and files that are damaged."""

import math
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe.formats import by_name, discover
from rolloupe.formats import testing as contract
from rolloupe.formats.reading.trackers import tensorboard as event_files
from rolloupe.formats.reading.trackers.tensorboard import EventText
from rolloupe.formats.trackers import tensorboard
from rolloupe.formats.trackers.tensorboard import samples_of_text
from rolloupe.model import Location, Problem
from tests.formats.reading.trackers.test_trackers import record, scalar
from tests.formats.support import items, limit_contract, only_run, rows, samples
from tests.formats.trackers.support import means

DATA = Path(__file__).parents[2] / "data/trackers/tensorboard"
NAME = "events.out.tfevents.1.host"
VERSION = record(b"\x09" + bytes(8) + b"\x1a\x0dbrain.Event:2")

limit_contract()


class TestManySamplesInATextKeepTheContract(contract.FormatContract):
    """The smallest example, which `test_contract.py` takes, has one sample a text."""

    format = "tensorboard"
    example = DATA / "verl/grpo-a"


def sized(tag: int, data: bytes) -> bytes:
    """A member of a message, of fewer than 16,384 bytes."""
    return bytes([tag << 3 | 2, len(data) & 0x7F | 0x80, len(data) >> 7]) + data


def text(tag: str, step: int, content: str) -> bytes:
    """An event with a text."""
    tensor = b"\x08\x07" + sized(8, content.encode())
    value = sized(1, tag.encode()) + sized(8, tensor)
    return record(b"\x09" + struct.pack("<d", 1.0) + b"\x10" + bytes([step]) + sized(5, sized(1, value)))


def generated(step: int, reward: float) -> bytes:
    """An event as OpenRLHF logs one."""
    return text("train/generated_samples/text_summary", step, f"Sample:\\np\nq\\n\\nReward: {reward:.4f}")


def test_texts_of_openrlhf_and_verl() -> None:
    run = only_run(DATA / "openrlhf")
    assert [(row.split, row.step, row.reward) for row in rows(run)] == [("train", step, 1.0) for step in (1, 2, 3)]
    assert samples(run)[0].response_text == "What is 17 + 25?The answer is 42. ✓"
    verl = only_run(DATA / "verl")
    assert (verl.name, len(by_name("tensorboard").sources(verl))) == ("grpo-a", 2)
    assert means(rows(verl)) == {
        ("eval/generations", 1): (8, 2, 0.375), ("eval/generations", 2): (8, 2, 0.642857),
        ("eval/generations", 3): (8, 2, 0.928571),
    }  # fmt: skip
    assert samples(verl)[1].response_text == "<think>step 1, try 1</think>\n44"


def test_numbers_alone_and_other_texts_are_curves(tmp_path: Path) -> None:
    assert [run.format for run in discover([DATA / "v2_scalars"]).runs] == ["curves"]
    (tmp_path / NAME).write_bytes(VERSION + scalar("r", 1, 0.5, 1.0) + text("notes/text_summary", 1, "Reward: 1"))
    assert [run.format for run in discover([tmp_path]).runs] == ["curves"]


def test_numbers_alone_are_not_decoded_in_the_search_for_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[Location] = []

    def seen(location: Location, *_: int) -> Iterator[EventText]:
        decoded.append(location)
        return iter(())

    monkeypatch.setattr(tensorboard, "event_texts", seen)
    for name, content in (("numbers", scalar("r", 1, 0.5, 1.0)), ("samples", generated(1, 1.0))):
        (tmp_path / name).mkdir()
        (tmp_path / name / NAME).write_bytes(content)
        assert by_name("tensorboard").detect(tmp_path / name) == []
    assert [Path(one.path).parent.name for one in decoded] == ["samples"]


@pytest.mark.parametrize(("score", "reward"), [("tensor(1.)", 1.0), ("-0.5", -0.5), ("good", None)])
def test_a_score_is_the_number_in_its_text(score: str, reward: float | None) -> None:
    of_verl = f"**Generation Results - Step 1**\n\n### Sample 1\n**Input:** p\n\n**Output:** c\n\n**Score:** {score}\n"
    for one in (of_verl, f"Sample:\\nc\\n\\nReward: {score}"):
        (sample,) = samples_of_text("t", 1, one)
        assert not isinstance(sample, str) and sample.record["reward"] == reward


@pytest.mark.parametrize(
    "form", ["Prompt: {}\nResponse: {}\nReward: {}", "**Question:** {}\n\n**Completion**: {}\n\n**Score:** {}\n",
             "\n### Prompt\n{}\n### Output\n{}\n### Reward\n{}"],
)  # fmt: skip
def test_a_text_with_labels_is_a_sample(tmp_path: Path, form: str) -> None:
    said = ("q\n\nq", "Reward: none yet\n", "-0.5"), ("é", "", "nan")
    texts = [text("samples/0/text_summary", 3, form.format(*one)) for one in said]
    (tmp_path / NAME).write_bytes(b"".join([VERSION, *texts, text("notes/text_summary", 1, "Prompt: q\nReward: 1")]))
    found = rows(only_run(tmp_path))
    assert [(row.prompt, row.response, row.step) for row in found] == [(q, a.strip(), 3) for q, a, _ in said]
    assert found[0].reward == -0.5 and math.isnan(found[1].reward or 0)
    began_s = time.process_time()
    for hostile in ("\nOutput: " * 10**5, "\n" * 10**6, " " * 10**6, "\n#" * 10**6):
        assert [*samples_of_text("t", 1, "Prompt: " + hostile)] == []
    assert time.process_time() - began_s < 2


def test_beside_rollouts_of_another_format_it_stays_their_curves(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/1.jsonl").write_text('{"input": "p", "output": "c", "score": 1.0, "step": 1}\n', encoding="utf-8")
    (tmp_path / "run" / NAME).write_bytes(generated(1, 1.0))
    (tmp_path / "tensorboard/run").mkdir(parents=True)
    (tmp_path / "tensorboard/run" / NAME).write_bytes(generated(1, 1.0))
    assert [run.format for run in discover([tmp_path]).runs] == ["verl"]


def test_a_file_that_grows_and_half_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "STRIDE", 64)
    monkeypatch.setattr(event_files, "BLOCK_BYTES", 100)
    path = tmp_path / NAME
    noise = b"".join(scalar("r", n, n, n) for n in range(20))
    first = generated(1, 1.0) + noise + generated(2, 0.5)
    path.write_bytes(first + generated(3, 0.25)[:-3])
    run = only_run(path)
    reader = by_name("tensorboard")
    (source,) = reader.sources(run)
    assert [row.reward for row in rows(run)] == [1.0, 0.5]
    path.write_bytes(first + generated(3, 0.25))
    found = [item for cut in range(0, 2000, 7) for item in reader.scan(run, source, cut, cut + 7)]
    assert repr(found) == repr(rows(run)) and [row.reward for row in rows(run)] == [1.0, 0.5, 0.25]


def test_damage_leaves_out_a_record_or_what_follows(tmp_path: Path) -> None:
    path = tmp_path / NAME
    events = [generated(step, step) for step in (1, 2, 3)]
    path.write_bytes(events[0] + events[1][:-6] + b"x" + events[1][-5:] + events[2])
    found = items(only_run(path))
    assert [one.reason if isinstance(one, Problem) else one.step for one in found] == [  # type: ignore[pyrefly:missing-attribute]
        1, "its checksum does not fit", 3,
    ]  # fmt: skip
    path.write_bytes(events[0] + b"x" + events[1][1:] + events[2])
    _first, problem = items(only_run(path))
    assert isinstance(problem, Problem) and "damaged" in problem.reason and problem.start == len(events[0])


def test_a_validation_with_rules_and_headings_in_its_texts() -> None:
    head = "**Generation Results - Step 3**\n\n"
    parts = [("a\n\n---\n\nb", "### c\n\n---", "0.5"), ("p", "", "None")]
    body = "".join(
        f"### Sample {n}\n**Input:** {asked}\n\n**Output:** {answered}\n\n**Score:** {score}\n\n---\n\n"
        for n, (asked, answered, score) in enumerate(parts, 1)
    )
    found = [one for one in samples_of_text("val/generations", 3, head + body) if not isinstance(one, str)]
    assert [(one.record["prompt"], one.record["response"], one.record["reward"]) for one in found] == [
        ("a\n\n---\n\nb", "### c\n\n---", 0.5), ("p", "", None),
    ]  # fmt: skip
    assert [(one.split, one.own_index) for one in found] == [("eval/generations", "1"), ("eval/generations", "2")]
    torn = [*samples_of_text("val/generations", 3, f"{head}### Sample 1\n**Input:** p")]
    assert torn == ["sample 1 has no output or no score"]
    assert [*samples_of_text("notes", 3, "anything else")] == []


def test_a_validation_that_repeats_its_marks_costs_no_square_of_its_length() -> None:
    text = "**Generation Results - Step 1**\n\n### Sample 1\n**Input:** p" + "\n\n**Output:** a" * 8000
    began_s = time.process_time()
    (torn,) = samples_of_text("val", 1, text)
    (whole,) = samples_of_text("val", 1, f"{text}\n\n**Score:** 1\n")
    assert torn == "sample 1 has no output or no score"
    assert not isinstance(whole, str) and whole.record["prompt"] == "p"
    assert time.process_time() - began_s < 1
