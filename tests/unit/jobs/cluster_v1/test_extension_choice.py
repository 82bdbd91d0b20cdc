"""What OLM v1 will select is announced, as far as its catalog shows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import cluster_catalog
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster_v1 import extension_choice
from olmkit.kube.api import Forbidden, Resource
from olmkit.kube.objects import GVK
from olmkit.oci.store import RegistryError
from olmkit.olm.preview import Grant, Preview
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1
from olmkit.olm.v1.extension import ExtensionRequest
from olmkit.testing.apiserver.server import ApiServer

GROUP = "olm.operatorframework.io"
KIND = Resource(
    gvk=GVK(group=GROUP, version="v1", kind="ClusterCatalog"),
    plural="clustercatalogs",
    namespaced=False,
    subresources=frozenset(),
)
ENTRIES = {
    "stable": [{"name": "cache.v1.0.0"}, {"name": "cache.v2.0.0", "replaces": "cache.v1.0.0"}],
    "fast": [{"name": "cache.v2.5.0", "skipRange": ">=1.0.0 <2.0.0"}, {"name": "cache.v3.0.0"}],
    "chain": [{"name": "cache.v1.0.0", "replaces": "cache.v0.9.0"},
              {"name": "cache.v1.1.0", "replaces": "cache.v1.0.0"},
              {"name": "cache.v1.2.0", "replaces": "cache.v1.1.0"}],
}  # fmt: skip
BLOBS = [
    {"schema": "olm.package", "name": "cache", "defaultChannel": "stable"},
    *({"schema": "olm.channel", "package": "cache", "name": name, "entries": entries}
      for name, entries in ENTRIES.items()),
    *({"schema": "olm.bundle", "package": "cache", "name": f"cache.v{version}",
       "image": f"shelf.example/cache:{version}",
       "properties": [{"type": "olm.package",
                       "value": {"packageName": "cache", "version": version}}]}
      for version in ("1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.5.0", "3.0.0")),
]  # fmt: skip


NEWEST = "cache.v3.0.0"
DEPRECATED = {"schema": "olm.deprecations", "package": "cache", "entries": [
    {"reference": {"schema": "olm.bundle", "name": NEWEST}, "message": "old"}]}  # fmt: skip


def shelf(name: str, *, priority: int = 0, trouble: str = "", **spec: Any) -> dict[str, Any]:
    """A ClusterCatalog; with `trouble`, catalogd could not read its image."""
    conditions = [{"type": "Serving", "status": str(not trouble)}]
    if trouble:
        conditions.append({"type": "Progressing", "status": "True", "reason": "Retrying",
                           "message": trouble})  # fmt: skip
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterCatalog",
        "metadata": {"name": name, "labels": {"tier": name}},
        "spec": {"priority": priority, **spec},
        "status": {"conditions": conditions},
    }


def run(
    scenario: Callable[[ClusterObjects], Awaitable[None]], *catalogs: str | dict[str, Any]
) -> None:
    """`catalogs` are the existing ones; a name is a served one."""

    async def whole() -> None:
        server = ApiServer.of((KIND,))
        for one in catalogs:
            server.put("clustercatalogs", shelf(one) if isinstance(one, str) else one)
        async with asyncio.timeout(30), server.serving():
            async with HttpCluster(ClusterConfig(server=server.url)) as http:
                await scenario(ClusterObjects(http))

    asyncio.run(whole())


@pytest.fixture(autouse=True)
def _shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the blobs that catalogd serves; each bundle can read its version.

    Most names have the same; `older` has no 3.0.0, `ageing` has it deprecated, and `others`
    has another package.
    """

    async def read(_: ClusterObjects, name: str) -> Tree:
        if name == "secret":
            raise Forbidden("services is forbidden", code=403)
        if name == "away":
            raise InputError("the catalog `away` is not served yet")
        blobs = [*BLOBS, DEPRECATED] if name == "ageing" else BLOBS
        if name == "older":
            blobs = [one for one in BLOBS if one["name"] != NEWEST]
        if name == "others":
            blobs = [{"schema": "olm.package", "name": "queue"}]
        return Tree({"catalog.json": "\n".join(map(json.dumps, blobs)).encode()})

    async def read_bundle(image: str, _: Access) -> cluster_bundle.NamedBundle:
        version = image.rpartition(":")[2]
        grant = Grant(account="cache", scope="cluster", groups=("",), resources=(version,),
                      verbs=("get",))  # fmt: skip
        preview = Preview(csv=f"cache.v{version}", version=version, modes=(), grants=(grant,))
        return cluster_bundle.NamedBundle(rendered=None, channel="", preview=preview)  # type: ignore[arg-type]

    monkeypatch.setattr(cluster_catalog, "read", read)
    monkeypatch.setattr(cluster_bundle, "read_bundle", read_bundle)


def extension(catalog: str = "shelf", installed: str = "1.0.0", **asked: Any) -> dict[str, Any]:
    made = v1.cluster_extension(
        ExtensionRequest(package="cache", namespace="apps", catalog=catalog)
    )
    made["spec"]["source"]["catalog"] |= asked
    bundle = {"name": f"cache.v{installed}", "version": installed}
    return made | {"status": {"install": {"bundle": bundle}} if installed else {}}


@pytest.mark.parametrize(
    ("there", "version", "csv"),
    [
        (extension(), "", "cache.v2.5.0"),
        (extension(channels=["stable"]), "", "cache.v2.0.0"),
        (extension(), "<2.5.0", "cache.v2.0.0"),
        (extension(upgradeConstraintPolicy="SelfCertified"), "", "cache.v3.0.0"),
        (extension(installed=""), "", "cache.v3.0.0"),
        (extension(installed="1.5.0"), "", "cache.v2.5.0"),
    ],
)
def test_an_upgrade_selects_the_highest_possible_version(
    there: dict[str, Any], version: str, csv: str
) -> None:
    async def scenario(reader: ClusterObjects) -> None:
        found = await extension_choice.choose_for_upgrade(reader, there, version, Access())

        assert (found.csv, found.notes) == (csv, ())
        assert found.brings is not None
        assert found.brings.csv == csv

    run(scenario)


def test_an_upgrade_knows_the_objects_of_the_installed_version() -> None:
    async def scenario(reader: ClusterObjects) -> None:
        found = await extension_choice.choose_for_upgrade(reader, extension(), "", Access())
        assert found.has is not None
        assert [str(grant) for grant in found.has.grants] == ["get: 1.0.0"]

        newest = extension(installed="2.5.0")
        found = await extension_choice.choose_for_upgrade(reader, newest, "", Access())
        assert (found.brings, found.notes) == (None, ("no newer version is offered",))

    run(scenario)


def test_a_broken_catalog_has_a_hint_that_fits_the_command() -> None:
    async def scenario(reader: ClusterObjects) -> None:
        for version, is_changed in (("2.x", False), ("", True)):
            with pytest.raises(InputError, match="`broken` is not served: x") as raised:
                await extension_choice.choose_for_upgrade(
                    reader, extension(""), version, Access(), is_changed=is_changed
                )
            assert raised.value.hint.startswith(
                "limit the ClusterExtension to one catalog: `spec.source.catalog.selector`, or fix"
            )
        request = ExtensionRequest(package="cache", namespace="apps")
        with pytest.raises(InputError) as raised:
            await extension_choice.choose_for_install(reader, request, Access())
        assert raised.value.hint.startswith("pass one catalog with `--catalog`, or fix that one: ")

    run(scenario, "shelf", shelf("broken", trouble="x"))


@pytest.mark.parametrize(
    ("there", "version", "why"),
    [
        (extension("secret"), "", "services is forbidden"),
        (extension("away"), "", "the catalog `away` is not served yet"),
    ],
)
def test_unknown_facts_about_an_upgrade_are_reported_with_the_reason(
    there: dict[str, Any], version: str, why: str
) -> None:
    async def scenario(reader: ClusterObjects) -> None:
        found = await extension_choice.choose_for_upgrade(reader, there, version, Access())

        assert (found.csv, found.brings) == ("", None)
        assert found.notes[0].startswith(
            "the bundle is not known in advance, so its permissions and conflicts with the cluster "
            "cannot be checked: "
        )
        assert why in found.notes[0]

    run(scenario, "shelf", "other", "away")


@pytest.mark.parametrize(
    ("there", "catalogs", "why"),
    [
        (extension("off"), (shelf("off", availabilityMode="Unavailable"),), "is disabled"),
        (extension("bad"), (shelf("bad", trouble="manifest unknown"),), "manifest unknown"),
        (extension(""), ("shelf", shelf("bad", trouble="no host")), "OLM v1 reads every catalog"),
    ],
)
def test_a_new_range_is_refused_if_no_catalog_can_be_read(
    there: dict[str, Any], catalogs: tuple[str | dict[str, Any], ...], why: str
) -> None:
    async def scenario(reader: ClusterObjects) -> None:
        with pytest.raises(InputError) as refused:
            await extension_choice.choose_for_upgrade(reader, there, "2.x", Access())
        assert why in refused.value.message

        found = await extension_choice.choose_for_upgrade(reader, there, "", Access())
        assert why in found.notes[0]

    run(scenario, *catalogs)


@pytest.mark.parametrize("version", ["2.x", ""])
@pytest.mark.parametrize(
    ("there", "catalogs", "why"),
    [
        (extension("away"), (), "the catalog `away` is not served yet"),
        (extension(""), (), "the cluster has no ClusterCatalog"),
        (extension("", selector={"matchLabels": {"a": "b"}}), ("shelf",), "no ClusterCatalog"),
    ],
)
def test_an_upgrade_does_not_wait_for_a_catalog_that_does_not_exist(
    there: dict[str, Any], catalogs: tuple[str | dict[str, Any], ...], why: str, version: str
) -> None:
    async def scenario(reader: ClusterObjects) -> None:
        with pytest.raises(InputError) as refused:
            await extension_choice.choose_for_upgrade(reader, there, version, Access())
        assert why in refused.value.message

    run(scenario, *catalogs)


def test_a_new_range_is_accepted_without_permission_to_read_a_catalog() -> None:
    async def scenario(reader: ClusterObjects) -> None:
        found = await extension_choice.choose_for_upgrade(
            reader, extension("secret"), "2.x", Access()
        )
        assert "services is forbidden" in found.notes[0]

    run(scenario, "secret")


def test_disabled_catalogs_are_named_if_the_others_offer_nothing() -> None:
    off = shelf("off", availabilityMode="Unavailable")
    queue = ExtensionRequest(package="queue", namespace="apps")

    async def scenario(reader: ClusterObjects) -> None:
        for question in (
            extension_choice.choose_for_install(reader, queue, Access()),
            extension_choice.choose_for_upgrade(reader, extension(""), "9.x", Access()),
        ):
            with pytest.raises(InputError) as refused:
                await question
            assert refused.value.hint.startswith("the catalog `off` is disabled; set its")

    run(scenario, "shelf", off)


def test_an_upgrade_that_the_catalog_does_not_offer_is_refused() -> None:
    async def scenario(reader: ClusterObjects) -> None:
        paths = "run `olmkit catalog path clustercatalog:shelf cache --from 1.0.0 --olm v1`"
        for version, message in (
            ("9.x", "has no version that fits `9.x` and upgrades from `cache.v1.0.0`"),
            ("3.0.0", "no upgrade leads from the installed `cache.v1.0.0` to `cache.v3.0.0`"),
        ):
            with pytest.raises(InputError) as refused:
                await extension_choice.choose_for_upgrade(reader, extension(), version, Access())
            assert message in refused.value.message
            assert refused.value.hint == f"{paths} to see the available upgrades"

    run(scenario)


def test_the_hint_names_the_only_catalog_that_has_the_package() -> None:
    async def scenario(reader: ClusterObjects) -> None:
        request = ExtensionRequest(package="cache", namespace="apps", version="9.x")
        with pytest.raises(InputError) as refused:
            await extension_choice.choose_for_install(reader, request, Access())
        assert "`olmkit catalog list bundles clustercatalog:shelf cache`" in refused.value.hint

    run(scenario, "shelf", "others")


def test_further_upgrades_in_the_range_are_a_note() -> None:
    async def scenario(reader: ClusterObjects) -> None:
        chain = extension(channels=["chain"])
        for version, expected in (
            (
                "1.x",
                ("OLM then continues with `cache.v1.2.0`; to stop before, request one version",),
            ),
            ("1.1.0", ()),
        ):
            found = await extension_choice.choose_for_upgrade(reader, chain, version, Access())
            assert (found.csv, found.notes) == ("cache.v1.1.0", expected)

    run(scenario)


def test_a_downgrade_is_refused_with_the_field_that_allows_it() -> None:
    newer = extension(installed="2.5.0")
    free = extension(installed="2.5.0", upgradeConstraintPolicy="SelfCertified")

    async def scenario(reader: ClusterObjects) -> None:
        with pytest.raises(InputError) as refused:
            await extension_choice.choose_for_upgrade(reader, newer, "1.0.0", Access())
        older = "`cache.v1.0.0` is older than the installed `cache.v2.5.0`"
        assert refused.value.message == f"{older}, and OLM v1 does not downgrade"
        patch = '{"spec":{"source":{"catalog":{"upgradeConstraintPolicy":"SelfCertified"}}}}'
        assert refused.value.hint == (
            f"to allow downgrades, run `kubectl patch clusterextension cache --type=merge -p "
            f"'{patch}'`; set it to `CatalogProvided` again afterwards"
        )
        found = await extension_choice.choose_for_upgrade(reader, free, "1.0.0", Access())
        assert found.notes == (f"this is a downgrade: {older}",)

    run(scenario)


def test_a_channel_without_the_version_or_without_an_upgrade_is_named() -> None:
    async def scenario(reader: ClusterObjects) -> None:
        chain = extension(installed="2.5.0", channels=["chain"])
        with pytest.raises(InputError, match="in channel `chain` that fits"):
            await extension_choice.choose_for_upgrade(reader, chain, "2.5.0", Access())
        nope = extension(channels=["nope"])
        with pytest.raises(extension_choice.ChannelMissingError) as refused:
            await extension_choice.choose_for_upgrade(reader, nope, "", Access())
        assert refused.value.hint.startswith("the package has `")

    run(scenario)


def test_several_consecutive_upgrades_are_announced_with_the_first_of_them() -> None:
    asked = extension(installed="0.9.0", channels=["chain"])

    async def scenario(reader: ClusterObjects) -> None:
        with pytest.raises(InputError) as refused:
            await extension_choice.choose_for_upgrade(reader, asked, "1.2.0", Access())
        path = "cache.v1.0.0 → cache.v1.1.0 → cache.v1.2.0"
        assert (
            f"3 upgrades away from `cache.v0.9.0`, and OLM v1 performs one at a time: {path}"
            in (refused.value.message)
        )
        assert refused.value.hint == "begin with `olmkit upgrade cache --olm v1 --to 1.0.0`"

    run(scenario)


def test_the_requested_range_can_exclude_the_newest_version() -> None:
    async def scenario(reader: ClusterObjects) -> None:
        found = await extension_choice.choose_for_upgrade(reader, extension(), "1.0.0", Access())
        assert found.csv == "cache.v1.0.0"
        assert found.notes == ("`cache.v2.5.0` is offered, and the requested range excludes it",)

    run(scenario)


def test_the_only_catalog_does_not_need_to_be_named() -> None:
    request = ExtensionRequest(package="cache", namespace="apps")

    async def scenario(reader: ClusterObjects) -> None:
        assert (
            await extension_choice.choose_for_install(reader, request, Access())
        ).csv == "cache.v3.0.0"

    run(scenario, "shelf")


ANY = ExtensionRequest(package="cache", namespace="apps")


@pytest.mark.parametrize(
    ("catalogs", "csv", "notes"),
    [
        ((shelf("shelf", priority=1), shelf("older")), NEWEST, "from the catalog `shelf`"),
        ((shelf("shelf", priority=-1), shelf("older")), "cache.v2.5.0", "the catalog `older`"),
        ((shelf("shelf", priority=-1), shelf("others")), NEWEST, "from the catalog `shelf`"),
        # A deprecated bundle is replaced, also in a catalog with higher priority.
        ((shelf("ageing", priority=9),), "cache.v2.5.0", ""),
        ((shelf("off", availabilityMode="Unavailable"), shelf("older")), "cache.v2.5.0", ""),
    ],
)
def test_of_several_catalogs_the_highest_priority_decides(
    catalogs: tuple[dict[str, Any], ...], csv: str, notes: str
) -> None:
    async def scenario(reader: ClusterObjects) -> None:
        found = await extension_choice.choose_for_install(reader, ANY, Access())
        assert found.csv == csv
        assert notes in " ".join(found.notes)

    run(scenario, *catalogs)


def test_a_deprecated_bundle_is_replaced_by_one_of_a_catalog_with_lower_priority() -> None:
    request = ExtensionRequest(package="cache", namespace="apps", version=">=2.5.0")
    last = ExtensionRequest(package="cache", namespace="apps", version="3.0.0")

    async def scenario(reader: ClusterObjects) -> None:
        found = await extension_choice.choose_for_install(reader, request, Access())
        assert found.notes == ("OLM takes it from the catalog `ageing`",)
        assert found.csv == "cache.v2.5.0"
        found = await extension_choice.choose_for_install(reader, last, Access())
        assert found.notes == (
            "OLM takes it from the catalog `ageing`",
            f"`{NEWEST}` is deprecated, and OLM has nothing that is not",
        )

    run(scenario, shelf("ageing", priority=9), shelf("older"))


@pytest.mark.parametrize(
    ("catalogs", "why"),
    [
        (
            ("shelf", "older"),
            "several catalogs of the same priority have `cache`: `older`, `shelf`",
        ),
        (("shelf", shelf("bad", trouble="manifest unknown")), "reads every catalog"),
        ((shelf("bad", trouble="manifest unknown"),), "`bad` is not served: manifest unknown"),
        (
            ("others", shelf("others2", availabilityMode="Unavailable")),
            "`others` does not have the package `cache`",
        ),
        ((shelf("off", availabilityMode="Unavailable"),), "all ClusterCatalogs are switched off"),
        ((), "the cluster has no ClusterCatalog"),
    ],
)
def test_an_install_that_olm_would_not_resolve_is_refused(
    catalogs: tuple[str | dict[str, Any], ...], why: str
) -> None:
    async def scenario(reader: ClusterObjects) -> None:
        with pytest.raises(InputError) as refused:
            await extension_choice.choose_for_install(reader, ANY, Access())
        assert why in refused.value.message
        assert refused.value.hint

    run(scenario, *catalogs)


def test_an_upgrade_reads_all_catalogs_of_the_selector() -> None:
    async def scenario(reader: ClusterObjects) -> None:
        found = await extension_choice.choose_for_upgrade(reader, extension(""), "", Access())
        assert (found.csv, found.notes) == (
            "cache.v2.5.0", ("OLM takes it from the catalog `older`",),
        )  # fmt: skip
        assert found.has is not None
        selector = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["shelf"]}]}
        asked = extension("", upgradeConstraintPolicy="SelfCertified", selector=selector)
        found = await extension_choice.choose_for_upgrade(reader, asked, "", Access())
        assert (found.csv, found.notes) == (NEWEST, ())

    run(scenario, "shelf", shelf("older", priority=2))


def test_an_install_is_refused_if_the_catalog_does_not_have_the_package() -> None:
    requests = [
        ExtensionRequest(package="queue", namespace="apps", catalog="shelf"),
        ExtensionRequest(package="queue", namespace="apps"),
    ]

    async def scenario(reader: ClusterObjects) -> None:
        for request in requests:
            with pytest.raises(InputError) as refused:
                await extension_choice.choose_for_install(reader, request, Access())
            assert "`shelf` does not have the package `queue`" in refused.value.message
            assert "`olmkit catalog list packages clustercatalog:shelf`" in refused.value.hint
        request = ExtensionRequest(package="caches", namespace="apps")
        with pytest.raises(InputError) as refused:
            await extension_choice.choose_for_install(reader, request, Access())
        assert refused.value.hint == "did you mean `cache`?"

    run(scenario, "shelf")


def test_a_bundle_with_dependencies_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = [{**blob, "properties": [*blob.get("properties", ()), {
        "type": "olm.package.required", "value": {"packageName": "a", "versionRange": ">0.0.0"}}]}
        if blob["schema"] == "olm.bundle" else blob for blob in BLOBS]  # fmt: skip

    async def read(_: ClusterObjects, __: str) -> Tree:
        return Tree({"catalog.json": "\n".join(map(json.dumps, needs)).encode()})

    monkeypatch.setattr(cluster_catalog, "read", read)

    async def scenario(reader: ClusterObjects) -> None:
        request = ExtensionRequest(package="cache", namespace="apps", catalog="shelf")
        with pytest.raises(InputError, match=r"property \"olm\.package\.required\""):
            await extension_choice.choose_for_install(reader, request, Access())

    run(scenario)


@pytest.mark.parametrize(("status", "is_refused"), [(404, True), (401, False), (0, False)], ids=str)
def test_an_image_of_a_catalog_that_does_not_exist_is_refused(
    monkeypatch: pytest.MonkeyPatch, status: int, is_refused: bool
) -> None:
    async def read_catalog(image: str, _: Access) -> None:
        raise RegistryError(f"registry has no image `{image}`", status=status)

    monkeypatch.setattr(cluster_bundle, "read_catalog", read_catalog)
    request = ExtensionRequest(
        package="cache", namespace="apps", catalog="cache-catalog", catalog_image="r.example/c:typo"
    )

    async def scenario(reader: ClusterObjects) -> None:
        if is_refused:
            with pytest.raises(RegistryError, match="no image"):
                await extension_choice.choose_for_install(reader, request, Access())
        else:
            found = await extension_choice.choose_for_install(reader, request, Access())
            assert "not known in advance" in found.notes[0]
            assert found.unread == (
                "the catalog `r.example/c:typo` cannot be read from here: "
                "registry has no image `r.example/c:typo`"
            )

    run(scenario)


def test_a_package_that_was_removed_from_the_catalogs_is_reported() -> None:
    free = extension(upgradeConstraintPolicy="SelfCertified")
    del free["spec"]["source"]["catalog"]["selector"]

    async def removed(reader: ClusterObjects) -> None:
        for one in (free, extension("others")):
            with pytest.raises(extension_choice.NotOfferedError) as refused:
                await extension_choice.choose_for_upgrade(reader, one, "", Access())
            assert refused.value.message == "the catalog `others` does not have the package `cache`"
            assert refused.value.hint == cluster_catalogs.ADDING
            found = await extension_choice.find_removed_package(reader, one)
            assert found == refused.value.message

    async def present(reader: ClusterObjects) -> None:
        assert await extension_choice.find_removed_package(reader, free) == ""

    run(removed, "others")
    run(present, "others", "shelf")
    run(present, "others", "away")


@pytest.mark.parametrize(("reason", "is_read"), [("Retrying", True), ("Succeeded", False)])
def test_the_installed_bundle_is_read_if_olm_cannot_apply_it(reason: str, is_read: bool) -> None:
    there = extension(installed="3.0.0")
    there["status"]["conditions"] = [{"type": "Progressing", "status": "True", "reason": reason}]

    async def scenario(reader: ClusterObjects) -> None:
        found = await extension_choice.choose_for_upgrade(reader, there, "", Access())
        assert (found.csv, found.brings) == ("cache.v3.0.0", None)
        assert (found.has is not None) is is_read

    run(scenario, "shelf")
