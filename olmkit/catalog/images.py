"""The images that a catalog needs: of the bundles, of their operators, and those related to them.

A disconnected cluster can start only images in its mirror. A catalog lists them in two places, the
image of a bundle and its `relatedImages`. The images of an operator's own containers are in its
CSV; `opm render` adds them to `relatedImages`, but catalogs that were written by hand may lack
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from olmkit.bundle.generation.images import VARIABLE_PREFIX
from olmkit.catalog.model import Bundle, Catalog
from olmkit.kube.objects import Manifest, mapping, pod_spec, sequence, text


class Role(StrEnum):
    """The role of an image in a bundle."""

    BUNDLE = "bundle"
    OPERATOR = "operator"
    RELATED = "related"


BundleKey = tuple[str, str]
"""A bundle by its package and its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogImage:
    """An image as written, its roles, and the bundles that need it."""

    image: str
    roles: tuple[Role, ...]
    bundles: tuple[str, ...]
    packages: tuple[str, ...]


def list_images(catalog: Catalog, csvs: Mapping[BundleKey, Manifest]) -> tuple[CatalogImage, ...]:
    """Return the images of all bundles, each once, sorted; `csvs` are the known ones."""
    found: dict[str, tuple[set[Role], set[str], set[str]]] = {}
    for bundle in bundles(catalog):
        for role, image in _bundle_images(bundle, csvs.get((bundle.package, bundle.name))):
            roles, names, packages = found.setdefault(image, (set(), set(), set()))
            roles.add(role)
            names.add(bundle.name)
            packages.add(bundle.package)
    return tuple(
        CatalogImage(
            image=image,
            roles=tuple(role for role in Role if role in roles),
            bundles=tuple(sorted(names)),
            packages=tuple(sorted(packages)),
        )
        for image, (roles, names, packages) in sorted(found.items())
    )


def bundles(catalog: Catalog) -> Iterator[Bundle]:
    """Yield the bundles of all packages."""
    for package in catalog.packages.values():
        yield from package.bundles.values()


def _bundle_images(bundle: Bundle, csv: Manifest | None) -> Iterator[tuple[Role, str]]:
    images: list[tuple[Role, str]] = [(Role.BUNDLE, bundle.image)]
    images += [(Role.RELATED, related.image) for related in bundle.related_images]
    images += _csv_images(csv) if csv is not None else ()
    for role, image in images:
        # The image of a bundle is also listed among its related images.
        if image and (role is not Role.RELATED or image != bundle.image):
            yield role, image


def _csv_images(csv: Manifest) -> Iterable[tuple[Role, str]]:
    spec = mapping(csv.get("spec"))
    for related in sequence(spec.get("relatedImages")):
        yield Role.RELATED, text(mapping(related).get("image"))
    install = mapping(mapping(spec.get("install")).get("spec"))
    for deployment in sequence(install.get("deployments")):
        pod = pod_spec(mapping(deployment))
        for part in ("initContainers", "containers"):
            for container in map(mapping, sequence(pod.get(part))):
                yield Role.OPERATOR, text(container.get("image"))
                for variable in map(mapping, sequence(container.get("env"))):
                    if text(variable.get("name")).startswith(VARIABLE_PREFIX):
                        yield Role.RELATED, text(variable.get("value"))
