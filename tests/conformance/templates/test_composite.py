"""Composite templates compared with opm 1.43.1, the last release that renders them.

`composite.json` has the files of each template, and the SHA-256 of what
`opm alpha render-template composite` wrote, or null if it refused. It read the bundles of the
set `rules` from the registry `RECORDED`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from olmkit.base.diagnostics import OlmkitError
from olmkit.catalog.blobs import fbc
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.templates.opm_release import OpmRelease
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog.templates import composite
from olmkit.jobs.catalog.templates.composite import CompositeOptions
from olmkit.jobs.image import publish
from olmkit.jobs.image.publish import PublishOptions
from olmkit.testing.registry import RegistryServer

RECORDED: Final = "127.0.0.1:5055"
CASES: Final = json.loads(
    (Path(__file__).parents[2] / "vectors" / "composite.json").read_text(encoding="utf-8")
)
DIFFERENT: Final = {
    "basic-current-form": "opm 1.43 takes a template of the current form for a custom blob",
    "two-outputs": "opm overwrites the file of the first component with that of the second",
    "leaves": "opm writes outside of the directory of the catalog",
}
BUNDLES: Final = ("1.0.0", "1.0.1", "1.1.0", "1.2.0", "2.0.0", "2.1.0", "2.1.1")


def _publish(host: str, vectors: Path, folder: Path) -> None:
    for version in BUNDLES:
        shutil.copytree(vectors / "rules/templates/bundles/pulley" / version, folder / version)
        options = PublishOptions(project=folder, target=f"{host}/pulley:{version}", push=True)
        asyncio.run(publish.build_bundle(version, options, Access()))


def _written(case: str, form: fbc.Form, host: str, folder: Path) -> dict[str, str] | None:
    """Return the digests of files written below the current directory; None if that is refused."""
    folder.mkdir()
    os.chdir(folder)
    files = {path: text.replace(RECORDED, host) for path, text in CASES[case]["files"].items()}
    for path, text in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    options = CompositeOptions(
        contribution=Path("composite.yaml"),
        catalogs="catalogs.yaml",
        form=form,
        level=Level.ALL,
        release=OpmRelease.parse("1.43"),
        run_commands=True,
        access=Access(environment=os.environ),
    )
    try:
        asyncio.run(composite.render_composite(options))
    except OlmkitError:
        assert {str(path) for path in Path().rglob("*") if path.is_file()} == set(files), case
        return None
    return {
        str(path): hashlib.sha256(
            path.read_bytes().replace(host.encode(), RECORDED.encode())
        ).hexdigest()
        for path in sorted(Path().rglob("*"))
        if path.is_file() and str(path) not in files
    }


def test_composite_templates_result_in_the_files_of_the_reference_or_are_also_refused(
    tmp_path: Path, vectors: Path, registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bundles").mkdir()
    monkeypatch.chdir(tmp_path)
    _publish(registry.host, vectors, tmp_path / "bundles")
    forms: tuple[fbc.Form, ...] = ("yaml", "json")

    different = {
        case
        for case in CASES
        for form in forms
        if _written(case, form, registry.host, tmp_path / f"{case}-{form}") != CASES[case][form]
    }

    assert different == set(DIFFERENT)
    assert len(CASES) == 40
    assert sum(CASES[case]["yaml"] is None for case in CASES) == 21
