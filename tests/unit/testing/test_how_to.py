"""The code on the page for those who test operators is a test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def _page(root: Path) -> dict[str, Any]:
    text = (root / "docs/how-to/test-an-operator.md").read_text()
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile("from __future__ import annotations\n" + code, "page", "exec"), names)  # noqa: S102
    return names


def test_operator_of_the_page_does_what_the_page_says(root: Path) -> None:
    names = _page(root)
    names["test_configmap_gets_its_label"]()
    names["test_role_is_enough"]()
    assert callable(names["with_a_real_server"])
