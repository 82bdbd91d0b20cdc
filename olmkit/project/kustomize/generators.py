"""Generate ConfigMaps and Secrets of an overlay, with hashes in their names.

A name ends with a hash of the content, so that pods are rolled out again if it changes. The hash is
that of kustomize; other tools compare it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from olmkit.base.diagnostics import Location
from olmkit.base.documents import Document
from olmkit.base.json import text as json_text
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.project.kustomize.resources import PIPE_HINT, Resource, refusal

Load = Callable[[str, Location], bytes]
"""Returns the bytes of a file below the overlay's folder; refuses a missing one with the place."""

_KEYS = frozenset(
    {"name", "namespace", "behavior", "literals", "files", "envs", "env", "options", "type"}
)
_OPTIONS = frozenset({"labels", "annotations", "disableNameSuffixHash", "immutable"})
_HASH_LENGTH = 10
# Digits and vowels that could make words are replaced by others.
_HASH_LETTERS = str.maketrans("013ae", "ghkmt")


def make(
    kind: str, overlay: Document, index: int, common: Mapping[str, Any], load: Load
) -> tuple[Resource, str]:
    """Return the resource of one entry of a generator, and its behavior."""
    section = "configMapGenerator" if kind == "ConfigMap" else "secretGenerator"
    at = overlay.at(section, index)
    entry = objects.mapping(overlay.get(section, index))
    name = objects.text(entry.get("name"))
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise refusal(
            f"`{unknown[0]}` of a generator is not supported here",
            overlay.at_key(section, index, unknown[0]),
            PIPE_HINT,
        )
    if not name:
        raise refusal("a generator needs a `name`", at)
    options = _options(entry, common, at)
    value = _object(kind, name, entry, options)
    _fill(value, entry, load, at)
    resource = Resource(value, overlay.derived(value, section, index))
    resource.needs_hash = not options.get("disableNameSuffixHash")
    return resource, str(entry.get("behavior") or "create")


def merge(old: Resource, new: Resource, behavior: str) -> None:
    """Merge a generated resource into an existing one."""
    for section in ("data", "binaryData"):
        added = objects.mapping(new.value.get(section))
        kept = objects.mapping(old.value.get(section)) if behavior == "merge" else {}
        if added or kept:
            old.value[section] = {**kept, **added}
        else:
            old.value.pop(section, None)
    metadata = old.metadata()
    for section in ("labels", "annotations"):
        added = objects.mapping(new.metadata().get(section))
        if added:
            metadata[section] = {**objects.mapping(metadata.get(section)), **added}


def hashed_name(resource: Resource) -> str:
    """Return the name with the hash of the content."""
    value = resource.value
    # Kustomize hashes with an empty name, so that prefixes do not change the hash.
    content: dict[str, Any] = {"kind": objects.kind(value), "name": ""}
    content["data"] = value.get("data") or ""
    if objects.kind(value) == "Secret":
        content["type"] = value.get("type") or ""
        if value.get("stringData"):
            content["stringData"] = value["stringData"]
    elif value.get("binaryData"):
        content["binaryData"] = value["binaryData"]
    digest = hashlib.sha256(json_text.compact(content)).hexdigest()
    return f"{resource.name}-{digest[:_HASH_LENGTH].translate(_HASH_LETTERS)}"


def _options(entry: Mapping[str, Any], common: Mapping[str, Any], at: Location) -> Manifest:
    own = objects.mapping(entry.get("options"))
    for key in (*own, *common):
        if key not in _OPTIONS:
            raise refusal(f"`{key}` is not an option of a generator", at)
    result = {**common, **own}
    for key in ("labels", "annotations"):
        pairs = {**objects.mapping(common.get(key)), **objects.mapping(own.get(key))}
        if pairs:
            result[key] = pairs
    return result


def _object(kind: str, name: str, entry: Mapping[str, Any], options: Mapping[str, Any]) -> Manifest:
    metadata: Manifest = {"name": name}
    if entry.get("namespace"):
        metadata["namespace"] = entry["namespace"]
    for key in ("labels", "annotations"):
        if options.get(key):
            metadata[key] = dict(options[key])
    value: Manifest = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    if kind == "Secret":
        value["type"] = entry.get("type") or "Opaque"
    if options.get("immutable"):
        value["immutable"] = True
    return value


def _fill(value: Manifest, entry: Mapping[str, Any], load: Load, at: Location) -> None:
    found: dict[str, bytes] = {}
    envs = [*objects.sequence(entry.get("envs")), *([entry["env"]] if entry.get("env") else [])]
    for path in envs:
        for line in load(str(path), at).decode("utf-8", "replace").splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                key, _, text = line.partition("=")
                found[key.strip()] = text.encode()
    for item in objects.sequence(entry.get("files")):
        key, separator, path = str(item).partition("=")
        if not separator:
            key, path = key.rpartition("/")[2], key
        found[key] = load(path, at)
    for item in objects.sequence(entry.get("literals")):
        key, separator, text = str(item).partition("=")
        if not separator:
            raise refusal(f"`{item}` is not a literal: it must be `key=value`", at)
        if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
            text = text[1:-1]
        found[key] = text.encode()
    for key, data in found.items():
        if value["kind"] == "Secret":
            value.setdefault("data", {})[key] = base64.b64encode(data).decode()
            continue
        try:
            value.setdefault("data", {})[key] = data.decode()
        except UnicodeDecodeError:
            value.setdefault("binaryData", {})[key] = base64.b64encode(data).decode()
    if value.get("data") == {}:
        del value["data"]
