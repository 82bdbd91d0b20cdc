"""Include files compared with `opm alpha diff` of operator-registry 1.24.

`include_files.json` has the `packages` of each file, and the entries of each channel in the output,
or null if opm refused it. `--skip-deps` after them means that option.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.catalog.changes import include_file, inclusion
from olmkit.jobs.catalog import catalogs

TESTS: Final = Path(__file__).parents[2]
RECORDED: Final = json.loads((TESTS / "vectors/include_files.json").read_text(encoding="utf-8"))
DIFFERENT: Final = {
    "[{name: lamp, channels: [{name: stable, bundles: [lamp.v1.2.0]}]}]": "opm takes the channel",
    "[{name: lamp, versions: [9.0.0]}]": "opm writes an empty catalog",
    "[{name: lamp, range: '>=9.0.0'}]": "opm writes an empty catalog",
    "[{name: lamp, channels: [{name: fast}]}]": "opm writes a default channel that is gone",
    "[{name: battery, channels: [{name: preview}]}]": "opm writes a default channel that is gone",
}


def test_include_files_keep_the_bundles_that_opm_keeps_or_are_also_refused() -> None:
    catalog = catalogs.read(str(TESTS / "golden/bases/include-file/catalog"))
    different = set()
    for key, expected in RECORDED.items():
        packages, _, option = key.partition(" --skip-deps")
        is_skipped = packages != key
        assert not option
        found: dict[str, dict[str, list[str]]] | None = None
        try:
            wanted = include_file.read(documents.load(f"packages: {packages}".encode(), "i.yaml"))
            parts = inclusion.parts(catalog, replace(wanted, dependencies=not is_skipped))
        except InputError:
            pass
        else:
            found = {
                name: {channel: sorted(names) for channel, names in part.channels.items()}
                for name, part in parts.items()
            }
        if found != expected:
            different.add(packages)
    assert different == set(DIFFERENT)
    assert len(RECORDED) == 68
