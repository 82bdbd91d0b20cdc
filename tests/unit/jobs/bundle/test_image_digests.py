"""Digests of images from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.jobs.bundle import image_digests


def test_images_are_pinned_to_the_digests_in_a_file(tmp_path: Path) -> None:
    digest = "sha256:" + "a" * 64
    file = tmp_path / "digests.yaml"
    file.write_text(f"registry.example/app:v1: {digest}\nother:v2: other@{digest}\n")
    names = ("registry.example/app:v1", "other:v2", "unknown")
    assert image_digests.known_digests(file, names) == {
        "registry.example/app:v1": f"registry.example/app@{digest}",
        "other:v2": f"other@{digest}",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [("- a\n", "contains no digests"), ("a: latest\n", "invalid checksum digest")],
)
def test_a_file_of_digests_without_any_is_refused_with_its_place(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "digests.yaml").write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        image_digests.known_digests(tmp_path / "digests.yaml", ("a",))
    assert caught.value.diagnostics[0].at is not None
