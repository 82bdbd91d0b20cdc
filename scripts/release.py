"""The files of a release, built and checked without the network.

    release.py dist [FOLDER]     wheels, sdists, bills of materials and SHA256SUMS
    release.py check TAG [URL]   whether the sources are ready for TAG in the repository URL
    release.py notes VERSION     the part of CHANGELOG.md about that version

The same sources result in the same bytes in every directory and at every time: hatchling writes a
fixed time, and names and versions in the bills of materials come from metadata.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from trove_classifiers import classifiers as known_classifiers

from olmkit.base.tree import Tree
from olmkit.project import sbom

ROOT = Path(__file__).resolve().parent.parent
PROJECTS = ("runtime", ".", "operator")
RUNTIME = "olmkit-runtime"
SUMS = "SHA256SUMS"
# The headings of https://keepachangelog.com/en/1.1.0/.
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
UNRELEASED = "Unreleased"
_HEADING = re.compile(r"\[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?")


class ReleaseError(Exception):
    """The sources are not ready for a release."""


@dataclass(frozen=True, slots=True)
class Release:
    """One version in the changelog; `date` is empty for an unreleased one.

    `changes`: kind → entries, each without its dash.
    """

    version: str
    date: str
    changes: dict[str, list[str]]
    text: str


def changelog(text: str) -> list[Release]:
    """Return the versions in a changelog, newest first.

    Raises `ReleaseError`, with the line, where it differs from Keep a Changelog 1.1.
    """
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("## ")]
    found = [
        _release(lines, start, end)
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
    ]
    numbered = [release for release in found if release.version != UNRELEASED]
    if found[: len(found) - len(numbered)] + numbered != found or len(numbered) + 1 < len(found):
        raise ReleaseError(f"`## [{UNRELEASED}]` must be the first heading, and the only one")
    versions = [Version(release.version) for release in numbered]
    if sorted(set(versions), reverse=True) != versions:
        raise ReleaseError("versions must be unique and sorted, newest first")
    return found


def _release(lines: Sequence[str], start: int, end: int) -> Release:
    match = _HEADING.fullmatch(lines[start].removeprefix("## "))
    if match is None or (match["version"] != UNRELEASED) != bool(match["date"]):
        raise ReleaseError(
            f"line {start + 1}: a heading is `## [{UNRELEASED}]` or `## [1.2.3] - 2006-01-02`"
        )
    changes: dict[str, list[str]] = {}
    kind = ""
    for at in range(start + 1, end):
        line = lines[at]
        if line.startswith("### "):
            kind = line.removeprefix("### ")
            if kind not in KINDS or kind in changes:
                raise ReleaseError(f"line {at + 1}: `{kind}` is repeated or not one of {KINDS}")
            changes[kind] = []
        elif line.startswith("- ") and kind:
            changes[kind].append(line.removeprefix("- "))
        elif line.startswith("  ") and kind and changes[kind]:
            changes[kind][-1] += "\n" + line.strip()
        elif line.strip():
            raise ReleaseError(f"line {at + 1}: text outside an entry of a kind of change")
    body = "\n".join(lines[start + 1 : end]).strip() + "\n"
    return Release(match["version"], match["date"] or "", changes, body)


def notes(version: str) -> str:
    """Return the changes in `version`. Raises `ReleaseError` if the changelog lacks it."""
    for release in changelog((ROOT / "CHANGELOG.md").read_text("utf-8")):
        if release.version == version:
            return release.text
    raise ReleaseError(f"CHANGELOG.md has no heading `## [{version}] - …`")


def check(tag: str, url: str = "") -> None:
    """Raise `ReleaseError` unless the sources can be released as `tag` of the repository `url`."""
    version = _version()
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    if f"{RUNTIME}=={version}" not in needed:
        raise ReleaseError(f"pyproject.toml must depend on `{RUNTIME}=={version}`")
    if tag != f"v{version}":
        raise ReleaseError(f"the tag is `{tag}`, and the version in the sources is `{version}`")
    notes(version)
    for project in PROJECTS:
        metadata = tomllib.loads((ROOT / project / "pyproject.toml").read_text("utf-8"))["project"]
        unknown = set(metadata.get("classifiers", ())) - known_classifiers
        if unknown:
            raise ReleaseError(f"unknown classifiers: {', '.join(sorted(unknown))}")
        for name, address in metadata.get("urls", {}).items():
            if url and address != url and not address.startswith(url + "/"):
                raise ReleaseError(
                    f"`project.urls.{name}` is `{address}`, and the repository is `{url}`"
                )


def _version() -> str:
    text = (ROOT / "olmkit/__init__.py").read_text("utf-8")
    match = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if match is None:
        raise ReleaseError("olmkit/__init__.py has no `__version__`")
    return match[1]


def dist(folder: Path, sources: Path = ROOT) -> list[Path]:
    """Build the release of `sources` in `folder`, all files or none; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".release-", dir=folder) as name:
        made = Path(name)
        for project in PROJECTS:
            _build(sources / project, made)
        for wheel in sorted(made.glob("*.whl")):
            _write_sbom(wheel)
        sums = [
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
            for path in sorted(made.iterdir())
        ]
        (made / SUMS).write_text("".join(sums))
        return [Path(shutil.move(path, folder / path.name)) for path in sorted(made.iterdir())]


def _build(project: Path, folder: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
    command = [sys.executable, "-m", "build", "--no-isolation", "-o", str(folder), str(project)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ReleaseError(f"the build of `{project}` failed:\n{done.stdout}{done.stderr}")


def _write_sbom(wheel: Path) -> None:
    """Write the bill of materials of a wheel with all its extras next to it."""
    with zipfile.ZipFile(wheel) as archive:
        (path,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        data = archive.read(path)
    said = BytesParser().parsebytes(data, headersonly=True)
    name, version = str(said["Name"]), str(said["Version"])
    extras = said.get_all("Provides-Extra") or []
    requirements = said.get_all("Requires-Dist") or []
    packages = {
        f"{found.name}.dist-info/METADATA": (found.read_text("METADATA") or "").encode()
        for found in _needed(requirements, extras, {canonicalize_name(name)})
    }
    document = sbom.write(name, Tree(packages), version=version)
    wheel.with_name(f"{name.replace('-', '_')}-{version}.cdx.json").write_bytes(document)


def _needed(
    requirements: Sequence[str], extras: Sequence[str], seen: set[str]
) -> Iterator[importlib.metadata.Distribution]:
    """Return the installed packages of requirements.lock that `requirements` need."""
    for line in requirements:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in extras or [""]):
            continue
        name = canonicalize_name(requirement.name)
        key = f"{name}[{','.join(sorted(requirement.extras))}]"
        if key in seen:
            continue
        seen.add(key)
        found = importlib.metadata.distribution(name)
        if name not in seen:
            seen.add(name)
            yield found
        yield from _needed(found.requires or [], ["", *sorted(requirement.extras)], seen)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = parser.add_subparsers(dest="task", required=True)
    tasks.add_parser("dist").add_argument("folder", nargs="?", type=Path, default=ROOT / "dist")
    checking = tasks.add_parser("check")
    checking.add_argument("tag")
    checking.add_argument("url", nargs="?", default="")
    tasks.add_parser("notes").add_argument("version")
    given = parser.parse_args()
    try:
        if given.task == "dist":
            print("\n".join(map(str, dist(given.folder))))
        elif given.task == "check":
            check(given.tag, given.url.removesuffix(".git"))
        else:
            print(notes(given.version), end="")
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
