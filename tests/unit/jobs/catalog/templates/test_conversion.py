"""Catalog convert: bundles, databases and catalogs on stdin as templates, and back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.catalog.blobs import fbc, wire
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import source
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import Rendered, RenderOptions
from olmkit.jobs.catalog.templates import conversion, template
from olmkit.jobs.catalog.templates.conversion import Kind

PREFIX = "operators.operatorframework.io.bundle."
IMAGE = "registry.example.com/cog-bundle:v{version}"


def bundle(folder: Path, version: str, spec: str = "", channels: str = "stable-v1") -> str:
    (folder / "metadata").mkdir(parents=True)
    (folder / "manifests").mkdir()
    (folder / "metadata/annotations.yaml").write_text(
        f"annotations:\n  {PREFIX}package.v1: cog\n"
        + (f"  {PREFIX}channels.v1: {channels}\n" if channels else "")
    )
    (folder / "manifests/csv.yaml").write_text(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
        f"metadata: {{name: cog.v{version}}}\nspec: {{version: {version}{spec}}}\n"
    )
    return str(folder)


def convert(kind: Kind, *references: str, image: str = IMAGE, stdin: bytes = b"") -> bytes:
    done = conversion.convert(references, kind, Access(), image=image, stdin=stdin)
    return asyncio.run(done).template


def rendered_back(text: bytes, *references: str) -> Rendered:
    """Return the catalog of a template, with the bundles in the directories `references`."""
    options = RenderOptions(image=IMAGE)
    read = asyncio.run(render.render_all(references, options)).blobs
    bundles = (RenderedBundle.of(blob) for blob in read if blob.schema == wire.BUNDLE)
    made = source.read(text, "template.json")
    known = {bundle.image: bundle for bundle in bundles}
    return asyncio.run(template.render_with_known(made, known, Level.NONE, Access()))


def test_bundles_that_replace_each_other_can_be_every_kind_of_template(tmp_path: Path) -> None:
    old = bundle(tmp_path / "old", "1.0.0")
    new = bundle(tmp_path / "new", "1.1.0", ", replaces: cog.v1.0.0, description: Cogs.")

    written = {kind: convert(kind, new, old) for kind in Kind}

    assert b'"image": "registry.example.com/cog-bundle:v1.1.0"' in written[Kind.SEMVER]
    catalogs = {fbc.dump(rendered_back(text, old, new).blobs, "yaml") for text in written.values()}
    (text,) = catalogs
    assert text.decode().startswith(
        "---\ndefaultChannel: stable-v1\ndescription: Cogs.\nname: cog\nschema: olm.package\n"
        "---\nentries:\n- name: cog.v1.0.0\n- name: cog.v1.1.0\n  replaces: cog.v1.0.0\n"
        "name: stable-v1\npackage: cog\nschema: olm.channel\n"
    )


def test_skip_ranges_and_several_channels_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    new = bundle(folder, "1.1.0", ", skips: [cog.v0.9.0]", channels="stable, fast")
    csv = (folder / "manifests/csv.yaml").read_text()
    annotated = csv.replace("{name:", "{annotations: {olm.skipRange: <1.1.0}, name:")
    (folder / "manifests/csv.yaml").write_text(annotated)

    text = fbc.dump(rendered_back(convert(Kind.BASIC, new), new).blobs, "json").decode()

    assert text.count('"skipRange": "<1.1.0"') == 2
    assert '"defaultChannel": "stable"' in text


@pytest.mark.parametrize(
    ("specs", "channels", "message"),
    [
        (["", ""], "stable", "do not form a valid catalog"),
        ([""], "", "belongs to no channel"),
        (["", ", replaces: cog.v1.0.0"], "alpha", "no channel with the name `alpha`"),
    ],
)
def test_bundles_that_cannot_be_such_a_catalog_are_refused(
    tmp_path: Path, specs: list[str], channels: str, message: str
) -> None:
    folders = [
        bundle(tmp_path / str(number), f"1.{number}.0", spec, channels)
        for number, spec in enumerate(specs)
    ]

    with pytest.raises(InputError, match=message):
        convert(Kind.SEMVER, *folders)


def test_two_bundles_with_one_name_are_refused_with_both_directories(tmp_path: Path) -> None:
    folders = [bundle(tmp_path / name, "1.0.0") for name in ("a", "b")]

    with pytest.raises(InputError, match=r"a` and `.*b` are both bundles"):
        convert(Kind.BASIC, *folders)


def test_bundles_in_directories_need_an_image_each(tmp_path: Path) -> None:
    folders = [
        bundle(tmp_path / "a", "1.0.0"),
        bundle(tmp_path / "b", "1.1.0", ", replaces: cog.v1.0.0"),
    ]

    with pytest.raises(ConfigurationError, match=r"location of the image of `cog.v1.0.0`"):
        convert(Kind.BASIC, *folders, image="")
    with pytest.raises(ConfigurationError, match="would be the image of 2 bundles"):
        convert(Kind.BASIC, *folders, image="registry.example.com/cog:v1")
    assert b'"image": ""' in convert(Kind.SUBSTITUTES, *folders, image="")


def test_catalogs_and_bundles_are_not_mixed(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "a", "1.0.0")
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text("schema: olm.package\nname: pot\ndefaultChannel: x\n")

    with pytest.raises(ConfigurationError, match="is a catalog, but other references are bundles"):
        convert(Kind.BASIC, folder, str(catalog))
    with pytest.raises(ConfigurationError, match="cannot be read together"):
        convert(Kind.BASIC, "-", str(catalog))


def test_the_standard_input_is_a_catalog() -> None:
    blob = b"schema: olm.package\nname: pot\ndefaultChannel: x\n"

    assert b'"name": "pot"' in convert(Kind.BASIC, "-", stdin=blob)
    with pytest.raises(InputError) as caught:
        convert(Kind.BASIC, "-", stdin=b"a: b\n")
    (found,) = caught.value.diagnostics
    assert found.at is not None
    assert found.at.path == "stdin"
