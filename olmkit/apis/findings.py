"""The findings about types and markers: codes, names, severities.

The table is the documentation: a reference page is made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from olmkit.base.diagnostics import Diagnostic, Fix, Location, Related, Severity

_ERROR, _WARNING = Severity.ERROR, Severity.WARNING


@dataclass(frozen=True, slots=True)
class FindingRule:
    """One code of the family `API`."""

    code: str
    name: str
    severity: Severity
    doc: str


RULES: dict[str, FindingRule] = {
    rule.code: rule
    for rule in (
        FindingRule("API001", "source-syntax", _ERROR, "A source file cannot be parsed."),
        FindingRule("API002", "source-encoding", _ERROR, "A source file is not text."),
        FindingRule("API003", "marker-syntax", _ERROR, "A marker has a syntax error."),
        FindingRule("API004", "unknown-marker", _WARNING, "A marker is unknown."),
        FindingRule(
            "API005", "misplaced-marker", _WARNING, "olmkit ignores a marker in this place."
        ),
        FindingRule("API006", "unsupported-type", _ERROR, "A type cannot be expressed in a CRD."),
        FindingRule("API007", "unknown-type", _ERROR, "A type cannot be found in the sources."),
        FindingRule(
            "API008",
            "duplicate-kind",
            _ERROR,
            "A type is declared twice, or two kinds define the same CRD.",
        ),
        FindingRule(
            "API009",
            "marker-does-not-fit",
            _ERROR,
            "A marker does not apply to the type that it is on.",
        ),
        FindingRule(
            "API010", "conflicting-constraints", _ERROR, "Two constraints contradict each other."
        ),
        FindingRule(
            "API011",
            "recursive-type",
            _ERROR,
            "A type contains itself, which a CRD cannot express.",
        ),
        FindingRule(
            "API012", "storage-version", _ERROR, "A kind does not have exactly one storage version."
        ),
        FindingRule("API013", "no-served-version", _ERROR, "No version of a kind is served."),
        FindingRule("API014", "no-group", _WARNING, "A kind's package does not set an API group."),
        FindingRule(
            "API015", "differing-resource", _ERROR, "Versions of a kind disagree on its names."
        ),
        FindingRule(
            "API016", "invalid-metadata", _ERROR, "A label or an annotation is not `key=value`."
        ),
        FindingRule(
            "API017",
            "duplicate-field",
            _ERROR,
            "Two fields have the same JSON name, or a field has two names.",
        ),
        FindingRule(
            "API018",
            "default-does-not-fit",
            _ERROR,
            "A default does not have the type of its field.",
        ),
        FindingRule(
            "API019", "csv-resource", _ERROR, "A resource of a CSV marker lacks kind or version."
        ),
        FindingRule(
            "API020", "kind-not-found", _WARNING, "A kind in the project file has no type."
        ),
        FindingRule(
            "API021", "ignored-field", _WARNING, "An attribute of a kind is not a field of its API."
        ),
        FindingRule("API022", "docstring-marker", _WARNING, "A marker is in a docstring."),
        FindingRule(
            "API023", "invalid-name", _ERROR, "A group, version or kind is not a valid name."
        ),
        FindingRule(
            "API024", "stale-crd", _WARNING, "A CRD file does not match any kind of the sources."
        ),
        FindingRule(
            "API025",
            "other-release",
            _WARNING,
            "The Kubernetes types belong to another release.",
        ),
        FindingRule("API026", "kind-without-spec", _ERROR, "A kind has neither spec nor status."),
        FindingRule(
            "API027", "mixed-packages", _ERROR, "The files of a directory belong to two packages."
        ),
        FindingRule(
            "API028", "schema-refused", _ERROR, "The API server rejects what a type declares."
        ),
        FindingRule("API029", "nothing-fits", _ERROR, "No value satisfies the limits of a field."),
        FindingRule(
            "API030", "import-circle", _ERROR, "Modules import each other and cannot be loaded."
        ),
        FindingRule(
            "API031", "name-clash", _ERROR, "Two kinds of a group are served under the same name."
        ),
        FindingRule("API032", "unwritable-text", _ERROR, "YAML cannot represent a string."),
        FindingRule(
            "API033", "ignored-metadata", _WARNING, "Metadata of a field is not added to the CRD."
        ),
        FindingRule(
            "API034",
            "unread-default",
            _WARNING,
            "A default is computed, so the CRD does not have it.",
        ),
        FindingRule(
            "API035",
            "path-without-field",
            _WARNING,
            "A column or the scale subresource points to a field that the kind does not have.",
        ),
        FindingRule("API036", "unknown-verb", _WARNING, "A role has an unknown verb."),
        FindingRule(
            "API037",
            "differing-gvk",
            _ERROR,
            "The `gvk` of a kind differs from the one in its CRD.",
        ),
    )
}


@dataclass(slots=True)
class Findings:
    """Collects findings, so that all errors of a file are reported."""

    items: list[Diagnostic] = field(default_factory=list)
    apart: Mapping[str, list[Diagnostic]] = field(default_factory=dict)
    """Codes whose findings go to another list, for those who decide later whether they matter."""

    def setting_apart(self, codes: Iterable[str], others: list[Diagnostic]) -> Findings:
        """Return the same findings, but for those of `codes`, which go to `others`."""
        return Findings(self.items, {**self.apart, **dict.fromkeys(codes, others)})

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.items)

    def add(
        self,
        code: str,
        message: str,
        at: Location | None,
        *,
        hint: str = "",
        fix: Fix | None = None,
        related: tuple[Related, ...] = (),
        severity: Severity | None = None,
    ) -> None:
        """Add a finding, as grave as its rule says unless `severity` is given."""
        rule = RULES[code]
        found = Diagnostic(
            rule=code,
            name=rule.name,
            severity=severity or rule.severity,
            message=message,
            at=at,
            hint=hint,
            fix=fix,
            related=related,
        )
        # A type that is used twice is looked at twice; its faults are reported once.
        items = self.apart.get(code, self.items)
        if found not in items:
            items.append(found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self.items, key=Diagnostic.sort_key))
