"""A sample of the common model, as what `Recorder.sample` takes."""

from typing import Any

from rolloupe import text
from rolloupe.model import Sample, Turn
from rolloupe.record._fitting import own_status
from rolloupe.record.logtree.messages import messages_of


def given_of(sample: Sample) -> dict[str, Any]:
    """Return the arguments that record a sample as it is; its step and split among them."""
    row = sample.row
    prompt = [turn for turn in sample.turns if turn.origin == "prompt"]
    response = [turn for turn in sample.turns if turn.origin == "response"]
    asked = text.split_prompt(sample.prompt_text) if sample.prompt_text else []
    status = own_status(row) or ("" if row.status == "unknown" else row.status)
    own_word = {} if row.status_raw in ("", status) else {"status_raw": row.status_raw}
    return {
        "step": row.step, "split": row.split, "group": row.group, "index": row.index, "uid": row.uid,
        "reward": row.reward, "advantage": row.advantage, "discarded": row.discarded, "label": sample.label or None,
        "status": status, "env": row.env,
        "metrics": row.metrics, "tags": row.tags, "turns": row.turns, "prompt_tokens": row.prompt_tokens,
        "response_tokens": row.response_tokens, "ref_reward": sample.ref_reward, "tokens": sample.tokens or None,
        "prompt": _side(prompt, sample.prompt_text, asked),
        "response": _side(response, sample.response_text, text.split_response(sample.response_text)),
        "ref_response": messages_of(sample.ref_turns) if sample.ref_turns else None,
        "token_ids": sample.token_ids or None, "series": {one.name: one.values for one in sample.series},
        "extra": own_word | sample.extra,
    }  # fmt: skip


def _side(turns: list[Turn], verbatim: str, of_text: list[Turn]) -> Any:
    """A prompt or a response: the text where it says all that its turns do, else messages."""
    return verbatim if turns == of_text else messages_of(turns)
