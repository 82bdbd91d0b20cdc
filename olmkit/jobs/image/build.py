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
from dataclasses import dataclass
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges import disk, paths
from olmkit.edges.build import cache as build_cache
from olmkit.edges.build.cache import BuildCache
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.transfer import Report, silent
from olmkit.jobs.image import parts, publish
from olmkit.jobs.image.parts import Packages, Say
from olmkit.jobs.image.publish import BuildOptions, Published
from olmkit.oci import image as images
from olmkit.oci import layer as layers
from olmkit.oci import reference as references
from olmkit.oci.reference import Reference
from olmkit.project import config, image_plan
from olmkit.project.image_plan import ImagePlan


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
    pyproject = disk.read_if_there(project / config.PYPROJECT_FILE)
    settings, _ = config.parse_settings(pyproject)
    application = image_plan.application(pyproject, settings, disk.python_packages(project))
    return ImagePlan(
        application=application,
        base=options.base or settings.image_base or image_plan.DEFAULT_BASE,
        platforms=tuple(options.publish.platforms) or (transports.own_platform(),),
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
    publish.check(options.publish)
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
        bases, store = await parts.bases(
            wanted.base, wanted.platforms, access, cache, stack, report, say, pull=options.pull
        )
        packages = Packages(
            requirements=wanted.application.requirements,
            lock=project / wanted.lock if wanted.lock else None,
            wheels=Path(wanted.wheels) if wanted.wheels else None,
            python=wanted.python,
            libc=wanted.libc,
            sbom=wanted.application.name if wanted.sbom else "",
            created=created,
        )
        built = await asyncio.gather(
            *(
                parts.packages_layer(packages, platform, base, cache, access, say)
                for platform, base in zip(wanted.platforms, bases, strict=True)
            )
        )
        made = [
            image_plan.compose(base, layer, code, wanted, created=created)
            for base, layer in zip(bases, built, strict=True)
        ]
        return await publish.publish(
            made[0] if len(made) == 1 else images.index(made),
            image_plan.default_tag(wanted.application),
            options.publish,
            access,
            report,
            base=store,
        )


async def _with_engine(
    options: ImageBuildOptions, access: Access, report: Report, say: Say
) -> Published:
    from olmkit.jobs.image import engine_build

    project = options.publish.project
    file = next((name for name in image_plan.CONTAINERFILES if paths.is_file(project / name)), "")
    if not file:
        raise ConfigurationError(
            f"there is no Containerfile in `{project}`",
            hint="write one, or build without an engine: omit `--engine`",
        )
    if options.wheels and not paths.is_same(Path(options.wheels), project / "wheels"):
        raise ConfigurationError(
            "an engine sees only the project's folder",
            hint="put the wheels into the project's folder `wheels`",
        )
    name = _engine_name(options)
    settings, _ = config.parse_settings(disk.read_if_there(project / config.PYPROJECT_FILE))
    base = options.base or settings.image_base
    arguments = {
        **({"BASE": base} if base else {}),
        **({"PIP_NO_INDEX": "1"} if options.wheels else {}),
    }
    return await engine_build.build(
        options.engine,
        project / file,
        name,
        options.publish,
        access,
        report,
        say,
        arguments=arguments,
    )


def _engine_name(options: ImageBuildOptions) -> str:
    """What the image is called in the engine: as requested, or as without an engine."""
    if options.publish.target:
        wanted = references.parse_image(options.publish.target)
        if isinstance(wanted, Reference):
            return str(wanted)
    try:
        return image_plan.default_tag(plan(options).application)
    except ConfigurationError:
        return f"{paths.resolved(options.publish.project).name.lower()}:latest"


def _lock(project: Path) -> str:
    """The file with exact versions and hashes, if the project has one."""
    for name in image_plan.LOCK_FILES:
        data = disk.read_if_there(project / name)
        if data is not None and b"--hash=" in data:
            return name
    return ""
