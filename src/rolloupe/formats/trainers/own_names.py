"""Rows whose members have the names of one trainer, whatever other members are called."""

from typing import ClassVar

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record

_ROLES = ("prompt", "response", "messages", "score", "step", "group", "label", "env", "status_key")


class OwnNames(NamedRows):
    """A format that names the key of each role; roles that it does not name have none."""

    names: ClassVar[dict[str, str]] = {}
    """Keys by role."""
    counts: ClassVar[dict[str, str]] = {}
    """Keys of token counts: `prompt`, `response`, `total`."""

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`."""
        own = {role: key if (key := self.names.get(role)) in record else None for role in _ROLES}
        if own["messages"] and not fields.is_messages(record[own["messages"]]):
            own["messages"] = None
        return Roles(**own, counts={what: key for what, key in self.counts.items() if key in record})
