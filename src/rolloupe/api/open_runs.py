"""Opens runs: turns options into what to read, and how."""

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rolloupe.api.runs import Runs
from rolloupe.model import Reading

if TYPE_CHECKING:
    from rolloupe.index import Executor


AnyPath: TypeAlias = str | PathLike[str]


def open(  # noqa: A001 - users call it as rolloupe.open
    path: AnyPath | Sequence[AnyPath],
    *,
    run: str | None = None,
    format: str | None = None,
    fields: Mapping[str, str] | AnyPath | None = None,
    group_by: str = "",
    reward_key: str = "",
    reward_range: tuple[float, float] | None = None,
    tokenizer: AnyPath = "",
    download_tokenizer: bool = False,
    metrics: AnyPath | Sequence[AnyPath] = (),
    metrics_step: str = "",
    index_dir: AnyPath | None = None,
    state_dir: AnyPath | None = None,
    follow: bool = False,
    follow_symlinks: bool = False,
    wait: bool = True,
) -> "Runs":
    """Open the runs at and below a path, or several paths; indexing starts at once, in the background.

    Args:
        path: a folder or a file, or a list of them.
        run: the id of one run to open, of several that are there; `rolloupe ls` lists them.
        format: read everything as this format, whatever its contents.
        fields: for rows with unusual keys: maps each role to a key, `{"prompt": "request.text"}`, or names a TOML file
            with such a mapping. Roles: prompt, response, messages, reward, step, group, label, env, status, ...
        group_by: the key of a row whose equal values make a group, instead of what the format knows or infers; or
            several with commas between. `prompt` and `file` need no key.
        reward_key: the sample metric, or the part of a reward object, that counts as the reward.
        reward_range: the lowest and the highest possible reward, for colours.
        tokenizer: what makes text of token ids, for runs that hold these alone: a `tokenizer.json`, a SentencePiece
            model, a tiktoken file, a folder with one, or the name of a model in the local Hugging Face cache; by
            default what the run holds or names.
        download_tokenizer: fetch a tokenizer that the cache lacks: data files, never code.
        metrics: a file or folder with more curves, or several, of TensorBoard, Weights & Biases, SwanLab, trackio, as
            CSV or as JSON lines; those in the folder of a run are found by themselves.
        metrics_step: the metric that holds the step in such files, or "tracker" for the tracker's own count.
        index_dir: a folder for the index, instead of the user's cache directory.
        state_dir: a folder for bookmarks and notes, instead of the user's data directory.
        follow: keep reading files that grow; otherwise each file is read once.
        follow_symlinks: follow links that lead out of `path`.
        wait: wait with each answer until the run is indexed; if False, answers cover only what is indexed so far.

    Raises `UnreadablePath` if a path or the tokenizer does not exist, `NotRecognised` if a given format does not fit,
    `NotFound` if only other runs are there, `BadQuery` for fields that do not exist.
    """
    from rolloupe.formats import checked_fields, fields_in

    paths = [path] if isinstance(path, str | PathLike) else list(path)
    named = fields_in(str(fields)) if isinstance(fields, str | PathLike) else checked_fields(fields or {})
    others = [metrics] if isinstance(metrics, str | PathLike) else metrics
    reading = Reading(
        format=format or "", follow_symlinks=follow_symlinks, fields=named,
        group_by=group_by, reward_key=reward_key, reward_range=reward_range,
        tokenizer=os.fspath(tokenizer), download_tokenizer=download_tokenizer,
        metrics=tuple(os.fspath(one) for one in others), metrics_step=metrics_step,
    )  # fmt: skip
    return runs_at(paths, index_dir=index_dir, state_dir=state_dir, reading=reading, follow=follow, wait=wait, only=run)


def runs_at(
    paths: Sequence[AnyPath],
    *,
    index_dir: AnyPath | None,
    reading: Reading,
    state_dir: AnyPath | None = None,
    follow: bool = False,
    wait: bool = True,
    processes: int | None = None,
    budget_bytes: int | None = None,
    look_s: float | None = None,
    waits: bool = False,
    only: str | None = None,
    shard: tuple[int, int] | None = None,
    on: str | None = None,
) -> "Runs":
    """Open runs with the given reading options. Searches for runs for at most `look_s` seconds, first.

    With `waits`, a path that does not exist yet is no error. With `only`, opens the run with this id and no other. With
    `shard`, a number from 1 and the count of shards, only that part of each run is indexed. `on` names a cluster, `ray`
    or `ray://HOST:PORT`, that indexes.
    """
    from rolloupe.index import Library, RunShard
    from rolloupe.state import ScoreFiles

    place = None if index_dir is None else Path(index_dir)
    library = Library(
        [Path(p) for p in paths],
        index_dir=place,
        follow=follow,
        reading=reading,
        processes=processes,
        budget_bytes=budget_bytes,
        look_s=look_s,
        waits=waits,
        only=only,
        scores=ScoreFiles(state_dir),
        shard=None if shard is None else RunShard(*shard),
        executor=None if on is None else lambda: _cluster(on),
    )
    return Runs(library, wait=wait, state_dir=None if state_dir is None else Path(state_dir))


def _cluster(on: str) -> "Executor":
    from rolloupe.index.execution.ray_tasks import RayExecutor

    return RayExecutor(on)
