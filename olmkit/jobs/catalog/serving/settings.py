"""The settings of a catalog server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, RemoteError


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A catalog to serve: its folder or image, and its name in the HTTP API and in metrics."""

    reference: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """Certificate files in PEM form, for HTTP, and with `over_grpc` for gRPC: OLM v0 has no TLS."""

    certificate: Path
    key: Path
    over_grpc: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """The addresses, the reload interval and the cache folder of a server.

    The first catalog is served on `port`, each further one on the next port; with 0, each gets a
    free port. Without `http_port` there is no HTTP API, without `metrics_port` there are no
    metrics; both may be equal. `reload` is in seconds; without it, changes are ignored. An empty
    `host` means all addresses.
    """

    host: str = ""
    port: int = 50051
    http_port: int | None = None
    metrics_port: int | None = None
    tls: TlsSettings | None = None
    reload: float | None = None
    cache_folder: Path | None = None

    def cache_of(self, offer: Offer, offers: Sequence[Offer]) -> Path | None:
        """Return the cache folder of a catalog; with several catalogs, each has a subfolder."""
        if self.cache_folder is None or len(offers) == 1:
            return self.cache_folder
        return self.cache_folder / offer.name

    def port_of(self, number: int) -> int:
        """Return the gRPC port of the catalog with this number, starting at 0."""
        return self.port + number if self.port else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A catalog that is ready to be served.

    `cached`: it was read from the cache; `kept`: its cache is in the cache folder. `digest`
    identifies the content, for this release of olmkit. `http_port` and `metrics_port` are 0 if
    these are not served.
    """

    name: str
    host: str
    port: int
    http_port: int
    metrics_port: int
    packages: int
    bundles: int
    digest: str
    cached: bool
    kept: bool
    findings: tuple[Diagnostic, ...]


class CatalogChangedError(RemoteError):
    """The files of a catalog changed while they were read."""

    def __init__(self, reference: str) -> None:
        super().__init__(
            f"the catalog `{reference}` changed while it was read",
            hint="start again when nothing writes to it",
            temporary=True,
        )


def check_offers(offers: Sequence[Offer]) -> None:
    """Raise `ConfigurationError` without a catalog, and for invalid or duplicate names."""
    if not offers:
        raise ConfigurationError("no catalog to serve was passed")
    seen: set[str] = set()
    for offer in offers:
        if not names.is_subdomain(offer.name):
            raise ConfigurationError(
                f"`{offer.name}` cannot be the name of a catalog",
                hint="pass a DNS subdomain with `--name`, once for each catalog",
            )
        if offer.name in seen:
            raise ConfigurationError(
                f"two catalogs are called `{offer.name}`",
                hint="pass `--name` once for each catalog, in the same order",
            )
        seen.add(offer.name)
