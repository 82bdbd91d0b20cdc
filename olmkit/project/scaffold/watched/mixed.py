"""What a Python project needs for its first kind of a chart or a role: program, rights, image."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from olmkit.base import documents
from olmkit.base.tree import Tree
from olmkit.project.config import IDENTITY, PROJECT_FILE, PYPROJECT_FILE, WATCHED_LAYOUTS, Api
from olmkit.project.config import Project as ProjectFile
from olmkit.project.edits import python as python_edits
from olmkit.project.edits import yaml as yaml_edits
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold import template_files
from olmkit.project.scaffold.project import Draft

ROLE_FILE = f"{scaffold.RBAC_FOLDER}/watches_role.yaml"
_BINDING_FILE = f"{scaffold.RBAC_FOLDER}/watches_role_binding.yaml"
_RELEASES = b"""\
# Releases of Helm are Secrets.
- apiGroups:
  - ""
  resources:
  - secrets
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
"""
_CALL, _NEW_CALL = b"sys.exit(main(operator()))", b"sys.exit(mixed.main(operator()))"
_OLD_IMPORT = re.compile(rb"^(from olmkit\.runtime import .*), main$", re.MULTILINE)
_RUNTIME = re.compile(
    r'^(\s*)(["\'])(olmkit-runtime(?=[^a-z])|olmkit(?=\[))(?:\[([a-z0-9, -]*)\])?([^"\']*)\2'
    r",?( *)(.*)$",
    re.MULTILINE,
)
_SCOPED = re.compile(rb"^( *kind: )(?:Cluster)?(Role(?:Binding)?)$", re.MULTILINE)
# Those of the scaffold; another limit is the author's choice.
_LIMITS = {"helm": ("512Mi", "128Mi"), "ansible": ("768Mi", "256Mi")}
_SMALLER = {"helm": ("128Mi",), "ansible": ("128Mi", "512Mi")}
_FILES = "Containerfile"


def prepare(
    draft: Draft, project: ProjectFile, runner: str, folders: Iterable[str], templates: Tree
) -> None:
    """Add the common parts of such kinds, which are in `folders`; existing ones are kept."""
    values = scaffold.project_values(project)
    for path in (ROLE_FILE, _BINDING_FILE):
        if draft.get(path) is None:
            draft.put(path, template_files.file(templates, f"watched_mixed/{path}", values))
        name = path.rpartition("/")[2]
        draft.add_item(f"{scaffold.RBAC_FOLDER}/kustomization.yaml", ("resources",), name)
    if runner == "ansible":
        path = "requirements.yml"
        draft.make(path, template_files.file(templates, f"watched_ansible/{path}", values))
    _require(draft, runner)
    _start_watches(draft, project)
    _set_limits(draft, runner)
    _copy_into_image(draft, runner, folders, templates)


def rescope(draft: Draft, *, namespaced: bool) -> None:
    """Return the same permissions in another scope; the files are not changed otherwise."""
    scope = b"" if namespaced else b"Cluster"
    for path in (ROLE_FILE, _BINDING_FILE):
        data = draft.get(path)
        if data is not None:
            draft.put(path, _SCOPED.sub(rb"\1" + scope + rb"\2", data))


def rules_of(runner: str) -> bytes:
    """Return rules that all kinds of a runner need, as items of a list."""
    return _RELEASES if runner == "helm" else b""


def record(draft: Draft, project: ProjectFile, api: Api, runner: str) -> None:
    """Record the runner of a kind in the project file, like plugins of kubebuilder."""
    keys = ("plugins", WATCHED_LAYOUTS[runner], "resources")
    identity = {key: getattr(api, key) for key in IDENTITY if getattr(api, key)}
    known = project.document.get(*keys)
    listed = known if isinstance(known, list) else []
    data = draft.get(PROJECT_FILE) or b""
    if identity not in listed:
        data = yaml_edits.with_value(data, PROJECT_FILE, keys, [*listed, identity])
    draft.put(PROJECT_FILE, data)


def _start_watches(draft: Draft, project: ProjectFile) -> None:
    """Let the process also run the kinds of `watches.yaml`."""
    path = f"{scaffold.package_folder(project, draft.present)}/__main__.py"
    data = draft.get(path) or b""
    if b"mixed.main(" in data:
        return
    if data.count(_CALL) != 1:
        draft.note(
            f"`{path}` does not start the kinds of `watches.yaml`",
            path,
            "pass the operator to `olmkit.hybrid.mixed.main`, in the place of "
            "`olmkit.runtime.main`",
        )
        return
    data = _OLD_IMPORT.sub(rb"\1", data.replace(_CALL, _NEW_CALL))
    draft.put(path, python_edits.with_import(data, path, "olmkit.hybrid", "mixed"))


def _require(draft: Draft, runner: str) -> None:
    """Add the runner's extra of the runtime to `pyproject.toml`."""
    text = (draft.get(PYPROJECT_FILE) or b"").decode("utf-8", "surrogateescape")
    found = _RUNTIME.search(text)
    if found is None:
        more = " and `kubernetes`" if runner == "ansible" else ""
        draft.note(
            f"`{PYPROJECT_FILE}` does not require `olmkit-runtime`",
            PYPROJECT_FILE,
            f"add `olmkit-runtime[{runner}]`{more} to the dependencies",
        )
        return
    indent, quote, distribution, extras, rest, space, comment = found.groups()
    names = {one.strip() for one in (extras or "").split(",")} - {""}
    # The distribution olmkit includes what Helm needs.
    if runner in names or (distribution, runner) == ("olmkit", "helm"):
        return
    wanted = ",".join(sorted({*names, runner}))
    first = f"{indent}{quote}{distribution}[{wanted}]{rest}{quote},"
    width = len(found[0]) - len(comment) - len(indent)
    gap = 0 if space and len(first) < width + len(indent) else 2
    lines = [f"{first.ljust(width + len(indent))}{comment and ' ' * gap}{comment}"]
    second = f"{indent}{quote}kubernetes{quote},"
    if runner == "ansible" and not re.search(r"[\"']kubernetes[\"'<>=~! ]", text):
        lines.append(f"{second.ljust(width + len(indent))}# for the modules of kubernetes.core")
    changed = text[: found.start()] + "\n".join(lines) + text[found.end() :]
    draft.put(PYPROJECT_FILE, changed.encode("utf-8", "surrogateescape"))


def _set_limits(draft: Draft, runner: str) -> None:
    """Set memory for the programs, and a writable folder."""
    data = draft.get(scaffold.MANAGER_FILE)
    if data is None:
        draft.note(
            f"`{scaffold.MANAGER_FILE}` does not exist",
            scaffold.MANAGER_FILE,
            "give the manager a writable `/tmp` and enough memory for Helm or Ansible",
        )
        return
    pod = ("spec", "template", "spec")
    container = (*pod, "containers", 0)
    path = scaffold.MANAGER_FILE

    def change(part: bytes) -> bytes:
        limit, request = _LIMITS[runner]
        present: Any = documents.load_yaml(part, path).get(
            *container, "resources", "limits", "memory"
        )
        if isinstance(present, str) and present in _SMALLER[runner]:
            for key, value in (("limits", limit), ("requests", request)):
                keys = (*container, "resources", key, "memory")
                part = yaml_edits.with_value(part, path, keys, value)
        mount = {"mountPath": "/tmp", "name": "tmp"}  # noqa: S108 - in the pod
        part = yaml_edits.with_item(part, path, (*container, "volumeMounts"), mount)
        return yaml_edits.with_item(part, path, (*pod, "volumes"), {"emptyDir": {}, "name": "tmp"})

    draft.put(path, yaml_edits.in_document(data, path, "Deployment", change))
    scaffold.set_variable(draft, {"name": "HOME", "value": "/tmp"})  # noqa: S108 - in the pod
    if runner == "ansible":
        scaffold.set_variable(draft, {"name": "ANSIBLE_GATHERING", "value": "explicit"})


def _copy_into_image(draft: Draft, runner: str, folders: Iterable[str], templates: Tree) -> None:
    """Add the files to an image that an engine builds; `olmkit image build` needs no list."""
    data = draft.get(_FILES)
    if data is None:
        return
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    places = [index for index, line in enumerate(lines) if line.startswith("USER ")]
    if not places:
        draft.note(
            f"`{_FILES}` does not copy `watches.yaml`",
            _FILES,
            "copy it and what it names to `/opt/operator`",
        )
        return
    copies = [f"COPY {folder} /opt/operator/{folder}" for folder in folders]
    steps = [
        line
        for name in ("shared", runner)
        for line in template_files.file(templates, f"watched_mixed/image/{name}", {})
        .decode()
        .splitlines()
    ]
    wanted = [one for one in (*steps, *copies) if one not in lines]
    lines[places[-1] : places[-1]] = wanted
    draft.put(_FILES, "\n".join(lines).encode("utf-8", "surrogateescape"))
