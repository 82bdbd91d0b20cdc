"""Charts for a project: from a folder, a packed chart or a registry; and what they render.

What comes from elsewhere is read within the limits of image layers. Rendering is done by the
program helm, which reads no cluster for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree, diff
from olmkit.edges import disk, helm, packed_chart, paths
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.kube import objects
from olmkit.kube.objects import GVK
from olmkit.oci import reference as references
from olmkit.oci import store as stores
from olmkit.oci.content import ImageManifest
from olmkit.oci.reference import Reference
from olmkit.project.scaffold import template_files
from olmkit.project.scaffold.watched import charts
from olmkit.project.scaffold.watched.charts import Chart

_OCI = "oci://"
# https://helm.sh/docs/topics/registries/: the layer that is the packed chart.
_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_MOST = 32 << 20  # bytes of a packed chart
_LEFT_OUT = (".git/", ".helmignore")


async def read(text: str, access: Access, *, version: str = "") -> Chart:
    """The chart that `text` names; raises `ConfigurationError`, `InputError`, `RemoteError`.

    `version` is the tag in a registry, where `text` names none.
    """
    if text.startswith(_OCI):
        return _unpacked(await _fetched(text, access, version), text)
    path = Path(text)
    if paths.is_folder(path):
        files = {
            name: content
            for name, content in disk.read_tree(path).items()
            if not name.startswith(_LEFT_OUT)
        }
        return charts.read(Tree(files), path=text)
    if paths.is_file(path):
        return _unpacked(disk.read_file(path, limit=_MOST), text)
    raise ConfigurationError(
        f"the chart `{text}` does not exist",
        hint="name the folder of a chart, a packed chart (`.tgz`), or `oci://…`",
    )


def starter(name: str, templates: Tree) -> Chart:
    """A small chart to begin with."""
    files = template_files.folder(templates, "watched_api/chart", {"chart": name})
    return charts.read(files, path=f"helm-charts/{name}")


async def rendered(chart: Chart, environment: Mapping[str, str]) -> tuple[GVK, ...]:
    """The kinds that the chart renders with its defaults, hooks included.

    Empty where the program helm is not on the path, or cannot render it.
    """
    with paths.temporary_folder() as folder:
        disk.apply(folder, diff(chart.files, Tree()))
        text = await helm.rendered_alone(folder, environment)
    found = set()
    try:
        for document in documents.load_all(text.encode(), chart.name):
            if isinstance(document.value, dict):
                found |= {objects.gvk(one) for one in objects.items_of(document.value)}
    except InputError:
        return ()
    return tuple(sorted(one for one in found if one.kind and one.version))


async def _fetched(text: str, access: Access, version: str) -> bytes:
    reference = references.parse_image(text.removeprefix(_OCI))
    if not isinstance(reference, Reference):
        raise ConfigurationError(f"`{text}` does not name a chart in a registry")
    if version:
        if "@" in text or ":" in text.rpartition("/")[2]:
            raise ConfigurationError(f"`{text}` names a version, and `--helm-chart-version` too")
        # Tags of charts have `_` for `+`, as Helm writes them.
        reference = replace(reference, tag=version.replace("+", "_"))
    async with transports.open_store(reference, access) as store:
        found = await store.resolve(transports.selector(reference))
        manifest = await stores.read_manifest(store, found)
        layers = manifest.layers if isinstance(manifest, ImageManifest) else ()
        for layer in layers:
            if layer.media_type == _LAYER:
                return await stores.read(store, layer, limit=_MOST)
    raise InputError(f"`{text}` is not a chart: it has no layer of the type `{_LAYER}`")


def _unpacked(data: bytes, text: str) -> Chart:
    return charts.read(packed_chart.read(data, text), path=text)
