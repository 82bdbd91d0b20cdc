"""Bundle convert writes all bundles or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.bundle import layout
from olmkit.edges import disk
from olmkit.jobs.bundle import convert as job

PACKAGE = "packageName: cog\nchannels: [{name: stable, currentCSV: cog.v1.0.0}]\n"
CSV = """apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: cog.v1.0.0}
spec: {version: 1.0.0}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "pm"
    (folder / "1.0.0").mkdir(parents=True)
    (folder / "cog.package.yaml").write_text(PACKAGE)
    (folder / "1.0.0/cog.yaml").write_text(CSV)
    return folder


def test_the_bundles_are_readable(source: Path, tmp_path: Path) -> None:
    made = job.convert(source, tmp_path / "out")

    folder = tmp_path / "out/bundle-1.0.0/bundle"
    bundle = layout.read(disk.read_tree(folder), str(folder))
    assert bundle.channels == ("stable",)
    assert bundle.csv is not None
    assert [change.path for change in made.changes] == [
        "bundle-1.0.0/bundle.Dockerfile",
        "bundle-1.0.0/bundle/manifests/cog.yaml",
        "bundle-1.0.0/bundle/metadata/annotations.yaml",
    ]


def test_a_dry_run_and_a_refusal_write_nothing(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert job.convert(source, output, dry_run=True).changes
    (source / "docs").mkdir()
    (source / "docs/readme.md").write_text("x")
    with pytest.raises(InputError, match="has no ClusterServiceVersion"):
        job.convert(source, output)

    assert not output.exists()


def test_a_directory_with_files_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not empty"):
        job.convert(source, source)
    with pytest.raises(ConfigurationError, match="is not a folder"):
        job.convert(source, source / "cog.package.yaml")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="is not a folder"):
        job.convert(source, tmp_path / "link")
