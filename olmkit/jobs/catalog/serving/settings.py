"""What is served, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, RemoteError


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A catalog in a folder or an image, and its name in the HTTP API and in metrics."""

    reference: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """Files in PEM form. HTTP uses them, and gRPC when `over_grpc` is set: OLM v0 has no TLS."""

    certificate: Path
    key: Path
    over_grpc: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where to listen, how often to look for changes, and where to keep a cache.

    The first catalog is answered on `port`, each further one on the next; 0 takes a free port
    for each. Without `http_port` nothing is served over HTTP, without `metrics_port` no metrics;
    the two may be equal. `reload` is in seconds; without it, changes are not looked for. An empty
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
        """The cache folder of one catalog; of several, each has its own below the folder."""
        if self.cache_folder is None or len(offers) == 1:
            return self.cache_folder
        return self.cache_folder / offer.name

    def port_of(self, number: int) -> int:
        """The gRPC port of the catalog with that number, from 0."""
        return self.port + number if self.port else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A catalog that is ready to answer.

    `cached`: it was taken from the cache; `kept`: a cache of it is in the cache folder.
    `digest` names the content, for this release of olmkit. `http_port` and `metrics_port` are 0
    when nothing is served there.
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
    """The files of a catalog were written to while they were read."""

    def __init__(self, reference: str) -> None:
        super().__init__(
            f"the catalog `{reference}` changed while it was read",
            hint="start again when nothing writes to it",
            temporary=True,
        )


def check_offers(offers: Sequence[Offer]) -> None:
    """Raise `ConfigurationError` for no catalog, a name that cannot be one, and equal names."""
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
