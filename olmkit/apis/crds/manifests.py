"""Kinds and markers → CustomResourceDefinitions.

All versions of a kind become one CRD. Versions are in alphabetical order and markers in source
order, so the same sources give the same bytes. The version of the tool is not written: it would
change files without a reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.apis.crds import kind_checks, schema_checks, source_positions
from olmkit.apis.crds.schema import SchemaBuilder
from olmkit.apis.crds.schema_options import Options
from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import Marker
from olmkit.apis.model import ApiPackage, Sources, Struct
from olmkit.base import documents, names
from olmkit.base.diagnostics import Related

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KindKey:
    """A kind in its group, across all versions."""

    group: str
    kind: str


@dataclass(frozen=True, slots=True)
class KindVersion:
    package: ApiPackage
    kind: Struct

    @property
    def name(self) -> str:
        return self.package.version


def versions(sources: Sources, findings: Findings) -> Mapping[KindKey, tuple[KindVersion, ...]]:
    """Return the kinds of a project, each with its versions sorted by name."""
    found: dict[KindKey, dict[str, KindVersion]] = {}
    for package in sources.packages:
        kinds = package.kinds()
        if kinds and not package.group:
            if all(kind.like for kind in kinds):
                continue  # other names of third-party kinds, as in controllers
            findings.add(
                "API014",
                f"`{kinds[0].name.name}` has no API group, so no CRD is generated",
                kinds[0].at,
                hint=f"write `# +groupName=<group>` at the top of `{package.module}`",
            )
            continue
        for kind in kinds:
            key = KindKey(str(package.group), kind.name.name)
            others = found.setdefault(key, {})
            first = others.setdefault(package.version, KindVersion(package, kind))
            if first.kind is not kind:
                findings.add(
                    "API008",
                    f"`{kind.name.name}` is declared twice in `{key.group}/{package.version}`",
                    kind.at,
                    hint="rename one of them, or move it to another version",
                    related=(Related(first.kind.at, "first declared here"),),
                )
    return {
        key: tuple(by_version[name] for name in sorted(by_version))
        for key, by_version in sorted(found.items(), key=lambda item: (item[0].kind, item[0].group))
    }


def crds(
    sources: Sources, findings: Findings, options: Options | None = None
) -> Mapping[str, Manifest]:
    """Return file name → CustomResourceDefinition, for every kind of the sources."""
    builder = SchemaBuilder(sources, findings, options or Options())
    found: dict[str, Manifest] = {}
    makers: dict[str, Struct] = {}
    served = kind_checks.ServedNames()
    for key, every in versions(sources, findings).items():
        crd = _Crd(key, every, findings).manifest(builder)
        if not crd:
            continue
        kind = every[0].kind
        first = makers.setdefault(crd["metadata"]["name"], kind)
        if first is not kind:
            findings.add(
                "API008",
                f"`{key.kind}` and `{first.name.name}` both make `{crd['metadata']['name']}`",
                kind.at,
                hint="give one of them another plural: `+kubebuilder:resource:path=…`",
                related=(Related(first.at, f"the CRD of `{first.name.name}`"),),
            )
        else:
            served.add(crd, kind, findings, severity=builder.options.severity)
        found[f"{key.group}_{crd['spec']['names']['plural']}.yaml"] = crd
    return found


def plural(every: Sequence[KindVersion]) -> str:
    """Return the plural of a kind: from a version's marker, else by the rules."""
    markers = [marker for v in every if (marker := _last(v.kind, "kubebuilder:resource"))]
    paths = [marker.get("path") for marker in markers if marker.get("path")]
    return str(paths[-1]) if paths else names.plural_of_kind(every[0].kind.name.name)


@dataclass(slots=True)
class _Crd:
    """A CRD that is being built."""

    key: KindKey
    versions: tuple[KindVersion, ...]
    findings: Findings
    names: dict[str, Any] = field(default_factory=dict)
    scope: str = "Namespaced"

    def manifest(self, builder: SchemaBuilder) -> Manifest | None:
        kept = [v for v in self.versions if not _has(v.kind, "kubebuilder:skipversion")]
        if not kept or not self._check_names(kept):
            return None
        self._set_names(kept)
        written = [self._version(version, builder) for version in kept]
        self._choose_storage(kept, written)
        metadata: Manifest = {"name": f"{self.names['plural']}.{self.key.group}"}
        metadata |= self._metadata(kept)
        spec: Manifest = {
            "group": self.key.group,
            "names": self.names,
            "scope": self.scope,
            "versions": written,
        }
        if builder.options.preserve_unknown_fields is not None:
            spec["preserveUnknownFields"] = builder.options.preserve_unknown_fields
        manifest: Manifest = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": metadata,
            "spec": spec,
        }
        return manifest if self._check_texts(manifest, kept, builder.sources) else None

    def _check_texts(self, manifest: Manifest, kept: list[KindVersion], sources: Sources) -> bool:
        match documents.unwritable(manifest):
            case None:
                return True
            case ("spec", "versions", int(index), "schema", _, *keys):
                at = source_positions.find(sources, kept[index].kind, tuple(keys))
            case _:
                at = kept[0].kind.at
        self.findings.add(
            "API032",
            "YAML cannot represent a string of this",
            at,
            hint="remove control characters from its comment and tag, or shorten its name",
        )
        return False

    def _check_names(self, kept: list[KindVersion]) -> bool:
        at = kept[0].package.at
        before = len(self.findings.items)
        if not names.is_subdomain(self.key.group):
            self.findings.add(
                "API023", f"`{self.key.group}` is not an API group: groups look like DNS names", at
            )
        for version in kept:
            if not names.is_label_1035(version.name):
                self.findings.add(
                    "API023",
                    f"`{version.name}` is not an API version",
                    version.package.at,
                    hint="name the folder `v1alpha1`, or write `# +versionName=v1alpha1`",
                )
        kind = self.key.kind
        if not names.is_label_1035(kind.lower()) or not kind[0].isupper():
            self.findings.add(
                "API023",
                f"`{kind}` is not a valid kind",
                kept[0].kind.at,
                hint="use at most 63 letters and digits, and begin with a capital letter",
            )
        return len(self.findings.items) == before

    def _set_names(self, kept: list[KindVersion]) -> None:
        kind = self.key.kind
        self.names = {
            "kind": kind,
            "listKind": kind + "List",
            "plural": names.plural_of_kind(kind),
            "singular": kind.lower(),
        }
        # If one version has several, the last one counts.
        markers = [marker for v in kept if (marker := _last(v.kind, "kubebuilder:resource"))]
        for marker in markers:
            if dict(marker.arguments) != dict(markers[0].arguments):
                self.findings.add(
                    "API015",
                    f"versions of `{kind}` have different `+kubebuilder:resource` markers",
                    marker.at,
                    hint="write the same marker on each version, or on one only",
                    related=(Related(markers[0].at, "the other one"),),
                )
        if not markers:
            return
        marker = markers[-1]
        self.names["plural"] = marker.get("path") or self.names["plural"]
        self.names["singular"] = marker.get("singular") or self.names["singular"]
        for argument, name in (("shortName", "shortNames"), ("categories", "categories")):
            if marker.get(argument):
                self.names[name] = list(marker.get(argument))
        self.scope = marker.get("scope") or "Namespaced"
        if self.scope not in ("Namespaced", "Cluster"):
            self.findings.add(
                "API009",
                f"the scope `{self.scope}` does not exist",
                marker.at,
                hint="use `Namespaced` or `Cluster`",
            )
        if not names.is_label_1035(self.names["plural"]):
            self.findings.add(
                "API023", f"`{self.names['plural']}` is not a valid resource name", marker.at
            )

    def _version(self, version: KindVersion, builder: SchemaBuilder) -> Manifest:
        kind = version.kind
        schema = builder.kind(kind)
        severity = builder.options.severity
        schema_checks.check(schema, kind, builder.sources, self.findings, severity=severity)
        kind_checks.check(kind, schema, self.findings, severity=severity)
        written: Manifest = {
            "name": version.name,
            "schema": {"openAPIV3Schema": schema},
            "served": not _has(kind, "kubebuilder:unservedversion"),
            "storage": _has(kind, "kubebuilder:storageversion"),
        }
        subresources: Manifest = {}
        for marker in kind.markers:
            match marker.name:
                case "kubebuilder:subresource:status":
                    subresources["status"] = {}
                case "kubebuilder:subresource:scale":
                    subresources["scale"] = _scale(marker)
                case "kubebuilder:printcolumn":
                    written.setdefault("additionalPrinterColumns", []).append(_column(marker))
                case "kubebuilder:selectablefield":
                    path = {"jsonPath": marker.get("JSONPath")}
                    written.setdefault("selectableFields", []).append(path)
                case "kubebuilder:deprecatedversion":
                    written["deprecated"] = True
                    if marker.get("warning") is not None:
                        written["deprecationWarning"] = marker.get("warning")
                case _:
                    continue
        # The reference writes the key for every column; equal bytes matter more.
        if subresources or "additionalPrinterColumns" in written:
            written["subresources"] = subresources
        return written

    def _choose_storage(self, kept: list[KindVersion], written: list[Manifest]) -> None:
        stored = [index for index, version in enumerate(written) if version["storage"]]
        if len(written) == 1:
            written[0]["storage"] = True
        elif len(stored) != 1:
            which = ", ".join(f"`{version.name}`" for version in kept)
            self.findings.add(
                "API012",
                f"{'more than one' if stored else 'none'} of the versions {which} of "
                f"`{self.key.kind}` is marked as the storage version",
                (kept[stored[1]] if stored else kept[0]).kind.at,
                hint="write `# +kubebuilder:storageversion` on one of them",
            )
        if not any(version["served"] for version in written):
            self.findings.add(
                "API013",
                f"no version of `{self.key.kind}` is served",
                kept[0].kind.at,
                hint="remove `+kubebuilder:unservedversion` from one of them",
            )

    def _metadata(self, kept: list[KindVersion]) -> Manifest:
        found: Manifest = {}
        markers = (
            marker
            for version in kept
            for marker in version.kind.markers
            if marker.name == "kubebuilder:metadata"
        )
        for marker, kind in itertools.product(markers, ("annotations", "labels")):
            for pair in marker.get(kind) or ():
                key, equals, value = pair.partition("=")
                if equals:
                    found.setdefault(kind, {})[key] = value
                else:
                    words = f"`{pair}` in `{kind}` is not `key=value`"
                    self.findings.add("API016", words, marker.at)
        return found


def _has(kind: Struct, name: str) -> bool:
    return any(marker.name == name for marker in kind.markers)


def _last(kind: Struct, name: str) -> Marker | None:
    found = [marker for marker in kind.markers if marker.name == name]
    return found[-1] if found else None


def _scale(marker: Marker) -> Manifest:
    scale = {
        "specReplicasPath": marker.get("specpath"),
        "statusReplicasPath": marker.get("statuspath"),
    }
    if marker.get("selectorpath") is not None:
        scale["labelSelectorPath"] = marker.get("selectorpath")
    return scale


def _column(marker: Marker) -> Manifest:
    column: Manifest = {
        "name": marker.get("name"),
        "type": marker.get("type"),
        "jsonPath": marker.get("JSONPath"),
    }
    for key in ("description", "format", "priority"):
        if marker.get(key):
            column[key] = marker.get(key)
    return column
