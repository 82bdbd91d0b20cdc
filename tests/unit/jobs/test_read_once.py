"""A command reads and generates each input once."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.documents import Document
from olmkit.bundle.generation import generate as bundle_generate
from olmkit.cli import main
from olmkit.edges import disk
from olmkit.project import config

DIGEST = "sha256:" + "a" * 64
GO_PROJECT = 'version: "2"\ndomain: example.com\nrepo: example.com/x\n'


class Counted:
    """Count how often the PROJECT file is read from disk, and as a document."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.from_disk = 0
        self.parsed: list[bytes] = []
        read_file, document = disk.read_file, config.document

        def counted_read(path: Path, *more: Any, **how: Any) -> bytes:
            self.from_disk += Path(path).name == config.PROJECT_FILE
            return read_file(path, *more, **how)

        def counted_document(data: bytes, **how: Any) -> Document:
            self.parsed.append(data)
            return document(data, **how)

        monkeypatch.setattr(disk, "read_file", counted_read)
        monkeypatch.setattr(config, "document", counted_document)


@pytest.fixture
def operator(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(root / "operator", tmp_path / "operator")
    monkeypatch.chdir(tmp_path / "operator")
    return tmp_path / "operator"


@pytest.mark.parametrize(
    "words",
    [
        ["generate"],
        ["generate", "rbac", "webhook"],
        ["bundle", "generate", "--version", "0.3.0"],
        ["create", "api", "--group", "cache", "--version", "v1", "--kind", "Other"],
        ["edit", "--multigroup"],
    ],
    ids=" ".join,
)
def test_a_command_reads_the_project_file_once(
    words: Sequence[str], operator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(monkeypatch)
    assert main.run([*words, "--dry-run"]) == 0
    assert counted.from_disk == 1, operator
    assert len(set(counted.parsed)) == len(counted.parsed)


def test_a_go_module_parses_an_old_project_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "go.mod").write_text("module example.com/x\n")
    (tmp_path / "PROJECT").write_text(GO_PROJECT)
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1/types.go").write_text("package v1\n")
    counted = Counted(monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert main.run(["generate", "crd"]) == 0
    assert (counted.from_disk, len(counted.parsed)) == (1, 1)


def test_pinned_images_are_found_and_pinned_in_one_generation(
    operator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(monkeypatch)
    drafts = []
    draft = bundle_generate.draft

    def counted_draft(*arguments: Any, **how: Any) -> bundle_generate.BundleDraft:
        drafts.append(draft(*arguments, **how))
        return drafts[-1]

    monkeypatch.setattr(bundle_generate, "draft", counted_draft)
    known = operator / "known.yaml"
    known.write_text(
        "".join(f"quay.io/example/memcached-operator:v{v}: {DIGEST}\n" for v in ("0.0.1", "0.0.2"))
        + f"docker.io/library/memcached:1.6: {DIGEST}\n"
    )
    words = ["bundle", "generate", "--version", "0.3.0", "--known-digests", str(known)]
    assert main.run(words) == 0
    (made,) = drafts
    csv = (operator / "bundle/manifests/memcached-operator.clusterserviceversion.yaml").read_text()
    for image in made.unpinned():
        assert f"{image.rpartition(':')[0]}@{DIGEST}" in csv
        assert f"{image}\n" not in csv
    assert counted.from_disk == 1
