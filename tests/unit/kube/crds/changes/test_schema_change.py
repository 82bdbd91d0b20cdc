from __future__ import annotations

import pytest

from olmkit.kube.crds.changes import schema_change
from olmkit.kube.crds.changes.schema_change import SchemaChange


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ((), "."),
        (("spec", "size"), "spec.size"),
        (("spec", "ports", "[]", "name"), "spec.ports[].name"),
        (("spec", "labels", "*"), "spec.labels.*"),
    ],
)
def test_a_field_is_shown_as_users_write_it(field: tuple[str, ...], words: str) -> None:
    assert schema_change.format_field(field) == words


def test_changes_that_refuse_or_remove_are_breaking() -> None:
    plain = SchemaChange(rule="a", keys=(), field=(), message="")

    assert not plain.is_breaking
    assert SchemaChange(rule="a", keys=(), field=(), message="", prunes=True).is_breaking
    assert SchemaChange(rule="a", keys=(), field=(), message="", refuses_stored=True).is_breaking
