"""The page that describes every marker."""

from __future__ import annotations

from olmkit.apis.markers import pages as marker_pages
from olmkit.apis.markers.table import REGISTRY


def test_every_marker_is_on_the_page() -> None:
    page = marker_pages.page()

    assert all(f"`+{definition.name}" in page for definition in REGISTRY)


def test_the_usage_of_a_marker_shows_its_optional_parts() -> None:
    forms = {row.name: row.form for row in marker_pages.rows()}

    assert forms["nullable"] == "+nullable"
    assert forms["kubebuilder:validation:Enum"] == "+kubebuilder:validation:Enum=<list of value>"
    assert forms["kubebuilder:subresource:scale"] == (
        "+kubebuilder:subresource:scale:specpath=<text>,statuspath=<text>[,selectorpath=<text>]"
    )
    assert forms["kubebuilder:deprecatedversion"] == (
        "+kubebuilder:deprecatedversion:[warning=<text>]"
    )


def test_markers_of_other_generators_are_not_listed() -> None:
    assert "deepcopy" not in marker_pages.listing()
