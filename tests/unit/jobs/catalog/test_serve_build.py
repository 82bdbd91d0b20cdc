"""Making the file that a catalog is answered from; `test_serve.py` has what comes of it."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.serve.registry_api import RegistryApi
from olmkit.jobs.catalog import serve_build

GOOD = b'{"schema": "note", "text": "fine"}\n'


def test_what_is_odd_and_no_error_is_reported() -> None:
    made = serve_build.build(
        "here", Tree({"note.yaml": b"schema: note\n...\nschema: lost\n"}), None
    )
    made.store.close()
    assert [found.rule for found in made.findings] == ["FBC001"]


def test_it_answers_at_once() -> None:
    made = serve_build.build("here", Tree({"note.json": GOOD}), None)
    registry = RegistryApi(made.store.index, made.store.read)
    assert len(list(registry.list_custom_blobs("note", ""))) == 1
    made.store.close()


@pytest.mark.parametrize(
    "data",
    [b"{", b"[]", b"schema: [", b"\xff\xfe\x00", b"\0\1\2", b"schema: olm.bundle\n", b"---\n\n"],
)
def test_what_is_not_a_catalog_is_refused_with_a_place(data: bytes) -> None:
    with pytest.raises(InputError) as error:
        serve_build.build("here", Tree({"a.yaml": data}), None)
    assert next(found.at.path for found in error.value.diagnostics if found.at) == "here/a.yaml"
