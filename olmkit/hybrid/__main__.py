"""`python -m olmkit.hybrid helm`: the operator of a `watches.yaml`."""

from __future__ import annotations

import sys

from olmkit.hybrid import process


def main(words: list[str]) -> int:
    """Run the operator of this kind; the exit code."""
    if not words or words[0] != "helm":
        print("usage: python -m olmkit.hybrid helm [FLAGS]", file=sys.stderr)  # noqa: T201
        return 2
    # `run` is the command of helm-operator's image.
    rest = words[2:] if words[1:2] == ["run"] else words[1:]
    return process.main(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
