"""Exported names of a package, which are imported on first use."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from olmkit.base import exports


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", made)
    get, names, public = exports.lazy("made", {"json": ["dumps"]}, {"html": "html.entities"})
    for name, value in (("__getattr__", get), ("__dir__", names), ("__all__", public)):
        setattr(made, name, value)
    return made


def test_names_and_modules_are_found_and_kept(package: ModuleType) -> None:
    assert package.dumps({"a": 1}) == '{"a": 1}'
    assert package.html.__name__ == "html.entities"
    assert {"dumps", "html"} <= set(vars(package))
    assert package.__all__ == dir(package) == ["dumps", "html"]


def test_an_unknown_name_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module `made` has no attribute `loads`"):
        package.loads  # noqa: B018 - the access is the test
