"""Why a ClusterExtension is in the state it is in, from a cluster or from a file."""

from __future__ import annotations

from pathlib import Path

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster_v1 import state as states
from olmkit.jobs.cluster_v1.state import require_olm
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.v1.explain import explain


async def why(reader: ClusterObjects, name: str, *, file: Path | None = None) -> Explanation:
    """Return the state of the ClusterExtension of that name or package, and why.

    `file` gets all objects that were read; no Secrets are among them.
    """
    await require_olm(reader)
    state = await states.read(reader, name)
    if file is not None:
        states.save(state, file)
    if state.extension is None:
        return await states.absent(reader, name, command="olmkit why")
    return explain(state)


def why_saved(file: Path, name: str) -> Explanation:
    """Return the same from the objects in a file. Raises `InputError` when it holds no objects."""
    return explain(states.load(file, name))
