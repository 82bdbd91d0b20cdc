"""The entries of a template as blobs, with their places in the template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from olmkit.base import findings
from olmkit.base.diagnostics import InputError
from olmkit.base.json import text as json_text
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.templates.findings import ENTRY
from olmkit.catalog.templates.source import Template

_SHOWN: Final = 120


def blobs(template: Template) -> Iterator[Blob]:
    """Yield every entry as a blob. Raises `InputError` for one that cannot be a blob."""
    for index, value in enumerate(template.fields["entries"] or ()):
        yield _blob(template, index, value)


def _blob(template: Template, index: int, value: Any) -> Blob:
    at = template.at("entries", index)
    if not isinstance(value, dict):
        raise findings.error(
            ENTRY, "the entry is not an object", at=at, hint="write a blob with `schema`"
        )
    try:
        blob = Blob.of(value)
        blob.fields  # noqa: B018 - checks the types of the fields
    except InputError as error:
        raise findings.error(ENTRY, error.message, at=at) from None
    if not blob.schema:
        shown = json_text.compact(value, escape_html=False).decode()[:_SHOWN]
        raise findings.error(
            ENTRY,
            f"the entry `{shown}` lacks `schema`",
            at=at,
            hint="set the kind of the blob, such as `schema: olm.channel`",
        )
    return blob
