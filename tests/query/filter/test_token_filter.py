"""Samples with a token: over packs and segments, beside other conditions, of hostile strings, and of ids."""

from pathlib import Path

import numpy as np
import pytest

import rolloupe
from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun, compaction
from rolloupe.index.segments import pack as packs
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import HasToken, conditions
from rolloupe.query.run.completion import complete
from rolloupe.record import Recorder
from tests.index.support import eventually, opened
from tests.index.token_stats.test_pass import line
from tests.tokenizer.built import built

HOSTILE = ['"; DROP TABLE files; --', "'", '"', "\x00", "%", "?", "~token.", "\u202e", "😀", "x" * 3000, ""]


def found(run: OpenRun, where: str, **more: object) -> set[str]:
    page = query.samples(run, SampleQuery(where=conditions(where), **more))  # type: ignore[pyrefly:bad-argument-type]
    assert page.pending == 0 and page.total == len(page.samples)
    return {str(item.key) for item in page.samples}


def test_of_many_segments_some_packed_each_has_its_own_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SIZES", (8, 4)), ("PLAN_S", 0.0), ("YOUNG_S", 0.1)):
        monkeypatch.setattr(compaction, name, value)
    monkeypatch.setattr(packs, "WORTH", 2)
    (tmp_path / "run").mkdir()
    strings: dict[tuple[int, int], list[str]] = {}
    for step in range(10):
        rows = []
        for index in range(3):
            strings[step, index] = [f"Ġt{(step * 5 + index * 3 + n) % 11}" for n in range(1 + step % 4)]
            count = len(strings[step, index])
            rows.append(line(step, index, count, response_tokens=strings[step, index], reward=float(index)))
        (tmp_path / f"run/rollout_data_rank0_{step}.jsonl").write_text("\n".join(rows) + "\n")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert run.wait_all(60)
        eventually(lambda: any(one.pack is not None for one in run.snapshot().segments))
        items = list(query.every(run, SampleQuery()))
        own = {str(item.key): {*strings[item.step, int(item.reward or 0)]} for item in items}
        for word in ("t0", "t10"):
            expected = {key for key, some in own.items() if f"Ġ{word}" in some}
            assert found(run, f"token {word}") == expected and expected
            assert found(run, f"not token {word}") == own.keys() - expected
            steps = {"splits": ("train",), "step_min": 3, "step_max": 3}
            assert found(run, f"token {word}", **steps) == {key for key in expected if key.startswith("train/3/")}
            both = found(run, f"token {word} and (reward < 2 or max_kl > 0.2) and token ' t1'", sort="reward")
            either = found(run, "reward < 2 or max_kl > 0.2")
            assert both == expected & either & {key for key, some in own.items() if "Ġt1" in some}
        assert found(run, "token T0") == found(run, "token Ġt") == set()
        groups = query.groups_page(run, SampleQuery(where=conditions("token t5")), [])
        assert sum(group.samples for group in groups.groups) == len(found(run, "token t5"))
        path = next((tmp_path / "index").rglob("*.words.tokens.parquet"))
        path.unlink()
        page = query.samples(run, SampleQuery(where=conditions("not token t0")))
        assert page.pending == 3
        asked = [
            SampleQuery(step_min=step, step_max=step, where=conditions("not token t0"))
            for _, step in run.snapshot().steps
        ]
        assert sum(query.samples(run, of_step).pending for of_step in asked) == 3


def test_hostile_strings_are_found_and_nothing_else(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run") as recorder:
        for number, text in enumerate(HOSTILE):
            tokens = [text, "same", " so", "untrained"]
            series = {"logprobs": -np.ones(4), "loss_mask": np.array([1.0, 1.0, 1.0, 0.0])}
            recorder.sample(step=0, index=str(number), prompt="p", response="r", tokens=tokens, series=series)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert run.wait_all(60)
        for number, text in enumerate(HOSTILE):
            page = query.samples(run, SampleQuery(where=(HasToken(text),)))
            assert [int(item.index) for item in page.samples] == [number], text
        assert query.samples(run, SampleQuery(where=(HasToken("\ud800\x00"),))).total == 0
        assert found(run, "token untrained") == set() and len(found(run, "token same")) == len(HOSTILE)
        assert len(found(run, "token so")) == len(found(run, "token ' so'")) == len(HOSTILE)
        assert found(run, "token '  so'") == found(run, "token 'so '") == set()
        with pytest.raises(BadQuery, match="cannot read the filter"):
            conditions("token ")
        assert "token" in [one.text for one in complete(run, SampleQuery(), "tok").found]
        words = complete(run, SampleQuery(), "reward > 0 or token s").found
        assert {(one.text, one.note) for one in words} >= {('"same"', "11"), ('"so"', "11")}
        assert [one.text for one in complete(run, SampleQuery(), 'token "so" a').found] == ["and"]


def test_ids_are_found_by_what_a_tokenizer_makes_of_them(tmp_path: Path) -> None:
    model = built("Llama 3")
    (tmp_path / "tokenizer.json").write_bytes(model.data)
    texts = ["the thing that they think", "they\nthink", "answer"]
    with Recorder(tmp_path / "run") as recorder:
        for number, text in enumerate(texts):
            ids = np.array(model.encode(text), np.int32)
            series = {"token_ids": ids, "logprobs": -np.ones(len(ids))}
            recorder.sample(step=0, index=str(number), prompt="p", response=text, series=series)
    words = {number: {model.ours.texts[one] for one in model.encode(text)} for number, text in enumerate(texts)}
    with rolloupe.open(tmp_path / "run", tokenizer=tmp_path / "tokenizer.json", index_dir=tmp_path / "index") as runs:
        for word in sorted({text for some in words.values() for text in some if text} | {"zebra"}):
            alike = {word} if word.startswith(" ") else {word, f" {word}"}
            where = [HasToken(word)]
            assert {int(one.index) for one in runs.samples(where=where)} == {n for n in words if words[n] & alike}, word
    token = model.encode("answer")[0]
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert library.runs[0].wait_all(60)
        assert found(library.runs[0], f"token {token}")  # without a tokenizer, an id is its digits
