"""Downgrades through OLM v1, which the policy of a ClusterExtension must allow."""

from __future__ import annotations

import json
from collections.abc import Iterator

from olmkit.base.versions import Version
from olmkit.catalog.model import Bundle


def is_older(bundle: Bundle, installed: Version | None) -> bool:
    """Return whether a bundle has a lower version than the installed one."""
    return (
        bundle.version is not None and installed is not None and bundle.version.version < installed
    )


def hint(extension: str) -> str:
    """Return the command that allows downgrades of a ClusterExtension."""
    policy = {"upgradeConstraintPolicy": "SelfCertified"}
    patch = json.dumps({"spec": {"source": {"catalog": policy}}}, separators=(",", ":"))
    return (
        f"to allow downgrades, run `kubectl patch clusterextension {extension} --type=merge "
        f"-p '{patch}'`; set it to `CatalogProvided` again afterwards"
    )


def notes(bundle: Bundle, name: str, installed: Version | None) -> Iterator[str]:
    """Yield a note if a bundle is older than the installed one, which has this name."""
    if name and is_older(bundle, installed):
        yield f"this is a downgrade: `{bundle.name}` is older than the installed `{name}`"
