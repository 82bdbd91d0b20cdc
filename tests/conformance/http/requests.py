"""The catalogs and the requests of this comparison, and the compared parts of an answer."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import ssl
from pathlib import Path
from typing import Any

Row = dict[str, Any]

CATALOGS = ("shop", "edge.v1")
# `{modified}` is the Last-Modified of `all`; the other times are before and after any run.
BEFORE, AFTER = "Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
QUERIES = (
    "",
    "?schema=olm.package",
    "?schema=olm.package&name=cog",
    "?package=cog",
    "?package=&schema=olm.bundle",
    "?name=cog.v1.0.0",
    "?name=cog.v1.0.0&package=gear",
    "?schema=note",
    "?schema=olm.package&schema=note",
    "?schema=note&schema=olm.package",
    "?name=zork",
    "?color=red",
    "?schema=note&color=red",
    "?Schema=olm.package",
    "?schema",
    "?schema=olm%2Epackage",
    "?schema=olm.package&name=c%6Fg",
    "?name=%C3%A9",
    "?name=a+b",
    "?",
    "?&",
    "?=x",
)
CONDITIONS: tuple[dict[str, str], ...] = (
    {"If-Modified-Since": "{modified}"},
    {"If-Modified-Since": BEFORE},
    {"If-Modified-Since": AFTER},
    {"If-Modified-Since": "yesterday"},
    {"If-Unmodified-Since": "{modified}"},
    {"If-Unmodified-Since": BEFORE},
    {"If-Unmodified-Since": AFTER},
    {"If-None-Match": "*"},
    {"If-None-Match": '"other"'},
    {"If-None-Match": '"other"', "If-Modified-Since": "{modified}"},
    {"If-Match": "*"},
    {"If-Match": '"other"'},
    {"If-Match": '"other"', "If-None-Match": '"other"'},
)
RANGES: tuple[dict[str, str], ...] = tuple(
    {"Range": value}
    for value in (
        *("bytes=0-9", "bytes=10-", "bytes=-10", "bytes=0-0", "bytes=5-4", "bytes=999999-"),
        *("bytes=0-999999", "lines=0-1", "bytes=x-y", "bytes=", "bytes=-", "bytes=-0"),
    )
)
ENCODINGS: tuple[dict[str, str], ...] = tuple(
    {"Accept-Encoding": value}
    for value in (
        *("gzip", "identity", "gzip;q=0", "gzip;q=0.5", "br", "*", "br, gzip", "GZIP", "deflate"),
        *("gzip;q=1.0, identity;q=0.5", "*;q=0"),
    )
)
# Rare forms: lists, other formats of dates, unusual weights, ranges in several parts.
RARE_CONDITIONS: tuple[dict[str, str], ...] = tuple(
    {name: value}
    for name, values in (
        (
            "If-None-Match If-Match",
            ('"a", "b"', '"a" , *', '*, "a"', 'W/"a"', "other", '"a",', "", '""'),
        ),
        (
            "If-Modified-Since If-Unmodified-Since",
            (
                *("Monday, 01-Jan-01 00:00:00 GMT", "Friday, 01-Jan-60 00:00:00 GMT"),
                *("Mon Jan  1 00:00:00 2001", "Fri Jan  1 00:00:00 2100"),
                *("Mon, 01 Jan 2001 00:00:00 +0000", "Mon, 1 Jan 2001 00:00:00 GMT"),
                *("Fri, 01 Jan 2100 00:00:00 +0000", "Fri, 01 Jan 2100 00:00:00 EST"),
                *("", "0", "2100-01-01T00:00:00Z"),
            ),
        ),
        (
            "Accept-Encoding",
            (
                *("gzip, deflate, br", "gzip;q=0.0", "gzip;q=0.001", "x-gzip", "gzip; q=1"),
                *("identity;q=0", "deflate, gzip;q=1.0, *;q=0.5", "", "gzip,gzip", "gzip;q=2"),
                *("gzip;q=x", "gzip;level=1", "*;q=0, gzip", "identity, *;q=0", "gzip ;q=0"),
                *("zstd", "zstd, gzip"),
            ),
        ),
    )
    for name in name.split()
    for value in values
)
RARE_RANGES = (
    *("bytes=0-1,5-6", "bytes=0-9, ", "bytes= 0-9", "BYTES=0-9", "bytes=0-9;", "bytes =0-9"),
    *("bytes=9-0,1-2", "bytes=0-0,0-0", "bytes=0-99999999999999999999", "bytes=+1-2"),
    *("bytes=99999999999999999999-", "bytes=-99999999999999999999", "bytes=1-+2", "bytes=--5"),
    *("", "bytes", "bytes=0-1,999999-", "bytes=999999-,9999999-"),
)
CONDITIONAL_RANGES: tuple[dict[str, str], ...] = (
    {"If-Range": "{modified}"},
    {"If-Range": BEFORE},
    {"If-Range": '"x"'},
    {"If-Range": ""},
    {"If-None-Match": "*"},
    {"If-Modified-Since": "{modified}"},
    {"If-Match": '"x"'},
    {"If-Unmodified-Since": BEFORE},
    {"Accept-Encoding": "gzip"},
)
RARE_QUERIES = (
    *("name=cog&name=gear", "schema=&schema=olm.package", "schema=olm.package&schema="),
    *("name=&schema=&package=", "%73chema=olm.package", "schema=olm.package&", "&&schema=note"),
    *("schema=%00", "schema==olm.package", "=", "name=cog%26package=gear", "schema=OLM.PACKAGE"),
    *("package=cog&package=gear", "schema=olm.bundle&package=cog&name=cog.v1.0.0", "schema=%C3"),
    *("schema=%FF%FE", "schema=olm.package%20", "schema=+olm.package", "schema=olm.package&color"),
    *("color=", "Name=cog", "name[]=cog", "name=a?b", "schema=olm.bundle?name=x", "limit=1"),
    *("schema=a;b", "schema=olm.package;name=cog", "name=cog;", "schema=%zz", "schema=%"),
    *("%zz=1", "schema=olm.package&%zz", "name=" + "x" * 3000),
)
RARE_PATHS = (
    *("/catalogs/shop/api/v1/all/", "/catalogs/shop/api/v1/metas/", "//catalogs/shop/api/v1/all"),
    *("/catalogs//shop/api/v1/all", "/catalogs/shop//api/v1/all", "/catalogs/shop/api/v1//all"),
    *("/catalogs/shop/./api/v1/all", "/catalogs/x/../shop/api/v1/all", "/catalogs/./api/v1/all"),
    *("/catalogs/shop/api/v1/all?", "/catalogs/shop/api/v1/all??", "/catalogs/shop/api/v1/%61ll"),
    *("/%63atalogs/shop/api/v1/all", "/catalogs/shop/api%2Fv1/all", "/catalogs%2Fshop/api/v1/all"),
    *("/catalogs/edge%2Ev1/api/v1/all", "/catalogs/sho%70/api/v1/metas?schema=note"),
    *("/catalogs/shop%20/api/v1/all", "/catalogs/%20/api/v1/all", "/catalogs/%2E%2E/api/v1/all"),
    *("/catalogs/shop%00/api/v1/all", "/catalogs/%zz/api/v1/all", "/catalogs/shop/api/v1/all;x"),
    *("/catalogs/shop;x/api/v1/all", "/catalogs/shop/api/v1/all%20", "/catalogs/shop/api/v1/ALL"),
    *(
        "/Catalogs/shop/api/v1/all",
        "/catalogs/shop/api/v1",
        "/catalogs/shop/api/v1/",
        "/api/v1/all",
    ),
    *("/catalogs/" + "a." * 126 + "a/api/v1/all", "/catalogs/" + "a" * 64 + "/api/v1/all"),
    *("/catalogs/1/api/v1/all", "/catalogs/a-/api/v1/all", "/catalogs/.a/api/v1/all"),
    *("/catalogs/a./api/v1/all", "/catalogs/a+b/api/v1/all", "/catalogs/a%2Bb/api/v1/all"),
)
UNKNOWN_METHODS = ("FOO", "get")
COMPARED = ("Content-Type", "Content-Encoding", "Content-Range", "Accept-Ranges")


def write(folder: Path) -> dict[str, Path]:
    """Return the catalogs as directories, by name."""
    made = {}
    for number, name in enumerate(CATALOGS):
        made[name] = folder / name
        made[name].mkdir()
        lines = "".join(json.dumps(blob) + "\n" for blob in _blobs(number))
        (made[name] / "catalog.json").write_text(lines)
    return made


def _blobs(number: int) -> list[Row]:
    found: list[Row] = []
    for package in ("cog", "gear")[: 2 - number]:
        name = f"{package}.v1.0.0"
        about = {"packageName": package, "version": "1.0.0"}
        note = {"b": "<é>&\u2028", "a": 1.0, "c": 12345678901234567890}
        found += [
            {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
            {
                "schema": "olm.channel",
                "name": "stable",
                "package": package,
                "entries": [{"name": name}],
            },
            {
                "schema": "olm.bundle",
                "name": name,
                "package": package,
                "image": f"registry.example/{package}:1",
                "properties": [
                    {"type": "olm.package", "value": about},
                    {"type": "note", "value": note},
                ],
            },
        ]
    if number:
        return found
    return [*found, {"schema": "note", "text": "x" * 2000}, {"schema": "note", "package": "cog"}]


def rows() -> list[Row]:
    """Yield all requests: method, path, headers."""
    found: list[Row] = []

    def add(method: str, path: str, headers: dict[str, str] | None = None) -> None:
        given = {"Accept-Encoding": "identity"} | (headers or {})
        found.append({"method": method, "path": path, "headers": given})

    for catalog in CATALOGS:
        base = f"/catalogs/{catalog}/api/v1"
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            add(method, f"{base}/all")
            add(method, f"{base}/metas")
        for query in QUERIES:
            for method in ("GET", "HEAD"):
                add(method, f"{base}/metas{query}")
        add("GET", f"{base}/all?schema=olm.package")
        for path in ("all", "metas", "metas?schema=note", "metas?name=zork"):
            for headers in (*CONDITIONS, *ENCODINGS):
                add("GET", f"{base}/{path}", headers)
        for headers in RANGES:
            add("GET", f"{base}/all", headers)
            add("GET", f"{base}/metas", headers)
        for path in ("graphql", "", "all/", "metas/x", "../all"):
            add("GET", f"{base}/{path}")
    for catalog in ("zork", "SHOP", "a_b", "-a", "a..b", "%73hop", "shop%2Fx", "x" * 254, "é"):
        add("GET", f"/catalogs/{catalog.replace('é', '%C3%A9')}/api/v1/all")
        add("GET", f"/catalogs/{catalog.replace('é', '%C3%A9')}/api/v1/metas?color=red")
    for path in ("/", "/catalogs", "/catalogs/", "/catalogs/shop", "/catalogs/shop/api/v2/all"):
        add("GET", path)
    base = "/catalogs/shop/api/v1"
    for path in ("all", "metas", "metas?schema=note"):
        for headers in (*CONDITIONS, *ENCODINGS):
            add("HEAD", f"{base}/{path}", headers)
        for headers in RARE_CONDITIONS:
            add("GET", f"{base}/{path}", headers)
        for method in ("TRACE", *UNKNOWN_METHODS):
            add(method, f"{base}/{path}")
    for value in RARE_RANGES:
        for method in ("GET", "HEAD"):
            add(method, f"{base}/all", {"Range": value})
    for headers in CONDITIONAL_RANGES:
        for value in ("bytes=0-9", "bytes=999999-"):
            add("GET", f"{base}/all", {"Range": value, **headers})
    for method in ("GET", "HEAD"):
        for query in RARE_QUERIES:
            add(method, f"{base}/metas?{query}")
        for path in RARE_PATHS:
            add(method, path)
    for path in ("graphql", "all/"):
        for method in ("POST", "PUT", "OPTIONS", "DELETE", "TRACE"):
            add(method, f"{base}/{path}")
    return found


def ask(address: str, given: list[Row], tls: ssl.SSLContext | None = None) -> list[Row]:
    """Return the answers of the server at `HOST:PORT`."""
    host, _, port = address.rpartition(":")
    modified = {
        name: _send(host, int(port), tls, "HEAD", f"/catalogs/{name}/api/v1/all", {})[1].get(
            "Last-Modified", ""
        )
        for name in CATALOGS
    }
    return [_answer(host, int(port), tls, row, modified) for row in given]


def _answer(
    host: str, port: int, tls: ssl.SSLContext | None, row: Row, modified: dict[str, str]
) -> Row:
    catalog = next((name for name in CATALOGS if f"/{name}/" in row["path"]), "")
    headers = {
        name: value.replace("{modified}", modified.get(catalog, ""))
        for name, value in row["headers"].items()
    }
    status, found, body = _send(host, port, tls, row["method"], row["path"], headers)
    answer: Row = {"status": status}
    if status < 400:
        kept = {name: found[name] for name in COMPARED if name in found}
        if row["method"] == "HEAD" or status == 304:
            kept.pop("Accept-Ranges", None)
        if "multipart/" in kept.get("Content-Type", ""):
            boundary = kept["Content-Type"].partition("boundary=")[2]
            kept["Content-Type"] = "multipart"
            body = body.replace(boundary.encode(), b"boundary")
        answer["headers"] = kept
        if found.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body) if body else b""
        text = body.decode("utf-8", "replace")
        answer["body"] = text if len(text) < 80 else hashlib.sha256(body).hexdigest()
    return answer


def _send(
    host: str,
    port: int,
    tls: ssl.SSLContext | None,
    method: str,
    path: str,
    headers: dict[str, str],
) -> tuple[int, dict[str, str], bytes]:
    connection: http.client.HTTPConnection = (
        http.client.HTTPConnection(host, port, timeout=30)
        if tls is None
        else http.client.HTTPSConnection(host, port, timeout=30, context=tls)
    )
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()
