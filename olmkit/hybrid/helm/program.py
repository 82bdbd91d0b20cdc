"""The program of a Helm operator: `python -m olmkit.hybrid helm`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges import paths
from olmkit.edges.programs import helm
from olmkit.edges.programs.helm import Helm, HelmError
from olmkit.hybrid import process
from olmkit.hybrid.helm import watches
from olmkit.hybrid.helm.controllers import HelmOperator
from olmkit.hybrid.helm.watches import HelmWatch
from olmkit.hybrid.process import Program
from olmkit.runtime import process as runtime
from olmkit.runtime.flags import Flags

_PERIOD = 60.0  # seconds
_OWN, _EACH = 64, 80  # MiB: the operator, and helm


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that only a Helm operator has."""
    add = parser.add_argument
    add("--helm", default="helm", metavar="PROGRAM", help="the helm program, version 3 or 4")
    add(
        "--suppress-override-values",
        action="store_true",
        help="mask the override values in events",
    )


async def _build_operator(flags: Flags, environment: Mapping[str, str], home: Path) -> HelmOperator:
    listed = process.read_watches(watches.read, flags.own.watches_file, environment)
    return await build_operator(listed, flags, environment, home)


async def build_operator(
    listed: Sequence[HelmWatch], flags: Flags, environment: Mapping[str, str], home: Path
) -> HelmOperator:
    """Return the operator of these entries; raise `ConfigurationError` without chart or helm."""
    file: Path = flags.own.watches_file
    charts = [helm.chart(_place(file, one)) for one in listed]
    program = await helm.helm(
        flags.own.helm, environment=environment, home=home, kubeconfig=flags.kubeconfig
    )
    entries = [
        (await _render_templates(one, program), chart)
        for one, chart in zip(listed, charts, strict=True)
    ]
    return HelmOperator(
        entries=entries,
        helm=program,
        now=runtime.timestamp,
        period=_PERIOD if flags.own.reconcile_period is None else flags.own.reconcile_period,
        workers=flags.workers,
        hides_overrides=flags.own.suppress_override_values,
    )


async def _render_templates(watch: HelmWatch, program: Helm) -> HelmWatch:
    """Return the entry with its templates rendered, or raise `ConfigurationError`."""
    found = watches.templates(watch)
    if not found:
        return watch
    try:
        filled = await program.filled(found)
    except HelmError as error:
        raise ConfigurationError(
            f"{watch.at}: a template in `overrideValues` cannot be filled in: {error.message}",
            hint="it may use the functions of Helm's templates",
        ) from None
    return replace(watch, override_values={**watch.override_values, **filled})


def _place(file: Path, watch: HelmWatch) -> Path:
    """Return the path of a chart, relative to the working directory, as in helm-operator."""
    return Path(watch.chart) if paths.exists(Path(watch.chart)) else file.parent / watch.chart


PROGRAM = Program(
    name="helm-operator",
    workers=process.workers(own=_OWN, each=_EACH),
    period=_PERIOD,
    add_flags=add_flags,
    describe=_build_operator,
)
