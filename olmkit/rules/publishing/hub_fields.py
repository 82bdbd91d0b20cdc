"""Rules about the CSV fields that OperatorHub.io shows: provider, links, icon.

Source of the suite `operatorhub`: the validator `operatorhub/v2` of operator-framework/api.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base.diagnostics import Severity
from olmkit.bundle.model import Bundle
from olmkit.kube import objects as kube
from olmkit.rules import fixes
from olmkit.rules.engine import Finding, rule

SUITE = "operatorhub"
_MEDIA_TYPE = ("spec", "icon", 0, "mediatype")
MEDIA_TYPES = ("image/gif", "image/jpeg", "image/png", "image/svg+xml")

# An address as in RFC 5322, also with a display name; non-ASCII text is allowed.
_CHARS = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-"
_ATOM = rf"[{_CHARS}]+"
_QUOTED = r'"(?:[^"\\\r\n]|\\.)*"'
_LOCAL = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})"
_DOMAIN = rf"(?:{_ATOM}(?:\.{_ATOM})*|\[[^\[\]\\\r\n]*\])"
_ADDRESS = re.compile(
    # One character at a time, so that matching stays linear on hostile text.
    rf"\s*(?:{_LOCAL}@{_DOMAIN}|(?:[{_CHARS}.\s]|{_QUOTED})*<{_LOCAL}@{_DOMAIN}>)\s*"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_HOST = re.compile(
    r"(?:[^@/]*@)?(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]*)?\]|(?:[^\[\]<>\"\s\\^`{|}%:]|%[0-9A-Fa-f]{2})*)"
    r"(?::[0-9]*)?"
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_USABLE = re.compile(r"(?:https?://[^\s/]+\S*|mailto:[^\s@]+@\S+)", re.IGNORECASE)


@rule("HUB001", "provider-missing", suite=SUITE)
def provider_missing(bundle: Bundle) -> Iterator[Finding]:
    """The CSV does not name its provider.

    Why: catalogs show the provider of the operator.

    Fix: write `spec.provider.name`.
    """
    csv = bundle.csv
    if csv is not None and csv.spec and not _provider(csv.spec, "name").strip():
        yield Finding(
            "`spec.provider.name` is missing",
            at=csv.at("spec", "provider", "name"),
            hint="write the name of your organization",
        )


@rule("HUB002", "maintainer-incomplete", suite=SUITE)
def maintainer_incomplete(bundle: Bundle) -> Iterator[Finding]:
    """A maintainer lacks a name or an email address.

    Why: users who have a problem with the operator need both.

    Fix: write `name` and `email`.
    """
    for index, entry, at in _entries(bundle, "maintainers"):
        missing = [key for key in ("name", "email") if not kube.scalar_text(entry.get(key))]
        for key in missing:
            yield Finding(f"maintainer {index + 1} has no `{key}`", at=at, hint=f"write `{key}`")


@rule("HUB003", "maintainer-email", suite=SUITE)
def maintainer_email(bundle: Bundle) -> Iterator[Finding]:
    """The email address of a maintainer is not valid.

    Why: users cannot send mail to it.

    Fix: write one address, such as `kettle@example.com`.
    """
    csv = bundle.csv
    for index, entry, _ in _entries(bundle, "maintainers"):
        email = kube.scalar_text(entry.get("email"))
        if csv is not None and email and not is_address(email):
            yield Finding(
                f"email `{email}` is invalid",
                at=csv.at("spec", "maintainers", index, "email"),
                hint="write one email address",
            )


@rule("HUB004", "link-incomplete", suite=SUITE)
def link_incomplete(bundle: Bundle) -> Iterator[Finding]:
    """A link lacks a name or a URL.

    Why: catalogs show the name and open the URL.

    Fix: write `name` and `url`.
    """
    for index, entry, at in _entries(bundle, "links"):
        for key in ("name", "url"):
            if not kube.scalar_text(entry.get(key)):
                yield Finding(f"link {index + 1} has no `{key}`", at=at, hint=f"write `{key}`")


@rule("HUB005", "link-url", suite=SUITE)
def link_url(bundle: Bundle) -> Iterator[Finding]:
    """The URL of a link is not valid.

    Why: a browser cannot open it.

    Fix: write an absolute URL with its scheme, such as `https://example.com/kettle`.
    """
    csv = bundle.csv
    for index, entry, _ in _entries(bundle, "links"):
        url = kube.scalar_text(entry.get("url"))
        if csv is not None and url and not is_request_uri(url):
            yield Finding(
                f"link URL `{url}` is invalid",
                at=csv.at("spec", "links", index, "url"),
                hint="write an absolute URL with its scheme, such as `https://example.com`",
            )


@rule("HUB006", "link-unusable", severity=Severity.WARNING, suite=SUITE)
def link_unusable(bundle: Bundle) -> Iterator[Finding]:
    """A catalog page cannot open a link of the CSV.

    Why: a relative path does not work on another site, a space ends the URL, and browsers
    support only a few schemes. operator-sdk accepts such links, and does not check the URL
    of the provider.

    Fix: write a URL that begins with `https://`.
    """
    csv = bundle.csv
    if csv is None:
        return
    urls = [
        (kube.scalar_text(entry.get("url")), csv.at("spec", "links", index, "url"))
        for index, entry, _ in _entries(bundle, "links")
    ]
    urls = [(url, at) for url, at in urls if is_request_uri(url)]
    urls.append((_provider(csv.spec, "url"), csv.at("spec", "provider", "url")))
    for url, at in urls:
        if url and not _USABLE.fullmatch(url):
            yield Finding(
                f"`{url}` is not a link that a browser can open",
                at=at,
                hint="write a URL that begins with `https://`",
            )


@rule("HUB007", "icon-missing", severity=Severity.WARNING, suite=SUITE)
def icon_missing(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no icon.

    Why: catalogs show a placeholder instead.

    Fix: embed a PNG, JPEG, GIF or SVG image at `spec.icon`.
    """
    csv = bundle.csv
    if csv is not None and csv.spec and not _icons(bundle):
        yield Finding(
            "the CSV has no icon",
            at=csv.at("spec", "icon"),
            hint="embed a PNG, JPEG, GIF or SVG image at `spec.icon`",
        )


@rule("HUB008", "icon-several", suite=SUITE)
def icon_several(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has more than one icon.

    Why: catalogs show only the first.

    Fix: keep one entry.
    """
    csv = bundle.csv
    if csv is not None and len(_icons(bundle)) > 1:
        yield Finding(
            f"the CSV has {len(_icons(bundle))} icons, and catalogs show one",
            at=csv.at("spec", "icon", 1),
            hint="keep one entry of `spec.icon`",
        )


@rule("HUB009", "icon-incomplete", suite=SUITE)
def icon_incomplete(bundle: Bundle) -> Iterator[Finding]:
    """The icon has no data or no media type.

    Why: catalogs need both to show it. Generators write an empty icon as a placeholder.

    Fix: write `base64data` and `mediatype`, or remove the icon.
    """
    csv = bundle.csv
    for entry in _icons(bundle)[:1]:
        for key in ("base64data", "mediatype"):
            if csv is not None and not kube.scalar_text(entry.get(key)):
                yield Finding(
                    f"the icon has no `{key}`",
                    at=csv.at("spec", "icon", 0, key),
                    hint=f"write `{key}`, or remove the icon",
                )


@rule("HUB010", "icon-media-type", suite=SUITE)
def icon_media_type(bundle: Bundle) -> Iterator[Finding]:
    """Catalogs do not support the media type of the icon.

    Why: catalogs show PNG, JPEG, GIF and SVG images, and compare the media type exactly.

    Fix: write `image/png`, `image/jpeg`, `image/gif` or `image/svg+xml`.
    """
    csv = bundle.csv
    for entry in _icons(bundle)[:1]:
        media_type = kube.scalar_text(entry.get("mediatype"))
        if csv is not None and media_type and media_type not in MEDIA_TYPES:
            detected = _detect_type(entry)
            yield Finding(
                f"icon media type `{media_type}` is not shown by catalogs",
                at=csv.at("spec", "icon", 0, "mediatype"),
                hint=f"write `{detected}`"
                if detected in MEDIA_TYPES
                else f"use one of {', '.join(f'`{name}`' for name in MEDIA_TYPES)}",
                fix=fixes.replace_value(csv.document, _MEDIA_TYPE, detected)
                if detected in MEDIA_TYPES
                else None,
            )


@rule("HUB011", "icon-data", suite=SUITE)
def icon_data(bundle: Bundle) -> Iterator[Finding]:
    """The data of the icon is not base64.

    Why: catalogs cannot show it. operator-sdk does not check the data.

    Fix: encode the image with `base64 -w0`, without a `data:` prefix.
    """
    csv = bundle.csv
    for entry in _icons(bundle)[:1]:
        data = kube.scalar_text(entry.get("base64data"))
        if csv is not None and data and decode(data) is None:
            yield Finding(
                "the icon's `base64data` is not base64",
                at=csv.at("spec", "icon", 0, "base64data"),
                hint="remove `data:` and the media type before the data"
                if data.startswith("data:")
                else "encode the image with `base64 -w0`",
            )


@rule("HUB012", "icon-mismatch", severity=Severity.WARNING, suite=SUITE)
def icon_mismatch(bundle: Bundle) -> Iterator[Finding]:
    """The icon does not have the media type that the CSV declares.

    Why: browsers may not show it.

    Fix: write the media type of the image.
    """
    csv = bundle.csv
    for entry in _icons(bundle)[:1]:
        media_type = kube.scalar_text(entry.get("mediatype"))
        detected = _detect_type(entry)
        if csv is None or media_type not in MEDIA_TYPES or detected == media_type:
            continue
        if detected is not None:
            yield Finding(
                f"the icon is `{detected}`, not `{media_type}`"
                if detected
                else f"the icon is not an image of type `{media_type}`",
                at=csv.at("spec", "icon", 0, "mediatype"),
                hint=f"write `{detected}`" if detected else "embed an image",
                fix=fixes.replace_value(csv.document, _MEDIA_TYPE, detected)
                if detected in MEDIA_TYPES
                else None,
            )


def is_address(text: str) -> bool:
    """Return whether `text` is one email address, with or without a display name."""
    return len(text) < 1000 and _ADDRESS.fullmatch(text) is not None


def is_web_url(text: str) -> bool:
    """Return whether `text` is a web URL."""
    return text.startswith(("http://", "https://")) and _USABLE.fullmatch(text) is not None


def is_request_uri(text: str) -> bool:
    """Return whether `text` is an absolute URI or path, as in Go's `url.ParseRequestURI`."""
    if not text or _CONTROL.search(text):
        return False
    scheme = _SCHEME.fullmatch(text)
    rest = scheme[2] if scheme else text
    if not rest.startswith("/"):
        return scheme is not None
    path = rest.partition("?")[0]
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        host, slash, path = path[2:].partition("/")
        if not _HOST.fullmatch(host):
            return False
        path = slash + path
    return not _BAD_ESCAPE.search(path)


def decode(text: str) -> bytes | None:
    """Decode base64 text, ignoring white space; return None if it is invalid."""
    try:
        return binascii.a2b_base64("".join(text.split()), strict_mode=True)
    except (binascii.Error, ValueError):
        return None


def _detect_type(entry: Mapping[str, Any]) -> str | None:
    """Return the media type of the image itself, empty if unknown; None if there is no data."""
    from olmkit.catalog.blobs import icons

    data = decode(kube.scalar_text(entry.get("base64data")))
    return icons.detect(data) if data else None


def _icons(bundle: Bundle) -> list[Mapping[str, Any]]:
    csv = bundle.csv
    return [kube.mapping(item) for item in kube.sequence(csv.spec.get("icon"))] if csv else []


def _provider(spec: Mapping[str, Any], key: str) -> str:
    return kube.scalar_text(kube.mapping(spec.get("provider")).get(key))


def _entries(bundle: Bundle, section: str) -> Iterator[tuple[int, Mapping[str, Any], Any]]:
    csv = bundle.csv
    if csv is not None:
        for index, item in enumerate(kube.sequence(csv.spec.get(section))):
            yield index, kube.mapping(item), csv.at("spec", section, index)
