"""Calls of functions that verl traces (`rollout_trace_op`): each run of an agent loop is a sample.

Source: `verl/utils/rollout_trace.py`. A call has inputs and an output; the reward is most often computed after the
trace. Calls within a run (`generate`, `execute`) are parts of its sample.
"""

from typing import Any

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.formats.trackers.logged_samples import LoggedSample, TokenIds, name_of
from rolloupe.formats.trainers.token_rows import ids_of

RUN = ".run"
"""How the name of a call ends that is a whole sample."""


def is_call(known: Record) -> bool:
    """Tell whether the metadata of a trace are those of a call."""
    return isinstance(known.get("op"), str) and "sample_index" in known and "rollout_n" in known


def sample_of_call(known: Record, step: int | None) -> LoggedSample | None:
    """Return the sample of a call; None if it is a part of one."""
    if not str(known.get("op")).endswith(RUN):
        return None
    inputs, output = _object(known.get("inputs")), _object(known.get("output"))
    arguments = _object(inputs.get("kwargs")) or inputs
    own_step = known.get("step")
    prompt = _first(arguments.get("raw_prompt"), output.get("prompt_text"))
    record: Record = {
        "prompt": prompt,
        "reward": fields.number(output.get("reward_score")),
        "step": step if own_step is None or own_step == -1 else own_step,
        "group": name_of(arguments.get("uid")) or _group(known, prompt),
        "status": known.get("status"),
    }
    record |= {name: value for name, value in _texts(arguments, output).items() if value is not None}
    record |= {name: known[name] for name in ("exception_type", "exception") if name in known}
    record |= {"num_turns": output["num_turns"]} if "num_turns" in output else {}
    record["metrics"] = _object(output.get("metrics"))
    others = {"sampling_params": inputs.get("sampling_params"), "extra_fields": output.get("extra_fields")}
    record |= {name: value for name, value in others.items() if value}
    split = "eval/validation" if str(known.get("validate")).lower() == "true" else ""
    return LoggedSample(
        {name: value for name, value in record.items() if value is not None or name == "reward"},
        split, name_of(known.get("rollout_n")), (), _tokens(output),
    )  # fmt: skip


def _group(known: Record, prompt: Any) -> str | None:
    """The number of a prompt within its data set, of which a run may have several, with a hash of the prompt."""
    parts = (name_of(known.get("sample_index")), fields.digest(fields.joined(prompt)) if prompt else "")
    return "-".join(part for part in parts if part) or None


def _texts(arguments: Record, output: Record) -> Record:
    truth = _object(arguments.get("reward_model")).get("ground_truth")
    response = _first(output.get("response_text"))
    is_known = response is not None or not output.get("response_ids")
    found = {"ground_truth": truth, "data_source": arguments.get("data_source"), "uid": arguments.get("uid")}
    return found | ({"response": response or ""} if is_known else {})


def _tokens(output: Record) -> TokenIds | None:
    prompt, response = ids_of(output.get("prompt_ids")), ids_of(output.get("response_ids"))
    if not response:
        return None
    series = {"logprobs": output.get("response_logprobs"), "loss_mask": output.get("response_mask")}
    return TokenIds(prompt, response, {name: values for name, values in series.items() if values})


def _first(*values: Any) -> Any:
    return next((value for value in values if value), None)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
