"""Where files that can be fetched again are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges import user_cache


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"OLMKIT_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a/bundles"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/olmkit/bundles"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/c"}, "/c/.cache/olmkit/bundles"),
        ({"HOME": "/c"}, "/c/.cache/olmkit/bundles"),
    ],
)
def test_the_directory_belongs_to_the_user(environment: dict[str, str], expected: str) -> None:
    assert user_cache.folder(environment, "bundles") == Path(expected)


def test_a_directory_that_other_users_can_write_to_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the bundles cache has no folder") as raised:
        user_cache.folder({}, "bundles")
    assert raised.value.hint == "set `OLMKIT_CACHE` to a folder that only you can write to"
