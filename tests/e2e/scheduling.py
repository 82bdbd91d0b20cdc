"""Which worker runs which file: few workers start a cluster, and one of them OLM v1.

An idle cluster needs a tenth of a core, and its start half a minute.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

V1 = "tests/e2e/cluster/v1/"
CLUSTER = "tests/e2e/cluster/"
REST = ""
KINDS = (V1, CLUSTER, REST)  # a file is of the first one that its path begins with


def preferences(position: int, workers: int) -> tuple[str, ...]:
    """Return the kinds of files that a worker runs, the first ones first.

    The first worker has OLM v1. One third of the workers, but never the only one, starts no
    cluster.
    """
    if position == 0:
        return (V1, CLUSTER, REST)
    if position < max(1, workers * 2 // 3):
        return (CLUSTER, REST, V1)
    return (REST,)


def choose(files: Iterable[str], wanted: Iterable[str]) -> str | None:
    """Return the first file of the first kind that has one."""
    waiting = list(files)
    for kind in wanted:
        for file in waiting:
            if next(one for one in KINDS if file.startswith(one)) == kind:
                return file
    return None


class ClusterScheduling(LoadFileScheduling):
    """`--dist loadfile`, with the preferences of each worker."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._positions: dict[WorkerController, int] = {}

    def _position(self, node: WorkerController) -> int:
        """Return the position of a worker; one that replaces another gets that one's."""
        if node not in self._positions:
            taken = {self._positions.get(one) for one in self.nodes}
            self._positions[node] = next(one for one in itertools.count() if one not in taken)
        return self._positions[node]

    def _next_file(self, node: WorkerController) -> str | None:
        return choose(self.workqueue, preferences(self._position(node), self.numnodes))

    def _assign_work_unit(self, node: WorkerController) -> None:
        if file := self._next_file(node):
            self.workqueue.move_to_end(file, last=False)
            super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        if self.workqueue and not self._next_file(node) and not node.shutting_down:
            node.shutdown()  # after the tests that it has
            return
        super()._reschedule(node)
