"""Read charts from a folder, an archive, a registry or a repository, and list their kinds.

Downloaded charts are read with the limits of image layers. The helm program pulls charts from
repositories and renders them, without a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree, diff
from olmkit.edges import disk, paths
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.network import urls
from olmkit.edges.programs import helm, packed_chart
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
_URLS = ("https://", "http://")
# A chart of a repository that was added with `helm repo add`.
_IN_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[a-z0-9][a-z0-9._-]*")
_LEFT_OUT = (".git/", ".helmignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartReference:
    """A reference to a chart.

    `text` is a folder, a packaged chart, its URL, `oci://…`, the name of a chart in `repository` (a
    URL), or `REPOSITORY/NAME` for a repository that Helm knows. `version` is for charts from a
    registry or a repository without a version in `text`.
    """

    text: str
    version: str = ""
    repository: str = ""


async def read(request: ChartReference, access: Access, environment: Mapping[str, str]) -> Chart:
    """Read the chart; raises `ConfigurationError`, `InputError` or `RemoteError`.

    `environment` is that of the helm program, which knows the user's chart repositories.
    """
    text, path = request.text, Path(request.text)
    if text.startswith(_OCI):
        if request.repository:
            raise ConfigurationError(
                f"`{text}` names a registry, and `--helm-chart-repo` a repository"
            )
        return _unpack(await _fetch(text, access, request.version), text)
    if request.repository:
        if not request.repository.startswith(_URLS):
            raise ConfigurationError(
                f"`{urls.redact(request.repository)}` is not the URL of a chart repository",
                hint="pass one that begins with `https://`",
            )
        return await _pull(request, environment)
    if text.startswith(_URLS):
        return await _pull(request, environment)
    if paths.is_folder(path):
        _check_no_version(request)
        files = {
            name: content
            for name, content in disk.read_tree(path).items()
            if not name.startswith(_LEFT_OUT)
        }
        return charts.read(Tree(files), path=text)
    if paths.is_file(path):
        _check_no_version(request)
        return _unpack(disk.read_file(path, limit=helm.MAX_PACKED), text)
    if _IN_REPOSITORY.fullmatch(text) and helm.find_program(environment):
        return await _pull(request, environment)
    raise ConfigurationError(
        f"the chart `{text}` does not exist",
        hint="name the folder of a chart, a packed chart (`.tgz`), a URL or `oci://…`, "
        "or a chart of the repository that `--helm-chart-repo` names",
    )


def starter(name: str, templates: Tree) -> Chart:
    """Return a small starter chart."""
    files = template_files.folder(templates, "watched_api/chart", {"chart": name})
    return charts.read(files, path=f"helm-charts/{name}")


async def render_kinds(chart: Chart, environment: Mapping[str, str]) -> tuple[GVK, ...]:
    """Return the kinds that the chart renders with its default values, including hooks.

    Empty if the helm program is not in `PATH`, or cannot render the chart.
    """
    with paths.temporary_folder() as folder:
        disk.apply(folder, diff(chart.files, Tree()))
        text = await helm.render_defaults(folder, environment)
    found = set()
    try:
        for document in documents.load_all(text.encode(), chart.name):
            if isinstance(document.value, dict):
                found |= {objects.gvk(one) for one in objects.items_of(document.value)}
    except InputError:
        return ()
    return tuple(sorted(one for one in found if one.kind and one.version))


async def _fetch(text: str, access: Access, version: str) -> bytes:
    reference = references.parse_image(text.removeprefix(_OCI))
    if not isinstance(reference, Reference):
        raise ConfigurationError(f"`{text}` does not name a chart in a registry")
    if version:
        if "@" in text or ":" in text.rpartition("/")[2]:
            raise ConfigurationError(f"both `{text}` and `--helm-chart-version` set a version")
        # Tags of charts have `_` for `+`, as Helm writes them.
        reference = replace(reference, tag=version.replace("+", "_"))
    async with transports.open_store(reference, access) as store:
        found = await store.resolve(transports.selector(reference))
        manifest = await stores.read_manifest(store, found)
        layers = manifest.layers if isinstance(manifest, ImageManifest) else ()
        for layer in layers:
            if layer.media_type == _LAYER:
                return await stores.read(store, layer, limit=helm.MAX_PACKED)
    raise InputError(f"`{text}` is not a chart: it has no layer of the type `{_LAYER}`")


async def _pull(request: ChartReference, environment: Mapping[str, str]) -> Chart:
    data = await helm.pull(
        request.text, environment, repository=request.repository, version=request.version
    )
    return _unpack(data, urls.redact(request.text))


def _check_no_version(request: ChartReference) -> None:
    if request.version:
        raise ConfigurationError(
            f"`{request.text}` is on this disk, and has one version",
            hint="omit `--helm-chart-version`",
        )


def _unpack(data: bytes, text: str) -> Chart:
    return charts.read(packed_chart.read(data, text), path=text)
