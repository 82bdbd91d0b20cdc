"""The tables of fields: one reader, two views."""

from __future__ import annotations

import pytest

from olmkit.kube.builtin import table
from olmkit.kube.builtin.table import TypeField


def test_a_field_that_tools_always_write_need_not_be_required_by_the_api_server() -> None:
    differ = [
        f"{name}.{field}"
        for name, fields in table.written_types().items()
        for field, found in fields.items()
        if found.is_required != table.accepted_types()[name][field].is_required
    ]
    assert "ClusterRole.rules" in differ


def test_the_marks_of_a_field_are_read() -> None:
    fields = table.written_types()["APIServiceDescription"]
    assert fields["group"] == TypeField("s", is_required=True, omit_zero=False)
    assert fields["version"].is_required
    assert fields["containerPort"] == TypeField("i", is_required=False, omit_zero=False)
    assert any(field.omit_zero for one in table.written_types().values() for field in one.values())


def test_a_pointer_only_matters_for_writing() -> None:
    pointers = [
        (name, field)
        for name, fields in table.written_types().items()
        for field, found in fields.items()
        if found.type.startswith("*")
    ]
    assert pointers
    for name, field in pointers:
        assert not table.accepted_types()[name][field].type.startswith("*")


@pytest.mark.parametrize("view", [table.written_types, table.accepted_types])
def test_every_type_of_a_field_is_in_the_table(view: object) -> None:
    known = view()  # type: ignore[operator]
    plain = {"s", "b", "i", "f", "port", "quantity", "any"}
    for fields in known.values():
        for field in fields.values():
            name = field.type.lstrip("*").replace("[]", "").replace("{}", "").lstrip("*")
            name = name.removesuffix("|any")
            inner = name.replace("BetaOr", "Or").partition("Or")[0] if "Or" in name else name
            assert name in plain or name in known or inner in known, field
