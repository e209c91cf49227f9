"""The log beside a file of rollouts of the Tinker cookbook: the conversations that it adds to trajectories.

The cookbook names neither group nor trajectory in its outline, logs only the first few groups, and writes the messages
of a group in the order in which rollouts end. A conversation is tied to a trajectory only if the match is certain.
Numbers that both files hold tie the two:

- A section is a group if its "Trajectory Details" (lengths and rewards of every turn) match exactly one group.
- Within it, a conversation fits a trajectory if reward, `format` and `correct` are the same (for the triples of a
  single-turn environment), or if the assistant's messages are (if they were logged). It is tied if all fitting
  conversations have the same text, each trajectory has one, and the length does not contradict.
- An outline whose sections carry the indices as attributes needs none of this: they take precedence. Rolloupe's own
  outlines carry them.

A small cache ties a sample on the screen to its conversation; a scan reads the log once for itself, so that indexing
never evicts what readers use.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from rolloupe.errors import defect
from rolloupe.formats.reading import logtree
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import COMPRESSED, links_of, plain_name
from rolloupe.formats.reading.logtree import Check, Logged, conversations, table_of, texts, unchecked
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.tinker import turns as tinker_turns
from rolloupe.formats.tinker.turns import CONTENT, Tied, calls_in, shows, steps_of
from rolloupe.model import Location, LoggedTranscript, LogNode, Part, Problem, RunInfo, SampleRow, Source, Turn
from rolloupe.storage import file_state, is_below, is_file
from rolloupe.text import verbatim
from rolloupe.text.tool_calls import decoded

Place = tuple[str, str]
"""Group and index of a trajectory, as in its row."""

_Facts = frozenset[tuple[str, tuple[tuple[str, str, str], ...]]]
"""Lengths and reward of every turn of the trajectories of a group, by the names of the trajectories."""

_Act = tuple[str, tuple[str, ...]]
"""The assistant's text in one step, and its calls."""

_FLAGS = {"format_valid": "format", "correct": "correct"}
"""Columns of a table of rewards beside the reward, and the metrics of a step that hold them."""

MAX_TOKENS_BEYOND_BYTES = 64
"""An action may have this many more tokens than its text has bytes: special tokens that the text lacks."""

MAX_GROUP = 1024
"""In a larger group, trajectories are not identified by numbers."""

_INDICES = {
    "group": ("group", "group-idx", "group-index"),
    "index": ("trajectory", "traj", "traj-idx", "trajectory-idx", "trajectory-index"),
    "turn": ("turn", "step", "turn-idx", "step-idx", "turn-index"),
}
ASIDE = "aside"
"""Marks a conversation about a trajectory, such as a judge's, as opposed to the trajectory's own."""

_TRAJECTORY = re.compile(r"Trajectory ([0-9]{1,9}) Episode")
_TURN = re.compile(r"Turn ([0-9]{1,9})")

ROLLOUTS, TREE, PAGE = "_rollout_summaries.jsonl", "_logtree.json", ".html"
"""The endings of the names of a step's files."""

MAX_JOINED_BYTES = 64 * 2**20
"""A longer file of rollouts is not loaded to tie conversations to its trajectories."""

_BY_ACTS = "the assistant's messages are those that this trajectory logged"
_TOO_LONG = f"longer than {MAX_JOINED_BYTES // 2**20} MiB: the conversations of the step's log are tied to none of it"


class Joined(NamedTuple):
    """The contents of an outline: conversations by trajectory, and those that no trajectory shows."""

    tied: dict[Place, Tied]
    loose: list[LoggedTranscript]


class _Rollout(NamedTuple):
    """A rollout in a group's section: the nodes with its messages, and the facts of a single-turn environment."""

    nodes: list[LogNode]
    facts: dict[str, str]

    @property
    def turns(self) -> list[Turn]:
        return [turn for node in self.nodes for turn in node.turns]


class _Alike(NamedTuple):
    """Rollouts of a group that fit the same trajectories."""

    first: _Rollout
    turns: list[Turn]
    """The turns of the first rollout."""
    is_one: bool
    """True if all rollouts have these turns."""
    number: int
    nodes: set[int]

    @classmethod
    def of(cls, shown: Sequence[_Rollout]) -> "_Alike":
        turns = shown[0].turns
        nodes = {id(node) for one in shown for node in one.nodes}
        return cls(shown[0], turns, all(one.turns == turns for one in shown[1:]), len(shown), nodes)


_Fitting = Callable[[Record], list[_Alike]]
"""Returns the rollouts that may belong to a trajectory."""


def place_of(record: Record) -> Place | None:
    """Return group and index of a trajectory, None without both."""
    group, index = parsers.name(record.get("group_idx")), parsers.name(record.get("traj_idx"))
    return None if group is None or index is None else (group, index)


def join(root: LogNode, records: Iterable[Record], split: str, step: int, check: Check = unchecked) -> Joined:
    """Tie the conversations of an outline to the trajectories of its split and step. Raises whatever `check` raises."""
    groups: dict[str, dict[str, Record]] = {}
    for record in records:
        check()
        if place := place_of(record):
            groups.setdefault(place[0], {})[place[1]] = record
    tied, used = _by_attributes(root, groups)
    by_facts: dict[_Facts, list[str]] = {}
    for name, group in groups.items():
        check()
        facts = frozenset(
            (
                index,
                tuple((str(s.get("ob_len")), str(s.get("ac_len")), _shown(s.get("reward"))) for s in steps_of(record)),
            )
            for index, record in group.items()
        )
        by_facts.setdefault(facts, []).append(name)
    for place_of_section, section in enumerate(root.children):
        check()
        fitting = by_facts.get(_facts_of_section(section), [])
        if len(fitting) == 1:
            (name,) = fitting
            untied = {index for index in groups[name] if (name, index) not in tied}
            group_ties, seen = _in_group(section, groups[name], untied, check)
            places = {id(logged.node): logged.at for logged in conversations(section)}
            for index, (candidate, node) in group_ties.items():
                at = ".".join(map(str, (place_of_section, *places[id(node)])))
                tied[name, index] = candidate._replace(at=at)
            used |= seen
    loose = [
        LoggedTranscript(split=split, step=step, title=title, turns=logged.node.turns, at=".".join(map(str, logged.at)))
        for title, logged in _titled(root, conversations(root))
        if id(logged.node) not in used
    ]
    return Joined(tied, loose)


def texts_of(root: LogNode, split: str, step: int) -> list[LoggedTranscript]:
    """Return texts logged outside conversations, each as the one turn of a transcript."""
    pieces = list(texts(root))
    turns = [Turn(role=logged.node.kind, parts=[Part(kind="text", text=words)]) for logged, words in pieces]
    titled = _titled(root, (logged for logged, _ in pieces))
    return [
        LoggedTranscript(split=split, step=step, title=title, turns=[turn], at=".".join(map(str, logged.at)))
        for (title, logged), turn in zip(titled, turns, strict=True)
    ]


def _titled(root: LogNode, pieces: Iterable[Logged]) -> Iterator[tuple[str, Logged]]:
    """Yield pieces of an outline with the titles of their sections; equal titles at the top are numbered."""
    numbers = {id(section): number for number, section in enumerate(_sections(root), 1)}
    for logged in pieces:
        titles = [
            f"{node.title} {numbers[id(node)]}" if id(node) in numbers else node.title
            for node in logged.path[1:]
            if node.title
        ]
        yield " / ".join(titles) or root.title, logged


def _sections(node: LogNode) -> list[LogNode]:
    return [child for child in node.children if child.kind == "section"]


# By attributes


def _by_attributes(root: LogNode, groups: dict[str, dict[str, Record]]) -> tuple[dict[Place, Tied], set[int]]:
    pieces: dict[Place, list[tuple[int, Logged]]] = {}
    for logged in conversations(root):
        indices = _indices(logged)
        group, index = indices.get("group"), indices.get("index")
        if group is not None and index is not None and index in groups.get(group, {}):
            pieces.setdefault((group, index), []).append((parsers.integer(indices.get("turn")) or 0, logged))
    tied: dict[Place, Tied] = {}
    used: set[int] = set()
    for place, parts in pieces.items():
        turns: list[Turn] = []
        for _, logged in sorted(parts, key=lambda part: part[0]):
            logged_turns = logged.node.turns
            turns += logged_turns[len(turns) :] if logged_turns[: len(turns)] == turns else logged_turns
        whole = any(turn.role == "assistant" for turn in turns)
        at = ".".join(map(str, parts[0][1].at))
        candidate = Tied(turns, whole, "its section names the group and the trajectory", at)
        if shows(groups[place[0]][place[1]], candidate):
            tied[place] = candidate
            used |= {id(logged.node) for _, logged in parts}
    return tied, used


def _indices(logged: Logged) -> dict[str, str]:
    """Return the indices that the nodes around a conversation declare; a new group resets the inner ones."""
    indices: dict[str, str] = {}
    for node in (*logged.path, logged.node):
        attrs = {key.lower().removeprefix("data-").replace("_", "-"): value for key, value in node.attrs.items()}
        if ASIDE in attrs:
            return {}
        for what, names in _INDICES.items():
            value = next((attrs[name] for name in names if name in attrs), None)
            if value is not None:
                inner = list(_INDICES)[list(_INDICES).index(what) + 1 :]
                indices = {key: index for key, index in indices.items() if key not in inner} | {what: value}
    return indices


# By the numbers of a group


def _facts_of_section(section: LogNode) -> _Facts:
    """Return the facts about a group in its section; a section without trajectories has none, and fits no group."""
    details = next((node for node in _sections(section) if node.title == "Trajectory Details"), None)
    facts = {}
    for trajectory in _sections(details) if details else []:
        if match := _TRAJECTORY.fullmatch(trajectory.title):
            turns = [n for part in _sections(trajectory) for n in _sections(part) if _TURN.fullmatch(n.title)]
            tables = [next((table_of(n) for n in turn.children if n.title == "Step stats"), {}) for turn in turns]
            facts[match[1]] = tuple(
                (table.get("ob_len", ""), table.get("ac_len", ""), table.get("step_reward", "")) for table in tables
            )
    return frozenset(facts.items())


def _shown(value: object) -> str:
    """Return a number as the cookbook's tables show it."""
    number = parsers.number(value)
    return "" if number is None else f"{number:.3f}"


def _in_group(
    section: LogNode, group: dict[str, Record], untied: set[str], check: Check
) -> tuple[dict[str, tuple[Tied, LogNode]], set[int]]:
    """Return the certain matches within a group's section for its untied trajectories, and the nodes that they use.

    Each match comes with the first of its nodes.
    """
    tied: dict[str, tuple[Tied, LogNode]] = {}
    used: set[int] = set()
    triples = _triples(section)
    shown = triples or [_Rollout([logged.node], {}) for logged in conversations(section) if len(logged.path) > 1]
    is_single = all(len(steps_of(record)) == 1 for record in group.values())
    if not len(shown) == len(group) <= MAX_GROUP or (triples and not is_single):
        return tied, used
    fitting = _by_facts(triples) if triples else _by_acts(shown)
    what = "reward, format and correct are those of this trajectory" if triples else _BY_ACTS
    prompt = _Alike.of([_Rollout(triple.nodes[:1], {}) for triple in triples]) if triples else None
    for index, record in group.items():
        check()
        if index not in untied:
            continue
        alike = fitting(record)
        if alike and all(other.is_one and other.turns == alike[0].turns for other in alike):
            alone = "alone" if sum(other.number for other in alike) == 1 else "and of others with the same text"
            candidate = Tied(alike[0].turns, True, f"{what} {alone}")
        elif prompt and prompt.is_one:
            alike, candidate = [prompt], Tied(prompt.turns, False, "the group has one prompt")
        else:
            continue
        if shows(record, candidate):
            tied[index] = candidate, alike[0].first.nodes[0]
            used.update(*(other.nodes for other in alike))
    return tied, used


def _triples(section: LogNode) -> list[_Rollout]:
    """Read repeated "Prompt", "Policy Response", "Reward"; empty if other parts hold messages."""
    triples = []
    parts = [node for node in _sections(section) if node.title != "Trajectory Details"]
    for at in range(0, len(parts), 3):
        if [part.title for part in parts[at : at + 3]] != ["Prompt", "Policy Response", "Reward"]:
            return []
        asked, answers = ([logged.node for logged in conversations(part)] for part in parts[at : at + 2])
        if len(asked) != 1 or len(answers) != 1:
            return []
        facts = next((table_of(node) for node in parts[at + 2].children if node.kind == "table"), {})
        triples.append(_Rollout([*asked, *answers], facts))
    return triples


def _by_facts(triples: list[_Rollout]) -> _Fitting:
    """Match a single step by its reward, its flags and its length."""
    grouped: dict[tuple[tuple[str, str], ...], list[_Rollout]] = {}
    for triple in triples:
        key = tuple((name, triple.facts[name]) for name in ("reward", *_FLAGS) if name in triple.facts)
        grouped.setdefault(key, []).append(triple)
    by_reward: dict[str | None, list[_Alike]] = {}
    for same in grouped.values():
        by_reward.setdefault(same[0].facts.get("reward"), []).append(_Alike.of(same))

    def fitting(record: Record) -> list[_Alike]:
        (step,) = steps_of(record)
        metrics = parsers.numbers(step.get("metrics"))
        flags = {logged: str(bool(metrics[key])) for logged, key in _FLAGS.items() if key in metrics}
        fits = [
            alike
            for alike in by_reward.get(_shown(step.get("reward")), [])
            if all(alike.first.facts.get(name, flag) == flag for name, flag in flags.items())
        ]
        response = fits[0].first.nodes[1].turns if fits else []
        size_bytes = sum(len(verbatim(turn).encode()) for turn in response)
        tokens = parsers.count(step.get("ac_len"))
        is_long_enough = tokens is None or tokens > 0 or not size_bytes
        return fits if is_long_enough and (tokens or 0) <= size_bytes + MAX_TOKENS_BEYOND_BYTES else []

    return fitting


def _by_acts(shown: list[_Rollout]) -> _Fitting:
    """Match whole conversations by the assistant's text and calls in each step."""
    conversations = [(one, tuple(_acts(one.turns))) for one in shown]

    @cache
    def by_end(count: int) -> dict[tuple[_Act, ...], _Alike]:
        ends: dict[tuple[_Act, ...], list[_Rollout]] = {}
        for one, acts in conversations:
            if len(acts) >= count:
                ends.setdefault(acts[len(acts) - count :], []).append(one)
        return {end: _Alike.of(same) for end, same in ends.items()}

    def fitting(record: Record) -> list[_Alike]:
        logs = [parsers.as_dict(step.get("logs")) for step in steps_of(record)]
        contents = [content if isinstance(content := log.get(CONTENT), str) else "" for log in logs]
        calls = (tuple(map(decoded, calls_in(log))) for log in logs)
        alike = by_end(len(logs)).get(tuple(zip(contents, calls, strict=True))) if any(contents) else None
        return [alike] if alike else []

    return fitting


def _acts(turns: Sequence[Turn]) -> list[_Act]:
    """Return the assistant's text in each of its turns, and its calls as environments log them."""
    acts = []
    for turn in turns:
        if turn.role == "assistant":
            calls = (part.call for part in turn.parts if part.call and not part.call.error)
            parts = (part for part in turn.parts if part.raw is not None or part.kind not in ("think", "tool_call"))
            content = "".join(part.text if part.raw is None else part.raw for part in parts)
            acts.append((content, tuple(f"{call.name}({call.arguments})" for call in calls)))
    return acts


def beside(path: str, suffix: str, other: str) -> str:
    """Return the path of another file of the same step and split, by its suffix, compressed or not."""
    plain = plain_name(path).removesuffix(suffix) + other
    return next((plain + kind for kind in ("", *COMPRESSED) if is_file(plain + kind)), plain)


def has_log(run: RunInfo, rollouts: str) -> bool:
    """Return whether a log of the trainer lies beside a file of the step's rollouts."""
    is_named = plain_name(rollouts).endswith(ROLLOUTS)
    paths = [beside(rollouts, ROLLOUTS, other) for other in (TREE, PAGE)] if is_named else []
    return any(is_file(path) and is_below(os.path.realpath(path), links_of(run)) for path in paths)


def tied_to(run: RunInfo, rollouts: str, split: str, step: int, record: Record) -> Tied | None:
    """Return the conversation of one trajectory in the log beside a file of rollouts, if the match is certain."""
    place = place_of(record)
    if place is None or not plain_name(rollouts).endswith(ROLLOUTS):
        return None
    whole = joined(run, beside(rollouts, ROLLOUTS, TREE), rollouts, split, step)
    return whole.tied.get(place) if whole else None


def joined(run: RunInfo, tree: str, rollouts: str, split: str, step: int) -> Joined | None:
    """Return a log joined with the trajectories beside it; None if either cannot be read."""
    both = Location(tree, links_of(run)), Location(rollouts, links_of(run))
    try:
        states = [file_state(location) for location in both]
        if states[1].st_size > MAX_JOINED_BYTES:
            return None
        return _join(*both, split, step, tuple((s.st_ino, s.st_size, s.st_mtime_ns) for s in states))
    except (OSError, Unusable):
        return None


def trajectories_beside(run: RunInfo, tree: str) -> Iterator[Record]:
    """Yield the trajectories beside a log; nothing if their file is missing or too long."""
    rollouts = Location(beside(tree, TREE, ROLLOUTS), links_of(run))
    with contextlib.suppress(OSError):
        if file_state(rollouts).st_size <= MAX_JOINED_BYTES:
            yield from trainer.records(rollouts)


@lru_cache(maxsize=2)
def _join(
    tree: Location, rollouts: Location, split: str, step: int, _states: tuple[tuple[int, int, int], ...]
) -> Joined:
    return join(logtree.read_tree(tree), trainer.records(rollouts), split, step)


class StepLog:
    """The log's additions to the rows of one scan: the log is read once, when a row first needs it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tied: dict[Place, Tied] | None = None if source.texts_from else {}
        self.problems: list[Problem] = []
        """Why the log could not be read, if rows needed it."""

    def complete(self, record: Record, row: SampleRow) -> None:
        """Give a row without a prompt the texts that a person sees on opening the sample."""
        if row.prompt or self._tied == {} or (place := place_of(record)) is None:
            return
        if self._tied is None:
            self._tied = self.read()
        turns, _ = tinker_turns.turns_in(record)
        tied = self._tied.get(place) if tinker_turns.lacks_prompt(turns) else None
        whole = tinker_turns.with_log(turns, record, tied) if tied else None
        if whole is not None:
            row.prompt, row.response = tinker_turns.texts_of(whole)
            row.messages = tinker_turns.answers_of(whole)

    def read(self) -> dict[Place, Tied]:
        """Read and join the log; empty if it is missing, too long or damaged: see `problems`."""
        rollouts = self._source.location
        tree = Location(beside(rollouts.path, ROLLOUTS, TREE), rollouts.root)
        try:
            if file_state(rollouts).st_size > MAX_JOINED_BYTES:
                self.problems.append(Problem(source=self._source.name, reason=_TOO_LONG))
                return {}
            root = logtree.read_tree(tree)
            is_empty = next(logtree.conversations(root), None) is None
            return {} if is_empty else join(root, trainer.records(rollouts), "", 0).tied
        except FileNotFoundError:  # it disappeared after it was listed: the next poll notices
            return {}
        except (OSError, Unusable) as error:
            reason = getattr(error, "strerror", None) or str(error)
        except Exception as error:  # a defect of this code must not cost the rows
            reason = defect(error)
        name = os.path.join(os.path.dirname(self._source.name), os.path.basename(tree.path))
        reason = f"samples lack the texts that this report may hold: {reason}"
        self.problems.append(Problem(source=os.path.normpath(name), reason=reason))
        return {}
