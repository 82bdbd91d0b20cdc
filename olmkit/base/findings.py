"""The table of findings that are not rules: codes, names, severities and meanings.

Rules about bundles and catalogs document themselves, in `olmkit.rules`. Code that reads, generates,
renders and serves reports the codes below, and creates its findings here, so that a code has one
name and one severity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from olmkit.base.diagnostics import Diagnostic, Fix, InputError, Location, Related, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class Code(NamedTuple):
    """A code with its page: `doc` is a sentence, then `Why:` and `Fix:` if they help."""

    code: str
    name: str
    severity: Severity
    doc: str
    source: str = ""

    @property
    def family(self) -> str:
        return self.code.rstrip("0123456789")


CONFIGURATION: Final = "configuration files"
OLMKIT: Final = "olmkit itself"
PROJECT: Final = "project files"
GENERATE: Final = "`olmkit generate`"
SCAFFOLD: Final = "`olmkit create` and `olmkit edit`"
BUNDLE: Final = "`olmkit bundle generate`"
WATCHES: Final = "`watches.yaml`"
SCORECARD: Final = "`olmkit bundle scorecard`"
RENDER: Final = "`olmkit catalog render`"
TEMPLATE: Final = "`olmkit catalog template`"
DATABASE: Final = "index databases"
SERVE: Final = "`olmkit catalog serve`"
REGISTRIES: Final = "every command that accesses registries"
READ: Final = "every command that reads YAML, JSON or a catalog"

CODES: Final[Mapping[str, Code]] = {
    code: Code(code, name, severity, doc, source)
    for source, entries in {
        READ: (
            ("DOC001", "syntax", _ERROR, "A file is not valid YAML or JSON, or exceeds a limit."),
            ("MET000", "unreadable-bundle", _ERROR, "A bundle cannot be read."),
            ("FBC000", "unreadable-catalog", _ERROR, "A catalog cannot be read."),
            (
                "FBC001",
                "lost-documents",
                _WARNING,
                "A file has text after a document, which is not read.",
            ),
            ("FBC002", "malformed-blob", _ERROR, "A blob of a catalog is malformed."),
            ("FBC003", "unreadable-file", _ERROR, "A file of a catalog cannot be read."),
            ("FBC004", "unknown-field", _WARNING, "A blob has a field that opm drops."),
        ),
        OLMKIT: (("BUG001", "rule-crashed", _ERROR, "A rule stopped because of a bug in olmkit."),),
        CONFIGURATION: (
            ("CFG001", "unknown-key", _ERROR, "A configuration file has an unknown key."),
            ("CFG002", "wrong-type", _ERROR, "A value has the wrong type."),
            ("CFG003", "repeated-key", _ERROR, "A configuration file has a duplicate key."),
        ),
        REGISTRIES: (
            ("CFG004", "idle-key", _WARNING, "A key of `registries.conf` has no effect."),
        ),
        PROJECT: (
            ("PRJ001", "project-shape", _ERROR, "The `PROJECT` file is malformed."),
            ("PRJ002", "project-version", _ERROR, "The version of the `PROJECT` file is not 3."),
            ("PRJ003", "project-name", _ERROR, "The name of the project is not a DNS label."),
            ("PRJ004", "incomplete-resource", _ERROR, "A resource lacks `version` or `kind`."),
            ("PRJ005", "unknown-setting", _ERROR, "`tool.olmkit` has an unknown setting."),
            ("PRJ006", "setting-type", _ERROR, "A setting has a value of the wrong type."),
            ("PRJ007", "toml-syntax", _ERROR, "`pyproject.toml` is not valid TOML."),
            ("PRJ014", "misspelled-key", _ERROR, "A key of the `PROJECT` file is misspelled."),
            ("PRJ015", "unknown-project-key", _WARNING, "A key of the `PROJECT` file is unknown."),
        ),
        GENERATE: (
            ("API001", "source-syntax", _ERROR, "A source file cannot be parsed."),
            ("API002", "source-encoding", _ERROR, "A source file is not text."),
            ("API003", "marker-syntax", _ERROR, "A marker has a syntax error."),
            ("API004", "unknown-marker", _WARNING, "A marker is unknown."),
            ("API005", "misplaced-marker", _WARNING, "olmkit ignores a marker in this place."),
            ("API006", "unsupported-type", _ERROR, "A type cannot be expressed in a CRD."),
            ("API007", "unknown-type", _ERROR, "A type cannot be found in the sources."),
            (
                "API008",
                "duplicate-kind",
                _ERROR,
                "A type is declared twice, or two kinds define the same CRD.",
            ),
            (
                "API009",
                "marker-does-not-fit",
                _ERROR,
                "A marker does not apply to the type that it is on.",
            ),
            ("API010", "conflicting-constraints", _ERROR, "Two constraints contradict each other."),
            (
                "API011",
                "recursive-type",
                _ERROR,
                "A type contains itself, which a CRD cannot express.",
            ),
            (
                "API012",
                "storage-version",
                _ERROR,
                "A kind does not have exactly one storage version.",
            ),
            ("API013", "no-served-version", _ERROR, "No version of a kind is served."),
            ("API014", "no-group", _WARNING, "A kind's package does not set an API group."),
            ("API015", "differing-resource", _ERROR, "Versions of a kind disagree on its names."),
            ("API016", "invalid-metadata", _ERROR, "A label or an annotation is not `key=value`."),
            (
                "API017",
                "duplicate-field",
                _ERROR,
                "Two fields have the same JSON name, or a field has two names.",
            ),
            (
                "API018",
                "default-does-not-fit",
                _ERROR,
                "A default does not have the type of its field.",
            ),
            ("API019", "csv-resource", _ERROR, "A resource of a CSV marker lacks kind or version."),
            ("API020", "kind-not-found", _WARNING, "A kind in the project file has no type."),
            (
                "API021",
                "ignored-field",
                _WARNING,
                "An attribute of a kind is not a field of its API.",
            ),
            ("API022", "docstring-marker", _WARNING, "A marker is in a docstring."),
            ("API023", "invalid-name", _ERROR, "A group, version or kind is not a valid name."),
            ("API024", "stale-crd", _WARNING, "A CRD file does not match any kind of the sources."),
            (
                "API025",
                "other-release",
                _WARNING,
                "The Kubernetes types belong to another release.",
            ),
            ("API026", "kind-without-spec", _ERROR, "A kind has neither spec nor status."),
            (
                "API027",
                "mixed-packages",
                _ERROR,
                "The files of a directory belong to two packages.",
            ),
            ("API028", "schema-refused", _ERROR, "The API server rejects what a type declares."),
            ("API029", "nothing-fits", _ERROR, "No value satisfies the limits of a field."),
            ("API030", "import-circle", _ERROR, "Modules import each other and cannot be loaded."),
            (
                "API031",
                "name-clash",
                _ERROR,
                "Two kinds of a group are served under the same name.",
            ),
            ("API032", "unwritable-text", _ERROR, "YAML cannot represent a string."),
            (
                "API033",
                "ignored-metadata",
                _WARNING,
                "Metadata of a field is not added to the CRD.",
            ),
            (
                "API034",
                "unread-default",
                _WARNING,
                "A default is computed, so the CRD does not have it.",
            ),
            (
                "API035",
                "path-without-field",
                _WARNING,
                "A column or the scale subresource points to a field that the kind does not have.",
            ),
            ("API036", "unknown-verb", _WARNING, "A role has an unknown verb."),
            (
                "API037",
                "differing-gvk",
                _ERROR,
                "The `gvk` of a kind differs from the one in its CRD.",
            ),
            ("PRJ008", "makefile-options", _INFO, "The Makefile runs controller-gen with options."),
            ("PRJ009", "makefile-option-ignored", _WARNING, "An option has no effect on olmkit."),
            ("PRJ013", "watched-content", _WARNING, "`watches.yaml` names what does not exist."),
        ),
        SCAFFOLD: (
            ("PRJ010", "unfit-for-editing", _ERROR, "A YAML file cannot be edited in place."),
            ("PRJ011", "unfit-source", _ERROR, "A Python file cannot be edited in place."),
            ("PRJ012", "unfinished-scaffold", _WARNING, "You must complete a step manually."),
        ),
        BUNDLE: (
            (
                "PRJ101",
                "unusable-input",
                _ERROR,
                "olmkit cannot use the input, and writes nothing.",
            ),
            ("PRJ102", "kind-left-out", _WARNING, "A bundle cannot contain this kind."),
            ("PRJ103", "kind-replaced-by-olm", _INFO, "OLM creates objects of this kind itself."),
            ("PRJ104", "document-left-out", _WARNING, "A document is not a Kubernetes object."),
            (
                "PRJ105",
                "default-base",
                _WARNING,
                "Without a base CSV, names and descriptions are defaults.",
            ),
            ("PRJ106", "base-entry-replaced", _WARNING, "The manifests replace an entry."),
            ("PRJ107", "webhook-field-lost", _WARNING, "A CSV does not support a webhook's field."),
            ("PRJ108", "webhook-without-target", _WARNING, "No Deployment serves a webhook."),
            ("PRJ109", "aggregated-role", _WARNING, "The CSV does not include aggregated rules."),
            ("PRJ110", "dangling-binding", _WARNING, "The role of a binding moves into the CSV."),
            ("PRJ111", "same-name-twice", _WARNING, "Two objects differ only in their namespace."),
            ("PRJ112", "field-without-place", _WARNING, "A CSV does not support this field."),
            ("PRJ113", "unnamed-related-image", _WARNING, "One image has several names."),
            ("PRJ114", "sample-without-api", _WARNING, "A CRD does not serve a sample's version."),
            ("PRJ115", "unknown-service-account", _WARNING, "No binding names an account."),
            ("PRJ116", "no-deployment", _WARNING, "The input has no Deployment."),
            (
                "PRJ117",
                "changed-stale-file",
                _WARNING,
                "You changed a file that is no longer generated.",
            ),
            ("PRJ118", "account-without-rules", _WARNING, "An account has no permissions."),
            ("PRJ119", "cert-manager-annotation", _WARNING, "cert-manager overwrites the CA."),
            ("PRJ120", "kustomization", _ERROR, "olmkit cannot build an overlay."),
            ("PRJ121", "idle-patch", _WARNING, "A patch matches no resource."),
            (
                "PRJ122",
                "certificate-left-out",
                _WARNING,
                "A Deployment mounts a Secret that a left-out Certificate would create.",
            ),
        ),
        WATCHES: (
            ("WCH001", "watches-shape", _ERROR, "The file or an entry is malformed."),
            ("WCH002", "unknown-watch-key", _WARNING, "An entry has an unknown key."),
            (
                "WCH003",
                "incomplete-watch",
                _ERROR,
                "An entry lacks its kind, or the chart, role or playbook to run.",
            ),
            ("WCH004", "watch-value", _ERROR, "A key of an entry has an unusable value."),
            ("WCH005", "repeated-watch", _ERROR, "A kind has more than one entry."),
        ),
        SCORECARD: (
            ("SCD002", "scorecard-config-type", _ERROR, "A value has the wrong type."),
            ("SCD003", "scorecard-config-key", _WARNING, "A key has no effect."),
        ),
        RENDER: (
            ("FBC900", "unrenderable-bundle", _ERROR, "A bundle cannot be part of a catalog."),
            ("FBC901", "file-left-out", _WARNING, "A file is not added to the catalog."),
            ("FBC902", "second-csv", _WARNING, "A bundle has more than one CSV; olmkit uses one."),
            ("FBC903", "missing-owned-crd", _ERROR, "A CRD that the CSV owns is missing."),
            ("FBC904", "wrong-type", _ERROR, "A value has the wrong type."),
            ("FBC905", "unreadable-properties", _WARNING, "`properties.yaml` cannot be read."),
            ("FBC906", "unreadable-property", _ERROR, "A property cannot be read."),
            ("FBC907", "image-without-registry", _WARNING, "Clusters cannot pull the image."),
            ("FBC908", "bundle-in-no-channel", _WARNING, "A bundle is in no channel of a package."),
        ),
        TEMPLATE: (
            ("FBC910", "malformed-template", _ERROR, "A catalog template is malformed."),
            ("FBC911", "unusable-template-entry", _ERROR, "An entry is not a usable blob."),
            ("FBC912", "unusable-template-image", _ERROR, "An image has no usable bundle."),
            ("FBC913", "unorderable-bundles", _ERROR, "Versions differ only in build metadata."),
            ("FBC914", "impossible-substitution", _ERROR, "A substitution is not possible."),
        ),
        DATABASE: (
            (
                "FBC920",
                "unreadable-index-database",
                _ERROR,
                "An index database has an invalid row.",
            ),
            ("FBC921", "bundle-left-out", _INFO, "A bundle of an index database is omitted."),
            ("FBC922", "icon-left-out", _WARNING, "An icon in an index database is not base64."),
        ),
        SERVE: (
            ("SRV001", "several-csv-metadata", _ERROR, "A bundle has several `olm.csv.metadata`."),
            (
                "SRV002",
                "unservable-name",
                _ERROR,
                "A custom blob has a name that opm does not serve.",
            ),
        ),
    }.items()
    for code, name, severity, doc in entries
}


def create(
    code: str,
    message: str,
    *,
    at: Location | None = None,
    subject: str = "",
    hint: str = "",
    fix: Fix | None = None,
    related: tuple[Related, ...] = (),
) -> Diagnostic:
    """Return a finding with the name and severity of its code, or raise `KeyError`."""
    known = CODES[code]
    return Diagnostic(
        rule=code,
        name=known.name,
        severity=known.severity,
        message=message,
        at=at,
        subject=subject,
        hint=hint,
        fix=fix,
        related=related,
    )


def error(
    code: str, message: str, *, at: Location | None = None, subject: str = "", hint: str = ""
) -> InputError:
    """Return the error for a finding; its message starts with the place."""
    return InputError.of(create(code, message, at=at, subject=subject, hint=hint))
