"""Explain the state of a ClusterExtension, from a cluster or a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster_v1 import extension_choice
from olmkit.jobs.cluster_v1 import state as states
from olmkit.jobs.cluster_v1.state import require_olm
from olmkit.kube import objects
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1.explain import explain
from olmkit.olm.v1.state import owned_deployments


async def why(reader: ClusterObjects, name: str, *, file: Path | None = None) -> Explanation:
    """Explain the state of the ClusterExtension with this name or package.

    `file` is written with all objects that were read; it contains no Secrets.
    """
    await require_olm(reader)
    state = await states.read(reader, name)
    if state.extension is not None and explain(state).cause == "healthy":
        own = owned_deployments(state.here.deployments, state.extension)
        here = await cluster_read.with_running_logs(reader, state.here, map(objects.name, own))
        state = replace(state, here=here)
    if file is not None:
        states.save(state, file)
    if state.extension is None:
        return await states.not_found_error(
            reader, name, command="olmkit why", catalogs=state.catalogs
        )
    found = explain(state)
    if found.cause == "no-way":
        removed = await extension_choice.find_removed_package(reader, state.extension)
        if removed:
            return replace(
                found, cause="no-such-package", message=removed, hint=cluster_catalogs.ADDING
            )
    return found


def why_saved(file: Path, name: str) -> Explanation:
    """Explain the state from the objects in a file, or raise `InputError`."""
    return explain(states.load(file, name))
