"""A preview of a bundle's objects and permissions, before anything is written.

The permissions of a CSV are those of its service accounts: in the watched namespaces, and in the
whole cluster. Some of them are highlighted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.bundle.summary import grants
from olmkit.bundle.summary.grants import Grant as Grant
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The known contents of the bundle that OLM will install.

    `manifests` are all its objects, including the CSV, as far as they were read.
    """

    csv: str
    version: str
    modes: tuple[str, ...]
    grants: tuple[Grant, ...]
    images: tuple[str, ...] = ()
    crds: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    min_kube_version: str = ""
    manifests: tuple[Manifest, ...] = field(default=(), repr=False)


def preview_csv(csv: Mapping[str, Any], manifests: Iterable[Manifest] = ()) -> Preview:
    """Return a preview of the contents of a CSV."""
    spec = kinds.spec(csv)
    return Preview(
        csv=objects.name(csv),
        version=text(spec.get("version")),
        modes=kinds.supported_modes(csv),
        grants=tuple(grants.csv_grants(csv)),
        images=tuple(dict.fromkeys(_images(csv))),
        crds=kinds.owned_crds(csv),
        webhooks=tuple(
            f"{text(one.get('type'))} {text(one.get('generateName'))}"
            for one in _mappings(spec.get("webhookdefinitions"))
        ),
        requires=kinds.required_crds(csv),
        min_kube_version=text(spec.get("minKubeVersion")),
        manifests=tuple(manifests),
    )


def lines(preview: Preview, targets: Iterable[str], before: Preview | None = None) -> Iterator[str]:
    """Yield the preview for people. `targets`: the watched namespaces; one empty name means all.

    `before`: the replaced version; permissions that it did not have are marked as new.
    """
    watched = list(targets)
    where = "all namespaces" if watched in ([], [""]) else ", ".join(f"`{one}`" for one in watched)
    yield f"{preview.csv} (version {preview.version}), watching {where}"
    for title, values in (
        ("images", preview.images),
        ("provides the APIs", preview.crds),
        ("requires the APIs", preview.requires),
        ("webhooks", preview.webhooks),
    ):
        if values:
            yield f"  {title}:"
            yield from (f"    {value}" for value in values)
    everywhere = watched in ([], [""])
    for scope, title in (
        ("cluster", "permissions in the whole cluster"),
        ("namespaces", f"permissions in {where}"),
    ):
        found = [grant for grant in preview.grants if grant.scope == scope]
        if not found:
            continue
        yield f"  {title}:"
        # Several rules and service accounts may grant the same.
        yield from dict.fromkeys(_line(grant, before) for grant in found)
    if everywhere and any(grant.scope == "namespaces" for grant in preview.grants):
        yield "  since it watches all namespaces, it has all of these in the whole cluster"


def _line(grant: Grant, before: Preview | None) -> str:
    mark = "  (far-reaching)" if grant.is_far_reaching else ""
    mark += "  (new)" if before is not None and grant not in before.grants else ""
    return f"    {grant}{mark}"


def _images(csv: Mapping[str, Any]) -> Iterator[str]:
    install = mapping(mapping(kinds.spec(csv).get("install")).get("spec"))
    for deployment in _mappings(install.get("deployments")):
        spec = objects.pod_spec({"kind": "Deployment", "spec": deployment.get("spec")})
        for part in ("initContainers", "containers"):
            yield from (text(one.get("image")) for one in _mappings(spec.get(part)))


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in sequence(value) if isinstance(one, Mapping)]
