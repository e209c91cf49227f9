"""The Episode record of verifiers 0.4 and prime-rl's streams: traces, their message graphs, and branches.

Source: `verifiers/v1`. A trace holds nodes; each node is a message with its tokens and its parent. A leaf ends a
branch, and a branch is a sample. Branches store their common messages once, so a short line can hold very much text:
everything is bounded.

Annotations follow later (prime-rl #3444). Each producer (`orch`, `trainer`) writes one stream, in chunks, with an index
of the places of each trace's lines. A line has `info` for the trace, and for each branch arrays over its tokens: null
off the mask and for the first token. The newest line wins.
"""

import contextlib
from collections.abc import Iterable
from itertools import chain, takewhile
from typing import Any, Final, NamedTuple

import numpy as np

from rolloupe import text, tokens
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import FolderEntry, files, folders, stem
from rolloupe.formats.reading.line_reader import lines, parse
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trainer_files import newest_about
from rolloupe.formats.reading.value_parsers import as_dict, as_list
from rolloupe.model import Location, Status, TokenSeries, Turn

MAX_NODES: Final = 50_000

MAX_VISITS: Final = 1_000_000
"""Maximum number of nodes to visit on the way to all leaves of an episode; branches beyond it are left out."""

MAX_BRANCHES: Final = 1_000

COMPACT: Final = {
    "logprobs": "logprobs", "advantages": "advantages", "reference_logprobs": "ref_logprobs",
    "trainer_logprobs": "trainer_logprobs", "entropies": "entropy",
}  # fmt: skip
"""Arrays of a node with one value for each token under its mask, and the names of their series."""
INDEX: Final = ".index.jsonl"
STRICT: Final = {"advantages", "trainer_logprobs", "entropies"}
"""Streams used for a message only if every sampled token of it has a value."""

NAMES: Final = {"entropies": "entropy"}
OF_ALL: Final = "advantages"
"""A stream with one value for all tokens of a sample, which is the sample's own value."""

Compact = dict[int, dict[str, list[Any]]]
"""For each node and name of a series, a value for each token under the node's mask."""


class EpisodeNode(NamedTuple):
    """A message of a trace. `ids` and `mask` have one length; the mask is true for tokens that the model sampled."""

    record: Record
    parent: int | None
    is_sampled: bool
    ids: list[int]
    mask: list[bool]
    sampled_tokens: int
    is_cut: bool
    """True if ids and mask had different lengths."""


class Branch(NamedTuple):
    """A sample of an episode: the nodes `path` of a trace, from the root to a leaf."""

    part: str
    """Its place in the episode: trace and branch by number. Empty for an episode without traces."""
    number: int
    trace: Record
    nodes: list[EpisodeNode]
    path: list[int]
    texts: dict[int, str]
    """Messages converted so far, by node: the branches of a trace share them."""

    @property
    def members(self) -> list[EpisodeNode]:
        return [self.nodes[index] for index in self.path]

    @property
    def uid(self) -> str:
        """The id that annotations use; empty for a trace without an id."""
        trace_id = parsers.name(self.trace.get("id"))
        return f"{trace_id}:{self.number}" if trace_id else ""


def is_episode(record: Record) -> bool:
    """Return whether a record is an episode."""
    return isinstance(record.get("traces"), list)


def branches_of(episode: Record) -> tuple[list[Branch], bool]:
    """Return the branches of an episode's traces, at least one for each trace, and whether some exceed the bounds."""
    traces = [as_dict(trace) for trace in as_list(episode.get("traces"))[: MAX_BRANCHES + 1]]
    branches: list[Branch] = []
    visits = 0
    for number, trace in enumerate(traces):
        records = map(as_dict, as_list(trace.get("nodes"))[:MAX_NODES])
        nodes, texts = [_node(record, index) for index, record in enumerate(records)], dict[int, str]()
        parents = {node.parent for node in nodes}
        leaves: list[int | None] = [index for index in range(len(nodes)) if index not in parents]
        for place, leaf in enumerate(leaves or [None]):
            path, at = list[int](), leaf
            while at is not None:
                path.append(at)
                at = nodes[at].parent
            visits += len(path)
            if len(branches) == MAX_BRANCHES or (branches and visits > MAX_VISITS):
                return branches, True
            branches.append(Branch(f"{number:03}.{place:03}", place, trace, nodes, path[::-1], texts))
    return branches or [Branch("", 0, {}, [], [], {})], False


def _node(record: Record, index: int) -> EpisodeNode:
    """Read a node. A parent must precede its child: a node with any other parent is a root."""
    ids, mask = as_list(record.get("token_ids")), as_list(record.get("mask"))
    length = min(len(ids), len(mask))
    parent = parsers.count(record.get("parent"))
    flags = [value is True or value == 1 for value in mask[:length]]
    return EpisodeNode(
        record=record,
        parent=parent if parent is not None and parent < index else None,
        is_sampled=record.get("sampled") is True,
        ids=[-1 if (token_id := parsers.count(value)) is None else token_id for value in ids[:length]],
        mask=flags,
        sampled_tokens=flags.count(True),
        is_cut=len(ids) != len(mask),
    )


def split_at(members: list[EpisodeNode]) -> int:
    """Return the number of nodes before the first sampled one: the prompt."""
    return next((index for index, node in enumerate(members) if node.is_sampled), len(members))


def texts_of(branch: Branch) -> tuple[str, str]:
    """Return a branch as plain text: the prompt, and everything from the first sampled message on."""
    for index in branch.path:
        if index not in branch.texts:
            node = branch.nodes[index]
            branch.texts[index] = text.joined([node.record.get("message")], thoughts=node.is_sampled)
    first = split_at(branch.members)
    pieces = branch.path[:first], branch.path[first:]
    prompt, response = ("\n\n".join(filter(None, map(branch.texts.__getitem__, some))) for some in pieces)
    return prompt, response


def answers_of(branch: Branch) -> list[Any] | None:
    """Return the messages from the first sampled one on; None if one of them is not a message."""
    messages = [node.record.get("message") for node in branch.members[split_at(branch.members) :]]
    return messages if all(isinstance(message, dict) for message in messages) else None


def counts_of(branch: Branch) -> tuple[int | None, int | None, int | None]:
    """Count the tokens of a branch: before the first sampled one, sampled, all. A trace may have the counts instead."""
    members = branch.members  # their tokens are not walked: branches share them
    if total := sum(len(node.ids) for node in members):
        before = list(takewhile(lambda node: not node.sampled_tokens, members))
        prompt = sum(len(node.ids) for node in before)
        prompt += members[len(before)].mask.index(True) if len(before) < len(members) else 0
        return prompt, sum(node.sampled_tokens for node in members), total
    if len(branch.path) != len(branch.nodes):
        return None, None, None
    output, total_count = (parsers.count(branch.trace.get(f"num_{key}_tokens")) for key in ("output", "total"))
    return None, output, total_count


def reward_of(trace: Record) -> tuple[float | None, dict[str, float]]:
    """Return the sum of score times weight, and the scores as sample metrics `reward.NAME`."""
    total, parts = 0.0, {}
    for name, value in as_dict(trace.get("rewards")).items():
        score = parsers.number(value.get("score") if isinstance(value, dict) else value)
        if score is None:
            continue
        weight = parsers.number(as_dict(value).get("weight"))
        total += score * (1.0 if weight is None else weight)
        parts[f"reward.{name}"] = score
    return (total if parts else None), parts


def status_of(episode: Record, trace: Record) -> tuple[Status, str]:
    """Return how a trace ended, and the framework's word: the error's type, else the stop condition."""
    if errors := [*as_list(trace.get("errors")), *(as_list(episode.get("errors")) if not trace else ())]:
        return "error", parsers.tag(as_dict(errors[-1]).get("type")) or "error"
    status, word = parsers.status(trace.get("stop_condition"))
    if status != "unknown":
        return status, word
    if trace.get("ok") is False or trace.get("is_timeout") is True:
        return "error", word or ("timeout" if trace.get("is_timeout") is True else "")
    calls = [as_dict(call) for call in as_list(trace.get("calls"))]
    if calls and calls[-1].get("finish_reason") == "length":
        return "truncated", word or "length"
    return ("completed" if trace.get("is_completed") is True else "unknown"), word


def turns_of(branch: Branch) -> list[list[Turn]]:
    """Return the turns of each node, the first with its place among the tokens and the call that produced it."""
    calls = {
        call.get("node"): call
        for call in map(as_dict, as_list(branch.trace.get("calls")))
        if parsers.count(call.get("node")) is not None
    }
    first, at, by_node = split_at(branch.members), 0, list[list[Turn]]()
    for place, index in enumerate(branch.path):
        node, call = branch.nodes[index], calls.get(index, {})
        turns = text.from_messages([node.record.get("message")], "response" if place >= first else "prompt")
        turn = turns[0]
        if node.ids:
            turn.tokens, turn.token_start, turn.token_stop = len(node.ids), at, at + len(node.ids)
        turn.stop_reason = parsers.tag(call.get("finish_reason")) or turn.stop_reason
        turn.metrics = parsers.numbers(call.get("usage"))
        times = parsers.numbers(call.get("time"))
        if times.keys() >= {"start", "end"}:
            turn.metrics["duration_s"] = times["end"] - times["start"]
        at += len(node.ids)
        by_node.append(turns)
    return by_node


def series_of(branch: Branch, folded: Compact) -> list[TokenSeries]:
    """Return the token series of a branch: those of its nodes, overridden by annotations."""
    members = branch.members
    mask = np.array([flag for node in members for flag in node.mask], dtype=np.bool_)
    if not mask.size:
        return []
    columns: dict[str, tokens.Floats] = {}
    at = 0
    for index in branch.path:
        node = branch.nodes[index]
        places = np.flatnonzero(node.mask) + at
        node_series = {name: as_list(node.record.get(key)) for key, name in COMPACT.items()}
        for name, stored in (node_series | folded.get(index, {})).items():
            values = tokens.read_floats(stored)
            if values is not None:
                column = columns.setdefault(name, np.full(mask.size, np.nan))
                column[places[: len(values)]] = values[: len(places)]
        at += len(node.ids)
    columns = {"loss_mask": mask.astype(np.float64), **columns}
    return [TokenSeries(name=name, values=tokens.packed(values)) for name, values in columns.items()]


def notes_of(branch: Branch) -> list[str]:
    """Return notes on tokens of a branch that contradict each other."""
    notes = []
    members = branch.members
    if cut := sum(node.is_cut for node in members):
        notes.append(f"token ids and mask of unequal length in {cut} messages: shown up to the shorter")
    lengths = {key: [(len(as_list(node.record.get(key))), node.sampled_tokens) for node in members] for key in COMPACT}
    if odd := [key for key, pairs in lengths.items() if any(stored not in (0, sampled) for stored, sampled in pairs)]:
        notes.append(f"not as many values as sampled tokens in {', '.join(odd)}: shown from the start of each message")
    return notes


class Stream(NamedTuple):
    """The annotations of one producer."""

    producer: str
    listing: Location | None
    """The place of the index of its chunks, if it has one."""
    chunks: dict[int, FolderEntry]


def streams(folder: str, link_root: str) -> list[Stream]:
    """List the annotation streams in a folder `annotations/`: chunks in folders or, for a day in 2026, plain files."""
    listed = files(folder, link_root)
    indexes = {entry.name.removesuffix(INDEX): entry.location for entry in listed if entry.name.endswith(INDEX)}
    plain = {stem(entry.name): entry for entry in listed if not entry.name.endswith(INDEX)}
    by_producer = [Stream(name, indexes.get(name), {0: entry}) for name, entry in plain.items()]
    for producer in folders(folder, link_root):
        chunks = {int(stem(e.name)): e for e in files(producer.path, link_root) if stem(e.name).isdecimal()}
        if chunks:
            by_producer.append(Stream(producer.name, indexes.get(producer.name), chunks))
    return sorted(by_producer, key=lambda stream: stream.producer)


def annotations_of(some: Iterable[Stream], trace_id: str) -> tuple[list[Record], list[str]]:
    """Return the annotations of a trace, oldest first within a producer, and the problems of unreadable ones."""
    records: list[Record] = []
    notes: list[str] = []
    for stream in some:
        try:
            if stream.listing:
                records += _indexed(stream, stream.listing, trace_id, notes)
                continue
            chunks = [chunk.location for _, chunk in sorted(stream.chunks.items())]
            about = [newest_about(chunk, "trace_id", trace_id, stream.producer, notes) for chunk in chunks]
            records += chain.from_iterable(about)
        except OSError as error:
            notes.append(f"annotations of {stream.producer} could not be read: {error.strerror}")
    return records, notes


def _indexed(stream: Stream, listing: Location, trace_id: str, notes: list[str]) -> list[Record]:
    records, lost = [], 0
    for row in newest_about(listing, "trace_id", trace_id, stream.producer, notes):
        offset = parsers.count(row.get("offset"))
        chunk = stream.chunks.get(parsers.count(row.get("chunk")) or 0)
        record = None
        if chunk is not None and offset is not None:
            with open_binary(chunk.location) as file:
                line = next(lines(file, offset, offset + 1), None)
            with contextlib.suppress(Unusable):
                record = parse(line.data or b"") if line else None
        if record is None or record.get("trace_id") != trace_id:
            lost += 1
            record = {"trace_id": trace_id, "info": row.get("info")}
        records.append(record)
    if lost:
        notes.append(f"{lost} annotations of {stream.producer} are not where their index says")
    return records


def merged_info(records: Iterable[Record]) -> Record:
    """Merge the annotations of a trace as a whole; the newer of two values for one key wins."""
    merged: Record = {}
    for record in records:
        merged = _merged(merged, as_dict(record.get("info")))
    return merged


def _merged(old: Record, new: Record, depth: int = 8) -> Record:
    both = dict(old)
    for key, value in new.items():
        nested = depth and isinstance(value, dict) and isinstance(both.get(key), dict)
        both[key] = _merged(both[key], value, depth - 1) if nested else value
    return both


def metrics_of(branch: Record) -> dict[str, float]:
    """Return summaries of the streams of a branch of an annotation: the mean of each, or for flags the count."""
    metrics = {}
    for key, stream in branch.items():
        values = tokens.read_floats(stream)
        summary = tokens.nan_sum if key.startswith("is_") else tokens.nan_mean
        if values is not None and key != OF_ALL and (value := summary(values)) is not None:
            metrics[NAMES.get(key, key)] = value
    return metrics


def folded(nodes: list[EpisodeNode], paths: list[list[int]], records: Iterable[Record]) -> Compact:
    """Fold annotations onto the nodes of a trace, whose branches are `paths`: values for tokens under the mask.

    A stream ends at the first node that it does not cover fully: the trainer cut the sequence there.
    """
    compact: Compact = {}
    for record in records:
        for branch in map(as_dict, as_list(record.get("branches"))[: len(paths)]):
            number = parsers.count(branch.get("index"))
            if number is not None and number < len(paths):
                for name, stream in branch.items():
                    _fold(compact, nodes, paths[number], name, as_list(stream))
    return compact


def _fold(compact: Compact, nodes: list[EpisodeNode], path: list[int], name: str, stream: list[Any]) -> None:
    at = 0
    for index in path:
        mask = nodes[index].mask
        if at + len(mask) > len(stream):
            return
        values = [value for value, flag in zip(stream[at : at + len(mask)], mask, strict=True) if flag]
        at += len(mask)
        if values and not (name in STRICT and None in values):
            compact.setdefault(index, {})[NAMES.get(name, name)] = values
