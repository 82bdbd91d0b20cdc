"""Mistakes of users in a project: errors have a place, and no file is changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError
from olmkit.jobs.project import overlay
from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.api import ApiRequest
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest

MANAGER = "config/manager/manager.yaml"
WIRING = "toy/wiring.py"
CRDS = "config/crd/kustomization.yaml"
DEFAULT = "config/default/kustomization.yaml"


@pytest.fixture(scope="module")
def initialized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("begun") / "toy"
    project.init(place, InitRequest(domain="x.org", name="toy"))
    project.create_api(place, ApiRequest(group="g", version="v1", kind="Toy"))
    return place


@pytest.fixture
def place(initialized: Path, tmp_path: Path) -> Path:
    shutil.copytree(initialized, tmp_path / "toy")
    return tmp_path / "toy"


def state(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


def create(place: Path, **how: Any) -> None:
    given = {"group": "g", "version": "v1", "kind": "Other"} | how
    project.create_api(place, ApiRequest(**given))


@pytest.mark.parametrize(
    "kind",
    [
        *("", "toy", "None", "True", "Toy", "TOY", "ToyList", "Toys", "Request", "Model"),
        *("Foo-Bar", "Foo Bar", "Foo\n", "9Lives", "Ünï", "日本", "T\u200boy", "../x", "A" * 64),
        *("A" * 300, "-Foo", "__init__"),
    ],
)
def test_an_invalid_kind_is_refused(place: Path, kind: str) -> None:
    before = state(place)
    with pytest.raises(ConfigurationError):
        create(place, kind=kind)
    assert state(place) == before


@pytest.mark.parametrize("kind", ["Class", "Import", "Self", "Type", "Object", "Init", "Lambda"])
def test_a_kind_can_have_a_name_of_a_python_builtin(place: Path, kind: str) -> None:
    create(place, kind=kind)
    assert (place / "config/crd/bases").is_dir()
    compile((place / WIRING).read_bytes(), WIRING, "exec")


@pytest.mark.parametrize(
    "how",
    [
        *({"group": text} for text in ("G", "a_b", "ü", "-x", "a..b", "..", "g/x", "a" * 260)),
        *({"version": text} for text in ("V1", "1", "v1.2", "v1 ", "ü", "..", "", "v" * 64)),
        *({"plural": text} for text in ("toys", "Others", "ü", "a/b", "a" * 64)),
        {"group": "another"},
        {"resource": False},
        {"resource": False, "controller": False},
    ],
    ids=str,
)
def test_other_invalid_values_of_a_kind_are_refused(place: Path, how: dict[str, Any]) -> None:
    before = state(place)
    with pytest.raises(ConfigurationError):
        create(place, **how)
    assert state(place) == before


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (b"version: '2'\ndomain: x.org\n", "PROJECT:1:10"),
        (b"version: '4'\n", "PROJECT:1:10"),
        (b"domain: x.org\n", "PROJECT:1:1"),
        (b"", "PROJECT"),
        (b"- a\n", "PROJECT:1:1"),
        (b"a: [\n", "PROJECT:1:4"),
        (b"\xff\x00", "PROJECT:1:1"),
        (b"version: '3'\nresources: text\n", "PROJECT:2:12"),
        (b"version: '3'\nresources:\n- 5\n", "PROJECT:3:3"),
    ],
    ids=repr,
)
def test_an_unreadable_project_file_is_refused_at_its_place(
    place: Path, text: bytes, at: str
) -> None:
    (place / "PROJECT").write_bytes(text)
    before = state(place)
    hook = WebhookRequest(group="g", version="v1", kind="Toy", defaulting=True)
    for step in (
        lambda: create(place),
        lambda: project.create_webhook(place, hook),
        lambda: project.edit(place, EditRequest(multigroup=True)),
    ):
        with pytest.raises(ConfigurationError) as caught:
            step()
        assert str(caught.value.diagnostics[0].at) == f"{place}/{at}"
    assert state(place) == before


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (WIRING, b"def add_controllers(: pass\n"),
        (WIRING, b"def add_controllers(m, e, *, workers=2): pass\n"),
        (WIRING, b""),
        (WIRING, "x = 1\n".encode("utf-16")),
        ("toy/api/v1/toy.py", b"class (\n"),
        (CRDS, b"\xff\xfe\x00"),
        (CRDS, b"- a\n"),
        (CRDS, b"resources: text\n"),
        (CRDS, b"resources: [a.yaml, b.yaml]\n"),
        (CRDS, b"resources: [\n"),
        (DEFAULT, b"resources: {a: b}\n"),
        ("config/manifests/bases/toy.clusterserviceversion.yaml", b"a: [\n"),
    ],
    ids=repr,
)
def test_a_file_that_cannot_be_edited_is_refused_at_its_place(
    place: Path, path: str, text: bytes
) -> None:
    (place / path).write_bytes(text)
    before = state(place)
    with pytest.raises(InputError) as caught:
        create(place)
    assert any(path in str(found.at) for found in caught.value.diagnostics)
    assert state(place) == before


@pytest.mark.parametrize(
    ("request_", "path", "text"),
    [
        (EditRequest(namespaced=True), MANAGER, b"kind: Deployment\nspec: 5\n"),
        (EditRequest(namespaced=True), MANAGER, b"kind: Service\n"),
        (EditRequest(namespaced=True), MANAGER, b"kind: Deployment\nspec: {}\n"),
        (EditRequest(namespaced=True), "toy/reconcilers/toy.py", b"+kubebuilder:rbac:\n(\n"),
        (EditRequest(image="a/b:1"), "config/manager/kustomization.yaml", b"images: 5\n"),
    ],
    ids=repr,
)
def test_an_impossible_edit_is_refused_at_its_place(
    place: Path, request_: EditRequest, path: str, text: bytes
) -> None:
    (place / path).write_bytes(text)
    before = state(place)
    with pytest.raises(InputError) as caught:
        project.edit(place, request_)
    assert path in str(caught.value.diagnostics[0].at)
    assert state(place) == before


def test_missing_files_are_refused(place: Path) -> None:
    (place / WIRING).unlink()
    (place / WIRING).symlink_to("/etc/hostname")
    before = state(place)
    with pytest.raises(OlmkitError, match="leaves"):
        create(place)
    assert state(place) == before
    (place / WIRING).unlink()
    (place / WIRING).write_bytes(b"#" * 5_000_000)
    with pytest.raises(OlmkitError):
        create(place)
    (place / "PROJECT").unlink()
    (place / "PROJECT").mkdir()
    with pytest.raises(OlmkitError, match="is a folder"):
        create(place)


@pytest.mark.parametrize(
    "text",
    [
        *(b"\xff\x00", b"- a\n", b"resources: [none.yaml]\n", b"helmCharts: [{name: a}]\n"),
        b"patches:\n- patch: '{apiVersion: v1, kind: Secret, metadata: {name: q}}'\n",
    ],
    ids=repr,
)
def test_an_overlay_that_cannot_be_built_is_refused_at_its_place(place: Path, text: bytes) -> None:
    (place / DEFAULT).write_bytes(text)
    with pytest.raises(InputError) as caught:
        overlay.render(place)
    at = caught.value.diagnostics[0].at
    assert at is not None
    assert at.path.endswith(DEFAULT)
    assert at.line


@pytest.mark.parametrize(
    "how",
    [
        *({"name": text} for text in ("", "Toy", "os", "json", "pydantic", "ü", "-x", "9x")),
        *({"name": text} for text in ("a.b", "a_b", "tests", "test", "config", "a" * 60)),
        *({"domain": text} for text in ("", "X.org", "-x", "ü.org", "a b", "x..y", "a" * 260)),
        {"image": "A B"},
        {"image": f"a/b@sha256:{'0' * 64}"},
    ],
    ids=str,
)
def test_invalid_names_of_a_project_are_refused(tmp_path: Path, how: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        project.init(tmp_path / "new", InitRequest(**({"domain": "x.org", "name": "fine"} | how)))
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_empty_is_refused(place: Path) -> None:
    before = state(place)
    request = InitRequest(domain="x.org", name="toy")
    with pytest.raises(ConfigurationError, match="is not empty"):
        project.init(place, request)
    with pytest.raises(ConfigurationError, match="is not a folder"):
        project.init(place / "PROJECT", request)
    assert state(place) == before


def test_an_interrupted_init_is_continued(tmp_path: Path) -> None:
    request = InitRequest(domain="x.org", name="toy")
    whole, part = tmp_path / "whole", tmp_path / "part"
    project.init(whole, request)
    for path in sorted(whole.rglob("*"))[::2]:
        if path.is_file():
            target = part / path.relative_to(whole)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    (part / ".olmkit-abc.tmp").write_text("half a file")
    (part / "config" / ".olmkit-abc.tmp").write_text("half a file")

    project.init(part, request)

    assert {path: data for path, data in state(part).items() if ".tmp" not in str(path)} == state(
        whole
    )


def test_an_init_that_was_killed_before_its_first_file_was_complete_is_continued(
    tmp_path: Path,
) -> None:
    request = InitRequest(domain="x.org", name="toy")
    whole, part = tmp_path / "whole", tmp_path / "part"
    project.init(whole, request)
    (part / "config" / "default").mkdir(parents=True)
    (part / "config" / "default" / ".olmkit-abc.tmp").write_text("half a file")

    project.init(part, request)

    assert {path: data for path, data in state(part).items() if ".tmp" not in str(path)} == state(
        whole
    )


def test_an_empty_folder_that_init_does_not_create_is_refused(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()

    with pytest.raises(ConfigurationError, match="is not empty: it holds `documents`"):
        project.init(tmp_path, InitRequest(domain="x.org", name="toy"))


def test_a_pipe_with_the_name_of_a_file_of_init_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Makefile")

    with pytest.raises(ConfigurationError, match="is not empty: it holds `Makefile`"):
        project.init(tmp_path, InitRequest(domain="x.org", name="toy"))


def test_an_interrupted_init_with_a_changed_file_is_refused(tmp_path: Path) -> None:
    request = InitRequest(domain="x.org", name="toy")
    project.init(tmp_path / "toy", request)
    (tmp_path / "toy" / "Makefile").write_text("mine")
    before = state(tmp_path / "toy")

    with pytest.raises(ConfigurationError, match="is not empty"):
        project.init(tmp_path / "toy", request)

    assert state(tmp_path / "toy") == before
