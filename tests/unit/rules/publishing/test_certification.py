"""Certification: the required pages of Red Hat Marketplace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from olmkit.base.diagnostics import Diagnostic

PAGES = "https://marketplace.redhat.com/en-us/operators/kettle-rhmp"
SOURCE = "?utm_source=openshift_console"
PACKAGE = {"PREFIX.bundle.package.v1": "kettle-rhmp"}
SOUND = {
    "metadata.annotations/marketplace.openshift.io/remote-workflow": f"{PAGES}/pricing{SOURCE}",
    "metadata.annotations/marketplace.openshift.io/support-workflow": f"{PAGES}/support{SOURCE}",
}
WRONG = {key: value.replace("-rhmp", "") for key, value in SOUND.items()}

Judge = Callable[[Mapping[str, Any]], tuple[Diagnostic, ...]]


@pytest.mark.parametrize(
    ("annotations", "csv", "count"),
    [
        (PACKAGE, SOUND, 0),
        (PACKAGE, {}, 2),
        (PACKAGE, WRONG, 2),
        ({}, WRONG, 0),  # in other cases, the author chooses the pages
        ({}, {}, 0),
    ],
)
def test_pages_of_the_marketplace_are_required(
    publication_findings: Judge, annotations: Any, csv: Any, count: int
) -> None:
    found = publication_findings({"annotations": annotations, "csv": csv})
    assert sum(one.rule == "CRT007" for one in found) == count
