"""The memory of the program for one very large file of a bundle: at most 1 GB.

Each case runs in a child process, whose maximum is measured. A part of it is the same for every
program: the interpreter, its libraries and the file itself.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BYTES = 60_000_000  # the limit for a bundle is 64 MB
MEGABYTES = 1000
BUNDLE = Path(__file__).parents[3] / "golden/bases/memcached-bundle/bundle"
CSV = "manifests/memcached.clusterserviceversion.yaml"
PROGRAM = """
import resource, sys
from olmkit.cli import main
code = main.run(["bundle", "validate", sys.argv[1]])
print(int(code), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000, file=sys.stdout)
"""


def line() -> bytes:
    return b'description: "' + b"a" * BYTES + b'"'


def numbers() -> bytes:
    return b"numbers: [" + b"1," * 10_000_000 + b"1]"


def separators() -> bytes:
    return b"---\n" * 5_000_000


def key() -> bytes:
    return b"? " + b"a" * BYTES + b"\n  : 1"


def keys() -> bytes:
    return b"\n  ".join(b"? %d" % number + b"a" * 99_000 + b"\n  : 1" for number in range(300))


CASES: dict[Callable[[], bytes], str] = {
    line: "",
    numbers: "have more than 500,000 lines and list items",
    separators: "have more than 500,000 lines and list items",
    key: "a key has more than 100,000 characters",
    keys: "",
}


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is that of Linux")
@pytest.mark.parametrize("content", CASES)
def test_a_large_file_needs_less_than_a_gigabyte(
    content: Callable[[], bytes], tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(BUNDLE, bundle)
    before, spec, after = (BUNDLE / CSV).read_bytes().partition(b"spec:\n")
    place = (before, spec, b"  ", content(), b"\n", after)
    (bundle / CSV).write_bytes(b"".join(place))
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(bundle)], capture_output=True, text=True, check=True
    )
    code, megabytes = found.stdout.splitlines()[-1].split()
    assert int(megabytes) < MEGABYTES
    assert code == "1"
    assert CASES[content] in found.stdout + found.stderr
    assert "Traceback" not in found.stderr
