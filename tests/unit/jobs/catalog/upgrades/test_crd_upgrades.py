"""CRDs of successive bundles, from the objects in a catalog and from images."""

from __future__ import annotations

import asyncio
from pathlib import Path

from olmkit.catalog.model import Catalog
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.bundle import build
from olmkit.jobs.catalog import catalogs
from olmkit.jobs.catalog.upgrades import crd_upgrades
from olmkit.jobs.image.publish import PublishOptions

GOLDEN = Path(__file__).parents[4] / "golden"
INLINE = GOLDEN / "catalog" / "check-against-crds" / "input"
BUNDLES = GOLDEN / "bases" / "bundles-to-compare"
ACCESS = Access(environment={})


def read(folder: Path) -> Catalog:
    return catalogs.read(str(folder), valid=False)


def test_objects_in_the_catalog_are_compared_along_new_upgrades() -> None:
    found = asyncio.run(crd_upgrades.compare(read(INLINE / "new"), read(INLINE / "old")))

    (one,) = found.blocked
    assert (one.before, one.after) == ("teapot-operator.v1.0.0", "teapot-operator.v1.1.0")
    assert one.crd == "teapots.tea.example.com"
    assert one.olm == ("v0", "v1")
    assert "`spec.cups` is now required" in one.changes


def test_an_upgrade_in_the_old_catalog_is_not_compared_again() -> None:
    new = read(INLINE / "new")

    assert asyncio.run(crd_upgrades.compare(new, new)).blocked == ()


def catalog_of_images(folder: Path, *images: tuple[str, str]) -> Catalog:
    """A catalog without objects, which only has the images of its bundles."""
    names = [name for name, _ in images]
    entries = [
        f"{{name: {names[0]}}}",
        *(f"{{name: {n}, replaces: {names[0]}}}" for n in names[1:]),
    ]
    lines = [
        "schema: olm.package\nname: teapot-operator\ndefaultChannel: stable",
        (
            "schema: olm.channel\npackage: teapot-operator\nname: stable\n"
            f"entries: [{', '.join(entries)}]"
        ),
    ]
    for name, image in images:
        version = name.partition(".v")[2]
        lines.append(
            f"schema: olm.bundle\npackage: teapot-operator\nname: {name}\nimage: {image}\n"
            "properties:\n- type: olm.package\n"
            f"  value: {{packageName: teapot-operator, version: {version}}}"
        )
    folder.mkdir()
    (folder / "catalog.yaml").write_text("\n---\n".join(lines) + "\n")
    return read(folder)


def test_images_are_pulled_on_request_and_unreadable_ones_are_noted(tmp_path: Path) -> None:
    images = {}
    for name in ("old", "new"):
        target = f"oci:{tmp_path / f'layout-{name}'}"
        asyncio.run(build.build([str(BUNDLES / name)], PublishOptions(target=target), ACCESS))
        images[name] = target
    first, second = "teapot-operator.v1.0.0", "teapot-operator.v1.1.0"
    old = catalog_of_images(tmp_path / "a", (first, images["old"]))
    new = catalog_of_images(tmp_path / "b", (first, images["old"]), (second, images["new"]))
    gone = catalog_of_images(tmp_path / "c", (first, images["old"]), (second, "oci:nowhere"))

    assert asyncio.run(crd_upgrades.compare(new, old)).blocked == ()
    assert len(asyncio.run(crd_upgrades.compare(new, old, ACCESS)).blocked) == 1
    unread = asyncio.run(crd_upgrades.compare(gone, old, ACCESS))
    assert unread.blocked == ()
    assert unread.notes[0].startswith("`teapot-operator.v1.1.0` cannot be compared: ")
