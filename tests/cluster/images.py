"""The few images that the cluster itself needs, built from programs and pushed over HTTP.

An image here is one layer of files, links and empty directories. They are built once and cached
as a prepared directory of the registry, whose name depends on their contents.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import subprocess
import tarfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BUSYBOX = Path("/bin/busybox")
MEMCACHED = Path("/usr/bin/memcached")
_APPLETS = ("sh", "cat", "cp", "echo", "env", "false", "httpd", "id", "ls", "nc", "nslookup")
_APPLETS = (*_APPLETS, "printf", "sleep", "true", "wget")
_TYPE = "application/vnd.oci.image."


@dataclass(frozen=True, kw_only=True)
class ImagePlan:
    """`files`: path in the image → program here; `links`: path → target; `folders`: empty ones."""

    name: str
    files: Mapping[str, Path]
    tag: str = "1"
    links: Mapping[str, str] = field(default_factory=dict)
    folders: Sequence[str] = ("tmp",)
    texts: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)


def plans(programs: Mapping[str, Path], registry: str) -> list[ImagePlan]:
    """Return the images with these programs."""
    made = [
        ImagePlan(
            name="pause",
            files={"bin/busybox": BUSYBOX},
            config={"Entrypoint": ["/bin/busybox", "sleep", "2147483647"]},
        ),
        ImagePlan(
            name="busybox",
            files={"bin/busybox": BUSYBOX},
            links={f"bin/{name}": "busybox" for name in _APPLETS},
            folders=("tmp", "etc", "root"),
            config={"Cmd": ["/bin/sh"]},
        ),
    ]
    if MEMCACHED.exists():
        made.append(
            ImagePlan(
                name="memcached",
                files={str(file).lstrip("/"): file for file in (MEMCACHED, *_libraries(MEMCACHED))},
                config={"Entrypoint": [str(MEMCACHED)], "User": "1001"},
            )
        )
    if "opm" in programs:
        opm = programs["opm"]
        made.append(
            ImagePlan(
                name="opm",
                files={
                    "bin/opm": opm / "opm",
                    "bin/grpc_health_probe": opm / "grpc_health_probe",
                },
                config={"Entrypoint": ["/bin/opm"], "User": "1001"},
            )
        )
    if "olm" in programs:
        olm = programs["olm"]
        made.append(
            ImagePlan(
                name="olm",
                files={
                    "bin/busybox": BUSYBOX,
                    "bin/cpb": olm / "cpb",
                    "bin/copy-content": olm / "copy-content",
                },
                links={"bin/cp": "busybox"},
                config={"User": "1001"},
            )
        )
        made.append(
            ImagePlan(
                name="olm-operators",
                files={f"bin/{name}": olm / name for name in ("olm", "catalog", "package-server")},
                config={"User": "1001"},
            )
        )
    for name, tag in (("catalogd", "v1.11.0"), ("operator-controller", "v1.2.0")):
        if name in programs:
            made.append(_olm_v1(name, tag, programs[name] / name, registry))
    return made


def _olm_v1(name: str, tag: str, program: Path, registry: str) -> ImagePlan:
    """A program that pulls images itself, from the registry of the tests, which has no TLS."""
    return ImagePlan(
        name=name,
        tag=tag,
        files={name: program},
        folders=("tmp", "var/cache"),
        texts={
            "etc/containers/registries.conf": (
                f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n'
            ),
            "etc/containers/policy.json": '{"default": [{"type": "insecureAcceptAnything"}]}',
        },
        config={"Entrypoint": [f"/{name}"], "User": "65532", "WorkingDir": "/"},
    )


def _libraries(program: Path) -> list[Path]:
    """Return the libraries that a program of this machine loads, and its loader."""
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True)
    words = [word for word in listed.stdout.split() if word.startswith("/")]
    return [Path(word) for word in words]


def cache_name(planned: Sequence[ImagePlan]) -> str:
    """Return the name of the cached registry directory: it depends on the images' contents."""
    parts = [
        (
            plan.name,
            plan.tag,
            sorted((path, str(file)) for path, file in plan.files.items()),
            plan.config,
        )
        for plan in planned
    ]
    texts = [sorted(plan.texts.items()) for plan in planned]
    return "registry-" + hashlib.sha256(json.dumps([parts, texts]).encode()).hexdigest()[:12]


def architecture() -> str:
    """Return the processor architecture of this machine, as named in images."""
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def layout(plan: ImagePlan, folder: Path) -> None:
    """Build the image as an OCI layout in a new directory, with the tag `1`."""
    manifest, blobs = _built(plan)
    for blob in (*blobs, manifest):
        file = folder / "blobs" / _digest(blob).replace(":", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(blob)
    named = {"annotations": {"org.opencontainers.image.ref.name": "1"}}
    entry = _descriptor(manifest, _TYPE + "manifest.v1+json") | named
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    (folder / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))


def push(plan: ImagePlan, registry: str) -> None:
    """Build the image and push it with its name and tag."""
    manifest, blobs = _built(plan)
    for blob in blobs:
        _push_blob(f"http://{registry}/v2/{plan.name}", blob)
    _request(
        "PUT",
        f"http://{registry}/v2/{plan.name}/manifests/{plan.tag}",
        manifest,
        _TYPE + "manifest.v1+json",
    )


def _built(plan: ImagePlan) -> tuple[bytes, tuple[bytes, bytes]]:
    """Return the manifest, and the layer and the configuration that it names."""
    archive = _archive(plan)
    layer = gzip.compress(archive, compresslevel=1, mtime=0)
    config = json.dumps(
        {
            "architecture": architecture(),
            "os": "linux",
            "config": {"Env": ["PATH=/bin:/usr/bin"], **plan.config},
            "rootfs": {"type": "layers", "diff_ids": [_digest(archive)]},
        }
    ).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": _TYPE + "manifest.v1+json",
        "config": _descriptor(config, _TYPE + "config.v1+json"),
        "layers": [_descriptor(layer, _TYPE + "layer.v1.tar+gzip")],
    }
    return json.dumps(manifest).encode(), (layer, config)


def _archive(plan: ImagePlan) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        folders = {
            str(parent)
            for path in [*plan.files, *plan.links, *plan.texts, *plan.folders]
            for parent in Path(path).parents
        } - {"."}
        for path in sorted(folders | set(plan.folders)):
            entry = tarfile.TarInfo(path)
            entry.type = tarfile.DIRTYPE
            entry.mode = 0o1777 if path in plan.folders else 0o755
            archive.addfile(entry)
        for path, file in plan.files.items():
            _add(archive, path, file.read_bytes(), 0o755)
        for path, text in plan.texts.items():
            _add(archive, path, text.encode(), 0o644)
        for path, to in plan.links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, to
            archive.addfile(entry)
    return target.getvalue()


def _add(archive: tarfile.TarFile, path: str, data: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def _push_blob(repository: str, data: bytes) -> None:
    location = _request("POST", f"{repository}/blobs/uploads/", b"")
    joint = "&" if "?" in location else "?"
    _request("PUT", f"{location}{joint}digest={_digest(data)}", data, "application/octet-stream")


def _request(method: str, url: str, data: bytes, content_type: str = "") -> str:
    headers = {"Content-Type": content_type} if content_type else {}
    request = urllib.request.Request(url, data=data, method=method, headers=headers)  # noqa: S310
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=120) as answer:
        return str(answer.headers.get("Location", ""))


def _descriptor(data: bytes, media_type: str) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(data), "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
