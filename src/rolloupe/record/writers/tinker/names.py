"""The names of a run's files, in both layouts of the cookbook."""

import hashlib
import re
from pathlib import Path
from typing import Literal

Layout = Literal["flat", "folders"]

ROLLOUTS, TREE, PAGE = "_rollout_summaries.jsonl", "_logtree.json", ".html"
METRICS, CONFIG, CHECKPOINTS, DIFF = "metrics.jsonl", "config.json", "checkpoints.jsonl", "code.diff"
TRAIN = "train"

MAX_LABEL_CHARS = 150
"""A longer label ends in its hash: the whole file name has a maximum length."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


def label_of(name: str) -> str:
    """Return the label of an evaluator in file names, by the cookbook's rule."""
    label = _NOT_IN_NAMES.sub("_", name).strip("._") or "unnamed"
    return label if len(label) <= MAX_LABEL_CHARS else told_apart(label, name)


def told_apart(label: str, name: str) -> str:
    """Return a label that another name already uses, followed by a hash of this name."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{label[: MAX_LABEL_CHARS - len(digest) - 1]}_{digest}"


def path_of(folder: Path, layout: Layout, base: str, iteration: int, suffix: str) -> Path:
    """Return the path of a file of an iteration; `base` is `train` or `eval_{label}`."""
    if layout == "flat":
        return folder / f"{base}_iteration_{iteration:06d}{suffix}"
    return folder / f"iteration_{iteration:06d}" / f"{base}{suffix}"
