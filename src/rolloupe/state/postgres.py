"""The state in PostgreSQL, for a team with several servers, or whose database is already looked after.

It keeps the same tables as the file, and speaks the same SQL. Only `rolloupe serve` uses it; psycopg is an extra.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from rolloupe.errors import BadQuery, NotWritable
from rolloupe.state.run_identity import Owners

CONNECT_S = 5
LOCK_MS, STATEMENT_MS = 5_000, 10_000
"""How long a change waits for others, and how long a statement may take."""

MISSING = "a state in PostgreSQL needs psycopg. Next: pip install 'rolloupe[serve]'"

SCHEMAS = (
    (
        "CREATE TABLE owners (key TEXT PRIMARY KEY, format TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL)",
        "CREATE TABLE places (format TEXT NOT NULL, path TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (format, path))",
        "CREATE TABLE prints (print TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (print, key))",
        """
        CREATE TABLE items (
            kind TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, value TEXT, version BIGINT NOT NULL UNIQUE,
            changed_s DOUBLE PRECISION NOT NULL, person TEXT NOT NULL, shared INTEGER NOT NULL,
            PRIMARY KEY (kind, owner, name, person, shared)
        )
        """,
    ),
)
"""Statements that make each version of the schema from the one before; the first starts from an empty database."""

T = TypeVar("T")


class PostgresState:
    """A database. While it does not answer, nothing can be read or changed; each request tries it again."""

    unindexed = ""
    path = Path()

    def __init__(self, url: str) -> None:
        self._url = url
        self.trouble = ""
        self.owners = Owners()
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

    @property
    def connection(self) -> "PostgresState":
        """What runs statements."""
        return self

    def execute(self, sql: str, values: Sequence[object] = (), /) -> Any:
        """Run a statement with `?` for each value; for use in `read` and `change`."""
        return self._line.execute(sql.replace("?", "%s"), values)

    def all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a statement; for use in `read` and `change`."""
        rows = self.execute(sql, values)
        return list(rows.fetchall()) if rows.description else []

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
        return former != self._seen

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _in_transaction(self, work: Callable[[], T], *begin: str, retries: tuple[type[Exception], ...] = ()) -> T:
        with self._lock:
            try:
                return self._tried(work, begin)
            except (self._psycopg.DataError, self._psycopg.errors.ProgramLimitExceeded) as error:
                raise BadQuery(f"PostgreSQL cannot keep this, use a shorter name: {_first_line(error)}") from None
            except (self._psycopg.OperationalError, self._psycopg.InterfaceError, *retries) as error:
                if isinstance(error, self._psycopg.errors.LockNotAvailable):
                    raise NotWritable("another server holds the database: try again in a moment") from None
                if not (self._line.broken or self._line.closed or isinstance(error, retries)):
                    raise self._unusable(error) from None
            except self._psycopg.Error as error:
                raise self._unusable(error) from None
            try:  # the database was started again, or moved
                if self._line.broken or self._line.closed:
                    self._connect()
                return self._tried(work, begin)
            except self._psycopg.Error as error:
                raise self._unusable(error) from None

    def _tried(self, work: Callable[[], T], begin: Sequence[str]) -> T:
        with _transaction(self._line, begin):
            result = work()
        self.trouble = ""
        return result

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
                if version > len(SCHEMAS):
                    raise BadQuery(f"the database was written by a later version of Rolloupe (schema {version})")  # noqa: TRY301
                for statement in chain(*SCHEMAS[version:]):
                    self.execute(statement)
                self.execute("DELETE FROM rolloupe_state")
                self.execute("INSERT INTO rolloupe_state VALUES (?)", (len(SCHEMAS),))
        except self._psycopg.Error as error:
            self._drop()
            raise self._unusable(error) from None
        except BadQuery:
            self._drop()
            raise

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
