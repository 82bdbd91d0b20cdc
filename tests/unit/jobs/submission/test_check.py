"""A repository under git: the difference from the base, and the pull request as a whole."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.jobs.submission import check as job
from olmkit.jobs.submission.check import SubmissionOptions, SubmissionReport
from olmkit.submission.settings import Target

CSV = """\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: {name}.v{version}
spec:
  version: {version}
"""
ANNOTATIONS = """\
annotations:
  operators.operatorframework.io.bundle.channels.v1: stable
  operators.operatorframework.io.bundle.package.v1: {name}
"""


def add(root: Path, name: str, version: str) -> None:
    folder = root / "operators" / name / version
    write(folder / "manifests/csv.yaml", CSV.format(name=name, version=version))
    write(folder / "metadata/annotations.yaml", ANNOTATIONS.format(name=name))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=cog", "-c", "user.email=cog@example.com"]
    subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "change")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    add(root, "cog", "1.0.0")
    add(root, "wheel", "0.1.0")
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    commit(root)
    git(root, "checkout", "-qb", "change")
    return root


def check(root: Path, **options: object) -> SubmissionReport:
    return job.check(root, SubmissionOptions(**options), lambda *_: None)  # type: ignore[arg-type]


def codes(report: SubmissionReport, number: int = 0) -> list[str]:
    return [found.rule for found in report.results[number].diagnostics]


def test_only_the_difference_from_the_base_is_checked(repository: Path) -> None:
    add(repository, "cog", "1.1.0")
    commit(repository)

    report = check(repository, base="main")

    assert [result.reference for result in report.results] == ["pull request", "operators/cog"]
    assert codes(report) == []
    paths = {found.at.path for found in report.results[1].diagnostics if found.at}
    assert not any("/1.0.0/" in path for path in paths if "stable" not in path)
    assert any("/1.1.0/" in path for path in paths)


def test_the_pull_request_is_checked_as_a_whole(repository: Path) -> None:
    add(repository, "cog", "1.1.0")
    write(repository / "operators/wheel/0.1.0/manifests/more.yaml", "a: b\n")
    write(repository / "README.md", "hello\n")
    commit(repository)

    assert codes(check(repository, base="main", select=("SUB",))) == ["SUB060", "SUB064", "SUB062"]


def test_a_deleted_version_is_found(repository: Path) -> None:
    for path in sorted((repository / "operators/cog").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    commit(repository)

    assert codes(check(repository, base="main")) == ["SUB063"]


def test_later_changes_of_the_base_are_not_changes_of_the_pull_request(repository: Path) -> None:
    git(repository, "checkout", "-q", "main")
    add(repository, "wheel", "0.2.0")
    commit(repository)
    git(repository, "checkout", "-q", "change")
    add(repository, "cog", "1.1.0")
    commit(repository)

    report = check(repository, base="main")

    assert [result.reference for result in report.results] == ["pull request", "operators/cog"]


@pytest.mark.parametrize("base", ["nothing", "--output=x"])
def test_an_unknown_base_is_refused(repository: Path, base: str) -> None:
    with pytest.raises(ConfigurationError, match="git does not know"):
        check(repository, base=base)

    assert not (repository / "x").exists()


def test_a_directory_without_git_has_no_base(tmp_path: Path) -> None:
    add(tmp_path, "cog", "1.0.0")

    with pytest.raises(ConfigurationError):
        check(tmp_path, base="main")


def test_an_invalid_operator_does_not_hide_the_others(repository: Path) -> None:
    write(repository / "operators/broken/1.0.0/manifests/csv.yaml", "a: [\n")
    write(repository / "operators/broken/1.0.0/metadata/annotations.yaml", "\tx")
    write(repository / "operators/broken/ci.yaml", "[" * 2000)

    report = check(repository, target=Target.OPENSHIFT)

    assert [result.name for result in report.results] == ["broken", "cog", "wheel"]
    assert report.versions == 3
    assert "SUB011" in codes(report)
    assert "BUG001" not in {code for number in range(3) for code in codes(report, number)}


def test_many_operators_have_the_same_findings_in_one_process_and_in_several(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        add(repository, f"cog{number}", "1.0.0")
    once = check(repository)
    monkeypatch.setattr(job.workers, "processors", lambda: 3)
    monkeypatch.setattr(job, "_BATCH", 2)

    assert check(repository).results == once.results
