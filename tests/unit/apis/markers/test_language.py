"""The marker language: vectors from the reference parser, and the errors of olmkit."""

from __future__ import annotations

import math
from typing import Any

import pytest

from olmkit.apis.markers import language
from olmkit.apis.markers.language import Comment, Marker, MarkerLevel
from olmkit.apis.markers.table import REGISTRY
from olmkit.apis.markers.values import MarkerError
from olmkit.base.diagnostics import Location

AT = Location(path="types.py", line=1, column=3)


def read(text: str, level: MarkerLevel = MarkerLevel.FIELD) -> Marker | None:
    """Return the marker at the first level that has it, or None."""
    for candidate in (level, MarkerLevel.TYPE, MarkerLevel.PACKAGE):
        definition = REGISTRY.find(text, candidate)
        if definition:
            return language.parse(Comment(text=text, at=AT), definition)
    return None


V = "kubebuilder:validation:"

VALUES: list[tuple[str, Any]] = [
    (V + "Maximum=1e3", 1000),
    (V + "Maximum= 10", 10),
    (V + "Maximum= -10", -10),
    (V + "Maximum=+10", 10),
    (V + "Maximum=010", 10),
    (V + "Maximum=.5", 0.5),
    (V + "Maximum=5.", 5),
    (V + "Maximum=1_000", 1000),
    (V + "Maximum=0x1p4", 16),
    (V + "Maximum=Inf", math.inf),
    (V + "Maximum=123456789012345678", 123456789012345680),
    (V + "Maximum=2e19", 20000000000000000000),
    (V + "Maximum:=5", 5),
    (V + "Maximum:whatever=5", 5),
    ("k8s:maxItems=5#five", 5),
    ("k8s:minimum=1 # one", 1),
    (V + "MaxItems=007", 7),
    (V + "MaxItems= 5 ", 5),
    (V + "MaxLength=010", 10),
    (V + "MaxLength=-1", -1),
    (V + "Pattern=`^[a-z]{1,3}$`", "^[a-z]{1,3}$"),
    (V + r'Pattern="^\\d+$"', r"^\d+$"),
    (V + "Pattern==foo", "=foo"),
    (V + 'Pattern=foo "b,r" z', 'foo "b,r" z'),
    (V + "Pattern='a'", "'a'"),
    (V + "Pattern=   abc  ", "abc"),
    (V + 'Pattern="\\u00e9\\x41\\101"', "éAA"),
    (V + 'Enum=1;2;"3";foo', [1, 2, "3", "foo"]),
    (V + 'Enum=true;1;"1";1.5;x', [True, 1, "1", 1.5, "x"]),
    (V + 'Enum={"a,b","c;d"}', ["a,b", "c;d"]),
    (V + "Enum=a;", ["a"]),
    (V + "Enum=;a", [";a"]),
    (V + "Enum={}", []),
    (V + "Enum={a,b,}", ["a", "b"]),
    (V + "Enum=a; b; c d", ["a", "b", "c d"]),
    (V + "Enum=A;B // note", ["A", "B // note"]),
    (V + "Enum=1e;0x;0b;0b2;0x1.5;1_;1__0", ["1e", "0x", "0b", "0b2", "0x1.5", "1_", "1__0"]),
    ("kubebuilder:default:={a: 1}", {"a": 1}),
    ("kubebuilder:default={a}", ["a"]),
    ("kubebuilder:default={a,b}", ["a", "b"]),
    ("kubebuilder:default=a;b", ["a", "b"]),
    ("kubebuilder:default={{a: 1},{a: 2}}", [{"a": 1}, {"a": 2}]),
    ("kubebuilder:default={{a,b},{c}}", [["a", "b"], ["c"]]),
    ('kubebuilder:default={a.b/c: d, "e f": true}', {"a.b/c": "d", "e f": True}),
    ("kubebuilder:default={a: 10Mi, b: http://x}", {"a": "10Mi", "b": "http://x"}),
    ("kubebuilder:default={a;b}", [["a", "b"]]),
    ("kubebuilder:default={z: 1, a: b;c}", {"z": 1, "a": ["b", "c"]}),
    ("kubebuilder:default={a: b,}", {"a": "b"}),
    ("kubebuilder:default={a:-1}", {"a": -1}),
    ("kubebuilder:default={}", {}),
    ('kubebuilder:default=""', ""),
    ("kubebuilder:default=1 2", "1 2"),
    ("kubebuilder:default=087b", "087b"),
    ("kubebuilder:default=0987", "0987"),
    ("kubebuilder:default=017", 17),
    ("kubebuilder:default=1e3", 1000),
    ("kubebuilder:default=-1.5", -1.5),
    ("kubebuilder:default=1e+", "1e+"),
    ("kubebuilder:default=01_", "01_"),
    ("kubebuilder:default=100Mi", "100Mi"),
    ("kubebuilder:default=2024-01-15", "2024-01-15"),
    ("kubebuilder:default=10:30", "10:30"),
    ("kubebuilder:default=123/x", "123/x"),
    ("kubebuilder:default=null", "null"),
    ("kubebuilder:default=True", "True"),
    ("kubebuilder:default=[]", "[]"),
    ('kubebuilder:default=["a"]', '["a"]'),
    ('default= {"a" : 1 } ', {"a": 1}),
    (r'default={"a\udc00":"\ud800b \ud83d\ude80"}', {"a\ufffd": "\ufffdb \U0001f680"}),
    ("default=ref(x.Y)", None),
    ("kubebuilder:title= Spaced title ", "Spaced title"),
    ("groupName=", ""),
    ("groupName=cache.example.com", "cache.example.com"),
    ("required", None),
    ("required=", None),
]

ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    (
        "kubebuilder:resource:shortName=f;fo,scope=Cluster",
        {"shortName": ["f", "fo"], "scope": "Cluster"},
    ),
    (
        "kubebuilder:resource:path=foos, shortName=f, scope=Cluster",
        {"path": "foos", "shortName": ["f"], "scope": "Cluster"},
    ),
    ('kubebuilder:resource:path="",scope=Cluster', {"path": "", "scope": "Cluster"}),
    ("kubebuilder:resource:path=,scope=Cluster", {"path": ",scope=Cluster"}),
    (
        'kubebuilder:rbac:groups="",resources=pods,verbs=get;list',
        {"groups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    ),
    (
        "kubebuilder:rbac:groups=,resources=pods,verbs=get",
        {"groups": [], "resources": ["pods"], "verbs": ["get"]},
    ),
    (
        'kubebuilder:rbac:groups=apps,resources="a;b",verbs=get',
        {"groups": ["apps"], "resources": ["a;b"], "verbs": ["get"]},
    ),
    ("kubebuilder:metadata:annotations=a=b;c=d", {"annotations": ["a=b", "c=d"]}),
    (V + 'XValidation:rule="false",rule="true"', {"rule": "true"}),
    (
        V + 'XValidation:rule = "self != \'\'" , message = "two words"',
        {"rule": "self != ''", "message": "two words"},
    ),
    (
        'kubebuilder:printcolumn:name=T,type=string,JSONPath=.c[?(@.type=="a,b")].s',
        {"name": "T", "type": "string", "JSONPath": '.c[?(@.type=="a,b")].s'},
    ),
    (
        'operator-sdk:csv:customresourcedefinitions:resources={{Pod,v1,""},{"Service",v1}}',
        {"resources": [["Pod", "v1", ""], ["Service", "v1"]]},
    ),
    ("operator-sdk:csv:customresourcedefinitions", {}),
    # Unlike the reference, a space before a delimiter does not remove the word before it.
    (
        "kubebuilder:printcolumn:name=Age ,type=date,JSONPath=.a",
        {"name": "Age", "type": "date", "JSONPath": ".a"},
    ),
]

REFUSED = [
    V + "Maximum=0x10",
    V + "Maximum=10 # c",
    V + "Maximum=",
    V + "Maximum",
    V + "Maximum=many",
    V + "Maximum=1e400",
    V + "Maximum=1_e0",
    V + "Maximum=1__0",
    V + "MultipleOf=08",
    V + "MultipleOf=1e400",
    V + "MinLength= -1",
    V + "MaxLength=0x10",
    V + "MaxLength=1.5",
    V + "MaxLength=08",
    V + 'MaxLength="5"',
    V + "MaxLength=10 // c",
    V + "MaxItems=1.0",
    V + "MaxItems=99999999999999999999",
    V + "ExclusiveMinimum",
    V + "ExclusiveMinimum=yes",
    V + 'ExclusiveMinimum="true"',
    V + "Pattern=^[a-z]{1,3}$",
    V + r'Pattern="\d"',
    V + 'Pattern="abc',
    V + "Pattern=`abc",
    V + 'Pattern="a" b',
    V + r'Pattern=a "\d" b',
    V + 'Pattern="\\ud800"',
    V + "Enum=a,b",
    V + "Enum={a;b,c}",
    V + "Enum={a",
    "kubebuilder:default={1,a}",
    "kubebuilder:default=1;a",
    "kubebuilder:default={a: -1}",
    "kubebuilder:default={a: b;c}",
    "kubebuilder:default={a: 1",
    "kubebuilder:default=",
    "kubebuilder:default=true story",
    "kubebuilder:default=0x1F",
    "kubebuilder:default=0o17",
    "kubebuilder:default=99999999999999999999",
    "kubebuilder:default=[a,b]",
    "kubebuilder:default=" + "{" * 400,
    "kubebuilder:default=1e400",
    "default={a}",
    "default=1e400",
    "default=\u00a01",
    "default=NaN",
    "default=" + "[" * 100_000,
    "kubebuilder:resource:Scope=Cluster",
    "kubebuilder:resource=foo",
    "kubebuilder:resource:shortName=a,b",
    "kubebuilder:rbac:groups=apps,resources=deployments,verbs=get,list",
    "kubebuilder:rbac:groups=apps,resources=deployments",
    "kubebuilder:rbac:groups=apps,resources=deployments,verbs=get,",
    "kubebuilder:rbac",
    "kubebuilder:printcolumn:name=A,type=string",
    "kubebuilder:printcolumn:name=A,type=string,jsonPath=.a",
    'kubebuilder:printcolumn:name=A,type=string,JSONPath=.a,priority="1"',
    "required=true",
    "kubebuilder:subresource:status=true",
    "listMapKey",
    V + "ExactlyOneOf",
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_a_value_is_read_as_in_the_reference(text: str, value: Any) -> None:
    marker = read(text)
    assert marker is not None
    assert marker.value == value
    assert type(marker.value) is type(value)


@pytest.mark.parametrize(("text", "arguments"), ARGUMENTS, ids=[text for text, _ in ARGUMENTS])
def test_named_arguments_are_read(text: str, arguments: dict[str, Any]) -> None:
    marker = read(text, MarkerLevel.TYPE)
    assert marker is not None
    assert marker.arguments == arguments


@pytest.mark.parametrize("text", REFUSED, ids=[text[:60] for text in REFUSED])
def test_text_that_the_reference_refuses_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(MarkerError) as caught:
        read(text)
    assert caught.value.message
    assert 0 <= caught.value.offset <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        " required",
        "+required",
        "kubebuilder:Validation:Maximum=1",
        "kubebuilder:resource:",
        "kubebuilder:resource:scope",
        "kubebuilder:validation:optional",
        "kubebuilder:validation:nullable",
        "k8s:minLength=1",
        "enum",
    ],
)
def test_an_unknown_marker_is_not_found(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("kubebuilder:Validation:Maximum=1", "kubebuilder:validation:Maximum"),
        ("kubebuilder:validation:maximum=1", "kubebuilder:validation:Maximum"),
        ("kubebuilder:validaton:Minimum=1", "kubebuilder:validation:Minimum"),
        ("kubebuilder:printcolum:name=A", "kubebuilder:printcolumn"),
        (
            "operator-sdk:csv:customresourcedefinition:type=spec",
            CSV := "operator-sdk:csv:customresourcedefinitions",
        ),
        ("k8s:requird", "k8s:required"),
        ("kubebuilder:something:else", ""),
    ],
)
def test_a_misspelled_marker_gets_a_suggestion(slip: str, meant: str) -> None:
    assert REGISTRY.suggestion(slip) == meant


def test_an_unknown_argument_gets_the_nearest_name() -> None:
    with pytest.raises(MarkerError) as caught:
        read("kubebuilder:rbac:group=apps,verbs=get")
    assert caught.value.hint == "did you mean `groups`?"


def test_the_level_decides_the_meaning_of_a_name() -> None:
    on_type = REGISTRY.find(CSV + ":order=1", MarkerLevel.TYPE)
    on_field = REGISTRY.find(CSV + ":order=1", MarkerLevel.FIELD)
    assert on_type is not None
    assert on_field is not None
    assert "resources" in {argument.name for argument in on_type.arguments}
    assert "xDescriptors" in {argument.name for argument in on_field.arguments}
    assert REGISTRY.find(CSV + ":order=1", MarkerLevel.PACKAGE) is None


def test_the_usage_shows_how_to_write_a_marker() -> None:
    usages = {definition.name: definition.usage for definition in REGISTRY}
    assert usages["required"] == "+required"
    assert (
        usages["kubebuilder:validation:MaxLength"] == "+kubebuilder:validation:MaxLength=<integer>"
    )
    assert usages["kubebuilder:rbac"] == "+kubebuilder:rbac:verbs=<list>"
    assert all(definition.doc for definition in REGISTRY)
