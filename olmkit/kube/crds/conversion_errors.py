"""Validate the conversion of a CRD like the API server.

A webhook has a service or a URL, and supports versions of ConversionReview; without a webhook,
these fields must be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.base import names
from olmkit.base.documents import Key
from olmkit.kube import objects
from olmkit.kube.crds import definition_errors, field_errors
from olmkit.kube.crds.definition_errors import Definition, Errors

_MAX_PORT = 65535


def check_conversion(crd: Definition) -> Errors:
    """Validate `spec.conversion`."""
    conversion = objects.mapping(crd.spec.get("conversion"))
    keys: tuple[Key, ...] = ("spec", "conversion")
    strategy = objects.scalar_text(conversion.get("strategy")) or "None"
    webhook = conversion if crd.is_beta else objects.mapping(conversion.get("webhook"))
    client = webhook.get("webhookClientConfig" if crd.is_beta else "clientConfig")
    reviews = webhook.get("conversionReviewVersions")
    inner = keys if crd.is_beta else (*keys, "webhook")
    client_keys = (*inner, "webhookClientConfig" if crd.is_beta else "clientConfig")
    if strategy not in ("None", "Webhook"):
        yield field_errors.unsupported((*keys, "strategy"), strategy, ("None", "Webhook"))
    elif strategy == "None":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield field_errors.forbidden(client_keys, detail)
        if objects.sequence(reviews):
            yield field_errors.forbidden((*inner, "conversionReviewVersions"), detail)
    else:
        if definition_errors.preserves_unknown_fields(crd):
            detail = "must be None if spec.preserveUnknownFields is true"
            yield field_errors.invalid((*keys, "strategy"), strategy, detail)
        if not isinstance(client, Mapping):
            detail = "required when strategy is set to Webhook"
            yield field_errors.required(client_keys, detail)
        else:
            yield from _client(client, client_keys)
        beta_default = ["v1beta1"] if crd.is_beta else []
        listed = [objects.scalar_text(item) for item in objects.sequence(reviews)] or beta_default
        yield from _reviews(listed, (*inner, "conversionReviewVersions"))


def _client(client: Mapping[str, Any], keys: tuple[Key, ...]) -> Errors:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield field_errors.required(keys, "exactly one of url or service is required")
    elif isinstance(url, str):
        yield from _url(url, (*keys, "url"))
    elif isinstance(service, Mapping):
        for key in ("name", "namespace"):
            if not service.get(key):
                yield field_errors.required((*keys, "service", key), f"service {key} is required")
        port = service.get("port", 443)
        if isinstance(port, int) and not 1 <= port <= _MAX_PORT:
            detail = "port is not valid: must be between 1 and 65535, inclusive"
            yield field_errors.invalid((*keys, "service", "port"), port, detail)
        yield from _path(objects.scalar_text(service.get("path")), (*keys, "service", "path"))


def _path(path: str, keys: tuple[Key, ...]) -> Errors:
    if not path or path == "/":
        return
    if not path.startswith("/"):
        yield field_errors.invalid(keys, path, "must start with a '/'")
    segments = path.removeprefix("/").removesuffix("/").split("/")
    for index, segment in enumerate(segments):
        if not segment:
            yield field_errors.invalid(keys, path, f"segment[{index}] may not be empty")
        elif not names.is_subdomain(segment):
            detail = f"segment[{index}]: {field_errors.SUBDOMAIN}"
            yield field_errors.invalid(keys, path, detail)


def _url(url: str, keys: tuple[Key, ...]) -> Errors:
    form = "; desired format: https://host[/path]"
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    bare, hash_sign, fragment = rest.partition("#")
    bare, question, query = bare.partition("?")
    host = bare.partition("/")[0]
    if scheme != "https":
        detail = f"'https' is the only allowed URL scheme{form}"
        yield field_errors.invalid(keys, scheme, detail)
    if not host.rpartition("@")[2]:
        yield field_errors.invalid(keys, host, f"host must be specified{form}")
    if "@" in host:
        detail = f"user information is not permitted in the URL{form}"
        yield field_errors.invalid(keys, host.partition("@")[0], detail)
    if hash_sign and fragment:
        yield field_errors.invalid(keys, fragment, "fragments are not permitted in the URL")
    if question and query:
        yield field_errors.invalid(keys, query, "query parameters are not permitted in the URL")


def _reviews(listed: list[str], keys: tuple[Key, ...]) -> Errors:
    if not listed:
        yield field_errors.required(keys)
        return
    seen: set[str] = set()
    for index, version in enumerate(listed):
        if version in seen:
            yield field_errors.invalid((*keys, index), version, "duplicate version")
        seen.add(version)
        yield from field_errors.label_1035((*keys, index), version)
    if not seen & {"v1", "v1beta1"}:
        detail = "must include at least one of v1, v1beta1"
        yield field_errors.invalid(keys, listed, detail)
