"""Overlays, compared byte by byte with the output of kustomize 5.8.1.

A build that differs or is refused must be in `differences.toml` with its
reason; input that kustomize refuses must be refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.project.kustomize import build as kustomize

HERE = Path(__file__).parent
BUNDLE_CASES = [
    "bundle-base",
    "bundle-basic",
    "bundle-csvmarkers",
    "bundle-digests",
    "bundle-extras",
    "bundle-images",
    "bundle-names",
    "bundle-packagemanifests",
    "bundle-rbac",
    "bundle-samples",
    "bundle-webhooks",
]
BUILDS = [
    *((case, "config/default", "default") for case in BUNDLE_CASES),
    *((case, "config/manifests", "manifests") for case in BUNDLE_CASES),
    *(("kustomize-features", name, name) for name in ("base", "overlay", "fifo", "outer")),
    ("kustomize-legacy", "default", "default"),
    ("kustomize-values", ".", "build"),
]
REFUSED = [
    "bad-yaml",
    "cycle",
    "duplicate",
    "empty",
    "json-patch-missing-path",
    "missing-file",
    "no-kind",
    "patch-no-target",
    "replacement-no-field",
    "replacement-no-source",
    "unknown-field",
]
# What earlier stages write into a project, and where.
STAGES = {
    "config/crd/bases/": "crd/",
    "config/manifests/bases/": "manifests-base/",
    "config/rbac/role.yaml": "rbac/role.yaml",
    "config/webhook/manifests.yaml": "webhook/manifests.yaml",
}


def reader(case: Path) -> Callable[[str], bytes | None]:
    """The files of a case's project, and those that earlier stages wrote into it."""

    def read(path: str) -> bytes | None:
        places = [case / "project" / path]
        for written, recorded in STAGES.items():
            if path.startswith(written):
                places.insert(0, case / "expected" / (recorded + path.removeprefix(written)))
        return next((place.read_bytes() for place in places if place.is_file()), None)

    return read


@pytest.mark.parametrize(("case", "folder", "answer"), BUILDS)
def test_an_overlay_is_built_as_in_kustomize(
    case: str, folder: str, answer: str, vectors: Path
) -> None:
    wanted = (vectors / "go" / case / "expected" / "kustomize" / f"{answer}.yaml").read_bytes()
    try:
        built = kustomize.render(reader(vectors / "go" / case), folder)
        found = b"---\n".join(documents.dump(document.value) for document in built)
        how = "same" if found == wanted else "different"
    except InputError as error:
        how = f"refused: {error.message}"

    listed = tomllib.loads((HERE / "differences.toml").read_text())
    assert how == listed.get(f"{case}/{answer}", {}).get("how", "same")


@pytest.mark.parametrize("name", REFUSED)
def test_input_that_kustomize_refuses_is_refused_with_a_place(name: str, vectors: Path) -> None:
    case = vectors / "go" / "kustomize-features"
    assert (case / "expected" / f"bad-{name}.exit").read_text().strip() == "1"

    with pytest.raises(InputError) as refused:
        kustomize.render(reader(case), f"bad/{name}")

    place = refused.value.diagnostics[0].at
    assert place is not None
    assert place.path.startswith(f"bad/{name}/")
    assert place.line


VECTORS = sorted(path.name for path in (HERE / "vectors").iterdir())


@pytest.mark.parametrize("name", VECTORS)
def test_a_small_overlay_is_built_as_in_kustomize(name: str) -> None:
    """Written for differences in public projects, with the output of kustomize 5.8.1."""
    folder = HERE / "vectors" / name

    def read(path: str) -> bytes | None:
        file = folder / path
        return file.read_bytes() if file.is_file() else None

    found = b"---\n".join(documents.dump(one.value) for one in kustomize.render(read, "."))
    assert found == (folder / "expected.yaml").read_bytes()
