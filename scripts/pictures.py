"""Writes the pictures of the README with olmkit's commands: an upgrade graph and `why`.

.venv/bin/python scripts/pictures.py

The graph is that of a small catalog, and `why` explains a recorded cluster of the golden tests. The
same sources result in the same bytes, and a test compares them.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "images"
BASES = ROOT / "tests" / "golden" / "bases"
RECORDED = ROOT / "tests" / "golden" / "why" / "crash"
# Version → what it replaces and skips, by channel.
CHANNELS = {
    "stable": {"1.0.0": ("", ()), "1.1.0": ("1.0.0", ()), "2.0.0": ("1.1.0", ())},
    "fast": {
        "1.1.0": ("", ()),
        "2.0.0": ("1.1.0", ()),
        "2.1.0": ("", ()),
        "2.1.1": ("2.0.0", ("2.1.0",)),
    },
}
PACKAGE = "pond-operator"
# The terminal: columns, size of a character, margin.
COLUMNS = 104
WIDE, HIGH, MARGIN = 7.8, 19, 14
COLOR = re.compile(r"\x1b\[([0-9;]*)m")
# Parameters of a color → class of the text.
CLASSES = {"31;1": "e", "33;1": "w", "32;1": "k", "36": "h"}
STYLE = """svg{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}
text{white-space:pre}.b{fill:#f6f8fa;stroke:#d1d9e0}.p{fill:#59636e}.e{fill:#cf222e;font-weight:600}
.w{fill:#9a6700;font-weight:600}.k{fill:#1a7f37;font-weight:600}.h{fill:#0969da}
@media(prefers-color-scheme:dark){svg{fill:#f0f6fc}.b{fill:#151b23;stroke:#3d444d}.p{fill:#9198a1}
.e{fill:#ff7b72}.w{fill:#d29922}.k{fill:#3fb950}.h{fill:#4493f8}}"""


def olmkit(*words: str) -> str:
    """Return the output of a command; `why` exits with 1, since the operator is not installed."""
    done = subprocess.run(
        [sys.executable, "-m", "olmkit", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if done.returncode > 1:
        sys.exit(done.stderr)
    return done.stdout


def catalog() -> str:
    """Return the catalog of the graph."""
    versions = sorted({version for entries in CHANNELS.values() for version in entries})
    blobs: list[object] = [
        {"schema": "olm.package", "name": PACKAGE, "defaultChannel": "stable"},
        *({"schema": "olm.channel", "package": PACKAGE, "name": name, "entries": [
            {"name": f"{PACKAGE}.v{version}"}
            | ({"replaces": f"{PACKAGE}.v{replaced}"} if replaced else {})
            | ({"skips": [f"{PACKAGE}.v{one}" for one in skipped]} if skipped else {})
            for version, (replaced, skipped) in entries.items()
        ]} for name, entries in CHANNELS.items()),
        *({"schema": "olm.bundle", "package": PACKAGE, "name": f"{PACKAGE}.v{version}",
           "image": f"quay.io/example/{PACKAGE}-bundle:v{version}", "properties": [
               {"type": "olm.package", "value": {"packageName": PACKAGE, "version": version}}
           ]} for version in versions),
    ]  # fmt: skip
    return "".join(f"{json.dumps(blob)}\n" for blob in blobs)


def graph() -> str:
    """Return the upgrade graph as `olmkit catalog graph` draws it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "catalog.json").write_text(catalog())
        return olmkit("catalog", "graph", folder, PACKAGE, "-o", "svg")


def terminal(command: str, printed: str, title: str) -> str:
    """Return a picture of a terminal: the command, and its output with colors."""
    lines = [f'<tspan class="p">$ {html.escape(command)}</tspan>']
    lines += [part for line in printed.splitlines() for part in _lines(line)]
    width = round(COLUMNS * WIDE) + 2 * MARGIN
    height = len(lines) * HIGH + 2 * MARGIN
    texts = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + 14 + number * HIGH}" xml:space="preserve">{line}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"\n'
        f'width="{width}" height="{height}" role="img">\n<title>{html.escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="b" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>\n'
        f"{texts}\n</svg>\n"
    )


def _lines(line: str) -> list[str]:
    """Return a line of the terminal as lines of the picture; long ones are wrapped at a space."""
    head, kind = "", ""
    begin = COLOR.match(line)
    if begin:
        kind = CLASSES.get(begin[1], "")
        head, _, line = line[begin.end() :].partition("\x1b[0m")
    line = COLOR.sub("", line)
    first = COLUMNS - len(head)
    indent = " " * (len(head + line) - len((head + line).lstrip(" ")) + 2)
    parts, rest, room = [], line, first
    while len(rest) > room:
        at = rest.rfind(" ", 0, room + 1)
        at = at if at > 0 else room
        parts.append(rest[:at])
        rest, room = indent + rest[at:].lstrip(" "), COLUMNS
    parts.append(rest)
    shown = [html.escape(part, quote=False) for part in parts]
    if head:
        shown[0] = f'<tspan class="{kind}">{html.escape(head, quote=False)}</tspan>{shown[0]}'
    return shown


def why() -> str:
    """Return the output of `olmkit why` for an operator whose program ends."""
    words = (RECORDED / "command").read_text().split()
    recorded = str(BASES / (RECORDED / "base").read_text().strip() / "objects.yaml")
    shown = words[: words.index("--from")]
    printed = olmkit(*shown, "--from", recorded, "--color", "always")
    return terminal(f"olmkit {' '.join(shown)}", printed, "What `olmkit why` prints")


def pictures() -> dict[str, str]:
    """Return path in docs/images → content."""
    return {"graph.svg": graph(), "why.svg": why()}


if __name__ == "__main__":
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
