"""Annotations and the Containerfile."""

from __future__ import annotations

import pytest

from olmkit.base import documents
from olmkit.bundle import metadata

OWN = "operators.operatorframework.io"


def values(**more: object) -> dict[str, str]:
    settings: dict[str, object] = {
        "package": "p",
        "channels": "a,b",
        "builder": "olmkit-test",
        "project_layout": "unknown",
        **more,
    }
    return metadata.annotation_values(**settings)  # type: ignore[arg-type]


def test_annotations_have_the_usual_order() -> None:
    found = values(default_channel="a", has_scorecard=True, others={"z.io/x": "1", "a.io/x": "2"})
    assert [key.removeprefix(OWN) for key in found] == [
        ".bundle.mediatype.v1",
        ".bundle.manifests.v1",
        ".bundle.metadata.v1",
        ".bundle.package.v1",
        ".bundle.channels.v1",
        ".bundle.channel.default.v1",
        "a.io/x",
        ".metrics.builder",
        ".metrics.mediatype.v1",
        ".metrics.project_layout",
        "z.io/x",
        ".test.mediatype.v1",
        ".test.config.v1",
    ]


def test_old_values_of_generated_annotations_are_replaced() -> None:
    old = {f"{OWN}.bundle.package.v1": "old", f"{OWN}.test.config.v1": "old", "own": "kept"}
    found = values(others=old)
    assert "old" not in found.values()
    assert found["own"] == "kept"


@pytest.mark.parametrize("channel", ["1.0", "true", "a b", "x: y", "~", "é"])
def test_values_are_read_back(channel: str) -> None:
    data = metadata.annotations_file(values(channels=channel, others={"own": channel}))
    read = documents.load(data, "annotations.yaml").value["annotations"]
    assert read[f"{OWN}.bundle.channels.v1"] == read["own"] == channel


def test_a_containerfile_copies_existing_directories() -> None:
    text = metadata.containerfile(values(has_scorecard=True), "bundle").decode()
    assert text.startswith("FROM scratch\n")
    assert text.endswith(
        "COPY bundle/manifests /manifests/\n"
        "COPY bundle/metadata /metadata/\n"
        "COPY bundle/tests/scorecard /tests/scorecard/\n"
    )
    assert f"LABEL {OWN}.bundle.channels.v1=a,b\n" in text
    assert "scorecard" not in metadata.containerfile(values(), "bundle").decode()
    assert "COPY manifests /manifests/" in metadata.containerfile(values(), "").decode()


def test_labels_with_special_characters_are_quoted() -> None:
    text = metadata.containerfile(values(others={"own": 'a "b" $c'}), "").decode()
    assert 'LABEL own="a \\"b\\" \\$c"' in text


def test_lines_of_the_user_are_kept_in_a_containerfile() -> None:
    existing = b"""FROM registry.example.com/base:v1

# Core bundle labels.
LABEL operators.operatorframework.io.bundle.package.v1=old
LABEL "own.label"="x"
LABEL vendor=me


# Ours.
COPY LICENSE /licenses/
COPY bundle/manifests /manifests/
copy old/metadata /metadata/
USER 1001
"""
    text = metadata.containerfile(values(others={"own.label": "y"}), "bundle", existing).decode()
    lines = text.splitlines()
    assert lines[0] == "FROM registry.example.com/base:v1"
    assert text.count("/manifests/") == 1
    assert "package.v1=old" not in text
    assert text.count("own.label") == 1
    assert lines[-5:] == ["LABEL vendor=me", "", "# Ours.", "COPY LICENSE /licenses/", "USER 1001"]
    again = metadata.containerfile(values(others={"own.label": "y"}), "bundle", text.encode())
    assert again.decode() == text


def test_a_generated_containerfile_has_no_lines_of_a_user() -> None:
    text = metadata.containerfile(values(has_scorecard=True), "bundle")
    assert metadata.containerfile(values(has_scorecard=True), "bundle", text) == text
