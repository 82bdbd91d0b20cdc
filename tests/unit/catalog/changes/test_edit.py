from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.changes import edit

ENTRY = {"name": "c", "replaces": "b"}


def with_entry(data: bytes, path: str = "x.yaml", new: tuple[Blob, ...] = ()) -> bytes:
    """The file with one more entry in its only channel."""
    old: list[tuple[Blob, Blob | None]] = []
    for blob in fbc.load_stream(data, path):
        changed = None
        if blob.schema == "olm.channel":
            value = blob.value
            value["entries"] = [*(value.get("entries") or ()), ENTRY]
            changed = Blob.of(value)
        old.append((blob, changed))
    return edit.edit_file(data, path, old, new)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "schema: olm.channel\nentries: # all\n  - name: a # first\n  # then\n\n"
            "  -   name: b\n      replaces: a\n\n# end\nname: s # it\npackage: p\n",
            "schema: olm.channel\nentries: # all\n  - name: a # first\n  # then\n\n"
            "  -   name: b\n      replaces: a\n  - name: c\n    replaces: b\n"
            "\n# end\nname: s # it\npackage: p\n",
            id="comments and indents stay",
        ),
        pytest.param(
            "schema: olm.channel\nname: s\npackage: p\nentries:\n- name: b",
            "schema: olm.channel\nname: s\npackage: p\nentries:\n- name: b\n- name: c\n"
            "  replaces: b\n",
            id="a file without a last line end",
        ),
        pytest.param(
            "schema: olm.channel\r\nentries:\r\n- name: b\r\nname: s\r\npackage: p\r\n",
            "schema: olm.channel\r\nentries:\r\n- name: b\r\n- name: c\r\n  replaces: b\r\n"
            "name: s\r\npackage: p\r\n",
            id="line ends of the other kind",
        ),
        pytest.param(
            "x: 1 # kept\nschema: w\n---\nschema: olm.channel\nname: s\npackage: p\n"
            "entries: [{name: b}]\n---\nschema: z # kept\n",
            "x: 1 # kept\nschema: w\n---\nentries:\n- name: b\n- name: c\n  replaces: b\nname: s\n"
            "package: p\nschema: olm.channel\n---\nschema: z # kept\n",
            id="entries in brackets are written again",
        ),
        pytest.param(
            "---\nschema: olm.channel # x\nname: s\npackage: p\n",
            "---\nentries:\n- name: c\n  replaces: b\nname: s\npackage: p\nschema: olm.channel\n",
            id="a channel without entries",
        ),
    ],
)
def test_only_the_lines_of_the_entry_are_new(before: str, after: str) -> None:
    assert with_entry(before.encode()).decode() == after


def test_a_channel_in_json_is_rewritten_in_its_order() -> None:
    data = b'{"schema":"olm.channel","name":"s","more":1,"package":"p","entries":[]} {"schema":"x"}'

    assert with_entry(data, "x.json") == (
        b'{\n    "schema": "olm.channel",\n    "name": "s",\n    "more": 1,\n    "package": "p",\n'
        b'    "entries": [\n        {\n            "name": "c",\n            "replaces": "b"\n'
        b'        }\n    ]\n} {"schema":"x"}\n'
    )


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_file_in_the_format_of_olmkit_is_rewritten(form: fbc.Form) -> None:
    values: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": "p", "defaultChannel": "s"},
        {"schema": "olm.channel", "name": "s", "package": "p", "entries": [{"name": "b"}]},
        {"schema": "olm.bundle", "name": "b", "package": "p", "image": ""},
    ]
    data = fbc.dump([Blob.of(value) for value in values], form)
    new = Blob.of({"schema": "olm.bundle", "name": "a", "package": "p", "image": ""})

    written = with_entry(data, f"x.{form}", (new,))

    found = list(fbc.load_stream(written, f"x.{form}"))
    assert fbc.dump(found, form) == written
    assert [blob.name for blob in found] == ["p", "s", "a", "b"]


def test_new_blobs_are_at_the_end_of_any_other_file() -> None:
    new = Blob.of({"schema": "olm.bundle", "name": "a", "package": "p", "image": ""})

    written = edit.edit_file(
        b"schema: w # kept",
        "x.yaml",
        [(blob, None) for blob in fbc.load_stream(b"schema: w # kept", "x.yaml")],
        (new,),
    )

    assert written == (
        b'schema: w # kept\n---\nimage: ""\nname: a\npackage: p\nschema: olm.bundle\n'
    )


def test_a_channel_that_cannot_be_changed_is_kept() -> None:
    data = b"schema: olm.channel\nname: s\npackage: p\nentries: [{name: b}]\n...\nlost: yes\n"
    (old,) = fbc.load_stream(data, "x.yaml")
    new = Blob.of({**old.value, "entries": [{"name": "b"}, ENTRY], "name": "other"})

    with pytest.raises(InputError, match="cannot be changed"):
        edit.edit_file(
            data, "x.yaml", [(old, Blob(schema="x", package="", name="", data=b"{}"))], ()
        )
    assert b"other" in edit.edit_file(data, "x.yaml", [(old, new)], ())
