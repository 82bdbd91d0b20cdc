"""Which catalogs are served: the result of `opm validate`, and what `opm serve` adds to it."""

from __future__ import annotations

import json
from pathlib import Path

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.edges.folder import Folder
from olmkit.jobs.catalog.serving import stores

# Valid catalogs that `opm serve` refuses.
ONLY_SERVE_REFUSES = {"blob-custom-odd-schema-name", "blob-schema-space", "metadata-two"}
# Catalogs with another result in olmkit, and the reason.
DIFFERENCES: dict[str, str] = {}


def test_a_catalog_is_served_if_the_reference_serves_it(vectors: Path) -> None:
    folder = vectors / "rules"
    different = set()
    # Split at newlines only, because some strings contain U+2028.
    for line in (folder / "catalogs.jsonl").read_bytes().split(b"\n")[:-1]:
        row = json.loads(line)
        case = row["case"]
        if case.startswith("files-symlink-") and not has_link(folder / "catalogs" / case):
            continue  # copied without its link
        refused = row["validate"]["exit"] != 0 or case in ONLY_SERVE_REFUSES
        if is_refused(folder / "catalogs" / case) != refused:
            different.add(case)
    assert different == set(DIFFERENCES)


def is_refused(folder: Path) -> bool:
    try:
        # Empty directories are not stored with the cases.
        tree = Folder(folder) if folder.is_dir() else Tree()
        stores.build(folder.name, tree, None).store.close()
    except InputError:
        return True
    return False


def has_link(folder: Path) -> bool:
    return any(path.is_symlink() for path in folder.rglob("*"))
