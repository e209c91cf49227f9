"""Runs of Weights & Biases, TensorBoard and SwanLab."""

import struct
from pathlib import Path

from tests.formats.other_runs.writing import ANSWERS, REWARDS, Holds, asked, case, document, places


@case(Holds("wandb", 3, 12))
def wandb_table_of_trl_without_the_log(folder: Path) -> None:
    """An online run whose folder is kept; its `.wandb` is not written yet."""
    columns = ["step", "prompt", "completion", "my_reward", "advantage"]
    data = [[3, asked(prompt), ANSWERS[sample], REWARDS[sample], 0.1] for prompt, sample in places()]
    name = "completions_17_0123456789abcdef0123.table.json"
    document(folder / f"wandb/run-20260203_040506-x1y2z3/files/media/table/{name}", {"columns": columns, "data": data})


@case(Holds("wandb", 6, 24))
def wandb_tables_of_ms_swift_with_megatron(folder: Path) -> None:
    """Two tables, whose step is a column `gen_step`."""
    columns = ["gen_step", "prompt", "completion", "MathAccuracy", "advantages"]
    for step in (2, 9):
        data = [[step, asked(prompt, step), ANSWERS[sample], REWARDS[sample], 0.1] for prompt, sample in places()]
        path = (
            folder / f"wandb/offline-run-20260203_040506-m/files/media/table/completions_{step}_{step:020x}.table.json"
        )
        document(path, {"columns": columns, "data": data})


@case(Holds("wandb", 3, 12))
def wandb_validations_of_verl(folder: Path) -> None:
    """One wide row, under the key of validations."""
    columns = ["step", *(f"{key}_{n + 1}" for n in range(12) for key in ("input", "output", "score"))]
    cells = [cell for prompt, sample in places() for cell in (asked(prompt), ANSWERS[sample], REWARDS[sample])]
    name = "generations_9_00ffee11223344556677.table.json"
    document(
        folder / f"wandb/offline-run-20260203_040506-abc/files/media/table/val/{name}",
        {"columns": columns, "data": [[9, *cells]]},
    )


@case(Holds("wandb", 12, 12))
def wandb_tables_of_openrlhf_that_repeat_each_other(folder: Path) -> None:
    """Each table has the rows of the one before; a text holds prompt and response, so each is a group."""
    columns = ["global_step", "text", "reward"]
    rows = [[n, f"{asked(prompt)}{ANSWERS[sample]}", REWARDS[sample]] for n, (prompt, sample) in enumerate(places())]
    for number in (4, 8, 12):
        name = f"generated_samples_{number}_{number:020x}.table.json"
        path = folder / f"wandb/run-20260101_000000-rlhf/files/media/table/train/{name}"
        document(path, {"columns": columns, "data": rows[:number]})


def tfrecord(data: bytes) -> bytes:
    """A record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def masked(data: bytes) -> int:
    """The masked CRC-32C of some bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number: int) -> bytes:
    """A number of a message."""
    found = b""
    while number >= 128:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def member(field: int, data: bytes) -> bytes:
    """A member of a message."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def text_event(tag: str, step: int, text: str) -> bytes:
    """An event with a text of the text plugin."""
    plugin = member(9, member(1, member(1, b"text")))
    value = member(1, tag.encode()) + plugin + member(8, b"\x08\x07" + member(8, text.encode()))
    return b"\x09" + struct.pack("<d", 1.7e9 + step) + b"\x10" + varint(step) + member(5, member(1, value))


@case(Holds("tensorboard", 3, 12))
def tensorboard_validations_of_verl(folder: Path) -> None:
    """Texts of validations, tags with the ending of the plugin."""
    parts = [
        f"### Sample {n + 1}\n**Input:** {asked(prompt)}\n\n**Output:** {ANSWERS[sample]}\n\n"
        f"**Score:** {REWARDS[sample]}\n\n---\n\n"
        for n, (prompt, sample) in enumerate(places())
    ]
    text = "**Generation Results - Step 20**\n\n" + "".join(parts)
    path = folder / "tensorboard_log/my_project/exp-1/events.out.tfevents.1770000000.node7.123.0"
    path.parent.mkdir(parents=True)
    events = [b"\x09" + struct.pack("<d", 1.7e9) + member(3, b"brain.Event:2")]
    path.write_bytes(b"".join(map(tfrecord, [*events, text_event("val/generations/text_summary", 20, text)])))


@case(Holds("tensorboard", 4, 4))
def tensorboard_samples_of_openrlhf(folder: Path) -> None:
    """A text a step, with breaks as a backslash and an n; scalars beside."""
    scalar = member(1, b"train/reward") + b"\x15" + struct.pack("<f", 0.5)
    events = [b"\x09" + struct.pack("<d", 1.7e9) + b"\x10" + varint(1) + member(5, member(1, scalar))]
    for step, reward in enumerate(REWARDS):
        text = f"Sample:\\n{asked(step)}four\\n\\nReward: {reward:.4f}"
        events.append(text_event("train/generated_samples/text_summary", 200 + step, text))
    path = folder / "tb/ppo_0101T00:00/events.out.tfevents.1770000001.host.99"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(map(tfrecord, events)))


@case(Holds("swanlab", 3, 12))
def swanlab_0_7_table(folder: Path) -> None:
    """Tables of 0.7 lie in numbered folders."""
    rows = [
        {"step": 5, "input": asked(prompt), "output": ANSWERS[sample], "score": REWARDS[sample]}
        for prompt, sample in places()
    ]
    table = {"_swanLab": "table", "colDefs": [{"field": key} for key in rows[0]], "rowData": rows}
    document(folder / "swanlog/run-20251111_111111-a1b2c3d4/media/7/echarts-step5-0123456789abcdef.json", table)


@case(Holds("swanlab", 3, 12))
def swanlab_0_10_without_the_log(folder: Path) -> None:
    """A running run of 0.10 has its tables alone."""
    rows = [
        {"step": 5, "input": asked(prompt), "output": ANSWERS[sample], "score": REWARDS[sample]}
        for prompt, sample in places()
    ]
    table = {"_swanLab": "table", "colDefs": [{"field": key} for key in rows[0]], "rowData": rows}
    document(folder / "swanlog/run-20260304_050607-qwertyui/media/echarts/5-0123456789abcdef.json", table)
