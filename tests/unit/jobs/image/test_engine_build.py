"""Images of an engine: a test program replaces docker."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.edges.images import docker_archive
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.bundle import build as bundle_build
from olmkit.jobs.image import copy as image_job
from olmkit.jobs.image import engine_build, publish
from olmkit.jobs.image.publish import Published, PublishOptions
from olmkit.oci import image, layer
from olmkit.oci.content import Descriptor, Digest, MediaType, Platform
from olmkit.oci.layer import Layer
from olmkit.oci.store import MemoryStore

T = TypeVar("T")
AMD64 = Platform(os="linux", architecture="amd64")
ARCHIVE = layer.write_archive(Tree({"a": b"1" * 100_000}))


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a Containerfile, and a `docker` that has built an image with one layer."""
    plain = Layer(
        descriptor=Descriptor.of(ARCHIVE, MediaType.OCI_LAYER),
        diff_id=Digest.of(ARCHIVE),
        data=ARCHIVE,
    )
    made = image.label(image.append(image.scratch(AMD64), plain, created_by="x"), {"k": "v"})
    run(docker_archive.write(MemoryStore.of(made), made, [], tmp_path / "saved.tar"))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "docker"
    program.write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/words\n'
        f'[ "$1" = save ] && cp {tmp_path}/saved.tar "$3"\nexit 0\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "Containerfile").write_text("FROM scratch\n")
    return tmp_path / "project"


def build(project: Path, *platforms: Platform, target: str = "") -> Published:
    return run(
        engine_build.build(
            "docker",
            project / "Containerfile",
            "some:v1",
            PublishOptions(project=project, platforms=platforms, target=target),
            Access(environment={**os.environ, "OLMKIT_CACHE": str(project.parent / "cache")}),
            lambda _: None,
            lambda _: None,
        )
    )


def test_layers_of_the_engine_are_compressed_and_stay_the_same(project: Path) -> None:
    made = build(project)
    facts = run(image_job.inspect(made.reference, Access()))
    assert [found.media_type for found in facts.layers] == [MediaType.OCI_LAYER_GZIP]
    assert facts.size < 1000
    assert facts.labels == {"k": "v"}
    assert made.platforms == ("linux/amd64",)
    assert made.layout.endswith("dist/oci:some:v1")
    assert build(project).digest == made.digest


def test_the_name_in_the_engine_is_the_requested_one(project: Path) -> None:
    build(project, AMD64, target="registry.example.com/team/some:v2")
    words = (project.parent / "words").read_text()
    assert "--tag registry.example.com/team/some:v2 --platform linux/amd64" in words


def test_an_engine_builds_for_one_platform(project: Path) -> None:
    with pytest.raises(ConfigurationError, match="one platform at a time"):
        build(project, AMD64, Platform(os="linux", architecture="arm64"))


def test_the_containerfile_of_a_bundle_is_next_to_it(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "bundle" / "0.0.2", tmp_path / "bundle")
    options = PublishOptions(project=tmp_path)
    name = "memcached-operator-bundle:v0.0.2"
    inside = tmp_path.resolve() / "bundle" / "bundle.Dockerfile"
    assert publish.containerfile("bundle", options) == (inside, name)
    inside.unlink()
    with pytest.raises(ConfigurationError, match=r"there is no `bundle\.Dockerfile` next to"):
        publish.containerfile("bundle", options)
    (tmp_path / "bundle.Dockerfile").write_text("FROM scratch\n")
    found = tmp_path.resolve() / "bundle.Dockerfile"
    assert publish.containerfile("bundle", options) == (found, name)


def test_each_of_several_bundles_is_built_under_its_own_name(root: Path, project: Path) -> None:
    versions = ("0.0.1", "0.0.2")
    for version in versions:
        shutil.copytree(root / "bundle" / version, project / version)
    made = run(
        bundle_build.build_with_engine(
            "docker",
            versions,
            PublishOptions(project=project, target="registry.example.com/team/bundle"),
            Access(environment={**os.environ, "OLMKIT_CACHE": str(project.parent / "cache")}),
            lambda _: None,
            lambda _: None,
        )
    )
    names = [f"registry.example.com/team/bundle:v{version}" for version in versions]
    assert [published.tag for published in made] == names
    words = (project.parent / "words").read_text()
    assert all(f"--tag {name}" in words for name in names)


def test_layers_with_other_contents_are_not_reused() -> None:
    other = layer.write(Tree({"b": b"2"}))
    made = image.append(image.scratch(AMD64), layer.write(Tree({"a": b"1"})), created_by="x")
    with pytest.raises(InputError, match="are not those that its config names"):
        image.relayer(made, [other])
