"""Saved states of training: arrays in `.npz`, the rest in JSON. Nothing is pickled, so any of them is safe to open.

Random numbers need no place in it: each draw follows from the seed and the step. What does is the weights, the
optimiser's moments, the reference, and the groups that are still on their way.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from model import Transformer
from rollouts import Group, judge, problem_of
from sampling import Response
from settings import Settings
from vocabulary import Vocabulary


def save(
    folder: Path, learner: Transformer, reference: Transformer, optimiser: torch.optim.Optimizer, coming: list[Group]
) -> None:
    """Save a state into a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    _save_arrays(folder / "learner.npz", learner.state_dict())
    _save_arrays(folder / "reference.npz", reference.state_dict())
    moments = optimiser.state_dict()["state"]
    flat = {f"{number}/{key}": value for number, of in moments.items() for key, value in of.items()}
    _save_arrays(folder / "optimiser.npz", flat)
    (folder / "coming.json").write_text(json.dumps([_as_json(group) for group in coming]))


def load(
    folder: Path,
    learner: Transformer,
    reference: Transformer,
    optimiser: torch.optim.Optimizer,
    vocabulary: Vocabulary,
    settings: Settings,
) -> list[Group]:
    """Restore a state in place, and return the groups that were on their way."""
    learner.load_state_dict(_load_arrays(folder / "learner.npz"))
    reference.load_state_dict(_load_arrays(folder / "reference.npz"))
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in _load_arrays(folder / "optimiser.npz").items():
        number, key = name.split("/")
        moments.setdefault(int(number), {})[key] = value
    optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
    return [_from_json(one, vocabulary, settings) for one in json.loads((folder / "coming.json").read_text())]


def _save_arrays(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
    np.savez(path, **arrays)


def _load_arrays(path: Path) -> dict[str, torch.Tensor]:
    with np.load(path, allow_pickle=False) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


def _as_json(group: Group) -> dict[str, Any]:
    responses = [
        {**one.response._asdict(), "logprobs": one.response.logprobs.tolist(), "uid": one.uid} for one in group.rollouts
    ]
    return {"step": group.step, "number": group.number, "arrives": group.arrives, "responses": responses}


def _from_json(record: dict[str, Any], vocabulary: Vocabulary, settings: Settings) -> Group:
    problem = problem_of(settings, record["step"], record["number"])
    group = Group(record["step"], record["number"], problem, record["arrives"])
    for one in record["responses"]:
        response = Response(one["ids"], np.asarray(one["logprobs"], np.float32), one["finished"])
        rollout = judge(problem, vocabulary.encode(problem.prompt), response, vocabulary, settings)
        rollout.uid = one["uid"]
        group.rollouts.append(rollout)
    return group
