"""The version of a request."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.bundle.generation import generate_request


@pytest.mark.parametrize("version", ["v1.0.0", "1.0", "1.02.0", "latest", "1.0.0+build"])
def test_versions_that_a_bundle_cannot_have_are_refused(version: str) -> None:
    with pytest.raises(ConfigurationError, match="version"):
        generate_request.check_version(version)
