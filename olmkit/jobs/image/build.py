"""Build the image of an operator, with or without a container engine.

Without an engine, the base image is pulled and cached, an installer collects the packages, and the
layers of packages and code are added. Layers are reused if their input is the same, and digests
depend only on the input. With an engine, the engine builds the Containerfile, and olmkit reads the
image from the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.edges import disk, paths
from olmkit.edges.build import cache as build_cache
from olmkit.edges.build.cache import BuildCache
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.transfer import Report, silent
from olmkit.jobs.image import parts, publish, watched
from olmkit.jobs.image.parts import Packages, Say
from olmkit.jobs.image.publish import Published, PublishOptions
from olmkit.oci import image as images
from olmkit.oci import layer as layers
from olmkit.oci import reference as references
from olmkit.oci.image import Image
from olmkit.oci.layer import Layer
from olmkit.oci.reference import Reference
from olmkit.project import config, image_plan, lock_file, run_plan, watched_image
from olmkit.project.config import Settings
from olmkit.project.image_plan import ImagePlan

if TYPE_CHECKING:
    from olmkit.edges.build.bytecode import Compiler


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBuildOptions:
    """The options of a build; empty values come from `[tool.olmkit]` or defaults.

    `pull`: pull the base again even if it is cached. `wheels`: a folder of wheels that replaces the
    network. `engine`: empty, or the engine that builds. `bytecode`: whether the image contains
    compiled code; None: only if this machine has a Python of the same version. `helm`: the path of
    the helm program for a Helm project, with `{arch}` for the architecture. `collections`: a folder
    of collections for an Ansible project; `collections_index`: the index to install them from
    instead.
    """

    publish: PublishOptions
    base: str = ""
    python: str = ""
    wheels: str = ""
    engine: str = ""
    pull: bool = False
    sbom: bool = False
    bytecode: bool | None = None
    helm: str = ""
    collections: str = ""
    collections_index: str = ""


def plan(options: ImageBuildOptions) -> ImagePlan:
    """Plan the build from the project's files only.

    Raises `ConfigurationError` if the project lacks required settings.
    """
    project = options.publish.project
    pyproject = disk.read_if_there(project / config.PYPROJECT_FILE)
    settings = config.parse_settings(pyproject)
    found = watched.read(project)
    if found.language:
        return _plan_watched(options, found.language, settings)
    application = image_plan.application(pyproject, settings, disk.python_packages(project))
    if (name := image_plan.version_file(pyproject)) and not application.version:
        version = image_plan.version_in(disk.read_if_there(project / name))
        application = replace(application, version=version)
    made = ImagePlan(
        application=application,
        base=_base(options, settings),
        platforms=tuple(options.publish.platforms) or (transports.own_platform(),),
        entrypoint=image_plan.entrypoint(application, settings),
        python=options.python or settings.image_python,
        libc=settings.image_libc or image_plan.DEFAULT_LIBC,
        lock=settings.image_lock or _lock(project),
        wheels=options.wheels,
        sbom=options.sbom,
        variables={"HOME": "/tmp"} if found.runners else {},  # noqa: S108 - as below
    )
    # A file that a setting names is the author's own choice, such as that of olmkit's own image.
    if not settings.image_lock and (fault := lock_fault(project, application.requirements)):
        raise fault
    return made


def _base(options: ImageBuildOptions, settings: Settings) -> str:
    """Return the base: the requested one, that of the settings, a pinned one or the default."""
    project = options.publish.project
    files = (disk.read_if_there(project / name) for name in image_plan.CONTAINERFILES)
    pinned = image_plan.pinned_base(next((data for data in files if data is not None), None))
    return options.base or settings.image_base or pinned or image_plan.DEFAULT_BASE


def _plan_watched(options: ImageBuildOptions, language: str, settings: Settings) -> ImagePlan:
    """Return the plan for a Helm or Ansible project."""
    project = options.publish.project
    application = watched.application(project, language)
    if not settings.image_lock and (fault := lock_fault(project, application.requirements)):
        raise fault
    return ImagePlan(
        application=application,
        base=_base(options, settings),
        platforms=tuple(options.publish.platforms) or (transports.own_platform(),),
        entrypoint=settings.image_entrypoint or run_plan.watches_entrypoint(language),
        python=options.python or settings.image_python,
        libc=settings.image_libc or image_plan.DEFAULT_LIBC,
        lock=settings.image_lock or _lock(project),
        wheels=options.wheels,
        sbom=options.sbom,
        home=watched_image.CONTENTS[language].target,
        user=watched_image.USER,
        variables={"HOME": "/tmp"},  # noqa: S108 - the root file system is read-only
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
    kinds = watched.read(project)
    index = options.collections_index
    watched.check(kinds, helm=options.helm, collections=options.collections, index=index)
    code = _code(wanted, project, kinds)
    async with contextlib.AsyncExitStack() as stack:
        bases, store = await parts.bases(
            wanted.base, wanted.platforms, access, cache, stack, report, say, pull=options.pull
        )
        more = await _contents(options, wanted, kinds, code, access, say)
        packages = _packages(wanted, project, created)
        compilers = await _compilers(bases, options, wanted.python, say)
        built = await asyncio.gather(
            *(
                parts.packages_layer(
                    replace(packages, more=found.parts),
                    platform,
                    base,
                    compiler,
                    cache,
                    access,
                    say,
                )
                for platform, base, compiler, found in zip(
                    wanted.platforms, bases, compilers, more, strict=True
                )
            )
        )
        codes = await _code_layers(code, compilers, created)
        made = [
            image_plan.compose(
                base,
                layer,
                code_layer,
                wanted,
                created=created,
                more=await found.layers(created),
                more_labels=found.labels,
            )
            for base, layer, code_layer, found in zip(bases, built, codes, more, strict=True)
        ]
        return await publish.publish(
            made[0] if len(made) == 1 else images.index(made),
            image_plan.default_tag(wanted.application),
            options.publish,
            access,
            report,
            base=store,
        )


async def _contents(
    options: ImageBuildOptions,
    plan: ImagePlan,
    kinds: watched.Watched,
    code: Tree,
    access: Access,
    say: Say,
) -> list[watched.WatchedContent]:
    """Return for each platform what the image contains to run watched kinds."""
    collections = await watched.collections_of(
        options.publish.project,
        kinds,
        access.environment,
        say,
        folder=options.collections,
        index=options.collections_index,
    )
    return [
        await watched.content_of(
            kinds, platform, access.environment, code, collections, helm=options.helm
        )
        for platform in plan.platforms
    ]


def _code(plan: ImagePlan, project: Path, kinds: watched.Watched) -> Tree:
    """Return the project's packages, and the files that watched kinds run."""
    code = image_plan.code_tree(
        {folder: disk.read_tree(project / folder) for folder in plan.application.packages}
    )
    return code.merge(watched.code(project, kinds)) if kinds.runners else code


def _packages(plan: ImagePlan, project: Path, created: int) -> Packages:
    requirements = plan.application.requirements
    return Packages(
        requirements=requirements,
        lock=project / plan.lock if plan.lock else None,
        wheels=Path(plan.wheels) if plan.wheels else None,
        python=plan.python,
        libc=plan.libc,
        sbom=plan.application.name if plan.sbom else "",
        created=created,
        lock_command=_lock_command(project, requirements),
    )


async def _compilers(
    bases: Sequence[Image], options: ImageBuildOptions, python: str, say: Say
) -> list[Compiler | None]:
    """Return the bytecode compiler for the Python of each base; each is searched once."""
    found: dict[str, Compiler | None] = {}
    for base in bases:
        key = image_plan.declared_python(base)
        if key not in found:
            found[key] = await parts.compiler_for(base, python, options.bytecode, say)
    return [found[image_plan.declared_python(base)] for base in bases]


async def _code_layers(
    code: Tree, compilers: Sequence[Compiler | None], created: int
) -> list[Layer]:
    """Return the code layer for each compiler; equal compilers share one layer."""
    made: dict[Compiler | None, Layer] = {}
    for compiler in compilers:
        if compiler not in made:
            files = await parts.with_bytecode(code, compiler)
            made[compiler] = await asyncio.to_thread(layers.write, files, mtime=created)
    return [made[compiler] for compiler in compilers]


async def _with_engine(
    options: ImageBuildOptions, access: Access, report: Report, say: Say
) -> Published:
    from olmkit.jobs.image import engine_build

    project = options.publish.project
    file = next((name for name in image_plan.CONTAINERFILES if paths.is_file(project / name)), "")
    if not file:
        raise ConfigurationError(
            f"there is no Containerfile in `{project}`",
            hint="create one, or omit `--engine` to build without an engine",
        )
    if options.wheels and not paths.is_same(Path(options.wheels), project / "wheels"):
        raise ConfigurationError(
            "an engine can read only the project's folder",
            hint="put the wheels into the project's folder `wheels`",
        )
    pyproject = disk.read_if_there(project / config.PYPROJECT_FILE)
    language = watched.read(project).language
    if b"requirements.lock" in disk.read_file(project / file) and (
        fault := lock_fault(
            project,
            watched_image.requirements(language)
            if language
            else image_plan.required_packages(pyproject),
        )
    ):
        raise fault
    name = _engine_name(options)
    settings = config.parse_settings(pyproject)
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
    """Return the image's name in the engine: the requested one, or the default."""
    if options.publish.target:
        wanted = references.parse_image(options.publish.target)
        if isinstance(wanted, Reference):
            return str(wanted)
    try:
        return image_plan.default_tag(plan(options).application)
    except ConfigurationError:
        return f"{paths.resolve(options.publish.project).name.lower()}:latest"


def lock_fault(project: Path, requirements: Sequence[str]) -> ConfigurationError | None:
    """Return what the lock file lacks of the requirements; None if complete, or without a file."""
    name = _lock(project)
    data = disk.read_if_there(project / name) if name else None
    missing = lock_file.find_missing(requirements, data) if data is not None else ()
    if not missing:
        return None
    lacks = ", ".join(f"`{one}`" for one in missing)
    has_pyproject = paths.is_file(project / config.PYPROJECT_FILE)
    requirer = f"`{config.PYPROJECT_FILE}`" if has_pyproject else "the image"
    return ConfigurationError(
        f"`{name}` lacks {lacks}, which {requirer} requires",
        hint=f"write it again: `{_lock_command(project, requirements)}`",
    )


def _lock(project: Path) -> str:
    """Return the lock file with versions and hashes, if the project has one."""
    for name in image_plan.LOCK_FILES:
        data = disk.read_if_there(project / name)
        if data is not None and b"--hash=" in data:
            return name
    return ""


def _lock_command(project: Path, requirements: Sequence[str]) -> str:
    makefile = disk.read_if_there(project / "Makefile")
    has_pyproject = paths.is_file(project / config.PYPROJECT_FILE)
    return image_plan.lock_command(makefile, requirements, has_pyproject=has_pyproject)
