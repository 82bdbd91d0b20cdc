"""The rules of the API server for the CEL rules of a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.kube.crds.schema_problems import (
    Keys,
    SchemaProblem,
    as_list,
    invalid,
    missing,
    unsupported,
)

_REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)


def check_validations(
    node: Mapping[str, Any], at: Keys, *, is_root: bool
) -> Iterator[SchemaProblem]:
    from olmkit.base.cel import expressions as cel
    from olmkit.kube.crds import cel_fields, cel_types

    for index, entry in enumerate(as_list(node["x-kubernetes-validations"])):
        text = entry.get("rule") if isinstance(entry, dict) else None
        keys = (*at, "x-kubernetes-validations", index, "rule")
        if not isinstance(text, str) or not text.strip():
            yield missing(keys, "rule is not specified")
            continue
        try:
            rule = cel.parse(text)
        except cel.CelError as error:
            yield invalid(keys, text, f"compilation failed: {error.message}")
            continue
        unknown = list(cel_fields.unknown(rule, node, is_object=is_root))
        for field in unknown:
            yield invalid(keys, text, f"compilation failed: undefined field '{field.text}'")
        fault = cel_types.fault(
            rule,
            text,
            node,
            is_object=is_root,
            is_optional=entry.get("optionalOldSelf") is not None,
        )
        if fault and not unknown:
            yield invalid(keys, text, f"compilation failed: {fault}")
        yield from _check_rule_texts(entry, text.strip(), keys[:-1])


def _check_rule_texts(entry: Mapping[str, Any], rule: str, at: Keys) -> Iterator[SchemaProblem]:
    message, reason = entry.get("message"), entry.get("reason")
    if isinstance(message, str) and message and not message.strip():
        yield invalid((*at, "message"), message, "must be non-empty if specified")
    elif isinstance(message, str) and _is_broken(message.strip()):
        yield invalid((*at, "message"), message, "must not contain line breaks")
    elif not message and not entry.get("messageExpression") and _is_broken(rule):
        detail = "message must be specified if rule contains line breaks"
        yield missing((*at, "message"), detail)
    if isinstance(reason, str) and reason not in _REASONS:
        yield unsupported((*at, "reason"), reason, _REASONS)
    if entry.get("optionalOldSelf") is not None and "oldSelf" not in rule:
        detail = "may not be set if oldSelf is not used in rule"
        yield invalid((*at, "optionalOldSelf"), entry["optionalOldSelf"], detail)


def _is_broken(text: str) -> bool:
    return "\n" in text or "\r" in text
