"""Related images, and pinning."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.bundle.generation import collect, images

D = "controller-manager"
DIGEST = "sha256:" + "a" * 64


def deployment(name: str, *containers: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": name,
                            "env": [
                                {"name": f"RELATED_IMAGE_{key}", "value": value}
                                for key, value in variables.items()
                            ],
                        }
                        for name, variables in (
                            (container.pop("name", "manager"), container)
                            for container in containers
                        )
                    ]
                }
            }
        },
    }


def related(*deployments: dict[str, Any]) -> tuple[list[tuple[str, str]], list[Diagnostic]]:
    notes: list[Diagnostic] = []
    text = b"---\n".join(documents.dump(item) for item in deployments)
    collection = collect.collect(documents.load_all(text, "in"))
    found = images.find_related(collection.deployments, notes.append)
    return [(item.name, item.image) for item in found], notes


@pytest.mark.parametrize(
    ("deployments", "expected"),
    [
        ([deployment(D, {"MEMCACHED": "m"})], [("memcached", "m")]),
        ([deployment(D, {"FOO_BAR": "m"})], [("foo-bar", "m")]),
        ([deployment(D, {"EMPTY": ""})], [("empty", "")]),
        (
            [deployment(D, {"MEMCACHED": "m"}, {"name": "manager-canary", "MEMCACHED": "m"})],
            [("memcached", "m")],
        ),
        (
            [deployment(D, {"MEMCACHED": "m"}, {"name": "manager-canary", "MEMCACHED": "l"})],
            [(f"{D}-manager-memcached", "m"), (f"{D}-manager-canary-memcached", "l")],
        ),
        (
            [deployment(D, {"MEMCACHED": "m"}), deployment(f"{D}-canary", {"MEMCACHED": "l"})],
            [(f"{D}-memcached", "m"), (f"{D}-canary-memcached", "l")],
        ),
        ([deployment(D, {"MEMCACHED": "m", "MEMCACHED_CANARY": "m"})], [("", "m")]),
        (
            [
                deployment(
                    D,
                    {"MEMCACHED": "m"},
                    {"name": "manager-replica", "MEMCACHED": "l"},
                    {"name": "c", "MEMCACHED_CANARY": "m"},
                )
            ],
            [("", "m"), (f"{D}-manager-replica-memcached", "l")],
        ),
    ],
)
def test_related_images_have_their_names(
    deployments: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    found, notes = related(*deployments)
    assert found == expected
    assert bool(notes) is any(not name for name, _ in expected)


def test_an_image_of_another_registry_is_refused() -> None:
    manifest = deployment(D, {"X": ""})
    variable = manifest["spec"]["template"]["spec"]["containers"][0]["env"][0]
    del variable["value"]
    variable["valueFrom"] = {"fieldRef": {"fieldPath": "metadata.name"}}
    with pytest.raises(InputError, match="RELATED_IMAGE_X"):
        related(manifest)


CSV: dict[str, Any] = {
    "kind": "ClusterServiceVersion",
    "metadata": {
        "annotations": {
            "containerImage": "quay.io/a/manager:v1",
            "note": "see quay.io/a/tool:v2 and example.com",
        }
    },
    "spec": {
        "relatedImages": [{"name": "engine", "image": "quay.io/a/engine:v3"}],
        "install": {
            "spec": {
                "deployments": [
                    {
                        "spec": {
                            "template": {
                                "spec": {
                                    "initContainers": [{"name": "init", "image": "busybox"}],
                                    "containers": [
                                        {
                                            "name": "manager",
                                            "image": "quay.io/a/manager:v1",
                                            "env": [
                                                {
                                                    "name": "RELATED_IMAGE_ENGINE",
                                                    "value": "quay.io/a/engine:v3",
                                                }
                                            ],
                                        }
                                    ],
                                }
                            }
                        }
                    }
                ]
            }
        },
    },
}


def test_every_image_of_a_csv_is_found() -> None:
    assert {(item.name, item.image) for item in images.pullspecs(CSV)} == {
        ("engine", "quay.io/a/engine:v3"),
        ("manager", "quay.io/a/manager:v1"),
        ("init", "busybox"),
        ("manager-v1-annotation", "quay.io/a/manager:v1"),
        ("tool-v2-annotation", "quay.io/a/tool:v2"),
    }


def test_all_images_are_pinned_everywhere() -> None:
    found = {item.image for item in images.pullspecs(CSV)}
    digests = {image: f"{images.without_tag(image)}@{DIGEST}" for image in found}

    pinned = images.pin(CSV, digests)

    assert pinned["spec"]["relatedImages"] == [
        {"name": "engine", "image": f"quay.io/a/engine@{DIGEST}"},
        {"name": "init", "image": f"busybox@{DIGEST}"},
        {"name": "manager", "image": f"quay.io/a/manager@{DIGEST}"},
        {"name": "manager-v1-annotation", "image": f"quay.io/a/manager@{DIGEST}"},
        {"name": "tool-v2-annotation", "image": f"quay.io/a/tool@{DIGEST}"},
    ]
    annotations = pinned["metadata"]["annotations"]
    assert annotations["containerImage"] == f"quay.io/a/manager@{DIGEST}"
    assert annotations["note"] == f"see quay.io/a/tool@{DIGEST} and example.com"
    assert not [item for item in images.pullspecs(pinned) if "@" not in item.image]


def test_the_same_name_for_two_images_is_refused() -> None:
    csv = {"spec": {"relatedImages": [{"name": "a", "image": "b"}, {"name": "a", "image": "c"}]}}
    with pytest.raises(InputError, match="refers to two images"):
        images.pin(csv, {})


def test_long_texts_are_scanned_fast() -> None:
    csv = {"metadata": {"annotations": {"a": "a.b/" + "x" * 200_000, "b": "a." * 100_000}}}
    assert images.pullspecs(csv) == ()
