"""An operator with a kind in Python and a `watches.yaml`; `FAKE` replaces Ansible."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from olmkit.edges.programs.ansible import installed
from olmkit.edges.programs.ansible.runner_program import AnsibleRunner
from olmkit.hybrid import mixed
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.flags import Flags
from olmkit.runtime.manager import Manager
from olmkit.runtime.process import Operator
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request, Result

NOTE = GVK("demo.example.com", "v1", "Note")


class NoteReconciler:
    """Writes the text of a note into a ConfigMap with its name."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def reconcile(self, request: Request) -> Result:
        note = await self.client.get(NOTE, request)
        if note is not None:
            await self.client.apply(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": request.name, "namespace": request.namespace},
                    "data": {"text": note["spec"]["text"]},
                }
            )
        return Result()


def add_controllers(manager: Manager, _: Flags, __: Mapping[str, str]) -> None:
    manager.add_controller(
        ControllerBuilder()
        .named("note")
        .watches_for(NOTE)
        .build(NoteReconciler(manager.client), registry=manager.registry)
    )


async def runner(environment: Mapping[str, str], *_: object) -> AnsibleRunner:
    return AnsibleRunner(command=(sys.executable, os.environ["FAKE"]), environment=environment)


if __name__ == "__main__":
    if "FAKE" in os.environ:
        installed.runner = runner
    sys.exit(mixed.main(Operator(name="mixed", lock="mixed", add_controllers=add_controllers)))
