"""Templates whose images are in a registry: each is pulled once, and every missing one is named."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError, RemoteError
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.templates import source
from olmkit.edges.images.access_settings import Access
from olmkit.edges.network.web import Web, WebOptions
from olmkit.jobs.catalog.render import Rendered
from olmkit.jobs.catalog.templates import template
from olmkit.jobs.catalog.templates.template import TemplateOptions
from olmkit.jobs.image import publish
from olmkit.jobs.image.publish import PublishOptions
from olmkit.testing.registry import RegistryServer


def render(text: str, *, level: Level = Level.NONE) -> Rendered:
    options = TemplateOptions(level=level)
    return asyncio.run(template.render_template("-", options, stdin=text.encode()))


def semver(*images: str) -> str:
    listed = "".join(f"    - image: {image}\n" for image in images)
    return f"schema: olm.semver\nstable:\n  bundles:\n{listed}"


def test_the_images_in_a_registry_become_channels(
    tmp_path: Path, vectors: Path, registry: RegistryServer
) -> None:
    images = []
    for version in ("1.0.0", "1.0.1"):
        source = vectors / "rules/templates/bundles/pulley" / version
        shutil.copytree(source, tmp_path / version)
        image = f"{registry.host}/templates/pulley:{version}"
        options = PublishOptions(project=tmp_path, target=image, push=True)
        asyncio.run(publish.build_bundle(version, options, Access()))
        images.append(image)

    rendered = render(semver(*images), level=Level.ALL)

    package, channel, *bundles = rendered.blobs
    assert package.value["description"] == "Pulley 1.0.1."
    assert package.value["icon"]["mediatype"] == "image/svg+xml"
    assert channel.value["entries"] == [
        {"name": "pulley.v1.0.0"},
        {"name": "pulley.v1.0.1", "skips": ["pulley.v1.0.0"]},
    ]
    assert [bundle.fields["image"] for bundle in bundles] == images
    kinds = {item["type"] for bundle in bundles for item in bundle.fields["properties"]}
    assert kinds == {"olm.package", "olm.gvk", "olm.csv.metadata"}


def test_every_image_that_cannot_be_pulled_is_named_with_its_place(
    registry: RegistryServer,
) -> None:
    missing = [f"{registry.host}/templates/none:{tag}" for tag in ("a", "b")]

    with pytest.raises(RemoteError) as caught:
        render(semver(*missing))

    found = [(one.rule, str(one.at)) for one in caught.value.diagnostics]
    assert found == [("FBC912", "stdin:4:14"), ("FBC912", "stdin:5:14")]


def test_the_same_error_of_many_images_is_one_finding() -> None:
    missing = [f"127.0.0.1:1/templates/none:{tag}" for tag in ("a", "b", "c")]

    with pytest.raises(RemoteError) as caught:
        render(semver(*missing))

    (found,) = caught.value.diagnostics
    assert str(found.at) == "stdin:4:14"
    assert "image `127.0.0.1:1/templates/none:a` and of 2 other images: cannot" in found.message


def test_a_directory_is_not_an_image(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()

    with pytest.raises(InputError, match="cannot render the bundle of image"):
        render(semver(str(tmp_path / "bundle")))


def test_images_in_one_registry_share_connections(
    tmp_path: Path, vectors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients: list[Web] = []
    begin = Web.__init__

    def count(self: Web, options: WebOptions, **named: Any) -> None:
        begin(self, options, **named)
        clients.append(self)

    with RegistryServer(folder=tmp_path / "registry") as server:
        images = []
        shutil.copytree(vectors / "rules/templates/bundles/pulley/1.0.0", tmp_path / "bundle")
        for number in range(6):
            image = f"{server.host}/templates/pulley-{number}:1.0.0"
            options = PublishOptions(project=tmp_path, target=image, push=True)
            asyncio.run(publish.build_bundle("bundle", options, Access()))
            images.append(f"- schema: olm.bundle\n  image: {image}\n")
        monkeypatch.setattr(Web, "__init__", count)

        rendered = render(f"schema: olm.template.basic\nentries:\n{''.join(images)}")

    assert len(rendered.blobs) == 6
    assert len(clients) == 1


def test_a_misspelled_key_of_a_lenient_template_is_an_error() -> None:
    with pytest.raises(InputError) as caught:
        source.read(b"schema: olm.template.basic\nentires: []\n", "t.yaml")
    [found] = caught.value.diagnostics
    assert (found.message, found.hint) == ("unknown field `entires`", "did you mean `entries`?")
    read = source.read(b"Schema: olm.template.basic\nx-images: &a []\nENTRIES: *a\n", "t.yaml")
    assert read.fields["entries"] == []
