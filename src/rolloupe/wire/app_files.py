"""The files of the built browser app: single files in a checkout, one archive in an installed package. The page and the
report share most of their code, so together they compress to two thirds.
"""

import io
import tarfile
from pathlib import Path

from rolloupe.formats.reading.codecs import zstd_decompressor

PACKED = Path(__file__).parents[1] / "server" / "static.tar.zst"
PLACES = (PACKED, Path(__file__).parents[3] / "web" / "dist")


def built(places: tuple[Path, ...] = PLACES) -> tuple[Path, int] | None:
    """Return the place of the app, and a number that each build changes; None if it is not built."""
    for place in places:
        file = place if place.suffix == PACKED.suffix else place / "index.html"
        if file.is_file():
            return place, file.stat().st_mtime_ns
    return None


def app_files(place: Path) -> dict[str, bytes]:
    """Return the files of the app by their names."""
    if place.is_dir():
        found = (path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in found}
    with tarfile.open(fileobj=io.BytesIO(zstd_decompressor().decompress(place.read_bytes()))) as archive:
        members = ((member.name, archive.extractfile(member)) for member in archive)
        return {name: file.read() for name, file in members if file is not None}
