"""Reading the query part of an address: what cannot be read is a `BadQuery` that says what would do."""

from collections.abc import Iterable

from starlette.datastructures import QueryParams

from rolloupe.errors import BadQuery, NotFound
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import conditions

INT64 = 2**63

MAX_RUNS = 1000
"""So many runs may be named in one request."""


def word(params: QueryParams, name: str) -> str:
    """A value that must be there."""
    value = params.get(name)
    if not value:
        raise BadQuery(f"the address lacks {name}=")
    return value


def integer(
    params: QueryParams, name: str, default: int | None = None, low: int = -INT64, high: int = INT64 - 1
) -> int:
    """A whole number within bounds; must be there where there is no default."""
    given = params.get(name)
    if given is None or (given == "" and default is not None):
        if default is None:
            raise BadQuery(f"the address lacks {name}=")
        return default
    digits = given.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and low <= int(given) <= high):
        raise BadQuery(f"{name}={given[:40]!r} is not a whole number from {low} to {high}")
    return int(given)


def optional(params: QueryParams, name: str) -> int | None:
    """A whole number; None where it is not there."""
    return integer(params, name) if params.get(name) else None


def flag(params: QueryParams, name: str) -> bool:
    """Yes or no; no where it is not there."""
    given = params.get(name, "").lower()
    if given not in ("", "0", "false", "1", "true"):
        raise BadQuery(f"{name}={given[:40]!r} is neither 1 nor 0")
    return given in ("1", "true")


def sample_query(params: QueryParams) -> SampleQuery:
    """Which samples, in which order: `split`, `step` or `step_min` and `step_max`, `group`, `trained`, `where`, `sort`.

    Whatever is left out narrows nothing.
    """
    step = optional(params, "step")
    return SampleQuery(
        splits=(params["split"],) if params.get("split") else (),
        step_min=optional(params, "step_min") if step is None else step,
        step_max=optional(params, "step_max") if step is None else step,
        group=params.get("group") or None,
        trained=flag(params, "trained") if params.get("trained") else None,
        where=conditions(params.get("where", "")),
        sort=params.get("sort") or "index",
        descending=flag(params, "descending"),
    )


def run_ids(given: Iterable[str]) -> list[str]:
    """The runs that a request names, each once. Raises `BadQuery` for more than `MAX_RUNS`."""
    found = list(dict.fromkeys(given))
    if len(found) > MAX_RUNS:
        raise BadQuery(f"{len(found):,} runs are named; at most {MAX_RUNS:,} are taken at once. None stands for all")
    return found


def sample_key(text: str) -> SampleKey:
    """A sample's id. Raises `NotFound` for what was never issued as one."""
    try:
        key = SampleKey.parse(text)
    except ValueError:
        key = None
    if key is None or not -INT64 <= key.step < INT64 or key.attempt < 0:
        raise NotFound(f"{text[:200]!r} is not the id of a sample: an id is split/step/group/index")
    return key
