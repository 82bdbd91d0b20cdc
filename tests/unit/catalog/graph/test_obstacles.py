"""Bundles that OLM v0 never selects."""

from __future__ import annotations

import pytest

from olmkit.catalog.graph import obstacles


@pytest.mark.parametrize(
    ("apis", "packages", "is_deprecated", "said"),
    [
        (["a", "b"], ["cog"], False, ""),
        (["a"], ["cog"], True, "is deprecated (property `olm.deprecated`)"),
        (["a", "b", "a"], ["cog"], False, "lists the API `a` twice, so it excludes itself"),
        ([], ["cog", "cog"], False, "lists the package `cog` twice, so it excludes itself"),
    ],
)
def test_the_reason_is_the_first_that_applies(
    apis: list[str], packages: list[str], is_deprecated: bool, said: str
) -> None:
    found = obstacles.reason(apis=apis, packages=packages, is_deprecated=is_deprecated)
    assert found == said
