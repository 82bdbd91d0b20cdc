"""Reports about other catalogs (`docs/explanation/hub.md`) and the tests for each."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
DOCS = TESTS.parent / "docs/explanation/hub.md"
PAGES = "unit/hub/builds/test_all_pages.py"
FEEDS = "unit/hub/test_feeds.py"
PICTURE = "unit/catalog/graph/test_picture.py"
BUILD = "unit/jobs/hub/test_build.py"
NEWS = "unit/hub/test_news.py"
BROWSER = "e2e/hub/test_pages.py"
LIST = "e2e/hub/test_list.py"
CLUSTER = "e2e/cluster/test_hub.py"

HEADS = (PAGES, "test_heads_channels_and_deprecations_of_real_catalogs_are_those_of_the_model")
MODES = (PAGES, "test_only_supported_install_modes_are_offered_with_their_objects")
TEMPLATE = (PAGES, "test_the_template_of_a_namespace_comes_before_its_name")
EXAMPLES = (PAGES, "test_each_version_of_a_kind_has_all_its_own_examples")
TWO_CHANNELS = (PAGES, "test_a_bundle_in_two_channels_has_one_page_with_both")
TWO_CATALOGS = (PAGES, "test_two_catalogs_do_not_merge_a_package")
LISTED = (PAGES, "test_images_and_permissions_are_listed")
ICONS = (PAGES, "test_icons_are_recognized_by_their_bytes")
CHANNEL = (BROWSER, "test_the_channel_in_the_url_is_in_the_instructions")
HOPS = (BROWSER, "test_hops_are_shown_from_the_readers_version")
RANKS = (LIST, "test_search_results_are_ranked")
FILTERS = (LIST, "test_filters_have_counts_and_are_in_the_url")
INSTALLED = (CLUSTER, "test_the_head_for_all_namespaces_and_an_older_version_for_its_own")
ACCEPTED = ("e2e/hub/test_manifests.py", "test_all_manifests_are_accepted")

# Number of the report → its tests, or a reason if there is no test.
SHOWN: dict[int, tuple[tuple[str, str], ...] | str] = {
    1: (
        (PAGES, "test_a_failing_package_only_affects_its_own_pages"),
        (BUILD, "test_an_unreadable_file_is_reported_and_the_others_are_shown"),
        (NEWS, "test_changes_are_those_since_the_earlier_list"),
    ),
    2: (
        (LIST, "test_deprecated_operators_are_last_and_marked"),
        (PAGES, "test_deprecations_of_all_levels_are_shown_and_sorted_last"),
    ),
    3: (
        (PAGES, "test_deprecations_of_all_levels_are_shown_and_sorted_last"),
        (PAGES, "test_a_deprecated_head_names_the_newest_version_that_is_not_deprecated"),
    ),
    4: (EXAMPLES,),
    5: (EXAMPLES,),
    6: "a catalog does not contain numbers of installations; the about page says so",
    7: (MODES,),
    8: (TEMPLATE, MODES),
    9: (ACCEPTED, INSTALLED),
    10: (
        MODES,
        ("unit/hub/looks/test_instructions.py", "test_each_choice_shows_its_variant"),
    ),
    11: (HEADS,),
    12: (TWO_CHANNELS, CHANNEL),
    13: ((BROWSER, "test_manifests_are_copied_and_downloaded_unchanged"), INSTALLED),
    14: ((BUILD, "test_two_builds_have_the_same_bytes_and_the_second_writes_nothing"),),
    15: (TWO_CATALOGS,),
    16: ((PICTURE, "test_every_entry_and_every_edge_is_in_the_picture"), HEADS),
    17: (
        (PICTURE, "test_stranded_entries_are_marked"),
        (PICTURE, "test_an_inline_picture_folds_the_older_patch_versions"),
        (PAGES, "test_versions_without_a_path_to_the_head_are_marked"),
    ),
    18: (HOPS,),
    19: (INSTALLED, (PAGES, "test_an_older_version_is_pinned_and_approved_manually")),
    20: ((BROWSER, "test_the_menu_of_channels_navigates"),),
    21: (
        (BROWSER, "test_an_unknown_channel_is_reported"),
        (PAGES, "test_a_channel_is_encoded_in_urls"),
    ),
    22: (TWO_CHANNELS,),
    23: ((PAGES, "test_null_fields_and_invalid_annotations_only_affect_themselves"),),
    24: (ICONS,),
    25: (
        ICONS,
        (PAGES, "test_an_invalid_icon_is_replaced_by_a_letter_and_features_have_three_states"),
    ),
    26: (TWO_CATALOGS,),
    27: (
        ("unit/hub/looks/test_pages.py", "test_pages_are_well_formed_and_have_no_active_content"),
    ),
    28: (RANKS, FILTERS),
    29: (
        (
            "unit/hub/looks/test_markdown.py",
            "test_an_image_becomes_a_link_with_its_alternative_text",
        ),
    ),
    30: ((BROWSER, "test_pages_are_quiet_and_send_no_request_to_other_hosts"),),
    31: (TEMPLATE,),
    32: (LISTED,),
    33: (LISTED,),
    34: (
        (PAGES, "test_an_invalid_icon_is_replaced_by_a_letter_and_features_have_three_states"),
        FILTERS,
    ),
    35: (RANKS, ("e2e/hub/test_catalogs.py", "test_a_kind_of_the_shipped_catalog_is_found")),
    36: (
        (FEEDS, "test_a_package_has_a_feed_of_its_versions_newest_first"),
        (NEWS, "test_changes_are_those_since_the_earlier_list"),
        EXAMPLES,
    ),
    37: (
        (
            "e2e/hub/test_manifests.py",
            "test_manifests_with_an_account_are_accepted_by_an_older_olm_v1",
        ),
        (
            "e2e/cluster/v1/test_hub.py",
            "test_the_manifests_with_a_service_account_install_the_operator",
        ),
    ),
    38: ((PAGES, "test_platforms_have_their_catalog_namespaces"),),
}


@lru_cache
def functions(file: str) -> frozenset[str]:
    found = ast.parse((TESTS / file).read_text()).body
    return frozenset(one.name for one in found if isinstance(one, ast.FunctionDef))


@pytest.mark.parametrize("number", sorted(SHOWN))
def test_a_report_has_tests_or_a_reason(number: int) -> None:
    shown = SHOWN[number]
    assert shown
    if isinstance(shown, str):
        return
    for file, name in shown:
        assert name in functions(file), f"{file} has no {name}"


def test_the_docs_list_the_same_reports() -> None:
    rows = re.findall(r"^\| (\d+) \|.*\| (.+?) \|$", DOCS.read_text(), re.MULTILINE)
    assert [int(number) for number, _ in rows] == sorted(SHOWN) == list(range(1, 39))
    without = [int(number) for number, tests in rows if tests == "\N{EN DASH}"]
    assert without == [number for number, shown in SHOWN.items() if isinstance(shown, str)]
