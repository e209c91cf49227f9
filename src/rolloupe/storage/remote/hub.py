"""Data sets on the Hugging Face hub, through `huggingface_hub`, written against its documentation.

`hf://datasets/OWNER/NAME[@REVISION]/PATH`. A listing is of one commit, and ranges are read at that commit, so an object
never changes while it is read. Its tag is the hash of its content.
"""

import errno
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from rolloupe.storage.remote.connection import FolderListing, ObjectState, in_thread, patiently
from rolloupe.storage.remote.failures import OtherBytes

KIND = "datasets"
EXTRA = "reading it needs a package that is not installed. Next: pip install 'rolloupe[hub]'"
NOTHING_WRITTEN = "nothing is written to the hub. Next: name a bucket or a folder"
NO_DATA_SET = "names no data set. Next: write hf://datasets/OWNER/NAME/PATH"

T = TypeVar("T")


class _DataSetPlace(NamedTuple):
    repository: str
    revision: str | None
    path: str


class HubConnection:
    """A `Connection` to the data sets of the hub."""

    rest_s = 30.0
    """The hub counts requests, and data sets change seldom."""

    def __init__(self, kind: str) -> None:
        if kind != KIND:
            raise FileNotFoundError(
                errno.ENOENT,
                f"hf://{kind} names no data set. Next: write hf://datasets/OWNER/NAME/PATH",
                f"/hf:/{kind}",
            )
        try:
            import huggingface_hub
        except ImportError:
            raise OSError(errno.ENOPKG, EXTRA, f"/hf:/{kind}") from None
        self._api = huggingface_hub.HfApi()
        self._files = huggingface_hub.HfFileSystem()
        self._commits: dict[tuple[str, str], str] = {}
        """The commit at which an object with a tag was seen."""
        self._lock = threading.Lock()

    def list(self, key: str) -> FolderListing:
        """See `Connection`."""
        place = self._place(key)
        commit, found = self._asked(key, lambda: self._tree(place))
        objects, folders = {}, set()
        for one in found:
            name = one.path.rpartition("/")[2]
            if not hasattr(one, "size"):
                folders.add(name)
                continue
            tag = one.lfs.sha256 if one.lfs else one.blob_id
            objects[name] = ObjectState(one.size, 0, tag)
            with self._lock:
                self._commits[f"{key}/{name}", tag] = commit
        return FolderListing(objects, frozenset(folders))

    def state(self, key: str) -> ObjectState:
        """See `Connection`."""
        above, _, name = key.rpartition("/")
        place = self._place(key)
        found = self.list(above).objects.get(name) if place.path else None
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "does not exist", f"/hf:/{KIND}/{key}")
        return found

    def read(self, key: str, start: int, stop: int, state: ObjectState) -> memoryview:
        """See `Connection`."""
        place, commit = self._place(key), self._commits[key, state.tag]
        path = f"{KIND}/{place.repository}@{commit}/{place.path}"
        data = self._asked(key, lambda: self._files.cat_file(path, start=start, end=stop))
        if len(data) != stop - start:
            raise OtherBytes(f"/hf:/{KIND}/{key}")
        return memoryview(data)

    def below(self, key: str) -> dict[str, ObjectState]:
        """See `Connection`."""
        raise OSError(errno.EROFS, NOTHING_WRITTEN, f"/hf:/{KIND}/{key}")

    def write(self, key: str, chunks: Callable[[], Iterable[bytes]]) -> None:  # noqa: ARG002
        """See `Connection`."""
        raise OSError(errno.EROFS, NOTHING_WRITTEN, f"/hf:/{KIND}/{key}")

    def _place(self, key: str) -> _DataSetPlace:
        owner, _, rest = key.partition("/")
        name, _, path = rest.partition("/")
        if not name:
            raise FileNotFoundError(errno.ENOENT, NO_DATA_SET, f"/hf:/{KIND}/{key}")
        name, _, revision = name.partition("@")
        return _DataSetPlace(f"{owner}/{name}", revision or None, path)

    def _tree(self, place: _DataSetPlace) -> tuple[str, Sequence[Any]]:
        """The commit that is the present one, and what it has at a place."""
        commit = self._api.repo_info(place.repository, repo_type="dataset", revision=place.revision).sha
        assert commit is not None
        tree = self._api.list_repo_tree(
            place.repository, place.path or None, recursive=False, revision=commit, repo_type="dataset"
        )
        return commit, tuple(tree)

    def _asked(self, key: str, call: Callable[[], T]) -> T:
        bucket = f"{KIND}/{self._place(key).repository}"
        return patiently("hf", bucket, f"/hf:/{KIND}/{key}", lambda: in_thread(call))
