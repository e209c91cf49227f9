"""The errors that Rolloupe raises.

    RolloupeError
    ├── UnreadablePath      a path that is missing, not permitted, or outside the roots
    ├── NotRecognised       nothing at a path that any format reads
    ├── NotFound            no such run, split, step or sample
    ├── BadQuery            a query that names an unknown column or cannot be read
    │   └── BadPattern      a regular expression that cannot be read
    ├── SourceChanged       a file changed under a locator: ask again for the sample
    ├── NotWritable         a place that must not be written to, or cannot be
    └── IncompleteIndex     parts of files that could not be indexed: the answer may lack what they hold

Each message says what failed, where, because of what, and what to do next. Trouble *in the data* is never an
exception: it is a `rolloupe.model.Problem`, which is counted and shown.
"""


class RolloupeError(Exception):
    """The base of every error that Rolloupe raises on purpose."""


class UnreadablePath(RolloupeError):
    """Raised when a requested path is missing, may not be read, or lies outside the roots."""


class NotRecognised(RolloupeError):
    """Raised when no format recognises anything at a path, or the forced format does not fit."""


class NotFound(RolloupeError):
    """Raised when a requested run, split, step or sample does not exist."""


class BadQuery(RolloupeError):
    """Raised when a query names a column that no sample has, or a value that cannot be compared with it.

    `place` is its position in the text of a filter, in characters from 0; `column` is the name in question.
    """

    def __init__(self, message: str = "", *, place: int | None = None, column: str | None = None) -> None:
        super().__init__(message)
        self.place = place
        self.column = column


class BadPattern(BadQuery):
    """Raised when a regular expression cannot be read, at the character `place`, counted from 0."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


class SourceChanged(RolloupeError):
    """Raised when a source no longer holds the indexed sample at a locator."""


class NotWritable(RolloupeError):
    """Raised when a place to write to is not empty, is part of the source, or cannot be written."""


class IncompleteIndex(RolloupeError):
    """Raised by a command after it answered from an incomplete index."""


def defect(error: Exception) -> str:
    """Return the reason of a problem that comes from a defect of ours, which must not hide other data."""
    return f"a defect in Rolloupe, please report it: {words_of(error)}"


def words_of(error: BaseException) -> str:
    """The class of an exception and its message; of a foreign one even the message may raise."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
