"""The input files of golden cases: their own, and those that they share with other cases.

Each line of a case's file `base` is a path below `tests/golden/bases`. A name alone copies the
directory of that name. A longer path copies one file or directory of it to the same path, and a
second path on the line is another target. Later lines overwrite files of earlier lines, and
`input/` overwrites both.
"""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath

BASES = Path(__file__).parent / "golden" / "bases"


def shared(case: Path) -> list[tuple[Path, PurePosixPath]]:
    """The sources that the file `base` of a case names, and their targets."""
    file = case / "base"
    lines = file.read_text().splitlines() if file.exists() else []
    return [_shared(*line.split()) for line in lines if line]


def _shared(path: str, target: str | None = None) -> tuple[Path, PurePosixPath]:
    inside = PurePosixPath(*PurePosixPath(path).parts[1:])
    return BASES / path, inside if target is None else PurePosixPath(target)


def files(case: Path) -> dict[str, Path]:
    """The input files of a case, by their path in the directory of the run."""
    sources = [*shared(case), (case / "input", PurePosixPath())]
    return {
        str(target / path.relative_to(source)): path
        for source, target in sources
        for path in ([source] if source.is_file() else sorted(source.rglob("*")))
        if path.is_file()
    }


def copy(case: Path, directory: Path) -> None:
    for name, source in files(case).items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
