"""`python -m olmkit.hybrid helm|ansible`: the operator of a `watches.yaml`."""

from __future__ import annotations

import sys

from olmkit.hybrid import process


def main(arguments: list[str]) -> int:
    """Run the operator of this kind; return the exit code."""
    # `run` is the command of the programs in the original images.
    rest = arguments[2:] if arguments[1:2] == ["run"] else arguments[1:]
    if arguments[:1] == ["helm"]:
        from olmkit.hybrid.helm import program as helm_program

        return process.main(helm_program.PROGRAM, rest)
    if arguments[:1] == ["ansible"]:
        from olmkit.hybrid.ansible import program as ansible_program

        return process.main(ansible_program.PROGRAM, rest)
    print("usage: python -m olmkit.hybrid helm|ansible [FLAGS]", file=sys.stderr)  # noqa: T201
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
