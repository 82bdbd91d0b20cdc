"""Building the image of an operator, without an engine or with one.

Without: the base comes from wherever it lies and is kept for the next time, an
installer collects the packages, and both layers are put on top. What was made
before from the same input is taken as it is, and digests depend on nothing but
the input. With an engine: the Containerfile is built, and its image goes the
same way from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.edges import build_cache, disk, sources, transfer
from olmkit.edges.access import Access
from olmkit.edges.build_cache import BuildCache
from olmkit.edges.transfer import Report, silent
from olmkit.jobs import publish
from olmkit.jobs.publish import BuildOptions, Published
from olmkit.oci import image as images
from olmkit.oci import layer as layers
from olmkit.oci import reference as references
from olmkit.oci import store as stores
from olmkit.oci.content import Platform
from olmkit.oci.image import Image
from olmkit.oci.layer import Layer
from olmkit.oci.reference import EngineReference, ImageReference, Reference
from olmkit.oci.store import Store
from olmkit.project import config, image_plan
from olmkit.project.image_plan import ImagePlan

Say = Callable[[str], None]
# Changes when the layer of packages is made in another way.
_FORM = b"olmkit packages 1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBuildOptions:
    """How an operator's image is built; what is empty comes from `[tool.olmkit]` or a default.

    `pull`: ask for the base again though one is kept. `wheels`: a folder of wheels that
    takes the place of the network. `engine`: empty, or the engine that builds.
    """

    publish: BuildOptions
    base: str = ""
    python: str = ""
    wheels: str = ""
    engine: str = ""
    pull: bool = False
    sbom: bool = False


def plan(options: ImageBuildOptions) -> ImagePlan:
    """What would be built, from the project's files alone.

    Raises `ConfigurationError` when the project does not say enough.
    """
    project = options.publish.project
    pyproject = _optional(project / config.PYPROJECT_FILE)
    settings, _ = config.parse_settings(pyproject)
    application = image_plan.application(pyproject, settings, _packages(project))
    return ImagePlan(
        application=application,
        base=options.base or settings.image_base or image_plan.DEFAULT_BASE,
        platforms=tuple(options.publish.platforms) or (sources.own_platform(),),
        entrypoint=image_plan.entrypoint(application, settings),
        python=options.python or settings.image_python,
        libc=settings.image_libc or image_plan.DEFAULT_LIBC,
        lock=_lock(project),
        wheels=options.wheels,
        sbom=options.sbom,
    )


async def build(
    options: ImageBuildOptions, access: Access, report: Report = silent, say: Say = lambda _: None
) -> Published:
    """Build the image of the operator in the project's folder."""
    if options.engine:
        return await _with_engine(options, access, report, say)
    wanted = plan(options)
    cache = BuildCache(build_cache.folder(access.environment))
    project, created = options.publish.project, options.publish.created
    code = layers.write(
        image_plan.code_tree(
            {folder: disk.read_tree(project / folder) for folder in wanted.application.packages}
        ),
        mtime=created,
    )
    async with contextlib.AsyncExitStack() as stack:
        bases, store = await _bases(wanted, options, access, cache, stack, report, say)
        built = await asyncio.gather(
            *(
                _packages_layer(wanted, platform, base, options, access, cache, say)
                for platform, base in zip(wanted.platforms, bases, strict=True)
            )
        )
        made = [
            image_plan.compose(base, packages, code, wanted, created=created)
            for base, packages in zip(bases, built, strict=True)
        ]
        return await publish.publish(
            made[0] if len(made) == 1 else images.index(made),
            image_plan.default_tag(wanted.application),
            options.publish,
            access,
            report,
            base=store,
        )


async def _bases(
    wanted: ImagePlan,
    options: ImageBuildOptions,
    access: Access,
    cache: BuildCache,
    stack: contextlib.AsyncExitStack,
    report: Report,
    say: Say,
) -> tuple[Sequence[Image], Store]:
    """The base for each platform, and the store in which their layers lie."""
    reference = references.parse_image(wanted.base)
    if not isinstance(reference, Reference | EngineReference):
        store = await stack.enter_async_context(sources.open_store(reference, access))
        found = [
            await _base(store, sources.selector(reference), reference, platform)
            for platform in wanted.platforms
        ]
        return found, store
    found = []
    for platform in wanted.platforms:
        name = f"{reference} {platform}"
        kept = None if options.pull else await cache.base(name)
        if kept is None:
            say(f"base: {reference} for {platform}")
            async with sources.open_store(reference, access) as remote:
                image = await _base(remote, sources.selector(reference), reference, platform)
                await transfer.copy(remote, cache.layout, image.descriptor, tag=name, report=report)
            kept = image.descriptor
        else:
            say(f"base: {reference} for {platform}, as it was when it was last asked for")
        found.append(await _base(cache.layout, str(kept.digest), reference, platform))
    return found, cache.layout


async def _base(
    store: Store, selector: str, reference: ImageReference, platform: Platform
) -> Image:
    image = await stores.pull(store, selector, platform)
    found = image.config.platform
    if not platform.runs(found):
        raise InputError(
            f"the base `{reference}` is not for `{platform}` but for `{found}`",
            hint=f"name another base with `--base`, or build with `--platform {found}`",
        )
    return image


async def _packages_layer(
    wanted: ImagePlan,
    platform: Platform,
    base: Image,
    options: ImageBuildOptions,
    access: Access,
    cache: BuildCache,
    say: Say,
) -> Layer | None:
    """The layer with the packages of the operator, kept from last time where nothing changed."""
    if not wanted.lock and not wanted.application.requirements:
        return None
    project, created = options.publish.project, options.publish.created
    python = image_plan.python_version(base, wanted.python)
    lock = project / wanted.lock if wanted.lock else None
    folder = Path(wanted.wheels) if wanted.wheels else None
    key = _key(wanted, platform, python, lock, folder, created)
    layer = await cache.layer(key)
    if layer is not None and (lock is not None or folder is not None):
        say(f"packages for {platform}: unchanged")
        return layer
    from olmkit.edges import wheels
    from olmkit.edges.wheels import WheelRequest

    say(f"packages for {platform}: collected for Python {python}")
    if lock is None:
        say("no file with versions and hashes: `uv pip compile --generate-hashes` writes one")
    tree = await wheels.collect(
        WheelRequest(
            python=python,
            platform=platform,
            libc=wanted.libc,
            requirements=wanted.application.requirements,
            lock=lock,
            folder=folder,
        ),
        access.environment,
    )
    files = tree.at(image_plan.PACKAGES)
    if wanted.sbom:
        files = files.merge(_sbom(wanted, tree))
    layer = await asyncio.to_thread(layers.write, files, mtime=created)
    await cache.keep(key, layer)
    return layer


def _sbom(wanted: ImagePlan, packages: Tree) -> Tree:
    from olmkit.project import sbom

    return Tree({image_plan.SBOM.lstrip("/"): sbom.write(wanted.application.name, packages)})


def _key(
    wanted: ImagePlan,
    platform: Platform,
    python: str,
    lock: Path | None,
    folder: Path | None,
    created: int,
) -> str:
    """A name for all that the layer of packages is made from."""
    running = hashlib.sha256(_FORM)
    words = [str(platform), python, wanted.libc, str(created), str(wanted.sbom)]
    words += [wanted.application.name] if wanted.sbom else []
    words += wanted.application.requirements if lock is None else []
    for path in _wheels(folder):
        info = path.stat()
        words.append(f"{path.name} {info.st_size} {info.st_mtime_ns}")
    running.update("\n".join(words).encode())
    if lock is not None:
        running.update(b"\0" + disk.read_file(lock))
    return running.hexdigest()


def _wheels(folder: Path | None) -> Iterable[Path]:
    if folder is None:
        return ()
    if not folder.is_dir():
        raise ConfigurationError(f"`{folder}` is no folder of wheels")
    return sorted(folder.glob("*.whl"))


async def _with_engine(
    options: ImageBuildOptions, access: Access, report: Report, say: Say
) -> Published:
    from olmkit.edges import docker_archive, engine

    project = options.publish.project
    file = next((name for name in image_plan.CONTAINERFILES if (project / name).is_file()), "")
    if not file:
        raise ConfigurationError(
            f"there is no Containerfile in `{project}`",
            hint="write one, or build without an engine: leave `--engine` out",
        )
    if options.wheels and not _is_same(Path(options.wheels), project / "wheels"):
        raise ConfigurationError(
            "an engine sees only the project's folder",
            hint="put the wheels into the project's folder `wheels`",
        )
    if len(options.publish.platforms) > 1:
        raise ConfigurationError(
            "an engine builds for one platform at a time",
            hint="name one `--platform`, or build without an engine",
        )
    name = _engine_name(options)
    arguments = {
        **({"BASE": options.base} if options.base else {}),
        **({"PIP_NO_INDEX": "1"} if options.wheels else {}),
    }
    await engine.build(
        options.engine,
        project,
        file,
        name,
        arguments=arguments,
        platform=next(iter(options.publish.platforms), None),
        environment=access.environment,
        say=say,
    )
    with tempfile.TemporaryDirectory(prefix="olmkit-") as folder:
        archive = Path(folder) / "image.tar"
        await engine.save(options.engine, name, archive, access.environment)
        store = docker_archive.open_archive(archive)
        root = await store.resolve("")
        platform = (await sources.look_at(store, root, access)).config.platform
        return await publish.publish_from(
            store, root, name, options.publish, access, report, platforms=(str(platform),)
        )


def _engine_name(options: ImageBuildOptions) -> str:
    """What the image is called in the engine: as asked for, or as without an engine."""
    if options.publish.target:
        wanted = references.parse_image(options.publish.target)
        if isinstance(wanted, Reference):
            return str(wanted)
    try:
        return image_plan.default_tag(plan(options).application)
    except ConfigurationError:
        return f"{options.publish.project.resolve().name.lower()}:latest"


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _packages(project: Path) -> frozenset[str]:
    """The folders with an `__init__.py` in which an operator's package may lie."""
    found = [*project.glob("*/__init__.py"), *project.glob("src/*/__init__.py")]
    return frozenset(path.parent.relative_to(project).as_posix() for path in found)


def _lock(project: Path) -> str:
    """The file with exact versions and hashes, if the project has one."""
    for name in image_plan.LOCK_FILES:
        data = _optional(project / name)
        if data is not None and b"--hash=" in data:
            return name
    return ""


def _optional(path: Path) -> bytes | None:
    return disk.read_file(path) if path.is_file() else None
