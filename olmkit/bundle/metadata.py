"""The annotations of a bundle, and the Containerfile with the same labels.

Both are written from one ordered mapping. Additions of an author to either file are kept: further
annotations and labels, and further lines of the Containerfile, unless they repeat facts of the
bundle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from olmkit.base import documents
from olmkit.bundle import model

MEDIA_TYPE_VALUE = "registry+v1"
METRICS_MEDIA_TYPE = model.ANNOTATION_PREFIX + "metrics.mediatype.v1"
METRICS_BUILDER = model.ANNOTATION_PREFIX + "metrics.builder"
METRICS_LAYOUT = model.ANNOTATION_PREFIX + "metrics.project_layout"
TEST_DIRECTORY = "tests/scorecard/"

_CORE = (
    model.MEDIA_TYPE,
    model.MANIFESTS,
    model.METADATA,
    model.PACKAGE,
    model.CHANNELS,
    model.DEFAULT_CHANNEL,
)
_TEST = (model.TEST_MEDIA_TYPE, model.TEST_CONFIG)
_METRICS = (METRICS_BUILDER, METRICS_MEDIA_TYPE, METRICS_LAYOUT)
_OWN = frozenset((*_CORE, *_TEST, *_METRICS))

_CORE_COMMENT = "# What OLM and catalogs read."
_TEST_COMMENT = "# Where the scorecard finds its tests."
_COPY_COMMENT = "# The files, where the labels say they are."
# Comments that bundle generators write, including earlier ones: never an author's.
_COMMENTS = frozenset(
    {
        _CORE_COMMENT,
        _TEST_COMMENT,
        _COPY_COMMENT,
        "# Core bundle labels.",
        "# Labels for testing.",
        "# Copy files to locations specified by labels.",
    }
)
_PLAIN_LABEL = re.compile(r"[^\s\"'\\$#=]+")
_LABEL_LINE = re.compile(r"LABEL\s+(?P<key>\"[^\"]+\"|[^\s=\"]+)[=\s]", re.IGNORECASE)
_COPY_LINE = re.compile(
    r"COPY\s.*\s\"?/?(?:manifests|metadata|tests/scorecard)/?\"?", re.IGNORECASE
)


def annotation_values(
    *,
    package: str,
    channels: str,
    default_channel: str = "",
    builder: str,
    project_layout: str,
    has_scorecard: bool = False,
    others: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the annotations in the order of writing; `others` are the author's."""
    result = {
        model.MEDIA_TYPE: MEDIA_TYPE_VALUE,
        model.MANIFESTS: "manifests/",
        model.METADATA: "metadata/",
        model.PACKAGE: package,
        model.CHANNELS: channels,
    }
    if default_channel:
        result[model.DEFAULT_CHANNEL] = default_channel
    further = {key: value for key, value in (others or {}).items() if key not in _OWN}
    further |= {
        METRICS_BUILDER: builder,
        METRICS_MEDIA_TYPE: "metrics+v1",
        METRICS_LAYOUT: project_layout,
    }
    result |= dict(sorted(further.items(), key=lambda item: f"{item[0]}={item[1]}"))
    if has_scorecard:
        result |= {model.TEST_MEDIA_TYPE: "scorecard+v1", model.TEST_CONFIG: TEST_DIRECTORY}
    return result


def annotations_file(values: Mapping[str, str]) -> bytes:
    """Return the text of `annotations.yaml`, with quotes only where YAML would misread a value."""
    lines = ["annotations:", f"  {_CORE_COMMENT}"]
    for key, value in values.items():
        if key == _TEST[0]:
            lines += ["", f"  {_TEST_COMMENT}"]
        lines += [f"  {line}" for line in documents.dump({key: value}).decode().splitlines()]
    return ("\n".join(lines) + "\n").encode()


def containerfile(
    values: Mapping[str, str], directory: str, existing: bytes | None = None
) -> bytes:
    """Return the text of the Containerfile of a bundle whose files are in `directory`.

    `directory` is relative to the folder in which the image is built; empty for that folder itself.
    Lines of `existing` that are not about the bundle are kept.
    """
    prefix = f"{directory.rstrip('/')}/" if directory else ""
    kept = list(_author_lines(existing, values))
    base = next((line for line in kept if line.split()[:1] in (["FROM"], ["from"])), None)
    lines = [base or "FROM scratch", "", _CORE_COMMENT]
    lines += [_label(key, value) for key, value in values.items() if key not in _TEST]
    if _TEST[0] in values:
        lines += ["", _TEST_COMMENT]
        lines += [_label(key, values[key]) for key in _TEST]
    lines += ["", _COPY_COMMENT]
    lines += [
        f"COPY {prefix}manifests /manifests/",
        f"COPY {prefix}metadata /metadata/",
    ]
    if _TEST[0] in values:
        lines.append(f"COPY {prefix}tests/scorecard /tests/scorecard/")
    rest = _trim([line for line in kept if line is not base])
    if rest:
        lines += ["", *rest]
    return ("\n".join(lines) + "\n").encode()


def _label(key: str, value: str) -> str:
    if _PLAIN_LABEL.fullmatch(value):
        return f"LABEL {key}={value}"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    escaped = escaped.replace("\n", "\\n")
    return f'LABEL {key}="{escaped}"'


def _author_lines(existing: bytes | None, values: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a Containerfile that a generator of bundles would not write."""
    if existing is None:
        return
    for line in existing.decode("utf-8", "replace").splitlines():
        stripped = line.strip()
        label = _LABEL_LINE.match(stripped)
        is_ours = (
            stripped in _COMMENTS
            or stripped.lower() == "from scratch"
            or (label is not None and _is_known(label["key"].strip('"'), values))
            or _COPY_LINE.fullmatch(stripped) is not None
        )
        if not is_ours:
            yield line.rstrip()


def _is_known(key: str, values: Mapping[str, str]) -> bool:
    return key in _OWN or key in values


def _trim(lines: list[str]) -> list[str]:
    """Return `lines` without empty ones at both ends, and without consecutive empty lines."""
    result: list[str] = []
    for line in lines:
        if line or (result and result[-1]):
            result.append(line)
    while result and not result[-1]:
        result.pop()
    return result
