"""The reports of the controllers about a ClusterExtension, and olmkit's cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.olm import kinds
from olmkit.olm.v1 import extension as v1

OnStage = Callable[..., None]


DONE = ("Succeeded", "desired state reached")


def test_errors_of_accounts_have_their_causes(on_either_side: OnStage, toy: Any) -> None:
    async def scenario(stage: Any) -> None:
        await stage.serve(toy(version="1.0.0"))
        before = await stage.written()
        with pytest.raises(InputError, match="with the permissions of a service account"):
            await stage.install(service_account="")
        with pytest.raises(InputError, match="`installer` does not exist in namespace"):
            await stage.install()
        assert await stage.written() == before
        await stage.apply()
        missing = "installation cannot proceed due to missing ServiceAccount"
        await stage.reports("Retrying", missing)
        assert (await stage.why()).cause == "namespace-missing"
        await stage.account(bound=False)
        await stage.remove(v1.CLUSTER_EXTENSION)
        with pytest.raises(InputError, match="lacks 14 permissions"):
            await stage.install()
        await stage.account()
        assert (await stage.install()).is_ready

    on_either_side(scenario)


def test_errors_of_catalogs_have_their_causes(on_either_side: OnStage, toy: Any) -> None:
    async def scenario(stage: Any) -> None:
        reader, name = stage.reader, stage.name
        await stage.account()
        shelf, theirs = f"{name}-shelf", f"{name}-theirs"
        both = {"matchExpressions": [{"key": v1.CATALOG_NAME_LABEL, "operator": "In",
                                      "values": [shelf, theirs]}]}  # fmt: skip
        found = f'package "{name}"'
        await stage.apply(selector=both)
        await stage.reports("Retrying", f"no bundles found for {found}")
        assert (await stage.why()).cause in ("no-such-catalog", "no-such-package")  # others exist

        request = v1.ExtensionRequest(
            package=name, namespace="", catalog=shelf,
            catalog_image=f"{stage.shop.cluster.registry}/{name}-catalog:typo",
        )  # fmt: skip
        await reader.create(v1.cluster_catalog(request))
        await stage.until(
            lambda one: kinds.any_condition(one, "Progressing").get("reason") == "Retrying",
            v1.CLUSTER_CATALOG, shelf,
        )  # fmt: skip
        await stage.apply(selector=both, version="1.0.0")
        said = f'error walking catalogs: error getting {found} from catalog "{shelf}"'
        await stage.reports("Retrying", f'{said}: catalog "{shelf}" is not being served')
        assert (await stage.why()).cause == "catalog-not-ready"
        await stage.remove(v1.CLUSTER_EXTENSION)
        await stage.remove(v1.CLUSTER_CATALOG, shelf)

        image = await stage.build(toy(version="1.0.0"))
        for one in (shelf, theirs):
            await stage.show(one, image)
        await stage.apply(selector=both)
        said = f"found bundles for {found} in multiple catalogs with the same priority"
        await stage.reports("Retrying", f"{said} [{shelf} {theirs}]")
        assert (await stage.why()).cause == "several-catalogs"

        await _switch_off(stage, theirs)
        await stage.apply(selector=both, version="1.x")
        await stage.reports(*DONE)
        there = await reader.find(v1.CLUSTER_EXTENSION, name)
        assert v1.installed_bundle(there) == (f"{name}.v1.0.0", "1.0.0")

        # No catalog can be read: the range of the user is not written.
        await _switch_off(stage, shelf)
        before = await stage.written()
        with pytest.raises(InputError) as refused:
            await stage.upgrade("2.x")
        assert f"`{shelf}`" in refused.value.hint
        assert await stage.written() == before

    on_either_side(scenario)


async def _switch_off(stage: Any, catalog: str) -> None:
    there = await stage.reader.find(v1.CLUSTER_CATALOG, catalog)
    await stage.reader.merge(there, {"spec": {"availabilityMode": "Unavailable"}})
    await stage.until(
        lambda one: kinds.condition(one, "Serving") is None, v1.CLUSTER_CATALOG, catalog
    )


def test_errors_of_bundles_have_their_causes(on_either_side: OnStage, toy: Any) -> None:
    async def scenario(stage: Any) -> None:
        await stage.account()
        lost = f"{stage.shop.cluster.registry}/nowhere-bundle:1"
        modes = ("OwnNamespace", "SingleNamespace")
        await stage.serve(
            toy(version="1.0.0"),
            toy(version="3.0.0", webhooks=True),
            toy(version="4.0.0", modes=modes),
            toy(version="5.0.0", needs=("db",)),
            toy(version="8.0.0", bundle_image=lost),
        )
        before = await stage.written()
        supported = "supported install modes [OwnNamespace SingleNamespace] do not support"
        for version, cause, says in (
            ("3.0.0", "webhooks-not-supported", "webhookDefinitions are not supported"),
            ("4.0.0", "install-mode-not-supported", f"{supported} targeting all namespaces"),
            ("5.0.0", "dependencies-not-supported", ""),
        ):
            with pytest.raises(InputError):
                await stage.install(version=version)
            assert await stage.written() == before
            name = f"{stage.name}.v{version}"
            needs = (
                f'validating bundle "{name}": bundle "{name}" has a dependency declared via '
                'property "olm.gvk.required" which is currently not supported'
            )
            resolved = f'{says} for resolved bundle "{name}" with version "{version}"'
            await stage.apply(version=version)
            await stage.reports("Retrying", resolved if says else needs)
            assert (await stage.why()).cause == cause
            await stage.remove(v1.CLUSTER_EXTENSION)
        await stage.apply(version="8.0.0")
        last = f'for resolved bundle "{stage.name}.v8.0.0" with version "8.0.0"'
        await stage.reports("Retrying", f"…{last}")
        found = await stage.why()
        assert found.cause == "bundle-cannot-be-unpacked"
        assert "nowhere-bundle" in found.message

    on_either_side(scenario)


def test_errors_of_owners_have_their_causes(on_either_side: OnStage, toy: Any) -> None:
    async def scenario(stage: Any) -> None:
        await stage.account()
        await stage.serve(toy(version="1.0.0", is_plain=True))
        assert (await stage.install()).is_ready
        second, place = f"{stage.name}-b", f"{stage.namespace}-b"
        await stage.account(place)
        await stage.apply(second, place)
        said = (
            f"CustomResourceDefinition '{stage.shop.crd}' already exists in namespace '' and "
            f'cannot be managed by operator-controller for resolved bundle "{stage.name}.v1.0.0" '
            'with version "1.0.0"'
        )
        await stage.reports("Retrying", said, second)
        found = await stage.why(second)
        assert found.cause == "crd-owned-elsewhere"
        assert f"ClusterExtension `{stage.name}`" in found.message

    on_either_side(scenario)
