"""Runs are opened: what the words of a person mean for how they are read."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rolloupe.api.runs import Runs
from rolloupe.model import Reading

if TYPE_CHECKING:
    pass


AnyPath: TypeAlias = str | PathLike[str]


def open(  # noqa: A001 - it is called as rolloupe.open
    path: AnyPath | Sequence[AnyPath],
    *,
    format: str | None = None,
    fields: Mapping[str, str] | AnyPath | None = None,
    reward_key: str = "",
    reward_range: tuple[float, float] | None = None,
    index_dir: AnyPath | None = None,
    state_dir: AnyPath | None = None,
    follow: bool = False,
    follow_symlinks: bool = False,
    wait: bool = True,
) -> "Runs":
    """Open the runs at and below a path, or several; indexing begins at once, in the background.

    Args:
        path: a folder or a file, or a list of them.
        format: read everything as this format, whatever its contents say.
        fields: for rows whose keys have unusual names: the key of each role, `{"prompt": "request.text"}`, or a TOML
            file that says so. Roles: prompt, response, messages, reward, step, group, label, env, status, ...
        reward_key: the sample metric, or the part of a reward that is an object, that is taken for the reward.
        reward_range: the lowest and the highest reward there can be, for colours.
        index_dir: where the index lies, instead of the user's cache directory.
        state_dir: where bookmarks and notes are kept, instead of the user's data directory.
        follow: keep up with files that grow; without it they are read once.
        follow_symlinks: follow links that lead out of `path`.
        wait: have each answer wait until the run is indexed; False answers from what there is so far.

    Raises `UnreadablePath` for a path that is missing, `NotRecognised` for a forced format that does not fit,
    `BadQuery` for fields that do not exist.
    """
    from rolloupe.formats import checked_fields, read_fields

    paths = [path] if isinstance(path, str | PathLike) else list(path)
    named = read_fields(Path(fields)) if isinstance(fields, str | PathLike) else checked_fields(fields or {})
    reading = Reading(
        format=format or "", follow_symlinks=follow_symlinks, fields=named,
        reward_key=reward_key, reward_range=reward_range,
    )  # fmt: skip
    return runs_at(paths, index_dir=index_dir, state_dir=state_dir, reading=reading, follow=follow, wait=wait)


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
) -> "Runs":
    """What `open` does, once it is known how to read. Runs are looked for as long as `look_s`, at the most."""
    from rolloupe.index import Library

    place = None if index_dir is None else Path(index_dir)
    library = Library(
        [Path(p) for p in paths],
        index_dir=place,
        follow=follow,
        reading=reading,
        processes=processes,
        budget_bytes=budget_bytes,
        look_s=look_s,
    )
    return Runs(library, wait=wait, state_dir=None if state_dir is None else Path(state_dir))
