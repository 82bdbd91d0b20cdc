"""Rules about declarations of a bundle: the properties in its metadata folder and its CSV.

They are a list of `{type, value}`, like dependencies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from olmkit.base.diagnostics import Related, Severity
from olmkit.bundle import constraints
from olmkit.bundle.model import Bundle, FileProperty
from olmkit.kube import objects
from olmkit.rules import fixes
from olmkit.rules.dependencies import find_repeated, json_value, range_problem
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

MAX_OPENSHIFT = "olm.maxOpenShiftVersion"
_OPENSHIFT_VERSION = re.compile(r"\d+\.\d+", re.ASCII)

# Types of properties whose values OLM parses and requires.
_READ_BY_OLM = frozenset(
    {
        "olm.constraint",
        "olm.gvk",
        "olm.gvk.required",
        "olm.label",
        "olm.label.required",
        MAX_OPENSHIFT,
        "olm.package",
        "olm.package.required",
    }
)


@rule("MET060", "property-incomplete", suite=SOUND_SUITE)
def property_incomplete(bundle: Bundle) -> Iterator[Finding]:
    """A property has no type or no value.

    Why: no tool can read a property without a type. If OLM reads that type, a missing value
    stops it. Catalogs accept other properties without a value, so those are warnings.

    Fix: write both.
    """
    for entry in bundle.properties:
        if not entry.type:
            yield Finding("the property has no `type`", at=entry.at())
        elif entry.value is None:
            severity = None if entry.type in _READ_BY_OLM else Severity.WARNING
            yield Finding("the property has no `value`", at=entry.at(), severity=severity)


@rule("MET061", "property-derived", suite=SOUND_SUITE)
def property_derived(bundle: Bundle) -> Iterator[Finding]:
    """The bundle contains a property that tools derive themselves.

    Why: tools derive package, version and APIs of a bundle from its annotations and its
    CSV. A second value contradicts the first, or catalogs reject it.

    Fix: remove the property.
    """
    for entry in bundle.properties:
        if entry.type in ("olm.package", "olm.gvk"):
            yield Finding(
                f"property `{entry.type}` is derived from the bundle, not written",
                at=entry.at("type"),
                hint="remove it",
            )


@rule("MET062", "property-openshift-version", suite=SOUND_SUITE)
def property_openshift_version(bundle: Bundle) -> Iterator[Finding]:
    """The highest OpenShift version is not a single `major.minor` string.

    Why: OpenShift uses this value to block its own upgrade. It reads exactly one value, a
    string without a patch number.

    Fix: write it once, like `value: "4.15"`.
    """
    entries = [entry for entry in _all_properties(bundle) if entry.type == MAX_OPENSHIFT]
    for entry in entries:
        if not isinstance(entry.value, str) or not _OPENSHIFT_VERSION.fullmatch(entry.value):
            yield Finding(
                f"`{MAX_OPENSHIFT}` must be major and minor number as a string",
                at=entry.at("value"),
                hint='write it like "4.15"',
                fix=fixes.quote_value(entry.document, (*entry.keys, "value")),
            )
    for entry in entries[1:]:
        yield Finding(
            f"`{MAX_OPENSHIFT}` is given more than once",
            at=entry.at(),
            related=(Related(entries[0].at(), "first given here"),),
        )


@rule("MET063", "property-value", suite=SOUND_SUITE)
def property_value(bundle: Bundle) -> Iterator[Finding]:
    """OLM cannot read the value of a property.

    Why: catalogs and the resolver decode `olm.package.required`, `olm.gvk.required`,
    `olm.label` and `olm.constraint`, and stop at an invalid value.

    Fix: write the value in the format of its type.
    """
    for entry in bundle.properties:
        value = objects.mapping(entry.value)
        match entry.type:
            case "olm.package.required":
                version = value.get("versionRange")
                if not value.get("packageName"):
                    yield Finding("`packageName` is missing", at=entry.at("value"))
                if not isinstance(version, str) or range_problem(version):
                    yield Finding(
                        f"`versionRange` of `{entry.type}` is not a version range",
                        at=entry.at("value", "versionRange"),
                        hint="write it like `>=1.0.0 <2.0.0`",
                    )
            case "olm.gvk" | "olm.gvk.required":
                for key in ("group", "version", "kind"):
                    if not isinstance(value.get(key), str) or not value.get(key):
                        yield Finding(
                            f"`{key}` of `{entry.type}` is missing", at=entry.at("value", key)
                        )
            case "olm.constraint":
                for keys, problem in constraints.rule_problems(entry.value):
                    yield Finding(f"Invalid CEL expression: {problem}", at=entry.at("value", *keys))
            case _:
                pass


@rule("MET064", "property-repeated", severity=Severity.WARNING, suite=SOUND_SUITE)
def property_repeated(bundle: Bundle) -> Iterator[Finding]:
    """A property is listed twice.

    Why: the second one has no effect. Usually a different one was intended.

    Fix: remove or correct it.
    """
    yield from find_repeated(
        tuple(entry for entry in bundle.properties if entry.type != MAX_OPENSHIFT), "property"
    )


def _all_properties(bundle: Bundle) -> Iterator[FileProperty]:
    """Yield the properties of the file, then those of the CSV's deprecated annotation."""
    yield from bundle.properties
    csv = bundle.csv
    text = csv.annotations.get("olm.properties", "") if csv else ""
    if csv is None or not text:
        return
    for item in objects.sequence(json_value(text)):
        yield FileProperty(
            type=objects.scalar_text(objects.mapping(item).get("type")),
            value=objects.mapping(item).get("value"),
            document=csv.document,
            keys=("metadata", "annotations", "olm.properties"),
        )
