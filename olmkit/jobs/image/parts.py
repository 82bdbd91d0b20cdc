"""The parts of images that run Python: a base for each platform and a layer of packages.

Both are cached: the base until a new pull is requested, and a layer of packages as long as its
input is the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import Tree
from olmkit.edges import disk, paths
from olmkit.edges.build.cache import BuildCache
from olmkit.edges.images import transfer, transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.transfer import Report
from olmkit.oci import layer as layers
from olmkit.oci import reference as references
from olmkit.oci import store as stores
from olmkit.oci.content import Platform
from olmkit.oci.image import Image
from olmkit.oci.layer import Layer
from olmkit.oci.reference import EngineReference, ImageReference, Reference
from olmkit.oci.store import ImageStore
from olmkit.project import image_plan, sbom
from olmkit.project.sbom import SbomComponent

if TYPE_CHECKING:
    from olmkit.edges.build.bytecode import Compiler

Say = Callable[[str], None]
# Increased when the layer of packages is built differently.
_FORM = b"olmkit packages 3\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """The packages of a layer; `lock` replaces `requirements`.

    `wheels`: a folder that replaces the network. `sbom`: the name in the layer's SBOM; empty for no
    SBOM; `more`: its additional components. `created`: the time of all files, in Unix seconds.
    `lock_command`: the command that writes the lock file in this project.
    """

    requirements: tuple[str, ...]
    lock: Path | None = None
    wheels: Path | None = None
    python: str = ""
    libc: str = image_plan.DEFAULT_LIBC
    sbom: str = ""
    more: tuple[SbomComponent, ...] = ()
    created: int = 0
    lock_command: str = "uv pip compile --generate-hashes"


async def bases(
    text: str,
    platforms: Sequence[Platform],
    access: Access,
    cache: BuildCache,
    stack: contextlib.AsyncExitStack,
    report: Report,
    say: Say,
    *,
    pull: bool = False,
) -> tuple[Sequence[Image], ImageStore]:
    """Return the base image `text` for each platform, and the store with their layers.

    An image from a registry is cached, and pulled again with `pull`. The store is open until
    `stack` closes. Raises `InputError` if there is no base for a platform.
    """
    reference = references.parse_image(text)
    if not isinstance(reference, Reference | EngineReference):
        store = await stack.enter_async_context(transports.open_store(reference, access))
        found = [
            await _base(store, transports.selector(reference), reference, platform)
            for platform in platforms
        ]
        return found, store
    found = []
    for platform in platforms:
        name = f"{reference} {platform}"
        kept = None if pull else await cache.base(name)
        if kept is None:
            say(f"base: {reference} for {platform}")
            with _other_base_named():
                async with transports.open_store(reference, access) as remote:
                    selector = transports.selector(reference)
                    image = await _base(remote, selector, reference, platform)
                    await transfer.copy(
                        remote, cache.layout, image.descriptor, tag=name, report=report
                    )
            kept = image.descriptor
        else:
            say(f"base: {reference} for {platform}, from the local cache")
        found.append(await _base(cache.layout, str(kept.digest), reference, platform))
    return found, cache.layout


@contextlib.contextmanager
def _other_base_named() -> Iterator[None]:
    """Add the option for another base to the hint of a registry's error."""
    try:
        yield
    except RemoteError as error:
        error.hint = "; ".join(filter(None, (error.hint, "`--base` names another base")))
        raise


async def _base(
    store: ImageStore, selector: str, reference: ImageReference, platform: Platform
) -> Image:
    image = await stores.pull(store, selector, platform)
    found = image.config.platform
    if not platform.runs(found):
        raise InputError(
            f"the base `{reference}` is not for `{platform}` but for `{found}`",
            hint=f"pass another image with `--base`, or build with `--platform {found}`",
        )
    return image


async def packages_layer(
    packages: Packages,
    platform: Platform,
    base: Image,
    compiler: Compiler | None,
    cache: BuildCache,
    access: Access,
    say: Say,
) -> Layer | None:
    """Return the layer of packages, from the cache if nothing changed.

    With a `compiler`, it contains their bytecode. Returns None without packages. Raises like
    `olmkit.edges.build.wheels.collect`.
    """
    if packages.lock is None and not packages.requirements:
        return None
    python = image_plan.python_version(base, packages.python)
    key = _key(packages, platform, python, compiler)
    is_fixed = packages.lock is not None or packages.wheels is not None
    layer = await cache.layer(key) if is_fixed else None
    if layer is not None:
        say(f"packages for {platform}: unchanged")
        return layer
    from olmkit.edges.build import wheels
    from olmkit.edges.build.wheels import WheelRequest

    say(f"packages for {platform}: collected for Python {python}")
    if not is_fixed:
        say(f"no file with versions and hashes: `{packages.lock_command}` writes one")
    tree = await wheels.collect(
        WheelRequest(
            python=python,
            platform=platform,
            libc=packages.libc,
            requirements=packages.requirements,
            lock=packages.lock,
            folder=packages.wheels,
        ),
        access.environment,
    )
    files = await with_bytecode(tree.at(image_plan.PACKAGES), compiler)
    if packages.sbom:
        files = files.merge(_sbom(packages, tree))
    layer = await asyncio.to_thread(layers.write, files, mtime=packages.created)
    await cache.keep(key, layer)
    return layer


async def compiler_for(
    base: Image, python: str, bytecode: bool | None, say: Say
) -> Compiler | None:
    """Return the bytecode compiler for an image's Python; None for no bytecode.

    `python` overrides the version that the base declares. `bytecode`: whether to compile; None:
    only if this machine has such a Python. Raises `ConfigurationError` if bytecode is required and
    that Python is unknown or not installed.
    """
    if bytecode is False or not (bytecode or python or image_plan.declared_python(base)):
        return None
    python = image_plan.python_version(base, python)
    from olmkit.edges.build import bytecode as compilers

    found = await compilers.find(python)
    if found is None and bytecode:
        raise compilers.missing_compiler_error(python)
    if found is None:
        say(f"bytecode: none, since no Python {python} is installed; containers start slower")
    return found


async def with_bytecode(files: Tree, compiler: Compiler | None) -> Tree:
    """Return `files` with their bytecode, if there is a compiler."""
    if compiler is None:
        return files
    from olmkit.edges.build import bytecode as compilers

    return files.merge(await compilers.compile_modules(compiler, files))


def _sbom(wanted: Packages, packages: Tree) -> Tree:
    data = sbom.write(wanted.sbom, packages, wanted.more, created=wanted.created)
    return Tree({image_plan.SBOM.lstrip("/"): data})


def _key(packages: Packages, platform: Platform, python: str, compiler: Compiler | None) -> str:
    """Return a cache key of all inputs of the layer of packages."""
    running = hashlib.sha256(_FORM)
    words = [str(platform), python, packages.libc, str(packages.created), packages.sbom]
    words.append(compiler.version if compiler else "no bytecode")
    words += packages.requirements if packages.lock is None else []
    words += [one.words for one in packages.more] if packages.sbom else []
    for path in _wheels(packages.wheels):
        size, changed = paths.modification(path)
        words.append(f"{path.name} {size} {changed}")
    running.update("\n".join(words).encode())
    if packages.lock is not None:
        running.update(b"\0" + disk.read_file(packages.lock))
    return running.hexdigest()


def _wheels(folder: Path | None) -> Iterable[Path]:
    if folder is None:
        return ()
    if not paths.is_folder(folder):
        raise ConfigurationError(f"`{folder}` is not a folder of wheels")
    return paths.match_entries(folder, "*.whl")
