"""The trials of Harbor, and any trajectory in its format ATIF, one JSON document for each.

Source: the models of harbor 0.25 (ATIF 1.0 to 1.8, `TrialResult`). A job is a folder of trials; a trial's reward is in
its `result.json`. A long trajectory continues in more documents, which begin with steps copied for context.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.documents import NumberedFormat, beginning, list_document
from rolloupe.formats.reading.files import alone, file_of, files, folders, is_one_file, links_of, source_at
from rolloupe.formats.reading.records import Record, References, Unusable
from rolloupe.formats.reading.trainer_files import read_json
from rolloupe.formats.reading.value_parsers import as_dict, dicts
from rolloupe.formats.trainers.nemo import add_item_tokens, tokens_of
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Source, Status
from rolloupe.storage import is_below, is_file, path_state

SCHEMA = "ATIF-"
_OF_TRIAL = {"task_name", "trial_name"}
AGENT, STEPS, RESULT, CONFIG = "agent", "steps", "result.json", "config.json"
FIRST = "trajectory.json"
MAX_DOCUMENTS = 100
"""The most documents of one trajectory."""

_SHOWN = ("agent_result", "exception_info")
_GOES_ON = "continued_trajectory_ref"
_CONTINUED = ".cont-"
_NEXT = re.compile(r"[^/\\]{1,200}\.json")
_TOTALS = ("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd", "total_steps")
_TOKENS = (
    ("prompt_token_ids", "prompt_token_ids"), ("completion_token_ids", "generation_token_ids"),
    ("logprobs", "generation_log_probs"),
)  # fmt: skip

ROLES = {"agent": "assistant", "user": "user", "system": "system"}
MAX_DEPTH = 8


class Harbor(NumberedFormat):
    """Trials of Harbor and other trajectories in ATIF."""

    name = "harbor"
    title = "Harbor (ATIF)"
    suffixes = (".json",)
    takes_single_files = True
    placed = frozenset(("steps", "subagent_trajectories", "final_metrics", "_result", "_step"))

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        links = link_root or str(path.resolve())
        places = [alone(path)] if is_one_file(path) else _listed(str(path), links)
        fitting = [place for place in places[:1] if _fits(place)] or [place for place in places if _fits(place)]
        if not fitting:
            return []
        name, links = (path.stem, "") if is_one_file(path) else (path.name, links)
        lost = sum(map(_is_result, places))
        count = "one trajectory" if len(places) - lost == 1 else f"{len(places) - lost} trajectories"
        without = f"; {lost} trial{'s have' if lost > 1 else ' has'} results without one" if lost else ""
        reason = f"{count} in ATIF, the format of Harbor{without}"
        # the folders of trials and steps are not separate runs
        inner = {folder: None for place in places for folder in Path(place.path).parents if path in folder.parents}
        parts = tuple(RunPart(str(folder)) for folder in (path, *inner))
        return [self._run_at(path, reason, links, name, parts)]

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`: a document's rows depend on the trial's result and on the documents that continue it."""
        if is_file(run.root):
            return [source_at(run, Location(run.root, links_of(run)), split="eval/harbor")]
        listed = [place for place in _listed(run.root, links_of(run)) if _fits(place)]
        beside = {
            folder: [
                entry.location
                for entry in files(folder, links_of(run), (".json",))
                if entry.name != FIRST and (os.path.basename(folder) == AGENT or _CONTINUED in entry.name)
            ]
            for folder in {os.path.dirname(place.path) for place in listed}
        }
        return [source_at(run, place, split="eval/harbor", depends=_depends(place, beside)) for place in listed]

    def numbered(self, location: Location, within: str) -> Iterator[tuple[int, Record | Unusable]]:  # noqa: ARG002
        """See `NumberedFormat`: a document is one trajectory."""
        if _is_result(location):
            result = as_dict(read_json(location))
            for number, step in enumerate(_lost_steps(location, result)):
                yield number, {"steps": [], "_result": result, "_step": step}
            return
        folder, name = os.path.split(location.path)
        documents, names = [_document(location)], {name}
        while isinstance(goes_on := documents[-1].get(_GOES_ON), str) and len(documents) < MAX_DOCUMENTS:
            is_new = _NEXT.fullmatch(goes_on) and goes_on not in names
            following = file_of(folder, goes_on, location.root) if is_new else None
            if following is None:
                break
            names.add(goes_on)
            documents.append(_document(following))
        steps = [step for document in documents for step in document["steps"]]
        subagents = [sub for document in documents for sub in parsers.as_list(document.get("subagent_trajectories"))]
        places = location.path.split(os.sep)
        is_of_step = places[-4:-3] == [STEPS] and places[-2] == AGENT
        made = {
            "steps": steps, "subagent_trajectories": subagents, "_step": places[-3] if is_of_step else "",
            "_result": as_dict(read_json(_result_file(location))),
        }  # fmt: skip
        yield 0, documents[-1] | made

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        asked, answered = _parted(record)
        result, totals = record["_result"], as_dict(record.get("final_metrics"))
        of_step = _step_of(record["_step"], result)
        reward = parsers.reward(as_dict(of_step.get("verifier_result")).get("rewards"))
        found = tokens_of(_items(record))
        metrics = parsers.numbers({name: totals.get(name) for name in _TOTALS})
        source_name, task = parsers.tag(result.get("source")), parsers.name(result.get("task_name"))
        return parsers.row_of(
            start,
            length,
            asked,
            answered,
            split=f"eval/{os.path.basename(source_name)}" if source_name else source.split or "eval/harbor",
            step=0,
            group=":".join(filter(None, (task, record["_step"]))) if task else None,
            index=_index(source, record["_step"]),
            reward=reward.value,
            status=_status(of_step, has_reward=reward.value is not None),
            turns=sum(message.get("role") == "assistant" for message in answered),
            prompt_tokens=found.first or None,
            response_tokens=len(found.ids) - found.first if found.ids else parsers.count(totals.get(_TOTALS[1])),
            total_tokens=len(found.ids) or None,
            env=task or "",
            uid=parsers.name(record.get("trajectory_id")) or parsers.name(record.get("session_id")) or "",
            metrics=metrics | reward.metrics,
            has_series=bool(found.ids),
        )

    def references(self, record: Record) -> References:  # noqa: ARG002
        return References("", [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        asked, answered = _parted(record)
        sample = parsers.sample_of(row, locator, asked, answered)
        rest = {key: value for key, value in record.items() if key not in self.placed}
        of_step = _step_of(record["_step"], record["_result"])
        rest |= {key: value for key, value in of_step.items() if key in _SHOWN}
        sample.extra = {key: parsers.showable(value) for key, value in rest.items()}
        if name := parsers.name(record.get(_GOES_ON)):
            sample.notes = [f"the trajectory continues in {name}, which is not read: open the folder of the trial"]
        return sample

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        add_item_tokens(run, sample, _items(record))

    def config(self, run: RunInfo) -> dict[str, Any]:
        return {} if is_file(run.root) else as_dict(read_json(file_of(run.root, CONFIG, links_of(run))))


def _fits(place: Location) -> bool:
    version = beginning(place).get("schema_version")
    return (isinstance(version, str) and version.startswith(SCHEMA)) or _is_result(place)


def _is_result(place: Location) -> bool:
    """Return whether a file is the result of a trial, not of a job."""
    return os.path.basename(place.path) == RESULT and beginning(place).keys() >= _OF_TRIAL


def _listed(folder: str, links: str) -> list[Location]:
    """The documents of a job, of a trial, or of this folder itself."""
    own = {entry.name: entry.location for entry in files(folder, links, (".json",))}
    found = _of_trial(folder, links)
    if not found and not own.keys().isdisjoint((CONFIG, RESULT)):
        found = [place for trial in folders(folder, links) for place in _of_trial(trial.path, links)]
    return found or [own[name] for name in own if name not in (RESULT, CONFIG) and _CONTINUED not in name]


def _of_trial(folder: str, links: str) -> list[Location]:
    """The trajectories of a trial, and its result if the trial or one of its steps failed before it wrote any."""
    steps = [entry.path for entry in folders(os.path.join(folder, STEPS), links)]
    written = (file_of(os.path.join(place, AGENT), FIRST, links) for place in (folder, *steps))
    found = [place for place in written if place is not None]
    result = file_of(folder, RESULT, links)
    if result is None or not _is_result(result) or (found and not steps):
        return found
    return [*found, result] if not found or _lost_steps(result, as_dict(read_json(result))) else found


def _lost_steps(place: Location, result: Record) -> list[str]:
    """The steps in a trial's result without a trajectory; `""` for a trial without steps and trajectories."""
    steps = folders(os.path.join(os.path.dirname(place.path), STEPS), place.root)
    written = {step.name for step in steps if file_of(os.path.join(step.path, AGENT), FIRST, place.root)}
    named = [step["step_name"] for step in _step_results(result)]
    return [step for step in named if step not in written] if named or written else [""]


def _result_file(place: Location) -> Location | None:
    """The result of the trial of a document, if it lies within the run."""
    agent = os.path.dirname(place.path)
    trial = os.path.dirname(agent)
    if os.path.basename(os.path.dirname(trial)) == STEPS:
        trial = os.path.dirname(os.path.dirname(trial))
    is_in_run = os.path.basename(agent) == AGENT and is_below(trial, place.root)
    return file_of(trial, RESULT, place.root) if is_in_run else None


def _depends(place: Location, beside: dict[str, list[Location]]) -> str:
    """Return a word that changes with the other files that determine the rows of a document.

    These are the result of its trial, and the documents that may continue it: an agent's folder holds one trajectory.
    """
    if _is_result(place):
        return " ".join(_lost_steps(place, as_dict(read_json(place))))
    folder, name = os.path.split(place.path)
    begin = "" if os.path.basename(folder) == AGENT else name.removesuffix(".json") + _CONTINUED
    following = (other for other in beside[folder] if os.path.basename(other.path).startswith(begin))
    states = [path_state(other.path) for other in (_result_file(place), *following) if other]
    return " ".join(f"{state.st_size}-{state.st_mtime_ns}" for state in states)


def _document(place: Location) -> Record:
    found = list_document(place, "steps")
    return found.rest | {"steps": [found.element(number) for number in range(len(found))]}


def _parted(record: Record) -> tuple[list[Record], list[Record]]:
    messages = [*_messages(record)]
    first = next((n for n, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    return messages[:first], messages[first:]


def _index(source: Source, step: str) -> str:
    """The trial and its step; for a document outside a trial, its name."""
    places = source.name.split("/")
    if len(places) == 1:
        return (step if places == [RESULT] else "") or places[0]
    kept = [place for place in places[:-1] if place not in (AGENT, STEPS)]
    if step and places[-1] == RESULT:
        kept.append(step)
    return ":".join(kept) or source.name


def _step_of(step: str, result: Record) -> Record:
    """Return the part of a result that concerns a step; the whole result if the trial has one step."""
    if not step:
        return result
    named = (of_step for of_step in _step_results(result) if of_step["step_name"] == step)
    return next(named, {"exception_info": result.get("exception_info")})


def _step_results(result: Record) -> list[Record]:
    return [of_step for of_step in dicts(result.get("step_results")) if isinstance(of_step.get("step_name"), str)]


def _status(result: Record, *, has_reward: bool) -> tuple[Status, str]:
    raised = as_dict(result.get("exception_info")).get("exception_type")
    if isinstance(raised, str):
        return ("truncated" if "Timeout" in raised else "error"), raised[: parsers.MAX_TAG_CHARS]
    return ("completed", "") if has_reward else ("unknown", "")


def _items(record: Record) -> list[Record]:
    """The tokens of the steps under the names of NeMo-Gym."""
    found = (as_dict(step.get("metrics")) for step in record["steps"] if not step.get("is_copied_context"))
    return [{name: metrics.get(key) for key, name in _TOKENS} for metrics in found]


def _messages(trajectory: Record, depth: int = 0) -> Iterator[Record]:
    """The messages of a trajectory and of all agents in it, without steps that were copied for context."""
    agent = as_dict(trajectory.get("agent")).get("name") if depth else None
    subagents = dicts(trajectory.get("subagent_trajectories")) if depth < MAX_DEPTH else []
    inner = {str(subagent.get("trajectory_id", id(subagent))): subagent for subagent in subagents}
    for step in dicts(trajectory.get("steps")):
        if step.get("is_copied_context") is True:
            continue
        yield _message(step, agent if isinstance(agent, str) else "")
        for result in dicts(as_dict(step.get("observation")).get("results")):
            yield {"role": "tool", "content": result.get("content"), "tool_call_id": result.get("source_call_id")}
            for reference in dicts(result.get("subagent_trajectory_ref")):
                if (found := inner.pop(str(reference.get("trajectory_id")), None)) is not None:
                    yield from _messages(found, depth + 1)
    for subagent in inner.values():
        yield from _messages(subagent, depth + 1)


def _message(step: Record, name: str) -> Record:
    source = str(step.get("source"))
    calls = []
    for call in dicts(step.get("tool_calls")):
        function = {"name": call.get("function_name"), "arguments": call.get("arguments")}
        calls.append({"id": call.get("tool_call_id"), "type": "function", "function": function})
    others = {"reasoning_content": step.get("reasoning_content"), "tool_calls": calls, "name": name}
    message = {"role": ROLES.get(source, source), "content": step.get("message")}
    return message | {key: value for key, value in others.items() if value}
