"""What images that run Python are made of: a base for each platform, a layer of packages.

Both are kept in a cache: the base until it is requested again, a layer of packages
for as long as what it was made from stays the same.
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
# Changes when the layer of packages is made in another way.
_FORM = b"olmkit packages 3\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """The packages that a layer is to have; `lock` takes the place of `requirements`.

    `wheels`: a folder that takes the place of the network. `sbom`: whose bill of materials
    is next to them; empty for none, `more`: what else it lists. `created`: the time of all files,
    in Unix seconds. `lock_command` writes such a lock in this project.
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
    """Return the base `text` for each platform, and the store in which their layers lie.

    From a registry it is taken once, and again with `pull`. The store is open while `stack`
    is. Raises `InputError` when there is no base for a platform.
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
    """Let the hint of a registry's error name the option for another base."""
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
    wanted: Packages,
    platform: Platform,
    base: Image,
    compiler: Compiler | None,
    cache: BuildCache,
    access: Access,
    say: Say,
) -> Layer | None:
    """Return the layer with the packages, kept from last time where nothing changed.

    With a `compiler`, it contains their bytecode. None when none are wanted. Raises what
    `olmkit.edges.build.wheels.collect` does.
    """
    if wanted.lock is None and not wanted.requirements:
        return None
    python = image_plan.python_version(base, wanted.python)
    key = _key(wanted, platform, python, compiler)
    is_fixed = wanted.lock is not None or wanted.wheels is not None
    layer = await cache.layer(key) if is_fixed else None
    if layer is not None:
        say(f"packages for {platform}: unchanged")
        return layer
    from olmkit.edges.build import wheels
    from olmkit.edges.build.wheels import WheelRequest

    say(f"packages for {platform}: collected for Python {python}")
    if not is_fixed:
        say(f"no file with versions and hashes: `{wanted.lock_command}` writes one")
    tree = await wheels.collect(
        WheelRequest(
            python=python,
            platform=platform,
            libc=wanted.libc,
            requirements=wanted.requirements,
            lock=wanted.lock,
            folder=wanted.wheels,
        ),
        access.environment,
    )
    files = await with_bytecode(tree.at(image_plan.PACKAGES), compiler)
    if wanted.sbom:
        files = files.merge(_sbom(wanted, tree))
    layer = await asyncio.to_thread(layers.write, files, mtime=wanted.created)
    await cache.keep(key, layer)
    return layer


async def compiler_for(
    base: Image, python: str, bytecode: bool | None, say: Say
) -> Compiler | None:
    """Return what compiles for the Python of an image; None for an image without bytecode.

    `python` takes the place of what the base declares. `bytecode`: whether it is compiled; None
    where such a Python is here. Raises `ConfigurationError` when it is required and that Python
    is not known or not here.
    """
    if bytecode is False or not (bytecode or python or image_plan.declared_python(base)):
        return None
    python = image_plan.python_version(base, python)
    from olmkit.edges.build import bytecode as compilers

    found = await compilers.find(python)
    if found is None and bytecode:
        raise compilers.missing(python)
    if found is None:
        say(f"bytecode: none, since no Python {python} is installed; containers start slower")
    return found


async def with_bytecode(files: Tree, compiler: Compiler | None) -> Tree:
    """`files` of an image, and their bytecode where there is a compiler."""
    if compiler is None:
        return files
    from olmkit.edges.build import bytecode as compilers

    return files.merge(await compilers.compiled(compiler, files))


def _sbom(wanted: Packages, packages: Tree) -> Tree:
    data = sbom.write(wanted.sbom, packages, wanted.more, created=wanted.created)
    return Tree({image_plan.SBOM.lstrip("/"): data})


def _key(wanted: Packages, platform: Platform, python: str, compiler: Compiler | None) -> str:
    """Return a name for all that the layer of packages is made from."""
    running = hashlib.sha256(_FORM)
    words = [str(platform), python, wanted.libc, str(wanted.created), wanted.sbom]
    words.append(compiler.version if compiler else "no bytecode")
    words += wanted.requirements if wanted.lock is None else []
    words += [one.words for one in wanted.more] if wanted.sbom else []
    for path in _wheels(wanted.wheels):
        size, changed = paths.modified(path)
        words.append(f"{path.name} {size} {changed}")
    running.update("\n".join(words).encode())
    if wanted.lock is not None:
        running.update(b"\0" + disk.read_file(wanted.lock))
    return running.hexdigest()


def _wheels(folder: Path | None) -> Iterable[Path]:
    if folder is None:
        return ()
    if not paths.is_folder(folder):
        raise ConfigurationError(f"`{folder}` is not a folder of wheels")
    return paths.matching(folder, "*.whl")
