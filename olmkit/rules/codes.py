"""The register of all codes: rules, and the findings of commands that are not rules.

A rule documents itself in its docstring. The other codes belong to what reads, generates,
renders and serves; they are declared in the table below, except for the family `API`, whose
table is in `olmkit.apis.findings`. A test compares the register with the codes in the sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from olmkit.apis import findings as api_findings
from olmkit.base.diagnostics import ConfigurationError, Severity
from olmkit.rules import engine

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class Code(NamedTuple):
    """A code with its page: `doc` is a sentence, then `Why:` and `Fix:` where they help."""

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
READ: Final = "every command that reads YAML, JSON or a catalog"

FINDINGS: Final = tuple(
    Code(code, name, severity, doc, source)
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
        OLMKIT: (
            (engine.CRASH, "rule-crashed", _ERROR, "A rule stopped because of a bug in olmkit."),
        ),
        CONFIGURATION: (
            ("CFG001", "unknown-key", _ERROR, "A configuration file has an unknown key."),
            ("CFG002", "wrong-type", _ERROR, "A value has the wrong type."),
            ("CFG003", "repeated-key", _ERROR, "A configuration file has a duplicate key."),
        ),
        PROJECT: (
            ("PRJ001", "project-shape", _ERROR, "The `PROJECT` file is malformed."),
            ("PRJ002", "project-version", _ERROR, "The version of the `PROJECT` file is not 3."),
            ("PRJ003", "project-name", _ERROR, "The name of the project is not a DNS label."),
            ("PRJ004", "incomplete-resource", _ERROR, "A resource lacks `version` or `kind`."),
            ("PRJ005", "unknown-setting", _WARNING, "`tool.olmkit` has an unknown setting."),
            ("PRJ006", "setting-type", _ERROR, "A setting has a value of the wrong type."),
            ("PRJ007", "toml-syntax", _ERROR, "`pyproject.toml` is not valid TOML."),
        ),
        GENERATE: (
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
        SCORECARD: (("SCD002", "scorecard-config-type", _ERROR, "A value has the wrong type."),),
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
)


def register() -> Mapping[str, Code]:
    """Return every code that a command can report, sorted."""
    rules = [
        Code(rule.code, rule.name, rule.severity, rule.doc, f"rules of {subject}s")
        for subject in engine.MODULES
        for rule in engine.rules(subject)
    ]
    types = [
        Code(one.code, one.name, one.severity, one.doc, GENERATE)
        for one in api_findings.RULES.values()
    ]
    known = {one.code: one for one in (*FINDINGS, *types, *rules)}
    return {code: known[code] for code in sorted(known)}


def find(word: str) -> Code:
    """Return the code with this code or name, or raise `ConfigurationError`."""
    known = register()
    for one in known.values():
        if word.upper() == one.code or word.lower() == one.name:
            return one
    import difflib

    names = [word for one in known.values() for word in (one.code, one.name)]
    near = difflib.get_close_matches(word.upper(), names, n=1) or difflib.get_close_matches(
        word.lower(), names, n=1
    )
    raise ConfigurationError(
        f"unknown code `{word}`",
        hint=f"did you mean `{near[0]}`" if near else "`olmkit explain` lists all codes",
    )


def page(code: Code) -> str:
    """Return the documentation of a code, as text for people."""
    return f"{code.code} {code.name} ({code.severity}, {code.source})\n\n{code.doc}\n"
