"""The built-in tests of the scorecard, run on the files of a bundle without a cluster.

Source: operator-sdk 1.42.3, `images/scorecard-test` and `internal/scorecard/tests`. Names,
states, messages and suggestions are the same, except for these:

- A bundle that cannot be loaded ends the process of operator-sdk's test, whose log is then not
  JSON. Here the test fails, and names the faults.
- The errors and suggestions of `olm-bundle-validation` are the findings of our rules.
- A sample whose `spec` or `status` is not an object ends the process there, too.
- Keys that are missing come in the order of the sample, not in an order that differs in each run.
- Logs name the CRDs, instead of printing their Go values.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from olmkit.base.diagnostics import Diagnostic, Severity
from olmkit.bundle.model import Bundle, CustomResourceDefinition
from olmkit.bundle.scorecard.configuration import ScorecardTest
from olmkit.bundle.scorecard.results import ERROR, FAIL, PASS, ScorecardResult, failure
from olmkit.kube import objects
from olmkit.rules import engine, examples

PROGRAM: Final = "scorecard-test"
IMAGE: Final = "scorecard-test"

# Problems that prevent operator-sdk's reader from loading a bundle.
_LOADER: Final = (
    *("DOC001", "OBJ001", "OBJ002", "OBJ003", "CSV001", "CSV002", "CSV003", "CSV004"),
    *("CRD002", "CRD003", "MET001", "MET006", "MET007"),
)
_EMPTY: Final = ("OBJ004",)
# Rules about objects other than the CSV and CRDs, which `olm-bundle-validation` does not run.
_GENERIC: Final = (*_EMPTY, "OBJ005", "OBJ006")
_CONVENTIONS: Final = (
    "https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/"
    "api-conventions.md#spec-and-status"
)
_MARKERS: Final = (
    "https://sdk.operatorframework.io/docs/building-operators/golang/references/markers/"
)

Samples = tuple[Mapping[str, Any], ...]


class _UnparsableError(ValueError):
    """The samples cannot be read; the message has the reason."""


def name_of(test: ScorecardTest) -> str | None:
    """Return the name of a test in operator-sdk's test image; None for another image."""
    repository = test.image.partition("@")[0]
    image, _, _ = posixpath.basename(repository).partition(":")
    if image != IMAGE or posixpath.basename("".join(test.entrypoint[:1])) != PROGRAM:
        return None
    return "".join(test.entrypoint[1:2])


def run(name: str, bundle: Bundle) -> tuple[ScorecardResult, ...]:
    """Return the results of the built-in test of that name."""
    problems = _problems(bundle)
    if problems:
        messages = tuple(_format_finding(found) for found in problems)
        return (ScorecardResult(state=FAIL, errors=("the bundle cannot be loaded", *messages)),)
    if not name:
        return failure("test name argument is required")
    if name not in TESTS:
        return failure(f"Valid tests for this image include: {', '.join(TESTS)}")
    return (TESTS[name](bundle)._replace(name=name),)


def _problems(bundle: Bundle) -> list[Diagnostic]:
    # A manifest of only blanks or comments is loaded as empty; one without a byte is not.
    hollow = any(not bundle.data(one) for one in bundle.manifests if one.value is None)
    select = (*_LOADER, *_EMPTY) if hollow else _LOADER
    found = engine.run(bundle, engine.choose(engine.profile("operator-sdk"), select=select))
    return [one for one in found if one.severity is Severity.ERROR]


def _format_finding(found: Diagnostic) -> str:
    place = f"{found.at}: " if found.at else ""
    return f"{str(found.severity).capitalize()}: {place}{found.rule}: {found.message}"


def _bundle_validation(bundle: Bundle) -> ScorecardResult:
    rules = engine.choose(engine.profile("operator-sdk"), ignore=_GENERIC)
    found = engine.run(bundle, rules)
    errors = tuple(_format_finding(one) for one in found if one.severity is Severity.ERROR)
    warnings = tuple(_format_finding(one) for one in found if one.severity is Severity.WARNING)
    return _result(errors, warnings)


def _check_spec(bundle: Bundle) -> ScorecardResult:
    try:
        samples = _samples(bundle)
    except _UnparsableError as error:
        return ScorecardResult(state=FAIL, errors=(f"error getting custom resources: {error}",))
    for sample in samples:
        if sample.get("spec") is None:
            return ScorecardResult(suggestions=(f"spec missing from [{objects.name(sample)}]",))
    return ScorecardResult()


def _crds_have_validation(bundle: Bundle) -> ScorecardResult:
    try:
        samples = _samples(bundle)
    except _UnparsableError as error:
        return ScorecardResult(state=ERROR, errors=(str(error),))
    log = _loaded_samples(samples)
    names = " ".join(crd.name for crd in bundle.crds)
    log += f"Loaded CustomresourceDefinitions: [{names}]\n"
    errors: list[str] = []
    suggestions: list[str] = []
    failed = False
    for sample in samples:
        wrong = list(_wrong_parts(sample, "spec", "status"))
        errors += wrong
        for crd, version in _find_served(bundle, sample) if not wrong else ():
            schema = _schema(crd, version)
            if schema is None:
                named = f"{crd.defined_kind}/{objects.scalar_text(version.get('name'))}"
                suggestions.append(f"Add CRD validation for {named}")
                continue
            missing = list(_unknown_fields(sample, schema))
            suggestions += missing
            if missing:
                failed = True
                break
    result = _result(errors, suggestions, log)
    return result._replace(state=FAIL) if failed else result


def _find_served(
    bundle: Bundle, sample: Mapping[str, Any]
) -> Iterator[tuple[CustomResourceDefinition, Mapping[str, Any]]]:
    """Return the CRD versions with the version and kind of the sample, in any group."""
    gvk = examples.gvk_of(sample)
    for crd in bundle.crds:
        for version in crd.versions:
            name = objects.scalar_text(version.get("name"))
            if (name.casefold(), crd.defined_kind.casefold()) == (
                gvk.version.casefold(),
                gvk.kind.casefold(),
            ):
                yield crd, version


def _schema(crd: CustomResourceDefinition, version: Mapping[str, Any]) -> Mapping[str, Any] | None:
    holder = version.get("schema") or (crd.spec.get("validation") if crd.is_beta else None)
    return objects.mapping(objects.mapping(holder).get("openAPIV3Schema")) if holder else None


def _unknown_fields(sample: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    gvk = examples.gvk_of(sample)
    known = objects.mapping(schema.get("properties"))
    for part in ("spec", "status"):
        fields = objects.mapping(objects.mapping(known.get(part)).get("properties"))
        for key in objects.mapping(sample.get(part)):
            if key not in fields:
                place = f"`{key}` in {gvk.kind}/{gvk.version}"
                yield f"Add CRD validation for {part} field {place}"


def _crds_have_resources(bundle: Bundle) -> ScorecardResult:
    owned = bundle.csv.owned_crds if bundle.csv else ()
    lacking = any(not objects.sequence(one.value.get("resources")) for one in owned)
    errors = ("Owned CRDs do not have resources specified",) if lacking else ()
    return _result(errors, (), _loaded_csv(bundle))


def _spec_descriptors(bundle: Bundle) -> ScorecardResult:
    return _descriptors(bundle, _spec_descriptor_problems)


def _status_descriptors(bundle: Bundle) -> ScorecardResult:
    return _descriptors(bundle, _status_descriptor_problems)


Problems = tuple[list[str], list[str], bool]
"""Errors, suggestions, and whether the test failed: it can fail without an error."""


def _descriptors(
    bundle: Bundle, check: Callable[[Bundle, Mapping[str, Any]], Problems]
) -> ScorecardResult:
    log = _loaded_csv(bundle)
    try:
        samples = _samples(bundle)
    except _UnparsableError as error:
        return ScorecardResult(state=ERROR, errors=(str(error),), log=log)
    errors: list[str] = []
    suggestions: list[str] = []
    failed = False
    for sample in samples:
        found = check(bundle, sample)
        errors += found[0]
        suggestions += found[1]
        failed = failed or found[2]
    result = _result(errors, suggestions, log + _loaded_samples(samples))
    return result._replace(state=FAIL) if failed else result


def _spec_descriptor_problems(bundle: Bundle, sample: Mapping[str, Any]) -> Problems:
    if sample.get("spec") is None:
        return [f"the sample {objects.name(sample)} has no spec"], [], True
    wrong = list(_wrong_parts(sample, "spec"))
    if wrong:
        return wrong, [], True
    owned = _find_owned(bundle, sample)
    if owned is None:
        return [_not_owned(sample)], [], True
    described = {
        objects.scalar_text(objects.mapping(one).get("path"))
        for one in objects.sequence(owned.get("specDescriptors"))
    }
    missing = [key for key in sample["spec"] if key not in described]
    errors = [f"{key} does not have a spec descriptor" for key in missing]
    return errors, [f"Add a spec descriptor for {key}" for key in missing], bool(missing)


def _status_descriptor_problems(bundle: Bundle, sample: Mapping[str, Any]) -> Problems:
    owned = _find_owned(bundle, sample)
    if owned is None:
        return [_not_owned(sample)], [], True
    wrong = list(_wrong_parts(sample, "status"))
    if wrong:
        return wrong, [], True
    name = objects.scalar_text(owned.get("name"))
    if not sample.get("status"):
        suggestion = (
            f"{name} does not have status spec. Note that all objects that represent a physical "
            "resource whose state may vary from the user's desired intent SHOULD have a spec and a "
            f"status. More info: {_CONVENTIONS}"
        )
        return [], [suggestion], False
    if objects.sequence(owned.get("statusDescriptors")):
        return [], [], False
    suggestion = (
        f"add status descriptor for the crd {name}. If your project is built using Golang you can "
        f"use the csv markers. More info: {_MARKERS}"
    )
    return [f"{name} does not have a status descriptor"], [suggestion], True


def _find_owned(bundle: Bundle, sample: Mapping[str, Any]) -> Mapping[str, Any] | None:
    gvk = examples.gvk_of(sample)
    for one in bundle.csv.owned_crds if bundle.csv else ():
        if (one.gvk.kind, one.gvk.version) == (gvk.kind, gvk.version):
            return one.value
    return None


def _not_owned(sample: Mapping[str, Any]) -> str:
    gvk = examples.gvk_of(sample)
    shown = (
        f"{gvk.api_version}, Kind={gvk.kind}" if gvk.group else f"/{gvk.version}, Kind={gvk.kind}"
    )
    return f"Failed to find an owned CRD for CR {objects.name(sample)} with GVK {shown}"


def _samples(bundle: Bundle) -> Samples:
    """Return the samples in `alm-examples`, none without it; raise `_UnparsableError`."""
    text = bundle.csv.annotations.get(examples.ALM_EXAMPLES, "") if bundle.csv else ""
    found = examples.examples_of(bundle) if text else None
    problem = (found.syntax or found.shape) if found else ""
    if problem:
        raise _UnparsableError(f"failed to parse alm-examples annotation: {problem}")
    return found.items if found else ()


def _wrong_parts(sample: Mapping[str, Any], *parts: str) -> Iterator[str]:
    for part in parts:
        if sample.get(part) is not None and not isinstance(sample[part], Mapping):
            yield f"the {part} of the sample {objects.name(sample)} is not an object"


def _loaded_csv(bundle: Bundle) -> str:
    return f"Loaded ClusterServiceVersion: {bundle.csv.name if bundle.csv else ''}\n"


def _loaded_samples(samples: Samples) -> str:
    return f"Loaded {len(samples)} Custom Resources from alm-examples\n"


def _result(errors: Iterable[str], suggestions: Iterable[str], log: str = "") -> ScorecardResult:
    errors = tuple(errors)
    state = FAIL if errors else PASS
    return ScorecardResult(state=state, errors=errors, suggestions=tuple(suggestions), log=log)


# In the order in which operator-sdk lists them.
TESTS: Final[Mapping[str, Callable[[Bundle], ScorecardResult]]] = {
    "olm-bundle-validation": _bundle_validation,
    "olm-crds-have-validation": _crds_have_validation,
    "olm-crds-have-resources": _crds_have_resources,
    "olm-spec-descriptors": _spec_descriptors,
    "olm-status-descriptors": _status_descriptors,
    "basic-check-spec": _check_spec,
}
