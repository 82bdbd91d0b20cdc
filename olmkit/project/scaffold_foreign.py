"""Which files `create api` makes for a kind that somebody else defines: a reconciler alone.

Kubernetes' own kinds are told by their group, those of other operators by the
domain or the Go package that is said of them. Neither has types, a CRD, roles for
people or a sample here. Source of the entries of the project file: version 3 of
kubebuilder's, with `core` and `external`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError, Location
from olmkit.base.tree import Tree
from olmkit.kube import objects
from olmkit.kube.objects import GVK
from olmkit.project import python_edits, scaffold, scaffold_api, yaml_edits
from olmkit.project.config import PROJECT_FILE, Api, Project
from olmkit.project.scaffold import Draft
from olmkit.project.scaffold_api import ApiRequest, Names

_DOMAIN = "k8s.io"
# Kubernetes' API groups as the project file names them, with the domain of each. `core` stands
# for the group without a name.
_SHORT_GROUPS = frozenset({"apps", "autoscaling", "batch", "core", "policy"})
_DOMAIN_GROUPS = frozenset(
    {"admissionregistration", "apiextensions", "authentication", "authorization", "certificates"}
    | {"coordination", "discovery", "events", "flowcontrol.apiserver", "networking", "node"}
    | {"rbac.authorization", "resource", "scheduling", "storage", "storagemigration"}
)
CORE_GROUPS = dict.fromkeys(_SHORT_GROUPS, "") | dict.fromkeys(_DOMAIN_GROUPS, _DOMAIN)
_WIRING = """\
manager.add_controller(
    ControllerBuilder()
    .named("{controller}")
    .watches_for({called}.gvk{scope})
    .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
    .build({called}(manager.client), registry=manager.registry)
)
"""


def is_foreign(request: ApiRequest, project: Project) -> bool:
    """Whether a request speaks of a kind that the project does not define."""
    if request.external_domain is not None or request.external_path:
        return True
    is_own = scaffold_api.find(project, request.group, request.version, request.kind) is not None
    return not request.resource and not is_own and _core_group(request.group) in CORE_GROUPS


def create_controller(
    request: ApiRequest, project: Project, present: Tree, templates: Tree
) -> Draft:
    """A project with a controller for one more kind of others.

    Raises `ConfigurationError` for names that cannot be and for what is there already.
    """
    api = _wanted_api(request, project)
    _check(request, api)
    found = _find(project, api)
    _check_place(request, project, api, found)
    draft = Draft(present, force=request.force)
    folder = scaffold.package_folder(project, present)
    where = Names(folder, scaffold.package_of(project), api, project.is_multigroup)
    values = _values(project, where)
    scaffold_api.add_reconciler(draft, where, templates, values, "foreign")
    _wire(draft, where, values)
    data = draft.get(PROJECT_FILE) or b""
    if found is None:
        keys = ("resources",)
        draft.put(PROJECT_FILE, yaml_edits.with_item(data, PROJECT_FILE, keys, _resource(api)))
    else:
        place = ("resources", found, "controller")
        draft.put(PROJECT_FILE, yaml_edits.with_value(data, PROJECT_FILE, place, value=True))
    return draft


def _core_group(group: str) -> str:
    """`networking` of `networking.k8s.io`, which people write too."""
    short = group.removesuffix(f".{_DOMAIN}")
    return short if short in _DOMAIN_GROUPS else group


def _wanted_api(request: ApiRequest, project: Project) -> Api:
    is_external = request.external_domain is not None or bool(request.external_path)
    group = request.group if is_external else _core_group(request.group)
    domain = request.external_domain if is_external else CORE_GROUPS[group]
    if domain is None:
        domain = project.domain
    plural = request.plural
    api = Api(
        group=group,
        domain=domain,
        version=request.version,
        kind=request.kind,
        at=Location(path=PROJECT_FILE),
        plural="" if plural == names.plural_of_kind(request.kind) else plural,
        path=request.external_path if is_external else f"k8s.io/api/{group}/{request.version}",
        is_core=not is_external,
        is_external=is_external,
    )
    known = objects.is_cluster_scoped(GVK(api.qualified_group, api.version, api.kind))
    return replace(api, is_namespaced=request.namespaced and not known)


def _check(request: ApiRequest, api: Api) -> None:
    if request.resource:
        raise ConfigurationError(
            "types of a kind that somebody else defines are not made here",
            hint="`--no-resource` makes a controller for it, which reads plain manifests",
        )
    if not request.controller:
        raise ConfigurationError("there is nothing to make without resource and controller")
    if request.deploy is not None:
        raise ConfigurationError("`--image` needs both resource and controller")
    # The group without a name is checked as `core`.
    scaffold_api.check_names(api.group, api.domain, api.version, api.kind)
    if api.plural and not names.is_label_1035(api.plural):
        raise ConfigurationError(f"`{api.plural}` is no plural of a kind")


def _check_place(request: ApiRequest, project: Project, api: Api, found: int | None) -> None:
    scaffold_api.check_module(project, api)
    known = project.apis[found] if found is not None else None
    if known is not None and not known.is_foreign:
        raise ConfigurationError(
            f"`{api.kind}` of `{api.qualified_group}` is the project's own kind",
            hint="leave `--external-api-domain` and `--external-api-path` out",
        )
    for other in project.apis:
        same = (other.qualified_group, other.kind) == (api.qualified_group, api.kind)
        if same and other.has_controller and not (request.force and other == known):
            raise ConfigurationError(
                f"`{api.kind}` has a controller already, for version `{other.version}`",
                hint="`--force` writes it anew, and takes what was changed in it"
                if other == known
                else "one is enough, since the API server converts",
            )


def _find(project: Project, api: Api) -> int | None:
    """The number of a kind among those of the project, whosoever defines it."""
    for index, other in enumerate(project.apis):
        same_group = other.qualified_group == api.qualified_group
        if same_group and (other.version, other.kind) == (api.version, api.kind):
            return index
    return None


def _values(project: Project, where: Names) -> dict[str, str]:
    api = where.api
    prefix = scaffold.module_prefix(api, multigroup=project.is_multigroup, separator="-")
    in_namespace = scaffold.is_namespaced(project) and api.is_namespaced
    return scaffold.api_values(project, api) | {
        "reconciler_module": where.module_of(where.reconciler_file),
        "reconciler": f"{api.kind}Reconciler",
        "controller": (prefix + api.kind.lower()).replace(".", "-"),
        "rbac_group": api.qualified_group or "core",
        "rbac_namespace": f",namespace={project.name}-system" if in_namespace else "",
        "namespaced_python": str(api.is_namespaced),
        "request_namespace": ', "default"' if api.is_namespaced else "",
        "manifest_namespace": "" if api.is_namespaced else ', "namespace": ""',
    }


def _wire(draft: Draft, where: Names, values: dict[str, str]) -> None:
    path = f"{where.folder}/wiring.py"
    data = draft.get(path)
    if data is None:
        scaffold_api.note_unwired(draft, path, values)
        return
    module, name = values["reconciler_module"], values["reconciler"]
    alias = where.group_prefix + name
    called = python_edits.local_name(data, path, module, name, alias=alias)
    scope = "" if where.api.is_namespaced else ", namespaced=False"
    statement = _WIRING.format(controller=values["controller"], called=called, scope=scope)
    scaffold_api.put_wiring(draft, path, statement, called, [(module, name, called)])


def _resource(api: Api) -> dict[str, Any]:
    entry: dict[str, Any] = {"controller": True}
    entry |= {"core": True} if api.is_core else {}
    entry |= {"domain": api.domain} if api.domain else {}
    entry |= {"external": True} if api.is_external else {}
    entry |= {"group": api.group} if api.group else {}
    entry |= {"kind": api.kind}
    entry |= {"path": api.path} if api.path else {}
    entry |= {"plural": api.plural} if api.plural else {}
    return entry | {"version": api.version}
