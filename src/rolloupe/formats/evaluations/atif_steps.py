"""The steps of a trajectory in ATIF as chat messages: those of agents that it started stand where it refers to them."""

from collections.abc import Iterator
from typing import Any

from rolloupe.formats.reading.records import Record

ROLES = {"agent": "assistant", "user": "user", "system": "system"}
MAX_DEPTH = 8


def messages_of(trajectory: Record) -> list[Record]:
    """Return the messages of a trajectory and of all agents in it, without steps that were copied for context."""
    return [*_messages(trajectory, "", 0)]


def _messages(trajectory: Record, name: str, depth: int) -> Iterator[Record]:
    inner = {_id(one): one for one in _listed(trajectory.get("subagent_trajectories"))} if depth < MAX_DEPTH else {}
    for step in _listed(trajectory.get("steps")):
        if step.get("is_copied_context") is True:
            continue
        yield _message(step, name)
        observation = step.get("observation")
        for result in _listed(observation.get("results") if isinstance(observation, dict) else None):
            yield {"role": "tool", "content": result.get("content"), "tool_call_id": result.get("source_call_id")}
            for reference in _listed(result.get("subagent_trajectory_ref")):
                if (found := inner.pop(str(reference.get("trajectory_id")), None)) is not None:
                    yield from _messages(found, _agent(found), depth + 1)
    for one in inner.values():
        yield from _messages(one, _agent(one), depth + 1)


def _listed(value: object) -> list[Record]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _id(trajectory: Record) -> str:
    return str(trajectory.get("trajectory_id", id(trajectory)))


def _agent(trajectory: Record) -> str:
    agent = trajectory.get("agent")
    name = agent.get("name") if isinstance(agent, dict) else None
    return name if isinstance(name, str) else ""


def _message(step: Record, name: str) -> Record:
    source = step.get("source")
    calls = [_call(one) for one in _listed(step.get("tool_calls"))]
    found: dict[str, Any] = {"role": ROLES.get(str(source), str(source)), "content": step.get("message")}
    return (
        found
        | ({"reasoning_content": step["reasoning_content"]} if step.get("reasoning_content") else {})
        | ({"tool_calls": calls} if calls else {})
        | ({"name": name} if name else {})
    )


def _call(one: Record) -> Record:
    function = {"name": one.get("function_name"), "arguments": one.get("arguments")}
    return {"id": one.get("tool_call_id"), "type": "function", "function": function}
