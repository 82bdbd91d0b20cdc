"""The files that `init` creates, and common parts of scaffolds.

The expected files are derived from the existing ones, and compared by the code that writes. Users'
files are edited without changing their content (`yaml_edits`, `python_edits`), so all scaffolds can
be repeated. The files of `create api` are in `scaffold_api`, webhooks in `scaffold_webhook`,
changes in `scaffold_edit`.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import olmkit
from olmkit.base import documents, findings, names
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError, Location
from olmkit.base.tree import File, Tree
from olmkit.base.versions import InvalidVersionError, Version
from olmkit.kube import objects
from olmkit.kube.objects import GVK
from olmkit.oci.reference import Reference
from olmkit.project import distributions
from olmkit.project.config import PROJECT_FILE, PYPROJECT_FILE, WATCHED_LAYOUTS, Api, Project
from olmkit.project.edits import yaml as yaml_edits
from olmkit.project.scaffold import template_files

_MAKE = re.compile(r"^ *- (?:run: )?make (.+)$", re.MULTILINE)
_TARGETS = re.compile(r"^([a-z][a-z0-9 -]*):(?!=)", re.MULTILINE)
LAYOUT = "python.olmkit/v1"
CI = ("github", "gitlab")
SAMPLES_FOLDER = "config/samples"
CRD_FOLDER = "config/crd"
RBAC_FOLDER = "config/rbac"
DEFAULT_OVERLAY = "config/default/kustomization.yaml"
WEBHOOKS_OVERLAY = "config/with-webhooks/kustomization.yaml"  # from the first webhook on
MANIFESTS_OVERLAY = "config/manifests/kustomization.yaml"
MANAGER_FILE = "config/manager/manager.yaml"
MANAGER_OVERLAY = "config/manager/kustomization.yaml"

# `init` creates these; an existing one belongs to the user.
_ONLY_ONCE = (PROJECT_FILE, PYPROJECT_FILE, "Makefile", DEFAULT_OVERLAY)
# Names that a package cannot have because of its imports.
_TAKEN = frozenset({"olmkit", "pydantic", "annotated_types", "pytest", "test", "tests", "config"})
# The longest name of a Service with the project's name as a prefix.
_LONGEST = "-controller-manager-metrics-service"
_MAX_NAME = 63 - len(_LONGEST)
_FNV_PRIME, _FNV_START = 16777619, 2166136261


@dataclass(frozen=True, slots=True, kw_only=True)
class InitRequest:
    """A new project. `image` is the operator's own, with a tag; the default uses the names.

    `ci` is the service whose workflow is written, one of `CI`; empty: none.
    """

    domain: str
    name: str
    image: str = ""
    multigroup: bool = False
    namespaced: bool = False
    ci: str = ""


@dataclass(slots=True)
class Draft:
    """The files of a scaffold on top of the existing ones, and notes for the user."""

    present: Tree
    wanted: dict[str, File | bytes] = field(default_factory=dict)
    notes: list[Diagnostic] = field(default_factory=list)
    force: bool = False

    def get(self, path: str) -> bytes | None:
        """Return the desired content of a file, or the existing one."""
        content = self.wanted.get(path) or self.present.get(path)
        return content.data if isinstance(content, File) else content

    def make(self, path: str, data: bytes) -> None:
        """Create a file that belongs to the author: an existing one is kept, unless forced."""
        if self.force or self.get(path) is None:
            self.put(path, data)

    def put(self, path: str, data: bytes) -> None:
        """Write a file with this content, even if it exists."""
        self.wanted[path] = data

    def add_item(
        self, path: str, keys: tuple[str | int, ...], item: object, *, marker: str = ""
    ) -> None:
        """Add an entry to a list of a YAML file; tell the user if the file does not exist."""
        data = self.get(path)
        if data is None:
            self.note(f"`{path}` does not exist, so `{item}` could not be added to it", path)
            return
        self.put(path, yaml_edits.with_item(data, path, keys, item, marker=marker))

    def note(self, message: str, path: str, hint: str = "") -> None:
        self.notes.append(
            findings.create(
                "PRJ012",
                message,
                at=Location(path=path),
                hint=hint,
            )
        )

    def tree(self) -> Tree:
        return Tree(self.wanted)


def init(request: InitRequest, present: Tree, templates: Tree) -> Draft:
    """Return the files of a new project.

    Raises `ConfigurationError` for invalid names, and if a project exists there.
    """
    check_request(request)
    _check_package(request)
    for path in _ONLY_ONCE:
        if path in present:
            raise ConfigurationError(
                f"`{path}` exists already",
                hint="start in an empty folder; `olmkit create api` adds to a project",
            )
    draft = Draft(present)
    values = init_values(request)
    for path, content in template_files.folder(templates, "init", values).items():
        draft.make(path, content.data)
        if path in present:
            draft.note(f"`{path}` existed and is kept", path)
    if request.ci:
        add_workflow(draft, request.ci, "python", templates)
    if request.multigroup:
        set_flag(draft, "multigroup", on=True)
    if request.namespaced:
        set_flag(draft, "namespaced", on=True)
        watch_own_namespace(draft)
    return draft


def check_workflow(language: str) -> None:
    """Raise `ConfigurationError` if there is no workflow for projects in this language."""
    if language not in ("", "python", *WATCHED_LAYOUTS):
        raise ConfigurationError(
            f"`--ci` has no effect here: there is no workflow for projects in {language}",
            hint="call `make test` and `make bundle` in your workflow",
        )


def add_workflow(draft: Draft, service: str, language: str, templates: Tree) -> None:
    """Add the workflow of a CI service; an existing one is kept."""
    folder = f"ci_{language}" if language in WATCHED_LAYOUTS else "ci"
    values = {"compatible": distributions.compatible(olmkit.__version__)}
    for path, content in template_files.folder(templates, f"{folder}/{service}", values).items():
        if draft.get(path) is not None:
            draft.note(f"`{path}` existed and is kept", path)
        draft.make(path, content.data)
        _note_missing_targets(draft, path, content.data)


def _note_missing_targets(draft: Draft, path: str, workflow: bytes) -> None:
    """Report the targets of a workflow that the project's Makefile does not have."""
    makefile = (draft.get("Makefile") or b"").decode("utf-8", "replace")
    lines = _MAKE.findall(workflow.decode())
    wanted = dict.fromkeys(word for line in lines for word in line.split())
    present = {word for line in _TARGETS.findall(makefile) for word in line.split()}
    if missing := [f"`{one}`" for one in wanted if one not in present]:
        draft.note(
            f"`Makefile` has no target {', '.join(missing)}, which `{path}` runs",
            "Makefile",
            "copy it from a new project, which `olmkit init` writes to an empty directory",
        )


def package_of(project: Project) -> str:
    """Return the Python package of a project: the folder of its sources, else by its name."""
    if project.settings.sources:
        return project.settings.sources[0].rstrip("/").removeprefix("src/").replace("/", ".")
    for api in project.own_apis():
        if api.path:
            return api.path.partition(".")[0]
    return module_name(project.repo or project.name)


def package_folder(project: Project, present: Tree) -> str:
    """Return the folder of the project's package, relative to the project."""
    package = package_of(project).replace(".", "/")
    in_source = any(path.startswith(f"src/{package}/") for path in present)
    return f"src/{package}" if in_source else package


def is_namespaced(project: Project) -> bool:
    return project.document.get("namespaced") is True


def module_name(text: str) -> str:
    """Convert a string to the name of a module: `memcached-operator` → `memcached_operator`."""
    name = text.lower().replace("-", "_").replace(".", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def project_values(project: Project) -> dict[str, str]:
    """Return the values that every template may use."""
    return _common(project.name, project.domain, package_of(project), is_namespaced(project))


def lock_name(repo: str, domain: str) -> str:
    """Return the name of the lease that the replicas of an operator share: FNV-1a of 32 bits."""
    value = _FNV_START
    for byte in repo.encode():
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return ".".join(part for part in (f"{value:08x}", domain) if part)


def set_flag(draft: Draft, key: str, *, on: bool) -> None:
    """Set a property of the project in the project file; one that is off is removed."""
    data = draft.get(PROJECT_FILE) or b""
    if on:
        draft.put(PROJECT_FILE, yaml_edits.with_value(data, PROJECT_FILE, (key,), value=True))
    else:
        draft.put(PROJECT_FILE, yaml_edits.without_key(data, PROJECT_FILE, (key,)))


def record(draft: Draft, api: Api, found: int | None, facts: Mapping[str, Any]) -> None:
    """Record in the project file what was created for a kind; `found` is its index, if any."""
    data = draft.get(PROJECT_FILE) or b""
    if found is None:
        entry = {**_identity(api), **facts}
        data = yaml_edits.with_item(data, PROJECT_FILE, ("resources",), entry)
    else:
        for key, value in facts.items():
            data = yaml_edits.with_value(data, PROJECT_FILE, ("resources", found, key), value)
    draft.put(PROJECT_FILE, data)


def _identity(api: Api) -> dict[str, Any]:
    """Return the entry of a kind in the PROJECT file, without its scaffolded parts."""
    named = {
        "core": api.is_core,
        "domain": api.domain,
        "external": api.is_external,
        "group": api.group,
        "kind": api.kind,
        "path": api.path,
        "plural": api.plural,
        "version": api.version,
    }
    return {key: value for key, value in named.items() if value}


def watch_own_namespace(draft: Draft) -> None:
    """Let the manager know its namespace, which is the one that it watches."""
    variable = {
        "name": "WATCH_NAMESPACE",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
    }
    set_variable(draft, variable)


def role_files(api: Api, *, multigroup: bool) -> dict[str, str]:
    """Return the roles for people who work with one kind: template → file."""
    prefix = module_prefix(api, multigroup=multigroup, separator="_")
    return {
        f"{name}_role.yaml": f"{RBAC_FOLDER}/{prefix}{api.kind.lower()}_{name}_role.yaml"
        for name in ("admin", "editor", "viewer")
    }


def module_prefix(api: Api, *, multigroup: bool, separator: str) -> str:
    return f"{api.group}{separator}" if multigroup and api.group else ""


def api_values(project: Project, api: Api) -> dict[str, str]:
    """Return the values of templates that describe one kind."""
    prefix = module_prefix(api, multigroup=project.is_multigroup, separator="-")
    group = api.qualified_group
    return project_values(project) | {
        "group": api.group,
        "qualified_group": group,
        "version": api.version,
        "kind": api.kind,
        "kind_lower": api.kind.lower(),
        "kind_title": names.display_name(api.kind),
        "plural": plural_of(api),
        "role_prefix": prefix + api.kind.lower(),
        "api_version": f"{group}/{api.version}" if group else api.version,
        "cluster": "" if is_namespaced(project) and not is_of_cluster(api) else "Cluster",
    }


def is_of_cluster(api: Api) -> bool:
    """Return whether a kind is cluster-scoped; for external kinds, as far as known."""
    if api.is_defined_elsewhere:
        return objects.is_cluster_scoped(GVK(api.qualified_group, api.version, api.kind))
    return not api.is_namespaced


def bind_to_cluster(draft: Draft, project: Project, templates: Tree) -> None:
    """Let the manager of a namespaced project also use its role for cluster-scoped kinds."""
    path = f"{RBAC_FOLDER}/role_binding.yaml"
    data = draft.get(path) or b""
    if b"ClusterRoleBinding" not in data:
        values = project_values(project) | {"cluster": "Cluster"}
        more = template_files.file(templates, f"init/{path}", values)
        draft.put(path, data + b"---\n" + more if data else more)


def note_converted_in_one_namespace(draft: Draft) -> None:
    """Report what OLM cannot install: a conversion is for all namespaces, as its CRD is."""
    draft.note(
        "OLM lets an operator convert only where it watches all namespaces, and this one does not",
        PROJECT_FILE,
        "`olmkit edit --no-namespaced` before the next bundle; without OLM no change is needed",
    )


def sample_file(api: Api) -> str:
    """Return the sample of one of the project's own kinds."""
    parts = (api.group, api.version, api.kind.lower())
    return f"{SAMPLES_FOLDER}/{'_'.join(part for part in parts if part)}.yaml"


def plural_of(api: Api) -> str:
    return api.plural or names.plural_of_kind(api.kind)


def _common(name: str, domain: str, package: str, namespaced: bool) -> dict[str, str]:
    return {
        "project": name,
        "package": package,
        "domain": domain,
        "title": names.display_name(name),
        "cluster": "" if namespaced else "Cluster",
        "lock": lock_name(name, domain),
    }


def init_values(request: InitRequest) -> dict[str, str]:
    """Return the values that the templates of a new project may use."""
    image = request.image or f"{request.domain}/{request.name}:v0.0.1"
    name, tag, digest = own_image_parts(image)
    if digest:
        raise ConfigurationError(
            f"`{image}` has no tag", hint="give the operator's image as `registry/name:tag`"
        )
    common = _common(request.name, request.domain, module_name(request.name), request.namespaced)
    return common | {
        "image_name": name,
        "image_tag": tag,
        # The Makefile has the version once, if the tag is one.
        "version": version_of_tag(tag) or "0.0.1",
        "make_image": f"{name}:v$(VERSION)" if version_of_tag(tag) else f"{name}:{tag}",
        "compatible": distributions.compatible(olmkit.__version__),
        "own_namespace": str(request.namespaced).lower(),
        "all_namespaces": str(not request.namespaced).lower(),
    }


def check_image(image: str) -> Reference:
    """Return the normalized image name; raise `ConfigurationError` if it is invalid."""
    try:
        return Reference.parse(image)
    except InputError as error:
        raise ConfigurationError(error.message, error.hint) from error


def image_parts(image: str) -> tuple[str, str, str]:
    """Return name, tag and digest of a reference; the tag is `latest` if it has neither."""
    found = check_image(image)
    digest = str(found.digest) if found.digest else ""
    name = image.partition("@")[0]
    tag = ""
    if ":" in name.rpartition("/")[2]:
        name, _, tag = name.rpartition(":")
    return name, tag if tag or digest else "latest", digest


def version_of_tag(tag: str) -> str:
    """Return the version in a tag such as `v1.2.3`; empty if it has none."""
    version = tag.removeprefix("v")
    try:
        Version.parse(version)
    except InvalidVersionError:
        return ""
    return version if tag.startswith("v") else ""


def own_image_parts(image: str) -> tuple[str, str, str]:
    """Return the parts of the operator's own image.

    Raises `ConfigurationError` for a name without a repository path, such as the placeholder
    `controller:latest`: it means an official image of Docker Hub.
    """
    parts = image_parts(image)
    if "/" not in parts[0]:
        full = Reference.parse(image)
        expected = f"{full.name}@{full.digest}" if full.digest else f"{full.name}:{parts[1]}"
        raise ConfigurationError(
            f"`{image}` means `{expected}`, which cannot be the image of your operator",
            hint=f"name its registry: `quay.io/example/{parts[0]}:v0.0.1`; for Docker Hub, "
            f"`docker.io/NAME/{parts[0]}:v0.0.1`",
        )
    if not parts[2] and not image.endswith(f":{parts[1]}"):
        raise ConfigurationError(
            f"`{image}` has no tag", hint=f"write `{image}:v0.0.1`, or `{image}:latest`"
        )
    return parts


def check_request(request: InitRequest) -> None:
    """Raise `ConfigurationError` for an invalid name or domain."""
    if not names.is_label(request.name):
        raise ConfigurationError(
            f"`{request.name}` is not a project name",
            hint=f"use lower-case letters, digits and dashes, at most {_MAX_NAME}: "
            "`--project-name …`",
        )
    if len(request.name) > _MAX_NAME:
        raise ConfigurationError(
            f"the project name `{request.name}` is {len(request.name)} characters long",
            hint=f"{_MAX_NAME} at most, since the Service `{request.name}{_LONGEST}` has 63: "
            "`--project-name …`",
        )
    if not names.is_subdomain(request.domain) or request.domain.startswith("-"):
        raise ConfigurationError(
            f"`{request.domain}` is not a domain",
            hint="pass the domain of your API groups: `--domain example.com`",
        )


def _check_package(request: InitRequest) -> None:
    package = module_name(request.name)
    is_taken = package in sys.stdlib_module_names or package in _TAKEN
    if is_taken or not package.isidentifier():
        raise ConfigurationError(
            f"the package of project `{request.name}` would be `{package}`, which "
            + ("another package is called" if is_taken else "Python cannot import"),
            hint="choose another name, such as `--project-name my-operator`",
        )


def set_variable(draft: Draft, variable: Mapping[str, object]) -> None:
    """Set an environment variable of the manager's first container, in the Deployment's file."""
    data = draft.get(MANAGER_FILE)
    if data is None:
        draft.note(
            f"`{MANAGER_FILE}` does not exist", MANAGER_FILE, f"give the manager {dict(variable)}"
        )
        return
    container = ("spec", "template", "spec", "containers", 0)

    def change(part: bytes) -> bytes:

        env = documents.load_yaml(part, MANAGER_FILE).get(*container, "env")
        for index, one in enumerate(env if isinstance(env, list) else []):
            if isinstance(one, Mapping) and one.get("name") == variable["name"]:
                keys = (*container, "env", index)
                for key, value in variable.items():
                    part = yaml_edits.with_value(part, MANAGER_FILE, (*keys, key), value)
                for key in one:
                    if key not in variable:
                        part = yaml_edits.without_key(part, MANAGER_FILE, (*keys, key))
                return part
        return yaml_edits.with_item(part, MANAGER_FILE, (*container, "env"), variable)

    draft.put(MANAGER_FILE, yaml_edits.in_document(data, MANAGER_FILE, "Deployment", change))
