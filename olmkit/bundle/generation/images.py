"""Images that a bundle names: `relatedImages`, and pinning them to digests.

Disconnected clusters mirror what `spec.relatedImages` lists, so every image that the operator may
start belongs there. By convention, an operator gets them through variables named `RELATED_IMAGE_…`;
entries of the author are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic
from olmkit.base.documents import Key
from olmkit.bundle.generation.collect import subject
from olmkit.bundle.generation.findings import refusal
from olmkit.bundle.model import BundleObject
from olmkit.kube import objects

VARIABLE_PREFIX = "RELATED_IMAGE_"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableImage:
    """A named image; `container` is the container whose variable names it."""

    name: str
    image: str
    container: str = ""
    source: BundleObject | None = None


def find_related(
    deployments: Iterable[BundleObject], note: Callable[[Diagnostic], None]
) -> tuple[VariableImage, ...]:
    """Return the images that the variables of the deployments' containers name."""
    found: list[VariableImage] = []
    for deployment in deployments:
        for image in _variable_images(deployment):
            if all((image.name, image.image) != (other.name, other.image) for other in found):
                found.append(image)
    names: dict[str, int] = {}
    images: dict[str, int] = {}
    for image in found:
        names[image.name] = names.get(image.name, 0) + 1
        images[image.image] = images.get(image.image, 0) + 1
    result: list[VariableImage] = []
    for image in found:
        name = image.name
        if images[image.image] > 1:
            if any(image.image == other.image for other in result):
                continue
            name = ""
            note(_several_names_finding(image, found))
        elif names[name] > 1:
            name = f"{image.container}-{name}"
        result.append(
            VariableImage(name=name, image=image.image, container="", source=image.source)
        )
    return tuple(result)


def _several_names_finding(image: VariableImage, found: Iterable[VariableImage]) -> Diagnostic:
    names = sorted({f"`{other.name}`" for other in found if other.image == image.image})
    return findings.create(
        "PRJ113",
        f"the image `{image.image}` has several names ({', '.join(names)}), "
        "so its related image has none",
        at=image.source.at("spec", "template", "spec", "containers") if image.source else None,
        subject=subject(image.source) if image.source else "",
        hint=f"give each image one `{VARIABLE_PREFIX}…` variable",
    )


def _variable_images(deployment: BundleObject) -> Iterator[VariableImage]:
    spec = objects.pod_spec(deployment.value)
    containers = [
        (field, index, objects.mapping(container))
        for field in ("containers", "initContainers")
        for index, container in enumerate(objects.sequence(spec.get(field)))
    ]
    for field, index, container in containers:
        reference = deployment.name
        if len(containers) > 1:
            reference += f"-{objects.text(container.get('name'))}"
        for position, item in enumerate(objects.sequence(container.get("env"))):
            variable = objects.mapping(item)
            name = objects.text(variable.get("name"))
            if not name.startswith(VARIABLE_PREFIX):
                continue
            keys: tuple[Key, ...] = ("spec", "template", "spec", field, index, "env", position)
            if variable.get("valueFrom") is not None:
                raise refusal(
                    f"related images with valueFrom field unsupported, found in `{name}`",
                    at=deployment.at(*keys, "valueFrom"),
                    hint="write the image as the variable's `value`, or rename the variable",
                )
            yield VariableImage(
                name=name.removeprefix(VARIABLE_PREFIX).lower().replace("_", "-"),
                image=objects.text(variable.get("value")),
                container=reference,
                source=deployment,
            )


# An image reference inside other text: a registry with a dot, a path, and a tag or a digest.
_SEGMENT = r"[a-zA-Z0-9](?:[a-zA-Z0-9._-]*[a-zA-Z0-9])?"
_PULLSPEC = re.compile(
    rf"(?<![a-zA-Z0-9._/-])"
    rf"[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+(?::\d+)?(?:/{_SEGMENT})+"
    rf"(?:@sha256:[0-9a-fA-F]{{64}}|:{_SEGMENT})",
    re.ASCII,
)
# A tag has at most 128 characters, so the search for its bounds ends there.
_MAX_SCANNED = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Pullspec:
    """An image in a CSV, and the name of the related image for it."""

    name: str
    image: str


def pullspecs(csv: Mapping[str, Any]) -> tuple[Pullspec, ...]:
    """Return each image in a CSV, in a fixed order, each name and image once."""
    return tuple(dict.fromkeys(_pullspecs(csv)))


def _pullspecs(csv: Mapping[str, Any]) -> Iterator[Pullspec]:
    spec = objects.mapping(csv.get("spec"))
    for item in objects.sequence(spec.get("relatedImages")):
        entry = objects.mapping(item)
        image = objects.text(entry.get("image"))
        if image:
            yield Pullspec(name=objects.text(entry.get("name")), image=image)
    for container in _containers(spec):
        image = objects.text(container.get("image"))
        if image:
            yield Pullspec(name=objects.text(container.get("name")), image=image)
    for container in _containers(spec):
        for item in objects.sequence(container.get("env")):
            variable = objects.mapping(item)
            name = objects.text(variable.get("name"))
            image = objects.text(variable.get("value"))
            if name.startswith(VARIABLE_PREFIX) and image:
                short = name.removeprefix(VARIABLE_PREFIX).lower().replace("_", "-")
                yield Pullspec(name=short, image=image)
    for text in _annotation_texts(csv):
        for image in _PULLSPEC.findall(text[:_MAX_SCANNED]):
            yield Pullspec(name=_annotation_name(image), image=image)
    container_image = objects.annotations_of(csv).get("containerImage", "")
    if container_image and not _PULLSPEC.fullmatch(container_image):
        yield Pullspec(name=_annotation_name(container_image), image=container_image)


def without_tag(image: str) -> str:
    """Return the name of an image as written, without tag and digest."""
    folder, slash, last = image.partition("@")[0].rpartition("/")
    return folder + slash + last.partition(":")[0]


def pin(csv: Mapping[str, Any], digests: Mapping[str, str]) -> dict[str, Any]:
    """Return the CSV with every image replaced by its pinned reference and related.

    `digests` maps an image as written to `name@sha256:…`. Raises `InputError` if one name would
    refer to two images.
    """
    related_images: dict[str, str] = {}
    named = {item.image for item in pullspecs(csv) if item.name}
    for item in sorted(pullspecs(csv), key=lambda one: (one.name, one.image)):
        if not item.name and item.image in named:
            continue
        image = digests.get(item.image, item.image)
        if related_images.setdefault(item.name, image) != image:
            raise refusal(
                f"the name `{item.name}` refers to two images, "
                f"`{related_images[item.name]}` and `{image}`",
                hint="give the containers or the variables different names",
            )
    result = _replace(csv, digests)
    spec = result.setdefault("spec", {})
    spec.pop("relatedImages", None)
    if related_images:
        spec["relatedImages"] = [
            {"name": name, "image": image} for name, image in related_images.items()
        ]
    return dict(result)


def _replace(value: Any, digests: Mapping[str, str]) -> Any:
    match value:
        case dict():
            return {key: _replace(item, digests) for key, item in value.items()}
        case list():
            return [_replace(item, digests) for item in value]
        case str():
            if value in digests:
                return digests[value]
            return _PULLSPEC.sub(lambda found: digests.get(found[0], found[0]), value)
        case _:
            return value


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    install = objects.mapping(objects.mapping(spec.get("install")).get("spec"))
    for deployment in objects.sequence(install.get("deployments")):
        pod = objects.pod_spec(deployment)
        for field in ("containers", "initContainers"):
            yield from map(objects.mapping, objects.sequence(pod.get(field)))


def _annotation_texts(value: Any) -> Iterator[str]:
    """Yield the annotations of the CSV and of every object inside it."""
    if isinstance(value, Mapping):
        yield from objects.annotations_of(value).values()
        for item in value.values():
            yield from _annotation_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _annotation_texts(item)


def _annotation_name(image: str) -> str:
    path, _, digest = image.partition("@sha256:")
    repository, _, tag = path.rpartition("/")[2].partition(":")
    return f"{repository}-{digest or tag or 'latest'}-annotation"
