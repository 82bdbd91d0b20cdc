"""Packs and unpacks `tests/vectors`: small inputs with results, one archive for each set.

python scripts/vectors.py unpack             into build/vectors-…, once for each content; prints it
python scripts/vectors.py pack SET FOLDER    tests/vectors/SET.tar.xz from FOLDER
"""

from __future__ import annotations

import hashlib
import io
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARCHIVES = ROOT / "tests" / "vectors"


def pack(name: str, folder: Path) -> Path:
    """Return an archive of the files below `folder`, sorted, without owners and times."""
    target = ARCHIVES / f"{name}.tar.xz"
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(folder.rglob("*")):
            member = tarfile.TarInfo(f"{name}/{path.relative_to(folder).as_posix()}")
            if path.is_symlink():
                member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
                archive.addfile(member)
            elif path.is_file():
                member.size = path.stat().st_size
                archive.addfile(member, io.BytesIO(path.read_bytes()))
            elif not any(path.iterdir()):
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
    return target


def unpack() -> Path:
    """Return the directory of all sets below `build/`, named by the content of the archives."""
    archives = sorted(ARCHIVES.glob("*.tar.xz"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in archives)).hexdigest()[:12]
    target = ROOT / "build" / f"vectors-{digest}"
    if target.is_dir():
        return target
    target.parent.mkdir(exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=".vectors-", dir=target.parent))
    try:
        for path in archives:
            with tarfile.open(path) as archive:
                archive.extractall(place, filter="data")
        place.rename(target)
    except OSError:
        # Another process was faster.
        if not target.is_dir():
            raise
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return target


def main(arguments: list[str]) -> int:
    match arguments:
        case ["unpack"]:
            print(unpack())
        case ["pack", name, folder] if Path(folder).is_dir():
            print(pack(name, Path(folder)))
        case _:
            sys.stderr.write(str(__doc__))
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
