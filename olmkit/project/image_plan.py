"""The plan of an operator's image: base, layers, entry point.

The image is the base, a layer with the packages that the operator needs, and on top of it a layer
with the operator's own code, so that a change of code builds and pushes only the last layer.
Packages are in a separate folder in `PYTHONPATH`, regardless of the base's site-packages: a
Containerfile with `pip install --target` builds the same image.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.oci import image as images
from olmkit.oci.content import Platform
from olmkit.oci.image import Image
from olmkit.oci.layer import Layer
from olmkit.project.config import PYPROJECT_FILE, Settings

_PINNED_BASE = re.compile(rb"^ARG BASE=([!-~]+@sha256:[0-9a-f]{64})\s*$", re.MULTILINE)
DEFAULT_BASE = "docker.io/library/python:3.13-slim"
LOCK_FILES = ("requirements.lock", "requirements.txt")
CONTAINERFILES = ("Containerfile", "Dockerfile")
HOME = "/opt/operator"
PACKAGES = f"{HOME}/lib"
CODE = f"{HOME}/app"
SBOM = f"{HOME}/sbom.cdx.json"
# The user ID that "nonroot" base images use.
USER = "65532:65532"
# The newest glibc that supported systems have: RHEL 8 and Debian 10 have 2.28.
DEFAULT_LIBC = "manylinux_2_28"
ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "1",  # the root file system is read-only
    "PYTHONPATH": f"{CODE}:{PACKAGES}",
    "PYTHONUNBUFFERED": "1",
}
_CREATED_BY = "olmkit image build"
# The base's name is left out: a mirror's name would change the digest of the same image.
_BASE_DIGEST = "org.opencontainers.image.base.digest"
_SET_VERSION = re.compile(
    r"""^(?:__version__|VERSION)\s*(?::\s*str)?\s*=\s*(['"])v?(.+?)\1""", re.M
)
_VERSION = re.compile(r"^(\d+)\.(\d+)")
_LIBC = re.compile(r"(manylinux|musllinux)_(\d+)_(\d+)")
_MACHINES = {
    "amd64": "x86_64",
    "arm64": "aarch64",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
    "386": "i686",
    "riscv64": "riscv64",
}
_OLD_NAMES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}  # PEP 600
_OLDEST = {"manylinux": 5, "musllinux": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The operator's settings in `pyproject.toml`; `packages` are folders of the project."""

    name: str
    version: str
    packages: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    description: str = ""
    license: str = ""
    source: str = ""

    @property
    def module(self) -> str:
        """Return the package that is started."""
        return self.packages[0].rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePlan:
    """The inputs of the image; `lock` is the lock file, if any."""

    application: Application
    base: str
    platforms: tuple[Platform, ...]
    entrypoint: tuple[str, ...]
    python: str = ""
    libc: str = DEFAULT_LIBC
    lock: str = ""
    wheels: str = ""
    sbom: bool = False
    home: str = HOME
    user: str = USER
    variables: Mapping[str, str] = field(default_factory=dict)


def application(
    pyproject: bytes | None, settings: Settings, folders: Collection[str]
) -> Application:
    """Return the operator from its `pyproject.toml`; `folders` are those with an `__init__.py`.

    Raises `ConfigurationError` if there is no such file, no name in it, or if it is unclear which
    package is the operator.
    """
    if pyproject is None:
        raise ConfigurationError(
            f"there is no `{PYPROJECT_FILE}` here",
            hint="run the command in a Python project or pass its folder with `-C`; "
            "`--engine docker` builds any project that has a Containerfile",
        )
    try:
        value: Any = tomllib.loads(pyproject.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(f"`{PYPROJECT_FILE}` is not TOML: {error}") from None
    project = _table(value, "project")
    name = _text(project, "name")
    if not name:
        raise ConfigurationError(f"`{PYPROJECT_FILE}` has no `project.name`")
    license_ = project.get("license")
    urls = {key.lower(): url for key, url in _table(project, "urls").items()}
    found = (urls.get(key) for key in ("source", "repository", "source code", "homepage"))
    return Application(
        name=name,
        version=_text(project, "version"),
        packages=_packages(value, name, settings, folders),
        requirements=_texts(project.get("dependencies")),
        description=_text(project, "description"),
        license=license_ if isinstance(license_, str) else "",
        source=next((url for url in found if isinstance(url, str)), ""),
    )


def pinned_base(containerfile: bytes | None) -> str:
    """Return the base that the project's Containerfile pins by digest; empty if it does not."""
    found = _PINNED_BASE.search(containerfile or b"")
    return found[1].decode() if found else ""


def required_packages(pyproject: bytes | None) -> tuple[str, ...]:
    """Return the dependencies of a `pyproject.toml`; none if it does not exist or is not TOML."""
    try:
        value: Any = tomllib.loads((pyproject or b"").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return ()
    return _texts(_table(value, "project").get("dependencies"))


def python_version(base: Image, requested: str = "") -> str:
    """Return the Python version of the base, such as `3.13`, as requested or declared.

    Raises `ConfigurationError` if it is neither requested nor declared.
    """
    declared = requested or _environment(base).get("PYTHON_VERSION", "")
    match = _VERSION.match(declared)
    if match is None:
        if requested:
            raise ConfigurationError(
                f"`{requested}` is not a version of Python", hint="write it as `3.13`"
            )
        raise ConfigurationError(
            "the base image does not declare a Python version",
            hint="set it: `--python 3.13`, or `image-python` below `[tool.olmkit]`",
        )
    return f"{match[1]}.{match[2]}"


def version_file(pyproject: bytes | None) -> str:
    """Return the file in which hatch finds a dynamic version; empty without one.

    `pyproject` is a file that `application` accepts.
    """
    hatch = _table(_table(tomllib.loads((pyproject or b"").decode()), "tool"), "hatch")
    return _text(_table(hatch, "version"), "path")


def version_in(source: bytes | None) -> str:
    """Return the version that a Python file sets, as hatch reads it; empty without one."""
    match = _SET_VERSION.search((source or b"").decode(errors="replace"))
    return match[2] if match else ""


def declared_python(base: Image) -> str:
    """Return the Python that the base declares in `PYTHON_VERSION`, such as `3.13`, or nothing."""
    match = _VERSION.match(_environment(base).get("PYTHON_VERSION", ""))
    return f"{match[1]}.{match[2]}" if match else ""


def wheel_tags(platform: Platform, libc: str) -> tuple[str, ...]:
    """Return the wheel tags that `platform` supports, the most specific first.

    `libc` is the newest C library that may be requested: `manylinux_2_28`, `musllinux_1_2`.
    """
    machine = machine_of(platform)
    family, major, minor = _libc(libc)
    tags = []
    for number in range(minor, _OLDEST[family] - 1, -1):
        tags.append(f"{family}_{major}_{number}_{machine}")
        if family == "manylinux" and number in _OLD_NAMES:
            tags.append(f"{_OLD_NAMES[number]}_{machine}")
    return (*tags, f"linux_{machine}")


def machine_of(platform: Platform) -> str:
    """Return Python's name of the platform's processor, or raise `InputError`."""
    machine = _MACHINES.get(platform.architecture)
    if platform.os != "linux" or machine is None:
        raise InputError(
            f"no Python packages are built for `{platform}`",
            hint=f"use one of {', '.join(f'`linux/{name}`' for name in _MACHINES)}",
        )
    return machine


def uses_musl(libc: str) -> bool:
    """Return whether `libc` is musl, as in Alpine."""
    return _libc(libc)[0] == "musllinux"


def entrypoint(application: Application, settings: Settings) -> tuple[str, ...]:
    """Return the entry point of the operator."""
    return settings.image_entrypoint or ("python", "-m", application.module)


def compose(
    base: Image,
    packages: Layer | None,
    code: Layer,
    plan: ImagePlan,
    *,
    created: int = 0,
    more: Mapping[str, Layer] | None = None,
    more_labels: Mapping[str, str] | None = None,
) -> Image:
    """Return the image: `base` with the layers on top and the settings for a runtime.

    `more` layers, by their contents, are between packages and code. `created` is the time of
    creation in Unix seconds; no clock is read. Raises `InputError` if Python has no packages for
    the base's machine.
    """
    image = images.born(base, created=created)
    if packages is not None:
        image = images.append(
            image, packages, created_by=f"{_CREATED_BY}: packages", created=created
        )
    for name, layer in (more or {}).items():
        image = images.append(image, layer, created_by=f"{_CREATED_BY}: {name}", created=created)
    image = images.append(image, code, created_by=f"{_CREATED_BY}: code", created=created)
    environment = {**_environment(base), **ENVIRONMENT, **plan.variables}
    image = images.annotate(image, {_BASE_DIGEST: str(base.digest)})
    return images.label(
        images.configure(
            image,
            {
                "Cmd": None,
                "Entrypoint": list(plan.entrypoint),
                "Env": [f"{key}={value}" for key, value in environment.items()],
                "User": plan.user,
                "WorkingDir": plan.home,
            },
        ),
        {**labels(plan.application), **(more_labels or {})},
    )


def labels(application: Application) -> Mapping[str, str]:
    """Return the image's labels with the keys of the OCI specification."""
    prefix = "org.opencontainers.image"
    values = {
        "title": application.name,
        "version": application.version,
        "description": application.description,
        "licenses": application.license,
        "source": application.source,
    }
    return {f"{prefix}.{key}": value for key, value in values.items() if value}


def code_tree(files: Mapping[str, Tree]) -> Tree:
    """Return the code layer from the packages, without files that Python generates."""
    found = Tree()
    for folder, tree in files.items():
        kept = Tree(
            {
                path: file
                for path, file in tree.items()
                if "__pycache__" not in path.split("/") and not path.endswith((".pyc", ".pyo"))
            }
        )
        found = found.merge(kept.at(f"{CODE}/{folder.rpartition('/')[2]}"))
    return found


def default_tag(application: Application) -> str:
    """Return the default name of the image in a layout."""
    word = re.sub(r"[-_.]+", "-", application.name).lower().strip("-")
    version = re.sub(r"[^A-Za-z0-9_.-]", "-", application.version)
    return f"{word}:v{version}" if version else f"{word}:latest"


def _packages(
    value: Mapping[str, Any], name: str, settings: Settings, folders: Collection[str]
) -> tuple[str, ...]:
    if settings.image_packages:
        return _existing(settings.image_packages, folders)
    tool = _table(value, "tool")
    wheel = _table(_table(_table(_table(tool, "hatch"), "build"), "targets"), "wheel")
    listed = _texts(wheel.get("packages")) or _texts(_table(tool, "setuptools").get("packages"))
    if listed:
        return _existing(listed, folders)
    word = re.sub(r"[-.]+", "_", name).lower()
    for candidate in (f"src/{word}", word, *settings.sources):
        if candidate in folders:
            return (candidate,)
    if len(folders) == 1:
        return tuple(folders)
    raise ConfigurationError(
        "the folder of the operator's package is ambiguous",
        hint="name it: `image-packages` below `[tool.olmkit]`"
        + (f"; there are {', '.join(f'`{folder}`' for folder in sorted(folders))}" * bool(folders)),
    )


def _existing(listed: Sequence[str], folders: Collection[str]) -> tuple[str, ...]:
    for folder in listed:
        if folder not in folders:
            raise ConfigurationError(
                f"the package `{folder}` that `{PYPROJECT_FILE}` names does not exist",
                hint="it must be a folder with an `__init__.py`",
            )
    return tuple(listed)


def _environment(image: Image) -> dict[str, str]:
    listed = image.config.run_options.get("Env")
    pairs = listed if isinstance(listed, list) else []
    return dict(pair.split("=", 1) for pair in pairs if isinstance(pair, str) and "=" in pair)


def _libc(libc: str) -> tuple[str, int, int]:
    match = _LIBC.fullmatch(libc)
    if match is None or int(match[3]) > 99:
        raise ConfigurationError(
            f"`{libc}` names no C library", hint="write `manylinux_2_28` or `musllinux_1_2`"
        )
    return match[1], int(match[2]), int(match[3])


def _table(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def lock_command(
    makefile: bytes | None, requirements: Sequence[str], *, has_pyproject: bool
) -> str:
    """Return the command that writes a lock with hashes: a Makefile target, if there is one."""
    if re.search(rb"^lock:", makefile or b"", re.MULTILINE):
        return "make lock"
    if has_pyproject:
        return "uv pip compile --generate-hashes pyproject.toml -o requirements.lock"
    words = " ".join(f"'{one}'" for one in requirements)
    return f"printf '%s\\n' {words} | uv pip compile --generate-hashes - -o requirements.lock"
