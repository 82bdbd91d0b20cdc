"""Images of catalogs: only data, or with a server."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog import image as catalog_image
from olmkit.oci import image as images
from olmkit.oci import layer as layers
from olmkit.oci.content import Platform

CATALOG = Tree({"p/catalog.yaml": b"schema: olm.package\n"})
PACKAGES = layers.write(Tree({"opt/operator/lib/x.py": b""}))
LABEL = {"operators.operatorframework.io.index.configs.v1": "/configs"}


def base(**options: object) -> images.Image:
    platform = Platform(os="linux", architecture="amd64")
    return images.configure(images.scratch(platform), options)


def test_a_data_image_has_the_catalog_and_its_label() -> None:
    made = catalog_image.image(CATALOG)
    assert isinstance(made, images.MultiPlatformImage)
    assert [dict(part.config.labels) for part in made.images] == [LABEL] * 4


def test_opm_serves_with_its_own_arguments() -> None:
    made = catalog_image.catalog_image(
        CATALOG, base(User="1001", WorkingDir="/w"), catalog_image.opm_server()
    )
    assert made.config.run_options == {
        "Cmd": [
            *("serve", "/configs", "--cache-dir=/tmp/cache"),
            "--cache-enforce-integrity=false",
        ],
        "Entrypoint": ["/bin/opm"],
        "Env": [],
        "ExposedPorts": {"50051/tcp": {}},
        "Labels": LABEL,
        "User": "1001",
        "WorkingDir": "/w",
    }
    assert len(made.manifest.layers) == 1


def test_the_server_of_olmkit_has_its_packages_and_probe_below_the_catalog() -> None:
    server = catalog_image.olmkit_server(PACKAGES, b"#!/bin/sh\n", "/opt/operator/lib")
    made = catalog_image.catalog_image(
        CATALOG, base(Env=["PATH=/bin", "PYTHONPATH=/else"]), server, created=7
    )
    assert made.manifest.layers[0].digest == PACKAGES.descriptor.digest
    assert made.manifest.layers[-1].digest == (
        layers.write(CATALOG.at("configs"), mtime=7).descriptor.digest
    )
    assert made.config.run_options["Env"] == [
        "PATH=/bin",
        "PYTHONPATH=/opt/operator/lib",
        "PYTHONUNBUFFERED=1",
    ]
    assert made.config.run_options["User"] == "1001", "the server must not run as root"
    assert made.config.value["created"] == "1970-01-01T00:00:07Z"


def test_a_catalog_without_files_is_refused() -> None:
    with pytest.raises(InputError, match="is empty"):
        catalog_image.image(Tree())
    with pytest.raises(InputError, match="is empty"):
        catalog_image.catalog_image(Tree(), base(), catalog_image.opm_server())


@pytest.mark.parametrize(
    ("packages", "name"),
    [(["a"], "a-catalog:latest"), (["a", "b"], "catalog:latest"), ([], "catalog:latest")],
)
def test_the_image_is_named_after_the_only_package(packages: list[str], name: str) -> None:
    assert catalog_image.default_tag(packages) == name
