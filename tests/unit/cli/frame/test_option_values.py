"""The values that options repeat are those of the packages that define them."""

from __future__ import annotations

from olmkit.bundle.changes import change
from olmkit.bundle.scorecard import pods
from olmkit.catalog.bundles import migrate
from olmkit.catalog.changes import difference
from olmkit.cli.frame import option_values
from olmkit.jobs.catalog.templates import template
from olmkit.jobs.cluster import olm
from olmkit.jobs.cluster_v0 import install_choice
from olmkit.jobs.image import mirror
from olmkit.jobs.project import generate, overlay
from olmkit.jobs.submission import prepare
from olmkit.olm import mirror_objects
from olmkit.project.scaffold import project
from olmkit.rules import engine
from olmkit.submission import settings


def test_choices_are_those_of_their_sources() -> None:
    assert tuple(engine.PROFILES) == option_values.PROFILES
    assert tuple(migrate.Level) == option_values.MIGRATIONS
    assert option_values.OLM_GENERATIONS == change.GENERATIONS
    assert tuple(difference.Noun) == option_values.DIFFERENCE_NOUNS
    assert tuple(difference.Kind) == option_values.DIFFERENCE_KINDS
    assert tuple(change.ChangeLevel) == option_values.CHANGE_LEVELS
    assert tuple(settings.Target) == option_values.SUBMISSION_TARGETS
    assert option_values.SUBMISSION_TEMPLATES == prepare.KINDS
    assert tuple(generate.Target) == option_values.GENERATED


def test_defaults_are_those_of_their_sources() -> None:
    assert option_values.LAYOUT == project.LAYOUT
    assert option_values.CI_SERVICES == project.CI
    assert option_values.OVERLAY == overlay.DEFAULT
    assert option_values.STDIN == template.STDIN
    assert option_values.STORAGE_IMAGE == pods.STORAGE_IMAGE
    assert option_values.UNTAR_IMAGE == pods.UNTAR_IMAGE
    assert option_values.CATALOG_SERVER == install_choice.CATALOG_SERVER
    assert option_values.OLM_RELEASE == olm.RELEASE
    assert option_values.MARKETPLACE == mirror_objects.MARKETPLACE
    assert option_values.MIRROR_JOBS == mirror.DEFAULT_JOBS
