"""The last lines of `bundle generate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.cli import main


@pytest.mark.parametrize(
    ("image", "end"),
    [
        (
            "example.com/toy:v0.0.1",
            "; to change the tag: olmkit edit --image example.com/toy:v0.2.0",
        ),
        ("example.com/toy:v0.2.0", ""),
        ("example.com/toy:latest", ""),
        (
            "example.com:5000/toy:v0.1.0",
            "; to change the tag: olmkit edit --image example.com:5000/toy:v0.2.0",
        ),
    ],
)
def test_version_and_image_are_the_last_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], image: str, end: str
) -> None:
    folder = str(tmp_path / "toy")
    assert main.run(["init", folder, "--domain", "example.com", "--image", image]) == 0
    assert main.run(["bundle", "generate", "-C", folder, "--version", "0.2.0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"version 0.2.0, image {image}{end}"


def test_a_placeholder_is_also_the_last_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "toy"
    assert main.run(["init", str(folder), "--domain", "example.com"]) == 0
    overlay = folder / "config/manager/kustomization.yaml"
    overlay.write_text(overlay.read_text().partition("images:")[0])
    assert main.run(["bundle", "generate", "-C", str(folder), "--version", "0.2.0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "version 0.2.0, image controller:latest, a placeholder; "
        "to name yours: olmkit edit --image REGISTRY/toy:v0.2.0"
    )
