"""What differs between two samples, field by field: an oracle that knows nothing of how losses are found and said.

Everything that a sample holds is compared exactly, NaN being NaN. Only what a reader makes up by itself from what is
there (means of series, numbers of places in a file) may come and go.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from rolloupe.model import Sample, TokenSeries, Turn

DERIVED = {
    "native": {"ref_reward", "ref_response_chars", "reward_gap", "valid_reward_gap", "avg_log_ratio", "sum_log_ratio",
               "avg_kl", "sum_kl", "max_kl"},
    "rl_logging_board": {"response_tokens_len", "ref_reward", "ref_response_chars", "reward_gap", "valid_reward_gap",
                         "avg_log_ratio", "sum_log_ratio", "avg_kl", "sum_kl", "max_kl"},
    "prime_rl": {"rank", "micro_step", "micro_sequence_idx", "export_sequence_idx", "trainer_step", "entropy",
                 "importance_ratio", "log_importance_ratio", "abs_log_importance_ratio", "mismatch_kl",
                 "mismatch_kl_max", "prob_delta", "trainer_logprobs", "is_masked", "is_masked_high", "is_masked_low",
                 "ce_only"},
    "tinker": set(),
    "relax": set(),
}  # fmt: skip
"""Sample metrics that a reader computes from what a record holds, or that every record of the layout has."""

DERIVED_SERIES = {
    "rl_logging_board": {"log_ratio", "kl"},
    "prime_rl": {"loss_mask", "advantages", "rewards", "mismatch_kl", "log_importance_ratio", "importance_ratio",
                 "prob_delta", "is_masked", "is_masked_high", "is_masked_low"},
}  # fmt: skip
"""Token series that a reader or the trainer's own exporter computes from others."""


OF_LAYOUT = {"tinker": {"schema_version", "final_ob_len"}}
"""Further fields that every record of a layout has."""

NAMES = {
    "reward": ("reward", "non-finite reward"), "status_raw": ("original word for the status",),
    "turns": ("number of turns",), "prompt_tokens": ("tokens of the prompt",),
    "response_tokens": ("tokens of the response",), "total_tokens": ("total tokens",), "index": ("sample number",),
    "prompt_text": ("text of the prompt", "form of the text of the prompt"),
    "response_text": ("text of the response", "form of the text of the response"),
    "prompt_messages": ("list of messages of the prompt", "form of the prompt", "form of the messages of the prompt"),
    "response_messages": (
        "list of messages of the response", "form of the response", "form of the messages of the response",
    ),
    "label": ("ground truth",), "ref_reward": ("reward of the reference",), "token_strings": ("token strings",),
    "token_ids": ("token ids",), "top_logprobs": ("alternatives of tokens",), "roles": ("turns and their roles",),
    "parts": ("turns and their roles", "parts of turns", "form of turns"), "calls": ("tool calls",),
    "turns.origin": ("first turn of the response",), "turns.name": ("names in turns",),
    "turns.tool_call_id": ("names in turns",), "turns.tokens": ("tokens of turns",),
    "turns.reward": ("rewards of turns",), "turns.stop_reason": ("stop reasons of turns",),
    "turns.metrics": ("metrics of turns",), "turns.logs": ("logs of turns",),
    "turns.places": ("token ranges of turns",),
    "ref_turns": ("response of the reference", "form of the reference"),
}  # fmt: skip
"""By what differs, the words that name it; for everything else the word is its own name."""


def named(difference: str, words: Mapping[str, int]) -> int:
    """The number of samples for which a conversion reports a difference."""
    kind, _, name = difference.partition(" ")
    if name:
        begins: tuple[str, ...] = tuple(f"{word} {name}" for word in ("sample metric", "tag", "field", "token series"))
        begins += (f"{name} (kept",) + (
            ("original word for the status",) if name in ("status", "status_raw", "stop_reason") else ()
        )
        begins += ("digits of token series",) if kind == "series" else ()
    else:
        begins = NAMES.get(difference, (difference,))
    return sum(count for word, count in words.items() if word.startswith(begins))


def plain(value: Any) -> str:
    """A value as text that is equal where the value is, NaN included."""
    return json.dumps(value, sort_keys=True)


def differences(before: Sample, after: Sample, layout: str) -> Iterator[tuple[str, str]]:
    """Yield what differs, and a note of how, for a sample and what was read of it in a layout."""
    for name, mine, its in _facts(before, after):
        if plain(mine) != plain(its):
            yield name, f"{plain(mine)[:80]} -> {plain(its)[:80]}"
    yield from _named("metric", before.row.metrics, after.row.metrics, _free_metrics(before, after, layout))
    yield from _named("tag", before.row.tags, after.row.tags, set())
    yield from _named("field", before.extra, after.extra, OF_LAYOUT.get(layout, set()))
    yield from _of_series(before, after, layout)


def _facts(before: Sample, after: Sample) -> Iterator[tuple[str, Any, Any]]:
    row, its = before.row, after.row
    for name in (
        "split", "step", "group", "reward", "advantage", "status", "status_raw", "turns", "prompt_tokens",
        "response_tokens", "total_tokens", "env", "uid", "trace_id", "discarded",
    ):  # fmt: skip
        yield name, getattr(row, name), getattr(its, name)
    if not _is_place(before):
        yield "index", row.index, its.index
    for name in (
        "prompt_text", "response_text", "prompt_messages", "response_messages", "label", "ref_reward", "token_strings",
        "token_ids", "top_logprobs",
    ):  # fmt: skip
        yield name, getattr(before, name), getattr(after, name)
    mine, others = _filled(before.turns, after.turns), _filled(after.turns, before.turns)
    yield "roles", [turn.role for turn in mine], [turn.role for turn in others]
    yield "parts", [_parts(turn) for turn in mine], [_parts(turn) for turn in others]
    yield "calls", _calls(mine), _calls(others)
    for name in ("origin", "name", "tool_call_id", "tokens", "reward", "stop_reason", "metrics", "logs"):
        yield f"turns.{name}", *_alike([getattr(t, name) for t in mine], [getattr(t, name) for t in others])
    yield "turns.places", *_alike(_places(mine), _places(others))
    yield "ref_turns", [_parts(turn) for turn in before.ref_turns], [_parts(turn) for turn in after.ref_turns]


def _is_place(sample: Sample) -> bool:
    """True where the record has no number, so that the reader takes the byte at which it begins."""
    return sample.row.index in (str(sample.row.start), *(f"{w}:{sample.row.start}" for w in _files(sample)))


def _files(sample: Sample) -> list[str]:
    name = sample.locator.source.rpartition("/")[2]
    return [name.partition(".")[0], name.rpartition(".")[0], sample.row.index.rpartition(":")[0]]


def _filled(turns: list[Turn], others: list[Turn]) -> list[Turn]:
    """The turns but for an empty one at the end that the others lack: a response that is empty."""
    more = len(turns) == len(others) + 1 and not turns[-1].parts and turns[-1].tokens is None and not turns[-1].logs
    return turns[:-1] if more else turns


NOTHING: tuple[Any, ...] = (None, "", {}, (None, None), "prompt", "response")


def _alike(mine: list[Any], its: list[Any]) -> tuple[list[Any], list[Any]]:
    """Facts of turns, without those of turns that one side lacks (which `roles` tells) where they say nothing."""
    while len(mine) != len(its) and (longer := max(mine, its, key=len))[-1] in NOTHING:
        longer.pop()
    return mine, its


def _parts(turn: Turn) -> list[Any]:
    return [(part.kind, part.text, part.raw, part.closed, part.media) for part in turn.parts]


def _calls(turns: list[Turn]) -> list[Any]:
    return [(c.name, c.arguments, c.id, c.error) for turn in turns for p in turn.parts if (c := p.call) is not None]


def _places(turns: list[Turn]) -> list[Any]:
    return [(turn.token_start, turn.token_stop) for turn in turns]


def _named(what: str, before: dict[str, Any], after: dict[str, Any], free: set[str]) -> Iterator[tuple[str, str]]:
    for name, value in before.items():
        if name not in after:
            if name not in free:
                yield f"{what} {name}", "gone"
        elif plain(value) != plain(after[name]):
            yield f"{what} {name}", f"{plain(value)[:80]} -> {plain(after[name])[:80]}"
    for name in after.keys() - before.keys() - free:
        yield f"{what} {name}", f"added {plain(after[name])[:80]}"


def _free_metrics(before: Sample, after: Sample, layout: str) -> set[str]:
    """Metrics that a reader computes from a record and that the sample lacked."""
    its = _values(after.series)
    added = {name for name in its if layout == "native"} - before.row.metrics.keys()
    if layout == "tinker":  # its reader takes the mean over the turns
        added |= {name for turn in before.turns for name in turn.metrics} - before.row.metrics.keys()
    return (DERIVED[layout] - before.row.metrics.keys()) | added


def _values(series: list[TokenSeries], *, stored: bool = False) -> dict[str, dict[int, float]]:
    """The present values of each series, by the distance of their token from the last one."""
    found = {}
    for one in series:
        values = [*one.stored] if stored and one.stored is not None else one.values
        found[one.name] = {at: v for at, v in enumerate(values, one.offset) if not math.isnan(v)}
    return found


def _of_series(before: Sample, after: Sample, layout: str) -> Iterator[tuple[str, str]]:
    shift = 0
    if layout == "rl_logging_board":  # it holds the response alone
        shift = _begin_of_response(before)
    for stored in (False, True):
        mine, its = _values(before.series, stored=stored), _values(after.series, stored=stored)
        for name, values in mine.items():
            theirs = {at + shift: value for at, value in its.get(name, {}).items()}
            if plain(sorted(values.items())) != plain(sorted(theirs.items())):
                if stored and values.items() <= theirs.items():
                    continue  # a dummy where there was nothing
                yield f"series {name}", f"stored {stored}: {len(values)} -> {len(theirs)} values"
        for name in its.keys() - mine.keys() - DERIVED_SERIES.get(layout, set()):
            yield f"series {name}", "added"


def _begin_of_response(sample: Sample) -> int:
    """The number of tokens before the response, by the sample's own data."""
    size = len(sample.token_ids) or max((one.offset + len(one.values) for one in sample.series), default=0)
    if sample.token_strings:
        return max(0, size - len(sample.token_strings))
    if sample.token_ids and sample.row.prompt_tokens is not None:
        return sample.row.prompt_tokens
    mask = next((one.values for one in sample.series if one.name == "loss_mask"), None)
    return mask.index(1.0) if mask and 1.0 in mask else 0
