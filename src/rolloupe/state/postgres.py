"""The state in PostgreSQL, for a team with several servers, or whose database is already looked after.

It keeps the same tables as the file, and speaks the same SQL. Only `rolloupe serve` uses it; psycopg is an extra.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from rolloupe.errors import BadQuery, NotWritable
from rolloupe.state.file import SCHEMA
from rolloupe.state.run_identity import Owners

CONNECT_S = 5
LOCK_MS, STATEMENT_MS = 5_000, 10_000
"""The longest that a change waits for others, and that a statement takes."""

MISSING = "a state in PostgreSQL needs psycopg. Next: pip install 'rolloupe[serve]'"

VERSION = 1
"""The version of the schema."""

T = TypeVar("T")


class PostgresState(Owners):
    """An open database. While it does not answer, nothing can be read or changed; each request tries again."""

    unindexed = ""
    path = Path()

    def __init__(self, url: str) -> None:
        self._url = url
        self.trouble = ""
        super().__init__()
        self._lock = threading.Lock()
        try:
            import psycopg
        except ImportError:
            raise BadQuery(MISSING) from None
        self._psycopg: Any = psycopg
        self._line: Any = None
        self._seen = 0
        with self._lock:
            self._connect()
        self.changed_elsewhere()

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """See `Owners`."""
        return self._line.execute(sql.replace("?", "%s"), values)

    def read(self, work: Callable[[], T]) -> T:
        """Read one state of the database, one thread at a time.

        Raises `NotWritable` if it does not answer, `BadQuery` for what it cannot hold.
        """
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ"
        return self._in_transaction(work, begin, retries=(self._psycopg.errors.SerializationFailure,))

    def change(self, work: Callable[[], T]) -> T:
        """Change the database in one transaction, while nobody else does.

        Raises `NotWritable` or, for what the database cannot hold, `BadQuery`; nothing changed then.
        """
        return self._in_transaction(work, "BEGIN", "LOCK TABLE items IN SHARE ROW EXCLUSIVE MODE")

    def changed_elsewhere(self) -> bool:
        """True if anything changed since the last call, by this server too."""
        former = self._seen
        ((self._seen,),) = self.read(lambda: self.all("SELECT coalesce(max(version), 0) FROM items"))
        return bool(former != self._seen)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _in_transaction(self, work: Callable[[], T], *begin: str, retries: tuple[type[Exception], ...] = ()) -> T:
        errors = self._psycopg.errors
        with self._lock:
            for is_last in (False, True):
                try:
                    if is_last and self._is_broken:  # the database was started again, or moved
                        self._connect()
                    with _transaction(self._line, begin):
                        result = work()
                except (self._psycopg.DataError, errors.ProgramLimitExceeded) as error:
                    raise BadQuery(f"PostgreSQL cannot keep this, use a shorter name: {_first_line(error)}") from None
                except errors.LockNotAvailable:
                    raise NotWritable("another server holds the database: try again in a moment") from None
                except self._psycopg.Error as error:
                    if is_last or not (self._is_broken or isinstance(error, retries)):
                        raise self._unusable(error) from None
                else:
                    self.trouble = ""
                    return result
        raise AssertionError

    @property
    def _is_broken(self) -> bool:
        return bool(self._line.broken or self._line.closed)

    def _unusable(self, error: Exception) -> NotWritable:
        self.trouble = f"the database does not answer: {_first_line(error)}"
        return NotWritable(self.trouble)

    def _connect(self) -> None:
        """Connect, and bring the schema up to date. Raises `NotWritable`."""
        try:
            self._drop()
            self._line = self._psycopg.connect(
                self._url, autocommit=True, connect_timeout=CONNECT_S, application_name="rolloupe",
                options=f"-c lock_timeout={LOCK_MS} -c statement_timeout={STATEMENT_MS}",
            )  # fmt: skip
            with _transaction(self._line, ["BEGIN", "SELECT pg_advisory_xact_lock(719531)"]):
                self.execute("CREATE TABLE IF NOT EXISTS rolloupe_state (version INTEGER NOT NULL)")
                rows = self.all("SELECT version FROM rolloupe_state")
                version = rows[0][0] if rows else 0
                if version > VERSION:
                    raise BadQuery(f"the database was written by a later version of Rolloupe (schema {version})")  # noqa: TRY301
                for statement in (*SCHEMA, f"INSERT INTO rolloupe_state VALUES ({VERSION})") if not version else ():
                    self.execute(statement)
        except (self._psycopg.Error, BadQuery) as error:
            self._drop()
            raise error if isinstance(error, BadQuery) else self._unusable(error) from None

    def _drop(self) -> None:
        if self._line is not None:
            self._line.close()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


@contextmanager
def _transaction(line: Any, begin: Sequence[str]) -> Iterator[None]:
    """Write all or nothing."""
    try:
        for statement in begin:
            line.execute(statement)
        yield
        line.execute("COMMIT")
    except BaseException:
        with suppress(Exception):
            line.execute("ROLLBACK")
        raise
