"""A Go project moves to olmkit: generated files and the bundle stay the same."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.jobs.bundle import generate as bundles
from olmkit.jobs.bundle.generate import BundleGenerateOptions
from olmkit.jobs.project import generate as sources
from olmkit.jobs.project.generate import GenerateOptions as SourceOptions
from olmkit.jobs.project.generate import Target

pytestmark = pytest.mark.e2e

STEPS = (
    (
        "init --domain example.com --project-name visitors-operator --plugins go/v4 "
        "--repo example.com/visitors-operator --fetch-deps=false --skip-go-version-check"
    ),
    "create api --group web --version v1 --kind Counter --resource --controller --make=false",
)
KUSTOMIZE = "generate kustomize manifests -q --interactive=false"
BUNDLE = "generate bundle -q --version 0.0.1 --channels alpha --default-channel alpha"
# Times and programs, comments, and empty fields of Go's types.
FREE = re.compile(
    rb"    createdAt: .*\n|.*operators\.operatorframework\.io[./](metrics\.)?builder.*\n"
    rb"|  creationTimestamp: null\n|^status:\n(  .*\n)+"
    rb"|^ *storage:\n +spec:\n +mountPath: {}\n|^ *#.*\n|^\n",
    re.MULTILINE,
)


def run(place: Path, *words: str, stdin: bytes | None = None) -> bytes:
    done = subprocess.run(
        words,
        cwd=place,
        input=stdin,
        check=False,
        capture_output=True,
        env=os.environ | {"GOFLAGS": "-mod=mod"},
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def bundle_of(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place / "bundle").as_posix(): FREE.sub(b"", path.read_bytes())
        for path in sorted((place / "bundle").rglob("*"))
        if path.is_file() and path.name != ".olmkit-generated"
    }


def test_a_go_project_moves_without_a_difference(
    root: Path,
    operator_sdk: str,
    kustomize: str,
    same_generated: Callable[..., None],
    tmp_path: Path,
) -> None:
    before = tmp_path / "before"
    before.mkdir()
    for step in STEPS:
        run(before, operator_sdk, *step.split())
    shutil.copytree(root / "samples/from-operator-sdk", before, dirs_exist_ok=True)
    types = before / "api/v1/counter_types.go"
    added = "\nfunc init() {\n\tSchemeBuilder.Register(&Counter{}, &CounterList{})\n}\n"
    registers = "AddToScheme" in (before / "api/v1/groupversion_info.go").read_text()
    types.write_text(types.read_text() + (added if not registers else ""))
    after = tmp_path / "after"
    shutil.copytree(before, after)

    # CRD and role: asserts that controller-gen writes the same bytes.
    same_generated(before)
    run(before, operator_sdk, *KUSTOMIZE.split())
    rendered = run(before, kustomize, "build", "config/manifests")
    run(before, operator_sdk, *BUNDLE.split(), stdin=rendered)

    options = SourceOptions(
        targets=frozenset(Target),
        settings=("controller-gen-version=v0.23.0",),
        environment=os.environ,
    )
    base = "config/manifests/bases/visitors-operator.clusterserviceversion.yaml"
    (after / base).parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(before / "config/manifests", after / "config/manifests", dirs_exist_ok=True)
    sources.generate(after, options)
    wanted = BundleGenerateOptions(version="0.0.1", channels="alpha", default_channel="alpha")
    bundles.generate(after, wanted)

    assert bundle_of(after) == bundle_of(before)
