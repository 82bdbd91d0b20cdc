"""The files of a new version of an operator in a repository of catalogs.

Files of authors are kept: `ci.yaml` is written only if it is new, and templates are edited in
place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import File, Tree
from olmkit.base.versions import Version
from olmkit.bundle.layout import DEFAULT_MANIFESTS, DEFAULT_METADATA
from olmkit.bundle.model import Bundle, ClusterServiceVersion
from olmkit.catalog.blobs import shapes
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.templates.source import SCHEMAS, Kind
from olmkit.kube import objects, openshift
from olmkit.project.edits import yaml as edits
from olmkit.submission.operators import (
    CI,
    LATEST,
    OPENSHIFT_VERSIONS,
    OPERATORS,
    RELEASE,
    REPLACES_MODE,
    TEMPLATES,
    Operator,
)
from olmkit.submission.settings import Target

_TESTS: Final = "tests"
_VERSION: Final = re.compile(r"v([0-9]+)\.([0-9]+)", re.ASCII)
_MIGRATED: Final = (4, 17)
_NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", re.ASCII)
_FOLDER: Final = re.compile(r"[0-9A-Za-z][-+.0-9A-Za-z]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """The submission. `reviewers`, `template` and `project` count only for a new `ci.yaml`.

    `openshift` is the value of `com.redhat.openshift.versions`; empty leaves the bundle's own.
    `template` starts a file-based operator. `image` is that of the released bundle.
    """

    bundle: Bundle
    target: Target
    reviewers: tuple[str, ...] = ()
    project: str = ""
    openshift: str = ""
    template: Kind | None = None
    image: str = ""

    @property
    def csv(self) -> ClusterServiceVersion:
        """Return the CSV. Raises `InputError` for a bundle without a usable one."""
        csv = self.bundle.csv
        if csv is None or not csv.name or not csv.version:
            raise InputError(
                f"`{self.bundle.root}` has no CSV with a name and a version",
                hint="check it with `olmkit bundle validate`",
            )
        if _FOLDER.fullmatch(csv.version) is None:
            raise InputError(f"`{csv.version[:80]}` cannot be the name of a folder")
        return csv

    @property
    def package(self) -> str:
        """Return the package, which is also the operator's folder name. Raises `InputError`."""
        package = self.bundle.package
        if _NAME.fullmatch(package) is None:
            raise InputError(
                f"`{package[:80]}` cannot be the name of an operator's folder"
                if package
                else f"`{self.bundle.root}` names no package",
                hint="set the package in `metadata/annotations.yaml`",
            )
        return package


def version_files(new: NewVersion) -> Tree:
    """Return the files of the version folder: manifests, metadata and tests."""
    bundle = new.bundle
    if (bundle.manifests_dir, bundle.metadata_dir) != (DEFAULT_MANIFESTS, DEFAULT_METADATA):
        raise InputError(
            f"the manifests of `{bundle.root}` are in `{bundle.manifests_dir or '.'}/`, and its "
            f"metadata in `{bundle.metadata_dir}/`",
            hint=f"pipelines read `{DEFAULT_MANIFESTS}/` and `{DEFAULT_METADATA}/` only",
        )
    parts = (DEFAULT_MANIFESTS, DEFAULT_METADATA, _TESTS)
    files: dict[str, File | bytes] = {
        path: file for path, file in bundle.tree.items() if path.partition("/")[0] in parts
    }
    document = bundle.annotations_document
    if new.openshift and document is not None:
        path = bundle.relative(document)
        keys = ("annotations", OPENSHIFT_VERSIONS)
        files[path] = edits.with_value(bundle.tree.data(path), path, keys, new.openshift)
    return Tree(files)


def derive_openshift(bundle: Bundle) -> str:
    """Return `com.redhat.openshift.versions` for a bundle with only `minKubeVersion`.

    Empty if the bundle has a value, or does not name its oldest Kubernetes version:
    the pipelines of OpenShift's catalogs refuse one without the other.
    """
    csv = bundle.csv
    oldest = Version.read(csv.min_kube_version) if csv and csv.min_kube_version.strip() else None
    if oldest is None or bundle.annotations.get(OPENSHIFT_VERSIONS, "").strip():
        return ""
    fitting = (
        minor
        for minor in range(openshift.OLDEST_CATALOG, openshift.LATEST + 1)
        if (1, openshift.kubernetes(minor)) >= (oldest.major, oldest.minor)
    )
    first = next(fitting, None)
    return f"v4.{first}" if first is not None else ""


def settings_file(new: NewVersion, catalogs: Sequence[str]) -> bytes:
    """Return a new `ci.yaml`, or raise `ConfigurationError` if it would be incomplete."""
    lines = ["---"]
    if new.target is Target.CERTIFIED:
        if not new.project:
            raise ConfigurationError(
                "a certified operator needs its certification project",
                hint="add `--cert-project-id ID`",
            )
        lines.append(_line("cert_project_id", new.project))
    if new.template is not None:
        lines += _fbc_lines(new.template, catalogs)
    if new.reviewers:
        lines.append("reviewers:")
        lines += [f"  - {_scalar(name)}" for name in new.reviewers]
    if new.template is None and new.target is not Target.CERTIFIED:
        lines.append(f"updateGraph: {REPLACES_MODE}")
    return ("\n".join(lines) + "\n").encode()


def _fbc_lines(kind: Kind, catalogs: Sequence[str]) -> Iterator[str]:
    yield "fbc:"
    yield "  enabled: true"
    yield "  catalog_mapping:"
    yield f"    - template_name: {kind}.yaml"
    yield f"      type: {SCHEMAS[kind]}"
    yield "      catalog_names:"
    yield from (f"        - {_scalar(name)}" for name in catalogs)


def _line(name: str, value: str) -> str:
    return documents.dump({name: value}).decode().rstrip("\n")


def _scalar(value: str) -> str:
    return documents.dump([value]).decode().rstrip("\n").removeprefix("- ")


def release_file(new: NewVersion, operator: Operator) -> bytes:
    """Return a new `release-config.yaml` for the templates that `ci.yaml` maps."""
    listed = []
    for name, kind in mapped_templates(operator).items():
        entry: dict[str, Any] = {
            "template_name": name,
            "channels": list(channels(new, kind)),
        }
        if kind is Kind.BASIC:
            entry |= edges(new, template_value(operator, name), entry["channels"])
        listed.append(entry)
    return b"---\n" + documents.dump({"catalog_templates": listed})


def mapped_templates(operator: Operator) -> Mapping[str, Kind]:
    """Return the kinds of the templates that `ci.yaml` maps, by name."""
    kinds = {schema: kind for kind, schema in SCHEMAS.items()}
    return {name: kinds[type_] for _, name, type_, _ in operator.mapping if name and type_ in kinds}


def channels(new: NewVersion, kind: Kind) -> tuple[str, ...]:
    """Return the channels of a template to which the version belongs."""
    named = new.bundle.channels or ("stable",)
    if kind is not Kind.SEMVER:
        return named
    archetypes = ("Candidate", "Fast", "Stable")
    found = {a for a in archetypes for name in named if name.lower().startswith(a.lower())}
    return tuple(a for a in archetypes if a in found) or ("Stable",)


def template_value(operator: Operator, name: str) -> Mapping[str, Any]:
    """Return the values of a template; empty if there is none yet. Raises `InputError`."""
    document = operator.document(f"{TEMPLATES}/{name}")
    return objects.mapping(document.value) if document is not None else {}


def edges(new: NewVersion, template: Mapping[str, Any], named: Sequence[str]) -> dict[str, Any]:
    """Return the version's upgrade edges: those of its CSV, else `replaces` the head."""
    csv = new.csv
    found: dict[str, Any] = {}
    if csv.replaces:
        found["replaces"] = csv.replaces
    if csv.skips:
        found["skips"] = list(dict.fromkeys(csv.skips))
    if csv.skip_range:
        found["skipRange"] = csv.skip_range
    if not csv.replaces and not csv.skips:
        heads = {head for head in (_head(template, name, csv.name) for name in named) if head}
        if len(heads) == 1:
            found["replaces"] = heads.pop()
    return found


def _head(template: Mapping[str, Any], channel: str, new: str) -> str:
    """Return the head of a channel; empty if there are several."""
    for item in objects.sequence(template.get("entries")):
        entry = objects.mapping(item)
        if entry.get("schema") == "olm.channel" and entry.get("name") == channel:
            entries = [objects.mapping(one) for one in objects.sequence(entry.get("entries"))]
            names = [str(one.get("name")) for one in entries if one.get("name") != new]
            replaced = {one.get("replaces") for one in entries}
            replaced |= {name for one in entries for name in objects.sequence(one.get("skips"))}
            heads = [name for name in names if name not in replaced]
            return heads[0] if len(heads) == 1 else ""
    return ""


def template_file(new: NewVersion, operator: Operator, name: str, kind: Kind) -> bytes:
    """Return a template with the released image of the version, new or edited in place."""
    path = f"{TEMPLATES}/{name}"
    if path not in operator.files:
        return b"---\n" + documents.dump(_new_template(new, kind))
    data = operator.files.data(path)
    shown = operator.shown(path)
    if kind is Kind.SEMVER:
        return _with_semver(new, operator, name, data, shown)
    value = template_value(operator, name)
    entry = {"name": new.csv.name, **edges(new, value, channels(new, kind))}
    listed = [objects.mapping(item) for item in objects.sequence(value.get("entries"))]
    for channel in channels(new, kind):
        index = _index(listed, "olm.channel", channel)
        if index is None:
            data = edits.with_item(data, shown, ("entries",), _channel(new, channel, entry))
        elif all(one.get("name") != new.csv.name for one in listed[index].get("entries") or ()):
            data = edits.with_item(data, shown, ("entries", index, "entries"), entry)
    return edits.with_item(data, shown, ("entries",), {"schema": "olm.bundle", "image": new.image})


def _index(listed: Sequence[Mapping[str, Any]], schema: str, name: str) -> int | None:
    found = (i for i, e in enumerate(listed) if e.get("schema") == schema and e.get("name") == name)
    return next(found, None)


def _channel(new: NewVersion, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": "olm.channel", "package": new.package, "name": name, "entries": [entry]}


def _new_template(new: NewVersion, kind: Kind) -> dict[str, Any]:
    named = channels(new, kind)
    if kind is Kind.SEMVER:
        archetypes = {name: {"Bundles": [{"Image": new.image}]} for name in named}
        head = {"GenerateMajorChannels": True, "GenerateMinorChannels": True}
        return {"Schema": SCHEMAS[kind], **head, **archetypes}
    default = new.bundle.default_channel
    entry = {"name": new.csv.name, **edges(new, {}, named)}
    entry.pop("replaces", None)  # there is nothing yet that it could replace
    return {
        "schema": SCHEMAS[kind],
        "entries": [
            {
                "schema": "olm.package",
                "name": new.package,
                "defaultChannel": default if default in named else named[0],
            },
            *(_channel(new, name, entry) for name in named),
            {"schema": "olm.bundle", "image": new.image},
        ],
    }


def _with_semver(new: NewVersion, operator: Operator, name: str, data: bytes, shown: str) -> bytes:
    value = template_value(operator, name)
    for channel in channels(new, Kind.SEMVER):
        key = _written_key(value, channel)
        section = objects.mapping(value.get(key))
        bundles = _written_key(section, "Bundles")
        listed = objects.sequence(section.get(bundles))
        first = objects.mapping(listed[0]) if listed else {}
        item = {_written_key(first, "Image"): new.image}
        if listed:
            data = edits.with_item(data, shown, (key, bundles), item)
        else:
            data = edits.with_value(data, shown, (key,), {bundles: [item]})
    return data


def _written_key(value: Mapping[str, Any], name: str) -> str:
    """Return the key as the template spells it; its keys match in any case."""
    return next((str(key) for key in value if shapes.fold(str(key)) == shapes.fold(name)), name)


def level(catalog: str) -> Level:
    """Return the migration level: catalogs for OpenShift 4.17 and later have `olm.csv.metadata`."""
    found = _VERSION.fullmatch(catalog)
    number = (int(found[1]), int(found[2])) if found else (0, 0)
    return Level.CSV_METADATA if number >= _MIGRATED else Level.NONE


def default_catalogs(target: Target, known: frozenset[str]) -> tuple[str, ...]:
    """Return the catalogs of a new operator: all of the repository. Raises `ConfigurationError`."""
    if known:
        return tuple(sorted(known, key=_catalog_order))
    if target is Target.OPERATORHUB:
        return (LATEST,)
    raise ConfigurationError(
        "the repository has no folder `catalogs/`, so its catalogs are unknown",
        hint="add `--catalog NAME`",
    )


def _catalog_order(name: str) -> tuple[int, int, str]:
    found = _VERSION.fullmatch(name)
    return (int(found[1]), int(found[2]), name) if found else (0, 0, name)


def folder(new: NewVersion) -> str:
    """Return the folder of the version below the repository."""
    return f"{OPERATORS}/{new.package}/{new.csv.version}"


__all__ = [
    "CI",
    "RELEASE",
    "NewVersion",
    "channels",
    "default_catalogs",
    "folder",
    "level",
    "mapped_templates",
    "release_file",
    "settings_file",
    "template_file",
    "version_files",
]
