"""Collecting packages: real installers, and wheels that the tests build."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.edges.build import wheels
from olmkit.edges.build.wheels import WheelRequest
from olmkit.oci.content import Platform

AMD64 = Platform(os="linux", architecture="amd64")
ARM64 = Platform(os="linux", architecture="arm64")
OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"


Make = Callable[..., Path]


def collect(request: WheelRequest, installer: str = "") -> Tree:
    return asyncio.run(wheels.collect(request, {**os.environ, "OLMKIT_INSTALLER": installer}))


def request(
    folder: Path,
    *requirements: str,
    python: str = OWN,
    platform: Platform = AMD64,
    lock: Path | None = None,
) -> WheelRequest:
    return WheelRequest(
        python=python,
        platform=platform,
        libc="manylinux_2_28",
        requirements=requirements,
        lock=lock,
        folder=folder,
    )


def test_uv_and_pip_produce_the_same_bytes(make_wheel: Make, tmp_path: Path) -> None:
    make_wheel(tmp_path / "w", "one", requires="two")
    make_wheel(tmp_path / "w", "two")
    by_uv = collect(request(tmp_path / "w", "one"), "uv")
    by_pip = collect(request(tmp_path / "w", "one"), "pip")
    assert by_uv == by_pip
    assert "two/__init__.py" in by_uv
    assert not [path for path in by_uv if path.startswith("bin/") or "INSTALLER" in path]
    assert by_uv.data("one-1.0.dist-info/RECORD").splitlines()[-1] == (
        b"one-1.0.dist-info/RECORD,,"
    )


@pytest.mark.parametrize("is_locked", [False, True])
def test_a_wheel_that_was_rebuilt_with_the_same_version_is_used(
    make_wheel: Make, tmp_path: Path, is_locked: bool
) -> None:
    name = f"again{uuid.uuid4().hex}"  # The machine has a shared cache of uv.
    folder = tmp_path / "w"
    for tag in ("py3-none-any", "py2.py3-none-any"):
        # The file has the same name, as after a change of the sources.
        path = make_wheel(folder, name, tag).rename(folder / f"{name}-1.0-py3-none-any.whl")
        lock = tmp_path / "lock" if is_locked else None
        if lock is not None:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            lock.write_text(f"{name}==1.0 --hash=sha256:{digest}\n")
        found = collect(request(folder, name, lock=lock), "uv")
        assert found.data(f"{name}/__init__.py").decode() == f"tag = '{tag}'\n"


def test_the_wheel_for_the_images_platform_is_used(make_wheel: Make, tmp_path: Path) -> None:
    make_wheel(tmp_path / "w", "one", "cp312-cp312-manylinux_2_17_x86_64")
    make_wheel(tmp_path / "w", "one", "cp312-cp312-manylinux_2_17_aarch64")
    found = collect(request(tmp_path / "w", "one", python="3.12", platform=ARM64))
    assert b"aarch64" in found.data("one/__init__.py")


def test_without_a_matching_wheel_the_error_names_it(make_wheel: Make, tmp_path: Path) -> None:
    make_wheel(tmp_path / "w", "one", "cp39-cp39-manylinux_2_17_x86_64")
    with pytest.raises(InputError, match="cannot be collected") as caught:
        collect(request(tmp_path / "w", "one"))
    assert "needs a wheel" in caught.value.hint
    assert "`PIP_FIND_LINKS`" in caught.value.hint


def test_a_wheel_whose_hash_differs_from_the_lock_is_refused(
    make_wheel: Make, tmp_path: Path
) -> None:
    path = make_wheel(tmp_path / "w", "one")
    lock = tmp_path / "requirements.lock"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    lock.write_text(f"one==1.0 --hash=sha256:{digest}\n")
    assert "one/__init__.py" in collect(request(tmp_path / "w", lock=lock))
    lock.write_text(f"one==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(InputError, match=r"(?i)hash"):
        collect(request(tmp_path / "w", lock=lock))


def test_pip_alone_cannot_install_for_another_python(make_wheel: Make, tmp_path: Path) -> None:
    make_wheel(tmp_path / "w", "one")
    with pytest.raises(ConfigurationError, match=r"the image has Python 3\.99"):
        collect(request(tmp_path / "w", "one", python="3.99"), "pip")


def test_without_an_installer_the_error_names_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="needs `uv` or `pip`"):
        collect(request(tmp_path, "one"), "none")


def test_without_requirements_no_installer_runs(tmp_path: Path) -> None:
    assert collect(request(tmp_path), "none") == Tree()
