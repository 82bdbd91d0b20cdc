"""Conversion between the versions of a kind: one version is the hub, the others are spokes.

A spoke has functions that convert its objects to the hub version and back; a conversion between two
spokes goes through the hub. Either all objects of a review are converted or none, in their order.
Names, namespaces and UIDs always stay the same. Source: `apiextensions.k8s.io/v1`,
ConversionReview.

The author's functions must not lose data in a round trip; `there_and_back` helps to test that.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.serve.webhook_admission import BadReview

_LOG = logging.getLogger(__name__)

_UNDERSTOOD = (("apiextensions.k8s.io", "v1"), ("apiextensions.k8s.io", "v1beta1"))
# The API server compares these fields after a conversion; labels and annotations may change.
_IDENTITY = ("name", "namespace", "uid")

Convert = Callable[[Manifest], Manifest]
"""Converts an object of one version to another; it may change its argument."""


class CannotConvert(Exception):  # noqa: N818 - an answer, not a fault
    """An object cannot be converted to the requested version; the message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoke:
    """A version other than the hub, with its two conversions, which need not set `apiVersion`."""

    version: str
    to_hub: Convert
    from_hub: Convert


class Conversions:
    """The conversions of all kinds of a process."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def add(self, hub: GVK, *spokes: Spoke) -> None:
        """Register a kind; raise `ValueError` if the kind or a version is registered twice."""
        versions = [hub.version, *(spoke.version for spoke in spokes)]
        if len(set(versions)) != len(versions):
            raise ValueError(f"a version of {hub.kind} is listed twice: {', '.join(versions)}")
        key = (hub.group, hub.kind)
        if key in self._kinds:
            raise ValueError(f"{hub.kind} in {hub.group} already has a hub")
        self._kinds[key] = _Kind(hub, {spoke.version: spoke for spoke in spokes})

    def check(self, crd: Manifest) -> Sequence[str]:
        """Return problems with the conversion of a CRD's served versions; empty if none."""
        spec = objects.mapping(crd.get("spec"))
        group = objects.text(spec.get("group"))
        kind = objects.text(objects.mapping(spec.get("names")).get("kind"))
        found = self._kinds.get((group, kind))
        served = [
            objects.text(one.get("name"))
            for one in map(objects.mapping, objects.sequence(spec.get("versions")))
            if one.get("served")
        ]
        if found is None:
            return [f"{kind} has {len(served)} versions and no hub"] if len(served) > 1 else []
        return [f"{kind} {one} cannot be converted" for one in served if not found.knows(one)]

    def convert(self, manifest: Manifest, version: str) -> Manifest:
        """Convert an object to another version of its group; raise `CannotConvert` on failure."""
        return self._convert(copy.deepcopy(manifest), version)

    def there_and_back(self, manifest: Manifest, version: str) -> tuple[Manifest, Manifest]:
        """Return an object before and after a round trip to `version`, to compare in tests."""
        back = self.convert(self.convert(manifest, version), objects.gvk(manifest).version)
        return manifest, back

    def answer(self, review: Any, failed: Callable[[], None]) -> Manifest:
        """Return the response to `review`; `failed` is called for unexpected errors.

        Raises `BadReview`.
        """
        request = _parse(review)
        response: dict[str, Any] = {"uid": request["uid"]}
        try:
            response["convertedObjects"] = [
                self._converted(one, request["desiredAPIVersion"]) for one in request["objects"]
            ]
            msgspec.json.encode(response["convertedObjects"])  # otherwise a function is wrong
            response["result"] = {"status": "Success"}
        except CannotConvert as error:
            response["convertedObjects"] = []
            response["result"] = {"status": "Failure", "message": str(error)}
        except Exception as error:
            failed()
            _LOG.exception("conversion failed", extra={"uid": request["uid"]})
            response["convertedObjects"] = []
            response["result"] = {
                "status": "Failure",
                "message": f"the conversion webhook failed: {error!r}",
            }
        return {
            "apiVersion": review["apiVersion"],
            "kind": "ConversionReview",
            "response": response,
        }

    def _converted(self, manifest: Any, target: str) -> Manifest:
        """Convert one object of a review, or each item of a list."""
        if not isinstance(manifest, dict):
            raise CannotConvert("an object of the review is not an object")
        if objects.kind(manifest).endswith("List") and isinstance(manifest.get("items"), list):
            items = [self._converted(one, target) for one in manifest["items"]]
            return {**manifest, "apiVersion": target, "items": items}
        group, _, version = target.rpartition("/")
        gvk = objects.gvk(manifest)
        if gvk.group != group:
            raise CannotConvert(f"{gvk.kind} is in the group {gvk.group}, not in {group}")
        return self._convert(manifest, version)

    def _convert(self, manifest: Manifest, version: str) -> Manifest:
        """Convert the object to another version; may change its argument."""
        gvk = objects.gvk(manifest)
        kind = self._kinds.get((gvk.group, gvk.kind))
        if kind is None:
            raise CannotConvert(f"no conversion for {gvk.kind} of {gvk.group or 'core'}")
        return kind.convert(manifest, gvk.version, version)


class _Kind:
    """The hub of one kind and its spokes by version."""

    def __init__(self, hub: GVK, spokes: Mapping[str, Spoke]) -> None:
        self._hub = hub
        self._spokes = spokes

    def knows(self, version: str) -> bool:
        return version == self._hub.version or version in self._spokes

    def convert(self, manifest: Manifest, old: str, new: str) -> Manifest:
        for version in (old, new):
            if not self.knows(version):
                raise CannotConvert(f"{self._hub.kind} has no version `{version}`")
        if old == new:
            raise CannotConvert(f"{self._hub.kind} is already in the version `{new}`")
        before = objects.metadata(manifest)
        identity = {key: before[key] for key in _IDENTITY if key in before}
        made = manifest
        if old != self._hub.version:
            made = self._spokes[old].to_hub(made)
        if new != self._hub.version:
            made = self._spokes[new].from_hub(made)
        made["apiVersion"] = f"{self._hub.group}/{new}" if self._hub.group else new
        made["kind"] = self._hub.kind
        made["metadata"] = {**objects.metadata(made), **identity}
        return made


def _parse(review: Any) -> Mapping[str, Any]:
    """Return the request of a review; raise `BadReview` if it is invalid."""
    group, _, version = objects.text(objects.mapping(review).get("apiVersion")).rpartition("/")
    if objects.kind(review) != "ConversionReview" or (group, version) not in _UNDERSTOOD:
        raise BadReview("the body is not a ConversionReview of apiextensions.k8s.io/v1")
    request = objects.mapping(review.get("request"))
    for field_name in ("uid", "desiredAPIVersion"):
        if not isinstance(request.get(field_name), str) or not request[field_name]:
            raise BadReview(f"the ConversionReview has no `request.{field_name}`")
    if not isinstance(request.get("objects"), list):
        raise BadReview("the ConversionReview has no `request.objects`")
    return request
