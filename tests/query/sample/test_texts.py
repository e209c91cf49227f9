"""Texts of samples read alone: the same as those of whole samples, and no turn is made of them."""

import json
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe import query
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.model import Texts, Turn
from tests.index.support import lines, opened, row


def shown(text: str) -> str:
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def relax() -> bytes:
    return lines([row(0, n, prompt=shown(f"{n}?"), response=f"<think>a</think>{n}", label=n) for n in range(3)])


def written(folder: Path, name: str) -> None:
    """Three samples in a layout."""
    records: list[dict[str, Any]] = []
    if name == "generic":
        known = {"answer": "4", "completion": "<think>a</think>5"}
        records = [{"question": f"{n}?", **known, "score": n} for n in range(3)]
    elif name == "rl_logging_board":
        texts = {"prompt": "p[PAD]", "response": "r", "ref_response": "x[PAD]", "response_tokens": ["r"]}
        records = [{"step": 0, **texts, "ground_truth": n, "reward": 1.0} for n in range(3)]
    else:
        with rolloupe.Recorder(folder, code=None) as recorder:
            for n in range(3):
                said = [{"role": "assistant", "content": "so"}]
                uid = recorder.sample(step=0, prompt=f"{n}?", response="5", label=str(n), ref_response=said)
                recorder.annotate(uid, advantage=1.0, discarded="stale")
    if records:
        (folder / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))


@pytest.mark.parametrize("name", ["relax", "rl_logging_board", "native", "generic"])
def test_they_are_those_of_the_whole_sample(tmp_path: Path, name: str) -> None:
    """In each layout, the reference's response among them."""
    folder = tmp_path / "run"
    folder.mkdir()
    if name == "relax":
        (folder / "0.jsonl").write_bytes(relax())
    else:
        written(folder, name)
    with opened(folder, tmp_path / "index") as library:
        run = library.runs[0]
        assert run.info.format == name
        read = query.Reader(run)
        items = list(query.every(run, query.SampleQuery()))
        assert len(items) == 3
        for item in items:
            sample, found = query.sample(run, item.key), read.texts(item.key)
            assert (found.prompt, found.response) == (sample.row.prompt, sample.row.response)
            said = "".join(part.raw or part.text for turn in sample.ref_turns for part in turn.parts)
            assert (found.key.shared, found.label, found.reference) == (item.key.shared, sample.label, said)


def test_no_turn_is_made_of_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the first, which is read whole: a step is looked up where a second sample of it is asked for."""
    (tmp_path / "0.jsonl").write_bytes(relax())
    made: list[object] = []
    make = parsers.response_turns

    def counted(value: object, prompt: object = None) -> list[Turn]:
        made.append(value)
        return make(value, prompt)

    with rolloupe.open(tmp_path / "0.jsonl", index_dir=tmp_path / "index") as runs:
        runs.only().wait(texts=True)
        ids = [str(item.key) for item in runs.samples()]
        monkeypatch.setattr(parsers, "response_turns", counted)
        found = [runs.texts(one) for one in ids]
        assert all(isinstance(one, Texts) for one in found)
        assert [one.label for one in found] == ["0", "1", "2"]
        assert len(made) == 1


def test_what_was_written_again_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "0.jsonl"
    file.write_bytes(relax())
    with rolloupe.open(file, index_dir=tmp_path / "index", follow=False) as runs:
        ids = [item.key for item in runs.samples()]
        assert [runs.texts(one).label for one in ids] == ["0", "1", "2"]
        file.write_bytes(file.read_bytes().replace(b'"sample_index": 1', b'"sample_index": 7'))
        with pytest.raises(rolloupe.SourceChanged):
            runs.texts(ids[1])
