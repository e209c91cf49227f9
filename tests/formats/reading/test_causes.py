"""What ended a sample, by the words of frameworks."""

import pytest

from rolloupe.formats.reading.causes import cause_of
from rolloupe.formats.reading.value_parsers import status

WORDS = {
    # verifiers
    "SandboxError": "environment", "verifiers.errors.TunnelError": "environment", "ToolsetError": "environment",
    "HarnessError": "environment", "ProviderError": "environment", "OverlongPromptError": "limit",
    "max_turns_reached": "limit", "prompt_too_long": "", "timeout_reached": "timeout",
    # tau2
    "infrastructure_error": "environment", "user_error": "environment", "agent_error": "model", "max_steps": "limit",
    "user_stop": "", "agent_stop": "", "too_many_errors": "",
    # SWE-agent
    "exit_environment_error": "environment", "exit_api": "environment", "exit_cost": "limit", "exit_context": "limit",
    "exit_command_timeout": "timeout", "exit_format": "model",
    "model_output_invalid": "model", "judge_evaluation_failed": "grader", "parse_error": "model", "submitted": "",
    # Inspect
    "sandbox_unavailable": "environment", "message": "limit", "token": "limit", "time": "timeout", "working": "timeout",
    # Harbor
    "AgentTimeoutError": "timeout", "VerifierTimeoutError": "grader", "EnvironmentStartError": "environment",
    "RewardFileNotFoundError": "grader", "DockerBuildFailure": "environment",
    # NeMo-Gym, and trainers
    "transient": "environment", "judge_failed": "grader", "length": "limit", "max_tokens": "limit", "stop": "",
    "completed": "", "aborted": "", "error": "unknown", "failed": "unknown", "ValueError": "", "": "",
    "LimitsExceeded": "limit", "ContextWindowExceededError": "limit", "TimeoutExpired": "timeout",
    "The context window is fine": "", "APIError": "environment",
    "SandboxError: refused by 10.0.0.1": "environment", "softmax_length_mismatch": "", "deadline_header_missing": "",
}  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_what_ended_a_sample(word: str) -> None:
    assert cause_of(*status(word)) == WORDS[word]


@pytest.mark.parametrize(
    "word",
    [
        "my environment variable",
        "The sandbox was fun",
        "environment",
        "task",
        "apiary error",
        "x" * 500,
        "no_message_limit",
        "runtime_outcome",
    ],
)
def test_what_says_nothing(word: str) -> None:
    assert cause_of("unknown", word) == ""


def test_an_error_of_no_known_kind() -> None:
    assert cause_of("error", "KeyError") == "unknown"
    assert cause_of("truncated", "") == "limit"
    assert cause_of("error", "RuntimeError: Agent reached maximum iteration") == "limit"
    assert cause_of("completed", "SandboxError") == ""
