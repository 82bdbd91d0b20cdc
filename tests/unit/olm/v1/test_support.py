"""Bundles that a release of OLM v1 does not install are refused in advance."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import Version
from olmkit.olm.preview import Preview
from olmkit.olm.v1 import support

FIRST, LATER = Version(1, 2, 0), Version(1, 11, 0)


def preview(**fields: Any) -> Preview:
    given = {"csv": "cache.v1", "version": "1.0.0", "modes": ("AllNamespaces",), "grants": ()}
    return Preview(**given | fields)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"modes": ("OwnNamespace",)}, "only bundles that support `AllNamespaces`"),
        ({"modes": ()}, "supports none"),
        ({"requires": ("dbs.example.com",)}, "does not resolve dependencies"),
        ({"webhooks": ("a b",)}, "release 1.2.0 of OLM v1 does not install them"),
        ({"manifests": ({"kind": "Prometheus"},)}, "kind `Prometheus`"),
        (
            {
                "manifests": (
                    {
                        "kind": "ClusterServiceVersion",
                        "spec": {"apiservicedefinitions": {"owned": [{"name": "a"}]}},
                    },
                )
            },
            "APIServices",
        ),
    ],
)
def test_an_unsupported_bundle_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        support.check(preview(**fields), FIRST)


@pytest.mark.parametrize("release", [LATER, None])
def test_webhooks_are_a_note_if_the_release_can_install_them(release: Version | None) -> None:
    (note,) = support.check(preview(webhooks=("a b",)), release)
    assert "cert-manager" in note
    assert support.check(preview(), release) == ()


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("quay.io/operator-framework/operator-controller:v1.2.0", "1.2.0"),
        ("registry.example:5000/operator-controller:v1.11.0@sha256:abc", "1.11.0"),
        ("registry.example:5000/operator-controller", ""),
        ("quay.io/openshift/olm@sha256:abc", ""),
    ],
)
def test_the_release_is_the_tag_of_the_image(image: str, release: str) -> None:
    pod = {"containers": [{"image": image}]}
    deployment = {"kind": "Deployment", "spec": {"template": {"spec": pod}}}

    assert str(support.release(deployment) or "") == release
