"""The offline resolution of OLM v1 compared with operator-controller, in generated states.

Each package is a small world: up to three catalogs with their own channels, edges, deprecations
and priorities. A ClusterExtension takes steps through it: each step requests other versions,
channels, catalogs or another policy, on top of what the previous steps have installed. What
the controller installs or reports is compared with what olmkit reports for the same input.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.base.version_constraints import VersionConstraint
from olmkit.base.versions import Version
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import UpgradeQuery
from olmkit.catalog.model import Catalog
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.kube.objects import mapping
from olmkit.olm import kinds
from olmkit.olm.resolver import v1 as resolver
from olmkit.olm.resolver.v1 import ClusterCatalog
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1

pytestmark = pytest.mark.e2e

Manifest = dict[str, Any]
PACKAGES, STEPS = 32, 5
PRIORITIES = {"a": 0, "b": 0, "c": 7}
# Release 1.2.0 matches pre-releases for each comparison and not at all for `!=`; later ones, and
# olmkit, for each group of comparisons. So no range here mixes them.
VERSIONS = ("1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.1.0-rc.1", "3.0.0")
RANGES = ("", "", "", "1.x", ">=1.1.0", "<2.0.0", "^1.0", "~1.1.0", "2.1.0-rc.1", ">=2.1.0-0",
          "<1.1.0 || >=3.0.0", "1.0.0 || 3.0.0", "9.x", ">1.0.0 <3.0.0", "2.0.0",
          "1.1.0")  # fmt: skip
SKIP_RANGES = ("<2.0.0", ">=1.0.0 <1.2.0", ">=1.1.0 <3.0.0", "<=2.1.0-rc.1")
CHANNELS = ([], [], [], ["stable"], ["fast"], ["stable", "fast"], ["slow"])
SELECTORS: tuple[Manifest, ...] = (
    {}, {}, {},
    {"matchLabels": {v1.CATALOG_NAME_LABEL: "NAME-a"}},
    {"matchLabels": {"tier": "low"}},
    {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["high"]}]},
    {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["high"]}]},
)  # fmt: skip


class World:
    """Blobs for three catalogs, generated from a seed; `names` are those of the catalogs."""

    def __init__(self, seed: int, images: dict[str, str], name: str) -> None:
        self.random = random.Random(seed)
        self.images = images
        self.names = {letter: f"{name}-{letter}" for letter in PRIORITIES}
        self.packages = [f"p{number:02}" for number in range(PACKAGES)]
        self.blobs = {letter: list(self._blobs(letter)) for letter in PRIORITIES}
        self.steps = {
            package: [self._step(is_first=number == 0) for number in range(STEPS)]
            for package in self.packages
        }

    def _blobs(self, letter: str) -> list[Manifest]:
        found: list[Manifest] = []
        for package in self.packages:
            if letter == "a" or self.random.random() < 0.45:
                found += self._package(package, letter)
        return found

    def _package(self, package: str, letter: str) -> list[Manifest]:
        chance = self.random
        # The same version has another name in some catalogs.
        prefix = f"{package}-other" if letter != "a" and chance.random() < 0.2 else package
        versions = sorted(chance.sample(VERSIONS, chance.randint(2, 5)), key=VERSIONS.index)
        names = [f"{prefix}.v{version}" for version in versions]
        blobs: list[Manifest] = [
            {"schema": "olm.package", "name": package, "defaultChannel": "stable"}
        ]
        for channel in ("stable", "fast")[: chance.randint(1, 2)]:
            entries = [self._entry(names[: index + 1], package) for index in range(len(names))]
            kept = [one for one in entries if channel == "stable" or chance.random() < 0.7]
            blobs.append({"schema": "olm.channel", "name": channel, "package": package,
                          "entries": kept or entries})  # fmt: skip
        for version, name in zip(versions, names, strict=True):
            blobs.append(self._bundle(package, name, version))
        deprecated = [name for name in names if chance.random() < 0.2]
        if deprecated:
            entries = [{"reference": {"schema": "olm.bundle", "name": name}, "message": "old"}
                       for name in deprecated]  # fmt: skip
            blobs.append({"schema": "olm.deprecations", "package": package, "entries": entries})
        return blobs

    def _entry(self, names: list[str], package: str) -> Manifest:
        """Return the newest of the names, following some of the others."""
        chance = self.random
        *older, name = names
        entry: Manifest = {"name": name}
        if older and chance.random() < 0.75:
            entry["replaces"] = chance.choice(older[-2:])
        if older and chance.random() < 0.25:
            entry["skips"] = chance.sample(older, chance.randint(1, len(older)))
        if older and chance.random() < 0.3:
            entry["skipRange"] = chance.choice(SKIP_RANGES)
        if chance.random() < 0.05:
            entry["replaces"] = f"{package}.v0.9.0"
        return entry

    def _bundle(self, package: str, name: str, version: str) -> Manifest:
        properties = [{"type": "olm.package", "value": {"packageName": package,
                                                        "version": version}}]  # fmt: skip
        if self.random.random() < 0.04:
            properties.append({"type": "olm.gvk.required", "value": {
                "group": "example.com", "kind": "Db", "version": "v1"}})  # fmt: skip
        other = "-other" if "-other." in name else ""
        return {"schema": "olm.bundle", "name": name, "package": package,
                "image": self.images[f"{version}{other}"], "properties": properties}  # fmt: skip

    def _step(self, *, is_first: bool) -> Manifest:
        """Return the next request of a ClusterExtension."""
        chance = self.random
        request: Manifest = {}
        version = chance.choice(RANGES[:8] if is_first else RANGES)
        if version:
            request["version"] = version
        channels = chance.choice(CHANNELS)
        if channels:
            request["channels"] = channels
        selector = json.dumps(chance.choice(SELECTORS)).replace("NAME-a", self.names["a"])
        if selector != "{}":
            request["selector"] = json.loads(selector)
        if chance.random() < 0.2:
            request["upgradeConstraintPolicy"] = "SelfCertified"
        return request


def test_the_offline_result_is_that_of_the_controller(
    shop: Any, toy: Any, namespace: str, catalog_of_image: Any
) -> None:
    cluster = shop.cluster
    images = {
        f"{version}{other}": shop.bundle(
            toy(version=f"{version}{other}", replicas=0, has_crd=False, is_plain=True)
        )
        for version in VERSIONS
        for other in ("", "-other")
    }
    world = World(int(os.environ.get("OLMKIT_SEED", "2")), images, shop.name)
    shelves: list[tuple[Manifest, Catalog]] = []
    for letter, blobs in world.blobs.items():
        made = catalog_of_image(
            world.names[letter], shop.publish(blobs, letter), PRIORITIES[letter]
        )
        made["metadata"]["labels"] = {"tier": "high" if letter == "c" else "low"}
        cluster.apply(json.dumps(made))
        lines = "\n".join(map(json.dumps, blobs)).encode()
        shelves.append((made, catalog_job.read(letter, tree=Tree({"c.json": lines}), valid=False)))
    for name in world.names.values():
        cluster.kubectl("wait", "--for=condition=Serving", f"clustercatalog/{name}",
                        "--timeout=300s")  # fmt: skip
    cluster.kubectl("create", "clusterrolebinding", namespace, "--clusterrole=cluster-admin",
                    "--group=system:serviceaccounts")  # fmt: skip
    try:
        begin = time.monotonic()
        found = asyncio.run(_walk(cluster, world, shelves, namespace))
    finally:
        cluster.kubectl("delete", "clusterrolebinding", namespace)
        cluster.kubectl("delete", "clusterextension", *world.packages, "--ignore-not-found",
                        "--wait=false")  # fmt: skip
        cluster.kubectl("delete", "clustercatalog", *world.names.values())
        places = [f"{namespace}-{package}" for package in world.packages]
        cluster.kubectl("delete", "namespace", *places, "--wait=false")
    kinds_of = Counter(ours.split(" ")[0] if " " in ours else "a bundle" for _, ours, _ in found)
    sys.stdout.write(
        f"{len(found)} situations in {time.monotonic() - begin:.0f} s: {dict(kinds_of)}\n"
    )
    assert len(found) >= 150
    assert [(what, ours, theirs) for what, ours, theirs in found if ours != theirs] == []


async def _walk(
    cluster: Any, world: World, shelves: list[tuple[Manifest, Catalog]], namespace: str
) -> list[tuple[str, str, str]]:
    """Return state, olmkit's result and the controller's, of all steps of all packages."""
    config = kubeconfig.load(paths=[cluster.kubeconfig], context="")
    async with HttpCluster(config) as http:
        reader = ClusterObjects(http)
        walks = [_walk_one(reader, world, shelves, package, f"{namespace}-{package}")
                 for package in world.packages]  # fmt: skip
        return [one for walked in await asyncio.gather(*walks) for one in walked]


async def _walk_one(
    reader: ClusterObjects,
    world: World,
    shelves: list[tuple[Manifest, Catalog]],
    package: str,
    namespace: str,
) -> list[tuple[str, str, str]]:
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await reader.create(place)
    found = []
    there: Manifest | None = None
    for step in world.steps[package]:
        request = {"packageName": package, **step}
        ours = _olmkit_answer(shelves, package, request, v1.installed_bundle(there or {}))
        made = _extension(package, namespace, request)
        if there is None:
            there = await reader.create(made)
        else:
            version = there["metadata"]["resourceVersion"]
            made["metadata"]["resourceVersion"] = version
            resource = await reader.cluster.resource(*v1.CLUSTER_EXTENSION)
            there = await reader.cluster.replace(resource, made)
        before = v1.installed_bundle(there)
        there = await _settled(reader, package, there["metadata"]["generation"])
        found.append((f"{before} {json.dumps(request)}", ours, _controller_answer(there)))
    return found


def _extension(package: str, namespace: str, request: Manifest) -> Manifest:
    return {
        "apiVersion": v1.API,
        "kind": "ClusterExtension",
        "metadata": {"name": package},
        "spec": {
            "namespace": namespace,
            "serviceAccount": {"name": "default"},
            "source": {"sourceType": "Catalog", "catalog": request},
        },
    }


def _olmkit_answer(
    shelves: list[tuple[Manifest, Catalog]],
    package: str,
    request: Manifest,
    installed: tuple[str, str],
) -> str:
    """Return the name of the bundle, or the message."""
    read = cluster_catalogs.selected_catalogs([made for made, _ in shelves], request)
    chosen = [
        ClusterCatalog(
            name=made["metadata"]["name"], priority=made["spec"]["priority"], catalog=catalog
        )
        for made, catalog in shelves
        if made in read
    ]
    name, version = installed
    wanted = request.get("version", "")
    query = UpgradeQuery(
        channels=request.get("channels", ()),
        range=VersionConstraint.parse(wanted) if wanted else None,
        installed=upgrades.start_of({}, name, Version.read(version)) if name else None,
        is_free=request.get("upgradeConstraintPolicy") == "SelfCertified",
    )
    try:
        return resolver.resolve(chosen, package, query, version=wanted).bundle.name
    except InputError as error:
        return error.message


async def _settled(reader: ClusterObjects, name: str, generation: int) -> Manifest:
    """Return the ClusterExtension when the controller has processed that generation."""
    end = time.monotonic() + 600  # one worker processes all, on a machine that can be busy
    while True:
        there = await reader.find(v1.CLUSTER_EXTENSION, name)
        condition = mapping(kinds.any_condition(there, "Progressing"))
        message = str(condition.get("message"))
        is_passing = "service account" in message or "ServiceAccount" in message
        if there and condition.get("observedGeneration") == generation and not is_passing:
            return there
        assert time.monotonic() < end, f"{name}: {message}"
        await asyncio.sleep(0.3)


def _controller_answer(there: Manifest) -> str:
    condition = kinds.any_condition(there, "Progressing")
    if condition.get("reason") == "Succeeded":
        return v1.installed_bundle(there)[0]
    return str(condition.get("message"))
