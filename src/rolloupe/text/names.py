"""Names of groups, and the order of names."""

import hashlib
import re

_NUMBER = re.compile("[0-9]+")


def digest(prompt: str) -> str:
    """Return a name for the group of samples with this prompt, if the framework has none: 12 hex digits."""
    return hashlib.blake2b(prompt.encode("utf-8", "replace"), digest_size=6).hexdigest()


def natural(name: str) -> str:
    """Return a sort key that orders numbers in names by size: `rank2` before `rank10`."""
    return _NUMBER.sub(lambda match: match[0].zfill(20), name)
