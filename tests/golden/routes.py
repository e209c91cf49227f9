"""What the server answers: every route, of every run."""

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np

from rolloupe.index import Library
from rolloupe.server.app import GET, POST, RUN, App
from rolloupe.server.endpoints import question_routes
from tests.golden.frozen import LARGEST, LIKE_ANOTHER, SIGNIFICANT, Answers, digest, plain
from tests.server.support import BEARER, WRITE, Answer, ask, decoded, get, report_data, served

UNASKED = {"/api/events", "/api/cache/stats", "/api/cache/clear", "/api/state"}
"""A stream without an end, figures of the process, and what changes the state: tests of their own ask these."""
LISTED = 12
"""Samples of a page."""
OF_EACH = 2
"""Splits of a run: one to train on, and one evaluation."""
NUMBER = re.compile(r"-?\d*\.\d+(e[-+]?\d+)?")
NOISE = 1e-5
"""Differences of computed numbers below this are rounding alone."""


class Asked:
    """Asks a server, and keeps the answers."""

    def __init__(self, app: App, folder: Path) -> None:
        self.app, self.folder = app, folder
        self.answers: Answers = {}
        self.routes: set[str] = set()

    def get(self, route: str, run: str = "", /, **asked: object) -> Any:
        """The answer of a route; its JSON, for further questions."""
        path = route.replace("{run}", quote(run, safe=""))
        words = urlencode([(key.replace("__", "."), value) for key, value in asked.items()], doseq=True)
        self.routes.add(route)
        return self._keep(f"GET {path}?{words}", get(self.app, f"{path}?{words}"))

    def post(self, route: str, body: dict[str, Any], run: str = "") -> Any:
        """The same for a question in a body."""
        path = route.replace("{run}", quote(run, safe=""))
        self.routes.add(route)
        answer = ask(self.app, "POST", path, BEARER | WRITE, json.dumps(body).encode())
        return self._keep(f"POST {path} {json.dumps(body)}", answer)

    def _keep(self, asked: str, answer: Answer) -> Any:
        kind = answer.headers.get("content-type", "")
        found: Any = digest(answer.body)
        if kind.startswith("application/json"):
            found = plain(answer.json, self.folder)
        elif kind.startswith("application/x-ndjson"):
            found = plain(_searched([json.loads(line) for line in answer.body.splitlines()]), self.folder)
        elif kind.startswith("text/html"):
            found = plain(report_data(answer.body), self.folder)
        elif kind.startswith("text/csv"):
            found = plain(_cells(answer.body.decode("utf-8-sig")), self.folder)
        elif kind.startswith("text/"):
            found = plain(answer.body.decode(), self.folder)
        elif answer.body.startswith(b"RLTK"):
            found = plain(_tokens(answer.body), self.folder)
        elif "attachment" in answer.headers.get("content-disposition", ""):
            found = digest(answer.body) if kind != "application/vnd.apache.parquet" else "a table"
        self.answers[asked] = [answer.status, kind, found]
        return answer.json if kind.startswith("application/json") else None


def _searched(events: list[Any]) -> Any:
    """What a search found in the end: how many events it took depends on the time that each took. Else all lines."""
    if not events or "found_since" not in events[-1]:
        return events
    hits = [hit for event in events for hit in event["hits"]]
    return {"hits": hits, "end": events[-1] | {"hits": [], "found_since": []}}


def _cells(text: str) -> list[list[float | str]]:
    """The cells of a table, numbers in `SIGNIFICANT` digits."""
    return [[_rounded(cell) if NUMBER.fullmatch(cell) else cell for cell in row] for row in csv.reader(StringIO(text))]


def _tokens(body: bytes) -> Any:
    """The header of token arrays, their bytes as a digest, and sums of numbers.

    The last digits of logarithms depend on the processor.
    """
    header, arrays = decoded(body)
    sums: dict[str, Any] = {}
    for (kind, series), array in arrays.items():
        name = f"{kind} {series}"
        if array.dtype.kind != "f":
            sums[name] = digest(array.tobytes())
            continue
        sizes = np.nan_to_num(np.where(np.abs(array) < NOISE, 0, np.abs(array)), posinf=0)
        places = np.arange(1, len(array) + 1)
        numbers = (sizes.sum(), sizes @ places, np.maximum(array, 0)[sizes > 0].sum())
        sums[name] = [int(np.isnan(array).sum()), *(_rounded(float(number)) for number in numbers)]
    return [header, sums]


def _rounded(number: float | str) -> float:
    return float(f"{float(number):.{SIGNIFICANT}g}")


def answers_of(library: Library, folder: Path, *, is_whole: bool) -> Answers:
    """Ask everything of each run, and of all together if `is_whole`; else what a page asks first."""
    asked = Asked(served(library), folder)
    runs = asked.get("/api/runs")["runs"]
    for run in runs:
        first_look(asked, run, splits=len(run["splits"]) if is_whole else OF_EACH, samples=2 if is_whole else 1)
        if is_whole and run["id"] != LIKE_ANOTHER:
            whole_run(asked, run)
    if is_whole:
        several_runs(asked, [run["id"] for run in runs])
        assert asked.routes >= {path for path, *_ in (*GET, *POST, *question_routes())} - UNASKED
    return asked.answers


def first_look(asked: Asked, run: Any, *, splits: int, samples: int) -> None:
    """What the page asks of a run before anybody has pressed anything, of so many splits and samples of each."""
    name = run["id"]
    for route in ("about", "problems", "metrics", "catalogue"):
        asked.get(f"{RUN}/{route}", name)
    for split in run["splits"][:splits]:
        steps = asked.get(f"{RUN}/steps", name, split=split["name"])["steps"]
        scope = {"split": split["name"], "step": steps[-1]}
        asked.get(f"{RUN}/columns", name, split=split["name"])
        asked.get(f"{RUN}/groups", name, **scope, usual=1, limit=LISTED)
        page = asked.get(f"{RUN}/samples", name, **scope, limit=LISTED, column=["reward", "status", "response_tokens"])
        for sample in page["samples"][:samples]:
            asked.get(f"{RUN}/sample", name, id=sample["id"])
            asked.get(f"{RUN}/sample/tokens", name, id=sample["id"])


def whole_run(asked: Asked, run: Any) -> None:
    """Everything else that can be asked of a run."""
    name = run["id"]
    for route in ("brief", "alarms", "findings", "parts", "lint", "landmarks", "evals", "marked", "token-series"):
        asked.get(f"{RUN}/{route}", name)
    asked.get(f"{RUN}/agreement", name)
    asked.get(f"{RUN}/gradient", name, bins=40)
    asked.get(f"{RUN}/problems/raw", name, file=file_of(asked, name), start=0, stop=40)
    for split in run["splits"][:OF_EACH]:
        a_split(asked, name, split["name"])
    for ask_more in (exported, narrowed, curves_of):
        for split in run["splits"][:1]:
            ask_more(asked, name, split["name"])


def file_of(asked: Asked, name: str) -> str:
    """A file of a run."""
    files = asked.get(f"{RUN}/about", name)["files"]
    return str(next((file["name"] for file in files if file["what"] == "samples"), files[0]["name"] if files else "-"))


def a_split(asked: Asked, name: str, split: str) -> None:
    """The steps, prompts and samples of a split."""
    steps = asked.get(f"{RUN}/steps", name, split=split)["steps"]
    last = {"split": split, "step": steps[-1]}
    asked.get(f"{RUN}/discards", name, split=split)
    asked.get(f"{RUN}/report", name, **last)
    asked.get(f"{RUN}/samples.csv", name, **last)
    asked.get(f"{RUN}/step-values", name, **last, names=["reward", "response_tokens"], also=["turns"])
    asked.get(f"{RUN}/distribution", name, name="reward", split=split)
    asked.get(f"{RUN}/grid", name, split=split, limit=LISTED)
    for listed in ("samples", "groups"):
        asked.get(f"{RUN}/{listed}/progress", name, **last)
    samples = asked.get(f"{RUN}/samples", name, **last, limit=LISTED, sort="reward", descending=1)["samples"]
    for sample in samples[:2]:
        a_sample(asked, name, sample["id"])
    group = samples[0]["group"] if samples else ""
    for series in series_of(asked, name, samples):
        for side in ("high", "low"):
            asked.get(f"{RUN}/worst-tokens", name, **last, series=series, side=side, limit=5)
        asked.get(f"{RUN}/token-steps", name, split=split, series=series)
        asked.get(f"{RUN}/token-positions", name, **last, series=series)
    asked.get(f"{RUN}/token-masks", name, split=split)
    asked.get(f"{RUN}/token-words", name, **last, by="tokens", limit=10)
    asked.get(f"{RUN}/token-changes", name, split=split, before=steps[0], after=steps[-1], min_tokens=1, limit=10)
    for rule in ("ppo", "gspo", "reinforce"):
        asked.get(f"{RUN}/update", name, **last, group=group, rule=rule)
    asked.get(f"{RUN}/update", name, **last, rule="ppo", against="dapo", weights="sequence_mean")


def series_of(asked: Asked, name: str, samples: list[Any]) -> list[str]:
    """The token series of the first of some samples."""
    found = asked.get(f"{RUN}/sample", name, id=samples[0]["id"])["series"] if samples else []
    return [series["name"] for series in found] or ["logprobs"]


def a_sample(asked: Asked, name: str, sample: str) -> None:
    """All of a sample."""
    for route in ("sample", "sample/turns", "sample/raw", "sample/text", "members", "prompt"):
        asked.get(f"{RUN}/{route}", name, id=sample)
    asked.get(f"{RUN}/sample/find", name, id=sample, text="the")
    asked.get(f"{RUN}/sample/image", name, id=sample, at="0.0")
    asked.get(f"{RUN}/sample/tokens", name, id=sample, start=1, count=7, rule="ppo")
    asked.get(f"{RUN}/sample/top-logprobs", name, id=sample, token=0)
    asked.post(f"{RUN}/sample/spans", {"id": sample, "search": {"text": "a"}}, name)


def exported(asked: Asked, name: str, split: str) -> None:
    """A step as files, and what to judge next."""
    last = {"split": split, "step": asked.get(f"{RUN}/steps", name, split=split)["steps"][-1]}
    for kind in ("jsonl", "csv", "parquet"):
        asked.get(f"{RUN}/export", name, **last, to=kind, texts="whole")
    if name != LARGEST:
        asked.get(f"{RUN}/export", name, **last, to="html")
    for order in ("random", "strata", "disagreement"):
        asked.get(f"{RUN}/judging-queue", name, split=split, order=order, limit=LISTED)


def narrowed(asked: Asked, name: str, split: str) -> None:
    """Lists that a person has narrowed and sorted; and what is refused."""
    for where in ("reward > 0.5", "status = truncated or turns > 1", 'token "the"', "no_such > 1", "reward >"):
        asked.get(f"{RUN}/samples", name, split=split, where=where, limit=3)
        asked.get(f"{RUN}/groups", name, split=split, where=where, limit=3)
    for sort in ("reward", "length", "derived.think_chars", "no_such"):
        asked.get(f"{RUN}/samples", name, split=split, sort=sort, descending=1, limit=3, column=[sort])
    asked.get(f"{RUN}/complete", name, split=split, text="rew")
    asked.get(f"{RUN}/samples", name, split="no such split")
    asked.get(f"{RUN}/sample", name, id="no id")
    answers = asked.get(f"{RUN}/samples", name, split=split, limit=1)["samples"]
    for sample in answers:
        prompt = asked.get(f"{RUN}/prompt", name, id=sample["id"])["prompt"]
        place = {"split": split, "step": sample["step"], "prompt": prompt}
        asked.get(f"{RUN}/evals/answers", name, **place)
        asked.get(f"{RUN}/prompt-samples", name, **place)
        asked.get(f"{RUN}/prompt", name, prompt=prompt)


def curves_of(asked: Asked, name: str, split: str) -> None:
    """Every curve of the catalogue, smoothed and whole."""
    entries = asked.get(f"{RUN}/catalogue", name, split=split)["entries"]
    curves = [{key: entry[key] for key in ("kind", "name", "source", "stat")} for entry in entries[:100]]
    asked.post("/api/curves", {"runs": [name], "curves": curves, "points": 100})
    smooth = {"options": {"smooth": 20, "spread": True}}
    asked.post("/api/curves", {"runs": [name], "curves": [curve | smooth for curve in curves[:6]], "points": 20})


def several_runs(asked: Asked, runs: list[str]) -> None:
    """Runs side by side, and searches."""
    reward = {"kind": "sample", "name": "reward", "source": "train", "stat": "mean"}
    asked.get("/api/configs")
    asked.get("/api/configs/find", word=["lr=1.5e-4", "naive"])
    asked.get("/api/catalogue")
    asked.get("/api/compare/configs", run=runs[:3], all=1)
    asked.get("/api/compare/prompts", run=runs[:3], split="train", step=1)
    for others in (runs[:2], runs[2:4], runs[:3]):
        asked.get("/api/compare/rewards", run=others, split="train")
    asked.get("/api/curve.csv", ask=json.dumps({"runs": runs[:2], "curves": [reward]}))
    asked.post("/api/run-metrics", {"runs": runs, "curve": reward})
    for search in ({"text": "the"}, {"text": "t.e", "regex": True, "roles": ["response"]}, {"text": "("}):
        body = {"tab": "golden", "search": search, "runs": runs[:1]}
        asked.post("/api/search", body)
    asked.get("/api/search/hits", search="unknown")
