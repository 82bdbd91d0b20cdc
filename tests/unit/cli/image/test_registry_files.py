"""What commands with registries print about the files that configure them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.tree import Tree
from olmkit.cli import main
from olmkit.edges.images import transfer
from olmkit.edges.images.layout import Layout
from olmkit.oci import image, layer
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer

IMAGE = image.data_image(layer.write(Tree({"a": b"1"})), {}, created_by="test")


def test_an_unknown_key_is_a_warning_that_is_printed_once(
    registry: RegistryServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "registries.conf"
    file.write_text('[[registry]]\nlocation = "far.invalid"\nblockd = true\n')
    monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(file))
    layout = Layout(tmp_path / "l")
    asyncio.run(transfer.copy(MemoryStore.of(IMAGE), layout, IMAGE.descriptor, tag="x"))

    source, first, second = (
        f"oci:{tmp_path}/l:x",
        f"{registry.host}/registry-files:1",
        f"{registry.host}/registry-files:2",
    )
    assert main.run(["image", "copy", source, first]) == 0
    assert capsys.readouterr().err.count("warning[CFG004]") == 1
    assert main.run(["image", "copy", first, second]) == 0  # opens two repositories
    printed = capsys.readouterr().err
    assert printed.count("warning[CFG004]: unknown key `registry[0].blockd`") == 1
    assert f"--> {file}:3:1" in printed
    assert "did you mean `blocked`?" in printed
