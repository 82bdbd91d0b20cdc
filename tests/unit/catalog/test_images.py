"""The images of a catalog: their bundles and their roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.catalog import images, model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.images import CatalogImage, Role
from olmkit.catalog.model import Catalog


def catalog_of(*bundles: Mapping[str, Any]) -> Catalog:
    names = [{"name": bundle["name"]} for bundle in bundles]
    values: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "cog", "name": "stable", "entries": names},
        *({"schema": "olm.bundle", "package": "cog", **bundle} for bundle in bundles),
    ]
    return model.from_blobs(Blob.of(value) for value in values)


def test_an_image_that_several_bundles_need_is_listed_once() -> None:
    shared = [{"name": "tea", "image": "r.example/tea:1"}]
    catalog = catalog_of(
        {"name": "cog.v2", "image": "r.example/cog:2", "relatedImages": shared},
        {"name": "cog.v1", "image": "r.example/cog:1", "relatedImages": shared},
    )

    found = images.list_images(catalog, {})

    assert [image.image for image in found] == [
        "r.example/cog:1",
        "r.example/cog:2",
        "r.example/tea:1",
    ]
    assert found[2] == CatalogImage(
        image="r.example/tea:1",
        roles=(Role.RELATED,),
        bundles=("cog.v1", "cog.v2"),
        packages=("cog",),
    )


def test_the_image_of_a_bundle_among_its_related_images_is_not_another_role() -> None:
    own = {"name": "", "image": "r.example/cog:1"}
    catalog = catalog_of({"name": "cog.v1", "image": own["image"], "relatedImages": [own]})

    (found,) = images.list_images(catalog, {})

    assert found.roles == (Role.BUNDLE,)


def test_containers_and_variables_of_an_inlined_csv_count() -> None:
    pod = {
        "initContainers": [{"image": "r.example/init:1"}],
        "containers": [
            {
                "image": "r.example/operator:1",
                "env": [
                    {"name": "RELATED_IMAGE_TEA", "value": "r.example/tea:1"},
                    {"name": "MODE", "value": "hot"},
                    {"name": "RELATED_IMAGE_FIELD", "valueFrom": {}},
                ],
            }
        ],
    }
    deployment = {"name": "cog", "spec": {"template": {"spec": pod}}}
    csv = {
        "spec": {
            "install": {"spec": {"deployments": [deployment, None]}},
            "relatedImages": [{"name": "cup", "image": "r.example/cup:1"}, "odd"],
        }
    }
    catalog = catalog_of({"name": "cog.v1", "image": "r.example/cog:1"})

    found = images.list_images(catalog, {("cog", "cog.v1"): csv})

    assert {image.image: image.roles for image in found} == {
        "r.example/cog:1": (Role.BUNDLE,),
        "r.example/cup:1": (Role.RELATED,),
        "r.example/init:1": (Role.OPERATOR,),
        "r.example/operator:1": (Role.OPERATOR,),
        "r.example/tea:1": (Role.RELATED,),
    }


def test_a_bundle_without_an_image_adds_none() -> None:
    assert images.list_images(catalog_of({"name": "cog.v1", "image": ""}), {}) == ()
