"""The files that `edit` changes.

A project that watches only its own namespace has a Role, gets its namespace, and is installed into
one; a project that watches all has a ClusterRole. The RBAC markers of its sources match, and rules
for cluster-scoped kinds stay in a ClusterRole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from olmkit.base import documents, names
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.kube.objects import CLUSTER_SCOPED
from olmkit.project import config, image_plan
from olmkit.project.config import PROJECT_FILE, PYPROJECT_FILE, Project
from olmkit.project.edits import python as python_edits
from olmkit.project.edits import yaml as yaml_edits
from olmkit.project.scaffold import operator_image, template_files
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold.project import Draft
from olmkit.project.scaffold.watched import mixed

_MARKER = re.compile(r"#\s*\+kubebuilder:rbac:(.*)")
_ARGUMENT = re.compile(r"(\w+)=(\{[^}]*\}|\"[^\"]*\"|`[^`]*`|[^,]*)")
_ARG_BASE = re.compile(rb"^ARG BASE=.*$", re.MULTILINE)
_IMAGE_BASE = re.compile(rb"^image-base *= *(?:\"[^\"\n]*\"|'[^'\n]*')", re.MULTILINE)
_SCORECARD = "config/scorecard"
_BUNDLE_OVERLAY = "config/manifests/kustomization.yaml"
_INSTALL_MODES = {"OwnNamespace": True, "AllNamespaces": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """The requested changes of a project; None keeps a setting."""

    multigroup: bool | None = None
    namespaced: bool | None = None
    image: str = ""
    domain: str = ""
    prometheus: bool | None = None
    network_policy: bool | None = None
    scorecard: bool | None = None
    ci: str = ""
    base: str = ""


def edit(request: EditRequest, project: Project, present: Tree, templates: Tree) -> Draft:
    """Return a project with changed properties.

    Raises `ConfigurationError` for an invalid image or domain, for another domain if there are
    kinds, and for a folder to switch that the project does not have.
    """
    draft = Draft(present)
    if request.multigroup is not None:
        scaffold.set_flag(draft, "multigroup", on=request.multigroup)
        if request.multigroup and not project.is_multigroup and project.own_apis():
            draft.note("files of existing APIs are not moved", PROJECT_FILE)
    if request.namespaced is not None:
        scaffold.set_flag(draft, "namespaced", on=request.namespaced)
        if request.namespaced != scaffold.is_namespaced(project):
            _rescope(draft, project, templates)
    if request.image:
        operator_image.set_image(draft, project, request.image)
    if request.base:
        _set_base(draft, request.base)
    if request.domain:
        _set_domain(draft, project, request.domain)
    for folder, wanted in (
        ("../prometheus", request.prometheus),
        ("../network-policy", request.network_policy),
    ):
        if wanted is not None:
            _switch(draft, folder, on=wanted)
    if request.scorecard is not None:
        _switch_scorecard(draft, templates, on=request.scorecard)
    if request.ci:
        scaffold.check_workflow(project.language)
        scaffold.add_workflow(draft, request.ci, project.language, templates)
    return draft


def _set_base(draft: Draft, base: str) -> None:
    """Set the base image of the Containerfile, and that of the settings if they have one."""
    path = next((name for name in image_plan.CONTAINERFILES if draft.get(name)), "")
    changed, count = _ARG_BASE.subn(f"ARG BASE={base}".encode(), draft.get(path) or b"", count=1)
    if not count:
        raise ConfigurationError(
            "the project has no Containerfile with `ARG BASE=`",
            hint=f'set `image-base = "{base}"` in `[tool.olmkit]`',
        )
    draft.put(path, changed)
    settings = draft.get(PYPROJECT_FILE) or b""
    if config.parse_settings(settings).image_base:
        line = f'image-base = "{base}"'.encode()
        draft.put(PYPROJECT_FILE, _IMAGE_BASE.sub(line, settings, count=1))


def _set_domain(draft: Draft, project: Project, domain: str) -> None:
    """Set the domain of later kinds; existing kinds keep theirs, which is in CRDs and clusters."""
    if not names.is_subdomain(domain):
        raise ConfigurationError(
            f"`{domain}` is not a DNS domain", hint="use a domain such as example.com"
        )
    if project.own_apis() and domain != project.domain:
        kind = project.own_apis()[0]
        raise ConfigurationError(
            f"the domain is part of the group of `{kind.kind}`, `{kind.qualified_group}`",
            hint="set the domain before you create the first kind",
        )
    data = draft.get(PROJECT_FILE) or b""
    draft.put(PROJECT_FILE, yaml_edits.with_value(data, PROJECT_FILE, ("domain",), domain))


def _switch(draft: Draft, folder: str, *, on: bool) -> None:
    """Let the overlays of the operator contain a folder of `config`, or not."""
    if on and not any(path.startswith(f"config/{folder[3:]}/") for path in draft.present):
        raise ConfigurationError(
            f"the project has no folder `config/{folder[3:]}`",
            hint="copy it from a new project: `olmkit init` in an empty folder",
        )
    for path in (scaffold.DEFAULT_OVERLAY, scaffold.WEBHOOKS_OVERLAY):
        data = draft.get(path)
        if data is not None and on:
            draft.add_item(path, ("resources",), folder)
        elif data is not None:
            draft.put(path, yaml_edits.with_commented_item(data, path, ("resources",), folder))


def _switch_scorecard(draft: Draft, templates: Tree, *, on: bool) -> None:
    """Let the bundle contain a scorecard configuration, that of a new project, or not.

    `olmkit generate` writes the overlay of the bundle with the folder, if there is no overlay yet.
    """
    if on and not any(path.startswith(f"{_SCORECARD}/") for path in draft.present):
        for path, content in template_files.folder(templates, f"init/{_SCORECARD}", {}).items():
            draft.put(f"{_SCORECARD}/{path}", content.data)
    data = draft.get(_BUNDLE_OVERLAY)
    if data is not None and on:
        draft.add_item(_BUNDLE_OVERLAY, ("resources",), "../scorecard")
    elif data is not None:
        item = yaml_edits.with_commented_item(data, _BUNDLE_OVERLAY, ("resources",), "../scorecard")
        draft.put(_BUNDLE_OVERLAY, item)


def _rescope(draft: Draft, project: Project, templates: Tree) -> None:
    """Change roles, markers, variable and install modes to the scope in the project file."""
    document = documents.load_yaml(draft.get(PROJECT_FILE) or b"", PROJECT_FILE)
    project = replace(project, document=document)
    is_namespaced = scaffold.is_namespaced(project)
    values = scaffold.project_values(project)
    for name in ("role.yaml", "role_binding.yaml"):
        path = f"{scaffold.RBAC_FOLDER}/{name}"
        draft.put(path, template_files.file(templates, f"init/{path}", values))
    mixed.rescope(draft, namespaced=is_namespaced)
    for api in project.own_apis():
        scope = scaffold.api_values(project, api)
        for template, path in scaffold.role_files(api, multigroup=project.is_multigroup).items():
            if draft.get(path) is not None:
                draft.put(path, template_files.file(templates, f"api/{template}", scope))
    if _remark(draft, project) and is_namespaced:
        scaffold.bind_to_cluster(draft, project, templates)
    webhooks = (document.get("resources", index, "webhooks") for index in range(len(project.apis)))
    if is_namespaced and any(isinstance(one, dict) and one.get("conversion") for one in webhooks):
        scaffold.note_converted_in_one_namespace(draft)
    if is_namespaced:
        scaffold.watch_own_namespace(draft)
    else:
        scaffold.set_variable(draft, {"name": "WATCH_NAMESPACE", "value": ""})
    _set_install_modes(draft, project, is_namespaced=is_namespaced)


def _remark(draft: Draft, project: Project) -> bool:
    """Rewrite the RBAC markers of the sources; return whether any requests the whole cluster."""
    folder = scaffold.package_folder(project, draft.present)
    of_cluster = {(group, names.plural_of_kind(kind)) for group, kind in CLUSTER_SCOPED}
    of_cluster |= {
        (api.qualified_group, scaffold.plural_of(api))
        for api in project.apis
        if scaffold.is_of_cluster(api)
    }
    argument = f"namespace={project.name}-system"
    wide: list[str] = []

    def change(comment: str) -> str:
        found = _MARKER.match(comment)
        if found is None:
            return comment
        arguments = dict(_ARGUMENT.findall(found[1]))
        if not scaffold.is_namespaced(project):
            return re.sub(rf",{re.escape(argument)}(?=,|\s|$)", "", comment)
        if arguments.get("namespace"):
            return comment
        if "urls" in arguments or not _targets(arguments).isdisjoint(of_cluster):
            wide.append(comment)
            return comment
        return f"{comment.rstrip()},{argument}"

    for path in sorted(draft.present):
        if path.startswith(f"{folder}/") and path.endswith(".py"):
            data = draft.get(path) or b""
            if b"+kubebuilder:rbac:" in data:
                draft.put(path, python_edits.with_comments(data, path, change))
    return bool(wide)


def _targets(said: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return all combinations of groups and plurals of a marker."""
    groups, resources = (
        re.split(r"[;,]", said.get(key, "").strip('{}"`')) for key in ("groups", "resources")
    )
    return {
        ("" if group == "core" else group.strip(), resource.strip().partition("/")[0])
        for group in groups
        for resource in resources
    }


def _set_install_modes(draft: Draft, project: Project, *, is_namespaced: bool) -> None:
    """Let the base CSV support the modes of the new scope, if it names them."""
    path = f"config/manifests/bases/{project.name}.clusterserviceversion.yaml"
    data = draft.get(path)
    if data is None:
        return
    modes = documents.load_yaml(data, path).get("spec", "installModes")
    for index, mode in enumerate(modes if isinstance(modes, list) else []):
        kind = mode.get("type") if isinstance(mode, Mapping) else None
        if kind in _INSTALL_MODES:
            keys = ("spec", "installModes", index, "supported")
            value = is_namespaced is _INSTALL_MODES[kind]
            data = yaml_edits.with_value(data, path, keys, value)
    draft.put(path, data)
