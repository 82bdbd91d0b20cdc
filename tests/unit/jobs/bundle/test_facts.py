"""Facts from the command line, and platforms of images in a registry."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.images import transfer
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.layout import Layout
from olmkit.jobs.bundle import facts
from olmkit.jobs.bundle.validate import GivenFacts
from olmkit.jobs.image import copy
from olmkit.oci import image
from olmkit.oci.content import Platform
from olmkit.oci.image import Image, MultiPlatformImage
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer

PUBLISHABLE = Path(__file__).parents[2] / "rules" / "publishable"
PLACEHOLDER = "registry.example.org/kitchen/kettle:1.2.3"
CSV = "manifests/kettle.clusterserviceversion.yaml"


def test_values_of_operator_sdk_have_the_meaning_of_options(tmp_path: Path) -> None:
    (tmp_path / "Containerfile").write_text("FROM scratch\n")
    values = (f"k8s-version=1.25,index-path={tmp_path}/Containerfile", "container-tools=podman")

    found = facts.gather(GivenFacts(optional_values=values))

    assert found.kube_version == "1.25"
    assert found.containerfile == b"FROM scratch\n"


@pytest.mark.parametrize("text", ["", "1.25", "v1.25.3", "1.25.0-rc.1", "1"])
def test_a_version_of_kubernetes_can_be_short(text: str) -> None:
    assert facts.kube_version(text) == text


@pytest.mark.parametrize("text", ["banana", "2.0", "1.x", "-1", "1.2.3.4", "0.9"])
def test_an_invalid_version_of_kubernetes_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        facts.kube_version(text)


@pytest.mark.parametrize("text", ["", "[]", '{"categories": 1}', '{"categories": [1]}', "\xff"])
def test_a_file_without_a_list_of_categories_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "known.json").write_bytes(text.encode("latin-1"))

    with pytest.raises(ConfigurationError, match="no list of categories"):
        facts.read_categories(tmp_path / "known.json")


def test_platforms_are_those_of_the_registry(tmp_path: Path, registry: RegistryServer) -> None:
    names = {name: f"{registry.host}/kitchen/{name}:1" for name in ("one", "two", "absent")}
    attestation = image.scratch(Platform(os="unknown", architecture="unknown"))
    single = image.scratch(Platform.parse("linux/s390x"))
    several = image.index([image.scratch(Platform.parse("linux/arm64/v8")), single, attestation])
    _push(tmp_path / "one", single, names["one"])
    _push(tmp_path / "two", several, names["two"])
    bundle = Path(shutil.copytree(PUBLISHABLE, tmp_path / "bundle"))
    text = (bundle / CSV).read_text().replace(PLACEHOLDER, names["one"])
    listed = "".join(f"    - {{name: {name}, image: {pull}}}\n" for name, pull in names.items())
    (bundle / CSV).write_text(text.replace("  relatedImages:\n", f"  relatedImages:\n{listed}"))

    found = asyncio.run(facts.read_platforms([str(bundle), "absent"], Access(), {}))

    assert found == {
        names["one"]: ("linux/s390x",),
        names["two"]: ("linux/arm64", "linux/s390x"),
        names["absent"]: (),
    }


def _push(folder: Path, value: Image | MultiPlatformImage, reference: str) -> None:
    async def pushed() -> None:
        await transfer.copy(MemoryStore.of(value), Layout(folder), value.descriptor, tag="1")
        await copy.copy(f"oci:{folder}:1", reference, Access())

    asyncio.run(pushed())
