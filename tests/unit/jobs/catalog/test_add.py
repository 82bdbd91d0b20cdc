"""Catalog add: written files, refused bundles, and no partial writes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, Severity
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.changes.addition import Placement
from olmkit.jobs.catalog import add as catalog_add
from olmkit.jobs.catalog import catalogs, render
from olmkit.jobs.catalog.add import Added, AddOptions
from olmkit.jobs.catalog.render import RenderOptions

PREFIX = "operators.operatorframework.io.bundle."
IMAGE = "registry.example.com/cog-bundle:v{version}"


def bundle(folder: Path, version: str = "1.0.0") -> Path:
    (folder / "metadata").mkdir(parents=True)
    (folder / "manifests").mkdir()
    (folder / "metadata/annotations.yaml").write_text(
        f"annotations:\n  {PREFIX}package.v1: cog\n  {PREFIX}channels.v1: stable\n"
    )
    (folder / "manifests/csv.yaml").write_text(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
        f"metadata: {{name: cog.v{version}}}\nspec: {{version: {version}}}\n"
    )
    return folder


def add(catalog: Path, folder: Path, dry_run: bool = False, **settings: object) -> Added:
    options = AddOptions(**{"image": IMAGE, **settings})  # type: ignore[arg-type]
    return asyncio.run(catalog_add.add(catalog, str(folder), options, dry_run=dry_run))


@pytest.mark.parametrize("name", ["catalog", "catalog.yaml", "catalog.json"])
def test_versions_replace_each_other(tmp_path: Path, name: str) -> None:
    catalog = tmp_path / name

    first = add(catalog, bundle(tmp_path / "a"))
    second = add(catalog, bundle(tmp_path / "b", "1.1.0"))

    assert [entry.replaces for entry in (*first.entries, *second.entries)] == ["", "cog.v1.0.0"]
    package = render_all(catalog)
    assert package == ["cog", "stable", "cog.v1.0.0", "cog.v1.1.0"]


def render_all(catalog: Path) -> list[str]:
    """Return the names of all blobs, from a catalog that can be rendered."""
    done = asyncio.run(render.render_all([str(catalog)], RenderOptions()))
    return [blob.name for blob in done.blobs]


def test_several_bundles_are_added_from_the_lowest_version(tmp_path: Path) -> None:
    folders = [
        str(bundle(tmp_path / name, version))
        for name, version in (("a", "1.10.0"), ("b", "1.9.0"), ("c", "1.2.0"))
    ]
    catalog = tmp_path / "catalog"
    options = AddOptions(image=IMAGE)

    planned = asyncio.run(catalog_add.add_all(catalog, folders, options, dry_run=True))
    assert not catalog.exists()
    done = asyncio.run(catalog_add.add_all(catalog, folders, options))

    assert done == planned
    assert [entry.replaces for one in done for entry in one.entries] == [
        "",
        "cog.v1.2.0",
        "cog.v1.9.0",
    ]
    assert render_all(catalog) == ["cog", "stable", "cog.v1.10.0", "cog.v1.2.0", "cog.v1.9.0"]
    replacing = AddOptions(image=IMAGE, placement=Placement(replaces="cog.v1.2.0"))
    with pytest.raises(ConfigurationError, match="edges of several bundles"):
        asyncio.run(catalog_add.add_all(catalog, folders, replacing))


def test_one_bundle_that_cannot_be_added_leaves_the_catalog_as_it_was(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    add(catalog, bundle(tmp_path / "a"))
    before = catalog.read_bytes()
    folders = [str(bundle(tmp_path / "b", "1.1.0")), str(bundle(tmp_path / "c", "1.1.0"))]
    (tmp_path / "c/manifests/csv.yaml").write_text(
        (tmp_path / "c/manifests/csv.yaml").read_text().replace("spec: {", "spec: {replaces: x, ")
    )
    with pytest.raises(InputError):
        asyncio.run(catalog_add.add_all(catalog, folders, AddOptions(image=IMAGE)))
    assert catalog.read_bytes() == before


def test_two_bundles_of_one_name_are_refused_if_they_differ(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog"
    folders = [str(bundle(tmp_path / name)) for name in ("a", "b")]
    overwriting = AddOptions(image=IMAGE, placement=Placement(overwrite=True))

    same = asyncio.run(catalog_add.add_all(tmp_path / "same", folders, overwriting))
    assert [len(one.changes) for one in same] == [1, 0]
    csv = tmp_path / "b/manifests/csv.yaml"
    csv.write_text(csv.read_text().replace("spec: {", "spec: {displayName: Cog, "))
    with pytest.raises(InputError, match=r"two different bundles have the name `cog\.v1\.0\.0`"):
        asyncio.run(catalog_add.add_all(catalog, folders, overwriting))
    assert not catalog.exists()


def test_a_version_that_cannot_be_compared_names_its_bundle(tmp_path: Path) -> None:
    folders = [str(bundle(tmp_path / "a")), str(bundle(tmp_path / "b", "abc"))]
    with pytest.raises(InputError, match=r"`cog\.vabc` has no version that can be compared"):
        asyncio.run(catalog_add.add_all(tmp_path / "c", folders, AddOptions(image=IMAGE)))


def test_a_dry_run_reports_what_would_be_written(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog"

    added = add(catalog, bundle(tmp_path / "a"), dry_run=True)

    assert [change.path for change in added.changes] == [str(catalog / "cog/catalog.yaml")]
    assert not catalog.exists()


def test_the_bundle_is_stored_in_the_requested_form(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"

    add(catalog, bundle(tmp_path / "a"), level=Level.ALL)

    assert "olm.csv.metadata" in catalog.read_text()


def test_a_change_that_would_break_the_catalog_is_not_written(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    add(catalog, bundle(tmp_path / "a"))
    before = catalog.read_bytes()

    with pytest.raises(InputError, match="would not be valid") as raised:
        add(catalog, bundle(tmp_path / "b", "1.1.0"), placement=Placement(replaces="cog.v0.1.0"))

    assert catalog.read_bytes() == before
    assert [found.at for found in raised.value.diagnostics] == [None]
    assert "multiple channel heads" in raised.value.diagnostics[0].message


def test_a_catalog_that_is_already_invalid_is_reported(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(
        "schema: olm.package\nname: cog\ndefaultChannel: x\n---\n"
        "schema: olm.channel\npackage: cog\nname: x\nentries: [{name: a}, {name: b}]\n"
    )

    with pytest.raises(InputError, match="is not valid") as raised:
        add(catalog, bundle(tmp_path / "a"))

    assert all(found.at is not None for found in raised.value.diagnostics)


def test_errors_of_other_packages_are_warnings(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text("schema: olm.package\nname: other\ndefaultChannel: x\n")

    added = add(catalog, bundle(tmp_path / "a"))

    (warning,) = added.diagnostics
    assert (warning.rule, warning.severity) == ("FBC014", Severity.WARNING)
    folders = [str(bundle(tmp_path / name, f"1.{name}.0")) for name in "12"]
    several = asyncio.run(catalog_add.add_all(catalog, folders, AddOptions(image=IMAGE)))
    assert [len(one.diagnostics) for one in several] == [1, 0]
    assert "cog.v1.0.0" in catalog.read_text()


def test_the_hint_for_a_missing_default_channel_can_be_followed(tmp_path: Path) -> None:
    catalog, folder = tmp_path / "catalog.yaml", bundle(tmp_path / "a")
    annotations = folder / "metadata/annotations.yaml"
    annotations.write_text(f"{annotations.read_text()}  {PREFIX}channel.default.v1: stable\n")

    with pytest.raises(InputError, match="nothing was written") as raised:
        add(catalog, folder, placement=Placement(channels=("alpha",)))

    (found,) = raised.value.diagnostics
    assert (found.rule, found.at) == ("FBC014", None)
    assert "pass `--channel stable` too" in found.hint
    assert "`olmkit catalog init cog --default-channel CHANNEL`" in found.hint
    catalog.write_text("schema: olm.package\nname: cog\ndefaultChannel: alpha\n")
    add(catalog, folder, placement=Placement(channels=("alpha",)))
    assert render_all(catalog) == ["cog", "alpha", "cog.v1.0.0"]


def test_a_bundle_that_cannot_be_pulled_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="location of the image"):
        add(tmp_path / "catalog", bundle(tmp_path / "a"), image="")


def test_a_catalog_is_not_a_bundle(tmp_path: Path) -> None:
    add(tmp_path / "catalog", bundle(tmp_path / "a"))

    with pytest.raises(InputError):
        add(tmp_path / "other", tmp_path / "catalog")
    with pytest.raises(ConfigurationError):
        add(tmp_path / "other", tmp_path / "nothing")


def test_the_result_is_valid(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog"
    for index in range(3):
        add(catalog, bundle(tmp_path / f"{index}", f"1.{index}.0"))

    found = catalogs.read(str(catalog))

    assert list(found.packages["cog"].channels["stable"].entries) == [
        "cog.v1.0.0",
        "cog.v1.1.0",
        "cog.v1.2.0",
    ]


def test_a_new_package_accepts_its_first_version(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text("schema: olm.package\nname: cog\ndefaultChannel: stable\n")

    add(catalog, bundle(tmp_path / "a"))

    assert render_all(catalog) == ["cog", "stable", "cog.v1.0.0"]


def test_a_new_package_without_a_default_channel_gets_that_of_its_first_version(
    tmp_path: Path,
) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text("schema: olm.package\nname: cog\n---\nschema: olm.package\nname: b\n")

    added = add(catalog, bundle(tmp_path / "a"))

    assert {one.rule for one in added.diagnostics} == {"FBC013", "FBC015"}
    assert {one.subject for one in added.diagnostics} == {"package `b`"}
    assert {one.severity for one in added.diagnostics} == {Severity.WARNING}
    assert catalog.read_text().startswith(
        "defaultChannel: stable\nname: cog\nschema: olm.package\n---\n"
    )


def test_channels_and_bundles_of_a_package_without_a_blob_are_warnings(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(
        "schema: olm.channel\npackage: stray\nname: a\nentries: [{name: stray.v1}]\n---\n"
        "schema: olm.bundle\npackage: loose\nname: loose.v1\nimage: quay.io/a/b:v1\n"
        "properties: [{type: olm.package, value: {packageName: loose, version: 1.0.0}}]\n"
    )

    added = add(catalog, bundle(tmp_path / "a"))

    assert [one.rule for one in added.diagnostics] == ["FBC020", "FBC031"]
    assert "cog.v1.0.0" in catalog.read_text()


def test_errors_of_other_packages_stay_warnings_next_to_own_errors(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(
        "schema: olm.package\nname: cog\ndefaultChannel: x\n---\n"
        "schema: olm.channel\npackage: cog\nname: x\nentries: [{name: a}, {name: b}]\n---\n"
        "schema: olm.package\nname: other\n"
    )

    with pytest.raises(InputError, match="is not valid") as raised:
        add(catalog, bundle(tmp_path / "a"))

    severities = {one.subject.partition(",")[0]: one.severity for one in raised.value.diagnostics}
    assert severities == {"package `cog`": Severity.ERROR, "package `other`": Severity.WARNING}


def test_a_default_channel_without_bundles_is_refused(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text("schema: olm.package\nname: cog\ndefaultChannel: other\n")

    with pytest.raises(InputError, match="would not be valid"):
        add(catalog, bundle(tmp_path / "a"))

    assert "olm.bundle" not in catalog.read_text()


def test_the_error_of_a_catalog_in_one_file_has_its_place_in_the_file(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(
        "schema: olm.package\nname: cog\ndefaultChannel: stable\n---\n"
        "schema: olm.channel\npackage: cog\nname: stable\nentries: []\n"
    )

    with pytest.raises(InputError, match="is not valid") as raised:
        add(catalog, bundle(tmp_path / "a"))

    assert {found.at.path for found in raised.value.diagnostics if found.at} == {str(catalog)}


def test_unknown_fields_of_a_catalog_are_kept(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    add(catalog, bundle(tmp_path / "a"))
    channel = "schema: olm.channel\n"
    text = catalog.read_text().replace(channel, f"{channel}colour: red # mine\n")
    catalog.write_text(text + "---\nschema: mine\nanything: 1\n")

    add(catalog, bundle(tmp_path / "b", "1.1.0"))

    for line in ("colour: red # mine", "schema: mine", "anything: 1"):
        assert f"{line}\n" in catalog.read_text()
