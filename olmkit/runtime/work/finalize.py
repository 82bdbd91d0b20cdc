"""Several finalizers of one kind, each with its clean-up function.

They change the object in memory: the caller writes it once, with its resource version.
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
"""Cleans up for an object; may change its status. It may be called again for the same object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalized:
    """The changed object, and the errors of clean-ups."""

    updated: bool = False
    status_updated: bool = False
    errors: tuple[Exception, ...] = ()

    def check(self) -> None:
        """Raise the errors of clean-ups; call it after the object was written."""
        if self.errors:
            raise ExceptionGroup("some clean-ups failed", self.errors)


class Finalizers:
    """The finalizers of one kind by name."""

    def __init__(self) -> None:
        self._clean_ups: dict[str, CleanUp] = {}

    def add(self, name: str, clean_up: CleanUp) -> None:
        """Add a finalizer; raise `ValueError` if the name is in use or has no domain."""
        if name in self._clean_ups:
            raise ValueError(f"a finalizer `{name}` already exists")
        if "/" not in name:
            raise ValueError(f"a finalizer's name must start with a domain: `example.com/{name}`")
        self._clean_ups[name] = clean_up

    async def run(self, manifest: Manifest) -> Finalized:
        """Add missing finalizers, or clean up and remove finalizers if the object is being deleted.

        The clean-up of every present finalizer runs; if it fails, its finalizer stays.
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
                _LOG.warning("clean-up failed", extra={"finalizer": name, "error": repr(error)})
                errors.append(error)
            else:
                is_updated |= finalizers.remove(manifest, name)
        return Finalized(
            updated=is_updated,
            status_updated=manifest.get("status") != status,
            errors=tuple(errors),
        )
