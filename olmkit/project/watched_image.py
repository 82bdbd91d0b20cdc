"""The image of a Helm or Ansible operator: its additional contents.

Folders, user and working directory are those of operator-sdk's images, so that manifests written
for them need no change.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import File, Tree
from olmkit.oci.content import Platform
from olmkit.project import distributions
from olmkit.project.sbom import SbomComponent

USER = "1001:0"
HELM = "usr/local/bin/helm"
COLLECTIONS = "usr/share/ansible/collections"
REQUIREMENTS_FILE = "requirements.yml"
_WATCHES = "watches.yaml"
_PINNED = re.compile(r"(?:==)?(\d[\w.+-]*)\Z")  # other forms are ranges
_INCLUDED = frozenset({"operator_sdk.util"})  # in olmkit
# What Go writes into programs: https://pkg.go.dev/runtime/debug#BuildInfo
_HELM_MODULE = re.compile(rb"\n(?:mod|dep)\t(helm\.sh/helm/v\d+)\t(v\d[^\t\n]{0,60})")
# https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html: byte 4 is the class, 5 the
# order of bytes, 18 and 19 the machine.
_MACHINES = {"amd64": 62, "arm64": 183, "ppc64le": 21, "s390x": 22, "riscv64": 243}
_PROGRAMS = {
    "ansible": "ansible.cli.adhoc",
    "ansible-config": "ansible.cli.config",
    "ansible-playbook": "ansible.cli.playbook",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The contents of a kind of project: folders, packages, and their paths."""

    target: str
    folders: tuple[str, ...]
    files: tuple[str, ...]
    more: tuple[str, ...] = ()


CONTENTS: Mapping[str, Content] = {
    "helm": Content(target="/opt/helm", folders=("helm-charts",), files=(_WATCHES,)),
    "ansible": Content(
        target="/opt/ansible",
        folders=("roles", "playbooks", "library", "filter_plugins", "group_vars", "vars"),
        files=(_WATCHES, REQUIREMENTS_FILE, "ansible.cfg"),
        more=("kubernetes",),
    ),
}


def requirements(language: str) -> tuple[str, ...]:
    """Return the packages of the image: the runtime, in versions that match this olmkit."""
    return (distributions.runtime(language), *CONTENTS[language].more)


def code(files: Tree, target: str) -> Tree:
    """Return the layer with the project's own files; raise `ConfigurationError` without watches."""
    if _WATCHES not in files:
        raise ConfigurationError(
            f"`{_WATCHES}` does not exist", hint="`olmkit create api` writes it"
        )
    kept = Tree({path: file for path, file in files.items() if "__pycache__" not in path})
    return kept.at(target.lstrip("/"))


def helm_program(data: bytes, platform: Platform, *, path: str) -> Tree:
    """Return the layer with the helm program; raise `InputError` for one that cannot run there."""
    machine = _MACHINES.get(platform.architecture)
    number = data[18:20] if data[5:6] == b"\x02" else data[18:20][::-1]
    if data[:4] != b"\x7fELF" or platform.os != "linux":
        raise InputError(f"`{path}` is not a Linux program")
    if machine is None or int.from_bytes(number, "big") != machine:
        raise InputError(
            f"`{path}` is not a program for `{platform}`",
            hint="name one for each platform: `--helm 'helm-{arch}'`",
        )
    return Tree({HELM: File(data, 0o755)})


def ansible_programs() -> Tree:
    """Return the layer with the commands that ansible-runner starts."""
    return Tree(
        {
            f"usr/local/bin/{name}": File(
                f"#!/usr/bin/env python3\nfrom {module} import main\n\nmain()\n".encode(), 0o755
            )
            for name, module in _PROGRAMS.items()
        }
    )


def collections(files: Tree, requirements_file: Any, *, folder: str) -> Tree:
    """Return the layer with collections; raise `ConfigurationError` if one is missing."""
    below = Tree(files).under("ansible_collections")
    there = {"/".join(path.split("/")[:2]) for path in below}
    missing = [
        name
        for name in required_collections(requirements_file)
        if name.replace(".", "/") not in there and name not in _INCLUDED
    ]
    if missing:
        raise ConfigurationError(
            f"the collection `{missing[0]}` of `{REQUIREMENTS_FILE}` is not in `{folder}`",
            hint=f"`ansible-galaxy collection install -r {REQUIREMENTS_FILE} -p {folder}` "
            "installs it; so does `--collections-index URL`, in the image",
        )
    return below.at(f"{COLLECTIONS}/ansible_collections")


def other_versions(tree: Tree, requirements_file: Any) -> list[str]:
    """Return a sentence for each collection whose version is not the pinned one."""
    there = {f"{one.namespace}.{one.name}": one.version for one in collection_parts(tree)}
    return [
        f"`{name}` has version {there[name]}, but `{REQUIREMENTS_FILE}` pins {pinned[1]}"
        for one in _list_collections(requirements_file)
        if isinstance(one, Mapping)
        for name, pinned in [(str(one.get("name")), _PINNED.match(str(one.get("version"))))]
        if pinned and there.get(name) and there[name] != pinned[1]
    ]


def to_install(requirements_file: Any) -> Mapping[str, Any]:
    """Return the collections of a `requirements.yml` without those that are part of olmkit."""
    kept = [
        one
        for one in _list_collections(requirements_file)
        if (one.get("name") if isinstance(one, Mapping) else one) not in _INCLUDED
    ]
    return {"collections": kept} if kept else {}


def collection_parts(tree: Tree) -> list[SbomComponent]:
    """Return the collections of the layer with collections."""
    found = []
    for path, file in tree.items():
        folder, _, name = path.rpartition("/")
        if not folder.startswith(f"{COLLECTIONS}/") or folder.count("/") != 6:
            continue
        if name == "MANIFEST.json":
            metadata = _mapping(_mapping(_load(file.data, path)).get("collection_info"))
        elif name == "galaxy.yml" and f"{folder}/MANIFEST.json" not in tree:
            metadata = _mapping(_load(file.data, path))
        else:
            continue
        namespace, own = folder.split("/")[-2:]
        licences = metadata.get("license")
        only = licences[0] if isinstance(licences, list) and len(licences) == 1 else ""
        found.append(
            SbomComponent(
                type="ansible",
                namespace=namespace,
                name=own,
                version=str(metadata.get("version") or ""),
                licence=str(only),
            )
        )
    return found


def chart_parts(tree: Tree) -> list[SbomComponent]:
    """Return the charts of the layer with the project's files, including their subcharts."""
    found = []
    for path, file in tree.items():
        if not path.endswith("/Chart.yaml") or "/templates/" in path:
            continue
        metadata = _mapping(_load(file.data, path))
        name = str(metadata.get("name") or path.split("/")[-2])
        found.append(
            SbomComponent(type="helm", name=name, version=str(metadata.get("version") or ""))
        )
    return found


def helm_part(data: bytes) -> SbomComponent:
    """Return the helm program; its version is known if Go wrote it into the program."""
    digest = hashlib.sha256(data).hexdigest()
    found = _HELM_MODULE.search(data)
    if found is None:
        return SbomComponent(type="generic", name="helm", sha256=digest)
    namespace, _, name = found[1].decode().rpartition("/")
    version = found[2].decode(errors="replace")
    return SbomComponent(
        type="golang", namespace=namespace, name=name, version=version, sha256=digest
    )


def _load(data: bytes, path: str) -> Any:
    try:
        return json.loads(data) if path.endswith(".json") else documents.load(data, path).value
    except (InputError, ValueError, RecursionError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def required_collections(requirements_file: Any) -> Sequence[str]:
    """Return the names of the collections that a `requirements.yml` lists."""
    names = [
        one.get("name") if isinstance(one, Mapping) else one
        for one in _list_collections(requirements_file)
    ]
    return [name for name in names if isinstance(name, str) and name.count(".") == 1]


def _list_collections(requirements_file: Any) -> Sequence[Any]:
    listed = requirements_file.get("collections") if isinstance(requirements_file, Mapping) else ()
    return listed if isinstance(listed, list) else ()
