"""Secrets in Kubernetes' binary form."""

from __future__ import annotations

import pytest

from olmkit.testing.apiserver import protobuf


def field(number: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    size, count = b"", len(data)
    while count > 0x7F:
        size, count = size + bytes([count & 0x7F | 0x80]), count >> 7
    return bytes([number << 3 | 2]) + size + bytes([count]) + data


def message(kind: str, raw: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, "v1") + field(2, kind)) + field(2, raw)


def test_a_secret_is_read() -> None:
    metadata = (
        field(1, "release")
        + field(3, "default")
        + field(5, "")
        + b"\x38\x96\x01"  # generation: a number
        + field(11, field(1, "owner") + field(2, "helm"))
    )
    raw = field(1, metadata) + field(2, field(1, "release") + field(2, b"\xff" * 300))
    found = protobuf.decode(message("Secret", raw + field(3, "helm.sh/release.v1")))
    assert found["metadata"] == {
        "name": "release",
        "namespace": "default",
        "labels": {"owner": "helm"},
    }
    assert found["data"]["release"] == "/" * 400
    assert (found["apiVersion"], found["kind"]) == ("v1", "Secret")
    assert found["type"] == "helm.sh/release.v1"


def test_the_options_of_a_deletion_are_read() -> None:
    found = protobuf.decode(message("DeleteOptions", b"\x08\x05" + field(4, "Background")))
    assert (found["gracePeriodSeconds"], found["propagationPolicy"]) == (5, "Background")
    assert found["kind"] == "DeleteOptions"


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        message("Pod", b""),
        message("Secret", field(1, "x" * 200)[:-1]),
        b"k8s\x00\x0b",
        b"k8s\x00\x08\x01",
        b"k8s\x00\x80",
    ],
)
def test_anything_else_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"binary form"):
        protobuf.decode(body)
