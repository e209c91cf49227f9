"""Inspect: archives packed in each way, documents, conversations told by events, attachments, and hostile archives."""

import copy
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from rolloupe.formats import by_name, discover
from rolloupe.formats.reading import documents
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.tables import zip_archives
from rolloupe.formats.reading.trainer_files import read_bytes
from rolloupe.formats.testing import FormatContract
from rolloupe.model import Location, Problem
from tests.formats.support import items, limit_contract, only_run, rows, samples

DATA = Path(__file__).parents[1] / "data" / "inspect"
HEADER: dict[str, Any] = {
    "version": 2, "status": "success", "eval": {"task": "me/quiz", "model": "vendor/model", "task_args": {"n": 1}},
    "results": {"scores": [{"name": "match", "metrics": {"accuracy": {"name": "accuracy", "value": 0.5}}}]},
}  # fmt: skip
CALL = {"id": "c", "function": "add", "arguments": {"a": 1}, "type": "function"}
SAMPLE: dict[str, Any] = {
    "id": "q1", "epoch": 1, "input": "1 + 2?", "target": ["3"], "uuid": "u",
    "messages": [
        {"role": "system", "content": "attachment://s"},
        {"role": "user", "content": "1 + 2?"},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "so"}], "tool_calls": [CALL]},
        {"role": "tool", "content": "3", "tool_call_id": "c", "function": "add"},
        {"role": "assistant", "content": "3"},
    ],
    "output": {"choices": [{"message": {"role": "assistant", "content": "3"}, "stop_reason": "stop"}]},
    "scores": {"match": {"value": "C", "explanation": "why"}, "judge": {"value": {"style": 0.25, "tone": "P"}}},
    "metadata": {"level": 3, "kind": "sum", "deep": {"a": [1]}}, "attachments": {"s": "Be brief."},
    "model_usage": {"a": {"input_tokens": 5, "output_tokens": 2}, "b": {"input_tokens": 1, "output_tokens": 1}},
    "total_time": 1.5, "events": [{"event": "state"}], "store": {},
}  # fmt: skip

limit_contract()


def log(path: Path, *some: dict[str, Any], method: int = zipfile.ZIP_DEFLATED, header: str = "header.json") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as archive:
        for number, one in enumerate(some):
            archive.writestr(f"samples/{one.get('id')}_epoch_{one.get('epoch', number)}.json", json.dumps(one))
        archive.writestr("summaries.json", "[]")
        archive.writestr(header, json.dumps(HEADER if header == "header.json" else {"eval": HEADER["eval"]}))
    return path


def packed_by_zstd(path: Path, members: dict[str, bytes]) -> Path:
    """An archive of method 93, each member in two frames, as Inspect writes it from August 2026 on."""
    body, directory = b"", b""
    for name, data in members.items():
        half = len(data) // 2
        content = zstd.compress(data[:half]) + zstd.compress(data[half:])
        facts = struct.pack("<HHHHHLLLHH", 63, 0, 93, 0, 33, zlib.crc32(data), len(content), len(data), len(name), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + facts + struct.pack("<HHHLL", 0, 0, 0, 0, len(body))
        directory += name.encode()
        body += b"PK\x03\x04" + facts + name.encode() + content
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(members), len(members), len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    others = [SAMPLE | {"epoch": n, "uuid": f"u{n}", "scores": {"match": {"value": "I"}}} for n in (2, 3)]
    return log(tmp_path_factory.mktemp("inspect") / "a.eval", SAMPLE, *others, SAMPLE | {"id": 7, "uuid": "u7"})


class TestArchive(FormatContract):
    format = "inspect"
    example = Path()

    @pytest.fixture(autouse=True)
    def with_an_archive(self, archive: Path) -> None:
        type(self).example = archive


def test_a_document_whose_messages_are_told_by_events() -> None:
    run = only_run(DATA / "inspect-ai-eval.json")
    found = samples(run)
    assert (run.format, run.name) == ("inspect", "dependency-policy model")
    assert [(one.row.split, one.row.group, one.row.index, one.row.reward) for one in found] == [
        ("eval/dependency-policy", "case-17", "inspect-ai-eval.json:1", 1.0),
        ("eval/dependency-policy", "case-17", "inspect-ai-eval.json:2", 0.0),
    ]
    roles = [turn.role for turn in found[0].turns]
    assert roles == ["user", "assistant", "assistant", "tool", "assistant", "tool"]
    calls = [part.call.name for turn in found[0].turns for part in turn.parts if part.call]
    assert calls == ["read_file", "bash"] and found[0].label.startswith("The registry")
    assert found[1].turns[-1].parts[0].text == "Network access is disabled."


@pytest.mark.parametrize("kind", ["stored", "deflate", "zstd", "document"])
def test_samples_scores_and_messages_however_a_log_is_packed(tmp_path: Path, kind: str) -> None:
    two = [SAMPLE, SAMPLE | {"epoch": 2, "scores": None, "error": {"message": "x"}}]
    if kind == "document":
        path = tmp_path / "a.json"
        path.write_text(json.dumps(HEADER | {"samples": [*two, {"score": float("nan")}][:2]}))
    elif kind == "zstd":
        members = {f"samples/q1_epoch_{n}.json": json.dumps(one).encode() for n, one in enumerate(two)}
        path = packed_by_zstd(tmp_path / "a.eval", members | {"header.json": json.dumps(HEADER).encode()})
    else:
        path = log(tmp_path / "a.eval", *two, method={"stored": 0, "deflate": 8}[kind])
    run = only_run(tmp_path)
    first, second = samples(run)
    row = first.row
    assert (row.split, row.group, row.index, row.uid) == ("eval/quiz", "q1", f"{path.name}:1", "u")
    assert (row.reward, row.status, row.turns, first.label) == (1.0, "completed", 2, "3")
    assert row.metrics == {
        "total_time": 1.5, "input_tokens": 6.0, "output_tokens": 3.0, "reward.match": 1.0, "reward.judge.style": 0.25,
        "reward.judge.tone": 0.5, "metadata.level": 3.0,
    }  # fmt: skip
    assert (row.tags, second.row.reward, second.row.status) == ({"metadata.kind": "sum"}, None, "error")
    assert first.prompt_text == "Be brief.\n\n1 + 2?" and "events" not in first.extra and "scores" in first.extra
    assert [turn.role for turn in first.turns] == ["system", "user", "assistant", "tool", "assistant"]
    reader = by_name("inspect")
    assert reader.config(run)["eval"]["task_args"] == {"n": 1} and reader.ending(run) == "ended"
    assert [(one.step, one.values) for one in reader.metrics(run)] == [(0, {"match/accuracy": 0.5})]


def test_examples_of_answers_in_the_input_are_prompt(tmp_path: Path) -> None:
    shown = [{"role": role, "content": role, "source": "input"} for role in ("user", "assistant", "user")]
    said = {"role": "assistant", "content": "3", "source": "generate"}
    answered = SAMPLE | {"messages": [*shown, said]}
    silent = SAMPLE | {"epoch": 2, "messages": shown, "output": {}}
    first, second = samples(only_run(log(tmp_path / "a.eval", answered, silent)))
    assert (first.response_text, first.row.turns) == ("3", 1) and "assistant" in first.prompt_text
    assert [turn.role for turn in first.turns] == ["user", "assistant", "user", "assistant"]
    assert (second.response_text, second.row.turns) == ("", 0)


def test_numbers_that_json_lacks_and_samples_without_messages(tmp_path: Path) -> None:
    bare = {"id": 1, "epoch": 1, "input": "q", "output": SAMPLE["output"], "scores": {"s": {"value": float("nan")}}}
    limited = bare | {"id": 2, "limit": {"type": "token", "limit": 9}, "scores": {"s": {"value": "0.25"}}}
    (tmp_path / "a.json").write_text(json.dumps(HEADER | {"samples": [bare, limited, 3]}))
    *found, last = items(only_run(tmp_path))
    assert isinstance(last, Problem) and "no JSON object" in last.reason
    first, second = samples(only_run(log(tmp_path / "b.eval", bare, limited)))
    assert (first.prompt_text, first.response_text, str(first.row.reward)) == ("q", "3", "nan")
    assert (second.row.reward, second.row.status, second.row.status_raw) == (0.25, "truncated", "token")
    assert len(found) == 2


def test_an_evaluation_that_runs_is_open_and_one_without_a_directory_is_named(tmp_path: Path) -> None:
    path = log(tmp_path / "a.eval", SAMPLE, header="_journal/start.json")
    run = only_run(path)
    assert (by_name("inspect").ending(run), len(rows(run))) == ("open", 1)
    path.write_bytes(path.read_bytes()[:-30])
    found = discover([tmp_path])
    assert found.runs == [] and "logs of Inspect without a readable header" in found.notes[0].reason


def test_each_log_of_a_folder_is_a_run_and_other_documents_are_none(tmp_path: Path) -> None:
    log(tmp_path / "a.eval", SAMPLE)
    log(tmp_path / "b.eval", SAMPLE)
    (tmp_path / "c.json").write_text('{"version": 2, "status": "success", "samples": []}')
    (tmp_path / "d.eval").write_bytes(b"PK no archive")
    assert [Path(run.root).name for run in discover([tmp_path]).runs] == ["a.eval", "b.eval"]


def test_a_document_is_recognised_by_what_comes_before_its_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    eval_ = HEADER["eval"] | {"dataset": {"sample_ids": ["x" * 1000] * 1000}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(HEADER | {"eval": eval_, "plan": {"name": "p"}, "samples": [SAMPLE], "reductions": []}))
    most: list[int] = []

    def reads(place: Location | None, limit: int) -> bytes:
        most.append(limit)
        return read_bytes(place, limit)

    monkeypatch.setattr(documents, "read_bytes", reads)
    monkeypatch.setattr(documents, "ListDocument", None)
    run = only_run(tmp_path)
    reader = by_name("inspect")
    assert (run.name, most) == ("me/quiz model", [2**16, 2**20])
    assert reader.config(run)["plan"] == {"name": "p"} and reader.metrics(run)[0].values == {"match/accuracy": 0.5}


@pytest.mark.parametrize("method", [8, 93])
def test_bombs_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: int) -> None:
    monkeypatch.setattr(zip_archives, "FREE_UNPACKED_BYTES", 2**20)
    bomb = b'{"id": "' + b" " * (40 * 2**20 if method == 93 else 20 * 2**20)
    if method == 93:
        path = packed_by_zstd(tmp_path / "a.eval", {"samples/x.json": bomb, "header.json": json.dumps(HEADER).encode()})
    else:
        path = tmp_path / "a.eval"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("samples/x.json", bomb)
            archive.writestr("header.json", json.dumps(HEADER))
    (problem,) = items(only_run(path))
    assert isinstance(problem, Problem) and "expands to more than" in problem.reason


@pytest.mark.parametrize("is_packed", [True, False])
def test_members_that_share_bytes_are_charged_when_they_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_packed: bool
) -> None:
    """Each of many names leads to the same bytes, which expand and fail at their end, or are another member's."""
    monkeypatch.setattr(zip_archives, "FREE_UNPACKED_BYTES", 2**22)
    monkeypatch.setattr(zip_archives, "MAX_RATIO", 1)
    path, names = tmp_path / "a.eval", [f"samples/{n:03d}.json" for n in range(50)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if is_packed else zipfile.ZIP_STORED) as archive:
        archive.writestr(names[0], b" " * 2**20)
        info = archive.infolist()[0]
        info.CRC ^= 1
        for name in names[1:]:
            other = copy.copy(info)
            other.filename = name
            archive.filelist.append(other)
    with zip_archives.Members(Location(str(path), str(tmp_path))) as members:
        reasons = []
        for name in names:
            with pytest.raises(Unusable) as refused:
                members.read(name)
            reasons.append(str(refused.value))
    assert sum("checksum" in one for one in reasons) == 4
    assert all("took all that is read" in one for one in reasons[5:])


def test_names_that_lead_out_encrypted_members_and_false_places_harm_nothing(tmp_path: Path) -> None:
    path = tmp_path / "in" / "a.eval"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for name in (
            "samples/../../../evil.json",
            "../evil.json",
            "/evil.json",
            "samples/ok.json",
            "samples/big/sample.json",
        ):
            archive.writestr(name, json.dumps(SAMPLE))
        archive.writestr("header.json", json.dumps(HEADER))
    found = items(only_run(path))
    assert [type(one).__name__ for one in found] == ["SampleRow", "SampleRow"]
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["a.eval", "in"]
    data = bytearray(path.read_bytes())
    place = data.rfind(b"samples/ok.json") - 46
    for offset, value, reason in ((8, 1, "encrypted"), (42, 7, "no member where"), (16, 9, "checksum")):
        broken = data[:]
        broken[place + offset] ^= value
        path.write_bytes(broken)
        problem = items(only_run(path))[0]
        assert isinstance(problem, Problem) and reason in problem.reason


def chunked(archive: zipfile.ZipFile, record: dict[str, Any], size: int, **more: bytes) -> None:
    """Write a sample in chunks, of this many items each, as inspect_ai 0.3.285 does."""
    folder = f"samples/{record['id']}_epoch_{record['epoch']}"
    messages = [{"role": "user", "content": "of another agent"}, *record["messages"]]  # the pool of all conversations
    refs = [[1, 3], [3, len(messages)]] if record["messages"] else []
    left = ("messages", "events", "attachments", "metadata")
    shell = {key: value for key, value in record.items() if key not in left} | {"message_refs": refs}
    texts = list(record["attachments"].values())
    named = {f"attachment://{key}": f"attachment://{n}" for n, key in enumerate(record["attachments"])}
    sequences = {"messages": messages, "events": record["events"], "attachments": texts, "calls": []}
    members = {"sample": shell, "metadata": record["metadata"], "skeleton": {}, "events/stats": {}, "events/uuids": []}
    for name, items_of in sequences.items():
        members |= {f"{name}/{start}": items_of[start : start + size] for start in range(0, len(items_of), size)}
    for name, value in members.items():
        data = json.dumps(value)
        for old, new in named.items() if not name.startswith("attachments") else ():
            data = data.replace(old, new)
        archive.writestr(f"{folder}/{name}.json", more.get(name.replace("/", "_"), data.encode()))


def log_in_chunks(path: Path, size: int, **more: bytes) -> Path:
    """Two samples in chunks, the second without messages, and one in a member."""
    answer = {"role": "assistant", "content": "Me."}
    told = SAMPLE | {
        "id": "q2", "messages": [], "input": "attachment://long", "attachments": {"s": "no", "long": "Who?"},
        "events": [{"event": "model", "output": {"choices": [{"message": answer}]}}] * 3,
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        chunked(archive, SAMPLE, size, **more)
        chunked(archive, told, size)
        archive.writestr("samples/q3_epoch_1.json", json.dumps(SAMPLE | {"id": "q3"}))
        archive.writestr("header.json", json.dumps(HEADER))
    return path


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_samples_in_chunks_are_as_those_in_one_member(size: int, tmp_path: Path) -> None:
    first, told, whole = samples(only_run(log_in_chunks(tmp_path / "a.eval", size)))
    assert (first.key.group, told.key.group, whole.key.group) == ("q1", "q2", "q3")
    assert repr(first.turns) == repr(whole.turns) and first.turns[0].parts[0].text == "Be brief."
    assert (first.row.reward, first.row.metrics, first.row.tags) == (1.0, whole.row.metrics, whole.row.tags)
    assert (first.label, first.extra) == (whole.label, whole.extra)
    assert (told.prompt_text, told.response_text.split()) == ("Who?", ["Me."] * 3)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("sample", b'{"id": "q1", "epoch": 1, "message_refs": [[0, 1, 2]]}', "not ranges"),
        ("sample", b'{"id": "q1", "epoch": 1, "message_refs": [[0, 99]]}', "is in no chunk"),
        ("sample", b'{"id": "q1", "epoch": 1, "message_refs": [[-5, 2]]}', "is in no chunk"),
        ("sample", b'{"id": "q1", "epoch": 1, "message_refs": [[0, 99999999999]]}', "more than 100,000 messages"),
        ("messages_2", b'{"no": "list"}', "is not a list"),
        ("metadata", b"[", "not JSON"),
    ],
)
def test_chunks_that_do_not_fit_cost_their_sample_alone(name: str, data: bytes, reason: str, tmp_path: Path) -> None:
    found = items(only_run(log_in_chunks(tmp_path / "a.eval", 2, **{name: data})))
    assert [type(one).__name__ for one in found] == ["Problem", "SampleRow", "SampleRow"]
    assert isinstance(found[0], Problem) and reason in found[0].reason
