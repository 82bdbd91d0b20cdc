"""The two versions of Memcached have the same meaning in different fields."""

from __future__ import annotations

import random
from typing import Any

import pytest
from memcached_operator import wiring
from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.api.v1beta1.memcached import Memcached as MemcachedBeta

from olmkit.runtime import CannotConvert, Manifest
from olmkit.testing import load_manifest

METADATA = {"name": "m", "namespace": "n", "uid": "u", "annotations": {"a": "b"}}
ALPHA: Manifest = {
    "apiVersion": "cache.example.com/v1alpha1",
    "kind": "Memcached",
    "metadata": METADATA,
    "spec": {"size": 3, "containerPort": 11222},
    "status": {
        "nodes": ["m-1", "m-2"],
        "replicas": 2,
        "conditions": [{"type": "Available", "status": "True"}],
    },
}
BETA: Manifest = {
    "apiVersion": "cache.example.com/v1beta1",
    "kind": "Memcached",
    "metadata": METADATA,
    "spec": {"replicas": 3, "port": 11222},
    "status": {
        "pods": [{"name": "m-1"}, {"name": "m-2"}],
        "replicas": 2,
        "conditions": [{"type": "Available", "status": "True"}],
    },
}


def test_each_version_is_converted_to_the_other() -> None:
    made = wiring.conversions()
    assert made.convert(ALPHA, "v1beta1") == BETA
    assert made.convert(BETA, "v1alpha1") == ALPHA
    assert MemcachedBeta.from_manifest(BETA).spec.replicas == 3
    assert Memcached.from_manifest(ALPHA).spec.size == 3


def _some(chance: random.Random) -> Manifest:
    """A v1alpha1 object with any of its fields, and some unknown ones."""
    spec: dict[str, Any] = {"size": chance.randint(1, 5), "containerPort": chance.randint(1, 9)}
    status: dict[str, Any] = {
        "nodes": [f"m-{number}" for number in range(chance.randint(0, 3))],
        "observedGeneration": 3,
        "selector": "a=b",
        "unknown": {"size": 1},
    }
    made: Manifest = {key: ALPHA[key] for key in ("apiVersion", "kind", "metadata")}
    for name, part in (("spec", spec), ("status", status)):
        if chance.random() < 0.8:
            made[name] = {key: part[key] for key in part if chance.random() < 0.7}
    return made


@pytest.mark.property
def test_a_round_trip_loses_nothing() -> None:
    chance = random.Random(7)
    made = wiring.conversions()
    for _ in range(300):
        before, after = made.there_and_back(_some(chance), "v1beta1")
        assert after == before


@pytest.mark.parametrize(
    "broken",
    [
        {**BETA, "spec": "text"},
        {**BETA, "status": []},
        {**BETA, "status": {"pods": "m-1"}},
        {**BETA, "status": {"pods": ["m-1"]}},
        {**BETA, "status": {"pods": [{}]}},
    ],
)
def test_a_value_that_the_other_version_cannot_have_is_reported(broken: Manifest) -> None:
    with pytest.raises(CannotConvert):
        wiring.conversions().convert(broken, "v1alpha1")


def test_every_version_that_the_crd_serves_is_converted(root: Any) -> None:
    path = root / "operator/config/crd/bases/cache.example.com_memcacheds.yaml"
    crd = load_manifest(path)
    assert [one["name"] for one in crd["spec"]["versions"]] == ["v1alpha1", "v1beta1"]
    assert wiring.conversions().check(crd) == []
