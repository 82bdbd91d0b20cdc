"""`olmkit catalog serve`."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.output import plural
from olmkit.cli.frame.registry_options import registry_options
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import serve as serve_job
from olmkit.jobs.catalog.serve import Serving


@command(
    example="""
    olmkit catalog serve catalog
    olmkit catalog serve /configs --cache-dir ~/.cache/olmkit/catalog
    olmkit catalog serve quay.io/example/catalog:v1 --port 0
    grpcurl -plaintext localhost:50051 api.Registry/ListPackages
    """
)
@click.argument("reference", metavar="REF")
@click.option(
    "-p",
    "--port",
    type=click.IntRange(0, 65535),
    default=50051,
    show_default=True,
    envvar="OLMKIT_SERVE_PORT",
    help="Port to listen on; 0 selects a free port.",
)
@click.option(
    "--host",
    default="",
    metavar="ADDRESS",
    envvar="OLMKIT_SERVE_HOST",
    help="Address to listen on, instead of all addresses.",
)
@click.option(
    "--cache-dir",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="OLMKIT_CACHE_DIR",
    help="Directory for a cache of the catalog, for a faster next start.",
)
@click.option("--cache-only", is_flag=True, help="Fill the cache directory and exit.")
@registry_options
def serve(
    app: App,
    *,
    reference: str,
    port: int,
    host: str,
    cache_dir: Path | None,
    cache_only: bool,
    access: Access,
) -> None:
    """Serve a catalog to OLM v0 over gRPC.

    REF is a directory or an image. Health is NOT_SERVING until the catalog is ready. The server
    does not notice changes of the catalog until it restarts.
    """
    if cache_only:
        if cache_dir is None:
            raise click.UsageError("`--cache-only` needs `--cache-dir`.")
        prepared = app.run(serve_job.fill_cache(reference, cache_dir, access=access))
        app.emit({"cached": prepared.cached}, diagnostics=prepared.findings)
        return

    def ready(serving: Serving) -> None:
        _announce(app, serving, cache_wanted=cache_dir is not None)

    async def run() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await serve_job.serve(
            reference,
            host=host,
            port=port,
            cache_folder=cache_dir,
            access=access,
            ready=ready,
            stop=stop,
        )

    serve_job.keep_freed_memory()
    app.run(run())


def _announce(app: App, serving: Serving, *, cache_wanted: bool) -> None:
    where = f"[{serving.host}]" if ":" in serving.host else serving.host or "0.0.0.0"  # noqa: S104
    address = f"{where}:{serving.port}"
    if app.is_json:
        app.emit(
            {
                "address": address,
                "packages": serving.packages,
                "bundles": serving.bundles,
                "cached": serving.cached,
            },
            diagnostics=serving.findings,
        )
        app.terminal.out.flush()
        return
    app.report(serving.findings)
    if cache_wanted and not serving.kept:
        app.terminal.say(
            "warning: the cache cannot be kept: its folder is not writable, "
            "or another process is writing there"
        )
    amount = f"{plural(serving.packages, 'package')}, {plural(serving.bundles, 'bundle')}"
    app.terminal.say(f"serving {amount} on {address}")
