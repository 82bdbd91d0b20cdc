"""Writes the built-in kinds of Kubernetes and their fields, as the API server double has them.

    python scripts/built_in_kinds.py

Starts kube-apiserver and etcd from `KUBEBUILDER_ASSETS` or the PATH, and reads the
discovery document and the OpenAPI documents. Run it after a minor release of Kubernetes,
with the programs of that release.
"""

from __future__ import annotations

import json
import ssl
import tempfile
import textwrap
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olmkit.testing.control_plane import ControlPlane

DATA = Path(__file__).parent.parent / "olmkit/testing/apiserver/kinds/data"
SCALARS = {
    "Quantity": "quantity",
    "IntOrString": "port",
    "Time": "s",
    "MicroTime": "s",
    "JSONSchemaPropsOrBool": "any",
    "JSONSchemaPropsOrArray": "any",
    "JSONSchemaPropsOrStringArray": "any",
}
LETTERS = {"string": "s", "boolean": "b", "integer": "i", "number": "f"}
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KINDS = """\
# The built-in kinds of Kubernetes {version}, as its discovery document lists them: what can be
# listed and written. API version, kind, plural, scope, subresources, type of `fields.txt`.
"""
FIELDS = """\
# The fields of the types of these kinds, in the notation of kube/data/shapes.txt, from the
# OpenAPI documents of Kubernetes {version}.
"""


def documents(plane: ControlPlane) -> tuple[str, list[Any], list[Any]]:
    """Return the version, the groups of both discovery documents, and the OpenAPI documents."""
    context = ssl.create_default_context(cafile=str(plane.ca_file))
    headers = {"Authorization": f"Bearer {plane.token}"}

    def get(path: str, accept: str = "application/json") -> Any:
        words = headers | {"Accept": accept}
        request = urllib.request.Request(plane.url + path, headers=words)  # noqa: S310
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:  # noqa: S310
            return json.load(answer)

    groups = [one for path in ("/api", "/apis") for one in get(path, DISCOVERY)["items"]]
    paths = [path for path in sorted(get("/openapi/v3")["paths"]) if path.startswith("api")]
    return get("/version")["gitVersion"], groups, [get(f"/openapi/v3/{path}") for path in paths]


def kinds(groups: Iterable[Any]) -> Iterator[tuple[str, str, str, str, str]]:
    """Return the kinds that the double stores: reviews and bindings are actions, not objects."""
    for group in groups:
        for version in group["versions"]:
            name = group["metadata"].get("name", "")
            api_version = f"{name}/{version['version']}" if name else version["version"]
            for one in version["resources"]:
                if {"create", "list"} <= set(one["verbs"]):
                    below = ",".join(sorted(s["subresource"] for s in one.get("subresources", [])))
                    kind = one["responseKind"]["kind"]
                    yield api_version, kind, one["resource"], one["scope"], below or "-"


class Types:
    """Return names of types and their fields."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self._named: dict[str, str] = {}
        self.fields: dict[str, dict[str, str]] = {}

    def named(self, full: str) -> str:
        """Return the short name of a schema, with its package as prefix if it is ambiguous."""
        short = full.rpartition(".")[2]
        if short in SCALARS:
            return SCALARS[short]
        if "properties" not in self._schemas[full]:
            return "any"
        if self._named.setdefault(short, full) != full:
            short = "_".join([*full.split(".")[-3:-1], short])
        if short not in self.fields:
            self.fields[short] = {}
            properties = self._schemas[full]["properties"]
            self.fields[short] = {name: self._type(one) for name, one in properties.items()}
        return short

    def _type(self, schema: Mapping[str, Any]) -> str:
        reference = schema.get("$ref") or next(
            (one["$ref"] for one in schema.get("allOf", ()) if "$ref" in one), ""
        )
        if reference:
            return self.named(reference.rpartition("/")[2])
        match schema.get("type"):
            case "array":
                return f"[]{self._type(schema['items'])}"
            case "object":
                values = schema.get("additionalProperties")
                return f"{{}}{self._type(values)}" if values else "any"
            case kind:
                return LETTERS.get(kind or "", "any")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ControlPlane(folder=Path(folder)) as plane:
        version, groups, read = documents(plane)
    schemas = {
        name: schema
        for one in read
        for name, schema in one.get("components", {}).get("schemas", {}).items()
    }
    types, lines = Types(schemas), []
    roots = {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, schema in schemas.items()
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
    }
    for api_version, kind, *rest in sorted(kinds(groups)):
        group, _, number = api_version.rpartition("/")
        short = types.named(roots[group, number, kind])
        lines.append(" ".join([api_version, kind, *rest, short]))
    words = [FIELDS.format(version=version).rstrip("\n")]
    for name, fields in sorted(types.fields.items()):
        listed = " ".join(f"{field}:{kind}" for field, kind in sorted(fields.items()))
        words.append(f"{name}:")
        words += textwrap.wrap(
            listed, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
        )
    (DATA / "kinds.txt").write_text(KINDS.format(version=version) + "\n".join(lines) + "\n")
    (DATA / "fields.txt").write_text("\n".join(words) + "\n")


if __name__ == "__main__":
    main()
