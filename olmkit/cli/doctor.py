"""`olmkit doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.doctor import MachineCheck


@command(
    project=True,
    example="""
    olmkit doctor
    olmkit doctor --context kind-dev -o json
    """,
)
@cluster_options
@registry_options
def doctor(app: App, *, target: Target, access: Access) -> None:
    """Show what this machine has for olmkit, what is missing, and how to get it.

    Looks for the extras of olmkit, programs that some commands call, credentials of registries, a
    project in the current directory, and the cluster of the kubeconfig. Contacts only that
    cluster. The exit code is 1 if something is broken, not if it is missing.
    """
    from olmkit.jobs import doctor as job

    found = app.run(job.examine(app.project, access, target.open()))
    app.emit(
        {
            "findings": [
                {
                    "subject": one.subject,
                    "state": str(one.state),
                    "detail": one.detail,
                    "hint": one.hint or None,
                }
                for one in found
            ]
        },
        text=lambda: "\n".join(_lines(found)),
    )
    if any(one.state is job.State.BROKEN for one in found):
        app.exit(Exit.NO)


def _lines(found: tuple[MachineCheck, ...]) -> list[str]:
    state_width = max(len(one.state) for one in found)
    width = max(len(one.subject) for one in found)
    indent = " " * (state_width + width + 4)
    lines = []
    for one in found:
        lines.append(f"{one.state:<{state_width}}  {one.subject:<{width}}  {one.detail}")
        if one.hint:
            lines.append(f"{indent}hint: {one.hint}")
    return lines
