"""Values of options that other packages define, repeated here for help and completion.

So the help of a command imports nothing of what the command does. A test compares each value
with its source.
"""

from __future__ import annotations

from typing import Final

PROFILES: Final = (
    "default",
    "operator-sdk",
    "operatorhub",
    "community",
    "openshift",
    "certified",
    "olmv1",
)
"""`olmkit.rules.engine.PROFILES`."""

MIGRATIONS: Final = ("none", "bundle-object-to-csv-metadata", "all")
"""`olmkit.catalog.bundles.migrate.Level`."""

DIFFERENCE_NOUNS: Final = ("package", "channel", "entry", "bundle")
"""`olmkit.catalog.changes.difference.Noun`."""

DIFFERENCE_KINDS: Final = ("added", "removed", "changed")
"""`olmkit.catalog.changes.difference.Kind`."""

OLM_GENERATIONS: Final = ("v0", "v1")
"""`olmkit.bundle.changes.change.GENERATIONS`."""

CHANGE_LEVELS: Final = ("blocks", "warns", "info")
"""`olmkit.bundle.changes.change.ChangeLevel`."""

SUBMISSION_TARGETS: Final = ("operatorhub", "openshift", "certified")
"""`olmkit.submission.settings.Target`."""

SUBMISSION_TEMPLATES: Final = ("basic", "semver")
"""`olmkit.jobs.submission.prepare.KINDS`."""

GENERATED: Final = ("crd", "rbac", "webhook", "csv")
"""`olmkit.jobs.project.generate.Target`."""

LAYOUT: Final = "python.olmkit/v1"
"""`olmkit.project.scaffold.project.LAYOUT`."""

CI_SERVICES: Final = ("github", "gitlab")
"""`olmkit.project.scaffold.project.CI`."""

OVERLAY: Final = "config/default"
"""`olmkit.jobs.project.overlay.DEFAULT`."""

STDIN: Final = "-"
"""`olmkit.jobs.catalog.templates.template.STDIN`."""

STORAGE_IMAGE: Final = (
    "quay.io/operator-framework/scorecard-storage"
    "@sha256:a3bfda71281393c7794cabdd39c563fb050d3020fd0b642ea164646bdd39a0e2"
)
"""`olmkit.bundle.scorecard.pods.STORAGE_IMAGE`."""

UNTAR_IMAGE: Final = (
    "quay.io/operator-framework/scorecard-untar"
    "@sha256:2e728c5e67a7f4dec0df157a322dd5671212e8ae60f69137463bd4fdfbff8747"
)
"""`olmkit.bundle.scorecard.pods.UNTAR_IMAGE`."""

CATALOG_SERVER: Final = "quay.io/operator-framework/opm:v1.73.0"
"""`olmkit.jobs.cluster_v0.install_choice.CATALOG_SERVER`."""

OLM_RELEASE: Final = "v0.46.0"
"""`olmkit.jobs.cluster.olm.RELEASE`."""
MARKETPLACE: Final = "openshift-marketplace"
"""`olmkit.olm.mirror_objects.MARKETPLACE`."""

MIRROR_JOBS: Final = 4
"""`olmkit.jobs.image.mirror.DEFAULT_JOBS`."""
