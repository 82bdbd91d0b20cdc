"""The comparison of CRDs, compared with a real API server.

For each change of `tests/vectors/crd_changes.yaml` an object is created under the old CRD, the
new CRD replaces it, and the same object is created again: it must be refused if and only if olmkit
reports that valid objects can be. The object is the example in the report, or, if no object
is refused, a number of small ones. Removed values are searched in the stored object.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube import objects
from olmkit.kube.api import ClusterError, Resource
from olmkit.kube.objects import Manifest
from olmkit.testing.control_plane import ControlPlane
from tests.crd_changes import CASES, CRD, MANY, crd_of, object_of, specs_of

pytestmark = pytest.mark.e2e


class Scenario:
    """One change, from the old CRD to the new one."""

    def __init__(self, cluster: HttpCluster, crds: Resource, number: int, case: Any) -> None:
        self.cluster, self.crds, self.number, self.case = cluster, crds, number, case
        self.old, self.new = (crd_of(number, case[key]) for key in ("old", "new"))

    async def run(self) -> Mapping[str, bool]:
        """Return whether the API server refuses an object, and whether it removes values."""
        await self.cluster.create(self.crds, self.old)
        things = await self._established()
        shown, specs = self.case.get("object"), specs_of(self.case)
        stored: list[tuple[Manifest, Any]] = []
        for count, spec in enumerate(specs):
            try:
                made = await self.cluster.create(
                    things, object_of(self.number, spec, f"example-{count}")
                )
            except ClusterError:
                # A sample can violate conditions that are not checked; an example cannot.
                assert spec != shown, spec
                assert count >= len(specs) - MANY, spec
                continue
            stored.append((made, spec))
        assert stored
        await self._replace()
        is_refused = prunes = False
        for one, spec in stored:
            found = await self.cluster.get(things, objects.name(one), namespace="default")
            prunes = prunes or _lacks(found["spec"], one["spec"])
            again = object_of(self.number, spec, f"{objects.name(one)}-again")
            try:
                await self.cluster.create(things, again, dry_run=True)
            except ClusterError:
                is_refused = True
        return {"refuses": is_refused, "prunes": prunes}

    async def _established(self) -> Resource:
        for _ in range(200):
            found = await self.cluster.get(self.crds, objects.name(self.old))
            conditions = objects.mapping(found.get("status")).get("conditions") or ()
            if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
                break
            await asyncio.sleep(0.1)
        for _ in range(200):
            try:
                things = await self.cluster.resource("example.com/v1", f"Thing{self.number}")
                await self.cluster.list_page(things, namespace="default")
            except ClusterError:
                await asyncio.sleep(0.2)
            else:
                return things
        raise AssertionError("the kind is not served")

    async def _replace(self) -> None:
        found = await self.cluster.get(self.crds, objects.name(self.old))
        found["spec"]["versions"] = [
            {
                **self.new["spec"]["versions"][0],
                "schema": {
                    "openAPIV3Schema": {
                        **self.new["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
                        "description": "changed",
                    }
                },
            }
        ]
        await self.cluster.replace(self.crds, found)
        # The new schema is in use a moment after the CRD has changed.
        await asyncio.sleep(3)


def _lacks(found: Any, before: Any) -> bool:
    """Return whether a stored value is gone."""
    if isinstance(before, Mapping):
        return not isinstance(found, Mapping) or any(
            key not in found or _lacks(found[key], value)
            for key, value in before.items()
            if value is not None  # it can be removed without a loss
        )
    if isinstance(before, list):
        return not isinstance(found, list) or any(map(_lacks, found, before))
    return False


def test_objects_are_refused_and_values_removed_as_the_comparison_reports(
    apiserver: ControlPlane,
) -> None:
    seen: dict[str, Mapping[str, bool]] = {}
    failed: dict[str, str] = {}

    async def scenario() -> None:
        async with HttpCluster(kubeconfig.load(paths=[apiserver.kubeconfig])) as cluster:
            crds = await cluster.resource(*CRD)
            limit = asyncio.Semaphore(8)

            async def one(number: int, name: str) -> None:
                async with limit:
                    try:
                        seen[name] = await Scenario(cluster, crds, number, CASES[name]).run()
                    except (ClusterError, AssertionError) as error:
                        failed[name] = f"{type(error).__name__}: {error}"

            async with asyncio.TaskGroup() as group:
                for number, name in enumerate(CASES):
                    group.create_task(one(number, name))

    asyncio.run(scenario())
    assert failed == {}
    expected = {
        name: {key: case.get(key, False) for key in ("refuses", "prunes")}
        for name, case in CASES.items()
    }
    assert seen == expected
