"""ClusterExtensions: how they are made, and what their conditions mean."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.olm import v1
from olmkit.olm.explain.explanation import Blame, Standing
from olmkit.olm.preview import Preview
from olmkit.olm.v1 import ExtensionRequest

Manifest = dict[str, Any]


def extension(
    reason: str, message: str = "", *, bundle: str = "", generation: int = 1, seen: int = 1
) -> Manifest:
    conditions = [
        {"type": "Progressing", "status": "True", "reason": reason, "message": message,
         "observedGeneration": seen},
        {"type": "Installed", "status": "True" if bundle else "False", "reason": "x"},
    ]  # fmt: skip
    status: Manifest = {"conditions": conditions}
    if bundle:
        status["install"] = {"bundle": {"name": bundle, "version": "1.0.0"}}
    metadata = {"name": "cache", "generation": generation}
    return {"kind": "ClusterExtension", "metadata": metadata, "status": status}


def catalog(serving: str, reason: str, message: str = "") -> Manifest:
    conditions = [
        {"type": "Serving", "status": serving, "reason": reason},
        {"type": "Progressing", "status": "True", "reason": "Retrying", "message": message},
    ]
    return {
        "kind": "ClusterCatalog",
        "metadata": {"name": "shelf"},
        "status": {"conditions": conditions},
    }


def test_an_extension_says_what_is_wanted_and_nothing_more() -> None:
    bare = v1.cluster_extension(ExtensionRequest(package="cache", namespace="apps"))
    full = v1.cluster_extension(
        ExtensionRequest(
            package="cache",
            namespace="apps",
            version="1.x",
            channels=("stable",),
            catalog="shelf",
            service_account="installer",
        )
    )

    assert bare["spec"] == {
        "namespace": "apps",
        "source": {"sourceType": "Catalog", "catalog": {"packageName": "cache"}},
    }
    assert full["spec"]["serviceAccount"] == {"name": "installer"}
    assert full["spec"]["source"]["catalog"] == {
        "packageName": "cache",
        "version": "1.x",
        "channels": ["stable"],
        "selector": {"matchLabels": {v1.CATALOG_NAME_LABEL: "shelf"}},
    }


def test_a_catalog_is_polled_when_that_is_wanted() -> None:
    request = ExtensionRequest(
        package="cache", namespace="a", catalog="c", catalog_image="i:1", poll_minutes=5
    )

    assert v1.cluster_catalog(request)["spec"]["source"]["image"] == {
        "ref": "i:1",
        "pollIntervalMinutes": 5,
    }


@pytest.mark.parametrize("required", [True, False])
def test_the_crd_says_whether_a_service_account_is_wanted(required: bool) -> None:
    spec = {"required": ["namespace", *(["serviceAccount"] if required else [])]}
    schema = {"openAPIV3Schema": {"properties": {"spec": spec}}}

    assert v1.wants_service_account({"spec": {"versions": [{"schema": schema}]}}) is required


def preview(**fields: Any) -> Preview:
    return Preview(
        **{"csv": "cache.v1", "version": "1.0.0", "modes": ("AllNamespaces",), "grants": ()}
        | fields
    )


def test_bundles_that_olm_v1_cannot_install_are_refused() -> None:
    v1.check(preview())
    with pytest.raises(InputError, match="`AllNamespaces`"):
        v1.check(preview(modes=("OwnNamespace",)))
    with pytest.raises(InputError, match="resolves no dependencies"):
        v1.check(preview(requires=("dbs.example.com",)))


def test_success_is_ready_and_what_is_older_than_the_wish_is_not() -> None:
    done = extension("Succeeded", bundle="cache.v1.0.0")
    old = extension("Succeeded", bundle="cache.v1.0.0", generation=2)

    assert v1.explain(done, (), "cache").is_ready
    assert v1.explain(old, (), "cache").standing is Standing.WAITING
    assert v1.explain(None, (), "cache").cause == "not-installed"
    assert v1.explain(extension("RollingOut"), (), "cache").standing is Standing.WAITING


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ('no bundles found for package "cache"', "no-such-package"),
        ('no bundles found for package "cache" matching version "9.x"', "no-such-version"),
        (
            (
                'error upgrading from currently installed version "1.0.0": no bundles found for '
                'package "cache" matching version "9.x"'
            ),
            "no-way",
        ),
        (
            'found bundles for package "cache" in multiple catalogs with the same priority [a b]',
            "several-catalogs",
        ),
        (
            (
                'validating bundle "cache.v1": bundle "cache.v1" has a dependency declared via '
                'property "olm.gvk.required" which is currently not supported'
            ),
            "dependencies-not-supported",
        ),
        ('desired version range "x y" is invalid: …', "bad-range"),
        ('CustomResourceDefinition "a" upgrade safety: removed field', "crd-upgrade-unsafe"),
        (
            'roles is forbidden: User "system:serviceaccount:a:b" cannot create resource',
            "service-account-forbidden",
        ),
        ("something new", "extension-fails"),
    ],
)
def test_what_olm_v1_says_is_understood(message: str, cause: str) -> None:
    stuck = v1.explain(extension("Retrying", message), (), "cache")
    blocked = v1.explain(extension("Blocked", message), (), "cache")

    assert (stuck.cause, stuck.standing) == (cause, Standing.STUCK)
    assert (blocked.cause, blocked.standing) == (cause, Standing.BLOCKED)


def test_a_catalog_that_is_not_served_explains_a_package_that_is_not_found() -> None:
    ailing = catalog("False", "Unavailable", "pull: not found")
    words = 'no bundles found for package "cache"'

    found = v1.explain(extension("Retrying", words), (ailing,), "cache")

    assert (found.cause, found.blame) == ("catalog-not-ready", Blame.WORLD)
    assert "pull: not found" in found.message


def test_a_catalog_that_is_blocked_is_not_tried_again() -> None:
    ailing = catalog("False", "Unavailable", "no such ref")
    tried = v1.of_catalog(ailing)
    ailing["status"]["conditions"][1]["reason"] = "Blocked"
    blocked = v1.of_catalog(ailing)

    assert tried is not None
    assert blocked is not None
    assert (tried.standing, blocked.standing) == (Standing.STUCK, Standing.BLOCKED)


def test_deprecated_content_is_told() -> None:
    old = extension("Succeeded", bundle="cache.v1.0.0")
    old["status"]["conditions"].append(
        {"type": "Deprecated", "status": "True", "reason": "Deprecated", "message": "use v2"}
    )

    assert v1.explain(old, (), "cache").hint == "deprecated: use v2"


def test_catalogs_say_why_they_are_not_served() -> None:
    assert v1.of_catalog(catalog("True", "Available")) is None
    off = v1.of_catalog(catalog("False", "UserSpecifiedUnavailable"))
    assert off is not None
    assert off.cause == "catalog-switched-off"
