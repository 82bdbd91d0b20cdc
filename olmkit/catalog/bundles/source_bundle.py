"""Read a bundle like the tools that build catalogs.

This reader differs from that of validation (`olmkit.bundle.layout`): its folders have fixed names,
it uses the first CSV and skips manifests that it cannot decode, and it decodes only some values
into Go types. Parts that it silently leaves out are left out here too, and reported in `notes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, InputError, Location
from olmkit.base.documents import Document, Key
from olmkit.base.go import floats
from olmkit.base.json import text as json_text
from olmkit.base.tree import Tree
from olmkit.bundle import model
from olmkit.catalog.blobs import typed_json
from olmkit.catalog.blobs.shapes import Field, Object, Text
from olmkit.catalog.blobs.typed_json import Member, MisfitError
from olmkit.catalog.bundles import first_document
from olmkit.catalog.bundles.findings import refusal
from olmkit.catalog.bundles.source_apis import (
    API_SECTIONS,
    Api,
    api_descriptions,
    check_owned,
    crd_apis,
)
from olmkit.catalog.bundles.typed_values import (
    check_times,
    misfit,
    read_mapping,
    read_shape,
    read_type,
    spellings,
)

MANIFESTS: Final = "manifests"
METADATA: Final = "metadata"

T = TypeVar("T")

_TEXT: Final = Text()
_TYPE_META: Final = Object(
    go="v1.TypeMeta", fields=(Field("kind", _TEXT), Field("apiVersion", _TEXT))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBundle:
    """The data of a bundle for a catalog; `version` and `release` may be empty."""

    root: str
    name: str
    package: str
    channels: tuple[str, ...]
    default_channel: str
    version: str
    release: str
    csv: Document
    csv_annotations: Mapping[str, str]
    objects: tuple[Document, ...]
    provided: frozenset[Api]
    required: frozenset[Api]
    dependencies: tuple[Member, ...]
    properties: tuple[Member, ...]
    notes: tuple[Diagnostic, ...]

    @property
    def spec(self) -> Mapping[str, Any]:
        """Return the CSV's `spec`."""
        return self.csv.value["spec"] or {}


def is_bundle(tree: Tree) -> bool:
    """Return whether a folder counts as a bundle: it has `manifests/` and `metadata/`."""
    folders = {path.partition("/")[0] for path in tree if "/" in path}
    return MANIFESTS in folders and METADATA in folders


def read(tree: Tree, root: str = "") -> SourceBundle:
    """Return the bundle in `tree`, whose places start with `root`.

    Raises `InputError` with all known reasons if no catalog can have it.
    """
    reader = _Reader(tree, root)
    try:
        return reader.read()
    except InputError as error:
        error.diagnostics = (*reader.notes, *error.diagnostics)
        raise


class _Reader:
    def __init__(self, tree: Tree, root: str) -> None:
        self._tree = tree
        self._root = root
        self.notes: list[Diagnostic] = []

    def read(self) -> SourceBundle:
        objects = self._objects()
        csv = next((found for found in objects if _is(found, model.CSV_KIND)), None)
        if csv is None:
            self._refuse(
                "no csv in bundle",
                at=self._place(MANIFESTS),
                hint="put the bundle's ClusterServiceVersion into `manifests/`",
            )
        meta = _csv_metadata(csv)
        spec = _csv_spec(csv)
        services, crds = (api_descriptions(csv, spec, section) for section in API_SECTIONS)
        provided = {
            api for found in objects if _is(found, model.CRD_KIND) for api in crd_apis(found)
        }
        provided.update(api for api, _ in services["owned"])
        name = meta.get("name") or ""
        check_owned(csv, name, crds["owned"], provided)
        package, channels, default_channel = self._annotations()
        dependencies = self._entries("dependencies")
        properties = self._entries("properties")
        return SourceBundle(
            root=self._root,
            name=name,
            package=package,
            channels=tuple(filter(None, map(str.strip, channels.split(",")))),
            default_channel=default_channel,
            version=_version(csv, spec),
            release=_release(csv, spec),
            csv=csv,
            csv_annotations={
                key: value or "" for key, value in (meta.get("annotations") or {}).items()
            },
            objects=objects,
            provided=frozenset(provided),
            required=frozenset(api for api, _ in (*crds["required"], *services["required"])),
            dependencies=dependencies,
            properties=properties,
            notes=tuple(self.notes),
        )

    # Manifests

    def _objects(self) -> tuple[Document, ...]:
        objects: list[Document] = []
        for path in _files_in(self._tree, MANIFESTS, hidden=False):
            document = self._manifest(path)
            if document is None:
                continue
            if _is(document, model.CSV_KIND) and any(_is(old, model.CSV_KIND) for old in objects):
                self._note(
                    "FBC902",
                    "the bundle has a second ClusterServiceVersion, which is left out",
                    at=document.at("kind"),
                    hint="keep one ClusterServiceVersion in a bundle",
                )
                continue
            objects.append(document)
        if not objects:
            self._refuse(
                "no bundle objects found",
                at=self._place(MANIFESTS),
                hint="put the manifests directly into `manifests/`, one object per file",
            )
        return tuple(objects)

    def _manifest(self, path: str) -> Document | None:
        try:
            document = first_document.read(self._tree.data(path), model.join(self._root, path))
        except InputError as error:
            self._skip_file(path, error)
            return None
        why = _no_object(document)
        if why:
            self._note(
                "FBC901",
                f"the file is left out: {why}",
                at=document.at(),
                hint="only the first document of a file counts; it must be a Kubernetes object",
            )
            return None
        return document

    # Metadata

    def _annotations(self) -> tuple[str, str, str]:
        """Return package, channels and default channel."""

        def names(text: bytes, *, lenient: bool) -> tuple[str, ...]:
            annotations = typed_json.fields(text).get("annotations", ())
            keys = (model.PACKAGE, model.CHANNELS, model.DEFAULT_CHANNEL)
            texts = tuple(typed_json.read_texts(annotations, keys, lenient=lenient).values())
            return texts if any(texts) else ()

        found = self._first("annotations", names)
        if not found:
            self._refuse(
                "Could not find annotations file",
                at=self._place(METADATA),
                hint=f"`metadata/annotations.yaml` needs `{model.PACKAGE}` under `annotations`",
            )
        if not found[0]:
            self._refuse(
                f"the annotations name no package: `{model.PACKAGE}` is missing",
                at=self._place(METADATA),
                hint="add the annotation: a catalog cannot contain a bundle without a package",
            )
        return found[0], found[1], found[2]

    def _entries(self, section: str) -> tuple[Member, ...]:
        def entries(text: bytes, *, lenient: bool) -> tuple[Member, ...]:
            return typed_json.entries(typed_json.fields(text).get(section, ()), lenient=lenient)

        return self._first(section, entries)

    def _first(self, section: str, decode: Callable[..., tuple[T, ...]]) -> tuple[T, ...]:
        """Return the content of the first file of `metadata/` that can be decoded."""
        for path in _files_in(self._tree, METADATA, hidden=True):
            problem: Exception | None = None
            for text, lenient in self._texts(path, section):
                try:
                    found = decode(text, lenient=lenient)
                except MisfitError as error:
                    problem = error
                    continue
                if found:
                    return found
                problem = None
                break
            if problem is not None and section in path:
                self._note(
                    "FBC901",
                    f"the {section} of the file are left out: {problem}",
                    at=self._place(path),
                    hint="correct the file; otherwise nothing from it is added to the catalog",
                )
        return ()

    def _texts(self, path: str, section: str) -> Iterator[tuple[bytes, bool]]:
        """Yield the file as JSON text, from both readers; the second one, for YAML, is lenient."""
        data = self._tree.data(path)
        raw = first_document.json_text_of(data)
        if raw:
            yield raw, False
        try:
            document = first_document.read(data, model.join(self._root, path))
        except InputError as error:
            if section == "annotations":
                self._skip_file(path, error)
            return
        yield json_text.compact(document.value), True

    # Errors

    def _refuse(self, message: str, *, at: Location, hint: str = "") -> NoReturn:
        raise refusal([findings.create("FBC900", message, at=at, hint=hint)])

    def _skip_file(self, path: str, error: InputError) -> None:
        why = error.diagnostics[0] if error.diagnostics else None
        self._note(
            "FBC901",
            f"the file is left out: {why.message if why else error.message}",
            at=why.at if why and why.at else self._place(path),
            hint=error.hint,
        )

    def _note(self, code: str, message: str, *, at: Location, hint: str = "") -> None:
        self.notes.append(findings.create(code, message, at=at, hint=hint))

    def _place(self, path: str) -> Location:
        return Location(path=model.join(self._root, path))


# The CSV


def _csv_metadata(csv: Document) -> Mapping[str, Any]:
    read_shape(csv, _TYPE_META, csv.value)
    meta: Mapping[str, Any] = {}
    for key in spellings(csv.value, "metadata"):
        meta = _object_metadata(csv, csv.value[key], key)
    return meta


def _object_metadata(document: Document, value: Any, *keys: Key) -> Mapping[str, Any]:
    meta = read_type(document, "ObjectMeta", value, *keys)
    check_times(document, meta, *keys)
    return meta


def _csv_spec(csv: Document) -> Mapping[str, Any]:
    if "spec" not in csv.value:
        raise misfit(csv, (), "the ClusterServiceVersion has no `spec`")
    return read_mapping(csv, csv.value["spec"], "spec")


def _version(csv: Document, spec: Mapping[str, Any]) -> str:
    version = spec.get("version")
    if version is not None and not isinstance(version, str):
        raise misfit(
            csv, ("spec", "version"), "`spec.version` must be a string", hint="quote the version"
        )
    return version or ""


def _release(csv: Document, spec: Mapping[str, Any]) -> str:
    match spec.get("release"):
        case None:
            return ""
        case str(release):
            return release
        case bool() | list() | dict():
            raise misfit(csv, ("spec", "release"), "release field must be a string or number")
        case number:
            value = float(number)
            return str(int(value)) if value.is_integer() else floats.yaml_text(value)


# CRDs


# Helpers


def _is(document: Document, kind: str) -> bool:
    return bool(document.value["kind"] == kind)


def _no_object(document: Document) -> str:
    """Return why a document is not a Kubernetes object; empty if it is one."""
    value = document.value
    if value is None:
        return "its first document is empty"
    if not isinstance(value, Mapping):
        return "it holds no mapping"
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        return "Object 'Kind' is missing"
    if isinstance(api_version, str) and api_version.count("/") > 1:
        return f"`{api_version}` is not an API version"
    return ""


def _files_in(tree: Tree, folder: str, *, hidden: bool) -> Iterator[str]:
    prefix = f"{folder}/"
    for path in tree:
        name = path.removeprefix(prefix)
        if path.startswith(prefix) and "/" not in name and (hidden or not name.startswith(".")):
            yield path
