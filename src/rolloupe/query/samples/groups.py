"""Lists of groups: a page of them, each with its samples and chosen columns of these.

One query finds the groups of several steps and their order, and a cache keeps them (`Heads`); the fields of a page come
from its own steps alone.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe.errors import NotFound
from rolloupe.index import OpenRun, Snapshot
from rolloupe.model import SampleKey
from rolloupe.query.engine import caches, database
from rolloupe.query.engine.compile import FILE_ORDER, by_value, compile_query, count_found, parts_of
from rolloupe.query.engine.names import column, is_number
from rolloupe.query.engine.relation import PLACE, finite_stats, mean_of
from rolloupe.query.records import GroupSummary, SampleQuery, Stats
from rolloupe.query.samples.pages import in_known_splits, pending, stamp_of
from rolloupe.query.samples.rows import KEY, ORDER, keyed_values

MAX_MEMBERS = 1000  # maximum number of samples of a group that a page names; of larger groups it gives the size
HASH = "hash(split, step, grp)"  # the name of a group in a statement
Cell = float | int | str | None


class Group(NamedTuple):
    """Samples of a query that share a prompt at a step. `first` samples of the list precede it."""

    key: tuple[str, int, str]  # Split, step and group
    samples: int
    first: int
    prompt: str
    env: str
    reward: Stats
    means: list[float | None]  # by column, over the finite values; None for text
    members: list[SampleKey]  # at most `MAX_MEMBERS`, in order
    cells: list[list[Cell]]  # by column, a value for each member
    discarded: str = ""  # the most frequent reason why its samples were discarded; empty if all were trained on


class GroupPage(NamedTuple):
    """A page of groups: `total` groups, of `samples` samples."""

    total: int
    samples: int
    offset: int
    groups: list[Group]
    stamp: int = 0
    pending: int = 0  # as of `SamplePage`


class Heads(NamedTuple):
    """The groups of a query in order, without their fields: parallel arrays."""

    steps: NDArray[np.int64]
    names: NDArray[np.uint64]  # hashes of split, step and group
    sizes: NDArray[np.int64]
    firsts: NDArray[np.int64]


kept_heads: caches.AnswerCache[Heads] = caches.AnswerCache(64 * 2**20, caches.bytes_of)


def groups_page(
    run: OpenRun, query: SampleQuery, columns: Sequence[str] = ("reward",), around: SampleKey | None = None
) -> GroupPage:
    """A page of groups; offset and limit count groups. Raises as `samples`.

    `sort` orders the groups by the mean of a column, and the samples of each by the column itself. `around` selects the
    page with the group of this sample (the requested page if none has it).
    """
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    for name in columns:
        column(snapshot, name)
    unpaged = replace(query, offset=0, limit=None)
    heads = kept_heads.get(run, snapshot, unpaged, lambda: _heads(run, snapshot, query))
    if around is not None and query.limit:
        sql = f"SELECT {HASH} FROM rows WHERE split = ? AND step = ? AND grp = ? LIMIT 1"
        pieces = snapshot.holding([around.split], around.step, around.step)
        for (name,) in database.ask(run, database.Question(pieces, sql, around.shared[:3])):
            for place in np.flatnonzero(heads.names == np.uint64(name)).tolist():
                query = replace(query, offset=place // query.limit * query.limit)
    stop = None if query.limit is None else query.offset + query.limit
    page = slice(query.offset, stop)
    page_heads = Heads(heads.steps[page], heads.names[page], heads.sizes[page], heads.firsts[page])
    groups = _shown(run, snapshot, query, columns, page_heads)
    stamp, waiting = stamp_of(snapshot, query), pending(snapshot, query)
    return GroupPage(len(heads.steps), int(heads.sizes.sum()), query.offset, groups, stamp, waiting)


def groups(run: OpenRun, split: str, step: int) -> list[GroupSummary]:
    """Return the groups of a step in order of their first sample. Raises `NotFound` for a step without samples."""
    if not run.snapshot().holding([split], step, step):
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    page = groups_page(run, SampleQuery(splits=(split,), step_min=step, step_max=step), columns=())
    return [
        GroupSummary(own.key[2], own.prompt, own.samples, own.first, own.reward, own.env, own.discarded)
        for own in page.groups
    ]


def _heads(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> Heads:
    if query.sort != "index" or len(query.splits) != 1:
        return _heads_of(run, snapshot, query)
    heads = []
    for part in parts_of(snapshot, query):
        heads.append(_heads_of(run, snapshot, part))
        count_found(len(heads[-1].steps))
    steps, names, sizes, _ = map(np.concatenate, zip(*(reversed(heads) if query.descending else heads), strict=True))
    return Heads(steps, names, sizes, np.cumsum(sizes) - sizes)


def _heads_of(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> Heads:
    by_index = query.sort == "index"
    unordered = snapshot.holding(query.splits, query.step_min, query.step_max)
    pieces = sorted(unordered, key=lambda piece: (piece.source, piece.start))  # they come as they were indexed
    terms = compile_query(snapshot, query, by_group=False)
    sort_column = "NULL" if by_index else column(snapshot, query.sort)
    is_text = not by_index and not is_number(snapshot, query.sort)
    value = f"min({sort_column})" if is_text or by_index else mean_of(f"{sort_column}::DOUBLE")
    way = "DESC" if query.descending else "ASC"
    is_one_step = query.step_min is not None and query.step_min == query.step_max
    # a group begins at its first sample; within a step of several, files are numbered in order
    lead = f"min(row({FILE_ORDER}))" if is_one_step else f"min(({PLACE[0]} << 32) | {PLACE[1]})"
    index_way = way if by_index else "ASC"
    sql = f"""{terms.own}
    SELECT any_value(step), {HASH}, count(*), {value} AS value, {lead} AS lead, any_value(split) AS side
    FROM own GROUP BY {HASH} ORDER BY value {way} NULLS LAST,
    side <> 'train' {index_way}, side {index_way}, any_value(step) {index_way}, lead {index_way}"""
    table = database.table(run, terms.question(pieces, sql))
    steps, names, sizes = (table.columns[n].combine_chunks().to_numpy(zero_copy_only=False) for n in range(3))
    sizes = sizes.astype(np.int64)
    return Heads(steps.astype(np.int64), names.astype(np.uint64), sizes, np.cumsum(sizes) - sizes)


def _shown(run: OpenRun, snapshot: Snapshot, query: SampleQuery, columns: Sequence[str], heads: Heads) -> list[Group]:
    if not len(heads.steps):
        return []
    members_query = replace(query, step_min=int(heads.steps.min()), step_max=int(heads.steps.max()), sort="index")
    annotated = ["discarded"] if snapshot.annotates_discarded else []
    sort = [] if query.sort == "index" else [query.sort]
    terms = compile_query(snapshot, members_query, by_group=False, also=[*columns, *annotated, *sort])
    inside = ", ".join([*([by_value(snapshot, query)] if sort else []), FILE_ORDER])
    steps = set(heads.steps.tolist())
    keys = (key for key in snapshot.pieces if key[1] in steps and (not query.splits or key[0] in query.splits))
    pieces = snapshot.of(keys)
    wanted = pa.table({"nth_group": pa.array(range(len(heads.names)), pa.int64()), "head": heads.names})
    chosen = [column(snapshot, name) for name in columns]
    cells = "".join(f", {name} AS c{n}" for n, name in enumerate(chosen))
    base = f"""{terms.own}, named AS (SELECT *, {HASH} AS head FROM own),
    members AS (SELECT * FROM named JOIN heads USING (head))"""

    def answer(sql: str) -> pa.Table:
        return database.table(run, terms.question(pieces, f"{base} {sql}", tables={"heads": wanted}))

    numbers = [cell if is_number(snapshot, name) else None for cell, name in zip(chosen, columns, strict=True)]
    means = "".join(f", {mean_of(f'{name}::DOUBLE')}" if name else ", NULL::DOUBLE" for name in numbers)
    reason = "coalesce(mode(nullif(discarded, '')), '')"
    sums = answer(f"""SELECT nth_group, count(*), {finite_stats("reward")}, {reason}{means}
        FROM members GROUP BY nth_group""")
    rows = answer(f"""SELECT nth_group, {", ".join(KEY)}, {", ".join(ORDER)}, prompt_preview, env{cells} FROM members
        QUALIFY row_number() OVER (PARTITION BY nth_group ORDER BY {inside}) <= {MAX_MEMBERS}
        ORDER BY nth_group, {inside}""")
    return _groups(run, snapshot, heads, sums, rows)


def _groups(run: OpenRun, snapshot: Snapshot, heads: Heads, sums: pa.Table, rows: pa.Table) -> list[Group]:
    stats = {nth: own for nth, *own in zip(*(column.to_pylist() for column in sums.columns), strict=True)}
    members: dict[int, list[list[Any]]] = defaultdict(list)
    keys: dict[int, list[SampleKey]] = defaultdict(list)
    numbered = rows.append_column("nth", pa.array(range(len(rows)), pa.int64()))
    shown = [name for name in rows.column_names if name not in (*KEY, *ORDER)]
    for key, (nth, *cells) in keyed_values(run, snapshot, numbered, shown):
        members[nth].append(cells)
        keys[nth].append(key)
    groups = []
    for nth in sorted(members):  # some may be gone since
        cells, first = members[nth], keys[nth][0]
        count, finite, mean, std, low, high, reason, *means = stats[nth]
        groups.append(
            Group(
                key=(first.split, first.step, first.group),
                samples=count,
                first=int(heads.firsts[nth]),
                prompt=cells[0][0],
                env=cells[0][1],
                reward=Stats(finite, mean, std, low, high, count - finite),
                means=means,
                members=keys[nth],
                cells=[list(values) for values in zip(*(record[2:] for record in cells), strict=True)],
                discarded=reason,
            )
        )
    return groups
