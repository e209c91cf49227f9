"""The child process: it loads a person's grader and grades the samples that the parent sends.

It needs the standard library alone, so that any interpreter can run it: `python -I child.py OPTIONS`, where OPTIONS are
JSON. A request is a line of JSON with `samples`. For each of them a line follows, in order, with a `verdict` and the
`number` of the request, which tells it from what a grader writes to the same pipe. The limits are against accidents:
this is not a sandbox.
"""

import importlib.util
import inspect
import json
import math
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

MAX_REASON_CHARS = 300
MAX_TAG_CHARS = 200
MAX_VALUES = 50
"""How many values of a dict are read."""

FILE_BYTES = 64 * 2**20

BATCH_S = 30.0
"""The time limit of a call with many samples, unless that of a single sample is longer."""

TOTALS = ("score", "reward")

TRL = {"prompts": "prompt", "completions": "response"}
"""The arguments of TRL's reward functions that have other names here."""

LABELS = ("label", "ground_truth", "answer", "solution")
"""The names by which graders ask for the label."""


class Late(BaseException):
    """Raised in a grader that takes too long. It is not an `Exception`, so few graders catch it."""


class Wrong(Exception):
    """Raised for a result that is not a score. Its arguments are the kind of failure and the reason."""


class Record(dict[str, Any]):
    """A sample, a turn or a tool call: `sample.prompt` is `sample["prompt"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name!r}; there are: {', '.join(self)}") from None


Call = Callable[[Sequence[Record]], Sequence[Any]]


def time_of(samples: int, limit_s: float) -> float:
    """Return the time limit of a call with this many samples: the sum of their limits, up to a bound."""
    return max(limit_s, min(samples * limit_s, BATCH_S))


def limit(memory_bytes: int) -> None:
    """Set the limits of the whole process; each call sets its own time limit."""
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
    if spec is None:
        raise ImportError(f"{path} is not a Python file")
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    # compiled here: a cache knows a source by second and size, so that a quick edit would not count
    exec(compile(Path(path).read_bytes(), path, "exec"), module.__dict__)  # noqa: S102
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part)
    return value


VERL: dict[str, Callable[[Record], Any]] = {
    "data_source": lambda sample: sample.tags.get("data_source") or sample.extra.get("data_source") or sample.env,
    "solution_str": lambda sample: sample.response,
    "ground_truth": lambda sample: sample.label,
    "extra_info": lambda sample: (
        sample.extra["extra_info"] if isinstance(sample.extra.get("extra_info"), dict) else sample.extra
    ),
}
"""The arguments of verl's reward functions; those of a batch end with an s."""


def adapted(function: Any) -> tuple[Call, bool]:
    """Return what grades a list of samples, and whether it takes many at once. Raises `TypeError`."""
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    required = [p.name for p in parameters if p.name in names and p.default is p.empty]
    if "completions" in names:
        return (lambda samples: function(**_columns(samples, names, required, takes_all=takes_all))), True
    plural = "s" if "solution_strs" in names else ""
    if f"solution_str{plural}" in names:
        readers = {f"{name}{plural}": read for name, read in VERL.items()}
        if lacking := [name for name in required if name not in readers]:
            raise TypeError(f"it asks for {lacking[0]!r}; there are: {', '.join(readers)}")
        asked = {name: read for name, read in readers.items() if takes_all or name in names}
        if plural:
            return (lambda samples: function(**{name: [*map(read, samples)] for name, read in asked.items()})), True
        return (lambda samples: [function(**{name: read(samples[0]) for name, read in asked.items()})]), False
    if names[:1] == ["samples"]:
        return function, True
    if len(required) > 1 or not (names or any(p.kind is p.VAR_POSITIONAL for p in parameters)):
        raise TypeError(
            f"its parameters are ({', '.join(names)}); write fn(sample), fn(samples), fn(completions, **columns) "
            "or fn(data_source, solution_str, ground_truth, extra_info)"
        )
    return (lambda samples: [function(samples[0])]), False


def _columns(
    samples: Sequence[Record], names: Sequence[str], required: Sequence[str], *, takes_all: bool
) -> dict[str, list[Any]]:
    """Return the columns that a reward function of TRL asks for. Raises `Wrong` if no sample has a required one."""
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
    """Return a grader's result as a verdict. Raises `Wrong`."""
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
    """A loaded function, with its time limit for one sample."""

    def __init__(self, path: str, name: str, limit_s: float) -> None:
        self._path = os.path.abspath(path)
        self._call, self.is_batch = adapted(load(self._path, name))
        self._limit_s = limit_s
        self._loop: Any = None

    def verdicts(self, samples: Sequence[Record], *, alone: bool) -> Iterator[dict[str, Any]]:
        """Yield a verdict for each sample; if a batch fails, grade each sample alone."""
        if self.is_batch and not alone and len(samples) > 1:
            together = self._graded(samples)
            if len(together) == len(samples):
                yield from together
                return
        for sample in samples:
            yield from self._graded([sample])

    def _graded(self, samples: Sequence[Record]) -> list[dict[str, Any]]:
        """Return the verdicts of one call; a single failure if the whole call failed."""
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
        return [self._verdict(result, limit_s) for result in results]

    def _verdict(self, result: Any, limit_s: float) -> dict[str, Any]:
        try:
            return outcome(result)
        except Exception as error:
            return _failure(error, self._path, limit_s)

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

        async def wait() -> Any:
            return await result

        self._loop = self._loop or asyncio.new_event_loop()
        return self._loop.run_until_complete(wait())


def _begin(limit_s: float) -> None:
    """Start the clocks of a call: an alarm, and a limit of processor time for code that no alarm interrupts."""
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime + limit_s) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def main(options: dict[str, Any]) -> None:
    """Load the grader, report whether it can be used, and answer requests until the parent closes the pipe."""
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
        for verdict in grader.verdicts(request["samples"], alone=request["alone"]):
            reply({"number": request["number"], "verdict": verdict})


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
