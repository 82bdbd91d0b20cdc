"""A catalog as an image: its files below `/configs`, and the label that says so.

The image carries data only. OLM v1 reads it as it is; for OLM v0 a CatalogSource
names `/configs` in `extractContent`, and the cluster's own server serves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.oci import image as images
from olmkit.oci import layer as layers
from olmkit.oci.content import Platform
from olmkit.oci.image import OLM_PLATFORMS, Image, Index

CONFIGS_LABEL = "operators.operatorframework.io.index.configs.v1"
CONFIGS = "/configs"
_CREATED_BY = "olmkit catalog build"


def image(
    tree: Tree, *, platforms: Sequence[Platform] = OLM_PLATFORMS, created: int = 0
) -> Image | Index:
    """The catalog in `tree` as an image; `created` is the time of everything in it."""
    if not tree:
        raise InputError(
            "the catalog's folder is empty",
            hint="name the folder that holds its YAML or JSON files",
        )
    return images.data_image(
        layers.write(tree.at(CONFIGS), mtime=created),
        {CONFIGS_LABEL: CONFIGS},
        created_by=_CREATED_BY,
        platforms=platforms,
        created=created,
    )


def default_tag(packages: Iterable[str]) -> str:
    """The name of the image in a layout when nobody gives one."""
    names = sorted(set(packages))
    word = re.sub(r"[^A-Za-z0-9]+", "-", names[0]).strip("-") if len(names) == 1 else ""
    return f"{word}-catalog:latest" if word else "catalog:latest"
