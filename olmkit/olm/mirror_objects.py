"""The objects that make a cluster use a mirror for images and catalogs.

OpenShift accepts an ImageDigestMirrorSet and an ImageTagMirrorSet (`config.openshift.io/v1`), and
up to release 4.12 an ImageContentSourcePolicy (`operator.openshift.io/v1alpha1`), which it does not
allow together with the newer two. Programs that read `registries.conf` (Podman, CRI-O, olmkit) take
a drop-in file, and containerd one `hosts.toml` for each registry. A CatalogSource is for OLM v0, a
ClusterCatalog for OLM v1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from olmkit.base import documents
from olmkit.base.tree import Tree
from olmkit.kube.objects import Manifest
from olmkit.oci.mirroring import MirroredNames, MirrorRegistry
from olmkit.olm import kinds
from olmkit.olm.v1.extension import API as V1_API

NAME: Final = "olmkit-mirror"
MARKETPLACE: Final = "openshift-marketplace"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredCatalog:
    """A catalog in the mirror. `folder`: where its files are in an image without a server."""

    image: str
    folder: str = ""

    @property
    def name(self) -> str:
        """Return the name of its objects: that of the repository."""
        last = self.image.partition("@")[0].rpartition("/")[2].partition(":")[0]
        return re.sub(r"[^a-z0-9-]+", "-", last).strip("-") or "catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorFilesOptions:
    """The formats of the files.

    `namespace` is that of CatalogSources. `content_source_policy` is for OpenShift up to 4.12,
    `plain_http` for a mirror without TLS.
    """

    namespace: str = MARKETPLACE
    content_source_policy: bool = False
    plain_http: bool = False


def files(
    target: MirrorRegistry,
    names: MirroredNames,
    catalogs: Sequence[MirroredCatalog],
    options: MirrorFilesOptions,
) -> Tree:
    """Return all files, by their names."""
    made: dict[str, bytes] = {}
    if options.content_source_policy:
        groups = [("image-content-source-policy", content_source_policy(names.by_digest))]
    else:
        groups = [
            ("image-digest-mirror-set", mirror_set("Digest", names.by_digest)),
            ("image-tag-mirror-set", mirror_set("Tag", names.by_tag)),
        ]
    groups.append(("catalog-source", _all(catalog_source(one, options) for one in catalogs)))
    groups.append(("cluster-catalog", _all(cluster_catalog(one) for one in catalogs)))
    for name, manifests in groups:
        if manifests:
            made[f"{name}.yaml"] = documents.dump_all(manifests)
    every = {**names.by_tag, **names.by_digest}
    if every:
        made["registries.conf"] = registries_conf(every, insecure=options.plain_http)
    for registry in sorted({name.partition("/")[0] for name in every}):
        made[f"certs.d/{registry}/hosts.toml"] = hosts_toml(
            registry, target, scheme="http" if options.plain_http else "https"
        )
    return Tree(made)


def mirror_set(kind: str, names: Mapping[str, str]) -> tuple[Manifest, ...]:
    """Return an ImageDigestMirrorSet or an ImageTagMirrorSet; empty without names."""
    if not names:
        return ()
    entries = [{"source": source, "mirrors": [target]} for source, target in sorted(names.items())]
    return (
        {
            "apiVersion": "config.openshift.io/v1",
            "kind": f"Image{kind}MirrorSet",
            "metadata": {"name": NAME},
            "spec": {f"image{kind}Mirrors": entries},
        },
    )


def content_source_policy(names: Mapping[str, str]) -> tuple[Manifest, ...]:
    """Return the older form, which supports only images by digest."""
    if not names:
        return ()
    entries = [{"source": source, "mirrors": [target]} for source, target in sorted(names.items())]
    return (
        {
            "apiVersion": "operator.openshift.io/v1alpha1",
            "kind": "ImageContentSourcePolicy",
            "metadata": {"name": NAME},
            "spec": {"repositoryDigestMirrors": entries},
        },
    )


def catalog_source(catalog: MirroredCatalog, options: MirrorFilesOptions) -> Manifest:
    """Return the catalog for OLM v0."""
    pod: dict[str, object] = {"securityContextConfig": "restricted"}
    if catalog.folder:
        pod["extractContent"] = {"catalogDir": catalog.folder}
    return {
        "apiVersion": kinds.V1ALPHA1,
        "kind": "CatalogSource",
        "metadata": {"name": catalog.name, "namespace": options.namespace},
        "spec": {
            "sourceType": "grpc",
            "displayName": catalog.name,
            "image": catalog.image,
            "grpcPodConfig": pod,
        },
    }


def cluster_catalog(catalog: MirroredCatalog) -> Manifest:
    """Return the catalog for OLM v1."""
    return {
        "apiVersion": V1_API,
        "kind": "ClusterCatalog",
        "metadata": {"name": catalog.name},
        "spec": {"source": {"type": "Image", "image": {"ref": catalog.image}}},
    }


def registries_conf(names: Mapping[str, str], *, insecure: bool = False) -> bytes:
    """Return a drop-in file for `registries.conf`; references need no TOML escapes."""
    flag = "insecure = true\n" if insecure else ""
    parts = [
        f'[[registry]]\nprefix = "{source}"\nlocation = "{source}"\n\n'
        f'[[registry.mirror]]\nlocation = "{target}"\n{flag}'
        for source, target in sorted(names.items())
    ]
    return "\n".join(parts).encode()


def hosts_toml(registry: str, target: MirrorRegistry, *, scheme: str = "https") -> bytes:
    """Return containerd's configuration for `registry`: the mirror first, then the registry.

    https://github.com/containerd/containerd/blob/main/docs/hosts.md
    """
    server = "registry-1.docker.io" if registry == "docker.io" else registry
    path = f"/{target.prefix}" if target.prefix else ""
    return (
        f'server = "https://{server}"\n\n'
        f'[host."{scheme}://{target.registry}/v2{path}"]\n'
        '  capabilities = ["pull", "resolve"]\n'
        "  override_path = true\n"
    ).encode()


def _all(manifests: Iterable[Manifest]) -> tuple[Manifest, ...]:
    return tuple(_once(manifests))


def _once(manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield the manifests; of several with one name, only the first."""
    seen: set[object] = set()
    for manifest in manifests:
        name = manifest["metadata"]["name"]
        if name not in seen:
            seen.add(name)
            yield manifest
