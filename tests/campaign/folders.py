"""Writes a folder as a stranger would, and says what has to be read from it."""

import csv
import gzip
import io
import json
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaign import words
from tests.campaign.style import ENDINGS, FLAT, TABLES, Style, compose
from tests.campaign.truth import Message, Plan, Sample, plan, samples
from tests.campaign.words import pick


@dataclass
class Expected:
    """What has to be shown of one sample. None: the files do not say it."""

    step: int | None
    group: Hashable
    reward: float | None
    prompt: str | None
    """The whole prompt, where it is one text."""
    prompt_turns: tuple[Message, ...]
    """The messages of the prompt: their texts must be in it, in this order."""
    response: str | None
    response_turns: tuple[Message, ...]
    label: str | None = None
    advantage: float | None = None
    status: str | None = None
    mask: list[bool] | None = None
    logprobs: list[float] | None = None
    ids: list[int] | None = None


@dataclass
class Case:
    """A folder, what it holds, and the habits with which it was written."""

    seed: int
    folder: Path
    expected: list[Expected] = field(default_factory=list)
    features: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Field:
    """One value of a row: where it stands, and whether all samples of a group share it."""

    path: tuple[str, ...]
    value: Any
    is_shared: bool = False
    stays: bool = False
    """The key is the same for one value and for many."""


def make(seed: int, folder: Path) -> Case:
    """Write the folder of a seed."""
    from tests.campaign.observed import OBSERVED

    rng = Random(seed)
    case = Case(seed, folder)
    if rng.random() < 0.15:
        name = pick(rng, {name: weight for name, (weight, _) in OBSERVED.items()})
        case.features = {"observed": name}
        case.expected = OBSERVED[name][1](rng, folder)
    else:
        _compose(rng, case)
    for name in rng.sample(list(words.JUNK), rng.choice((0, 0, 0, 1, 1, 2, 3))):
        if not (folder / name).exists():
            (folder / name).write_text(words.JUNK[name], encoding="utf-8")
            case.features[f"beside {name}"] = "yes"
    return case


def _compose(rng: Random, case: Case) -> None:
    """Write a folder in habits chosen at random."""
    ground = plan(rng)
    style = compose(rng, ground)
    styles = [style] * len(ground.steps)
    has_columns = style.container in (*FLAT, "parquet")
    if (
        len(styles) > 1
        and style.layout != "batch"
        and rng.random() < 0.12
        and not (has_columns and style.step_place == "row")
    ):
        cut = rng.randint(1, len(styles) - 1)
        styles[cut:] = [compose(rng, ground, style)] * (len(styles) - cut)
        case.features["mixed"] = "yes"
    is_torn = style.container == "jsonl" and rng.random() < 0.06
    put_down(rng, case, ground, styles, is_torn=is_torn)


def put_down(rng: Random, case: Case, ground: Plan, styles: list[Style], *, is_torn: bool = False) -> None:
    """Write samples in a style for each step. The last line may be torn, as if the writer still wrote it."""
    style, made = styles[0], samples(rng, ground)
    case.features |= style.features() | {"turns": "several" if ground.has_turns else "one"}
    files = _files(rng, style, ground, made, case)
    is_step_told = len(files) > 1 or case.features["file"] not in ("{word}_{step}", "{word}_{step}_train")
    for place, (name, members) in enumerate(files):
        rows: list[dict[str, Any]] = []
        for step in dict.fromkeys(one.step for one in members):
            here = [one for one in members if one.step == step]
            habit = styles[ground.steps.index(step)]
            rows += _rows(habit, ground, here)
            expected = [expect(habit, one) for one in here]
            if habit.step_place == "file" and not is_step_told:  # one number in one name may count anything
                expected = [replace(one, step=None) for one in expected]
            case.expected += expected
        path = case.folder / f"{name}.{ENDINGS[style.container]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, style, rows, members[0].step)
        if is_torn and place == len(files) - 1:
            line = json.dumps(rows[-1], ensure_ascii=style.is_ascii)
            with path.open("a", encoding="utf-8") as file:
                file.write(line[: len(line) // 2])
            case.features["last line"] = "torn"


def _files(rng: Random, style: Style, ground: Plan, made: list[Sample], case: Case) -> list[tuple[str, list[Sample]]]:
    """Decide which samples are in which file."""
    word, folder = pick(rng, words.FILES), pick(rng, words.FOLDERS)
    at = {step: place for place, step in enumerate(ground.steps)}
    if style.step_place in ("row", "none"):
        pattern = pick(rng, {"{word}": 85, "{word}_rank{rank}": 10, "rank_{rank}/{word}": 5})
    elif style.step_place == "folder":
        pattern = pick(rng, words.STEP_FOLDERS)
    elif rng.random() < 0.1:
        pattern = pick(rng, words.RANK_FILES)
    else:
        pattern = pick(rng, words.STEP_FILES)
    case.features["file"] = pattern
    files: dict[str, list[Sample]] = {}
    for one in made:
        name = pattern.format(word=word, step=one.step, epoch=at[one.step] // 2, rank=one.group % 2)
        files.setdefault(folder + name, []).append(one)
    return list(files.items())


def expect(style: Style, one: Sample) -> Expected:
    """Say what a sample that is written in this style has to be read as."""
    keys = style.keys
    prompt, prompt_turns = None, one.prompt
    if style.shape == "text":
        prompt = _plain(style, one)
    elif style.shape == "templated":
        prompt_turns = one.prompt if style.with_system else one.prompt[-1:]
    elif style.shape in ("sharegpt", "blocks") and not style.with_system:
        prompt_turns = one.prompt[-1:]
    is_group_known = "group" in keys or style.layout in ("arrays", "objects", "numbered")
    has_mask = "mask" in keys or style.tokens == "labels"
    return Expected(
        step=None if style.step_place == "none" else one.step,
        group=one.group if is_group_known else (prompt, prompt_turns),
        reward=one.reward,
        prompt=prompt,
        prompt_turns=prompt_turns,
        response=one.answer if len(one.response) == 1 else None,
        response_turns=one.response,
        label=one.label if "label" in keys else None,
        advantage=one.advantage if "advantage" in keys else None,
        status=_status(style, one),
        mask=[bool(mark) for mark in one.mask] if has_mask else None,
        logprobs=one.logprobs if "logprobs" in keys else None,
        ids=one.ids if "ids" in keys else None,
    )


def _status(style: Style, one: Sample) -> str | None:
    """What the files say of the end; that a sample was not truncated says nothing more."""
    key = style.keys.get("end", "finish_reason" if style.shape == "choice" else "")
    if one.is_cut and key:
        return "truncated"
    return None if key in ("", "truncated", "is_truncated") else "completed"


def _plain(style: Style, one: Sample) -> str:
    return "\n\n".join(turn.text for turn in one.prompt) if style.with_system else one.question


def _templated(style: Style, one: Sample) -> str:
    turns = one.prompt if style.with_system else one.prompt[-1:]
    if style.template == "qwen":
        return "".join(f"<|im_start|>{t.role}\n{t.text}<|im_end|>\n" for t in turns) + "<|im_start|>assistant\n"
    if style.template == "llama":
        head = "<|start_header_id|>{}<|end_header_id|>\n\n"
        body = "".join(f"{head.format(turn.role)}{turn.text}<|eot_id|>" for turn in turns)
        return f"<|begin_of_text|>{body}{head.format('assistant')}"
    if style.template == "mistral":
        return "<s>[INST] " + "\n\n".join(turn.text for turn in turns) + " [/INST]"
    return "".join(f"{turn.role.capitalize()}: {turn.text}\n" for turn in turns) + "Assistant:"


def _messages(turns: Iterable[Message]) -> list[dict[str, Any]]:
    return [{"role": turn.role, "content": turn.text} for turn in turns]


def _texts(style: Style, one: Sample) -> list[tuple[str, Any]]:
    """Return roles and values of what was said."""
    shape, prompt = style.shape, _messages(one.prompt)
    if shape == "text":
        return [("prompt", _plain(style, one)), ("response", one.answer)]
    if shape == "templated":
        return [("prompt", _templated(style, one)), ("response", one.answer)]
    if shape == "prompt_messages":
        return [("prompt", prompt), ("response", one.answer)]
    if shape == "two_messages":
        return [("prompt", prompt), ("response", _messages(one.response))]
    if shape == "messages":
        return [("messages", prompt + _messages(one.response))]
    if shape == "message":
        return [("prompt", prompt), ("response", _messages(one.response)[0])]
    if shape == "choice":
        end = "length" if one.is_cut else "stop"
        choice = {"index": 0, "message": _messages(one.response)[0], "finish_reason": end}
        usage = {"prompt_tokens": len(one.prompt_ids), "completion_tokens": len(one.ids)}
        reply = {"id": f"chatcmpl-{one.group}{one.place}", "object": "chat.completion", "choices": [choice]}
        return [("prompt", prompt), ("response", {**reply, "usage": usage})]
    turns = (*(one.prompt if style.with_system else one.prompt[-1:]), *one.response)
    if shape == "sharegpt":
        names = {"user": "human", "assistant": "gpt", "system": "system"}
        return [("messages", [{"from": names[turn.role], "value": turn.text} for turn in turns])]
    return [
        ("messages", [{"role": turn.role, "content": [{"type": "text", "text": turn.text}]} for turn in turns]),
    ]


def _tokens(style: Style, one: Sample) -> list[tuple[str, Any]]:
    """Return roles and values of what is said of tokens."""
    kind, keys = style.tokens, style.keys
    pairs = list(zip(one.ids, one.token_texts, one.logprobs, strict=True))
    cast: Callable[[int], Any] = {"int": int, "bool": bool, "float": float}[style.mask_kind]
    if kind == "logprobs":
        return [("logprobs", one.logprobs)]
    if kind == "response":
        values = {"ids": one.ids, "prompt_ids": one.prompt_ids, "logprobs": one.logprobs}
        return [
            (role, value) for role, value in (values | {"mask": [cast(m) for m in one.mask]}).items() if role in keys
        ]
    if kind == "whole":
        empty = [None if style.is_prompt_null else 0.0] * len(one.prompt_ids)
        values = {"ids": one.prompt_ids + one.ids, "logprobs": empty + one.logprobs}
        marks = [cast(m) for m in [0] * len(one.prompt_ids) + one.mask]
        return [(role, value) for role, value in (values | {"mask": marks}).items() if role in keys]
    if kind == "labels":
        marks = [-100] * len(one.prompt_ids) + [
            number if mark else -100 for number, mark in zip(one.ids, one.mask, strict=True)
        ]
        return [("ids", one.prompt_ids + one.ids), ("labels", marks)]
    if kind == "openai":
        content = [
            {"token": text, "logprob": value, "bytes": list(text.encode()), "top_logprobs": []}
            for _, text, value in pairs
        ]
        return [("logprobs", {"content": content} if style.is_prompt_null else content)]
    if kind == "legacy":
        return [("logprobs", {"tokens": one.token_texts, "token_logprobs": one.logprobs, "text_offset": []})]
    if kind == "vllm":
        return [("logprobs", [{str(i): {"logprob": v, "rank": 1, "decoded_token": t}} for i, t, v in pairs])]
    if kind == "pairs":
        return [("logprobs", [{"id": i, "token": t, "logprob": v} for i, t, v in pairs])]
    return []


def fields(style: Style, ground: Plan, one: Sample) -> list[Field]:
    """Return the values of a sample, and where they stand."""
    keys, nesting, nest = style.keys | {"labels": "labels"}, style.nesting, style.nest
    if style.parts and not one.parts:
        rng = Random(f"{one.group} {one.place}")
        one.parts = {key: rng.choice((0.0, 0.1, 0.25, 0.5, 1.0)) for key in ("a", "b")}
    end = words.ENDS[keys["end"]][int(one.is_cut)] if "end" in keys else None
    reward = one.reward if not ground.is_verdict else bool(one.reward)
    group = {"all": one.group, "step": one.slot, "prompt": one.asked}[style.numbering]
    values: list[tuple[str, Any]] = [
        ("step", one.step),
        ("group", f"{group * 77 + 13:08x}" if keys.get("group") in ("uid", "record_id") else group),
        ("place", one.place + style.starts_at),
        ("own_id", f"{one.group:08x}-{one.place:04x}-4a1b-9c3d-{one.group * 1000 + one.place:012x}"),
        *_texts(style, one),
        ("label", one.label),
        ("reward", reward),
        ("advantage", one.advantage),
        ("end", end),
        ("env", one.env),
        ("count", len(one.ids)),
        *_tokens(style, one),
    ]
    found: list[Field] = []
    for role, value in values:
        if role not in keys:
            continue
        path: tuple[str, ...] = (keys[role],)
        if nesting == "meta" and role in ("step", "group", "place", "own_id", "env", "end", "count", "label"):
            path = (nest[0], *path)
        elif nesting == "reward" and role == "reward":
            path = nest
        elif nesting == "pairs" and role in ("prompt", "messages", "label"):
            path = (nest[0], *path)
        elif nesting == "pairs" and role in ("response", "end", "logprobs", "ids", "mask", "labels", "count"):
            path = (nest[1], *path)
        elif nesting == "whole" and role != "step":
            path = (nest[0], *path)
        shared = role in ("step", "group", "prompt", "label", "env")
        found.append(Field(path, value, shared, role in ("ids", "prompt_ids", "logprobs", "mask", "labels")))
        if role == "reward":
            for part, amount in zip(style.parts, one.parts.values(), strict=False):
                found.append(Field((*path[:-1], part), amount))
    found += [Field((key,), words.DISTRACTORS[key], True) for key in style.distractors]
    return found


def _spell(style: Style, key: str) -> str:
    if style.spelling == "camel":
        first, *rest = key.split("_")
        return first + "".join(word.capitalize() for word in rest)
    if style.spelling == "capital":
        return "_".join(word.capitalize() for word in key.split("_"))
    return " ".join(word.capitalize() for word in key.split("_")) if style.spelling == "title" else key


def put(row: dict[str, Any], style: Style, path: tuple[str, ...], value: Any) -> None:
    """Put a value at its place in a row."""
    *above, last = (_spell(style, key) for key in path)
    for key in above:
        row = row.setdefault(key, {})
    row[last] = value


def _many(style: Style, one: Field) -> tuple[str, ...]:
    last = one.path[-1]
    if not one.stays and style.is_plural:
        last = words.PLURALS.get(last, f"{last}s")
    return (*one.path[:-1], last)


def _rows(style: Style, ground: Plan, members: list[Sample]) -> list[dict[str, Any]]:
    """Write the samples of one step as rows."""
    if style.layout == "rows":
        rows = [_row(style, fields(style, ground, one)) for one in members]
    elif style.layout == "batch":
        rows = [_batch(style, [fields(style, ground, one) for one in members])]
    else:
        groups: dict[int, list[Sample]] = {}
        for one in members:
            groups.setdefault(one.group, []).append(one)
        rows = [_group(style, [fields(style, ground, one) for one in group]) for group in groups.values()]
    return [_mixed(row) for row in rows] if style.is_shuffled and style.container not in TABLES else rows


def _mixed(row: dict[str, Any]) -> dict[str, Any]:
    rng = Random(len(row))  # the same order in all rows of a shape, as a script writes them
    return dict(rng.sample(list(row.items()), len(row)))


def _row(style: Style, found: list[Field]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for one in found:
        put(row, style, one.path, one.value)
    return row


def _batch(style: Style, found: list[list[Field]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for same in zip(*found, strict=True):
        one = same[0]
        if one.path[-1] == style.keys.get("step") or one.path[-1] in style.distractors:
            put(row, style, one.path, one.value)
        else:
            put(row, style, _many(style, one), [each.value for each in same])
    return row


def _group(style: Style, found: list[list[Field]]) -> dict[str, Any]:
    row = _row(style, [one for one in found[0] if one.is_shared])
    own = [[one for one in each if not one.is_shared] for each in found]
    if style.layout == "objects":
        key = Random(str(style.keys)).choices(list(words.LISTS), list(words.LISTS.values()))[0]
        put(row, style, (key,), [_row(style, each) for each in own])
    elif style.layout == "arrays":
        for same in zip(*own, strict=True):
            put(row, style, _many(style, same[0]), [one.value for one in same])
    else:
        for place, each in enumerate(own):
            for one in each:
                put(row, style, (f"{one.path[-1]}_{place + style.starts_at}",), one.value)
    return row


def write(path: Path, style: Style, rows: list[dict[str, Any]], step: int) -> None:
    """Write the rows of a file in the container of the style."""
    kind = style.container

    def text(value: Any, indent: int | None = None) -> str:
        return json.dumps(value, ensure_ascii=style.is_ascii, indent=indent)

    if kind in TABLES:
        path.write_text(_table(style, rows), encoding="utf-8", newline="")
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "gz":
        path.write_bytes(gzip.compress("".join(f"{text(row)}\n" for row in rows).encode(), mtime=0))
    elif kind == "jsonl":
        path.write_text("".join(f"{text(row)}\n" for row in rows), encoding="utf-8")
    elif kind == "pages":
        path.write_text("\n".join(text(row, 2) for row in rows), encoding="utf-8")
    elif kind == "document":
        path.write_text(text(_document(style, rows, step), 2), encoding="utf-8")
    elif kind == "keyed":
        path.write_text(text({str(place): row for place, row in enumerate(rows)}, 2), encoding="utf-8")
    elif kind == "columns":
        columns = list(dict.fromkeys(key for row in rows for key in row))
        cells = {key: {str(place): row.get(key) for place, row in enumerate(rows)} for key in columns}
        path.write_text(text(cells), encoding="utf-8")
    elif kind in ("split", "table"):
        columns = list(dict.fromkeys(key for row in rows for key in row))
        index = {"index": list(range(len(rows)))} if kind == "split" else {}
        data = [[row.get(key) for key in columns] for row in rows]
        path.write_text(text({"columns": columns, **index, "data": data}), encoding="utf-8")
    else:
        path.write_text(text(rows, 2 if kind == "pretty" else None), encoding="utf-8")


def _document(style: Style, rows: list[dict[str, Any]], step: int) -> dict[str, Any]:
    if style.layout == "batch" and len(rows) == 1:
        return rows[0]
    rng = Random(str(style.keys))
    document: dict[str, Any] = {}
    key = style.keys.get("step")
    if style.step_place == "document" and key is not None:
        document[_spell(style, key)] = step
        rows = [{name: value for name, value in row.items() if name != _spell(style, key)} for row in rows]
    if rng.random() < 0.5:
        document |= {"timestamp": "2025-03-14T09:26:53.589793", "num_samples": len(rows)}
    if rng.random() < 0.3:
        document["config"] = {"model": "Qwen/Qwen2.5-0.5B-Instruct", "temperature": 1.0, "max_tokens": 512}
    document[pick(rng, words.DOCUMENTS)] = rows
    if rng.random() < 0.3:
        document["summary"] = {"mean_reward": 0.5, "count": len(rows)}
    return document


def _table(style: Style, rows: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    ink = io.StringIO()
    separator = {"csv": ",", "tsv": "\t", "semicolons": ";"}[style.container]
    writer = csv.writer(ink, delimiter=separator, lineterminator="\n")
    writer.writerow([*([""] if style.has_index else []), *columns])
    for place, row in enumerate(rows):
        cells = [_cell(style, row.get(key)) for key in columns]
        writer.writerow([*([str(place)] if style.has_index else []), *cells])
    return ink.getvalue()


def _cell(style: Style, value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (list, dict)):
        return repr(value) if style.cells == "repr" else json.dumps(value, ensure_ascii=style.is_ascii)
    return str(value)
