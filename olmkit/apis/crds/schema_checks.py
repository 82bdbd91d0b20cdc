"""Find parts of schemas that an API server rejects, and report them at their lines.

controller-gen silently writes such schemas, and patches of an overlay can fix them. So the caller
sets the severity.
"""

from __future__ import annotations

from olmkit.apis.crds import source_positions
from olmkit.apis.crds.flatten import Schema
from olmkit.apis.findings import Findings
from olmkit.apis.model import Sources, Struct
from olmkit.base.diagnostics import Severity
from olmkit.kube.crds import field_errors, structural
from olmkit.kube.crds.schema_problems import Keys, SchemaFault

_HINTS = {
    "type": "mark it `+kubebuilder:pruning:PreserveUnknownFields`, or name its type",
    "uniqueItems": "use `+listType=set`",
    "x-kubernetes-map-type": "use `+structType=atomic` on the items, or `+listType=map`",
}
_CODES = {SchemaFault.STRUCTURE: "API028", SchemaFault.TYPE: "API028", SchemaFault.EMPTY: "API029"}
# Types that are unsupported, missing or recursive leave gaps in a schema.
_HOLES = frozenset({"API006", "API007", "API011"})


def check(
    schema: Schema, kind: Struct, sources: Sources, findings: Findings, *, severity: Severity
) -> None:
    """Report all parts of a kind's schema that an API server refuses, or that no value matches."""
    has_holes = any(one.rule in _HOLES for one in findings)
    for problem in structural.check(schema):
        keyword = str(problem.keys[-1])
        if problem.fault not in _CODES or (keyword == "type" and has_holes):
            continue
        code, at = _CODES[problem.fault], source_positions.find(sources, kind, problem.keys)
        words = problem.message.removeprefix(f"{field_errors.path(problem.keys)}: ")
        # A type that many fields use has only one wrong place.
        if any(
            (one.rule, one.at) == (code, at) and one.message.endswith(words) for one in findings
        ):
            continue
        path = _path(problem.keys)
        findings.add(
            code,
            f"no value fits `{path}`: {words}"
            if problem.fault is SchemaFault.EMPTY
            else f"the API server refuses `{path}`: {words}",
            at,
            hint=_HINTS.get(keyword, ""),
            severity=severity,
        )


def _path(keys: Keys) -> str:
    """Return the field of a schema: `spec.parts[].name`."""
    path, rest = "", list(keys)
    while len(rest) > 1:
        match rest.pop(0):
            case "properties":
                path += f".{rest.pop(0)}"
            case "items" | "additionalProperties":
                path += "[]"
            case _:
                break
    return path.removeprefix(".")
