"""Unusual images in docker-registry: each command has a result or a clear error."""

from __future__ import annotations

import gzip
import http.client
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.cli import main
from olmkit.oci.content import Descriptor, MediaType
from olmkit.testing.registry import RegistryServer

Json = dict[str, Any]
BUNDLE = "operators.operatorframework.io.bundle"
LABELS = {
    f"{BUNDLE}.mediatype.v1": "registry+v1",
    f"{BUNDLE}.manifests.v1": "manifests/",
    f"{BUNDLE}.metadata.v1": "metadata/",
    f"{BUNDLE}.package.v1": "odd",
    f"{BUNDLE}.channels.v1": "stable",
}
CSV = {
    "apiVersion": "operators.coreos.com/v1alpha1",
    "kind": "ClusterServiceVersion",
    "metadata": {"name": "odd.v1.0.0"},
    "spec": {
        "displayName": "odd",
        "version": "1.0.0",
        "install": {"strategy": "deployment", "spec": {"deployments": []}},
        "installModes": [{"type": "AllNamespaces", "supported": True}],
    },
}
EMPTY = "application/vnd.oci.empty.v1+json"
EXTERNAL = b"at a URL alone"
NONE = b""


def archive(**files: Json) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, value in files.items():
            entry = tarfile.TarInfo(
                f"{name}/{name}.yaml".replace("metadata.yaml", "annotations.yaml")
            )
            data = json.dumps(value).encode()
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


ARCHIVE = archive(manifests=CSV, metadata={"annotations": LABELS})
LAYER = gzip.compress(ARCHIVE, mtime=0)


def config(*archives: bytes) -> bytes:
    diffs = [str(Descriptor.of(one, "").digest) for one in archives]
    return json.dumps({
        "os": "linux", "architecture": "amd64", "config": {"Labels": LABELS},
        "rootfs": {"type": "layers", "diff_ids": diffs},
    }).encode()  # fmt: skip


def named(data: bytes, media_type: str, **more: Any) -> Json:
    found = Descriptor.of(data, media_type)
    return {"mediaType": media_type, "digest": str(found.digest), "size": len(data), **more}


class Shelf:
    """Writes content into one repository of a registry unchanged."""

    def __init__(self, server: RegistryServer, repository: str) -> None:
        self.name = f"{server.host}/{repository}"
        self._server = server
        self._path = f"/v2/{repository}"

    def blob(self, data: bytes) -> bytes:
        _, location = self._ask("POST", f"{self._path}/blobs/uploads/")
        mark = "&" if "?" in location else "?"
        digest = Descriptor.of(data, "").digest
        status, _ = self._ask("PUT", f"{location}{mark}digest={digest}", data)
        assert status == 201
        return data

    def manifest(self, value: Json, tag: str = "") -> Json:
        data = json.dumps(value).encode()
        found = named(data, value["mediaType"])
        path = f"{self._path}/manifests/{tag or found['digest']}"
        status, _ = self._ask("PUT", path, data, **{"Content-Type": value["mediaType"]})
        assert status == 201
        return found

    def image(self, *layers: Json, form: bytes | None = None, tag: str = "v1", **more: Any) -> Json:
        described = named(
            self.blob(config(ARCHIVE) if form is None else form),
            more.pop("config_type", MediaType.OCI_CONFIG),
        )
        value = {
            "schemaVersion": 2, "mediaType": MediaType.OCI_MANIFEST, "config": described,
            "layers": [*layers], **more,
        }  # fmt: skip
        return self.manifest(value, tag)

    def index(self, *manifests: Json, tag: str = "") -> Json:
        value = {"schemaVersion": 2, "mediaType": MediaType.OCI_INDEX, "manifests": [*manifests]}
        return self.manifest(value, tag)

    def layer(self, data: bytes = LAYER, media_type: str = MediaType.OCI_LAYER_GZIP) -> Json:
        return named(self.blob(data), media_type)

    def _ask(self, method: str, path: str, data: bytes = b"", **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=20)
        connection.request(method, path.removeprefix(f"http://{self._server.host}"), data, headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status, answer.headers.get("Location", "")


def strange_layer(shelf: Shelf) -> None:
    shelf.image(shelf.layer(), shelf.layer(b"hello", "application/x-strange"),
                form=config(ARCHIVE, b"hello"))  # fmt: skip


def strange_config(shelf: Shelf) -> None:
    shelf.image(shelf.layer(), config_type="application/x-config")


def empty_layer(shelf: Shelf) -> None:
    shelf.image(shelf.layer(), shelf.layer(NONE), form=config(ARCHIVE, NONE))


def repeated_layer(shelf: Shelf) -> None:
    shelf.image(*[shelf.layer()] * 3, form=config(*[ARCHIVE] * 3))


def index_of_index(shelf: Shelf) -> None:
    shelf.index(shelf.index(shelf.image(shelf.layer(), tag="inner")), tag="v1")


def index_of_nothing(shelf: Shelf) -> None:
    shelf.index(tag="v1")


def index_without_platforms(shelf: Shelf) -> None:
    found = shelf.image(shelf.layer(), tag="inner")
    shelf.index(found, found, tag="v1")


def config_of_text(shelf: Shelf) -> None:
    shelf.image(shelf.layer(), form=b"this is a text")


def config_of_a_list(shelf: Shelf) -> None:
    shelf.image(shelf.layer(), form=b"[1]")


def artifact(shelf: Shelf) -> None:
    shelf.image(shelf.layer(b"data", "application/x-thing"), form=b"{}", config_type=EMPTY,
                artifactType="application/x-artifact")  # fmt: skip


def artifact_without_layers(shelf: Shelf) -> None:
    shelf.image(form=b"{}", config_type=EMPTY, artifactType="application/x-artifact")


def external_layer(shelf: Shelf) -> None:
    shelf.image(
        shelf.layer(),
        named(EXTERNAL, MediaType.DOCKER_EXTERNAL_LAYER_GZIP, urls=["http://127.0.0.1:1/x"]),
        form=config(ARCHIVE, EXTERNAL),
    )


def fallback_tag(shelf: Shelf) -> None:
    """The registry has no referrers API: a tag lists the referrers of the image."""
    found = shelf.image(shelf.layer())
    signature = shelf.image(
        shelf.layer(b"sig", "application/x-signature"), form=b"{}", config_type=EMPTY, tag="",
        artifactType="application/x-signature", subject=found,
    )  # fmt: skip
    listed = {**signature, "artifactType": "application/x-signature"}
    shelf.index(listed, tag=found["digest"].replace(":", "-"))


def fallback_tag_of_an_image(shelf: Shelf) -> None:
    found = shelf.image(shelf.layer())
    shelf.image(form=b"{}", tag=found["digest"].replace(":", "-"))


MAKERS: dict[Callable[[Shelf], None], str] = {
    strange_layer: "of media type `application/x-strange`: it is not an intact archive",
    strange_config: "",
    empty_layer: "",
    repeated_layer: "",
    index_of_index: "",
    index_of_nothing: "it does not name a platform",
    index_without_platforms: "",
    config_of_text: "image config: it is not JSON",
    config_of_a_list: "image config: it is not a JSON object",
    artifact: "it has no label",
    artifact_without_layers: "it has no label",
    external_layer: "is not distributed with the image",
    fallback_tag: "",
    fallback_tag_of_an_image: "",
}
# Values that a copy and its target do not need to understand.
UNREADABLE = (config_of_text, config_of_a_list, index_of_nothing)


class Commands:
    """Run olmkit in this process; return the exit code and all output."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str | Path) -> tuple[int, str]:
        self._capsys.readouterr()
        code = main.run([str(word) for word in words])
        printed = self._capsys.readouterr()
        assert "Traceback" not in printed.err
        return code, printed.out + printed.err


@pytest.fixture
def olmkit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Commands:
    monkeypatch.setenv("OLMKIT_NO_PROGRESS", "1")
    monkeypatch.setenv("OLMKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Commands(capsys)


def catalog_of(image: str, folder: Path) -> Path:
    own = {"type": "olm.package", "value": {"packageName": "odd", "version": "1.0.0"}}
    blobs: list[Json] = [
        {"schema": "olm.package", "name": "odd", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "odd", "name": "stable",
         "entries": [{"name": "odd.v1.0.0"}]},
        {"schema": "olm.bundle", "package": "odd", "name": "odd.v1.0.0", "image": image,
         "properties": [own]},
    ]  # fmt: skip
    folder.mkdir()
    (folder / "catalog.json").write_text("\n".join(map(json.dumps, blobs)))
    return folder


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_an_unusual_image_is_copied_completely_and_read_or_refused(
    make: Callable[[Shelf], None], registry: RegistryServer, olmkit: Commands, tmp_path: Path
) -> None:
    place = f"odd/{make.__name__.replace('_', '-')}"
    shelf = Shelf(registry, place)
    make(shelf)
    name, refusal = f"{shelf.name}:v1", MAKERS[make]

    for words in (("catalog", "render", name), ("bundle", "validate", name)):
        code, printed = olmkit(*words)
        assert refusal in printed
        assert (code == 1) is bool(refusal), printed
        assert code in (0, 1)
    assert olmkit("image", "inspect", name)[0] == (1 if make in UNREADABLE else 0)

    digests = set()
    for target in (f"oci:{tmp_path}/layout:v1", f"{registry.host}/copies/{place}:v1"):
        code, printed = olmkit("image", "copy", name, target)
        assert code == 0, printed
        digests.add(printed.partition("@")[2].split()[0])
        assert ("stays at its URL" in printed) is (make is external_layer)
    assert len(digests) == 1
    if make is fallback_tag:
        tag = digests.copy().pop().replace(":", "-")
        code, printed = olmkit("image", "inspect", f"{registry.host}/copies/{place}:{tag}")
        assert "3 B  application/x-signature" in printed
    code, printed = olmkit("image", "copy", f"oci:{tmp_path}/layout:v1", f"oci:{tmp_path}/again:v1")
    assert code == 0, printed

    source = catalog_of(name, tmp_path / "catalog")
    mirror = ("image", "mirror", source, f"{registry.host}/mirror", "--catalog-image",
              f"{registry.host}/{place}-catalog:v1")  # fmt: skip
    code, printed = olmkit(*mirror)
    assert code == 0, printed
    assert digests.pop() in printed


def test_an_image_without_an_external_layer_cannot_be_a_docker_archive(
    registry: RegistryServer, olmkit: Commands, tmp_path: Path
) -> None:
    shelf = Shelf(registry, "odd/external-archive")
    external_layer(shelf)
    target = tmp_path / "image.tar"

    code, printed = olmkit("image", "copy", f"{shelf.name}:v1", f"docker-archive:{target}:x:v1")

    assert code == 1
    assert "is not distributed with the image" in printed
    assert not target.exists()


def test_names_and_tags_of_maximum_length_are_used_and_longer_ones_are_refused(
    registry: RegistryServer, olmkit: Commands, tmp_path: Path
) -> None:
    rest = 255 - len(registry.host) - 1
    for name, tag in (("odd/tags", "v" * 128), (f"odd/{'n' * (rest - 4)}", "v1")):
        shelf = Shelf(registry, name)
        shelf.image(shelf.layer(), tag=tag)
        for words in (("image", "inspect"), ("catalog", "render"), ("bundle", "validate")):
            assert olmkit(*words, f"{shelf.name}:{tag}")[0] == 0
        assert (
            olmkit("image", "copy", f"{shelf.name}:{tag}", f"oci:{tmp_path}/{tag[:9]}:v1")[0] == 0
        )
    for name in (f"odd/tags:{'v' * 129}", f"odd/{'n' * (rest + 300)}:v1"):
        for words in (("image", "inspect"), ("catalog", "render"), ("bundle", "validate")):
            code, printed = olmkit(*words, f"{registry.host}/{name}")
            assert code == 2
            assert "is not an image reference" in printed
