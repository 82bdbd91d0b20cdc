"""Reads objects of a cluster over one connection, as `kubectl get -o json` does.

kubectl needs a tenth of a second of a processor for each question, and tests that wait ask
thousands. What this module does not know is left to kubectl: it raises `NotHandledError`.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

# Groups whose versions do not change while a test runs: those of Kubernetes and of OLM.
_LASTING = re.compile(r"/api/v1|/apis/([a-z]+|[a-z.]+\.k8s\.io|operators\.coreos\.com)/[^/]+")
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class NotHandledError(Exception):
    """Only kubectl can answer this, or can report what is wrong."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A kind that is served: the beginning of its path, and its plural."""

    root: str
    plural: str
    namespaced: bool


@dataclass(frozen=True, slots=True)
class Question:
    """The arguments of `kubectl get`: `names` are those of objects, or none for a list."""

    kinds: Sequence[str]
    names: Sequence[str]
    namespace: str = "default"
    is_everywhere: bool = False
    selector: str = ""


def question(words: Sequence[str]) -> Question:
    """Read the arguments; raise `NotHandledError` for options that are not known."""
    rest, positional, options = list(words), [], {}
    while rest:
        word = rest.pop(0)
        if word in ("-n", "-l") and rest:
            options[word] = rest.pop(0)
        elif word == "-A":
            options[word] = ""
        elif word.startswith("-") or not word:
            raise NotHandledError(word)
        else:
            positional.append(word)
    if not positional:
        raise NotHandledError("no kind")
    kinds, *names = positional
    if "/" in kinds:
        kinds, _, name = kinds.partition("/")
        names.insert(0, name)
    if len(names) > 1 or (names and ("," in kinds or "-l" in options or "-A" in options)):
        raise NotHandledError("several objects")
    return Question(
        kinds=kinds.split(","),
        names=names,
        namespace=options.get("-n", "default"),
        is_everywhere="-A" in options,
        selector=options.get("-l", ""),
    )


class ClusterReader:
    """A connection with the token and the authority of a kubeconfig in JSON."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        self._address = urlsplit(cluster["server"]).netloc
        self._authority = cluster["certificate-authority"]
        self._token = config["users"][0]["user"]["token"]
        self._connection: http.client.HTTPSConnection | None = None
        self._served: dict[str, Collection] = {}
        self._lock = threading.Lock()

    def get(self, *words: str) -> Any:
        """Return an object, None if it does not exist, or a list of objects."""
        asked = question(words)
        with self._lock:
            if asked.names:
                return self._object(asked)
            found = [item for kind in asked.kinds for item in self._items(kind, asked)]
        return {"apiVersion": "v1", "kind": "List", "items": found}

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _object(self, asked: Question) -> Any:
        path = self._path(self._collection(asked.kinds[0]), asked)
        status, data = self._read(f"{path}/{quote(asked.names[0])}")
        if status == 200:
            return json.loads(data)
        if status == 404 and b'"reason":"NotFound"' in data and b'"name"' in data:
            return None
        self._served = {}
        raise NotHandledError(data.decode())

    def _items(self, kind: str, asked: Question) -> list[Any]:
        path = self._path(self._collection(kind), asked)
        if asked.selector:
            path += f"?labelSelector={quote(asked.selector)}"
        status, data = self._read(path)
        if status != 200:
            self._served = {}
            raise NotHandledError(data.decode())
        found = json.loads(data)
        own = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
        return [own | item for item in found["items"]]

    @staticmethod
    def _path(found: Collection, asked: Question) -> str:
        if not found.namespaced or asked.is_everywhere:
            return f"{found.root}/{found.plural}"
        return f"{found.root}/namespaces/{quote(asked.namespace)}/{found.plural}"

    def _collection(self, name: str) -> Collection:
        found = self._served.get(name.lower())
        if found is None or not _LASTING.fullmatch(found.root):
            # A CRD can have got a newer version, which has precedence.
            self._served = self._discover()
            found = self._served.get(name.lower())
        if found is None:
            raise NotHandledError(name)
        return found

    def _discover(self) -> dict[str, Collection]:
        """Return all kinds by all names that kubectl accepts; the first one has precedence."""
        served: dict[str, Collection] = {}
        for path in ("/api", "/apis"):
            status, data = self._read(path, _DISCOVERY)
            if status != 200:
                raise NotHandledError(data.decode())
            for group in json.loads(data)["items"]:
                name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    root = f"{path}/{name}/{version['version']}" if name else "/api/v1"
                    for one in version["resources"]:
                        found = Collection(root, one["resource"], one["scope"] == "Namespaced")
                        kind = one["responseKind"]["kind"].lower()
                        short = [one["singularResource"], *one.get("shortNames", ())]
                        for word in filter(None, (one["resource"], kind, *short)):
                            served.setdefault(word, found)
                            served.setdefault(f"{word}.{name}", found)
                            served.setdefault(f"{word}.{version['version']}.{name}", found)
        return served

    def _read(self, path: str, accept: str = "application/json") -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept}
        for is_last in (False, True):
            try:
                if self._connection is None:
                    context = ssl.create_default_context(cafile=self._authority)
                    self._connection = http.client.HTTPSConnection(
                        self._address, timeout=60, context=context
                    )
                self._connection.request("GET", path, headers=headers)
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.close()  # the server may have started again
                if is_last:
                    raise NotHandledError(str(error)) from error
        raise AssertionError
