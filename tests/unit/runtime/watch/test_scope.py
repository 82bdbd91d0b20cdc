"""Which collections are watched for a kind, by general and specific settings."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.objects import GVK
from olmkit.runtime.watch.scope import (
    ALL_NAMESPACES,
    CacheSettings,
    KindScope,
    Scope,
    parse_namespaces,
)

MAP = GVK(group="", version="v1", kind="ConfigMap")


def _keep(raw: bytes) -> bytes:
    return raw


def test_without_settings_everything_is_watched() -> None:
    assert CacheSettings().parts(MAP, namespaced=True) == {ALL_NAMESPACES: Scope()}


def test_the_more_specific_setting_takes_precedence_field_by_field() -> None:
    settings = CacheSettings(
        scope=Scope(label_selector="default", field_selector="default", transform=_keep),
        namespaces={"n": Scope(label_selector="namespace", field_selector="namespace")},
        kinds={MAP: KindScope(scope=Scope(label_selector="kind"))},
    )
    wanted = Scope(label_selector="kind", field_selector="namespace", transform=_keep)
    assert settings.parts(MAP, namespaced=True) == {"n": wanted}
    other = GVK(group="", version="v1", kind="Secret")
    assert settings.parts(other, namespaced=True)["n"].label_selector == "namespace"


def test_namespaces_of_a_kind_take_precedence_over_all_others() -> None:
    settings = CacheSettings(
        namespaces={"n": Scope(label_selector="n"), "m": Scope()},
        kinds={
            MAP: KindScope(
                scope=Scope(label_selector="kind"),
                namespaces={"n": Scope(), "o": Scope(label_selector="own")},
            )
        },
    )
    found = settings.parts(MAP, namespaced=True)
    assert {name: scope.label_selector for name, scope in found.items()} == {
        "n": "kind",
        "o": "own",
    }


def test_all_namespaces_next_to_named_ones_are_all_others() -> None:
    settings = CacheSettings(
        namespaces={ALL_NAMESPACES: Scope(field_selector="a=b"), "n": Scope(), "m": Scope()}
    )
    found = settings.parts(MAP, namespaced=True)
    assert found[ALL_NAMESPACES].field_selector == (
        "a=b,metadata.namespace!=m,metadata.namespace!=n"
    )
    assert found.keys() == {ALL_NAMESPACES, "n", "m"}


@pytest.mark.parametrize(
    ("selector", "namespace", "rest"),
    [
        ("metadata.namespace=n", "n", ""),
        ("metadata.namespace==n,metadata.name=a", "n", "metadata.name=a"),
        ("metadata.name=a", ALL_NAMESPACES, "metadata.name=a"),
        ("metadata.namespace!=n", ALL_NAMESPACES, "metadata.namespace!=n"),
    ],
)
def test_the_field_selector_of_a_namespace_is_used_there(
    selector: str, namespace: str, rest: str
) -> None:
    settings = CacheSettings(scope=Scope(field_selector=selector))
    found = settings.parts(MAP, namespaced=True)
    assert found == {namespace: Scope(field_selector=rest)}


def test_cluster_scoped_kinds_are_watched_as_a_whole() -> None:
    settings = CacheSettings(namespaces={"n": Scope()}, scope=Scope(label_selector="a"))
    assert settings.parts(MAP, namespaced=False) == {ALL_NAMESPACES: Scope(label_selector="a")}
    own = CacheSettings(kinds={MAP: KindScope(namespaces={"n": Scope()})})
    with pytest.raises(ConfigurationError, match="is cluster-scoped"):
        own.parts(MAP, namespaced=False)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, ()),
        ("", ()),
        (" ", ()),
        (",", ()),
        ("a", ("a",)),
        (" b , a,,b ", ("a", "b")),
    ],
)
def test_target_namespaces_are_read_in_the_format_of_olm(
    text: str | None, names: tuple[str, ...]
) -> None:
    assert parse_namespaces(text) == names
    found = CacheSettings().watching(parse_namespaces(text)).parts(MAP, namespaced=True)
    assert set(found) == (set(names) or {ALL_NAMESPACES})


def test_watching_keeps_the_settings_of_a_namespace() -> None:
    settings = CacheSettings(namespaces={"a": Scope(label_selector="x"), "b": Scope()})
    found = settings.watching(["a", "c"]).parts(MAP, namespaced=True)
    assert found == {"a": Scope(label_selector="x"), "c": Scope()}


def test_resync_is_for_all_kinds_or_for_one() -> None:
    settings = CacheSettings(resync=600, kinds={MAP: KindScope(resync=0)})
    assert settings.resync_of(MAP) == 0
    assert settings.resync_of(GVK(group="", version="v1", kind="Pod")) == 600
