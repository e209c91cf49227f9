"""Data sets on the Hugging Face hub, through `huggingface_hub`, written against its documentation.

`hf://datasets/OWNER/NAME[@REVISION]/PATH`. A listing is of one commit, and ranges are read at that commit, so an object
never changes while it is read. Its tag is the hash of its content.
"""

import errno
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit

from rolloupe.storage.address import Interrupted
from rolloupe.storage.remote import calls, failures
from rolloupe.storage.remote.calls import FolderListing, ObjectState, in_thread, patiently

KIND = "datasets"
EXTRA = "reading it needs a package that is not installed. Next: pip install 'rolloupe[hub]'"
NOTHING_WRITTEN = "nothing is written to the hub. Next: name a bucket or a folder"
NO_DATA_SET = "names no data set. Next: write hf://datasets/OWNER/NAME/PATH"

MOST_BYTES = 24 * 2**20
"""The most bytes of one answer: a page of a list, the facts of a data set, a range of a file."""
MOST_ENTRIES = 200_000
"""The most entries of a folder."""
OF_THE_HUB = ("huggingface.co", "hf.co")
"""The hosts of the hub's files, even if a mirror answers for the hub."""

T = TypeVar("T")

_call = threading.local()
"""Holds, in the thread of a call, when the call must end. Other users of the library share its client."""


class HubConnection:
    """The data sets of the hub, with the methods of `ObstoreConnection`."""

    rest_s = 30.0
    """The hub counts requests, and data sets change seldom."""

    def __init__(self, kind: str) -> None:
        if kind != KIND:
            raise FileNotFoundError(errno.ENOENT, f"hf://{kind} {NO_DATA_SET}", f"/hf:/{kind}")
        try:
            import huggingface_hub
        except ImportError:
            raise OSError(errno.ENOPKG, EXTRA, f"/hf:/{kind}") from None
        self._api = huggingface_hub.HfApi()
        self._files = huggingface_hub.HfFileSystem()
        self._commits: dict[tuple[str, str], str] = {}
        """The commit at which an object with a tag was seen."""

    def list(self, key: str) -> FolderListing:
        repository, revision, path = self._place(key)

        def ask() -> tuple[str, Sequence[Any]]:
            commit = self._api.repo_info(repository, repo_type="dataset", revision=revision).sha
            assert commit is not None
            tree = self._api.list_repo_tree(
                repository, path or None, recursive=False, revision=commit, repo_type="dataset"
            )
            return commit, tuple(islice(tree, MOST_ENTRIES + 1))

        commit, entries = self._asked(key, ask)
        if len(entries) > MOST_ENTRIES:
            raise Interrupted(errno.EFBIG, f"the hub lists more than {MOST_ENTRIES:,} entries{calls.NOT_SEEN}")
        objects, folders = {}, set()
        for entry in entries:
            name = entry.path.rpartition("/")[2]
            if not hasattr(entry, "size"):
                folders.add(name)
                continue
            tag = entry.lfs.sha256 if entry.lfs else entry.blob_id
            objects[name] = ObjectState(entry.size, 0, tag)
            self._commits[f"{key}/{name}", tag] = commit
        return FolderListing(objects, frozenset(folders))

    def state(self, key: str) -> ObjectState:
        above, _, name = key.rpartition("/")
        state = self.list(above).objects.get(name) if self._place(key)[2] else None
        if state is None:
            raise FileNotFoundError(errno.ENOENT, "does not exist", f"/hf:/{KIND}/{key}")
        return state

    def read(self, key: str, start: int, stop: int, state: ObjectState) -> memoryview:
        repository, _, path = self._place(key)
        place = f"{KIND}/{repository}@{self._commits[key, state.tag]}/{path}"
        data = self._asked(key, lambda: self._files.cat_file(place, start=start, end=stop))
        if len(data) != stop - start:
            raise failures.OtherBytes(f"/hf:/{KIND}/{key}")
        return memoryview(data)

    def below(self, key: str) -> dict[str, ObjectState]:
        raise OSError(errno.EROFS, NOTHING_WRITTEN, f"/hf:/{KIND}/{key}")

    def write(self, key: str, chunks: Callable[[], Iterable[bytes]]) -> None:  # noqa: ARG002
        raise OSError(errno.EROFS, NOTHING_WRITTEN, f"/hf:/{KIND}/{key}")

    def _place(self, key: str) -> tuple[str, str | None, str]:
        """The repository, the revision and the path of a key."""
        owner, _, rest = key.partition("/")
        name, _, path = rest.partition("/")
        if not name:
            raise FileNotFoundError(errno.ENOENT, NO_DATA_SET, f"/hf:/{KIND}/{key}")
        name, _, revision = name.partition("@")
        return f"{owner}/{name}", revision or None, path

    def _asked(self, key: str, call: Callable[[], T]) -> T:
        def guarded() -> T:
            _call.until = time.monotonic() + calls.MOST_S
            return call()

        _guard_client()  # before the time of the call begins: making a client may take seconds
        bucket = f"{KIND}/{self._place(key)[0]}"
        return patiently("hf", bucket, f"/hf:/{KIND}/{key}", lambda: in_thread(guarded))


def _guard_client() -> None:
    """Have the library's client check the requests and replies of these calls; old versions cannot."""
    import huggingface_hub

    client = huggingface_hub.get_session()
    hooks = getattr(client, "event_hooks", None)
    if hooks is not None and _check_request not in hooks["request"]:
        client.event_hooks = {
            "request": [*hooks["request"], _check_request],
            "response": [*hooks["response"], _bound_reply],
        }


def _check_request(request: Any) -> None:
    """Refuse requests to other hosts, where redirects and links may lead, and ask for uncompressed answers."""
    if not hasattr(_call, "until"):
        return
    from huggingface_hub import constants

    host, own = request.url.host, urlsplit(constants.ENDPOINT).hostname
    if host != own and not any(host == own_host or host.endswith(f".{own_host}") for own_host in OF_THE_HUB):
        reason = "the hub redirects to another host, which is not followed"
        raise OSError(errno.EREMOTE, f"{reason}. Next: check HF_ENDPOINT")
    request.headers["accept-encoding"] = "identity"


def _bound_reply(response: Any) -> None:
    """Bound the size and the time of an answer."""
    if not hasattr(_call, "until"):
        return
    if response.headers.get("content-encoding", "identity") != "identity":
        raise OSError(errno.EIO, "the hub sends compressed answers, which are not read. Next: check HF_ENDPOINT")
    until, stream = _call.until, response.stream

    class Bounded(sys.modules[type(response).__module__.partition(".")[0]].SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for piece in stream:
                size += len(piece)
                if size > MOST_BYTES or time.monotonic() > until:
                    reason = f"the hub did not end an answer within {MOST_BYTES // 2**20} MiB or {calls.MOST_S:.0f} s"
                    raise Interrupted(errno.EFBIG, f"{reason}{calls.NOT_SEEN}")
                yield piece

        def close(self) -> None:
            stream.close()

    response.stream = Bounded()
