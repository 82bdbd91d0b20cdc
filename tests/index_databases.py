"""Index databases in each of their schemas, from rows that tests provide.

The columns of a schema come from the reference's migrations; constraints and indexes, which no
reader needs, are omitted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NEWEST = 13

# Table → columns, each with the first schema that has it. Removed columns end early.
_TABLES: Mapping[str, Sequence[tuple[str, int, int]]] = {
    "operatorbundle": [
        ("name", 0, NEWEST),
        ("csv", 0, NEWEST),
        ("bundle", 0, NEWEST),
        ("bundlepath", 2, NEWEST),
        ("skiprange", 5, NEWEST),
        ("version", 5, NEWEST),
        ("replaces", 7, NEWEST),
        ("skips", 7, NEWEST),
        ("substitutesfor", 11, NEWEST),
    ],
    "package": [("name", 0, NEWEST), ("default_channel", 0, NEWEST)],
    "channel": [
        ("name", 0, NEWEST),
        ("package_name", 0, NEWEST),
        ("head_operatorbundle_name", 0, NEWEST),
    ],
    "channel_entry": [
        ("entry_id", 0, NEWEST),
        ("channel_name", 0, NEWEST),
        ("package_name", 0, NEWEST),
        ("operatorbundle_name", 0, NEWEST),
        ("replaces", 0, NEWEST),
        ("depth", 0, NEWEST),
    ],
    "api_provider": [
        ("group_name", 0, NEWEST),
        ("version", 0, NEWEST),
        ("kind", 0, NEWEST),
        ("channel_entry_id", 0, 5),
        ("operatorbundle_name", 6, NEWEST),
    ],
    "api_requirer": [
        ("group_name", 3, NEWEST),
        ("version", 3, NEWEST),
        ("kind", 3, NEWEST),
        ("channel_entry_id", 3, 5),
        ("operatorbundle_name", 6, NEWEST),
    ],
    "related_image": [("image", 1, NEWEST), ("operatorbundle_name", 1, NEWEST)],
    "dependencies": [
        ("type", 8, NEWEST),
        ("value", 8, NEWEST),
        ("operatorbundle_name", 8, NEWEST),
    ],
    "properties": [
        ("type", 9, NEWEST),
        ("value", 9, NEWEST),
        ("operatorbundle_name", 9, NEWEST),
    ],
}

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def write(path: Path, rows: Rows, *, form: int = NEWEST) -> Path:
    """Write a database with `rows` by table, without values of columns that the schema lacks."""
    connection = sqlite3.connect(path)
    for table, columns in _TABLES.items():
        names = [name for name, first, last in columns if first <= form <= last]
        if not names:
            continue
        connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
        for row in rows.get(table, ()):
            given = [name for name in names if name in row]
            marks = ", ".join("?" * len(given))
            connection.execute(
                f"INSERT INTO {table} ({', '.join(given)}) VALUES ({marks})",  # noqa: S608
                [row[name] for name in given],
            )
    connection.execute("CREATE TABLE schema_migrations (version bigint NOT NULL)")
    connection.execute("INSERT INTO schema_migrations VALUES (?)", [form])
    connection.commit()
    connection.close()
    return path


def csv(version: str, **spec: Any) -> str:
    """Return the CSV of a version of the operator `cog`."""
    return json.dumps(
        {
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {
                "name": f"cog.v{version}",
                "annotations": {"olm.skipRange": "<1.0.0"},
            },
            "spec": {
                "version": version,
                "install": {
                    "strategy": "deployment",
                    "spec": {
                        "deployments": [
                            {
                                "name": "cog",
                                "spec": {
                                    "template": {"spec": {"containers": [{"image": "r.io/op:1"}]}}
                                },
                            }
                        ]
                    },
                },
                "relatedImages": [{"name": "db", "image": "r.io/db:1"}],
                "customresourcedefinitions": {
                    "required": [{"name": "nuts.x.io", "kind": "Nut", "version": "v1"}]
                },
                **spec,
            },
        }
    )


def cog() -> dict[str, list[dict[str, Any]]]:
    """Two versions in one channel: 2.0.0 replaces 1.0.0, which has no manifests."""
    text = csv("2.0.0")
    return {
        "operatorbundle": [
            {
                "name": f"cog.v{version}",
                "csv": text if version == "2.0.0" else csv(version),
                "bundle": text if version == "2.0.0" else None,
                "bundlepath": f"r.io/cog:{version}",
                "version": version,
                "skiprange": "<1.0.0",
            }
            for version in ("1.0.0", "2.0.0")
        ],
        "package": [{"name": "cog", "default_channel": "stable"}],
        "channel": [
            {
                "name": "stable",
                "package_name": "cog",
                "head_operatorbundle_name": "cog.v2.0.0",
            }
        ],
        "channel_entry": [
            entry(1, "cog.v2.0.0", replaces=2, depth=0),
            entry(2, "cog.v1.0.0", depth=1),
        ],
        "api_provider": [
            {
                "group_name": "x.io",
                "version": "v1",
                "kind": "Cog",
                "channel_entry_id": 1,
                "operatorbundle_name": "cog.v2.0.0",
            }
        ],
        "api_requirer": [
            {
                "group_name": "x.io",
                "version": "v1",
                "kind": "Nut",
                "channel_entry_id": 1,
                "operatorbundle_name": "cog.v2.0.0",
            }
        ],
        "related_image": [
            {"image": image, "operatorbundle_name": f"cog.v{version}"}
            for version in ("1.0.0", "2.0.0")
            for image in ("r.io/op:1", "r.io/db:1")
        ],
        "dependencies": [
            {
                "type": "olm.gvk",
                "value": '{"group":"x.io","kind":"Nut","version":"v1"}',
                "operatorbundle_name": "cog.v2.0.0",
            },
        ],
        "properties": [
            {
                "type": "olm.gvk",
                "value": '{"group":"x.io","kind":"Cog","version":"v1"}',
                "operatorbundle_name": "cog.v2.0.0",
            },
            *(
                {
                    "type": "olm.package",
                    "value": json.dumps({"packageName": "cog", "version": version}),
                    "operatorbundle_name": f"cog.v{version}",
                }
                for version in ("1.0.0", "2.0.0")
            ),
        ],
    }


def entry(
    number: int,
    bundle: str,
    *,
    replaces: int | None = None,
    depth: int = 0,
    channel: str = "stable",
    package: str = "cog",
) -> dict[str, Any]:
    """Return a row of `channel_entry`."""
    return {
        "entry_id": number,
        "channel_name": channel,
        "package_name": package,
        "operatorbundle_name": bundle,
        "replaces": replaces,
        "depth": depth,
    }
