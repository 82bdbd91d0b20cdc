"""Build catalog images: files below `/configs`, and the label with that path.

The image contains only data, or also a server. OLM v1 reads both. For OLM v0, a CatalogSource names
`/configs` of a data image in `extractContent`, and the cluster's own server serves it; an image
with a server is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import File, Tree
from olmkit.oci import image as images
from olmkit.oci import layer as layers
from olmkit.oci.content import Platform
from olmkit.oci.image import OLM_PLATFORMS, Image, MultiPlatformImage
from olmkit.oci.layer import Layer

CONFIGS_LABEL = "operators.operatorframework.io.index.configs.v1"
CONFIGS = "/configs"
CACHE = "/tmp/cache"  # noqa: S108 - where the field's images have it, inside the container
# In `/usr/bin`, since `/bin` is a link to it in most bases and a folder in the layer would replace
# it.
PROBE = "/usr/bin/grpc_health_probe"
OPM_CACHE = "/cache"
"""Not below `/tmp`: a layer with the folder `/tmp` would change its mode."""
PORT = "50051/tcp"
USER = "1001"  # the value that OLM sets if pods must not run as root
_CREATED_BY = "olmkit catalog build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The server of a catalog image; `layers` are between the base and the catalog."""

    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    layers: tuple[Layer, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def opm_server(*, cached: bool = False) -> Server:
    """Return the server `opm` of the base, which builds its cache when it starts.

    `cached`: the image has the cache, and opm checks it; opm exits if the cache does not match.
    """
    if cached:
        command = ("serve", CONFIGS, f"--cache-dir={OPM_CACHE}", "--cache-enforce-integrity")
        return Server(entrypoint=("/bin/opm",), command=command)
    return Server(
        entrypoint=("/bin/opm",),
        command=(
            *("serve", CONFIGS, f"--cache-dir={CACHE}"),
            # Otherwise it refuses an empty cache folder.
            "--cache-enforce-integrity=false",
        ),
    )


def olmkit_server(packages: Layer, probe: bytes, library: str, *, created: int = 0) -> Server:
    """Return olmkit's server: `packages` are below `library`, OLM executes `probe`."""
    tree = Tree({PROBE.lstrip("/"): File(probe, 0o755)})
    return Server(
        entrypoint=("python3", "-m", "olmkit"),
        command=("catalog", "serve", CONFIGS, f"--cache-dir={CACHE}"),
        layers=(packages, layers.write(tree, mtime=created)),
        environment={"PYTHONPATH": library, "PYTHONUNBUFFERED": "1"},
    )


def catalog_image(
    tree: Tree, base: Image, server: Server, *, cache: Tree | None = None, created: int = 0
) -> Image:
    """Return the catalog in `tree` on `base`, with what `server` needs from the base or a layer.

    `cache` is opm's, as `olmkit.catalog.serve.opm_cache` builds it.
    """
    made = images.born(base, created=created)
    for part in server.layers:
        made = images.append(made, part, created_by=f"{_CREATED_BY}: server", created=created)
    made = images.append(
        made,
        layers.write(_place_files(tree, cache), mtime=created),
        created_by=f"{_CREATED_BY}: catalog",
        created=created,
    )
    options = base.config.run_options
    listed = options.get("Env")
    kept = [
        pair
        for pair in (listed if isinstance(listed, list) else [])
        if isinstance(pair, str) and pair.partition("=")[0] not in server.environment
    ]
    return images.label(
        images.configure(
            made,
            {
                "Entrypoint": list(server.entrypoint),
                "Cmd": list(server.command),
                "Env": [*kept, *(f"{key}={value}" for key, value in server.environment.items())],
                "ExposedPorts": {PORT: {}},
                "User": options.get("User") or USER,
                "WorkingDir": options.get("WorkingDir") or "/",
            },
        ),
        {CONFIGS_LABEL: CONFIGS},
    )


def image(
    tree: Tree,
    *,
    cache: Tree | None = None,
    platforms: Sequence[Platform] = OLM_PLATFORMS,
    created: int = 0,
) -> Image | MultiPlatformImage:
    """Return the catalog in `tree` as an image; `created` is the time of all files in it.

    `cache` is opm's; a CatalogSource names `OPM_CACHE` in `extractContent.cacheDir`.
    """
    return images.data_image(
        layers.write(_place_files(tree, cache), mtime=created),
        {CONFIGS_LABEL: CONFIGS},
        created_by=_CREATED_BY,
        platforms=platforms,
        created=created,
    )


def _place_files(tree: Tree, cache: Tree | None) -> Tree:
    if not tree:
        raise InputError(
            "the catalog's folder is empty",
            hint="pass the folder that contains its YAML or JSON files",
        )
    placed = tree.at(CONFIGS)
    return placed if cache is None else placed.merge(cache.at(OPM_CACHE))


def default_tag(packages: Iterable[str]) -> str:
    """Return the default name of the image in a layout."""
    names = sorted(set(packages))
    word = re.sub(r"[^A-Za-z0-9]+", "-", names[0]).strip("-") if len(names) == 1 else ""
    return f"{word}-catalog:latest" if word else "catalog:latest"
