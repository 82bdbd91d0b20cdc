"""The files that `create api` creates or changes: types, reconciler, roles, sample.

Source of names and places: version 3 of kubebuilder's project file and the layout of its go/v4
plugin. Names of kinds are in `scaffold_kinds`, the wiring of controllers in `scaffold_wiring`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, Location
from olmkit.base.tree import Tree
from olmkit.project.config import PROJECT_FILE, Api, Project
from olmkit.project.edits import python as python_edits
from olmkit.project.edits import python_shape
from olmkit.project.edits import yaml as yaml_edits
from olmkit.project.scaffold import kinds, template_files, wiring
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold.kinds import KindRequest, Names
from olmkit.project.scaffold.project import Draft

DEPLOY_IMAGE_PLUGIN = "deploy-image.python.olmkit/v1"
_SAMPLES_TEST = "tests/test_on_api_server.py"
_PROCESS_TEST = "tests/test_process.py"
_MAX_USER = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployImage:
    """The container of a kind's pods; `port` 0 and `user` None mean unset."""

    image: str
    command: Sequence[str] = ()
    port: int = 0
    user: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest(KindRequest):
    """A new kind, another version of one, or only a controller."""

    namespaced: bool = True
    resource: bool = True
    controller: bool = True
    deploy: DeployImage | None = None


def create_api(request: ApiRequest, project: Project, present: Tree, templates: Tree) -> Draft:
    """Return a project with one more kind.

    Raises `ConfigurationError` for invalid names and for existing parts.
    """
    found = kinds.find(project, request.group, request.version, request.kind)
    api = _requested_api(request, project, found)
    kinds.check_names(api)
    if api.kind in kinds.TAKEN_KINDS:
        raise ConfigurationError(
            f"the kind `{api.kind}` would shadow the `{api.kind}` that the scaffold's modules "
            "import",
            hint="choose another kind",
        )
    if request.deploy is not None:
        _check_deploy(request)
    _check_place(request, project, found, api)
    draft = Draft(present, force=request.force)
    where = Names.of(api, project, present)
    values = _values(request, project, where, templates)
    if request.resource:
        _add_types(draft, request, project, where, templates, values)
        _add_manifests(draft, project, api, templates, values)
    if request.controller:
        kind = "deploy_image" if request.deploy is not None else "api"
        add_reconciler(draft, where, templates, values, kind)
        is_deploy = request.deploy is not None
        wiring.add_controller(draft, where, values, is_deploy=is_deploy)
        if scaffold.is_namespaced(project) and not api.is_namespaced:
            scaffold.bind_to_cluster(draft, project, templates)
    recorded = replace(api, path=where.module_of(where.version_folder))
    scaffold.record(draft, recorded, found, _facts(request, api))
    if request.deploy is not None:
        variable = {"name": values["image_variable"], "value": request.deploy.image}
        scaffold.set_variable(draft, variable)
        data = draft.get(PROJECT_FILE) or b""
        draft.put(PROJECT_FILE, _write_plugin(data, project, api, request.deploy))
    if found is None:
        _note_conversion(draft, project, api)
    return draft


def _note_conversion(draft: Draft, project: Project, api: Api) -> None:
    """Note that a new version of a kind with conversions also needs a conversion."""
    for index, other in enumerate(project.apis):
        webhooks = project.document.get("resources", index, "webhooks", default={}) or {}
        same = (other.group, other.kind) == (api.group, api.kind)
        if same and isinstance(webhooks, dict) and webhooks.get("conversion"):
            group = f"--group {api.group} " if api.group else ""
            draft.note(
                f"version `{api.version}` of `{api.kind}` is not converted yet",
                PROJECT_FILE,
                f"`olmkit create webhook {group}--kind {api.kind} --version {other.version} "
                f"--conversion --spoke {api.version}`",
            )


def _requested_api(request: ApiRequest, project: Project, found: int | None) -> Api:
    if found is not None and not request.resource:
        return project.apis[found]
    return Api(
        group=request.group,
        domain=project.domain,
        version=request.version,
        kind=request.kind,
        at=Location(path=PROJECT_FILE),
        plural=request.irregular_plural,
        has_types=True,
        is_namespaced=request.namespaced,
    )


def _check_place(request: ApiRequest, project: Project, found: int | None, api: Api) -> None:
    if not request.resource and not request.controller:
        raise ConfigurationError("nothing to create without resource and controller")
    kinds.check_watched(project, api)
    known = project.apis[found] if found is not None else None
    if not request.resource and (known is None or not known.has_types):
        raise ConfigurationError(
            f"the project has no types of `{request.kind}` in version `{request.version}`",
            hint="create them too, without `--no-resource`; for a Kubernetes kind, pass the group "
            "(`apps`, `core`), for an external kind its domain (`--external-api-domain`)",
        )
    if known is not None and not request.force:
        what = "types" if request.resource and known.has_types else ""
        what = what or ("a controller" if request.controller and known.has_controller else "")
        if what:
            raise ConfigurationError(
                f"the project has {what} of `{api.kind}` in version `{api.version}` already",
                hint="`--force` overwrites them and discards your changes",
            )
    groups = {one.group for one in project.apis if not one.is_defined_elsewhere}
    kinds.check_module(project, api)
    if groups and api.group not in groups and not project.is_multigroup:
        raise ConfigurationError(
            f"the project has the group `{sorted(groups)[0]}`, and `{api.group}` differs from it",
            hint="`olmkit edit --multigroup` allows several",
        )
    for other in project.apis:
        if other.qualified_group != api.qualified_group:
            continue
        if other.kind != api.kind:
            kinds.check_clash(api, other)
        same_plural = scaffold.plural_of(other) == scaffold.plural_of(api)
        if same_plural and other.kind != api.kind:
            crd = f"{scaffold.plural_of(api)}.{api.qualified_group}"
            raise ConfigurationError(
                f"the kind `{other.kind}` has the plural of `{api.kind}`: both would be `{crd}`",
                hint="choose another kind, or another `--plural`",
            )
        if other.kind == api.kind:
            kinds.check_plural(other, scaffold.plural_of(api))
        is_other_version = other.kind == api.kind and other.version != api.version
        if is_other_version and other.has_controller and request.controller and not request.force:
            raise ConfigurationError(
                f"`{api.kind}` has a controller already, for version `{other.version}`",
                hint="one is enough, since the API server converts: `--no-controller`",
            )


def _check_deploy(request: ApiRequest) -> None:
    deploy = request.deploy
    if deploy is None or not request.resource or not request.controller:
        raise ConfigurationError("`--image` needs both resource and controller")
    if not request.namespaced:
        raise ConfigurationError("a kind with `--image` has Deployments, so it is namespaced")
    scaffold.check_image(deploy.image)
    if deploy.port and not 0 < deploy.port < 65536:
        raise ConfigurationError(
            f"`{deploy.port}` is not a port", hint="use a number from 1 to 65535"
        )
    if deploy.user is not None and not 0 < deploy.user <= _MAX_USER:
        raise ConfigurationError(
            f"`{deploy.user}` is not a valid user ID",
            hint=f"use a number from 1 to {_MAX_USER}; root is not allowed",
        )


def _values(request: ApiRequest, project: Project, names: Names, templates: Tree) -> dict[str, str]:
    api, deploy = names.api, request.deploy
    options = []
    if not api.is_namespaced:
        options.append("scope=Cluster")
    if api.plural:
        options.insert(0, f"path={api.plural}")
    marker = f"# +kubebuilder:resource:{','.join(options)}\n" if options else ""
    values = reconciler_values(project, names) | {
        "types_module": names.module_of(names.types_file),
        "variable": kinds.variable_of(api.kind, templates),
        "resource_marker": marker,
        "image_variable": _image_variable(api, project),
    }
    return values | (_deploy_values(deploy, api, templates) if deploy is not None else {})


def reconciler_values(project: Project, names: Names) -> dict[str, str]:
    """Return the values of templates that reconcile one kind."""
    api = names.api
    prefix = scaffold.module_prefix(api, multigroup=project.is_multigroup, separator="-")
    in_namespace = scaffold.is_namespaced(project) and api.is_namespaced
    return scaffold.api_values(project, api) | {
        "reconciler_module": names.module_of(names.reconciler_file),
        "reconciler": f"{api.kind}Reconciler",
        "controller": (prefix + api.kind.lower()).replace(".", "-"),
        "rbac_group": api.qualified_group or "core",
        "rbac_namespace": f",namespace={project.name}-system" if in_namespace else "",
        "namespaced_python": str(api.is_namespaced),
        "request_namespace": ', "default"' if api.is_namespaced else "",
        "manifest_namespace": "" if api.is_namespaced else ', "namespace": ""',
        "namespace_line": "" if api.is_namespaced else '    sample["metadata"]["namespace"] = ""\n',
        "sample_file": scaffold.sample_file(api),
    }


def _image_variable(api: Api, project: Project) -> str:
    """Return the variable with the image of a kind's pods, unique across groups."""
    found = kinds.find(project, api.group, api.version, api.kind)
    earlier = project.apis if found is None else project.apis[:found]
    name = f"{api.kind.upper()}_IMAGE"
    if all(one.kind != api.kind or one.group == api.group for one in earlier):
        return name
    return f"{scaffold.module_name(api.group).rstrip('_').upper()}_{name}"


def _deploy_values(deploy: DeployImage, api: Api, templates: Tree) -> dict[str, str]:
    lines, field = "", ""
    name = api.kind.lower()[:15].rstrip("-")  # a port's name has 15 characters at most
    if deploy.command:
        words = ", ".join(python_shape.text(word) for word in deploy.command)
        lines += f'        "command": [{words}],\n'
    if deploy.port:
        port = f"{kinds.variable_of(api.kind, templates)}.spec.container_port"
        lines += f'        "ports": [{{"containerPort": {port}, "name": "{name}"}}],\n'
        field = template_files.file(templates, "deploy_image/port_field.py", {}).decode()
    user = f'            "runAsUser": {deploy.user},\n' if deploy.user is not None else ""
    sample = {"size": 1} | ({"containerPort": deploy.port} if deploy.port else {})
    text = ", ".join(f'"{key}": {value}' for key, value in sorted(sample.items()))
    return {
        "image": deploy.image,
        "container_lines": lines,
        "user_line": user,
        "port_field": field,
        "bounds": "Ge, Le" if deploy.port else "Ge",
        "sample_spec": f"{{{text}}}",
    }


def _add_types(
    draft: Draft,
    request: ApiRequest,
    project: Project,
    names: Names,
    templates: Tree,
    values: dict[str, str],
) -> None:
    packages = [("init/_package_/api/__init__.py", f"{names.folder}/api")]
    if names.group_folder:
        group = f"{names.folder}/api/{names.group_folder}".rstrip("/")
        packages.append(("api/group_package.py", group))
    packages.append(("api/version_package.py", names.version_folder))
    for name, package in packages:
        path = f"{package}/__init__.py"
        if draft.get(path) is None:  # never again: it may contain markers of other kinds
            draft.put(path, template_files.file(templates, name, values))
    folder = "deploy_image" if request.deploy is not None else "api"
    draft.make(names.types_file, template_files.file(templates, f"{folder}/types.py", values))
    _mark_storage(draft, project, names)


def _mark_storage(draft: Draft, project: Project, names: Names) -> None:
    """Mark one of several versions as the stored one: the oldest, until the author changes it."""
    others = [
        api
        for api in project.own_apis()
        if (api.group, api.kind) == (names.api.group, names.api.kind)
        and api.version != names.api.version
    ]
    files = [replace(names, api=api).types_file for api in others]
    texts = [draft.get(path) or b"" for path in files]
    marker = "+kubebuilder:storageversion"
    if not others or any(marker.encode() in text for text in texts):
        return
    if texts[0]:
        marked = python_edits.with_class_marker(texts[0], files[0], names.api.kind, marker)
        draft.put(files[0], marked)


def _add_manifests(
    draft: Draft, project: Project, api: Api, templates: Tree, values: dict[str, str]
) -> None:
    def template(name: str) -> bytes:
        return template_files.file(templates, f"api/{name}", values)

    crds = f"{scaffold.CRD_FOLDER}/kustomization.yaml"
    if draft.get(crds) is None:
        draft.put(crds, template("crd_kustomization.yaml"))
    config = f"{scaffold.CRD_FOLDER}/kustomizeconfig.yaml"
    if draft.get(config) is None:
        draft.put(config, template("crd_kustomizeconfig.yaml"))
    base = f"bases/{api.qualified_group}_{scaffold.plural_of(api)}.yaml"
    draft.add_item(crds, ("resources",), base, marker="crdkustomizeresource")
    draft.add_item(scaffold.DEFAULT_OVERLAY, ("resources",), "../crd")
    if draft.get(scaffold.WEBHOOKS_OVERLAY) is not None:
        draft.add_item(scaffold.WEBHOOKS_OVERLAY, ("resources",), "../crd")
    samples = f"{scaffold.SAMPLES_FOLDER}/kustomization.yaml"
    if draft.get(samples) is None:
        draft.put(samples, template("samples_kustomization.yaml"))
    if draft.get(_SAMPLES_TEST) is None:
        draft.put(_SAMPLES_TEST, template("samples_test.py"))
    sample = scaffold.sample_file(api)
    draft.make(sample, _sample(template("sample.yaml"), values))
    listed = posixpath.basename(sample)
    draft.add_item(samples, ("resources",), listed, marker="manifestskustomizesamples")
    if draft.get(scaffold.MANIFESTS_OVERLAY) is not None:
        draft.add_item(scaffold.MANIFESTS_OVERLAY, ("resources",), "../samples")
    roles = f"{scaffold.RBAC_FOLDER}/kustomization.yaml"
    for name, path in scaffold.role_files(api, multigroup=project.is_multigroup).items():
        draft.put(path, template(name))
        draft.add_item(roles, ("resources",), posixpath.basename(path))


def _sample(text: bytes, values: dict[str, str]) -> bytes:
    if "sample_spec" not in values:
        return text
    sample = documents.load_yaml(text, "sample.yaml").value
    spec = documents.load(values["sample_spec"].encode(), "spec").value
    return documents.dump({**sample, "spec": spec})


def add_reconciler(
    draft: Draft, names: Names, templates: Tree, values: dict[str, str], folder: str
) -> None:
    """Add the reconciler of a kind and its test, from a folder of templates."""
    package = template_files.file(templates, "api/reconcilers_package.py", values)
    for inner in dict.fromkeys(("", names.group_folder)):
        path = f"{names.folder}/reconcilers/{inner}__init__.py"
        if draft.get(path) is None:
            draft.put(path, package)
    text = template_files.file(templates, f"{folder}/reconciler.py", values)
    draft.make(names.reconciler_file, text)
    group = names.group_folder.replace("/", "_")
    test = template_files.file(templates, f"{folder}/reconciler_test.py", values)
    path = f"tests/test_{group}{names.module}.py"
    is_process = path == _PROCESS_TEST  # `init` created it, and another kind must not use it
    draft.make("tests/test_process_reconciler.py" if is_process else path, test)


def _facts(request: ApiRequest, api: Api) -> dict[str, Any]:
    """Return the scaffolded parts of a kind in the PROJECT file."""
    facts: dict[str, Any] = {}
    if request.resource:
        facts["api"] = {"crdVersion": "v1"} | ({"namespaced": True} if api.is_namespaced else {})
    if request.controller:
        facts["controller"] = True
    return facts


def _write_plugin(data: bytes, project: Project, api: Api, deploy: DeployImage) -> bytes:
    """Record how the kind was created, as kubebuilder does for its own plugin."""
    options = {"image": deploy.image}
    options |= {"containerCommand": ",".join(deploy.command)} if deploy.command else {}
    options |= {"containerPort": str(deploy.port)} if deploy.port else {}
    options |= {"runAsUser": str(deploy.user)} if deploy.user is not None else {}
    identity = {
        "domain": api.domain,
        "group": api.group,
        "kind": api.kind,
        "version": api.version,
    }
    keys = ("plugins", DEPLOY_IMAGE_PLUGIN, "resources")
    known = project.document.get(*keys)
    kept = [
        one
        for one in (known if isinstance(known, list) else [])
        if not isinstance(one, dict) or any(one.get(key) != identity[key] for key in identity)
    ]
    entry = {key: value for key, value in identity.items() if value} | {"options": options}
    return yaml_edits.with_value(data, PROJECT_FILE, keys, [*kept, entry])
