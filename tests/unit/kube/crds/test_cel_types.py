"""Types in validation rules. A real API server also gets `RULES` (`tests/e2e`)."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.cel import expressions as cel
from olmkit.kube.crds import cel_types

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "maximum": 9},
        "ratio": {"type": "number"},
        "name": {"type": "string", "maxLength": 9},
        "when": {"type": "string", "format": "date-time"},
        "on": {"type": "boolean"},
        "a-b": {"type": "string", "maxLength": 9},
        "port": {"x-kubernetes-int-or-string": True},
        "tags": {"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 9}},
        "labels": {
            "type": "object",
            "maxProperties": 9,
            "additionalProperties": {"type": "string", "maxLength": 9},
        },
        "part": {"type": "object", "properties": {"count": {"type": "integer"}}},
    },
}

# Rule → whether the API server compiles it.
RULES: dict[str, bool] = {
    "self.size > 1": True,
    "self.size > 1.5": True,
    "self.ratio > 1.0 && self.on": True,
    "self.name.startsWith('a') || self.size == 2": True,
    "self.when < timestamp('2030-01-01T00:00:00Z')": True,
    "self.tags.all(t, t.size() < 4)": True,
    "self.labels.all(k, self.labels[k] == k)": True,
    "self.part.count == self.size": True,
    "self.a__dash__b == self.name": True,
    "self.size == oldSelf.size": True,
    "type(self.port) == int ? self.port > 1 : self.port.matches('a')": True,
    "isURL(self.name) && url(self.name).getScheme() == 'https'": True,
    "quantity(self.name).isGreaterThan(quantity('1'))": True,
    "self.tags.join(',').lowerAscii() == 'a'": True,
    "has(self.part) ? self.part.count > 0 : true": True,
    "sets.contains(self.tags, ['a'])": True,
    "self.name.split(',').exists(x, x.trim() == 'a')": True,
    "self.name in self.tags": True,
    "'x' in self.labels": True,
    "self.tags.map(t, size(t)).sum() < 9": True,
    "self.name.find('[0-9]+') != ''": True,
    "ip(self.name).family() == 4": True,
    "self.size": False,
    "self.name": False,
    "self.name + 'a'": False,
    "self.size == 'a'": False,
    "self.name > 1": False,
    "self.on + 1 > 2": False,
    "self.size == 1.0": False,
    "!self.size": False,
    "self.on && self.size": False,
    "self.tags.all(t, t > 1)": False,
    "self.labels.all(k, self.labels[k] == 1)": False,
    "selff.size > 1": False,
    "self.name.startWith('a')": False,
    "size2(self.tags) > 1": False,
    "self.part.count == self.name": False,
    "self.size.all(x, x > 1)": False,
    "self.on ? 1 : 2": False,
    "self.name < true": False,
    "1 in self.size": False,
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_accepted_if_the_api_server_accepts_it(rule: str) -> None:
    fault = cel_types.fault(cel.parse(rule), rule, SCHEMA, is_object=False, is_optional=False)

    assert (fault == "") is RULES[rule], fault


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("self.size", "cel expression must evaluate to a bool"),
        ("self.size == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("selff.size > 1", "undeclared reference to 'selff' (in container '')"),
        ("self.part > 1", "found no matching overload for '_>_' applied to '(object, int)'"),
    ],
)
def test_an_error_has_the_message_of_the_api_server(rule: str, message: str) -> None:
    found = cel_types.fault(cel.parse(rule), rule, SCHEMA, is_object=False, is_optional=False)

    assert found == message


def test_rules_that_the_checker_does_not_know_are_left_to_the_api_server() -> None:
    rule = "oldSelf.optMap(o, o.size).orValue(1) > 0 && self.size"

    assert not cel_types.fault(cel.parse(rule), rule, SCHEMA, is_object=False, is_optional=True)


def test_a_recursive_schema_ends() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"]["next"] = schema
    rule = "self.next.next == self"

    assert not cel_types.fault(cel.parse(rule), rule, schema, is_object=True, is_optional=False)
