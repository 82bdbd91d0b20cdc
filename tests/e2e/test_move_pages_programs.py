"""The pages for users of opm and operator-sdk: the programs have what the left side names."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable

import pytest

from tests.move_pages import CODE, PROGRAMS, options_of, path_of, rows

pytestmark = pytest.mark.e2e

# What older releases had, which users of the pages may have; and types that are arguments.
ELSEWHERE = {
    "opm": {
        *("alpha diff", "alpha render-template composite", "alpha render-template substitutes"),
        *("generate dockerfile --binary-image", "index add --overwrite-latest", "registry mirror"),
    },
    "operator-sdk": set[str](),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_have_what_the_pages_name(
    program: str, built_program: Callable[[str], str]
) -> None:
    """Each command and option, in the help of the program itself."""
    path = os.environ.get(program.upper().replace("-", "_")) or built_program(program)
    helps: dict[str, str] = {}
    missing = []
    for theirs, _ in rows(program):
        codes = CODE.findall(theirs)
        if not codes[0].startswith(f"{program} "):
            continue
        words = codes[0].split()[1:]
        line = path_of(words)
        if line not in helps:
            call = [path, *line.split(), "--help"]
            done = subprocess.run(call, capture_output=True, text=True, check=False)
            helps[line] = done.stdout + done.stderr
            usage = rf"^  {program} {re.escape(line)}\b"
            if done.returncode or not re.search(usage, helps[line], re.MULTILINE):
                missing.append(line)
        options = options_of([word for code in (codes[0], *codes[1:]) for word in code.split()])
        missing += [f"{line} {one}" for one in options if not re.search(rf"{one}\b", helps[line])]
    known = tuple(ELSEWHERE[program])
    missing = [one for one in missing if not one.startswith(known)]
    assert not missing, "\n".join(missing)
