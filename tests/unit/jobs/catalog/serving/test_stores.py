"""Building the file that answers for a catalog; `test_serve.py` tests its use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.serve import metas, registry_build
from olmkit.catalog.serve.registry_api import RegistryApi
from olmkit.edges.folder import Folder
from olmkit.jobs.catalog.serving import prepared_catalogs, stores
from olmkit.jobs.catalog.serving.settings import CatalogChangedError

GOOD = b'{"schema": "note", "text": "fine"}\n'


def test_warnings_are_reported() -> None:
    made = stores.build("here", Tree({"note.yaml": b"schema: note\n...\nschema: lost\n"}), None)
    made.store.close()
    assert [found.rule for found in made.findings] == ["FBC001"]


def test_it_answers_at_once() -> None:
    made = stores.build("here", Tree({"note.json": GOOD}), None)
    registry = RegistryApi(made.store.index, made.store.read)
    assert len(list(registry.list_custom_blobs("note", ""))) == 1
    made.store.close()


@pytest.mark.parametrize(
    "data",
    [b"{", b"[]", b"schema: [", b"\xff\xfe\x00", b"\0\1\2", b"schema: olm.bundle\n", b"---\n\n"],
)
def test_an_input_that_is_not_a_catalog_is_refused_with_a_place(data: bytes) -> None:
    with pytest.raises(InputError) as error:
        stores.build("here", Tree({"a.yaml": data}), None)
    assert next(found.at.path for found in error.value.diagnostics if found.at) == "here/a.yaml"


def catalog(version: str) -> str:
    name = f"cog.v{version}"
    about = {"packageName": "cog", "version": version}
    blobs: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "cog", "name": "stable", "entries": [{"name": name}]},
        {
            "schema": "olm.bundle",
            "package": "cog",
            "name": name,
            "image": "registry.example/cog:1",
            "properties": [{"type": "olm.package", "value": about}],
        },
    ]
    return "\n".join(map(json.dumps, blobs))


@pytest.mark.parametrize("text", [catalog("2.0.0"), catalog("10.20.30"), "{", ""])
@pytest.mark.parametrize(("module", "with_lines"), [(registry_build, False), (metas, True)])
def test_a_catalog_that_changes_while_it_is_read_is_neither_served_nor_an_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    module: Any,
    with_lines: bool,
) -> None:
    file = tmp_path / "catalog.json"
    file.write_text(catalog("1.0.0"))
    build: Callable[..., Any] = module.build

    def change_and_build(*arguments: Any) -> Any:
        other = tmp_path.parent / "unfinished"
        other.write_text(text)
        other.replace(file)  # as tools write: the new content replaces the old one atomically
        return build(*arguments)

    monkeypatch.setattr(module, "build", change_and_build)
    with pytest.raises(CatalogChangedError, match="changed while it was read"):
        prepared_catalogs.prepare(str(tmp_path), Folder(tmp_path), None, with_lines)
