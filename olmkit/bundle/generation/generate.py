"""Generate the files of a bundle from manifests and a base CSV.

The author's data in the base is kept; data that follows from the manifests is computed again on
every run: permissions, deployments, owned APIs, webhooks, examples. Nothing is removed without a
finding, and no clock is read, so the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.base.diagnostics import Diagnostic
from olmkit.base.documents import Document
from olmkit.bundle.generation import (
    base_csv,
    bundle_objects,
    collect,
    images,
    serialise,
)
from olmkit.bundle.generation.csv_builder import CsvBuilder
from olmkit.bundle.generation.file_names import name_files
from olmkit.bundle.generation.generate_request import GenerateRequest, check_version
from olmkit.bundle.generation.origins import Origin
from olmkit.bundle.model import (
    ClusterServiceVersion,
)
from olmkit.kube.objects import Manifest

SCORECARD_FILE = "tests/scorecard/config.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedBundle:
    """The manifests of a bundle by file name, and findings."""

    csv: Manifest
    csv_file: str
    objects: Mapping[str, Manifest]
    scorecard: Manifest | None
    findings: tuple[Diagnostic, ...]
    origins: tuple[Origin, ...]

    def files(self) -> dict[str, bytes]:
        """Return path in the bundle → bytes, for manifests and the scorecard's configuration."""
        result = {f"manifests/{self.csv_file}": serialise.yaml(self.csv)}
        for name, manifest in self.objects.items():
            result[f"manifests/{name}"] = serialise.yaml(manifest)
        if self.scorecard is not None:
            result[SCORECARD_FILE] = serialise.yaml(self.scorecard)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDraft:
    """A bundle whose images are as the input names them, and whose CSV has no time yet."""

    csv: Manifest
    base: ClusterServiceVersion | None
    builder: CsvBuilder

    def unpinned(self) -> tuple[str, ...]:
        """Return the images of the CSV without a digest."""
        found = images.pullspecs(serialise.csv_manifest(self.csv))
        return tuple(dict.fromkeys(item.image for item in found if "@" not in item.image))


def generate(
    request: GenerateRequest,
    inputs: Iterable[Document],
    *,
    stored_base: Document | None = None,
    previous: Mapping[str, Any] | None = None,
) -> GeneratedBundle:
    """Return the objects of a bundle.

    `stored_base` is the project's base CSV, used if the input has none; `previous` is the CSV of an
    earlier run. Raises `InputError` if the input does not form a bundle, and `ConfigurationError`
    for an invalid version.
    """
    return finish(draft(request, inputs, stored_base=stored_base), previous=previous)


def draft(
    request: GenerateRequest, inputs: Iterable[Document], *, stored_base: Document | None = None
) -> BundleDraft:
    """Return a bundle without the digests of its images. Raises like `generate`."""
    check_version(request.version)
    collection = collect.collect(inputs)
    builder = CsvBuilder(request=request, collection=collection, notes=list(collection.findings))
    base = base_csv.choose(request.package, collection.csvs, stored_base, builder.notes.append)
    return BundleDraft(csv=builder.csv(base), base=base, builder=builder)


def finish(
    draft: BundleDraft,
    *,
    digests: Mapping[str, str] | None = None,
    previous: Mapping[str, Any] | None = None,
) -> GeneratedBundle:
    """Return the bundle of a draft; `digests` pins and relates every image of its CSV.

    Call this once for a draft.
    """
    builder = draft.builder
    csv = builder.pinned(draft.csv, digests)
    builder.date(csv, draft.base, previous or {})
    bundle_objects.report_dropped(builder.collection, builder.notes.append)
    bundle_objects.note_certificates(builder.collection, builder.notes.append)
    written = bundle_objects.written(builder.collection, builder.access)
    return GeneratedBundle(
        csv=csv,
        csv_file=f"{builder.request.package.lower()}.clusterserviceversion.yaml",
        objects=dict(name_files(written, builder.notes.append)),
        scorecard=next((serialise.manifest(item) for item in builder.collection.scorecards), None),
        findings=tuple(sorted(builder.notes, key=Diagnostic.sort_key)),
        origins=tuple(builder.origins.found),
    )
