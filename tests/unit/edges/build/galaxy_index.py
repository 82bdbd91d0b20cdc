"""A small index of Ansible collections on loopback, with version 3 of Galaxy's API."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def packed(namespace: str, name: str, version: str, needs: Mapping[str, str]) -> bytes:
    """Build the archive of a collection with one module."""
    module = b"#!/usr/bin/python\n"
    listed = [
        {"name": ".", "ftype": "dir", "chksum_type": None, "chksum_sha256": None, "format": 1},
        *(
            {"name": one, "ftype": "dir", "chksum_type": None, "chksum_sha256": None, "format": 1}
            for one in ("plugins", "plugins/modules")
        ),
        {
            "name": "plugins/modules/it.py",
            "ftype": "file",
            "chksum_type": "sha256",
            "chksum_sha256": hashlib.sha256(module).hexdigest(),
            "format": 1,
        },
    ]
    files = json.dumps({"files": listed, "format": 1}).encode()
    info: dict[str, Any] = {
        "namespace": namespace,
        "name": name,
        "version": version,
        "authors": [],
        "readme": "",
        "tags": [],
        "description": "",
        "license": ["Apache-2.0"],
        "dependencies": dict(needs),
    }
    manifest = {
        "collection_info": info,
        "file_manifest_file": {
            "name": "FILES.json",
            "ftype": "file",
            "chksum_type": "sha256",
            "chksum_sha256": hashlib.sha256(files).hexdigest(),
            "format": 1,
        },
        "format": 1,
    }
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for path in ("plugins", "plugins/modules"):
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for path, data in (
            ("MANIFEST.json", json.dumps(manifest).encode()),
            ("FILES.json", files),
            ("plugins/modules/it.py", module),
        ):
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


@dataclass
class GalaxyIndex:
    """The collections by name and version, and the requests.

    `token`: required in requests; `archives`: the address of archives on another host;
    `damaged` archives differ from their digest.
    """

    collections: dict[str, dict[str, bytes]] = field(default_factory=dict)
    needs: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    token: str = ""
    archives: str = ""
    damaged: bool = False
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""

    def add(self, name: str, version: str, **needs: str) -> None:
        """Add a version of a collection; `__` is a dot in the names of its dependencies."""
        wanted = {one.replace("__", "."): text for one, text in needs.items()}
        made = packed(*name.split("."), version, wanted)
        self.collections.setdefault(name, {})[version] = made
        self.needs[name, version] = wanted

    def answer(self, path: str) -> Any:
        """Return the JSON, the bytes, the address of a redirect, or None."""
        steps = path.partition("?")[0].strip("/").split("/")
        if steps == ["api"]:
            return {"available_versions": {"v3": "v3/"}}
        if steps[0] == "archives":
            if self.archives:
                return f"{self.archives}{path}"
            name, _, version = steps[1].removesuffix(".tar.gz").rpartition("-")
            data = self.collections[name.replace("-", ".")][version]
            return data + b" " if self.damaged else data
        if steps[:3] != ["api", "v3", "collections"]:
            return None
        namespace, name = steps[3:5]
        found = self.collections.get(f"{namespace}.{name}")
        below = f"/api/v3/collections/{namespace}/{name}/versions"
        if found is None:
            return None
        if steps[5:] == ["versions"]:
            listed = [{"version": one, "href": f"{below}/{one}/"} for one in found]
            return {"meta": {"count": len(found)}, "links": {"next": None}, "data": listed}
        if len(steps) == 7 and steps[6] in found:
            file = f"{namespace}-{name}-{steps[6]}.tar.gz"
            digest = hashlib.sha256(found[steps[6]]).hexdigest()
            return {
                "version": steps[6],
                "name": name,
                "namespace": {"name": namespace},
                "collection": {"name": name},
                "href": f"{below}/{steps[6]}/",
                "download_url": f"{self.url}/archives/{file}",
                "artifact": {"filename": file, "sha256": digest, "size": len(found[steps[6]])},
                "metadata": {"dependencies": dict(self.needs[f"{namespace}.{name}", steps[6]])},
                "signatures": [],
            }
        return {"highest_version": {"version": max(found)}}

    @contextlib.contextmanager
    def serving(self) -> Iterator[GalaxyIndex]:
        """Serve on a free port for the duration of the block."""
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                sent = self.headers.get("Authorization")
                index.requests.append((self.path, sent))
                if index.token and sent != f"Token {index.token}":
                    self.send_error(401)
                    return
                found = index.answer(self.path)
                if found is None:
                    self.send_error(404)
                    return
                if isinstance(found, str):
                    self.send_response(302)
                    self.send_header("Location", found)
                    self.end_headers()
                    return
                data = found if isinstance(found, bytes) else json.dumps(found).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
