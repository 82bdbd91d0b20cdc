"""A bundle without findings, and bundles that differ from it by a few changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.base import documents
from olmkit.base.diagnostics import Diagnostic
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.edges import disk
from olmkit.rules import engine
from olmkit.rules.engine import Facts

HERE = Path(__file__).parent
IMAGE = "registry.example.org/kitchen/kettle:1.2.3"
PREFIX = "operators.operatorframework.io"
FILES = {
    "csv": "manifests/kettle.clusterserviceversion.yaml",
    "crd": "manifests/kitchen.example.org_kettles.yaml",
    "annotations": "metadata/annotations.yaml",
}

Judge = Callable[[Mapping[str, Any]], tuple[Diagnostic, ...]]


@pytest.fixture(scope="session")
def minimal() -> Tree:
    return disk.read_tree(HERE / "minimal")


@pytest.fixture(scope="session")
def broken(minimal: Tree) -> Callable[[Mapping[str, Any]], Tree]:
    """Build a bundle with the changes of one entry of `breaks.yaml`."""
    return lambda changes: _changed(minimal, changes)


@pytest.fixture(scope="session")
def findings_of(broken: Callable[[Mapping[str, Any]], Tree]) -> Judge:
    """Return the findings of the default rules about a changed bundle."""

    def findings_for(changes: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
        bundle = layout.read(broken(changes), "kettle")
        return engine.run(bundle, engine.choose(engine.profile("default")))

    return findings_for


@pytest.fixture(scope="session")
def publishable() -> Tree:
    return disk.read_tree(HERE / "publishable")


@pytest.fixture(scope="session")
def publication_findings(publishable: Tree) -> Judge:
    """Return the findings of all rules about a changed bundle that could be published."""

    def findings_for(changes: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
        bundle = layout.read(_changed(publishable, changes), changes.get("root", "kettle"))
        facts = Facts(platforms={IMAGE: ("linux/amd64",)})
        for name, value in changes.get("facts", {}).items():
            known = value.encode() if name == "containerfile" else value
            facts = facts._replace(**{name: known})
        return engine.run(bundle, engine.rules(), facts=facts)

    return findings_for


@pytest.fixture(scope="session")
def change() -> Callable[[Tree, Mapping[str, Any]], Tree]:
    """Build a bundle from another with the changes of one entry of `breaks.yaml`."""
    return _changed


def _changed(minimal: Tree, changes: Mapping[str, Any]) -> Tree:
    files = {path: file.data for path, file in minimal.items()}
    for name, path in FILES.items():
        if name in changes:
            # The places in the tests are those of a file that only has this change.
            value = documents.load(files[path], path).value
            for keys, new in changes[name].items():
                _set(value, _keys(name, keys), new)
            files[path] = yaml.safe_dump(value, sort_keys=False, width=1000).encode()
    for old, new in changes.get("rename", {}).items():
        path = FILES["annotations"]
        files[path] = files[path].replace(old.encode(), new.encode(), 1)
    for name, text in changes.get("append", {}).items():
        files[FILES[name]] += text.encode()
    for path, text in changes.get("files", {}).items():
        if text is None:
            del files[path]
        elif text.startswith("COPY "):
            files[path] = files[FILES[text.removeprefix("COPY ")]]
        else:
            files[path] = text.encode()
    if "big" in changes:
        noise = random.Random(1).randbytes(changes["big"] // 2).hex()
        files["manifests/big.yaml"] = (
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: big}}\ndata:\n  a: '{noise}'\n"
        ).encode()
    return Tree(files)


def _keys(name: str, keys: str) -> list[str | int]:
    if name == "annotations":
        return ["annotations", keys.replace("PREFIX", PREFIX)]
    dotted, slash, last = keys.partition("/")
    parts: list[str | int] = [int(k) if k.isdigit() else k for k in dotted.split(".")]
    return [*parts, last] if slash else parts


def _set(value: Any, keys: list[str | int], new: Any) -> None:
    for key in keys[:-1]:
        value = value[key] if isinstance(value, list) else value.setdefault(key, {})
    last = keys[-1]
    if new is None:
        del value[last]
    elif isinstance(value, list) and last == len(value):
        value.append(new)
    else:
        value[last] = new
