"""Releases in Secrets, and manifests without the data of Secrets."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.hybrid import masks
from olmkit.hybrid.helm import releases
from olmkit.hybrid.helm.releases import Release

MANIFEST = """\
---
# Source: c/templates/secret.yaml
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {password: aHVudGVyMg==}
stringData: {user: administrator}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {a: b}
"""


def secret(value: Any, *, packed: bytes | None = None, **labels: str) -> dict[str, Any]:
    data = gzip.compress(json.dumps(value).encode()) if packed is None else packed
    return {
        "metadata": {"name": "sh.helm.release.v1.one.v1", "labels": labels},
        "data": {"release": base64.b64encode(base64.b64encode(data)).decode()},
    }


def test_a_release_is_read() -> None:
    value = {
        "name": "one",
        "version": 3,
        "info": {"status": "deployed", "notes": "hello"},
        "chart": {"metadata": {"name": "c"}},
        "manifest": MANIFEST,
    }
    found = releases.decode(secret(value, **{releases.INPUT_LABEL: "abc"}))
    assert found == Release(
        name="one",
        revision=3,
        status="deployed",
        secret="sh.helm.release.v1.one.v1",
        chart="c",
        manifest=MANIFEST,
        notes="hello",
        input="abc",
    )
    assert releases.decode(secret(value | {"apply_method": "ssa"})).is_server_side
    assert not releases.decode(secret(value | {"apply_method": "csa"})).is_server_side


def test_an_invalid_release_is_refused() -> None:
    bomb = zlib.compressobj(9, wbits=31)
    packed = bomb.compress(b" " * (80 << 20)) + bomb.flush()
    for bad in (
        {"metadata": {"name": "x"}},
        secret({}, packed=b"\x1f\x8bxx"),
        secret([]),
        secret({"version": "x"}),
        secret({}, packed=packed),
    ):
        with pytest.raises(InputError, match="holds no release"):
            releases.decode(bad)


def test_data_of_secrets_is_removed_from_a_manifest() -> None:
    masked = releases.mask(MANIFEST)
    assert "aHVudGVyMg" not in masked
    assert "administrator" not in masked
    assert "password: '***'" in masked
    assert "a: b" in masked
    plain = MANIFEST.split("---\n")[2]
    assert releases.mask(plain) == plain
    values = masks.secrets_of(releases.manifests(MANIFEST))
    assert masks.hidden("hunter2 for administrator, b", values) == "*** for ***, b"


def test_lists_are_expanded_and_order_is_ignored() -> None:
    listed = "apiVersion: v1\nkind: List\nitems:\n- {kind: A}\n- {kind: B}\n"
    assert releases.manifests(listed) == [{"kind": "A"}, {"kind": "B"}]
    assert releases.same("kind: A\n---\nkind: B\n", "\n# x\nkind: B\n---\n\nkind: A\n---\n")
    assert not releases.same("kind: A\n", "kind: A\n---\nkind: A\n")


def revision(number: int, status: str) -> Release:
    return Release(name="one", revision=number, status=status, secret=f"s{number}")


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ([], None),
        ([revision(1, "pending-install")], None),
        ([revision(1, "failed")], 1),
        ([revision(2, "failed"), revision(1, "deployed")], 1),
        ([revision(2, "deployed"), revision(3, "pending-upgrade")], 2),
        ([revision(3, "failed"), revision(2, "failed")], 3),
    ],
)
def test_the_current_revision_is_selected(stored: list[Release], wanted: int | None) -> None:
    found = releases.current(stored)
    assert (found.revision if found else None) == wanted


def test_the_digest_is_a_label_and_depends_on_every_input() -> None:
    base: dict[str, Any] = {"chart": "c", "helm": "v3.1.0", "values": {"a": 1}, "overrides": {}}
    one = releases.digest(**base)
    assert len(one) == 40
    assert releases.digest(**base) == one
    changed = [
        {"chart": "d"},
        {"helm": "v4.0.0"},
        {"values": {"a": "1"}},
        {"overrides": {"b": "c"}},
    ]
    assert len({releases.digest(**(base | more)) for more in changed} | {one}) == 5
