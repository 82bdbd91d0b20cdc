"""The API server of a run, from the kubeconfig that the operator gives it."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]
KUBECONFIG = {"type": "path"}


class ApiError(Exception):
    """An error of the API server, and its code; 0 if it could not be reached."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class Api:
    """Requests as JSON, through the server that the kubeconfig names."""

    def __init__(self, kubeconfig: str | None) -> None:
        file = kubeconfig or os.environ.get("K8S_AUTH_KUBECONFIG") or os.environ.get("KUBECONFIG")
        if not file:
            raise ApiError("`kubeconfig` is not set, and the run has none")
        try:
            self._server = _server(json.loads(Path(file).read_text(encoding="utf-8")))
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ApiError(f"`{file}` is not the kubeconfig of a run: {error}") from error

    def path(self, api_version: str, kind: str, namespace: str | None) -> str:
        """Return the path of a kind's objects, from the discovery of the server."""
        group = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        for one in self.call("GET", group).get("resources", []):
            if one.get("kind") != kind or "/" in one.get("name", ""):
                continue
            if one.get("namespaced") and not namespace:
                raise ApiError(f"`{kind}` is a kind in namespaces, and `namespace` is not set")
            place = f"/namespaces/{namespace}" if one.get("namespaced") else ""
            return f"{group}{place}/{one['name']}"
        raise ApiError(f"the API server has no kind `{kind}` in `{api_version}`", 404)

    def call(
        self, method: str, path: str, body: Any = None, media: str = "application/json"
    ) -> Manifest:
        """Return the answer; raise `ApiError`."""
        request = urllib.request.Request(  # noqa: S310 - `_server` takes no other scheme
            self._server + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Content-Type": media, "Accept": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                found: Manifest = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            raise ApiError(_message(error), error.code) from error
        except (OSError, ValueError) as error:
            raise ApiError(f"the API server cannot be reached: {error}") from error


def _server(config: Mapping[str, Any]) -> str:
    contexts = {one["name"]: one["context"] for one in config["contexts"]}
    clusters = {one["name"]: one["cluster"] for one in config["clusters"]}
    server = clusters[contexts[config["current-context"]]["cluster"]]["server"]
    if not isinstance(server, str) or not server.startswith("http://"):
        raise ValueError("its server is not a proxy on loopback")
    return server.rstrip("/")


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["message"])
    except (OSError, ValueError, LookupError, TypeError):
        return f"the API server answered {error.code}"
