"""External kinds, and the files that `create api` creates for them.

Kubernetes' own kinds are identified by their group, those of other operators by the requested
domain or Go package. Neither has types, a CRD, roles for people or a sample here, only a reconciler
and webhooks (`scaffold_webhook`). Source of the entries of the project file: version 3 of
kubebuilder's, with `core` and `external`.
"""

from __future__ import annotations

from dataclasses import replace

from olmkit.base.diagnostics import ConfigurationError, Location
from olmkit.base.tree import Tree
from olmkit.kube import objects
from olmkit.kube.objects import GVK
from olmkit.project.config import PROJECT_FILE, Api, Project
from olmkit.project.scaffold import api as scaffold_api
from olmkit.project.scaffold import kinds, wiring
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold.api import ApiRequest
from olmkit.project.scaffold.kinds import KindRequest, Names
from olmkit.project.scaffold.project import Draft

_DOMAIN = "k8s.io"
# Kubernetes' API groups as in the project file, with the domain of each. `core` is the group
# without a name.
_SHORT_GROUPS = frozenset({"apps", "autoscaling", "batch", "core", "policy"})
_DOMAIN_GROUPS = frozenset(
    {"admissionregistration", "apiextensions", "authentication", "authorization", "certificates"}
    | {"coordination", "discovery", "events", "flowcontrol.apiserver", "networking", "node"}
    | {"rbac.authorization", "resource", "scheduling", "storage", "storagemigration"}
)
CORE_GROUPS = dict.fromkeys(_SHORT_GROUPS, "") | dict.fromkeys(_DOMAIN_GROUPS, _DOMAIN)


def is_external_kind(request: KindRequest, project: Project) -> bool:
    """Return whether a request is about a kind that the project does not define.

    A group of Kubernetes is the project's if the project has the kind.
    """
    if request.is_external or _find_recorded(request, project) is not None:
        return True
    is_own = kinds.find(project, request.group, request.version, request.kind) is not None
    return not is_own and _core_group(request.group) in CORE_GROUPS


def requested_api(request: KindRequest, project: Project) -> Api:
    """Return the external kind of a request: as in the project file, or the new one.

    Raises `ConfigurationError` for invalid names, and for a kind of the project itself.
    """
    recorded = _find_recorded(request, project)
    if recorded is not None and not request.is_external:
        api = recorded
    else:
        api = _named_api(request, project)
    kinds.check_names(api)
    kinds.check_module(project, api)
    found = find(project, api)
    known = project.apis[found] if found is not None else None
    if known is not None and not known.is_defined_elsewhere:
        raise ConfigurationError(
            f"`{api.kind}` of `{api.qualified_group}` is the project's own kind",
            hint="leave `--external-api-domain` and `--external-api-path` out",
        )
    if known is not None:
        kinds.check_plural(known, request.plural)
    return api


def find(project: Project, api: Api) -> int | None:
    """Return the index of a kind among those of the project, wherever it is defined."""
    for index, other in enumerate(project.apis):
        same_group = other.qualified_group == api.qualified_group
        if same_group and (other.version, other.kind) == (api.version, api.kind):
            return index
    return None


def create_controller(
    request: ApiRequest, project: Project, present: Tree, templates: Tree
) -> Draft:
    """Return a project with a controller for one more external kind.

    Raises `ConfigurationError` for invalid names and for existing parts.
    """
    _check(request)
    api = requested_api(request, project)
    known = objects.is_cluster_scoped(GVK(api.qualified_group, api.version, api.kind))
    api = replace(api, is_namespaced=request.namespaced and not known)
    found = find(project, api)
    _check_controller(request, project, api, found)
    draft = Draft(present, force=request.force)
    where = Names.of(api, project, present)
    values = scaffold_api.reconciler_values(project, where)
    scaffold_api.add_reconciler(draft, where, templates, values, "external")
    wiring.add_external_controller(draft, where, values)
    if scaffold.is_namespaced(project) and not api.is_namespaced:
        scaffold.bind_to_cluster(draft, project, templates)
    scaffold.record(draft, api, found, {"controller": True})
    return draft


def _core_group(group: str) -> str:
    """Return `networking` for `networking.k8s.io`, which users also write."""
    short = group.removesuffix(f".{_DOMAIN}")
    return short if short in _DOMAIN_GROUPS else group


def _find_recorded(request: KindRequest, project: Project) -> Api | None:
    """Return the external kind with this name in the project file."""
    wanted = (_core_group(request.group), request.version, request.kind)
    for api in project.apis:
        if api.is_defined_elsewhere and (api.group, api.version, api.kind) == wanted:
            return api
    return None


def _named_api(request: KindRequest, project: Project) -> Api:
    group = request.group if request.is_external else _core_group(request.group)
    domain = request.external_domain if request.is_external else CORE_GROUPS[group]
    return Api(
        group=group,
        domain=project.domain if domain is None else domain,
        version=request.version,
        kind=request.kind,
        at=Location(path=PROJECT_FILE),
        plural=request.irregular_plural,
        path=request.external_path
        if request.is_external
        else f"k8s.io/api/{group}/{request.version}",
        is_core=not request.is_external,
        is_external=request.is_external,
    )


def _check(request: ApiRequest) -> None:
    if request.resource:
        raise ConfigurationError(
            "types of an external kind cannot be created",
            hint="pass `--no-resource` for a controller that reads plain manifests",
        )
    if not request.controller:
        raise ConfigurationError("nothing to create without resource and controller")
    if request.deploy is not None:
        raise ConfigurationError("`--image` needs both resource and controller")


def _check_controller(request: ApiRequest, project: Project, api: Api, found: int | None) -> None:
    known = project.apis[found] if found is not None else None
    for other in project.apis:
        same = (other.qualified_group, other.kind) == (api.qualified_group, api.kind)
        if same and other.has_controller and not (request.force and other == known):
            raise ConfigurationError(
                f"`{api.kind}` has a controller already, for version `{other.version}`",
                hint="`--force` overwrites it and discards your changes"
                if other == known
                else "one is enough, since the API server converts",
            )
