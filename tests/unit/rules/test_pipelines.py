"""Checks of a profile's pipeline that cannot run here, and the facts that rules read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.bundle import layout
from olmkit.edges import disk
from olmkit.rules import engine, pipelines
from olmkit.rules.engine import Facts

HERE = Path(__file__).parent
NO_FACTS = Facts()


def _not_run(name: str, facts: Facts = NO_FACTS, *, named: bool = False) -> list[str]:
    profile = engine.profile(name)
    chosen = engine.choose(profile)
    return [entry.check for entry in pipelines.not_run(profile, chosen, facts, named=named)]


@pytest.mark.parametrize("name", ["default", "operator-sdk"])
def test_a_check_of_files_is_complete(name: str) -> None:
    assert _not_run(name) == []


@pytest.mark.parametrize("name", list(pipelines.ELSEWHERE))
def test_an_external_check_has_a_reason_and_a_command(name: str) -> None:
    assert name in engine.PROFILES
    for entry in pipelines.ELSEWHERE[name]:
        assert entry.reason
        assert entry.how


def test_images_are_named_until_they_are_inspected() -> None:
    assert "platforms of the images" in _not_run("certified")
    assert "platforms of the images" not in _not_run("certified", Facts(platforms={}))
    assert _not_run("certified", named=True) == ["platforms of the images"]


class _Recorder:
    """Facts that record which of them are read."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self._facts, name)


def test_every_fact_is_read_by_a_rule() -> None:
    recorder = _Recorder(Facts(containerfile=b"", platforms={}, openshift_versions="v4.15"))
    tree = disk.read_tree(HERE / "publishable")
    crd = "manifests/kitchen.example.org_kettles.yaml"
    value = yaml.safe_load(tree.data(crd))
    value["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    files = {path: file.data for path, file in tree.items()} | {crd: yaml.dump(value).encode()}
    bundle = layout.read(type(tree)(files), "kettle")

    engine.run(bundle, engine.rules(), facts=recorder)  # type: ignore[arg-type]

    assert recorder.read == set(Facts._fields)
