"""The objects of a collection that a request selects."""

from __future__ import annotations

from aiohttp import web

from olmkit.base.diagnostics import InputError
from olmkit.testing.apiserver import refusals
from olmkit.testing.apiserver.kinds.collection import Collection, Selection


def select(request: web.Request, collection: Collection, namespace: str) -> Selection:
    """Return the objects that a request selects; raise a `Refusal` for an invalid selector."""
    try:
        found = Selection.parse(collection, namespace, request.query)
    except InputError as error:
        raise refusals.bad_request(str(error)) from error
    if isinstance(found, str):
        raise refusals.bad_request(found)
    return found
