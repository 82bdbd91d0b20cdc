"""Wait for a ClusterExtension.

The condition `Installed` only means that objects were applied, so the job also waits for the
Deployments.
"""

from __future__ import annotations

from dataclasses import replace

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v1 import state as states
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.v1.explain import explain
from olmkit.olm.v1.state import ExtensionState


async def wait_until_ready(
    reader: ClusterObjects, name: str, *, target: str = "", report: Report, timeouts: Timeouts
) -> Explanation:
    """Wait until its Deployments are available, or the state needs action.

    `target`: the expected bundle, if it is known. Retries if the API server does not respond.
    """

    def explained(state: ExtensionState) -> Explanation:
        return explain(state, target=target)

    async def look() -> ExtensionState:
        state = await states.read(reader, name, logs=False)
        if explained(state).is_ready:
            return state
        here = await cluster_read.with_logs(reader, state.here)
        return replace(state, here=here)

    return await cluster_wait.wait_for_state(look, explained, report=report, timeouts=timeouts)
