"""The pages for users of opm and operator-sdk: these programs have the named commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.move_pages import CODE, options_of, path_of, rows

pytestmark = pytest.mark.e2e

# What older releases of opm had, and a type of template that is an argument.
OF_OPM = (
    *("alpha diff", "alpha render-template composite", "alpha render-template substitutes"),
    *("generate dockerfile --binary-image", "index add --overwrite-latest", "registry mirror"),
)
# Options of the plugins for Helm and Ansible, and a command, that operator-sdk's pages omit.
UNLISTED = (
    *("create api --helm-chart", "create api --helm-chart-repo", "create api --helm-chart-version"),
    *("create api --generate-role", "create api --generate-playbook", "run packagemanifests"),
)


def missing(program: str, help_of: Callable[[str], str]) -> list[str]:
    """Return the commands and options of a page that the help of the program does not have."""
    found = []
    for theirs, _ in rows(program):
        codes = CODE.findall(theirs)
        if not codes[0].startswith(f"{program} "):
            continue
        line = path_of(codes[0].split()[1:])
        text = help_of(line)
        if not re.search(rf"^(  )?{program} {re.escape(line)}\b", text, re.MULTILINE):
            found.append(line)
        options = options_of([word for code in codes for word in code.split()])
        found += [f"{line} {one}" for one in options if not re.search(rf"{one}\b", text)]
    return found


def test_opm_has_the_commands_that_its_page_names(built_program: Callable[[str], str]) -> None:
    opm = os.environ.get("OPM") or built_program("opm")

    def help_of(line: str) -> str:
        call = [opm, *line.split(), "--help"]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout

    found = [one for one in missing("opm", help_of) if not one.startswith(OF_OPM)]
    assert not found, "\n".join(found)


def test_operator_sdk_has_the_commands_that_its_page_names(root: Path) -> None:
    """By its own pages in the Go module, since the built program does not have all commands."""
    module = (root / "tests/programs/operator-sdk/go.mod").read_text()
    (version,) = re.findall(r"operator-framework/operator-sdk (v\S+)", module)
    name = f"github.com/operator-framework/operator-sdk@{version}"
    call = ["go", "mod", "download", "-json", name]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd="/")
    pages = Path(json.loads(done.stdout)["Dir"]) / "website/content/en/docs/cli"

    def help_of(line: str) -> str:
        page = pages / f"operator-sdk_{line.replace(' ', '_')}.md"
        return page.read_text() if page.is_file() else ""

    found = [one for one in missing("operator-sdk", help_of) if one not in UNLISTED]
    assert not found, "\n".join(found)
