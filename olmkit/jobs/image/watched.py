"""The parts of a Helm or Ansible operator's image that come from the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import File, Tree
from olmkit.edges import disk, paths
from olmkit.edges.images import transports
from olmkit.edges.programs import helm as helm_edge
from olmkit.oci import layer as layers
from olmkit.oci.content import Digest, Platform
from olmkit.oci.layer import Layer
from olmkit.project import config, image_plan, watched_image
from olmkit.project.image_plan import Application

_HELM_LABEL = "dev.olmkit.helm.digest"
_MOST = 256 << 20  # bytes of the helm program


@dataclass(frozen=True, slots=True)
class Watched:
    """What the PROJECT file says of kinds in `watches.yaml`.

    `language` is `helm` or `ansible` where the whole project is; empty for any other. `runners`
    run for such kinds.
    """

    language: str = ""
    runners: tuple[str, ...] = ()


def read(project: Path) -> Watched:
    """That of a project; without a PROJECT file, nothing."""
    data = disk.read_if_there(project / config.PROJECT_FILE)
    if data is None:
        return Watched()
    found = config.of_any_version(config.document(data))
    language = found.language if found.language in watched_image.CONTENTS else ""
    return Watched(language, found.runners)


def application(project: Path, language: str) -> Application:
    """What the image is called and which packages it needs."""
    found = config.of_any_version(
        config.document(disk.read_if_there(project / config.PROJECT_FILE) or b"")
    )
    return Application(
        name=found.name or paths.resolved(project).name.lower(),
        version="",
        packages=(),
        requirements=watched_image.requirements(language),
    )


def code(project: Path, found: Watched) -> Tree:
    """The project's own files, where the image has them."""
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


async def layers_of(
    project: Path,
    found: Watched,
    platform: Platform,
    environment: Mapping[str, str],
    *,
    helm: str,
    collections: str,
    created: int,
) -> tuple[dict[str, Layer], dict[str, str]]:
    """The layers below the code by what they hold, and labels of the image.

    None of either in a project without such kinds; options of a kind that it lacks are an error.
    That error is a `ConfigurationError`.
    """
    for name, value, needs in (("--helm", helm, "helm"), ("--collections", collections, "ansible")):
        if value and needs not in found.runners:
            raise ConfigurationError(
                f"`{name}` has no effect here: it is for kinds of {needs.capitalize()}"
            )
    trees: dict[str, Tree] = {}
    labels: dict[str, str] = {}
    if "helm" in found.runners:
        file = _helm(helm, platform, environment)
        data = await asyncio.to_thread(disk.read_file, file, limit=_MOST)
        trees["helm"] = watched_image.helm_program(data, platform, path=str(file))
        labels[_HELM_LABEL] = str(Digest.of(data))
    if "ansible" in found.runners:
        trees["programs"] = watched_image.ansible_programs()
        if installed := _collections(project, collections):
            trees["collections"] = installed
    made = {
        name: await asyncio.to_thread(layers.write, tree, mtime=created)
        for name, tree in trees.items()
    }
    return made, labels


def _helm(text: str, platform: Platform, environment: Mapping[str, str]) -> Path:
    if text:
        return Path(text.replace("{arch}", platform.architecture))
    found = helm_edge.on_path(environment)
    if found is None or platform != transports.own_platform():
        raise ConfigurationError(
            f"the helm program for `{platform}` is not named",
            hint="pass its file: `--helm FILE`; `{arch}` in it is the architecture",
        )
    return found


def _collections(project: Path, text: str) -> Tree:
    folder = Path(text) if text else project / "collections"
    data = disk.read_if_there(project / watched_image.REQUIREMENTS_FILE)
    listed = documents.load(data or b"", watched_image.REQUIREMENTS_FILE).value
    if text and not paths.is_folder(folder):
        raise ConfigurationError(f"the folder `{text}` of collections does not exist")
    files = disk.read_tree(folder) if paths.is_folder(folder) else Tree()
    return watched_image.collections(files, listed, folder=text or "collections")
