"""The edge that runs helm: its input, its errors, its end."""

from __future__ import annotations

import asyncio
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.programs import helm
from olmkit.edges.programs.helm import Helm, HelmError, Inputs


def program(folder: Path, script: str) -> str:
    path = folder / "helm"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


def found(folder: Path, script: str, version: str = "v3.22.0") -> Helm:
    return Helm(
        program=program(folder, script),
        version=version,
        environment={"PATH": "/usr/bin:/bin", "HELM_DRIVER": "configmap"},
        home=folder,
    )


def inputs(folder: Path) -> Inputs:
    (folder / "Chart.yaml").write_text("name: c\n")
    chart = helm.chart(folder)
    return Inputs(
        chart=chart,
        values={"a": "s3cret", "n": 1000000},
        overrides={"b.c": "d"},
        label_name="l",
        label="x",
    )


def test_values_are_passed_in_a_private_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    chart = tmp_path / "chart"
    chart.mkdir()
    script = (
        f'echo "$@" >{log}; stat -c %a "$7" >>{log}; cat "$7" >>{log}; echo "$HELM_DRIVER" >>{log}'
    )
    given = found(tmp_path, script)
    asyncio.run(given.install("one", "ns", inputs(chart)))
    # The driver in the environment does not reach helm: releases are in Secrets.
    words, mode, values = log.read_text().splitlines()
    assert words.startswith(f"install one {chart} -n ns -f ")
    assert words.endswith("--set n=1000000 --set-string b.c=d --labels l=x")
    assert "s3cret" not in words
    assert (mode, values) == ("600", '{"a": "s3cret", "n": 1000000}')


def test_flags_follow_the_version_and_how_the_release_was_applied(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    chart.mkdir()
    log = tmp_path / "log"
    three = found(tmp_path, f'echo "$@" >>{log}')
    four = replace(three, version="v4.3.2")
    ways = [(three, False), (four, False), (four, True)]

    async def all_ways() -> None:
        for given, is_server_side in ways:
            for force in (False, True):
                more = {"is_server_side": is_server_side, "force": force}
                await given.rollback("one", "ns", 2, **more)
                await given.upgrade("one", "ns", inputs(chart), **more)

    asyncio.run(all_ways())
    given_flags = [
        line.removeprefix("rollback one 2 -n ns").rpartition("--labels l=x")[2].strip()
        for line in log.read_text().splitlines()
    ]
    client, server = "--server-side=false", "--server-side=true --force-conflicts"
    replaced = f"{client} --force-replace"
    assert given_flags == [
        *("", "", "--force", "--force"),
        *(client, client, replaced, replaced),
        # Helm 4 rejects a replacement with server-side apply: a rollback applies the revision.
        *(server, server, server, replaced),
    ]


def test_the_output_of_helm_is_the_error(tmp_path: Path) -> None:
    noise = "echo 'WARNING: x' >&2; echo 'level=WARN msg=\"no\" error=\"no\"' >&2; "
    script = noise + "echo 'Error: Kubernetes cluster unreachable: no' >&2; exit 1"
    with pytest.raises(HelmError) as caught:
        asyncio.run(found(tmp_path, script).uninstall("one", "ns"))
    assert caught.value.message == "Kubernetes cluster unreachable: no"
    assert caught.value.temporary


def test_a_stalled_helm_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "ended"
    script = f"trap 'echo x >{mark}; exit 1' TERM; sleep 60 & wait"
    limit = 0.5
    while not mark.exists():  # a busy machine may need more time to begin the script
        hanging = replace(found(tmp_path, script), timeout=limit)
        with pytest.raises(HelmError, match=rf"`helm uninstall` was ended after {limit} s"):
            asyncio.run(hanging.uninstall("one", "ns"))
        limit *= 2
        assert limit < 60, "the script was not told to end"
    assert mark.read_text() == "x\n"


def test_another_program_is_refused(tmp_path: Path) -> None:
    async def asked(name: str) -> Helm:
        return await helm.helm(name, environment={}, home=tmp_path)

    with pytest.raises(ConfigurationError, match="cannot run"):
        asyncio.run(asked(str(tmp_path / "missing")))
    for script in ("echo v2.17.0", "exit 3"):
        with pytest.raises(ConfigurationError, match="not a helm program"):
            asyncio.run(asked(program(tmp_path, script)))


def test_charts_are_directories_or_archives(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    with pytest.raises(ConfigurationError, match="is not a chart"):
        helm.chart(folder)
    (folder / "Chart.yaml").write_text("name: c\n")
    before = helm.chart(folder)
    assert before.name == "c"
    (folder / "values.yaml").write_text("a: 1\n")
    assert helm.chart(folder).digest != before.digest
    packed = tmp_path / "c-1.tgz"
    with tarfile.open(packed, "w:gz") as archive:
        member = tarfile.TarInfo("c/Chart.yaml")
        member.size = 8
        archive.addfile(member, io.BytesIO(b"name: p\n"))
    assert helm.chart(packed).name == "p"
    packed.write_bytes(b"junk")
    with pytest.raises(ConfigurationError, match="is not a chart"):
        helm.chart(packed)
