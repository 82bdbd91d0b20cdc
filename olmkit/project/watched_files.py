"""Whether a `watches.yaml` names what the project has: charts, roles, playbooks, kinds.

The operator reports the same when it starts, which is on a cluster. `olmkit.hybrid.watches` checks
the entries themselves.
"""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olmkit.base import documents, findings
from olmkit.base.diagnostics import Diagnostic, InputError, Location
from olmkit.base.documents import Document
from olmkit.kube.objects import GVK
from olmkit.project.config import Project

FILE = "watches.yaml"
# Where images of operators have the project's files.
_HOMES = ("/opt/helm/", "/opt/ansible/")
_FOLDERS = {"chart": "", "playbook": "", "role": "roles"}


def check(
    project: Project, data: bytes, has: Callable[[str], bool], *, prefix: str = ""
) -> tuple[Diagnostic, ...]:
    """Return warnings about missing files; `has` tells whether the project has a path.

    `prefix` is put before the path in findings. What only the operator can find is left out:
    variables, names of collections, paths outside the project.
    """
    try:
        document = documents.load(data, prefix + FILE)
    except InputError:  # what checks the entries reports it
        return ()
    listed = document.value
    entries = listed if isinstance(listed, list) else []
    return tuple(
        found
        for index, entry in enumerate(entries)
        if isinstance(entry, Mapping)
        for found in _check_entry(project, document, (index,), entry, has)
    )


def _check_entry(
    project: Project,
    document: Document,
    place: tuple[str | int, ...],
    entry: Mapping[Any, Any],
    has: Callable[[str], bool],
) -> Iterator[Diagnostic]:
    keys = {str(key).lower(): key for key in entry}
    yield from _check_kind(project, document, place, {k: entry[key] for k, key in keys.items()})
    yield from _check_paths(document, place, entry, has)
    finalizer = entry.get(keys.get("finalizer"))
    if isinstance(finalizer, Mapping):
        yield from _check_paths(document, (*place, keys["finalizer"]), finalizer, has)


def _check_paths(
    document: Document,
    place: tuple[str | int, ...],
    entry: Mapping[Any, Any],
    has: Callable[[str], bool],
) -> Iterator[Diagnostic]:
    for key, value in entry.items():
        name = str(key).lower()
        if name not in _FOLDERS or not isinstance(value, str) or not value:
            continue
        paths = _paths(name, value)
        if paths and not any(has(path) for path in paths):
            yield _warning(
                f"the {name} `{value}` does not exist",
                document.at(*place, key),
                hint=f"create `{paths[-1]}`, or correct `{key}`",
            )


def _paths(key: str, value: str) -> tuple[str, ...]:
    """Return the possible paths in the project; none if they are unknown."""
    home = next((home for home in _HOMES if value.startswith(home)), "")
    path = value.removeprefix(home)
    is_in_collection = key != "chart" and path.count(".") >= 2 and "/" not in path
    if "$" in path or "{{" in path or posixpath.isabs(path) or is_in_collection:
        return ()
    path = posixpath.normpath(path)
    if path.startswith(".."):
        return ()
    folder = _FOLDERS[key]
    return (path, posixpath.join(folder, path)) if folder and "/" not in path else (path,)


def _check_kind(
    project: Project,
    document: Document,
    place: tuple[str | int, ...],
    entry: Mapping[str, Any],
) -> Iterator[Diagnostic]:
    wanted = GVK(*(str(entry.get(key, "")) for key in ("group", "version", "kind")))
    own = [GVK(api.qualified_group, api.version, api.kind) for api in project.apis]
    # Another operator's kinds, and those of Kubernetes, may be looked at too.
    if wanted in own or wanted.group not in {one.group for one in own}:
        return
    kinds = {one.kind for one in own if one.group == wanted.group}
    near = difflib.get_close_matches(wanted.kind, kinds, n=1)
    versions = sorted(
        one.version for one in own if (one.group, one.kind) == (wanted.group, wanted.kind)
    )
    hint = f"did you mean `{near[0]}`?" if near else "`olmkit create api` adds a kind"
    if versions:
        hint = f"the project has it in version `{versions[0]}`"
    yield _warning(
        f"the project has no kind `{wanted.kind}` of `{wanted.group}/{wanted.version}`",
        document.at(*place),
        hint=hint,
    )


def _warning(message: str, at: Location, hint: str) -> Diagnostic:
    return findings.create("PRJ013", message, at=at, hint=hint)
