"""The files that are written into a repository of operators pass its check."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError, Severity
from olmkit.catalog.templates.source import Kind
from olmkit.jobs.submission import check, prepare
from olmkit.jobs.submission.check import SubmissionOptions
from olmkit.jobs.submission.prepare import Prepared, PrepareOptions
from olmkit.submission.settings import Target

IMAGE = "quay.io/example/memcached@sha256:" + "0" * 64
NEXT = "quay.io/example/memcached@sha256:" + "1" * 64
FOLDER = "operators/memcached-operator"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "operators").mkdir()
    for catalog in ("v4.16", "v4.18"):
        (tmp_path / "catalogs" / catalog).mkdir(parents=True)
    return tmp_path


def run(repository: Path, bundle: Path, *, dry_run: bool = False, **options: Any) -> Prepared:
    given = PrepareOptions(bundle=bundle, target=options.pop("target", Target.OPENSHIFT), **options)
    return asyncio.run(prepare.prepare(repository, given, dry_run=dry_run))


def errors(repository: Path, target: Target) -> list[str]:
    report = check.check(repository, SubmissionOptions(target=target), lambda *_: None)
    return [
        f"{found.rule} {found.message}"
        for result in report.results
        for found in result.diagnostics
        if found.severity is Severity.ERROR
    ]


def value(repository: Path, path: str) -> Any:
    return documents.load((repository / path).read_bytes(), path).value


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (Target.OPERATORHUB, {}),
        (Target.OPENSHIFT, {}),
        (Target.CERTIFIED, {"project": "0123456789abcdef"}),
    ],
)
def test_the_check_finds_no_error_in_two_prepared_versions(
    repository: Path, root: Path, target: Target, options: dict[str, Any]
) -> None:
    run(repository, root / "bundle/0.0.1", target=target, reviewers=("alex",), **options)
    run(repository, root / "bundle/0.0.2", target=target)

    allowed = ("CRT", "MUL") if target is Target.CERTIFIED else ()  # values of the project itself
    assert [one for one in errors(repository, target) if not one.startswith(allowed)] == []
    assert value(repository, f"{FOLDER}/ci.yaml")["reviewers"] == ["alex"]


@pytest.mark.parametrize("kind", [Kind.BASIC, Kind.SEMVER])
def test_templates_and_catalogs_of_two_versions_are_written(
    repository: Path, root: Path, kind: Kind
) -> None:
    run(repository, root / "bundle/0.0.1", template=kind, image=IMAGE)
    template = repository / FOLDER / f"catalog-templates/{kind}.yaml"
    template.write_text(template.read_text() + "# kept\n")
    run(repository, root / "bundle/0.0.2", image=NEXT)

    assert errors(repository, Target.OPENSHIFT) == []
    assert template.read_text().endswith("# kept\n") or "# kept\n" in template.read_text()
    old = (repository / "catalogs/v4.16/memcached-operator/catalog.yaml").read_text()
    new = (repository / "catalogs/v4.18/memcached-operator/catalog.yaml").read_text()
    assert "olm.bundle.object" in old
    assert "olm.csv.metadata" not in old
    assert "olm.csv.metadata" in new
    assert "olm.bundle.object" not in new
    assert NEXT in old


def test_without_an_image_the_pipeline_writes_the_templates(repository: Path, root: Path) -> None:
    prepared = run(repository, root / "bundle/0.0.1", template=Kind.SEMVER)

    assert prepared.is_file_based
    assert value(repository, f"{FOLDER}/0.0.1/release-config.yaml") == {
        "catalog_templates": [{"template_name": "semver.yaml", "channels": ["Stable"]}]
    }
    assert not (repository / FOLDER / "catalog-templates").exists()
    assert errors(repository, Target.OPENSHIFT) == []


def test_a_merged_version_gets_its_catalogs_later(repository: Path, root: Path) -> None:
    run(repository, root / "bundle/0.0.1", template=Kind.BASIC)

    later = run(repository, root / "bundle/0.0.1", image=IMAGE)

    assert sorted(change.path for change in later.changes) == [
        "catalogs/v4.16/memcached-operator/catalog.yaml",
        "catalogs/v4.18/memcached-operator/catalog.yaml",
        f"{FOLDER}/catalog-templates/basic.yaml",
    ]
    assert not run(repository, root / "bundle/0.0.1", image=IMAGE).changes


def test_a_version_that_exists_is_refused(repository: Path, root: Path) -> None:
    run(repository, root / "bundle/0.0.1")

    with pytest.raises(InputError, match=r"0\.0\.1` exists already"):
        run(repository, root / "bundle/0.0.1")


def test_a_dry_run_writes_nothing(repository: Path, root: Path) -> None:
    before = sorted(repository.rglob("*"))

    assert run(repository, root / "bundle/0.0.1", dry_run=True).changes
    assert sorted(repository.rglob("*")) == before


def test_a_link_does_not_lead_out_of_the_repository(
    repository: Path, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (repository / FOLDER).symlink_to(outside)

    with pytest.raises(InputError, match="is outside the repository"):
        run(repository, root / "bundle/0.0.1")

    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": Target.CERTIFIED}, "needs its certification project"),
        ({"image": IMAGE}, "does not enable file-based catalogs"),
        ({"openshift": "4.x"}, "names no versions of OpenShift"),
        ({"image": "no such image"}, "is not an image reference"),
    ],
)
def test_invalid_options_are_refused(
    repository: Path, root: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run(repository, root / "bundle/0.0.1", **options)

    assert list((repository / "operators").iterdir()) == []


def test_settings_of_the_user_are_kept(repository: Path, root: Path) -> None:
    text = "# ours\nreviewers: [alex]\nupdateGraph: replaces-mode\n"
    (repository / FOLDER).mkdir()
    (repository / FOLDER / "ci.yaml").write_text(text)

    run(repository, root / "bundle/0.0.1", openshift="v4.16-v4.18")

    assert (repository / FOLDER / "ci.yaml").read_text() == text
    annotations = value(repository, f"{FOLDER}/0.0.1/metadata/annotations.yaml")["annotations"]
    assert annotations["com.redhat.openshift.versions"] == "v4.16-v4.18"
