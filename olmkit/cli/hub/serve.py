"""`olmkit hub serve`."""

from __future__ import annotations

import importlib
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmkit.base.diagnostics import OlmkitError
from olmkit.cli.frame import output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.output import plural
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.hub.options import require_libraries, source_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.hub.options import SourceOptions


@command(
    example="""
    olmkit hub serve catalog
    olmkit hub serve quay.io/example/catalog:v1 --port 0
    olmkit hub serve --bundle bundle/0.0.1
    """
)
@click.argument("references", metavar="REF...", nargs=-1)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Directory of a bundle to preview, as a catalog would show it.",
)
@click.option(
    "-p",
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port to listen on; 0 selects a free port.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on.",
)
@click.option("--title", default="", help="Title of the hub. Default: the name of the catalog.")
@click.option(
    "--reload",
    type=click.FloatRange(min=0.1, max=86_400.0),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to check the catalogs and the bundle for changes.",
)
@source_options
@registry_options
def serve(
    app: App,
    *,
    references: tuple[str, ...],
    bundle: Path | None,
    port: int,
    host: str,
    title: str,
    reload: float,
    source: SourceOptions,
    access: Access,
) -> None:
    """Serve web pages that show what catalogs or a bundle contain.

    REF is a directory or an image. The pages are those of `olmkit hub build`. A change is served
    without a restart; if a changed catalog or bundle cannot be read, the command prints the error
    and serves the previous pages. Addresses of operatorhub.io (`/operator/PACKAGE`) redirect to the
    page of the package.
    """
    import asyncio

    if not references and bundle is None:
        raise click.UsageError("Name a catalog, or a bundle with `--bundle`.")
    require_libraries()
    job = importlib.import_module("olmkit.jobs.hub.serve")
    options = job.ServeOptions(
        host=host, port=port, title=title, reload=reload, bundle=bundle, source=source
    )

    def ready(serving: Any) -> None:
        app.emit(
            {
                "address": serving.address,
                "packages": serving.packages,
                "pages": serving.pages,
                "failed": list(serving.failed),
            },
            text=f"serving {plural(serving.packages, 'package')} on {serving.address}",
        )
        app.terminal.out.flush()
        for line in serving.failed:
            app.terminal.say(f"warning: {line}")

    def failed(error: OlmkitError) -> None:
        words = output.error_text(error, color=app.terminal.color_err)
        app.terminal.say(f"{words}\nthe previous pages are still served")

    async def run() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await job.serve(references, options, access, ready=ready, failed=failed, stop=stop)

    app.run(run())
