"""The locations of images according to `registries.conf`."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.oci import mirrors
from olmkit.oci.mirrors import MirrorPlace, Rules
from olmkit.oci.reference import Reference

PINNED = "@sha256:" + "0" * 64
CONF = b"""
unqualified-search-registries = ["docker.io"]

[[registry]]
prefix = "quay.io"
location = "proxy.example.com/quay"

[[registry.mirror]]
location = "near.example.com:5000/q"
insecure = true

[[registry.mirror]]
location = "digests.example.com"
pull-from-mirror = "digest-only"

[[registry.mirror]]
location = "tags.example.com"
pull-from-mirror = "tag-only"

[[registry]]
location = "quay.io/special"
mirror-by-digest-only = true
[[registry.mirror]]
location = "only-digests.example.com"

[[registry]]
prefix = "*.internal"
insecure = true

[[registry]]
location = "bad.example.com"
blocked = true
"""


def sources_of(text: str, conf: bytes = CONF) -> list[str]:
    places = mirrors.parse(conf, "registries.conf").sources(Reference.parse(text))
    return [str(place.reference) + ("!" if place.insecure else "") for place in places]


def test_mirrors_come_before_the_location() -> None:
    assert sources_of("quay.io/a/b:v1") == [
        "near.example.com:5000/q/a/b:v1!",
        "tags.example.com/a/b:v1",
        "proxy.example.com/quay/a/b:v1",
    ]
    assert sources_of(f"quay.io/a/b{PINNED}") == [
        f"near.example.com:5000/q/a/b{PINNED}!",
        f"digests.example.com/a/b{PINNED}",
        f"proxy.example.com/quay/a/b{PINNED}",
    ]


def test_the_longest_prefix_applies_and_ends_at_a_separator() -> None:
    assert sources_of("quay.io/special/x:v1") == ["quay.io/special/x:v1"]
    assert sources_of(f"quay.io/special/x{PINNED}") == [
        f"only-digests.example.com/x{PINNED}",
        f"quay.io/special/x{PINNED}",
    ]
    assert sources_of("quay.io/specialist:v1")[-1] == "proxy.example.com/quay/specialist:v1"
    assert sources_of("quay.io.example.com/x:v1") == ["quay.io.example.com/x:v1"]


def test_wildcards_are_for_whole_domains() -> None:
    assert sources_of("registry.internal:5000/x:v1") == ["registry.internal:5000/x:v1!"]
    assert sources_of("internal/x:v1") == ["docker.io/internal/x:v1"]


def test_a_blocked_registry_is_not_used() -> None:
    rules = mirrors.parse(CONF, "registries.conf")
    reference = Reference.parse("bad.example.com/x:v1")
    with pytest.raises(ConfigurationError, match=r"blocks `bad\.example\.com`"):
        rules.sources(reference)
    with pytest.raises(ConfigurationError, match="must not be used"):
        rules.target(reference)


def test_nothing_is_sent_to_a_mirror() -> None:
    rules = mirrors.parse(CONF, "registries.conf")
    reference = Reference.parse("quay.io/a/b:v1")
    assert rules.target(reference) == MirrorPlace(reference=reference)
    other = Reference.parse("ghcr.io/a/b:v1")
    assert rules.target(other) == MirrorPlace(reference=other)


def test_later_files_take_precedence() -> None:
    later = mirrors.parse(b'[[registry]]\nlocation = "quay.io"\n', "later")
    merged = mirrors.parse(CONF, "registries.conf").merge(later)
    assert len(merged.sources(Reference.parse("quay.io/a:v1"))) == 1
    assert Rules().sources(Reference.parse("quay.io/a:v1"))[0].reference.registry == "quay.io"


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        (b"[", "is not TOML"),
        (b"registry = 1", "not a list of tables"),
        (b"[[registry]]\n", "neither `prefix` nor `location`"),
        (b"[[registry]]\nlocation = 1\n", "`location` is not a string"),
        (b'[[registry]]\nlocation = "a"\nmirror = 1\n', "not a list of tables"),
        (b'[[registry]]\nlocation = "a"\n[[registry.mirror]]\n', "has no `location`"),
        (
            b'[[registry]]\nlocation = "a"\nmirror = [{location = "b", pull-from-mirror = "no"}]\n',
            "wrong `pull-from-mirror`",
        ),
        (
            b'[[registry]]\nlocation = "a"\nblocked = "true"\n',
            "`blocked` must be `true` or `false`",
        ),
        (
            b'[[registry]]\nlocation = "a"\nmirror = [{location = "b", insecure = 1}]\n',
            "`insecure` must be `true` or `false`",
        ),
    ],
)
def test_an_invalid_file_is_reported(conf: bytes, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        mirrors.parse(conf, "registries.conf")


def test_a_location_that_is_not_a_name_is_ignored() -> None:
    conf = b'[[registry]]\nlocation = "a.b"\n[[registry.mirror]]\nlocation = "Not A Name"\n'
    assert sources_of("a.b/x:v1", conf) == ["a.b/x:v1"]


def test_unknown_keys_are_warnings_with_a_place_and_a_suggestion() -> None:
    text = """short-name-mode = "enforcing"
[aliases]
a = "b/a"
[[registry]]
locaton = "a"
prefix = "quay.io"
[[registry.mirror]]
location = "b"
Insecure = true
[credential]
"""
    assert mirrors.parse(CONF, "f").findings == ()
    found = mirrors.parse(text.encode(), "f").findings
    assert [(one.rule, one.message, one.hint, one.at and one.at.line) for one in found] == [
        ("CFG004", "unknown key `registry[0].locaton`", "did you mean `location`?", 5),
        ("CFG004", "unknown key `registry[0].mirror[0].Insecure`", "did you mean `insecure`?", 9),
        ("CFG004", "unknown key `credential`", "did you mean `credential-helpers`?", 10),
    ]
    assert mirrors.parse(CONF, "f").merge(mirrors.parse(text.encode(), "f")).findings == found
