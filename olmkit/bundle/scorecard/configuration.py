"""`config.yaml` of the scorecard: stages of tests, each with an image, a command and labels.

Source: `scorecard.operatorframework.io/v1alpha3` of operator-framework/api. As there, only the
first document is read, keys match case-insensitively, unknown keys have no effect, and an empty
file has no tests. Here, an unknown key is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from olmkit.base import configuration, findings
from olmkit.base.configuration import Shape
from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.base.documents import Document, Key
from olmkit.bundle import layout, metadata, model
from olmkit.bundle.model import Bundle
from olmkit.kube import objects
from olmkit.kube.labels import LabelSelector

FILE_NAME = "config.yaml"
MEDIA_TYPE = "scorecard+v1"

_STORAGE: Final[Shape] = {"spec": {"mountPath": {"path": str}}}
_TEST: Final[Shape] = {
    "image": str,
    "entrypoint": object,
    "labels": object,
    "uniqueID": str,
    "storage": _STORAGE,
}
_FILE: Final[Shape] = {
    "apiVersion": str,
    "kind": str,
    "metadata": object,
    "stages": [{"parallel": bool, "tests": [_TEST]}],
    "storage": _STORAGE,
    "serviceaccount": str,
}


class ScorecardTest(NamedTuple):
    """One test. `storage` is the folder in its pod whose files are kept; empty if there is none."""

    image: str
    entrypoint: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    unique_id: str = ""
    storage: str = ""


class Stage(NamedTuple):
    """Tests that run in parallel, or one after the other."""

    tests: tuple[ScorecardTest, ...]
    parallel: bool = False


class Configuration(NamedTuple):
    """The stages in order, the defaults of tests, and warnings about unknown keys."""

    stages: tuple[Stage, ...] = ()
    service_account: str = ""
    storage: str = ""
    findings: tuple[Diagnostic, ...] = ()

    def selected(self, selector: LabelSelector) -> tuple[Stage, ...]:
        """Return the stages with matching tests; stages without such tests are omitted."""
        stages = (
            stage._replace(tests=tuple(one for one in stage.tests if selector.matches(one.labels)))
            for stage in self.stages
        )
        return tuple(stage for stage in stages if stage.tests)


def path_of(bundle: Bundle) -> str:
    """Return the path of a bundle's configuration, relative to the bundle.

    The folder of the annotation counts only with the media type of the scorecard.
    Raises `InputError` for a folder outside the bundle.
    """
    folder: str | None = metadata.TEST_DIRECTORY
    if bundle.annotations.get(model.TEST_MEDIA_TYPE) == MEDIA_TYPE:
        folder = bundle.annotations.get(model.TEST_CONFIG) or folder
    inside = layout.directory(folder or "")
    if inside is None:
        raise InputError(
            f"`{folder}`, the folder of the scorecard, is outside of the bundle",
            hint=f"correct the annotation `{model.TEST_CONFIG}`",
        )
    return f"{inside}/{FILE_NAME}" if inside else FILE_NAME


def load(data: bytes, path: str) -> Configuration:
    """Return the configuration in a file, or raise `InputError` with a place."""
    document = layout.load_first(data, path)
    return _Reader(document).configuration() if document.value is not None else Configuration()


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document

    def configuration(self) -> Configuration:
        root = self._mapping(self._document.value, ())
        return Configuration(
            stages=tuple(self._stages(root)),
            service_account=self._text(root, "serviceaccount", ()),
            storage=self._storage(root, ()),
            findings=tuple(self._unknown()),
        )

    def _unknown(self) -> Iterator[Diagnostic]:
        for one in configuration.unknown_keys(self._document.value, _FILE, any_case=True):
            yield findings.create(
                "SCD003",
                f"unknown key `{one.path}`",
                at=self._document.at_key(*one.keys),
                hint=one.hint,
            )

    def _stages(self, root: Mapping[str, Any]) -> Iterator[Stage]:
        for value, keys in self._items(root, "stages", ()):
            stage = self._mapping(value, keys)
            key, parallel = _entry(stage, "parallel")
            if parallel is not None and not isinstance(parallel, bool):
                raise self._wrong((*keys, key), "`true` or `false`")
            tests = tuple(self._test(*found) for found in self._items(stage, "tests", keys))
            yield Stage(tests=tests, parallel=parallel is True)

    def _test(self, value: Any, keys: tuple[Key, ...]) -> ScorecardTest:
        test = self._mapping(value, keys)
        labels_key, labels = _entry(test, "labels")
        place = (*keys, labels_key)
        return ScorecardTest(
            image=self._text(test, "image", keys),
            entrypoint=tuple(
                self._scalar(word, at) for word, at in self._items(test, "entrypoint", keys)
            ),
            labels={
                str(name): self._scalar(label, (*place, name))
                for name, label in self._mapping(labels, place).items()
            },
            unique_id=self._text(test, "uniqueID", keys),
            storage=self._storage(test, keys),
        )

    def _storage(self, holder: Mapping[str, Any], keys: tuple[Key, ...]) -> str:
        for name in ("storage", "spec", "mountPath"):
            key, value = _entry(holder, name)
            keys = (*keys, key)
            holder = self._mapping(value, keys)
        return self._text(holder, "path", keys)

    def _mapping(self, value: Any, keys: tuple[Key, ...]) -> Mapping[str, Any]:
        if value is not None and not isinstance(value, Mapping):
            raise self._wrong(keys, "a mapping")
        return value or {}

    def _items(
        self, holder: Mapping[str, Any], name: str, keys: tuple[Key, ...]
    ) -> Iterator[tuple[Any, tuple[Key, ...]]]:
        key, value = _entry(holder, name)
        if value is not None and not isinstance(value, list):
            raise self._wrong((*keys, key), "a list")
        for index, item in enumerate(value or ()):
            yield item, (*keys, key, index)

    def _text(self, holder: Mapping[str, Any], name: str, keys: tuple[Key, ...]) -> str:
        key, value = _entry(holder, name)
        return self._scalar(value, (*keys, key))

    def _scalar(self, value: Any, keys: tuple[Key, ...]) -> str:
        if isinstance(value, Mapping | list):
            raise self._wrong(keys, "a string")
        return "" if value is None else objects.scalar_text(value)

    def _wrong(self, keys: tuple[Key, ...], expected: str) -> InputError:
        field = ".".join(str(key) for key in keys) or "the document"
        return InputError.of(
            findings.create(
                "SCD002",
                f"`{field}` is not {expected}",
                at=self._document.at(*keys),
                hint=f"write {expected} there",
            )
        )


def _entry(holder: Mapping[str, Any], name: str) -> tuple[str, Any]:
    """Return the key as written and its value; an exact key is preferred to one in another case."""
    if name in holder:
        return name, holder[name]
    for key, value in holder.items():
        if str(key).casefold() == name.casefold():
            return key, value
    return name, None
