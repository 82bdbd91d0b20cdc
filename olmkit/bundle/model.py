"""The model of a registry+v1 bundle: manifests, annotations, dependencies, properties.

A `Bundle` is read from a `Tree` by `olmkit.bundle.layout`. It is lenient on purpose: unreadable
files are kept as `UnreadableFile`, values of the wrong type are left out of the typed views, and
the rules report both with their places. Code that needs a valid bundle runs the rules first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from olmkit.base.diagnostics import InputError, Location
from olmkit.base.documents import Document, Key
from olmkit.base.tree import Tree
from olmkit.kube.builtin import typed
from olmkit.kube.builtin.typed import TypeDifference
from olmkit.kube.objects import GVK as GVK
from olmkit.kube.objects import mapping, scalar_text, sequence

ANNOTATION_PREFIX = "operators.operatorframework.io."
MEDIA_TYPE = ANNOTATION_PREFIX + "bundle.mediatype.v1"
MANIFESTS = ANNOTATION_PREFIX + "bundle.manifests.v1"
METADATA = ANNOTATION_PREFIX + "bundle.metadata.v1"
PACKAGE = ANNOTATION_PREFIX + "bundle.package.v1"
CHANNELS = ANNOTATION_PREFIX + "bundle.channels.v1"
DEFAULT_CHANNEL = ANNOTATION_PREFIX + "bundle.channel.default.v1"
TEST_MEDIA_TYPE = ANNOTATION_PREFIX + "test.mediatype.v1"
TEST_CONFIG = ANNOTATION_PREFIX + "test.config.v1"

CSV_KIND = "ClusterServiceVersion"
CRD_KIND = "CustomResourceDefinition"
INSTALL_MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")


class BundleObject:
    """A Kubernetes object of the bundle, with its places.

    `value` is the object as written; `typed`, and the accessors based on it, are the object as
    decoded into Kubernetes' own types.
    """

    __slots__ = ("_read", "document")

    type_name = ""
    opaque: frozenset[str] = frozenset()

    def __init__(self, document: Document) -> None:
        self.document = document
        self._read: tuple[Mapping[str, Any], tuple[TypeDifference, ...]] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.document.path})"

    @property
    def value(self) -> Mapping[str, Any]:
        return mapping(self.document.value)

    @property
    def typed(self) -> Mapping[str, Any]:
        return self._typed()[0]

    @property
    def differences(self) -> tuple[TypeDifference, ...]:
        """Return the differences between the object and its type."""
        return self._typed()[1]

    def _typed(self) -> tuple[Mapping[str, Any], tuple[TypeDifference, ...]]:
        if self._read is None:
            if self.type_name:
                value, found = typed.read(self.value, self.type_name, opaque=self.opaque)
                self._read = (mapping(value), found)
            else:
                self._read = (self.value, ())
        return self._read

    @property
    def path(self) -> str:
        return self.document.path

    def at(self, *keys: Key) -> Location:
        return self.document.at(*keys)

    def at_key(self, *keys: Key) -> Location:
        return self.document.at_key(*keys)

    @property
    def api_version(self) -> str:
        return scalar_text(self.typed.get("apiVersion"))

    @property
    def kind(self) -> str:
        return scalar_text(self.typed.get("kind"))

    @property
    def gvk(self) -> GVK:
        return GVK.parse(self.api_version, self.kind)

    @property
    def metadata(self) -> Mapping[str, Any]:
        return mapping(self.typed.get("metadata"))

    @property
    def name(self) -> str:
        return scalar_text(self.metadata.get("name"))

    @property
    def annotations(self) -> Mapping[str, str]:
        return _texts(self.metadata.get("annotations"))

    @property
    def labels(self) -> Mapping[str, str]:
        return _texts(self.metadata.get("labels"))

    @property
    def spec(self) -> Mapping[str, Any]:
        return mapping(self.typed.get("spec"))


class InstallMode(NamedTuple):
    type: str
    supported: bool


class ApiDescription(NamedTuple):
    """An owned or required API of a CSV, and its place.

    `name` is `<plural>.<group>` of a CRD; for an API service it is the plural alone.
    """

    name: str
    gvk: GVK
    value: Mapping[str, Any]
    keys: tuple[Key, ...]


class ClusterServiceVersion(BundleObject):
    """The CSV: what OLM installs, and how. Its accessors leave out values of a wrong type."""

    __slots__ = ()

    type_name = "ClusterServiceVersion"

    @property
    def version(self) -> str:
        """Return the version as written, empty if there is none."""
        return scalar_text(self.spec.get("version"))

    @property
    def release(self) -> str:
        return scalar_text(self.spec.get("release"))

    @property
    def display_name(self) -> str:
        return scalar_text(self.spec.get("displayName"))

    @property
    def replaces(self) -> str:
        return scalar_text(self.spec.get("replaces"))

    @property
    def skips(self) -> tuple[str, ...]:
        return tuple(scalar_text(name) for name in sequence(self.spec.get("skips")))

    @property
    def skip_range(self) -> str:
        return self.annotations.get("olm.skipRange", "")

    @property
    def min_kube_version(self) -> str:
        return scalar_text(self.spec.get("minKubeVersion"))

    @property
    def install_modes(self) -> tuple[InstallMode, ...]:
        return tuple(
            InstallMode(
                scalar_text(mapping(mode).get("type")), mapping(mode).get("supported") is True
            )
            for mode in sequence(self.spec.get("installModes"))
        )

    @property
    def install_spec(self) -> Mapping[str, Any]:
        return mapping(mapping(self.spec.get("install")).get("spec"))

    @property
    def deployments(self) -> tuple[Mapping[str, Any], ...]:
        """Return the entries of `spec.install.spec.deployments`: `name`, `spec`, `label`."""
        return tuple(mapping(item) for item in sequence(self.install_spec.get("deployments")))

    @property
    def webhooks(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(mapping(item) for item in sequence(self.spec.get("webhookdefinitions")))

    @property
    def related_images(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(mapping(item) for item in sequence(self.spec.get("relatedImages")))

    @property
    def owned_crds(self) -> tuple[ApiDescription, ...]:
        return tuple(self._crd_descriptions("owned"))

    @property
    def required_crds(self) -> tuple[ApiDescription, ...]:
        return tuple(self._crd_descriptions("required"))

    @property
    def owned_api_services(self) -> tuple[ApiDescription, ...]:
        return tuple(self._api_service_descriptions("owned"))

    @property
    def required_api_services(self) -> tuple[ApiDescription, ...]:
        return tuple(self._api_service_descriptions("required"))

    def _crd_descriptions(self, which: str) -> Iterator[ApiDescription]:
        for value, keys in self._descriptions("customresourcedefinitions", which):
            name = scalar_text(value.get("name"))
            yield ApiDescription(
                name=name,
                gvk=GVK(
                    # Go's readers use a name without a dot as the group.
                    group=name.partition(".")[2] if "." in name else name,
                    version=scalar_text(value.get("version")),
                    kind=scalar_text(value.get("kind")),
                ),
                value=value,
                keys=keys,
            )

    def _api_service_descriptions(self, which: str) -> Iterator[ApiDescription]:
        for value, keys in self._descriptions("apiservicedefinitions", which):
            yield ApiDescription(
                name=scalar_text(value.get("name")),
                gvk=GVK(
                    group=scalar_text(value.get("group")),
                    version=scalar_text(value.get("version")),
                    kind=scalar_text(value.get("kind")),
                ),
                value=value,
                keys=keys,
            )

    def _descriptions(
        self, section: str, which: str
    ) -> Iterator[tuple[Mapping[str, Any], tuple[Key, ...]]]:
        for index, value in enumerate(sequence(mapping(self.spec.get(section)).get(which))):
            yield mapping(value), ("spec", section, which, index)


CERT_MANAGER_INJECTION = "cert-manager.io/inject-"
"""The prefix of annotations by which cert-manager injects a CA into an object."""


class CustomResourceDefinition(BundleObject):
    """A CRD of either API version. `typed` has the schemas as written: they are large."""

    __slots__ = ("type_name",)

    opaque = frozenset({"JSONSchemaProps", "JSONSchemaPropsBeta"})

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        beta = scalar_text(self.value.get("apiVersion")).endswith("/v1beta1")
        self.type_name = "CustomResourceDefinition" + ("Beta" if beta else "")

    @property
    def is_beta(self) -> bool:
        return self.type_name.endswith("Beta")

    @property
    def group(self) -> str:
        return scalar_text(self.spec.get("group"))

    @property
    def defined_kind(self) -> str:
        return scalar_text(mapping(self.spec.get("names")).get("kind"))

    @property
    def converts_by_webhook(self) -> bool:
        return mapping(self.spec.get("conversion")).get("strategy") == "Webhook"

    @property
    def plural(self) -> str:
        return scalar_text(mapping(self.spec.get("names")).get("plural"))

    @property
    def versions(self) -> tuple[Mapping[str, Any], ...]:
        """Return the entries of `spec.versions`; for v1beta1 without them, `spec.version`."""
        versions = sequence(self.spec.get("versions"))
        if not versions and scalar_text(self.spec.get("version")):
            return (
                {"name": scalar_text(self.spec.get("version")), "served": True, "storage": True},
            )
        return tuple(mapping(version) for version in versions)

    @property
    def gvks(self) -> tuple[GVK, ...]:
        # A v1beta1 CRD without any version counts as having one without a name.
        versions = self.versions or (({},) if self.is_beta else ())
        return tuple(
            GVK(group=self.group, version=scalar_text(version.get("name")), kind=self.defined_kind)
            for version in versions
        )


class FileProperty(NamedTuple):
    """One `{type, value}` of a dependencies or properties file, and its place."""

    type: str
    value: Any
    document: Document
    keys: tuple[Key, ...]

    def at(self, *keys: Key) -> Location:
        return self.document.at(*self.keys, *keys)


class UnreadableFile(NamedTuple):
    """A file that is not YAML or JSON, and why."""

    path: str
    error: InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A bundle as read, possibly invalid.

    `root` is the user's name for the bundle, and every place starts with it. Directories are
    relative to the bundle. `manifests` has the first document of each file.
    """

    tree: Tree
    root: str
    annotations: Mapping[str, str]
    annotations_document: Document | None
    manifests_dir: str
    metadata_dir: str
    manifests: tuple[Document, ...]
    csvs: tuple[ClusterServiceVersion, ...]
    crds: tuple[CustomResourceDefinition, ...]
    dependencies: tuple[FileProperty, ...]
    properties: tuple[FileProperty, ...]
    metadata: tuple[Document, ...]
    unreadable: tuple[UnreadableFile, ...]
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, what: str, work: Callable[[Bundle], Any]) -> Any:
        """Return the result of `work` for the bundle, computed once for all rules."""
        if what not in self.memo:
            self.memo[what] = work(self)
        return self.memo[what]

    @property
    def csv(self) -> ClusterServiceVersion | None:
        """Return the CSV; of several, the first by file name."""
        return self.csvs[0] if self.csvs else None

    @property
    def package(self) -> str:
        return self.annotations.get(PACKAGE, "")

    @property
    def channels(self) -> tuple[str, ...]:
        listed = self.annotations.get(CHANNELS, "").split(",")
        return tuple(name.strip() for name in listed if name.strip())

    @property
    def default_channel(self) -> str:
        return self.annotations.get(DEFAULT_CHANNEL, "")

    def relative(self, document: Document) -> str:
        """Return the path of a document inside the bundle."""
        return document.path.removeprefix(join(self.root, "") if self.root else "").lstrip("/")

    def data(self, document: Document) -> bytes:
        """Return the bytes of the file that contains a document."""
        return self.tree.data(self.relative(document))

    def place(self, path: str = "") -> Location:
        """Return a file of the bundle, or the bundle itself, as a place."""
        return Location(path=join(self.root, path))


def join(root: str, path: str) -> str:
    """Return `path` below `root`, as shown to people."""
    if not path:
        return root or "."
    return f"{root.rstrip('/')}/{path}" if root and root != "/" else f"{root}{path}"


def _texts(value: Any) -> dict[str, str]:
    return {str(key): scalar_text(item) for key, item in mapping(value).items()}
