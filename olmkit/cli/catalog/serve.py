"""`olmkit catalog serve`."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from olmkit.base import names
from olmkit.base.diagnostics import OlmkitError
from olmkit.cli.frame import output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.output import plural
from olmkit.cli.frame.registry_options import registry_options
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import serve as serve_job
from olmkit.jobs.catalog.serve import HttpSettings, Serving, default_name


@command(
    example="""
    olmkit catalog serve catalog
    olmkit catalog serve /configs --cache-dir ~/.cache/olmkit/catalog
    olmkit catalog serve quay.io/example/catalog:v1 --port 0
    olmkit catalog serve catalog --http-port 8080 --reload 5
    curl localhost:8080/catalogs/catalog/api/v1/metas?schema=olm.package
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
@click.option(
    "--http-port",
    type=click.IntRange(0, 65535),
    envvar="OLMKIT_SERVE_HTTP_PORT",
    help="Port of the HTTP API of OLM v1; without it, only gRPC is served.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the catalog in the HTTP API. [default: the last part of REF]",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Certificate of the HTTP API, as a PEM file.",
)
@click.option(
    "--tls-key",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Key of the certificate, as a PEM file.",
)
@click.option(
    "--reload",
    type=click.FloatRange(min=0.1, max=86_400.0),
    metavar="SECONDS",
    help="Look for a change of the catalog at this interval, and serve the new content.",
)
@click.option("--cache-only", is_flag=True, help="Fill the cache directory and exit.")
@registry_options
def serve(
    app: App,
    *,
    reference: str,
    port: int,
    host: str,
    http_port: int | None,
    name: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    reload: float | None,
    cache_dir: Path | None,
    cache_only: bool,
    access: Access,
) -> None:
    """Serve a catalog to OLM v0 over gRPC, and to OLM v1 over HTTP.

    REF is a directory or an image. Health is NOT_SERVING until the catalog is ready. With
    `--http-port`, the paths are those of catalogd: `/catalogs/NAME/api/v1/all` and
    `/catalogs/NAME/api/v1/metas` with the parameters `schema`, `package` and `name`; `/healthz`
    and `/readyz` are for probes.

    Without `--reload`, the server does not notice changes of the catalog until it restarts. A
    changed catalog that is not valid is reported, and the old one stays.
    """
    http = _http_settings(reference, http_port, name, tls_cert, tls_key)
    if cache_only:
        if cache_dir is None:
            raise click.UsageError("`--cache-only` needs `--cache-dir`.")
        prepared = app.run(
            serve_job.fill_cache(reference, cache_dir, access=access, with_lines=http is not None)
        )
        app.emit({"cached": prepared.cached}, diagnostics=prepared.findings)
        return

    def ready(serving: Serving) -> None:
        _announce(app, serving, cache_wanted=cache_dir is not None)

    def failed(error: OlmkitError) -> None:
        words = output.error_text(error, color=app.terminal.color_err)
        app.terminal.say(f"{words}\nthe catalog as it was before is still served")

    async def run() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await serve_job.serve(
            reference,
            host=host,
            port=port,
            http=http,
            reload=reload,
            cache_folder=cache_dir,
            access=access,
            ready=ready,
            failed=failed,
            stop=stop,
        )

    serve_job.keep_freed_memory()
    app.run(run())


def _http_settings(
    reference: str,
    port: int | None,
    name: str | None,
    certificate: Path | None,
    key: Path | None,
) -> HttpSettings | None:
    if (certificate is None) != (key is None):
        raise click.UsageError("`--tls-cert` and `--tls-key` need each other.")
    if port is None:
        if name is not None or certificate is not None:
            raise click.UsageError("`--name` and `--tls-cert` need `--http-port`.")
        return None
    chosen = name or default_name(reference)
    if not names.is_subdomain(chosen):
        raise click.UsageError(
            f"`{chosen}` cannot be the name of a catalog; pass a DNS subdomain with `--name`."
        )
    return HttpSettings(name=chosen, port=port, certificate=certificate, key=key)


def _announce(app: App, serving: Serving, *, cache_wanted: bool) -> None:
    where = f"[{serving.host}]" if ":" in serving.host else serving.host or "0.0.0.0"  # noqa: S104
    address = f"{where}:{serving.port}"
    http_address = f"{where}:{serving.http_port}"
    if app.is_json:
        app.emit(
            {
                "address": address,
                **({"httpAddress": http_address} if serving.http_port else {}),
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
    over_http = f", over HTTP on {http_address}" if serving.http_port else ""
    app.terminal.say(f"serving {amount} on {address}{over_http}")
