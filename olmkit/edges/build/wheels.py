"""The Python packages of an image, collected by an installer for another platform.

uv is used if it is installed, because it is fast and evaluates conditions such as `python_version
>= "3.12"` for the target; else pip. Nothing is compiled: only wheels are accepted. Files that the
two write differently, or that describe this machine, are left out or rewritten, so that equal
wheels give equal bytes.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import csv
import hashlib
import importlib.util
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import File, Tree
from olmkit.edges import disk
from olmkit.oci.content import Platform
from olmkit.project import image_plan

# The installer, paths on this disk, and caches.
_LEFT_OUT = frozenset({"INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"})
_RECORD = "RECORD"
_SECRET = re.compile(r"(?<=//)[^/@\s]+@")
# uv has no name for other platforms.
_UV_MACHINES = frozenset({"x86_64", "aarch64"})
_SHOWN_LINES = 8
# Messages of installers for errors in the input, not in the environment.
_NO = re.compile(
    r"hash|no matching distribution|no solution found|unsatisfiable|invalid|no usable wheels",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelRequest:
    """The request: `requirements` as in pyproject.toml, or `lock`, a file with exact versions.

    `python` is a version such as `3.13`. With `folder`, wheels come from there, and the network is
    not used.
    """

    python: str
    platform: Platform
    libc: str
    requirements: tuple[str, ...] = ()
    lock: Path | None = None
    folder: Path | None = None


async def collect(request: WheelRequest, environment: Mapping[str, str]) -> Tree:
    """Return the packages as in one folder of `PYTHONPATH`.

    Raises `InputError` if there are no matching wheels or their hashes differ, `RemoteError` for a
    network error, and `ConfigurationError` without an installer.
    """
    if request.lock is None and not request.requirements:
        return Tree()
    with tempfile.TemporaryDirectory(prefix="olmkit-wheels-") as name:
        folder = Path(name)
        target = folder / "packages"
        target.mkdir()
        await _run(_command(request, folder, target, environment), environment)
        return normalize(disk.read_tree(target))


def normalize(tree: Tree) -> Tree:
    """Return installed packages without files that depend on the installer or this machine."""
    kept: dict[str, File] = {}
    for path, file in tree.items():
        folder, _, name = path.rpartition("/")
        if path.startswith("bin/") or path == ".lock" or "__pycache__" in path.split("/"):
            continue
        if folder.endswith(".dist-info") and name in (_LEFT_OUT | {_RECORD}):
            continue
        kept[path] = file
    for path, file in tree.items():
        folder, _, name = path.rpartition("/")
        if name == _RECORD and folder.endswith(".dist-info"):
            kept[path] = File(_record(path, file.data, kept))
    return Tree(kept)


def _command(
    request: WheelRequest, folder: Path, target: Path, environment: Mapping[str, str]
) -> list[str]:
    machine = image_plan.machine_of(request.platform)
    only = environment.get("OLMKIT_INSTALLER", "")
    uv = _uv() if machine in _UV_MACHINES and only in ("", "uv") else None
    pip = _pip() if only in ("", "pip") else None
    if uv is not None:
        words = [*uv, "pip", "install", "--quiet", "--link-mode", "copy"]
        words += ["--python", sys.executable, "--python-platform", _uv_platform(request, machine)]
        if request.folder is not None or environment.get("UV_FIND_LINKS"):
            # uv caches a wheel by its version and folder only: a wheel that was rebuilt with the
            # same version would be outdated.
            words.append("--refresh")
    elif pip is not None:
        _same_python(request.python)
        words = [*pip, "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
        words += ["--no-warn-conflicts", "--root-user-action", "ignore"]
        for tag in image_plan.wheel_tags(request.platform, request.libc):
            words += ["--platform", tag]
    else:
        raise ConfigurationError(
            "collecting Python packages needs `uv` or `pip`, and neither is installed",
            hint="install one: `pip install uv`",
        )
    words += ["--target", str(target), "--python-version", request.python]
    words += ["--only-binary", ":all:"]
    if request.folder is not None:
        words += ["--no-index", "--find-links", str(request.folder)]
    if request.lock is not None:
        return [*words, "--no-deps", "--require-hashes", "--requirement", str(request.lock)]
    listed = folder / "requirements.txt"
    listed.write_text("".join(f"{requirement}\n" for requirement in request.requirements))
    return [*words, "--requirement", str(listed)]


def _same_python(expected: str) -> None:
    """Raise an error if pip, which evaluates conditions for its own Python, would be wrong."""
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if expected != own:
        raise ConfigurationError(
            f"the image has Python {expected}, and this pip can only collect for Python {own}",
            hint="install uv, which collects for any version: `pip install uv`",
        )


def _uv_platform(request: WheelRequest, machine: str) -> str:
    if image_plan.uses_musl(request.libc):
        return f"{machine}-unknown-linux-musl"
    return f"{machine}-{request.libc}"


def _uv() -> list[str] | None:
    if (found := shutil.which("uv")) is not None:
        return [found]
    if importlib.util.find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    return None


def _pip() -> list[str] | None:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    return None


async def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environment),
    )
    try:
        _, output = await process.communicate()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode == 0:
        return
    text = _SECRET.sub("", output.decode(errors="replace")).strip()
    lines = [line for line in text.splitlines() if line.strip()][-_SHOWN_LINES:]
    message = "\n".join(["the Python packages cannot be collected:", *lines])
    if _NO.search(text):
        raise InputError(
            message,
            hint="each package needs a wheel for the image's Python and platform; "
            "correct the requirements, the lock or the folder of wheels; `UV_FIND_LINKS` "
            "(for pip: `PIP_FIND_LINKS`) adds a directory to the index",
        )
    raise RemoteError(message, hint="`--wheels FOLDER` works without network access")


def _record(path: str, data: bytes, kept: Mapping[str, File]) -> bytes:
    """Return the list of a package's files, only with the kept ones, in order."""
    rows = csv.reader(io.StringIO(data.decode(errors="replace")))
    names = sorted({row[0] for row in rows if row and row[0] in kept})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for name in names:
        content = kept[name].data
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        writer.writerow([name, f"sha256={digest}", len(content)])
    writer.writerow([path, "", ""])
    return text.getvalue().encode()
