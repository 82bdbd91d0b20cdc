"""Parse values of `olm.constraint` like OLM's resolver, with its errors.

A constraint is one of `gvk`, `package`, `cel`, `all`, `any` and `not`; the last three have a list
of constraints. OLM decodes the value with Go's JSON (keys in any case, unknown keys refused), then
converts it to predicates, and an error in either step stops the resolution of a whole namespace. An
empty list or an API without a kind is not an error for OLM, but has no useful meaning.

Source: github.com/operator-framework/api/pkg/constraints; `convertConstraints` of OLM's resolver.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from olmkit.kube import objects

KINDS: Final = ("gvk", "package", "cel", "all", "any", "not")
COMPOUNDS: Final = ("all", "any", "not")
MAX_SIZE: Final = 2 << 16  # bytes of JSON: maxConstraintSize
_MAX_DEPTH: Final = 200

Key = str | int

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "gvk": ("group", "version", "kind"),
    "package": ("packageName", "versionRange"),
    "cel": ("rule",),
}


class ConstraintStage(StrEnum):
    """The source of an error: OLM's decoder, OLM's conversion to predicates, or olmkit."""

    PARSE = "parse"
    CONVERT = "convert"
    SENSE = "sense"


class ConstraintProblem(NamedTuple):
    """One error, with the keys of its place below the value of the constraint."""

    keys: tuple[Key, ...]
    message: str
    stage: ConstraintStage
    hint: str = ""


class ConstraintReading(NamedTuple):
    """A constraint with its keys spelled as in OLM, and all of its errors, in order."""

    value: dict[str, Any]
    problems: tuple[ConstraintProblem, ...]


def read(value: Any) -> ConstraintReading:
    """Return the constraint in a value of `olm.constraint`."""
    reader = _Reader()
    if len(json.dumps(value)) > MAX_SIZE:
        reader.add((), f"the constraint is larger than {MAX_SIZE} bytes", ConstraintStage.PARSE)
        return ConstraintReading({}, tuple(reader.problems))
    found = reader.constraint(value, ())
    return ConstraintReading(found, tuple(reader.problems))


def rule_problems(
    constraint: Any, keys: tuple[Key, ...] = ()
) -> Iterator[tuple[tuple[Key, ...], str]]:
    """Yield each CEL rule of a constraint, including compounds, that does not compile."""
    if not isinstance(constraint, Mapping) or len(keys) > _MAX_DEPTH:
        return
    text = objects.mapping(constraint.get("cel")).get("rule")
    if isinstance(text, str) and text:
        problem = _cel_problem(text)
        if problem:
            yield (*keys, "cel", "rule"), problem
    for compound in ("all", "any", "not"):
        listed = objects.sequence(objects.mapping(constraint.get(compound)).get("constraints"))
        for index, inner in enumerate(listed):
            yield from rule_problems(inner, (*keys, compound, "constraints", index))


def _cel_problem(text: str) -> str:
    from olmkit.base.cel import checking
    from olmkit.base.cel import expressions as cel

    # The variables of a constraint: the properties of a candidate, and versions.
    variables = {"properties": cel.list_of(cel.map_of(cel.STRING, cel.DYN))}
    functions = {"semver_compare": (2, cel.INT)}
    try:
        result = checking.check(cel.parse(text), variables, functions)
    except cel.CelError as error:
        before = text[: error.offset]
        line, column = before.count("\n") + 1, error.offset - before.rfind("\n")
        return f"{line}:{column}: {error.message}"
    return "" if result == cel.BOOL else "cel expressions must have type Bool"


class _Reader:
    def __init__(self) -> None:
        self.problems: list[ConstraintProblem] = []

    def add(
        self, keys: tuple[Key, ...], message: str, stage: ConstraintStage, hint: str = ""
    ) -> None:
        self.problems.append(ConstraintProblem(keys, message, stage, hint))

    def constraint(self, value: Any, keys: tuple[Key, ...]) -> dict[str, Any]:
        found = self._mapping(value, keys, ("failureMessage", *KINDS), texts=("failureMessage",))
        present = [kind for kind in KINDS if found.get(kind) is not None]
        if not present:
            kinds = ", ".join(f"`{kind}`" for kind in KINDS)
            self.add(
                keys, "the constraint is empty", ConstraintStage.CONVERT, f"give it one of {kinds}"
            )
        elif len(present) > 1:
            kinds = ", ".join(f"`{kind}`" for kind in present)
            hint = "put them below `all: {constraints: [...]}`"
            self.add(
                keys, f"a constraint must have exactly one of {kinds}", ConstraintStage.SENSE, hint
            )
        for kind in present:
            place = (*keys, _written_key(value, kind))
            if kind in COMPOUNDS:
                found[kind] = self._compound(found[kind], kind, place)
            else:
                found[kind] = self._atom(found[kind], kind, place)
        return found

    def _compound(self, value: Any, kind: str, keys: tuple[Key, ...]) -> dict[str, Any]:
        found = self._mapping(value, keys, ("constraints",))
        listed = found.get("constraints")
        place = (*keys, _written_key(value, "constraints"))
        if listed is not None and not isinstance(listed, list):
            self.add(place, "`constraints` must be a list", ConstraintStage.PARSE)
            listed = []
        elif not listed and isinstance(value, Mapping):
            words = "no bundle" if kind == "any" else "every bundle of the catalog"
            self.add(
                keys,
                f"`{kind}` lists no constraints, so {words} meets it",
                ConstraintStage.SENSE,
                "list at least one constraint, or remove it",
            )
        if len(keys) > _MAX_DEPTH:
            self.add(
                keys,
                f"the constraint is nested more than {_MAX_DEPTH} levels deep",
                ConstraintStage.PARSE,
            )
            listed = []
        inner = [self.constraint(one, (*place, at)) for at, one in enumerate(listed or ())]
        return {"constraints": inner}

    def _atom(self, value: Any, kind: str, keys: tuple[Key, ...]) -> dict[str, Any]:
        fields = _FIELDS[kind]
        found = self._mapping(value, keys, fields, texts=fields)
        if not isinstance(value, Mapping):
            return found
        for field in fields:
            if not found.get(field) and field != "versionRange":
                stage = ConstraintStage.CONVERT if kind == "cel" else ConstraintStage.SENSE
                message = f"`{field}` of `{kind}` is missing"
                self.add(
                    (*keys, _written_key(value, field)), message, stage, f"give `{field}` a value"
                )
        if kind == "package":
            self._range(
                found.get("versionRange") or "", (*keys, _written_key(value, "versionRange"))
            )
        return found

    def _range(self, text: str, keys: tuple[Key, ...]) -> None:
        from olmkit.base.versions import InvalidRangeError, VersionRange  # slow to import

        try:
            VersionRange.parse(text)
        except InvalidRangeError as error:
            self.add(
                keys,
                f"`versionRange` of `package` is not a version range: {error.reason}",
                ConstraintStage.CONVERT,
                "write it like `>=1.0.0 <2.0.0`",
            )

    def _mapping(
        self,
        value: Any,
        keys: tuple[Key, ...],
        known: tuple[str, ...],
        *,
        texts: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        if value is not None and not isinstance(value, Mapping):
            is_named = bool(keys) and isinstance(keys[-1], str)
            name = f"`{keys[-1]}`" if is_named else "a constraint"
            self.add(keys, f"{name} must be a mapping", ConstraintStage.PARSE)
        if not isinstance(value, Mapping):
            return {}
        folded = {one.lower(): one for one in known}
        found: dict[str, Any] = {}
        for key, inner in value.items():
            field = folded.get(str(key).lower(), "")
            if not field:
                listed = ", ".join(f"`{one}`" for one in known)
                message = f"unknown field {json.dumps(str(key))}"
                self.add((*keys, key), message, ConstraintStage.PARSE, f"use one of {listed}")
            elif field in texts and inner is not None and not isinstance(inner, str):
                self.add(
                    (*keys, key),
                    f"`{key}` must be a string",
                    ConstraintStage.PARSE,
                    "put it in quotes",
                )
            elif inner is not None:
                found[field] = inner
        return found


def _written_key(value: Any, field: str) -> str:
    """Return the key of a field as written, or its usual spelling if it is absent."""
    keys = (str(key) for key in value) if isinstance(value, Mapping) else ()
    return next((key for key in keys if key.lower() == field.lower()), field)
