"""`olmkit catalog serve`."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.base.diagnostics import OlmkitError
from olmkit.cli.frame import output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.output import plural
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.catalog.serving.settings import Offer, ServeSettings, Serving, TlsSettings


@command(
    example="""
    olmkit catalog serve catalog
    olmkit catalog serve /configs --cache-dir ~/.cache/olmkit/catalog
    olmkit catalog serve quay.io/example/catalog:v1 --port 0
    olmkit catalog serve catalog --http-port 8080 --metrics-port 8080 --reload 5
    olmkit catalog serve quay.io/example/stable:v1 quay.io/example/edge:v1 --http-port 8080
    curl localhost:8080/catalogs/catalog/api/v1/metas?schema=olm.package
    grpcurl -plaintext localhost:50051 api.Registry/ListPackages
    """
)
@click.argument("references", metavar="REF...", nargs=-1, required=True)
@click.option(
    "-p",
    "--port",
    type=click.IntRange(0, 65535),
    default=50051,
    show_default=True,
    envvar="OLMKIT_SERVE_PORT",
    help="Port to listen on; each further catalog has the next one; 0 selects free ports.",
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
    "--metrics-port",
    type=click.IntRange(0, 65535),
    envvar="OLMKIT_SERVE_METRICS_PORT",
    help="Port of `/metrics` for Prometheus; can be that of `--http-port`.",
)
@click.option(
    "--name",
    "catalog_names",
    metavar="NAME",
    multiple=True,
    envvar="OLMKIT_SERVE_NAME",
    help="Name of the catalog in the HTTP API and in metrics; once for each REF, in the same "
    "order. [default: the last part of REF]",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="OLMKIT_SERVE_TLS_CERT",
    help="Certificate of the HTTP API and of metrics, as a PEM file; read again when it changes.",
)
@click.option(
    "--tls-key",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="OLMKIT_SERVE_TLS_KEY",
    help="Key of the certificate, as a PEM file.",
)
@click.option(
    "--grpc-tls",
    is_flag=True,
    help="Use the certificate for gRPC too. OLM v0 itself connects without TLS.",
)
@click.option(
    "--reload",
    type=click.FloatRange(min=0.1, max=86_400.0),
    metavar="SECONDS",
    help="Check the catalog for changes at this interval, and serve the new content.",
)
@click.option(
    "--termination-log",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="OLMKIT_TERMINATION_LOG",
    help="File for the error that ends the server; Kubernetes reads `/dev/termination-log`.",
)
@click.option("--cache-only", is_flag=True, help="Fill the cache directory and exit.")
@registry_options
def serve(
    app: App,
    *,
    references: tuple[str, ...],
    port: int,
    host: str,
    http_port: int | None,
    metrics_port: int | None,
    catalog_names: tuple[str, ...],
    tls_cert: Path | None,
    tls_key: Path | None,
    grpc_tls: bool,
    reload: float | None,
    cache_dir: Path | None,
    cache_only: bool,
    termination_log: Path | None,
    access: Access,
) -> None:
    """Serve catalogs to OLM v0 over gRPC, and to OLM v1 over HTTP.

    REF is a directory or an image. Health is NOT_SERVING until the catalog is ready. With
    `--http-port`, the paths are those of catalogd: `/catalogs/NAME/api/v1/all` and
    `/catalogs/NAME/api/v1/metas` with the parameters `schema`, `package` and `name`; `/healthz`
    and `/readyz` are for probes.

    The gRPC API has no names of catalogs, so each catalog has its own port: the first REF has
    `--port`, the second the next one. Over HTTP, all catalogs share one port.

    Without `--reload`, the server does not notice changes of the catalog until it restarts. A
    changed catalog that is not valid is reported, and the old one stays.
    """
    from olmkit.jobs.catalog.serving.settings import ServeSettings, check_offers

    has_names = http_port is not None or metrics_port is not None or len(references) > 1
    if catalog_names and not has_names:
        raise click.UsageError(
            "`--name` needs `--http-port`, `--metrics-port` or several catalogs."
        )
    offers = _offers(references, catalog_names, has_names=has_names)
    settings = ServeSettings(
        host=host,
        port=port,
        http_port=http_port,
        metrics_port=metrics_port,
        tls=_tls(
            tls_cert, tls_key, grpc_tls, over_http=http_port is not None or metrics_port is not None
        ),
        reload=reload,
        cache_folder=cache_dir,
    )
    check_offers(offers)
    if cache_only:
        if cache_dir is None:
            raise click.UsageError("`--cache-only` needs `--cache-dir`.")
        _fill(app, offers, settings, access)
        return

    try:
        _serve(app, offers, settings, access)
    except Exception as error:
        if termination_log is not None:
            _write_termination_message(termination_log, error)
        raise


def _serve(app: App, offers: list[Offer], settings: ServeSettings, access: Access) -> None:
    """Serve until SIGTERM."""
    import asyncio

    from olmkit.jobs.catalog.serving import serve as job

    def ready(serving: Serving) -> None:
        cache_wanted = settings.cache_folder is not None
        _announce(app, serving, cache_wanted=cache_wanted, is_one=len(offers) == 1)

    def failed(error: OlmkitError) -> None:
        words = output.error_text(error, color=app.terminal.color_err)
        app.terminal.say(f"{words}\nthe catalog as it was before is still served")

    async def run() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await job.serve(offers, settings, access=access, ready=ready, failed=failed, stop=stop)

    job.keep_freed_memory()
    app.run(run())


def _offers(
    references: tuple[str, ...], values: tuple[str, ...], *, has_names: bool
) -> list[Offer]:
    from olmkit.jobs.catalog.serving.prepared_catalogs import default_name
    from olmkit.jobs.catalog.serving.settings import Offer

    if values and len(values) != len(references):
        raise click.UsageError(
            f"{plural(len(references), 'catalog')} and {plural(len(values), 'name')} are given; "
            "pass `--name` once for each catalog, or omit it."
        )
    names = values or [default_name(reference) for reference in references]
    return [
        # Without a name in the path, a folder may have any name.
        Offer(reference=reference, name=name if has_names else "catalog")
        for reference, name in zip(references, names, strict=True)
    ]


def _tls(
    certificate: Path | None, key: Path | None, grpc_tls: bool, *, over_http: bool
) -> TlsSettings | None:
    from olmkit.jobs.catalog.serving.settings import TlsSettings

    if (certificate is None) != (key is None):
        raise click.UsageError("`--tls-cert` and `--tls-key` need each other.")
    if certificate is None or key is None:
        if grpc_tls:
            raise click.UsageError("`--grpc-tls` needs `--tls-cert` and `--tls-key`.")
        return None
    if not over_http and not grpc_tls:
        raise click.UsageError(
            "`--tls-cert` needs `--http-port`, `--metrics-port` or `--grpc-tls`."
        )
    return TlsSettings(certificate=certificate, key=key, over_grpc=grpc_tls)


def _fill(app: App, offers: list[Offer], settings: ServeSettings, access: Access) -> None:
    """Fill the cache of each catalog; one result for each."""
    from olmkit.jobs.catalog.serving import prepared_catalogs

    for offer in offers:
        folder = settings.cache_of(offer, offers)
        assert folder is not None  # noqa: S101 - there is a cache folder
        prepared = app.run(
            prepared_catalogs.fill_cache(
                offer.reference,
                folder,
                access=access,
                with_lines=settings.http_port is not None,
            )
        )
        name = {} if len(offers) == 1 else {"name": offer.name}
        app.emit({**name, "cached": prepared.cached}, diagnostics=prepared.findings)


def _write_termination_message(path: Path, error: Exception) -> None:
    """Write why the server ended, for Kubernetes: the sentence first, since it can be truncated."""
    from olmkit.edges import termination_log

    text = str(error) or type(error).__name__
    if isinstance(error, OlmkitError):
        text = error.message
        text += f"\nhint: {error.hint}" if error.hint else ""
        if error.diagnostics:
            text += f"\n{output.text(error.diagnostics, output.no_sources)}"
    termination_log.write(path, f"{text}\n")


def _announce(app: App, serving: Serving, *, cache_wanted: bool, is_one: bool) -> None:
    def at(port: int) -> str:
        where = f"[{serving.host}]" if ":" in serving.host else serving.host or "0.0.0.0"  # noqa: S104
        return f"{where}:{port}"

    if app.is_json:
        app.emit(
            {
                **({} if is_one else {"name": serving.name}),
                "address": at(serving.port),
                **({"httpAddress": at(serving.http_port)} if serving.http_port else {}),
                **({"metricsAddress": at(serving.metrics_port)} if serving.metrics_port else {}),
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
            "warning: the cache cannot be stored: its folder is not writable, "
            "or another process is writing there"
        )
    amount = f"{plural(serving.packages, 'package')}, {plural(serving.bundles, 'bundle')}"
    which = "" if is_one else f"{serving.name}: "
    over_http = f", over HTTP on {at(serving.http_port)}" if serving.http_port else ""
    metrics = f", metrics on {at(serving.metrics_port)}" if serving.metrics_port else ""
    app.terminal.say(f"serving {which}{amount} on {at(serving.port)}{over_http}{metrics}")
