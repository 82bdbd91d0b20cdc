"""Findings about schemas, compared with a real API server.

`SEEN_LATER` are those that only the server refuses: their errors depend on CEL's costs or on rules
for defaults, which olmkit does not evaluate.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import ClusterError
from olmkit.kube.crds import structural
from olmkit.kube.crds.schema_problems import SchemaFault
from olmkit.testing.control_plane import ControlPlane

pytestmark = pytest.mark.e2e

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
ITEM = {
    "type": "object",
    "properties": {"name": TEXT, "port": NUMBER},
    "required": ["name"],
}


def _list(items: Any = TEXT, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _keyed(items: Any, *keys: str) -> dict[str, Any]:
    return _list(
        items, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    )


def _set(items: Any) -> dict[str, Any]:
    return _list(items, **{"x-kubernetes-list-type": "set"})


def _ruled(schema: dict[str, Any], rule: str, **more: Any) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


def _item(key: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"name": key}, "required": ["name"]}


FIELDS: dict[str, dict[str, Any]] = {
    "minimum above maximum": {**NUMBER, "minimum": 5, "maximum": 3},
    "negative length": {**TEXT, "maxLength": -1},
    "pattern": {**TEXT, "pattern": r"^(?i)[\d-x]\pL$"},
    "pattern open class": {**TEXT, "pattern": "[a-z"},
    "pattern repeat count": {**TEXT, "pattern": "a{2,1}"},
    "pattern look-ahead": {**TEXT, "pattern": "(?=a)"},
    "pattern possessive": {**TEXT, "pattern": "a++"},
    "pattern back reference": {**TEXT, "pattern": r"(?P<a>x)(?P=a)"},
    "pattern end of text": {**TEXT, "pattern": r"a\Z"},
    "enum of other type": {**NUMBER, "enum": ["a"]},
    "enum twice": {**TEXT, "enum": ["a", "a"]},
    "default": {**NUMBER, "minimum": 1, "default": 1},
    "default not in enum": {**TEXT, "enum": ["a"], "default": "b"},
    "default below minimum": {**NUMBER, "minimum": 3, "default": 1},
    "default excluded": {**NUMBER, "minimum": 3, "exclusiveMinimum": True, "default": 3},
    "default no multiple": {**NUMBER, "multipleOf": 3, "default": 4},
    "default too long": {**TEXT, "maxLength": 1, "default": "bb"},
    "default does not match": {**TEXT, "pattern": "^a$", "default": "bb"},
    "default of other type": {**NUMBER, "default": "a"},
    "default without required": {**ITEM, "default": {}},
    "default with unknown": {**ITEM, "default": {"name": "a", "other": 1}},
    "default with null in a mapping": {
        "type": "object",
        "additionalProperties": TEXT,
        "default": {"a": None},
    },
    "default with null in a field": {**ITEM, "default": {"name": "a", "port": None}},
    "default with null in a list": _list(default=[None]),
    "rule that may lack old self": _ruled(NUMBER, "self > 1", optionalOldSelf=False),
    "default wrong inside": {**ITEM, "default": {"name": 1}},
    "default too short list": _list(minItems=2, default=["a"]),
    "default too many fields": {
        "type": "object",
        "additionalProperties": TEXT,
        "maxProperties": 1,
        "default": {"a": "x", "b": "x"},
    },
    "default outside allOf": {**NUMBER, "allOf": [{"minimum": 3}], "default": 1},
    "default no date": {**TEXT, "format": "date-time", "default": "bb"},
    "default too large": {**NUMBER, "format": "int32", "default": 2**40},
    "default breaks rule": _ruled({**NUMBER, "default": 1}, "self > 3"),
    "uniqueItems": _list(uniqueItems=True),
    "set of objects": _set(ITEM),
    "set of atomic objects": _set({**ITEM, "x-kubernetes-map-type": "atomic"}),
    "set of lists": _set(_list()),
    "set of nullable": _set({**TEXT, "nullable": True}),
    "map": _keyed(ITEM, "name"),
    "map of scalars": _keyed(TEXT, "name"),
    "map key optional": _keyed(ITEM, "port"),
    "map key with default": _keyed(
        {**ITEM, "properties": {"port": {**NUMBER, "default": 1}}}, "port"
    ),
    "map key unknown": _keyed(ITEM, "zork"),
    "map key object": _keyed(_item(ITEM), "name"),
    "map key nullable": _keyed(_item({**TEXT, "nullable": True}), "name"),
    "map item nullable": _keyed({**ITEM, "nullable": True}, "name"),
    "map key twice": _keyed(ITEM, "name", "name"),
    "map without keys": _keyed(ITEM),
    "keys without map": {**_keyed(ITEM, "name"), "x-kubernetes-list-type": "atomic"},
    "list type unknown": _list(**{"x-kubernetes-list-type": "bag"}),
    "map type unknown": {"type": "object", "x-kubernetes-map-type": "bag"},
    "type unknown": {"type": "text"},
    "no type": {},
    "no type but open": {"x-kubernetes-preserve-unknown-fields": True},
    "embedded without type": {
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "embedded without fields": {"type": "object", "x-kubernetes-embedded-resource": True},
    "open and closed": {
        "type": "object",
        "properties": {"a": TEXT},
        "additionalProperties": TEXT,
    },
    "required unknown": {**ITEM, "required": ["other"]},
    "description in allOf": {**TEXT, "allOf": [{"description": "x"}]},
    "rule": _ruled(NUMBER, "self > 1"),
    "rule no expression": _ruled(NUMBER, "self >"),
    "rule of other type": _ruled(NUMBER, "self > 'a'"),
    "rule no answer": _ruled(NUMBER, "self + 1"),
    "rule of unknown field": _ruled(ITEM, "self.other == 'x'"),
    "rule of list items": _ruled(_list(ITEM, maxItems=5), "self.all(x, x.other == 1)"),
    "rule of sound list items": _ruled(
        _list(ITEM, maxItems=5), "self.filter(x, x.port > 1).all(x, has(x.port) && x.name == 'a')"
    ),
    "rule of a mapping": _ruled(
        {"type": "object", "additionalProperties": ITEM, "maxProperties": 3},
        "self.all(key, key == 'a' && self[key].nothing == 'a')",
    ),
    "rule of a sound mapping": _ruled(
        {"type": "object", "additionalProperties": ITEM, "maxProperties": 3},
        "self.all(key, self[key].name == key) && (!has(self.a) || self.a.port > 1)",
    ),
    "rule of an open field": _ruled(
        {**ITEM, "x-kubernetes-preserve-unknown-fields": True}, "!has(self.port) || self.port > 1"
    ),
    "rule of an escaped field": _ruled(
        {"type": "object", "properties": {"a-b": NUMBER, "namespace": NUMBER, "x.y": NUMBER}},
        "self.a__dash__b > 1 && self.__namespace__ > 1 && self.x__dot__y > 1",
    ),
    "rule too dear": _ruled(_list(), "self.all(x, self.all(y, x != y || x == y))"),
    "rule on anything": _ruled({"x-kubernetes-preserve-unknown-fields": True}, "true"),
    "rule with broken message": _ruled(NUMBER, "self > 1", message="a\nb"),
    "rule with blank message": _ruled(NUMBER, "self > 1", message=" "),
    "long rule without message": _ruled(NUMBER, "self > 1 \n&& self > 2"),
    "rule with unknown reason": _ruled(NUMBER, "self > 1", reason="Bad"),
    "rule with unknown path": _ruled(ITEM, "true", fieldPath=".other"),
    "rule with old self for nothing": _ruled(NUMBER, "self > 1", optionalOldSelf=True),
}
SEEN_LATER = frozenset(
    {"default breaks rule", "rule on anything", "rule too dear", "rule with unknown path"}
)


def _crd(number: int, field: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"field": field}}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"thing{number}s.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": f"Thing{number}", "plural": f"thing{number}s"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def _is_refused(field: dict[str, Any]) -> bool:
    root = {"type": "object", "properties": {"field": field}}
    return any(problem.fault is SchemaFault.STRUCTURE for problem in structural.check(root))


def test_the_api_server_refuses_the_schemas_that_olmkit_refuses(apiserver: ControlPlane) -> None:
    refused: dict[str, bool] = {}

    async def scenario() -> None:
        async with HttpCluster(kubeconfig.load(paths=[apiserver.kubeconfig])) as cluster:
            crds = await cluster.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
            for number, (name, field) in enumerate(FIELDS.items()):
                refused[name] = False
                try:
                    await cluster.create(crds, _crd(number, field), dry_run=True)
                except ClusterError:
                    refused[name] = True

    asyncio.run(scenario())
    ours = {name: _is_refused(field) or name in SEEN_LATER for name, field in FIELDS.items()}
    assert refused == ours
    assert not any(_is_refused(FIELDS[name]) for name in SEEN_LATER)
