"""The part of kustomize that operator projects use.

An overlay is a folder with a kustomization file: resources, other overlays, and changes to them. It
is built like in kustomize. Unsupported features are refused with their places, never ignored: a
manifest that silently differs from kustomize's would be worse than none.

There is one intended difference: in a folded text (`>`) kustomize 5.8 puts an empty line
before a line that is indented more than the one above; here the text is not changed.
"""

from __future__ import annotations

import copy
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import Diagnostic, Location
from olmkit.base.documents import Document, Key
from olmkit.kube import objects
from olmkit.project.kustomize import fields, generators, patches, replacements, shape, transforms
from olmkit.project.kustomize import names as kustomize_names
from olmkit.project.kustomize import variables as kustomize_variables
from olmkit.project.kustomize.fields import FieldSpec, Lists
from olmkit.project.kustomize.patches import Patch
from olmkit.project.kustomize.resources import (
    PIPE_HINT,
    Resource,
    refusal,
    require_unique,
    same_namespace,
)
from olmkit.project.kustomize.variables import Variable

Reader = Callable[[str], bytes | None]
"""The bytes of a file by its path below the root, None if the file does not exist."""

FILE_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

# URLs of repositories or servers: `https://…`, `git@…`, `github.com/…`, `…?ref=…`.
_REMOTE = re.compile(r"://|^git@|[?&](ref|version)=|^(github\.com|gitlab\.com|bitbucket\.org)[/:]")
# Deeper than any project; a chain of overlays this long is a mistake or an attack.
_MAX_DEPTH = 50


def is_overlay(read: Reader, folder: str) -> bool:
    """Return whether a folder has a kustomization file."""
    return any(read(posixpath.join(folder, name)) is not None for name in FILE_NAMES)


def render(
    read: Reader,
    folder: str,
    *,
    shown: Callable[[str], str] = lambda path: path,
    findings: list[Diagnostic] | None = None,
) -> tuple[Document, ...]:
    """Return the objects of an overlay, in kustomize's order, with the places of their files.

    `shown` returns the path for people. `findings` receives problems that kustomize silently
    ignores. Raises `InputError` for errors in kustomize, and for unsupported features.
    """
    builder = _Builder(read=read, shown=shown, findings=[] if findings is None else findings)
    built = builder.build(posixpath.normpath(folder))
    for resource in built.resources:
        if resource.needs_hash:
            resource.rename(name=generators.hashed_name(resource))
    references = (*fields.REFERENCES, *built.lists.references)
    kustomize_names.rewrite(built.resources, _merge(references))
    kustomize_variables.substitute(
        built.resources, built.variables, (*fields.VARIABLES, *built.lists.variables)
    )
    require_unique(built.resources, lambda resource: resource.document.at())
    kept = [resource for resource in built.resources if not _is_local(resource)]
    for resource in kept:
        _tidy_annotations(resource)
    return tuple(resource.finished() for resource in _sorted(kept, built.order))


def _merge(references: Sequence[fields.Reference]) -> list[fields.Reference]:
    """Merge the references of each kind, so that a field is looked up once."""
    merged: dict[tuple[str, str, str], list[FieldSpec]] = {}
    for reference in references:
        key = (reference.kind, reference.group, reference.version)
        merged.setdefault(key, []).extend(reference.fields)
    return [
        fields.Reference(
            kind=kind, group=group, version=version, fields=tuple(dict.fromkeys(specs))
        )
        for (kind, group, version), specs in merged.items()
    ]


def _tidy_annotations(resource: Resource) -> None:
    """Convert annotations to strings, and remove empty ones, like kustomize."""
    metadata = resource.metadata()
    found = metadata.get("annotations")
    if not isinstance(found, dict):
        return
    if not found:
        del metadata["annotations"]
        return
    for key, value in found.items():
        if isinstance(value, bool):
            found[key] = str(value).lower()
        elif isinstance(value, int):
            found[key] = str(value)


def _is_local(resource: Resource) -> bool:
    annotations = objects.annotations_of(resource.value)
    return annotations.get("config.kubernetes.io/local-config") == "true"


@dataclass(slots=True, kw_only=True)
class _Built:
    """The resources of an overlay so far, and the field lists that its parents inherit."""

    resources: list[Resource] = field(default_factory=list)
    lists: Lists = field(default_factory=Lists)
    variables: list[Variable] = field(default_factory=list)
    order: str = "legacy"


@dataclass(slots=True, kw_only=True)
class _Builder:
    read: Reader
    shown: Callable[[str], str]
    findings: list[Diagnostic]
    stack: list[str] = field(default_factory=list)

    def build(self, folder: str, requested_at: Location | None = None) -> _Built:
        built = _Built()
        self._accumulate(folder, built, requested_at)
        return built

    def _accumulate(self, folder: str, built: _Built, requested_at: Location | None) -> None:
        if folder in self.stack or len(self.stack) > _MAX_DEPTH:
            raise refusal(f"cycle detected: `{self.shown(folder)}` is part of itself", requested_at)
        overlay = self._kustomization(folder, requested_at)
        self.stack.append(folder)
        try:
            for keys, entry in _entries(overlay, "resources", "bases"):
                self._add(folder, entry, built, overlay.at(*keys))
            require_unique(built.resources, lambda resource: resource.document.at())
            for keys, entry in _entries(overlay, "components"):
                self._accumulate(self._folder(folder, entry), built, overlay.at(*keys))
            for keys, entry in _entries(overlay, "configurations"):
                document = self._file(folder, entry, overlay.at(*keys))
                built.lists = built.lists.joined(fields.configuration(document))
            self._generate(overlay, folder, built)
            for keys, entry in _entries(overlay, "vars"):
                built.variables.append(
                    kustomize_variables.parse(overlay, keys, objects.mapping(entry))
                )
            self._transform(overlay, folder, built)
            require_unique(built.resources, lambda resource: resource.document.at())
        finally:
            self.stack.pop()

    def _kustomization(self, folder: str, requested_at: Location | None) -> Document:
        found = [
            (path, data)
            for name in FILE_NAMES
            if (data := self.read(path := posixpath.join(folder, name))) is not None
        ]
        if not found:
            raise refusal(f"`{self.shown(folder)}` has no kustomization file", requested_at)
        if len(found) > 1:
            names = ", ".join(f"`{self.shown(path)}`" for path, _ in found)
            raise refusal(f"there are several kustomization files: {names}", requested_at)
        path, data = found[0]
        document = documents.load(data, self.shown(path))
        if document.value is None:
            raise refusal(
                f"{posixpath.basename(path)} is empty", Location(path=self.shown(path), line=1)
            )
        shape.check(document)
        return document

    def _folder(self, folder: str, entry: Any) -> str:
        return posixpath.normpath(posixpath.join(folder, str(entry)))

    def _add(self, folder: str, entry: Any, built: _Built, at: Location) -> None:
        if not isinstance(entry, str) or not entry:
            raise refusal("a resource must be a path", at)
        if _REMOTE.search(entry) is not None:
            raise refusal(f"`{entry}` is not a local path", at, PIPE_HINT)
        path = self._folder(folder, entry)
        if path.startswith(("..", "/")):
            raise refusal(f"`{entry}` is outside the project", at, PIPE_HINT)
        if is_overlay(self.read, path):
            inner = self.build(path, at)
            built.resources += inner.resources
            built.lists = built.lists.joined(inner.lists)
            built.variables += inner.variables
            return
        for document in self._documents(folder, entry, at):
            built.resources += _resources(document)

    def _data(self, folder: str, entry: Any, at: Location) -> tuple[str, bytes]:
        """Return the path and bytes of a file in or below the overlay's folder."""
        path = self._folder(folder, entry)
        inside = path.startswith(f"{folder}/") or folder == "."
        data = self.read(path) if not path.startswith(("..", "/")) else None
        if data is None:
            raise refusal(f"there is no file or overlay `{entry}`", at)
        if not inside:
            raise refusal(
                f"`{entry}` is not in or below `{self.shown(folder)}`",
                at,
                hint="give its folder a kustomization file, and name the folder",
            )
        return path, data

    def _documents(self, folder: str, entry: Any, at: Location) -> Iterator[Document]:
        path, data = self._data(folder, entry, at)
        yield from map(_unique, documents.load_all(data, self.shown(path), as_kustomize=True))

    def _file(self, folder: str, entry: Any, at: Location) -> Document:
        path, data = self._data(folder, entry, at)
        return documents.load(data, self.shown(path))

    def _generate(self, overlay: Document, folder: str, built: _Built) -> None:
        common = objects.mapping(overlay.get("generatorOptions"))
        kinds = {"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}
        for section, kind in kinds.items():
            for keys, _ in _entries(overlay, section):
                made, behavior = generators.make(
                    kind,
                    overlay,
                    int(keys[-1]),
                    common,
                    lambda path, at: self._data(folder, path, at)[1],
                )
                if behavior == "create":
                    built.resources.append(made)
                    continue
                old = [item for item in built.resources if _is_same(item, made)]
                if behavior not in ("merge", "replace") or len(old) != 1:
                    raise refusal(f"there is nothing to {behavior} for {made}", overlay.at(*keys))
                generators.merge(old[0], made, behavior)

    # The order in which kustomize itself works.
    def _transform(self, overlay: Document, folder: str, built: _Built) -> None:
        self._patch(overlay, folder, built, "patchesStrategicMerge")
        self._patch(overlay, folder, built, "patches")
        namespace = _text(overlay, "namespace")
        if namespace:
            transforms.set_namespace(built.resources, namespace, built.lists)
        transforms.add_affixes(
            built.resources, _text(overlay, "namePrefix"), _text(overlay, "nameSuffix"), built.lists
        )
        _label(overlay, built)
        pairs = _pairs(overlay, "commonAnnotations")
        if pairs:
            specs = (*fields.ANNOTATIONS, *built.lists.annotations)
            transforms.add_pairs(built.resources, pairs, specs)
        self._patch(overlay, folder, built, "patchesJson6902")
        for keys, entry in _entries(overlay, "replicas"):
            name, count = objects.mapping(entry).get("name"), objects.mapping(entry).get("count")
            if not isinstance(name, str) or not isinstance(count, int):
                raise refusal("an entry of `replicas` has `name` and `count`", overlay.at(*keys))
            transforms.set_replicas(built.resources, name, count, overlay.at(*keys), built.lists)
        for keys, entry in _entries(overlay, "images"):
            if not objects.mapping(entry).get("name"):
                raise refusal("an entry of `images` needs a `name`", overlay.at(*keys))
            transforms.set_images(
                built.resources, objects.mapping(entry), overlay.at(*keys), built.lists
            )
        for keys, entry in _entries(overlay, "replacements"):
            self._replace(overlay, folder, built, keys, objects.mapping(entry))
        built.order = str(objects.mapping(overlay.get("sortOptions")).get("order") or "legacy")

    def _replace(
        self,
        overlay: Document,
        folder: str,
        built: _Built,
        keys: tuple[Key, ...],
        entry: Mapping[str, Any],
    ) -> None:
        if "path" not in entry:
            replacements.replace(built.resources, entry, overlay.at(*keys))
            return
        document = self._file(folder, entry["path"], overlay.at(*keys, "path"))
        listed = document.value if isinstance(document.value, list) else [document.value]
        for index, part in enumerate(listed):
            at = document.at(index) if isinstance(document.value, list) else document.at()
            replacements.replace(built.resources, objects.mapping(part), at)

    def _patch(self, overlay: Document, folder: str, built: _Built, section: str) -> None:
        for keys, entry in _entries(overlay, section):
            for patch in self._patches_of(overlay, folder, section, keys, entry):
                patches.apply(built.resources, patch, self.findings)

    def _patches_of(
        self,
        overlay: Document,
        folder: str,
        section: str,
        keys: tuple[Key, ...],
        entry: Any,
    ) -> Sequence[Patch]:
        given = objects.mapping(entry)
        if section == "patchesStrategicMerge":
            given = {"patch" if "\n" in str(entry) else "path": entry}
        loaded = None
        if given.get("path"):
            place = overlay.at(*keys, "path") if isinstance(entry, dict) else overlay.at(*keys)
            loaded = list(self._documents(folder, given["path"], place))
        return patches.parse(overlay, keys, given, loaded)


def _is_same(one: Resource, other: Resource) -> bool:
    return one.gvk.kind == other.gvk.kind and any(
        identity.name == other.name and same_namespace(identity.namespace, other.namespace)
        for identity in one.identities
    )


def _unique(document: Document) -> Document:
    """Return a document without duplicate keys, because only one of them would count."""
    for one in document.duplicate_keys():
        raise refusal(
            f"`{documents.field_path(one.keys)}` occurs twice",
            one.again,
            hint=f"remove one of them; the first is on line {one.first.line}",
        )
    return document


def _resources(document: Document) -> Iterator[Resource]:
    value = document.value
    if value is None:
        return
    if not isinstance(value, dict):
        raise refusal("a resource must be a mapping", document.at())
    if not objects.kind(value):
        raise refusal("missing kind in object", document.at(), hint="write its `kind`")
    if objects.kind(value).endswith("List") and isinstance(value.get("items"), list):
        for index, item in enumerate(value["items"]):
            yield from _resources(document.derived(item, "items", index))
        return
    if not objects.name(value):
        raise refusal(
            f"the `{objects.kind(value)}` has no name",
            document.at("metadata"),
            hint="write `metadata.name`",
        )
    yield Resource(copy.deepcopy(value), document)


def _label(overlay: Document, built: _Built) -> None:
    common = _pairs(overlay, "commonLabels")
    selecting = (fields.LABELS, *fields.TEMPLATE_LABELS, *fields.SELECTORS, *built.lists.labels)
    if common:
        transforms.add_pairs(built.resources, common, selecting)
    for keys, entry in _entries(overlay, "labels"):
        pairs = _pairs(overlay, *keys, "pairs")
        given = objects.mapping(entry)
        specs: tuple[FieldSpec, ...] = (fields.LABELS,)
        if given.get("includeSelectors"):
            specs = selecting
        elif given.get("includeTemplates"):
            specs = (fields.LABELS, *fields.TEMPLATE_LABELS)
        transforms.add_pairs(built.resources, pairs, specs)


def _entries(overlay: Document, *sections: str) -> Iterator[tuple[tuple[Key, ...], Any]]:
    """Yield the entries of list sections with their keys; null is an empty list."""
    for section in sections:
        value = overlay.get(section)
        if value is None:
            continue
        if not isinstance(value, list):
            raise refusal(f"`{section}` must be a list", overlay.at(section))
        for index, entry in enumerate(value):
            yield (section, index), entry


def _text(overlay: Document, key: str) -> str:
    value = overlay.get(key)
    if value is not None and not isinstance(value, str):
        raise refusal(f"`{key}` must be a string", overlay.at(key))
    return value or ""


def _pairs(overlay: Document, *keys: Key) -> dict[str, str]:
    value = overlay.get(*keys)
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise refusal(
            f"`{documents.field_path(keys)}` must be a mapping of strings",
            overlay.at(*keys),
            hint="quote numbers and booleans",
        )
    return value


_FIRST = (
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
)
_LAST = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def _sorted(resources: Sequence[Resource], order: str) -> list[Resource]:
    if order == "fifo":
        return list(resources)
    return sorted(resources, key=_sort_key)


def _sort_key(resource: Resource) -> tuple[int, str, str, str]:
    api = resource.gvk
    if api.kind in _FIRST:
        rank = _FIRST.index(api.kind) - len(_FIRST)
    elif api.kind in _LAST:
        rank = _LAST.index(api.kind) + 1
    else:
        rank = 0
    text = f"{api.group or '~G'}_{api.version or '~V'}_{api.kind}"
    return (rank, text, resource.namespace or "~X", resource.name)
