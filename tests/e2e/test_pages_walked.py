"""The commands of the documents do what the documents say: pages that need servers.

A page pushes to a registry on loopback.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.testing.registry import RegistryServer
from tests import page_walks
from tests.page_walks import Place

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("page", sorted(page_walks.SERVED))
def test_the_page_can_be_followed(
    page: str, root: Path, registry: RegistryServer, reader_of: Callable[[Path], Any]
) -> None:
    page_walks.walk(page, Place(reader=reader_of(root / page), host=registry.host, root=root))
