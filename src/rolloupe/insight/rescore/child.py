"""What runs in the child process: loads a person's grader and grades the samples that the parent sends.

It needs the standard library alone, so that any interpreter can run it: `python -I child.py OPTIONS`, where OPTIONS are
JSON. A request is a line of JSON with `samples`; for each of them a line of JSON follows, in order, with the `number`
of the request, which tells an answer from what a grader writes to the same pipe. The limits are against accidents: this
is no sandbox.
"""

import importlib.util
import inspect
import json
import math
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MAX_REASON_CHARS = 300
MAX_TAG_CHARS = 200
MAX_VALUES = 50
"""How many values of a dict count."""

FILE_BYTES = 64 * 2**20
"""The largest file that a grader may write."""

BATCH_S = 30.0
"""How long one call with many samples may take, unless a single sample may take longer."""

TOTALS = ("score", "reward")
"""The keys of a dict that may hold the score."""

TRL = {"prompts": "prompt", "completions": "response"}
VERL = {"data_source": "data_source", "solution_str": "response", "ground_truth": "label", "extra_info": "extra_info"}
VERL_BATCH = {f"{name}s": value for name, value in VERL.items()}
LABELS = ("label", "ground_truth", "answer", "solution")
"""The names by which graders ask for the label."""


class Late(BaseException):
    """Raised in a grader that takes too long; no `Exception`, so that few graders catch it."""


class Wrong(Exception):
    """Raised for a result that is no score; the first argument is the kind of failure."""


class Record(dict[str, Any]):
    """A sample, a turn or a tool call: `sample.prompt` is `sample["prompt"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name!r}; there are: {', '.join(self)}") from None


Call = Callable[[Sequence[Record]], Sequence[Any]]


def time_of(samples: int, limit_s: float) -> float:
    """How long a call with so many samples may take: as long as each alone, up to a bound."""
    return max(limit_s, min(samples * limit_s, BATCH_S))


def limit(memory_bytes: int) -> None:
    """Set the limits of the whole process. Those of time are set again for each sample."""
    if resource is not None:
        for which, most in (
            (resource.RLIMIT_AS, memory_bytes),
            (resource.RLIMIT_FSIZE, FILE_BYTES),
            (resource.RLIMIT_CORE, 0),
        ):
            _, hard = resource.getrlimit(which)
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(which, (bound, bound))


def load(path: str, name: str) -> Any:
    """Import the file of a grader and return the function."""
    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)
    stem = Path(path).stem
    spec = importlib.util.spec_from_file_location(f"{stem}_of_grader" if stem in sys.modules else stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part)
    return value


def adapted(function: Any) -> tuple[Call, bool]:
    """Return what grades a list of samples, and whether it takes many at once. Raises `TypeError`."""
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    required = [p.name for p in parameters if p.name in names and p.default is p.empty]
    if "completions" in names:
        return (lambda samples: function(**_columns(samples, names, required, takes_all=takes_all))), True
    for adapter, is_batch in ((VERL, False), (VERL_BATCH, True)):
        if [*adapter][1] in names:
            lacking = [name for name in required if name not in adapter]
            if lacking:
                raise TypeError(f"it asks for {lacking[0]!r}; there are: {', '.join(adapter)}")
            asked = {name: value for name, value in adapter.items() if takes_all or name in names}
            return _verl(function, asked, is_batch), is_batch
    if names[:1] == ["samples"]:
        return function, True
    if len(required) > 1 or not (names or any(p.kind is p.VAR_POSITIONAL for p in parameters)):
        raise TypeError(
            f"its parameters are ({', '.join(names)}); write fn(sample), fn(samples), fn(completions, **columns) "
            "or fn(data_source, solution_str, ground_truth, extra_info)"
        )
    return (lambda samples: [function(samples[0])]), False


def _verl(function: Any, adapter: dict[str, str], is_batch: bool) -> Call:
    def call(samples: Sequence[Record]) -> Sequence[Any]:
        columns = {name: [_verl_value(sample, value) for sample in samples] for name, value in adapter.items()}
        if is_batch:
            return function(**columns)  # type: ignore[no-any-return]
        return [function(**{name: values[0] for name, values in columns.items()})]

    return call


def _verl_value(sample: Record, name: str) -> Any:
    if name == "data_source":
        return sample.tags.get(name) or sample.extra.get(name) or sample.env
    if name == "extra_info":
        return sample.extra[name] if isinstance(sample.extra.get(name), dict) else sample.extra
    return sample[name]


def _columns(
    samples: Sequence[Record], names: Sequence[str], required: Sequence[str], *, takes_all: bool
) -> dict[str, list[Any]]:
    """The columns that a reward function of TRL asks for. Raises `Wrong` for one that it needs and no sample has."""
    places = [place for s in samples for place in (TRL, LABELS, s, s.extra, s.tags, s.metrics)]
    known = dict.fromkeys(name for place in places for name in place)
    lacking = [name for name in required if name not in known]
    if lacking:
        raise Wrong("exception", f"it asks for the column {lacking[0]!r}, which the samples lack")
    return {name: [_column(sample, name) for sample in samples] for name in known if takes_all or name in names}


def _column(sample: Record, name: str) -> Any:
    if name in TRL:
        return sample[f"{TRL[name]}_messages"] or sample[TRL[name]]
    values = (place[name] for place in (sample, sample.extra, sample.tags, sample.metrics) if name in place)
    return next(values, sample.label if name in LABELS else None)


def outcome(result: Any) -> dict[str, Any]:
    """A result as an answer. Raises `Wrong`."""
    if not isinstance(result, dict):
        return {"score": _number(result)}
    total = next((name for name in TOTALS if name in result), None)
    if total is None:
        raise Wrong("wrong_type", f"it returned a dict without {' or '.join(map(repr, TOTALS))}")
    metrics, tags = {}, {}
    for name, value in list(result.items())[:MAX_VALUES]:
        if isinstance(value, str):
            tags[str(name)[:MAX_TAG_CHARS]] = value[:MAX_TAG_CHARS]
        elif name != total and value is not None:
            metrics[str(name)[:MAX_TAG_CHARS]] = _number(value, f"its value {str(name)[:80]!r}")
    return {"score": _number(result[total]), "metrics": metrics, "tags": tags}


def _number(value: Any, what: str = "the result") -> float:
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise Wrong("wrong_type", f"{what} is {_named(value)}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except Exception as error:
        raise Wrong("wrong_type", f"{what} is {_named(value)}, not a number: {_words(error)}") from None
    if not math.isfinite(number):
        raise Wrong("not_finite", f"{what} is {number}")
    return number


def _named(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _words(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}".rstrip(": ")
    except Exception:
        return type(error).__name__


def _failure(error: BaseException, path: str, limit_s: float) -> dict[str, str]:
    """An exception as an answer."""
    if isinstance(error, Wrong):
        kind, reason = error.args
    elif isinstance(error, Late):
        kind, reason = "timeout", f"no result after {limit_s:g} s"
    elif isinstance(error, MemoryError):
        kind, reason = "memory", "it needed more memory than --memory allows"
    else:
        kind, reason = "exception", _words(error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    at = f" (line {lines[-1]} of {os.path.basename(path)})" if lines and kind != "timeout" else ""
    return {"failed": kind, "reason": reason[:MAX_REASON_CHARS] + at}


class Grader:
    """A function that was loaded, and how long it may take for a sample."""

    def __init__(self, path: str, name: str, limit_s: float) -> None:
        self._path = os.path.abspath(path)
        self._call, self.is_batch = adapted(load(self._path, name))
        self._limit_s = limit_s
        self._loop: Any = None

    def answers(self, samples: Sequence[Record], *, alone: bool) -> Iterator[dict[str, Any]]:
        """Yield an answer for each sample: of a batch that fails, each is graded alone."""
        if self.is_batch and not alone and len(samples) > 1:
            together = self._graded(samples)
            if len(together) == len(samples):
                yield from together
                return
        for sample in samples:
            yield from self._graded([sample])

    def _graded(self, samples: Sequence[Record]) -> list[dict[str, Any]]:
        """The answers of one call; a single failure if the call as a whole failed."""
        limit_s = time_of(len(samples), self._limit_s)
        try:
            try:
                _begin(limit_s)
                results = self._results(samples)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except BaseException as error:
            self._loop = None
            return [_failure(error, self._path, limit_s)]
        answers = []
        for result in results:
            try:
                answers.append(outcome(result))
            except Exception as error:
                answers.append(_failure(error, self._path, limit_s))
        return answers

    def _results(self, samples: Sequence[Record]) -> list[Any]:
        returned = self._awaited(self._call(samples))
        try:
            results = list(returned)
        except TypeError:
            raise Wrong("wrong_type", f"it returned {_named(returned)}, not a list of results") from None
        results = [self._awaited(result) for result in results]
        if len(results) != len(samples):
            raise Wrong("wrong_type", f"it returned {len(results)} results for {len(samples)} samples")
        return results

    def _awaited(self, result: Any) -> Any:
        if not inspect.isawaitable(result):
            return result
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()

        async def wait() -> Any:
            return await result

        return self._loop.run_until_complete(wait())


def _begin(limit_s: float) -> None:
    """Start the clocks of a call: an alarm, and a limit of the processor's time for what no alarm interrupts."""
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = math.ceil(used.ru_utime + used.ru_stime + limit_s) + 1
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def main(options: dict[str, Any]) -> None:
    """Load the grader, say how that went, and answer requests until the parent closes the pipe."""
    requests, replies = (os.fdopen(os.dup(number), mode) for number, mode in ((0, "rb"), (1, "wb")))
    for number in (0, 1, 2):  # what a grader prints goes nowhere
        os.dup2(os.open(os.devnull, os.O_RDWR), number)

    own = os.getpid()

    def reply(answer: dict[str, Any]) -> None:
        if os.getpid() != own:  # a copy that the grader forked came back from it
            os._exit(0)
        replies.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        replies.flush()

    def ring(_number: int, _frame: Any) -> None:
        raise Late

    signal.signal(signal.SIGALRM, ring)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        limit(options["memory_bytes"])
        grader = Grader(options["path"], options["name"], options["limit_s"])
    except BaseException as error:
        reply({"unusable": _failure(error, os.path.abspath(options["path"]), 0)["reason"]})
        return
    reply({"is_batch": grader.is_batch})
    for line in requests:
        request = json.loads(line, object_pairs_hook=Record)
        for answer in grader.answers(request["samples"], alone=request["alone"]):
            reply(answer | {"number": request["number"]})


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
