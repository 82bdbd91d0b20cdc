"""Catalog render: directories, files, layouts and a real registry, and errors there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError, RemoteError
from olmkit.catalog.blobs import fbc
from olmkit.catalog.bundles.migrate import Level
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import Rendered, RenderOptions
from olmkit.jobs.image import publish
from olmkit.jobs.image.publish import PublishOptions
from olmkit.testing.registry import RegistryServer, free_port

PREFIX = "operators.operatorframework.io.bundle."
ANNOTATIONS = f"""annotations:
  {PREFIX}mediatype.v1: registry+v1
  {PREFIX}manifests.v1: manifests/
  {PREFIX}metadata.v1: metadata/
  {PREFIX}package.v1: cog
  {PREFIX}channels.v1: stable
"""
CSV = """apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {{name: cog.v{version}}}
spec: {{version: {version}}}
"""
CATALOG = """schema: olm.package
name: cog
defaultChannel: stable
---
schema: olm.channel
package: cog
name: stable
entries: [{name: cog.v1.0.0}]
"""
BLOB = """---
schema: olm.bundle
name: cog.v1.0.0
package: cog
image: registry.example.com/cog:v1.0.0
properties: [{type: olm.package, value: {packageName: cog, version: 1.0.0}}]
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def bundle(folder: Path, version: str = "1.0.0") -> str:
    write(folder / "metadata/annotations.yaml", ANNOTATIONS)
    write(folder / "manifests/csv.yaml", CSV.format(version=version))
    return str(folder)


def run(*references: str | Path, options: RenderOptions | None = None) -> Rendered:
    return asyncio.run(
        render.render_all([str(each) for each in references], options or RenderOptions())
    )


def names(rendered: Rendered) -> list[tuple[str, str]]:
    return [(blob.schema, blob.name) for blob in rendered.blobs]


def test_references_are_rendered_in_order_and_not_merged(tmp_path: Path) -> None:
    catalog = write(tmp_path / "catalog/cog.yaml", CATALOG).parent
    newer = bundle(tmp_path / "1.1.0", "1.1.0")
    older = bundle(tmp_path / "1.0.0")

    rendered = run(newer, catalog, older, catalog / "cog.yaml")

    assert names(rendered) == [
        ("olm.bundle", "cog.v1.1.0"),
        ("olm.package", "cog"),
        ("olm.channel", "stable"),
        ("olm.bundle", "cog.v1.0.0"),
        ("olm.package", "cog"),
        ("olm.channel", "stable"),
    ]


def test_many_bundles_are_rendered_alike_in_one_process_and_in_several(tmp_path: Path) -> None:
    folders = [bundle(tmp_path / f"{index}", f"1.0.{index}") for index in range(6)]

    alone = run(*folders, options=RenderOptions(processes=1))
    together = run(*folders, options=RenderOptions(processes=2))

    assert fbc.dump(alone.blobs, "json") == fbc.dump(together.blobs, "json")


def test_the_image_of_a_bundle_directory_is_formatted_from_its_values(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "b", "1.0.0+build")
    options = RenderOptions(image="registry.example.com/{package}/{name}:v{version}")

    with pytest.raises(ConfigurationError):
        run(folder, options=RenderOptions(image="registry.example.com/{package}:{channel}"))
    (blob,) = run(folder, options=options).blobs

    assert blob.fields["image"] == "registry.example.com/cog/cog.v1.0.0+build:v1.0.0-build"


def test_one_image_for_two_bundles_is_refused(tmp_path: Path) -> None:
    options = RenderOptions(image="registry.example.com/cog:v1")

    with pytest.raises(ConfigurationError, match="would be the image of 2 bundles"):
        run(bundle(tmp_path / "a"), bundle(tmp_path / "b", "1.1.0"), options=options)


def test_bundles_of_catalogs_are_also_migrated(tmp_path: Path) -> None:
    options = RenderOptions(image="registry.example.com/cog:v1")
    whole = fbc.dump(run(bundle(tmp_path / "b"), options=options).blobs, "yaml")
    catalog = tmp_path / "catalog.yaml"
    catalog.write_bytes(whole)

    (same,) = run(catalog).blobs
    (migrated,) = run(catalog, options=RenderOptions(level=Level.ALL)).blobs

    assert fbc.dump([same], "yaml") == whole
    assert [item["type"] for item in migrated.fields["properties"]] == [
        "olm.package",
        "olm.csv.metadata",
    ]


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    no_csv = tmp_path / "a"
    write(no_csv / "metadata/annotations.yaml", ANNOTATIONS)
    write(no_csv / "manifests/x.yaml", "kind: X\n")
    no_blob = write(tmp_path / "catalog.yaml", "schema: olm.package\nname: a\n---\nname: b\n")

    with pytest.raises(InputError) as raised:
        run(no_csv, no_blob)

    assert [str(found.at) for found in raised.value.diagnostics] == [
        f"{no_csv}/manifests",
        f"{no_blob}:4:1",
    ]


@pytest.mark.parametrize(
    ("name", "data", "error", "message"),
    [
        ("index.db", b"SQLite format 3\0", InputError, "cannot be read: file is not a database"),
        ("x.bin", b"a: \x00\x01", InputError, "a control character is in the text"),
    ],
)
def test_files_that_are_not_catalogs_are_refused(
    tmp_path: Path, name: str, data: bytes, error: type[OlmkitError], message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)

    with pytest.raises(error, match=message):
        run(path)


@pytest.mark.parametrize("reference", ["", "bundel", "./bundel", "a b", "x" * 5000, "~nouser/x"])
def test_a_reference_to_a_missing_file_is_invalid_usage(reference: str) -> None:
    with pytest.raises(ConfigurationError):
        run(reference)


def test_a_bundle_image_in_a_layout_has_no_pull_spec(tmp_path: Path) -> None:
    bundle(tmp_path / "bundle")
    built = asyncio.run(
        publish.build_bundle("bundle", PublishOptions(project=tmp_path), Access())
    ).reference

    silent = run(built)
    said = run(built, options=RenderOptions(image="registry.example.com/cog:v{version}"))

    assert silent.blobs[0].fields["image"] == ""
    assert [note.rule for note in silent.diagnostics] == ["FBC907"]
    assert said.blobs[0].fields["image"] == "registry.example.com/cog:v1.0.0"
    assert said.diagnostics == ()


def test_images_in_a_registry_are_rendered_with_their_names(tmp_path: Path) -> None:
    bundle(tmp_path / "bundle")
    write(tmp_path / "catalog/cog/catalog.yaml", CATALOG + BLOB)
    with RegistryServer(folder=tmp_path / "registry") as server:
        image = f"{server.host}/cog-bundle:v1.0.0"
        catalog = f"{server.host}/cog-catalog:latest"
        asyncio.run(publish.build_bundle("bundle", options(tmp_path, image), Access()))
        asyncio.run(publish.build_catalog("catalog", options(tmp_path, catalog), Access()))

        rendered = run(catalog, image)

    assert names(rendered) == [
        ("olm.package", "cog"),
        ("olm.channel", "stable"),
        ("olm.bundle", "cog.v1.0.0"),
        ("olm.bundle", "cog.v1.0.0"),
    ]
    assert rendered.blobs[3].fields["image"] == image
    assert {"name": "", "image": image} in rendered.blobs[3].fields["relatedImages"]


def options(project: Path, target: str) -> PublishOptions:
    return PublishOptions(project=project, target=target, push=True)


def test_an_unreachable_registry_is_exit_code_3() -> None:
    with pytest.raises(RemoteError):
        run(f"127.0.0.1:{free_port()}/cog:v1")


def test_errors_in_the_input_take_precedence_over_an_unreachable_registry(tmp_path: Path) -> None:
    broken = write(tmp_path / "catalog.yaml", "a: [\n")

    with pytest.raises(InputError) as raised:
        run(f"127.0.0.1:{free_port()}/cog:v1", broken)

    assert "127.0.0.1" in raised.value.message


def test_fields_that_rendering_omits_are_reported_with_their_places(tmp_path: Path) -> None:
    write(tmp_path / "cog/index.yaml", CATALOG + "colour: red\n" + BLOB + "note: {a: 1}\n")

    rendered = asyncio.run(render.render_all([str(tmp_path)], RenderOptions()))

    assert [(found.rule, str(found.at), found.message) for found in rendered.diagnostics] == [
        ("FBC004", f"{tmp_path}/cog/index.yaml:9:1", "`colour` is not a field of `olm.channel`"),
        ("FBC004", f"{tmp_path}/cog/index.yaml:16:1", "`note` is not a field of `olm.bundle`"),
    ]
    text = fbc.dump(rendered.blobs, "yaml")
    assert b"colour" not in text
    assert b"note" not in text
