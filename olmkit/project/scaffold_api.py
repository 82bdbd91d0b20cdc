"""Which files `create api` makes or changes: types, reconciler, roles, sample, wiring.

Source of names and places: version 3 of kubebuilder's project file and the
layout of its go/v4 plugin; `api/`, `reconcilers/` and `wiring.py` are the
Python side of `api/`, `internal/controller` and `cmd/main.go`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from olmkit.base import documents, names
from olmkit.base.diagnostics import ConfigurationError, Location
from olmkit.base.tree import Tree
from olmkit.project import python_edits, scaffold, template_files, yaml_edits
from olmkit.project.config import PROJECT_FILE, Api, Project
from olmkit.project.scaffold import Draft

DEPLOY_IMAGE_PLUGIN = "deploy-image.python.olmkit/v1"
WIRING_FUNCTION = "add_controllers"
_PROCESS_TEST = "tests/test_process.py"
_MAX_USER = 2**31 - 1
_MAX_STATEMENT = 96  # of a line inside the function
# Names that the scaffolded modules import, and a kind of that name would hide.
TAKEN_KINDS = frozenset(
    {"Annotated", "Any", "CacheSettings", "Callable", "ClassVar", "Client", "ClusterError"}
    | {"Condition", "ControllerBuilder", "ControllerSettings", "CustomResource", "EventRecorder"}
    | {"Field", "Ge", "Group", "Int32", "Le", "Manager", "Manifest", "Mapping", "Model"}
    | {"NotFound", "Request", "Result", "None", "True", "False", "GVK"}
    | {"AdmissionRequest", "Denied", "Sequence", "Spoke", "Conversions", "WebhookServer"}
    | {"ApiServer", "HttpCluster", "ClusterConfig", "Resource", "NORMAL", "WARNING", "DEPLOYMENT"}
    | {"FINALIZER", "AVAILABLE", "DEGRADED", "RECONCILING", "FINALIZING", "NAME_TAKEN"}
    | {"GENERATION_CHANGED"}
)
_WORD = re.compile(rb"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployImage:
    """What the pods of a kind run; `port` 0 and `user` None leave it open."""

    image: str
    command: Sequence[str] = ()
    port: int = 0
    user: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRequest:
    """What every request says of its kind. `plural` empty is the regular one.

    What is said of `external` is that somebody else defines the kind: the domain that follows
    its group (None: the project's), and the Go package of its types.
    """

    group: str
    version: str
    kind: str
    plural: str = ""
    external_domain: str | None = None
    external_path: str = ""
    force: bool = False

    @property
    def is_external(self) -> bool:
        return self.external_domain is not None or bool(self.external_path)

    @property
    def irregular_plural(self) -> str:
        """The plural, where it is not the one that Kubernetes makes."""
        return "" if self.plural == names.plural_of_kind(self.kind) else self.plural


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest(KindRequest):
    """A new kind, another version of one, or a controller alone."""

    namespaced: bool = True
    resource: bool = True
    controller: bool = True
    deploy: DeployImage | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """Where the parts of one kind lie, as modules and as files."""

    folder: str
    package: str
    api: Api
    multigroup: bool

    @classmethod
    def of(cls, api: Api, project: Project, present: Tree) -> Names:
        """Where the parts of a kind lie in a project."""
        folder = scaffold.package_folder(project, present)
        return cls(folder, scaffold.package_of(project), api, project.is_multigroup)

    @property
    def group_folder(self) -> str:
        return f"{scaffold.module_name(self.api.group)}/" if self._in_group else ""

    @property
    def _in_group(self) -> bool:
        return self.multigroup and bool(self.api.group)

    @property
    def module(self) -> str:
        return scaffold.module_name(self.api.kind)

    @property
    def version_folder(self) -> str:
        version = scaffold.module_name(self.api.version)
        return f"{self.folder}/api/{self.group_folder}{version}"

    @property
    def types_file(self) -> str:
        return f"{self.version_folder}/{self.module}.py"

    @property
    def reconciler_file(self) -> str:
        return f"{self.folder}/reconcilers/{self.group_folder}{self.module}.py"

    @property
    def group_prefix(self) -> str:
        """What tells a name from that of another group: `WebSite` of `web-site`."""
        return _camel(self.api.group)

    @property
    def version_prefix(self) -> str:
        """What tells a name from that of another version or group."""
        return self.group_prefix + _camel(self.api.version)

    def module_of(self, path: str) -> str:
        """The dotted name of a file of the package."""
        inner = path.removeprefix(self.folder).removesuffix(".py").strip("/")
        return ".".join([self.package, *inner.split("/")])


def _camel(text: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[-.]", text))


def variable_of(kind: str, templates: Tree) -> str:
    """What an object of a kind is called in functions: not as anything that templates speak of.

    Such as `image_object` for a kind `Image`, since images are handed about in there.
    """
    name = scaffold.module_name(kind)
    words = {
        word
        for path, content in templates.items()
        if path.endswith(".py" + template_files.SUFFIX)
        for word in _WORD.findall(content.data)
    }
    return f"{name.rstrip('_')}_object" if name.encode() in words | {b"self"} else name


def create_api(request: ApiRequest, project: Project, present: Tree, templates: Tree) -> Draft:
    """A project with one more kind.

    Raises `ConfigurationError` for names that cannot be and for what is there already.
    """
    found = find(project, request.group, request.version, request.kind)
    api = _wanted_api(request, project, found)
    check_names(api)
    if api.kind in TAKEN_KINDS:
        raise ConfigurationError(
            f"the kind `{api.kind}` would hide the `{api.kind}` that the scaffold's modules import",
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
        _wire(draft, request, where, values)
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
        _tell_of_conversion(draft, project, api)
    return draft


def _tell_of_conversion(draft: Draft, project: Project, api: Api) -> None:
    """A new version of a kind whose versions are converted needs a conversion too."""
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


def find(project: Project, group: str, version: str, kind: str) -> int | None:
    """The number of an API of the project's own group among all of the project."""
    for index, api in enumerate(project.apis):
        if not api.is_foreign and (api.group, api.version, api.kind) == (group, version, kind):
            return index
    return None


def check_names(api: Api) -> None:
    """Raises `ConfigurationError` for names that no API server has."""
    group, domain, version, kind = api.group, api.domain, api.version, api.kind
    # Not the qualified group: the one without a name is checked as `core`.
    qualified = ".".join(part for part in (group, domain) if part)
    for flag, text in (("--group", group), ("--version", version), ("--kind", kind)):
        if text.startswith("-"):
            raise ConfigurationError(f"`{flag}` took `{text}`, which looks like another flag")
    if not names.is_subdomain(qualified):
        raise ConfigurationError(
            f"`{qualified}` is no API group", hint="use lower-case letters, digits, dots, dashes"
        )
    if not names.is_label_1035(version):
        raise ConfigurationError(f"`{version}` is no API version", hint="such as `v1alpha1`")
    if not kind[:1].isupper() or not names.is_label_1035(kind.lower()) or not kind.isidentifier():
        raise ConfigurationError(
            f"`{kind}` is no kind", hint="use letters and digits in camel case: `Memcached`"
        )
    if api.plural and not names.is_label_1035(api.plural):
        raise ConfigurationError(f"`{api.plural}` is no plural of a kind")


def _wanted_api(request: ApiRequest, project: Project, found: int | None) -> Api:
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
        raise ConfigurationError("there is nothing to make without resource and controller")
    known = project.apis[found] if found is not None else None
    if not request.resource and (known is None or not known.has_types):
        raise ConfigurationError(
            f"the project has no types of `{request.kind}` in version `{request.version}`",
            hint="make them too, without `--no-resource`; of Kubernetes' own kinds name the group "
            "(`apps`, `core`), and of others the domain (`--external-api-domain`)",
        )
    if known is not None and not request.force:
        what = "types" if request.resource and known.has_types else ""
        what = what or ("a controller" if request.controller and known.has_controller else "")
        if what:
            raise ConfigurationError(
                f"the project has {what} of `{api.kind}` in version `{api.version}` already",
                hint="`--force` writes them anew, and takes what was changed in them",
            )
    groups = {one.group for one in project.apis if not one.is_foreign}
    check_module(project, api)
    if groups and api.group not in groups and not project.is_multigroup:
        raise ConfigurationError(
            f"the project has the group `{sorted(groups)[0]}`, and `{api.group}` is another one",
            hint="`olmkit edit --multigroup` allows several",
        )
    for other in project.apis:
        if other.qualified_group != api.qualified_group:
            continue
        if other.kind != api.kind:
            _check_clash(api, other)
        same_plural = scaffold.plural_of(other) == scaffold.plural_of(api)
        if same_plural and other.kind != api.kind:
            crd = f"{scaffold.plural_of(api)}.{api.qualified_group}"
            raise ConfigurationError(
                f"the kind `{other.kind}` has the plural of `{api.kind}`: both would be `{crd}`",
                hint="choose another kind, or another `--plural`",
            )
        if other.kind == api.kind:
            check_plural(other, scaffold.plural_of(api))
        is_other_version = other.kind == api.kind and other.version != api.version
        if is_other_version and other.has_controller and request.controller and not request.force:
            raise ConfigurationError(
                f"`{api.kind}` has a controller already, for version `{other.version}`",
                hint="one is enough, since the API server converts: `--no-controller`",
            )


def check_plural(known: Api, plural: str) -> None:
    """A kind that the project has keeps its plural; an empty one is not asked for."""
    if plural and plural != scaffold.plural_of(known):
        raise ConfigurationError(
            f"`{known.kind}` has the plural `{scaffold.plural_of(known)}` in version "
            f"`{known.version}`",
            hint=f"all versions share it: `--plural {scaffold.plural_of(known)}`",
        )


def check_module(project: Project, api: Api) -> None:
    """Two kinds of one name need folders of their own for reconcilers and webhooks."""
    for other in project.apis:
        same = scaffold.module_name(other.kind) == scaffold.module_name(api.kind)
        is_stranger = other.is_foreign or api.is_foreign
        folders = {scaffold.module_name(other.group), scaffold.module_name(api.group)}
        apart = project.is_multigroup and len(folders) > 1
        if same and is_stranger and other.qualified_group != api.qualified_group and not apart:
            raise ConfigurationError(
                f"the project has `{other.kind}` of the group `{other.group}` already, whose "
                "modules have the same names",
                hint="" if project.is_multigroup else "`olmkit edit --multigroup` tells them apart",
            )


def _check_clash(api: Api, other: Api) -> None:
    """Names that one API group has once: of kinds and their lists, of plurals and singulars."""
    for one, another in ((api, other), (other, api)):
        clash = ""
        if one.kind == f"{another.kind}List":
            clash = f"a list of `{another.kind}` is of the kind `{one.kind}` too"
        elif one.kind.lower() == another.kind.lower():
            clash = f"`{one.kind}` and `{another.kind}` differ in upper case letters only"
        elif one.kind.lower() == scaffold.plural_of(another):
            clash = f"`{one.kind.lower()}` is the plural of `{another.kind}` too"
        if clash:
            raise ConfigurationError(clash, hint="choose another kind: the API server takes one")


def _check_deploy(request: ApiRequest) -> None:
    deploy = request.deploy
    if deploy is None or not request.resource or not request.controller:
        raise ConfigurationError("`--image` needs both resource and controller")
    if not request.namespaced:
        raise ConfigurationError("a kind with `--image` has Deployments, so it is namespaced")
    scaffold.check_image(deploy.image)
    if deploy.port and not 0 < deploy.port < 65536:
        raise ConfigurationError(f"`{deploy.port}` is no port", hint="give one from 1 to 65535")
    if deploy.user is not None and not 0 < deploy.user <= _MAX_USER:
        raise ConfigurationError(
            f"`{deploy.user}` is no user to run as",
            hint=f"give a number from 1, since root may not run, to {_MAX_USER}",
        )


def _values(request: ApiRequest, project: Project, where: Names, templates: Tree) -> dict[str, str]:
    api, deploy = where.api, request.deploy
    options = []
    if not api.is_namespaced:
        options.append("scope=Cluster")
    if api.plural:
        options.insert(0, f"path={api.plural}")
    marker = f"# +kubebuilder:resource:{','.join(options)}\n" if options else ""
    values = reconciler_values(project, where) | {
        "types_module": where.module_of(where.types_file),
        "variable": variable_of(api.kind, templates),
        "resource_marker": marker,
        "image_variable": _image_variable(api, project),
    }
    return values | (_deploy_values(deploy, api, templates) if deploy is not None else {})


def reconciler_values(project: Project, where: Names) -> dict[str, str]:
    """The values of templates that reconcile one kind."""
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


def _image_variable(api: Api, project: Project) -> str:
    """The variable with the image of a kind's pods; the same kind of a later group has another."""
    found = find(project, api.group, api.version, api.kind)
    earlier = project.apis if found is None else project.apis[:found]
    name = f"{api.kind.upper()}_IMAGE"
    if all(one.kind != api.kind or one.group == api.group for one in earlier):
        return name
    return f"{scaffold.module_name(api.group).rstrip('_').upper()}_{name}"


def _deploy_values(deploy: DeployImage, api: Api, templates: Tree) -> dict[str, str]:
    lines, field = "", ""
    name = api.kind.lower()[:15].rstrip("-")  # a port's name has 15 characters at most
    if deploy.command:
        words = ", ".join(json.dumps(word, ensure_ascii=False) for word in deploy.command)
        lines += f'        "command": [{words}],\n'
    if deploy.port:
        port = f"{variable_of(api.kind, templates)}.spec.container_port"
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
    where: Names,
    templates: Tree,
    values: dict[str, str],
) -> None:
    packages = [("init/_package_/api/__init__.py", f"{where.folder}/api")]
    if where.group_folder:
        group = f"{where.folder}/api/{where.group_folder}".rstrip("/")
        packages.append(("api/group_package.py", group))
    packages.append(("api/version_package.py", where.version_folder))
    for name, package in packages:
        path = f"{package}/__init__.py"
        if draft.get(path) is None:  # never anew: it may hold markers of other kinds
            draft.put(path, template_files.file(templates, name, values))
    folder = "deploy_image" if request.deploy is not None else "api"
    draft.make(where.types_file, template_files.file(templates, f"{folder}/types.py", values))
    _mark_storage(draft, project, where)


def _mark_storage(draft: Draft, project: Project, where: Names) -> None:
    """Let one of several versions be the stored one: the oldest, until the author says else."""
    others = [
        api
        for api in project.own_apis()
        if (api.group, api.kind) == (where.api.group, where.api.kind)
        and api.version != where.api.version
    ]
    files = [replace(where, api=api).types_file for api in others]
    texts = [draft.get(path) or b"" for path in files]
    marker = "+kubebuilder:storageversion"
    if not others or any(marker.encode() in text for text in texts):
        return
    if texts[0]:
        marked = python_edits.with_class_marker(texts[0], files[0], where.api.kind, marker)
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
    samples = "config/samples/kustomization.yaml"
    if draft.get(samples) is None:
        draft.put(samples, template("samples_kustomization.yaml"))
    parts = (api.group, api.version, api.kind.lower())
    sample = "_".join(part for part in parts if part) + ".yaml"
    draft.make(f"config/samples/{sample}", _sample(template("sample.yaml"), values))
    draft.add_item(samples, ("resources",), sample, marker="manifestskustomizesamples")
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
    draft: Draft, where: Names, templates: Tree, values: dict[str, str], folder: str
) -> None:
    """The reconciler of a kind and its test, from a folder of templates."""
    package = template_files.file(templates, "api/reconcilers_package.py", values)
    for inner in dict.fromkeys(("", where.group_folder)):
        path = f"{where.folder}/reconcilers/{inner}__init__.py"
        if draft.get(path) is None:
            draft.put(path, package)
    text = template_files.file(templates, f"{folder}/reconciler.py", values)
    draft.make(where.reconciler_file, text)
    group = where.group_folder.replace("/", "_")
    test = template_files.file(templates, f"{folder}/reconciler_test.py", values)
    path = f"tests/test_{group}{where.module}.py"
    is_process = path == _PROCESS_TEST  # which `init` made, and another kind may not take
    draft.make("tests/test_process_reconciler.py" if is_process else path, test)


def _wire(draft: Draft, request: ApiRequest, where: Names, values: dict[str, str]) -> None:
    """Let the manager run the controller."""
    path = f"{where.folder}/wiring.py"
    data = draft.get(path)
    if data is None:
        note_unwired(draft, path, values)
        return
    group = where.group_prefix
    wanted = {
        "kind": (values["types_module"], values["kind"], where.version_prefix),
        "reconciler": (values["reconciler_module"], values["reconciler"], group),
        "deployment": (values["reconciler_module"], "DEPLOYMENT", group.upper()),
    }
    called = {
        word: python_edits.local_name(data, path, module, name, alias=prefix + name)
        for word, (module, name, prefix) in wanted.items()
    }
    imports = [
        ("olmkit.runtime.predicate", "GENERATION_CHANGED", ""),
        (*wanted["kind"][:2], called["kind"]),
        (*wanted["reconciler"][:2], called["reconciler"]),
    ]
    name = "wiring"
    if request.deploy is not None:
        name = "wiring_deploy_image"
        imports += [
            ("olmkit.runtime.events", "EventRecorder", ""),
            ("olmkit.runtime.manager", "Group", ""),
            (*wanted["deployment"][:2], called["deployment"]),
        ]
    words = (
        values
        | called
        | {
            "scope": "" if where.api.is_namespaced else ", namespaced=False",
            "recorder": _recorder(values["controller"]),
        }
    )
    put_wiring(draft, path, _WIRING[name].format(**words), called["reconciler"], imports)


def note_unwired(draft: Draft, path: str, values: dict[str, str]) -> None:
    """Say that there is no module that builds controllers."""
    draft.note(
        f"`{path}` is not there, so nothing runs `{values['reconciler']}`",
        path,
        "build its controller where your manager is built",
    )


def put_wiring(
    draft: Draft,
    path: str,
    statement: str,
    reconciler: str,
    imports: Sequence[tuple[str, str, str]],
) -> None:
    """Add a statement that builds a controller; imports are module, name and local name.

    Raises `InputError` where the module has no function for it.
    """
    data = draft.get(path) or b""
    wired = python_edits.with_statement(
        data, path, WIRING_FUNCTION, statement, marker="builder", sign=f"{reconciler}("
    )
    if wired == data:
        if draft.force:
            draft.note(
                f"`{path}` builds `{reconciler}` already and is kept",
                path,
                "see that it passes what the new one takes",
            )
        return
    for module, imported, alias in sorted([*_BUILDER_IMPORTS, *imports]):
        wired = python_edits.with_import(wired, path, module, imported, alias=alias)
    draft.put(path, wired)


_BUILDER_IMPORTS = (
    ("olmkit.runtime.builder", "ControllerBuilder", ""),
    ("olmkit.runtime.controller", "ControllerSettings", ""),
)


def _recorder(controller: str) -> str:
    """The recorder of events, on one line where that is short enough."""
    given = f'manager.cluster, "{controller}-controller", registry=manager.registry'
    line = f"recorder = EventRecorder({given})"
    return line if len(line) <= _MAX_STATEMENT else f"recorder = EventRecorder(\n    {given}\n)"


_WIRING = {
    "wiring": """\
manager.add_controller(
    ControllerBuilder()
    .named("{controller}")
    .watches_for({kind}.gvk, GENERATION_CHANGED{scope})
    .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
    .build({reconciler}(manager.client), registry=manager.registry)
)
""",
    "wiring_deploy_image": """\
{recorder}
# With the servers, which stop last: late events go out.
manager.add(recorder, Group.SERVERS)
image = environment.get("{image_variable}", "")
manager.add_controller(
    ControllerBuilder()
    .named("{controller}")
    .watches_for({kind}.gvk, GENERATION_CHANGED{scope})
    .owns({deployment})
    .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
    .build(
        {reconciler}(manager.client, recorder, image=image),
        registry=manager.registry,
    )
)
""",
}


def _facts(request: ApiRequest, api: Api) -> dict[str, Any]:
    """What the project file says is made for a kind."""
    facts: dict[str, Any] = {}
    if request.resource:
        facts["api"] = {"crdVersion": "v1"} | ({"namespaced": True} if api.is_namespaced else {})
    if request.controller:
        facts["controller"] = True
    return facts


def _write_plugin(data: bytes, project: Project, api: Api, deploy: DeployImage) -> bytes:
    """Record how the kind was made, as kubebuilder does for its own plugin."""
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
