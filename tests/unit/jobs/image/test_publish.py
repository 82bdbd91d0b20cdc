"""Builds and pushes of bundle and catalog images, into layouts and a real registry."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.edges.images import transports
from olmkit.edges.images.transports import Access
from olmkit.jobs.image import publish
from olmkit.jobs.image.publish import PublishOptions
from olmkit.oci.content import Platform
from olmkit.testing.registry import RegistryServer, free_port

T = TypeVar("T")
ACCESS = Access()
PREFIX = "operators.operatorframework.io.bundle."
ANNOTATIONS = f"""annotations:
  {PREFIX}mediatype.v1: registry+v1
  {PREFIX}manifests.v1: manifests/
  {PREFIX}metadata.v1: metadata/
  {PREFIX}package.v1: memcached
  {PREFIX}channels.v1: alpha
"""
CSV = """apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: memcached.v0.1.0}
spec: {version: 0.1.0}
"""
CATALOG = """schema: olm.package
name: memcached
defaultChannel: alpha
---
schema: olm.channel
package: memcached
name: alpha
entries:
- name: memcached.v0.1.0
---
schema: olm.bundle
package: memcached
name: memcached.v0.1.0
image: registry.example.com/memcached-bundle:v0.1.0
properties:
- type: olm.package
  value:
    packageName: memcached
    version: 0.1.0
"""


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "bundle/metadata/annotations.yaml", ANNOTATIONS)
    write(tmp_path / "bundle/manifests/csv.yaml", CSV)
    write(tmp_path / "catalog/memcached/catalog.yaml", CATALOG)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def inspect(skopeo: Callable[..., bytes]) -> Callable[..., Any]:
    """Return the output of skopeo for an image."""
    return lambda *words: json.loads(skopeo("inspect", *words))


def test_a_bundle_is_written_into_the_layout_under_its_name(
    project: Path, inspect: Callable[..., Any]
) -> None:
    built = run(publish.build_bundle("bundle", PublishOptions(project=project), ACCESS))
    assert built.reference == f"oci:{project}/dist/oci@{built.digest}"
    assert built.tag == f"oci:{project}/dist/oci:memcached-bundle:v0.1.0"
    told = inspect(built.tag)
    assert told["Digest"] == built.digest
    assert told["Labels"][f"{PREFIX}package.v1"] == "memcached"
    assert built.platforms == ("linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x")


def test_every_build_has_the_same_digest(project: Path) -> None:
    options = PublishOptions(project=project)
    first = run(publish.build_bundle("bundle", options, ACCESS))
    (project / "bundle/manifests/csv.yaml").chmod(0o600)
    write(project / "bundle/metadata/annotations.yaml", ANNOTATIONS)
    assert run(publish.build_bundle("bundle", options, ACCESS)).digest == first.digest
    later = replace(options, created=1_700_000_000)
    assert run(publish.build_bundle("bundle", later, ACCESS)).digest != first.digest


def test_a_label_of_the_containerfile_is_kept(project: Path, inspect: Callable[..., Any]) -> None:
    write(
        project / "bundle.Dockerfile",
        "FROM scratch\nLABEL com.redhat.openshift.versions=v4.9-v4.12\n"
        f"LABEL {PREFIX}package.v1=other\n",
    )
    built = run(publish.build_bundle("bundle", PublishOptions(project=project), ACCESS))
    labels = inspect(built.tag)["Labels"]
    assert labels["com.redhat.openshift.versions"] == "v4.9-v4.12"
    assert labels[f"{PREFIX}package.v1"] == "memcached"


def test_build_and_push_have_the_same_digest_and_skopeo_reads_it(
    project: Path,
    registry: RegistryServer,
    inspect: Callable[..., Any],
    skopeo: Callable[..., bytes],
) -> None:
    target = f"{registry.host}/publish/bundle:v0.1.0"
    options = PublishOptions(project=project, target=target, push=True)
    built = run(publish.build_bundle("bundle", options, ACCESS))
    assert built.reference == f"{registry.host}/publish/bundle@{built.digest}"
    assert inspect("--tls-verify=false", f"docker://{target}")["Digest"] == built.digest
    assert inspect(f"oci:{project}/dist/oci:{target}")["Digest"] == built.digest
    found = run(transports.read_bundle_tree(built.reference, ACCESS))
    assert found.tree == run(transports.read_bundle_tree(str(project / "bundle"), ACCESS)).tree
    skopeo("copy", "--all", "--src-tls-verify=false", f"docker://{target}", f"oci:{project}/copy:x")


def test_push_uses_the_built_image(project: Path, registry: RegistryServer) -> None:
    built = run(publish.build_bundle("bundle", PublishOptions(project=project), ACCESS))
    run(publish.build_catalog("catalog", PublishOptions(project=project), ACCESS))
    bundle = run(publish.push_bundle("", f"{registry.host}/publish/b:v1", ACCESS, project=project))
    assert bundle.digest == built.digest
    catalog = run(
        publish.push_catalog("", f"{registry.host}/publish/c:v1", ACCESS, project=project)
    )
    assert (
        run(transports.read_catalog_tree(catalog.reference, ACCESS)).tree.data(
            "memcached/catalog.yaml"
        )
        == CATALOG.encode()
    )
    again = run(publish.push_bundle(bundle.reference, f"{registry.host}/publish/d:v1", ACCESS))
    assert again.digest == built.digest


def test_push_without_arguments_uses_the_registry_in_the_name(
    project: Path, registry: RegistryServer
) -> None:
    target = f"{registry.host}/publish/named:v1"
    run(publish.build_bundle("bundle", PublishOptions(project=project, target=target), ACCESS))
    pushed = run(publish.push_bundle("", "", ACCESS, project=project))
    assert pushed.reference == f"{registry.host}/publish/named@{pushed.digest}"


def test_a_directory_is_built_before_the_push(project: Path, registry: RegistryServer) -> None:
    target = f"{registry.host}/publish/folder:v1"
    pushed = run(publish.push_bundle(str(project / "bundle"), target, ACCESS))
    built = run(publish.build_bundle("bundle", PublishOptions(project=project), ACCESS))
    assert pushed.digest == built.digest


def test_one_platform_is_an_image_and_not_an_index(
    project: Path, inspect: Callable[..., Any]
) -> None:
    options = PublishOptions(project=project, platforms=(Platform.parse("linux/arm64"),))
    built = run(publish.build_bundle("bundle", options, ACCESS))
    assert built.platforms == ("linux/arm64",)
    assert inspect(built.tag)["Architecture"] == "arm64"


def test_build_writes_into_another_layout_on_request(project: Path) -> None:
    target = f"oci:{project}/elsewhere:x"
    built = run(
        publish.build_bundle("bundle", PublishOptions(project=project, target=target), ACCESS)
    )
    assert built.tag == target
    assert not (project / "dist").exists()


@pytest.mark.parametrize(
    ("target", "push", "message"),
    [
        ("Not A Reference", False, "is not an image reference"),
        ("bundle", False, "neither a folder nor an image"),
        ("", True, "no registry to push to"),
        ("oci:x:y", True, "no registry to push to"),
        ("quay.io/a/b@sha256:" + "a" * 64, False, "which only the content determines"),
        ("oci:x@sha256:" + "a" * 64, False, "which only the content determines"),
        ("./folder", False, "it is a folder"),
    ],
)
def test_an_invalid_target_is_refused(project: Path, target: str, push: bool, message: str) -> None:
    options = PublishOptions(project=project, target=target, push=push)
    with pytest.raises(ConfigurationError, match=message):
        run(publish.build_bundle("bundle", options, ACCESS))
    assert not (project / "dist").exists()


def test_a_directory_without_a_bundle_is_refused(project: Path) -> None:
    options = PublishOptions(project=project)
    (project / "empty").mkdir()
    with pytest.raises(InputError, match="is empty"):
        run(publish.build_bundle("empty", options, ACCESS))
    with pytest.raises(ConfigurationError, match="does not exist"):
        run(publish.build_bundle("absent", options, ACCESS))
    write(project / "bundle/metadata/annotations.yaml", "annotations: {a: b}\n")
    with pytest.raises(InputError, match=r"lack `.*bundle\.package\.v1`"):
        run(publish.build_bundle("bundle", options, ACCESS))
    assert not (project / "dist").exists()


def test_annotations_cannot_include_files_from_outside(project: Path) -> None:
    path = project / "bundle/metadata/annotations.yaml"
    write(path, ANNOTATIONS.replace("manifests/", "../../"))
    with pytest.raises(InputError, match="leaves the bundle"):
        run(publish.build_bundle("bundle", PublishOptions(project=project), ACCESS))
    write(path, ANNOTATIONS.replace("manifests/", "elsewhere/"))
    with pytest.raises(InputError, match="has no files"):
        run(publish.build_bundle("bundle", PublishOptions(project=project), ACCESS))


def test_labels_are_added_on_every_platform(project: Path, inspect: Callable[..., Any]) -> None:
    options = PublishOptions(project=project, labels={"vendor": "a=b"})
    built = run(publish.build_catalog("catalog", options, ACCESS))
    for architecture in ("amd64", "arm64"):
        labels = inspect("--override-arch", architecture, built.tag)["Labels"]
        assert labels["vendor"] == "a=b"
        assert labels["operators.operatorframework.io.index.configs.v1"] == "/configs"


def test_a_directory_without_a_catalog_is_refused(project: Path) -> None:
    options = PublishOptions(project=project)
    write(project / "other/x.yaml", "schema: custom\n")
    (project / "empty").mkdir()
    for folder in ("other", "empty"):
        with pytest.raises(InputError, match="is not a catalog"):
            run(publish.build_catalog(folder, options, ACCESS))
    write(
        project / "catalog/memcached/catalog.yaml", CATALOG.replace("Channel: alpha", "Channel: x")
    )
    with pytest.raises(InputError, match="is not valid") as caught:
        run(publish.build_catalog("catalog", options, ACCESS))
    assert caught.value.diagnostics
    assert not (project / "dist").exists()


def test_missing_and_ambiguous_images_are_reported(project: Path) -> None:
    target = "localhost:1/x:1"
    with pytest.raises(ConfigurationError, match="there is no image in") as caught:
        run(publish.push_bundle("", target, ACCESS, project=project))
    assert "olmkit bundle build" in caught.value.hint
    run(publish.build_catalog("catalog", PublishOptions(project=project), ACCESS))
    with pytest.raises(ConfigurationError, match="there is no bundle image"):
        run(publish.push_bundle("", target, ACCESS, project=project))
    for tag in ("a", "b"):
        name = f"oci:{project}/dist/oci:{tag}"
        options = PublishOptions(project=project, target=name)
        run(publish.build_bundle("bundle", options, ACCESS))
    with pytest.raises(ConfigurationError, match="several bundle images") as caught:
        run(publish.push_bundle("", target, ACCESS, project=project))
    assert f"`oci:{project}/dist/oci:a`" in caught.value.hint


def test_of_several_images_the_one_with_the_name_of_the_target_is_pushed(project: Path) -> None:
    wanted = f"127.0.0.1:{free_port()}/a/b:v1"
    for tag in ("a", wanted):
        options = PublishOptions(project=project, target=f"oci:{project}/dist/oci:{tag}")
        run(publish.build_bundle("bundle", options, ACCESS))
    with pytest.raises(RemoteError, match="connection refused"):
        run(publish.push_bundle("", wanted, ACCESS, project=project))


def test_an_image_of_another_kind_is_not_pushed(project: Path) -> None:
    built = run(publish.build_catalog("catalog", PublishOptions(project=project), ACCESS))
    with pytest.raises(InputError, match="is not a bundle image"):
        run(publish.push_bundle(built.reference, "localhost:1/x:1", ACCESS))


def test_a_registry_that_refuses_leaves_the_build(
    project: Path, inspect: Callable[..., Any]
) -> None:
    target = f"127.0.0.1:{free_port()}/a/b:v1"
    options = PublishOptions(project=project, target=target, push=True)
    with pytest.raises(RemoteError, match="connection refused") as caught:
        run(publish.build_bundle("bundle", options, ACCESS))
    layout = f"oci:{project}/dist/oci:{target}"
    assert caught.value.hint.endswith(f"the image is built, and is in `{layout}`")
    assert inspect(layout)["Labels"]
