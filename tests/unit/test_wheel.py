"""The wheel that is released works in an empty environment, without the checkout."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(folder), str(root)],
        check=True,
        capture_output=True,
    )
    (made,) = folder.glob("olmkit-*.whl")
    return made


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path, root: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == {"olmkit"}
    data = [name for name in names if ".data/" in name]
    assert data
    assert all(name.split("/", 1)[1].startswith("data/share/man/man1/olmkit") for name in data)
    assert "olmkit/py.typed" in names
    assert any(name.startswith("olmkit/edges/") and name.endswith(".binpb") for name in names)
    templates = Path("olmkit/project/templates")
    assert {str(path.relative_to(root)) for path in (root / templates).rglob("*.tmpl")} == {
        name for name in names if name.startswith(f"{templates}/")
    }


def test_the_wheel_works_in_an_empty_environment(wheel: Path, root: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin/python"
    # The dependencies are those of this environment, found by a path file, so that the
    # test needs no network; olmkit itself comes from the wheel alone.
    found = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    target = Path(found.stdout.strip())
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"),
            *("--disable-pip-version-check", "--target", str(target), str(wheel)),
        ],
        check=True,
        capture_output=True,
    )
    here = next(path for path in map(Path, sys.path) if (path / "click").is_dir())
    for name in ("click", "msgspec", "semver", "yaml", "yamlrocks", "rich", "deflate"):
        for part in here.glob(f"{name}*"):
            if not (target / part.name).exists():
                (target / part.name).symlink_to(part)
    for part in here.glob("_yaml*"):
        (target / part.name).symlink_to(part)

    def olmkit(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(python), "-I", "-m", "olmkit", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )

    version = olmkit("--version")
    assert (version.returncode, version.stdout[:7]) == (0, "olmkit ")
    valid = olmkit("bundle", "validate", str(root / "bundle/0.0.1"))
    assert valid.returncode == 0, valid.stdout + valid.stderr
    missing = olmkit("bundle", "validate", str(tmp_path / "nothing"))
    assert missing.returncode == 2
