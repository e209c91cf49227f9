"""Curves of a sample metric that annotations change."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rolloupe
from rolloupe import Recorder
from rolloupe.index import OpenRun
from rolloupe.query import CurveQuery
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question


def test_all_statistics_of_a_metric_share_one_look_and_a_later_annotation_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, rows = np.random.default_rng(3), []
    with Recorder(tmp_path / "run", code=None) as run:
        for step in range(5):
            for index in range(8):
                uid, later = f"{step}-{index}", float(random.normal())
                run.sample(
                    step=step, group="g", index=index, prompt="p", response="r", reward=1.0, advantage=0.0, uid=uid
                )
                run.annotate(uid, advantage=later)
                rows.append((step, later))
    asked: list[str] = []
    ask = database.ask

    def counted(run: OpenRun, question: Question) -> list[tuple[Any, ...]]:
        asked.append(question.sql)
        return ask(run, question)

    monkeypatch.setattr(database, "ask", counted)
    table = pd.DataFrame(rows, columns=["step", "advantage"]).groupby("step")["advantage"]
    expected = {"mean": table.mean(), "std": table.std(ddof=0), "min": table.min(), "max": table.max()}
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as opened:
        opened.wait(texts=True)
        for stat, values in expected.items():
            curve = opened.curve(CurveQuery(kind="sample", name="advantage", stat=stat))
            np.testing.assert_allclose(curve.values, values.to_numpy(), rtol=1e-12)
        assert len(asked) == 1
    with Recorder(tmp_path / "run", code=None) as run:
        run.annotate("0-0", advantage=100.0)
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as opened:
        highest = opened.curve(CurveQuery(kind="sample", name="advantage", stat="max"))
        assert highest.values[0] == 100.0 and len(asked) == 2
