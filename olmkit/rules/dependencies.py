"""Rules about the requirements of a bundle: the dependencies in its metadata folder.

They are a list of `{type, value}`. OLM's resolver reads them; an invalid entry is lost, or stops
the resolution of a whole namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base import documents, texts
from olmkit.base.diagnostics import Related, Severity
from olmkit.base.documents import Document
from olmkit.bundle import constraints
from olmkit.bundle.model import Bundle, FileProperty
from olmkit.kube import objects
from olmkit.rules import fixes
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

_ATOMS = ("gvk", "package", "cel", "all", "any", "not")
_KEYS = {
    "olm.gvk": frozenset({"group", "kind", "version"}),
    "olm.package": frozenset({"packageName", "version"}),
    "olm.label": frozenset({"label"}),
}


@rule("MET040", "dependency-incomplete")
def dependency_incomplete(bundle: Bundle) -> Iterator[Finding]:
    """A dependency lacks one of its values.

    Why: OLM needs group, version and kind of an API, name and version of a package, or the
    string of a label to find the dependency.

    Fix: write all values.
    """
    wanted = {
        "olm.gvk": (
            ("group", "API Group is empty"),
            ("version", "API Version is empty"),
            ("kind", "API Kind is empty"),
        ),
        "olm.package": (
            ("packageName", "Package name is empty"),
            ("version", "Package version is empty"),
        ),
        "olm.label": (("label", "Label information is missing"),),
    }
    for entry in bundle.dependencies:
        if not _is_readable(entry):
            continue
        for key, message in wanted.get(entry.type, ()):
            if not objects.mapping(entry.value).get(key):
                yield Finding(message, at=entry.at("value", key), hint=f"give `{key}` a value")


@rule("MET041", "dependency-range")
def dependency_range(bundle: Bundle) -> Iterator[Finding]:
    """The version of a package dependency is not a version range.

    Why: OLM reads ranges such as `>=1.0.0 <2.0.0`, `1.x` and `1.2.3`, with spaces for *and*
    and `||` for *or*. It does not support `^`, `~` and commas.

    Fix: write the range in that format.
    """
    for entry in bundle.dependencies:
        version = objects.mapping(entry.value).get("version")
        if entry.type == "olm.package" and version and _is_readable(entry):
            problem = range_problem(version)
            if problem:
                yield Finding(
                    "Invalid semver format version",
                    at=entry.at("value", "version"),
                    hint=f"`{version}` is not a range: write it like `>=1.0.0 <2.0.0` or `1.2.3`",
                )


@rule("MET042", "dependency-unreadable")
def dependency_unreadable(bundle: Bundle) -> Iterator[Finding]:
    """A dependency has an unknown type, or a value of the wrong type.

    Why: OLM supports `olm.gvk`, `olm.package`, `olm.label` and `olm.constraint`. Each type
    has different keys, and all values are strings.

    Fix: write `type` and `value` in the format of one of these types.
    """
    for entry in bundle.dependencies:
        if not _is_readable(entry):
            known = entry.type in _SHAPES
            yield Finding(
                f"couldn't parse dependency of type {texts.shorten(entry.type)}".rstrip(),
                at=entry.at("value") if known else entry.at("type"),
                hint=_SHAPES[entry.type]
                if known
                else "types are `olm.gvk`, `olm.package`, `olm.label` and `olm.constraint`",
            )


@rule("MET043", "constraint-missing")
def constraint_missing(bundle: Bundle) -> Iterator[Finding]:
    """A constraint is empty.

    Why: a constraint is one of `cel`, `gvk`, `package`, `all`, `any` and `not`, and
    a `cel` constraint has its expression in `rule`.

    Fix: write the constraint.
    """
    for entry in bundle.dependencies:
        if entry.type != "olm.constraint" or not _is_readable(entry):
            continue
        value = objects.mapping(entry.value)
        if not any(atom in value for atom in _ATOMS):
            yield Finding(
                "The CEL field is missing",
                at=entry.at("value"),
                hint=f"give it one of {', '.join(f'`{atom}`' for atom in _ATOMS)}",
            )
        elif "cel" in value and not objects.mapping(value["cel"]).get("rule"):
            yield Finding(
                "The CEL expression is missing",
                at=entry.at("value", "cel"),
                hint="write the expression into `rule`",
            )


@rule("MET044", "constraint-expression")
def constraint_expression(bundle: Bundle) -> Iterator[Finding]:
    """The CEL expression of a dependency does not compile.

    Why: OLM compiles the expression when it resolves, and one invalid expression stops the
    resolution. The expression can use `properties`, a list of `{type, value}`, and
    `semver_compare`, and its result must be a boolean.

    Fix: correct the expression.
    """
    for entry in bundle.dependencies:
        if entry.type == "olm.constraint" and _is_readable(entry):
            for keys, problem in constraints.rule_problems(entry.value):
                yield Finding(
                    f"Invalid CEL expression: {problem}",
                    at=entry.at("value", *keys),
                    hint="it sees `properties` (a list of `type` and `value`) "
                    "and must be true or false",
                )


@rule("MET045", "constraint-ambiguous", suite=SOUND_SUITE)
def constraint_ambiguous(bundle: Bundle) -> Iterator[Finding]:
    """A constraint has more than one kind.

    Why: OLM rejects a constraint that is both `cel` and `package`, for example. To combine
    them, use `all` or `any`.

    Fix: put both below `all`.
    """
    for entry in (*bundle.dependencies, *bundle.properties):
        value = objects.mapping(entry.value)
        found = [atom for atom in _ATOMS if atom in value]
        if entry.type == "olm.constraint" and len(found) > 1:
            yield Finding(
                "a constraint must have exactly one of " + ", ".join(f"`{atom}`" for atom in found),
                at=entry.at("value"),
                hint="put them below `all: {constraints: [...]}`",
            )


@rule("MET046", "constraint-without-message", severity=Severity.WARNING, suite=SOUND_SUITE)
def constraint_without_message(bundle: Bundle) -> Iterator[Finding]:
    """A constraint has no message for the user.

    Why: if nothing satisfies the constraint, the user sees its `failureMessage`, or
    otherwise only the expression.

    Fix: write `failureMessage`.
    """
    for entry in (*bundle.dependencies, *bundle.properties):
        value = objects.mapping(entry.value)
        if entry.type == "olm.constraint" and value and not value.get("failureMessage"):
            yield Finding(
                "the constraint has no `failureMessage`",
                at=entry.at("value"),
                hint="describe in it what the user should do",
            )


@rule("MET047", "dependency-repeated", severity=Severity.WARNING, suite=SOUND_SUITE)
def dependency_repeated(bundle: Bundle) -> Iterator[Finding]:
    """A dependency is listed twice.

    Why: the second one has no effect. Usually a different one was intended.

    Fix: remove or correct it.
    """
    yield from find_repeated(bundle.dependencies, "dependency")


@rule("MET048", "dependency-on-itself", suite=SOUND_SUITE)
def dependency_on_itself(bundle: Bundle) -> Iterator[Finding]:
    """The bundle requires its own package.

    Why: OLM installs one version of a package in a namespace, so the dependency either has
    no effect or can never be satisfied.

    Fix: remove the dependency.
    """
    for entry in bundle.dependencies:
        name = objects.mapping(entry.value).get("packageName")
        if entry.type == "olm.package" and name and name == bundle.package:
            yield Finding(
                f"the bundle requires its own package `{name}`",
                at=entry.at("value", "packageName"),
                hint="remove the dependency",
            )


@rule("MET049", "dependency-key", severity=Severity.WARNING, suite=SOUND_SUITE)
def dependency_key(bundle: Bundle) -> Iterator[Finding]:
    """A dependency has an unknown key.

    Why: `channel` or `namespace` appear to narrow the dependency, but have no
    effect.

    Fix: remove the key.
    """
    for entry in bundle.dependencies:
        known = _KEYS.get(entry.type)
        for key in objects.mapping(entry.value) if known else ():
            if known and key not in known:
                yield Finding(
                    f"`{key}` is not read in a dependency of type `{entry.type}`",
                    at=entry.document.at_key(*entry.keys, "value", key),
                    hint=f"use one of {', '.join(f'`{word}`' for word in sorted(known))}",
                )


@rule("MET050", "metadata-file", suite=SOUND_SUITE)
def metadata_file(bundle: Bundle) -> Iterator[Finding]:
    """A file with dependencies or properties cannot be read.

    Why: tools ignore such a file without a warning, and the bundle is published
    without its dependencies.

    Fix: write one list, `dependencies` or `properties`, as the only key.
    """
    for document in bundle.metadata:
        for section in ("dependencies", "properties"):
            named = document.path.endswith((f"/{section}.yaml", f"/{section}.yml"))
            value = objects.mapping(document.value)
            if section in value:
                if value[section] is not None and not isinstance(value[section], list):
                    yield Finding(f"`{section}` must be a list", at=document.at(section))
                yield from _other_keys(document, section)
            elif named and document.value is not None:
                yield Finding(
                    f"the file has no list `{section}`",
                    at=document.at(),
                    hint=f"write `{section}:` and below it a list of `type` and `value`",
                )


@rule("MET051", "metadata-file-syntax", suite=SOUND_SUITE)
def metadata_file_syntax(bundle: Bundle) -> Iterator[Finding]:
    """A file with dependencies or properties is not YAML.

    Why: tools ignore such a file without a warning, and the bundle is published
    without its dependencies.

    Fix: correct the text at the reported position.
    """
    for broken in bundle.unreadable:
        if broken.path.endswith(("/dependencies.yaml", "/properties.yaml")):
            found = broken.error.diagnostics[0] if broken.error.diagnostics else None
            yield Finding(
                found.message if found else broken.error.message,
                at=found.at if found else bundle.place(broken.path),
                hint=found.hint if found else broken.error.hint,
            )


@rule("MET052", "metadata-file-empty", severity=Severity.WARNING, suite=SOUND_SUITE)
def metadata_file_empty(bundle: Bundle) -> Iterator[Finding]:
    """A file for dependencies or properties is empty.

    Why: it has no effect. Usually its content was lost, or is in a second document, which
    tools do not read.

    Fix: remove the file, or add its content.
    """
    for document in bundle.metadata:
        for section in ("dependencies", "properties"):
            if not document.path.endswith(f"/{section}.yaml"):
                continue
            if document.value is None or (
                section in objects.mapping(document.value)
                and objects.mapping(document.value)[section] is None
            ):
                yield Finding("there is nothing in this file", at=document.at(section))


@rule("MET053", "constraint-content", suite=SOUND_SUITE)
def constraint_content(bundle: Bundle) -> Iterator[Finding]:
    """A constraint has content that OLM's resolver rejects, or that no bundle can satisfy.

    Why: OLM evaluates the nested parts of a constraint only when it resolves. An unknown
    field, an invalid range or an empty part stops the resolution of a whole namespace.
    Without a kind, a package name or a constraint in `any`, nothing can satisfy it; every
    bundle of a catalog satisfies an empty `all` or `not`.

    Fix: complete the constraint at the reported position.
    """
    for entry in (*bundle.dependencies, *bundle.properties):
        if entry.type != "olm.constraint" or not isinstance(entry.value, Mapping):
            continue
        for problem in constraints.read(entry.value).problems:
            if not _is_checked_separately(entry, problem):
                yield Finding(
                    problem.message, at=entry.at("value", *problem.keys), hint=problem.hint
                )


def _is_checked_separately(entry: FileProperty, problem: constraints.ConstraintProblem) -> bool:
    """Return whether a separate rule covers a problem of the constraint at the top."""
    atoms = [atom for atom in _ATOMS if atom in entry.value]
    if not problem.keys:
        return len(atoms) > 1 or (not atoms and entry.document.path.endswith("dependencies.yaml"))
    return problem.keys[-1:] == ("rule",) and len(problem.keys) == 2


_SHAPES: Mapping[str, str] = {
    "olm.gvk": "its value has the strings `group`, `kind` and `version`",
    "olm.package": "its value has the strings `packageName` and `version`",
    "olm.label": "its value has the string `label`",
    "olm.constraint": "its value has `failureMessage` and one of `cel`, `gvk`, `package`, "
    "`all`, `any` and `not`",
}


def _is_readable(entry: FileProperty) -> bool:
    """Return whether a typed reader accepts the value; it treats null as an empty one."""
    if entry.type not in _SHAPES or "value" not in objects.mapping(entry.document.get(*entry.keys)):
        return False
    if entry.value is None:
        return True
    if not isinstance(entry.value, Mapping):
        return False
    if entry.type == "olm.constraint":
        wrapped = entry.value.get("cel")
        rule_text = objects.mapping(wrapped).get("rule")
        return (wrapped is None or isinstance(wrapped, Mapping)) and (
            rule_text is None or isinstance(rule_text, str)
        )
    return all(
        entry.value.get(key) is None or isinstance(entry.value[key], str)
        for key in _KEYS[entry.type]
    )


def range_problem(text: Any) -> str:
    """Return why a string is not a version range; empty if it is one."""
    if not isinstance(text, str):
        return "not a string"
    from olmkit.base.versions import InvalidRangeError, VersionRange

    try:
        VersionRange.parse(text)
    except InvalidRangeError as error:
        return error.message
    return ""


def _other_keys(document: Document, section: str) -> Iterator[Finding]:
    for key in objects.mapping(document.value):
        if key not in ("dependencies", "properties", "annotations"):
            yield Finding(
                f"`{key}` next to `{section}` makes tools drop the whole file",
                at=document.at_key(key),
                hint=f"keep `{section}` as the only key",
            )


def json_value(text: str) -> Any:
    """Return the value of a JSON string, `None` if it is not valid JSON."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def find_repeated(entries: tuple[FileProperty, ...], noun: str) -> Iterator[Finding]:
    """Yield a finding for each entry that is equal to an earlier one."""
    seen: dict[bytes, FileProperty] = {}
    for entry in entries if len(entries) > 1 else ():
        key = documents.dump_json([entry.type, entry.value])
        first = seen.setdefault(key, entry)
        if first is not entry:
            yield Finding(
                f"the same {noun} is listed twice",
                at=entry.at(),
                hint="remove one of them",
                related=(Related(first.at(), "first listed here"),),
                fix=fixes.remove_entry(entry.document, entry.keys),
            )
