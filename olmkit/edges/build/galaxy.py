"""Install Ansible collections from an index: `ansible-galaxy` resolves, checks and unpacks them."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.base.tree import Tree
from olmkit.edges import disk, paths

_TIMEOUT = 900.0  # seconds
_SHOWN = 12  # lines of its output in an error
_INDEX_INFO = ".info"
_SECRET = re.compile(r"(?<=//)[^/@\s]+@")


async def install(
    requirements: Mapping[str, Any], index: str, project: Path, environment: Mapping[str, str]
) -> Tree:
    """Return the collections of a `requirements.yml` and their dependencies.

    `index` is a URL, or the name of a server in the settings of `ansible-galaxy`. No stored
    credentials are sent to a URL, and a server gets only its own. Paths are relative to `project`.
    Raises `ConfigurationError` without the program, and `RemoteError` if it fails.
    """
    program = _program(environment)
    with paths.temporary_folder() as home:
        target = home / "collections"
        file = home / "requirements.yml"
        file.write_text(json.dumps(requirements))
        words = ["collection", "install", "-r", str(file), "-p", str(target), "-s", index]
        variables = dict(environment)
        # Collections that are installed on this machine are not in the image.
        variables["ANSIBLE_COLLECTIONS_PATH"] = str(target)
        variables["ANSIBLE_GALAXY_CACHE_DIR"] = str(home / "cache")
        variables["ANSIBLE_LOCAL_TEMP"] = str(home / "tmp")
        variables["ANSIBLE_NOCOLOR"] = "1"
        if "://" in index:
            # The stored token and the configured servers belong to other indexes.
            nothing = home / "no-token"
            nothing.touch()
            variables["ANSIBLE_GALAXY_TOKEN_PATH"] = str(nothing)
            variables.pop("ANSIBLE_GALAXY_TOKEN", None)
            variables["ANSIBLE_GALAXY_SERVER_LIST"] = ""
        else:
            variables["ANSIBLE_GALAXY_SERVER_LIST"] = index
        output = await _run([*program, *words], project, variables)
        found = target / "ansible_collections"
        if not paths.is_folder(found):
            raise RemoteError(f"`ansible-galaxy` installed nothing: {output}"[:400])
        tree = disk.read_tree(found)
    # Next to each collection is a folder with its origin.
    kept = {
        path: entry
        for path, entry in tree.items()
        if not path.partition("/")[0].endswith(_INDEX_INFO)
    }
    return Tree(kept).at("ansible_collections")


def _program(environment: Mapping[str, str]) -> list[str]:
    if importlib.util.find_spec("ansible") is not None:
        return [sys.executable, "-m", "ansible.cli.galaxy"]
    if (found := shutil.which("ansible-galaxy", path=environment.get("PATH"))) is not None:
        return [found]
    raise ConfigurationError(
        "`ansible-galaxy` is not installed",
        hint="install olmkit with its extra `ansible`, or install ansible-core",
    )


async def _run(arguments: list[str], folder: Path, variables: Mapping[str, str]) -> str:
    """Run the process to its end; return the last lines of its output."""
    process = await asyncio.create_subprocess_exec(
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
        env=variables,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_TIMEOUT):
            output, _ = await process.communicate()
    except TimeoutError:
        raise RemoteError(
            f"`ansible-galaxy` did not end within {_TIMEOUT / 60:g} minutes"
        ) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    text = _SECRET.sub("", output.decode(errors="replace"))
    lines = [line for line in text.splitlines() if line.strip()][-_SHOWN:]
    if process.returncode:
        raise RemoteError(
            "\n".join(["the collections cannot be installed:", *lines]),
            hint="with `--collections FOLDER` no network is needed",
        )
    return " ".join(lines)
