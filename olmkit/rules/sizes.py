"""Rules about the size of a bundle.

OLM unpacks a bundle into one ConfigMap, each file compressed and encoded in base64, and the API
server accepts no ConfigMap above 1 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base.diagnostics import Severity
from olmkit.bundle.model import Bundle
from olmkit.rules.engine import Finding, rule

LIMIT = 1 << 20  # bytes; the limit of the API server for one object
NEAR = 0.85
_GZIP_FRAME = 12  # the difference between the frames of gzip and zlib


@rule("MET010", "bundle-too-large")
def bundle_too_large(bundle: Bundle) -> Iterator[Finding]:
    """The bundle is too large for a ConfigMap.

    Why: OLM stores the unpacked bundle in one ConfigMap, compressed, and cannot install a
    larger bundle.

    Fix: shorten the descriptions in CRDs, which take up most of the space, and the icon.
    """
    size = compressed_size(bundle)
    if size > LIMIT:
        yield Finding(
            "maximum bundle compressed size with gzip size exceeded: "
            f"size=~{_human(size)} , max={_human(LIMIT)}",
            at=bundle.place(bundle.manifests_dir),
            hint="shorten the descriptions in CRDs, and the icon",
        )


@rule("MET011", "bundle-large", severity=Severity.WARNING)
def bundle_large(bundle: Bundle) -> Iterator[Finding]:
    """The bundle is nearly too large for a ConfigMap.

    Why: OLM stores the unpacked bundle in one ConfigMap, compressed. With one more CRD, OLM
    may no longer be able to install the bundle.

    Fix: shorten the descriptions in CRDs, which take up most of the space, and the icon.
    """
    size = compressed_size(bundle)
    if NEAR * LIMIT < size <= LIMIT:
        yield Finding(
            "nearing maximum bundle compressed size with gzip: "
            f"size=~{_human(size)} , max={_human(LIMIT)}",
            at=bundle.place(bundle.manifests_dir),
            hint="shorten the descriptions in CRDs, and the icon",
        )


def compressed_size(bundle: Bundle) -> int:
    """Return the size of the manifests folder in a ConfigMap, in bytes."""
    size: int = bundle.once("compressed size", _compressed_size)
    return size


def _compressed_size(bundle: Bundle) -> int:
    """Return the size, exact only if it matters: near the limit and above it.

    Good compression is slow and mostly not needed: it does not make files larger, and fast
    compression gives an upper bound. So the largest files are compressed with the fast method, one
    after the other, until the rest fits without compression.
    """
    import zlib

    prefix = f"{bundle.manifests_dir}/" if bundle.manifests_dir else ""
    files = [file.data for path, file in bundle.tree.items() if path.startswith(prefix)]
    sizes = [_as_base64(len(data)) for data in files]
    for index in sorted(range(len(files)), key=lambda index: -sizes[index]):
        if sum(sizes) <= NEAR * LIMIT:
            return sum(sizes)
        sizes[index] = _as_base64(len(zlib.compress(files[index], 1)))
    if sum(sizes) <= NEAR * LIMIT:
        return sum(sizes)
    return sum(_as_base64(len(zlib.compress(data, 6)) + _GZIP_FRAME) for data in files)


def _as_base64(size: int) -> int:
    return (size + 2) // 3 * 4


def _human(size: int) -> str:
    """Format sizes like operator-sdk: in units of 1000."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1e3:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
