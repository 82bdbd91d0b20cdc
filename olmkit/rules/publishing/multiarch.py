"""Rules about the platforms of a bundle: those that its labels declare and those of its images.

Source: the validator `multiarch` of operator-framework/api. It needs a container engine; here the
platforms come from the registry, or from the config of an image without an index. Entries of
attestations are not platforms, init containers count, and a `nodeSelector` has the same effect as a
node affinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from olmkit.base.diagnostics import Location, Severity
from olmkit.bundle.model import Bundle, ClusterServiceVersion
from olmkit.kube import objects as kube
from olmkit.rules.engine import Facts, Finding, rule

SUITE = "multiarch"
_ARCH_LABEL = "operatorframework.io/arch."
_OS_LABEL = "operatorframework.io/os."
_ARCH = "kubernetes.io/arch"
_OS = "kubernetes.io/os"
_SIDECAR = "kube-rbac-proxy"

Platforms = frozenset[str]


class _Container(NamedTuple):
    """A container's image, and the deployment that it is in."""

    image: str
    is_manager: bool
    pod: Mapping[str, Any]
    at: Location


class _Images(NamedTuple):
    """The images of a CSV: of the operator itself, of its sidecars, and related ones."""

    managers: tuple[_Container, ...]
    others: tuple[_Container, ...]
    related: tuple[tuple[str, Location], ...]

    def every(self) -> Iterator[tuple[str, Location]]:
        yield from dict.fromkeys(
            (
                *((entry.image, entry.at) for entry in (*self.managers, *self.others)),
                *self.related,
            )
        )


@rule("MUL001", "image-not-inspected", severity=Severity.WARNING, suite=SUITE)
def image_not_inspected(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """The platforms of an image could not be read.

    Why: the registry does not have the image, or requires credentials. olmkit then assumes
    that the image supports every platform.

    Fix: correct the reference, push the image, or log in to its registry.
    """
    if facts.platforms is None:
        return
    seen: set[str] = set()
    for image, at in _images(bundle).every():
        if not facts.platforms.get(image) and image not in seen:
            seen.add(image)
            yield Finding(
                f"image `{image}` cannot be inspected" if image else "an image has no reference",
                at=at,
                hint="correct the reference, push the image, or log in to its registry",
            )


@rule("MUL002", "platform-missing", suite=SUITE)
def platform_missing(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """An image lacks a platform that the labels of the CSV declare.

    Why: catalogs offer the operator for that platform, but its pods do not start. Without
    labels, the platform is `linux/amd64`.

    Fix: build the image for the platform, or remove the label
    `operatorframework.io/arch.<name>` or `operatorframework.io/os.<name>`.
    """
    for platform in sorted(_promised_platforms(bundle)):
        lacking = {
            image: at
            for image, at in _images(bundle).every()
            if _known_platforms(facts, image) and platform not in _known_platforms(facts, image)
        }
        if lacking:
            listed = ", ".join(f"`{image}`" for image in lacking)
            yield Finding(
                f"the labels declare `{platform}`, which these images lack: {listed}",
                at=next(iter(lacking.values())),
                hint="build the images for it, or correct the labels",
            )


@rule("MUL003", "platform-label-missing", severity=Severity.WARNING, suite=SUITE)
def platform_label_missing(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """The operator's image has a platform that the labels of the CSV do not declare.

    Why: catalogs do not offer the operator for that platform.

    Fix: write the label `operatorframework.io/arch.<name>: supported`, and for operating
    systems `operatorframework.io/os.<name>: supported`.
    """
    csv = bundle.csv
    managers = _union(facts, bundle)
    for prefix, part, default in ((_ARCH_LABEL, 1, "amd64"), (_OS_LABEL, 0, "linux")):
        provided = {platform.split("/")[part] for platform in managers}
        if csv is None or provided <= {default}:
            continue
        for name in sorted(provided - _labeled_platforms(csv, prefix, default)):
            yield Finding(
                f"the operator's image has `{name}`, and label `{prefix}{name}` is missing",
                at=csv.at("metadata", "labels"),
                hint=f"write `{prefix}{name}: supported`",
            )


@rule("MUL004", "operand-platform-missing", severity=Severity.WARNING, suite=SUITE)
def operand_platform_missing(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """An image lacks a platform that the operator supports.

    Why: pods with this image do not run on that platform.

    Fix: build the image for the platform, unless it is only for other platforms.
    """
    images = _images(bundle)
    wanted = _promised_platforms(bundle) | _union(facts, bundle)
    found = [(entry.image, entry.at) for entry in images.others] + list(images.related)
    own = {entry.image for entry in images.managers}
    for image, at in dict.fromkeys(found):
        known = _known_platforms(facts, image)
        for part, noun in ((1, "architecture"), (0, "operating system")):
            needed = {platform.split("/")[part] for platform in wanted}
            lacking = sorted(needed - {platform.split("/")[part] for platform in known})
            if known and lacking and image not in own:
                yield Finding(
                    f"image `{image}` lacks {noun} `{'`, `'.join(lacking)}`, "
                    "which the operator supports",
                    at=at,
                    hint="build the image for it, unless it is meant for other platforms only",
                )


@rule("MUL005", "node-affinity-missing", severity=Severity.WARNING, suite=SUITE)
def node_affinity_missing(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """A deployment of the operator has no node affinity for the platforms of its image.

    Why: in a cluster with several platforms, the scheduler can place its pods on nodes
    where the image does not run.

    Fix: write a required node affinity on `kubernetes.io/arch` and `kubernetes.io/os`.
    """
    images = _images(bundle)
    for entry in dict.fromkeys(
        (e.image, e.at, tuple(sorted(_required_platforms(e.pod))))
        for e in (*images.managers, *images.others)
    ):
        image, at, bound = entry
        if facts.platforms is not None and not bound:
            yield Finding(
                f"no required node affinity names the platforms of image `{image}`",
                at=at,
                hint=f"require `{_ARCH}` and `{_OS}` in a node affinity",
            )


@rule("MUL006", "node-affinity-platforms", severity=Severity.WARNING, suite=SUITE)
def node_affinity_platforms(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """The node affinity of a deployment and its image have different platforms.

    Why: the scheduler places pods on nodes where the image does not run, or avoids nodes
    where it does.

    Fix: list exactly the platforms of the image in the node affinity.
    """
    images = _images(bundle)
    for image, at, bound in dict.fromkeys(
        (e.image, e.at, tuple(sorted(_required_platforms(e.pod))))
        for e in (*images.managers, *images.others)
    ):
        known = _known_platforms(facts, image)
        if not known or not bound:
            continue
        for more, fewer, words in (
            ({*bound}, known, "the node affinity names"),
            (known, {*bound}, "the node affinity leaves out"),
        ):
            odd = sorted({*more} - {*fewer})
            if odd:
                has = "lacks" if more is not known else "has"
                yield Finding(f"{words} `{'`, `'.join(odd)}`, which image `{image}` {has}", at=at)


def image_references(bundle: Bundle) -> tuple[str, ...]:
    """Return every image whose platforms the rules need, in a stable order."""
    return tuple(sorted({image for image, _ in _images(bundle).every() if image}))


def _known_platforms(facts: Facts, image: str) -> Platforms:
    return frozenset((facts.platforms or {}).get(image, ()))


def _union(facts: Facts, bundle: Bundle) -> Platforms:
    """Return the platforms of the operator's images."""
    found: Platforms = frozenset()
    for entry in _images(bundle).managers:
        found |= _known_platforms(facts, entry.image)
    return found


def _promised_platforms(bundle: Bundle) -> Platforms:
    csv = bundle.csv
    if csv is None:
        return frozenset()
    return frozenset(
        f"{system}/{architecture}"
        for system in _labeled_platforms(csv, _OS_LABEL, "linux")
        for architecture in _labeled_platforms(csv, _ARCH_LABEL, "amd64")
    )


def _labeled_platforms(csv: ClusterServiceVersion, prefix: str, default: str) -> Platforms:
    named = {
        key.removeprefix(prefix)
        for key, value in csv.labels.items()
        if key.startswith(prefix) and value == "supported"
    }
    return frozenset(named or {default})


def _images(bundle: Bundle) -> _Images:
    found: _Images = bundle.once("images by role", _find_images)
    return found


def _find_images(bundle: Bundle) -> _Images:
    csv = bundle.csv
    if csv is None:
        return _Images((), (), ())
    listed = [entry for index in range(len(csv.deployments)) for entry in _containers(csv, index)]
    return _Images(
        managers=tuple(entry for entry in listed if entry.is_manager),
        others=tuple(entry for entry in listed if not entry.is_manager),
        related=tuple(
            (kube.scalar_text(entry.get("image")), csv.at("spec", "relatedImages", index))
            for index, entry in enumerate(csv.related_images)
        ),
    )


def _containers(csv: ClusterServiceVersion, index: int) -> Iterator[_Container]:
    spec = kube.mapping(csv.deployments[index].get("spec"))
    pod = kube.mapping(kube.mapping(spec.get("template")).get("spec"))
    main = [kube.mapping(item) for item in kube.sequence(pod.get("containers"))]
    named = any(item.get("name") == "manager" for item in main)
    keys = ("spec", "install", "spec", "deployments", index, "spec", "template", "spec")
    for section in ("containers", "initContainers"):
        for position, item in enumerate(kube.sequence(pod.get(section))):
            container = kube.mapping(item)
            name = kube.scalar_text(container.get("name"))
            yield _Container(
                image=kube.scalar_text(container.get("image")),
                is_manager=section == "containers"
                and (name == "manager" if named else name != _SIDECAR),
                pod=pod,
                at=csv.at(*keys, section, position, "image"),
            )


def _required_platforms(pod: Mapping[str, Any]) -> Platforms:
    """Return the OS and architecture labels in a required node affinity or node selector."""
    selector = kube.mapping(pod.get("nodeSelector"))
    fixed = {key: {kube.scalar_text(selector[key])} for key in (_OS, _ARCH) if key in selector}
    affinity = kube.mapping(kube.mapping(pod.get("affinity")).get("nodeAffinity"))
    required = kube.mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [_term(item) for item in kube.sequence(required.get("nodeSelectorTerms"))]
    found: set[str] = set()
    for term in terms or [{}]:
        both = {**fixed, **term}
        found |= {
            f"{system}/{arch}" for system in both.get(_OS, ()) for arch in both.get(_ARCH, ())
        }
    return frozenset(found)


def _term(value: Any) -> dict[str, set[str]]:
    named: dict[str, set[str]] = {}
    for item in kube.sequence(kube.mapping(value).get("matchExpressions")):
        expression = kube.mapping(item)
        key = kube.scalar_text(expression.get("key"))
        if expression.get("operator") == "In" and key in (_OS, _ARCH):
            named.setdefault(key, set()).update(
                kube.scalar_text(word) for word in kube.sequence(expression.get("values"))
            )
    return named
