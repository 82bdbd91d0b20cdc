"""Read the parts of a Helm or Ansible operator's image from disk."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import File, Tree
from olmkit.edges import disk, paths
from olmkit.edges.images import transports
from olmkit.edges.network import urls
from olmkit.edges.programs import helm as helm_edge
from olmkit.edges.programs import packed_chart
from olmkit.oci import layer as layers
from olmkit.oci.content import Digest, Platform
from olmkit.oci.layer import Layer
from olmkit.project import config, image_plan, watched_image
from olmkit.project.image_plan import Application
from olmkit.project.sbom import SbomComponent

_HELM_LABEL = "dev.olmkit.helm.digest"
_MOST = 256 << 20  # bytes of the helm program


@dataclass(frozen=True, slots=True)
class Watched:
    """The kinds of `watches.yaml` in the PROJECT file.

    `language` is `helm` or `ansible` for such a project; empty for any other. `runners` are the
    runners that the kinds need.
    """

    language: str = ""
    runners: tuple[str, ...] = ()


def read(project: Path) -> Watched:
    """Read the kinds of a project; empty without a PROJECT file."""
    data = disk.read_if_there(project / config.PROJECT_FILE)
    if data is None:
        return Watched()
    found = config.find_plugins_from_watches(
        config.of_any_version(config.document(data)),
        lambda name: disk.read_if_there(project / name),
    )
    language = found.language if found.language in watched_image.CONTENTS else ""
    return Watched(language, found.runners)


def application(project: Path, language: str) -> Application:
    """Return the name of the image and the packages that it needs."""
    found = config.of_any_version(
        config.document(disk.read_if_there(project / config.PROJECT_FILE) or b"")
    )
    return Application(
        name=found.name or paths.resolve(project).name.lower(),
        version="",
        packages=(),
        requirements=watched_image.requirements(language),
    )


def code(project: Path, found: Watched) -> Tree:
    """Return the project's own files at their paths in the image."""
    files: dict[str, File | bytes] = {}
    tree = Tree()
    for runner in found.runners:
        content = watched_image.CONTENTS[runner]
        for name in content.files:
            data = disk.read_if_there(project / name)
            if data is not None:
                files[name] = data
        for folder in content.folders:
            if paths.is_folder(project / folder):
                tree = tree.merge(disk.read_tree(project / folder).at(folder))
    language = found.language
    target = watched_image.CONTENTS[language].target if language else image_plan.HOME
    return watched_image.code(tree.merge(Tree(files)), target)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedContent:
    """The layers below the code in the image for one platform, and labels.

    `parts` are the SBOM components of these layers and of the code.
    """

    trees: Mapping[str, Tree]
    labels: Mapping[str, str]
    parts: tuple[SbomComponent, ...] = ()

    async def layers(self, created: int) -> dict[str, Layer]:
        """Return a layer for each tree."""
        return {
            name: await asyncio.to_thread(layers.write, tree, mtime=created)
            for name, tree in self.trees.items()
        }


def check(found: Watched, *, helm: str, collections: str, index: str) -> None:
    """Raise `ConfigurationError` for options that need a runner which the project lacks."""
    for name, value, needs in (
        ("--helm", helm, "helm"),
        ("--collections", collections, "ansible"),
        ("--collections-index", index, "ansible"),
    ):
        if value and needs not in found.runners:
            raise ConfigurationError(
                f"`{name}` has no effect here: it is for {needs.capitalize()} kinds"
            )
    if collections and index:
        raise ConfigurationError(
            "`--collections` and `--collections-index` exclude each other",
            hint="the first names a folder, the second one an index",
        )


async def collections_of(
    project: Path,
    found: Watched,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    *,
    folder: str,
    index: str,
) -> Tree:
    """Return the layer with collections, from a folder or an index; empty if there are none.

    Raises `ConfigurationError` if one of `requirements.yml` is missing, and like
    `olmkit.edges.build.galaxy.install`.
    """
    if "ansible" not in found.runners:
        return Tree()
    data = disk.read_if_there(project / watched_image.REQUIREMENTS_FILE)
    listed = documents.load(data or b"", watched_image.REQUIREMENTS_FILE).value
    place = Path(folder) if folder else project / "collections"
    if folder and not paths.is_folder(place):
        raise ConfigurationError(f"the folder `{folder}` of collections does not exist")
    wanted = watched_image.to_install(listed)
    if index and wanted:
        from olmkit.edges.build import galaxy

        say(f"collections: installed from `{urls.redact(index) if '://' in index else index}`")
        files = await galaxy.install(wanted, index, project, environment)
    elif index or not paths.is_folder(place):
        files = Tree()
    else:
        files = disk.read_tree(place)
    found_files = watched_image.collections(files, listed, folder=index or folder or "collections")
    for sentence in watched_image.other_versions(found_files, listed):
        say(f"collections: {sentence}")
    return found_files


async def content_of(
    found: Watched,
    platform: Platform,
    environment: Mapping[str, str],
    code: Tree,
    collections: Tree,
    *,
    helm: str,
) -> WatchedContent:
    """Return the layers below the code for a platform; none in a project without such kinds."""
    trees: dict[str, Tree] = {}
    labels: dict[str, str] = {}
    listed: list[SbomComponent] = []
    if "helm" in found.runners:
        file = _helm(helm, platform, environment)
        data = await asyncio.to_thread(disk.read_file, file, limit=_MOST)
        trees["helm"] = watched_image.helm_program(data, platform, path=str(file))
        labels[_HELM_LABEL] = str(Digest.of(data))
        charts = [code, *_unpack_charts(code)]
        listed += [watched_image.helm_part(data)]
        listed += [part for tree in charts for part in watched_image.chart_parts(tree)]
    if "ansible" in found.runners:
        trees["programs"] = watched_image.ansible_programs()
        if collections:
            trees["collections"] = collections
            listed += watched_image.collection_parts(collections)
    return WatchedContent(trees=trees, labels=labels, parts=tuple(listed))


def _unpack_charts(code: Tree) -> Iterator[Tree]:
    for path, file in code.items():
        if "/helm-charts/" in path and path.endswith(".tgz"):
            # An invalid archive fails when it is used.
            with contextlib.suppress(InputError):
                yield packed_chart.read(file.data, path).at("chart")


def _helm(text: str, platform: Platform, environment: Mapping[str, str]) -> Path:
    if text:
        return Path(text.replace("{arch}", platform.architecture))
    found = helm_edge.find_program(environment)
    if found is None or platform != transports.own_platform():
        raise ConfigurationError(
            f"the helm program for `{platform}` is not named",
            hint="pass its path: `--helm FILE`; `{arch}` in it is the architecture; "
            "https://helm.sh/docs/intro/install describes where to get it",
        )
    return found
