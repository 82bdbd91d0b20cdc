"""The forms of `ci.yaml` and `release-config.yaml`, and deviations from them.

Source: `ci-schema.json` and `release-config-schema.json` of the pipelines of OpenShift's catalogs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from olmkit.base.documents import Key, field_path

_SHOWN: Final = 80
_FORMER: Final = frozenset({"addReviewers"})  # OperatorHub.io's pipeline supported it


class Misfit(NamedTuple):
    """A value with a wrong form, or a missing or unknown key. `of_key`: the key itself."""

    keys: tuple[Key, ...]
    message: str
    hint: str
    of_key: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The form of a value. `closed` refuses unknown keys."""

    type: str
    fields: Mapping[str, Form] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    closed: bool = False
    item: Form | None = None
    is_filled: bool = False
    is_unique: bool = False
    values: tuple[str, ...] = ()


_TEXT: Final = Form(type="text")
_TRUTH: Final = Form(type="boolean")
_TEXTS: Final = Form(type="list", item=_TEXT, is_filled=True)
_UNIQUE: Final = Form(type="list", item=_TEXT, is_filled=True, is_unique=True)

CI: Final = Form(
    type="object",
    fields={
        "updateGraph": Form(type="text", values=("replaces-mode", "semver-mode")),
        "reviewers": _TEXTS,
        "merge": _TRUTH,
        "cert_project_id": _TEXT,
        "fbc": Form(
            type="object",
            closed=True,
            fields={
                "enabled": _TRUTH,
                "version_promotion_strategy": Form(
                    type="text", values=("review-needed", "always", "never")
                ),
                "catalog_mapping": Form(
                    type="list",
                    item=Form(
                        type="object",
                        required=("template_name", "type", "catalog_names"),
                        fields={
                            "template_name": _TEXT,
                            "catalog_names": _UNIQUE,
                            "type": Form(type="text", values=("olm.template.basic", "olm.semver")),
                        },
                    ),
                ),
            },
        ),
    },
)
RELEASE: Final = Form(
    type="object",
    closed=True,
    required=("catalog_templates",),
    fields={
        "merge": _TRUTH,
        "catalog_templates": Form(
            type="list",
            is_filled=True,
            is_unique=True,
            item=Form(
                type="object",
                required=("template_name", "channels"),
                fields={
                    "template_name": _TEXT,
                    "channels": _UNIQUE,
                    "defaultChannel": _TEXT,
                    "replaces": _TEXT,
                    "skips": _UNIQUE,
                    "skipRange": _TEXT,
                },
            ),
        ),
    },
)
_TYPES: Final[Mapping[str, tuple[type, str]]] = {
    "text": (str, "a text"),
    "boolean": (bool, "`true` or `false`"),
    "list": (list, "a list"),
    "object": (dict, "a mapping"),
}


def misfits(form: Form, value: Any, keys: tuple[Key, ...] = ()) -> Iterator[Misfit]:
    """Yield each deviation of `value` from `form`."""
    import difflib

    type_, words = _TYPES[form.type]
    if not isinstance(value, type_):
        shown = _format_value(value)
        where = f"`{field_path(keys)}`" if keys else "the file"
        yield Misfit(keys, f"{where} is {shown}, not {words}", f"write {words}")
        return
    if form.values and value not in form.values:
        near = difflib.get_close_matches(str(value), list(form.values), n=1, cutoff=0.5)
        yield Misfit(
            keys,
            f"`{field_path(keys)}` is {_format_value(value)}",
            f"write `{near[0]}`" if near else f"use one of {_list_values(form.values)}",
        )
    if isinstance(value, dict):
        yield from _members(form, value, keys)
    elif isinstance(value, list):
        yield from _items(form, value, keys)


def _members(form: Form, value: Mapping[str, Any], keys: tuple[Key, ...]) -> Iterator[Misfit]:
    import difflib

    for name in form.required:
        if name not in value:
            yield Misfit(
                keys,
                f"`{field_path((*keys, name))}` is missing",
                f"add `{name}`",
                of_key=bool(keys),
            )
    for name, item in value.items():
        if name in form.fields:
            yield from misfits(form.fields[name], item, (*keys, name))
        elif form.closed:
            near = difflib.get_close_matches(str(name), list(form.fields), n=1)
            yield Misfit(
                (*keys, name),
                f"unknown field `{field_path((*keys, name))}`"[:200],
                f"did you mean `{near[0]}`" if near else f"use {_list_values(form.fields)}",
                of_key=True,
            )


def _items(form: Form, value: list[Any], keys: tuple[Key, ...]) -> Iterator[Misfit]:
    if form.is_filled and not value:
        yield Misfit(keys, f"`{field_path(keys)}` is empty", "list at least one, or remove the key")
    for index, item in enumerate(value):
        if form.is_unique and item in value[:index]:
            yield Misfit(
                (*keys, index),
                f"`{field_path(keys)}` lists {_format_value(item)} twice",
                "keep one",
            )
        if form.item is not None:
            yield from misfits(form.item, item, (*keys, index))


def unknown(form: Form, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the unknown keys at the top that are nearly those of `form`, with what was meant."""
    import difflib

    if isinstance(value, dict):
        for name in map(str, value):
            if name not in form.fields and name not in _FORMER:
                near = difflib.get_close_matches(str(name), list(form.fields), n=1, cutoff=0.75)
                if near:
                    yield name, near[0]


def _format_value(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"`{str(value)[:_SHOWN]}`"


def _list_values(values: Any) -> str:
    return ", ".join(f"`{value}`" for value in values)
