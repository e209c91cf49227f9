"""Names: made of texts, and put in order."""

import hashlib
import re

_NUMBER = re.compile("[0-9]+")


def digest(prompt: str) -> str:
    """Return the group of samples that share this prompt where the framework names none: 12 hex digits."""
    return hashlib.blake2b(prompt.encode("utf-8", "replace"), digest_size=6).hexdigest()


def natural(name: str) -> str:
    """Return what sorts names as a person does, numbers in them by their size: `rank2` before `rank10`."""
    return _NUMBER.sub(lambda match: match[0].zfill(20), name)
