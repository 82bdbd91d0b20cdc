"""The objects of an install, and requests that are refused before a write."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.olm import install_objects
from olmkit.olm.install_objects import InstallRequest, Mode, ServedCatalog, SubscribedCatalog

CATALOG = SubscribedCatalog(name="shelf", namespace="apps", image="registry/catalog:v1")


def request(**fields: Any) -> InstallRequest:
    return InstallRequest(**{"package": "cache", "namespace": "apps", "catalog": CATALOG} | fields)


def test_a_group_a_catalog_and_a_subscription_are_created_in_this_order() -> None:
    made = install_objects.subscription_objects(
        request(channel="stable"), Mode(type="OwnNamespace")
    )

    assert [one["kind"] for one in made] == ["OperatorGroup", "CatalogSource", "Subscription"]
    assert made[0]["spec"] == {"targetNamespaces": ["apps"]}
    assert made[2]["spec"] == {
        "name": "cache",
        "channel": "stable",
        "source": "shelf",
        "sourceNamespace": "apps",
        "installPlanApproval": "Automatic",
    }
    assert all(install_objects.is_ours(one) for one in made)


def test_existing_objects_are_not_created_again() -> None:
    there = SubscribedCatalog(name="shelf", namespace="olm")

    made = install_objects.subscription_objects(request(catalog=there), None)

    assert [one["kind"] for one in made] == ["Subscription"]


def test_all_namespaces_is_an_empty_spec() -> None:
    made = install_objects.operator_group("apps", "cache", Mode(type="AllNamespaces"))

    assert made["spec"] == {}


@pytest.mark.parametrize(
    ("catalog", "spec"),
    [
        (SubscribedCatalog(name="c", namespace="n", address="h:1"), {"address": "h:1"}),
        (
            SubscribedCatalog(name="c", namespace="n", image="i", folder="/configs", poll="15m"),
            {
                "image": "i",
                "grpcPodConfig": {
                    "securityContextConfig": "restricted",
                    "extractContent": {"catalogDir": "/configs"},
                },
                "updateStrategy": {"registryPoll": {"interval": "15m"}},
            },
        ),
        (
            SubscribedCatalog(name="c", namespace="n", image="i", secrets=("pull",)),
            {
                "image": "i",
                "grpcPodConfig": {"securityContextConfig": "restricted"},
                "secrets": ["pull"],
            },
        ),
    ],
)
def test_catalogs_of_each_form_are_created(
    catalog: SubscribedCatalog, spec: dict[str, Any]
) -> None:
    made = install_objects.catalog_source(catalog, "cache")

    assert made["spec"] == {"sourceType": "grpc", "displayName": "cache", **spec}


def test_a_catalog_with_other_contents_has_another_name() -> None:
    def name(blobs: bytes, package: str = "cache") -> str:
        return ServedCatalog(namespace="apps", package=package, blobs=blobs, image="opm").name

    assert name(b"a") == name(b"a")
    assert name(b"a") != name(b"b")
    assert len(name(b"a", "x" * 63)) <= 63


def test_a_catalog_too_large_for_a_config_map_is_refused() -> None:
    served = ServedCatalog(namespace="apps", package="cache", blobs=bytes(900_000), image="opm")

    with pytest.raises(InputError, match="ConfigMap holds"):
        install_objects.served_objects(served)


def test_the_pod_reads_the_config_map_and_the_service_finds_it() -> None:
    served = ServedCatalog(
        namespace="apps", package="cache", blobs=b"{}", image="opm", secrets=("s",)
    )

    config, pod, service = install_objects.served_objects(served)

    assert pod["spec"]["volumes"][0]["configMap"]["name"] == config["metadata"]["name"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert pod["spec"]["imagePullSecrets"] == [{"name": "s"}]
    assert served.address == f"{service['metadata']['name']}.apps.svc:50051"


@pytest.mark.parametrize(
    ("words", "targets"),
    [
        ("AllNamespaces", ()),
        ("OwnNamespace", ("apps",)),
        ("SingleNamespace=b", ("b",)),
        ("MultiNamespace=b,c", ("b", "c")),
    ],
)
def test_install_modes_name_their_namespaces(words: str, targets: tuple[str, ...]) -> None:
    mode = Mode.parse(words)

    assert mode.targets("apps") == targets
    assert str(mode) == words


@pytest.mark.parametrize(
    "words", ["", "Everywhere", "SingleNamespace", "SingleNamespace=a,b", "MultiNamespace=a",
              "AllNamespaces=a"]
)  # fmt: skip
def test_other_strings_are_not_install_modes(words: str) -> None:
    with pytest.raises(ConfigurationError):
        Mode.parse(words)


@pytest.mark.parametrize(
    ("supported", "chosen"),
    [
        ((), "AllNamespaces"),
        (("OwnNamespace", "AllNamespaces"), "AllNamespaces"),
        (("OwnNamespace", "SingleNamespace"), "OwnNamespace"),
    ],
)
def test_the_widest_mode_is_selected(supported: tuple[str, ...], chosen: str) -> None:
    assert install_objects.choose_mode(supported, "apps", None).type == chosen


def test_a_mode_that_needs_namespaces_is_not_guessed() -> None:
    with pytest.raises(InputError, match="name the namespaces") as raised:
        install_objects.choose_mode(("SingleNamespace",), "apps", None)

    assert "--mode SingleNamespace=NAMESPACE" in raised.value.hint


def test_a_mode_that_the_bundle_lacks_is_refused() -> None:
    with pytest.raises(InputError, match="`AllNamespaces`"):
        install_objects.choose_mode(("OwnNamespace",), "apps", Mode(type="AllNamespaces"))


def group(*targets: str) -> dict[str, Any]:
    return {
        "kind": "OperatorGroup",
        "metadata": {"name": "g", "namespace": "apps"},
        "spec": {"targetNamespaces": list(targets)},
    }


def test_an_existing_group_decides() -> None:
    install_objects.check_group(group("apps"), ("OwnNamespace",), None)
    install_objects.check_group(group("apps"), (), Mode(type="OwnNamespace"))
    with pytest.raises(InputError, match="`AllNamespaces`"):
        install_objects.check_group(group(), ("OwnNamespace",), None)
    with pytest.raises(InputError, match="watches apps"):
        install_objects.check_group(group("apps"), (), Mode(type="AllNamespaces"))
