"""A catalog and its images through a directory to another network, read by other programs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.testing.registry import RegistryServer

pytestmark = pytest.mark.e2e

Olmkit = Callable[..., str]


def push_images(host: str, root: Path, folder: Path, olmkit: Olmkit, image: str) -> str:
    """The shipped operator: its image, its bundle and a catalog with both, by digest."""
    operator = olmkit("image", "copy", image, f"{host}/shipped/memcached-operator:v0.0.2")
    shutil.copytree(root / "bundle", folder / "bundle")
    csv = next((folder / "bundle").glob("**/*clusterserviceversion.yaml"))
    lines = csv.read_text().splitlines(keepends=True)
    csv.write_text(
        "".join(
            line.partition("image: ")[0] + f"image: {operator}\n"
            if "image: quay.io/example/memcached-operator" in line
            else line
            for line in lines
        )
    )
    bundle = olmkit(
        *("bundle", "build", csv.parent.parent, "-C", folder, "--push"),
        *("-t", f"{host}/shipped/memcached-operator-bundle:v0.0.2"),
    )
    (folder / "catalog").mkdir()
    rendered = olmkit("catalog", "render", bundle)
    name = json.loads(olmkit("catalog", "render", bundle, "-o", "json"))["name"]
    (folder / "catalog" / "catalog.yaml").write_text(
        "---\nschema: olm.package\nname: memcached-operator\ndefaultChannel: alpha\n"
        "---\nschema: olm.channel\npackage: memcached-operator\nname: alpha\n"
        f"entries:\n- name: {name}\n{rendered}\n"
    )
    return olmkit(
        *("catalog", "build", folder / "catalog", "-C", folder, "--push"),
        *("-t", f"{host}/shipped/catalog:v1"),
    )


def digests(olmkit: Olmkit, host: str, prefix: str, names: list[str]) -> dict[str, str]:
    return {
        name: json.loads(olmkit("image", "inspect", f"{host}/{prefix}{name}", "-o", "json"))[
            "result"
        ]["digest"]
        for name in names
    }


def key_pair(folder: Path) -> tuple[Path, Path]:
    """A private and a public key for signatures."""
    private, public = folder / "key.pem", folder / "key.pub"
    curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    subprocess.run(["openssl", "genpkey", *curve, "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    return private, public


def attach_sbom(skopeo: Callable[..., bytes], folder: Path, target: str) -> None:
    """A bill of materials as cosign attaches it: an image under a tag of its subject."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(content: object, media_type: str) -> dict[str, object]:
        data = json.dumps(content).encode()
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob({}, "application/vnd.oci.image.config.v1+json"),
        "layers": [blob({"bomFormat": "CycloneDX"}, "application/vnd.cyclonedx+json")],
    }
    entry = blob(manifest, str(manifest["mediaType"]))
    index = {"schemaVersion": 2, "manifests": [entry]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    skopeo("copy", "-q", "--dest-tls-verify=false", f"oci:{folder}", f"docker://{target}")


def test_the_shipped_operator_crosses_an_air_gap(
    root: Path, tmp_path: Path, olmkit: Olmkit, operator_image: str, skopeo: Callable[..., bytes]
) -> None:
    usb = f"oci:{tmp_path / 'usb'}"
    private, public = key_pair(tmp_path)
    with RegistryServer(folder=tmp_path / "first") as first:
        catalog = push_images(first.host, root, tmp_path, olmkit, operator_image)
        operator = f"shipped/memcached-operator@{operator_image.partition('@')[2]}"
        olmkit("image", "sign", "--key", private, f"{first.host}/{operator}")
        sbom = f"{operator.partition('@')[0]}:{operator.partition('@')[2].replace(':', '-')}.sbom"
        attach_sbom(skopeo, tmp_path / "sbom", f"{first.host}/{sbom}")
        listed = olmkit("catalog", "images", catalog).splitlines()
        assert all("@sha256:" in image for image in listed)
        olmkit("image", "mirror", f"{first.host}/shipped/catalog:v1", usb)
        names = ["shipped/catalog:v1", sbom, *(image.partition("/")[2] for image in listed)]
        before = digests(olmkit, first.host, "", names)
        origin = first.host

    # From here on, the first registry is stopped.
    with RegistryServer(folder=tmp_path / "second") as second:
        made = json.loads(
            olmkit(
                *("image", "mirror", usb, f"{second.host}/gap", "-o", "json"),
                *("--manifests-dir", tmp_path / "cluster", "--catalog-namespace", "olm"),
            )
        )["result"]
        assert digests(olmkit, second.host, "gap/", names) == before
        # Everything that pods and OLM pull is available, by the rules for Podman, CRI-O and olmkit.
        rules = {"CONTAINERS_REGISTRIES_CONF": str(tmp_path / "cluster" / "registries.conf")}
        for image in listed:
            facts = json.loads(olmkit("image", "inspect", image, "-o", "json", **rules))
            assert facts["result"]["digest"] == image.partition("@")[2]
        assert origin in (tmp_path / "cluster" / "registries.conf").read_text()
        (catalog_image,) = made["catalogs"]
        assert catalog_image in (tmp_path / "cluster" / "catalog-source.yaml").read_text()
        assert olmkit("catalog", "images", catalog_image).splitlines() == listed
        raw = skopeo("inspect", "--tls-verify=false", "--raw", f"docker://{catalog_image}")
        assert json.loads(raw)["manifests"]
        # Referrers of the image were copied; the bill of materials is one of the names above.
        copied = f"{second.host}/gap/{operator}"
        assert olmkit("image", "verify", "--key", public, copied).strip() == copied


def test_a_killed_mirror_run_continues(
    root: Path, tmp_path: Path, olmkit: Olmkit, base_image: str
) -> None:
    usb = tmp_path / "usb"
    with RegistryServer(folder=tmp_path / "first") as first:
        push_images(first.host, root, tmp_path, olmkit, base_image)
        words = ("image", "mirror", f"{first.host}/shipped/catalog:v1", f"oci:{usb}")
        process = subprocess.Popen([sys.executable, "-m", "olmkit", *words], env=os.environ)
        deadline = time.monotonic() + 60
        while not any(usb.glob("blobs/sha256/*")):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.kill()
        process.wait()

        result = json.loads(olmkit(*words, "-o", "json"))["result"]
        again = json.loads(olmkit(*words, "-o", "json"))["result"]

    assert {one["outcome"] for one in again["images"]} == {"present"}
    assert [one["digest"] for one in result["images"]] == [one["digest"] for one in again["images"]]
