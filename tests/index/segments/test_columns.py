"""Samples that are read many at once are those that are read one by one, whatever the lines hold."""

import json
import math
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import by_name
from rolloupe.formats.generic.rows import LineRows
from rolloupe.formats.native.format import Native
from rolloupe.formats.reading import jsonl
from rolloupe.formats.reading.record_blocks import PATIENCE, BlockReader, RecordBlock
from rolloupe.formats.relax import RelaxLines
from rolloupe.formats.rl_logging_board import RLLoggingBoard
from rolloupe.formats.verl import Verl
from rolloupe.index.segments import parts
from rolloupe.index.segments.samples import SampleCollector
from rolloupe.index.segments.step_stats import step_stats_of
from rolloupe.model import Reading, RunInfo, RunPart, SampleColumns, SampleRow, Source
from tests.thoroughness import amount, each

WORDS = 'the root of seven User: hi Assistant: no <think> \n\n [INST] é 漢字 "q" \\n {a} [1] '.split(" ")
CHAT = '[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}]'
ODD = [
    None, True, False, 0, 1, -1, 0.5, -0.0, 3.0, 1e300, 2**53, 2**53 + 1, -(2**60), 10**25, 10**250, "", "1", "0.5",
    "correct", "train", "eval", "test", "x" * 300, "[1,2]", CHAT, json.loads(CHAT), " [", "User: a\nAssistant: b",
    [1, 2], [0.5], [], {}, {"a": 1}, {"score": 1.0}, [["a"]], math.nan, math.inf, "\ud800", "é", "length",
    "stop", "\n\nx", [None, 1], ["a", "b"], [True, 0], [{"logprob": -1.0, "token": "a"}], {"content": [{"logprob": 1}]},
    [[0.5, 1], [1, 2]], "<PAD>a<PAD>", [{"role": "user"}], [{"role": "user", "content": ""}, 1], {"part": 1, "row": 0},
    {"facts": {"kl": [2, 1.0, 0.5, 0, 0, 1, 1]}}, {"a": 2**60, "b": 0.5}, {"acc": True, "x": "y"}, ["<PAD>"],
]  # fmt: skip
KEYS = """error is_completed truncated finish_reason status split is_eval uid id env task metrics tokens logprobs
    loss_mask entropy advantages discarded label answer group_id prompt_id epoch global_step r t g acc correct
    is_correct reward_1 reward_2 completion_0 completion_1 question model note kl None Reward data_source length
    request_id gts choices top_logprobs score reasoning phase dataset agent_turns trace_id prompt_length total_length
    prompt_tokens completion_tokens response_tokens ref_logprobs values token_rewards token_ids response_ids
    prompt_ids logps labels attention_mask ref_response ref_reward valid_reward ref_response_chars series tags uneven
    launch turns index group tools messages rewards scores reward_parts step_rewards reward.acc""".split()
PARTS = "score acc Score total format env note reward kl overall step index".split()
KEYS += ["", 'a"b', "a\\b", "a\nb"]


class Writer:
    """Writes lines of one shape, some of them odd or broken."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.kind = self.random.choice(["relax", "verl", "generic", "rl_logging_board", "native"])
        self.prompt: Any = ""
        self.is_chat, self.end = self.random.random() < 0.3, self.random.choice([b"\n", b"\n", b"\r\n"])
        names = self.random.sample(KEYS, self.random.choice([0, 0, 1, 2, 3, 5]))
        self.last = self.random.choice(["<PAD>", ".<PAD>"])
        self.is_aligned = self.random.random() < 0.5
        self.more = {name: self.values() for name in names}
        parts = self.random.sample(PARTS, self.random.choice([0, 0, 0, 0, 1, 2, 3, 5]))
        self.parts = {name: self.random.choice([self.number, self.number, self.values()]) for name in parts}
        self.oddity = self.random.choice([0, 0, 0.01, 0.05, 0.3])

    def text(self, count: int | None = None) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.choice([0, 1, 3, 20, 60]) if count is None else count))

    def values(self) -> Callable[[], Any]:
        odd = self.random.choice(ODD)
        return self.random.choice(
            [
                lambda: round(self.random.gauss(0, 1), 3),
                lambda: self.random.randrange(5),
                lambda: self.random.choice(["a", "b", "train", "eval", "stop", "x" * 80]),
                lambda: self.random.random() < 0.5,
                lambda: self.text(3),
                lambda: odd,
                lambda: self.random.choice([None, "a_0_1", 3]),
                lambda: self.random.choice([None, {"a": 1}]),
                self.array,
                lambda: self.random.choice([self.array(), None, []]),
                lambda: [self.random.choice(["a", "<PAD>", "b "]) for _ in range(self.random.randrange(4))],
                lambda: [self.random.randrange(3) for _ in range(4)],
                lambda: {"part": 1, "facts": {"logprobs": [3, self.random.random(), 1.0, 0, 0, 1, 1], "kl": [1] * 7}},
                lambda: {name: self.random.random() for name in self.random.sample(["acc", "kl", "x"], 2)},
            ]
        )

    def number(self) -> float:
        return self.random.choice([self.random.random(), 1, 0.0])

    def reward(self) -> Any:
        parts = [(name, value()) for name, value in self.parts.items()]
        if self.random.random() < self.oddity:
            parts = self.random.sample(parts, self.random.randrange(len(parts) + 1))
        return dict(parts) if self.parts else self.number()

    def array(self) -> list[float]:
        return [self.random.gauss(0, 1) for _ in range(self.random.choice([1, 3, 3, 3, 80]))]

    def record(self, number: int) -> dict[str, Any]:
        if number % 4 == 0:
            self.prompt = self.text()
            if self.is_chat:
                said = [{"role": role, "content": self.text(3)} for role in ("system", "user", "assistant", "user")]
                self.prompt = self.random.choice([said[1:2], said[:2], said])
        reward = self.reward()
        record: dict[str, Any]
        if self.kind == "relax":
            record = {
                "rollout_id": number // 16, "sample_index": number, "group_index": number // 4, "prompt": self.prompt,
                "response": self.text(), "label": "4", "reward": reward, "response_length": self.random.randrange(99),
                "status": self.random.choice(["completed", "truncated"]),
            }  # fmt: skip
        elif self.kind == "verl":
            record = {"input": self.prompt, "output": self.text(), "gts": "4", "score": reward, "step": number // 16}
        elif self.kind == "rl_logging_board":
            padded = self.prompt if self.is_chat else f"<PAD>{self.prompt}"
            record = {"prompt": padded, "response": self.text() + self.last, "reward": reward, "step": number // 16}
            if self.is_aligned:
                count = self.random.randrange(1, 90)
                names = ("logprobs", "ref_logprobs", "values", "token_rewards")
                record |= {name: [self.random.gauss(0, 1) for _ in range(count)] for name in names}
                record["response_tokens"] = [*["a"] * count, "<PAD>"]
        elif self.kind == "native":
            record = {
                "uid": f"{number}", "split": "train", "step": number // 16, "group": number // 4, "index": number,
                "reward": self.number(), "advantage": self.number(), "status": "completed", "prompt": self.prompt,
                "response": self.text(), "metrics": {"format": self.number(), "length": number}, "tags": {"level": "a"},
                "prompt_tokens": 3, "response_tokens": self.random.randrange(9), "launch": 0,
            }  # fmt: skip
            if self.oddity and self.is_chat and number % 7 == 0:
                record["reward"] = self.random.choice([reward, None, "0.5", "x" * 300])
            if self.is_aligned:
                record["series"] = {"part": 0, "row": number, "facts": {"logprobs": [3, -1.5, 0.5, -1, 0, 0, 2]}}
        else:
            record = {"step": number // 16, "prompt": self.prompt, "completion": self.text(), "reward": reward}
        record |= {name: value() for name, value in self.more.items()}
        if self.random.random() < self.oddity:
            name = self.random.choice([*record, *KEYS])
            record[name] = self.random.choice(ODD)
            if self.random.random() < 0.3:
                del record[self.random.choice([*record])]
        if self.random.random() < self.oddity:
            record = dict(self.random.sample([*record.items()], len(record)))
        return record

    def line(self, number: int) -> bytes:
        record = self.record(number)
        line = json.dumps(record, ensure_ascii=self.random.random() < 0.5).encode("utf-8", "surrogatepass")
        if self.random.random() >= self.oddity:
            return line
        at = self.random.randrange(len(line))
        return self.random.choice(
            [
                line[:at] + bytes([self.random.randrange(256)]) + line[at:], line[:at] + line[at + 1 :], line[:at],
                line + line, line[:at] + b"\n" + line[at:], line + b"\r", b"", bytes(600) + line, b" " + line,
                line.replace(b"0.", b"-0.", 1), line[:-1] + b', "reward": 0.25}', line[:at] + b"\xff" + line[at:],
            ]
        )  # fmt: skip

    def contents(self) -> bytes:
        lines = [self.line(number) for number in range(self.random.choice([1, 5, 40, 120]))]
        return self.end.join(lines) + self.random.choice([self.end, self.end, b""])


def row_by_row(run: RunInfo, source: Source, start: int, stop: int, patch: pytest.MonkeyPatch) -> parts.Scan:
    with patch.context() as own:
        reader = type(by_name(run.format))
        own.setattr(reader, "scan_columns", reader.scan)
        return parts.scan(run, source, start, stop)


def facts(scan: parts.Scan) -> dict[str, object]:
    """All that an index keeps of a scan; NaN equals NaN."""
    stats = [
        (of.split, of.step, of.rows, of.groups, of.stamp, of.discarded, dict(of.columns), dict(of.metrics))
        for of in step_stats_of(scan.samples)
    ]
    table = scan.table()
    columns: dict[str, object] = {name: str(table[name].to_pylist()) for name in table.column_names}
    ends = scan.stop, scan.unfinished, scan.names, scan.problems, str(table.schema)
    return columns | {"stats": str(stats), "blocks": scan.blocks, "ends": ends}


def scanned(path: Path, kind: str, patch: pytest.MonkeyPatch, cuts: list[int], **known: Any) -> int:
    """Compare both ways to scan the pieces of a file; return the number of its samples."""
    run = RunInfo(name="x", root=str(path), format=kind, reason="", parts=(RunPart(str(path)),))
    source = Source(path=str(path), name=path.name, **known)
    count = 0
    for start, stop in pairwise(cuts):
        scan = parts.scan(run, source, start, stop)
        assert facts(scan) == facts(row_by_row(run, source, start, stop, patch))
        count += scan.samples.count
    return count


@each("seed", range(amount(60, 3_000)))
def test_columns_say_what_rows_say(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(seed)
    data, path = writer.contents(), tmp_path / f"{seed}.jsonl"
    path.write_bytes(data)
    monkeypatch.setattr(jsonl, "BLOCK_BYTES", writer.random.choice([300, 2_000, 8_000, 2**20]))
    split = writer.random.choice([None, "train", "eval" if writer.kind == "relax" else "eval/x"])
    inner = [writer.random.randrange(len(data) + 1) for _ in range(writer.random.choice([0, 0, 1, 3]))]
    cuts, step = sorted({0, len(data), *inner}), writer.random.choice([None, 5])
    scanned(path, writer.kind, monkeypatch, cuts, split=split, step=step)
    path.unlink()


@each("parts", [(), ("score", "acc", "note"), ("acc", "Score")])
@each("is_chat", [False, True])
@each("kind", ["relax", "verl", "generic", "rl_logging_board", "native"])
def test_usual_lines_are_read_as_columns(
    kind: str, is_chat: bool, parts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = next(own for seed in range(1_000) if (own := Writer(seed)).kind == kind)
    writer.oddity, writer.more, path = 0.0, {"kl": lambda: 0.5, "logprobs": lambda: [0.5]}, tmp_path / f"{kind}.jsonl"
    writer.is_chat, writer.last = is_chat, ".<PAD>"
    writer.parts = {name: writer.number if name != "note" else lambda: "fine" for name in parts}
    if parts:  # an empty text beside an object may be no sample
        monkeypatch.setattr(writer, "text", lambda *_: "and so on")
    path.write_bytes(b"".join(writer.line(number) + b"\r\n" for number in range(100)))
    found: list[SampleColumns | None] = []
    for reader in (RelaxLines, Verl, LineRows, RLLoggingBoard, Native):
        columns = reader.columns

        def noted(*asked: Any, columns: Callable[..., SampleColumns | None] = columns) -> SampleColumns | None:
            found.append(columns(*asked))
            return found[-1]

        monkeypatch.setattr(reader, "columns", noted)
    assert scanned(path, kind, monkeypatch, [0, path.stat().st_size]) == 100
    assert [samples.count for samples in found if samples] == [100]


def test_a_scan_gives_up_on_lines_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read, asked = tmp_path / "1.jsonl", BlockReader.read, list[int]()
    path.write_bytes(b'{"input": "a", "output": "b", "score": [1]}\n' * 100)
    monkeypatch.setattr(jsonl, "BLOCK_BYTES", 100)

    def noted(self: BlockReader, whole: bytearray, stop: int, place: int) -> RecordBlock | None:
        asked.append(place)
        return read(self, whole, stop, place)

    monkeypatch.setattr(BlockReader, "read", noted)
    assert scanned(path, "verl", monkeypatch, [0, path.stat().st_size]) == 100
    assert len(asked) == PATIENCE


def test_a_format_that_reads_records_in_its_own_way_has_no_columns_of_another() -> None:
    class Padded(LineRows):
        def row(self, source: Source, record: dict[str, Any], start: int, length: int) -> SampleRow:
            return super().row(source, record, start, length)

    assert not jsonl.has_columns(Padded)
    assert all(map(jsonl.has_columns, (LineRows, RelaxLines, Verl, RLLoggingBoard, Native)))


def test_rows_that_wait_hold_no_messages() -> None:
    collected, row = SampleCollector(), SampleRow(split="", step=0, group="", index="", ordinal=0, start=0, length=0)
    row.messages = [{"role": "assistant", "content": "", "image": "x" * 1000}]
    collected.add(row)
    assert row.messages is None and collected.finish()[0].count == 1


def test_a_choice_of_a_person_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    path.write_text('{"input": "a", "output": "b", "score": 1, "other": 2, "g": "x"}\n')
    reading = Reading(reward_key="other", group_by="g")
    run = RunInfo(name="x", root=str(path), format="verl", reason="", parts=(RunPart(str(path)),), reading=reading)
    samples = parts.scan(run, Source(path=str(path), name="1.jsonl"), 0, path.stat().st_size).samples
    assert ([*samples.fields["reward"]], [*samples.fields["group"]]) == ([2.0], ["x"])
