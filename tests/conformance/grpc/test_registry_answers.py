"""Every answer of `opm serve` (v1.73) to every request, compared with olmkit's.

`odd.jsonl` has its answers to requests about `odd/`, a catalog of rare forms that was written
for this test. The others are its recorded answers about real catalogs.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import grpc
import pytest

from olmkit.edges.catalog.client import CatalogClient

Serve = Callable[..., AbstractContextManager[CatalogClient]]
Row = dict[str, Any]

HERE = Path(__file__).parent
EXPERIMENTAL = "ExperimentalListPackageCustomSchemas"
CATALOGS = {
    "v4.12__koku-metrics-operator": 202,
    "v4.12__linstor-operator": 68,
    "v4.14__dell-csm-operator": 56,
    "v4.17__hive-operator": 401,
    "v4.17__pg4k-pgd": 64,
    "v4.18__eda-openshift-operator": 45,
    "v4.21__stackgres": 81,
}
# Requests (catalog, rpc, request as JSON) whose answer differs, with the reason.
DIFFERENCES: dict[tuple[str, str, str], str] = {}


@pytest.mark.parametrize("name", CATALOGS)
def test_every_answer_about_a_real_catalog_is_the_recorded_one(
    serve: Serve, cases: Path, name: str
) -> None:
    with gzip.open(cases / "expected" / "grpc" / f"{name}.jsonl.gz", "rt") as stream:
        rows = [json.loads(line) for line in stream]
    assert len(rows) == CATALOGS[name]
    with serve(cases / "catalogs" / Path(*name.split("__"))) as client:
        assert different(client, rows) == {key[1:] for key in DIFFERENCES if key[0] == name}


def test_every_answer_about_rare_forms_is_the_recorded_one(serve: Serve) -> None:
    rows = [json.loads(line) for line in (HERE / "odd.jsonl").read_text().splitlines()]
    with serve(HERE / "odd") as client:
        assert different(client, rows) == set()


def different(client: CatalogClient, rows: Iterable[Row]) -> set[tuple[str, str]]:
    """Return the requests whose answer differs."""
    listed = client.ask("ListBundles")
    return {
        (row["rpc"], canonical(row["request"]))
        for row in rows
        if not any(outcome(row) == outcome(mine) for mine in acceptable(client, row, listed))
    }


def acceptable(client: CatalogClient, row: Row, listed: list[Row]) -> Iterator[Row]:
    """Return the answer of olmkit, and other correct ones."""
    mine = ask(client, row["rpc"], row["request"])
    yield mine
    if row["rpc"] == "GetBundleThatReplaces" and "reply" in row and "reply" in mine:
        # The reference selects any of several candidates; olmkit always selects the same one.
        request = row["request"]
        name = request["csvName"]
        for bundle in listed:
            if (
                bundle["packageName"] == request["pkgName"]
                and bundle["channelName"] == request["channelName"]
                and (bundle.get("replaces") == name or name in bundle.get("skips", ()))
            ):
                exact = {
                    "pkgName": request["pkgName"],
                    "channelName": request["channelName"],
                    "csvName": bundle["csvName"],
                }
                yield ask(client, "GetBundle", exact)


def ask(client: CatalogClient, rpc: str, request: Row) -> Row:
    try:
        if rpc == EXPERIMENTAL:
            reply = client.ask(
                rpc,
                request,
                service="api.ExperimentalRegistry",
                metadata=(("x-acknowledge-experimental", "true"),),
            )
        else:
            reply = client.ask(rpc, request)
    except grpc.RpcError as error:
        return {"error": {"code": error.code().name, "details": error.details()}}
    return {"reply": reply}


def outcome(row: Row) -> Any:
    """Return the relevant part of an answer: streams are sets, and error messages count too."""
    if "error" in row:
        return row["error"]["code"], row["error"]["details"]
    reply = row["reply"]
    return sorted(map(canonical, reply)) if isinstance(reply, list) else canonical(reply)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
