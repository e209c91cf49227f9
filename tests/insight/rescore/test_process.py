"""A child process with a person's grader: what it takes, what it answers, and what a failure costs."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from rolloupe.errors import BadQuery
from rolloupe.insight.rescore import GraderLimits, Verdict, grader_file
from rolloupe.insight.rescore.child import time_of
from rolloupe.insight.rescore.process import ENVIRONMENT, GraderProcess
from tests.thoroughness import each

PATIENT = GraderLimits(20.0)


class Graders:
    """Graders of a test, each in a file of its own; their processes end with the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.processes: list[GraderProcess] = []

    def process(self, code: str, function: str = "fn", limits: GraderLimits = PATIENT) -> GraderProcess:
        path = self._folder / f"grader{len(self.processes)}.py"
        path.write_text(code)
        self.processes.append(GraderProcess(grader_file(f"{path}:{function}"), limits))
        return self.processes[-1]

    def verdicts(self, code: str, samples: list[dict[str, Any]], function: str = "fn") -> list[Verdict]:
        return self.process(code, function).verdicts(samples)


@pytest.fixture
def graders(tmp_path: Path) -> Iterator[Graders]:
    found = Graders(tmp_path)
    yield found
    for process in found.processes:
        process.close()


def sample(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"train/0/g/{number}", "index": str(number), "prompt": "1 + 1?", "response": f"it is {number}",
        "label": "2", "env": "sums", "metrics": {"len": 7.0}, "tags": {}, "turns": [], "tool_calls": [],
        "prompt_messages": None, "response_messages": None, "extra": {}, **more,
    }  # fmt: skip


def samples(count: int) -> list[dict[str, Any]]:
    return [sample(number) for number in range(count)]


FAILING = """
import ctypes, os, sys, time
def fn(sample):
    print("flood " * 10_000)
    print("flood " * 10_000, file=sys.stderr)
    number = int(sample.index)
    if number == 1:
        while True: pass
    if number == 2:
        raise ValueError("no " + sample["response"])
    if number == 3:
        os._exit(3)
    if number == 4:
        ctypes.string_at(0)
    if number == 5:
        return bytearray(10**10)
    if number == 6:
        return float("nan")
    if number == 7:
        return "one"
    if number == 8:
        sys.exit("out")
    if number == 9:
        while True:
            try:
                time.sleep(1)
            except BaseException:
                pass
    return number / 10
"""


def test_whatever_fails_is_a_verdict_on_its_sample_alone(graders: Graders) -> None:
    found = graders.process(FAILING, limits=GraderLimits(0.4)).verdicts(samples(11))
    assert [one.score for one in found] == [0.0, *[None] * 9, 1.0]
    kinds = ["timeout", "exception", "crash", "crash", "memory", "not_finite", "wrong_type", "exception", "timeout"]
    assert [one.failed for one in found[1:10]] == kinds
    assert [one.reason for one in found[1:10]] == [
        "no result after 0.4 s",
        "ValueError: no it is 2 (line 10 of grader0.py)",
        "the process ended itself with exit code 3",
        "the process was killed by SIGSEGV",
        "it needed more memory than --memory allows (line 16 of grader0.py)",
        "the result is nan",
        "the result is of type str, not a number",
        "SystemExit: out (line 22 of grader0.py)",
        "no result after 0.4 s: the process was ended",
    ]


BATCH = """
import os
def fn(samples):
    if len(samples) > 1 and any(one.index == "2" for one in samples):
        FAILURE
    if samples[0].index == "2":
        FAILURE
    return [len(samples)] * len(samples)
"""


@each("failure", ["raise ValueError", "os._exit(1)", "while True: pass", "return [1.0, 2.0]"])
def test_of_a_batch_that_fails_each_sample_is_graded_alone(graders: Graders, failure: str) -> None:
    process = graders.process(BATCH.replace("FAILURE", failure), limits=GraderLimits(0.15))
    found = process.verdicts(samples(4))
    assert [one.score for one in found] == [1.0, 1.0, None, 1.0]
    assert [one.score for one in process.verdicts([sample(0), sample(1)])] == [2.0, 2.0]


def test_a_large_batch_has_a_bound_on_its_time() -> None:
    assert (time_of(1, 2), time_of(8, 2), time_of(512, 2), time_of(8, 60)) == (2, 16, 30, 60)


def test_a_batch_that_hangs_alone_too_is_the_last(graders: Graders, tmp_path: Path) -> None:
    code = f"""
        def fn(samples):
            with open({str(tmp_path / "calls")!r}, "a") as file:
                file.write(f"{{len(samples)}} ")
            while True: pass
        """
    process = graders.process(dedent(code), limits=GraderLimits(0.1))
    for _ in range(2):
        assert {one.failed for one in process.verdicts(samples(2))} == {"timeout"}
    assert (tmp_path / "calls").read_text() == "2 1 1 1 1 "


@each(
    "code",
    [
        "def fn(sample): return len(sample.response) + (sample['label'] == '2') + sample.metrics.len",
        "async def fn(sample):\n    import asyncio\n    await asyncio.sleep(0)\n    return 15",
        "def fn(samples): return [15 for one in samples]",
        "async def fn(samples): return [15.0] * len(samples)",
        "class Grader:\n    def __call__(self, sample): return 15\nfn = Grader()",
        """def fn(data_source, solution_str, ground_truth, extra_info=None, **more):
            return {'score': 15 * ((data_source, ground_truth, extra_info) == ('sums', '2', {})), 'acc': True}""",
        "def fn(data_sources, solution_strs, ground_truths, extra_infos):\n    return [15 for one in solution_strs]",
        "def fn(completions, **columns): return [15 * (completions == ['it is 0']) * (columns['answer'] == ['2'])]",
        "def fn(prompts, completions, ground_truth): return [15 * (ground_truth == ['2']) * (prompts == ['1 + 1?'])]",
        "import decimal\ndef fn(sample): return decimal.Decimal(15)",
        "def fn(sample): return {'reward': 15, 'why': 'good', 'none': None}",
    ],
)
def test_each_signature_gets_what_it_asks_for(graders: Graders, code: str) -> None:
    (found,) = graders.verdicts(code, [sample(0)])
    assert (found.score, found.failed, found.reason) == (15.0, None, "")


def test_conversations_reach_a_reward_function_of_trl_as_messages(graders: Graders) -> None:
    code = "def fn(completions): return [len(one[0]['content']) for one in completions]"
    messages = [{"role": "assistant", "content": "four"}]
    assert graders.verdicts(code, [sample(0, response_messages=messages)])[0].score == 4.0


def test_values_beside_the_score_are_kept(graders: Graders) -> None:
    (found,) = graders.verdicts("def fn(sample): return {'score': 1, 'acc': False, 'why': 'x' * 500}", [sample(0)])
    assert found == Verdict(score=1.0, metrics={"acc": 0.0}, tags={"why": "x" * 200})


@each(
    ("result", "reason"),
    [
        ("None", "the result is None, not a number"),
        ("{'acc': 1}", "it returned a dict without 'score' or 'reward'"),
        ("{'score': 1, 'acc': [1]}", "its value 'acc' is of type list, not a number"),
        ("10 ** 400", "the result is inf"),
    ],
)
def test_results_that_are_no_scores_are_described(graders: Graders, result: str, reason: str) -> None:
    (found,) = graders.verdicts(f"def fn(sample): return {result}", [sample(0)])
    assert found.score is None and found.reason.startswith(reason)


@each(
    ("code", "reason"),
    [
        ("import missing_module", "No module named 'missing_module' (line 1 of grader0.py)"),
        ("other = 1", "has no attribute 'fn'"),
        ("def fn(a, b): return 1", "its parameters are (a, b); write fn(sample), fn(samples)"),
        ("def fn(solution_str, judge): return 1", "it asks for 'judge'; there are: data_source"),
        ("import os; os._exit(4)", "the process ended itself with exit code 4"),
        ("fn = 3", "3 is not a callable object"),
    ],
)
def test_a_grader_that_cannot_be_loaded_is_refused_at_once(graders: Graders, code: str, reason: str) -> None:
    with pytest.raises(BadQuery) as raised:
        graders.verdicts(code, samples(2))
    assert "cannot be used: " in str(raised.value) and reason in str(raised.value)


def test_a_grader_imports_from_its_folder_and_finds_no_secrets(
    graders: Graders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    (tmp_path / "helper_of_grader.py").write_text("VALUE = 3")
    code = "import os, helper_of_grader\ndef fn(sample): return {'score': helper_of_grader.VALUE, **dict(os.environ)}"
    (found,) = graders.verdicts(code, [sample(0)])
    assert found.score == 3.0 and found.tags.keys() - {"LC_CTYPE"} == ENVIRONMENT.keys()


def test_a_large_file_is_a_failure_and_no_file(graders: Graders, tmp_path: Path) -> None:
    code = f"""
def fn(sample):
    with open({str(tmp_path / "large")!r}, "wb") as file:
        file.seek(64 * 2**20)
        file.write(b"x")
"""
    (found,) = graders.verdicts(code, [sample(0)])
    assert found.failed == "exception" and found.reason.startswith("OSError: [Errno 27] File too large")
    assert (tmp_path / "large").stat().st_size <= 64 * 2**20


@each("code", [
    "def fn(sample):\n    os.fork()\n    return int(sample.index)",
    "def fn(samples):\n    os.fork()\n    return [int(one.index) for one in samples]",
    "def fn(sample):\n    if not os.fork():\n        raise SystemExit\n    return int(sample.index)",
])  # fmt: skip
def test_copies_of_the_process_that_a_grader_forks_answer_nothing(graders: Graders, code: str) -> None:
    found = graders.verdicts(f"import os\n{code}", samples(4))
    assert [one.score for one in found] == [0, 1, 2, 3]


@each("line", ['{"score": 99}', '{"score": 99, "number": 1}', "no JSON"])
def test_what_a_grader_writes_to_the_pipe_of_answers_is_no_score(graders: Graders, line: str) -> None:
    code = f"""
        import os
        def fn(sample):
            for number in range(3, 20) if sample.index == "1" else ():
                try:
                    os.write(number, b{line + chr(10)!r})
                except OSError:
                    pass
            return int(sample.index)
        """
    verdicts = graders.verdicts(dedent(code), samples(4))
    assert [one.score for one in verdicts] == [0.0, None, 2.0, 3.0]
    assert verdicts[1].failed == "crash" and "pipe of its answers" in verdicts[1].reason


def test_words_that_are_no_unicode_are_kept_as_far_as_they_go(graders: Graders) -> None:
    code = "def fn(sample):\n    if sample.index == '0':\n        raise ValueError('a \\ud800 b')\n"
    failed, scored = graders.verdicts(f"{code}    return {{'score': 1, 'tag\\udfff': 'c\\ud83d'}}", samples(2))
    assert (failed.failed, failed.reason) == ("exception", "ValueError: a ? b (line 3 of grader0.py)")
    assert (scored.score, scored.tags) == (1.0, {"tag?": "c?"})


def test_the_sample_after_a_late_crash_is_graded_again(graders: Graders) -> None:
    code = """
import os, threading
def fn(sample):
    if sample.index == "0":
        threading.Timer(0.1, os._exit, [1]).start()
    if sample.index == "1" and threading.active_count() > 1:
        threading.Event().wait(0.3)
    return 1
"""
    assert [one.score for one in graders.verdicts(code, samples(3))] == [1.0, 1.0, 1.0]


def test_killing_ends_the_child_and_its_children_while_a_thread_waits(graders: Graders, tmp_path: Path) -> None:
    code = f"""
import os, subprocess, time
def fn(sample):
    child = subprocess.Popen(["sleep", "60"])
    open({str(tmp_path / "ids")!r}, "w").write(f"{{os.getpid()}} {{child.pid}}\\n")
    time.sleep(60)
"""
    process = graders.process(code, limits=GraderLimits(60.0))
    thread = threading.Thread(target=process.verdicts, args=([sample(0)],))
    thread.start()
    until = time.monotonic() + 20
    while not (tmp_path / "ids").exists() or not (tmp_path / "ids").read_text().endswith("\n"):
        assert time.monotonic() < until
        time.sleep(0.01)
    process.kill()
    thread.join(10)
    assert not thread.is_alive()
    for number in (tmp_path / "ids").read_text().split():
        while is_running(int(number)):
            assert time.monotonic() < until
            time.sleep(0.01)


def is_running(number: int) -> bool:
    """True for a process that has not ended; one that nobody has waited for has."""
    states = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False)
    return bool(states.stdout.strip()) and not states.stdout.strip().startswith("Z")


def test_another_interpreter_runs_the_grader(tmp_path: Path) -> None:
    path = tmp_path / "grader.py"
    path.write_text("import sys\ndef fn(sample): return {'score': 1, 'at': sys.executable}")
    python = tmp_path / "python"
    python.symlink_to(os.path.realpath(sys.executable))
    process = GraderProcess(grader_file(f"{path}:fn", python=str(python)), GraderLimits())
    try:
        assert process.verdicts([sample(0)])[0].tags == {"at": str(python)}
    finally:
        process.close()
    with pytest.raises(BadQuery, match="cannot be started"):
        GraderProcess(grader_file(f"{path}:fn", python=str(tmp_path / "none")), GraderLimits()).verdicts([sample(0)])


def module_level(_sample: object) -> float:
    return 1.0


def test_a_grader_is_named_by_its_file_and_its_function(tmp_path: Path) -> None:
    found = grader_file(module_level)
    assert (found.path, found.function, found.name) == (__file__, "module_level", "module_level")
    for wrong in ("grader.py", "grader.py:", "grader.py:a b", f"{tmp_path}/none.py:fn", lambda _: 1.0, len):
        with pytest.raises(BadQuery):
            grader_file(wrong)
    with pytest.raises(BadQuery, match="is not a name for scores"):
        grader_file(module_level, "../x")
