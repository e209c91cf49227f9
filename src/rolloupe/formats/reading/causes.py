"""What ended a sample before its time, by the words in which frameworks say how it ended.

Sources of the words: error classes of verifiers (`verifiers/errors.py`), exit statuses of SWE-agent, termination
reasons of tau2, limits and tool errors of Inspect, exceptions of Harbor, failure classes of NeMo-Gym. A word that no
rule knows decides nothing: whoever counts environment failures must be able to trust each of them.
"""

import re
from functools import lru_cache

from rolloupe.model import Cause, Status

_FAILURE = r"(?:error|exception|failure|failed|fail|died|crash(?:ed)?|unavailable|lost|timeout|time_out)"
_GRADER = re.compile(rf"^(?:verifier|reward|judge|grader|scorer|scoring|rubric)s?(?:_[a-z_]+)?_{_FAILURE}$")
_END = r"(?:_(?:error|exception|exceeded|reached|expired|failure))*"
_TIME = re.compile(
    rf"^(?:(?:agent|tool|task|run|command|call|request|execution|exit|exit_command|exit_total_execution|asyncio)_)?"
    rf"(?:time_?out|timed_out|time_limit|max_time|wall_time|deadline){_END}$|^(?:time|working)$"
)
_LIMIT = re.compile(
    rf"^(?:overlong(?:_prompt)?|length|max_?(?:output_?)?(?:token|turn|step|length|round|iteration|message)s?|"
    rf"(?:token|turn|step|message|context|cost|budget|iteration)s?_(?:limit|window|length|budget)|exit_(?:cost|context)|"
    rf"limits?|too_many_(?:tokens|turns|steps)|message|token|context|cost|turns){_END}$"
)
_ENVIRONMENT = re.compile(
    r"^(?:sandbox|toolset|env|environment|task|tunnel|interception|harness|provider|container|docker|infrastructure|"
    rf"connection|network|api|browser|vm|pod)(?:_[a-z_]+)?_{_FAILURE}$|"
    r"^(?:user_error|exit_environment_error|exit_api|transient)$"
)
_MODEL = re.compile(
    r"^(?:parse|parsing|format|invalid_(?:call|action)|tool_call_parse|agent)_error$|^exit_format$|"
    r"^model_output_invalid$"
)
_MOST_STEPS = re.compile(r"\b(?:reached|exceeded) (?:the )?max(?:imum)?\b", re.IGNORECASE)
"""In the words of an error."""
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s.-]+")


@lru_cache(maxsize=4096)
def cause_of(status: Status, word: str) -> Cause:
    """Return what ended a sample; empty for one that ended as it should, or does not say.

    An error without a known word has the cause `unknown`.
    """
    if status in ("completed", "pending"):
        return ""
    head = word.partition(":")[0].strip(" .")
    folded = _CAPITAL.sub("_", head if " " in head else head.rpartition(".")[2]).lower()
    if _GRADER.search(folded):
        return "grader"
    if _TIME.search(folded):
        return "timeout"
    if status == "truncated" or _LIMIT.search(folded) or (status == "error" and _MOST_STEPS.search(word)):
        return "limit"
    if _ENVIRONMENT.search(folded):
        return "environment"
    if _MODEL.search(folded):
        return "model"
    return "unknown" if status == "error" else ""
