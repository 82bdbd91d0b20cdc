"""Signatures compared with cosign's: each program verifies the other's, also after a mirror."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from olmkit.testing.registry import RegistryServer

pytestmark = pytest.mark.e2e

Olmkit = Callable[..., str]
_OFFLINE = {
    "cosign": ("--tlog-upload=false",),
    "cosign3": ("--tlog-upload=false", "--use-signing-config=false"),
}


@dataclass(frozen=True)
class Cosign:
    """One release of cosign with a key pair."""

    name: str
    program: Path
    folder: Path

    @property
    def public(self) -> Path:
        return self.folder / "cosign.pub"

    @property
    def private(self) -> Path:
        return self.folder / "cosign.key"

    def __call__(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in (self.program, *words)],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=os.environ | {"COSIGN_PASSWORD": "tea", "HOME": str(self.folder)},
        )

    def sign(self, reference: str) -> None:
        words = ("sign", "--yes", "--key", self.private, "--allow-http-registry")
        done = self(*words, *_OFFLINE[self.name], reference)
        assert done.returncode == 0, done.stderr

    def verifies(self, reference: str, *words: str) -> bool:
        command = ("verify", "--key", self.public, "--insecure-ignore-tlog=true")
        return self(*command, "--allow-http-registry", *words, reference).returncode == 0


@pytest.fixture(scope="module", params=["cosign", "cosign3"])
def cosign(
    request: pytest.FixtureRequest,
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
    missing: Callable[[str], NoReturn],
) -> Cosign:
    built = subprocess.run(
        ["/bin/sh", str(root / "scripts/build-programs"), request.param],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        missing(f"{request.param} cannot be built: {built.stderr.strip()[-300:]}")
    folder = tmp_path_factory.mktemp(request.param)
    made = Cosign(request.param, Path(built.stdout.strip()) / "cosign", folder)
    done = made("generate-key-pair")
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def image(
    root: Path, tmp_path: Path, registry: RegistryServer, olmkit: Olmkit, cosign: Cosign
) -> str:
    """An image without referrers."""
    name = f"{registry.host}/signed/{cosign.name}-{tmp_path.name.replace('_', '-')}".lower()
    return olmkit(
        *("catalog", "build", root / "catalog", "-C", tmp_path, "--push"), *("-t", f"{name}:v1")
    )


def test_cosign_verifies_a_signature_of_olmkit(cosign: Cosign, image: str, olmkit: Olmkit) -> None:
    password = {"COSIGN_PASSWORD": "tea"}
    words = ("image", "sign", "--key", cosign.private, "-a", "release=stable", image)
    assert not cosign.verifies(image)

    assert olmkit(*words, **password) == image

    assert cosign.verifies(image)
    assert cosign.verifies(image, "-a", "release=stable")
    assert not cosign.verifies(image, "-a", "release=beta")


def test_olmkit_verifies_a_signature_of_cosign_also_after_a_copy(
    cosign: Cosign, image: str, olmkit: Olmkit, tmp_path: Path
) -> None:
    cosign.sign(image)
    verify = ("image", "verify", "--key", cosign.public)
    assert olmkit(*verify, image) == image

    layout = olmkit("image", "copy", image, f"oci:{tmp_path / 'usb'}:v1")
    name = image.partition("@")[0]
    back = olmkit("image", "copy", layout, f"{name}-back:v1")

    assert olmkit(*verify, layout) == layout
    assert olmkit(*verify, back) == back
    assert cosign.verifies(back)


def test_a_key_of_openssl_signs_for_cosign(
    cosign: Cosign, image: str, olmkit: Olmkit, tmp_path: Path
) -> None:
    private, public = tmp_path / "key.pem", tmp_path / "public.pem"
    curve = ("-pkeyopt", "ec_paramgen_curve:P-256")
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", *curve, "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)

    olmkit("image", "sign", "--key", private, image)

    done = cosign(
        *("verify", "--key", public, "--insecure-ignore-tlog=true", "--allow-http-registry"), image
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(olmkit("image", "verify", "--key", public, image, "-o", "json"))["result"]
    assert [one["valid"] for one in result["images"]] == [True]
