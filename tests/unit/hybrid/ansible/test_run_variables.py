"""The extra variables of a run, in a file in which no value is a template."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.hybrid.ansible import run_variables

OWNER = {
    "apiVersion": "cache.example.com/v1alpha1",
    "kind": "MemCached",
    "metadata": {"name": "one", "namespace": "ns"},
    "spec": {"sizeGi": 3, "note": "{{ 7*7 }}"},
}


class Loader(yaml.SafeLoader):
    """Reads the tag of Ansible as Ansible does: it marks the values below it."""


class Unsafe(dict[str, Any]):
    """What has the tag."""


def _unsafe(loader: Any, node: yaml.Node) -> Any:
    found = yaml.Node.__new__(type(node))
    found.__dict__.update(node.__dict__)
    found.tag = loader.resolve(type(node), node.value, (True, False))
    value = loader.construct_object(found, deep=True)
    return Unsafe(value) if isinstance(value, dict) else value


Loader.add_constructor("!unsafe", _unsafe)


def loaded(data: bytes) -> Any:
    # As JSON, Ansible would read it as its own types.
    with pytest.raises(json.JSONDecodeError):
        json.loads(data)
    return yaml.load(data, Loader)  # noqa: S506 - a subclass of the safe one


def test_the_variables_of_an_object_are_those_of_ansible_operator() -> None:
    found = run_variables.object_variables(OWNER, snake_case_names=True)
    assert found == {
        "size_gi": 3,
        "note": "{{ 7*7 }}",
        "ansible_operator_meta": {"name": "one", "namespace": "ns"},
        "_cache_example_com_memcached": OWNER,
        "_cache_example_com_memcached_spec": OWNER["spec"],
    }
    kept = run_variables.object_variables({**OWNER, "spec": None}, snake_case_names=False)
    assert sorted(kept) == [
        "_cache_example_com_memcached",
        "_cache_example_com_memcached_spec",
        "ansible_operator_meta",
    ]


def test_values_of_the_object_are_unsafe_and_the_others_are_not() -> None:
    found = run_variables.object_variables(OWNER, snake_case_names=True)
    data, trusted = run_variables.files(found, {"size_gi": "{{ 1 + 1 }}"}, is_unsafe=True)
    assert loaded(trusted) == {"size_gi": "{{ 1 + 1 }}"}
    assert not isinstance(loaded(trusted), Unsafe)
    assert isinstance(loaded(data), Unsafe)
    assert loaded(data) == {key: value for key, value in found.items() if key != "size_gi"}


@pytest.mark.parametrize(
    "value",
    [
        "",
        'a "quoted" \\ back\\slash\nnext\ttab',
        "\U0001f600 ü \u2028 \x00 \x7f \x85 \ufeff",
        "{{ lookup('pipe', 'id') }}",
        {
            "__ansible_vault": "x",
            "__ansible_unsafe": ["{{ 1 }}"],
            "__ansible_type": "TrustedAsTemplate",
        },
        {"k" * 2000: "v", "ü" * 400: [{"d" * 1100: 1}]},
        {"": None, "? a": True, "[": [], "{": {}},
        [0, -1, 1.5, 1e300, 1e-7, -2.5e-10, 1 << 70],
        "x" * 5000,
        ["2", "true", "null", "~", "", "1e3", "2026-01-01", "0x1f", "1:30", "=", "<<", "yes"],
        [True, False, None, 2],
    ],
)
def test_written_values_are_read_back(value: Any) -> None:
    data = loaded(run_variables.files({"it": value}, {}, is_unsafe=True)[0])
    assert data == {"it": value}
    assert repr(data["it"]) == repr(value)  # `1` is neither `"1"` nor `True`


def test_without_the_unsafe_mark_values_are_written_without_the_tag() -> None:
    found = {"a": "{{ 1 }}", "b": 1}
    data, _ = run_variables.files(found, {"b": 2}, is_unsafe=False)
    assert loaded(data) == {"a": "{{ 1 }}"}
    assert not isinstance(loaded(data), Unsafe)


def test_variables_with_names_of_ansible_are_found() -> None:
    found = {"ansible_python_interpreter": "x", "ansible_operator_meta": {}, "size": 1}
    assert run_variables.find_reserved(found) == ["ansible_python_interpreter"]


READ_BY_ANSIBLE = """
import json, sys
from ansible._internal._datatag._tags import TrustedAsTemplate
from ansible.parsing.dataloader import DataLoader

def trusted(value):
    if isinstance(value, dict):
        return [one for item in value.values() for one in trusted(item)]
    if isinstance(value, list):
        return [one for item in value for one in trusted(item)]
    return [value] if TrustedAsTemplate.is_tagged_on(value) else []

for name in sys.argv[1:]:
    data = DataLoader().load_from_file(name, trusted_as_template=True)
    print(json.dumps([data, trusted(data)]))
"""


@pytest.mark.skipif(find_spec("ansible") is None, reason="needs the extra `ansible`")
def test_ansible_itself_evaluates_no_value_of_the_object(tmp_path: Path) -> None:
    value = {
        "a": "{{ 7 * 7 }}",
        "n": ["2", "true", 2, 1e300, None, {"deep": "{{ 1 }}"}],
        "__ansible_vault": {"__ansible_type": "TrustedAsTemplate", "value": "{{ 1 }}"},
    }
    for name, data in zip(
        ("object", "entry"),
        run_variables.files(value, {"b": "{{ 1 }}"}, is_unsafe=True),
        strict=True,
    ):
        (tmp_path / name).write_bytes(data)
    words = [
        sys.executable,
        "-c",
        READ_BY_ANSIBLE,
        *(str(tmp_path / one) for one in ("object", "entry")),
    ]
    ended = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    found, entry = (json.loads(line) for line in ended.stdout.splitlines())
    assert found == [value, []]
    assert entry == [{"b": "{{ 1 }}"}, ["{{ 1 }}"]]
