"""PNG from SVG, by any available program."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges.programs import png

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>'


def program(folder: Path, name: str, script: str) -> dict[str, str]:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_the_picture_is_the_output_of_the_program(tmp_path: Path) -> None:
    environment = program(tmp_path, "rsvg-convert", "printf '\\211PNG'; cat")
    assert asyncio.run(png.from_svg(SVG, environment)) == b"\x89PNG" + SVG


@pytest.mark.parametrize("script", ["exit 3", "echo no picture", "printf '\\211PNG'; exit 1"])
def test_a_program_that_fails_is_an_error(tmp_path: Path, script: str) -> None:
    environment = program(tmp_path, "rsvg-convert", script)
    with pytest.raises(RemoteError, match="without a picture"):
        asyncio.run(png.from_svg(SVG, environment))


def test_a_program_that_does_not_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(png, "_SECONDS", 0.2)
    environment = program(tmp_path, "rsvg-convert", "exec sleep 60")
    with pytest.raises(RemoteError, match="does not make a picture"):
        asyncio.run(png.from_svg(SVG, environment))


def test_without_a_program_the_error_names_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="converts SVG to PNG") as caught:
        asyncio.run(png.from_svg(SVG, {"PATH": str(tmp_path)}))
    assert "rsvg-convert" in caught.value.hint
