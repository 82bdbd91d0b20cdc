"""The state of ClusterCatalogs, and those that a ClusterExtension reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, FaultOrigin, Readiness
from olmkit.olm.v1.extension import CATALOG_NAME_LABEL

CREATING = (
    "create one from the image of a catalog: `olmkit catalog deploy IMAGE --name NAME --olm v1`"
)
ADDING = "add a catalog that has it: `olmkit catalog deploy IMAGE --name NAME --olm v1`"
LISTING = (
    "bind the user to a role that allows `list` of `clustercatalogs.olm.operatorframework.io` in "
    "the whole cluster, then repeat the command"
)
_LOWEST = -(2**31)
# OLM does not retry a catalog that is `Blocked`.
_TRIED = {"Retrying": Readiness.STUCK, "Blocked": Readiness.BLOCKED}


def explain_catalog(catalog: Manifest) -> Diagnosis | None:
    """Explain why OLM does not read a ClusterCatalog; None if it is served and enabled."""
    name = objects.name(catalog)
    progressing = kinds.any_condition(catalog, "Progressing")
    link = explanation.link(catalog, text(progressing.get("reason")) or "new")
    if is_disabled(catalog):
        return Diagnosis(
            cause="catalog-switched-off",
            message=f"the catalog `{name}` is disabled",
            hint=f"set `spec.availabilityMode` of ClusterCatalog `{name}` to `Available`",
            links=(link,),
            readiness=Readiness.BLOCKED,
        )
    if kinds.condition(catalog, "Serving") is not None:
        return None
    reason = explanation.first_line(text(progressing.get("message")))
    readiness = _TRIED.get(text(progressing.get("reason")), Readiness.WAITING)
    is_tried = readiness is not Readiness.WAITING
    said = f": {reason}" if is_tried and reason else " yet"
    return Diagnosis(
        cause="catalog-not-ready",
        message=f"the catalog `{name}` is not served{said}",
        hint=_hint(name, image(catalog), reason) if is_tried else "",
        links=(link,),
        readiness=readiness,
        origin=FaultOrigin.WORLD,
    )


def explain_change(catalog: Manifest) -> Diagnosis | None:
    """Explain why catalogd does not serve the current spec of a ClusterCatalog; None if it does.

    It serves the previous content until it has read the new image.
    """
    found = explain_catalog(catalog)
    progressing = kinds.any_condition(catalog, "Progressing")
    if found is not None or not progressing:
        return found
    name, reason = objects.name(catalog), text(progressing.get("reason"))
    if _is_unread(catalog):
        return _outdated(catalog, f"catalogd has not yet read the change of the catalog `{name}`")
    if reason not in _TRIED:
        return None
    said = explanation.first_line(text(progressing.get("message")))
    return _outdated(
        catalog,
        f"the catalog `{name}` still serves its previous content, because catalogd cannot read "
        f"`{image(catalog)}`: {said}",
        hint=_hint(name, image(catalog), said),
        readiness=_TRIED[reason],
    )


def _is_unread(catalog: Manifest) -> bool:
    """Return whether catalogd has not seen the last change of the ClusterCatalog."""
    progressing = kinds.any_condition(catalog, "Progressing")
    generation = kinds.number(objects.metadata(catalog).get("generation"))
    return kinds.number(progressing.get("observedGeneration")) < generation


def _outdated(
    catalog: Manifest, message: str, *, hint: str = "", readiness: Readiness = Readiness.WAITING
) -> Diagnosis:
    progressing = kinds.any_condition(catalog, "Progressing")
    is_waiting = readiness is Readiness.WAITING
    return Diagnosis(
        cause="catalog-outdated",
        message=message,
        hint=hint,
        links=(explanation.link(catalog, text(progressing.get("reason")) or "new"),),
        readiness=readiness,
        origin=FaultOrigin.MATERIAL if is_waiting else FaultOrigin.WORLD,
    )


def image(catalog: Manifest) -> str:
    """Return the image reference of the catalog."""
    return text(_image(catalog).get("ref"))


def poll_minutes(catalog: Manifest) -> int:
    """Return how often catalogd looks for a new image of the tag; 0 for never."""
    return kinds.number(_image(catalog).get("pollIntervalMinutes"))


def explain_outdated_image(catalog: Manifest, digest: str) -> Diagnosis | None:
    """Explain why a ClusterCatalog does not serve `digest`, its current image.

    None if it serves that image, or if the digest is not known. catalogd reads an image when
    the ClusterCatalog changes, and at the interval `pollIntervalMinutes`; without an interval it
    does not read a tag again.
    """
    resolved = mapping(mapping(kinds.status(catalog).get("resolvedSource")).get("image"))
    served = text(resolved.get("ref")).rpartition("@")[2]
    if not digest or not served or digest == served:
        return None
    name, ref = objects.name(catalog), image(catalog)
    message = f"the catalog `{name}` serves an older image than `{ref}` names now"
    progressing = kinds.any_condition(catalog, "Progressing")
    reason = text(progressing.get("reason"))
    if reason in _TRIED and text(progressing.get("message")):
        said = explanation.first_line(text(progressing.get("message")))
        return _outdated(
            catalog,
            f"{message}, and catalogd cannot read the new image: {said}",
            hint=_hint(name, ref, said),
            readiness=_TRIED[reason],
        )
    if _is_unread(catalog):
        return _outdated(catalog, f"{message}; catalogd has not yet read the new image")
    minutes = poll_minutes(catalog)
    if minutes:
        last = text(kinds.status(catalog).get("lastUnpacked"))
        unit = "minute" if minutes == 1 else "minutes"
        seen = f", and unpacked the last image at {last}" if last else ""
        return _outdated(catalog, f"{message}; catalogd looks every {minutes} {unit}{seen}")
    patch = '{"spec":{"source":{"image":{"pollIntervalMinutes":10}}}}'
    return _outdated(
        catalog,
        f"{message}, and catalogd does not look for newer ones",
        hint=f"set an interval: `kubectl patch clustercatalog {name} --type=merge -p '{patch}'`",
        readiness=Readiness.BLOCKED,
    )


def _image(catalog: Manifest) -> Mapping[str, Any]:
    return mapping(mapping(kinds.spec(catalog).get("source")).get("image"))


def is_disabled(catalog: Manifest) -> bool:
    """Return whether OLM leaves the catalog out because of its `availabilityMode`."""
    return kinds.spec(catalog).get("availabilityMode") == "Unavailable"


def priority(catalog: Manifest) -> int:
    """Return the priority; if several catalogs have a package, OLM uses the highest."""
    return kinds.number(kinds.spec(catalog).get("priority"))


def lowest_priority(catalogs: Iterable[Manifest]) -> int:
    """Return a negative priority below those of all catalogs, within the field's limit.

    With this priority, a catalog does not make ClusterExtensions that also read others ambiguous.
    """
    return max(min([0, *map(priority, catalogs)]) - 1, _LOWEST)


def labels(catalog: Manifest) -> Mapping[str, str]:
    """Return the labels that selectors see; catalogd sets the one with the catalog's name."""
    return {**objects.labels_of(catalog), CATALOG_NAME_LABEL: objects.name(catalog)}


def selected_catalogs(
    catalogs: Iterable[Manifest], request: Mapping[str, Any]
) -> Sequence[Manifest]:
    """Return the catalogs that a ClusterExtension with this request reads, served or not.

    An absent selector and an empty one select all catalogs.
    """
    selector = mapping(request.get("selector"))
    return [one for one in catalogs if not is_disabled(one) and _selects(selector, labels(one))]


def find_disabled(catalogs: Iterable[Manifest], request: Mapping[str, Any]) -> Sequence[Manifest]:
    """Return the catalogs that the request selects but OLM leaves out."""
    selector = mapping(request.get("selector"))
    return [one for one in catalogs if is_disabled(one) and _selects(selector, labels(one))]


def enable_command(off: Sequence[Manifest]) -> str:
    """Return a hint that unavailable catalogs may have what the others do not offer."""
    names = ", ".join(f"`{objects.name(one)}`" for one in off)
    if len(off) == 1:
        return f"the catalog {names} is disabled; set its `spec.availabilityMode` to `Available`"
    return f"catalogs are switched off: {names}; set `spec.availabilityMode` of one to `Available`"


def _selects(selector: Mapping[str, Any], found: Mapping[str, str]) -> bool:
    wanted = mapping(selector.get("matchLabels"))
    if any(found.get(key) != value for key, value in wanted.items()):
        return False
    return all(_meets(mapping(one), found) for one in sequence(selector.get("matchExpressions")))


def _meets(expression: Mapping[str, Any], found: Mapping[str, str]) -> bool:
    """Return whether labels meet one requirement of a Kubernetes label selector."""
    value = found.get(text(expression.get("key")))
    values = sequence(expression.get("values"))
    match expression.get("operator"):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False


def is_missing_image(reason: str) -> bool:
    """Return whether OLM v1 reports that the registry responds but does not have the image.

    `unknown` alone is not enough: an `unknown authority` has signed the registry's certificate.
    """
    return any(words in reason for words in ("manifest unknown", "name unknown", "not found"))


def _hint(name: str, image: str, reason: str) -> str:
    if is_missing_image(reason):
        return (
            f"push the image `{image}`, correct `spec.source.image.ref` of ClusterCatalog "
            f"`{name}`, or delete the ClusterCatalog"
        )
    if "missing the required label" in reason:
        return (
            f"`{image}` is not the image of a catalog: build one with `olmkit catalog build`, or "
            f"correct `spec.source.image.ref` of ClusterCatalog `{name}`"
        )
    if "storing fbc" in reason or "walking FBC" in reason:
        return (
            f"run `olmkit catalog validate {image}` to see what is wrong, and push a corrected "
            f"image, or delete the ClusterCatalog `{name}`"
        )
    return f"check that catalogd can reach the registry of `{image}` and may pull from it"
