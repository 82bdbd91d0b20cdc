"""Requests for kinds, their names in a project, and their validation.

Source of names and places: version 3 of kubebuilder's project file and the layout of its
go/v4 plugin; `api/`, `reconcilers/` and `webhooks/` are the Python side of `api/`,
`internal/controller` and `internal/webhook`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.project.config import Api, Project
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold import template_files

# Names that the scaffolded modules import, and that a kind with that name would hide.
TAKEN_KINDS = frozenset(
    {"Annotated", "Any", "CacheSettings", "Callable", "ClassVar", "Client", "ClusterError"}
    | {"Condition", "ControllerBuilder", "ControllerSettings", "CustomResource", "EventRecorder"}
    | {"Field", "Ge", "Group", "Int32", "Le", "Manager", "Manifest", "Mapping", "Model", "Path"}
    | {"NotFound", "Request", "Result", "None", "True", "False", "GVK"}
    | {
        "AdmissionRequest",
        "CannotConvert",
        "Denied",
        "Sequence",
        "Spoke",
        "Conversions",
        "WebhookServer",
    }
    | {"ApiServer", "HttpCluster", "ClusterConfig", "Resource", "NORMAL", "WARNING", "DEPLOYMENT"}
    | {"FINALIZER", "AVAILABLE", "DEGRADED", "RECONCILING", "FINALIZING", "NAME_TAKEN"}
    | {"GENERATION_CHANGED"}
)
_WORD = re.compile(rb"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRequest:
    """The common fields of requests. The default `plural` is the regular one.

    With `external` fields, another owner defines the kind: the domain of its group (None: the
    project's), and the Go package of its types.
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
        """Return the plural, if it differs from the one that Kubernetes derives."""
        return "" if self.plural == names.plural_of_kind(self.kind) else self.plural


@dataclass(frozen=True, slots=True)
class Names:
    """The modules and files of one kind."""

    folder: str
    package: str
    api: Api
    multigroup: bool

    @classmethod
    def of(cls, api: Api, project: Project, present: Tree) -> Names:
        """Return the paths of a kind's files in a project."""
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
        """What distinguishes a name from that of another group: `WebSite` of `web-site`."""
        return _camel(self.api.group)

    @property
    def version_prefix(self) -> str:
        """Return the part that distinguishes a name from that of another version or group."""
        return self.group_prefix + _camel(self.api.version)

    def module_of(self, path: str) -> str:
        """Return the dotted name of a file of the package."""
        inner = path.removeprefix(self.folder).removesuffix(".py").strip("/")
        return ".".join([self.package, *inner.split("/")])


def _camel(text: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[-.]", text))


def variable_of(kind: str, templates: Tree) -> str:
    """Return the variable name for an object of a kind, unused in the templates.

    For example, `image_object` for a kind `Image`, because the templates use `image`.
    """
    name = scaffold.module_name(kind)
    words = {
        word
        for path, content in templates.items()
        if path.endswith(".py" + template_files.SUFFIX)
        for word in _WORD.findall(content.data)
    }
    return f"{name.rstrip('_')}_object" if name.encode() in words | {b"self"} else name


def find(project: Project, group: str, version: str, kind: str) -> int | None:
    """Return the index of an API of the project's own group among all of the project."""
    for index, api in enumerate(project.apis):
        if not api.is_defined_elsewhere and (api.group, api.version, api.kind) == (
            group,
            version,
            kind,
        ):
            return index
    return None


def check_watched(project: Project, api: Api) -> None:
    """Raise `ConfigurationError` for a kind that an entry of `watches.yaml` runs for."""
    for other in project.apis:
        same = (other.qualified_group, other.kind) == (api.qualified_group, api.kind)
        if same and other.runner:
            raise ConfigurationError(
                f"{other.runner.capitalize()} runs for `{api.kind}`, as `watches.yaml` says: it "
                "has no types in Python",
                hint="choose another kind",
            )


def check_names(api: Api) -> None:
    """Raise `ConfigurationError` for names that an API server refuses."""
    group, domain, version, kind = api.group, api.domain, api.version, api.kind
    # Not the qualified group: the one without a name is checked as `core`.
    qualified = ".".join(part for part in (group, domain) if part)
    for flag, text in (("--group", group), ("--version", version), ("--kind", kind)):
        if text.startswith("-"):
            raise ConfigurationError(f"the value of `{flag}`, `{text}`, looks like another flag")
    if not names.is_subdomain(qualified):
        raise ConfigurationError(
            f"`{qualified}` is not an API group",
            hint="use lower-case letters, digits, dots, dashes",
        )
    if not names.is_label_1035(version):
        raise ConfigurationError(f"`{version}` is not an API version", hint="such as `v1alpha1`")
    if not kind[:1].isupper() or not names.is_label_1035(kind.lower()) or not kind.isidentifier():
        raise ConfigurationError(
            f"`{kind}` is not a kind",
            hint="use at most 63 letters and digits in camel case: `Memcached`",
        )
    if api.plural and not names.is_label_1035(api.plural):
        raise ConfigurationError(f"`{api.plural}` is not a plural of a kind")


def check_plural(known: Api, plural: str) -> None:
    """Check that an existing kind keeps its plural; an empty one is not requested."""
    if plural and plural != scaffold.plural_of(known):
        raise ConfigurationError(
            f"`{known.kind}` has the plural `{scaffold.plural_of(known)}` in version "
            f"`{known.version}`",
            hint=f"all versions share it: `--plural {scaffold.plural_of(known)}`",
        )


def check_module(project: Project, api: Api) -> None:
    """Check that two kinds of one name have separate folders for reconcilers and webhooks."""
    for other in project.apis:
        same = scaffold.module_name(other.kind) == scaffold.module_name(api.kind)
        is_stranger = other.is_defined_elsewhere or api.is_defined_elsewhere
        folders = {scaffold.module_name(other.group), scaffold.module_name(api.group)}
        apart = project.is_multigroup and len(folders) > 1
        if same and is_stranger and other.qualified_group != api.qualified_group and not apart:
            raise ConfigurationError(
                f"the project has `{other.kind}` of the group `{other.group}` already; its "
                "modules have the same names",
                hint="" if project.is_multigroup else "`olmkit edit --multigroup` separates them",
            )


def check_clash(api: Api, other: Api) -> None:
    """Check names that are unique in an API group: of kinds and lists, plurals and singulars."""
    for one, another in ((api, other), (other, api)):
        clash = ""
        if one.kind == f"{another.kind}List":
            clash = f"a list of `{another.kind}` is of the kind `{one.kind}` too"
        elif one.kind.lower() == another.kind.lower():
            clash = f"`{one.kind}` and `{another.kind}` differ in upper case letters only"
        elif one.kind.lower() == scaffold.plural_of(another):
            clash = f"`{one.kind.lower()}` is the plural of `{another.kind}` too"
        if clash:
            raise ConfigurationError(
                clash, hint="choose another kind: the API server accepts only one"
            )
