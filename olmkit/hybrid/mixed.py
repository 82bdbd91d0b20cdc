"""An operator with code and a `watches.yaml`: all kinds in one process.

Its file may have entries with charts and entries with roles or playbooks. Their controllers work
in the manager of the operator, next to those in Python.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olmkit.hybrid import process, watches
from olmkit.hybrid.ansible import program as ansible_program
from olmkit.hybrid.ansible.watches import AnsibleWatch
from olmkit.hybrid.helm import program as helm_program
from olmkit.hybrid.helm.watches import HelmWatch
from olmkit.hybrid.process import Described, EntryReconciler, Program
from olmkit.runtime.client import Client
from olmkit.runtime.flags import Flags
from olmkit.runtime.manager import Manager
from olmkit.runtime.process import Operator


def main(
    operator: Operator,
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run the operator with the kinds of its `watches.yaml`; the exit code.

    The flags are those of the operator, of Helm and of Ansible operators. `--once` makes one pass
    over the kinds of `watches.yaml` alone.
    """
    program = Program(
        name=operator.name,
        workers=operator.workers,
        period=None,
        add_flags=add_flags,
        describe=build_operator,
        around=operator,
    )
    return process.main(program, sys.argv[1:] if arguments is None else arguments, environment)


def add_flags(parser: argparse.ArgumentParser) -> None:
    helm_program.add_flags(parser)
    ansible_program.add_flags(parser)


async def build_operator(flags: Flags, environment: Mapping[str, str], home: Path) -> MixedOperator:
    listed = process.read_watches(watches.read, flags.own.watches_file, environment)
    charts = [one for one in listed if isinstance(one, HelmWatch)]
    others = [one for one in listed if isinstance(one, AnsibleWatch)]
    parts: list[Described] = []
    # What no entry needs need not be installed.
    if charts:
        parts.append(await helm_program.build_operator(charts, flags, environment, home))
    if others:
        parts.append(await ansible_program.build_operator(others, flags, environment, home))
    return MixedOperator(tuple(parts))


@dataclass(frozen=True, slots=True)
class MixedOperator:
    """The operator's parts by runner."""

    parts: tuple[Described, ...]

    def add_controllers(self, manager: Manager) -> None:
        """Put the controllers of all parts into a manager."""
        for one in self.parts:
            one.add_controllers(manager)

    def reconcilers(self, client: Client) -> Iterable[EntryReconciler]:
        """Yield one for each entry."""
        for one in self.parts:
            yield from one.reconcilers(client)

    def close(self) -> None:
        """End the remaining work after the manager has ended."""
        for one in self.parts:
            one.close()

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Provide what the reconcilers of all parts need while they work without a manager."""
        async with contextlib.AsyncExitStack() as stack:
            for one in self.parts:
                await stack.enter_async_context(one.working())
            yield
