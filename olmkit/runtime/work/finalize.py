"""Several finalizers of one kind, each with what has to be cleaned up before it goes.

In memory: the caller writes what changed, once, with the resource version in it.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from olmkit.kube import finalizers
from olmkit.kube.objects import Manifest

_LOG = logging.getLogger(__name__)

CleanUp = Callable[[Manifest], Awaitable[None]]
"""Undoes something; may change the object's status. It may be called again for the same object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalized:
    """What is to be written, and what could not be cleaned up yet."""

    updated: bool = False
    status_updated: bool = False
    errors: tuple[Exception, ...] = ()

    def check(self) -> None:
        """Raise what went wrong; after the rest was written."""
        if self.errors:
            raise ExceptionGroup("not everything is cleaned up", self.errors)


class Finalizers:
    """The finalizers of one kind by name."""

    def __init__(self) -> None:
        self._clean_ups: dict[str, CleanUp] = {}

    def add(self, name: str, clean_up: CleanUp) -> None:
        """One more; `ValueError` when it is there, or belongs to no domain."""
        if name in self._clean_ups:
            raise ValueError(f"there is a finalizer `{name}` already")
        if "/" not in name:
            raise ValueError(f"a finalizer's name begins with a domain: `example.com/{name}`")
        self._clean_ups[name] = clean_up

    async def run(self, manifest: Manifest) -> Finalized:
        """Put on what is missing or, when the object is being deleted, clean up and take off.

        Every clean-up is tried whose finalizer is there; one that fails keeps it.
        """
        if not finalizers.is_being_deleted(manifest):
            added = [finalizers.add(manifest, name) for name in self._clean_ups]
            return Finalized(updated=any(added))
        status = copy.deepcopy(manifest.get("status"))
        errors: list[Exception] = []
        is_updated = False
        for name, clean_up in self._clean_ups.items():
            if not finalizers.contains(manifest, name):
                continue
            try:
                await clean_up(manifest)
            except Exception as error:
                _LOG.warning("not cleaned up", extra={"finalizer": name, "error": repr(error)})
                errors.append(error)
            else:
                is_updated |= finalizers.remove(manifest, name)
        return Finalized(
            updated=is_updated,
            status_updated=manifest.get("status") != status,
            errors=tuple(errors),
        )
