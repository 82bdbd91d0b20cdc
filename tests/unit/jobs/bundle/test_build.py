"""Several bundles in one call: their names, and calls that are refused before any work."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.bundle import build as bundle_build
from olmkit.jobs.image.publish import Published, PublishOptions
from olmkit.testing.registry import RegistryServer

ACCESS = Access()
PACKAGE = "operators.operatorframework.io.bundle.package.v1"


def bundle(folder: Path, version: str, package: str = "memcached") -> str:
    write(folder / "metadata/annotations.yaml", f"annotations:\n  {PACKAGE}: {package}\n")
    write(
        folder / "manifests/csv.yaml",
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
        f"spec: {{version: {version}}}\n",
    )
    return folder.name


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def build(project: Path, *folders: str, target: str = "", push: bool = False) -> list[Published]:
    options = PublishOptions(project=project, target=target, push=push)
    return list(asyncio.run(bundle_build.build(folders, options, ACCESS)))


def test_each_of_several_bundles_is_tagged_with_its_version(
    tmp_path: Path, registry: RegistryServer
) -> None:
    one, two = bundle(tmp_path / "one", "0.1.0"), bundle(tmp_path / "two", "0.2.0")
    name = f"{registry.host}/several/bundle"
    built = build(tmp_path, one, two, target=name, push=True)
    assert [made.tag for made in built] == [f"{name}:v0.1.0", f"{name}:v0.2.0"]
    for made, folder in zip(built, (one, two), strict=True):
        assert made.reference == f"{name}@{made.digest}"
        found = asyncio.run(transports.read_bundle_tree(made.tag, ACCESS))
        assert (
            found.tree
            == asyncio.run(transports.read_bundle_tree(str(tmp_path / folder), ACCESS)).tree
        )


def test_several_bundles_share_their_connections(tmp_path: Path, registry: RegistryServer) -> None:
    folders = [bundle(tmp_path / name, f"0.{name}.0") for name in "1234"]
    opened = 0

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        there, back = await asyncio.open_connection("127.0.0.1", registry.port)
        await asyncio.gather(carry(reader, back), carry(there, writer))

    async def scenario() -> None:
        async with await asyncio.start_server(forward, "127.0.0.1", 0) as server:
            host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            options = PublishOptions(project=tmp_path, target=f"{host}/shared/bundle", push=True)
            assert len(await bundle_build.build(folders, options, ACCESS)) == 4

    asyncio.run(scenario())
    assert opened <= 5, "one per parallel upload"


@pytest.mark.parametrize("target", ["", "oci:other"])
def test_several_bundles_share_a_layout(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [bundle(tmp_path / name, f"0.{name}.0") for name in "12"]
    built = build(Path(), *folders, target=target)
    layout = target or "oci:dist/oci"
    assert [made.tag for made in built] == [
        target or f"{layout}:memcached-bundle:v0.1.0",
        target or f"{layout}:memcached-bundle:v0.2.0",
    ]
    assert [made.layout for made in built] == [
        f"{layout}:memcached-bundle:v0.1.0",
        f"{layout}:memcached-bundle:v0.2.0",
    ]


def test_one_bundle_has_the_requested_name(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "bundle", "0.1.0")
    (made,) = build(tmp_path, folder, target="registry.example.com/bundle")
    assert made.tag == "registry.example.com/bundle:latest"


@pytest.mark.parametrize(
    "target", ["registry.example.com/bundle:v1", "oci:dist:name", "docker-daemon:bundle"]
)
def test_one_name_for_several_bundles_is_refused(tmp_path: Path, target: str) -> None:
    folders = [bundle(tmp_path / name, f"0.{name}.0") for name in "12"]
    with pytest.raises(
        ConfigurationError, match="several images cannot have the same name"
    ) as caught:
        build(tmp_path, *folders, target=target)
    assert "without a tag" in caught.value.hint
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize("target", ["", "registry.example.com/bundles"])
def test_two_bundles_with_one_version_are_refused(tmp_path: Path, target: str) -> None:
    folders = [bundle(tmp_path / name, "0.1.0") for name in ("a", "b")]
    with pytest.raises(ConfigurationError, match="`a` and `b` would both be named"):
        build(tmp_path, *folders, target=target)


def test_packages_with_the_same_version_need_a_repository_each(tmp_path: Path) -> None:
    folders = [bundle(tmp_path / name, "0.1.0", package=name) for name in ("etcd", "memcached")]
    assert len(build(tmp_path, *folders)) == 2
    with pytest.raises(ConfigurationError, match=r"both be named `registry\.example\.com/x:v0"):
        build(tmp_path, *folders, target="registry.example.com/x")
