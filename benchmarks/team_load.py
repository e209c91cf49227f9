"""200 people who think 2 to 5 s between requests to a team's server: a locustfile.

    pip install locust      in an environment of its own
    rolloupe serve RUNS --listen 127.0.0.1:8080 --users-from header:X-Forwarded-User --trusted-proxy 127.0.0.1 \\
      --access ACCESS       which says: everyone = "writer"
    locust -f benchmarks/team_load.py --headless -u 200 -r 40 -t 120s --host http://127.0.0.1:8080 --only-summary

Takes samples from the answers, so that it runs over any runs with a split `train`.
"""

import random
from itertools import count

from locust import HttpUser, between, task

NUMBERS = count()
WRITE = {"X-Rolloupe": "1", "Content-Type": "application/json"}


class Reader(HttpUser):
    """Somebody who looks at lists and samples, filters, and notes something now and then."""

    wait_time = between(2, 5)

    def on_start(self) -> None:
        """Open the page."""
        self.name = f"person{next(NUMBERS)}"
        self.client.headers.update({"X-Forwarded-User": self.name, "Accept-Encoding": "gzip"})
        self.run_ids: list[str] = []
        self.seen: dict[str, int] = {}
        self.samples: list[tuple[str, str]] = []
        self._runs("/api/runs")
        self.client.get("/api/state")

    def _runs(self, name: str) -> None:
        answer = self.client.get("/api/runs", name=name)
        if answer.ok:  # runs that are not indexed yet have no split
            found = answer.json()["runs"]
            self.run_ids = [run["id"] for run in found if any(split["name"] == "train" for split in run["splits"])]

    def _list(self, name: str, what: str) -> None:
        if not self.run_ids:
            self._runs("runs")
            return
        run = random.choice(self.run_ids)
        answer = self.client.get(f"/api/runs/{run}/samples?split=train&limit=100&{what}", name=name)
        if answer.ok:
            self.samples = [(run, one["id"]) for one in answer.json()["samples"]] or self.samples

    @task(4)
    def step(self) -> None:
        """The list of a step."""
        self._list("list of a step", f"step={random.randrange(20)}")

    @task(4)
    def sample(self) -> None:
        """One sample."""
        if self.samples:
            run, sample = random.choice(self.samples)
            self.client.get(f"/api/runs/{run}/sample", params={"id": sample}, name="sample")

    @task(2)
    def filtered(self) -> None:
        """A filter over the run, of a value that nobody else asks for."""
        self._list("filter", f"where=reward%20%3C%20{random.random():.6f}")

    @task(1)
    def runs(self) -> None:
        """The page of runs."""
        self._runs("runs")

    @task(1)
    def note(self) -> None:
        """A private note."""
        if not self.samples:
            return
        run, sample = random.choice(self.samples)
        place = f"{run} {sample}"
        mark = {"bookmarked": True, "note": f"{self.name} {random.random()}"}
        body = {"kind": "sample", "run": run, "name": sample, "seen": self.seen.get(place, 0), "sample_mark": mark}
        answer = self.client.post("/api/state", json=body, headers=WRITE, name="note")
        if answer.ok:
            self.seen[place] = answer.json()["version"]
