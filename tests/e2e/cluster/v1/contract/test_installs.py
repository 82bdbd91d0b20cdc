"""Installs, upgrades and removals with the same result on the double and on real controllers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import status
from olmkit.jobs.cluster_v1 import install, uninstall, upgrade
from olmkit.olm import kinds
from olmkit.olm.explain.explanation import Readiness
from olmkit.olm.v1 import extension as v1

ACCESS = Access(plain_http=True)
OnStage = Callable[..., None]


def _version(found: Any) -> str:
    return str(v1.request_of(found).get("version", ""))


def test_an_extension_is_created_waited_for_changed_and_removed(
    on_either_side: OnStage, toy: Any
) -> None:
    async def scenario(stage: Any) -> None:
        reader, name = stage.reader, stage.name
        await stage.account()
        await stage.serve(toy(version="1.0.0"), toy(version="1.1.0"))
        assert (await stage.install(version="1.0.0")).is_ready
        with pytest.raises(InputError, match="exists already"):
            await stage.install()
        (row,) = (await status.status(reader, package=name)).operators
        assert (row.olm, row.package, row.installed) == ("v1", name, f"{name}.v1.0.0")
        assert row.explanation.is_ready

        before = await stage.written()
        made = await upgrade.plan(reader, name, "1.x", ACCESS)
        assert (made.before, made.offer.csv) == (f"{name}.v1.0.0", f"{name}.v1.1.0")
        assert made.offer.notes[0] == "the requested range changes from `1.0.0` to `1.x`"
        assert await stage.written() == before
        timeouts = stage.timeouts
        found = await upgrade.carry_out(reader, made, report=[].append, timeouts=timeouts)
        assert found.is_ready
        assert _version(await reader.find(v1.CLUSTER_EXTENSION, name)) == "1.x"

        made = await upgrade.plan(reader, name, "", ACCESS)
        assert made.offer.notes == (
            "the requested range `1.x` stays; `--to` changes it", "no newer version is offered",
        )  # fmt: skip

        gone = await uninstall.plan(reader, name, delete_operands=False)
        assert [one["kind"] for one in gone.all] == [
            "ClusterExtension", "Deployment", "CustomResourceDefinition",
        ]  # fmt: skip
        done = await uninstall.carry_out(reader, gone, report=[].append, timeouts=timeouts)
        assert (done.gone, done.left) == (gone.all, ())
        assert await reader.find(kinds.CRD, stage.shop.crd) is None

    on_either_side(scenario)


def test_an_installed_extension_is_not_ready_before_the_pods_run(
    on_either_side: OnStage, toy: Any
) -> None:
    async def scenario(stage: Any) -> None:
        await stage.account()
        nowhere = f"{stage.shop.cluster.registry}/nowhere:1"
        await stage.serve(toy(version="1.0.0"), toy(version="1.1.0", image=nowhere))
        assert (await stage.install(version="1.0.0")).is_ready
        for timeouts in stage.patience:
            found = await stage.upgrade("1.1.0", timeouts)
            if found.cause == "image-cannot-be-pulled":
                break
        assert (found.cause, found.is_ready) == ("image-cannot-be-pulled", False)
        assert (await stage.why()).cause == "image-cannot-be-pulled"
        (row,) = (await status.status(stage.reader, package=stage.name)).operators
        assert row.explanation.cause == "image-cannot-be-pulled"
        await stage.reports("Succeeded", "desired state reached")

    on_either_side(scenario)


def test_a_missing_extension_is_reported(on_either_side: OnStage) -> None:
    async def scenario(stage: Any) -> None:
        assert (await stage.why()).cause == "not-installed"
        with pytest.raises(InputError, match="no ClusterExtension"):
            await uninstall.plan(stage.reader, stage.name, delete_operands=True)
        with pytest.raises(InputError, match="no ClusterExtension"):
            await stage.upgrade()

    on_either_side(scenario)


def test_custom_resources_are_removed_first_and_only_on_request(
    on_either_side: OnStage, toy: Any
) -> None:
    async def scenario(stage: Any) -> None:
        reader, name, place = stage.reader, stage.name, stage.namespace
        await stage.account()
        await stage.serve(toy(version="1.0.0"))
        await stage.install()
        await reader.create(stage.shop.operand(place))
        made = await uninstall.plan(reader, name, delete_operands=False)
        with pytest.raises(InputError, match="1 object of them exists"):
            uninstall.require_complete(made)

        made = await uninstall.plan(reader, name, delete_operands=True)
        uninstall.require_complete(made)
        said: list[str] = []
        done = await uninstall.carry_out(reader, made, report=said.append, timeouts=stage.timeouts)
        assert [one["kind"] for one in done.gone] == [
            "Toy", "ClusterExtension", "Deployment", "CustomResourceDefinition",
        ]  # fmt: skip
        assert said[:2] == [f"deleting Toy {place}/one", f"deleting ClusterExtension {name}"]

    on_either_side(scenario)


def test_an_object_with_a_finalizer_keeps_the_extension(on_either_side: OnStage, toy: Any) -> None:
    async def scenario(stage: Any) -> None:
        reader, name = stage.reader, stage.name
        await stage.account()
        await stage.serve(toy(version="1.0.0"))
        await stage.install()
        await reader.create(stage.shop.operand(stage.namespace, "example.com/hold"))
        made = await uninstall.plan(reader, name, delete_operands=True)
        soon = replace(stage.timeouts, seconds=2)
        done = await uninstall.carry_out(reader, made, report=[].append, timeouts=soon)
        assert [one["kind"] for one in done.left] == ["Toy"]
        assert "`example.com/hold`" in done.hint
        assert await reader.find(v1.CLUSTER_EXTENSION, name)

        made = await uninstall.plan(reader, name, delete_operands=True)
        done = await uninstall.carry_out(
            reader, made, remove_finalizers=True, report=[].append, timeouts=stage.timeouts
        )
        assert done.left == ()
        assert await reader.find(v1.CLUSTER_EXTENSION, name) is None

    on_either_side(scenario)


def test_a_failed_install_is_removed_on_request(on_either_side: OnStage, toy: Any) -> None:
    async def scenario(stage: Any) -> None:
        nowhere = f"{stage.shop.cluster.registry}/nowhere:1"
        await stage.serve(toy(version="1.0.0", image=nowhere))
        options = stage.options(service_account="", create_service_account=True)
        for timeouts in stage.patience:
            made = await install.plan(stage.reader, options, ACCESS)
            said: list[str] = []
            created: list[dict[str, Any]] = []
            found = await install.carry_out(
                stage.reader,
                made,
                report=[].append,
                timeouts=timeouts,
                created=created,
                undone=said.append,
            )
            assert not created
            assert said[0] == f"reverted ClusterExtension {stage.name}"
            assert said[-1] == f"reverted Namespace {stage.namespace}"
            await stage.until_gone(v1.CLUSTER_EXTENSION, stage.name)
            if found.cause == "image-cannot-be-pulled":
                break
            await stage.until_gone(kinds.NAMESPACE, stage.namespace)
        assert found.cause == "image-cannot-be-pulled"

    on_either_side(scenario)


def test_a_second_extension_of_a_package_keeps_objects_of_the_first(
    on_either_side: OnStage, toy: Any
) -> None:
    async def scenario(stage: Any) -> None:
        reader, name, second = stage.reader, stage.name, f"{stage.name}-b"
        await stage.serve(toy(version="1.0.0"))
        assert (await stage.install(service_account="", create_service_account=True)).is_ready
        await stage.account()
        await stage.apply(second)
        said = (
            f"ServiceAccount '{name}' already exists in namespace '{stage.namespace}' and cannot "
            f'be managed by operator-controller for resolved bundle "{name}.v1.0.0" with version '
            '"1.0.0"'
        )
        await stage.reports("Retrying", said, second)
        assert (await stage.why(second)).cause == "object-owned-elsewhere"
        with pytest.raises(InputError, match="exists already"):
            await stage.install()
        rows = (await status.status(reader, package=name)).operators
        assert [(row.name, row.package) for row in rows] == [(name, name), (second, name)]

        for owner, kept in ((second, True), (name, False)):
            made = await uninstall.plan(reader, owner, delete_operands=False)
            assert [one["kind"] for one in made.ours if "installer" in one["metadata"]["name"]] == (
                [] if kept else ["ClusterRoleBinding", "RoleBinding", "ClusterRole", "Role",
                                 "ServiceAccount"]
            )  # fmt: skip
            await uninstall.carry_out(reader, made, report=[].append, timeouts=stage.timeouts)
            account = await reader.find(
                ("v1", "ServiceAccount"), f"{name}-installer", stage.namespace
            )
            assert (account is not None) is kept
            if kept:
                assert (await stage.why(name)).is_ready

    on_either_side(scenario)


def test_an_upgrade_is_checked_with_the_contents_of_the_catalog(
    on_either_side: OnStage, toy: Any
) -> None:
    async def scenario(stage: Any) -> None:
        name = stage.name
        await stage.account()
        versions = ("1.0.0", "1.1.0", "1.2.0")
        await stage.serve(*(toy(version=one, has_crd=False) for one in versions))
        await stage.install(version="1.0.0")
        before = await stage.written()
        for version, says in (
            ("9.x", "no version that fits `9.x` and upgrades from"),
            ("<1.0.0", "no version that fits `<1.0.0`"),
            ("1.2.0", f"2 upgrades away from `{name}.v1.0.0`"),
            ("1.2 - 2.0", "cannot be requested of OLM v1"),
        ):
            with pytest.raises(InputError) as refused:
                await stage.upgrade(version)
            assert says in refused.value.message
        assert await stage.written() == before
        # The controller reports the same for extensions of users.
        prefix = 'error upgrading from currently installed version "1.0.0": no bundles found for'
        for version in ("9.x", "<1.0.0", "1.2.0"):
            said = f'{prefix} package "{name}" matching version "{version}"'
            await stage.apply(version=version)
            await stage.reports("Retrying", said)
            assert (await stage.why()).readiness is Readiness.STUCK
        await stage.apply(version=">=1.0.0 <1.3.0")
        await stage.reports("Succeeded", "desired state reached")
        there = await stage.reader.find(v1.CLUSTER_EXTENSION, name)
        assert v1.installed_bundle(there) == (f"{name}.v1.1.0", "1.1.0")
        assert (await stage.upgrade("1.2.0")).is_ready

    on_either_side(scenario)
