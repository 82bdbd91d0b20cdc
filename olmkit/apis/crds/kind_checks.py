"""Validate markers of kinds like the API server: names, columns, paths.

As with schemas (`schema_checks`), the reference generators do not check this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.apis.crds.flatten import Schema
from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import Marker
from olmkit.apis.model import Struct
from olmkit.base import names, texts
from olmkit.base.diagnostics import Related, Severity
from olmkit.kube.crds import field_paths, selectable_fields

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (*("byte", "date", "date-time", "double", "float", "int32", "int64", "password"),)
_INT32 = range(-(2**31), 2**31)
_MOST_WARNING = 256  # characters
# Arguments with the path of a field; the API server refuses invalid ones of selectable fields.
_PATHS = {
    "kubebuilder:printcolumn": ("JSONPath",),
    "kubebuilder:subresource:scale": ("specpath", "statuspath", "selectorpath"),
}


def check(kind: Struct, schema: Schema, findings: Findings, *, severity: Severity) -> None:
    """Report every marker of a kind that the API server refuses; `schema` is that of the kind."""
    selected: set[str] = set()
    for marker in kind.markers:
        match marker.name:
            case "kubebuilder:resource":
                faults = _names(marker)
            case "kubebuilder:printcolumn":
                faults = _column(marker)
            case "kubebuilder:subresource:scale":
                faults = _scale(marker)
            case "kubebuilder:selectablefield":
                faults = _selectable(marker, schema, selected)
            case "kubebuilder:deprecatedversion":
                faults = _check_deprecation(marker)
            case _:
                continue
        for fault in faults:
            findings.add("API028", f"the API server refuses {fault}", marker.at, severity=severity)
        _check_paths(marker, schema, findings)


def _check_paths(marker: Marker, schema: Schema, findings: Findings) -> None:
    """Report paths that the API server accepts but that never lead to a value."""
    for argument in _PATHS.get(marker.name, ()):
        path = marker.get(argument) or ""
        absent = field_paths.missing_field(schema, path)
        if absent:
            findings.add(
                "API035",
                f"`{argument}={texts.shorten(path)}` of `+{marker.name}`: "
                f"the kind has no field `{texts.shorten(absent)}`",
                marker.at,
                hint="write the path of a field of the kind, with the names that the CRD has",
            )


@dataclass(slots=True)
class ServedNames:
    """The names under which the kinds of each group are served; only one can have each name."""

    _taken: dict[tuple[str, str], Struct] = field(default_factory=dict)

    def add(
        self, crd: Mapping[str, Any], kind: Struct, findings: Findings, *, severity: Severity
    ) -> None:
        """Report every name of a CRD that another kind of its group has."""
        group, names = crd["spec"]["group"], crd["spec"]["names"]
        served = (names["plural"], names["singular"], *names.get("shortNames", ()))
        for name in dict.fromkeys((*served, names["kind"], names["listKind"])):
            first = self._taken.setdefault((group, name), kind)
            if first is not kind:
                findings.add(
                    "API031",
                    f"`{kind.name.name}` and `{first.name.name}` are both served as `{name}`",
                    kind.at,
                    hint="give one of them another name: `+kubebuilder:resource:…`",
                    related=(Related(first.at, f"`{first.name.name}` is declared here"),),
                    severity=severity,
                )


def _names(marker: Marker) -> Iterator[str]:
    listed = {
        "singular": [marker.get("singular")],
        "short name": marker.get("shortName") or (),
        "category": marker.get("categories") or (),
    }
    for what, found in listed.items():
        for name in found:
            if name and not names.is_label_1035(name):
                yield f"the {what} `{name}`: only lower-case letters, digits and `-` are allowed"


def _column(marker: Marker) -> Iterator[str]:
    column = f"column `{marker.get('name')}`"
    if marker.get("type") not in _COLUMN_TYPES:
        listed = _list_names(_COLUMN_TYPES)
        yield f"the type `{marker.get('type')}` of {column}: use one of {listed}"
    form = marker.get("format")
    if form and form not in _COLUMN_FORMATS:
        yield f"the format `{form}` of {column}: use one of {_list_names(_COLUMN_FORMATS)}"
    priority = marker.get("priority") or 0
    if priority not in _INT32:
        yield f"the priority {priority} of {column}: it must be a 32-bit integer"
    path = marker.get("JSONPath")
    if not path.startswith("."):
        yield f"the path `{path}` of {column}: it must begin with a dot and contain no braces"


def _scale(marker: Marker) -> Iterator[str]:
    places = {
        "specpath": (".spec.",),
        "statuspath": (".status.",),
        "selectorpath": (".spec.", ".status."),
    }
    for argument, below in places.items():
        path = marker.get(argument)
        if path and (not path.startswith(below) or "[" in path):
            yield f"`{argument}={path}`: it must be a path of fields below {_list_names(below)}"


def _selectable(marker: Marker, schema: Schema, seen: set[str]) -> Iterator[str]:
    path = marker.get("JSONPath")
    if path in seen:
        yield f"the selectable field `{path}`: it is listed twice"
    elif len(seen) == selectable_fields.MOST:
        yield f"the selectable field `{path}`: at most {selectable_fields.MOST} are allowed"
    elif path.startswith(".metadata"):
        yield f"the selectable field `{path}`: it must not point to fields in metadata"
    elif problem := selectable_fields.problem(schema, path):
        yield f"the selectable field `{path}`: it {problem.rstrip('.')}"
    seen.add(path)


def _check_deprecation(marker: Marker) -> Iterator[str]:
    warning = marker.get("warning") or ""
    if len(warning) > _MOST_WARNING or not warning.isprintable():
        yield f"the warning: it must have at most {_MOST_WARNING} printable characters"


def _list_names(known: tuple[str, ...]) -> str:
    return ", ".join(f"`{one}`" for one in known)
