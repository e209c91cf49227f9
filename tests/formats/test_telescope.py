"""Telescope's archives: what they hold, how they are merged, and what damaged or hostile ones cost."""

import io
import json
import shutil
import struct
import zipfile
from collections import Counter
from collections.abc import Callable
from copy import copy as copy_of
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rolloupe
from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name, discover
from rolloupe.formats.reading.tables import zip_archives as zipped
from rolloupe.formats.telescope import archives
from rolloupe.formats.telescope import samples as telescope_samples
from rolloupe.formats.telescope.format import Telescope
from rolloupe.formats.telescope.samples import UnpackedTexts, answer_turns
from rolloupe.lru import Lru
from rolloupe.model import Location, Locator, Problem, RunInfo, Sample, SampleRow
from tests.formats.support import items, load, mean_reward, only_run, rows, samples, values
from tests.thoroughness import amount, slow_unless

RUN = Path(__file__).parents[1] / "data/telescope/run_default"


@pytest.fixture(scope="module")
def run() -> RunInfo:
    return only_run(RUN)


@pytest.fixture(scope="module")
def whole(run: RunInfo) -> list[Sample]:
    return samples(run)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The run, to be changed."""
    shutil.copytree(RUN, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    """The run without archives of events and evaluations, to be changed."""
    shutil.copytree(RUN, tmp_path / "run", ignore=shutil.ignore_patterns("events", "evals_after_training"))
    return tmp_path / "run"


def table(archive: Path, name: str) -> pa.Table:
    """A table of an archive."""
    with zipfile.ZipFile(archive) as file:
        return pq.read_table(io.BytesIO(file.read(f"{name}.parquet")))


def write(path: Path, **tables: pa.Table | bytes) -> Path:
    """Write an archive of tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, one in tables.items():
            if isinstance(one, bytes):
                file.writestr(f"{name}.parquet", one)
            else:
                data = io.BytesIO()
                pq.write_table(one, data)
                file.writestr(f"{name}.parquet", data.getvalue())
    return path


def changed(archive: Path, name: str, change: Callable[[pa.Table], pa.Table | bytes]) -> None:
    """Write an archive again with one table changed."""
    with zipfile.ZipFile(archive) as file:
        names = [info.filename.removesuffix(".parquet") for info in file.infolist() if ".parquet" in info.filename]
    tables = {one: table(archive, one) for one in names}
    write(archive, **{**tables, name: change(tables[name])})


def problems(run: RunInfo) -> list[str]:
    """The reasons of a run's problems."""
    return [item.reason for item in items(run) if isinstance(item, Problem)]


def test_every_sample_of_all_archives_once(run: RunInfo) -> None:
    found = rows(run)
    train = [row for row in found if row.split == "train"]
    kept = [row for row in train if not row.discarded]
    assert len({row.key for row in found}) == len(found) == 172 + 156 + 36 + 48 + 16
    assert Counter(row.step for row in kept) == {**dict.fromkeys(range(10), 16), 10: 12}
    assert Counter(row.discarded for row in train) == {
        "": 172, "max_async": 120, "zero_advantage": 36, "off_policy": 16, "eval_drain": 20,
    }  # fmt: skip
    assert mean_reward(kept) == pytest.approx(1.0313953, abs=1e-6)
    assert sum(row.total_tokens or 0 for row in kept) == 86_671
    assert Counter(row.status_raw for row in kept) == {
        "stop": 97,
        "final_answer": 67,
        "max_turns_reached": 5,
        "length": 3,
    }
    assert Counter(row.metrics["off_policy_steps"] for row in kept) == {0.0: 165, 1.0: 7}
    assert len({(row.step, row.group) for row in kept}) == 43
    assert Telescope().step_states(run) == {("train", 10): "incomplete"}


def test_evaluations_and_one_after_training(run: RunInfo) -> None:
    found = [row for row in rows(run) if row.split != "train"]
    during = [row for row in found if "-" not in row.index]
    assert Counter((row.split, row.step) for row in during) == {
        (f"eval/{name}", step): count for name, count in (("countdown", 12), ("shop_agent", 4)) for step in (0, 5, 10)
    }
    assert [row for row in found if row.reward is not None] == []
    assert len(found) - len(during) == 16
    afterwards = [row for row in found if "-" in row.index]
    assert {(row.step, row.index.partition("-")[2]) for row in afterwards} == {(10, "20261121_005242")}
    assert Counter(row.split for row in afterwards) == {
        "eval/countdown_after_training": 12, "eval/shop_agent_after_training": 4,
    }  # fmt: skip
    assert found[0].prompt and "_equation_reward" in found[0].metrics and found[0].metrics["model_step"] == 0


def test_cancelled_samples_have_no_answer_and_no_reward(whole: list[Sample]) -> None:
    cancelled = [one for one in whole if one.row.tags.get("cancelled")]
    assert len(cancelled) == 36 and {one.row.status for one in cancelled} == {"aborted"}
    assert all(one.row.reward is None and one.row.prompt and not one.row.response for one in cancelled)
    assert {one.row.index for one in cancelled if not one.row.uid} == {"none-1", "none-2", "none-3"}
    assert all("no answer" in one.notes[0] for one in cancelled)


def test_a_sample_of_several_turns(whole: list[Sample]) -> None:
    (one,) = [one for one in whole if one.row.uid == "20"]
    assert str(one.key) == "train/0/11/20"
    assert [turn.role for turn in one.turns] == ["system", "user", *["assistant", "tool"] * 3, "assistant"]
    first, answer = one.turns[2:4]
    (call,) = [part.call for part in first.parts if part.call]
    assert (call.name, call.arguments, call.error) == ("lookup_order", '{"order_id": "ORD-1001"}', "")
    assert (answer.name, answer.tool_call_id, answer.tokens) == ("lookup_order", call.id, 26)
    assert answer.parts[0].text == "[lookup_order] order ORD-1001, status: delivered\n- D401 x2"
    assert answer.logs["success"] is True
    assert (first.tokens, first.stop_reason, first.metrics["prompt_tokens"]) == (53, "stop", 327)
    assert one.turns[-1].logs["grader"] == "wanted 12.80, got 12.8"
    assert one.label == "12.80" and one.row.tags == {"difficulty": "one line", "status": "delivered"}
    assert one.extra["raw_string"].startswith("<|im_start|>system")
    assert (one.row.turns, one.row.prompt_tokens, one.row.env) == (4, 327, "shop_agent")
    assert [part.kind for part in first.parts] == ["think", "text", "tool_call"]


def test_texts_are_verbatim_and_timings_are_those_of_single_turns(whole: list[Sample]) -> None:
    (one,) = [one for one in whole if one.row.uid == "16"]
    assert one.turns[-1].metrics["ttft"] == pytest.approx(0.01366446) and one.turns[-1].logs["server_id"] == 0
    assert one.row.response == "".join(part.raw or part.text for part in one.turns[-1].parts)
    assert one.row.response in one.extra["raw_string"]
    several = [turn for one in whole if one.row.turns > 1 for turn in one.turns if turn.role == "assistant"]
    assert several and not any("ttft" in turn.metrics or "server_id" in turn.logs for turn in several)


def test_calls_that_failed_say_so(whole: list[Sample]) -> None:
    kept = [one for one in whole if one.row.split == "train" and not one.row.discarded]
    calls = [part.call for one in kept for turn in one.turns for part in turn.parts if part.call]
    assert len([call for call in calls if not call.id]) == 5  # written in a last turn, and never run
    calls = [call for call in calls if call.id]
    assert Counter(call.name for call in calls) == {"get_price": 127, "lookup_order": 81, "calculate": 40, "price": 3}
    assert Counter(call.error for call in calls if call.error) == {"argument_error": 9, "unknown_tool": 3}


def test_an_exported_prompt_begins_with_its_system_part(tmp_path: Path, run: RunInfo, whole: list[Sample]) -> None:
    (one,) = [one for one in whole if one.row.uid == "20"]
    with rolloupe.open(run.root, index_dir=tmp_path) as runs:
        assert runs.only().texts(str(one.key)).prompt == one.prompt_text
    assert [turn.role for turn in one.turns[:2]] == ["system", "user"]
    asked = [turn.parts[0].text for turn in one.turns[:2]]
    assert one.prompt_text == "\n\n".join(asked) and one.row.prompt == "\n\n".join(reversed(asked))


@pytest.mark.slow
def test_turns_are_what_was_sent_and_nothing_twice(run: RunInfo) -> None:
    """Tools return texts of their own, and the environment sends one message for several calls: that message alone."""
    reader = by_name("telescope")
    several = 0
    for source in reader.sources(run):
        for row in reader.scan(run, source, 0, 2**62):
            assert isinstance(row, SampleRow)
            sample = load(reader, run, source, row)
            tables = json.loads(reader.raw(source, sample.locator))
            sent = [tables["prompts"].get(name) for name in ("system_prompt", "prompt")]
            sent += [one["content"] for name in ("generations", "env_responses") for one in tables.get(name, [])]
            shown = ["".join(part.text if part.raw is None else part.raw for part in turn.parts)
                     for turn in sample.turns]  # fmt: skip
            assert Counter(shown) == Counter(filter(None, sent))
            assert all(part.text in text for turn, text in zip(sample.turns, shown, strict=True) for part in turn.parts)
            calls = [part.call.id for turn in sample.turns for part in turn.parts if part.call and part.call.id]
            answered = [turn.tool_call_id.split(", ") for turn in sample.turns if turn.tool_call_id]
            assert [one for ids in answered for one in ids] == calls
            several += sum(len(ids) > 1 for ids in answered)
    assert several == 66


def test_a_message_that_answers_several_calls(run: RunInfo, whole: list[Sample]) -> None:
    (one,) = [one for one in whole if str(one.key) == "train/0/15/37"]
    (turn,) = [turn for turn in one.turns if "," in turn.tool_call_id]
    assert (turn.name, turn.tool_call_id, turn.tokens) == ("get_price", "0.1.0, 0.1.1, 0.1.2", 86)
    assert [turn.logs[f"success (call {call})"] for call in range(3)] == [True] * 3
    assert one.row.response.count("Rain jacket") == 1


def message(content: str, kind: str = "tool_result") -> dict[str, Any]:
    return {"content": content, "turn_type": kind}


def call(number: int, result: str) -> dict[str, Any]:
    return {"agent_id": 0, "generation_idx": 3, "tool_call_idx": number, "tool_name": f"t{number}", "result": result}


@pytest.mark.parametrize(
    ("messages", "results", "expected"),
    [
        (["[a] 4", "[b] 44"], ["4", "44"], ["0.3.0", "0.3.1"]),
        (["[b] 44", "[a] 5"], ["5", "44"], ["0.3.1", "0.3.0"]),
        (["[a] 4", "[b] 4"], ["4", "4"], ["0.3.0", "0.3.1"]),
        (["one: 7, two: 8", "three: 9"], ["7", "8", "9"], ["0.3.0, 0.3.1", "0.3.2"]),
        (["cut", "off"], ["long", "longer"], ["0.3.0", "0.3.1"]),
        (["cut"], ["long", ""], ["0.3.0, 0.3.1"]),
        ([], ["4", ""], ["0.3.0"]),
    ],
)
def test_which_calls_a_message_answers(messages: list[str], results: list[str], expected: list[str]) -> None:
    calls = [call(number, result) for number, result in enumerate(results)]
    found = answer_turns([message(content) for content in messages], calls, UnpackedTexts())
    assert [turn.tool_call_id for turn in found] == expected
    assert [turn.parts[0].text for turn in found] == (messages or ["4"])


def test_results_that_no_message_holds_are_kept_beside_it() -> None:
    turns = answer_turns(
        [message("cut at 1"), message("try again", "feedback")], [call(2, "cut at 10")], UnpackedTexts()
    )
    assert [(turn.role, turn.tool_call_id) for turn in turns] == [("tool", "0.3.2"), ("user", "")]
    assert turns[-1].logs == {"turn_type": "feedback", "result (call 2)": "cut at 10"}


def test_what_the_run_declares(run: RunInfo) -> None:
    assert run.reward_range == (-0.3, 2.0)
    assert run.env_reward_ranges == (("countdown", 0.0, 2.0), ("shop_agent", -0.3, 1.2))
    assert ("num_tool_errors", 3.0, 0.0) in run.metric_ranges and ("refund_correct", 0.0, 1.0) in run.metric_ranges


def test_what_lies_beside_the_samples(run: RunInfo) -> None:
    reader = by_name("telescope")
    found = reader.metrics(run)
    assert [row.step for row in found] == list(range(10))
    assert len({name for row in found for name in row.values} - {"_step"}) == 8
    assert found[9].values["rollout/reward_mean"] == pytest.approx(1.4125)
    config = reader.config(run)
    assert config["group_size"] == 4 and config["summary"]["env_details"][0]["name"] == "countdown"
    assert {one.name for one in reader.files(run)} >= {"steps/tail.zip", "config.json", "code/metadata.json"}
    assert reader.code_diff(run) == "" and reader.checkpoints(run) == []


def test_rows_of_a_sample_can_be_read_raw(run: RunInfo) -> None:
    reader = by_name("telescope")
    source = reader.sources(run)[0]
    row = next(item for item in reader.scan(run, source, 0, 1) if isinstance(item, SampleRow))
    document = json.loads(
        reader.raw(source, Locator(source=source.name, start=row.start, length=row.length, part=row.part))
    )
    assert document["samples_data"]["sample_id"] == int(row.index)
    assert document["generations"][0]["content"] in document["samples_data"]["raw_string"]
    assert reader.read(source, 0, 4) == b"PK\x03\x04"


@pytest.mark.parametrize(
    "gone",
    [
        slow_unless("tail" not in gone and gone != "steps", gone)
        for gone in ("steps", "events", "steps/block_live.zip", "events/block_live.zip", "events/tail.zip")
    ],
)
def test_archives_stand_in_for_those_that_are_missing(whole: list[Sample], copy: Path, gone: str) -> None:
    shutil.rmtree(copy / gone) if (copy / gone).is_dir() else (copy / gone).unlink()
    before = {one.key: one.row for one in whole}
    after = {row.key: row for row in rows(only_run(copy))}
    kept = {key for key, row in before.items() if not row.discarded and key.split == "train"}
    if gone == "events":
        assert set(after) == {key for key in before if key in kept or ("-" in key.index and key.split != "train")}
    else:
        assert set(after) == set(before)
    assert all(after[key].reward == before[key].reward and after[key].response == before[key].response for key in after)


def test_a_tail_that_is_newer_adds_what_the_block_lacks(copy: Path) -> None:
    changed(copy / "steps/block_live.zip", "samples_data", lambda old: old.filter(pa.compute.less(old["step"], 8)))
    shutil.rmtree(copy / "events")
    run = only_run(copy)
    assert len([row for row in rows(run) if row.split == "train"]) == 172
    reader = by_name("telescope")
    added = [item for item in reader.scan(run, reader.sources(run)[1], 0, 1) if isinstance(item, SampleRow)]
    assert {row.step for row in added} == {8, 9, 10}


def test_what_an_archive_leaves_to_others_is_in_its_word(copy: Path) -> None:
    run = only_run(copy)
    reader = by_name("telescope")
    before = {source.name: source.depends for source in reader.sources(run)}
    changed(copy / "steps/block_live.zip", "samples_data", lambda old: old.slice(0, 100))
    after = {source.name: source.depends for source in reader.sources(run)}
    assert {name for name in before if before[name] != after[name]} == {"steps/tail.zip"}


def test_outlines_of_few_archives_are_kept(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [(one.name, one.depends) for one in Telescope().sources(only_run(copy))]
    monkeypatch.setattr(archives, "OUTLINES", Lru(total=0))
    monkeypatch.setattr(archives, "MERGED", Lru())
    assert [(one.name, one.depends) for one in Telescope().sources(only_run(copy))] == kept
    assert len(kept) > 1 and len(archives.OUTLINES) == 0


def test_one_archive_is_a_run(tmp_path: Path) -> None:
    assert len(rows(only_run(RUN / "steps/tail.zip"))) == 76


def test_missing_tables_and_columns_cost_what_they_held(copy: Path) -> None:
    archive = copy / "steps/block_live.zip"
    own = table(archive, "samples_data").drop_columns(["reward", "stop_reason", "raw_string"])
    for other in ("steps/tail.zip", "events", "evals_after_training"):
        shutil.rmtree(copy / other) if (copy / other).is_dir() else (copy / other).unlink()
    write(archive, samples_data=own, prompts=table(archive, "prompts").drop_columns(["system_prompt", "env"]))
    found = rows(only_run(copy))
    assert (
        len(found) == 172 and {row.reward for row in found} == {None} and {row.status for row in found} == {"unknown"}
    )
    assert all(row.prompt and not row.response for row in found)


def test_rows_without_ids_are_problems(steps: Path) -> None:
    def without(old: pa.Table) -> pa.Table:
        ids = pa.array([None if n == 3 else value for n, value in enumerate(old["sample_id"].to_pylist())], pa.int32())
        return old.set_column(old.column_names.index("sample_id"), "sample_id", ids)

    changed(steps / "steps/block_live.zip", "samples_data", without)
    assert problems(only_run(steps)) == ["samples_data, row 3: no sample_id"]


@pytest.mark.parametrize("bad", [slow_unless(False, b""), b"PK", slow_unless(False, b"not a zip at all" * 100)])
def test_an_archive_that_cannot_be_opened_is_a_problem_that_may_pass(steps: Path, bad: bytes) -> None:
    (steps / "steps/tail.zip").write_bytes(bad)
    found = [item for item in items(only_run(steps)) if isinstance(item, Problem)]
    assert [(item.source, item.transient) for item in found] == [("steps/tail.zip", True)]


def test_a_damaged_table_costs_itself_alone(copy: Path) -> None:
    changed(copy / "steps/block_live.zip", "tool_calls", lambda old: b"PAR1 and nothing else")
    found = items(only_run(copy))
    assert len([row for row in found if isinstance(row, SampleRow)]) == 428
    (problem,) = [item for item in found if isinstance(item, Problem)]
    assert problem.reason.startswith("tool_calls: could not be read")


def test_columns_of_other_types(steps: Path) -> None:
    def other(old: pa.Table) -> pa.Table:
        texts = pa.array([f"{value}" for value in old["reward"].to_pylist()])
        nested = pa.array([[1]] * old.num_rows)
        return old.set_column(old.column_names.index("reward"), "reward", texts).append_column("odd", nested)

    changed(steps / "steps/block_live.zip", "samples_data", other)
    changed(steps / "steps/block_live.zip", "prompts", lambda old: old.rename_columns(["x", *old.column_names[1:]]))
    found = rows(only_run(steps))
    assert len(found) == 172 and {row.reward for row in found} == {None}


def test_text_that_is_no_utf8_and_frames_that_are_none(steps: Path) -> None:
    def bad(old: pa.Table) -> pa.Table:
        raw = pa.array([b"\xff\xfe%d" % n for n in range(old.num_rows)], pa.binary())
        return old.set_column(old.column_names.index("prompt"), "prompt", pa.Array.from_buffers(
            pa.string(), len(raw), raw.buffers()))  # fmt: skip

    def torn(old: pa.Table) -> pa.Table:
        frames = [frame[: len(frame) // 2] for frame in old["content"].to_pylist()]
        return old.set_column(old.column_names.index("content"), "content", pa.array(frames, pa.binary()))

    changed(steps / "steps/block_live.zip", "prompts", bad)
    changed(steps / "steps/block_live.zip", "generations", torn)
    found = samples(only_run(steps))
    one = next(one for one in found if one.row.uid == "16")
    assert one.turns[1].parts[0].text.startswith("\ufffd\ufffd")
    assert "cut off" in one.notes[0] and len(found) == 172


def test_a_bomb_of_a_frame_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = pa.Codec("zstd").compress(b"a" * 2**24, asbytes=True)
    monkeypatch.setattr(telescope_samples, "MAX_TEXT_BYTES", 2**20)
    texts = UnpackedTexts()
    assert len(texts.of(bomb)) == 2**20 and "MiB of text" in texts.notes[0]
    assert len(texts.of(bomb)) <= 1


def test_a_bomb_of_a_member_is_a_problem(steps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped, "FREE_BYTES", 2**20)
    monkeypatch.setattr(zipped, "MAX_RATIO", 20)
    changed(steps / "steps/block_live.zip", "env_responses", lambda old: b"\0" * 2**22)
    (reason,) = problems(only_run(steps))
    assert "expands to more than" in reason


def test_members_that_share_bytes_are_charged_when_they_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped, "FREE_BYTES", 2**22)
    monkeypatch.setattr(zipped, "MAX_RATIO", 1)
    path, names = tmp_path / "a.zip", [f"{n}.parquet" for n in range(20)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(names[0], b" " * 2**20)
        for name in names[1:]:
            other = copy_of(archive.infolist()[0])
            other.filename = other.orig_filename = name
            archive.filelist.append(other)
    tables = zipped.Tables(Location(str(path), str(tmp_path)))
    for name in names:
        assert tables.table(name.removesuffix(".parquet")) is None
    spent = sum(tables.unpacked_bytes.values())
    assert spent <= 2**22 + 2**20 * len(names) // 8, "what fails counts"


def test_values_that_a_dictionary_repeats_are_decoded_by_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped, "LARGE_BYTES", 2**16)
    data, batch_rows = io.BytesIO(), list[int]()
    pq.write_table(pa.table({"a": ["x" * 2**17] * 500}), data)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("some.parquet", data.getvalue())
    batches = pq.ParquetFile.iter_batches

    def seen(file: pq.ParquetFile, batch_size: int, **options: Any) -> Any:
        batch_rows.append(batch_size)
        return batches(file, batch_size, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", seen)
    table = zipped.Tables(Location(str(tmp_path / "a.zip"), str(tmp_path))).table("some")
    assert table is not None and table.num_rows == 500 and batch_rows == [zipped.FEW_ROWS]


def test_a_large_table_lies_on_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        shutil.copy(RUN / "steps/tail.zip", tmp_path / name)
    before = samples(only_run(tmp_path / "first/tail.zip"))
    monkeypatch.setattr(zipped, "IN_MEMORY_BYTES", 2000)
    monkeypatch.setattr(zipped, "BATCH_ROWS", amount(40, 7))
    after = samples(only_run(tmp_path / "second/tail.zip"))
    assert [(one.key, one.row, one.turns, one.extra) for one in after] == [
        (one.key, one.row, one.turns, one.extra) for one in before
    ]
    assert len(after) == 76


def test_members_with_paths_and_too_many_of_them(steps: Path) -> None:
    with zipfile.ZipFile(steps / "steps/tail.zip", "a") as file:
        file.writestr("../../../tmp/evil.parquet", b"x")
    (reason,) = problems(only_run(steps))
    assert "members with paths" in reason
    with zipfile.ZipFile(steps / "steps/tail.zip", "a") as file:
        for number in range(1100):
            file.writestr(f"{number}", b"")
    (reason,) = problems(only_run(steps))
    assert "a directory of 1,113 members" in reason


def test_of_two_directories_the_one_that_lies_is_not_believed(steps: Path) -> None:
    """A directory for large archives precedes the usual one and lists more."""
    archive = steps / "steps/tail.zip"
    data = archive.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    size, offset = struct.unpack_from("<2L", data, end + 12)
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0)
    more = b"".join(entry + b"%07d" % number for number in range(100_000))
    large = struct.pack(
        "<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 100_000, 100_000, size + len(more), offset
    ) + struct.pack("<4sLQL", b"PK\6\7", 0, end + len(more), 1)
    archive.write_bytes(data[:end] + more + large + data[end:])
    (reason,) = problems(only_run(steps))
    assert "a directory of more than 4 MiB" in reason


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, slow_unless(False, zipfile.ZIP_LZMA)])
def test_what_is_packed_in_ways_that_no_trainer_uses_is_a_problem(steps: Path, method: int) -> None:
    with zipfile.ZipFile(steps / "steps/tail.zip", "w", method) as file:
        file.writestr("samples_data.parquet", b"x" * 1000)
        file.writestr("prompts.parquet", b"x" * 1000)
    packed = bytearray((steps / "steps/tail.zip").read_bytes())
    packed[60:70] = b"\xff" * 10
    (steps / "steps/tail.zip").write_bytes(packed)
    found = problems(only_run(steps))
    assert found and all(f"packed by method {method}" in reason for reason in found)


@pytest.mark.parametrize(
    ("name", "count"), [("samples_data", 5_000_000), slow_unless(False, "rollouts_metrics", 20_000_000)]
)
def test_rows_without_end_are_not_decoded(steps: Path, name: str, count: int) -> None:
    """Millions of rows that are all the same take some kilobytes."""
    rows = pa.table({one: pa.repeat(pa.scalar(1, pa.int32()), count) for one in ("sample_id", "step")})
    changed(steps / "steps/block_live.zip", name, lambda _: rows)
    assert (steps / "steps/block_live.zip").stat().st_size < 2**18
    assert any(reason.startswith(name) and "more than are read of so small a file" in reason
               for reason in problems(only_run(steps)))  # fmt: skip


def test_samples_of_one_id_are_counted(steps: Path) -> None:
    def same(old: pa.Table) -> pa.Table:
        ids = pa.array([*old["sample_id"].to_pylist()[:-2], *[old["sample_id"][0].as_py()] * 2], pa.int32())
        return old.set_column(old.column_names.index("sample_id"), "sample_id", ids)

    changed(steps / "steps/block_live.zip", "samples_data", same)
    assert problems(only_run(steps)) == ["samples_data: 2 rows have the id of an earlier one: left out"]


def test_a_link_out_of_the_root_is_refused(copy: Path, tmp_path: Path) -> None:
    (copy / "steps/tail.zip").rename(tmp_path / "outside.zip")
    (copy / "steps/tail.zip").symlink_to(tmp_path / "outside.zip")
    assert "steps/tail.zip" not in {source.name for source in by_name("telescope").sources(only_run(copy))}


def test_a_sample_that_is_gone(steps: Path) -> None:
    run = only_run(steps)
    reader = by_name("telescope")
    source = reader.sources(run)[0]
    row = [item for item in reader.scan(run, source, 0, 1) if isinstance(item, SampleRow)][-1]
    changed(steps / "steps/block_live.zip", "samples_data", lambda old: old.slice(0, 3))
    with pytest.raises(SourceChanged, match="no such row"):
        load(reader, run, source, row)
    (steps / "steps/block_live.zip").unlink()
    with pytest.raises(SourceChanged):
        load(reader, run, source, row)


def test_other_archives_are_nobodys(tmp_path: Path) -> None:
    write(tmp_path / "run/steps/tail.zip", other=pa.table({"a": [1]}))
    assert discover([tmp_path]).runs == []
    write(tmp_path / "some.zip", other=pa.table({"a": [1]}))
    assert discover([tmp_path / "some.zip"]).runs == []


COLUMNS = ("step", "group_id", "sample_id", "agent_id", "generation_idx", "content", "tokens", "stop_reason", "reward",
           "metric_name", "value", "key", "tag_name", "tag_value", "tool_name", "arguments", "result", "turn_type",
           "info_key", "info_value", "eval_name", "sample_idx", "discard_reason", "trainer_step")  # fmt: skip

TABLES = (
    "samples_data", "prompts", "generations", "env_responses", "tool_calls", "rollouts_metrics", "golden_answers",
    "info_turns", "sample_tags", "samples_data_eval", "samples_data_cancelled",
)  # fmt: skip


@st.composite
def odd_tables(draw: st.DrawFn) -> dict[str, pa.Table]:
    """Tables whose columns hold anything that Parquet can."""
    kinds = [pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.binary(), pa.bool_(), pa.uint64()]
    found = {}
    for name in TABLES:
        count = draw(st.integers(0, 4))
        columns: dict[str, Any] = {}
        for column in draw(st.lists(st.sampled_from(COLUMNS), unique=True, min_size=1)):
            kind = draw(st.sampled_from(kinds))
            own = [_fitting(draw(values), kind) for _ in range(count)]
            columns[column] = pa.array(own, kind)
        columns.setdefault("sample_id", pa.array([1] * count, pa.int32()))
        found[name] = pa.table(columns)
    return found


def _fitting(value: object, kind: pa.DataType) -> object:
    try:
        return pa.scalar(value, kind).as_py()
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError, ValueError):
        return None


@settings(max_examples=amount(6, 60), deadline=None)
@given(odd_tables())
def test_whatever_tables_hold_a_scan_ends_and_what_it_lists_loads(
    tmp_path_factory: Any, tables: dict[str, pa.Table]
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    write(folder / "run/steps/tail.zip", **tables)
    run = only_run(folder / "run")
    reader = by_name("telescope")
    source = reader.sources(run)[0]
    for item in items(run):
        if isinstance(item, SampleRow):
            sample = load(reader, run, source, item)
            assert sample.row == item
            json.loads(reader.raw(source, sample.locator))
        else:
            assert isinstance(item, Problem) and "defect" not in item.reason
