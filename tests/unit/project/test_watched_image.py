"""Images of Helm and Ansible operators: their layers apart from Python."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import olmkit
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer, transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.layout import Layout
from olmkit.jobs.image import build as job
from olmkit.jobs.image import copy as image_job
from olmkit.jobs.image.build import ImageBuildOptions
from olmkit.jobs.image.publish import PublishOptions
from olmkit.jobs.project import scaffold
from olmkit.jobs.project.scaffold import WatchedApi
from olmkit.oci import image, layer
from olmkit.oci import reference as references
from olmkit.oci.content import Digest, Platform
from olmkit.oci.store import MemoryStore
from olmkit.project import watched_image
from olmkit.project.scaffold.project import InitRequest
from tests.unit.edges.build.galaxy_index import GalaxyIndex

AMD64 = Platform(os="linux", architecture="amd64")
ARM64 = Platform(os="linux", architecture="arm64")
HELM = b"\x7fELF\x02\x01" + bytes(12) + (62).to_bytes(2, "little") + b"helm"
ARM_HELM = HELM.replace((62).to_bytes(2, "little"), (183).to_bytes(2, "little"))
BASE = image.index(
    [
        image.configure(
            image.append(
                image.scratch(platform),
                layer.write(Tree({"etc/os-release": b"1"})),
                created_by="test",
            ),
            {"Env": ["PYTHON_VERSION=3.12.1"]},
        )
        for platform in (AMD64, ARM64)
    ]
)


def project(folder: Path, language: str, make_wheel: Callable[..., Path]) -> Path:
    request = InitRequest(domain="example.com", name="web", image="quay.io/example/web:v0.0.1")
    scaffold.init(folder, request, language=language)
    wanted = WatchedApi(group="cache", kind="Memcached")
    asyncio.run(scaffold.create_watched_api(folder, wanted, Access(environment={}), {}))
    make_wheel(folder / "wheels", "kubernetes")
    make_wheel(folder / "wheels", "olmkit_runtime", version=olmkit.__version__)
    store = MemoryStore.of(BASE)
    asyncio.run(transfer.copy(store, Layout(folder.parent / "base"), BASE.descriptor, tag="python"))
    return folder


def access(folder: Path) -> Access:
    return Access(environment={**os.environ, "OLMKIT_CACHE": str(folder.parent / "cache")})


def build(folder: Path, *platforms: Platform, **given: Any) -> str:
    options = ImageBuildOptions(
        publish=PublishOptions(project=folder, platforms=platforms or (AMD64,)),
        base=f"oci:{folder.parent}/base:python",
        wheels=str(folder / "wheels"),
        bytecode=False,
        **given,
    )
    return asyncio.run(job.build(options, access(folder))).reference


async def files(reference: str, platform: Platform) -> Tree:
    parsed = references.parse_image(reference)
    async with transports.open_store(parsed, Access()) as store:
        root = await store.resolve(transports.selector(parsed))
        found = await transports.select_image(store, root, Access(platform=platform))
        return await transports.unpack(store, found)


def test_a_helm_image_has_the_program_and_the_charts(
    tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    folder = project(tmp_path / "web", "helm", make_wheel)
    (tmp_path / "helm-amd64").write_bytes(HELM)
    (tmp_path / "helm-arm64").write_bytes(ARM_HELM)
    reference = build(folder, AMD64, ARM64, helm=str(tmp_path / "helm-{arch}"))
    for platform, program in ((AMD64, HELM), (ARM64, ARM_HELM)):
        found = asyncio.run(files(reference, platform))
        assert found.data("usr/local/bin/helm") == program
        assert found["usr/local/bin/helm"].mode & 0o111
        assert "opt/helm/watches.yaml" in found
        assert "opt/helm/helm-charts/memcached/Chart.yaml" in found
    assert build(folder, AMD64, ARM64, helm=str(tmp_path / "helm-{arch}")) == reference
    one = build(folder, AMD64, helm=str(tmp_path / "helm-amd64"))
    facts = asyncio.run(image_job.inspect(one, access(folder)))
    assert facts.run["Entrypoint"] == ["python", "-m", "olmkit.hybrid", "helm"]
    assert (facts.run["User"], facts.run["WorkingDir"]) == ("1001:0", "/opt/helm")
    assert facts.labels["dev.olmkit.helm.digest"] == str(Digest.of(HELM))


def test_an_ansible_image_has_the_required_collections(
    tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    folder = project(tmp_path / "web", "ansible", make_wheel)
    with pytest.raises(ConfigurationError, match=r"`kubernetes\.core`") as error:
        build(folder)
    assert "ansible-galaxy" in error.value.hint
    place = tmp_path / "collections/ansible_collections/kubernetes/core"
    place.mkdir(parents=True)
    (place / "MANIFEST.json").write_text("{}")
    found = asyncio.run(files(build(folder, collections=str(tmp_path / "collections")), AMD64))
    below = "usr/share/ansible/collections/ansible_collections/kubernetes/core"
    assert f"{below}/MANIFEST.json" in found
    assert found["usr/local/bin/ansible-playbook"].mode & 0o111
    assert "opt/ansible/roles/memcached/tasks/main.yml" in found


@pytest.mark.skipif(importlib.util.find_spec("ansible") is None, reason="needs `ansible`")
def test_a_collection_with_another_version_than_the_pinned_one_is_named() -> None:
    below = "usr/share/ansible/collections/ansible_collections"
    tree = Tree(
        {
            f"{below}/kubernetes/core/MANIFEST.json": b'{"collection_info": {"version": "3.2.0"}}',
            f"{below}/community/docker/MANIFEST.json": b'{"collection_info": {"version": "4.0.0"}}',
        }
    )
    listed = [
        {"name": "kubernetes.core", "version": "==3.1.0"},
        {"name": "community.docker", "version": ">=3"},
        {"name": "cloud.common", "version": "3.0.0"},
        "community.general",
    ]
    assert watched_image.other_versions(tree, {"collections": listed}) == [
        "`kubernetes.core` has version 3.2.0, but `requirements.yml` pins 3.1.0"
    ]
    listed[0] = {"name": "kubernetes.core", "version": "3.2.0"}
    assert watched_image.other_versions(tree, {"collections": listed}) == []


def test_collections_can_come_from_an_index(
    tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    folder = project(tmp_path / "web", "ansible", make_wheel)
    (folder / "requirements.yml").write_text(
        "collections:\n- {name: operator_sdk.util, version: 0.5.0}\n- {name: web.core}\n"
    )
    index = GalaxyIndex()
    index.add("web.core", "1.2.0", web__base="*")
    index.add("web.base", "0.9.0")
    with index.serving():
        reference = build(folder, collections_index=index.url, sbom=True)
        # The second platform needs no second request.
        before = len(index.requests)
        build(folder, AMD64, ARM64, collections_index=index.url)
        assert len(index.requests) == 2 * before
    found = asyncio.run(files(reference, AMD64))
    below = "usr/share/ansible/collections/ansible_collections"
    assert f"{below}/web/core/plugins/modules/it.py" in found
    assert f"{below}/web/base/MANIFEST.json" in found
    # Part of olmkit, and not in the index.
    assert f"{below}/operator_sdk/util/MANIFEST.json" not in found
    listed = json.loads(found.data("opt/operator/sbom.cdx.json"))["components"]
    names = {part["purl"]: part.get("licenses") for part in listed}
    assert names["pkg:ansible/web/core@1.2.0"] == [{"expression": "Apache-2.0"}]
    assert "pkg:ansible/web/base@0.9.0" in names
    assert "pkg:pypi/kubernetes@1.0" in names
    with pytest.raises(ConfigurationError, match="exclude each other"):
        build(folder, collections_index=index.url, collections="collections")


def test_a_bill_of_materials_lists_the_charts_and_the_helm_program(
    tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    folder = project(tmp_path / "web", "helm", make_wheel)
    charts = folder / "helm-charts"
    (charts / "memcached/charts/base").mkdir(parents=True)
    (charts / "memcached/charts/base/Chart.yaml").write_text("{name: base, version: 0.3.0}\n")
    with tarfile.open(charts / "packed.tgz", "w:gz") as archive:
        entry = tarfile.TarInfo("packed/Chart.yaml")
        data = b"{name: packed, version: 2.1.0}\n"
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    program = HELM + b"\npath\thelm.sh/helm/v3/cmd/helm\nmod\thelm.sh/helm/v3\tv3.19.0\th1:x\n"
    (tmp_path / "helm").write_bytes(program)
    found = asyncio.run(files(build(folder, helm=str(tmp_path / "helm"), sbom=True), AMD64))
    listed = json.loads(found.data("opt/operator/sbom.cdx.json"))["components"]
    names = {part["purl"]: part.get("hashes") for part in listed}
    digest = {"alg": "SHA-256", "content": hashlib.sha256(program).hexdigest()}
    assert names["pkg:golang/helm.sh/helm/v3@v3.19.0"] == [digest]
    for name in ("memcached@0.1.0", "base@0.3.0", "packed@2.1.0"):
        assert f"pkg:helm/{name}" in names
    assert watched_image.helm_part(HELM).version == ""
    # A changed chart changes the document.
    (charts / "memcached/charts/base/Chart.yaml").write_text("{name: base, version: 0.4.0}\n")
    found = asyncio.run(files(build(folder, helm=str(tmp_path / "helm"), sbom=True), AMD64))
    assert b"pkg:helm/base@0.4.0" in found.data("opt/operator/sbom.cdx.json")


@pytest.mark.parametrize(
    ("data", "platform"), [(b"#!/bin/sh\n", AMD64), (HELM, ARM64), (ARM_HELM, AMD64), (b"", AMD64)]
)
def test_a_program_for_another_platform_is_an_error(data: bytes, platform: Platform) -> None:
    with pytest.raises(InputError, match="`helm`"):
        watched_image.helm_program(data, platform, path="helm")


def test_an_option_of_the_other_type_of_project_is_an_error(
    tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    folder = project(tmp_path / "web", "ansible", make_wheel)
    with pytest.raises(ConfigurationError, match="no effect"):
        build(folder, helm="helm")


def test_the_image_of_a_python_project_has_the_files_of_all_its_kinds(
    tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    folder = tmp_path / "web"
    request = InitRequest(domain="example.com", name="web", image="quay.io/example/web:v0.0.1")
    scaffold.init(folder, request)
    reference = build_of(folder, make_wheel)
    found = asyncio.run(files(reference, AMD64))
    assert "opt/operator/watches.yaml" not in found
    for runner in ("helm", "ansible"):
        wanted = WatchedApi(runner=runner, group="apps", kind=f"Of{runner}")
        asyncio.run(scaffold.create_watched_api(folder, wanted, Access(environment={}), {}))
    (tmp_path / "helm").write_bytes(HELM)
    place = folder / "collections/ansible_collections/kubernetes/core"
    place.mkdir(parents=True)
    (place / "MANIFEST.json").write_text("{}")
    reference = build_of(folder, make_wheel, helm=str(tmp_path / "helm"))
    found = asyncio.run(files(reference, AMD64))
    for path in (
        "opt/operator/watches.yaml",
        "opt/operator/helm-charts/ofhelm/Chart.yaml",
        "opt/operator/roles/ofansible/tasks/main.yml",
        "opt/operator/app/web/__main__.py",
        "opt/operator/lib/kubernetes/__init__.py",
        "usr/local/bin/ansible-playbook",
        "usr/share/ansible/collections/ansible_collections/kubernetes/core/MANIFEST.json",
    ):
        assert path in found
    assert found.data("usr/local/bin/helm") == HELM
    facts = asyncio.run(image_job.inspect(reference, access(folder)))
    assert facts.run["Entrypoint"] == ["python", "-m", "web"]
    assert (facts.run["User"], facts.run["WorkingDir"]) == ("65532:65532", "/opt/operator")
    assert "HOME=/tmp" in facts.run["Env"]


def build_of(folder: Path, make_wheel: Callable[..., Path], **given: Any) -> str:
    make_wheel(folder / "wheels", "olmkit_runtime", version=olmkit.__version__)
    make_wheel(folder / "wheels", "kubernetes")
    store = MemoryStore.of(BASE)
    asyncio.run(transfer.copy(store, Layout(folder.parent / "base"), BASE.descriptor, tag="python"))
    return build(folder, **given)
