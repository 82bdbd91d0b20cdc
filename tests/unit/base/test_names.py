"""Names: plurals of Kubernetes' generators, labels, camel case, display names."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base import names


@pytest.mark.parametrize(
    ("name", "known", "similar"),
    [
        ("kuberay-operator", ["redis-operator"], ""),
        ("kuberay-operator", ["redis-operator", "kube-ray-operator"], "kube-ray-operator"),
        ("redis", ["rook", "redis-operator"], "redis-operator"),
        ("redis-operator", ["redis"], "redis"),
        ("Reddis-Operator", ["redis-operator"], "redis-operator"),
        ("operator", ["operator", "queue"], "operator"),
        ("caches", ["cache"], "cache"),
        ("queue-operatr", ["redis-operator", "queue-operator"], "queue-operator"),
        ("cache", [], ""),
    ],
)
def test_the_suffix_of_packages_does_not_make_them_similar(
    name: str, known: list[str], similar: str
) -> None:
    assert names.similar_package(name, known) == similar


PLURALS = (
    "Memcached memcacheds; Busybox busyboxes; NetworkPolicy networkpolicies; Gateway gateways; "
    "Ingress ingresses; Status statuses; Redis redis; Database databases; Index indices; "
    "Matrix matrices; Person people; Quiz quizzes; Hero heroes; Photo photos; Video videoes; "
    "Data data; Endpoints endpoints; Safe saves; Roof roofs; Schema schemas; Alias aliases; "
    "API apis; UserID userids; TestQuota testquotas; S3 s3s; DNS dnses; OS oses; Ssh sshs; "
    "NodePoolS nodepoolses; APIService apiservices"
)


@pytest.mark.parametrize("pair", PLURALS.split("; "))
def test_a_kind_has_its_plural(pair: str) -> None:
    kind, plural = pair.split()
    assert names.plural_of_kind(kind) == plural


def test_plurals_are_those_of_the_reference_generator(vectors: Path) -> None:
    text = (vectors / "go/crd-plurals/expected/plurals.txt").read_text()
    pairs = dict(line.split() for line in text.splitlines())
    assert {kind: names.plural_of_kind(kind) for kind in pairs} == pairs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "another-_AppOperator_againTwiceThrice More",
            "Another App Operator Again Twice Thrice More",
        ),
        ("AppOperator", "App Operator"),
        ("appoperatoR", "Appoperato R"),
        ("APP", "APP"),
        ("memcachedRS", "Memcached RS"),
        ("memcached-operator", "Memcached Operator"),
        ("containerPort", "Container Port"),
        ("", ""),
    ],
)
def test_a_name_has_its_display_name(text: str, words: str) -> None:
    assert names.display_name(text) == words


@pytest.mark.parametrize(
    ("attribute", "json_name"),
    [
        ("size", "size"),
        ("container_port", "containerPort"),
        ("a_b_2c", "aB2c"),
        ("spec_", "spec"),
        ("_", ""),
    ],
)
def test_an_attribute_has_its_json_name(attribute: str, json_name: str) -> None:
    assert names.lower_camel(attribute) == json_name


def test_api_versions_are_sorted_newest_first() -> None:
    wanted = ["v2", "v1", "v1beta1", "v1alpha2", "v1alpha1", "foo", "v01"]
    assert sorted(wanted[::-1], key=names.kube_version_key) == wanted  # noqa: C415 - that order does not matter is the point


@pytest.mark.parametrize(
    ("text", "label", "label_1035", "subdomain"),
    [
        ("a", True, True, True),
        ("1a", True, False, True),
        ("a.b", False, False, True),
        ("A", False, False, False),
        ("-a", False, False, False),
        ("", False, False, False),
        ("a" * 64, False, False, True),
        ("a..b", False, False, False),
        ("a" * 254, False, False, False),
    ],
)
def test_dns_names_are_recognized(
    text: str, label: bool, label_1035: bool, subdomain: bool
) -> None:
    assert names.is_label(text) is label
    assert names.is_label_1035(text) is label_1035
    assert names.is_subdomain(text) is subdomain


def test_a_long_name_is_shortened_and_has_a_hash_of_the_original() -> None:
    assert names.shortened("short") == "short"
    one, two = names.shortened("a" * 253), names.shortened("a" * 252)
    assert len(one) == 63
    assert one != two
    assert names.is_label(one)
