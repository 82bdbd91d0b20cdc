"""Collections from an index, with the real `ansible-galaxy` and a small index on loopback."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.build import galaxy
from tests.unit.edges.build.galaxy_index import GalaxyIndex

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ansible") is None, reason="needs the extra `ansible`"
)
TOKEN = "of-the-tests"


def install(index: str, folder: Path, *wanted: Any, **environment: str) -> Tree:
    found = {**os.environ, "HOME": str(folder), **environment}
    return asyncio.run(galaxy.install({"collections": list(wanted)}, index, folder, found))


def collections(tree: Tree) -> dict[str, str]:
    return {
        ".".join(path.split("/")[1:3]): file.data.decode().partition('"version": "')[2][:5]
        for path, file in tree.items()
        if path.endswith("MANIFEST.json")
    }


def test_versions_are_resolved_and_dependencies_are_installed(tmp_path: Path) -> None:
    index = GalaxyIndex()
    for version in ("1.0.0", "1.2.0", "2.0.0"):
        index.add("web.core", version, web__base=">=1.0.0")
    index.add("web.base", "0.9.0")
    index.add("web.base", "1.1.0")
    with index.serving():
        wanted = {"name": "web.core", "version": ">=1.0.0,<2.0.0"}
        found = install(index.url, tmp_path, wanted)
        assert collections(found) == {"web.core": "1.2.0", "web.base": "1.1.0"}
        assert "ansible_collections/web/core/plugins/modules/it.py" in found
        # No file about the index, and no file outside of the collections.
        assert {path.split("/")[1] for path in found} == {"web"}
        # Collections that are installed on this machine are ignored.
        (tmp_path / "here/ansible_collections/web/core").mkdir(parents=True)
        assert collections(install(index.url, tmp_path, wanted)) == collections(found)


def test_a_conflict_of_versions_is_an_error(tmp_path: Path) -> None:
    index = GalaxyIndex()
    index.add("web.core", "1.0.0", web__base=">=3.0.0")
    index.add("web.base", "1.1.0")
    with index.serving():
        with pytest.raises(RemoteError, match=r"web\.base:>=3\.0\.0") as error:
            install(index.url, tmp_path, "web.core")
        assert "--collections FOLDER" in error.value.hint
        with pytest.raises(RemoteError, match=r"web\.other"):
            install(index.url, tmp_path, "web.other")


def test_an_archive_with_another_digest_is_refused(tmp_path: Path) -> None:
    index = GalaxyIndex(damaged=True)
    index.add("web.core", "1.0.0")
    with index.serving(), pytest.raises(RemoteError, match="Mismatch artifact hash"):
        install(index.url, tmp_path, "web.core")


def test_the_token_of_a_server_is_only_sent_to_that_server(tmp_path: Path) -> None:
    elsewhere, index, other = GalaxyIndex(), GalaxyIndex(token=TOKEN), GalaxyIndex()
    for one in (elsewhere, index):
        one.add("web.core", "1.0.0")
    with elsewhere.serving(), other.serving(), index.serving():
        index.archives = elsewhere.url
        settings = "[galaxy]\nserver_list = other, own\n"
        for name, server in (("own", index), ("other", other)):
            settings += f"[galaxy_server.{name}]\nurl = {server.url}\ntoken = {TOKEN}\n"
        (tmp_path / "ansible.cfg").write_text(settings)
        variables = {"ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg")}
        found = install("own", tmp_path, "web.core", **variables)
        assert collections(found) == {"web.core": "1.0.0"}
        assert {sent for _, sent in index.requests} == {f"Token {TOKEN}"}
        assert [sent for _, sent in elsewhere.requests] == [None]
        assert other.requests == []


def test_a_url_gets_no_stored_token(tmp_path: Path) -> None:
    index = GalaxyIndex()
    index.add("web.core", "1.0.0")
    (tmp_path / ".ansible").mkdir()
    (tmp_path / ".ansible" / "galaxy_token").write_text(f"token: {TOKEN}\n")
    with index.serving():
        variables = {"ANSIBLE_GALAXY_TOKEN": TOKEN}
        install(index.url, tmp_path, "web.core", **variables)
    assert {sent for _, sent in index.requests} == {None}
