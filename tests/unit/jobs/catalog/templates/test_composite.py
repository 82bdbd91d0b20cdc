"""Composite templates whose file of catalogs is elsewhere, and which write all catalogs or none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.catalog.templates import composite as template
from olmkit.jobs.catalog.templates import composite
from olmkit.jobs.catalog.templates.composite import Composed, CompositeOptions

CATALOGS = """
schema: olm.composite.catalogs
catalogs:
- name: a
  destination: {workingDir: out}
  builders: [olm.builder.raw]
"""
CATALOG = """
schema: olm.package
name: cog
defaultChannel: stable
---
schema: olm.channel
package: cog
name: stable
entries: [{name: cog.v1.0.0}]
---
schema: olm.bundle
package: cog
name: cog.v1.0.0
image: registry.example.org/cog:1.0.0
properties: [{type: olm.package, value: {packageName: cog, version: 1.0.0}}]
"""


def components(*paths: str) -> str:
    listed = "".join(
        f"- name: a\n  destination: {{path: {path}}}\n  strategy:\n    template:\n"
        f"      schema: olm.builder.raw\n      config: {{input: {path}.yaml, output: c.yaml}}\n"
        for path in paths
    )
    return f"schema: olm.composite\ncomponents:\n{listed}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/catalogs.yaml"
        self.send_response(200 if found else 404)
        self.end_headers()
        if found:
            self.wfile.write(CATALOGS.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Prints nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompositeOptions:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/composite.yaml").write_text(components("p"))
    (tmp_path / "sub/p.yaml").write_text(CATALOG)
    (tmp_path / "catalogs.yaml").write_text(CATALOGS)
    return CompositeOptions(
        contribution=Path("sub/composite.yaml"), catalogs="catalogs.yaml", form="yaml"
    )


def render(options: CompositeOptions) -> Composed:
    return asyncio.run(composite.render_composite(options))


def test_the_file_of_catalogs_can_be_at_a_url(options: CompositeOptions, url: str) -> None:
    written = render(replace(options, catalogs=f"{url}/catalogs.yaml"))

    assert [change.path for change in written.changes] == ["out/p/c.yaml"]
    assert b"cog.v1.0.0" in Path("out/p/c.yaml").read_bytes()
    # The second run changes nothing.
    assert not render(options).changes


def test_a_url_without_the_file_is_reported(options: CompositeOptions, url: str) -> None:
    with pytest.raises(RemoteError, match="answers with status 404"):
        render(replace(options, catalogs=f"{url}/none.yaml"))
    assert not Path("out").exists()


def test_one_catalog_with_errors_leaves_all_unchanged(options: CompositeOptions) -> None:
    Path("sub/composite.yaml").write_text(components("p", "q"))
    Path("sub/q.yaml").write_text(CATALOG.replace("defaultChannel: stable", "defaultChannel: x"))

    with pytest.raises(InputError, match=r"the catalog `out/q` would not be valid") as caught:
        render(options)

    assert caught.value.diagnostics
    assert not Path("out").exists()
    assert len(render(replace(options, validate=False)).changes) == 2


def test_existing_files_count_when_the_catalog_is_validated(
    options: CompositeOptions,
) -> None:
    Path("out/p").mkdir(parents=True)
    Path("out/p/other.yaml").write_text(CATALOG)

    with pytest.raises(InputError, match="would not be valid"):
        render(options)

    assert not Path("out/p/c.yaml").exists()


def test_a_directory_in_place_of_the_file_is_reported(options: CompositeOptions) -> None:
    Path("out/p/c.yaml").mkdir(parents=True)

    with pytest.raises(ConfigurationError, match="is a directory"):
        render(replace(options, validate=False))


def test_a_misspelled_key_is_an_error_and_other_unknown_keys_are_ignored() -> None:
    wrong = components("x").replace("destination: {path", "note: 1\n  destination: {pth")
    with pytest.raises(InputError) as caught:
        template.components((wrong.encode(), "c.yaml"), (CATALOGS.encode(), "catalogs.yaml"))
    [found] = caught.value.diagnostics
    assert (found.rule, found.message, found.hint, found.at and found.at.line) == (
        "FBC910",
        "unknown field `components[0].destination.pth`",
        "did you mean `path`?",
        5,
    )
    with pytest.raises(InputError, match=r"unknown field `catalogs\[0\].builder`"):
        template.components(
            (components("x").encode(), "c.yaml"),
            (CATALOGS.replace("builders", "builder").encode(), "catalogs.yaml"),
        )
    [made] = template.components(
        (components("x").replace("components:", "x-note: 1\ncomponents:").encode(), "c.yaml"),
        (CATALOGS.encode(), "catalogs.yaml"),
    )
    assert made.folder == "x"
