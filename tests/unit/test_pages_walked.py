"""The commands of the documents do what the documents say: each page is followed in order.

Pages that need servers are followed by `tests/e2e/test_pages_walked.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import page_walks
from tests.page_walks import Place

NOWHERE = "registry.invalid"


@pytest.mark.parametrize("page", sorted({*page_walks.WALKED} - page_walks.SERVED))
def test_the_page_can_be_followed(page: str, root: Path, reader_of: Callable[[Path], Any]) -> None:
    page_walks.walk(page, Place(reader=reader_of(root / page), host=NOWHERE, root=root))
