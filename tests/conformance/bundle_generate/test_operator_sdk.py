"""Bundles from manifests, compared with those of operator-sdk 1.42.3.

The cases were written for this purpose and are outside the repository; their
index names what can differ in every file (times, builder stamps, empty blocks).
Any other difference must be in `differences.toml` with its reason.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import OlmkitError
from olmkit.jobs.bundle import generate as job
from olmkit.jobs.bundle.generate import BundleGenerateOptions

HERE = Path(__file__).parent
BUILDER = "operator-sdk-v1.42.3"


class Run(NamedTuple):
    """One recorded run: its case, the directory of its result, and its input."""

    case: str
    answer: str = "bundle"
    version: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed
    stdin: tuple[str, ...] = ("expected/kustomize/manifests.yaml",)

    @property
    def id(self) -> str:
        return f"{self.case}/{self.answer}"


RUNS = [
    Run("bundle-base", "bundle-sameversion"),
    Run("bundle-base", "bundle", "1.1.0"),
    Run(
        "bundle-base",
        "bundle-base-from-dir",
        "1.2.0",
        stdin=("expected/kustomize/default.yaml", "project/config/samples/m.yaml"),
    ),
    Run("bundle-basic", "bundle-noversion"),
    Run("bundle-basic", "bundle", "0.1.0"),
    Run(
        "bundle-basic",
        "bundle-channels",
        "0.2.0-rc.1",
        {"channels": "stable,fast", "default_channel": "fast"},
    ),
    Run("bundle-basic", "bundle-nodigests", "0.1.0"),
    Run(
        "bundle-basic",
        "bundle-manifests",
        "0.1.0",
        {"output": "out/deep", "parts": frozenset({job.BundlePart.MANIFESTS})},
    ),
    Run("bundle-basic", "bundle-package", "0.1.0", {"package": "other-name"}),
    Run("bundle-csvmarkers", "bundle", "1.0.0"),
    Run("bundle-digests", "bundle", "0.1.0"),
    Run("bundle-digests", "bundle-pinned", "0.1.0", {"pins": True}),
    Run("bundle-extras", "bundle", "0.1.0"),
    Run("bundle-images", "bundle", "0.1.0"),
    Run(
        "bundle-inputdir",
        "bundle",
        "1.0.0",
        {"package": "loose", "inputs": ("deploy",), "output": "out"},
        stdin=(),
    ),
    Run(
        "bundle-inputdir",
        "bundle-deploydir",
        "1.0.0",
        {"package": "loose", "inputs": ("split/deploy", "split/crds")},
        stdin=(),
    ),
    Run(
        "bundle-inputdir",
        "bundle-nobase",
        "1.0.0",
        {"package": "unknown", "inputs": ("split/deploy", "split/crds"), "channels": "a,b"},
        stdin=(),
    ),
    Run("bundle-names", "bundle", "0.1.0"),
    Run("bundle-names", "bundle-package", "0.1.0", {"package": "another-package"}),
    Run("bundle-rbac", "bundle", "0.1.0"),
    Run("bundle-rbac", "bundle-agent", "0.1.0", {"extra_service_accounts": ("keys-agent",)}),
    Run(
        "bundle-rbac",
        "bundle-all",
        "0.1.0",
        {"extra_service_accounts": ("keys-agent", "keys-outsider", "keys-nowhere")},
    ),
    Run("bundle-samples", "bundle", "0.1.0"),
    Run("bundle-webhooks", "bundle", "0.3.0"),
]


def listed(table: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((HERE / "differences.toml").read_text())[table]
    return found


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.id)
def test_a_bundle_is_that_of_operator_sdk(run: Run, vectors: Path, tmp_path: Path) -> None:
    case = vectors / "go" / run.case
    wanted = _answer(case / "expected" / run.answer)

    found = _bundle(run, case, tmp_path, wanted)

    different = {
        name: _difference(wanted.get(name), found.get(name))
        for name in sorted({*wanted, *found})
        if wanted.get(name) != found.get(name)
    }
    expected = {entry["file"]: entry["how"] for entry in listed("bundles").get(run.id, [])}
    assert different == expected


def test_every_listed_difference_has_a_run() -> None:
    assert set(listed("bundles")) <= {run.id for run in RUNS}


def _difference(wanted: bytes | None, found: bytes | None) -> str:
    if found is None:
        return "missing"
    return "extra" if wanted is None else "different"


def _bundle(run: Run, case: Path, folder: Path, wanted: dict[str, bytes]) -> dict[str, bytes]:
    project = folder / "project"
    shutil.copytree(case / "project", project, copy_function=shutil.copyfile)
    options = {key: value for key, value in run.options.items() if key != "pins"}
    if run.stdin:
        options |= {
            "inputs": ("-",),
            "stdin": b"\n---\n".join((case / name).read_bytes() for name in run.stdin),
        }
    csv = next((data for name, data in wanted.items() if "clusterservice" in name), b"")
    created = documents.load(csv, "csv").get("metadata", "annotations", "createdAt", default="")
    try:
        result = job.generate(
            project,
            BundleGenerateOptions(
                version=run.version, builder=BUILDER, created_at=created, **options
            ),
            digests={} if run.options.get("pins") else None,
        )
    except OlmkitError as error:
        return {"refused": error.message.encode()}
    output = Path(result.output)
    files = {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in output.rglob("*")
        if path.is_file() and path.name != ".olmkit-generated"
    }
    containerfile = project / "bundle.Dockerfile"
    if containerfile.exists():
        files[containerfile.name] = containerfile.read_bytes()
    return {name: _comparable(name, data) for name, data in files.items()}


def _answer(folder: Path) -> dict[str, bytes]:
    result = {}
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        name, data = path.relative_to(folder).as_posix(), path.read_bytes()
        if name.startswith(("manifests/", "tests/")):
            value = documents.load(data, name).value
            # The writer of olmkit has the same style, so the comparison below is one of bytes.
            if "bundle-pinned" not in folder.name or "clusterservice" not in name:
                assert documents.dump(value) == data
            data = documents.dump(_without_empty_blocks(value))
        result[name] = _comparable(name, data)
    return result


def _comparable(name: str, data: bytes) -> bytes:
    """Return files without comments, which can differ."""
    if name.startswith(("manifests/", "tests/")):
        return data
    lines = [line.strip() for line in data.decode().splitlines()]
    text = "\n".join(line for line in lines if line and not line.startswith("#"))
    # The recorded run wrote the name of another directory into the file.
    return text.encode()


def _without_empty_blocks(value: Any) -> Any:
    """Return the object without empty fields of Go's types, which olmkit can omit."""
    if value.get("kind") == "ClusterServiceVersion":
        return value
    if value.get("kind") == "Configuration":
        return _without_storage(value)
    result = {key: item for key, item in value.items() if key != "status"}
    metadata = result["metadata"]
    result["metadata"] = {k: v for k, v in metadata.items() if k != "creationTimestamp"}
    for port in result.get("spec", {}).get("ports", []) if value.get("kind") == "Service" else []:
        if port.get("targetPort") == 0:
            del port["targetPort"]
    return result


def _without_storage(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_storage(item) for item in value]
    if isinstance(value, dict):
        return {
            key: _without_storage(item)
            for key, item in value.items()
            if not (key == "storage" and item == {"spec": {"mountPath": {}}})
        }
    return value


STREAMS = ["good", "no-deployment", "bad-type", "crd-v2", "two-scorecards", "value-from"]
STREAMS += ["webhook-no-path", "yaml-error"]


@pytest.mark.parametrize("stream", STREAMS)
def test_input_that_operator_sdk_refuses_is_refused(
    stream: str, vectors: Path, tmp_path: Path
) -> None:
    case = vectors / "go" / "bundle-refused"
    data = (case / "project" / "streams" / f"{stream}.yaml").read_bytes()
    accepted = (case / "expected" / f"stream-{stream}.exit").read_text().strip() == "0"

    answer = _verdict(
        case, tmp_path, BundleGenerateOptions(inputs=("-",), stdin=data, version="1.0.0")
    )

    expected = "accepted" if accepted else "refused"
    assert answer == listed("verdicts").get(f"stream-{stream}", {}).get("olmkit", expected)


FLAGS: dict[str, dict[str, Any]] = {
    "version-v": {"version": "v1.0.0"},
    "version-two-parts": {"version": "1.0"},
    "version-build": {"version": "1.0.0-rc.1+b7"},
    "version-leading-zero": {"version": "1.02.0"},
    "version-text": {"version": "latest"},
    "default-channel-only": {"default_channel": "beta"},
    "empty-channels": {"channels": ""},
    "channels-space": {"channels": "a, b"},
    "package-upper": {"package": "Upper_Case"},
}


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_that_operator_sdk_refuses_are_refused(
    flag: str, vectors: Path, tmp_path: Path
) -> None:
    case = vectors / "go" / "bundle-refused"
    data = (case / "project" / "streams" / "good.yaml").read_bytes()
    accepted = (case / "expected" / f"flag-{flag}.exit").read_text().strip() == "0"
    asked = {"version": "1.0.0", "inputs": ("-",), "stdin": data, **FLAGS[flag]}

    answer = _verdict(case, tmp_path, BundleGenerateOptions(**asked))

    expected = "accepted" if accepted else "refused"
    assert answer == listed("verdicts").get(f"flag-{flag}", {}).get("olmkit", expected)


def _verdict(case: Path, folder: Path, options: BundleGenerateOptions) -> str:
    project = folder / "project"
    project.mkdir()
    shutil.copyfile(case / "project" / "PROJECT", project / "PROJECT")
    try:
        job.generate(project, options)
    except OlmkitError:
        assert sorted(path.name for path in project.iterdir()) == ["PROJECT"]
        return "refused"
    return "accepted"
