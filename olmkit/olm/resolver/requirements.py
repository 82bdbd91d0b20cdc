"""The requirements of a bundle as predicates over entries, as in OLM v0.

The requirements are in properties. A compound constraint applies to one bundle at a time: a single
bundle must meet all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from olmkit.base import texts
from olmkit.base.cel import checking
from olmkit.base.cel import evaluation as cel_evaluation
from olmkit.base.cel import expressions as cel
from olmkit.base.cel import operators as cel_operators
from olmkit.base.cel.values import EvaluationError
from olmkit.base.versions import InvalidRangeError, InvalidVersionError, Version, VersionRange
from olmkit.bundle import constraints
from olmkit.catalog.blobs import properties, shapes
from olmkit.catalog.blobs.shapes import Field, Object, ShapeError, Text
from olmkit.kube.objects import GVK
from olmkit.olm.resolver import resolution
from olmkit.olm.resolver.resolution import ResolutionError, ResolverEntry, ResolverProperty

_VARIABLES = {"properties": cel.list_of(cel.map_of(cel.STRING, cel.DYN))}
_FUNCTIONS = {"semver_compare": (2, cel.INT)}
# Of a constraint with several kinds OLM uses the first of these. OLM's message repeats the term of
# the range before the error.
_OF_RANGE: Final = re.compile(r'Could not parse Range ".*?": ')
_SHAPES: Final = {
    properties.GVK_REQUIRED: properties.SHAPES[properties.GVK_REQUIRED],
    properties.PACKAGE_REQUIRED: properties.SHAPES[properties.PACKAGE_REQUIRED],
    properties.LABEL_REQUIRED: Object(go="LabelRequired", fields=(Field("label", Text()),)),
}
_ORDER: Final = ("gvk", "package", "all", "any", "not", "cel")


class EntryPredicate(Protocol):
    """A predicate over entries; its text is as in OLM's messages."""

    def holds(self, entry: ResolverEntry) -> bool: ...


@dataclass(frozen=True, slots=True)
class Provides:
    api: GVK

    def holds(self, entry: ResolverEntry) -> bool:
        return self.api in entry.apis

    def __str__(self) -> str:
        group, version, kind = self.api
        return f"providing an API with group: {group}, version: {version}, kind: {kind}"


@dataclass(frozen=True, slots=True)
class InRange:
    package: str
    range: VersionRange
    text: str

    def holds(self, entry: ResolverEntry) -> bool:
        if entry.package != self.package and self.package not in entry.packages:
            return False
        own = [] if entry.version is None else [entry.version]
        return any(version in self.range for version in (*own, *_versions(entry)))

    def __str__(self) -> str:
        return f"with package: {self.package} and with version in range: {self.text}"


@dataclass(frozen=True, slots=True)
class HasLabel:
    label: str

    def holds(self, entry: ResolverEntry) -> bool:
        return any(value.get("label") == self.label for value in entry.values(properties.LABEL))

    def __str__(self) -> str:
        return f"with label: {self.label}"


@dataclass(frozen=True, slots=True)
class Compound:
    """`all`, `any` or `not` of other predicates."""

    word: str
    parts: tuple[EntryPredicate, ...]

    def holds(self, entry: ResolverEntry) -> bool:
        found = (part.holds(entry) for part in self.parts)
        match self.word:
            case "all":
                return all(found)
            case "any":
                return any(found)
            case _:
                return not any(found)

    def __str__(self) -> str:
        joint = {"all": " and ", "any": " or ", "not": " and not "}[self.word]
        return joint.join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class CelRule:
    """A CEL rule over the properties of an entry; False if its evaluation fails."""

    expression: cel.Expr
    text: str
    message: str

    def holds(self, entry: ResolverEntry) -> bool:
        values = [{"type": one.type, "value": _doubles(one.value)} for one in entry.properties]
        functions: Mapping[str, Callable[..., Any]] = {"semver_compare": _compare}
        try:
            found = cel_evaluation.evaluate(self.expression, {"properties": values}, functions)
        except EvaluationError:
            return False
        return found is True

    def __str__(self) -> str:
        return f"with constraint: {json.dumps(self.text)} and message: {json.dumps(self.message)}"


def entry_requirements(entry: ResolverEntry) -> list[EntryPredicate]:
    """Return the requirements in the order of the properties. Raises `ResolutionError`."""
    found = []
    for one in entry.properties:
        try:
            found.append(_parse_property(one))
        except ResolutionError as error:
            subject = "the installed" if entry.is_installed else "the bundle"
            fact = f"{subject} `{entry.name}` has a property `{one.type}` that OLM cannot read"
            raise ResolutionError(error.kind, error.message, f"{fact}: {error.fact}") from None
    return [one for one in found if one is not None]


def _parse_property(one: ResolverProperty) -> EntryPredicate | None:
    match one.type:
        case properties.GVK_REQUIRED:
            return Provides(resolution.api_of(_decoded(one)))
        case properties.PACKAGE_REQUIRED:
            return _parse_range(_decoded(one), "range", "")
        case properties.LABEL_REQUIRED:
            return HasLabel(_decoded(one)["label"])
        case properties.CONSTRAINT:
            return _constraint(one)
        case _:
            return None


def _decoded(one: ResolverProperty) -> Mapping[str, str]:
    """Return the value of a property as OLM decodes it: keys in any case, strings only."""
    try:
        return shapes.read(_SHAPES[one.type], one.value)
    except ShapeError as error:
        raise ResolutionError("property", error.message) from None


def _parse_range(value: Mapping[str, Any], kind: str, before: str) -> InRange:
    package, text = (str(value.get(key) or "") for key in ("packageName", "versionRange"))
    try:
        wanted = VersionRange.parse(text)
    except InvalidRangeError as error:
        reason = _OF_RANGE.sub("", error.reason)
        fact = f"the range `{texts.shorten(text)}` of package `{package}` is invalid: {reason}"
        if not text.strip():
            fact = f"the range of package `{package}` is missing"
        raise ResolutionError(kind, f"{before}{error.reason}", fact) from None
    return InRange(package, wanted, text)


def _constraint(one: ResolverProperty) -> EntryPredicate:
    found = constraints.read(one.value)
    for problem in found.problems:
        if problem.stage is constraints.ConstraintStage.PARSE:
            message = f"parse olm.constraint: {problem.message}"
            raise ResolutionError("constraint-parse", message, problem.message)
    return _convert(found.value)


def _convert(value: Mapping[str, Any]) -> EntryPredicate:
    before = "convert olm.constraint to resolver predicate: "
    message = str(value.get("failureMessage", ""))
    for key in _ORDER:
        inner = value.get(key)
        if inner is None:
            continue
        if key == "gvk":
            return Provides(resolution.api_of(inner))
        if key == "package":
            return _parse_range(inner, "constraint-convert", before)
        if key == "cel":
            return _rule(str(inner.get("rule", "")), message, before)
        parts = tuple(_convert(part) for part in inner.get("constraints") or ())
        return Compound(key, parts)
    empty = "constraint is empty"
    raise ResolutionError("constraint-convert", f"{before}{empty}", f"the {empty}")


def _rule(text: str, message: str, before: str) -> CelRule:
    try:
        expression = cel.parse(text)
        found = checking.check(expression, _VARIABLES, _FUNCTIONS)
    except cel.CelError as error:
        fact = f"the CEL rule `{texts.shorten(text)}` is invalid: {error.message}"
        raise ResolutionError("constraint-convert", f"{before}{error.message}", fact) from None
    if found != cel.BOOL:
        message = f"the rule is {found}, not bool"
        fact = f"the CEL rule `{texts.shorten(text)}` is {found}, not bool"
        raise ResolutionError("constraint-convert", f"{before}{message}", fact)
    return CelRule(expression, text, message)


def _versions(entry: ResolverEntry) -> Iterator[Version]:
    for value in entry.values(properties.PACKAGE):
        try:
            yield Version.parse(str(value.get("version", "")))
        except InvalidVersionError:
            continue


def _compare(left: Any, right: Any) -> int:
    try:
        one, other = (
            Version.parse_tolerantly(cel_operators.text_of(value)) for value in (left, right)
        )
    except InvalidVersionError as error:
        raise EvaluationError(error.reason) from None
    return int(other < one) - int(one < other)


def _doubles(value: Any) -> Any:
    """Return the value with all numbers as doubles, like the JSON parser of the reference."""
    match value:
        case bool() | str() | None:
            return value
        case int() | float():
            return float(value)
        case Mapping():
            return {key: _doubles(inner) for key, inner in value.items()}
        case list():
            return [_doubles(inner) for inner in value]
        case _:
            return value
